//! The learned evaluation: a small net over pieces on squares, one hidden layer, both sides' views.
//!
//! `features` says which inputs are on, `network` is the file and its numbers, `inference` computes
//! an evaluation from scratch, `accumulator` from that of a near position, with the loops of `simd`. Everything is in integers, so that every path gives the same value.
//! It judges quiet positions with both kings on the board, as the classical evaluation does.

mod accumulator;
pub mod features;
mod inference;
mod lines;
mod network;
mod noise;
mod simd;

pub use accumulator::Accumulators;
pub use features::{Layout, View, output_bucket};
pub use network::{MOST_BUCKETS, MOST_HIDDEN, NetError, Network, Parts, QA, QB, SCALE, Shape};
pub use simd::Simd;
