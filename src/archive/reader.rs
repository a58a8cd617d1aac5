//! The archive, open for reading: by commands, pages and the review.
//!
//! A reader has its own connection and works while the bot writes. Its calls block, so asynchronous
//! code must run them where blocking is allowed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::ErrorCode::DatabaseCorrupt;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use serde::Serialize;

use super::database::KIND;
use super::filter::{Conditions, Filter, Order};
use super::pgn::board;
use super::record::{EventRecord, GameRecord, Millis, Outcome};
use super::rows::{
    EVENT_COLUMNS, GAME_COLUMNS, GAME_WIDTH, event_of, game_of, number, read_game, read_moves,
};
use super::sql_enums;
use crate::sqlite::{self, Error};

/// Rows per page, without and with moves.
pub(super) const LINES: usize = 1000;
const GAMES: usize = 100;

/// The archive, for reading. Clones share the connection, one call at a time.
#[derive(Clone, Debug)]
pub struct ArchiveReader {
    path: Arc<Path>,
    db: Arc<Mutex<sqlite::Database>>,
}

/// A game in a list: everything but its moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GameLine {
    /// The record, without moves.
    #[serde(flatten)]
    pub game: GameRecord,
    /// The result for us.
    pub result: Option<Outcome>,
    pub plies: u32,
    /// The first six plies in UCI.
    pub opening: String,
    /// The least time on our clock after a move of ours.
    pub least_clock: Option<Millis>,
    /// Our moves after which less than ten seconds, and less than a tenth of the initial time, were
    /// left.
    pub hurried: u32,
    /// Maximum move overhead.
    pub lag: Option<Millis>,
}

/// Where a list of games continues: after the game with this start and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameCursor {
    /// Start of that game.
    pub began: Millis,
    pub id: String,
}

impl GameCursor {
    fn of(game: &GameRecord) -> Self {
        Self {
            began: game.began(),
            id: game.id.clone(),
        }
    }
}

impl GameLine {
    /// Where a list continues after this game.
    pub fn mark(&self) -> GameCursor {
        GameCursor::of(&self.game)
    }
}

impl ArchiveReader {
    /// Opens an existing archive.
    ///
    /// # Errors
    /// When there is none, or it is not of this program's format.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let db = sqlite::Database::open_to_read(&KIND, path)?;
        Ok(Self {
            path: path.into(),
            db: Arc::new(Mutex::new(db)),
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns at most `most` games, after the marked one if given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn games(
        &self,
        filter: &Filter,
        order: Order,
        most: usize,
        after: Option<&GameCursor>,
    ) -> Result<Vec<GameLine>, Error> {
        let columns = format!("{GAME_COLUMNS}, result, plies, opening, least_clock, hurried, lag");
        let (sql, values) = listing(&columns, filter, order, most, after);
        self.ask(|db| {
            let mut found = db.prepare_cached(&sql)?;
            let lines = found.query_map(params_from_iter(values), line_of)?;
            lines.collect()
        })
    }

    /// Passes them to `take` one by one, until it returns `false` or an error. Reads page by page
    /// and releases the file in between, so `take` may be slow.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `take`.
    pub fn each_line<E: From<Error>>(
        &self,
        filter: &Filter,
        order: Order,
        most: usize,
        take: impl FnMut(GameLine) -> Result<bool, E>,
    ) -> Result<(), E> {
        let read = |most, after: Option<&GameCursor>| self.games(filter, order, most, after);
        page_by_page(most, LINES, read, GameLine::mark, take)
    }

    /// Passes games with their moves to `take` in the same way.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `take`.
    pub fn each_game<E: From<Error>>(
        &self,
        filter: &Filter,
        order: Order,
        most: usize,
        take: impl FnMut(GameRecord) -> Result<bool, E>,
    ) -> Result<(), E> {
        let read = |most, after: Option<&GameCursor>| {
            let (sql, values) = listing(GAME_COLUMNS, filter, order, most, after);
            self.ask(|db| {
                let mut found = db.prepare_cached(&sql)?;
                let mut rows = found.query(params_from_iter(values))?;
                let mut games = Vec::new();
                while let Some(row) = rows.next()? {
                    let mut game = game_of(row)?;
                    game.moves = read_moves(db, row.get(0)?)?;
                    games.push(game);
                }
                Ok(games)
            })
        };
        page_by_page(most, GAMES, read, GameCursor::of, take)
    }

    /// Reads a game with its moves, SAN included.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn game(&self, id: &str) -> Result<Option<GameRecord>, Error> {
        let mut game = self.ask(|db| read_game(db, id))?;
        if let Some(game) = &mut game {
            write_san(game);
        }
        Ok(game)
    }

    /// Returns ids with this prefix.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn ids_like(&self, beginning: &str) -> Result<Vec<String>, Error> {
        let after = format!("{beginning}\u{10ffff}");
        self.ask(|db| {
            let mut ids = db.prepare_cached(
                "SELECT id FROM game WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 5",
            )?;
            ids.query_map([beginning, &after], |row| row.get(0))?
                .collect()
        })
    }

    /// Returns the account that played most of our latest games.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn account(&self) -> Result<Option<String>, Error> {
        self.ask(|db| {
            let mut found = db.prepare(
                "SELECT CASE us WHEN 'white' THEN white_id ELSE black_id END AS me
                 FROM (SELECT us, white_id, black_id FROM game WHERE us IS NOT NULL
                       ORDER BY began DESC LIMIT 1000)
                 WHERE me IS NOT NULL GROUP BY me ORDER BY count(*) DESC LIMIT 1",
            )?;
            let mut rows = found.query([])?;
            rows.next()?.map(|row| row.get(0)).transpose()
        })
    }

    /// Returns the events of a game and those of the account during it, earliest first. Of very
    /// many it returns the last ones: they tell why a game was lost.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn events_of(&self, game: &GameRecord) -> Result<Vec<EventRecord>, Error> {
        let ended = game.ending.as_ref().map_or(Millis::MAX, |ending| ending.at);
        self.ask(|db| {
            let mut found = db.prepare_cached(&format!(
                "SELECT {EVENT_COLUMNS} FROM event WHERE game = ?1
                 UNION ALL
                 SELECT {EVENT_COLUMNS} FROM event
                 WHERE game IS NULL AND at BETWEEN ?2 AND ?3 AND kind IN ('offline', 'online')
                 ORDER BY at DESC LIMIT {LINES}"
            ))?;
            let span = params![game.id, number(game.began()), number(ended)];
            let events = found.query_map(span, event_of)?;
            let mut events: Vec<EventRecord> = events.collect::<rusqlite::Result<_>>()?;
            events.reverse();
            Ok(events)
        })
    }

    /// Writes a copy of the whole archive, as of this moment, to a new file. The file appears once
    /// the copy is complete. Returns its size.
    ///
    /// # Errors
    /// When there is such a file already, or the copy cannot be written.
    pub fn backup(&self, to: &Path) -> Result<u64, Error> {
        let partial = to.with_added_extension("partial");
        let failed = |reason: &str| Error::failed(to, reason);
        let Some(name) = partial.to_str() else {
            return Err(failed("its name is not valid UTF-8"));
        };
        if to.exists() {
            return Err(failed("the file exists already"));
        }
        let locked = to.with_added_extension("lock");
        let _lock = lock(&locked).map_err(|error| failed(&error.to_string()))?;
        let copy = || {
            // Another backup may have ended since the first look.
            if to.exists() {
                return Err(failed("the file exists already"));
            }
            // SQLite does not write to a file with content, as an interrupted backup leaves it.
            let _ = fs::remove_file(&partial);
            let copied = self.ask(|db| match db.execute("VACUUM INTO ?1", [name]) {
                // The copy is not to blame.
                Err(error) if error.sqlite_error_code() == Some(DatabaseCorrupt) => Err(error),
                copied => Ok(copied),
            });
            copied?.map_err(|error| failed(&error.to_string()))?;
            sync_and_move(&partial, to).map_err(|error| failed(&error.to_string()))
        };
        let moved = copy();
        // After a failure: a partial copy is useless.
        let _ = fs::remove_file(&partial);
        let _ = fs::remove_file(&locked);
        moved
    }

    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let db = self.db.lock();
        db.ask(question)
    }
}

/// Locks a file for one backup: two at once would each publish what the other has written of its copy.
/// It is not the copy: on NFS the lock would keep the database from writing that.
fn lock(path: &Path) -> std::io::Result<fs::File> {
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let is_taken = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    // A backup that failed meanwhile has removed the file.
    if is_taken || file.metadata()?.nlink() == 0 {
        return Err(std::io::Error::other("another backup is writing it"));
    }
    Ok(file)
}

fn sync_and_move(partial: &Path, to: &Path) -> std::io::Result<u64> {
    let file = fs::File::open(partial)?;
    file.sync_all()?;
    let length = file.metadata()?.len();
    fs::rename(partial, to)?;
    // The rename survives a crash only once the folder is written too. Some file systems cannot do
    // that; the copy is complete anyway.
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::File::open(folder.unwrap_or(Path::new(".")));
    if let Err(error) = folder.and_then(|folder| folder.sync_all()) {
        tracing::debug!(%error, "the folder of a backup is not written through");
    }
    Ok(length)
}

/// Passes at most `most` items, read in pages, to `take` until it returns `false`.
pub(super) fn page_by_page<T, M, E: From<Error>>(
    most: usize,
    page: usize,
    read: impl Fn(usize, Option<&M>) -> Result<Vec<T>, Error>,
    mark: impl Fn(&T) -> M,
    mut take: impl FnMut(T) -> Result<bool, E>,
) -> Result<(), E> {
    let mut left = most;
    let mut after: Option<M> = None;
    while left > 0 {
        let wanted = left.min(page);
        let found = read(wanted, after.as_ref())?;
        let last = found.len() < wanted;
        left -= found.len();
        after = found.last().map(&mark);
        for one in found {
            if !take(one)? {
                return Ok(());
            }
        }
        if last {
            break;
        }
    }
    Ok(())
}

/// The query for a list, and its parameters.
fn listing(
    columns: &str,
    filter: &Filter,
    order: Order,
    most: usize,
    after: Option<&GameCursor>,
) -> (String, Vec<Value>) {
    let mut conditions = Conditions::of(filter);
    if let Some(mark) = after {
        let id = Value::Text(mark.id.clone());
        conditions.go_on(order, ["began", "id"], mark.began, id);
    }
    let clause = conditions.clause();
    let word = order.word();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {columns} FROM game {clause} ORDER BY began {word}, id {word} LIMIT {most}"
    );
    (sql, conditions.values)
}

fn line_of(row: &Row<'_>) -> rusqlite::Result<GameLine> {
    let least: Option<i64> = row.get(GAME_WIDTH + 3)?;
    let lag: Option<i64> = row.get(GAME_WIDTH + 5)?;
    Ok(GameLine {
        game: game_of(row)?,
        result: sql_enums::word(row, GAME_WIDTH)?,
        plies: row.get(GAME_WIDTH + 1)?,
        opening: row.get(GAME_WIDTH + 2)?,
        least_clock: least.map(super::rows::moment),
        hurried: row.get(GAME_WIDTH + 4)?,
        lag: lag.map(super::rows::moment),
    })
}

/// Adds the SAN of each move, up to the first illegal one.
pub fn write_san(game: &mut GameRecord) {
    let Some(mut board) = board(game) else {
        return;
    };
    for made in &mut game.moves {
        let before = *board.position();
        let Ok(mv) = board.push_uci(&made.uci) else {
            break;
        };
        made.san = Some(before.san(mv));
    }
}
