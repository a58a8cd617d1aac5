//! The trainer: from samples to a net, on the processor, with the standard library's threads.
//!
//! It is compiled with the feature `train` only: the bot never needs it. `stock` holds the samples,
//! `example` turns one into inputs and a target, `worker` computes a thread's share of a batch's
//! gradient, `adam` steps, `course` goes through the epochs, `export` makes whole numbers of it.

mod adam;
mod checkpoint;
mod course;
mod curve;
mod error;
mod example;
mod export;
mod numbers;
mod recipe;
mod schedule;
mod stock;
#[cfg(test)]
mod synthetic;
mod threads;
mod whole;
mod worker;

pub use checkpoint::checkpoint_path;
pub use course::{Told, Trainer, curve_path};
pub use curve::{EpochSummary, drawn};
pub use error::TrainError;
pub use export::Fidelity;
pub use recipe::Recipe;
pub use stock::{Lot, Source, Stock};
