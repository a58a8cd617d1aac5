//! The bot: decides which challenges to accept, runs one task per game, and delivers every move.
//!
//! A functional core in an imperative shell. Plain structs decide; they know no network, no clock and
//! no engine. Tasks pass them events and run the effects that they return.
//!
//! Pure:
//! * `game`: one game, from the lines of its stream to moves; its policies, clock and time budget
//! * `account`: challenges, slots and running games; `challenge_policy`: accept or decline a challenge
//! * `player_lists`: blocked, allowed and favoured players
//! * `quota`: what Lichess lets a bot spend in a day; `rating_guard`: pauses rated games after losses
//! * `matchmaking`: the bot's own challenges; `arena`: tournaments; `backfill`: games that ended unseen
//! * `chat`: greetings and answers
//! * `control`, `status`: what an operator can request and see; `settings`: rules and timing
//!
//! Shared state: `state` (persistent, written through to `store`), `event_log` (running games and
//! everything that happened, in memory).
//!
//! Tasks:
//! * `run`: start-up and exit; `context`: what the tasks share; `event_loop`: the account's task;
//!   `account_event`: its events and effects; `api_queue`: its API calls
//! * `event_stream`: the account's event stream, kept open by `supervised_stream`; `account_check`: token and account
//! * `game::task`: one game's task; `game::stream`: its supervised stream
//! * `commands`: an operator's commands
//! * `bot_event`: what the bot publishes; `event_bus`: carries it to the log and all subscribers;
//!   `alerts`: what needs an operator
//! * `archiver`: from the event log to the archive; `background`: side tasks of the event loop
//! * `supervisor`: restarts a task that panicked

mod account;
mod account_check;
mod account_event;
mod alerts;
mod api_queue;
mod archiver;
pub mod arena;
mod backfill;
mod background;
mod bot_event;
mod challenge_policy;
pub mod chat;
mod commands;
mod context;
mod control;
mod event_bus;
mod event_log;
mod event_loop;
mod event_stream;
pub mod game;
pub mod matchmaking;
mod player_lists;
mod quota;
mod rating_guard;
mod run;
mod settings;
mod state;
mod status;
mod supervised_stream;
mod supervisor;

use std::time::Instant;

pub use self::game::move_overhead::{ClockKind, ClockState};
pub use account::AccountState;
pub use account_check::{AccountReport, Finding, TokenTest, findings};
pub use account_event::{AcceptOutcome, AccountEffect, AccountEvent, Decline, NotCreated};
pub use alerts::Alerts;
pub use archiver::{AnalysisRules, ArchiveRules, Archiver, MaintenanceRules, review_game};
pub use bot_event::{AlertKind, BotEvent};
pub use challenge_policy::{
    Availability, ChallengeContext, ChallengeRule, Decision, OpponentHistory, PolicyOutcome,
    Violation, evaluate_challenge,
};
pub use commands::UPGRADE_WAITS;
pub use context::{BotError, BotOptions, Shutdown};
pub use control::{
    ChallengeSpec, Command, CommandReceiver, ControlHandle, Disconnected, Envelope, Reply, channel,
};
pub use event_bus::EventBus;
pub use event_log::{Changes, Clocks, EventLog, LiveGame, SearchInfo};
pub use game::move_overhead::{MoveOverhead, OverheadEstimator, SendSample, SharedEstimator};
pub use game::time_budget::{SearchBudget, human_pace, ponder, search_budget};
pub use player_lists::{
    ListParseError, ListRefresher, ListSources, ParsedList, PlayerLists, read_names,
};
pub use quota::{Budget, Denied, Forecast, OpponentKind, Permit, Quota};
pub use rating_guard::{GuardUpdate, Pause, RatingGuard};
pub use run::{check_owner, run, run_commanded};
pub use settings::{BotTiming, Settings};
pub use state::{
    BotState, KnownGame, OpponentRecord, QuotaCall, StartedGame, StateRules, UnfinishedGame,
    WallClock,
};
pub use status::{
    AlertStatus, BotPhase, CorrespondenceStatus, EventStreamStatus, GameStatus, GameStreamStatus,
    MatchmakingStatus, NameList, QuotaStatus, SlotStatus, SourcesStatus, Status, StreamOutage,
    TableFiles,
};

/// Sleeps until then; for ever without a time.
async fn sleep_until(at: Option<Instant>) {
    match at {
        // Timers have a granularity of a millisecond, rounded up.
        Some(at) if at > Instant::now() => tokio::time::sleep_until(at.into()).await,
        Some(_) => {}
        None => std::future::pending().await,
    }
}
