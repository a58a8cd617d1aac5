//! The inputs that a position turns on: the only index function, shared by trainer and engine.
//!
//! Each side sees the board from its own view: own pieces first, own back rank at the bottom, own
//! king on files a to d. A layout may split the inputs into planes by whether a piece is attacked, or
//! beside a king, and by where the own king stands.

use crate::rules::{Bitboard, Color, Position, Role, Square, king_attacks};

/// The inputs of one plane: two sides, six kinds of pieces, 64 squares.
pub const INPUTS: usize = 768;

/// Where the own king may stand, by [`Layout::KingZone`].
const ZONES: usize = 3;
/// Flips a square vertically.
const UPSIDE_DOWN: u16 = 56;
/// Flips a square horizontally.
const MIRRORED: u16 = 7;
/// The inputs of one side's pieces.
const HALF: u16 = INPUTS as u16 / 2;
/// Where the plane of a piece begins in its [`number`].
const PLANE_SHIFT: u32 = 10;

/// How the inputs are split. The numbers are those of the file; 1 was a layout that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    Plain = 0,
    /// An attacked piece has another input than one that is safe. Nothing defends a piece in atomic
    /// chess, so this is all that matters of a capture; kings do not capture.
    Attacked = 2,
    /// A piece beside the own king has another input, and one beside the enemy king, or beside both, a
    /// third. No king is beside itself.
    KingRing = 3,
    /// The inputs of the king rings, once for each zone of the own king: the middle of its back rank (d1
    /// and e1), the rest of that rank, the other ranks. About a half, a third and a sixth of the
    /// positions have it there.
    KingZone = 4,
}

impl Layout {
    /// Every layout there is.
    pub const ALL: [Layout; 4] = [
        Layout::Plain,
        Layout::Attacked,
        Layout::KingRing,
        Layout::KingZone,
    ];

    /// The layout with a number of the file format.
    pub fn from_number(number: u32) -> Option<Layout> {
        Layout::ALL
            .into_iter()
            .find(|layout| layout.number() == number)
    }

    /// Its number in a file.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Number of inputs of one side's view, of which a position turns on one a piece.
    pub const fn inputs(self) -> usize {
        match self {
            Layout::Plain => INPUTS,
            Layout::Attacked => 2 * INPUTS,
            Layout::KingRing => 3 * INPUTS,
            Layout::KingZone => 3 * ZONES * INPUTS,
        }
    }

    /// Whether each of its inputs is a part of one of that layout's.
    pub fn splits(self, other: Layout) -> bool {
        match other {
            Layout::Plain => self != other,
            Layout::KingRing => self == Layout::KingZone,
            Layout::Attacked | Layout::KingZone => false,
        }
    }

    /// The zone of a side's king, below [`ZONES`].
    #[inline]
    const fn zone(self, side: Color, own_king: Square) -> usize {
        let is_home = own_king.rank() == if side.index() == 0 { 0 } else { 7 };
        match self {
            Layout::KingZone if !is_home => 2,
            Layout::KingZone if own_king.file() == 3 || own_king.file() == 4 => 0,
            Layout::KingZone => 1,
            _ => 0,
        }
    }

    /// The view of a side, from the square of its king.
    #[inline]
    pub fn view(self, side: Color, own_king: Square) -> View {
        let is_mirrored = own_king.file() >= 4;
        let planes = match (self, side) {
            (Layout::Plain, _) => [0; 4],
            (Layout::Attacked, _) => [0, 1, 0, 0],
            (Layout::KingRing | Layout::KingZone, Color::White) => [0, 1, 2, 2],
            (Layout::KingRing | Layout::KingZone, Color::Black) => [0, 2, 1, 2],
        };
        let zone = self.zone(side, own_king);
        let upside_down = if side == Color::Black { UPSIDE_DOWN } else { 0 };
        let mirrored = if is_mirrored { MIRRORED } else { 0 };
        View {
            side,
            planes: planes.map(|plane| ((plane + 3 * zone) * INPUTS) as u16),
            flip: upside_down ^ mirrored,
            index: (2 * zone + usize::from(is_mirrored)) as u8,
        }
    }

    /// What moves a piece to another plane, from the squares of White's king and of Black's and from the
    /// attacked pieces.
    #[inline]
    pub fn marks(self, kings: [Square; 2], attacked: impl FnOnce() -> Bitboard) -> Marks {
        Marks(match self {
            Layout::Plain => [Bitboard::EMPTY; 2],
            Layout::Attacked => [attacked(), Bitboard::EMPTY],
            Layout::KingRing | Layout::KingZone => kings.map(king_attacks),
        })
    }

    /// The marks of a position; `None` once a king is gone.
    pub fn marks_of(self, position: &Position) -> Option<Marks> {
        let kings = [position.king(Color::White)?, position.king(Color::Black)?];
        Some(self.marks(kings, || attacked_pieces(position)))
    }

    /// The view of a side; `None` once a king is gone.
    #[inline]
    pub fn view_of(self, position: &Position, side: Color) -> Option<View> {
        Some(self.view(side, position.king(side)?))
    }
}

/// Two sets of squares: their pieces have inputs of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks(pub(super) [Bitboard; 2]);

impl Marks {
    pub(super) const NONE: Marks = Marks([Bitboard::EMPTY; 2]);

    /// Whether a square is in the first set, plus twice whether it is in the second.
    #[inline]
    pub fn at(self, square: Square) -> usize {
        let [first, second] = self.0;
        usize::from(first.contains(square)) + 2 * usize::from(second.contains(square))
    }
}

/// The pieces that an enemy piece attacks, kings not counted among the attackers.
#[inline]
pub fn attacked_pieces(position: &Position) -> Bitboard {
    let occupied = position.occupied();
    Color::ALL
        .map(|color| position.by_color(!color) & position.attacks_by(color, occupied))
        .into_iter()
        .fold(Bitboard::EMPTY, |all, attacked| all | attacked)
}

/// How one side sees the board: from its own end, mirrored or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    side: Color,
    /// For each combination of marks, the first input of its plane.
    planes: [u16; 4],
    flip: u16,
    index: u8,
}

impl View {
    /// How many different views one side can have.
    pub(super) const COUNT: usize = 2 * ZONES;

    /// The side of the view.
    #[inline]
    pub const fn side(self) -> Color {
        self.side
    }

    /// A number for tables, below [`View::COUNT`].
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.index as usize
    }

    /// The input that a piece on a square turns on, below [`Layout::inputs`], with these
    /// [marks](Marks::at).
    #[inline]
    pub fn feature(self, color: Color, role: Role, square: Square, marks: usize) -> usize {
        usize::from(self.input(number(color, role, square, marks)))
    }

    /// The input of the piece with this [`number`].
    #[inline]
    pub(super) fn input(self, number: u16) -> u16 {
        let plane = self.planes[usize::from(number >> PLANE_SHIFT) & 3];
        let piece = number & ((1 << PLANE_SHIFT) - 1);
        let piece = match self.side {
            Color::White => piece,
            Color::Black if piece < HALF => piece + HALF,
            Color::Black => piece - HALF,
        };
        plane + (piece ^ self.flip)
    }

    /// Every input that a position turns on, with these marks.
    pub fn features(self, position: &Position, marks: Marks) -> impl Iterator<Item = usize> {
        position.occupied().into_iter().filter_map(move |square| {
            let piece = position.piece_at(square)?;
            Some(self.feature(piece.color, piece.role, square, marks.at(square)))
        })
    }
}

/// A piece on a square as a number: its marks, and its input for White with the king on the a-file.
#[inline]
pub(super) const fn number(color: Color, role: Role, square: Square, marks: usize) -> u16 {
    let piece = color.index() * INPUTS / 2 + role.index() * 64 + square.index();
    (marks << PLANE_SHIFT | piece) as u16
}

/// What chooses the output bucket of a position. The numbers are those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BucketBy {
    /// All pieces, up to 32.
    Pieces = 0,
    /// The pieces that are not pawns, up to 16: pawns survive the explosions beside them.
    NonPawns = 1,
}

impl BucketBy {
    pub const ALL: [BucketBy; 2] = [BucketBy::Pieces, BucketBy::NonPawns];

    /// The choice with a number of the file format.
    pub fn from_number(number: u32) -> Option<BucketBy> {
        BucketBy::ALL.into_iter().find(|by| by.number() == number)
    }

    /// Its number in a file.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The output bucket, of `buckets`, for this many pieces, of which so many are pawns. A board may
    /// hold more pieces that are not pawns than at the start; the last bucket takes them.
    #[inline]
    pub fn bucket(self, pieces: usize, pawns: usize, buckets: usize) -> usize {
        match self {
            BucketBy::Pieces => pieces.saturating_sub(1) * buckets / 32,
            BucketBy::NonPawns => {
                ((pieces - pawns).saturating_sub(2) * buckets / 15).min(buckets - 1)
            }
        }
    }

    #[inline]
    pub(super) fn bucket_of(self, position: &Position, buckets: usize) -> usize {
        let pawns = position.by_role(Role::Pawn).count();
        self.bucket(position.occupied().count(), pawns, buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_side_then_kind_then_square() {
        let plain = Layout::Plain.view(Color::White, Square::D1);
        assert_eq!(plain.feature(Color::White, Role::Pawn, Square::A2, 0), 8);
        assert_eq!(
            plain.feature(Color::Black, Role::Queen, Square::D8, 0),
            384 + 4 * 64 + 59
        );
        let mirrored = Layout::Plain.view(Color::White, Square::E1);
        assert_eq!(
            mirrored.feature(Color::White, Role::Pawn, Square::A2, 0),
            15
        );
        let black = Layout::Plain.view(Color::Black, Square::E8);
        assert_eq!(black.feature(Color::Black, Role::Pawn, Square::A7, 0), 15);
        assert_eq!(
            black.feature(Color::White, Role::King, Square::E1, 0),
            384 + 5 * 64 + 59
        );
    }

    #[test]
    fn an_attacked_piece_has_an_input_of_its_own() {
        let position = Position::from_fen("4k3/3p4/8/8/8/2N5/8/R2QK3 w - - 0 1").unwrap();
        let marks = Layout::Attacked.marks_of(&position).unwrap();
        assert_eq!(marks.0, [Bitboard::from(Square::D7), Bitboard::EMPTY]);
        assert_eq!(Layout::Plain.marks_of(&position), Some(Marks::NONE));
        assert_eq!(planes(Layout::Attacked, &position, Color::White), [5, 1, 0]);
    }

    #[test]
    fn a_piece_beside_a_king_has_an_input_of_its_own() {
        let apart = Position::from_fen("4k3/3p4/8/8/8/2N5/5P2/R2QK3 w - - 0 1").unwrap();
        assert_eq!(planes(Layout::KingRing, &apart, Color::White), [4, 2, 1]);
        assert_eq!(planes(Layout::KingRing, &apart, Color::Black), [4, 1, 2]);
        // The kings touch, both are beside the pawn, and the knight is beside Black's.
        let close = Position::from_fen("8/8/8/8/2n5/1kP5/2K5/7R w - - 0 1").unwrap();
        assert_eq!(planes(Layout::KingRing, &close, Color::White), [1, 1, 3]);
        assert_eq!(planes(Layout::KingRing, &close, Color::Black), [1, 2, 2]);
    }

    #[test]
    fn the_place_of_the_own_king_chooses_the_inputs() {
        let zones = |side, squares: [Square; 5]| {
            squares.map(|king| {
                let views = [Layout::KingZone, Layout::KingRing].map(|it| it.view(side, king));
                let [fine, coarse] =
                    views.map(|view| view.feature(Color::White, Role::Rook, Square::A1, 1));
                assert_eq!((fine - coarse) % (3 * INPUTS), 0, "{king}");
                (fine - coarse) / (3 * INPUTS)
            })
        };
        let white = [Square::D1, Square::E1, Square::G1, Square::A1, Square::E2];
        assert_eq!(zones(Color::White, white), [0, 0, 1, 1, 2]);
        let black = [Square::D8, Square::E8, Square::C8, Square::H8, Square::E1];
        assert_eq!(zones(Color::Black, black), [0, 0, 1, 1, 2]);
        let finer = |layout: Layout| Layout::ALL.map(|other| layout.splits(other));
        assert_eq!(finer(Layout::Plain), [false; 4]);
        assert_eq!(finer(Layout::KingRing), [true, false, false, false]);
        assert_eq!(finer(Layout::KingZone), [true, false, true, false]);
    }

    /// How many inputs of each plane are on.
    fn planes(layout: Layout, position: &Position, side: Color) -> [usize; 3] {
        let view = layout.view_of(position, side).unwrap();
        let mut counts = [0; 3];
        for input in view.features(position, layout.marks_of(position).unwrap()) {
            counts[input / INPUTS] += 1;
        }
        counts
    }

    #[test]
    fn both_sides_see_a_position_and_its_image_alike() {
        let there = Position::from_fen("r2k3r/1P3b1p/p7/8/3P1P2/2N5/PP4pP/R1B2K1R w - - 0 15");
        let image = Position::from_fen("r1b2k1r/pp4Pp/2n5/3p1p2/8/P7/1p3B1P/R2K3R b - - 0 15");
        let (there, image) = (there.unwrap(), image.unwrap());
        for layout in Layout::ALL {
            for side in Color::ALL {
                let seen = |position: &Position, side| {
                    let view = layout.view_of(position, side).unwrap();
                    let marks = layout.marks_of(position).unwrap();
                    let mut seen: Vec<usize> = view.features(position, marks).collect();
                    seen.sort_unstable();
                    seen
                };
                assert_eq!(seen(&there, side), seen(&image, !side));
            }
        }
    }

    #[test]
    fn every_input_belongs_to_one_piece() {
        for layout in Layout::ALL {
            let view = layout.view(Color::Black, Square::G5);
            let mut seen = vec![false; layout.inputs()];
            for color in Color::ALL {
                for (role, square) in Role::ALL
                    .into_iter()
                    .flat_map(|role| Square::all().map(move |square| (role, square)))
                {
                    let input = view.feature(color, role, square, 0);
                    assert!(!std::mem::replace(&mut seen[input], true));
                }
            }
            assert_eq!(seen.iter().filter(|&&on| on).count(), INPUTS);
            assert!(view.index() < View::COUNT);
        }
    }

    #[test]
    fn the_output_bucket_depends_on_the_number_of_pieces() {
        let chosen = |pieces| BucketBy::Pieces.bucket(pieces, 9, 8);
        assert_eq!([9, 16, 17, 32].map(chosen), [2, 3, 4, 7]);
        let chosen = |others: usize| BucketBy::NonPawns.bucket(others + 5, 5, 8);
        assert_eq!(
            [2, 3, 4, 9, 10, 15, 16, 20].map(chosen),
            [0, 0, 1, 3, 4, 6, 7, 7]
        );
        for by in BucketBy::ALL {
            assert_eq!(by.bucket(32, 16, 1), 0);
            assert_eq!(by.bucket_of(&Position::start(), 8), 7);
            assert_eq!(BucketBy::from_number(by.number()), Some(by));
        }
    }
}
