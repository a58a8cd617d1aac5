//! A square of the board.

use std::fmt;
use std::str::FromStr;

/// A square; a1 is 0, b1 is 1, h8 is 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Square(u8);

impl Square {
    /// The square of an index, or `None` from 64 on.
    #[inline]
    pub const fn new(index: u8) -> Option<Self> {
        if index < 64 { Some(Self(index)) } else { None }
    }

    /// The square of the low six bits of an index.
    #[inline]
    pub(crate) const fn masked(index: u8) -> Self {
        Self(index & 63)
    }

    /// The square on a file and a rank, both 0 to 7 (only their low three bits count).
    #[inline]
    pub const fn from_coords(file: u8, rank: u8) -> Self {
        Self((rank & 7) << 3 | file & 7)
    }

    /// All squares from a1 to h8.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..64u8).map(Self)
    }

    /// 0 for the a-file to 7 for the h-file.
    #[inline]
    pub const fn file(self) -> u8 {
        self.0 & 7
    }

    /// 0 for the first rank to 7 for the eighth.
    #[inline]
    pub const fn rank(self) -> u8 {
        self.0 >> 3
    }

    /// 0 to 63, for tables.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & 63) as usize
    }

    /// The same square seen from the other side of the board (rank mirrored).
    #[must_use]
    #[inline]
    pub const fn flip_rank(self) -> Self {
        Self::from_coords(self.file(), 7 - self.rank())
    }

    /// Whether the square is a light one.
    #[inline]
    pub const fn is_light(self) -> bool {
        (self.file() + self.rank()) & 1 == 1
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = char::from(b'a' + self.file());
        let rank = char::from(b'1' + self.rank());
        write!(f, "{file}{rank}")
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not the name of a square.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a square is a file a-h and a rank 1-8, like e4")]
pub struct ParseSquareError;

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Self, ParseSquareError> {
        match text.as_bytes() {
            [file @ b'a'..=b'h', rank @ b'1'..=b'8'] => {
                Ok(Self::from_coords(file - b'a', rank - b'1'))
            }
            _ => Err(ParseSquareError),
        }
    }
}

macro_rules! name_squares {
    ($($name:ident = $index:literal)*) => {
        #[allow(missing_docs, reason = "the names say it all")]
        impl Square {
            $(pub const $name: Self = Self($index);)*
        }
    };
}

#[rustfmt::skip]
name_squares! {
    A1 = 0 B1 = 1 C1 = 2 D1 = 3 E1 = 4 F1 = 5 G1 = 6 H1 = 7
    A2 = 8 B2 = 9 C2 = 10 D2 = 11 E2 = 12 F2 = 13 G2 = 14 H2 = 15
    A3 = 16 B3 = 17 C3 = 18 D3 = 19 E3 = 20 F3 = 21 G3 = 22 H3 = 23
    A4 = 24 B4 = 25 C4 = 26 D4 = 27 E4 = 28 F4 = 29 G4 = 30 H4 = 31
    A5 = 32 B5 = 33 C5 = 34 D5 = 35 E5 = 36 F5 = 37 G5 = 38 H5 = 39
    A6 = 40 B6 = 41 C6 = 42 D6 = 43 E6 = 44 F6 = 45 G6 = 46 H6 = 47
    A7 = 48 B7 = 49 C7 = 50 D7 = 51 E7 = 52 F7 = 53 G7 = 54 H7 = 55
    A8 = 56 B8 = 57 C8 = 58 D8 = 59 E8 = 60 F8 = 61 G8 = 62 H8 = 63
}
