//! The trainer: from samples to a net, on the processor, with the standard library's threads.
//!
//! It is compiled with the feature `train` only: the bot never needs it. `stock` holds the samples,
//! `example` turns one into inputs and a target, `worker` computes a thread's share of a batch's
//! gradient, `adam` steps, `course` goes through the epochs, `export` makes whole numbers of it.

mod adam;
mod checkpoint;
mod train_loop;
mod loss_curve;
mod error;
mod example;
mod export;
mod params;
mod hyperparameters;
mod schedule;
mod dataset;
#[cfg(test)]
mod synthetic;
mod threads;
mod atomic_file;
mod worker;

pub use checkpoint::checkpoint_path;
pub use train_loop::{TrainEvent, Trainer, curve_path};
pub use loss_curve::{EpochSummary, drawn};
pub use error::TrainError;
pub use export::Fidelity;
pub use hyperparameters::Hyperparameters;
pub use dataset::{LoadedFile, Source, Dataset};
