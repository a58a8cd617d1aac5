//! Reviews of games, and the games that wait for one.
//!
//! Rows only; `bot::archiver` does the analysis.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, params};
use serde::{Deserialize, Serialize};

use super::database::Database;
use super::reader::ArchiveReader;
use super::record::{GameRecord, Millis, Outcome};
use super::rows;
use crate::engine::Score;
use crate::experience::{Experience, LineMistake, LineResult, OwnMove, PlayedLine, blame};
use crate::lichess::{Side, Status};
use crate::rules::Game;
use crate::sqlite::Error;

/// Games that the bot learns from when it starts, the latest first.
pub const LESSONS: usize = 4000;
/// So many of them at once: others need the file as well.
pub const LESSONS_AT_ONCE: usize = 100;
/// Games of an opponent that are shown, the latest.
pub const LESSONS_SHOWN: usize = 200;
/// Scores beyond this count alike in a line to learn from, in centipawns.
const WORST: i32 = 1000;

/// The review of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRecord {
    pub game: String,
    pub at: Millis,
    pub program: String,
    /// Number of positions searched.
    pub positions: usize,
    /// The move that cost the point, if a single one did.
    pub mistake: Option<Mistake>,
    /// A search failed, so nothing is known.
    #[serde(default)]
    pub given_up: bool,
}

/// The move that cost the point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// Plies before it.
    pub ply: usize,
    /// The move in SAN.
    pub played: String,
    /// Our score before the move.
    pub before: Score,
    /// Our score after it.
    pub after: Score,
    pub better: String,
    /// The better move in UCI.
    pub better_uci: String,
    /// Search depth of the better move.
    pub depth: u32,
    /// The line that starts with the better move.
    pub line: Vec<String>,
    /// The line that starts with the opponent's reply to the move played.
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
            mistake.played,
            mistake.after.in_pawns(),
            mistake.better,
            mistake.before.in_pawns()
        )
    }
}

/// What follows the program's name, before the level, in a game that it plays below its strength.
pub const AT_LEVEL: &str = " at level ";

impl GameRecord {
    /// The game as a line to learn from, judged by the review or by our scores during the game;
    /// `None` without a result, in games of others or below full strength, and if it cannot be replayed.
    pub fn played_line(&self, review: Option<&ReviewRecord>) -> Option<PlayedLine> {
        let (us, outcome) = (self.us?, self.our_outcome()?);
        let status = self.ending.as_ref()?.status;
        let program = self.program.as_deref().unwrap_or_default();
        if self.initial_fen.is_some() || self.moves.len() < 2 || program.contains(AT_LEVEL) {
            return None;
        }
        let moves = self.opening(usize::MAX);
        let game = Game::from_uci_moves(&moves).ok()?;
        let decided = matches!(status, Status::Mate | Status::VariantEnd);
        let lost = outcome == Outcome::Loss;
        let shown = || lost.then(|| blame(&self.own_moves(us, &game), decided))?;
        // A review that blames no move outweighs the scores during the game.
        let mistake = match review.filter(|review| !review.given_up) {
            Some(review) => review.mistake.as_ref().map(Mistake::of_line),
            None => shown(),
        };
        let result = match outcome {
            Outcome::Win => LineResult::Win,
            Outcome::Draw => LineResult::Draw,
            Outcome::Loss if mistake.is_none() && status.is_time_forfeit() => LineResult::Time,
            Outcome::Loss => LineResult::Loss,
        };
        Some(PlayedLine {
            game: self.id.clone(),
            opponent: self.opponent().and_then(|player| player.id.clone()),
            color: us.into(),
            result,
            moves,
            mistake,
            at: self.began(),
        })
    }

    fn own_moves(&self, us: Side, game: &Game) -> Vec<OwnMove> {
        let own = (0..game.ply()).filter(|ply| Self::mover(*ply) == us);
        own.map(|ply| OwnMove {
            ply,
            score: self.moves[ply].score.map(Score::centipawns),
            had_choice: game.positions()[ply].legal_moves().len() > 1,
        })
        .collect()
    }
}

impl Mistake {
    fn of_line(&self) -> LineMistake {
        LineMistake {
            ply: self.ply,
            value: self.after.centipawns().clamp(-WORST, WORST),
            better: Some(self.better_uci.clone()),
            reviewed: true,
        }
    }
}

impl Database {
    /// Stores a review.
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

    /// Returns what our latest games teach, the newest first: at most `most` of those that began before
    /// `before`, and when the last of them began.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn played_lines(
        &self,
        before: Millis,
        most: usize,
    ) -> Result<(Vec<PlayedLine>, Option<Millis>), Error> {
        self.0.ask(|db| played_lines(db, before, most))
    }

    /// Returns what reviews since a moment teach, the oldest first, and when the last one was written.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn reviewed_lines(
        &self,
        since: Millis,
        most: usize,
    ) -> Result<(Vec<PlayedLine>, Option<Millis>), Error> {
        self.0.ask(|db| {
            let mut found = db.prepare_cached(
                "SELECT game, at FROM review WHERE at >= ?1 ORDER BY at LIMIT ?2",
            )?;
            lines_of(db, &mut found, params![rows::number(since), count(most)])
        })
    }

    /// Returns the latest of our unreviewed games since a moment that we did not win.
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

/// The games and moments of a query, as lines and the last moment.
fn lines_of(
    db: &Connection,
    found: &mut CachedStatement<'_>,
    parameters: impl Params,
) -> rusqlite::Result<(Vec<PlayedLine>, Option<Millis>)> {
    let found = found.query_map(parameters, |row| {
        Ok((row.get::<_, String>(0)?, rows::moment(row.get(1)?)))
    })?;
    let (mut lines, mut last) = (Vec::new(), None);
    for id in found {
        let (id, at) = id?;
        last = Some(at);
        let review = read_review(db, &id)?;
        let game = rows::read_game(db, &id)?;
        lines.extend(game.and_then(|game| game.played_line(review.as_ref())));
    }
    Ok((lines, last))
}

fn played_lines(
    db: &Connection,
    before: Millis,
    most: usize,
) -> rusqlite::Result<(Vec<PlayedLine>, Option<Millis>)> {
    let mut found = db.prepare_cached(
        "SELECT id, began FROM game WHERE began < ?1 AND result IS NOT NULL
        AND origin <> 'imported' AND plies > 1 AND fen IS NULL
        ORDER BY began DESC LIMIT ?2",
    )?;
    lines_of(db, &mut found, params![rows::number(before), count(most)])
}

fn count(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn read_review(db: &Connection, game: &str) -> rusqlite::Result<Option<ReviewRecord>> {
    let mut found = db.prepare_cached("SELECT data FROM review WHERE game = ?1")?;
    let data: Option<String> = found.query_row([game], |row| row.get(0)).optional()?;
    Ok(data.and_then(|data| serde_json::from_str(&data).ok()))
}

impl ArchiveReader {
    /// Returns what our latest games against an opponent teach, as the bot learns it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn experience_against(&self, opponent: &str) -> Result<Experience, Error> {
        let (lines, _) = self.ask(|db| {
            let mut found = db.prepare_cached(
                "SELECT id, began FROM game WHERE opponent = ?1 AND result IS NOT NULL
                AND origin <> 'imported' AND plies > 1 AND fen IS NULL
                ORDER BY began DESC LIMIT ?2",
            )?;
            lines_of(db, &mut found, params![opponent, count(LESSONS_SHOWN)])
        })?;
        let mut experience = Experience::default();
        for line in lines {
            experience.learn(line);
        }
        Ok(experience)
    }

    /// Returns the review of a game.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn review(&self, game: &str) -> Result<Option<ReviewRecord>, Error> {
        self.ask(|db| read_review(db, game))
    }
}
