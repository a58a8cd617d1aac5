//! The hyperparameters of a training: shape, target, learning rate, seed.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::error::TrainError;
use crate::engine::nnue::{BucketBy, Layout, MOST_BUCKETS, MOST_HIDDEN, SCALE, Shape};

/// What `--layout` takes: a word, its meaning and its value.
pub const LAYOUTS: &[(&str, &str, Layout)] = &[
    ("plain", "One bucket", Layout::Plain),
    (
        "attacked",
        "Inputs of their own for attacked pieces",
        Layout::Attacked,
    ),
    (
        "king-ring",
        "Inputs of their own for pieces beside the own king and beside the enemy king",
        Layout::KingRing,
    ),
    (
        "king-zone",
        "The same, once for each zone of the own king",
        Layout::KingZone,
    ),
];
/// What `--buckets-by` takes: a word, its meaning and its value.
pub const BUCKETS_BY: &[(&str, &str, BucketBy)] = &[
    ("pieces", "The number of pieces", BucketBy::Pieces),
    (
        "non-pawns",
        "The number of pieces that are not pawns",
        BucketBy::NonPawns,
    ),
];

/// The hyperparameters. The same values on the same data with the same number of threads give the same
/// net.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// How the inputs are split into planes: the number of a [`Layout`].
    pub layout: u32,
    /// The hidden units per perspective.
    pub hidden: usize,
    pub buckets: usize,
    /// What chooses the output bucket: the number of a [`BucketBy`].
    #[serde(default)]
    pub bucket_by: u32,
    /// The centipawns of an output of 1.
    pub scale: u32,
    /// The score in centipawns that the data's scores are divided by before they become an expected
    /// result.
    pub score_scale: f32,
    /// How much the result counts in the target, from 0 to 1; the rest is the score.
    pub lambda: f32,
    /// The number of epochs.
    pub epochs: u32,
    pub batch: usize,
    /// The highest learning rate.
    pub rate: f32,
    /// The final learning rate.
    pub last_rate: f32,
    pub seed: u64,
}

impl Default for Hyperparameters {
    fn default() -> Self {
        Hyperparameters {
            layout: Layout::Plain.number(),
            hidden: 64,
            buckets: 8,
            bucket_by: BucketBy::Pieces.number(),
            scale: SCALE,
            score_scale: SCALE as f32,
            lambda: 0.75,
            epochs: 15,
            batch: 16_384,
            rate: 1e-3,
            last_rate: 2e-5,
            seed: 1,
        }
    }
}

impl Hyperparameters {
    /// The dimensions of the resulting net.
    pub fn shape(&self) -> Result<Shape, TrainError> {
        Ok(Shape {
            layout: Layout::from_number(self.layout).ok_or(refused("layout", "unknown"))?,
            hidden: self.hidden,
            buckets: self.buckets,
            bucket_by: BucketBy::from_number(self.bucket_by)
                .ok_or(refused("buckets-by", "unknown"))?,
            scale: self.scale,
        })
    }

    /// The same training, of a net with these dimensions.
    pub(super) fn of_shape(&self, shape: Shape) -> Hyperparameters {
        Hyperparameters {
            layout: shape.layout.number(),
            hidden: shape.hidden,
            buckets: shape.buckets,
            bucket_by: shape.bucket_by.number(),
            scale: shape.scale,
            ..self.clone()
        }
    }

    /// Checks the values.
    pub fn check(&self) -> Result<(), TrainError> {
        self.shape()?;
        if !self.hidden.is_multiple_of(32) {
            return Err(refused("hidden", "it takes a multiple of 32"));
        }
        within("hidden", self.hidden as f32, 32.0..=MOST_HIDDEN as f32)?;
        within("buckets", self.buckets as f32, 1.0..=MOST_BUCKETS as f32)?;
        within("scale", self.scale as f32, 1.0..=10_000.0)?;
        within("score-scale", self.score_scale, 1.0..=10_000.0)?;
        within("lambda", self.lambda, 0.0..=1.0)?;
        within("epochs", self.epochs as f32, 1.0..=10_000.0)?;
        within("batch", self.batch as f32, 1.0..=1_048_576.0)?;
        within("lr", self.rate, 1e-12..=1.0)?;
        within("last-lr", self.last_rate, 0.0..=self.rate)
    }

    /// The first value that differs, with both values.
    pub(super) fn difference(&self, other: &Hyperparameters) -> Option<String> {
        let row = |name: &str, ours: String, theirs: String| {
            (ours != theirs).then(|| format!("{name} {theirs}, not {ours}"))
        };
        let show = |value: f32| value.to_string();
        let layout = |it: &Hyperparameters| layout_name(it.layout).to_owned();
        let bucket_by = |it: &Hyperparameters| bucket_by_name(it.bucket_by).to_owned();
        row("layout", layout(self), layout(other))
            .or_else(|| row("hidden", self.hidden.to_string(), other.hidden.to_string()))
            .or_else(|| {
                row(
                    "buckets",
                    self.buckets.to_string(),
                    other.buckets.to_string(),
                )
            })
            .or_else(|| row("buckets-by", bucket_by(self), bucket_by(other)))
            .or_else(|| row("scale", self.scale.to_string(), other.scale.to_string()))
            .or_else(|| {
                row(
                    "score-scale",
                    show(self.score_scale),
                    show(other.score_scale),
                )
            })
            .or_else(|| row("lambda", show(self.lambda), show(other.lambda)))
            .or_else(|| row("epochs", self.epochs.to_string(), other.epochs.to_string()))
            .or_else(|| row("batch", self.batch.to_string(), other.batch.to_string()))
            .or_else(|| row("lr", show(self.rate), show(other.rate)))
            .or_else(|| row("last-lr", show(self.last_rate), show(other.last_rate)))
            .or_else(|| row("seed", self.seed.to_string(), other.seed.to_string()))
    }
}

/// The layout as `--layout` takes it.
fn layout_name(number: u32) -> &'static str {
    let mut words = LAYOUTS.iter();
    let found = words.find(|(.., layout)| layout.number() == number);
    found.map_or("unknown", |&(word, ..)| word)
}

/// What chooses the output bucket, as `--buckets-by` takes it.
fn bucket_by_name(number: u32) -> &'static str {
    let mut words = BUCKETS_BY.iter();
    let found = words.find(|(.., bucket_by)| bucket_by.number() == number);
    found.map_or("unknown", |&(word, ..)| word)
}

fn within(option: &'static str, value: f32, range: RangeInclusive<f32>) -> Result<(), TrainError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(refused(
        option,
        &format!("{value}; it takes {least} to {most}"),
    ))
}

fn refused(option: &'static str, why: &str) -> TrainError {
    TrainError::Recipe {
        option,
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_hyperparameters_are_valid() {
        Hyperparameters::default().check().unwrap();
    }

    #[test]
    fn every_layout_and_bucket_choice_has_a_word() {
        for layout in Layout::ALL {
            assert_ne!(layout_name(layout.number()), "unknown", "{layout:?}");
        }
        for bucket_by in BucketBy::ALL {
            assert_ne!(
                bucket_by_name(bucket_by.number()),
                "unknown",
                "{bucket_by:?}"
            );
        }
    }

    #[test]
    fn an_invalid_choice_is_named() {
        let usual = Hyperparameters::default;
        let rows = [
            (
                Hyperparameters {
                    hidden: 48,
                    ..usual()
                },
                "--hidden",
            ),
            (
                Hyperparameters {
                    hidden: 1024,
                    ..usual()
                },
                "--hidden",
            ),
            (
                Hyperparameters {
                    buckets: 0,
                    ..usual()
                },
                "--buckets",
            ),
            (
                Hyperparameters {
                    lambda: 1.5,
                    ..usual()
                },
                "--lambda",
            ),
            (
                Hyperparameters {
                    lambda: f32::NAN,
                    ..usual()
                },
                "--lambda",
            ),
            (
                Hyperparameters {
                    last_rate: 0.1,
                    ..usual()
                },
                "--last-lr",
            ),
            (
                Hyperparameters {
                    layout: 99,
                    ..usual()
                },
                "--layout",
            ),
        ];
        for (hyperparameters, option) in rows {
            let complaint = hyperparameters.check().unwrap_err().to_string();
            assert!(complaint.starts_with(option), "{complaint}");
        }
    }

    #[test]
    fn a_difference_shows_both_values() {
        let ours = Hyperparameters::default();
        assert_eq!(ours.difference(&ours.clone()), None);
        let theirs = Hyperparameters {
            seed: 7,
            ..ours.clone()
        };
        assert_eq!(ours.difference(&theirs).unwrap(), "seed 7, not 1");
        let theirs = Hyperparameters {
            layout: Layout::KingRing.number(),
            ..ours.clone()
        };
        let difference = ours.difference(&theirs).unwrap();
        assert_eq!(difference, "layout king-ring, not plain");
        let theirs = Hyperparameters {
            bucket_by: BucketBy::NonPawns.number(),
            ..ours.clone()
        };
        let difference = ours.difference(&theirs).unwrap();
        assert_eq!(difference, "buckets-by non-pawns, not pieces");
    }
}
