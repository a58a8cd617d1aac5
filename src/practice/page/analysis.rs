//! The analysis of a finished game: its positions are searched from the last to the first, and each move
//! is judged as the bot's reviews judge it.
//!
//! One analysis runs at a time, with an engine of its own at background priority; a few more wait. Results
//! are streamed as they come, and dropping the stream stops the search. A running game is never analysed.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, EngineOptions, Limits, Pool, Score, StopReason};
use crate::experience::Severity;
use crate::practice::api_error::ApiError;
use crate::practice::sparring_bot::answer;
use crate::rules::{Game, RepetitionRule};

/// Positions visited for each position of the game, unless the request has its own number.
const NODES: u64 = 200_000;
const FEWEST_NODES: u64 = 1_000;
const MOST_NODES: u64 = 10_000_000;
/// Transposition table of an analysis, in megabytes.
const HASH_MB: usize = 16;
/// Analyses that run or wait, at most.
const MOST: usize = 8;
/// Moves of a line that are shown.
const LINE: usize = 6;

/// The analyses of the page.
#[derive(Clone, Debug)]
pub(super) struct Analyses {
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    /// Cancelled when the server ends.
    stop: CancellationToken,
}

/// The body of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnalysisRequest {
    nodes: Option<u64>,
}

/// A line of the response.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Report {
    /// The first line, once the search begins: how many positions follow, the last one first.
    Begun {
        positions: usize,
    },
    Position(PositionReport),
}

#[derive(Debug, Serialize)]
struct PositionReport {
    /// Plies before the position.
    ply: usize,
    /// From White's view; absent if a side has won in it.
    score: Option<Score>,
    /// Of the move that was played in it.
    mark: Option<Severity>,
    /// The best line from it in SAN.
    line: Vec<String>,
}

/// An analysis that runs or waits.
struct Analysis {
    game: Game,
    nodes: u64,
    /// Positions still to search; the last of them is next.
    left: usize,
    /// The score of the position after the next one for its side to move, in centipawns.
    after: Option<i32>,
    running: Arc<Semaphore>,
    engine: Option<(Engine, OwnedSemaphorePermit)>,
    stop: CancellationToken,
    _admission: OwnedSemaphorePermit,
}

impl Analyses {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            admitted: Arc::new(Semaphore::new(MOST)),
            running: Arc::new(Semaphore::new(1)),
            stop,
        }
    }

    /// The stream of the results, one JSON object a line. `body` may state the nodes per position.
    pub(super) fn start(&self, game: Game, body: &str) -> Result<Response, ApiError> {
        let request = if body.is_empty() {
            AnalysisRequest::default()
        } else {
            serde_json::from_str(body).map_err(|_| ApiError::refused("not an analysis request"))?
        };
        let nodes = request.nodes.unwrap_or(NODES);
        if !(FEWEST_NODES..=MOST_NODES).contains(&nodes) {
            let range = format!("nodes must be from {FEWEST_NODES} to {MOST_NODES}");
            return Err(ApiError::refused(range));
        }
        if game.ply() == 0 {
            return Err(ApiError::refused("the game has no moves"));
        }
        let admission = Arc::clone(&self.admitted).try_acquire_owned();
        let admission =
            admission.map_err(|_| ApiError::text(429, "too many analyses are waiting"))?;
        let analysis = Analysis {
            left: game.ply() + 1,
            game,
            nodes,
            after: None,
            running: Arc::clone(&self.running),
            engine: None,
            stop: self.stop.clone(),
            _admission: admission,
        };
        let lines = stream::unfold(analysis, |mut analysis| async {
            let stop = analysis.stop.clone();
            let report = stop.run_until_cancelled(analysis.next()).await??;
            let mut line = serde_json::to_vec(&report).ok()?;
            line.push(b'\n');
            Some((Ok::<_, io::Error>(Bytes::from(line)), analysis))
        });
        let rules = [
            (header::CONTENT_TYPE, "application/x-ndjson"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        Ok((rules, Body::from_stream(lines)).into_response())
    }
}

impl Analysis {
    /// The next line; `None` after the last one, and early if a search fails.
    async fn next(&mut self) -> Option<Report> {
        let Some((engine, _)) = &self.engine else {
            let turn = Arc::clone(&self.running).acquire_owned().await.ok()?;
            let options = EngineOptions {
                hash_mb: HASH_MB,
                ..EngineOptions::default()
            };
            self.engine = Some((Pool::in_background(&options).lease(), turn));
            let positions = self.left;
            return Some(Report::Begun { positions });
        };
        let ply = self.left.checked_sub(1)?;
        let mut game = self.game.clone();
        game.takeback(self.game.ply() - ply);
        let report = if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
            let draw = outcome.winner().is_none();
            self.after = Some(if draw { 0 } else { i32::MIN / 2 });
            PositionReport {
                ply,
                score: draw.then_some(Score::Cp(0)),
                mark: None,
                line: Vec::new(),
            }
        } else {
            let result = answer(engine.think(&game, Limits::nodes(self.nodes))).await?;
            if result.ended == StopReason::Failed || result.depth == 0 {
                tracing::warn!(ply, "a search of the analysis failed");
                return None;
            }
            let before = result.score.centipawns();
            let played = self.game.moves().get(ply).copied();
            let after = self.after.replace(before);
            let mark = after.filter(|_| played != result.best);
            PositionReport {
                ply,
                score: Some(result.score.for_white(game.position().turn().into())),
                mark: mark.and_then(|after| Severity::of(before, -after)),
                line: game.position().san_line(result.line.into_iter().take(LINE)),
            }
        };
        self.left = ply;
        Some(Report::Position(report))
    }
}
