//! What a search asks for a static value: the evaluation, with what it keeps from node to node.
//!
//! No technique of the search lives here, and no position without a king comes here.

use crate::engine::eval::{Attacks, evaluate};
use crate::engine::evaluator::{Evaluator, bounded};
use crate::engine::nnue::Accumulators;
use crate::engine::score::{DRAW, MAX_PLY, Value};
use crate::rules::Position;

/// The evaluation of one thread.
pub(super) enum Judge {
    Classical,
    Net(Box<Accumulators>),
}

impl Judge {
    pub(super) fn new(evaluator: &Evaluator) -> Judge {
        match evaluator.network() {
            None => Judge::Classical,
            Some(network) => Judge::Net(Box::new(Accumulators::new(network, MAX_PLY + 1))),
        }
    }

    /// The static value for the side to move of a position `ply` plies from the root, never one
    /// that looks like a mate.
    #[inline]
    pub(super) fn evaluate(&mut self, position: &Position, attacks: &Attacks, ply: usize) -> Value {
        debug_assert!(
            position.king(position.turn()).is_some() && position.king(!position.turn()).is_some(),
            "a king is gone"
        );
        bounded(match self {
            Judge::Classical => evaluate(position, attacks),
            Judge::Net(accumulators) => accumulators.evaluate(position, ply).unwrap_or(DRAW),
        })
    }
}
