//! Late move reductions: how much less deeply a late move is searched, in 1/1024 ply.

use std::sync::LazyLock;

use super::tunables;

/// One ply of reduction.
pub(super) const PLY: i32 = 1024;

/// Numbers with a logarithm; larger ones count like the last.
const NUMBERS: usize = 64;

/// Whether a move captures or promotes to a queen, or does neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveClass {
    Noisy,
    Quiet,
}

/// Natural logarithms, in 1/1024.
static LOGARITHMS: LazyLock<[i32; NUMBERS]> =
    LazyLock::new(|| std::array::from_fn(|n| (1024.0 * (n.max(1) as f64).ln()).round() as i32));

/// The reduction before any adjustment, for the `moves`-th move (from 1) at `depth`.
#[inline]
pub(super) fn base(class: MoveClass, depth: i32, moves: usize) -> i32 {
    let depth = LOGARITHMS[(depth.max(0) as usize).min(NUMBERS - 1)];
    let product = depth * LOGARITHMS[moves.min(NUMBERS - 1)];
    match class {
        MoveClass::Quiet => tunables::lmr_quiet_base() + product / tunables::lmr_quiet_divisor(),
        MoveClass::Noisy => tunables::lmr_noisy_base() + product / tunables::lmr_noisy_divisor(),
    }
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
