//! The file: opened, checked, read once, and written in transactions.
//!
//! Alone with its file: it holds it exclusively and without shared memory, so that a full disk is an
//! error and never a signal. What it cannot read it leaves as it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::data::{Change, State};
use super::error::StoreError;
use super::schema::SCHEMA;
use super::timestamp::Timestamp;
use super::{load, rows};
use crate::sqlite::Format;

/// How long another program may be in the file, such as an operator's look at it.
const BUSY: Duration = Duration::from_secs(2);
/// The log is cut back to this once it is merged, in bytes.
const LOG_SIZE: i64 = 4 << 20;

/// Where a batch of changes goes.
pub(super) trait Backend: Send {
    /// Keeps all of them, or none.
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError>;
}

#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    db: Connection,
}

impl Database {
    /// Opens the file, brings it to the present format and reads it.
    pub(super) fn open(path: &Path, now: Timestamp) -> Result<(Self, State), StoreError> {
        let wrong = |error: rusqlite::Error| complaint(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(wrong)?;
        db.busy_timeout(BUSY).map_err(wrong)?;
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")
            .map_err(wrong)?;
        let found = SCHEMA.format(&db).map_err(wrong)?;
        let known = SCHEMA.known();
        match found {
            Format::Ours(version) if version > known => {
                return Err(StoreError::Newer {
                    path: path.to_owned(),
                    found: version,
                    known,
                });
            }
            Format::Foreign => return Err(damaged(path, "it belongs to another program")),
            Format::Empty | Format::Ours(_) => {}
        }
        if found != Format::Empty {
            check(&db, path)?;
        }
        set_up(&db).map_err(wrong)?;
        SCHEMA
            .migrate(&mut db, now.as_millis() as i64)
            .map_err(wrong)?;
        let kept = load::everything(&db, now).map_err(wrong)?;
        let path = path.to_owned();
        Ok((Self { path, db }, kept))
    }

    /// Room for so many pages, as if the disk were full then.
    #[cfg(test)]
    pub(super) fn limit(&self, pages: u32) {
        self.db
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    }

    #[cfg(test)]
    pub(super) fn pages(&self) -> u32 {
        self.db
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap()
    }
}

impl Backend for Database {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mut write = || {
            let batch = self.db.transaction()?;
            for change in changes {
                rows::write(&batch, change)?;
            }
            batch.commit()
        };
        write().map_err(|error| StoreError::Unwritable {
            path,
            reason: error.to_string(),
        })
    }
}

fn set_up(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    // What is acknowledged survives a loss of power too.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "journal_size_limit", LOG_SIZE)?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(())
}

fn check(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict: rusqlite::Result<String> =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(verdict) => Err(damaged(path, &verdict)),
        Err(error) => Err(complaint(path, &error)),
    }
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// What an error at the opening means: the file, or the folder around it.
fn complaint(path: &Path, error: &rusqlite::Error) -> StoreError {
    let around = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
        )
    );
    if around {
        StoreError::Folder {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    } else {
        damaged(path, &error.to_string())
    }
}
