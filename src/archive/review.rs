//! What a second look found out about a game, and which games still wait for one.
//!
//! Rows only; the looking is done elsewhere.

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::database::Database;
use super::reader::ArchiveReader;
use super::record::{GameRecord, Millis, ScoreRecord};
use super::rows;
use crate::sqlite::Error;

/// A second look at a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRecord {
    pub game: String,
    pub at: Millis,
    pub program: String,
    /// How many positions it searched.
    pub positions: usize,
    /// The move that cost the point; none where no single one did.
    pub mistake: Option<Mistake>,
    /// Whether it was given up, because a search of it failed: then nothing is known.
    #[serde(default)]
    pub given_up: bool,
}

/// A move that cost the point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// How many moves had been made before it.
    pub ply: usize,
    /// The move, as people write it.
    pub played: String,
    /// What the position was worth to us before it.
    pub before: ScoreRecord,
    /// What was left of that.
    pub after: ScoreRecord,
    pub better: String,
    /// The better move in UCI.
    pub better_uci: String,
    /// How deep the better move was searched.
    pub depth: u32,
    /// What would have followed, the better move first.
    pub line: Vec<String>,
    /// The opponent's answer to the move played, and what follows.
    pub refutation: Vec<String>,
}

impl ReviewRecord {
    /// The finding in one sentence.
    pub fn describe(&self) -> String {
        if self.given_up {
            return format!("given up: a search failed ({} positions)", self.positions);
        }
        let Some(mistake) = &self.mistake else {
            return format!("no single move cost it ({} positions)", self.positions);
        };
        let number = mistake.ply / 2 + 1;
        let dots = if mistake.ply.is_multiple_of(2) {
            "."
        } else {
            "..."
        };
        format!(
            "{number}{dots} {} ({}) where {} ({}) was better",
            mistake.played, mistake.after, mistake.better, mistake.before
        )
    }
}

impl Database {
    /// Keeps what a second look found.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_review(&mut self, review: &ReviewRecord) -> Result<(), Error> {
        let data = serde_json::to_string(review).unwrap_or_default();
        self.0.write(|batch| {
            let mut insert = batch.prepare_cached(
                "INSERT INTO review (game, at, data) VALUES (?1, ?2, ?3)
                ON CONFLICT (game) DO UPDATE SET at = excluded.at, data = excluded.data",
            )?;
            insert.execute(params![review.game, rows::number(review.at), data])?;
            Ok(())
        })
    }

    /// The latest of our games since a moment that we did not win and no one has looked at again.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_unreviewed(&mut self, since: Millis) -> Result<Option<GameRecord>, Error> {
        self.0.read(|batch| {
            let mut next = batch.prepare_cached(
                "SELECT id FROM game WHERE began >= ?1 AND result IN ('loss', 'draw')
                AND origin <> 'imported' AND plies > 1 AND fen IS NULL
                AND NOT EXISTS (SELECT 1 FROM review WHERE review.game = game.id)
                ORDER BY began DESC LIMIT 1",
            )?;
            let id: Option<String> = next
                .query_row([rows::number(since)], |row| row.get(0))
                .optional()?;
            match id {
                Some(id) => rows::read_game(batch, &id),
                None => Ok(None),
            }
        })
    }
}

impl ArchiveReader {
    /// What a second look at this game found, if there was one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn review(&self, game: &str) -> Result<Option<ReviewRecord>, Error> {
        let data = self.ask(|db| {
            let mut found = db.prepare_cached("SELECT data FROM review WHERE game = ?1")?;
            let data: Option<String> = found.query_row([game], |row| row.get(0)).optional()?;
            Ok(data)
        })?;
        Ok(data.and_then(|data| serde_json::from_str(&data).ok()))
    }
}
