//! The tables of at most four pieces: which there are, and the number of a position in its table.
//!
//! A table has White as its stronger side. Positions that differ by a symmetry of the board or by an
//! exchange of equal pieces have one number: the board turns in eight ways without pawns, from left to
//! right with them.

use crate::rules::{Bitboard, Color, Piece, Position, Role, Square};

/// The most pieces of a table, kings included.
pub(super) const MOST_PIECES: usize = 4;

/// The tables in the order in which they can be made: each after those that its promotions lead to.
pub(super) const NAMES: [&str; 35] = [
    "KQvK", "KRvK", "KBvK", "KNvK", "KPvK", "KQQvK", "KQRvK", "KQBvK", "KQNvK", "KRRvK", "KRBvK",
    "KRNvK", "KBBvK", "KBNvK", "KNNvK", "KQPvK", "KRPvK", "KBPvK", "KNPvK", "KPPvK", "KQvKQ",
    "KQvKR", "KQvKB", "KQvKN", "KRvKR", "KRvKB", "KRvKN", "KBvKB", "KBvKN", "KNvKN", "KQvKP",
    "KRvKP", "KBvKP", "KNvKP", "KPvKP",
];

/// The squares of a table's pieces, in the order of the table; unused ones are a1.
pub(super) type Squares = [Square; MOST_PIECES];

/// The transformations of the board: bit 0 mirrors the files, bit 1 the ranks, bit 2 exchanges them.
const MIRROR_FILES: usize = 1;
const MIRROR_RANKS: usize = 2;
const DIAGONAL: usize = 4;

static TURNED: [[Square; 64]; 8] = turned();
/// What brings a square into the triangle a1-d1-d4.
static INTO_TRIANGLE: [u8; 64] = into_triangle();
/// The squares of the triangle, and their numbers.
const TRIANGLE: [Square; 10] = [
    Square::A1,
    Square::B1,
    Square::C1,
    Square::D1,
    Square::B2,
    Square::C2,
    Square::D2,
    Square::C3,
    Square::D3,
    Square::D4,
];
static TRIANGLE_NUMBER: [u8; 64] = triangle_numbers();
/// The squares of a leading pawn: the files a to d without the back ranks.
const PAWN_SQUARES: usize = 24;

const fn turned() -> [[Square; 64]; 8] {
    let mut table = [[Square::A1; 64]; 8];
    let mut turn = 0;
    while turn < 8 {
        let mut square = 0;
        while square < 64 {
            let (mut file, mut rank) = (square as u8 & 7, square as u8 >> 3);
            if turn & MIRROR_FILES != 0 {
                file = 7 - file;
            }
            if turn & MIRROR_RANKS != 0 {
                rank = 7 - rank;
            }
            if turn & DIAGONAL != 0 {
                (file, rank) = (rank, file);
            }
            table[turn][square] = Square::from_coords(file, rank);
            square += 1;
        }
        turn += 1;
    }
    table
}

const fn into_triangle() -> [u8; 64] {
    let mut table = [0; 64];
    let mut square = 0;
    while square < 64 {
        let (mut file, mut rank) = (square as u8 & 7, square as u8 >> 3);
        let mut turn = 0;
        if file > 3 {
            file = 7 - file;
            turn |= MIRROR_FILES;
        }
        if rank > 3 {
            rank = 7 - rank;
            turn |= MIRROR_RANKS;
        }
        if rank > file {
            turn |= DIAGONAL;
        }
        table[square] = turn as u8;
        square += 1;
    }
    table
}

const fn triangle_numbers() -> [u8; 64] {
    let mut table = [0; 64];
    let mut number = 0;
    while number < TRIANGLE.len() {
        table[TRIANGLE[number].index()] = number as u8;
        number += 1;
    }
    table
}

/// The pieces of a table and how their squares make a number.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) name: &'static str,
    /// White's king, Black's king, then White's other pieces before Black's.
    pieces: [Piece; MOST_PIECES],
    count: usize,
    /// The pieces in the order of their weight in the number, heaviest first. The pawns lead.
    order: [usize; MOST_PIECES],
    has_pawns: bool,
    /// The pieces 2 and 3 are equal.
    has_twins: bool,
    /// Both sides have the same pieces.
    pub(super) is_symmetric: bool,
}

impl Layout {
    /// The table of a name in [`NAMES`].
    pub(super) fn new(name: &'static str) -> Layout {
        let king = |color| Piece {
            color,
            role: Role::King,
        };
        let mut pieces = [king(Color::White); MOST_PIECES];
        let (mut count, mut color) = (0, Color::White);
        for letter in name.chars() {
            match Role::from_char(letter.to_ascii_lowercase()) {
                None => color = Color::Black,
                Some(Role::King) => pieces[color.index()] = king(color),
                Some(role) => {
                    pieces[2 + count] = Piece { color, role };
                    count += 1;
                }
            }
        }
        let others = &pieces[2..2 + count];
        let has_pawns = others.iter().any(|piece| piece.role == Role::Pawn);
        let order = match others {
            [piece] if piece.role == Role::Pawn => [2, 0, 1, 3],
            [
                Piece {
                    role: Role::Pawn, ..
                },
                _,
            ] => [2, 3, 0, 1],
            [
                _,
                Piece {
                    role: Role::Pawn, ..
                },
            ] => [3, 0, 1, 2],
            _ => [0, 1, 2, 3],
        };
        Layout {
            name,
            pieces,
            count: count + 2,
            order,
            has_pawns,
            has_twins: count == 2 && pieces[2] == pieces[3],
            is_symmetric: count == 2
                && pieces[2].role == pieces[3].role
                && pieces[2].color != pieces[3].color,
        }
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.count]
    }

    /// How many pieces, the heaviest of the order, are pawns.
    pub(super) fn pawns(&self) -> usize {
        let is_pawn = |piece: &&Piece| piece.role == Role::Pawn;
        self.pieces().iter().filter(is_pawn).count()
    }

    /// The piece whose square weighs most, or next, and so on.
    pub(super) fn by_weight(&self) -> &[usize] {
        &self.order[..self.count]
    }

    /// The numbers of one side to move are below this.
    pub(super) fn size(&self) -> usize {
        let leaders = if self.has_pawns {
            PAWN_SQUARES
        } else {
            TRIANGLE.len()
        };
        leaders << (6 * (self.count - 1))
    }

    /// The positions of a slice: with the same pawns. Without pawns there is one slice.
    pub(super) fn slice_size(&self) -> usize {
        if self.has_pawns {
            1 << (6 * (self.count - self.pawns()))
        } else {
            self.size()
        }
    }

    /// The first number of a slice.
    pub(super) fn slice_start(&self, index: usize) -> usize {
        index / self.slice_size() * self.slice_size()
    }

    /// The number of a position.
    #[inline]
    pub(super) fn index(&self, squares: Squares) -> usize {
        if self.has_pawns {
            let index = self.led_by_pawn(squares);
            if !self.has_twins {
                return index;
            }
            let [white, black, one, other] = squares;
            return index.min(self.led_by_pawn([white, black, other, one]));
        }
        let turn = INTO_TRIANGLE[squares[0].index()] as usize;
        let turned = self.turned(squares, turn);
        let index = self.packed(turned);
        if turned[0].file() == turned[0].rank() {
            index.min(self.packed(self.turned(turned, DIAGONAL)))
        } else {
            index
        }
    }

    #[inline]
    fn turned(&self, squares: Squares, turn: usize) -> Squares {
        let mut turned = squares.map(|square| TURNED[turn][square.index()]);
        if self.has_twins && turned[2] > turned[3] {
            turned.swap(2, 3);
        }
        turned
    }

    #[inline]
    fn led_by_pawn(&self, squares: Squares) -> usize {
        if squares[self.order[0]].file() > 3 {
            self.packed(squares.map(|square| TURNED[MIRROR_FILES][square.index()]))
        } else {
            self.packed(squares)
        }
    }

    #[inline]
    fn packed(&self, squares: Squares) -> usize {
        let leader = squares[self.order[0]];
        let mut index = if self.has_pawns {
            // A pawn on a back rank is in no table; its number is any.
            (usize::from(leader.rank()).clamp(1, 6) - 1) * 4 + usize::from(leader.file() & 3)
        } else {
            usize::from(TRIANGLE_NUMBER[leader.index()])
        };
        for &piece in &self.order[1..self.count] {
            index = index << 6 | squares[piece].index();
        }
        index
    }

    /// The squares of a number.
    pub(super) fn squares(&self, index: usize) -> Squares {
        let mut squares = [Square::A1; MOST_PIECES];
        let mut rest = index;
        for &piece in self.order[1..self.count].iter().rev() {
            squares[piece] = Square::masked(rest as u8 & 63);
            rest >>= 6;
        }
        squares[self.order[0]] = if self.has_pawns {
            Square::from_coords(rest as u8 & 3, (rest as u8 >> 2) + 1)
        } else {
            TRIANGLE[rest % TRIANGLE.len()]
        };
        squares
    }

    /// Whether the rules of Lichess end the game here as drawn, whoever moves.
    pub(super) fn is_dead(&self, squares: Squares) -> bool {
        match self.name {
            "KRvK" | "KBvK" | "KNvK" | "KNNvK" => true,
            "KBvKB" => squares[2].is_light() != squares[3].is_light(),
            "KBBvK" => squares[2].is_light() == squares[3].is_light(),
            _ => false,
        }
    }
}

/// A position as a table has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    /// The place of the table in [`NAMES`].
    pub(super) table: usize,
    pub(super) squares: Squares,
    pub(super) turn: Color,
}

impl Placement {
    /// Of two kings and at most two other pieces; none for bare kings.
    pub(super) fn new(
        kings: [Square; 2],
        others: &[(Piece, Square)],
        turn: Color,
    ) -> Option<Placement> {
        let flips = match *others {
            [(piece, _)] => piece.color == Color::Black,
            [(one, _), (other, _)] if one.color == other.color => one.color == Color::Black,
            [(one, _), (other, _)] if one.role == other.role => turn == Color::Black,
            [(one, _), (other, _)] => (one.role > other.role) != (one.color == Color::White),
            _ => return None,
        };
        let seen = |square: Square| if flips { square.flip_rank() } else { square };
        let mut squares = [Square::A1; MOST_PIECES];
        squares[usize::from(flips)] = seen(kings[0]);
        squares[usize::from(!flips)] = seen(kings[1]);
        let table = match *others {
            [(piece, square)] => {
                squares[2] = seen(square);
                single(piece.role)?
            }
            [one, other] => {
                let is_second =
                    |(piece, _): (Piece, Square)| (piece.color == Color::Black) != flips;
                let same_side = one.0.color == other.0.color;
                let swaps = if same_side {
                    one.0.role < other.0.role
                } else {
                    is_second(one)
                };
                let (first, second) = if swaps { (other, one) } else { (one, other) };
                squares[2] = seen(first.1);
                squares[3] = seen(second.1);
                pair(first.0.role, second.0.role, same_side)?
            }
            _ => return None,
        };
        let turn = if flips { !turn } else { turn };
        Some(Placement {
            table,
            squares,
            turn,
        })
    }

    /// Of a position without castling rights and with at most four pieces, both kings among them.
    pub(super) fn of(position: &Position) -> Option<Placement> {
        let kings = [position.king(Color::White)?, position.king(Color::Black)?];
        let mut others = [(Piece::from_code(0)?, Square::A1); 2];
        let rest = position.occupied() - position.by_role(Role::King);
        let count = rest.count();
        if count > others.len() {
            return None;
        }
        for (place, square) in others.iter_mut().zip(rest) {
            *place = (position.piece_at(square)?, square);
        }
        Placement::new(kings, &others[..count], position.turn())
    }
}

/// The place in [`NAMES`] of the table with one piece beside the kings.
fn single(role: Role) -> Option<usize> {
    [4, 3, 2, 1, 0].get(role.index()).copied()
}

/// The place in [`NAMES`] of the table with these pieces on one side, or one on each; the first is the
/// stronger.
fn pair(first: Role, second: Role, same_side: bool) -> Option<usize> {
    // By the indices of the roles, pawn first.
    const PLACES: [[usize; 5]; 5] = [
        [14, 0, 0, 0, 0],
        [13, 9, 0, 0, 0],
        [12, 8, 7, 0, 0],
        [11, 6, 5, 4, 0],
        [10, 3, 2, 1, 0],
    ];
    // One on each side: the pairs with a pawn come last here too.
    let place = PLACES.get(first.index())?.get(second.index())?;
    Some(place + if same_side { 5 } else { 20 })
}

/// The union of the squares of the first `count` pieces.
#[inline]
pub(super) fn occupied(squares: &[Square]) -> Bitboard {
    squares.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_found_by_its_pieces() {
        for (place, name) in NAMES.iter().enumerate() {
            let layout = Layout::new(name);
            let others: Vec<(Piece, Square)> = layout.pieces()[2..]
                .iter()
                .zip([Square::C3, Square::D4])
                .map(|(&piece, square)| (piece, square))
                .collect();
            let exchanged = |(piece, square): (Piece, Square)| {
                let color = !piece.color;
                (Piece { color, ..piece }, square)
            };
            let kings = [Square::A1, Square::H8];
            let found = Placement::new(kings, &others, Color::White).unwrap();
            assert_eq!((found.table, found.turn), (place, Color::White), "{name}");
            let others: Vec<(Piece, Square)> = others.into_iter().map(exchanged).collect();
            let found = Placement::new(kings, &others, Color::Black).unwrap();
            assert_eq!((found.table, found.turn), (place, Color::White), "{name}");
        }
    }

    #[test]
    fn a_number_stands_for_a_position_and_its_mirror_images() {
        for name in NAMES {
            let layout = Layout::new(name);
            for step in 0..500 {
                let index = (step * 7_654_321) % layout.size();
                let squares = layout.squares(index);
                let mut placed = layout.pieces().iter().zip(squares);
                if placed.any(|(piece, square)| {
                    piece.role == Role::Pawn && Bitboard::BACK_RANKS.contains(square)
                }) {
                    continue;
                }
                let number = layout.index(squares);
                assert!(number <= index && number < layout.size(), "{name} {index}");
                assert_eq!(layout.index(layout.squares(number)), number, "{name}");
                let turns = if layout.has_pawns { 2 } else { 8 };
                for turned in &TURNED[..turns] {
                    let image = squares.map(|square| turned[square.index()]);
                    assert_eq!(layout.index(image), number, "{name} {index}");
                }
            }
        }
    }
}
