//! What can go wrong in a training, in words that name the file or the option.

use std::io;
use std::path::{Path, PathBuf};

use super::super::SampleError;
use crate::engine::nnue::NetError;

/// Why a training ended without a net.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A choice without sense.
    #[error("--{option}: {why}")]
    Recipe {
        /// The option of the command line.
        option: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A file of samples that cannot be used.
    #[error(transparent)]
    Samples(#[from] SampleError),
    /// Nothing to learn from.
    #[error("no sample to learn from: the files hold {0} and all are for validation or left out")]
    Nothing(usize),
    /// More than the order of an epoch can number.
    #[error("{0} samples are too many at once; at most 4294967295 an epoch")]
    TooMany(usize),
    /// A checkpoint that cannot be used.
    #[error("{}: {fault}", path.display())]
    Checkpoint {
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The numbers ran away.
    #[error("the loss in epoch {0} is not a number any more; try a lower --lr")]
    Diverged(u32),
    /// The net cannot be made of whole numbers.
    #[error("the net cannot be exported: {0}")]
    Export(#[from] NetError),
}

impl TrainError {
    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> TrainError {
        TrainError::file("read", path)
    }

    pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> TrainError {
        TrainError::file("write", path)
    }

    fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TrainError {
        let path = path.to_owned();
        move |source| TrainError::File { what, path, source }
    }
}
