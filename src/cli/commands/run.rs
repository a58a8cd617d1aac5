//! `megaton run`: plays on Lichess until it is stopped.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use megaton::archive::FILE_NAME;
use megaton::bot::{
    self, ArchiveRules, Archiver, BotError, BotOptions, BotState, BotTiming, EventBus, EventLog,
    ListSources, Shutdown, StateRules,
};
use megaton::config::Config;
use megaton::engine::{EngineOptions, Pool};
use megaton::panel::{CrashReports, RecentLines, installed_program};
use megaton::store::Store;
use megaton::tablebase::{BuiltIn, tablebases};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::cli::failure::Failure;
use crate::cli::services::Services;
use crate::cli::setup::{ConfigArgs, LogArgs, create_privately, evaluator, tables};
use crate::cli::{account, logging, malloc, runtime, summary};

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
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let upgrade = serve(args)?;
    if upgrade.is_cancelled() {
        return Err(hand_over(installed_program()));
    }
    Ok(())
}

/// Goes on as the program that is installed now, as the same process. Where that cannot be started, as
/// this one. Comes back only if neither works.
fn hand_over(program: Option<PathBuf>) -> Failure {
    let own = PathBuf::from("/proc/self/exe");
    let mut failed = None;
    for program in program.into_iter().chain([own]) {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "megaton".into());
        let error = Command::new(&program).arg0(name).args(arguments).exec();
        tracing::error!(program = %program.display(), %error, "cannot start the program");
        failed = Some(error);
    }
    let error = failed.map(|error| error.to_string()).unwrap_or_default();
    Failure::failed(format!("cannot hand over: {error}"))
}

/// Plays until the end; gives what says whether to hand over.
fn serve(args: &Args) -> Result<CancellationToken, Failure> {
    malloc::limit_arenas();
    create_privately();
    let (config, path) = args.config.load()?;
    let log = logging::start(&args.log.over(&config.log))?;
    let (_crash_reports, crashes) = report_crashes(&config, log.recent_lines()).unzip();
    for warning in config.exposed_secrets() {
        tracing::warn!("{warning}");
    }
    let client = account::client(&config)?;
    let pool = pool(&config)?;
    let state = open_state(&config)?;
    let proxy = client.proxy();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        config = %path.as_deref().unwrap_or(Path::new("defaults")).display(),
        server = config.lichess.url,
        proxy = proxy.as_deref().unwrap_or("none"),
        engine = summary::engine(&config.engine, pool.evaluator()),
        accepts = summary::accepts(&config.challenge).join("; "),
        "megaton starts"
    );
    runtime::block_on(async {
        let shutdown = runtime::listen()?;
        tokio::spawn(log.watch());
        let event_bus = EventBus::default();
        let event_log = event_bus.event_log().clone();
        let archiver = start_archiver(&config, &event_log, &pool, &state).await;
        if archiver.is_some() && config.archive.wire {
            let event_log = event_log.clone();
            client.listen_to_wire(move |line| event_log.note_wire(line));
        }
        event_log.note(
            "start",
            concat!("megaton ", env!("CARGO_PKG_VERSION")),
            None,
        );
        let options = BotOptions {
            exclusive: true,
            client,
            pool,
            settings: config.clone(),
            timing: BotTiming::default(),
            event_bus,
            state: state.clone(),
            lists: ListSources {
                data: config.data.home(&config.lichess),
            },
        };
        let news = News {
            days: archiver.as_ref().map(Archiver::days),
            crashes,
        };
        let upgrade = shutdown.upgrade.clone();
        let outcome = Box::pin(play(options, shutdown, &config, path, news)).await;
        state.settle().await;
        event_log.note("stop", "it ends", None);
        if let Some(archiver) = archiver {
            archiver.finish().await;
        }
        let outcome = outcome?.map_err(|error| cannot_play(&error, &config.lichess.url));
        outcome.map(|()| upgrade)
    })
}

/// What the operator hears of besides the bot's own events.
struct News {
    /// The summary of each day once it is over.
    days: Option<watch::Receiver<Option<String>>>,
    /// The report of each panic.
    crashes: Option<mpsc::Receiver<PathBuf>>,
}

/// Plays, with the services beside the bot.
async fn play(
    options: BotOptions,
    shutdown: Shutdown,
    config: &Config,
    path: Option<PathBuf>,
    news: News,
) -> Result<Result<(), BotError>, Failure> {
    let (control, commands) = bot::channel();
    let hangups = runtime::hangups()?;
    let (services, notifier) = Services::new(&options, control, config, path)?;
    if let Some(days) = news.days {
        notifier.report_days(days);
    }
    if let Some(crashes) = news.crashes {
        notifier.report_crashes(crashes, options.event_bus.event_log().clone());
    }
    let outcome = tokio::select! {
        outcome = bot::run_commanded(options, shutdown, commands) => outcome,
        () = services.run(hangups) => unreachable!("services run for ever"),
    };
    notifier.finish(outcome.as_ref().err()).await;
    Ok(outcome)
}

/// Reports panics in the data folder, if there is one; the receiver gets the path of each report.
fn report_crashes(
    config: &Config,
    recent: RecentLines,
) -> Option<(CrashReports, mpsc::Receiver<PathBuf>)> {
    let home = config.data.home(&config.lichess)?;
    let started = CrashReports::start(home, recent);
    if let Err(error) = &started {
        tracing::error!(%error, "panics are not reported: cannot start the thread");
    }
    started.ok()
}

/// Opens the state of earlier runs and locks the data folder.
fn open_state(config: &Config) -> Result<BotState, Failure> {
    let (store, kept) = match config.data.home(&config.lichess) {
        Some(home) => Store::open(&home).map_err(Failure::of_setup)?,
        None => Store::nowhere(),
    };
    let rules = StateRules::from(config);
    Ok(BotState::new(store, kept, rules))
}

/// Starts the archiver, if the config wants an archive.
async fn start_archiver(
    config: &Config,
    event_log: &EventLog,
    pool: &Pool,
    state: &BotState,
) -> Option<Archiver> {
    let home = config.data.home(&config.lichess);
    let home = home.filter(|_| config.archive.keep)?;
    let rules = ArchiveRules::from(&config.archive);
    let archiver = Archiver::start(&home.join(FILE_NAME), event_log, pool, state, &rules).await;
    if let Err(error) = &archiver {
        tracing::error!(%error, "nothing is archived: cannot start the thread");
    }
    archiver.ok()
}

/// The search threads and the hash that the config asks for.
pub(super) fn pool(config: &Config) -> Result<Pool, Failure> {
    let options = EngineOptions {
        hash_mb: config.engine.hash,
        threads: config.engine.cores(),
        evaluator: evaluator(&config.engine)?,
        tables: tablebases(BuiltIn::On, tables(&config.engine)?),
        ..EngineOptions::default()
    };
    Ok(Pool::in_background(&options))
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
