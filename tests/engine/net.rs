//! A net in the search: the same on every kind of processor, and sound in play.

use std::io::Write;
use std::sync::Arc;

use megaton::engine::nnue::{BucketBy, Layout, Network, SCALE, Shape, Simd};
use megaton::engine::{EngineOptions, Evaluator, Limits, Pool, SearchParams, bench};
use megaton::rules::{Game, RepetitionRule};

fn net(layout: Layout, hidden: usize) -> Evaluator {
    let shape = Shape {
        layout,
        hidden,
        buckets: 4,
        bucket_by: BucketBy::Pieces,
        scale: SCALE,
    };
    let net = Network::noise(shape, 3).expect("a shape that there is");
    Evaluator::from_network(Arc::new(net))
}

/// A processor that lacks some instructions says so, also where output is captured.
fn say_what_is_missing() {
    for simd in Simd::ALL.into_iter().filter(|simd| !simd.is_available()) {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED bench with {simd}: this processor has no {simd}"
        );
    }
}

#[test]
fn bench_is_the_same_on_every_kind_of_processor() {
    say_what_is_missing();
    let plain = net(Layout::Plain, 64);
    for net in [Evaluator::default(), plain, net(Layout::KingRing, 32)] {
        let searched = |evaluator| bench(&evaluator, &SearchParams::default(), Some(6)).nodes;
        let nodes = |simd| searched(net.with_simd(simd));
        let plain = nodes(Simd::Plain);
        assert_ne!(plain, searched(Evaluator::classical()));
        for simd in Simd::available() {
            assert_eq!(nodes(simd), plain, "{simd}");
        }
    }
}

#[test]
fn a_net_plays_whole_games_by_the_rules() {
    for layout in Layout::ALL {
        let pool = Pool::new(&EngineOptions {
            hash_mb: 1,
            evaluator: net(layout, 32),
            ..EngineOptions::default()
        });
        let engine = pool.lease();
        let mut game = Game::new();
        for _ in 0..120 {
            if game.outcome(RepetitionRule::Threefold).is_some() {
                break;
            }
            let result = engine.think(&game, Limits::nodes(400)).wait();
            let best = result.best.expect("the game goes on");
            game.push_uci(&best.to_string()).expect("a legal move");
        }
    }
}
