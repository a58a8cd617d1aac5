//! `megaton soak`: many short games under random faults, and whether the bot lost any by its own fault.

use std::num::NonZeroU64;
use std::time::Duration;

use megaton::bot::{self, BotOptions, BotTiming, EventBus, ListSources, Settings, Shutdown};
use megaton::config::{Level, Log};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::practice::{SoakError, SoakOptions, SoakTarget, TimeControl, fault_kinds, soak};

use super::practice::{unlimited_state, unlimited_visits};
use crate::cli::failure::Failure;
use crate::cli::output::{self, progress};
use crate::cli::setup::LogArgs;
use crate::cli::{logging, runtime};

/// The bot's hash in megabytes and its threads: the searches are tiny.
const HASH: usize = 8;
const THREADS: usize = 2;
/// Slots beyond the scheduled games, for games that the server forgets and bursts of challenges.
const MORE_SLOTS: usize = 80;
/// Least timeouts of a call and of the opening of a game's stream: a busy machine needs them, however
/// fast the clocks run.
const LEAST_CALL: Duration = Duration::from_millis(150);
const LEAST_OPENING: Duration = Duration::from_millis(100);

/// Stress-test the bot against a server that injects faults
///
/// Plays short games against built-in partners on a small Lichess in this process, at many times
/// normal speed, while requests are lost, streams break, rate limits strike and the server
/// restarts. Prints a report, and exits with status 1 if the bot lost any game by its own fault (on
/// time, by an illegal move, by leaving or by resigning), with a trace of each. The same seed draws
/// the same faults.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton soak
  megaton soak --games 5000 --seed 7
  megaton soak --games 500 --faults silence,lose-reply,restart
  megaton soak --list-faults")]
pub(crate) struct Args {
    /// Number of games
    #[arg(long, value_name = "N", default_value_t = 200)]
    games: usize,
    /// Fault kinds: all, none, or a comma-separated list
    #[arg(long, value_name = "LIST", default_value = "all")]
    faults: String,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Concurrent games
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=64))]
    concurrency: u16,
    /// Speed factor over Lichess
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100))]
    speed: u32,
    /// Nodes the bot searches per move
    #[arg(long, value_name = "N", default_value_t = 200)]
    nodes: u64,
    /// Time control before the speed-up: seconds+increment
    #[arg(long, value_name = "S+S", default_value = "180+2", value_parser = super::practice::parse_time)]
    tc: TimeControl,
    /// List the fault kinds and exit
    #[arg(long)]
    list_faults: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if args.list_faults {
        let mut kinds = fault_kinds().iter();
        return kinds
            .try_for_each(|kind| output::print(format!("{:<24} {}", kind.name, kind.what)));
    }
    // The faults cause thousands of warnings.
    let quiet = Log {
        level: Level::Off,
        ..Log::default()
    };
    let log = logging::start(&args.log, &quiet)?;
    let options = SoakOptions {
        games: args.games,
        concurrency: args.concurrency.into(),
        faults: args.faults.clone(),
        seed: args.seed,
        speed: args.speed,
        nodes: args.nodes,
        time: args.tc,
    };
    let report = runtime::block_on(async {
        let signals = runtime::listen()?;
        tokio::spawn(log.watch());
        let bar = progress::bar(
            Some(args.games as u64),
            "{bar:40} {pos}/{len} games  {elapsed} of {duration}",
        );
        let show = |over: usize| bar.set_position(over.min(args.games) as u64);
        let bot = |target| play(target, args.speed, args.nodes, args.concurrency.into());
        let played = soak(&options, bot, signals.drain.clone(), show);
        let report = tokio::select! {
            report = played => report.map_err(|error| match error {
                SoakError::Faults(what) => Failure::setup(format!("--faults: {what}")),
                SoakError::Setup(_) => Failure::failed(error),
            })?,
            () = signals.now.cancelled() => return Err(Failure::failed("interrupted")),
        };
        bar.finish_and_clear();
        Ok(report)
    })?;
    let printed = output::print_text(&report);
    if report.is_clean() {
        return printed;
    }
    Err(Failure::failed(report.complaints().join("; ")))
}

/// Runs the bot `speed` times as fast as on Lichess; whether it ended well.
async fn play(target: SoakTarget, speed: u32, nodes: u64, concurrency: usize) -> bool {
    let Some(client) = client(&target, speed) else {
        return false;
    };
    let timing = BotTiming::default();
    let settings = settings(speed, nodes, concurrency);
    let bot = BotOptions {
        exclusive: false,
        client,
        pool: Pool::in_background(&EngineOptions {
            hash_mb: HASH,
            threads: THREADS,
            ..EngineOptions::default()
        }),
        state: unlimited_state(settings.clone()),
        settings,
        lists: ListSources::default(),
        timing: BotTiming {
            post_limit: (timing.post_limit / speed).max(LEAST_CALL),
            ..timing.faster(speed)
        },
        event_bus: EventBus::default(),
    };
    let shutdown = Shutdown {
        drain: target.drain,
        ..Shutdown::default()
    };
    bot::run(bot, shutdown).await.is_ok()
}

fn client(target: &SoakTarget, speed: u32) -> Option<Client> {
    let usual = Timing::default();
    let least = |span: Duration| (span / speed).max(LEAST_CALL);
    let timing = Timing {
        game_opening: (usual.game_opening / speed).max(LEAST_OPENING),
        connect: least(usual.connect),
        call: least(usual.call),
        move_call: least(usual.move_call),
        ..usual.faster(speed)
    };
    let client = Client::new(ClientOptions {
        base_url: target.url.clone(),
        token: Token::parse(&target.token, "the soak").ok()?,
        contact: None,
        timing,
    });
    client.ok()
}

/// The default rules, sped up, without limits on the number of games.
fn settings(speed: u32, nodes: u64, concurrency: usize) -> Settings {
    let mut settings = Settings::default().faster(speed);
    settings.engine.nodes = NonZeroU64::new(nodes);
    settings.challenge.concurrency = concurrency + MORE_SLOTS;
    settings.game.abort_repeats = u32::MAX;
    settings.challenge.bots = unlimited_visits();
    settings.challenge.humans = unlimited_visits();
    settings
}
