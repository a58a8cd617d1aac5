//! Late move reductions: how much less deeply a late move is searched, in 1/1024 ply.

use std::sync::LazyLock;

use super::params;

/// One ply of reduction.
pub(super) const PLY: i32 = 1024;

const DEPTHS: usize = 64;
const MOVES: usize = 64;

/// Whether a move captures or promotes to a queen, or does neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveClass {
    Noisy,
    Quiet,
}

static TABLES: LazyLock<[Vec<i32>; 2]> = LazyLock::new(|| {
    [
        table(params::LMR_NOISY_BASE, params::LMR_NOISY_DIVISOR),
        table(params::LMR_QUIET_BASE, params::LMR_QUIET_DIVISOR),
    ]
});

fn table(base: f64, divisor: f64) -> Vec<i32> {
    let reduction = |index: usize| {
        let (depth, moves) = ((index / MOVES).max(1) as f64, (index % MOVES).max(1) as f64);
        ((base + depth.ln() * moves.ln() / divisor) * f64::from(PLY)) as i32
    };
    (0..DEPTHS * MOVES).map(reduction).collect()
}

/// The reduction before any adjustment, for the `moves`-th move (from 1) at `depth`.
#[inline]
pub(super) fn base(class: MoveClass, depth: i32, moves: usize) -> i32 {
    let depth = (depth.max(0) as usize).min(DEPTHS - 1);
    TABLES[class as usize][depth * MOVES + moves.min(MOVES - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_grow_with_depth_and_move_count() {
        for depth in 2..60 {
            for moves in 2..60 {
                let here = base(MoveClass::Quiet, depth, moves);
                assert!(here <= base(MoveClass::Quiet, depth + 1, moves));
                assert!(here <= base(MoveClass::Quiet, depth, moves + 1));
                assert!(here >= base(MoveClass::Noisy, depth, moves));
            }
        }
    }
}
