//! Deletes old games or their details, challenges and events, and shrinks the file.
//!
//! Works in steps, each a short transaction: another writer waits for one step, never for all. A
//! running game stays, however old.

use std::thread;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, params};

use super::database::Database;
use super::move_codec::{pack, unpack};
use super::reader::ArchiveReader;
use super::record::{Millis, MoveRecord};
use super::rows::{moment, number};
use crate::sqlite::Error;

/// Games per step.
const GAMES: usize = 100;
/// Challenges and events per step.
const ROWS: usize = 500;
/// Pages per step: two megabytes.
const PAGES: u32 = 512;
/// Pause between two steps for other writers. A writer that finds the file locked looks again at
/// least every 25 ms at first, which falls into the pause.
const BREATH: Duration = Duration::from_millis(30);

/// What to delete of old games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    Games,
    /// The analysis of the engine: scores, depths, nodes, lines. Moves and clocks stay.
    Details,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Games, or games that lost their details.
    pub games: u64,
    pub challenges: u64,
    /// Events, and pieces of traffic.
    pub events: u64,
}

/// A position in the games, ordered by their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrunePlace {
    began: Millis,
    /// The number of the last visited game that began then.
    n: i64,
}

impl PrunePlace {
    /// Before the first game that began at or after a moment.
    pub const fn at(began: Millis) -> Self {
        Self { began, n: -1 }
    }
}

impl Database {
    /// Deletes everything that began before a moment, step by step.
    ///
    /// # Errors
    /// When the file cannot be written; what has gone by then is gone.
    pub fn prune(&mut self, before: Millis, what: Prune) -> Result<Pruned, Error> {
        let mut pruned = Pruned::default();
        let mut place = Some(PrunePlace::at(0));
        while let Some(from) = place {
            let games;
            (games, place) = self.prune_games(from, before, what)?;
            pruned.games += games;
            thread::sleep(BREATH);
        }
        if what == Prune::Games {
            loop {
                let (challenges, events) = self.prune_events(before)?;
                if challenges + events == 0 {
                    break;
                }
                pruned.challenges += challenges;
                pruned.events += events;
                thread::sleep(BREATH);
            }
        }
        while self.give_back()? {
            thread::sleep(BREATH);
        }
        self.0.checkpoint()?;
        Ok(pruned)
    }

    /// Runs one step over the games that began before a moment. Returns how many it changed, and
    /// where to continue if there may be more.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn prune_games(
        &mut self,
        from: PrunePlace,
        before: Millis,
        what: Prune,
    ) -> Result<(u64, Option<PrunePlace>), Error> {
        self.0.write(|batch| {
            let old = old_games(batch, from, before)?;
            let mut changed = 0;
            for (n, _) in &old {
                changed += match what {
                    Prune::Games => {
                        delete(batch, *n)?;
                        1
                    }
                    Prune::Details => u64::from(thin(batch, *n)?),
                };
            }
            let last = old.last().filter(|_| old.len() == GAMES);
            Ok((changed, last.map(|&(n, began)| PrunePlace { began, n })))
        })
    }

    /// Deletes some challenges and events from before a moment. Returns the number of each, zero
    /// once all are deleted.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn prune_events(&mut self, before: Millis) -> Result<(u64, u64), Error> {
        self.0.write(|batch| {
            let gone = |table| {
                let sql = format!(
                    "DELETE FROM {table} WHERE n IN (SELECT n FROM {table} WHERE at < ?1 LIMIT ?2)"
                );
                let gone = batch.execute(&sql, params![number(before), ROWS as i64]);
                gone.map(|rows| rows as u64)
            };
            let wire = gone("wire")?;
            Ok((gone("challenge")?, gone("event")? + wire))
        })
    }

    /// Returns some free pages to the system. Returns whether there are more.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn give_back(&mut self) -> Result<bool, Error> {
        self.0.write(|batch| {
            let free = || -> rusqlite::Result<i64> {
                batch.query_row("PRAGMA freelist_count", [], |row| row.get(0))
            };
            let before = free()?;
            if before == 0 {
                return Ok(false);
            }
            // Each row of the reply is one page: the pragma works only as far as its rows are read.
            let mut pages = batch.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
            let mut pages = pages.query([])?;
            while pages.next()?.is_some() {}
            let after = free()?;
            // A file created without incremental vacuum keeps its pages.
            Ok(after > 0 && after < before)
        })
    }
}

impl ArchiveReader {
    /// Counts the games that pruning before a moment would delete.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn prunable(&self, before: Millis) -> Result<u64, Error> {
        let sql = "SELECT count(*) FROM game WHERE began > 0 AND began < ?1 AND status IS NOT NULL";
        let count = self.ask(|db| db.query_row(sql, [number(before)], |row| row.get(0)));
        count.map(moment)
    }
}

/// The next games that have ended, with their start, without those of unknown date. The index by time finds them without reading
/// younger ones.
fn old_games(
    batch: &Transaction<'_>,
    from: PrunePlace,
    before: Millis,
) -> rusqlite::Result<Vec<(i64, Millis)>> {
    let mut old = batch.prepare_cached(
        "SELECT n, began FROM game
        WHERE began > 0 AND began >= ?1 AND (began > ?1 OR n > ?2) AND began < ?3 AND +status IS NOT NULL
        ORDER BY began, n LIMIT ?4",
    )?;
    let bounds = params![number(from.began), from.n, number(before), GAMES as i64];
    let old = old.query_map(bounds, |row| Ok((row.get(0)?, moment(row.get(1)?))))?;
    old.collect()
}

fn delete(batch: &Transaction<'_>, n: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM moves WHERE game = ?1",
        "DELETE FROM game WHERE n = ?1",
    ] {
        batch.prepare_cached(sql)?.execute([n])?;
    }
    Ok(())
}

/// Reduces the moves of a game to what was played and what the clocks showed. Returns whether that
/// saves space.
fn thin(batch: &Transaction<'_>, n: i64) -> rusqlite::Result<bool> {
    let select = "SELECT packed FROM moves WHERE game = ?1";
    let mut packed = batch.prepare_cached(select)?;
    let packed: Option<String> = packed.query_row([n], |row| row.get(0)).optional()?;
    let packed = packed.unwrap_or_default();
    let thinned = unpack(&packed).into_iter().map(|made| MoveRecord {
        at: made.at,
        clock: made.clock,
        spent: made.spent,
        ..MoveRecord::bare(made.uci)
    });
    let thinned = pack(&thinned.collect::<Vec<_>>());
    if thinned.len() >= packed.len() {
        return Ok(false);
    }
    let update = "UPDATE moves SET packed = ?2 WHERE game = ?1";
    batch.prepare_cached(update)?.execute(params![n, thinned])?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::archive::ArchiveEntry;
    use crate::archive::record::EventRecord;
    use crate::archive::tests::{game, ground, keep};

    #[test]
    fn a_pruning_step_is_short_and_the_next_continues_where_it_ended() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        // Their numbers are not in the order of their start, and some began at the same moment.
        for number in (0..250).rev() {
            let began = 1 + number / 2;
            keep(&mut disk, &game(&format!("old{number:05}"), began, "Nuke"));
        }
        let mut steps = Vec::new();
        let mut place = Some(PrunePlace::at(0));
        while let Some(from) = place {
            let games;
            (games, place) = disk.prune_games(from, 1_000_000, Prune::Details).unwrap();
            steps.push(games);
        }
        assert_eq!(steps, [100, 100, 50]);
        let from = PrunePlace::at(121_000);
        let (games, _) = disk.prune_games(from, 1_000_000, Prune::Games).unwrap();
        assert_eq!(
            games, 10,
            "of those that began earlier nothing is looked at"
        );
        let event = EventRecord {
            at: 5,
            kind: "stream".to_owned(),
            text: String::new(),
            game: None,
        };
        let events = vec![ArchiveEntry::Event(event.into()); ROWS + 1];
        disk.commit(&events).unwrap();
        assert_eq!(disk.prune_events(9).unwrap(), (0, ROWS as u64));
        assert_eq!(disk.prune_events(9).unwrap(), (0, 1));
        assert_eq!(disk.prune_events(9).unwrap(), (0, 0));
    }

    #[test]
    fn other_users_of_the_file_run_between_two_steps() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        for number in 1..=GAMES as u64 + 1 {
            keep(&mut disk, &game(&format!("old{number:05}"), number, "Nuke"));
        }
        let began = Instant::now();
        let pruned = disk.prune(1_000_000, Prune::Games).unwrap();
        assert_eq!(pruned.games, GAMES as u64 + 1);
        assert!(began.elapsed() >= BREATH * 2, "two steps without a break");
    }

    #[test]
    fn old_games_are_found_along_the_index_by_time() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        let plan = disk.0.write(|batch| {
            let sql = "EXPLAIN QUERY PLAN SELECT n, began FROM game
                WHERE began > 0 AND began >= 1 AND (began > 1 OR n > 2) AND began < 3 AND +status IS NOT NULL
                ORDER BY began, n LIMIT 4";
            batch.query_row(sql, [], |row| row.get::<_, String>("detail"))
        });
        let plan = plan.unwrap();
        assert!(plan.contains("COVERING INDEX game_by_time"), "{plan}");
    }
}
