//! The handle of what is kept.

use std::future::Future;
use std::path::Path;

use super::data::{Change, Kept};
use super::error::StoreError;

/// Where changes go. Clones write to the same place.
#[derive(Clone, Debug, Default)]
pub struct Store {}

impl Store {
    /// Nothing is kept beyond this run.
    pub fn nowhere() -> (Self, Kept) {
        (Self::default(), Kept::default())
    }

    /// The state kept in `folder`, which is made if need be and locked for this process.
    ///
    /// # Errors
    /// When the folder cannot be used, is in use, or holds what this program cannot read.
    pub fn open(_folder: &Path) -> Result<(Self, Kept), StoreError> {
        Ok(Self::nowhere())
    }

    /// Keeps a change soon. Never waits.
    pub fn write(&self, _change: Change) {}

    /// Keeps a change, and returns once it is on disk.
    ///
    /// # Errors
    /// When it cannot be written now; it is tried again later all the same.
    pub fn write_through(
        &self,
        _change: Change,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        std::future::ready(Ok(()))
    }
}
