//! A typed client for the Lichess Bot API: calls, streams, rate limits, errors.
//!
//! It makes no decisions, knows no chess and stores nothing; reacting to an event or an error is the
//! caller's job.
//!
//! The way of a 429: `error` classifies it and reads its wait; `client` (`settle`) reports it to
//! the `scheduler`, logs it and returns the wait to the caller; `scheduler` (`limited`) pauses its
//! class of calls; `rate_limiter` holds later calls of that class back, except those of a game, for
//! which the game task decides (`EndpointClass::is_enforced`). The bot's daily limit of games
//! against bots is a 429 too, but pauses no class: `error_body` tells it apart.
//!
//! * `endpoints`: one method per call; `client`, `request`, `response`, `connect`
//! * `rate_limiter`: admits calls, by the pure `scheduler`; `endpoint_class`, `rate_window`,
//!   `pace`: limits and which calls share them; `rate_limit_log`, `call_stats`: refused and counted
//!   calls
//! * `stream`, `line_reader`: live streams; `disconnect`: why one ended; `backoff`: when to reopen it
//! * `event`, `game_event`, `challenge`, `player`, `arena`, `export`, `enums`, `ids`: wire types, which
//!   `lenient_json` reads; `warn_once`: logs unknown JSON once
//! * `lookup`: endgame tables and the opening explorer, on hosts of their own
//! * `error`, `error_body`: classes of failed calls; `token`, `user_agent`, `timing`; `fetch`: other pages
//! * `wire_log`: the raw traffic of a game, for whoever records it

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
mod lookup;
mod pace;
mod player;
mod rate_limit_log;
mod rate_limiter;
mod rate_window;
mod request;
mod response;
mod scheduler;
mod stream;
mod timing;
mod token;
mod user_agent;
mod warn_once;
mod wire_log;

pub use arena::{Arena, Arenas, EntryConditions, Team};
pub use backoff::{EventBackoff, GameBackoff, ProbeSchedule};
pub use call_stats::{CallResult, CallStats};
pub use challenge::{Challenge, ChallengeOptions, ChallengeUpdate, Challenges, TimeControl};
pub use client::{Client, ClientOptions, SetupError};
pub use connect::is_this_machine;
pub use disconnect::Disconnect;
pub use endpoint_class::EndpointClass;
pub use endpoints::{JoinOptions, OfferDraw, Reply};
pub use enums::{
    BySide, ChallengeStatus, ColorChoice, DeclineReason, Direction, Room, Side, Speed, Status,
    Variant, estimate, speed_of,
};
pub use error::Error;
pub use error_body::{ErrorBody, FieldError, RateLimit};
pub use event::{Compat, Event, GameInfo, Playing};
pub use export::ExportedGame;
pub use fetch::{FetchError, FetchedPage, HttpFetcher};
pub use game_event::{
    ChatLine, ClockSetting, Expiration, GameEvent, GameFull, GameState, OpponentGone,
};
pub use ids::{ChallengeId, GameId, UserId, is_public_id};
pub use lenient_json::{JsonMismatch, Lenient};
pub use lookup::{
    ExplorerMove, ExplorerReply, LookupServer, TableCategory, TableReply, TableReplyMove,
    fault_in_lookup_url, is_lichess,
};
pub use player::{Account, PLAY_SCOPE, Perf, Player, Presence, TokenInfo};
pub use rate_limit_log::RateLimitedCalls;
pub use scheduler::{Decision, Scheduler, Ticket};
pub use stream::{
    ChallengeStream, EventStream, GameStream, Liveness, Record, RecordStream, Timestamped,
};
pub use timing::Timing;
pub(crate) use timing::durations;
pub use token::{TOKEN_VARIABLE, Token, TokenError};
pub use user_agent::account_in_contact;
pub use wire_log::{WireKind, WireLine};
