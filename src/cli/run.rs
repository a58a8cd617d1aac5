//! `megaton run`: plays on Lichess until it is told to stop.

use std::path::Path;

use megaton::bot::{
    self, BotError, BotOptions, ListSources, Listeners, Memory, MemoryRules, Pace, Settings,
};
use megaton::config::Config;
use megaton::engine::{EngineOptions, Pool};
use megaton::store::Store;

use super::failure::Failure;
use super::setup::{ConfigArgs, LogArgs};
use super::{identity, logging, report, runtime};

/// Play on Lichess until told to stop
///
/// Answers challenges as the config says and plays every accepted game. Games that were under way
/// when the program ended, however it ended, are taken up again. Without a network it waits and
/// tries again; only a config, token or account that cannot work ends it at once (status 2).
///
/// The first Ctrl-C (or SIGTERM) takes no new games and ends after the last one; the second ends at
/// once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton run
  megaton run --config /etc/megaton/config.toml --log-format json
  LICHESS_BOT_TOKEN=… megaton run --log-level debug")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, path) = args.config.load()?;
    let client = identity::client(&config)?;
    let memory = memory(&config)?;
    let log = logging::start(&args.log.over(&config.log))?;
    introduce(&config, path.as_deref());
    runtime::block_on(async {
        let shutdown = runtime::listen()?;
        tokio::spawn(log.watch());
        let options = BotOptions {
            client,
            pool: pool(&config),
            settings: Settings::from(&config),
            pace: Pace::default(),
            listeners: Listeners::default(),
            memory: memory.clone(),
            lists: ListSources {
                data: config.data.folder.clone(),
            },
        };
        let outcome = bot::run(options, shutdown).await;
        memory.settle().await;
        outcome.map_err(|error| cannot_play(&error, &config.lichess.url))
    })
}

/// What is remembered from earlier runs; the data folder is ours from now on.
fn memory(config: &Config) -> Result<Memory, Failure> {
    let (store, kept) = match &config.data.folder {
        Some(folder) => Store::open(folder).map_err(|error| Failure::Setup(error.into()))?,
        None => Store::nowhere(),
    };
    let rules = MemoryRules::from(&Settings::from(config));
    Ok(Memory::new(store, kept, rules))
}

/// The cores and the memory that the config gives to searches.
pub(super) fn pool(config: &Config) -> Pool {
    let options = EngineOptions {
        hash_mb: config.engine.hash,
        threads: config.engine.cores(),
    };
    Pool::in_background(&options)
}

fn introduce(config: &Config, path: Option<&Path>) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        config = %path.unwrap_or(Path::new("defaults")).display(),
        server = config.lichess.url,
        engine = report::engine(&config.engine),
        accepts = report::accepts(&config.challenge).join("; "),
        "megaton starts"
    );
}

fn cannot_play(error: &BotError, url: &str) -> Failure {
    let remedy = match error {
        BotError::Unauthorized(_) | BotError::Forbidden(_) => {
            format!("; make a new token at {url}/account/oauth/token")
        }
        BotError::NotABot(_) => "; `megaton upgrade-account` does it".to_owned(),
        BotError::Closed(_) => String::new(),
    };
    Failure::setup(format!("{error}{remedy}"))
}
