//! Random moves at the beginning of a self-play game: variety without lost positions.

use std::ops::RangeInclusive;

use fastrand::Rng;

use crate::engine::{Limits, Score, SingleThread, blast_exchange};
use crate::rules::{Game, Move, RepetitionRule};

/// The random plies: six to nine, so that either side may be to move.
const PLIES: RangeInclusive<usize> = 6..=9;
/// A move that loses more than this in an explosion, in centipawns, is drawn again …
const ABSURD: i32 = -350;
/// … up to this many times.
const TRIES: usize = 8;
/// The nodes for the opening, as a multiple of those for a move …
const NODES_FACTOR: u64 = 4;
/// … and its greatest absolute score, in centipawns.
const UNEVEN: i32 = 500;

/// An undecided game after some random plies.
pub(super) fn opening(rng: &mut Rng, searcher: &mut SingleThread, nodes: u64) -> Game {
    loop {
        let line = random_line(rng, Game::new(), PLIES);
        if let Some(game) = line.filter(|game| is_even(game, searcher, nodes)) {
            return game;
        }
    }
}

/// The game after some random plies; none if it is over.
pub(super) fn random_line(
    rng: &mut Rng,
    mut game: Game,
    plies: RangeInclusive<usize>,
) -> Option<Game> {
    for _ in 0..rng.usize(plies) {
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

/// Whether a short search judges the game as undecided.
pub(super) fn is_even(game: &Game, searcher: &mut SingleThread, nodes: u64) -> bool {
    searcher.new_game();
    let result = searcher.think(game, &Limits::nodes(nodes * NODES_FACTOR));
    matches!(result.score, Score::Cp(score) if score.abs() <= UNEVEN)
}
