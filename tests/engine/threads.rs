//! Several threads on one search: as right as one, and gone as soon as another game needs the core.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use megaton::engine::{Engine, Info, LEVELS, Limits, Search, StopReason, bench};
use megaton::rules::{Game, Move, Position};

use crate::{LATE, answer, clock, game, pool};

const THREADS: usize = 4;

fn together(fen: &str, limits: Limits) -> megaton::engine::SearchResult {
    answer(&pool(THREADS).lease().think(&game(fen), limits))
}

fn endless() -> Limits {
    Limits {
        infinite: true,
        ..Limits::default()
    }
}

#[test]
fn short_wins_are_found_by_all_threads_together() {
    for (fen, moves) in crate::play::WINS {
        let result = together(fen, Limits::depth(2 * moves + 2));
        assert!(result.score.is_win(), "{fen}: {result:?}");
        let position = Position::from_fen(fen).unwrap();
        let best = result.best.unwrap();
        assert!(position.is_legal(best), "{fen}: {best}");
        assert_eq!(result.line.first(), Some(&best));
    }
}

#[test]
fn every_line_of_several_threads_is_playable() {
    let engine = pool(THREADS).lease();
    for fen in bench::POSITIONS {
        let search = engine.think(&game(fen), Limits::nodes(8_000));
        let result = answer(&search);
        assert_eq!(result.best, search.best(), "{fen}");
        let mut position = Position::from_fen(fen).unwrap();
        for &mv in &result.line {
            assert!(position.is_legal(mv), "{fen}: {mv} in {:?}", result.line);
            position = position.play(mv);
        }
    }
}

#[test]
fn nodes_of_all_threads_count_against_the_limit() {
    let nodes = 100_000;
    let result = together(bench::POSITIONS[16], Limits::nodes(nodes));
    assert_eq!(result.ended, StopReason::Nodes);
    // A thread that is not running cannot say what it has done.
    assert!(
        result.nodes >= nodes && result.nodes < 2 * nodes,
        "{result:?}"
    );
    let soft = Limits {
        soft_nodes: Some(nodes),
        ..Limits::default()
    };
    assert!(together(bench::POSITIONS[16], soft).nodes >= nodes);
}

#[test]
fn the_requested_depth_is_reported() {
    for depth in [1, 4, 7] {
        let result = together(bench::POSITIONS[10], Limits::depth(depth));
        assert_eq!((result.depth, result.ended), (depth, StopReason::Depth));
    }
}

#[test]
fn a_level_searches_alone_and_so_the_same_every_time() {
    let pool = pool(THREADS);
    let engine = pool.lease();
    answer(&engine.think(&Game::new(), Limits::nodes(50_000)));
    for level in LEVELS {
        for fen in &bench::POSITIONS[8..16] {
            let [first, second] = [(); 2].map(|()| {
                engine.new_game();
                pool.clear_hash();
                let result = answer(&engine.think(&game(fen), level.limits(Limits::default())));
                (result.nodes, result.ranking)
            });
            assert_eq!(first, second, "{} in {fen}", level.name);
        }
    }
}

#[test]
fn a_stop_ends_all_threads() {
    let pool = pool(THREADS);
    let engine = pool.lease();
    for _ in 0..20 {
        let search = engine.think(&Game::new(), endless());
        std::thread::sleep(Duration::from_millis(3));
        let asked = Instant::now();
        search.stop();
        assert_eq!(answer(&search).ended, StopReason::Stopped);
        assert!(asked.elapsed() < LATE, "{:?}", asked.elapsed());
    }
}

#[test]
fn other_games_get_their_cores_while_one_has_helpers() {
    let pool = pool(THREADS);
    let greedy = pool.lease();
    let first = greedy.think(&Game::new(), endless());
    let engines: Vec<Engine> = (1..THREADS).map(|_| pool.lease()).collect();
    for _ in 0..5 {
        let begun = Instant::now();
        let searches: Vec<Search> = engines
            .iter()
            .map(|engine| engine.think(&Game::new(), Limits::nodes(500)))
            .collect();
        for search in &searches {
            let result = answer(search);
            assert!(result.depth > 0, "{result:?}");
        }
        assert!(begun.elapsed() < LATE, "{:?}", begun.elapsed());
    }
    assert!(!first.is_done());
}

#[test]
fn a_fault_of_the_thread_that_answers_ends_its_helpers_too() {
    let engine = pool(THREADS).lease();
    let report = |info: &Info| assert!(info.depth < 3, "an injected fault");
    let search = engine.think_with(&Game::new(), Limits::depth(9), report);
    assert_eq!(answer(&search).ended, StopReason::Failed);
    let after = engine.think(&Game::new(), Limits::depth(4)).wait();
    assert_eq!((after.depth, after.ended), (4, StopReason::Depth));
}

#[test]
fn several_lines_of_several_threads_are_different_and_ordered() {
    let (sender, infos) = mpsc::channel::<Info>();
    let limits = Limits {
        multipv: 4,
        ..Limits::depth(6)
    };
    let engine = pool(THREADS).lease();
    let result = engine
        .think_with(&Game::new(), limits, move |info| {
            sender.send(info.clone()).unwrap();
        })
        .wait();
    let last: Vec<Info> = infos.iter().filter(|info| info.depth == 6).collect();
    let ranks: Vec<usize> = last.iter().map(|info| info.multipv).collect();
    assert_eq!(ranks, [1, 2, 3, 4]);
    assert_eq!(last[0].line.first(), result.best.as_ref());
    assert_eq!(result.ranking.len(), 4);
    for pair in last.windows(2) {
        assert!(pair[0].score.centipawns() >= pair[1].score.centipawns());
        assert_ne!(pair[0].line[0], pair[1].line[0]);
    }
}

#[test]
fn several_threads_search_only_the_searchmoves() {
    let start = Position::default();
    let wanted: Vec<Move> = ["a2a3", "h2h3"]
        .map(|mv| start.parse_uci(mv).unwrap())
        .to_vec();
    for multipv in [1, 2, 3] {
        let limits = Limits {
            searchmoves: wanted.clone(),
            multipv,
            ..Limits::nodes(20_000)
        };
        let result = answer(&pool(THREADS).lease().think(&Game::new(), limits));
        assert!(wanted.contains(&result.best.unwrap()));
        let ranked = result.ranking.iter().map(|line| line.mv);
        assert!(ranked.into_iter().all(|mv| wanted.contains(&mv)));
    }
}

#[test]
fn pondering_with_several_threads_gives_way_to_a_clock_and_answers_after_the_hit() {
    let pool = pool(2);
    let (idler, player) = (pool.lease(), pool.lease());
    let limits = Limits {
        ponder: true,
        ..clock(100)
    };
    let pondering = idler.think(&Game::new(), limits);
    let result = answer(&player.think(&Game::new(), clock(2_000)));
    assert!(result.depth > 0 && !pondering.is_done());
    pondering.ponderhit();
    assert!(answer(&pondering).best.is_some());
}

#[test]
fn a_dropped_pool_leaves_no_search_behind() {
    let search = pool(THREADS).lease().think(&Game::new(), endless());
    assert_eq!(answer(&search).ended, StopReason::Stopped);
}
