//! The format of a file: the program it belongs to, and the steps from each format to the next.
//!
//! A released step never changes; a later step changes what it created. Each step runs in one
//! transaction with the note that it ran, so a file always has one format or the next.

use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::timestamp::Timestamp;

/// The formats of one kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// `SQLite`'s `application_id`, which tells such files from those of other programs.
    pub application: i32,
    /// The steps in SQL. A file of format n has been through the first n.
    pub steps: &'static [&'static str],
}

/// How one kind of file is opened, and its name in messages.
#[derive(Debug, PartialEq, Eq)]
pub struct FileKind {
    pub schema: Schema,
    /// Shuts out all other processes while the file is open.
    pub exclusive: bool,
    /// An acknowledged write survives a loss of power. Otherwise a loss of power may cost the last
    /// moments, never the file.
    pub durable: bool,
    /// Deleted rows can give their space back to the system.
    pub shrinks: bool,
    /// How long another process may hold the file.
    pub busy: Duration,
    /// The log's size in bytes after a checkpoint.
    pub log_size: i64,
    /// Largest file, in bytes, that is checked when opened; more would take too long.
    pub checked: u64,
    /// The file with its article.
    pub name: &'static str,
    /// What the operator has a copy in.
    pub backup: &'static str,
    /// What a new file means.
    pub fresh: &'static str,
    /// What else helps against a file of a later version.
    pub newer: &'static str,
}

/// The format found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The file has no table yet.
    Empty,
    /// The file belongs to this program.
    Ours(u32),
    Foreign,
}

impl Schema {
    /// The latest format known.
    pub const fn known(&self) -> u32 {
        self.steps.len() as u32
    }

    /// Finds out the format of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn format(&self, db: &Connection) -> rusqlite::Result<Format> {
        let tables: u32 =
            db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            return Ok(Format::Empty);
        }
        let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if application != self.application {
            return Ok(Format::Foreign);
        }
        let version = db.query_row("SELECT max(version) FROM schema", [], |row| row.get(0))?;
        Ok(Format::Ours(version))
    }

    /// Runs the steps that are missing and records `now` with each. Another process may do the same
    /// at the same time, so each step looks again. A foreign file stays as it is.
    ///
    /// # Errors
    /// When a step fails; the file is of the format before it.
    pub fn migrate(&self, db: &mut Connection, now: Timestamp) -> rusqlite::Result<()> {
        loop {
            let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = match self.format(&step)? {
                Format::Ours(version) => version as usize,
                Format::Empty => 0,
                Format::Foreign => return Ok(()),
            };
            let Some(sql) = self.steps.get(done) else {
                return Ok(());
            };
            if done == 0 {
                step.execute_batch(
                    "CREATE TABLE schema (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)",
                )?;
                step.pragma_update(None, "application_id", self.application)?;
            }
            step.execute_batch(sql)?;
            step.execute(
                "INSERT INTO schema (version, at) VALUES (?1, ?2)",
                (done as u32 + 1, now),
            )?;
            step.commit()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] = &[
        "CREATE TABLE a (x INTEGER)",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7",
        "CREATE TABLE b (z INTEGER)",
    ];

    fn schema(steps: &'static [&'static str]) -> Schema {
        Schema {
            application: 77,
            steps,
        }
    }

    fn versions(db: &Connection) -> Vec<u32> {
        let mut rows = db
            .prepare("SELECT version FROM schema ORDER BY version")
            .unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_file_migrates_from_any_format_and_keeps_its_rows() {
        let last = schema(STEPS);
        for from in 0..=3 {
            let mut db = Connection::open_in_memory().unwrap();
            schema(&STEPS[..from])
                .migrate(&mut db, Timestamp::from_millis(5))
                .unwrap();
            let expected = if from == 0 {
                Format::Empty
            } else {
                db.execute("INSERT INTO a (x) VALUES (1)", []).unwrap();
                Format::Ours(from as u32)
            };
            assert_eq!(last.format(&db).unwrap(), expected);
            last.migrate(&mut db, Timestamp::from_millis(6)).unwrap();
            assert_eq!(last.format(&db).unwrap(), Format::Ours(last.known()));
            assert_eq!(versions(&db), [1, 2, 3], "from {from}");
            let kept: Option<i64> = db
                .query_row("SELECT max(y) FROM a", [], |row| row.get(0))
                .unwrap();
            assert_eq!(kept, (from > 0).then_some(7));
        }
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let mut db = Connection::open_in_memory().unwrap();
        let broken = schema(&[
            "CREATE TABLE a (x INTEGER)",
            "CREATE TABLE b (y); CREATE TABLE a (x)",
        ]);
        broken
            .migrate(&mut db, Timestamp::from_millis(5))
            .unwrap_err();
        assert_eq!(broken.format(&db).unwrap(), Format::Ours(1));
        assert!(
            db.prepare("SELECT * FROM b").is_err(),
            "half a step is undone"
        );
    }

    #[test]
    fn files_of_other_programs_are_recognized_and_left_alone() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE theirs (x)").unwrap();
        let ours = schema(STEPS);
        assert_eq!(ours.format(&db).unwrap(), Format::Foreign);
        ours.migrate(&mut db, Timestamp::from_millis(5)).unwrap();
        assert!(db.prepare("SELECT * FROM schema").is_err());
    }
}
