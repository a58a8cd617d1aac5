//! Inputs and effects of the game machine.
//!
//! Data only. Every event reaches the machine as a [`GameInput`] with its time; everything to do
//! leaves it as a [`GameEffect`].

use std::time::{Duration, Instant};

use thiserror::Error;

use super::move_list::IllegalMove;
use crate::engine::{Limits, SearchResult};
use crate::lichess::{BySide, Error, GameFull, GameId, GameState, OpponentGone, Side, Status};
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
    Thought {
        request_id: RequestId,
        thought: SearchResult,
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
    Asked {
        request: GameRequest,
        answer: CallOutcome,
    },
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
    Think {
        /// An earlier search is stopped; one that pondered under this id continues instead.
        request_id: RequestId,
        limits: Limits,
    },
    /// Search the position after a reply that the opponent has not played yet. Once they play it, a
    /// [`GameEffect::Think`] with the same id follows, and the clock runs.
    Ponder {
        request_id: RequestId,
        reply: Move,
        limits: Limits,
    },
    /// Report a search's best move so far.
    TakeBest {
        request_id: RequestId,
    },
    StopThinking,
    Post {
        request_id: RequestId,
        uci: String,
        /// Offer or accept a draw with the move.
        draw: DrawOffer,
    },
    /// Make a request other than a move.
    Ask(GameRequest),
    /// Store this for later runs of the program.
    Remember(Persist),
    /// Drop the game's stream and reopen it.
    Reopen,
    /// Keep a connection ready: a move will be sent soon.
    Warm,
    /// Feed the overhead of one move to the estimator.
    Learn(Duration),
    /// Publish this to the subscribers.
    Tell(Notification),
    /// Log that something is wrong.
    Note(Anomaly),
    /// The game is over: no effect follows.
    Finish(Ending),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOffer {
    Yes,
    No,
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
    /// The opponent never made the first move, so the bot aborted the game.
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
    Standstill,
    /// A stalled game continues.
    Revived,
}

#[derive(Clone, Debug)]
pub struct MovePlayed {
    /// Number of moves before it.
    pub ply: usize,
    pub before: Position,
    pub played: Move,
    pub ours: bool,
    /// The search result, if it is the bot's move and was searched.
    pub thought: Option<SearchResult>,
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
    #[error("the server's move list shrank from {known} moves to {told}: reopening the stream")]
    Shrunk {
        /// Number of moves known.
        known: usize,
        /// Number of moves on the list.
        told: usize,
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
    NoThought,
    /// Not a game that the bot plays.
    #[error("not atomic chess from the standard position: leaving the game")]
    NotOurs,
    #[error("neither player of this game is this account")]
    NotSeated,
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
    Standstill,
}

impl Anomaly {
    /// Whether it reports the server's answer to a call.
    pub fn is_an_answer(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Limited { .. })
    }
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
            (Err(Error::Gone { body }), CallOutcome::Gone),
        ];
        for (outcome, answer) in rows {
            assert_eq!(CallOutcome::from(outcome), answer);
        }
    }
}
