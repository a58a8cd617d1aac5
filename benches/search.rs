//! The engine's speed and its reflexes: nodes a second, and how fast it begins, stops and keeps to
//! a deadline.
//!
//! Meant for a quiet machine; every figure is a median. A match against another engine, or an older
//! build, is played by any UCI match runner:
//!
//! ```text
//! match.py --a target/release/megaton --a-arg uci --b OTHER --openings FILE --tc 2+0.02 --games 200
//! ```

use std::io::{self, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use megaton::engine::{Engine, EngineOptions, Evaluator, Limits, Pool, SearchParams, bench};
use megaton::rules::Game;

const RUNS: usize = 5;
const SAMPLES: usize = 300;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let evaluator = Evaluator::default();
    let speed = |_| bench(&evaluator, &SearchParams::default(), None).speed();
    let mut speeds: Vec<u64> = (0..RUNS).map(speed).collect();
    speeds.sort_unstable();
    writeln!(
        out,
        "search: {} nodes/s ({RUNS} runs, {} to {})",
        speeds[RUNS / 2],
        speeds[0],
        speeds[RUNS - 1]
    )?;

    let engine = Pool::new(&EngineOptions {
        hash_mb: 16,
        ..EngineOptions::default()
    })
    .lease();
    engine.new_game();
    let game = Game::from_uci_moves("e2e3 g8f6").expect("a line of legal moves");
    report(
        &mut out,
        "one node, from think() to the callback (target: tens of us)",
        || one_node(&engine, &game),
    )?;
    report(
        &mut out,
        "stop of an endless search to the callback (target: 5 ms)",
        || stop(&engine, &game),
    )?;
    report(
        &mut out,
        "past a hard deadline of 10 ms (target: 10 ms)",
        || deadline(&engine, &game),
    )
}

fn report(out: &mut impl Write, name: &str, sample: impl Fn() -> Duration) -> io::Result<()> {
    let mut times: Vec<Duration> = (0..SAMPLES).map(|_| sample()).collect();
    times.sort_unstable();
    writeln!(
        out,
        "{name}: median {:?}, 99% {:?}",
        times[SAMPLES / 2],
        times[SAMPLES * 99 / 100]
    )
}

fn one_node(engine: &Engine, game: &Game) -> Duration {
    let (sender, done) = mpsc::channel();
    let begun = Instant::now();
    let search = engine.think(game, Limits::nodes(1));
    search.on_done(Box::new(move |_| {
        sender.send(Instant::now()).expect("the bench waits");
    }));
    done.recv().expect("an answer") - begun
}

fn stop(engine: &Engine, game: &Game) -> Duration {
    let (sender, done) = mpsc::channel();
    let search = engine.think(
        game,
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    search.on_done(Box::new(move |_| {
        sender.send(Instant::now()).expect("the bench waits");
    }));
    std::thread::sleep(Duration::from_millis(3));
    let asked = Instant::now();
    search.stop();
    done.recv()
        .expect("an answer")
        .saturating_duration_since(asked)
}

fn deadline(engine: &Engine, game: &Game) -> Duration {
    let (sender, done) = mpsc::channel();
    let deadline = Instant::now() + Duration::from_millis(10);
    let limits = Limits {
        hard_deadline: Some(deadline),
        ..Limits::default()
    };
    let search = engine.think(game, limits);
    search.on_done(Box::new(move |_| {
        sender.send(Instant::now()).expect("the bench waits");
    }));
    done.recv()
        .expect("an answer")
        .saturating_duration_since(deadline)
}
