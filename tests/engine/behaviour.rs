//! Behaviour of searches: stops, deadlines, pondering, leases and faults.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use megaton::engine::{Engine, Info, Limits, Score, Search, StopReason, bench};
use megaton::rules::{Game, Position};

use crate::{GUARD, LATE, answer, clock, engine, game, pool, think};

#[test]
fn a_stopped_search_answers_at_once() {
    let engine = engine();
    let search = engine.think(
        &Game::new(),
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    assert!(
        search.best().is_some(),
        "a move is known from the first moment"
    );
    std::thread::sleep(Duration::from_millis(30));
    assert!(!search.is_done());
    let asked = Instant::now();
    search.stop();
    let result = answer(&search);
    assert!(asked.elapsed() < LATE, "{:?}", asked.elapsed());
    assert_eq!(
        (result.best, result.ended),
        (search.best(), StopReason::Stopped)
    );
}

#[test]
fn a_hard_deadline_holds() {
    for millis in [0, 1, 20, 60] {
        let begun = Instant::now();
        let deadline = begun + Duration::from_millis(millis);
        let limits = Limits {
            hard_deadline: Some(deadline),
            ..clock(600_000)
        };
        let engine = engine();
        let search = engine.think(&Game::new(), limits);
        let result = answer(&search);
        assert!(result.best.is_some());
        assert!(Instant::now() < deadline + LATE, "{:?}", begun.elapsed());
    }
}

#[test]
fn movetime_is_used_and_not_exceeded() {
    let begun = Instant::now();
    let result = think(
        bench::POSITIONS[0],
        Limits::movetime(Duration::from_millis(80)),
    );
    assert!(begun.elapsed() >= Duration::from_millis(75) && begun.elapsed() < LATE);
    assert_eq!(result.ended, StopReason::Time);
}

#[test]
fn an_endless_search_gives_no_answer_before_it_is_stopped() {
    // Decided at depth one: the answer is known long before it may be given.
    let engine = engine();
    let search = engine.think(
        &game("4k3/8/8/8/7Q/8/8/4K3 w - - 0 1"),
        Limits {
            infinite: true,
            depth: Some(2),
            ..Limits::default()
        },
    );
    std::thread::sleep(Duration::from_millis(40));
    assert!(!search.is_done());
    search.stop();
    assert_eq!(answer(&search).score, Score::Mate(1));
}

#[test]
fn pondering_runs_on_no_clock_until_the_move_is_played() {
    let limits = Limits {
        ponder: true,
        ..clock(60)
    };
    let engine = engine();
    let search = engine.think(&Game::new(), limits);
    std::thread::sleep(Duration::from_millis(120));
    assert!(!search.is_done());
    let hit = Instant::now();
    search.ponderhit();
    assert!(answer(&search).best.is_some());
    assert!(hit.elapsed() < LATE, "{:?}", hit.elapsed());
}

#[test]
fn a_forced_move_is_played_as_soon_as_the_ponder_move_is() {
    let limits = Limits {
        ponder: true,
        ..clock(3_600_000)
    };
    let game = game("rn1q3r/pppk2p1/7p/3p4/8/1P4b1/P1PBP2P/2RQKB1R w - - 1 18");
    let (sender, reached) = mpsc::channel();
    let engine = engine();
    let search = engine.think_with(&game, limits, move |info| {
        // The test waits for the first of them only.
        let _ = sender.send(info.depth);
    });
    reached.recv_timeout(GUARD).expect("a report");
    search.ponderhit();
    assert!(answer(&search).best.is_some());
}

#[test]
fn a_search_in_the_background_leaves_the_age_of_the_table_alone() {
    let pool = pool(1);
    pool.lease()
        .think(&Game::new(), Limits::nodes(50_000))
        .wait();
    let filled = pool.table_fill();
    assert!(filled > 0);
    let background = Limits {
        background: true,
        ..Limits::depth(1)
    };
    pool.lease().think(&Game::new(), background).wait();
    assert!(pool.table_fill() >= filled);
}

#[test]
fn on_a_clock_an_obvious_move_is_played_at_once() {
    // One legal move; a win now; a proved mate.
    let obvious = [
        ("8/8/8/8/8/8/5r2/K6k w - - 0 1", StopReason::OnlyMove),
        (
            "k1K5/pp5R/8/8/3Q4/P7/1P6/2r5 w - - 0 1",
            StopReason::Decided,
        ),
        (
            "rnbqkbnr/1ppppppp/p7/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 2",
            StopReason::Decided,
        ),
    ];
    for (fen, ended) in obvious {
        let begun = Instant::now();
        let result = think(fen, clock(3_600_000));
        assert_eq!(result.ended, ended, "{fen} {result:?}");
        assert!(begun.elapsed() < GUARD / 4, "{fen}");
    }
}

#[test]
fn dropping_a_search_stops_it() {
    let engine = engine();
    let (sender, result) = mpsc::channel();
    let search = engine.think(
        &Game::new(),
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    search.on_done(Box::new(move |answer| sender.send(answer).unwrap()));
    drop(search);
    assert_eq!(
        result.recv_timeout(GUARD).unwrap().ended,
        StopReason::Stopped
    );
}

#[test]
fn a_new_search_on_a_lease_stops_the_former() {
    let engine = engine();
    let first = engine.think(
        &Game::new(),
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    let second = engine.think(&Game::new(), Limits::depth(3));
    assert_eq!(answer(&first).ended, StopReason::Stopped);
    assert_eq!(answer(&second).depth, 3);
}

#[test]
fn a_callback_set_after_the_end_is_called_all_the_same() {
    let engine = engine();
    let search = engine.think(&Game::new(), Limits::depth(2));
    let result = search.wait();
    assert_eq!(answer(&search), result);
}

#[test]
fn a_fault_in_the_search_costs_neither_the_move_nor_the_engine() {
    let engine = engine();
    let report = |info: &Info| assert!(info.depth < 3, "an injected fault");
    let search = engine.think_with(&Game::new(), Limits::depth(9), report);
    let result = answer(&search);
    assert_eq!(result.ended, StopReason::Failed);
    assert!(
        result
            .best
            .is_some_and(|best| Position::default().is_legal(best))
    );
    let after = engine.think(&Game::new(), Limits::depth(4)).wait();
    assert_eq!((after.depth, after.ended), (4, StopReason::Depth));
}

#[test]
fn a_hanging_search_still_shows_its_best_move_and_blocks_no_one() {
    let engine = engine();
    let (arrived, stuck) = mpsc::channel();
    let (free, hold) = mpsc::channel::<()>();
    let report = move |info: &Info| {
        if info.depth == 3 {
            arrived.send(()).expect("the test waits");
            // Until the test lets go of the other end.
            let _ = hold.recv();
        }
    };
    let search = engine.think_with(&Game::new(), Limits::depth(9), report);
    stuck.recv_timeout(GUARD).expect("it comes that far");
    let begun = Instant::now();
    let best = search.best().expect("known since the first moment");
    assert!(Position::default().is_legal(best));
    search.stop();
    drop(search);
    drop(engine);
    assert!(begun.elapsed() < LATE, "{:?}", begun.elapsed());
    drop(free);
}

#[test]
fn a_fault_in_a_callback_does_not_end_the_engine() {
    let engine = engine();
    let search = engine.think(
        &Game::new(),
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    search.on_done(Box::new(|_| panic!("an injected fault")));
    search.stop();
    search.wait();
    assert_eq!(engine.think(&Game::new(), Limits::depth(3)).wait().depth, 3);
}

#[test]
fn many_games_share_one_core_and_all_answer_in_time() {
    let pool = pool(1);
    let engines: Vec<Engine> = (0..6).map(|_| pool.lease()).collect();
    let begun = Instant::now();
    let deadline = begun + Duration::from_millis(150);
    let searches: Vec<Search> = engines
        .iter()
        .map(|engine| {
            engine.think(
                &Game::new(),
                Limits {
                    hard_deadline: Some(deadline),
                    ..Limits::default()
                },
            )
        })
        .collect();
    for search in &searches {
        let result = answer(search);
        assert!(
            result.nodes > 0,
            "everybody had a share of the core: {result:?}"
        );
    }
    assert!(Instant::now() < deadline + LATE);
}

#[test]
fn a_search_that_waits_for_a_core_answers_a_stop_at_once() {
    let pool = pool(1);
    let engines: Vec<Engine> = (0..4).map(|_| pool.lease()).collect();
    let endless = || Limits {
        infinite: true,
        ..Limits::default()
    };
    let searches: Vec<Search> = engines
        .iter()
        .map(|engine| engine.think(&Game::new(), endless()))
        .collect();
    for search in searches {
        let asked = Instant::now();
        search.stop();
        assert!(answer(&search).best.is_some());
        assert!(asked.elapsed() < LATE, "{:?}", asked.elapsed());
    }
}

#[test]
fn a_dropped_lease_gives_its_core_back() {
    let pool = pool(1);
    let first = pool.lease();
    let search = first.think(
        &Game::new(),
        Limits {
            infinite: true,
            ..Limits::default()
        },
    );
    drop(first);
    assert_eq!(answer(&search).ended, StopReason::Stopped);
    assert_eq!(
        answer(&pool.lease().think(&Game::new(), Limits::depth(3))).depth,
        3
    );
}

#[test]
fn several_lines_come_back_ranked_as_the_last_iteration_left_them() {
    let look = |limits| engine().think(&Game::new(), limits).wait();
    let limits = |multipv, depth| Limits {
        multipv,
        depth: Some(depth),
        ..Limits::default()
    };
    let result = look(limits(4, 6));
    let ranking = &result.ranking;
    assert_eq!(ranking.len(), 4);
    assert_eq!(Some(ranking[0].mv), result.best);
    assert_eq!(ranking[0].score, result.score);
    let scores: Vec<_> = ranking.iter().map(|line| line.score.centipawns()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(look(limits(1, 6)).ranking.is_empty());
    // A search that is broken off keeps what its last whole iteration said.
    let result = look(Limits {
        multipv: 4,
        nodes: Some(5000),
        ..Limits::default()
    });
    let scores: Vec<_> = result
        .ranking
        .iter()
        .map(|line| line.score.centipawns())
        .collect();
    assert!(scores.iter().all(|score| score.abs() < 2000), "{scores:?}");
    assert_eq!(scores.len(), 4);
}

#[test]
fn every_explosion_of_the_king_heads_the_lines_as_a_win_in_one() {
    let game = Game::from_uci_moves("g1f3 a7a6 f3e5 a6a5").unwrap();
    for depth in [1, 2, 5] {
        let limits = Limits {
            multipv: 4,
            ..Limits::depth(depth)
        };
        let result = engine().think(&game, limits).wait();
        let scores: Vec<_> = result.ranking.iter().map(|line| line.score).collect();
        assert_eq!(scores[..2], [Score::Mate(1); 2], "depth {depth}");
        assert!(scores[2..].iter().all(|score| *score != Score::Mate(1)));
        let mut wins: Vec<_> = result.ranking[..2]
            .iter()
            .map(|line| line.mv.to_string())
            .collect();
        wins.sort();
        assert_eq!(wins, ["e5d7", "e5f7"]);
        assert_eq!(result.score, Score::Mate(1));
    }
}
