//! The Bot API of Lichess, typed: calls, streams, errors.
//!
//! This room speaks and listens. It decides nothing, knows no chess and keeps nothing on disk; what
//! to do about an event or an error is the caller's affair.

mod rate_limiter;
mod user_agent;
mod response;
mod arena;
mod backoff;
mod endpoints;
mod challenge;
mod client;
mod tournament_endpoints;
mod warn_once;
mod connect;
mod error;
mod error_body;
mod event;
mod export;
mod game_event;
mod scheduler;
mod ids;
mod rate_limit_log;
mod line_reader;
mod disconnect;
mod fetch;
mod player;
mod lenient_json;
mod request;
mod endpoint_class;
mod stream;
mod call_stats;
mod timing;
mod token;
mod enums;

pub use arena::{Arena, Arenas, EntryConditions};
pub use backoff::{EventBackoff, GameBackoff, PollFallback, OpeningBudget};
pub use endpoints::{OfferDraw, Reply};
pub use challenge::{Challenge, ChallengeOptions, ChallengeUpdate, Challenges, TimeControl};
pub use client::{Client, ClientOptions, SetupError};
pub use tournament_endpoints::JoinOptions;
pub use error::Error;
pub use error_body::{ErrorBody, FieldError, RateLimit};
pub use event::{Compat, Event, GameInfo, Playing};
pub use export::ExportedGame;
pub use game_event::{
    ChatLine, ClockSetting, Expiration, GameEvent, GameFull, GameState, OpponentGone,
};
pub use scheduler::{Scheduler, Ticket, Decision};
pub use ids::{ChallengeId, GameId, UserId};
pub use rate_limit_log::RateLimitedCalls;
pub use disconnect::Disconnect;
pub use fetch::{FetchedPage, FetchError, HttpFetcher};
pub use player::{Account, Perf, Player, Presence, TokenInfo};
pub use lenient_json::{JsonMismatch, Lenient};
pub use endpoint_class::EndpointClass;
pub use stream::{Timestamped, ChallengeStream, EventStream, GameStream, Liveness};
pub use call_stats::{CallResult, CallStats};
pub use timing::Timing;
pub use token::{TOKEN_VARIABLE, Token, TokenError};
pub use enums::{
    BySide, ChallengeStatus, ColorChoice, DeclineReason, Direction, Room, Side, Speed, Status,
    Variant,
};
