//! Many games on few cores: clocks, background searches, and pondering.

use std::time::{Duration, Instant};

use megaton::engine::{Clock, Engine, Limits, Search, StopReason};
use megaton::rules::Game;

use crate::{GUARD, LATE, answer, pool};

#[test]
fn thirty_two_clocks_on_one_core_all_get_search_time() {
    let pool = pool(1);
    let engines: Vec<Engine> = (0..32).map(|_| pool.lease()).collect();
    let begun = Instant::now();
    // From scrambles to games with minutes left: each divides its own time.
    let searches: Vec<(Duration, Search)> = engines
        .iter()
        .zip(1..)
        .map(|(engine, n)| {
            let left = Duration::from_millis(300 * n);
            let most = left.mul_f64(0.55);
            let limits = Limits {
                clock: Some(Clock {
                    time: left,
                    increment: Duration::from_millis(50),
                    moves_to_go: None,
                    overhead: Duration::from_millis(20),
                }),
                hard_deadline: Some(begun + most),
                ..Limits::default()
            };
            (most, engine.think(&Game::new(), limits))
        })
        .collect();
    for (most, search) in &searches {
        let result = answer(search);
        assert!(result.depth > 0, "a share of the core: {result:?}");
        assert!(result.time < *most + LATE, "{most:?}: {result:?}");
    }
}

#[test]
fn a_search_in_the_background_waits_for_the_others_and_still_thinks() {
    let pool = pool(1);
    let (busy, quiet, usual) = (pool.lease(), pool.lease(), pool.lease());
    let endless = Limits {
        infinite: true,
        ..Limits::default()
    };
    let first = busy.think(&Game::new(), endless);
    let time = Duration::from_millis(40);
    let patient = Limits {
        movetime: Some(time),
        hard_deadline: Some(Instant::now() + GUARD),
        background: true,
        ..Limits::default()
    };
    let second = quiet.think(&Game::new(), patient);
    // An ordinary search with twice the time is done first: what it waits does not count.
    let third = usual.think(&Game::new(), Limits::movetime(2 * time));
    assert!(answer(&third).time >= 2 * time);
    assert!(!second.is_done());
    first.stop();
    assert_eq!(answer(&first).ended, StopReason::Stopped);
    let result = answer(&second);
    assert_eq!(result.ended, StopReason::Time);
    assert!(result.depth > 0 && result.time >= time, "{result:?}");
}

#[test]
fn a_search_in_the_background_keeps_its_deadline_while_the_core_is_taken() {
    let pool = pool(1);
    let (busy, quiet) = (pool.lease(), pool.lease());
    let endless = Limits {
        infinite: true,
        ..Limits::default()
    };
    let first = busy.think(&Game::new(), endless);
    let patient = Limits {
        movetime: Some(Duration::from_secs(600)),
        hard_deadline: Some(Instant::now() + Duration::from_millis(60)),
        background: true,
        ..Limits::default()
    };
    let result = answer(&quiet.think(&Game::new(), patient));
    assert_eq!(result.ended, StopReason::Time);
    assert!(result.best.is_some() && result.time < LATE, "{result:?}");
    drop(first);
}

#[test]
fn pondering_leaves_the_core_to_a_clock_at_once() {
    let pool = pool(1);
    let (idler, player) = (pool.lease(), pool.lease());
    let pondering = idler.think(
        &Game::new(),
        Limits {
            ponder: true,
            ..Limits::default()
        },
    );
    let result = answer(&player.think(&Game::new(), Limits::nodes(20_000)));
    assert!(result.nodes >= 20_000 && !pondering.is_done());
    pondering.stop();
    assert!(answer(&pondering).best.is_some());
}
