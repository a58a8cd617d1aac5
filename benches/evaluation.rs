//! The evaluations' speed: positions a second along a walk like a search's, by net size and kind of
//! processor, and nodes a second of whole searches.
//!
//! The nets are of noise: as fast as trained ones, but what they search says nothing. Figures from a
//! machine that does other work are good for ratios only; each is the best of several rounds.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::engine::nnue::{Accumulators, BucketBy, Layout, Network, SCALE, Shape, Simd};
use megaton::engine::{Evaluator, SearchParams, bench};
use megaton::rules::{Position, Role};

const HIDDEN: [usize; 3] = [64, 128, 256];
const ROUNDS: usize = 5;
const SEARCH_DEPTH: u32 = 9;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let walk = walk();
    writeln!(out, "{} positions, parents before children", walk.len())?;
    let classical = Evaluator::classical();
    let time = best_of(|| {
        for (position, _) in &walk {
            black_box(classical.evaluate(position));
        }
    });
    report(&mut out, "classical", &walk, time)?;
    for hidden in HIDDEN {
        for simd in Simd::available() {
            let net = Arc::new(net(hidden, simd));
            let mut accumulators = Accumulators::new(&net, 4);
            let time = best_of(|| {
                for (position, ply) in &walk {
                    black_box(accumulators.evaluate(position, *ply));
                }
            });
            report(&mut out, &format!("net of {hidden}, {simd}"), &walk, time)?;
        }
    }
    searches(&mut out)
}

/// Two plies deep from every bench position, as a search would go.
fn walk() -> Vec<(Position, usize)> {
    let mut walk = Vec::new();
    let children = |position: &Position| {
        let moves = position.legal_moves().into_iter();
        let moves = moves.filter(|&mv| !position.explodes_king(mv));
        moves.map(|mv| position.play(mv)).collect::<Vec<_>>()
    };
    for fen in bench::POSITIONS {
        let root = Position::from_fen(fen).expect("a bench position is legal");
        walk.push((root, 0));
        for child in children(&root) {
            walk.push((child, 1));
            walk.extend(children(&child).into_iter().map(|child| (child, 2)));
        }
    }
    walk.retain(|(position, _)| position.by_role(Role::King).count() == 2);
    walk
}

fn net(hidden: usize, simd: Simd) -> Network {
    let shape = Shape {
        layout: Layout::Plain,
        hidden,
        buckets: 8,
        bucket_by: BucketBy::Pieces,
        scale: SCALE,
    };
    Network::noise(shape, 1)
        .expect("a shape that there is")
        .with_simd(simd)
}

fn best_of(mut work: impl FnMut()) -> Duration {
    let rounds = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    });
    rounds.min().unwrap_or_default()
}

fn report(
    out: &mut impl Write,
    name: &str,
    walk: &[(Position, usize)],
    time: Duration,
) -> io::Result<()> {
    let nanos = time.as_secs_f64() * 1e9 / walk.len() as f64;
    writeln!(
        out,
        "{name:20} {nanos:6.1} ns, {:.2} million positions/s",
        1e3 / nanos
    )
}

fn searches(out: &mut impl Write) -> io::Result<()> {
    let nets = HIDDEN.map(|hidden| Evaluator::from_network(Arc::new(net(hidden, Simd::best()))));
    let mut evaluators = vec![Evaluator::classical()];
    evaluators.extend(nets);
    let mut speeds = vec![0; evaluators.len()];
    for _ in 0..ROUNDS {
        for (speed, evaluator) in speeds.iter_mut().zip(&evaluators) {
            let report = bench(evaluator, &SearchParams::default(), Some(SEARCH_DEPTH));
            *speed = report.speed().max(*speed);
        }
    }
    for (speed, evaluator) in speeds.iter().zip(&evaluators) {
        writeln!(out, "search with {}: {speed} nodes/s", evaluator.id())?;
    }
    Ok(())
}
