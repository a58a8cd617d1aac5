//! `megaton practice`: a small Lichess on the loopback, the bot on it, and a page to play at.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use megaton::bot::{
    self, BotOptions, BotState, BotTiming, CommandReceiver, ControlHandle, EventBus, EventLog,
    ListSources, Settings, Shutdown, StateRules,
};
use megaton::config::{Challenge, Config, Level, Log, Visitors};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::practice::{
    ALL_SCOPES, AccountKind, Event, FaultScript, Options, Partner, Schedule, ScheduleReport,
    Server, ServerHandle, Speed, TimeControl,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::logging;
#[cfg(unix)]
use super::page;
use super::run;
use super::runtime;
use super::setup::{ConfigArgs, LogArgs};

/// The account under which the bot plays here.
const BOT: &str = "Megaton";

/// Between two sparring games, and before a partner's move, for those who look on.
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
  megaton practice --games 10 --headless --faults faults.toml")]
pub(super) struct Args {
    /// Let the bot play this many games against the built-in partners
    #[arg(long, value_name = "N")]
    games: Option<usize>,
    /// Play only the games, print a summary and exit
    #[arg(long, requires = "games")]
    headless: bool,
    /// Port of the page and the Bot API; 0 picks a free one [default: 8642, headless: 0]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Sparring partner: random, greedy or engine; repeatable, they take turns [default: greedy,
    /// random]
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
    #[arg(long, conflicts_with = "games")]
    no_sparring: bool,
    /// Fault script: a file with one [[fault]] table per fault
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    /// Open an account for another client; prints its token if you give none
    #[arg(long, value_name = "NAME[=TOKEN]")]
    guest: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    log: LogArgs,
}

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

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, _) = args.config.load()?;
    // The terminal belongs to the games; the log speaks up when something is wrong.
    let quiet = Log {
        level: Level::Warn,
        ..config.log
    };
    let log = logging::start(&args.log.over(&quiet))?;
    runtime::block_on(async {
        let signals = runtime::listen()?;
        tokio::spawn(log.watch());
        let server = start(args).await?;
        let outcome = practise(args, &config, &server, &signals).await;
        signals.now.cancel();
        server.shutdown().await;
        outcome
    })
}

async fn start(args: &Args) -> Result<ServerHandle, Failure> {
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
    let mut out = io::stdout().lock();
    for guest in &args.guest {
        let (name, token) = open_for_guest(&server, guest)?;
        writeln!(
            out,
            "{name} may connect to {} with the token {token}",
            server.url()
        )?;
    }
    if !args.headless {
        writeln!(out, "Play Megaton at {}/  (Ctrl-C ends)", server.url())?;
    }
    out.flush()?;
    Ok(server)
}

/// A script of faults for a server as fast as Lichess.
fn read_script(file: &Path) -> Result<FaultScript, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::setup(format!("cannot read the fault script {name}: {error}")))?;
    FaultScript::parse(&text, 1).map_err(|error| Failure::setup(format!("{name}: {error}")))
}

fn open_for_guest(server: &ServerHandle, guest: &str) -> Result<(String, String), Failure> {
    let (name, token) = guest.split_once('=').unwrap_or((guest, ""));
    let opened = if token.is_empty() {
        server.open_bot(name)
    } else {
        let opened = server.open_with_token(name, AccountKind::Bot, &ALL_SCOPES, token);
        opened.map(|()| token.to_owned())
    };
    let token = opened.ok_or_else(|| {
        Failure::setup(format!(
            "--guest {name}: a name has 2 to 30 letters, digits, _ or -"
        ))
    })?;
    Ok((name.to_owned(), token))
}

/// Puts the bot on the server and lets it play until all is done or Ctrl-C.
async fn practise(
    args: &Args,
    config: &Config,
    server: &ServerHandle,
    signals: &Shutdown,
) -> Result<(), Failure> {
    let (control, commands) = bot::channel();
    let listeners = EventBus::default();
    let event_log = listeners.event_log().clone();
    let mut bot = put_on(args, config, server, signals, (listeners, commands))?;
    let looking_on = async {
        if !args.headless {
            look_on(config, control, event_log, server.url()).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = looking_on => Ok(()),
        ended = &mut bot => {
            let ended = ended.map_err(|error| Failure::failed(format!("the bot failed: {error}")))?;
            ended.map_err(|error| Failure::failed(error.to_string()))
        }
        outcome = sparring(args, server, signals) => outcome,
        // Who looks on and has seen enough need not wait for the end of a game.
        () = signals.drain.cancelled(), if !args.headless => Ok(()),
        () = signals.now.cancelled() => Ok(()),
    }
}

fn put_on(
    args: &Args,
    config: &Config,
    server: &ServerHandle,
    signals: &Shutdown,
    (listeners, commands): (EventBus, CommandReceiver),
) -> Result<JoinHandle<Result<(), bot::BotError>>, Failure> {
    let token = server.open_bot(BOT).unwrap_or_default();
    let token = Token::parse(&token, "practice").map_err(|error| Failure::Setup(error.into()))?;
    let client = Client::new(ClientOptions {
        base_url: server.url().to_owned(),
        token,
        contact: None,
        timing: Timing::default(),
    });
    let mut config = config.clone();
    config.challenge = open_door(&config.challenge, args.concurrency);
    // Nor does it look for games: the schedule does.
    config.matchmaking.enabled = false;
    config.arena.auto = false;
    let options = BotOptions {
        sole: false,
        client: client.map_err(|error| Failure::Setup(error.into()))?,
        pool: run::pool(&config)?,
        settings: Settings::from(&config),
        timing: BotTiming::default(),
        listeners,
        state: open_memory(),
        lists: ListSources::default(),
    };
    let shutdown = Shutdown {
        drain: CancellationToken::new(),
        now: signals.now.clone(),
    };
    Ok(tokio::spawn(bot::run_commanded(
        options, shutdown, commands,
    )))
}

#[cfg(not(unix))]
async fn look_on(_: &Config, _: ControlHandle, _: EventLog, _: &str) {}

/// Opens the operator's page of this bot and says where it is.
#[cfg(unix)]
async fn look_on(config: &Config, control: ControlHandle, event_log: EventLog, server: &str) {
    let Some(http) = page::open_for_practice(&config.panel) else {
        return;
    };
    // A terminal that is gone is noticed where games are told.
    let _ = writeln!(io::stdout(), "Operator's page: {}", http.url());
    http.serve(page::sources(&control, event_log, server)).await;
}

/// Nothing is kept, and no day's limit or run of losses ends a practice.
fn open_memory() -> BotState {
    let memory = BotState::nowhere();
    let mut endless = Settings::default();
    endless.limits.bot_games = u32::MAX;
    endless.guard.opponent_losses = u32::MAX;
    endless.guard.losses = u32::MAX;
    endless.guard.points = u32::MAX;
    memory.set_rules(StateRules::from(&endless));
    memory
}

/// Here everyone may play, whatever the config says of Lichess; one seat is kept for a visitor.
fn open_door(usual: &Challenge, sparring: usize) -> Challenge {
    let anyone = Visitors {
        max_base: Duration::from_secs(10_800),
        max_increment: Duration::from_secs(180),
        max_duration: Duration::from_secs(36_000),
        ..Visitors::default()
    };
    Challenge {
        concurrency: usual.concurrency.max(sparring + 1),
        humans: anyone.clone(),
        bots: anyone,
        ..Challenge::default()
    }
}

async fn sparring(args: &Args, server: &ServerHandle, signals: &Shutdown) -> Result<(), Failure> {
    if !args.no_sparring {
        let games = server.play(BOT, schedule(args), signals.drain.clone());
        let report = told(server, games).await?;
        if args.games.is_some() {
            conclude(&report, args.headless)?;
        }
    }
    if !args.headless {
        told(server, signals.drain.cancelled()).await?;
    }
    Ok(())
}

fn schedule(args: &Args) -> Schedule {
    let engine = Partner::Engine { nodes: args.nodes };
    let with_nodes = |partner: &Partner| match partner {
        Partner::Engine { .. } => engine,
        other => *other,
    };
    let usual = Schedule::default();
    let watched = args.games.is_none();
    let seconds = if watched { (60, 1) } else { (30, 0) };
    let time = TimeControl::Clock {
        limit: seconds.0,
        increment: seconds.1,
    };
    Schedule {
        games: args.games.unwrap_or(usize::MAX),
        concurrency: args.concurrency,
        partners: if args.partner.is_empty() {
            usual.partners
        } else {
            args.partner.iter().map(with_nodes).collect()
        },
        people: false,
        time: args.tc.unwrap_or(time),
        rated: true,
        pause: if watched { PAUSE } else { Duration::ZERO },
        pace: if watched { PACE } else { Duration::ZERO },
    }
}

fn conclude(report: &ScheduleReport, headless: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "\n{report}")?;
    out.flush()?;
    if headless && !report.is_clean() {
        return Err(Failure::failed("not every game finished cleanly"));
    }
    Ok(())
}

/// Waits for something to be over and prints meanwhile what happens on the server.
async fn told<T>(server: &ServerHandle, work: impl Future<Output = T>) -> io::Result<T> {
    let done = CancellationToken::new();
    let printer = tokio::spawn(print(server.events(), done.clone()));
    let result = work.await;
    done.cancel();
    match printer.await {
        Ok(Err(error)) => Err(error),
        _ => Ok(result),
    }
}

/// One line for everything that happens, until told that nothing more will.
async fn print(mut news: Receiver<Event>, done: CancellationToken) -> io::Result<()> {
    loop {
        let event = tokio::select! {
            event = news.recv() => event,
            () = done.cancelled() => break,
        };
        match event {
            Ok(event) => writeln!(io::stdout().lock(), "{event}")?,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => break,
        }
    }
    while let Ok(event) = news.try_recv() {
        writeln!(io::stdout().lock(), "{event}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_door_is_open_and_has_a_seat_for_a_visitor() {
        let mut usual = Challenge::default();
        usual.humans.rated = false;
        usual.block.push("me".parse().unwrap());
        let open = open_door(&usual, 8);
        assert!(open.humans.rated && open.humans.accept && open.block.is_empty());
        assert_eq!(open.concurrency, 9);
    }
}
