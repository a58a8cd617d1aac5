//! The tables, and the steps from each format of the file to the next.
//!
//! A step is never changed once it is out; what it made is changed by a later step. Each runs in one
//! transaction with the note that it ran, so that a file is always of one format or the next.

use rusqlite::{Connection, TransactionBehavior};

use super::record::Millis;

/// Tells our files from those of other programs: "MGTA".
const APPLICATION: i32 = 0x4d47_5441;

/// The steps in order; a file of format n has been through the first n.
///
/// A game's row holds everything that lists and statistics ask for, so that they never look at
/// moves; `game_by_time` holds what the statistics read, so that they never look at rows either.
pub(super) const STEPS: &[&str] = &["
    CREATE TABLE game (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        began INTEGER NOT NULL, created INTEGER, joined INTEGER NOT NULL, ended INTEGER,
        us TEXT,
        white_id TEXT, white_name TEXT NOT NULL, white_title TEXT, white_rating INTEGER,
        white_provisional INTEGER NOT NULL, white_diff INTEGER,
        black_id TEXT, black_name TEXT NOT NULL, black_title TEXT, black_rating INTEGER,
        black_provisional INTEGER NOT NULL, black_diff INTEGER,
        rated INTEGER NOT NULL, speed TEXT NOT NULL, control TEXT NOT NULL,
        fen TEXT, origin TEXT NOT NULL, tournament TEXT, program TEXT,
        status TEXT, winner TEXT, plies INTEGER NOT NULL,
        result TEXT, opponent TEXT, opponent_bot INTEGER NOT NULL, opening TEXT NOT NULL,
        rating INTEGER, diff INTEGER, opponent_rating INTEGER,
        least_clock INTEGER, hurried INTEGER NOT NULL, lag INTEGER
    );
    CREATE TABLE moves (game INTEGER PRIMARY KEY, packed TEXT NOT NULL);
    CREATE INDEX game_by_time ON game (
        began, result, us, opponent, opponent_bot, speed, rated, status, opening, rating, diff,
        opponent_rating, plies, least_clock, hurried
    );
    CREATE INDEX game_by_opponent ON game (opponent, began);
    CREATE INDEX game_by_status ON game (status, result, began);
    CREATE TABLE challenge (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
        direction TEXT NOT NULL, user_id TEXT, user_name TEXT NOT NULL, user_title TEXT,
        user_rating INTEGER, user_provisional INTEGER NOT NULL, rated INTEGER NOT NULL,
        variant TEXT NOT NULL, speed TEXT NOT NULL, control TEXT NOT NULL, color TEXT,
        verdict TEXT NOT NULL, reason TEXT, rule TEXT, why TEXT, settled INTEGER
    );
    CREATE INDEX challenge_by_time ON challenge (at);
    CREATE TABLE event (
        n INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
        game TEXT
    );
    CREATE INDEX event_by_time ON event (at);
    CREATE INDEX event_by_game ON event (game, at) WHERE game IS NOT NULL;
", "
    CREATE TABLE review (game TEXT PRIMARY KEY, at INTEGER NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER review_goes AFTER DELETE ON game BEGIN
        DELETE FROM review WHERE game = old.id;
    END;
"];

/// What a file is, before anything is changed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Nothing has been written to it.
    Empty,
    /// Ours, of this format.
    Ours(u32),
    /// Of another program.
    Foreign,
}

/// Looks what a file is.
pub(super) fn format(db: &Connection) -> rusqlite::Result<Format> {
    let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Format::Empty);
    }
    let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != APPLICATION {
        return Ok(Format::Foreign);
    }
    let version = db.query_row("SELECT max(version) FROM schema", [], |row| row.get(0))?;
    Ok(Format::Ours(version))
}

/// Takes a file through the steps that it has not been through. Another process may do the same at
/// the same time: each step looks again.
pub(super) fn migrate(db: &mut Connection, steps: &[&str], now: Millis) -> rusqlite::Result<()> {
    loop {
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = match format(&step)? {
            Format::Ours(version) => version as usize,
            Format::Empty | Format::Foreign => 0,
        };
        let Some(sql) = steps.get(done) else {
            return Ok(());
        };
        if done == 0 {
            step.execute_batch(
                "CREATE TABLE schema (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)",
            )?;
            step.pragma_update(None, "application_id", APPLICATION)?;
        }
        step.execute_batch(sql)?;
        step.execute(
            "INSERT INTO schema (version, at) VALUES (?1, ?2)",
            (done as u32 + 1, now as i64),
        )?;
        step.commit()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: &[&str] = &[
        "CREATE TABLE a (x INTEGER)",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7",
        "CREATE TABLE b (z INTEGER)",
    ];

    #[test]
    fn a_file_goes_from_any_format_to_the_last_and_keeps_its_rows() {
        for from in 0..=3 {
            let mut db = Connection::open_in_memory().unwrap();
            migrate(&mut db, &LATER[..from], 5).unwrap();
            let expected = if from == 0 {
                Format::Empty
            } else {
                db.execute("INSERT INTO a (x) VALUES (1)", []).unwrap();
                Format::Ours(from as u32)
            };
            assert_eq!(format(&db).unwrap(), expected);
            migrate(&mut db, LATER, 6).unwrap();
            assert_eq!(format(&db).unwrap(), Format::Ours(3));
            let kept: u32 = db
                .query_row("SELECT count(*) FROM a WHERE y = 7", [], |row| row.get(0))
                .unwrap();
            assert_eq!(kept, u32::from(from > 0));
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let mut db = Connection::open_in_memory().unwrap();
        let broken = [LATER[0], "CREATE TABLE c (x); SELECT nonsense FROM nowhere"];
        assert!(migrate(&mut db, &broken, 5).is_err());
        assert_eq!(format(&db).unwrap(), Format::Ours(1));
        let made: u32 = db
            .query_row(
                "SELECT count(*) FROM sqlite_master WHERE name = 'c'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(made, 0);
    }

    #[test]
    fn the_files_of_others_are_told_apart() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE notes (x)").unwrap();
        assert_eq!(format(&db).unwrap(), Format::Foreign);
    }
}
