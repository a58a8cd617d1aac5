//! The pieces of a table, as a number and as the name of its file.
//!
//! A table serves both colours, so exchanging the colours gives the same number.

use std::fmt;

use crate::rules::{Color, Position, Role};

/// The letters of the pieces in the names of tables, in the order of their counts in the number.
const LETTERS: [(char, Role); 6] = [
    ('K', Role::King),
    ('Q', Role::Queen),
    ('R', Role::Rook),
    ('B', Role::Bishop),
    ('N', Role::Knight),
    ('P', Role::Pawn),
];
/// The bits of the count of one role.
const BITS: u32 = 4;
/// The highest count of one role.
const MOST: usize = 15;

/// The pieces of both sides, regardless of colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Material([u32; 2]);

impl Material {
    /// The sides may come in any order.
    fn new(sides: [u32; 2]) -> Material {
        Material([sides[0].max(sides[1]), sides[0].min(sides[1])])
    }

    /// The pieces of a position with few of them.
    pub(super) fn of(position: &Position) -> Material {
        let side = |color| {
            let counts = LETTERS
                .iter()
                .map(|&(_, role)| position.by_piece(color, role).count());
            counts.fold(0, |sum, count| sum << BITS | count.min(MOST) as u32)
        };
        Material::new([side(Color::White), side(Color::Black)])
    }

    /// From the name of a table, such as `KQvKR`.
    pub(super) fn named(name: &str) -> Option<Material> {
        let (strong, weak) = name.split_once('v')?;
        let side = |letters: &str| {
            let mut counts = [0; LETTERS.len()];
            for letter in letters.chars() {
                let at = LETTERS.iter().position(|&(other, _)| other == letter)?;
                counts[at] += 1;
            }
            let is_side = counts[0] == 1 && counts.iter().all(|&count| count <= MOST);
            is_side.then(|| counts.iter().fold(0, |sum, &n| sum << BITS | n as u32))
        };
        Some(Material::new([side(strong)?, side(weak)?]))
    }

    /// The number of pieces.
    pub(super) fn pieces(self) -> usize {
        let count = |side: u32| (0..LETTERS.len() as u32).map(move |at| side >> (at * BITS) & 15);
        self.0.into_iter().flat_map(count).sum::<u32>() as usize
    }
}

impl fmt::Display for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, side) in self.0.into_iter().enumerate() {
            if at > 0 {
                f.write_str("v")?;
            }
            for (place, (letter, _)) in LETTERS.iter().rev().enumerate().rev() {
                for _ in 0..side >> (place as u32 * BITS) & 15 {
                    write!(f, "{letter}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_serves_both_colours() {
        for (fen, name) in [
            ("4k3/8/8/8/8/8/4P3/3QK3 w - - 0 1", "KQPvK"),
            ("4k3/4p3/8/8/8/8/8/3QK3 b - - 0 1", "KQvKP"),
            ("3qk3/8/8/8/8/8/4P3/4K3 b - - 0 1", "KQvKP"),
        ] {
            let position = Position::from_fen(fen).unwrap();
            let material = Material::of(&position);
            assert_eq!(Some(material), Material::named(name), "{fen}");
            assert_eq!(material.to_string(), name);
            assert_eq!(material.pieces(), position.occupied().count());
        }
        assert_eq!(Material::named("KvKQ"), Material::named("KQvK"));
    }

    #[test]
    fn other_names_are_not_tables() {
        for name in ["", "KQ", "QvK", "KKvK", "KXvK", "KQvKvK", "kqvk", "Kv"] {
            assert_eq!(Material::named(name), None, "{name}");
        }
    }
}
