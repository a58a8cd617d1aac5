//! Nodes per second of perft beside shakmaty's, in one process, one thread, runs alternating.
//!
//! Both count the last half-move without playing it. Other load on the machine hits both alike, so
//! the ratio is the figure to trust.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use megaton::rules::Position;
use shakmaty::CastlingMode;
use shakmaty::fen::Fen;
use shakmaty::variant::Atomic;

const RUNS: usize = 5;

struct Suite {
    name: &'static str,
    depth: u32,
    nodes: u64,
    fens: &'static [&'static str],
    target: f64,
}

const SUITES: [Suite; 2] = [
    Suite {
        name: "start position",
        depth: 5,
        nodes: 4_864_979,
        fens: &["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"],
        target: 3.5,
    },
    Suite {
        name: "five middlegames",
        depth: 4,
        nodes: 1_434_825 + 714_499 + 1_709_436 + 1_023_903 + 1_999_343,
        fens: &[
            "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1",
            "rn1qkb1r/p5pp/2p5/3p4/N3P3/5P2/PPP4P/R1BQK3 w Qkq - 0 1",
            "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10",
            "r3k2r/1P3b1p/p3p1p1/2ppPn2/3P1P2/2N2N2/PP4pP/R1B1K2R w KQkq d6 0 15",
            "r2qk2r/ppp2ppp/2n1b3/3pP3/1b1P4/2N1KN2/PPP3PP/R1BQ1B1R b kq - 0 9",
        ],
        target: 2.0,
    },
];

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for suite in &SUITES {
        measure(suite, &mut out)?;
    }
    Ok(())
}

fn measure(suite: &Suite, out: &mut impl Write) -> io::Result<()> {
    let ours: Vec<Position> = suite
        .fens
        .iter()
        .map(|fen| fen.parse().expect("a good FEN"))
        .collect();
    let theirs: Vec<Atomic> = suite
        .fens
        .iter()
        .map(|fen| {
            let fen: Fen = fen.parse().expect("a good FEN");
            fen.into_position(CastlingMode::Standard)
                .expect("a good position")
        })
        .collect();
    let mut times = [[Duration::ZERO; RUNS]; 2];
    let [our_times, their_times] = &mut times;
    for (our_time, their_time) in our_times.iter_mut().zip(their_times) {
        *our_time = time(suite, || {
            ours.iter().map(|p| black_box(p).perft(suite.depth)).sum()
        });
        *their_time = time(suite, || {
            theirs
                .iter()
                .map(|p| shakmaty::perft(black_box(p), suite.depth))
                .sum()
        });
    }
    let [ours, theirs] = times.map(|mut runs| {
        runs.sort_unstable();
        suite.nodes as f64 / runs[RUNS / 2].as_secs_f64() / 1e6
    });
    writeln!(
        out,
        "{}, depth {}, {} nodes, median of {RUNS}: megaton {ours:.1} M/s, shakmaty {theirs:.1} M/s, \
         ratio {:.2} (target {:.1})",
        suite.name,
        suite.depth,
        suite.nodes,
        ours / theirs,
        suite.target
    )
}

fn time(suite: &Suite, count: impl FnOnce() -> u64) -> Duration {
    let start = Instant::now();
    let nodes = count();
    let elapsed = start.elapsed();
    assert_eq!(nodes, suite.nodes, "{}", suite.name);
    elapsed
}
