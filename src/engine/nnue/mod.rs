//! The neural evaluation (NNUE): a small net over pieces on squares, one hidden layer, both sides' views.
//!
//! `features` selects the inputs, `network` is the file and its parameters, `inference` evaluates from
//! scratch, `accumulator` incrementally, with the loops in `simd`. All arithmetic is in integers, so
//! every path gives the same value. It evaluates quiet positions with both kings on the board, as the
//! classical evaluation does.

mod accumulator;
pub mod features;
mod inference;
mod lines;
mod network;
mod noise;
mod simd;

pub use accumulator::Accumulators;
pub use features::{BucketBy, Layout, Marks, View};
pub use network::{
    MOST_BUCKETS, MOST_HIDDEN, NetError, Network, Parts, QA, QB, SCALE, Shape, checksum,
};
pub use simd::Simd;
