//! Plays: which challenges are taken, one task a game, every move that is owed.
//!
//! A functional core in an imperative shell. What a game or a challenge asks for is decided by plain
//! structs with plain functions, which know no network, no clock and no engine; the tasks feed them
//! and carry out what they say.
//!
//! The core:
//! * `table`: one game, from the lines of its stream to what is to be done
//! * `account`: challenges and slots; `challenge`: the verdict on one challenge; `lists`: who is
//!   blocked, allowed, welcome
//! * `clock`: the server's clock; `overhead`: what a move costs on the way to the server; `allot`:
//!   from both to the limits of a search
//! * `settings`: the operator's rules and the bot's own waiting times
//! * `chat`: what is said in a game, but for its `chat_queue`, the task that says it
//! * `shutdown`: how the bot ends; `control` and `status`: what an operator may tell and ask it
//! * `quota`: what may be spent in a day; `guard`: when rated games pause
//! * `matchmaking`: games that the bot looks for itself; `arena`: arenas that it joins, but for the
//!   `steward`, who makes the calls
//! * `missed`: games that ended while no one looked, but for the `seeker`, who looks them up
//!
//! Between core and shell: `state`, what the bot knows beyond one game, kept in the store.
//!
//! The shell:
//! * `run`: the bot from its start; `event_loop`: the task at the door; `api_queue`: the calls it makes
//! * `account_stream`: the account's event stream; `health`: whether token and account are still good
//! * `player`: the task of one game; `feed`: that game's stream; `voice`: what the player says
//! * `orders`: an operator's commands carried out, `intervention` those about single games and
//!   people, `blocked` whom they block; `alarm`: what an operator should look at;
//!   `event_log`: the full record for those who read; `minutes`: what a player writes into it;
//!   `registry`: the games that run; `shelf`: what was thought of those that were left; `upkeep`: alarms about what is remembered
//! * `limited`: calls refused for the rate, written down
//! * `archiver`: those who work for the archive, beside all this
//! * `answer`: from the outcome of a call to what the core cares about
//! * `report`: what those who listen are told

pub mod arena;
pub mod chat;
pub mod game;
pub mod matchmaking;

mod account;
mod account_check;
mod alerts;
mod api_queue;
mod archiver;
mod backfill;
mod background;
mod blocklist;
mod call_outcome;
mod challenge_policy;
mod commands;
mod control;
mod eval_cache;
mod event_log;
mod event_loop;
mod event_stream;
mod events;
mod game_registry;
mod instance_lock;
mod player_lists;
mod quota;
mod rate_limit_log;
mod rating_guard;
mod run;
mod settings;
mod shutdown;
mod state;
mod status;
mod supervisor;

pub use account::{
    AcceptOutcome, AccountEffect, AccountEvent, AccountState, Decline, OpponentKind,
};
pub use account_check::{AccountReport, Finding, findings};
pub use alerts::{AlertKind, Alerts};
pub use archiver::{AnalysisRules, ArchiveRules, Archiver, MaintenanceRules};
pub use challenge_policy::{
    Availability, ChallengeContext, ChallengeRule, Decision, OpponentHistory, PolicyVerdict,
    Violation, judge_challenge,
};
pub use control::{
    ChallengeSpec, Command, CommandReceiver, ControlHandle, Disconnected, Envelope, Reply, channel,
};
pub use event_log::{Changes, Clocks, EventLog, LiveGame, SearchInfo};
pub use events::{BotEvent, EventBus};
pub use game::clock::{ClockKind, ClockState};
pub use game::move_overhead::{Latency, OverheadEstimator, SendSample, SharedEstimator};
pub use game::time_budget::{SearchBudget, human_pace, ponder, search_budget};
pub use game_registry::GameRegistry;
pub use player_lists::{
    ListParseError, ListRefresher, ListSources, ListState, PlayerLists, read_names,
};
pub use quota::{
    Budget, ChallengeTarget, Denied, Forecast, Permit, Quota, QuotaRules as LedgerRules,
};
pub use rating_guard::{GuardUpdate, Pause, RatingGuard, RatingGuardRules};
pub use run::{BotError, BotOptions, Shutdown, run, run_commanded};
pub use settings::{BotTiming, SearchLimits, Settings};
pub use state::{
    BotState, DurableWrite, KnownGame, OpponentRecord, QuotaCall, StartedGame, StateRules,
    UnfinishedGame, WallClock,
};
pub use status::{
    AlertStatus, BotPhase, EventStreamStatus, GameStatus, GameStreamStatus, MatchmakingStatus,
    NameList, QuotaStatus as LedgerStatus, SlotStatus, SourcesStatus, Status, TableFiles,
};
pub(crate) use supervisor::restart_on_panic;
