//! `megaton soak`: thousands of short games under random faults, and whether any was lost by us.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use megaton::bot::{
    self, BotOptions, BotState, BotTiming, EventBus, ListSources, Settings, Shutdown, StateRules,
};
use megaton::config::{Level, Log};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::practice::{SoakError, SoakOptions, SoakTarget, TimeControl, fault_kinds, soak};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::logging;
use super::runtime;
use super::setup::LogArgs;

/// The bot's table in megabytes, and its cores: searches are tiny.
const HASH: usize = 8;
const THREADS: usize = 2;
/// Seats beyond the games of the schedule: for ghosts and bursts.
const MORE_SEATS: usize = 80;
/// A call over the loopback may take so long on a busy machine, however fast the clocks run.
const LEAST_CALL: Duration = Duration::from_millis(150);
/// And no opening of a game's stream, of which more follow.
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
pub(super) struct Args {
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

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    if args.list_faults {
        return list();
    }
    // Warnings are what is wanted here: thousands of them. Only faults of ours are told.
    let quiet = Log {
        level: Level::Off,
        ..Log::default()
    };
    let log = logging::start(&args.log.over(&quiet))?;
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
        let bar = bar(args.games);
        let told = |over: usize| bar.set_position(over.min(args.games) as u64);
        let bot = |ground| play(ground, args.speed, args.nodes, args.concurrency.into());
        let played = soak(&options, bot, signals.drain.clone(), told);
        let report = tokio::select! {
            report = played => report.map_err(|error| match error {
                SoakError::Faults(what) => Failure::setup(format!("--faults: {what}")),
                SoakError::Setup(_) => Failure::failed(error.to_string()),
            })?,
            () = signals.now.cancelled() => return Err(Failure::failed("interrupted")),
        };
        bar.finish_and_clear();
        Ok(report)
    })?;
    let mut out = io::stdout().lock();
    write!(out, "{report}")?;
    out.flush()?;
    if report.is_clean() {
        return Ok(());
    }
    Err(Failure::failed(report.complaints().join("; ")))
}

/// The bot at its full speed; whether it came to a good end.
async fn play(ground: SoakTarget, speed: u32, nodes: u64, concurrency: usize) -> bool {
    let Some(client) = client(&ground, speed) else {
        return false;
    };
    let settings = settings(speed, nodes, concurrency);
    let memory = BotState::nowhere();
    memory.set_rules(StateRules::from(&settings));
    let bot = BotOptions {
        sole: false,
        client,
        pool: Pool::in_background(&EngineOptions {
            hash_mb: HASH,
            threads: THREADS,
            ..EngineOptions::default()
        }),
        settings,
        state: memory,
        lists: ListSources::default(),
        timing: pace(speed),
        listeners: EventBus::default(),
    };
    let shutdown = Shutdown {
        drain: ground.drain,
        now: CancellationToken::new(),
    };
    bot::run(bot, shutdown).await.is_ok()
}

/// A client as fast as the server; what a call takes on any machine it is given.
fn client(ground: &SoakTarget, speed: u32) -> Option<Client> {
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
        base_url: ground.url.clone(),
        token: Token::parse(&ground.token, "the soak").ok()?,
        contact: None,
        timing,
    });
    client.ok()
}

fn pace(speed: u32) -> BotTiming {
    let usual = BotTiming::default();
    BotTiming {
        post_limit: (usual.post_limit / speed).max(LEAST_CALL),
        ..usual.faster(speed)
    }
}

/// The usual rules, sped up, without limits on how much is played.
fn settings(speed: u32, nodes: u64, concurrency: usize) -> Settings {
    let mut settings = Settings::default().faster(speed);
    settings.search.nodes = Some(nodes);
    settings.challenge.concurrency = concurrency + MORE_SEATS;
    settings.game.abort_repeats = u32::MAX;
    settings.limits.bot_games = u32::MAX;
    settings.guard.opponent_losses = u32::MAX;
    settings.guard.losses = u32::MAX;
    settings.guard.points = u32::MAX;
    for visitors in [&mut settings.challenge.bots, &mut settings.challenge.humans] {
        visitors.at_once = u32::MAX;
        visitors.repeats = u32::MAX;
        visitors.rematches = u32::MAX;
        visitors.per_day = u32::MAX;
        visitors.total_per_day = u32::MAX;
    }
    settings
}

/// A bar on a terminal, nothing anywhere else.
fn bar(games: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(games as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {pos}/{len} games  {elapsed} of {duration}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for kind in fault_kinds() {
        writeln!(out, "{:<24} {}", kind.name, kind.what)?;
    }
    Ok(())
}
