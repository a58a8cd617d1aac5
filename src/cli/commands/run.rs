//! `megaton run`: plays on Lichess until it is stopped.

use std::os::unix::process::CommandExt as _;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;

use megaton::bot::Shutdown;
use megaton::config::Config;
use megaton::engine::{EngineOptions, Pool};
use megaton::panel::{CrashReports, RecentLines, attend, installed_program};
use megaton::tablebase::{BuiltIn, tablebases};
use tokio::sync::broadcast::Receiver;
use tracing::{Instrument as _, Span};

use crate::cli::account_bot::{AccountBot, PreparedBot};
use crate::cli::failure::Failure;
use crate::cli::setup::{ConfigArgs, LoadedConfig, LogArgs, create_privately, evaluator, tables};
use crate::cli::{logging, malloc, runtime, shared_process};

/// Play on Lichess until stopped
///
/// Answers challenges by the config's rules and plays every accepted game. Games that were in
/// progress when the program ended, however it ended, are resumed. Without a network the bot waits
/// and retries; only a config, token or account that cannot work ends it at once (status 2).
///
/// The first Ctrl-C (or SIGTERM) accepts no new games and exits after the last one, or when
/// [shutdown] drain has passed; the second exits at once. SIGHUP rereads the config. Give `megaton
/// status` and the other control commands the same config to reach the running bot.
///
/// With several configs one process plays for several accounts, which share its search threads and its
/// hash. [engine] and [log] have to be the same in all of them; each needs its own token file, data folder
/// and page.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton run
  megaton run --config /etc/megaton/config.toml --log-format json
  megaton run --config blitz.toml --config classical.toml
  LICHESS_BOT_TOKEN=… megaton run --log-level debug")]
pub(crate) struct Args {
    /// Config file [default: config.toml if present, else built-in defaults]; one for each account if
    /// there are several
    #[arg(short, long = "config", value_name = "FILE")]
    configs: Vec<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

impl Args {
    /// The config of each account, at least one.
    fn load(&self) -> Result<Vec<LoadedConfig>, Failure> {
        if self.configs.is_empty() {
            return Ok(vec![ConfigArgs::default().load()?]);
        }
        let load = |file: &PathBuf| ConfigArgs::of(file.clone()).load();
        self.configs.iter().map(load).collect()
    }
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if serve(args)? {
        return Err(hand_over(installed_program()));
    }
    Ok(())
}

/// Goes on as the program that is installed now, as the same process. Where that cannot be started, as
/// this one. Comes back only if neither works.
fn hand_over(program: Option<PathBuf>) -> Failure {
    let own = PathBuf::from("/proc/self/exe");
    let mut failed = String::new();
    for program in program.into_iter().chain([own]) {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "megaton".into());
        let error = Command::new(&program).arg0(name).args(arguments).exec();
        tracing::error!(program = %program.display(), %error, "cannot start the program");
        failed = error.to_string();
    }
    Failure::failed(format!("cannot hand over: {failed}"))
}

/// Plays until the end; gives whether to hand over.
fn serve(args: &Args) -> Result<bool, Failure> {
    malloc::limit_arenas();
    // Remembers the place of the program before an operator renames it.
    installed_program();
    create_privately();
    let configs = args.load()?;
    shared_process::check(&configs)?;
    let first = &configs[0].0;
    let log = logging::start(&args.log, &first.log)?;
    let (_crash_reports, crashes) = report_crashes(first, log.recent_lines()).unzip();
    runtime::block_on(async {
        let shutdown = runtime::listen()?;
        // A reload must not end a bot that does not play yet. Each listens for itself once it does.
        let _hangups = runtime::hangups()?;
        tokio::spawn(log.watch());
        let pool = pool(&configs[0].0)?;
        // Beside the start, so that neither it nor the first move waits for the hash's memory.
        let searches = pool.clone();
        tokio::task::spawn_blocking(move || searches.commit_hash());
        let several = configs.len() > 1;
        let bot = |(config, path): LoadedConfig| AccountBot::new(config, path, &pool);
        let bots: Vec<AccountBot> = configs.into_iter().map(bot).collect::<Result<_, _>>()?;
        let prepared = bots.into_iter().map(|bot| {
            let shutdown = Shutdown {
                drain: shutdown.drain.child_token(),
                now: shutdown.now.child_token(),
                upgrade: shutdown.upgrade.clone(),
                shares_process: several,
            };
            bot.prepare(shutdown, crashes.as_ref().map(Receiver::resubscribe))
        });
        let prepared: Vec<PreparedBot> = prepared.collect::<Result<_, _>>()?;
        tokio::spawn(attend(prepared.iter().map(PreparedBot::attended).collect()));
        let playing = prepared.into_iter().map(|bot| {
            let span = if several { bot.span() } else { Span::none() };
            tokio::spawn(bot.play().instrument(span))
        });
        // The trouble of one account is none of the others'.
        let mut outcome = Ok(());
        for ended in futures::future::join_all(playing).await {
            outcome = outcome.and(ended.unwrap_or_else(|panic| resume_unwind(panic.into_panic())));
        }
        outcome?;
        let upgrades = shutdown.upgrade.is_cancelled();
        let stops = shutdown.drain.is_cancelled();
        if upgrades && stops {
            tracing::warn!("stopped while handing over: the next start resumes the games left");
        }
        Ok(upgrades && !stops)
    })
}

/// Reports panics in the data folder, if there is one; the receiver gets the path of each report.
fn report_crashes(
    config: &Config,
    recent: RecentLines,
) -> Option<(CrashReports, Receiver<PathBuf>)> {
    let home = config.data.home(&config.lichess)?;
    let started = CrashReports::start(home, recent);
    if let Err(error) = &started {
        tracing::error!(%error, "panics are not reported: cannot start the thread");
    }
    started.ok()
}

/// The search threads and the hash that the config asks for.
pub(super) fn pool(config: &Config) -> Result<Pool, Failure> {
    let tables = tables(&config.engine);
    for fault in tables.iter().flat_map(|tables| tables.refused()) {
        tracing::error!("[engine] syzygy_path: {fault}; the bot plays without");
    }
    let options = EngineOptions {
        hash_mb: config.engine.hash,
        threads: config.engine.cores(),
        evaluator: evaluator(&config.engine)?,
        tables: tablebases(BuiltIn::On, tables),
        ..EngineOptions::default()
    };
    Ok(Pool::in_background(&options))
}
