//! Chooses the moves of a sparring bot.

use std::sync::Arc;

use crate::engine::{Engine, EngineOptions, Level, Limits, Pool, Search, SearchResult};
use crate::rules::{Color, Game, Move, Position, Role};

use super::Partner;

/// Transposition table of a sparring engine, in megabytes.
const ENGINE_HASH: usize = 4;

/// What chooses the moves.
pub(super) enum MoveChooser {
    Random,
    Greedy,
    Engine {
        engine: Arc<Engine>,
        limits: Box<Limits>,
        level: Option<Level>,
    },
}

impl MoveChooser {
    pub(super) fn new(partner: Partner) -> Self {
        match partner {
            Partner::Random => Self::Random,
            Partner::Greedy => Self::Greedy,
            Partner::Engine { nodes } => Self::engine(Limits::nodes(nodes), None),
            Partner::Level(level) => Self::engine(level.limits(Limits::default()), Some(level)),
        }
    }

    fn engine(limits: Limits, level: Option<Level>) -> Self {
        let options = EngineOptions {
            hash_mb: ENGINE_HASH,
            ..EngineOptions::default()
        };
        let engine = Arc::new(Pool::in_background(&options).lease());
        Self::Engine {
            engine,
            limits: Box::new(limits),
            level,
        }
    }

    pub(super) async fn choose(&mut self, game: &Game) -> Option<Move> {
        match self {
            Self::Random => fastrand::choice(game.position().legal_moves()),
            Self::Greedy => greedy(game.position()),
            Self::Engine {
                engine,
                limits,
                level,
            } => {
                let result = answer(engine.think(game, Limits::clone(limits))).await?;
                match level {
                    Some(level) => level.choose(&result, &mut fastrand::Rng::new()),
                    None => result.best,
                }
            }
        }
    }
}

/// The answer of a search, without blocking a thread for it. Dropping the future stops the search.
pub(in crate::practice) async fn answer(search: Search) -> Option<SearchResult> {
    search.answer().await.ok()
}

/// The move with the best balance afterwards, a king being worth everything; random among equals.
fn greedy(position: &Position) -> Option<Move> {
    let us = position.turn();
    let mut best: Vec<Move> = Vec::new();
    let mut most = i32::MIN;
    for mv in position.legal_moves() {
        let after = position.play(mv);
        let balance = worth(&after, us) - worth(&after, !us);
        if balance > most {
            most = balance;
            best.clear();
        }
        if balance == most {
            best.push(mv);
        }
    }
    fastrand::choice(best)
}

fn worth(position: &Position, side: Color) -> i32 {
    let prices = [
        (Role::Pawn, 1),
        (Role::Knight, 3),
        (Role::Bishop, 3),
        (Role::Rook, 5),
        (Role::Queen, 9),
        (Role::King, 1000),
    ];
    let count = |role| (position.by_color(side) & position.by_role(role)).count() as i32;
    prices
        .into_iter()
        .map(|(role, price)| price * count(role))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(partner: Partner, fen: &str) -> String {
        let game = Game::from_position(Position::from_fen(fen).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime
            .block_on(MoveChooser::new(partner).choose(&game))
            .unwrap()
            .to_string()
    }

    const KING_IN_REACH: &str = "rnbqkbnr/1ppppppp/8/p5N1/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3";

    #[test]
    fn the_greedy_one_explodes_the_king_or_takes_the_most() {
        assert_eq!(choice(Partner::Greedy, KING_IN_REACH), "g5f7");
        let queen_or_pawn = "7k/8/8/3q4/4P2p/6P1/8/K7 w - - 0 1";
        assert_eq!(choice(Partner::Greedy, queen_or_pawn), "e4d5");
    }

    #[test]
    fn the_engine_sees_the_king_too() {
        assert_eq!(
            choice(Partner::Engine { nodes: 500 }, KING_IN_REACH),
            "g5f7"
        );
    }

    #[test]
    fn every_level_plays_what_is_legal() {
        for level in crate::engine::LEVELS {
            let uci = choice(Partner::Level(level), KING_IN_REACH);
            let position = Position::from_fen(KING_IN_REACH).unwrap();
            assert!(position.parse_uci(&uci).is_ok(), "{uci}");
        }
    }

    #[test]
    fn the_random_one_plays_what_is_legal() {
        for _ in 0..50 {
            let uci = choice(Partner::Random, KING_IN_REACH);
            assert!(
                Position::from_fen(KING_IN_REACH)
                    .unwrap()
                    .parse_uci(&uci)
                    .is_ok(),
                "{uci}"
            );
        }
    }
}
