//! One open file: checked, brought to the present format, and used in transactions.
//!
//! A file that cannot be read stays as it is; a transaction is written whole or not at all.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::error::Error;
use super::schema::{FileKind, Format};
use super::timestamp::Timestamp;

/// A connection to a file, and the file's format.
type Connected = rusqlite::Result<(Connection, Format)>;

#[derive(Debug)]
pub struct Database {
    kind: &'static FileKind,
    path: PathBuf,
    db: Connection,
}

impl Database {
    /// Opens a file, creates it if there is none, and migrates it to the present format.
    ///
    /// # Errors
    /// When the file belongs to another program or a later version, is damaged, or cannot be written.
    pub fn open(kind: &'static FileKind, path: &Path, now: Timestamp) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let (mut file, found) = Self::known(kind, path, connect(kind, path, flags))?;
        if found != Format::Empty && fs::metadata(path).is_ok_and(|file| file.len() <= kind.checked)
        {
            file.check()?;
        }
        file.set_up(found, now)
            .map_err(|error| opening(kind, path, &error))?;
        Ok(file)
    }

    /// Opens a file of the present format for reading alone.
    ///
    /// # Errors
    /// When there is none, it has another format, or it cannot be read.
    pub fn open_to_read(kind: &'static FileKind, path: &Path) -> Result<Self, Error> {
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(Error::Missing(path.to_owned())),
            Err(error) => return Err(Error::failed(path, &error.to_string())),
        }
        let mut connected = connect(kind, path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        // Even a reader writes an index of the log beside the file. Read-only storage allows none, but
        // without a log no one writes to the file either.
        if let Err(error) = &connected
            && let Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) = error.sqlite_error_code()
            && !has_log(path)
        {
            connected = connect_unlocked(kind, path);
        }
        let (file, found) = Self::known(kind, path, connected)?;
        let (path, known) = (path.to_owned(), kind.schema.known());
        match found {
            Format::Empty => Err(Error::Missing(path)),
            Format::Ours(found) if found < known => Err(Error::Older { path, found, known }),
            _ => Ok(file),
        }
    }

    /// Opens an existing file for reading alone, and fails as `open` would for what it is. Takes no lock,
    /// since another process may have it open, and changes nothing; the format is that of the last migration.
    ///
    /// # Errors
    /// As for `open`. A file that seems damaged may be good while another process has it open: what
    /// its log holds is missing here, or being merged.
    pub fn check_unlocked(kind: &'static FileKind, path: &Path) -> Result<Self, Error> {
        let (file, _) = Self::known(kind, path, connect_unlocked(kind, path))?;
        file.check().map(|()| file)
    }

    /// The connected file, if its format is known.
    fn known(kind: &'static FileKind, path: &Path, db: Connected) -> Result<(Self, Format), Error> {
        let (db, found) = db.map_err(|error| opening(kind, path, &error))?;
        let (path, known) = (path.to_owned(), kind.schema.known());
        match found {
            Format::Ours(found) if found > known => Err(Error::Newer {
                path,
                found,
                known,
                remedy: kind.newer,
            }),
            Format::Foreign => Err(Error::damaged(kind, &path, "it belongs to another program")),
            Format::Empty | Format::Ours(_) => Ok((Self { kind, path, db }, found)),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let verdict = self
            .db
            .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match verdict {
            Ok(verdict) if verdict == "ok" => Ok(()),
            Ok(reason) => Err(Error::damaged(self.kind, &self.path, &reason)),
            Err(error) => Err(opening(self.kind, &self.path, &error)),
        }
    }

    fn set_up(&mut self, found: Format, now: Timestamp) -> rusqlite::Result<()> {
        let kind = self.kind;
        let set = |name, value| self.db.pragma_update(None, name, value);
        if kind.shrinks && found == Format::Empty {
            // Takes effect only in a file without tables.
            set("auto_vacuum", "INCREMENTAL")?;
        }
        set("journal_mode", "WAL")?;
        set("synchronous", if kind.durable { "FULL" } else { "NORMAL" })?;
        self.db
            .pragma_update(None, "journal_size_limit", kind.log_size)?;
        kind.schema.migrate(&mut self.db, now)?;
        if found != Format::Ours(kind.schema.known()) {
            // `check_unlocked` reads no log, so the format has to be in the file. No more depends on it.
            let _ = self.checkpoint();
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads without a transaction.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        question(&self.db).map_err(|error| Error::in_use(self.kind, &self.path, &error))
    }

    /// Reads everything as of one moment. Waits for no writer.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    /// Writes in one transaction. It begins at once, so that what it reads is still so when it
    /// writes.
    ///
    /// # Errors
    /// When the file cannot be written; then nothing of it is.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let (kind, path) = (self.kind, &self.path);
        let run = || {
            let transaction = self.db.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        run().map_err(|error| Error::in_use(kind, path, &error))
    }

    /// Merges the log into the file and cuts it back, as far as readers let it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.ask(|db| db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"))
    }

    /// Leaves room for so many pages, as on a full disk.
    #[cfg(test)]
    pub(crate) fn limit(&self, pages: u32) {
        self.db
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    }

    #[cfg(test)]
    pub(crate) fn pages(&self) -> u32 {
        self.db
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap()
    }
}

/// Opens the file at an address and finds out its format, without a change to it.
fn connect(kind: &FileKind, address: &Path, flags: OpenFlags) -> Connected {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(address, flags)?;
    db.busy_timeout(kind.busy)?;
    if kind.exclusive {
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    db.set_prepared_statement_cache_capacity(32);
    let found = kind.schema.format(&db)?;
    Ok((db, found))
}

/// Whether the file has a log, as far as that can be known.
fn has_log(path: &Path) -> bool {
    let mut log = path.canonicalize().unwrap_or_default().into_os_string();
    log.push("-wal");
    Path::new(&log).try_exists().unwrap_or(true)
}

/// Opens a file as it lies there: without locks and without its log.
fn connect_unlocked(kind: &FileKind, path: &Path) -> Connected {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        let _ = write!(address, "%{byte:02x}");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(kind, Path::new(&(address + "?immutable=1")), flags)
}

/// The meaning of an error while a file is opened: its content, or the system around it.
fn opening(kind: &'static FileKind, path: &Path, error: &rusqlite::Error) -> Error {
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
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OutOfMemory
        )
    );
    if around {
        Error::failed(path, &error.to_string())
    } else {
        Error::damaged(kind, path, &error.to_string())
    }
}
