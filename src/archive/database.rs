//! The file, for anyone who writes to it: the running bot, and `megaton import` and `prune` beside it.
//!
//! Opened in WAL mode with ordinary locks, so that others may read at any time and write in turn. What
//! it cannot read it leaves as it is; what it writes is written whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::dates::DAY;
use super::error::ArchiveError;
use super::record::{ChallengeRecord, ChallengeVerdict, EventRecord, GameRecord, Millis};
use super::rows;
use super::schema::SCHEMA;
use crate::sqlite::Format;

/// How long another process may be writing.
const BUSY: Duration = Duration::from_secs(5);
/// The log is cut back to this once it is merged, in bytes.
const LOG_SIZE: i64 = 16 << 20;
/// A file up to this size is looked through when it is opened; a larger one would take too long.
const CHECKED: u64 = 64 << 20;

/// The archive's name in the folder of a server.
pub const FILE_NAME: &str = "games.db";

/// One thing to be kept.
#[derive(Clone, Debug)]
pub enum ArchiveEntry {
    /// A game as far as it is known; the same id replaces.
    Game(Arc<GameRecord>),
    /// A challenge; the same id replaces.
    Challenge(Arc<ChallengeRecord>),
    Event(Arc<EventRecord>),
}

#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    db: Connection,
}

impl Database {
    /// Opens the file, makes it if there is none, and brings it to the present format.
    ///
    /// # Errors
    /// When it is no archive, damaged, of a later format, or cannot be written.
    pub fn open(path: &Path, now: Millis) -> Result<Self, ArchiveError> {
        let wrong = |error: rusqlite::Error| ArchiveError::of(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(wrong)?;
        db.busy_timeout(BUSY).map_err(wrong)?;
        let found = SCHEMA.format(&db).map_err(wrong)?;
        accept(path, found)?;
        if found == Format::Empty {
            // Takes effect in a file without tables only; pruned pages can be given back then.
            db.pragma_update(None, "auto_vacuum", "INCREMENTAL")
                .map_err(wrong)?;
        } else if fs::metadata(path).is_ok_and(|file| file.len() <= CHECKED) {
            check(&db, path)?;
        }
        db.pragma_update(None, "journal_mode", "WAL")
            .map_err(wrong)?;
        // A loss of power may cost the last moments, never the file.
        db.pragma_update(None, "synchronous", "NORMAL")
            .map_err(wrong)?;
        db.pragma_update(None, "journal_size_limit", LOG_SIZE)
            .map_err(wrong)?;
        db.set_prepared_statement_cache_capacity(32);
        SCHEMA.migrate(&mut db, now as i64).map_err(wrong)?;
        let path = path.to_owned();
        Ok(Self { path, db })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps all of them, or none.
    ///
    /// # Errors
    /// When the file cannot be written or is damaged.
    pub fn commit(&mut self, entries: &[ArchiveEntry]) -> Result<(), ArchiveError> {
        self.change(|batch| {
            for entry in entries {
                match entry {
                    ArchiveEntry::Game(game) => rows::write_game(batch, game)?,
                    ArchiveEntry::Challenge(asked) => rows::write_challenge(batch, asked)?,
                    ArchiveEntry::Event(event) => rows::write_event(batch, event)?,
                }
            }
            Ok(())
        })
    }

    /// The game of that id, as it is kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn game(&self, id: &str) -> Result<Option<GameRecord>, ArchiveError> {
        rows::read_game(&self.db, id).map_err(|error| self.wrong(&error))
    }

    /// Games of ours whose end is not known, begun since a moment: they may still run.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn unfinished(&mut self, since: Millis) -> Result<Vec<GameRecord>, ArchiveError> {
        self.look(|batch| {
            let mut open = batch.prepare(
                "SELECT id FROM game WHERE status IS NULL AND began >= ?1
                ORDER BY began DESC LIMIT 1000",
            )?;
            let ids = open.query_map([rows::number(since)], |row| row.get(0))?;
            let ids: Vec<String> = ids.collect::<rusqlite::Result<_>>()?;
            let mut games = Vec::new();
            for id in ids {
                games.extend(rows::read_game(batch, &id)?);
            }
            Ok(games)
        })
    }

    /// Challenges that were seen before a moment and wait for an answer have lapsed: the server would
    /// have told of them again. How many there were.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn lapse(&mut self, before: Millis, now: Millis) -> Result<usize, ArchiveError> {
        self.change(|batch| {
            batch.execute(
                "UPDATE challenge SET verdict = ?3, why = 'lapsed while the bot was away',
                settled = ?2 WHERE verdict = ?4 AND at < ?1",
                params![
                    rows::number(before),
                    rows::number(now),
                    ChallengeVerdict::Canceled.as_str(),
                    ChallengeVerdict::Waiting.as_str()
                ],
            )
        })
    }

    /// Of games that began before this moment the details are gone, as far as they were to go.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn thinned(&mut self) -> Result<Millis, ArchiveError> {
        self.look(|batch| {
            let days: i64 = batch.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok(rows::moment(days).saturating_mul(DAY))
        })
    }

    /// The same is so now, of games that began before another moment; a day is told at a time. Was
    /// something older put there meanwhile, that stays to be looked at.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_thinned(&mut self, from: Millis, to: Millis) -> Result<(), ArchiveError> {
        self.change(|batch| {
            let known: i64 = batch.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if rows::moment(known) == from / DAY {
                let days = i32::try_from(to / DAY).unwrap_or(0);
                batch.pragma_update(None, "user_version", days)?;
            }
            Ok(())
        })
    }

    /// Merges the log into the file and cuts it back, as far as readers let it.
    pub(super) fn merge_log(&self) -> Result<(), ArchiveError> {
        let merge = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.db
            .execute_batch(merge)
            .map_err(|error| self.wrong(&error))
    }

    /// One moment of the file for all that is read. Waits for no one who writes.
    pub(super) fn look<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    /// One transaction, taken at once: what it reads is still so when it writes.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, ArchiveError> {
        let path = &self.path;
        let wrong = |error: rusqlite::Error| ArchiveError::of(path, &error);
        let batch = self.db.transaction_with_behavior(behavior).map_err(wrong)?;
        let done = work(&batch).map_err(wrong)?;
        batch.commit().map_err(wrong)?;
        Ok(done)
    }

    fn wrong(&self, error: &rusqlite::Error) -> ArchiveError {
        ArchiveError::of(&self.path, error)
    }

    /// Room for so many pages, as if the disk were full then.
    #[cfg(test)]
    pub(super) fn limit(&self, pages: u32) {
        self.db
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    }
}

/// Whether this program may use a file of that format.
fn accept(path: &Path, found: Format) -> Result<(), ArchiveError> {
    let known = SCHEMA.known();
    match found {
        Format::Ours(found) if found > known => Err(ArchiveError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        Format::Foreign => Err(ArchiveError::Damaged {
            path: path.to_owned(),
            reason: "it belongs to another program".to_owned(),
        }),
        Format::Empty | Format::Ours(_) => Ok(()),
    }
}

/// Opens the file for reading alone; it must be there and of the present format.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, ArchiveError> {
    let wrong = |error: rusqlite::Error| ArchiveError::of(path, &error);
    if !path.exists() {
        return Err(ArchiveError::Missing(path.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(wrong)?;
    db.busy_timeout(BUSY).map_err(wrong)?;
    let found = SCHEMA.format(&db).map_err(wrong)?;
    accept(path, found)?;
    let known = SCHEMA.known();
    match found {
        Format::Empty => return Err(ArchiveError::Missing(path.to_owned())),
        Format::Ours(found) if found < known => {
            return Err(ArchiveError::Older {
                path: path.to_owned(),
                found,
                known,
            });
        }
        _ => {}
    }
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

fn check(db: &Connection, path: &Path) -> Result<(), ArchiveError> {
    let verdict: rusqlite::Result<String> =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(reason) => Err(ArchiveError::Damaged {
            path: path.to_owned(),
            reason,
        }),
        Err(error) => Err(ArchiveError::of(path, &error)),
    }
}
