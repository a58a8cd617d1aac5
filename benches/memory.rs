//! Memory held over many searches: the resident set of the last tenth against the second.
//!
//! ```text
//! cargo bench --bench memory                    # 20,000 searches of 5,000 nodes
//! cargo bench --bench memory -- 2000 5000 2     # searches, nodes, threads
//! ```
//!
//! Games of the engine against itself, a new lease for each. It fails if memory grew by more than
//! two hundredths.

use std::io::{self, Write};
use std::process::ExitCode;

use megaton::engine::{EngineOptions, Limits, Pool};
use megaton::practice::resident_kilobytes;
use megaton::rules::{Game, RepetitionRule};

/// Searches, nodes each, threads, when nothing is asked for.
const USUAL: [u64; 3] = [20_000, 5_000, 1];
/// Growth that passes, in percent.
const MOST_GROWTH: f64 = 2.0;
/// Half-moves of a game at most.
const PLIES: usize = 200;
/// Random half-moves at a game's beginning, so that no two are alike.
const RANDOM: usize = 6;

fn main() -> io::Result<ExitCode> {
    // Cargo adds words of its own.
    let mut asked = std::env::args().filter_map(|word| word.parse().ok());
    let [searches, nodes, threads] = USUAL.map(|usual| asked.next().unwrap_or(usual));
    let resident = play(searches.max(20) as usize, nodes, threads as usize);
    let tenth = resident.len() / 10;
    let (second, last) = (
        mean(&resident[tenth..2 * tenth]),
        mean(&resident[resident.len() - tenth..]),
    );
    let growth = (last / second - 1.0) * 100.0;
    writeln!(
        io::stdout(),
        "{} searches of {nodes} nodes on {threads} threads: resident {second:.0} kB in the second \
         tenth, {last:.0} kB in the last, {growth:+.2} % (at most {MOST_GROWTH} %)",
        resident.len()
    )?;
    Ok(if second > 0.0 && growth.abs() <= MOST_GROWTH {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The resident set after each search, in kilobytes.
fn play(searches: usize, nodes: u64, threads: usize) -> Vec<u64> {
    let pool = Pool::new(&EngineOptions {
        hash_mb: 16,
        threads,
        ..EngineOptions::default()
    });
    let mut random = fastrand::Rng::with_seed(1);
    let mut resident = Vec::with_capacity(searches);
    while resident.len() < searches {
        let (engine, mut game) = (pool.lease(), opening(&mut random));
        engine.new_game();
        while resident.len() < searches && !is_over(&game) {
            let thought = engine.think(&game, Limits::nodes(nodes)).wait();
            resident.push(resident_kilobytes());
            match thought.best {
                Some(best) => game.push(best),
                None => break,
            }
        }
    }
    resident
}

fn opening(random: &mut fastrand::Rng) -> Game {
    let mut game = Game::new();
    for _ in 0..RANDOM {
        let moves = game.position().legal_moves();
        if is_over(&game) || moves.is_empty() {
            return Game::new();
        }
        game.push(moves[random.usize(..moves.len())]);
    }
    game
}

fn is_over(game: &Game) -> bool {
    game.ply() >= PLIES || game.outcome(RepetitionRule::Threefold).is_some()
}

fn mean(kilobytes: &[u64]) -> f64 {
    kilobytes.iter().sum::<u64>() as f64 / kilobytes.len().max(1) as f64
}
