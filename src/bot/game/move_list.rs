//! The server's move list and the board behind it.
//!
//! The list is authoritative and always complete; it can skip plies and it can shrink. A list that
//! only grew is continued, since a full replay would delay a move; any other is replayed from the
//! start. A list that cannot be replayed changes nothing.

use thiserror::Error;

use crate::rules::{Game, Move};

/// The moves of one game and the resulting position.
#[derive(Clone, Debug, Default)]
pub struct PlayedMoves {
    text: String,
    game: Game,
}

/// How a list changed the recorded moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveListChange {
    /// The same moves as before.
    Same,
    /// Number of new moves.
    Grown(usize),
    /// Moves were taken back or replaced.
    Rewritten,
}

/// A list that no atomic game can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no legal move at ply {ply}: {token:?}")]
pub struct IllegalMove {
    /// Number of legal moves before it.
    pub ply: usize,
    /// The move as written, cut to a reasonable length.
    pub token: String,
}

impl PlayedMoves {
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// Number of moves made.
    pub fn ply(&self) -> usize {
        self.game.moves().len()
    }

    /// The last list read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a list lacks known moves: they were taken back, or the list is old.
    pub fn is_ahead_of(&self, moves: &str) -> bool {
        moves.split_ascii_whitespace().count() < self.ply()
    }

    /// Adopts the list of a state.
    ///
    /// # Errors
    /// When the list cannot be replayed; nothing changes then.
    pub fn update(&mut self, moves: &str) -> Result<MoveListChange, IllegalMove> {
        let moves = moves.trim_ascii();
        if moves == self.text {
            return Ok(MoveListChange::Same);
        }
        match self.continuation(moves) {
            Some(rest) => self.grow(rest, moves),
            None => self.replay(moves),
        }
    }

    /// The part of `moves` after the known list, if it begins with that list.
    fn continuation<'a>(&self, moves: &'a str) -> Option<&'a str> {
        let rest = moves.strip_prefix(self.text.as_str())?;
        (self.text.is_empty() || rest.starts_with(' ')).then_some(rest)
    }

    fn grow(&mut self, rest: &str, moves: &str) -> Result<MoveListChange, IllegalMove> {
        let before = self.ply();
        let mut grown = None;
        let mut count = 0;
        for token in rest.split_ascii_whitespace() {
            // One new move is the usual case: it is tried before anything is copied.
            if count == 0 && rest.trim_ascii() == token {
                push(&mut self.game, token)?;
            } else {
                push(grown.get_or_insert_with(|| self.game.clone()), token)?;
            }
            count += 1;
        }
        if let Some(grown) = grown {
            self.game = grown;
        }
        moves.clone_into(&mut self.text);
        debug_assert_eq!(self.ply(), before + count, "every token is a move");
        Ok(if count == 0 {
            MoveListChange::Same
        } else {
            MoveListChange::Grown(count)
        })
    }

    fn replay(&mut self, moves: &str) -> Result<MoveListChange, IllegalMove> {
        let mut game = Game::new();
        for token in moves.split_ascii_whitespace() {
            push(&mut game, token)?;
        }
        let kept = common(self.game.moves(), game.moves());
        let change = if kept == self.ply() && kept == game.moves().len() {
            MoveListChange::Same
        } else if kept == self.ply() {
            MoveListChange::Grown(game.moves().len() - kept)
        } else {
            MoveListChange::Rewritten
        };
        self.game = game;
        moves.clone_into(&mut self.text);
        Ok(change)
    }
}

fn push(game: &mut Game, token: &str) -> Result<Move, IllegalMove> {
    game.push_uci(token).map_err(|_| IllegalMove {
        ply: game.ply(),
        token: token.chars().take(12).collect(),
    })
}

fn common(old: &[Move], new: &[Move]) -> usize {
    old.iter().zip(new).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn move_list(moves: &str) -> PlayedMoves {
        let mut move_list = PlayedMoves::default();
        move_list.update(moves).unwrap();
        move_list
    }

    #[test]
    fn an_empty_list_holds_no_move() {
        let mut move_list = PlayedMoves::default();
        assert_eq!(move_list.update(""), Ok(MoveListChange::Same));
        assert_eq!(move_list.update("  "), Ok(MoveListChange::Same));
        assert_eq!(move_list.ply(), 0);
    }

    #[test]
    fn a_list_grows_by_one_or_by_several() {
        let mut move_list = move_list("g1f3");
        assert_eq!(move_list.update("g1f3 f7f6"), Ok(MoveListChange::Grown(1)));
        assert_eq!(
            move_list.update("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1"),
            Ok(MoveListChange::Grown(5))
        );
        assert_eq!(move_list.ply(), 7);
        assert_eq!(
            move_list.update("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1"),
            Ok(MoveListChange::Same)
        );
    }

    #[test]
    fn both_spellings_of_castling_are_one_move() {
        let mut rook = move_list("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1");
        let king = move_list("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1");
        assert_eq!(rook.game().moves(), king.game().moves());
        assert_eq!(
            rook.update("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1"),
            Ok(MoveListChange::Same)
        );
    }

    #[test]
    fn a_list_can_shrink_and_be_replaced() {
        let mut move_list = move_list("g1f3 f7f6 e2e3 e7e6");
        assert_eq!(
            move_list.update("g1f3 f7f6 e2e3"),
            Ok(MoveListChange::Rewritten)
        );
        assert_eq!(move_list.update("g1f3 e7e6"), Ok(MoveListChange::Rewritten));
        assert_eq!(move_list.update(""), Ok(MoveListChange::Rewritten));
        assert_eq!(move_list.ply(), 0);
    }

    #[test]
    fn only_a_shorter_list_lacks_known_moves() {
        let move_list = move_list("g1f3 f7f6 e2e3");
        assert!(move_list.is_ahead_of("") && move_list.is_ahead_of("g1f3  f7f6 "));
        for list in ["g1f3 f7f6 e2e3", "g1f3 e7e6 d2d4", "g1f3 f7f6 e2e3 e7e6"] {
            assert!(!move_list.is_ahead_of(list), "{list}");
        }
    }

    #[test]
    fn an_illegal_move_changes_nothing() {
        let mut move_list = move_list("g1f3");
        for bad in [
            "g1f3 e2e4",
            "g1f3 f7f6 zz",
            "g1f3 f7f6 e2e3 \u{1f4a5}",
            "a1a8",
        ] {
            let error = move_list.update(bad).unwrap_err();
            assert!(error.ply <= 3, "{error}");
            assert_eq!((move_list.text(), move_list.ply()), ("g1f3", 1), "{bad}");
        }
        let long = "x".repeat(500);
        assert!(move_list.update(&long).unwrap_err().token.len() < 20);
    }

    #[test]
    fn nothing_follows_an_explosion() {
        let mut move_list = move_list("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1 f8d6 f3d4 d6h2");
        assert_eq!(move_list.ply(), 10);
        assert!(move_list.game().position().legal_moves().is_empty());
        assert!(
            move_list
                .update(&format!("{} a2a3", move_list.text().to_owned()))
                .is_err()
        );
    }
}
