//! A small Lichess on the loopback: the Bot API with a referee, sparring partners, and a page on
//! which a person plays the bot.
//!
//! It speaks the protocol from the server's end with types of its own, so that a client which
//! misreads the protocol is found out. It never reaches beyond the machine unless told to.

mod account;
mod arena;
mod blame;
mod challenge;
mod clock;
mod denial;
mod event;
mod faults;
mod hall;
mod havoc;
mod house;
mod http;
mod journal;
mod line;
mod mailbox;
mod page;
mod partner;
mod pulse;
mod rating;
mod report;
mod round;
mod schedule;
mod server;
mod soak;
mod streams;
mod terms;
mod time;
mod wire;

pub use account::Kind;
pub use arena::{ArenaPlan, ArenaPlayer, ArenaReport};
pub use blame::Blame;
pub use event::Event;
pub use faults::{
    Announcement, Blow, Channel, Fault, Faults, Havoc, Kind as FaultKind, Mess, Mix, Mood, Phase,
    Place, Plan, Reply, Script, ScriptError, Shape, Strike, kinds as fault_kinds,
};
pub use house::Rules;
pub use journal::Traffic;
pub use partner::Partner;
pub use rating::Rating;
pub use report::{GameReport, Report};
pub use schedule::Schedule;
pub use server::{ALL_SCOPES, Handle, Options, Server};
pub use soak::{Ground, SoakError, SoakOptions, SoakReport, resident_kilobytes, soak};
pub use terms::{ColorWish, Ratable, Speed, Status, Terms, TimeControl};
pub use time::{Millis, Timing};
