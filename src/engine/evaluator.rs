//! The choice of evaluation: classical or a net.
//!
//! A cheap handle, made once and passed to every search. The embedded net is the default if there
//! is one.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::eval;
use super::nnue::{NetError, Network, Simd};
use super::score::{MATE_BOUND, Value};
use crate::rules::{Color, Position};

/// The embedded net file; `None` for a program built without one.
const EMBEDDED: Option<&[u8]> = Some(include_bytes!("../../assets/nets/net15.net"));

/// The name of the classical evaluation.
pub const CLASSICAL: &str = "classical";

/// An evaluation. Clones share it.
#[derive(Clone, PartialEq, Eq)]
pub struct Evaluator(Option<Arc<Network>>);

impl Evaluator {
    pub const fn classical() -> Evaluator {
        Evaluator(None)
    }

    pub const fn from_network(network: Arc<Network>) -> Evaluator {
        Evaluator(Some(network))
    }

    /// The evaluation that a setting names: empty is the default, `classical` the classical one,
    /// anything else a file.
    pub fn named(name: &Path) -> Result<Evaluator, NetError> {
        if name.as_os_str().is_empty() {
            Ok(Evaluator::default())
        } else if name == Path::new(CLASSICAL) {
            Ok(Evaluator::classical())
        } else {
            Ok(Evaluator(Some(Arc::new(Network::load(name)?))))
        }
    }

    /// The same evaluation with these SIMD instructions; without a net nothing changes.
    #[must_use]
    pub fn with_simd(&self, simd: Simd) -> Evaluator {
        let network = self.0.as_deref();
        Evaluator(network.map(|network| Arc::new(network.clone().with_simd(simd))))
    }

    /// A name to display: `classical`, or the net's shape and hash.
    pub fn id(&self) -> String {
        match &self.0 {
            None => CLASSICAL.to_owned(),
            Some(network) => network.id(),
        }
    }

    /// The net, if it is one.
    pub fn network(&self) -> Option<&Arc<Network>> {
        self.0.as_ref()
    }

    /// The static evaluation in centipawns for the side to move; `None` once a king is gone.
    ///
    /// Computed from scratch: for single positions, not for a search.
    pub fn evaluate(&self, position: &Position) -> Option<i32> {
        position.king(Color::White)?;
        position.king(Color::Black)?;
        let value = match &self.0 {
            None => eval::evaluate(position),
            Some(network) => network.evaluate(position)?,
        };
        Some(bounded(value))
    }
}

impl Default for Evaluator {
    /// The embedded net, or the classical evaluation without one.
    fn default() -> Evaluator {
        static NETWORK: OnceLock<Option<Arc<Network>>> = OnceLock::new();
        let network = NETWORK.get_or_init(|| {
            let read = |bytes| Network::from_bytes(bytes).expect("the embedded net is sound");
            EMBEDDED.map(|bytes| Arc::new(read(bytes)))
        });
        Evaluator(network.clone())
    }
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Evaluator").field(&self.id()).finish()
    }
}

/// A static value never looks like a proved mate.
#[inline]
pub(super) fn bounded(value: Value) -> Value {
    value.clamp(1 - MATE_BOUND, MATE_BOUND - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::nnue::{BucketBy, Layout, Parts, QA, QB, SCALE, Shape};

    const SHAPE: Shape = Shape {
        layout: Layout::Plain,
        hidden: 32,
        buckets: 1,
        bucket_by: BucketBy::Pieces,
        scale: SCALE,
    };

    fn flat() -> Parts {
        Parts {
            feature_weights: vec![0; 768 * 32],
            feature_biases: vec![0; 32],
            output_weights: vec![0; 64],
            output_biases: vec![0],
        }
    }

    fn of(parts: &Parts) -> Evaluator {
        Evaluator::from_network(Arc::new(Network::from_parts(SHAPE, parts).unwrap()))
    }

    #[test]
    fn the_default_is_the_net_in_the_binary_if_there_is_one() {
        assert_eq!(Evaluator::default().network().is_some(), EMBEDDED.is_some());
        assert_eq!(
            Evaluator::default(),
            Evaluator::named(Path::new("")).unwrap()
        );
    }

    #[test]
    fn a_setting_names_the_classical_evaluation_or_a_file() {
        let classical = Evaluator::named(Path::new("classical")).unwrap();
        assert_eq!(format!("{classical:?}"), "Evaluator(\"classical\")");
        assert!(Evaluator::named(Path::new("no/such.net")).is_err());
    }

    #[test]
    fn a_position_without_a_king_has_no_value() {
        let position = Position::from_fen("4k3/8/8/8/8/3q4/3P4/3QK3 b - - 0 1").unwrap();
        let exploded = position.play(position.parse_uci("d3d2").unwrap());
        assert!(exploded.king(exploded.turn()).is_none());
        for evaluator in [Evaluator::classical(), of(&flat())] {
            assert_eq!(evaluator.evaluate(&exploded), None);
            assert!(evaluator.evaluate(&position).is_some());
        }
    }

    #[test]
    fn an_output_is_scaled_as_the_trainer_means_it() {
        // One hidden unit of the side to move is fully on: 1 * 0.5 * 400 centipawns, and a bias of
        // 0.25.
        let mut parts = flat();
        parts.feature_biases[0] = QA as i16;
        parts.output_weights[0] = QB as i16 / 2;
        parts.output_biases[0] = QA * QB / 4;
        assert_eq!(of(&parts).evaluate(&Position::default()), Some(300));
        // Activations are clipped to 0..1.
        parts.feature_biases[0] = -5;
        assert_eq!(of(&parts).evaluate(&Position::default()), Some(100));
        parts.feature_biases[0] = 9999;
        assert_eq!(of(&parts).evaluate(&Position::default()), Some(300));
        // Half on is a quarter of the weight.
        parts.feature_biases[0] = 128;
        let quarter = of(&parts).evaluate(&Position::default()).unwrap();
        assert!((149..=151).contains(&quarter), "{quarter}");
    }

    #[test]
    fn pieces_are_seen_from_the_side_to_move() {
        // An own queen turns one unit on.
        let mut parts = flat();
        for square in 0..64 {
            parts.feature_weights[(4 * 64 + square) * 32] = QA as i16;
        }
        parts.output_weights[0] = QB as i16;
        parts.output_weights[32] = -QB as i16;
        let rows = [
            ("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1", 400),
            ("4k3/8/8/8/8/8/8/Q3K3 b - - 0 1", -400),
            ("q3k3/8/8/8/8/8/8/4K3 b - - 0 1", 400),
        ];
        for (fen, value) in rows {
            let position = Position::from_fen(fen).unwrap();
            assert_eq!(of(&parts).evaluate(&position), Some(value), "{fen}");
        }
    }

    #[test]
    fn a_value_never_looks_like_a_mate() {
        let mut parts = flat();
        parts.output_biases[0] = i32::MAX;
        let value = of(&parts).evaluate(&Position::default()).unwrap();
        assert_eq!(value, MATE_BOUND - 1);
    }
}
