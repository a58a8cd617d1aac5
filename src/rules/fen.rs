//! Parses and writes FEN.
//!
//! Parsing is lenient exactly where Lichess is: castling rights without king and rook on their
//! squares and en-passant squares without a legal capture are dropped, missing clocks read as 0 and
//! 1, a half-move clock above 100 is cut. Every other error is reported with its field. Castling is
//! the king's from the e-file with a rook from the corner: games on Lichess start nowhere else.

use std::fmt;

use super::{Bitboard, CastlingRights, CastlingSide, Color, Piece, Position, Role, Square};

/// The parts of a FEN, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenField {
    /// The pieces, eight ranks from the eighth to the first.
    Board,
    Turn,
    Castling,
    EnPassant,
    /// Half-moves since the last pawn move or capture.
    HalfmoveClock,
    /// Number of the move.
    FullmoveNumber,
    /// Something after the last field.
    End,
}

impl fmt::Display for FenField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Board => "board (field 1)",
            Self::Turn => "side to move (field 2)",
            Self::Castling => "castling (field 3)",
            Self::EnPassant => "en passant (field 4)",
            Self::HalfmoveClock => "half-move clock (field 5)",
            Self::FullmoveNumber => "move number (field 6)",
            Self::End => "end (after field 6)",
        })
    }
}

/// Why a FEN is rejected: which field, what is wrong, what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fen, {field}: {reason}")]
pub struct FenError {
    /// The wrong field.
    pub field: FenField,
    /// What is wrong and what would be right.
    pub reason: String,
}

type Parsed<T> = Result<T, FenError>;

fn refuse<T>(field: FenField, reason: impl Into<String>) -> Parsed<T> {
    Err(FenError {
        field,
        reason: reason.into(),
    })
}

/// At most twenty characters of foreign text, quoted.
fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(20).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

impl Position {
    pub(crate) fn start() -> Self {
        Self::from_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
            .expect("the start position is a valid FEN")
    }

    /// A position of these pieces, without castling rights, checked like that of a FEN. Two pieces on one
    /// square are an error.
    pub fn from_pieces(pieces: &[(Piece, Square)], turn: Color) -> Result<Self, FenError> {
        let mut position = Self::empty();
        for &(piece, square) in pieces {
            if position.piece_at(square).is_some() {
                return refuse(FenField::Board, format!("two pieces on {square}"));
            }
            position.put(piece, square);
        }
        position.check_pieces()?;
        position.turn = turn;
        position.check_waiting_king()?;
        position.refresh();
        position.key = position.recomputed_key();
        Ok(position)
    }

    /// Reads a position. A board with one king is a finished game and is accepted.
    pub fn from_fen(fen: &str) -> Result<Self, FenError> {
        let mut fields = fen.split_ascii_whitespace();
        let mut next = |field, what: &str| match fields.next() {
            Some(text) => Ok(text),
            None => refuse(field, format!("missing; expected {what}")),
        };
        let mut position = read_board(next(FenField::Board, "eight ranks joined by /")?)?;
        position.check_pieces()?;
        position.turn = read_turn(next(FenField::Turn, "w or b")?)?;
        let castling = next(FenField::Castling, "some of KQkq, or -")?;
        position.rights = position.read_rights(castling)?;
        let ep = read_ep(next(FenField::EnPassant, "a square like e3, or -")?)?;
        position.halfmove_clock =
            read_number(FenField::HalfmoveClock, fields.next(), 0)?.min(100) as u16;
        position.fullmoves = read_number(FenField::FullmoveNumber, fields.next(), 1)?.max(1);
        if let Some(more) = fields.next() {
            return refuse(
                FenField::End,
                format!("{} is too much; a FEN has 6 fields", quote(more)),
            );
        }
        position.check_waiting_king()?;
        position.refresh();
        position.key = position.recomputed_key();
        if let Some(square) = ep.filter(|&square| position.was_passed(square)) {
            position.offer_ep(square);
        }
        Ok(position)
    }

    /// The canonical FEN: en-passant square only if a capture is legal.
    pub fn fen(&self) -> String {
        self.to_string()
    }

    fn write_fen(&self, out: &mut impl fmt::Write) -> fmt::Result {
        for rank in (0..8).rev() {
            self.write_rank(rank, out)?;
            out.write_char(if rank == 0 { ' ' } else { '/' })?;
        }
        write!(out, "{} ", self.turn.char())?;
        for color in Color::ALL {
            for side in CastlingSide::ALL {
                if self.rights.has(color, side) {
                    let letter = if side == CastlingSide::King {
                        Role::King
                    } else {
                        Role::Queen
                    };
                    out.write_char(
                        Piece {
                            color,
                            role: letter,
                        }
                        .char(),
                    )?;
                }
            }
        }
        if self.rights == CastlingRights::NONE {
            out.write_char('-')?;
        }
        match self.ep {
            Some(square) => write!(out, " {square}")?,
            None => out.write_str(" -")?,
        }
        write!(out, " {} {}", self.halfmove_clock, self.fullmoves)
    }

    fn write_rank(&self, rank: u8, out: &mut impl fmt::Write) -> fmt::Result {
        let mut gap = 0;
        for file in 0..8 {
            let Some(piece) = self.piece_at(Square::from_coords(file, rank)) else {
                gap += 1;
                continue;
            };
            if gap > 0 {
                write!(out, "{gap}")?;
            }
            gap = 0;
            out.write_char(piece.char())?;
        }
        if gap > 0 {
            write!(out, "{gap}")
        } else {
            Ok(())
        }
    }

    fn check_pieces(&self) -> Parsed<()> {
        let pieces = self.occupied().count();
        if pieces > 32 {
            return refuse(
                FenField::Board,
                format!("{pieces} pieces; there are at most 32"),
            );
        }
        let stray = self.by_role(Role::Pawn) & Bitboard::BACK_RANKS;
        if let Some(square) = stray.first() {
            let reason = format!("a pawn on {square}; pawns stand on ranks 2 to 7 only");
            return refuse(FenField::Board, reason);
        }
        if self.by_role(Role::King).is_empty() {
            return refuse(
                FenField::Board,
                "no king at all; at least one side has its king",
            );
        }
        Color::ALL
            .into_iter()
            .try_for_each(|color| self.check_side(color))
    }

    fn check_waiting_king(&self) -> Parsed<()> {
        let (waits, moves) = (!self.turn, self.turn);
        if self.is_attacked(waits) {
            return refuse(
                FenField::Turn,
                format!("{moves} is to move but {waits} is in check; only the side to move may be"),
            );
        }
        Ok(())
    }

    fn check_side(&self, color: Color) -> Parsed<()> {
        let count = |role| self.by_piece(color, role).count();
        let kings = count(Role::King);
        let officers = self.by_color(color).count() - kings - count(Role::Pawn);
        if kings > 1 {
            return refuse(
                FenField::Board,
                format!("{color} has {kings} kings; at most one is allowed"),
            );
        }
        if officers > 15 {
            let reason = format!(
                "{color} has {officers} pieces beside king and pawns; at most 15 are allowed"
            );
            return refuse(FenField::Board, reason);
        }
        // Pawn counts are not checked; these limits keep every move list within its bounds.
        for (role, name, most) in [
            (Role::Queen, "queens", 9),
            (Role::Rook, "rooks", 10),
            (Role::Bishop, "bishops", 10),
            (Role::Knight, "knights", 10),
        ] {
            let found = count(role);
            if found > most {
                let reason = format!("{color} has {found} {name}; at most {most} are allowed");
                return refuse(FenField::Board, reason);
            }
        }
        Ok(())
    }

    fn read_rights(&self, field: &str) -> Parsed<CastlingRights> {
        let mut rights = CastlingRights::NONE;
        if field == "-" {
            return Ok(rights);
        }
        for letter in field.chars() {
            let color = if letter.is_ascii_uppercase() {
                Color::White
            } else {
                Color::Black
            };
            let rank = color.back_rank();
            let (king, corner, side) = (
                Square::from_coords(4, rank),
                |side: CastlingSide| Square::from_coords(side.rook_file(), rank),
                match letter.to_ascii_lowercase() {
                    'k' | 'h' => Some(CastlingSide::King),
                    'q' | 'a' => Some(CastlingSide::Queen),
                    'b'..='g' => None,
                    _ => {
                        let reason =
                            format!("{} is not made of KQkq or file letters, or -", quote(field));
                        return refuse(FenField::Castling, reason);
                    }
                },
            );
            let rooks = self.by_piece(color, Role::Rook);
            if let Some(side) = side
                && self.king(color) == Some(king)
                && rooks.contains(corner(side))
            {
                rights.grant(color, side);
            }
        }
        Ok(rights)
    }

    /// Whether a pawn of the side not to move can have just passed this square.
    fn was_passed(&self, square: Square) -> bool {
        let (rank, victim_rank, start_rank) = match self.turn {
            Color::White => (5, 4, 6),
            Color::Black => (2, 3, 1),
        };
        let on = |rank| Square::from_coords(square.file(), rank);
        let pawns = self.by_piece(!self.turn, Role::Pawn);
        square.rank() == rank
            && pawns.contains(on(victim_rank))
            && !self.occupied().contains(square)
            && !self.occupied().contains(on(start_rank))
    }
}

fn read_board(field: &str) -> Parsed<Position> {
    let mut position = Position::empty();
    let ranks = field.split('/').count();
    if ranks != 8 {
        return refuse(
            FenField::Board,
            format!("{ranks} ranks; expected 8, joined by /"),
        );
    }
    for (row, text) in field.split('/').enumerate() {
        let rank = 7 - row as u8;
        let mut file = 0;
        for letter in text.chars() {
            if let Some(gap @ 1..=8) = letter.to_digit(10) {
                file += gap as u8;
            } else if let Some(piece) = Piece::from_char(letter) {
                if file < 8 {
                    position.put(piece, Square::from_coords(file, rank));
                }
                file += 1;
            } else {
                let reason = format!(
                    "{letter:?} in rank {}; expected pnbrqk, PNBRQK or 1 to 8",
                    rank + 1
                );
                return refuse(FenField::Board, reason);
            }
            if file > 8 {
                break;
            }
        }
        if file != 8 {
            let how = if file > 8 { "more" } else { "fewer" };
            let reason = format!(
                "rank {} has {how} than 8 squares; exactly 8 are required",
                rank + 1
            );
            return refuse(FenField::Board, reason);
        }
    }
    Ok(position)
}

fn read_turn(field: &str) -> Parsed<Color> {
    match field {
        "w" => Ok(Color::White),
        "b" => Ok(Color::Black),
        _ => refuse(
            FenField::Turn,
            format!("{} is neither w nor b", quote(field)),
        ),
    }
}

fn read_ep(field: &str) -> Parsed<Option<Square>> {
    if field == "-" {
        return Ok(None);
    }
    match field.parse() {
        Ok(square) => Ok(Some(square)),
        Err(_) => refuse(
            FenField::EnPassant,
            format!("{} is neither a square nor -", quote(field)),
        ),
    }
}

fn read_number(field: FenField, text: Option<&str>, missing: u32) -> Parsed<u32> {
    let Some(text) = text else { return Ok(missing) };
    match text.parse::<u32>() {
        Ok(number) if number <= 1_000_000 && text.as_bytes()[0] != b'+' => Ok(number),
        _ => refuse(
            field,
            format!("{} is not a number from 0 to 1000000", quote(text)),
        ),
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_fen(f)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self})")
    }
}

impl std::str::FromStr for Position {
    type Err = FenError;

    fn from_str(fen: &str) -> Result<Self, FenError> {
        Self::from_fen(fen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(fen: &str, field: FenField, words: &str) {
        let error = Position::from_fen(fen).expect_err("a bad FEN");
        assert_eq!(error.field, field, "{error}");
        assert!(error.reason.contains(words), "{error}");
    }

    #[track_caller]
    fn reads_as(fen: &str, canonical: &str) {
        assert_eq!(Position::from_fen(fen).unwrap().fen(), canonical);
    }

    #[test]
    fn an_invalid_board_is_rejected_with_the_reason() {
        let field = FenField::Board;
        refused("", field, "missing");
        refused("8/8/8/8 w - - 0 1", field, "4 ranks");
        refused("8/8/8/8/8/8/8/k6K/8 w - - 0 1", field, "9 ranks");
        refused(
            "7/8/8/8/8/8/8/k6K w - - 0 1",
            field,
            "rank 8 has fewer than 8",
        );
        refused(
            "8/8/8/8/8/8/8/k7K w - - 0 1",
            field,
            "rank 1 has more than 8",
        );
        refused("8/8/8/8/8/8/8/k6X w - - 0 1", field, "'X' in rank 1");
        refused("8/8/8/8/8/8/8/k60K w - - 0 1", field, "'0' in rank 1");
        refused("8/8/8/8/8/8/8/ké5K w - - 0 1", field, "'é' in rank 1");
    }

    #[test]
    fn impossible_pieces_are_rejected_with_the_reason() {
        let field = FenField::Board;
        refused("P7/8/8/8/8/8/8/k6K w - - 0 1", field, "a pawn on a8");
        refused("8/8/8/8/8/8/8/k5pK w - - 0 1", field, "a pawn on g1");
        refused("8/8/8/8/8/8/8/8 w - - 0 1", field, "no king at all");
        refused("8/8/8/8/8/k7/8/K6K w - - 0 1", field, "white has 2 kings");
        let crowd = "rnbqkbnr/pppppppp/8/8/8/n7/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        refused(crowd, field, "33 pieces; there are at most 32");
        refused(
            "k7/8/qqqqqqqq/qq6/8/8/8/7K b - - 0 1",
            field,
            "black has 10 queens",
        );
        refused(
            "k7/8/qqqqqqqq/rrrrrrrr/8/8/8/7K b - - 0 1",
            field,
            "16 pieces beside king and pawns",
        );
    }

    #[test]
    fn the_side_not_to_move_may_not_be_in_check() {
        let reason = "white is to move but black is in check";
        refused("k7/8/8/8/8/8/8/R6K w - - 0 1", FenField::Turn, reason);
        // Kings that touch are never in check, and a finished game has no king to check.
        assert!(Position::from_fen("k7/1K6/8/8/8/8/8/R7 w - - 0 1").is_ok());
        assert!(Position::from_fen("k7/8/8/8/8/8/8/R7 w - - 0 1").is_ok());
    }

    #[test]
    fn other_bad_fields_are_rejected_with_the_reason() {
        refused("8/8/8/8/8/8/8/k6K", FenField::Turn, "missing");
        refused(
            "8/8/8/8/8/8/8/k6K x - - 0 1",
            FenField::Turn,
            "neither w nor b",
        );
        refused("8/8/8/8/8/8/8/k6K w", FenField::Castling, "missing");
        refused("8/8/8/8/8/8/8/k6K w KX - 0 1", FenField::Castling, "KX");
        refused("8/8/8/8/8/8/8/k6K w -", FenField::EnPassant, "missing");
        refused(
            "8/8/8/8/8/8/8/k6K w - e9 0 1",
            FenField::EnPassant,
            "neither a square nor -",
        );
        refused(
            "8/8/8/8/8/8/8/k6K w - - -1 1",
            FenField::HalfmoveClock,
            "not a number",
        );
        refused(
            "8/8/8/8/8/8/8/k6K w - - 0 one",
            FenField::FullmoveNumber,
            "not a number",
        );
        refused(
            "8/8/8/8/8/8/8/k6K w - - 0 +1",
            FenField::FullmoveNumber,
            "not a number",
        );
        refused("8/8/8/8/8/8/8/k6K w - - 0 1 1", FenField::End, "6 fields");
    }

    #[test]
    fn what_lichess_accepts_is_accepted() {
        reads_as("8/8/8/8/8/8/8/k6K w - -", "8/8/8/8/8/8/8/k6K w - - 0 1");
        reads_as("8/8/8/8/8/8/8/k6K w - - 7", "8/8/8/8/8/8/8/k6K w - - 7 1");
        reads_as(
            "8/8/8/8/8/8/8/k6K b KQkq e3 120 0",
            "8/8/8/8/8/8/8/k6K b - - 100 1",
        );
        let file_letters = "r3k2r/8/8/8/8/8/8/R3K2R b Hah - 0 1";
        reads_as(file_letters, "r3k2r/8/8/8/8/8/8/R3K2R b Kkq - 0 1");
        // A right whose rook has gone, or whose king has left home, is dropped.
        reads_as(
            "4k3/8/8/8/8/8/8/3K3R w K - 0 1",
            "4k3/8/8/8/8/8/8/3K3R w - - 0 1",
        );
        reads_as(
            "4k3/8/8/8/8/8/8/4K1R1 w K - 0 1",
            "4k3/8/8/8/8/8/8/4K1R1 w - - 0 1",
        );
    }

    #[test]
    fn the_en_passant_square_requires_a_legal_capture() {
        let kept = "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3";
        reads_as(kept, kept);
        reads_as(
            "4k3/8/8/2KpP3/8/8/8/8 w - d6 0 2",
            "4k3/8/8/2KpP3/8/8/8/8 w - - 0 2",
        );
        reads_as(
            "4k3/8/8/K2pP2r/8/8/8/8 w - d6 0 2",
            "4k3/8/8/K2pP2r/8/8/8/8 w - - 0 2",
        );
        let in_check_but_winning = "8/8/8/8/2Ppr3/8/BK1R4/1k6 b - c3 0 74";
        reads_as(in_check_but_winning, in_check_but_winning);
    }

    #[test]
    fn an_error_names_field_and_reason() {
        let error = Position::from_fen("8/8/8/8/8/8/8/8 w - - 0 1").unwrap_err();
        let text = "fen, board (field 1): no king at all; at least one side has its king";
        assert_eq!(error.to_string(), text);
    }
}
