//! Inputs and effects of the game machine, and what it knows of its game: before the stream opens, from
//! its first line, and from its last.
//!
//! Data only. Every event reaches the machine as a [`GameInput`] with its time; everything to do
//! leaves it as a [`GameEffect`].

use std::time::{Duration, Instant};

use thiserror::Error;

use super::move_list::IllegalMove;
use super::policy::EvalHistory;
use crate::engine::{Limits, SearchResult};
use crate::lichess::{
    BySide, Error, GameFull, GameId, GameState, OfferDraw, OpponentGone, Side, Speed, Status,
    UserId, Variant,
};
use crate::rules::{Move, Position};

/// Identifies a search or a sent move; answers with an old id are ignored.
pub type RequestId = u64;

#[derive(Clone, Debug)]
pub enum GameInput {
    /// The first line of an opened game stream.
    Full {
        full: Box<GameFull>,
        /// When the opening was requested: the server's answer may miss anything later.
        opened: Instant,
        at: Instant,
    },
    /// A later line of the stream.
    State { state: Box<GameState>, at: Instant },
    /// The opponent left or came back.
    Gone(OpponentGone),
    /// The server refuses to open the stream: no such game, not the bot's, or not for bots.
    NoStream,
    /// The event stream reports the end of the game.
    GameFinish,
    SearchDone {
        request_id: RequestId,
        result: SearchResult,
    },
    /// The answer to [`GameEffect::TakeBest`].
    BestSoFar {
        request_id: RequestId,
        /// The best move so far, if any.
        best: Option<Move>,
    },
    /// The outcome of sending a move.
    Posted {
        request_id: RequestId,
        answer: CallOutcome,
    },
    /// The outcome of another request.
    RequestDone {
        request: GameRequest,
        answer: CallOutcome,
    },
    /// The opponent asks for more time for its first move.
    WaitLonger,
    /// The time of [`GameMachine::next_timeout`](super::GameMachine::next_timeout) has come.
    Tick,
}

/// The outcome of a call, as far as the game cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// "ok", which proves little.
    Done,
    /// No answer, or not from the API: timeout, reset, 5xx, an HTML page.
    Lost,
    Limited {
        /// The wait advised by the server, if any.
        wait: Option<Duration>,
    },
    Refused {
        status: u16,
        /// The server's reply, for the log and to recognize one known text.
        text: String,
    },
    /// No such game or request.
    Gone,
}

impl From<Result<(), Error>> for CallOutcome {
    fn from(outcome: Result<(), Error>) -> Self {
        match outcome {
            Ok(()) => Self::Done,
            // A response outside this protocol says nothing about the request.
            Err(Error::Transient { .. } | Error::Protocol { .. }) => Self::Lost,
            Err(Error::RateLimited { wait, .. }) => Self::Limited { wait },
            Err(Error::Refused { status, body }) => Self::Refused {
                status,
                text: body.message,
            },
            Err(Error::Gone { .. }) => Self::Gone,
        }
    }
}

/// Effects of an input, run in the given order.
#[derive(Clone, Debug)]
pub enum GameEffect {
    /// Search the machine's position.
    Search {
        /// An earlier search is stopped; one that pondered under this id continues instead.
        request_id: RequestId,
        limits: Limits,
    },
    /// Search the position after a reply that the opponent has not played yet. Once they play it, a
    /// [`GameEffect::Search`] with the same id follows, and the clock runs.
    Ponder {
        request_id: RequestId,
        reply: Move,
        limits: Limits,
    },
    /// Report a search's best move so far.
    TakeBest {
        request_id: RequestId,
    },
    StopSearch,
    Post {
        request_id: RequestId,
        uci: String,
        /// Offer or accept a draw with the move.
        draw: OfferDraw,
    },
    /// Make a request other than a move.
    Request(GameRequest),
    /// Store this for later runs of the program.
    Persist(Persist),
    /// Drop the game's stream and reopen it.
    Reopen,
    /// Keep a connection ready: a move will be sent soon.
    Warm,
    /// Feed the overhead of one move to the estimator.
    LearnOverhead(Duration),
    /// Publish this to the subscribers.
    Notify(Notification),
    /// Log that something is wrong.
    Report(Anomaly),
    /// Log why experience keeps the bot from a move.
    Note(String),
    /// The game is over: no effect follows.
    Finish(Ending),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameRequest {
    Abort,
    Resign,
    /// Accept the opponent's draw offer.
    AcceptDraw,
    /// Decline the opponent's draw offer.
    DeclineDraw,
    /// Grant the opponent's takeback.
    AcceptTakeback,
    DeclineTakeback,
    /// Claim the win over an absent opponent.
    ClaimVictory,
    /// Claim a draw with an absent opponent where the bot cannot win.
    ClaimDraw,
}

impl GameRequest {
    /// Whether it only answers an opponent's question, so that losing it does no harm.
    pub fn is_courtesy(self) -> bool {
        matches!(
            self,
            Self::DeclineDraw | Self::AcceptTakeback | Self::DeclineTakeback
        )
    }
}

/// A fact that must survive a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// The bot granted a takeback.
    TakebackGranted {
        /// Number granted in total.
        so_far: u32,
    },
    /// The bot offered a draw.
    DrawOffered {
        /// Number of offers in total.
        so_far: u32,
    },
    /// The game was aborted while the opponent owed the first move.
    NoShow,
}

/// Published to the subscribers of the event bus.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The bot joined the game.
    Joined,
    /// A move is on the server's list.
    Moved(Box<MovePlayed>),
    /// The game is stalled: it needs no slot.
    Stalled,
    /// A stalled game continues.
    Moving,
}

#[derive(Clone, Debug)]
pub struct MovePlayed {
    /// Number of moves before it.
    pub ply: usize,
    pub before: Position,
    pub played: Move,
    pub ours: bool,
    /// The search result, if it is the bot's move and was searched.
    pub result: Option<SearchResult>,
    /// Both clocks after it, as the server states them.
    pub clocks: BySide<Option<Duration>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub game: GameId,
    /// None if the server no longer knows the game.
    pub status: Option<Status>,
    pub winner: Option<Side>,
    pub us: Option<Side>,
    pub opponent: String,
    /// Number of moves made.
    pub plies: usize,
    pub fen: String,
}

impl Ending {
    /// The result as written on a score sheet; `*` if there is none.
    pub fn result(&self) -> &'static str {
        match (self.status, self.winner) {
            (_, Some(Side::White)) => "1-0",
            (_, Some(Side::Black)) => "0-1",
            (Some(status), None) if status.has_result(None) => "1/2-1/2",
            _ => "*",
        }
    }
}

/// An unexpected condition. The game continues.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Anomaly {
    #[error("the server's move list cannot be replayed: {0}")]
    Foreign(#[from] IllegalMove),
    /// The list lacks known moves although the bot granted no takeback.
    #[error("the server's move list shrank from {known} moves to {listed}: reopening the stream")]
    Shrunk {
        /// Number of moves known.
        known: usize,
        /// Number of moves on the list.
        listed: usize,
    },
    /// The list has another move of the bot than the one it sent.
    #[error("the server shows {theirs} where {ours} was sent")]
    Overruled {
        ours: Move,
        /// The move on the list.
        theirs: Move,
    },
    #[error("the server refused {uci} with status {status}: {text}")]
    Refused {
        uci: String,
        status: u16,
        text: String,
    },
    /// No state shows a move that the server answered with "ok".
    #[error("{uci} was accepted but is not in the move list")]
    Unshown { uci: String },
    /// The server refused a move because of the rate.
    #[error("rate limited with {uci} still to send")]
    Limited { uci: String },
    #[error("search late: playing the best move so far")]
    Late,
    #[error("search found no playable move: playing a fallback")]
    NoSearchResult,
    /// Not a game that the bot plays.
    #[error("not atomic chess from the standard position: leaving the game")]
    NotOurs,
    #[error("neither player of this game is this account")]
    NotPlaying,
    #[error("the server no longer knows this game")]
    Vanished,
    /// The clock fell by more than the time that passed.
    #[error("the clock lost {gone:?} more than the time that passed")]
    ClockFell {
        /// How much more than the time that passed.
        gone: Duration,
    },
    /// No line came although something must have happened.
    #[error("no news for too long: reopening the stream")]
    Stale,
    #[error("the game can neither continue nor end: keeping its task, freeing its slot")]
    Stalled,
}

impl Anomaly {
    /// Whether it reports the server's answer to a call.
    pub fn is_an_answer(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Limited { .. })
    }
}

/// The facts about a game before its stream opens.
#[derive(Clone, Debug)]
pub struct GameParams {
    pub game: GameId,
    pub me: UserId,
    /// The bot's colour, if the announcing event stated it.
    pub color: Option<Side>,
    /// The variant, if the announcing event stated it.
    pub variant: Variant,
    /// Whether the announcing event called it a correspondence game.
    pub correspondence: bool,
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
    /// When the bot first learned of the game, by its own clock, if known.
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
    /// By how many points our rating is above the opponent's, where both are known.
    pub rating_lead: Option<i32>,
    pub rated: bool,
    /// Whether the game has a clock; otherwise it is correspondence or unlimited.
    pub clocked: bool,
    /// Whether it belongs to an arena.
    pub arena: bool,
}

/// The last credible state.
#[derive(Clone, Debug)]
pub(super) struct LastState {
    pub(super) state: GameState,
    /// When it arrived, or when the opening that brought it was requested.
    pub(super) at: Instant,
    /// Whether it came with an opening of the stream.
    pub(super) opening: bool,
}

/// Points of rating for one centipawn of contempt.
const RATING_PER_CONTEMPT: i32 = 20;
/// The most contempt, in centipawns: for a lead of 800 points, and half of it the other way.
const MAX_CONTEMPT: i32 = 40;

/// Our rating minus the opponent's.
fn rating_lead(full: &GameFull, us: Side) -> Option<i32> {
    let theirs = full.player(us.other()).rating?;
    Some(full.player(us).rating?.saturating_sub(theirs))
}

impl GameSetup {
    /// By how many centipawns a draw is worth less than nothing: a draw with a much weaker opponent
    /// costs rating, one with a stronger opponent wins some.
    pub fn contempt(&self) -> i32 {
        let lead = self.rating_lead.unwrap_or(0);
        (lead / RATING_PER_CONTEMPT).clamp(-MAX_CONTEMPT / 2, MAX_CONTEMPT)
    }

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
            rating_lead: rating_lead(full, us),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lichess::ErrorBody;

    #[test]
    fn every_class_of_error_has_its_outcome() {
        let body = Box::new(ErrorBody {
            message: "Not your turn".into(),
            ..ErrorBody::default()
        });
        let wait = Some(Duration::from_secs(3));
        let reason = String::new();
        let rows = [
            (Ok(()), CallOutcome::Done),
            (
                Err(Error::Transient {
                    reached: true,
                    status: Some(502),
                    reason: reason.clone(),
                }),
                CallOutcome::Lost,
            ),
            (Err(Error::Protocol { reason }), CallOutcome::Lost),
            (
                Err(Error::RateLimited {
                    wait,
                    body: body.clone(),
                }),
                CallOutcome::Limited { wait },
            ),
            (
                Err(Error::Refused {
                    status: 400,
                    body: body.clone(),
                }),
                CallOutcome::Refused {
                    status: 400,
                    text: "Not your turn".into(),
                },
            ),
            (Err(Error::Gone { status: 404, body }), CallOutcome::Gone),
        ];
        for (outcome, answer) in rows {
            assert_eq!(CallOutcome::from(outcome), answer);
        }
    }
}
