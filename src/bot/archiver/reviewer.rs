//! Analyses lost and drawn games, only while no game runs.
//!
//! When a game begins the search is dropped, and results so far wait for the next idle time. The
//! searches use spare cores. A game with a failed search is given up: an answer without a search
//! must not count, and no game may block the others.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::blunder_search::BlunderSearch;
use super::{millis, now};
use crate::archive::{ArchiveError, GameRecord, Millis, ReviewRecord, Writer};
use crate::bot::event_log::EventLog;
use crate::bot::supervisor::catch_panic;
use crate::engine::{Engine, Limits, Pool, Search, SearchResult, StopReason};
use crate::rules::Game;

/// Older games are not reviewed.
const RECENT: Duration = Duration::from_secs(30 * 24 * 3600);
/// After this many searches dropped while no game runs, give the game up.
const MOST_DROPPED: u32 = 3;

/// When and how to review games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisRules {
    /// Search time per position.
    pub time: Duration,
    /// A search without an answer for this many times `time` is dropped. In the background it gets
    /// only spare core time.
    pub patience: u32,
    /// Idle time required before a review.
    pub idle: Duration,
    /// Pause when there was nothing to review.
    pub again: Duration,
}

impl Default for AnalysisRules {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1),
            patience: 30,
            idle: Duration::from_secs(20),
            again: Duration::from_secs(60),
        }
    }
}

/// Reviews games as long as the archive is open.
pub(super) async fn review(writer: Writer, event_log: EventLog, pool: Pool, rules: AnalysisRules) {
    let reviewer = GameAnalyzer {
        writer,
        event_log,
        pool,
        rules,
    };
    loop {
        reviewer.wait_for_quiet().await;
        let since = now().saturating_sub(millis(RECENT));
        match reviewer.one(since).await {
            Ok(true) => {}
            Ok(false) => tokio::time::sleep(reviewer.rules.again).await,
            Err(error) => {
                tracing::debug!(%error, "cannot review games");
                tokio::time::sleep(reviewer.rules.again).await;
            }
        }
    }
}

struct GameAnalyzer {
    writer: Writer,
    event_log: EventLog,
    pool: Pool,
    rules: AnalysisRules,
}

impl GameAnalyzer {
    /// Reviews one game; false if there is none left.
    async fn one(&self, since: Millis) -> Result<bool, ArchiveError> {
        if self.event_log.troubles().borrow().is_some() {
            // The result could not be stored.
            return Ok(false);
        }
        let next = self.writer.ask(move |disk| disk.next_unreviewed(since));
        let Some(game) = next.await? else {
            return Ok(false);
        };
        // A game that cannot be reviewed must not block the others.
        let looked = catch_panic(self.look_at(&game)).await;
        let review = looked.unwrap_or_else(|reason| {
            tracing::error!(game = game.id, reason, "game review failed");
            let mut review = blank(&game);
            review.given_up = true;
            review
        });
        let found = review.describe();
        self.writer
            .ask(move |disk| disk.keep_review(&review))
            .await?;
        self.event_log.reviewed(&game.id);
        tracing::info!(
            game = game.id,
            result = game.result(),
            found,
            "game reviewed"
        );
        Ok(true)
    }

    async fn look_at(&self, game: &GameRecord) -> ReviewRecord {
        let mut review = blank(game);
        let Some(mut inquiry) = BlunderSearch::new(game) else {
            return review;
        };
        let mut engine = None;
        let mut dropped = 0;
        while let Some(position) = inquiry.next() {
            let lease = engine.get_or_insert_with(|| self.pool.lease());
            match self.search(lease, &position).await {
                PositionAnalysis::Found(thought) => inquiry.answer(&thought),
                PositionAnalysis::Interrupted => {
                    engine = None;
                    self.wait_for_quiet().await;
                }
                PositionAnalysis::Silent if dropped + 1 < MOST_DROPPED => {
                    dropped += 1;
                    engine = None;
                }
                PositionAnalysis::Silent | PositionAnalysis::Failed => {
                    review.given_up = true;
                    break;
                }
            }
        }
        review.positions = inquiry.searched();
        if !review.given_up {
            review.mistake = inquiry.mistake();
        }
        review
    }

    async fn search(&self, engine: &Engine, game: &Game) -> PositionAnalysis {
        let limits = Limits {
            movetime: Some(self.rules.time),
            background: true,
            ..Limits::default()
        };
        let search = engine.think(game, limits);
        let patience = self.rules.time.saturating_mul(self.rules.patience);
        tokio::select! {
            thought = timeout(patience, answer(&search)) => PositionAnalysis::of(thought.ok().flatten()),
            () = self.wait_for_games() => PositionAnalysis::Interrupted,
        }
    }

    /// Waits until a game runs.
    async fn wait_for_games(&self) {
        let mut changes = self.event_log.changes();
        while self.event_log.running().is_empty() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until no game has run for a while.
    async fn wait_for_quiet(&self) {
        let mut changes = self.event_log.changes();
        loop {
            while !self.event_log.running().is_empty() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
            if timeout(self.rules.idle, self.wait_for_games())
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// An empty review of a game.
fn blank(game: &GameRecord) -> ReviewRecord {
    ReviewRecord {
        game: game.id.clone(),
        at: now(),
        program: concat!("megaton ", env!("CARGO_PKG_VERSION")).to_owned(),
        positions: 0,
        mistake: None,
        given_up: false,
    }
}

/// Outcome of a search.
#[derive(Debug)]
enum PositionAnalysis {
    Found(Box<SearchResult>),
    /// It failed; its answer is just some legal move.
    Failed,
    /// No answer for far too long, or none from a search.
    Silent,
    Interrupted,
}

impl PositionAnalysis {
    fn of(thought: Option<SearchResult>) -> Self {
        match thought {
            Some(thought) if thought.ended == StopReason::Failed => Self::Failed,
            // It got no core in its time: the answer is a guess.
            Some(thought) if thought.depth == 0 && thought.ended != StopReason::NoMove => {
                Self::Silent
            }
            Some(thought) => Self::Found(Box::new(thought)),
            None => Self::Silent,
        }
    }
}

/// The answer of a search, without blocking a thread for it.
async fn answer(search: &Search) -> Option<SearchResult> {
    let (hand_over, answer) = oneshot::channel();
    search.on_done(Box::new(move |thought| {
        // No receiver any more: a game began.
        let _ = hand_over.send(thought);
    }));
    answer.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineOptions, SingleThread};

    #[test]
    fn an_answer_without_a_search_is_none() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let mut solo = SingleThread::new(&options);
        let mut think = |game: &Game, nodes| Some(solo.think(game, &Limits::nodes(nodes)));
        let looked = |thought| matches!(PositionAnalysis::of(thought), PositionAnalysis::Found(_));
        assert!(!looked(think(&Game::new(), 1)), "a guess");
        assert!(looked(think(&Game::new(), 3000)));
        let over = Game::from_uci_moves("g1f3 f7f6 f3d4 a7a6 d4e6 a6a5 e6d8").unwrap();
        assert!(looked(think(&over, 1)), "there is nothing to search");
    }
}
