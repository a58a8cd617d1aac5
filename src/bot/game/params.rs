//! What a game machine knows of its game: before the stream opens, from its first line, and from its last.
//!
//! Data only.

use std::time::Instant;

use super::policy::EvalHistory;
use crate::lichess::{GameFull, GameId, GameState, Side, Speed, UserId, Variant};
use crate::rules::Move;

/// Where we sit: what is known of a game before its stream is open.
#[derive(Clone, Debug)]
pub struct GameParams {
    pub game: GameId,
    pub me: UserId,
    /// Our colour, if the event that announced the game told it.
    pub color: Option<Side>,
    /// What is played, if that event told it.
    pub variant: Variant,
    /// What was done in it before, from what outlives the program.
    pub past: ResumeState,
}

/// What was done in a game before its table was set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumeState {
    pub takebacks: u32,
    /// Our offers of a draw.
    pub draw_offers: u32,
    /// What our searches said when the game was last left; only this program's own.
    pub eval_history: EvalHistory,
    /// When we first heard of it by our own clock, where that is known.
    pub begun: Option<Instant>,
}

impl GameParams {
    /// Which side of a game is ours: by the account, or as the announcement had it.
    pub(super) fn side_in(&self, full: &GameFull) -> Option<Side> {
        let is_me = |side| full.player(side).id.as_ref() == Some(&self.me);
        match (is_me(Side::White), is_me(Side::Black)) {
            (true, false) => Some(Side::White),
            (false, true) => Some(Side::Black),
            _ => self.color,
        }
    }
}

/// A move that was sent and is not shown yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedMove {
    /// The moves it was sent after.
    pub after: Vec<Move>,
    pub played: Move,
}

/// What the first line of the stream tells once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that the server states"
)]
pub struct GameSetup {
    pub us: Side,
    /// Our name as it is shown.
    pub me: String,
    /// The opponent's name as it is shown.
    pub opponent: String,
    /// The opponent's account; none for anonymous players and the server's engine.
    pub opponent_id: Option<UserId>,
    /// Whether the opponent is a program, the server's engine included.
    pub opponent_is_bot: bool,
    /// Whether the opponent is the server's engine.
    pub opponent_is_ai: bool,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// Whether the game has a clock; without one it is correspondence or unlimited.
    pub clocked: bool,
    /// Whether it belongs to an arena.
    pub arena: bool,
}

/// The last state believed.
#[derive(Clone, Debug)]
pub(super) struct LastState {
    pub(super) state: GameState,
    pub(super) at: Instant,
    /// Whether it came with an opening of the stream.
    pub(super) opening: bool,
}

impl GameSetup {
    /// What `full` tells, seen from our side of the board.
    pub(super) fn of(full: &GameFull, us: Side) -> Self {
        let opponent = full.player(us.other());
        Self {
            us,
            me: full.player(us).display_name(),
            opponent: opponent.display_name(),
            opponent_id: opponent.id.clone(),
            opponent_is_bot: opponent.is_bot() || opponent.is_ai(),
            opponent_is_ai: opponent.is_ai(),
            rated: full.rated,
            clocked: is_clocked(full),
            arena: full.tournament.is_some(),
        }
    }
}

/// Whether a clock runs. One that cannot be read is no reason to think for ever: only what says so
/// itself is played without.
fn is_clocked(full: &GameFull) -> bool {
    let slow = matches!(full.speed, Speed::Correspondence | Speed::Unknown);
    full.clock.is_some() || (full.days_per_turn.is_none() && !slow)
}
