//! Counts the leaves of the move tree: the test and the benchmark of move generation.

use super::{Move, Position};

impl Position {
    /// How many lines of `depth` half-moves start here.
    ///
    /// Only mate, stalemate and explosion end a line early; the last half-move is counted without
    /// being played.
    pub fn perft(&self, depth: u32) -> u64 {
        match depth {
            0 => 1,
            1 => self.count_moves() as u64,
            _ => self
                .legal_moves()
                .into_iter()
                .map(|mv| self.play(mv).perft(depth - 1))
                .sum(),
        }
    }

    /// `perft` split by the first move; empty at depth 0.
    pub fn divide(&self, depth: u32) -> Vec<(Move, u64)> {
        let Some(rest) = depth.checked_sub(1) else {
            return Vec::new();
        };
        self.legal_moves()
            .into_iter()
            .map(|mv| (mv, self.play(mv).perft(rest)))
            .collect()
    }
}
