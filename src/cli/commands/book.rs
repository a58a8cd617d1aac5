//! `megaton book`: grows opening books and shows what they know.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use megaton::archive::{ArchiveReader, Filter, Order};
use megaton::book::{BookFile, Candidate, Expansion, Graph, open_book};
use megaton::files::{check_apart, write_whole};
use megaton::match_runner::{GrowOptions, GrowProgress, grow, import, read_graph};
use megaton::rules::{Game, Position};
use tokio::task::spawn_blocking;

use crate::cli::commands::engine_match::failure;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::output::table::{Align, Table};
use crate::cli::output::{self};
use crate::cli::runtime;
use crate::cli::setup::{EvalArgs, cores};

/// Grow an opening book, and show what it knows
///
/// A book under construction is a graph of positions with the moves that a search considered in each. It is
/// a text file with a line for each position: stop a run at any time, even with kill -9; the same
/// command continues. Files of several runs may be joined with `cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton book grow data/book.graph --positions 20000 --background
  megaton book grow data/book.graph --positions 22000 --deep --nodes 2000000 --moves 3
  megaton book grow data/book.graph --archive data/lichess.org/games.db
  megaton book show built-in Nf3 f6
  megaton book stats data/book.graph
  megaton book import data/book.graph
  megaton book export data/book.graph data/own.book
  megaton book export built-in data/book.bin --polyglot")]
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
    Stats {
        /// File of the book, exported or under construction; built-in: the one in the program
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write a book that the bot and other programs play from
    Export(Export),
    /// Add the positions of a book, with their scores, to a book under construction
    Import(Import),
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
    /// Follow the best lines far instead of covering more replies; use many nodes
    #[arg(long)]
    deep: bool,
    /// Positions that the proof of a win may visit; a proof is tried beyond 600 centipawns
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    proof_nodes: u64,
    /// File of lines to search first, one game a line, moves in UCI or SAN; of each the first 20
    /// half-moves
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Archive of the bot: search its games first, of each the first 20 half-moves
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Book, Polyglot or exported: search its positions first
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Positions to search in parallel [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Run at the lowest priority (nice 19)
    #[arg(long)]
    background: bool,
    #[command(flatten)]
    eval: EvalArgs,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// File of the book, exported or under construction; built-in: the one in the program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Moves from the start position, in UCI or SAN
    #[arg(value_name = "MOVE")]
    moves: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct Export {
    /// File of the book, exported or under construction; built-in: the one in the program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File to write
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Write a Polyglot file: the moves that are played, without scores
    #[arg(long)]
    polyglot: bool,
    /// Play only moves after which at least N positions were searched
    #[arg(long, value_name = "N", default_value_t = 10)]
    visits: u8,
}

#[derive(Debug, clap::Args)]
struct Import {
    /// File of the book under construction; created if missing
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Exported book; built-in: the one in the program
    #[arg(value_name = "BOOK", default_value = BUILT_IN)]
    book: PathBuf,
}

/// Names the book in the program.
const BUILT_IN: &str = "built-in";

/// Half-moves of a line that are searched first.
const SEED_PLIES: usize = 20;

pub(crate) fn execute(args: Args) -> Result<(), Failure> {
    match args.task {
        Task::Grow(args) => run(args),
        Task::Show(args) => show(&args),
        Task::Stats { file } => stats(&file),
        Task::Export(args) => export(&args),
        Task::Import(args) => {
            let added = import(&args.file, &open(&args.book)?).map_err(failure)?;
            output::print(format!("{added} positions added"))
        }
    }
}

fn run(args: Grow) -> Result<(), Failure> {
    let seeds = seeds(&args)?;
    let options = GrowOptions {
        out: args.file,
        positions: args.positions,
        nodes: args.nodes,
        lines: args.moves,
        expansion: if args.deep {
            Expansion::Deep
        } else {
            Expansion::Broad
        },
        proof_nodes: args.proof_nodes,
        evaluator: args.eval.evaluator()?,
        threads: args.threads.unwrap_or_else(cores),
        in_background: args.background,
        seeds,
    };
    let grown = runtime::block_on(async {
        let signals = runtime::listen()?;
        let bar = progress::bar(
            Some(options.positions as u64),
            "{bar:40} {pos}/{len} positions  {elapsed}, {eta} to go",
        );
        let stop = runtime::flag_of(&signals.drain, &bar);
        let grown = spawn_blocking(move || {
            let line = parking_lot::Mutex::new(PeriodicLine::new());
            let grown = grow(&options, &stop, |now| {
                progress::advance(&bar, now.positions as u64);
                if bar.is_hidden() {
                    line.lock()
                        .print(format_args!("{} positions", now.positions));
                }
            });
            bar.finish_and_clear();
            grown
        });
        tokio::select! {
            grown = grown => grown.map_err(|_| anyhow!("a search failed"))?.map_err(failure),
            () = signals.now.cancelled() => {
                Err(Failure::failed("interrupted; the same command continues"))
            }
        }
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

/// The positions that are searched first; those of the lines before the others.
fn seeds(args: &Grow) -> Result<Vec<Position>, Failure> {
    let mut seeds = Vec::new();
    if let Some(file) = &args.book {
        let book = open_book(file).map_err(Failure::setup)?;
        seeds.extend(book.positions());
    }
    if let Some(file) = &args.archive {
        let reader = ArchiveReader::open(file)?;
        reader.each_game(&Filter::default(), Order::Oldest, usize::MAX, |record| {
            if record.initial_fen.is_none() {
                let moves = record.moves.iter().map(|made| made.uci.as_str());
                let game = game(moves.take(SEED_PLIES)).map_err(Failure::setup)?;
                seeds.extend_from_slice(game.positions());
            }
            Ok::<bool, Failure>(true)
        })?;
    }
    if let Some(file) = &args.lines {
        let text = fs::read_to_string(file).or_setup(file.display())?;
        for (index, line) in text.lines().enumerate() {
            let moves = line.split_ascii_whitespace().take(SEED_PLIES);
            let game = game(moves).map_err(|error| {
                Failure::setup(format!("{}, line {}: {error}", file.display(), index + 1))
            })?;
            seeds.extend_from_slice(game.positions());
        }
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
        let mv = mv.map_err(|_| {
            format!(
                "{text:?} is not a legal move after {} half-moves",
                game.ply()
            )
        })?;
        game.push(mv);
    }
    Ok(game)
}

/// The book in a file of any format that has scores, or in the program.
fn open(file: &Path) -> Result<Graph, Failure> {
    let book = if file == Path::new(BUILT_IN) {
        BookFile::built_in()
    } else {
        let bytes = fs::read(file).or_setup(file.display())?;
        // A book under construction is text, but for damaged lines.
        let (graph, progress) = read_graph(&String::from_utf8_lossy(&bytes));
        if progress.positions > 0 || bytes.is_empty() {
            warn(&progress)?;
            return Ok(graph);
        }
        if let Some(damage) = progress.first_damage.filter(|_| bytes.is_ascii()) {
            let file = file.display();
            return Err(Failure::setup(format!("{file} is no book: {damage}")));
        }
        Arc::new(open_book(file).map_err(Failure::setup)?)
    };
    book.graph().ok_or_else(|| {
        let file = file.display();
        Failure::setup(format!(
            "{file} is a Polyglot book, which has no scores; \"megaton book grow\" with --book {file} \
             searches its positions"
        ))
    })
}

fn export(args: &Export) -> Result<(), Failure> {
    let book = BookFile::from_graph(&open(&args.file)?, args.visits);
    let bytes = if args.polyglot {
        book.polyglot()
    } else {
        book.bytes()
    };
    // A book without a move would cost the user the one that OUT may hold.
    if book.is_empty() || bytes.is_empty() {
        let why = "nothing to export: no move reaches --visits";
        return Err(Failure::setup(format!("{why} {}", args.visits)));
    }
    check_apart(&args.out, [&args.file]).or_setup(args.out.display())?;
    // Reading a pipe would wait for ever.
    let replaced = args.out.is_file().then(|| fs::read(&args.out));
    let replaced = replaced.and_then(Result::ok).unwrap_or_default();
    if read_graph(&String::from_utf8_lossy(&replaced)).1.positions > 0 {
        let out = args.out.display();
        let why = format!("{out} is a book under construction, which the export would replace");
        return Err(Failure::setup(format!("{why}; name another file")));
    }
    let written = write_whole(&args.out, |file| file.write_all(&bytes));
    written.or_failed(args.out.display())?;
    output::print(format!("{} bytes", bytes.len()))
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
        ("positions", Align::Right),
        ("expected reply", Align::Left),
    ]);
    for candidate in candidates {
        let reply = position.play(candidate.mv);
        let line = graph.candidates(&reply);
        table.row(vec![
            position.san(candidate.mv),
            score(&candidate),
            graph.visits(&reply, u8::MAX).to_string(),
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
        "positions     {}\nmoves         {moves}\nproved wins   {won}\nproved losses {lost}\nmain line     {}",
        graph.len(),
        main_line(&graph)
    ))
}

/// The best moves from the start position on.
fn main_line(graph: &Graph) -> String {
    let mut game = Game::new();
    let mut line = Vec::new();
    while let Some(best) = graph.candidates(game.position()).first()
        && game.repetitions() < 2
    {
        line.push(game.position().san(best.mv));
        game.push(best.mv);
    }
    line.join(" ")
}
