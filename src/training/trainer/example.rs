//! A sample as the trainer computes with it: the inputs that are on for each side, and the answer
//! that would be right.

use arrayvec::ArrayVec;

use super::super::Sample;
use crate::engine::nnue::{Shape, output_bucket};
use crate::rules::{Color, Role};

/// What an output should be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// How much the game's result counts; the rest is the score.
    pub(super) lambda: f32,
    /// The score in centipawns that stands for a won share of 1 / (1 + 1/e).
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

/// The inputs that are on, one a piece.
pub(super) type Inputs = ArrayVec<usize, 32>;

/// One position to learn from.
#[derive(Clone, Debug)]
pub(super) struct Example {
    /// The side to move's view, then the other's.
    pub(super) views: [Inputs; 2],
    /// Which output judges it.
    pub(super) bucket: usize,
    /// The right answer, from 0 to 1.
    pub(super) target: f32,
}

impl Example {
    /// A sample has the side to move at the bottom of the board, so that side is White here.
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
        Example {
            bucket: output_bucket(views[0].len(), shape.buckets),
            views,
            target: target.of(sample),
        }
    }
}
