//! The Bot API of Lichess, typed: calls, streams, errors.
//!
//! This room speaks and listens. It decides nothing, knows no chess and keeps nothing on disk; what
//! to do about an event or an error is the caller's affair.

mod arena;
mod backoff;
mod call_stats;
mod challenge;
mod client;
mod connect;
mod disconnect;
mod endpoint_class;
mod endpoints;
mod enums;
mod error;
mod error_body;
mod event;
mod export;
mod fetch;
mod game_event;
mod ids;
mod lenient_json;
mod line_reader;
mod player;
mod rate_limit_log;
mod rate_limiter;
mod request;
mod response;
mod scheduler;
mod stream;
mod timing;
mod token;
mod tournament_endpoints;
mod user_agent;
mod warn_once;

pub use arena::{Arena, Arenas, EntryConditions};
pub use backoff::{EventBackoff, GameBackoff, OpeningBudget, PollFallback};
pub use call_stats::{CallResult, CallStats};
pub use challenge::{Challenge, ChallengeOptions, ChallengeUpdate, Challenges, TimeControl};
pub use client::{Client, ClientOptions, SetupError};
pub use disconnect::Disconnect;
pub use endpoint_class::EndpointClass;
pub use endpoints::{OfferDraw, Reply};
pub use enums::{
    BySide, ChallengeStatus, ColorChoice, DeclineReason, Direction, Room, Side, Speed, Status,
    Variant,
};
pub use error::Error;
pub use error_body::{ErrorBody, FieldError, RateLimit};
pub use event::{Compat, Event, GameInfo, Playing};
pub use export::ExportedGame;
pub use fetch::{FetchError, FetchedPage, HttpFetcher};
pub use game_event::{
    ChatLine, ClockSetting, Expiration, GameEvent, GameFull, GameState, OpponentGone,
};
pub use ids::{ChallengeId, GameId, UserId};
pub use lenient_json::{JsonMismatch, Lenient};
pub use player::{Account, Perf, Player, Presence, TokenInfo};
pub use rate_limit_log::RateLimitedCalls;
pub use scheduler::{Decision, Scheduler, Ticket};
pub use stream::{ChallengeStream, EventStream, GameStream, Liveness, Timestamped};
pub use timing::Timing;
pub use token::{TOKEN_VARIABLE, Token, TokenError};
pub use tournament_endpoints::JoinOptions;
