//! Sparring partners that live inside the server: they accept what they can play, and move.
//!
//! They act through the house like everybody else, so the referee judges their moves too.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::{Engine, EngineOptions, Limits, Pool};
use crate::rules::{Color, Game, Move, Position, Role};

use super::challenge::Standing;
use super::event::Event;
use super::hall::Hall;
use super::rating::Rating;
use super::terms::{Speed, TimeControl};

/// The table of an engine that spars, in megabytes.
const ENGINE_HASH: usize = 4;

/// How a sparring partner plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// Any legal move.
    Random,
    /// Explodes the king if it can, else takes what is worth most.
    Greedy,
    /// The engine, for so many nodes a move.
    Engine {
        /// Nodes for each move.
        nodes: u64,
    },
}

impl Partner {
    /// The name of the account it plays under.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "RandomPartner",
            Self::Greedy => "GreedyPartner",
            Self::Engine { .. } => "EnginePartner",
        }
    }

    /// What its account is rated at when it is opened.
    pub fn rating(self) -> Rating {
        Rating::settled(match self {
            Self::Random => 800,
            Self::Greedy => 1300,
            Self::Engine { .. } => 2000,
        })
    }
}

impl fmt::Display for Partner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Random => "random",
            Self::Greedy => "greedy",
            Self::Engine { .. } => "engine",
        })
    }
}

impl FromStr for Partner {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "random" => Ok(Self::Random),
            "greedy" => Ok(Self::Greedy),
            "engine" => Ok(Self::Engine { nodes: 5_000 }),
            _ => Err("use random, greedy or engine".to_owned()),
        }
    }
}

/// A partner at work under one account.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    pub(super) hall: Arc<Hall>,
    pub(super) user: String,
    pub(super) partner: Partner,
    /// How long it waits before each move, for those who look on.
    pub(super) pace: Duration,
}

impl Resident {
    /// Accepts challenges and plays games until the server ends.
    pub(super) async fn live(self) {
        let mut news = self.hall.news();
        let mut games = JoinSet::new();
        let mut at = HashSet::new();
        loop {
            self.accept_everything();
            for id in self.new_games(&mut at) {
                games.spawn(self.clone().play(id));
            }
            loop {
                match news.recv().await {
                    Ok(Event::Challenged { .. } | Event::Started { .. })
                    | Err(RecvError::Lagged(_)) => break,
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                }
            }
            while games.try_join_next().is_some() {}
        }
    }

    fn accept_everything(&self) {
        self.hall.with(|house, now| {
            for id in house.pending_for(&self.user) {
                let playable = house.pending(&id).is_some_and(|challenge| {
                    challenge.standing == Standing::Created
                        && challenge.wish.terms.time.speed() != Speed::UltraBullet
                        && matches!(challenge.wish.terms.time, TimeControl::Clock { .. })
                });
                if !playable || house.accept(&self.user, &id, now).is_err() {
                    tracing::debug!(user = self.user, id, "left a challenge alone");
                }
            }
        });
    }

    /// Games of this account that nobody plays yet.
    fn new_games(&self, at: &mut HashSet<String>) -> Vec<String> {
        let running: HashSet<String> = self.hall.see(|house, _| {
            house
                .running()
                .filter(|round| round.side_of(&self.user).is_some())
                .map(|round| round.setup.id.clone())
                .collect()
        });
        let fresh = running.difference(at).cloned().collect();
        *at = running;
        fresh
    }

    async fn play(self, id: String) {
        let mut mind = Mind::new(self.partner);
        let mut changes = self.hall.watch(&id);
        loop {
            changes.borrow_and_update();
            let Some(duty) = self.duty(&id) else {
                return;
            };
            if let Duty::Move(game) = duty {
                tokio::time::sleep(self.pace).await;
                let Some(mv) = mind.choose(&game).await else {
                    return;
                };
                if self.post(&id, mv) {
                    continue;
                }
            }
            let first_move = tokio::time::timeout(self.hall.timing.first_move, changes.changed());
            match first_move.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => self.abort(&id),
            }
        }
    }

    /// What is to be done in a game; nothing when it is over.
    fn duty(&self, id: &str) -> Option<Duty> {
        self.hall.see(|house, _| {
            let (round, side) = house.seat_at(&self.user, id).ok()?;
            if !round.is_playing() {
                return None;
            }
            let ours = round.turn() == side;
            Some(if ours {
                Duty::Move(Box::new(round.game().clone()))
            } else {
                Duty::Wait
            })
        })
    }

    fn post(&self, id: &str, mv: Move) -> bool {
        self.hall.with(|house, now| {
            let uci = mv.to_string();
            house
                .act(&self.user, id, now, |round, side| {
                    round.play(side, &uci, false, now)
                })
                .is_ok()
        })
    }

    /// Gives up a game in which the opponent never moved; does nothing in any other.
    fn abort(&self, id: &str) {
        self.hall.with(|house, now| {
            if house
                .act(&self.user, id, now, |round, _| round.abort(now))
                .is_ok()
            {
                tracing::debug!(id, "aborted: the opponent did not move");
            }
        });
    }
}

enum Duty {
    Move(Box<Game>),
    Wait,
}

/// What chooses the moves.
enum Mind {
    Random,
    Greedy,
    Engine { engine: Arc<Engine>, nodes: u64 },
}

impl Mind {
    fn new(partner: Partner) -> Self {
        match partner {
            Partner::Random => Self::Random,
            Partner::Greedy => Self::Greedy,
            Partner::Engine { nodes } => {
                let options = EngineOptions {
                    hash_mb: ENGINE_HASH,
                    threads: 1,
                };
                let engine = Arc::new(Pool::in_background(&options).lease());
                Self::Engine { engine, nodes }
            }
        }
    }

    async fn choose(&mut self, game: &Game) -> Option<Move> {
        match self {
            Self::Random => fastrand::choice(game.position().legal_moves()),
            Self::Greedy => greedy(game.position()),
            Self::Engine { engine, nodes } => {
                let (answer, answered) = oneshot::channel();
                let search = engine.think(game, Limits::nodes(*nodes));
                search.on_done(Box::new(move |thought| {
                    // Who no longer listens needs no answer.
                    let _ = answer.send(thought.best);
                }));
                answered.await.ok().flatten()
            }
        }
    }
}

/// The move after which the balance is best, a king being worth everything; chance among equals.
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
            .block_on(Mind::new(partner).choose(&game))
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
