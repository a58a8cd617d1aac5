//! A small Lichess on the loopback: the Bot API with a referee, sparring partners, and a page on
//! which a person plays the bot.
//!
//! It speaks the protocol from the server's end with types of its own, so that a client which
//! misreads the protocol is found out. It never reaches beyond the machine unless told to.

mod account;
mod arena;
mod attribution;
mod challenge;
mod clock;
mod api_error;
mod event;
mod chaos;
mod shared;
mod injector;
mod state;
mod http;
mod traffic_log;
mod connection;
mod outbox;
mod page;
mod sparring_bot;
mod stall_detector;
mod rating;
mod report;
mod game;
mod schedule;
mod server;
mod soak;
mod streams;
mod game_settings;
mod time;
mod wire;

pub use account::AccountKind;
pub use arena::{ArenaPlan, ArenaPlayer, ArenaReport};
pub use attribution::Attribution;
pub use event::Event;
pub use chaos::{
    Announcement, Injection, Channel, Fault, Faults, ServerFault, FaultKind as FaultKind, StreamFault, FaultMix, OpponentBehavior, GamePhase,
    Endpoint, FaultPlan, FaultReply, FaultScript, ScriptError, BodyShape, Trigger, kinds as fault_kinds,
};
pub use state::ServerRules;
pub use traffic_log::Traffic;
pub use sparring_bot::Partner;
pub use rating::Rating;
pub use report::{GameReport, ScheduleReport};
pub use schedule::Schedule;
pub use server::{ALL_SCOPES, ServerHandle, Options, Server};
pub use soak::{SoakTarget, SoakError, SoakOptions, SoakReport, resident_kilobytes, soak};
pub use game_settings::{ColorWish, RatedCheck, Speed, Status, GameSettings, TimeControl};
pub use time::{Millis, Timing};
