//! Plays: which challenges are taken, one task a game, every move that is owed.
//!
//! A functional core in an imperative shell. What a game or a challenge asks for is decided by plain
//! structs with plain functions, which know no network, no clock and no engine; the tasks feed them
//! and carry out what they say.
//!
//! The core:
//! * `table`: one game, from the lines of its stream to what is to be done
//! * `lobby`: challenges and seats; `challenge`: the verdict on one challenge; `lists`: who is
//!   blocked, allowed, welcome
//! * `clock`: the server's clock; `overhead`: what a move costs on the way to the server; `allot`:
//!   from both to the limits of a search
//! * `settings`: the operator's rules and the bot's own waiting times
//! * `chat`: what is said in a game, but for its `lane`, the task that says it
//! * `closing`: how the bot ends; `control` and `status`: what an operator may tell and ask it
//! * `ledger`: what may be spent in a day; `guard`: when rated games pause
//! * `matchmaking`: games that the bot looks for itself; `arena`: arenas that it joins, but for the
//!   `steward`, who makes the calls
//! * `missed`: games that ended while nobody looked, but for the `seeker`, who looks them up
//!
//! Between core and shell: `memory`, what the bot knows beyond one game, kept in the store.
//!
//! The shell:
//! * `run`: the bot from its start; `porter`: the task at the door; `errands`: the calls it makes
//! * `doorbell`: the account's event stream; `health`: whether token and account are still good
//! * `player`: the task of one game; `feed`: that game's stream; `voice`: what the player says
//! * `orders`: an operator's commands carried out, `intervention` those about single games and
//!   people, `blocked` whom they block; `alarm`: what an operator should look at;
//!   `chronicle`: the full record for those who read; `minutes`: what a player writes into it;
//!   `roll`: the games that run; `shelf`: what was thought of those that were left; `upkeep`: alarms about what is remembered
//! * `limited`: calls refused for the rate, written down
//! * `scribe`: those who work for the archive, beside all this
//! * `answer`: from the outcome of a call to what the core cares about
//! * `report`: what those who listen are told

pub mod arena;
pub mod chat;
pub mod matchmaking;
pub mod table;

mod alarm;
mod allot;
mod answer;
mod blocked;
mod challenge;
mod chronicle;
mod clock;
mod closing;
mod control;
mod doorbell;
mod errands;
mod feed;
mod guard;
mod health;
mod intervention;
mod ledger;
mod limited;
mod lists;
mod lobby;
mod memory;
mod minutes;
mod missed;
mod orders;
mod overhead;
mod player;
mod porter;
mod report;
mod revival;
mod roll;
mod run;
mod scribe;
mod settings;
mod shelf;
mod sole;
mod status;
mod upkeep;
mod voice;

pub use alarm::{AlarmKind, Alarms};
pub use allot::{Allotment, allot, leisure, ponder};
pub use challenge::{Decision, Objection, Openness, Past, Rule, Standing, Verdict, consider};
pub use chronicle::{Changes, Chronicle, Clocks, LiveGame, ThinkingRecord};
pub use clock::{ClockKind, Reading};
pub use control::{Command, Commands, Control, Order, Reply, Unheard, Wish, channel};
pub use guard::{Guard, GuardNews, GuardRules, Tripped};
pub use health::{Checkup, Finding, findings};
pub use ledger::{Budget, Forecast, Ledger, Permission, Rules as LedgerRules, Target, Why};
pub use lists::{Keeper, ListSources, ListState, Lists, NotAList, read_names};
pub use lobby::{Acceptance, Errand, Kind, Lobby, News, Refusal};
pub use memory::{
    Call, Clock, KnownGame, Memory, MemoryRules, OpenGame, OpponentRecord, Started, Writing,
};
pub use overhead::{Lag, Meter, Overhead, Sending};
pub use report::{BotEvent, Listeners};
pub(crate) use revival::revived;
pub use roll::Roll;
pub use run::{BotError, BotOptions, Shutdown, run, run_commanded};
pub use scribe::{ArchiveRules, ReviewRules, Scribe, UpkeepRules};
pub use settings::{Pace, SearchLimits, Settings};
pub use status::{
    AlarmLine, Game, GameStreamStatus, Ledger as LedgerStatus, Matchmaking as MatchmakingStatus,
    NameList, Seats, Sources as SourcesStatus, State, Status, Stream, TableFiles,
};
