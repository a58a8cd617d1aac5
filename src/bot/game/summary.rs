//! What to remember of a finished game. Plain data; storing it is the caller's job.

use super::event::Ending;
use super::machine::GameMachine;
use crate::lichess::Status;
use crate::store::{FinishedGame, Timestamp};

/// The half-moves that the server compares to detect a repeated game.
pub const OPENING: usize = 20;

impl GameMachine {
    /// The finished game, to be stored; none if its end was not seen.
    pub fn summary(&self, ending: &Ending, at: Timestamp) -> Option<FinishedGame> {
        let status = ending.status.filter(|status| Status::is_over(*status))?;
        let setup = self.setup.as_ref();
        let opening = self.move_list.game().moves().iter().take(OPENING);
        let opening: Vec<String> = opening.map(ToString::to_string).collect();
        Some(FinishedGame {
            game: ending.game.clone(),
            opponent: setup.and_then(|setup| setup.opponent_id.clone()),
            is_bot: setup.is_some_and(|setup| setup.opponent_is_bot),
            rated: setup.is_some_and(|setup| setup.rated),
            color: ending.us,
            winner: ending.winner,
            status: status.as_str().to_owned(),
            plies: u32::try_from(ending.plies).unwrap_or(u32::MAX),
            opening: opening.join(" "),
            rating_diff: None,
            at,
        })
    }
}
