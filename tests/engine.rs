//! The engine as its users see it: what it plays, and how it behaves.
//!
//! Bounds on time are guards against hanging, far above the targets; `cargo bench --bench search`
//! shows the latencies themselves.

#[path = "engine/behaviour.rs"]
mod behaviour;
#[path = "engine/core_sharing.rs"]
mod core_sharing;
#[path = "engine/net.rs"]
mod net;
#[path = "engine/play.rs"]
mod play;
#[path = "engine/tables.rs"]
mod tables;
#[path = "engine/threads.rs"]
mod threads;

use std::sync::mpsc;
use std::time::Duration;

use megaton::engine::{Clock, Engine, EngineOptions, Limits, Pool, Search, SearchResult};
use megaton::rules::{Game, Position};

/// How long a test waits before it says that something hangs.
const GUARD: Duration = Duration::from_secs(20);
/// A search that goes on: without what is tested it would take minutes. The answer itself takes a few
/// milliseconds, which `cargo bench --bench search` shows.
const LATE: Duration = Duration::from_secs(5);

pub(crate) fn pool(threads: usize) -> Pool {
    Pool::new(&EngineOptions {
        hash_mb: 4,
        threads,
        ..EngineOptions::default()
    })
}

pub(crate) fn engine() -> Engine {
    pool(1).lease()
}

pub(crate) fn game(fen: &str) -> Game {
    Game::from_position(Position::from_fen(fen).expect("a test position is legal"))
}

pub(crate) fn think(fen: &str, limits: Limits) -> SearchResult {
    engine().think(&game(fen), limits).wait()
}

pub(crate) fn clock(millis: u64) -> Limits {
    Limits::clock(Clock {
        time: Duration::from_millis(millis),
        increment: Duration::ZERO,
        moves_to_go: None,
        overhead: Duration::from_millis(10),
    })
}

/// The answer, or a failure if it does not come.
pub(crate) fn answer(search: &Search) -> SearchResult {
    let (sender, thought) = mpsc::channel();
    search.on_done(Box::new(move |answer| {
        sender.send(answer).expect("the test waits");
    }));
    thought.recv_timeout(GUARD).expect("the search answers")
}
