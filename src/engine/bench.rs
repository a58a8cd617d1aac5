//! The bench: a fixed search over fixed positions, whose node count is the engine's signature.
//!
//! Same code and net, same count, on every machine; a change that alters the count alters play.

use std::time::{Duration, Instant};

use super::{EngineOptions, Evaluator, Limits, Pool, SearchParams};
use crate::rules::{Game, Position};

/// Default search depth.
pub const DEFAULT_DEPTH: u32 = 10;

/// Size of the transposition table, in megabytes; the signature depends on it.
pub const HASH_MB: usize = 16;

/// Openings, middlegames, touching kings, checks, threatened explosions, endings, promotions.
pub const POSITIONS: [&str; 40] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "rnbqkbnr/pppppp1p/6p1/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 2",
    "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
    "rnbqkb1r/pppp1ppp/4pn2/8/8/4PN2/PPPP1PPP/RNBQKB1R w KQkq - 0 3",
    "rnbqkbnr/ppp1p1pp/8/3p1p2/8/N2P4/PPP1PPPP/R1BQKBNR w KQkq - 0 3",
    "r1bqkbnr/pppp1p1p/2n1p1p1/8/2P5/5P1N/PP1PP1PP/RNBQKB1R w KQkq - 0 4",
    "rnbqk1nr/ppppb1pp/4pp2/8/8/2P1P2N/PP1P1PPP/RNBQKB1R w KQkq - 2 4",
    "rnbqkb1r/pp1ppp1p/5np1/2p5/2P5/2N1P3/PP1P1PPP/R1BQKBNR w KQkq - 0 4",
    "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1",
    "rn1qkb1r/p5pp/2p5/3p4/N3P3/5P2/PPP4P/R1BQK3 w Qkq - 0 1",
    "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10",
    "r3k2r/1P3b1p/p3p1p1/2ppPn2/3P1P2/2N2N2/PP4pP/R1B1K2R w KQkq d6 0 15",
    "r2qk2r/ppp2ppp/2n1b3/3pP3/1b1P4/2N1KN2/PPP3PP/R1BQ1B1R b kq - 0 9",
    "8/2p1p3/3k4/3K1p1R/1P6/4P1r1/5P2/8 w - - 0 30",
    "4rk2/p1p2p1p/1p1p2p1/8/3PK3/2P1P3/P4qPP/R6R w - - 0 24",
    "r2q1rk1/pp2bppp/2n1p3/3p4/3P1B2/2PBP3/PP3PPP/R2Q1RK1 w - - 0 11",
    "2kr3r/pppq1ppp/2n1b3/3p4/3P4/2PB1N2/PP1Q1PPP/R3K2R w KQ - 4 12",
    "r3kb1r/p1p2ppp/1pn1p3/3q4/3P4/4PN2/PP3PPP/R2QKB1R w KQkq - 0 9",
    "rnb1kb1r/p1pp1ppp/1p2p3/8/3P3q/2N1P3/PPP2PPP/R1BQKB1R w KQkq - 1 6",
    "r1b1k2r/pppp1ppp/2n5/4p3/1b2P3/2N5/PPPP1PPP/R1B1K2R w KQkq - 4 7",
    "4k3/4p3/8/8/8/8/4P3/3R1K2 b - - 0 1",
    "4k3/4p3/8/8/8/8/3P4/4RK2 b - - 0 1",
    "5k1r/p1ppq1pp/5p2/1B6/1b3P2/2P5/PP4PP/RNB1K2R w KQ - 0 12",
    "4k3/8/8/4rN2/3p4/2b5/6P1/4K3 w - - 0 1",
    "8/4K2P/5bk1/3pq3/3P4/8/8/8 w - - 3 46",
    "8/8/3r4/1q6/7r/6pk/6PK/3r3N w - - 53 78",
    "8/1p6/2k5/3K4/5P2/8/1P6/8 w - - 0 40",
    "8/pp6/2k5/8/5K2/6PP/8/8 b - - 0 40",
    "8/3kP3/8/8/2K5/8/5p2/8 w - - 0 50",
    "3r4/2P5/8/8/8/6k1/8/4K2R w - - 0 1",
    "8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1",
    "8/5k2/8/8/3Q4/8/2K5/7r b - - 3 60",
    "r5k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 25",
    "3rk2r/p4ppp/2p5/8/8/2P5/P4PPP/3RK2R w Kk - 0 16",
    "2r1k3/1p3p1p/p3p1p1/3pP3/3P1P2/P7/1P4PP/2R1K3 w - - 0 21",
    "6k1/pp3pp1/2p4p/3n4/3P4/1B3P2/PP4PP/6K1 b - - 0 24",
    "1k5r/1p2bR2/8/p2p4/3P3P/2P1p3/PP4P1/R3K3 b Q - 0 20",
    "r3k3/ppp2p2/4p1p1/7p/1b3P1P/4P3/PPPB2P1/R3K3 w Qq - 2 15",
    "rnb1k1nr/pp1p1ppp/2p1p3/6q1/1b6/4PN2/PPPP1PPP/RNBQ1RK1 w kq - 4 6",
    "r2qkb1r/1pp2p1p/p2p2p1/4p3/4P3/2P2P2/PP1P2PP/RNBQ1K1R b kq - 1 9",
];

/// The result of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchReport {
    /// Positions visited: the signature.
    pub nodes: u64,
    /// How long it took.
    pub time: Duration,
}

impl BenchReport {
    pub fn speed(&self) -> u64 {
        (self.nodes as f64 / self.time.as_secs_f64().max(1e-9)) as u64
    }
}

/// Searches every bench position to `depth` on one thread, with an empty transposition table and
/// fresh histories. With the default parameters the node count is the signature.
pub fn bench(evaluator: &Evaluator, params: &SearchParams, depth: Option<u32>) -> BenchReport {
    let options = EngineOptions {
        hash_mb: HASH_MB,
        evaluator: evaluator.clone(),
        params: params.clone(),
        ..EngineOptions::default()
    };
    bench_with(&options, depth)
}

/// As [`bench()`] with this table size and thread count, to measure time to depth. With several
/// threads the node count varies from run to run.
pub fn bench_with(options: &EngineOptions, depth: Option<u32>) -> BenchReport {
    let pool = Pool::new(options);
    let engine = pool.lease();
    let started = Instant::now();
    let nodes = POSITIONS
        .iter()
        .filter_map(|fen| Position::from_fen(fen).ok())
        .map(|position| {
            pool.clear_hash();
            engine.new_game();
            let game = Game::from_position(position);
            let limits = Limits::depth(depth.unwrap_or(DEFAULT_DEPTH));
            engine.think(&game, limits).wait().nodes
        })
        .sum();
    BenchReport {
        nodes,
        time: started.elapsed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bench_position_is_legal_and_undecided() {
        for fen in POSITIONS {
            let position = Position::from_fen(fen).unwrap_or_else(|error| panic!("{fen}: {error}"));
            assert_eq!(position.outcome(), None, "{fen}");
        }
    }
}
