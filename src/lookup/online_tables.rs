//! The endgame tables of Lichess, asked beside a search.
//!
//! Nothing waits for them: a look-up is started with the search, and what has not arrived when the search
//! ends does not count. Slow, broken or wrong replies are named in the log, and close the service for a
//! while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::breaker::{BreakerSettings, CircuitBreaker};
use super::cache::AgedCache;
use super::table_verdict::{TableVerdict, table_verdict};
use crate::engine::{SearchResult, Wdl};
use crate::lichess::{Error, LookupServer};
use crate::rules::{CastlingRights, Position};

/// Pieces of the largest tables of the server.
const MOST_PIECES: usize = 6;
/// Positions that are kept.
const CAPACITY: usize = 4096;
/// How long a reply is kept. Tables do not change, but a wrong reply must not last.
const AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What the program itself knows of a position, for the side to move.
type KnownResult = fn(&Position) -> Option<Wdl>;

/// The online tables. Clones share everything.
#[derive(Clone, Debug)]
pub struct OnlineTables(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: LookupServer,
    /// Least time on our clock.
    min_clock: Duration,
    known: KnownResult,
    state: Mutex<Lookups>,
}

#[derive(Debug)]
struct Lookups {
    breaker: CircuitBreaker,
    cache: AgedCache<String, Option<TableVerdict>>,
    counts: LookupCounts,
}

/// What became of look-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupCounts {
    pub asked: u64,
    /// Answered from the cache.
    pub cached: u64,
    /// Not asked, for the pace or after failures.
    pub held_back: u64,
    pub failed: u64,
}

impl OnlineTables {
    /// For games without a clock, or with at least `min_clock` on ours.
    pub fn new(
        server: LookupServer,
        min_clock: Duration,
        pace: BreakerSettings,
        known: KnownResult,
    ) -> Self {
        Self(Arc::new(Inner {
            server,
            min_clock,
            known,
            state: Mutex::new(Lookups {
                breaker: CircuitBreaker::new(pace),
                cache: AgedCache::new(CAPACITY, AGE),
                counts: LookupCounts::default(),
            }),
        }))
    }

    pub fn counts(&self) -> LookupCounts {
        self.0.state.lock().counts
    }

    /// Starts a look-up, if the tables may know the position, the local ones of at most `local_pieces`
    /// pieces do not, and the clock permits. A game without a clock has no `left`.
    pub fn look_up(
        &self,
        position: &Position,
        local_pieces: usize,
        left: Option<Duration>,
    ) -> Option<TableLookup> {
        let pieces = position.occupied().count();
        if pieces > MOST_PIECES
            || pieces <= local_pieces
            || position.castling_rights() != CastlingRights::NONE
            || left.is_some_and(|left| left < self.0.min_clock)
        {
            return None;
        }
        let (fen, now) = (position.fen(), Instant::now());
        let mut state = self.0.state.lock();
        if let Some(verdict) = state.cache.get(&fen, now).cloned() {
            state.counts.cached += 1;
            return Some(TableLookup::Known(verdict?));
        }
        if !state.breaker.admit(now) {
            state.counts.held_back += 1;
            return None;
        }
        state.counts.asked += 1;
        drop(state);
        let (sender, receiver) = oneshot::channel();
        let (inner, position) = (Arc::clone(&self.0), *position);
        // It ends by itself within the time of a call, and what comes late is of use for the next look-up.
        tokio::spawn(async move {
            if let Some(verdict) = inner.ask(&position, fen).await {
                let _ = sender.send(verdict);
            }
        });
        Some(TableLookup::Asked(receiver))
    }
}

impl Inner {
    async fn ask(&self, position: &Position, fen: String) -> Option<TableVerdict> {
        let reply = self.server.table(&fen).await;
        let verdict = reply.and_then(|reply| {
            table_verdict(position, &reply, self.known).map_err(|wrong| Error::Protocol {
                reason: wrong.to_string(),
            })
        });
        let now = Instant::now();
        let mut state = self.state.lock();
        match verdict {
            Ok(verdict) => {
                state.breaker.succeeded();
                state.cache.put(fen, verdict.clone(), now);
                verdict
            }
            Err(error) => {
                state.counts.failed += 1;
                let closed_for = state.breaker.failed(&error, now);
                drop(state);
                tracing::warn!(%error, fen, ?closed_for, "the online tables gave no usable answer");
                None
            }
        }
    }
}

/// A look-up in progress.
#[derive(Debug)]
pub enum TableLookup {
    Known(TableVerdict),
    Asked(oneshot::Receiver<TableVerdict>),
}

impl TableLookup {
    /// The search's answer, with what the tables prove if that has arrived. Never waits.
    #[must_use]
    pub fn improve(self, result: SearchResult) -> SearchResult {
        let verdict = match self {
            Self::Known(verdict) => Some(verdict),
            Self::Asked(mut receiver) => receiver.try_recv().ok(),
        };
        match verdict {
            Some(verdict) if !result.by_tables => {
                result.by_other_tables(verdict.wdl, verdict.plies, &verdict.kept)
            }
            _ => result,
        }
    }
}
