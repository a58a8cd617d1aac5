//! How self-play games begin: with a random opening, a random ending, or a position of a list.
//!
//! Endings and positions from elsewhere show a net what games from the start rarely reach.

use std::fmt;

use fastrand::Rng;

use super::opening::{is_even, opening, random_line};
use crate::engine::SingleThread;
use crate::rules::{Color, Game, Piece, Position, Role};

/// The pieces of an ending, kings included: of four the tables know the result.
const PIECES: std::ops::RangeInclusive<usize> = 5..=10;
/// The greatest distance of its kings, in steps of a king.
const KINGS_APART: u8 = 3;
/// Its other pieces: pawns are frequent, queens rare.
const ROLES: [Role; 10] = [
    Role::Pawn,
    Role::Pawn,
    Role::Pawn,
    Role::Knight,
    Role::Knight,
    Role::Bishop,
    Role::Bishop,
    Role::Rook,
    Role::Rook,
    Role::Queen,
];
/// The random plies after a position of the list, so that its games differ.
const PLIES: std::ops::RangeInclusive<usize> = 1..=4;
/// The positions of the list that a game tries; if none is even, it begins with a random opening.
const TRIES: usize = 20;

/// The shares of games with other beginnings than a random opening.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginnings {
    /// The share of games that begin with a random ending, from 0 to 1.
    pub endings: f64,
    /// The share of games that begin with a position of the list.
    pub starts: f64,
    /// The list.
    pub positions: Vec<Position>,
}

impl Beginnings {
    /// The beginning of a game, undecided.
    pub(super) fn begin(&self, rng: &mut Rng, searcher: &mut SingleThread, nodes: u64) -> Game {
        if self.endings <= 0.0 && self.starts <= 0.0 {
            return opening(rng, searcher, nodes);
        }
        let drawn = rng.f64();
        let other = if drawn < self.endings {
            Some(ending(rng, searcher, nodes))
        } else if drawn < self.endings + self.starts {
            self.listed(rng, searcher, nodes)
        } else {
            None
        };
        other.unwrap_or_else(|| opening(rng, searcher, nodes))
    }

    /// A game from a position of the list; none if those that it tries are uneven.
    fn listed(&self, rng: &mut Rng, searcher: &mut SingleThread, nodes: u64) -> Option<Game> {
        for _ in 0..TRIES {
            let start = *rng.choice(&self.positions)?;
            let line = random_line(rng, Game::from_position(start), PLIES);
            let line = line.filter(|game| is_even(game, searcher, nodes));
            if line.is_some() {
                return line;
            }
        }
        None
    }
}

/// What identifies the beginnings of a folder of games.
impl fmt::Display for Beginnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("random openings")?;
        if self.endings > 0.0 {
            write!(f, ", {} endings of 5 pieces or more", self.endings)?;
        }
        if self.starts > 0.0 {
            let mut hasher = crc32fast::Hasher::new();
            for position in &self.positions {
                hasher.update(position.fen().as_bytes());
                hasher.update(b"\n");
            }
            let (count, sum) = (self.positions.len(), hasher.finalize());
            write!(f, ", {} from {count} positions ({sum:08x})", self.starts)?;
        }
        Ok(())
    }
}

/// A game from an even ending.
fn ending(rng: &mut Rng, searcher: &mut SingleThread, nodes: u64) -> Game {
    loop {
        let position = random_ending(rng);
        let game = position.map(Game::from_position);
        if let Some(game) = game.filter(|game| is_even(game, searcher, nodes)) {
            return game;
        }
    }
}

/// A legal position of a few pieces, kings near each other, that is not over and has no king to explode; none
/// if the dice do not give one.
fn random_ending(rng: &mut Rng) -> Option<Position> {
    let mut board = [None; 64];
    let kings = [rng.usize(..64), rng.usize(..64)];
    if kings[0] == kings[1] || distance(kings) > KINGS_APART {
        return None;
    }
    for (king, color) in kings.into_iter().zip(Color::ALL) {
        board[king] = Some(Piece {
            color,
            role: Role::King,
        });
    }
    for _ in 2..rng.usize(PIECES) {
        let square = rng.usize(..64);
        let role = *rng.choice(&ROLES)?;
        let is_stray = role == Role::Pawn && !(8..56).contains(&square);
        if board[square].is_some() || is_stray {
            return None;
        }
        let color = *rng.choice(&Color::ALL)?;
        board[square] = Some(Piece { color, role });
    }
    let turn = rng.choice(&['w', 'b'])?;
    let position = Position::from_fen(&format!("{} {turn} - - 0 1", placement(&board))).ok()?;
    (position.outcome().is_none() && !position.can_explode()).then_some(position)
}

/// The steps of a king between two squares.
fn distance(squares: [usize; 2]) -> u8 {
    let [a, b] = squares.map(|square| [square % 8, square / 8]);
    a[0].abs_diff(b[0]).max(a[1].abs_diff(b[1])) as u8
}

/// The board of a FEN.
fn placement(board: &[Option<Piece>; 64]) -> String {
    let mut text = String::new();
    for rank in board.chunks(8).rev() {
        for piece in rank {
            text.push(piece.map_or('1', Piece::char));
        }
        text.push('/');
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineOptions, Evaluator, Limits, Score};
    use crate::rules::RepetitionRule;
    use crate::tablebase::OutcomeTables;

    fn searcher() -> SingleThread {
        SingleThread::new(&EngineOptions {
            hash_mb: 1,
            threads: 1,
            evaluator: Evaluator::classical(),
            ..EngineOptions::default()
        })
    }

    #[test]
    fn endings_are_legal_small_even_and_have_kings_near_each_other() {
        let (mut rng, mut searcher) = (Rng::with_seed(4), searcher());
        for _ in 0..20 {
            let game = ending(&mut rng, &mut searcher, 50);
            let position = game.position();
            let outcome = game.outcome(RepetitionRule::Threefold);
            assert_eq!((game.ply(), outcome), (0, None));
            assert!(PIECES.contains(&position.occupied().count()));
            let known = OutcomeTables::built_in().ruling(position);
            assert!(
                known.is_none(),
                "no move would be played: {}",
                position.fen()
            );
            let kings = Color::ALL.map(|color| position.king(color).expect("a king").index());
            assert!(distance(kings) <= KINGS_APART, "{}", position.fen());
            assert_eq!(Position::from_fen(&position.fen()), Ok(*position));
            searcher.new_game();
            let score = searcher.think(&game, &Limits::nodes(200)).score;
            assert!(matches!(score, Score::Cp(score) if score.abs() <= 500));
        }
    }

    #[test]
    fn the_shares_of_beginnings_are_kept() {
        let listed = Position::from_fen("r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 4 9");
        let beginnings = Beginnings {
            endings: 0.3,
            starts: 0.2,
            positions: vec![listed.expect("a good FEN")],
        };
        let (mut rng, mut searcher) = (Rng::with_seed(1), searcher());
        let mut counts = [0; 3];
        for _ in 0..100 {
            let game = beginnings.begin(&mut rng, &mut searcher, 10);
            let start = game.positions()[0];
            let is_listed = start == beginnings.positions[0];
            assert!(!is_listed || PLIES.contains(&game.ply()));
            counts[match start {
                start if start == Position::default() => 0,
                _ if is_listed => 1,
                _ => 2,
            }] += 1;
        }
        assert!((40..=60).contains(&counts[0]), "{counts:?}");
        assert!((10..=30).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn a_list_without_an_even_position_gives_openings() {
        let lost = Position::from_fen("4k3/8/8/8/8/8/8/QQQQK3 w - - 0 1").expect("a good FEN");
        let beginnings = Beginnings {
            starts: 1.0,
            positions: vec![lost],
            ..Beginnings::default()
        };
        let game = beginnings.begin(&mut Rng::with_seed(1), &mut searcher(), 10);
        assert_eq!(game.positions()[0], Position::default());
    }

    #[test]
    fn beginnings_are_told_apart_by_shares_and_positions() {
        let position = |fen: &str| Position::from_fen(fen).expect("a good FEN");
        let list = |fen: &str| Beginnings {
            starts: 0.5,
            positions: vec![position(fen)],
            ..Beginnings::default()
        };
        let one = list("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").to_string();
        let other = list("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1").to_string();
        assert_ne!(one, other);
        assert!(
            one.starts_with("random openings, 0.5 from 1 positions ("),
            "{one}"
        );
        assert_eq!(Beginnings::default().to_string(), "random openings");
    }
}
