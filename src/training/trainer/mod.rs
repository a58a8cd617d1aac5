//! The trainer: from samples to a net, on the CPU, with the standard library's threads.
//!
//! Compiled only with the feature `train`; the bot never needs it. `dataset` holds the samples, `example`
//! turns one into inputs and a target, `worker` computes a thread's share of a batch's gradient, `adam`
//! applies it, `train_loop` runs the epochs, `export` quantises the net.

mod adam;
mod checkpoint;
mod dataset;
mod error;
mod example;
mod export;
mod hyperparameters;
mod loss_curve;
mod params;
mod schedule;
#[cfg(test)]
mod synthetic;
mod threads;
mod train_loop;
mod worker;

pub use checkpoint::checkpoint_path;
pub use dataset::{Dataset, LoadedFile, Source};
pub use error::TrainError;
pub use export::Fidelity;
pub use hyperparameters::{BUCKETS_BY, Hyperparameters, LAYOUTS};
pub use loss_curve::{EpochSummary, drawn};
pub use train_loop::{TrainEvent, Trainer, curve_path};
