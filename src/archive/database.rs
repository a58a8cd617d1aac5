//! The archive, open for writing: by the running bot, and by `megaton import` and `prune` beside it.
//!
//! The file has ordinary locks, so that other processes may read at any time and write in turn.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::params;

use super::dates::DAY;
use super::record::{
    ChallengeRecord, ChallengeVerdict, EventRecord, GameRecord, Millis, WireRecord,
};
use super::rows;
use super::schema::SCHEMA;
use crate::sqlite::{self, Error, FileKind, Timestamp};

/// How the file is opened.
pub(super) static KIND: FileKind = FileKind {
    schema: SCHEMA,
    exclusive: false,
    durable: false,
    shrinks: true,
    busy: Duration::from_secs(5),
    log_size: 16 << 20,
    checked: 64 << 20,
    name: "an archive of this program",
    backup: "backup",
    fresh: "start a new one",
    newer: "move the file away",
};

/// The archive's name in the folder of a server.
pub const FILE_NAME: &str = "games.db";

/// An entry to store.
#[derive(Clone, Debug)]
pub enum ArchiveEntry {
    /// A game, as far as it is known; replaces the one with the same id.
    Game(Arc<GameRecord>),
    /// A challenge; replaces the one with the same id.
    Challenge(Arc<ChallengeRecord>),
    Event(Arc<EventRecord>),
    /// A piece of the traffic of a game; dropped once there is very much of it.
    Wire(Arc<WireRecord>),
}

#[derive(Debug)]
pub struct Database(pub(super) sqlite::Database);

impl Database {
    /// Opens the file, creates it if there is none, and migrates it to the present format.
    ///
    /// # Errors
    /// When it is no archive, damaged, of a later format, or cannot be written.
    pub fn open(path: &Path, now: Millis) -> Result<Self, Error> {
        sqlite::Database::open(&KIND, path, Timestamp::from_millis(now)).map(Self)
    }

    /// Stores all entries, or none.
    ///
    /// # Errors
    /// When the file cannot be written or is damaged.
    pub fn commit(&mut self, entries: &[ArchiveEntry]) -> Result<(), Error> {
        self.0.write(|batch| {
            for entry in entries {
                match entry {
                    ArchiveEntry::Game(game) => rows::write_game(batch, game)?,
                    ArchiveEntry::Challenge(asked) => rows::write_challenge(batch, asked)?,
                    ArchiveEntry::Event(event) => rows::write_event(batch, event)?,
                    ArchiveEntry::Wire(line) => rows::write_wire(batch, line)?,
                }
            }
            Ok(())
        })
    }

    /// Reads a game.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn game(&self, id: &str) -> Result<Option<GameRecord>, Error> {
        self.0.ask(|db| rows::read_game(db, id))
    }

    /// Returns our games without a known end that began since a moment: they may still be running.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn unfinished(&mut self, since: Millis) -> Result<Vec<GameRecord>, Error> {
        self.0.read(|batch| {
            let mut open = batch.prepare(
                "SELECT id FROM game
                WHERE status IS NULL AND began >= ?1 AND us IS NOT NULL AND origin <> 'imported'
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

    /// Marks challenges first seen before a moment that still wait for an answer as lapsed: the
    /// server would have repeated them. Returns their number.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn lapse(&mut self, before: Millis, now: Millis) -> Result<usize, Error> {
        self.0.write(|batch| {
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

    /// Returns the moment before which games have lost their details.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn thinned(&mut self) -> Result<Millis, Error> {
        self.0.read(|batch| {
            let days: i64 = batch.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok(rows::moment(days).saturating_mul(DAY))
        })
    }

    /// Moves that moment forward, in whole days. Does nothing if an import of older games has moved
    /// it back meanwhile.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_thinned(&mut self, from: Millis, to: Millis) -> Result<(), Error> {
        self.0.write(|batch| {
            let known: i64 = batch.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if rows::moment(known) == from / DAY {
                let days = i32::try_from(to / DAY).unwrap_or(0);
                batch.pragma_update(None, "user_version", days)?;
            }
            Ok(())
        })
    }

    #[cfg(test)]
    pub(super) fn limit(&self, pages: u32) {
        self.0.limit(pages);
    }
}
