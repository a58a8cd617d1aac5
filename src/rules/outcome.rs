//! How a game ends, as far as one position shows.

use super::{Color, Position};

/// The end of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Win { winner: Color, by: Win },
    Draw(Draw),
}

/// How a game is won on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Win {
    /// The other king has exploded.
    Explosion,
    /// The other king is in check and its side has no legal move.
    Mate,
}

/// How a game is drawn without an agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Draw {
    /// The side to move is not in check and has no legal move.
    Stalemate,
    /// Too little material, or a closed position.
    Insufficient,
    /// A hundred half-moves without a pawn move or a capture.
    FiftyMoves,
    /// The position has occurred three times.
    Threefold,
    /// The position has occurred five times.
    Fivefold,
    /// Lichess draws a game of more than 600 half-moves.
    PlyCap,
}

impl Outcome {
    /// Who has won, if anyone.
    pub const fn winner(self) -> Option<Color> {
        match self {
            Self::Win { winner, .. } => Some(winner),
            Self::Draw(_) => None,
        }
    }

    /// `1-0`, `0-1` or `1/2-1/2`.
    pub const fn result(self) -> &'static str {
        match self.winner() {
            Some(Color::White) => "1-0",
            Some(Color::Black) => "0-1",
            None => "1/2-1/2",
        }
    }
}

impl Position {
    /// The result if this position ends the game; repetition and game length are not considered
    /// here.
    ///
    /// If several apply, the order is win, stalemate, insufficient material, fifty moves.
    pub fn outcome(&self) -> Option<Outcome> {
        for color in Color::ALL {
            if self.king(color).is_none() {
                return Some(Outcome::Win {
                    winner: !color,
                    by: Win::Explosion,
                });
            }
        }
        if self.count_moves() == 0 {
            return Some(if self.in_check() {
                Outcome::Win {
                    winner: !self.turn(),
                    by: Win::Mate,
                }
            } else {
                Outcome::Draw(Draw::Stalemate)
            });
        }
        if self.insufficient_material() {
            return Some(Outcome::Draw(Draw::Insufficient));
        }
        (self.halfmove_clock() >= 100).then_some(Outcome::Draw(Draw::FiftyMoves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn outcome(fen: &str) -> Option<Outcome> {
        Position::from_fen(fen).unwrap().outcome()
    }

    #[test]
    fn a_queen_beside_the_king_mates_alone() {
        let mate = Some(Outcome::Win {
            winner: Color::White,
            by: Win::Mate,
        });
        assert_eq!(outcome("4k3/4Q3/8/8/8/8/8/4K3 b - - 1 1"), mate);
    }

    #[test]
    fn an_exploding_answer_prevents_mate() {
        assert_eq!(outcome("k7/pp5R/8/8/3Q4/8/PP6/K1r5 w - - 1 2"), None);
    }

    #[test]
    fn touching_kings_are_stalemated_and_never_mated() {
        let stalemate = Some(Outcome::Draw(Draw::Stalemate));
        assert_eq!(outcome("8/8/3r4/1q6/7r/6pk/6PK/4r3 w - - 54 79"), stalemate);
        assert_eq!(outcome("k7/1R6/8/8/8/8/8/5K2 b - - 1 1"), stalemate);
    }

    #[test]
    fn endings_have_their_precedence() {
        let exploded = Some(Outcome::Win {
            winner: Color::Black,
            by: Win::Explosion,
        });
        assert_eq!(outcome("4k3/8/8/8/8/8/8/8 w - - 100 90"), exploded);
        let insufficient = Some(Outcome::Draw(Draw::Insufficient));
        assert_eq!(outcome("4k3/8/8/8/8/8/8/4K3 w - - 100 90"), insufficient);
        let fifty = Some(Outcome::Draw(Draw::FiftyMoves));
        assert_eq!(outcome("4k3/8/8/8/8/8/4P3/4K3 w - - 100 90"), fifty);
        assert_eq!(outcome("4k3/8/8/8/8/8/4P3/4K3 w - - 99 90"), None);
    }
}
