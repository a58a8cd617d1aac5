//! A small Lichess on the loopback: the Bot API with a referee, sparring partners, and a page on which
//! a person plays the bot.
//!
//! It implements the server's end of the protocol with types of its own, so a client that misreads the
//! protocol is caught. It listens beyond the machine only if configured to.
//!
//! The server:
//! * `server`: started with options, controlled by a handle; `shared`: its state behind one lock,
//!   its timers
//! * `connection`: sockets that faults can cut; `streams`, `outbox`: open streams and their waiting
//!   lines
//! * `http`: the Bot API; `wire`: JSON out; `api_error`: refused requests; `event`: what
//!   subscribers learn
//!
//! Plain data and rules:
//! * `state`: the server as plain data; `account`: accounts and tokens; `challenge`; `rating`:
//!   Glicko
//! * `game`: the referee; `clock`: the chess clock; `game_settings`: the terms of a game; `time`:
//!   milliseconds
//!
//! Opponents and tests of the bot:
//! * `sparring_bot`: opponents; `page`: play in a browser; `arena`: tournaments
//! * `schedule`: games against sparring bots; `report`: their result
//! * `chaos`: fault injection and soak tests; `attribution`, `traffic_log`: which side caused a bad
//!   end; `stall_detector`: stalls of the machine
//! * `replay`: the server's side of a recorded game

mod account;
mod api_error;
mod arena;
mod attribution;
mod challenge;
mod chaos;
mod clock;
mod connection;
mod event;
mod game;
mod game_settings;
mod http;
mod outbox;
mod page;
mod rating;
mod replay;
mod report;
mod schedule;
mod server;
mod shared;
mod sparring_bot;
mod stall_detector;
mod state;
mod streams;
mod time;
mod traffic_log;
mod wire;

pub use account::AccountKind;
pub use arena::{ArenaPlan, ArenaPlayer, ArenaReport};
pub use attribution::Attribution;
pub use chaos::soak::{SoakError, SoakOptions, SoakReport, SoakTarget, resident_kilobytes, soak};
pub use chaos::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultMix, FaultPlan, FaultReply,
    FaultScript, Faults, GamePhase, Injection, KindEntry, OpponentBehavior, ScriptError,
    ServerFault, StreamFault, Trigger, kinds as fault_kinds,
};
pub use event::Event;
pub use game_settings::{ColorWish, GameSettings, RatedCheck, Speed, Status, TimeControl};
pub use rating::Rating;
pub use replay::{REPLAY_TOKEN, Recording, Replay, ReplayReport};
pub use report::{GameReport, ScheduleReport};
pub use schedule::Schedule;
pub use server::{ALL_SCOPES, Options, Server, ServerHandle};
pub use sparring_bot::Partner;
pub use state::ServerRules;
pub use time::{Millis, Timing};
pub use traffic_log::Traffic;
