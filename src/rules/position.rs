//! A position: pieces, side to move, and what follows from them.
//!
//! Small enough to be copied for every move. `make` and `fen` keep all fields consistent; nothing
//! else may write them.

use super::attacks::{bishop_rays, rook_rays};
use super::zobrist::{castling_key, code_key, ep_key, side_key};
use super::{
    Bitboard, CastlingRights, Color, Piece, Role, Square, between, bishop_attacks, king_attacks,
    knight_attacks, pawn_attacks, rook_attacks,
};

/// The code of an empty square on the mailbox board.
pub(crate) const EMPTY_CODE: u8 = 7;

/// A position of atomic chess.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub(crate) roles: [Bitboard; 6],
    pub(crate) colors: [Bitboard; 2],
    pub(crate) board: [u8; 64],
    pub(crate) key: u64,
    pub(crate) pawn_key: u64,
    pub(crate) pieces_keys: [u64; 2],
    pub(crate) checkers: Bitboard,
    pub(crate) pinned: Bitboard,
    pub(crate) danger: Bitboard,
    pub(crate) fullmoves: u32,
    pub(crate) halfmove_clock: u16,
    pub(crate) kings: [Option<Square>; 2],
    pub(crate) turn: Color,
    pub(crate) rights: CastlingRights,
    pub(crate) ep: Option<Square>,
}

impl Position {
    /// A board without pieces, White to move; to be filled by a FEN reader.
    pub(crate) const fn empty() -> Self {
        Self {
            roles: [Bitboard::EMPTY; 6],
            colors: [Bitboard::EMPTY; 2],
            board: [EMPTY_CODE; 64],
            key: 0,
            pawn_key: 0,
            pieces_keys: [0; 2],
            checkers: Bitboard::EMPTY,
            pinned: Bitboard::EMPTY,
            danger: Bitboard::EMPTY,
            fullmoves: 1,
            halfmove_clock: 0,
            kings: [None; 2],
            turn: Color::White,
            rights: CastlingRights::NONE,
            ep: None,
        }
    }

    /// The side to move.
    #[inline]
    pub const fn turn(&self) -> Color {
        self.turn
    }

    /// The number of the move, from 1, as in a FEN.
    #[inline]
    pub const fn fullmoves(&self) -> u32 {
        self.fullmoves
    }

    /// Half-moves since the last pawn move or capture.
    #[inline]
    pub const fn halfmove_clock(&self) -> u32 {
        self.halfmove_clock as u32
    }

    /// Every square with a piece on it.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.colors[0] | self.colors[1]
    }

    /// The pieces of a side.
    #[inline]
    pub const fn by_color(&self, color: Color) -> Bitboard {
        self.colors[color.index()]
    }

    /// The pieces of a kind, both sides.
    #[inline]
    pub const fn by_role(&self, role: Role) -> Bitboard {
        self.roles[role.index()]
    }

    /// The pieces of a side and a kind.
    #[inline]
    pub fn by_piece(&self, color: Color, role: Role) -> Bitboard {
        self.by_color(color) & self.by_role(role)
    }

    /// The pieces of a side to move.
    #[inline]
    pub const fn us(&self) -> Bitboard {
        self.by_color(self.turn)
    }

    /// The pieces of the side not to move.
    #[inline]
    pub const fn them(&self) -> Bitboard {
        self.by_color(self.turn.other())
    }

    /// The piece on a square.
    #[inline]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        Piece::from_code(self.board[square.index()])
    }

    /// The kind of the piece on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        self.piece_at(square).map(|piece| piece.role)
    }

    /// A side's king; `None` once it has exploded.
    #[inline]
    pub const fn king(&self, color: Color) -> Option<Square> {
        self.kings[color.index()]
    }

    /// Who may still castle where.
    #[inline]
    pub const fn castling_rights(&self) -> CastlingRights {
        self.rights
    }

    /// The square behind a pawn that has just advanced two squares, only if taking it is legal.
    #[inline]
    pub const fn ep_square(&self) -> Option<Square> {
        self.ep
    }

    /// The key for repetition: board, side, rights, file of a legal ep capture.
    #[inline]
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// A key of the pawns alone.
    #[inline]
    pub const fn pawn_key(&self) -> u64 {
        self.pawn_key
    }

    /// A key of one side's pieces without its pawns.
    #[inline]
    pub const fn pieces_key(&self, color: Color) -> u64 {
        self.pieces_keys[color.index()]
    }

    /// The pieces that directly attack the king to move; none while the kings touch.
    #[inline]
    pub const fn checkers(&self) -> Bitboard {
        self.checkers
    }

    /// Whether the king to move is directly attacked and the kings do not touch.
    #[inline]
    pub const fn in_check(&self) -> bool {
        self.checkers.any()
    }

    /// Own pieces that alone shield the king of the side to move from a line of attack.
    #[inline]
    pub const fn pinned(&self) -> Bitboard {
        self.pinned
    }

    /// Whether the kings stand on neighbouring squares, so that no one is in check.
    #[inline]
    pub fn kings_touch(&self) -> bool {
        match self.kings {
            [Some(white), Some(black)] => king_attacks(white).contains(black),
            _ => false,
        }
    }

    /// Every piece of either side, kings included, that attacks a square when `occupied` is occupied.
    #[inline]
    pub fn attackers_to(&self, square: Square, occupied: Bitboard) -> Bitboard {
        let [pawns, knights, bishops, rooks, queens, kings] = self.roles;
        let white_pawns = pawn_attacks(Color::Black, square) & self.colors[0];
        let black_pawns = pawn_attacks(Color::White, square) & self.colors[1];
        ((white_pawns | black_pawns) & pawns)
            | (knight_attacks(square) & knights)
            | (bishop_attacks(square, occupied) & (bishops | queens))
            | (rook_attacks(square, occupied) & (rooks | queens))
            | (king_attacks(square) & kings)
    }

    /// The sliders of either side that would attack a square on an empty board.
    #[inline]
    pub(crate) fn sliders_aligned_with(&self, square: Square) -> Bitboard {
        let [_, _, bishops, rooks, queens, _] = self.roles;
        (rook_rays(square) & (rooks | queens)) | (bishop_rays(square) & (bishops | queens))
    }

    /// The squares that the pawns of a side attack.
    #[inline]
    pub fn pawn_attacks_by(&self, color: Color) -> Bitboard {
        let pawns = self.by_piece(color, Role::Pawn);
        let (west, east) = (pawns - Bitboard::FILE_A, pawns - Bitboard::FILE_H);
        match color {
            Color::White => west << 7 | east << 9,
            Color::Black => west >> 9 | east >> 7,
        }
    }

    /// The squares a side attacks or defends: attacks of all its pieces but the king.
    #[inline]
    pub fn attacks_by(&self, color: Color, occupied: Bitboard) -> Bitboard {
        let pieces = self.by_color(color);
        let queens = self.by_role(Role::Queen);
        let mut set = self.pawn_attacks_by(color);
        for from in pieces & self.by_role(Role::Knight) {
            set |= knight_attacks(from);
        }
        for from in pieces & (self.by_role(Role::Bishop) | queens) {
            set |= bishop_attacks(from, occupied);
        }
        for from in pieces & (self.by_role(Role::Rook) | queens) {
            set |= rook_attacks(from, occupied);
        }
        set
    }

    #[inline]
    pub(crate) fn put(&mut self, piece: Piece, square: Square) {
        let code = piece.code();
        self.board[square.index()] = code;
        self.roles[piece.role.index()] |= square;
        self.colors[piece.color.index()] |= square;
        self.toggle_keys(piece, square);
        if piece.role == Role::King {
            self.kings[piece.color.index()] = Some(square);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, square: Square) {
        let Some(piece) = self.piece_at(square) else {
            return;
        };
        self.board[square.index()] = EMPTY_CODE;
        self.roles[piece.role.index()] -= square;
        self.colors[piece.color.index()] -= square;
        self.toggle_keys(piece, square);
        if piece.role == Role::King {
            self.kings[piece.color.index()] = None;
        }
    }

    #[inline]
    fn toggle_keys(&mut self, piece: Piece, square: Square) {
        let key = code_key(piece.code(), square);
        self.key ^= key;
        if piece.role == Role::Pawn {
            self.pawn_key ^= key;
        } else {
            self.pieces_keys[piece.color.index()] ^= key;
        }
    }

    /// Computes checkers, pins and danger lines for the side to move.
    ///
    /// `danger` holds the squares between our king and every enemy slider aligned with it, however
    /// many pieces are there, since one blast can remove several. All are empty while the kings
    /// touch: only its own move can endanger a touching king.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        self.checkers = Bitboard::EMPTY;
        self.pinned = Bitboard::EMPTY;
        self.danger = Bitboard::EMPTY;
        let (Some(king), Some(enemy_king)) = (self.king(self.turn), self.king(!self.turn)) else {
            return;
        };
        if king_attacks(king).contains(enemy_king) {
            return;
        }
        let [pawns, knights, ..] = self.roles;
        let (us, them, occupied) = (self.us(), self.them(), self.occupied());
        self.checkers =
            ((knight_attacks(king) & knights) | (pawn_attacks(self.turn, king) & pawns)) & them;
        for slider in self.sliders_aligned_with(king) & them {
            let way = between(king, slider);
            let blockers = way & occupied;
            self.danger |= way;
            if blockers.is_empty() {
                self.checkers |= slider;
            } else if !blockers.more_than_one() {
                self.pinned |= blockers & us;
            }
        }
    }

    /// The key computed from scratch; `key` must always equal it.
    pub fn recomputed_key(&self) -> u64 {
        let pieces = self.occupied().into_iter().fold(0, |key, square| {
            key ^ code_key(self.board[square.index()], square)
        });
        let side = if self.turn == Color::Black {
            side_key()
        } else {
            0
        };
        pieces ^ side ^ castling_key(self.rights) ^ self.ep.map_or(0, ep_key)
    }
}

impl Default for Position {
    fn default() -> Self {
        Self::start()
    }
}

// Copied for every move, so a new field must be worth its size.
const _: () = assert!(size_of::<Position>() <= 200);
