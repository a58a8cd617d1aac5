//! The random opening of a self-play game: variety without lost positions.

use fastrand::Rng;

use crate::engine::{Limits, Score, SingleThread, blast_exchange};
use crate::rules::{Game, Move, RepetitionRule};

/// The random plies: six to nine, so that either side may be to move.
const PLIES: std::ops::RangeInclusive<usize> = 6..=9;
/// A move that loses more than this in an explosion, in centipawns, is drawn again …
const ABSURD: i32 = -350;
/// … up to this many times.
const TRIES: usize = 8;
/// The nodes for the opening, as a multiple of those for a move …
const NODES_FACTOR: u64 = 4;
/// … and its greatest absolute score, in centipawns.
const UNEVEN: i32 = 500;

/// An undecided game after some random plies.
pub(super) fn opening(rng: &mut Rng, judge: &mut SingleThread, nodes: u64) -> Game {
    loop {
        if let Some(game) = random_line(rng).filter(|game| is_even(game, judge, nodes)) {
            return game;
        }
    }
}

fn random_line(rng: &mut Rng) -> Option<Game> {
    let mut game = Game::new();
    for _ in 0..rng.usize(PLIES) {
        let mv = random_move(rng, &game)?;
        game.push(mv);
    }
    game.outcome(RepetitionRule::Threefold)
        .is_none()
        .then_some(game)
}

/// A random move, a sane one if found soon; none once the game is over.
fn random_move(rng: &mut Rng, game: &Game) -> Option<Move> {
    if game.outcome(RepetitionRule::Threefold).is_some() {
        return None;
    }
    let position = game.position();
    let moves = position.legal_moves();
    let mut mv = rng.choice(moves.iter().copied())?;
    for _ in 0..TRIES {
        if blast_exchange(position, mv) >= ABSURD {
            break;
        }
        mv = rng.choice(moves.iter().copied())?;
    }
    Some(mv)
}

fn is_even(game: &Game, judge: &mut SingleThread, nodes: u64) -> bool {
    judge.new_game();
    let result = judge.think(game, &Limits::nodes(nodes * NODES_FACTOR));
    matches!(result.score, Score::Cp(score) if score.abs() <= UNEVEN)
}
