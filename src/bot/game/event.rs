//! Inputs and effects of the game machine.
//!
//! Data only. Everything that happens reaches the machine as a [`GameInput`] with its time; everything to
//! be done leaves it as a [`GameEffect`].

use std::time::{Duration, Instant};

use thiserror::Error;

use super::move_list::IllegalMove;
use crate::engine::{Limits, SearchResult};
use crate::lichess::{BySide, GameFull, GameId, GameState, OpponentGone, Side, Status};
use crate::rules::{Move, Position};

/// The number of a search or of a sent move. An answer with an old number is ignored.
pub type RequestId = u64;

#[derive(Clone, Debug)]
pub enum GameInput {
    /// The first line of an opened game stream.
    Full {
        full: Box<GameFull>,
        /// When the opening was asked for: what the server knew before may be missing.
        opened: Instant,
        /// When the line arrived.
        at: Instant,
    },
    /// A later line of the stream.
    State { state: Box<GameState>, at: Instant },
    /// The opponent left or came back.
    Gone(OpponentGone),
    /// The server refuses to open the game's stream: no such game, not ours, or not for bots.
    NoStream,
    /// The event stream says that the game has ended.
    GameFinish,
    /// A search has ended.
    Thought {
        request_id: RequestId,
        /// What came of it.
        thought: SearchResult,
    },
    /// The answer to [`GameEffect::TakeBest`].
    BestSoFar {
        request_id: RequestId,
        /// The best move it knows, if any.
        best: Option<Move>,
    },
    /// What became of a sent move.
    Posted {
        request_id: RequestId,
        /// What the server said.
        answer: CallOutcome,
    },
    /// What became of another request.
    Asked {
        request: GameRequest,
        /// What the server said.
        answer: CallOutcome,
    },
    /// The moment of [`GameMachine::next_timeout`](super::GameMachine::next_timeout) has come.
    Tick,
}

/// What a call to the server brought, as far as the game cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// "ok", which proves little.
    Done,
    /// Nothing, or nothing meant for us: time-out, reset, 5xx, a page of HTML.
    Lost,
    Limited {
        /// The wait advised, if any.
        wait: Option<Duration>,
    },
    Refused {
        status: u16,
        /// What the server said, for the log and for one well-known text.
        text: String,
    },
    /// There is no such thing.
    Gone,
}

/// Something to be done, in the order given.
#[derive(Clone, Debug)]
pub enum GameEffect {
    /// Search the game state machine's position.
    Think {
        /// The number of this search; an earlier one is stopped. One that pondered under this
        /// number continues instead.
        request_id: RequestId,
        limits: Limits,
    },
    /// Search the position after a reply that the opponent has not played yet. Once it has, a
    /// [`GameEffect::Think`] of the same number follows, and the clock runs.
    Ponder {
        /// The number of this search.
        request_id: RequestId,
        reply: Move,
        limits: Limits,
    },
    /// Report the best move so far of a search.
    TakeBest { request_id: RequestId },
    /// No search is wanted any more.
    StopThinking,
    Post {
        /// The number of this sending.
        request_id: RequestId,
        /// The move in UCI.
        uci: String,
        /// Offer or agree to a draw with it.
        draw: DrawOffer,
    },
    /// Ask for something else.
    Ask(GameRequest),
    /// Remember this beyond the game state machine, and beyond the program's end.
    Remember(Persist),
    /// Drop the game's stream and open it anew.
    Reopen,
    /// Keep a connection ready: a move will be sent soon.
    Warm,
    /// Take in what a move of ours cost beside our thinking.
    Learn(Duration),
    /// Tell those who listen.
    Tell(Notification),
    /// Write down that something is not as it should be.
    Note(Anomaly),
    /// The game is over: nothing more will come.
    Finish(Ending),
}

/// Whether a move carries a draw offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOffer {
    Yes,
    No,
}

/// A request other than a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameRequest {
    Abort,
    Resign,
    /// Agree to the opponent's draw.
    AcceptDraw,
    /// Decline the opponent's draw.
    DeclineDraw,
    /// Grant the opponent's takeback.
    AcceptTakeback,
    /// Decline the opponent's takeback.
    DeclineTakeback,
    /// Claim the win over an absent opponent.
    ClaimVictory,
    /// Claim a draw with an absent opponent, where we cannot win.
    ClaimDraw,
}

impl GameRequest {
    /// Whether it only answers a question of the opponent's, and nothing is lost without.
    pub fn is_courtesy(self) -> bool {
        matches!(
            self,
            Self::DeclineDraw | Self::AcceptTakeback | Self::DeclineTakeback
        )
    }
}

/// Something that must be known after a restart too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// A takeback was granted in this game.
    TakebackGranted {
        /// So many in all.
        so_far: u32,
    },
    /// We offered a draw in this game.
    DrawOffered {
        /// So many times in all.
        so_far: u32,
    },
    /// The opponent never made the first move, and the game was aborted for it.
    NoShow,
}

/// What those who listen are told.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The game was taken up.
    Joined,
    /// A move stands on the server's list.
    Moved(Box<MovePlayed>),
    /// Nothing happens in this game any more: it needs no slot.
    Standstill,
    /// Something happens again after a standstill.
    Revived,
}

/// A move that was made.
#[derive(Clone, Debug)]
pub struct MovePlayed {
    /// How many moves were made before it.
    pub ply: usize,
    /// The position before it.
    pub before: Position,
    pub played: Move,
    /// Whether it is ours.
    pub ours: bool,
    /// What the engine thought of it, where it is ours and thought about.
    pub thought: Option<SearchResult>,
    /// Both clocks after it, as the server states them.
    pub clocks: BySide<Option<Duration>>,
}

/// How a game ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub game: GameId,
    /// The status; none when the server no longer knows the game.
    pub status: Option<Status>,
    pub winner: Option<Side>,
    pub us: Option<Side>,
    pub opponent: String,
    /// How many moves were made.
    pub plies: usize,
    pub fen: String,
}

impl Ending {
    /// The result as a scoresheet has it; `*` where there is none.
    pub fn result(&self) -> &'static str {
        match (self.status, self.winner) {
            (_, Some(Side::White)) => "1-0",
            (_, Some(Side::Black)) => "0-1",
            (Some(status), None) if status.has_result(None) => "1/2-1/2",
            _ => "*",
        }
    }
}

/// Something that should not be. The game continues.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Anomaly {
    /// The move list cannot be replayed.
    #[error("the server's move list cannot be replayed: {0}")]
    Foreign(#[from] IllegalMove),
    /// A list lacks moves that an earlier one had, and we granted no takeback.
    #[error("the server's move list shrank from {known} moves to {told}: reopening the stream")]
    Shrunk {
        /// How many moves we know of.
        known: usize,
        /// How many the list has.
        told: usize,
    },
    /// Another move of ours than the one we sent stands on the list.
    #[error("the server shows {theirs} where {ours} was sent")]
    Overruled {
        ours: Move,
        /// What the list has.
        theirs: Move,
    },
    /// A sent move was refused.
    #[error("the server refused {uci} with status {status}: {text}")]
    Refused {
        uci: String,
        status: u16,
        text: String,
    },
    /// A move was answered "ok", and no state shows it.
    #[error("{uci} was accepted but is not in the move list")]
    Unshown { uci: String },
    /// A sent move was refused for the rate.
    #[error("rate limited with {uci} still to send")]
    Limited { uci: String },
    /// The search did not answer in time.
    #[error("search late: playing the best move so far")]
    Late,
    /// The search came up with no playable move.
    #[error("search found no playable move: playing a fallback")]
    NoThought,
    /// The game is not one that this program plays.
    #[error("not atomic chess from the standard position: leaving the game")]
    NotOurs,
    /// Neither player is us.
    #[error("neither player of this game is this account")]
    NotSeated,
    /// The server knows no such game any more.
    #[error("the server no longer knows this game")]
    Vanished,
    /// The clock went down by more than the time gone by.
    #[error("the clock lost {gone:?} more than the time that passed")]
    ClockFell {
        /// How much of it.
        gone: Duration,
    },
    /// Nothing was heard although something must have happened.
    #[error("no news for too long: reopening the stream")]
    Stale,
    /// The game goes neither on nor over.
    #[error("the game can neither continue nor end: keeping its task, freeing its slot")]
    Standstill,
}

impl Anomaly {
    /// Whether it is what the server answered to a call.
    pub fn is_an_answer(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Limited { .. })
    }
}
