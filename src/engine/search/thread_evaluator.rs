//! The evaluation of a search thread, with its incremental state.
//!
//! It contains no search technique and expects both kings on the board.

use crate::engine::eval::evaluate;
use crate::engine::evaluator::{Evaluator, bounded};
use crate::engine::nnue::Accumulators;
use crate::engine::score::{DRAW, MAX_PLY, Value};
use crate::rules::Position;

/// The evaluation of one thread.
pub(super) enum ThreadEvaluator {
    Classical,
    Net(Box<Accumulators>),
}

impl ThreadEvaluator {
    pub(super) fn new(evaluator: &Evaluator) -> ThreadEvaluator {
        match evaluator.network() {
            None => ThreadEvaluator::Classical,
            Some(network) => {
                ThreadEvaluator::Net(Box::new(Accumulators::new(network, MAX_PLY + 1)))
            }
        }
    }

    /// The static value for the side to move of a position `ply` plies from the root, never one
    /// that looks like a mate.
    #[inline]
    pub(super) fn evaluate(&mut self, position: &Position, ply: usize) -> Value {
        debug_assert!(
            position.king(position.turn()).is_some() && position.king(!position.turn()).is_some(),
            "a king is gone"
        );
        bounded(match self {
            ThreadEvaluator::Classical => evaluate(position),
            ThreadEvaluator::Net(accumulators) => {
                accumulators.evaluate(position, ply).unwrap_or(DRAW)
            }
        })
    }
}
