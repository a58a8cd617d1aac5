//! Runs a soak: sets up server, bot and schedule, watches them, and shuts them down.

use std::time::{Duration, Instant};

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::practice::chaos::FaultMix;
use crate::practice::event::Event;
use crate::practice::game_settings::TimeControl;
use crate::practice::report::ScheduleReport;
use crate::practice::schedule::Schedule;
use crate::practice::server::{Options, Server, ServerHandle};
use crate::practice::sparring_bot::Partner;
use crate::practice::time::Timing;

use super::memory::resident_kilobytes;
use super::summary::SoakReport;

const BOT: &str = "Megaton";
/// How often to check for stalls.
const HEARTBEAT: Duration = Duration::from_millis(5);
/// Time allowed for the bot to end after its last game.
const DRAIN: Duration = Duration::from_secs(20);

/// The options of a soak.
#[derive(Clone, Debug)]
pub struct SoakOptions {
    pub games: usize,
    /// How many at a time.
    pub concurrency: usize,
    /// Kinds of faults: "all", "none", or comma-separated names.
    pub faults: String,
    pub seed: u64,
    /// Speed factor.
    pub speed: u32,
    /// Nodes that the bot searches for each move.
    pub nodes: u64,
    /// The time control, in seconds of Lichess.
    pub time: TimeControl,
}

impl Default for SoakOptions {
    fn default() -> Self {
        Self {
            games: 200,
            concurrency: 32,
            faults: "all".to_owned(),
            seed: 1,
            speed: 60,
            nodes: 200,
            time: TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
        }
    }
}

/// Why the soak could not run.
#[derive(Debug, Error)]
pub enum SoakError {
    /// An unknown kind of fault.
    #[error("{0}")]
    Faults(String),
    /// The server could not be set up.
    #[error("cannot set up the server: {0}")]
    Setup(String),
}

/// Where the bot plays, and when it must end.
#[derive(Debug)]
pub struct SoakTarget {
    /// The address of the server.
    pub url: String,
    /// The token of the bot's account.
    pub token: String,
    /// Cancelled after the last game: the bot should drain.
    pub drain: CancellationToken,
}

/// Plays all games and reports progress after each. `bot` plays on the given target until it is
/// drained, and returns whether it ended well.
///
/// # Errors If the setup fails; whatever happens in the games is in the report.
pub async fn soak<B>(
    options: &SoakOptions,
    bot: impl FnOnce(SoakTarget) -> B,
    stop: CancellationToken,
    progress: impl Fn(usize),
) -> Result<SoakReport, SoakError>
where
    B: Future<Output = bool> + Send + 'static,
{
    let mix = FaultMix::parse(&options.faults, options.seed, options.speed);
    let mix = mix.map_err(SoakError::Faults)?;
    let server = Server::start(Options {
        timing: Timing::fast(options.speed),
        seed: options.seed,
        ..Options::default()
    })
    .await
    .map_err(|error| SoakError::Setup(error.to_string()))?;
    server.faults().mix(mix);
    let begun = Instant::now();
    let drain = CancellationToken::new();
    let stall = tokio::spawn(longest_stall(drain.clone()));
    let token = server.open_bot(BOT).unwrap_or_default();
    let bot = tokio::spawn(bot(SoakTarget {
        url: server.url().to_owned(),
        token,
        drain: drain.clone(),
    }));
    let mut report = SoakReport {
        rss: vec![resident_kilobytes()],
        ..SoakReport::default()
    };
    report.scheduled = play(&server, options, stop, |over| {
        progress(over);
        if over == options.games / 4 || over == options.games / 2 {
            report.rss.push(resident_kilobytes());
        }
    })
    .await;
    drain.cancel();
    report.ended_well = matches!(tokio::time::timeout(DRAIN, bot).await, Ok(Ok(true)));
    report.rss.push(resident_kilobytes());
    report.others = server.take_reports();
    report.traffic = server.traffic();
    report.injected = server.faults().injected();
    report.wall = begun.elapsed();
    report.longest_stall = stall.await.unwrap_or_default();
    server.shutdown().await;
    Ok(report)
}

/// How late a task woke at worst: the machine's own fault, which puts the rest into perspective.
async fn longest_stall(quit: CancellationToken) -> Duration {
    let mut longest = Duration::ZERO;
    while !quit.is_cancelled() {
        let asleep = Instant::now();
        tokio::time::sleep(HEARTBEAT).await;
        longest = longest.max(asleep.elapsed().saturating_sub(HEARTBEAT));
    }
    longest
}

/// Plays the schedule and reports the number of finished games.
async fn play(
    server: &ServerHandle,
    options: &SoakOptions,
    stop: CancellationToken,
    mut ended: impl FnMut(usize),
) -> ScheduleReport {
    let mut news = server.events();
    let games = server.play(BOT, schedule(options), stop);
    tokio::pin!(games);
    let mut over = 0;
    loop {
        tokio::select! {
            report = &mut games => return report,
            event = news.recv() => if matches!(event, Ok(Event::Ended { .. })) {
                over += 1;
                ended(over);
            },
        }
    }
}

fn schedule(options: &SoakOptions) -> Schedule {
    Schedule {
        games: options.games,
        concurrency: options.concurrency,
        partners: vec![
            Partner::Greedy,
            Partner::Random,
            Partner::Engine {
                nodes: options.nodes,
            },
        ],
        people: false,
        time: options.time,
        rated: true,
        pause: Duration::ZERO,
        pace: Duration::ZERO,
    }
}
