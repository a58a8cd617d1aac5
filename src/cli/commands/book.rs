//! `megaton book`: grows opening books and shows what they know.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use megaton::book::{Candidate, Graph};
use megaton::engine::Evaluator;
use megaton::match_runner::{GrowOptions, GrowProgress, grow, read_graph};
use megaton::rules::{Game, Position};
use tokio::task::spawn_blocking;

use crate::cli::commands::engine_match::failure;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::output::table::{Align, Table};
use crate::cli::output::{self};
use crate::cli::runtime;
use crate::cli::setup::cores;

/// Time between two lines of progress without a terminal.
const LINE_PERIOD: Duration = Duration::from_secs(30);

/// Grow an opening book, and show what it knows
///
/// A book under construction is a graph of positions with the moves that a search considered in each. It is
/// a text file with a line for each position: stop a run at any time, even with kill -9; the same
/// command continues. Files of several runs may be joined with `cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton book grow data/book.graph --positions 20000 --background
  megaton book grow data/book.graph --positions 20000 --lines my-games.txt
  megaton book show data/book.graph Nf3 f6
  megaton book stats data/book.graph")]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Search the positions that matter most next, until the book has the wanted size
    Grow(Grow),
    /// Show what the book knows after some moves
    Show(Show),
    /// Count the positions and proofs of a book
    Stats(File),
}

#[derive(Debug, clap::Args)]
struct Grow {
    /// File of the book; created if missing
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Stop at this many positions, those of earlier runs included
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    positions: usize,
    /// Nodes to search for each position, for all its moves together
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    nodes: u64,
    /// Moves to compare in each position
    #[arg(long, value_name = "N", default_value_t = 5)]
    moves: usize,
    /// Positions that the proof of a win may visit; a proof is tried beyond 600 centipawns
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    proof_nodes: u64,
    /// File of lines to search first, one game a line, moves in UCI or SAN; of each the first 20
    /// half-moves
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Positions to search in parallel [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Run at background priority, on idle cores only
    #[arg(long)]
    background: bool,
    /// Evaluate with this net file [default: the built-in net]
    #[arg(long, value_name = "FILE")]
    eval_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// File of the book
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Moves from the start position, in UCI or SAN
    #[arg(value_name = "MOVE")]
    moves: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct File {
    /// File of the book
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Half-moves of a line that are searched first.
const SEED_PLIES: usize = 20;

pub(crate) fn execute(args: Args) -> Result<(), Failure> {
    match args.task {
        Task::Grow(args) => run(args),
        Task::Show(args) => show(&args),
        Task::Stats(args) => stats(&args.file),
    }
}

fn run(args: Grow) -> Result<(), Failure> {
    let seeds = args.lines.as_deref().map_or(Ok(Vec::new()), seeds)?;
    let evaluator = match &args.eval_file {
        Some(file) => Evaluator::named(file).or_setup("--eval-file")?,
        None => Evaluator::default(),
    };
    let options = GrowOptions {
        out: args.file,
        positions: args.positions,
        nodes: args.nodes,
        lines: args.moves,
        proof_nodes: args.proof_nodes,
        evaluator,
        threads: args.threads.unwrap_or_else(cores),
        in_background: args.background,
        seeds,
    };
    let grown = runtime::block_on(async {
        let signals = runtime::listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        tokio::spawn(async move {
            signals.drain.cancelled().await;
            stopped.store(true, Ordering::Relaxed);
        });
        let grown = spawn_blocking(move || {
            let bar = progress::bar(
                Some(options.positions as u64),
                "{bar:40} {pos}/{len} positions  {elapsed}, {eta} to go",
            );
            let line = parking_lot::Mutex::new(PeriodicLine::new(LINE_PERIOD));
            let grown = grow(&options, &stop, |now| {
                bar.set_position(now.positions as u64);
                if bar.is_hidden() {
                    line.lock()
                        .print(format_args!("{} positions", now.positions));
                }
            });
            bar.finish_and_clear();
            grown
        });
        let grown = grown.await.map_err(|_| anyhow!("a search failed"))?;
        grown.map_err(failure)
    })?;
    warn(&grown)?;
    output::print(format!("{} positions", grown.positions))
}

fn warn(progress: &GrowProgress) -> Result<(), Failure> {
    let Some(first) = &progress.first_damage else {
        return Ok(());
    };
    let damaged = progress.damaged;
    output::print(format!(
        "{damaged} damaged lines left out, the first: {first}"
    ))
}

/// The positions of the lines in a file.
fn seeds(file: &Path) -> Result<Vec<Position>, Failure> {
    let text = fs::read_to_string(file).or_setup(file.display())?;
    let mut seeds = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let moves: Vec<&str> = line.split_ascii_whitespace().collect();
        let game = game(moves.iter().take(SEED_PLIES)).map_err(|error| {
            Failure::setup(format!("{}, line {}: {error}", file.display(), index + 1))
        })?;
        seeds.extend_from_slice(game.positions());
    }
    Ok(seeds)
}

/// The game with these moves, in UCI or SAN.
fn game<S: AsRef<str>>(moves: impl IntoIterator<Item = S>) -> Result<Game, String> {
    let mut game = Game::new();
    for text in moves {
        let (text, position) = (text.as_ref(), game.position());
        let mv = position
            .parse_uci(text)
            .or_else(|_| position.parse_san(text));
        let mv =
            mv.map_err(|_| format!("{text:?} is no legal move after {} half-moves", game.ply()))?;
        game.push(mv);
    }
    Ok(game)
}

fn open(file: &Path) -> Result<Graph, Failure> {
    let text = fs::read_to_string(file).or_setup(file.display())?;
    let (graph, progress) = read_graph(&text);
    warn(&progress)?;
    Ok(graph)
}

fn show(args: &Show) -> Result<(), Failure> {
    let game = game(&args.moves).map_err(Failure::setup)?;
    let (graph, position) = (open(&args.file)?, game.position());
    let candidates = graph.candidates(position);
    if candidates.is_empty() {
        return output::print("not in the book");
    }
    let mut table = Table::new(&[
        ("move", Align::Left),
        ("score", Align::Right),
        ("expected reply", Align::Left),
    ]);
    for candidate in candidates {
        let reply = position.play(candidate.mv);
        let line = graph.candidates(&reply);
        table.row(vec![
            position.san(candidate.mv),
            score(&candidate),
            line.first()
                .map_or(String::new(), |best| reply.san(best.mv)),
        ]);
    }
    output::print(table.take())
}

fn score(candidate: &Candidate) -> String {
    match (candidate.win_in, candidate.loss_in) {
        (Some(plies), _) => format!("won in {plies}"),
        (None, Some(plies)) => format!("lost in {plies}"),
        (None, None) => format!("{:+.2}", f64::from(candidate.score) / 100.0),
    }
}

fn stats(file: &Path) -> Result<(), Failure> {
    let graph = open(file)?;
    let (mut moves, mut won, mut lost) = (0, 0, 0);
    for position in graph.positions() {
        let candidates = graph.candidates(position);
        moves += candidates.len();
        won += candidates.iter().filter(|it| it.win_in.is_some()).count();
        lost += candidates.iter().filter(|it| it.loss_in.is_some()).count();
    }
    output::print(format!(
        "positions    {}\nmoves        {moves}\nproved wins  {won}\nproved losses {lost}",
        graph.len()
    ))
}
