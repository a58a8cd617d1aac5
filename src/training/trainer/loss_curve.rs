//! The loss curve: one row per epoch, in the checkpoint and in a file beside the net.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// The levels of a drawn curve.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The most epochs of a drawn curve, which shows the last ones.
const LONGEST: usize = 40;

/// The results of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochSummary {
    pub epoch: u32,
    /// The number of training samples.
    pub samples: u64,
    /// The mean loss over the batches of the epoch, each before its step.
    pub train_loss: f64,
    /// The mean loss over the validation samples at its end; none without such samples.
    pub validation_loss: Option<f64>,
    /// The learning rate at its end.
    pub rate: f32,
    /// The duration, including validation.
    pub seconds: f64,
}

impl EpochSummary {
    pub fn speed(&self) -> f64 {
        self.samples as f64 / self.seconds.max(1e-9)
    }
}

/// The curve as a line of blocks, of the validation losses if there are any.
pub fn drawn(curve: &[EpochSummary]) -> String {
    let rows = &curve[curve.len().saturating_sub(LONGEST)..];
    let losses = rows
        .iter()
        .map(|row| row.validation_loss.unwrap_or(row.train_loss));
    let least = losses.clone().fold(f64::INFINITY, f64::min);
    let most = losses.clone().fold(f64::NEG_INFINITY, f64::max);
    let steps = (BLOCKS.len() - 1) as f64 / (most - least).max(1e-12);
    losses
        .map(|loss| BLOCKS[((loss - least) * steps).round() as usize])
        .collect()
}

/// The curve as comma-separated values.
pub(super) fn csv(curve: &[EpochSummary]) -> String {
    let mut text = String::from(
        "epoch,samples,train_loss,validation_loss,learning_rate,seconds,samples_per_second\n",
    );
    for row in curve {
        let validation = row.validation_loss.map(|loss| format!("{loss:.8}"));
        let _ = writeln!(
            text,
            "{},{},{:.8},{},{:.3e},{:.2},{:.0}",
            row.epoch,
            row.samples,
            row.train_loss,
            validation.unwrap_or_default(),
            row.rate,
            row.seconds,
            row.speed(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(train_loss: f64, validation_loss: Option<f64>) -> EpochSummary {
        EpochSummary {
            epoch: 1,
            samples: 1000,
            train_loss,
            validation_loss,
            rate: 1e-3,
            seconds: 0.5,
        }
    }

    #[test]
    fn a_row_has_as_many_fields_as_the_head() {
        let text = csv(&[row(0.25, None), row(0.25, Some(0.5))]);
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(fields, [7, 7, 7]);
        assert!(
            text.contains("\n1,1000,0.25000000,,1.000e-3,0.50,2000\n"),
            "{text}"
        );
    }

    #[test]
    fn a_curve_is_drawn_from_its_least_to_its_greatest() {
        let curve = [1.0, 0.5, 0.0].map(|loss| row(2.0 * loss, Some(loss)));
        assert_eq!(drawn(&curve), "█▅▁");
        assert_eq!(drawn(&[row(3.0, None)]), "▁");
        assert_eq!(drawn(&[]), "");
        assert_eq!(drawn(&vec![row(0.1, None); 50]).chars().count(), LONGEST);
    }
}
