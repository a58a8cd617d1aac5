//! Parses and writes SAN: as in chess, without a mark for the blast, `#` for mate and for an
//! exploded king.

use std::fmt::Write as _;

use super::{Bitboard, CastlingSide, Move, Position, Role, Square};

/// Why a text is not a legal SAN move here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SanError {
    /// Not the shape of a SAN move.
    #[error("{0:?} is not a move in SAN")]
    Syntax(String),
    /// Well formed, but no legal move fits.
    #[error("no legal move is written {0}")]
    Illegal(String),
    /// Several legal moves fit.
    #[error("{0} fits more than one legal move")]
    Ambiguous(String),
}

impl Position {
    /// The SAN of a legal move, with `+` or `#` where due.
    pub fn san(&self, mv: Move) -> String {
        let mut san = String::with_capacity(8);
        self.write_body(mv, &mut san);
        let child = self.play(mv);
        if child.king(child.turn()).is_none() || child.in_check() && child.count_moves() == 0 {
            san.push('#');
        } else if child.in_check() {
            san.push('+');
        }
        san
    }

    /// The SAN of the moves of a line, up to the first one that is not legal.
    pub fn san_line(&self, line: impl IntoIterator<Item = Move>) -> Vec<String> {
        self.walk(line, |position, mv| position.is_legal(mv).then_some(mv))
    }

    /// The same for a line in UCI, with blanks between the moves.
    pub fn san_of_uci(&self, line: &str) -> Vec<String> {
        let words = line.split_whitespace();
        self.walk(words, |position, word| position.parse_uci(word).ok())
    }

    fn walk<T>(
        &self,
        line: impl IntoIterator<Item = T>,
        read: impl Fn(&Self, T) -> Option<Move>,
    ) -> Vec<String> {
        let mut position = *self;
        let mut words = Vec::new();
        for step in line {
            let Some(mv) = read(&position, step) else {
                break;
            };
            words.push(position.san(mv));
            position = position.play(mv);
        }
        words
    }

    fn write_body(&self, mv: Move, san: &mut String) {
        if let Some(side) = mv.castling_side() {
            san.push_str(match side {
                CastlingSide::King => "O-O",
                CastlingSide::Queen => "O-O-O",
            });
            return;
        }
        let (from, to) = (mv.from(), mv.to());
        match self.role_at(from) {
            None => return,
            Some(Role::Pawn) => {
                if self.is_capture(mv) {
                    san.push(file_char(from));
                }
            }
            Some(role) => {
                san.push(role.char().to_ascii_uppercase());
                self.write_origin(mv, role, san);
            }
        }
        if self.is_capture(mv) {
            san.push('x');
        }
        let _ = write!(san, "{to}");
        if let Some(role) = mv.promotion() {
            san.push('=');
            san.push(role.char().to_ascii_uppercase());
        }
    }

    /// File, else rank, else both, if another legal move of the same kind of piece lands there too.
    fn write_origin(&self, mv: Move, role: Role, san: &mut String) {
        let from = mv.from();
        let twins: Bitboard = self
            .legal_moves()
            .into_iter()
            .filter(|other| other.to() == mv.to() && !other.is_castling())
            .map(Move::from)
            .filter(|&other| other != from && self.role_at(other) == Some(role))
            .collect();
        if twins.is_empty() {
            return;
        }
        let shares_file = twins.intersects(Bitboard::file(from.file()));
        let shares_rank = twins.intersects(Bitboard::rank(from.rank()));
        if !shares_file || shares_rank {
            san.push(file_char(from));
        }
        if shares_file {
            san.push(rank_char(from));
        }
    }

    /// The legal move that a SAN text means.
    ///
    /// Check signs, `!`, `?` and a missing or superfluous `x` or origin are accepted; ambiguity and
    /// a missing promotion are not.
    pub fn parse_san(&self, text: &str) -> Result<Move, SanError> {
        let shown = || text.chars().take(20).collect::<String>();
        let body = text.trim_end_matches(['+', '#', '!', '?']);
        let wanted = SanPattern::parse(body).ok_or_else(|| SanError::Syntax(shown()))?;
        let mut found = self
            .legal_moves()
            .into_iter()
            .filter(|&mv| wanted.fits(self, mv));
        match (found.next(), found.next()) {
            (Some(mv), None) => Ok(mv),
            (None, _) => Err(SanError::Illegal(shown())),
            (Some(_), Some(_)) => Err(SanError::Ambiguous(shown())),
        }
    }
}

/// What a SAN text says about a move.
enum SanPattern {
    Castling(CastlingSide),
    Step {
        role: Role,
        file: Option<u8>,
        rank: Option<u8>,
        to: Square,
        promotion: Option<Role>,
    },
}

impl SanPattern {
    fn parse(body: &str) -> Option<Self> {
        match body {
            "O-O" | "0-0" => return Some(Self::Castling(CastlingSide::King)),
            "O-O-O" | "0-0-0" => return Some(Self::Castling(CastlingSide::Queen)),
            _ => {}
        }
        let mut rest = body.as_bytes();
        let mut role = Role::Pawn;
        if let [letter @ (b'N' | b'B' | b'R' | b'Q' | b'K'), tail @ ..] = rest {
            role = Role::from_char(char::from(letter.to_ascii_lowercase()))?;
            rest = tail;
        }
        let mut promotion = None;
        if let [head @ .., letter @ (b'N' | b'B' | b'R' | b'Q')] = rest {
            promotion = Role::from_char(char::from(letter.to_ascii_lowercase()));
            rest = head.strip_suffix(b"=").unwrap_or(head);
        }
        let [head @ .., file @ b'a'..=b'h', rank @ b'1'..=b'8'] = rest else {
            return None;
        };
        let to = Square::from_coords(file - b'a', rank - b'1');
        let (file, rank) = match head.strip_suffix(b"x").unwrap_or(head) {
            [] => (None, None),
            [file @ b'a'..=b'h'] => (Some(file - b'a'), None),
            [rank @ b'1'..=b'8'] => (None, Some(rank - b'1')),
            [file @ b'a'..=b'h', rank @ b'1'..=b'8'] => (Some(file - b'a'), Some(rank - b'1')),
            _ => return None,
        };
        Some(Self::Step {
            role,
            file,
            rank,
            to,
            promotion,
        })
    }

    fn fits(&self, position: &Position, mv: Move) -> bool {
        match *self {
            Self::Castling(side) => mv.castling_side() == Some(side),
            Self::Step {
                role,
                file,
                rank,
                to,
                promotion,
            } => {
                let from = mv.from();
                // A bare pawn text means an advance: captures name the file.
                let named = role != Role::Pawn || file.is_some() || from.file() == to.file();
                !mv.is_castling()
                    && mv.to() == to
                    && mv.promotion() == promotion
                    && position.role_at(from) == Some(role)
                    && file.is_none_or(|file| file == from.file())
                    && rank.is_none_or(|rank| rank == from.rank())
                    && named
            }
        }
    }
}

fn file_char(square: Square) -> char {
    char::from(b'a' + square.file())
}

fn rank_char(square: Square) -> char {
    char::from(b'1' + square.rank())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn san(fen: &str, uci: &str, expected: &str) {
        let position = Position::from_fen(fen).unwrap();
        let mv = position.parse_uci(uci).unwrap();
        assert_eq!(position.san(mv), expected);
        assert_eq!(position.parse_san(expected), Ok(mv));
    }

    #[test]
    fn an_exploded_king_is_written_like_a_mate() {
        san("3rk3/2P5/8/8/8/8/8/4K3 w - - 0 1", "c7d8r", "cxd8=R#");
        san("8/3pk3/8/4P3/8/8/8/K7 b - - 0 1", "d7d5", "d5");
        san("1k6/8/8/8/8/8/PP5r/K7 b - - 0 1", "h2h1", "Rh1#");
        san("4k3/8/8/8/7Q/8/8/4K3 w - - 0 1", "h4h8", "Qh8+");
    }

    #[test]
    fn a_line_is_written_up_to_its_first_illegal_move() {
        let start = Position::default();
        assert_eq!(start.san_of_uci("e2e4 e7e5 x"), ["e4", "e5"]);
        assert_eq!(
            start.san_of_uci("g1f3  a7a6 f3g5 h7h6 g5f7 h6h5")[4..],
            ["Nxf7#"]
        );
        assert_eq!(start.san_of_uci(""), Vec::<String>::new());
        let twice = [start.parse_uci("e2e4").unwrap(); 2];
        assert_eq!(start.san_line(twice), ["e4"]);
    }

    #[test]
    fn only_legal_duplicates_are_disambiguated() {
        san("4k3/8/8/8/4r3/8/4R3/R3K3 w Q - 0 1", "a1a2", "Ra2");
        san("7k/8/8/8/8/5N2/3p4/1N3K2 w - - 0 1", "b1d2", "Nbxd2");
        san("7k/8/8/R7/8/8/8/R5K1 w - - 0 1", "a1a3", "R1a3");
        san("8/8/k7/8/4Q2Q/8/8/K6Q w - - 0 1", "h4e1", "Qh4e1");
        san("8/8/k7/8/4Q2Q/8/8/K6Q w - - 0 1", "e4e1", "Qee1");
        san("8/8/k7/8/4Q2Q/8/8/K6Q w - - 0 1", "h1e1", "Q1e1");
        san("8/6k1/8/8/Q6Q/8/8/K7 w - - 0 1", "h4d4", "Qhd4+");
    }

    #[test]
    fn castling_and_promotion_have_their_signs() {
        san("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1", "e1g1", "O-O");
        san("r3k3/8/8/8/8/8/8/4K2R b Kq - 0 1", "e8c8", "O-O-O");
        san("8/2P5/8/8/8/6k1/8/4K3 w - - 0 1", "c7c8q", "c8=Q");
    }

    #[test]
    fn small_slips_are_accepted_and_ambiguity_is_not() {
        let position = Position::default();
        for text in ["Nf3", "Ngf3", "Ng1f3", "Nf3+", "Nf3!?", "Nxf3"] {
            assert_eq!(
                position.parse_san(text).unwrap().to_string(),
                "g1f3",
                "{text}"
            );
        }
        assert!(matches!(
            position.parse_san("Nd4"),
            Err(SanError::Illegal(_))
        ));
        assert!(matches!(
            position.parse_san("ge4"),
            Err(SanError::Illegal(_))
        ));
        for text in ["", "N", "x", "e", "e9", "Nabcf3", "O-O-O-O", "é4", "#", "="] {
            assert!(
                matches!(position.parse_san(text), Err(SanError::Syntax(_))),
                "{text}"
            );
        }
        let twins = Position::from_fen("7k/8/8/8/8/5N2/8/1N3K2 w - - 0 1").unwrap();
        assert!(matches!(
            twins.parse_san("Nd2"),
            Err(SanError::Ambiguous(_))
        ));
        let promotion = Position::from_fen("8/2P5/8/8/8/6k1/8/4K3 w - - 0 1").unwrap();
        assert!(matches!(
            promotion.parse_san("c8"),
            Err(SanError::Illegal(_))
        ));
        assert_eq!(promotion.parse_san("c8Q"), promotion.parse_san("c8=Q"));
    }
}
