//! The Bot API of Lichess, typed: calls, streams, errors.
//!
//! This room speaks and listens. It decides nothing, knows no chess and keeps nothing on disk; what
//! to do about an event or an error is the caller's affair.

mod admission;
mod agent;
mod answer;
mod arena;
mod backoff;
mod calls;
mod challenge;
mod client;
mod clubs;
mod complaints;
mod connect;
mod error;
mod error_body;
mod event;
mod export;
mod game_event;
mod governor;
mod ids;
mod limited;
mod lines;
mod loss;
mod page;
mod player;
mod reading;
mod request;
mod scope;
mod stream;
mod tally;
mod timing;
mod token;
mod words;

pub use arena::{Arena, Arenas, Entry};
pub use backoff::{EventReopening, GameReopening, Knocking, OpeningBudget};
pub use calls::{OfferDraw, Reply};
pub use challenge::{Challenge, ChallengeOptions, ChallengeUpdate, Challenges, TimeControl};
pub use client::{Client, ClientOptions, SetupError};
pub use clubs::Entrance;
pub use error::Error;
pub use error_body::{ErrorBody, FieldError, RateLimit};
pub use event::{Compat, Event, GameInfo, Playing};
pub use export::ExportedGame;
pub use game_event::{
    ChatLine, ClockSetting, Expiration, GameEvent, GameFull, GameState, OpponentGone,
};
pub use governor::{Governor, Ticket, Turn};
pub use ids::{ChallengeId, GameId, UserId};
pub use limited::Limited;
pub use loss::StreamLoss;
pub use page::{Page, PageError, Pages};
pub use player::{Account, Perf, Player, Presence, TokenInfo};
pub use reading::{Misfit, Read};
pub use scope::Scope;
pub use stream::{Arrival, ChallengeStream, EventStream, GameStream, Pulse};
pub use tally::{Outcome, Tally};
pub use timing::Timing;
pub use token::{TOKEN_VARIABLE, Token, TokenError};
pub use words::{
    BySide, ChallengeStatus, ColorChoice, DeclineReason, Direction, Room, Side, Speed, Status,
    Variant,
};
