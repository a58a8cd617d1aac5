//! `megaton run`: plays on Lichess until it is told to stop.

use std::path::{Path, PathBuf};

use megaton::archive::FILE_NAME;
use megaton::bot::{
    self, ArchiveRules, Archiver, BotError, BotOptions, BotState, BotTiming, EventBus, EventLog,
    ListSources, Settings, Shutdown, StateRules,
};
use megaton::config::Config;
use megaton::engine::{EngineOptions, Pool, Tablebases};
use megaton::store::Store;

use super::failure::Failure;
#[cfg(unix)]
use super::services::Services;
use super::setup::{ConfigArgs, LogArgs, evaluator, tables};
use super::{account, account_summary, logging, malloc, runtime};

/// Play on Lichess until stopped
///
/// Answers challenges by the config's rules and plays every accepted game. Games that were in
/// progress when the program ended, however it ended, are resumed. Without a network the bot waits
/// and retries; only a config, token or account that cannot work ends it at once (status 2).
///
/// The first Ctrl-C (or SIGTERM) accepts no new games and exits after the last one, or when
/// [shutdown] drain has passed; the second exits at once. SIGHUP rereads the config. Give `megaton
/// status` and the other control commands the same config to reach the running bot.
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
    malloc::share();
    let (config, path) = args.config.load()?;
    let log = logging::start(&args.log.over(&config.log))?;
    let client = account::client(&config)?;
    let pool = pool(&config)?;
    let memory = memory(&config)?;
    introduce(&config, path.as_deref(), &pool);
    runtime::block_on(async {
        let shutdown = runtime::listen()?;
        tokio::spawn(log.watch());
        let listeners = EventBus::default();
        let event_log = listeners.event_log().clone();
        let archiver = archiver(&config, &event_log, &pool).await;
        event_log.note(
            "start",
            concat!("megaton ", env!("CARGO_PKG_VERSION")),
            None,
        );
        let options = BotOptions {
            sole: true,
            client,
            pool,
            settings: Settings::from(&config),
            timing: BotTiming::default(),
            listeners,
            state: memory.clone(),
            lists: ListSources {
                data: config.data.home(&config.lichess),
            },
        };
        let days = archiver.as_ref().map(Archiver::days);
        let outcome = Box::pin(commanded(options, shutdown, &config, path, days)).await;
        memory.settle().await;
        event_log.note("stop", "it ends", None);
        if let Some(archiver) = archiver {
            archiver.finish().await;
        }
        outcome?.map_err(|error| cannot_play(&error, &config.lichess.url))
    })
}

/// The summary of each day once it is over.
type Days = tokio::sync::watch::Receiver<Option<String>>;

/// Plays, and meanwhile does what the operator says, and tells how things are.
#[cfg(unix)]
async fn commanded(
    options: BotOptions,
    shutdown: Shutdown,
    config: &Config,
    path: Option<PathBuf>,
    days: Option<Days>,
) -> Result<Result<(), BotError>, Failure> {
    let (control, commands) = bot::channel();
    let hangups = runtime::Hangups::listen()?;
    let (beside, bell) = Services::new(&options, control, config, path)?;
    if let Some(days) = days {
        bell.tell_days(days);
    }
    let outcome = tokio::select! {
        outcome = bot::run_commanded(options, shutdown, commands) => outcome,
        () = beside.run(hangups) => unreachable!("it runs for ever"),
    };
    bell.finish(outcome.as_ref().err()).await;
    Ok(outcome)
}

#[cfg(not(unix))]
async fn commanded(
    options: BotOptions,
    shutdown: Shutdown,
    _config: &Config,
    _path: Option<PathBuf>,
    _days: Option<Days>,
) -> Result<Result<(), BotError>, Failure> {
    Ok(bot::run(options, shutdown).await)
}

/// What is remembered from earlier runs; the data folder is ours from now on.
fn memory(config: &Config) -> Result<BotState, Failure> {
    let (store, kept) = match config.data.home(&config.lichess) {
        Some(home) => Store::open(&home).map_err(|error| Failure::Setup(error.into()))?,
        None => Store::nowhere(),
    };
    let rules = StateRules::from(&Settings::from(config));
    Ok(BotState::new(store, kept, rules))
}

/// Those who keep what happens, if it is to be kept.
async fn archiver(config: &Config, event_log: &EventLog, pool: &Pool) -> Option<Archiver> {
    let home = config.data.home(&config.lichess);
    let home = home.filter(|_| config.archive.keep)?;
    let rules = ArchiveRules::from(&config.archive);
    let archiver = Archiver::start(&home.join(FILE_NAME), event_log, pool, &rules).await;
    if let Err(error) = &archiver {
        tracing::error!(%error, "nothing is archived: cannot start the thread");
    }
    archiver.ok()
}

/// The cores and the memory that the config gives to searches.
pub(super) fn pool(config: &Config) -> Result<Pool, Failure> {
    let evaluator = evaluator(&config.engine)?;
    let options = EngineOptions {
        hash_mb: config.engine.hash,
        threads: config.engine.cores(),
        evaluator,
        tables: tables(&config.engine)?.map(|tables| Tablebases::new(tables)),
    };
    Ok(Pool::in_background(&options))
}

fn introduce(config: &Config, path: Option<&Path>, pool: &Pool) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        config = %path.unwrap_or(Path::new("defaults")).display(),
        server = config.lichess.url,
        engine = account_summary::engine(&config.engine, pool.evaluator()),
        accepts = account_summary::accepts(&config.challenge).join("; "),
        "megaton starts"
    );
}

fn cannot_play(error: &BotError, url: &str) -> Failure {
    let remedy = match error {
        BotError::Unauthorized(_) | BotError::Forbidden(_) => {
            format!("; create a new token at {url}/account/oauth/token")
        }
        BotError::NotABot(_) => "; use `megaton upgrade-account`".to_owned(),
        BotError::Closed(_) | BotError::Taken { .. } => String::new(),
    };
    Failure::setup(format!("{error}{remedy}"))
}
