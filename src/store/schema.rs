//! The tables, and the steps from each format of the file to the next.
//!
//! A step is never changed once it is out; what it made is changed by a later step. Each runs in one
//! transaction with the note that it ran, so that a file is always of one format or the next.

use rusqlite::{Connection, TransactionBehavior};

use super::moment::Moment;

/// Tells our files from those of other programs: "MGTN".
pub(super) const APPLICATION: i32 = 0x4d47_544e;

/// The steps in order; a file of format n has been through the first n.
pub(super) const STEPS: &[&str] = &["
    CREATE TABLE spend (
        key TEXT PRIMARY KEY, at INTEGER NOT NULL, origin TEXT, begun INTEGER NOT NULL,
        credits INTEGER NOT NULL, opponent TEXT
    ) WITHOUT ROWID;
    CREATE TABLE server_limit (
        name TEXT PRIMARY KEY, learned INTEGER, learned_at INTEGER,
        closed_at INTEGER, closed_until INTEGER, strikes INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE cooldown (
        key TEXT PRIMARY KEY, at INTEGER NOT NULL, until INTEGER NOT NULL,
        failures INTEGER NOT NULL, reason TEXT
    ) WITHOUT ROWID;
    CREATE TABLE opponent (
        id TEXT PRIMARY KEY, wins INTEGER NOT NULL, draws INTEGER NOT NULL,
        losses INTEGER NOT NULL, rematches INTEGER NOT NULL,
        spent_at INTEGER, spent_until INTEGER, seen INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE result (
        game TEXT PRIMARY KEY, opponent TEXT, is_bot INTEGER NOT NULL, rated INTEGER NOT NULL,
        color TEXT, winner TEXT, status TEXT NOT NULL, plies INTEGER NOT NULL,
        opening TEXT NOT NULL, rating_diff INTEGER, at INTEGER NOT NULL
    );
    CREATE INDEX result_by_opponent ON result (opponent, at);
    CREATE INDEX result_by_time ON result (at);
    CREATE TABLE encounter (
        kind TEXT NOT NULL, id TEXT NOT NULL, opponent TEXT NOT NULL, is_bot INTEGER NOT NULL,
        at INTEGER NOT NULL, PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;
    CREATE TABLE game (
        id TEXT PRIMARY KEY, at INTEGER NOT NULL, greeted INTEGER NOT NULL,
        greeted_spectators INTEGER NOT NULL, parted INTEGER NOT NULL,
        parted_spectators INTEGER NOT NULL, takebacks INTEGER NOT NULL,
        draw_offers INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE guard (
        scope TEXT PRIMARY KEY, losses INTEGER NOT NULL, counted_from INTEGER NOT NULL,
        rest_at INTEGER, rest_until INTEGER, reason TEXT
    ) WITHOUT ROWID;
    CREATE TABLE note (key TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID;
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

/// Takes a file from a format through the steps after it.
pub(super) fn migrate(
    db: &mut Connection,
    steps: &[&str],
    from: Format,
    now: Moment,
) -> rusqlite::Result<()> {
    let done = match from {
        Format::Ours(version) => version as usize,
        Format::Empty | Format::Foreign => 0,
    };
    for (index, step) in steps.iter().enumerate().skip(done) {
        let step_of = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if index == 0 {
            step_of.execute_batch(
                "CREATE TABLE schema (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)",
            )?;
            step_of.pragma_update(None, "application_id", APPLICATION)?;
        }
        step_of.execute_batch(step)?;
        step_of.execute(
            "INSERT INTO schema (version, at) VALUES (?1, ?2)",
            (index as u32 + 1, now.as_millis() as i64),
        )?;
        step_of.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: &[&str] = &[
        "CREATE TABLE a (x INTEGER)",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7",
        "CREATE TABLE b (z INTEGER)",
    ];

    fn versions(db: &Connection) -> Vec<u32> {
        let mut rows = db
            .prepare("SELECT version FROM schema ORDER BY version")
            .unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_file_goes_from_any_format_to_the_last_and_keeps_its_rows() {
        for from in 0..=3 {
            let mut db = Connection::open_in_memory().unwrap();
            let now = Moment::from_millis(5);
            migrate(&mut db, &LATER[..from], Format::Empty, now).unwrap();
            if from > 0 {
                db.execute("INSERT INTO a (x) VALUES (1)", []).unwrap();
            }
            let found = format(&db).unwrap();
            let expected = if from == 0 {
                Format::Empty
            } else {
                Format::Ours(from as u32)
            };
            assert_eq!(found, expected);
            migrate(&mut db, LATER, found, now).unwrap();
            assert_eq!(versions(&db), [1, 2, 3], "from {from}");
            let kept: Option<i64> = db
                .query_row("SELECT max(y) FROM a", [], |r| r.get(0))
                .unwrap();
            assert_eq!(kept, (from > 0).then_some(7));
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let mut db = Connection::open_in_memory().unwrap();
        let broken = [
            "CREATE TABLE a (x INTEGER)",
            "CREATE TABLE b (y); CREATE TABLE a (x)",
        ];
        let now = Moment::default();
        migrate(&mut db, &broken, Format::Empty, now).unwrap_err();
        assert_eq!(format(&db).unwrap(), Format::Ours(1));
        assert!(
            db.prepare("SELECT * FROM b").is_err(),
            "half a step is undone"
        );
    }

    #[test]
    fn another_programs_file_is_known_by_its_mark() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert_eq!(format(&db).unwrap(), Format::Foreign);
    }
}
