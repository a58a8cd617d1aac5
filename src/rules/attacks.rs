//! What each kind of piece attacks, and the geometry of lines, from tables made by the compiler.

use super::{Bitboard, Color, Role, Square};

pub use super::magics::{bishop_attacks, rook_attacks};

/// Relation of two squares for every pair of them.
type Pairs = [[Bitboard; 64]; 64];

struct Leaper([Bitboard; 64]);

impl Leaper {
    const fn new(steps: &[(i8, i8)]) -> Self {
        let mut table = [Bitboard::EMPTY; 64];
        let mut square = 0;
        while square < 64 {
            let mut step = 0;
            while step < steps.len() {
                let file = (square & 7) as i8 + steps[step].0;
                let rank = (square >> 3) as i8 + steps[step].1;
                if (file | rank) & !7 == 0 {
                    table[square].0 |= 1 << (rank * 8 + file);
                }
                step += 1;
            }
            square += 1;
        }
        Self(table)
    }
}

const KING_STEPS: [(i8, i8); 8] = [
    (0, 1),
    (0, -1),
    (1, 0),
    (-1, 0),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
];

static KING: Leaper = Leaper::new(&KING_STEPS);
static KNIGHT: Leaper = Leaper::new(&[
    (1, 2),
    (2, 1),
    (2, -1),
    (1, -2),
    (-1, -2),
    (-2, -1),
    (-2, 1),
    (-1, 2),
]);
static PAWN: [Leaper; 2] = [
    Leaper::new(&[(-1, 1), (1, 1)]),
    Leaper::new(&[(-1, -1), (1, -1)]),
];

static BETWEEN: Pairs = pairs(Extent::Between);
static LINE: Pairs = pairs(Extent::Whole);

#[derive(Clone, Copy)]
enum Extent {
    Between,
    Whole,
}

#[expect(clippy::large_stack_arrays, reason = "only the compiler runs this")]
const fn pairs(extent: Extent) -> Pairs {
    let mut table = [[Bitboard::EMPTY; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut direction = 0;
        while direction < 8 {
            let (file_step, rank_step) = KING_STEPS[direction];
            let forth = ray(from, file_step, rank_step);
            let whole = forth | ray(from, -file_step, -rank_step) | 1 << from;
            let mut way = 0;
            let (mut file, mut rank) =
                ((from & 7) as i8 + file_step, (from >> 3) as i8 + rank_step);
            while (file | rank) & !7 == 0 {
                let to = (rank * 8 + file) as usize;
                table[from][to].0 = match extent {
                    Extent::Between => way,
                    Extent::Whole => whole,
                };
                way |= 1 << to;
                file += file_step;
                rank += rank_step;
            }
            direction += 1;
        }
        from += 1;
    }
    table
}

const fn ray(from: usize, file_step: i8, rank_step: i8) -> u64 {
    let mut set = 0;
    let (mut file, mut rank) = ((from & 7) as i8 + file_step, (from >> 3) as i8 + rank_step);
    while (file | rank) & !7 == 0 {
        set |= 1 << (rank * 8 + file);
        file += file_step;
        rank += rank_step;
    }
    set
}

/// The eight (or fewer) squares around `square`: the blast around a capture on it.
#[inline]
pub fn king_attacks(square: Square) -> Bitboard {
    KING.0[square.index()]
}

/// The squares a knight on `square` attacks.
#[inline]
pub fn knight_attacks(square: Square) -> Bitboard {
    KNIGHT.0[square.index()]
}

/// The squares a pawn of `color` on `square` attacks.
#[inline]
pub fn pawn_attacks(color: Color, square: Square) -> Bitboard {
    PAWN[color.index()].0[square.index()]
}

/// The squares a queen on `square` attacks, the first piece on each line included.
#[inline]
pub fn queen_attacks(square: Square, occupied: Bitboard) -> Bitboard {
    bishop_attacks(square, occupied) | rook_attacks(square, occupied)
}

/// The squares a piece of this kind attacks; a pawn attacks as one of `color`.
#[inline]
pub fn role_attacks(role: Role, color: Color, square: Square, occupied: Bitboard) -> Bitboard {
    match role {
        Role::Pawn => pawn_attacks(color, square),
        Role::Knight => knight_attacks(square),
        Role::Bishop => bishop_attacks(square, occupied),
        Role::Rook => rook_attacks(square, occupied),
        Role::Queen => queen_attacks(square, occupied),
        Role::King => king_attacks(square),
    }
}

/// The squares strictly between two squares on one rank, file or diagonal; else none.
#[inline]
pub fn between(a: Square, b: Square) -> Bitboard {
    BETWEEN[a.index()][b.index()]
}

/// The whole rank, file or diagonal through two different squares; none if there is no such line.
#[inline]
pub fn line(a: Square, b: Square) -> Bitboard {
    LINE[a.index()][b.index()]
}

/// The squares a lone rook on `square` would attack.
#[inline]
pub(crate) fn rook_rays(square: Square) -> Bitboard {
    (Bitboard::file(square.file()) | Bitboard::rank(square.rank())) ^ square
}

/// The squares a lone bishop on `square` would attack.
#[inline]
pub(crate) fn bishop_rays(square: Square) -> Bitboard {
    BISHOP_RAYS[square.index()]
}

static BISHOP_RAYS: [Bitboard; 64] = {
    let mut table = [Bitboard::EMPTY; 64];
    let mut from = 0;
    while from < 64 {
        table[from] =
            Bitboard(ray(from, 1, 1) | ray(from, 1, -1) | ray(from, -1, 1) | ray(from, -1, -1));
        from += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leapers_stay_on_the_board() {
        assert_eq!(king_attacks(Square::A1).count(), 3);
        assert_eq!(king_attacks(Square::E4).count(), 8);
        assert_eq!(
            knight_attacks(Square::H8),
            Bitboard::from(Square::G6) | Square::F7
        );
        assert_eq!(
            pawn_attacks(Color::White, Square::A2),
            Bitboard::from(Square::B3)
        );
        assert_eq!(
            pawn_attacks(Color::Black, Square::H7),
            Bitboard::from(Square::G6)
        );
    }

    #[test]
    fn lines_know_their_ends() {
        assert_eq!(
            between(Square::A1, Square::D4),
            Bitboard::from(Square::B2) | Square::C3
        );
        assert_eq!(between(Square::A1, Square::B3), Bitboard::EMPTY);
        assert_eq!(line(Square::B3, Square::G3), Bitboard::rank(2));
        assert_eq!(line(Square::B3, Square::C5), Bitboard::EMPTY);
        for a in Square::all() {
            assert_eq!(rook_rays(a), rook_attacks(a, Bitboard::EMPTY));
            assert_eq!(bishop_rays(a), bishop_attacks(a, Bitboard::EMPTY));
            for b in Square::all() {
                assert_eq!(between(a, b), between(b, a));
                assert_eq!(line(a, b), line(b, a));
            }
        }
    }
}
