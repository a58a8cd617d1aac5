//! What the bot is started with, what its tasks share, and why it cannot play.
//!
//! Data only.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::account_event::AccountEvent;
use super::alerts::Alerts;
use super::chat::ChatQueue;
use super::event_bus::EventBus;
use super::game::EvalCache;
use super::game::move_overhead::SharedEstimator;
use super::player_lists::ListSources;
use super::settings::{BotTiming, Settings};
use super::state::BotState;
use super::status::Occupancy;
use crate::book::SharedBooks;
use crate::engine::{Pool, TablebaseProbe};
use crate::lichess::Client;
use crate::lookup::{BreakerSettings, Explorer, OnlineTables};
use crate::tablebase::OutcomeTables;

/// Shared by the event loop, its background tasks and all game tasks.
#[derive(Clone, Debug)]
pub(in crate::bot) struct BotContext {
    pub(in crate::bot) client: Client,
    pub(in crate::bot) pool: Pool,
    pub(in crate::bot) settings: Arc<Settings>,
    pub(in crate::bot) timing: BotTiming,
    pub(in crate::bot) event_bus: EventBus,
    pub(in crate::bot) estimator: SharedEstimator,
    pub(in crate::bot) state: BotState,
    pub(in crate::bot) chat_queue: ChatQueue,
    pub(in crate::bot) alerts: Alerts,
    pub(in crate::bot) books: SharedBooks,
    pub(in crate::bot) eval_cache: EvalCache,
    pub(in crate::bot) online_tables: Option<OnlineTables>,
    pub(in crate::bot) explorer: Option<Explorer>,
    pub(in crate::bot) occupancy: watch::Receiver<Occupancy>,
    /// For what the account state must learn before the game is over.
    pub(in crate::bot) message_sender: mpsc::Sender<AccountEvent>,
}

/// The online tables, if the config wants them.
pub(super) fn online_tables(client: &Client, settings: &Settings) -> Option<OnlineTables> {
    let settings = &settings.online_tables;
    if !settings.enabled {
        return None;
    }
    let known = |position: &crate::rules::Position| OutcomeTables::built_in().wdl(position);
    let server = client.table_server(&settings.url, settings.timeout);
    let server = server
        .inspect_err(|error| tracing::error!(%error, "the online tables stay off"))
        .ok()?;
    let pace = BreakerSettings::default();
    Some(OnlineTables::new(server, settings.min_clock, pace, known))
}

/// Dependencies of the bot.
#[derive(Clone, Debug)]
pub struct BotOptions {
    pub client: Client,
    pub pool: Pool,
    pub settings: Settings,
    /// State from earlier runs.
    pub state: BotState,
    /// Sources of the player lists, beside the settings.
    pub lists: ListSources,
    /// The bot's own delays and limits.
    pub timing: BotTiming,
    /// Receives the bot's events.
    pub event_bus: EventBus,
    /// Refuse to play if another process on this machine plays as the same account.
    pub exclusive: bool,
}

/// Requests to end the bot.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Accept nothing new, finish games in progress, then end.
    pub drain: CancellationToken,
    /// End now; games in progress stay on the server for the next start.
    pub now: CancellationToken,
    /// The bot has ended to hand over to the program that is installed now.
    pub upgrade: CancellationToken,
    /// The process plays for other accounts too: no upgrade of this one may end it.
    pub shares_process: bool,
}

/// Why the bot cannot play at all. Temporary problems are waited out instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BotError {
    /// The server rejects the token.
    #[error("the server rejects the token: {0}")]
    Unauthorized(String),
    /// The token lacks the right, as far as the server tells.
    #[error("the token cannot play (it needs the scope bot:play): {0}")]
    Forbidden(String),
    /// The server keeps refusing, and no test found the token bad.
    #[error("the server does not let this account play; check the account on the website: {0}")]
    Barred(String),
    /// The account belongs to a human.
    #[error("{0} is not a bot account: upgrade it first (this cannot be undone)")]
    NotABot(String),
    #[error("the account {0} is closed")]
    Closed(String),
    /// Another process on this machine plays as this account.
    #[error("{} plays as {account} already: stop it first", the_process(*.pid))]
    Taken {
        account: String,
        /// The process number, if the system tells.
        pid: Option<i32>,
    },
    /// The data folder, with its quota, blocks, cooldowns and archive, is another account's.
    #[error(
        "the data folder {} belongs to the account {owner}, and the token to {account}: \
         give {account} another [data] folder, or use the token of {owner}", .folder.display()
    )]
    ForeignFolder {
        folder: PathBuf,
        owner: String,
        account: String,
    },
}

fn the_process(pid: Option<i32>) -> String {
    pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}
