//! `megaton match`: games between two engines, and the difference in strength that they show.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use megaton::files::{check_apart, check_writable, write_whole};
use megaton::match_runner::{
    Match, MatchError, MatchReport, MoveLimit, Opening, PlayerSpec, Sprt, SprtVerdict,
    parse_openings, pgn, play,
};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::output::{self, match_report};
use crate::cli::setup::{Choice, one_of};

/// Exit status of a rejected test.
const EXIT_REJECTED: u8 = 3;
/// Exit status of an undecided test.
const EXIT_UNDECIDED: u8 = 4;
/// Default number of games, without and with a test.
const GAMES: usize = 200;
const GAMES_OF_A_TEST: usize = 10_000;

const SWITCH: &[Choice<bool>] = &[("on", "", true), ("off", "", false)];
const PLAYERS: &[Choice<[bool; 2]>] = &[
    ("a", "", [true, false]),
    ("b", "", [false, true]),
    ("both", "", [true, true]),
];

/// Play two engines against each other and measure the difference in strength
///
/// A player is `self`, this program's own engine in process (`self:hash=32,evalfile=a.net`; also
/// nodes, level, overhead, contempt, builtintables, ownbook and bookfile), or `cmd:PROGRAM ARGUMENTS`,
/// any UCI program that plays atomic. Every opening is played twice with colours reversed, and pairs
/// count in their order: at fixed nodes or depth, or on a clock that counts nodes, the same match gives
/// the same result, whatever the concurrency. Illegal moves, crashes, hangs and time losses forfeit the
/// game and are counted apart. Time in which a core stalled for 50 ms or more is charged to no clock.
///
/// Exit status: 0 match complete or test accepted; 3 test rejected; 4 test undecided.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton match self self:evalfile=old.net --nodes 10000 --openings data/openings.epd --sprt 0,10
  megaton match self 'cmd:fairy-stockfish' --b-option 'Use NNUE=false' --b-option Hash=64 \\
      --a-option Hash=64 --tc 2+0.02 --games 400 --openings balanced.epd --drop-forfeits b
  megaton match self 'cmd:./megaton uci' --nodes 2000 --games 40 --openings balanced.epd \\
      --journal data/match.jsonl --pgn games.pgn")]
pub(crate) struct Args {
    /// First player: how much stronger is it?
    #[arg(value_name = "A")]
    first: String,
    /// Second player
    #[arg(value_name = "B")]
    second: String,
    /// UCI option of A, such as Hash=64; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    a_option: Vec<String>,
    /// UCI option of B; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    b_option: Vec<String>,
    /// Opening positions: EPD or FEN, one a line
    #[arg(long, value_name = "FILE")]
    openings: PathBuf,
    #[command(flatten)]
    limit: Limit,
    /// Start no new iteration after this many nodes; --nodes then is the hard limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    soft_nodes: Option<u64>,
    /// Maximum number of games, rounded up to pairs [default: 200, with --sprt 10000; without a real clock at most
    /// two per opening]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    games: Option<u32>,
    /// Stop as soon as the SPRT accepts one of these two Elo differences, after 100 games at the earliest
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// Games to run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Seed for the order of openings
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Adjudicate games on which both scores have agreed for long, or whose result the built-in
    /// endgame tables know [default: only between two `self`]
    #[arg(long, value_name = "WHEN", value_parser = one_of(SWITCH))]
    adjudicate: Option<bool>,
    /// Adjudicate a draw after this many half-moves
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u16).range(1..=600))]
    longest_game: u16,
    /// Milliseconds past the clock before a game is lost on time
    #[arg(long, value_name = "MS", default_value_t = 50)]
    margin: u64,
    /// Seconds an answer may be overdue before the player forfeits; with --nodes or --depth the most
    /// that a move of a program may take
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watchdog: u64,
    /// Exclude pairs that this player forfeited: by an illegal move, a crash, a hang or on time
    #[arg(long, value_name = "WHO", value_parser = one_of(PLAYERS))]
    drop_forfeits: Option<[bool; 2]>,
    /// Journal of finished games; an interrupted match resumes from it
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Write the games as PGN at the end, with the scores from White's side and the depths as comments
    #[arg(long, value_name = "FILE")]
    pgn: Option<PathBuf>,
}

/// The limit of a move: one of these options.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Limit {
    /// Nodes per move
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Clock in seconds: base+increment; 10+0.1@20 counts 20 nodes as a millisecond of it
    #[arg(long, value_name = "S+S", value_parser = MoveLimit::parse_clock)]
    tc: Option<MoveLimit>,
    /// Seconds per move
    #[arg(long, value_name = "S", value_parser = MoveLimit::parse_movetime)]
    movetime: Option<MoveLimit>,
    /// Depth in plies per move
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: Option<u32>,
}

impl Limit {
    fn move_limit(&self, soft: Option<u64>) -> Result<MoveLimit, Failure> {
        // Without --nodes too: nothing is less than any number.
        if soft > self.nodes {
            let why = "--soft-nodes needs --nodes, the hard limit, with at least as many";
            return Err(Failure::setup(why));
        }
        let nodes = self.nodes.map(|hard| MoveLimit::Nodes { soft, hard });
        let depth = self.depth.map(MoveLimit::Depth);
        let limit = nodes.or(self.tc).or(self.movetime).or(depth);
        limit.ok_or_else(|| {
            Failure::setup("one of --nodes, --tc, --movetime or --depth is required")
        })
    }
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let contest = contest(args)?;
    if let Some(path) = &args.pgn {
        let used = contest.players.iter().flat_map(PlayerSpec::files);
        let used = used.chain(args.journal.iter().chain([&args.openings]).cloned());
        check_apart(path, used).or_setup(format!("--pgn {}", path.display()))?;
        check_writable(path).or_setup(format!("--pgn {}", path.display()))?;
    }
    let begun = Instant::now();
    let bar = progress::bar(
        Some(contest.pairs as u64),
        "{bar:30} {pos}/{len} pairs  {elapsed}, {eta} to go\n{msg}",
    );
    let mut lines = PeriodicLine::new();
    let report = play(&contest, |score| {
        let line = match_report::line(&contest, score);
        if bar.is_hidden() {
            return lines.print(line);
        }
        progress::advance(&bar, score.tally.pairs.iter().sum::<u64>() + score.dropped);
        bar.set_message(line);
    });
    bar.finish_and_clear();
    let report = report.map_err(failure)?;
    // The games and the exit status do not depend on a reader.
    let printed = output::print_text(match_report::text(&contest, &report, begun.elapsed()));
    if let Some(path) = &args.pgn {
        let games = pgn(&contest, &report);
        write_whole(path, |file| file.write_all(games.as_bytes())).or_failed(path.display())?;
    }
    if let Some(error) = report.failed {
        return Err(Failure::Failed(error.into()));
    }
    verdict(&report).and(printed)
}

fn contest(args: &Args) -> Result<Match, Failure> {
    let player =
        |text: &str, options: &[String]| PlayerSpec::parse(text, options).map_err(Failure::setup);
    let players = [
        player(&args.first, &args.a_option)?,
        player(&args.second, &args.b_option)?,
    ];
    let openings = openings(&args.openings)?;
    let allowance = args.limit.move_limit(args.soft_nodes)?;
    let usual = || {
        let games = if args.sprt.is_some() {
            GAMES_OF_A_TEST
        } else {
            GAMES
        };
        if allowance.is_fixed() {
            openings.len().min(games / 2)
        } else {
            games / 2
        }
    };
    let pairs = args
        .games
        .map_or_else(usual, |games| (games as usize).div_ceil(2));
    let adjudicates = args
        .adjudicate
        .unwrap_or_else(|| players.iter().all(PlayerSpec::is_inside));
    Ok(Match {
        players,
        allowance,
        openings,
        seed: args.seed,
        pairs,
        concurrency: args.concurrency.into(),
        sprt: args.sprt,
        adjudicates,
        most_plies: args.longest_game.into(),
        margin: Duration::from_millis(args.margin),
        watchdog: Duration::from_secs(args.watchdog),
        drops: args.drop_forfeits.unwrap_or_default(),
        journal: args.journal.clone(),
    })
}

pub(super) fn openings(path: &Path) -> Result<Vec<Opening>, Failure> {
    let option = format!("--openings {}", path.display());
    let text = fs::read_to_string(path).or_setup(&option)?;
    parse_openings(&text).or_setup(option)
}

pub(super) fn failure(error: MatchError) -> Failure {
    match error {
        MatchError::File { .. } | MatchError::Engine(_) => Failure::Failed(error.into()),
        MatchError::Setup(_) | MatchError::Player { .. } => Failure::Setup(error.into()),
    }
}

fn verdict(report: &MatchReport) -> Result<(), Failure> {
    match report.verdict {
        None | Some(SprtVerdict::Accepted) => Ok(()),
        Some(SprtVerdict::Rejected) => Err(Failure::Answer(EXIT_REJECTED)),
        Some(SprtVerdict::Undecided) => Err(Failure::Answer(EXIT_UNDECIDED)),
    }
}
