//! A sample in the form for training: the active inputs for each side, and the target.

use arrayvec::ArrayVec;

use super::super::Sample;
use crate::engine::nnue::Shape;
use crate::rules::{Color, Role};

/// The target of outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The weight of the game's result; the rest is the score.
    pub(super) lambda: f32,
    /// The score in centipawns with an expected result of 1 / (1 + 1/e).
    pub(super) score_scale: f32,
}

impl Target {
    /// The expected result for the side to move, from 0 to 1.
    fn of(self, sample: &Sample) -> f32 {
        let result = f32::from(sample.result()) / 2.0;
        let score = sigmoid(f32::from(sample.score()) / self.score_scale);
        self.lambda * result + (1.0 - self.lambda) * score
    }
}

/// The expected result of an output.
#[inline]
pub(super) fn sigmoid(output: f32) -> f32 {
    1.0 / (1.0 + (-output).exp())
}

/// The active inputs, one per piece.
pub(super) type Inputs = ArrayVec<usize, 32>;

/// One training position.
#[derive(Clone, Debug)]
pub(super) struct Example {
    /// The perspective of the side to move, then the other.
    pub(super) views: [Inputs; 2],
    /// The output bucket.
    pub(super) bucket: usize,
    /// The target, from 0 to 1.
    pub(super) target: f32,
}

impl Example {
    /// A sample has the side to move at the bottom of the board, so White is to move here.
    pub(super) fn of(sample: &Sample, shape: Shape, target: Target) -> Example {
        let mut kings = [None; 2];
        for man in sample.men() {
            if man.role == Role::King {
                kings[usize::from(!man.mine)] = Some(man.square);
            }
        }
        let mut views = [Inputs::new(), Inputs::new()];
        if let [Some(mine), Some(theirs)] = kings {
            let ours = shape.layout.view(Color::White, mine, theirs);
            let others = shape.layout.view(Color::Black, theirs, mine);
            for man in sample.men() {
                let color = if man.mine { Color::White } else { Color::Black };
                views[0].push(ours.feature(color, man.role, man.square));
                views[1].push(others.feature(color, man.role, man.square));
            }
        }
        let pawns = sample.men().filter(|man| man.role == Role::Pawn).count();
        Example {
            bucket: shape.bucket_by.bucket(views[0].len(), pawns, shape.buckets),
            views,
            target: target.of(sample),
        }
    }
}
