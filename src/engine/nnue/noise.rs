//! Random nets, for tests and speed measurements.

use super::{Network, Parts, QA, QB, Shape};

/// Maximum absolute feature weight and output weight. Evaluations stay within a few pawns, like
/// those of a trained net.
const FEATURE_WEIGHT: i16 = 40;
const OUTPUT_WEIGHT: i16 = 24;

impl Network {
    /// A random net; the same seed gives the same net. `None` if there is no net of this shape.
    pub fn noise(shape: Shape, seed: u64) -> Option<Network> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut draw = |count: usize, most: i16| -> Vec<i16> {
            (0..count).map(|_| rng.i16(-most..=most)).collect()
        };
        let parts = Parts {
            feature_weights: draw(shape.layout.inputs() * shape.hidden, FEATURE_WEIGHT),
            feature_biases: draw(shape.hidden, QA as i16 / 2),
            output_weights: draw(shape.buckets * 2 * shape.hidden, OUTPUT_WEIGHT),
            output_biases: draw(shape.buckets, (QA * QB / 8) as i16)
                .into_iter()
                .map(i32::from)
                .collect(),
        };
        Network::from_parts(shape, &parts).ok()
    }
}
