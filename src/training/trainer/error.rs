//! Errors of a training, which name the file or the option.

use std::io;
use std::path::{Path, PathBuf};

use super::super::SampleError;
use crate::engine::nnue::NetError;

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An invalid value of an option.
    #[error("--{option}: {why}")]
    Recipe { option: &'static str, why: String },
    /// An unusable file of samples.
    #[error(transparent)]
    Samples(#[from] SampleError),
    /// No training samples.
    #[error("no sample to learn from: the files hold {0} and all are for validation or left out")]
    Nothing(usize),
    /// More samples than an epoch can index.
    #[error("{0} samples are too many at once; at most 4294967295 an epoch")]
    TooMany(usize),
    /// An unusable checkpoint.
    #[error("{}: {fault}", path.display())]
    Checkpoint { path: PathBuf, fault: String },
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The training diverged.
    #[error("the loss in epoch {0} is not a number any more; try a lower --lr")]
    Diverged(u32),
    /// The net cannot be quantised.
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
