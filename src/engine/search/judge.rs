//! What a search asks for a static value: the evaluation, with what it keeps from node to node.
//!
//! No technique of the search lives here, and no position without a king comes here.

use crate::engine::eval::{Attacks, evaluate};
use crate::engine::evaluator::{Evaluator, bounded};
use crate::engine::score::{DRAW, Value};
use crate::rules::Position;

/// The evaluation of one thread.
pub(super) struct Judge {
    evaluator: Evaluator,
}

impl Judge {
    pub(super) fn new(evaluator: &Evaluator) -> Judge {
        Judge {
            evaluator: evaluator.clone(),
        }
    }

    /// The static value for the side to move of a position `ply` plies from the root, never one
    /// that looks like a mate.
    #[inline]
    pub(super) fn evaluate(
        &mut self,
        position: &Position,
        attacks: &Attacks,
        _ply: usize,
    ) -> Value {
        debug_assert!(
            position.king(position.turn()).is_some() && position.king(!position.turn()).is_some(),
            "a king is gone"
        );
        let value = match self.evaluator.network() {
            None => evaluate(position, attacks),
            Some(network) => network.evaluate(position).unwrap_or(DRAW),
        };
        bounded(value)
    }
}
