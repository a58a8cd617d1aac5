//! `megaton practice`: a small Lichess on the loopback, the bot on it, and a page to play at.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use megaton::bot::{
    self, BotOptions, BotState, BotTiming, CommandReceiver, ControlHandle, EventBus, EventLog,
    ListSources, Settings, Shutdown, StateRules,
};
use megaton::config::{CasualLevel, Challenge, Config, Level, Log, Visitors};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::panel::{Health, Http, HttpSources, Reloader, SelfTest, StatusWatch};
use megaton::practice::{
    Event, FaultScript, Options, Partner, REPLAY_TOKEN, Rating, Recording, Schedule, Server,
    ServerHandle, Speed, TimeControl,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::run;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::setup::{ConfigArgs, LogArgs, input_name, open_input};
use crate::cli::{logging, output, runtime};

/// The bot's account on the practice server.
const BOT: &str = "Megaton";

/// The bot's rating on the scale of the levels, at the least.
const FULL_RATING: u32 = 3600;

/// Takebacks that a visitor of the page gets in a game.
const TAKEBACKS: u32 = 1000;

/// Pauses between sparring games and before a partner's move, so that people can follow.
const PAUSE: Duration = Duration::from_secs(3);
const PACE: Duration = Duration::from_millis(600);

/// Play against the bot locally, without an account
///
/// Starts a small Lichess on this machine's loopback with the bot on it, and prints the URL of a
/// page where you can play it. Meanwhile the bot spars with built-in partners, one line per move.
/// Ctrl-C stops at once, or with --headless after the current games.
///
/// With --games, play that many games and report the results; with --headless as well, exit
/// afterwards: status 0 if every game finished without an illegal move, a loss on time or an
/// abandoned game, else 1.
///
/// Any other Bot API client can play here too: --guest opens an account for it; its server URL is
/// the one printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton practice
  megaton practice --games 2 --headless
  megaton practice --games 20 --concurrency 8 --headless --partner engine --nodes 20000 --tc 60+1
  megaton practice --no-sparring --guest OtherBot=lip_secret
  megaton practice --games 10 --headless --faults faults.toml
  megaton practice --replay q7ZxVt2B.jsonl --log-level debug")]
pub(crate) struct Args {
    /// Let the bot play this many games against the built-in partners
    #[arg(long, value_name = "N")]
    games: Option<usize>,
    /// Play only the games, print a summary and exit
    #[arg(long, requires = "games")]
    headless: bool,
    /// Port of the page and the Bot API; 0 picks a free one [default: 8642, headless: 0]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Sparring partner: random, greedy, engine, or a level (beginner, easy, medium, hard, expert);
    /// repeatable, they take turns [default: greedy, random]
    #[arg(long, value_name = "WHO")]
    partner: Vec<Partner>,
    /// Nodes per move of an engine partner
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    nodes: u64,
    /// Time control of sparring games: seconds+increment [default: 60+1, with --games: 30+0]
    #[arg(long, value_name = "S+S", value_parser = parse_time)]
    tc: Option<TimeControl>,
    /// Concurrent games
    #[arg(long, value_name = "N", default_value_t = 1)]
    concurrency: usize,
    /// No sparring games; only the page and guests
    #[arg(long, conflicts_with_all = ["games", "headless"])]
    no_sparring: bool,
    /// Fault script: a file with one [[fault]] table per fault
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Replay the server's side of a recorded game (`megaton game ID --wire`, - for stdin) to the bot,
    /// and show where its calls differ: status 0 if nowhere, else 1
    #[arg(long, value_name = "FILE", conflicts_with_all = ["games", "no_sparring", "faults", "guest", "partner", "port"])]
    replay: Option<PathBuf>,
    /// Replay speed, as a multiple of the recorded one
    #[arg(long, value_name = "X", requires = "replay", default_value = "1", value_parser = parse_speed)]
    speed: f64,
    /// Open an account for another client; prints its token if you give none
    #[arg(long, value_name = "NAME[=TOKEN]")]
    guest: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    log: LogArgs,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok();
    let speed = speed.filter(|speed| (0.01..=10_000.0).contains(speed));
    speed.ok_or_else(|| "use a number from 0.01 to 10000".to_owned())
}

/// Parses a time control that Lichess offers to bots.
pub(super) fn parse_time(text: &str) -> Result<TimeControl, String> {
    let time = TimeControl::parse(text)
        .ok_or("write seconds+increment as Lichess offers it, such as 30+0, 60+1 or 180+2")?;
    if time.speed() == Speed::UltraBullet {
        return Err(
            "Lichess does not let bots play such short games; 30+0 is the shortest".to_owned(),
        );
    }
    Ok(time)
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, _) = args.config.load()?;
    // stdout shows the games; the log reports problems only.
    let quiet = Log {
        level: Level::Warn,
        // It is that of the bot.
        file: None,
        ..config.log
    };
    let log = logging::start(&args.log, &quiet)?;
    runtime::block_on(async {
        let signals = runtime::listen()?;
        tokio::spawn(log.watch());
        if let Some(file) = &args.replay {
            return replay(file, args, &config, &signals).await;
        }
        let (server, token) = start(args).await?;
        let outcome = practise(args, &config, (&server, &token), &signals).await;
        signals.now.cancel();
        server.shutdown().await;
        outcome
    })
}

/// The server, and the bot's token there.
async fn start(args: &Args) -> Result<(ServerHandle, String), Failure> {
    let port = args.port.unwrap_or(if args.headless { 0 } else { 8642 });
    let options = Options {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        bot: Some(BOT.to_owned()),
        ..Options::default()
    };
    let server = Server::start(options).await.map_err(|error| {
        Failure::setup(format!(
            "cannot listen on port {port} ({error}); --port 0 picks a free one"
        ))
    })?;
    if let Some(file) = &args.faults {
        server.faults().run(read_script(file)?);
    }
    let own_token = server.open_bot(BOT).unwrap_or_default();
    for guest in &args.guest {
        let (name, token) = guest.split_once('=').unwrap_or((guest, ""));
        let token = server.open_guest(name, token).ok_or_else(|| {
            Failure::setup(format!(
                "--guest {guest}: a name has 2 to 30 letters, digits, _ or -, and neither the name nor the token \
                 belongs to another account of the server, such as {BOT}, Expert or Visitor-1"
            ))
        })?;
        let url = server.url();
        let line = format!("{name} may connect to {url} with the token {token}");
        output::print(line)?;
    }
    if !args.headless {
        output::print(format!("Play Megaton at {}/  (Ctrl-C ends)", server.url()))?;
    }
    Ok((server, own_token))
}

fn read_script(file: &Path) -> Result<FaultScript, Failure> {
    let name = file.display();
    let text =
        std::fs::read_to_string(file).or_setup(format!("cannot read the fault script {name}"))?;
    FaultScript::parse(&text, 1).or_setup(name)
}

/// Runs the bot on the server until all games are over or Ctrl-C.
async fn practise(
    args: &Args,
    config: &Config,
    (server, token): (&ServerHandle, &str),
    signals: &Shutdown,
) -> Result<(), Failure> {
    let (control, commands) = bot::channel();
    let event_bus = EventBus::default();
    let event_log = event_bus.event_log().clone();
    server.allow_takebacks(BOT, true);
    server.rate(BOT, Rating::settled(FULL_RATING));
    let site = (server.url(), token);
    let mut bot = start_bot(args, config, site, signals, (event_bus, commands))?;
    let page = async {
        if !args.headless {
            serve_page(config, &control, event_log, server.url()).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = page => Ok(()),
        ended = &mut bot => ended.or_failed("the bot failed")?.map_err(Failure::failed),
        outcome = sparring(args, server, signals) => outcome,
        // A person who has seen enough need not wait for the end of a game.
        () = signals.drain.cancelled(), if !args.headless => Ok(()),
        () = signals.now.cancelled() => Err(Failure::failed("interrupted")),
    }
}

/// Replays a recorded game to the bot.
async fn replay(
    file: &Path,
    args: &Args,
    config: &Config,
    signals: &Shutdown,
) -> Result<(), Failure> {
    let name = input_name(file);
    let text = open_input(file)
        .and_then(io::read_to_string)
        .or_setup(&name)?;
    let recording = Recording::parse(&text).or_setup(&name)?;
    let mut replay = recording.start(args.speed).await?;
    let (_control, commands) = bot::channel();
    let site = (replay.url(), REPLAY_TOKEN);
    let mut bot = start_bot(args, config, site, signals, (EventBus::default(), commands))?;
    let report = tokio::select! {
        report = replay.finished() => report,
        ended = &mut bot => return ended.or_failed("the bot failed")?.map_err(Failure::failed),
        // The first signal: a recording has no game to finish.
        () = signals.drain.cancelled() => return Ok(()),
    };
    signals.now.cancel();
    let printed = output::print_text(&report);
    if report.differences.is_empty() {
        return printed;
    }
    Err(Failure::Reported)
}

fn start_bot(
    args: &Args,
    config: &Config,
    (url, token): (&str, &str),
    signals: &Shutdown,
    (event_bus, commands): (EventBus, CommandReceiver),
) -> Result<JoinHandle<Result<(), bot::BotError>>, Failure> {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(token, "practice").map_err(Failure::of_setup)?,
        contact: None,
        timing: Timing::default(),
    });
    let config = local_config(config, args);
    let options = BotOptions {
        exclusive: false,
        client: client.map_err(Failure::of_setup)?,
        pool: run::pool(&config)?,
        settings: config.clone(),
        timing: BotTiming::default(),
        event_bus,
        state: unlimited_state(Settings::default()),
        lists: ListSources::default(),
    };
    let shutdown = Shutdown {
        now: signals.now.clone(),
        ..Shutdown::default()
    };
    Ok(tokio::spawn(bot::run_commanded(
        options, shutdown, commands,
    )))
}

/// The config of a bot that plays here only: it asks nothing of Lichess.
fn local_config(config: &Config, args: &Args) -> Config {
    let mut config = config.clone();
    config.challenge = open_challenges(&config.challenge, args.concurrency);
    // The schedule starts the games.
    config.matchmaking.enabled = false;
    config.matchmaking.avoid.clear();
    config.arena.auto = false;
    config.arena.ids.clear();
    (config.explorer.enabled, config.online_tables.enabled) = (false, false);
    if args.replay.is_none() {
        // The page chooses the level, and a person at the page may try again.
        config.engine.casual_level = CasualLevel::Full;
        config.takeback.humans = config.takeback.humans.max(TAKEBACKS);
    }
    config
}

/// State in memory, without daily limits and pauses after losses.
pub(super) fn unlimited_state(mut settings: Settings) -> BotState {
    settings.limits.bot_games = u32::MAX;
    settings.guard.opponent_losses = u32::MAX;
    settings.guard.losses = u32::MAX;
    settings.guard.points = u32::MAX;
    let state = BotState::nowhere();
    state.set_rules(StateRules::from(&settings));
    state
}

/// The default rules without limits on how often one opponent plays.
pub(super) fn unlimited_visits() -> Visitors {
    Visitors {
        at_once: u32::MAX,
        repeats: u32::MAX,
        rematches: u32::MAX,
        per_day: u32::MAX,
        total_per_day: u32::MAX,
        ..Visitors::default()
    }
}

/// Rules that accept everyone, whatever the config says about Lichess, with a slot more than the
/// sparring games need.
fn open_challenges(usual: &Challenge, sparring: usize) -> Challenge {
    let anyone = Visitors {
        max_base: Duration::from_secs(10_800),
        max_increment: Duration::from_secs(180),
        max_duration: Duration::from_secs(36_000),
        ..unlimited_visits()
    };
    Challenge {
        concurrency: usual.concurrency.max(sparring + 1),
        humans: anyone.clone(),
        bots: anyone,
        ..Challenge::default()
    }
}

/// Opens the operator's page at the config's port, or at any port if that is taken.
async fn serve_page(config: &Config, control: &ControlHandle, event_log: EventLog, server: &str) {
    let mut anywhere = config.panel.clone();
    if let Some(address) = &mut anywhere.listen {
        address.set_port(0);
    }
    let opened = Http::open(&config.panel).or_else(|error| {
        tracing::debug!("cannot open the page: {error}");
        Http::open(&anywhere)
    });
    let Ok(Some(http)) = opened else { return };
    // If stdout is closed, printing the games fails too and ends the command.
    let _ = output::print(format!("Operator's page: {}", http.url()));
    let (watch, poller) = StatusWatch::new(control.clone());
    tokio::spawn(poller.run());
    let (_, reload) = Reloader::new(None, Config::default(), control.clone());
    let sources = HttpSources {
        reload,
        control: control.clone(),
        event_log,
        archive: None,
        health: Health::new(watch.clone(), SelfTest::default(), None),
        metrics: None,
        watch,
        server: server.to_owned(),
    };
    http.serve(sources).await;
}

async fn sparring(args: &Args, server: &ServerHandle, signals: &Shutdown) -> Result<(), Failure> {
    if !args.no_sparring {
        let games = server.play(BOT, schedule(args), signals.drain.clone());
        let report = print_events_during(server, games).await?;
        if args.games.is_some() {
            output::print_text(format!("\n{report}"))?;
            if args.headless && !report.is_clean() {
                return Err(Failure::failed("not every game finished cleanly"));
            }
        }
    }
    if !args.headless {
        print_events_during(server, signals.drain.cancelled()).await?;
    }
    Ok(())
}

fn schedule(args: &Args) -> Schedule {
    let with_nodes = |partner: &Partner| match partner {
        Partner::Engine { .. } => Partner::Engine { nodes: args.nodes },
        other => *other,
    };
    let is_watched = args.games.is_none();
    let (limit, increment) = if is_watched { (60, 1) } else { (30, 0) };
    let usual = Schedule::default();
    Schedule {
        games: args.games.unwrap_or(usize::MAX),
        concurrency: args.concurrency,
        partners: if args.partner.is_empty() {
            usual.partners
        } else {
            args.partner.iter().map(with_nodes).collect()
        },
        people: false,
        time: args.tc.unwrap_or(TimeControl::Clock { limit, increment }),
        rated: true,
        pause: if is_watched { PAUSE } else { Duration::ZERO },
        pace: if is_watched { PACE } else { Duration::ZERO },
    }
}

/// Prints the server's events while `work` runs; without a reader of stdout it is given up.
async fn print_events_during<T>(
    server: &ServerHandle,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let done = CancellationToken::new();
    let printer = tokio::spawn(print_events(server.events(), done.clone()));
    let worked = async {
        let result = work.await;
        done.cancel();
        Ok(result)
    };
    let shown = async { printer.await.unwrap_or(Ok(())) };
    let (result, ()) = tokio::try_join!(worked, shown)?;
    Ok(result)
}

async fn print_events(mut events: Receiver<Event>, done: CancellationToken) -> Result<(), Failure> {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = done.cancelled() => break,
        };
        match event {
            Ok(event) => output::print(event)?,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => break,
        }
    }
    while let Ok(event) = events.try_recv() {
        output::print(event)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    /// The arguments of this command line.
    fn args(words: &[&str]) -> Args {
        let command = Args::augment_args(Command::new("practice")).no_binary_name(true);
        Args::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn a_visitor_of_the_page_gets_takebacks_and_a_replayed_game_those_of_the_config() {
        let config = Config::parse("[takeback]\nhumans = 2\n").unwrap();
        let takebacks = |words: &[&str]| local_config(&config, &args(words)).takeback.humans;
        assert_eq!(takebacks(&[]), TAKEBACKS);
        assert_eq!(takebacks(&["--replay", "game.jsonl"]), 2);
    }

    #[test]
    fn time_controls_are_those_that_lichess_offers() {
        assert!(parse_time("30+0").is_ok());
        assert!(parse_time("61+0").is_err());
        assert!(parse_time("fast").is_err());
        let too_short = parse_time("15+0").unwrap_err();
        assert!(too_short.contains("does not let bots"), "{too_short}");
        assert!(parse_time("15+1").is_ok());
    }

    #[test]
    fn the_practice_bot_accepts_a_visitor() {
        let mut usual = Challenge::default();
        usual.humans.rated = false;
        usual.block.push("me".parse().unwrap());
        let open = open_challenges(&usual, 8);
        assert!(open.humans.rated && open.humans.accept && open.block.is_empty());
        assert_eq!((open.bots.per_day, open.bots.repeats), (u32::MAX, u32::MAX));
        assert_eq!(open.concurrency, 9);
    }

    #[test]
    fn the_practice_bot_asks_nothing_of_lichess() {
        let text = "[arena]\nids = [\"abcd1234\"]\n[explorer]\nenabled = true\n\
                    [online_tables]\nenabled = true\n\
                    [matchmaking]\nenabled = true\navoid = [\"https://example.org/list\"]\n";
        let config = Config::parse(text).unwrap();
        let local = local_config(&config, &args(&[]));
        assert!(!local.explorer.enabled && !local.online_tables.enabled);
        assert!(!local.matchmaking.enabled && local.matchmaking.avoid.is_empty());
        assert!(!local.arena.auto && local.arena.ids.is_empty());
    }
}
