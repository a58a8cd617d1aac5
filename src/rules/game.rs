//! A game: start position, moves, and what depends on the history.

use super::{Draw, Move, Outcome, Position, UciError};

/// Lichess draws a game with more half-moves than this.
const PLY_CAP: usize = 600;

/// Which repetition ends a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepetitionRule {
    /// The third occurrence: games with a bot, and any claimed draw.
    Threefold,
    /// The fifth occurrence, which needs no claim.
    Fivefold,
}

/// A text that is not a line of legal moves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("half-move {} is illegal: {error}", ply + 1)]
pub struct GameError {
    /// Number of half-moves read before the error.
    pub ply: usize,
    /// The invalid word.
    pub token: String,
    pub error: UciError,
}

/// A game with its whole history.
#[derive(Debug, Clone)]
pub struct Game {
    positions: Vec<Position>,
    keys: Vec<u64>,
    moves: Vec<Move>,
}

impl Game {
    /// A game from the start position.
    pub fn new() -> Self {
        Self::from_position(Position::default())
    }

    /// A game from any position.
    pub fn from_position(start: Position) -> Self {
        Self {
            positions: vec![start],
            keys: vec![start.key()],
            moves: Vec::new(),
        }
    }

    /// A game from the start position by moves in UCI, separated by blanks.
    pub fn from_uci_moves(moves: &str) -> Result<Self, GameError> {
        let mut game = Self::new();
        game.push_uci_moves(moves)?;
        Ok(game)
    }

    /// Plays moves in UCI, separated by blanks; on an error those before it have been played.
    pub fn push_uci_moves(&mut self, moves: &str) -> Result<(), GameError> {
        for token in moves.split_ascii_whitespace() {
            let ply = self.ply();
            self.push_uci(token).map_err(|error| GameError {
                ply,
                token: token.to_owned(),
                error,
            })?;
        }
        Ok(())
    }

    /// Plays a move in UCI.
    pub fn push_uci(&mut self, text: &str) -> Result<Move, UciError> {
        let mv = self.position().parse_uci(text)?;
        self.push(mv);
        Ok(mv)
    }

    /// Plays a legal move.
    pub fn push(&mut self, mv: Move) {
        let child = self.position().play(mv);
        self.positions.push(child);
        self.keys.push(child.key());
        self.moves.push(mv);
    }

    /// Takes back this many half-moves, or all there are.
    pub fn takeback(&mut self, plies: usize) {
        let left = self.moves.len().saturating_sub(plies);
        self.moves.truncate(left);
        self.positions.truncate(left + 1);
        self.keys.truncate(left + 1);
    }

    /// The position on the board.
    pub fn position(&self) -> &Position {
        &self.positions[self.positions.len() - 1]
    }

    /// Every position from the first to the present one.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// The keys of all positions from the first to the present one.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    pub fn ply(&self) -> usize {
        self.moves.len()
    }

    /// How often the current position has occurred, this time included.
    pub fn repetitions(&self) -> usize {
        let key = self.position().key();
        let reach = self.position().halfmove_clock() as usize + 1;
        self.keys
            .iter()
            .rev()
            .take(reach)
            .step_by(2)
            .filter(|&&earlier| earlier == key)
            .count()
    }

    /// The end of the game, if it has ended without a claim or resignation.
    pub fn outcome(&self, rule: RepetitionRule) -> Option<Outcome> {
        let needed = match rule {
            RepetitionRule::Threefold => (3, Draw::Threefold),
            RepetitionRule::Fivefold => (5, Draw::Fivefold),
        };
        self.position().outcome().or_else(|| {
            if self.repetitions() >= needed.0 {
                Some(Outcome::Draw(needed.1))
            } else {
                (self.ply() > PLY_CAP).then_some(Outcome::Draw(Draw::PlyCap))
            }
        })
    }
}

impl Default for Game {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Color, Win};

    const SHUFFLE: &str = "g1f3 g8f6 f3g1 f6g8";

    #[test]
    fn the_third_and_the_fifth_occurrence_are_seen() {
        let mut game = Game::new();
        for seen in 2..=5 {
            assert_eq!(game.outcome(RepetitionRule::Fivefold), None);
            game.push_uci_moves(SHUFFLE).unwrap();
            assert_eq!(game.repetitions(), seen);
            let third = (seen >= 3).then_some(Outcome::Draw(Draw::Threefold));
            assert_eq!(game.outcome(RepetitionRule::Threefold), third);
        }
        assert_eq!(
            game.outcome(RepetitionRule::Fivefold),
            Some(Outcome::Draw(Draw::Fivefold))
        );
        game.takeback(8);
        assert_eq!((game.ply(), game.repetitions()), (8, 3));
        game.takeback(100);
        assert_eq!((game.ply(), game.repetitions()), (0, 1));
    }

    #[test]
    fn lost_castling_rights_make_another_position() {
        let mut game = Game::from_uci_moves("e2e4 e7e5").unwrap();
        game.push_uci_moves("e1e2 e8e7 e2e1 e7e8").unwrap();
        assert_eq!(game.repetitions(), 1);
        game.push_uci_moves("e1e2 e8e7 e2e1 e7e8").unwrap();
        assert_eq!(game.repetitions(), 2);
    }

    #[test]
    fn a_double_push_without_a_legal_capture_makes_no_other_position() {
        let mut game = Game::from_uci_moves("e2e4").unwrap();
        game.push_uci_moves("g8f6 g1f3 f6g8 f3g1").unwrap();
        assert_eq!(game.repetitions(), 2);
    }

    #[test]
    fn a_game_ends_beyond_six_hundred_half_moves() {
        let mut game = Game::new();
        let tour = "g1f3 g8f6 f3g1 f6g8";
        for _ in 0..150 {
            game.push_uci_moves(tour).unwrap();
        }
        assert_eq!(game.ply(), 600);
        // Fifty moves and repetition come first.
        assert_eq!(
            game.outcome(RepetitionRule::Fivefold),
            Some(Outcome::Draw(Draw::FiftyMoves))
        );
        game.positions.last_mut().unwrap().halfmove_clock = 0;
        assert_eq!(game.outcome(RepetitionRule::Fivefold), None);
        game.push_uci("e2e4").unwrap();
        assert_eq!(
            game.outcome(RepetitionRule::Fivefold),
            Some(Outcome::Draw(Draw::PlyCap))
        );
    }

    #[test]
    fn an_explosion_ends_the_game() {
        let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5 g5f7").unwrap();
        let won = Outcome::Win {
            winner: Color::White,
            by: Win::Explosion,
        };
        assert_eq!(game.outcome(RepetitionRule::Threefold), Some(won));
        assert_eq!(won.result(), "1-0");
        assert!(game.position().legal_moves().is_empty());
    }

    #[test]
    fn a_bad_word_is_named_with_its_position() {
        let error = Game::from_uci_moves("e2e4 e7e5 e1e3 a2a3").unwrap_err();
        assert_eq!((error.ply, error.token.as_str()), (2, "e1e3"));
        assert_eq!(
            error.to_string(),
            "half-move 3 is illegal: e1e3 is not legal here"
        );
    }
}
