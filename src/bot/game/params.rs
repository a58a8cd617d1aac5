//! What a game machine knows of its game: before the stream opens, from its first line, and from its last.
//!
//! Data only.

use std::time::Instant;

use super::policy::EvalHistory;
use crate::lichess::{GameFull, GameId, GameState, Side, Speed, UserId, Variant};
use crate::rules::Move;

/// What is known of a game before its stream opens.
#[derive(Clone, Debug)]
pub struct GameParams {
    pub game: GameId,
    pub me: UserId,
    /// The bot's colour, if the announcing event stated it.
    pub color: Option<Side>,
    /// The variant, if the announcing event stated it.
    pub variant: Variant,
    /// The state stored by earlier runs.
    pub past: ResumeState,
}

/// What happened in a game before its machine was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumeState {
    pub takebacks: u32,
    /// Draw offers made by the bot.
    pub draw_offers: u32,
    /// The evaluations when the game was last left; only of this run.
    pub eval_history: EvalHistory,
    /// When the bot first heard of the game by its own clock, if known.
    pub begun: Option<Instant>,
}

impl GameParams {
    /// The bot's side: by its account, else as announced.
    pub(super) fn side_in(&self, full: &GameFull) -> Option<Side> {
        let is_me = |side| full.player(side).id.as_ref() == Some(&self.me);
        match (is_me(Side::White), is_me(Side::Black)) {
            (true, false) => Some(Side::White),
            (false, true) => Some(Side::Black),
            _ => self.color,
        }
    }
}

/// A sent move that no state shows yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedMove {
    /// The moves before it.
    pub after: Vec<Move>,
    pub played: Move,
}

/// The constant facts from the stream's first line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that the server states"
)]
pub struct GameSetup {
    pub us: Side,
    /// The bot's displayed name.
    pub me: String,
    /// The opponent's displayed name.
    pub opponent: String,
    /// None for anonymous players and the server's engine.
    pub opponent_id: Option<UserId>,
    /// Includes the server's engine.
    pub opponent_is_bot: bool,
    /// Whether the opponent is the server's engine.
    pub opponent_is_ai: bool,
    pub rated: bool,
    /// Whether the game has a clock; otherwise it is correspondence or unlimited.
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
    /// The setup in `full`, seen from our side.
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

/// Whether a clock runs. An unreadable clock counts as one, or the bot might think for ever: only
/// games that state otherwise are played without.
fn is_clocked(full: &GameFull) -> bool {
    let slow = matches!(full.speed, Speed::Correspondence | Speed::Unknown);
    full.clock.is_some() || (full.days_per_turn.is_none() && !slow)
}
