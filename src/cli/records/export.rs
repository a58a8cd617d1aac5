//! `megaton export`: games as PGN.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use megaton::archive::{Filter, GameRecord, Order, PgnOptions, pgn_reviewed};

use super::filters::GameFilterArgs;
use super::game::id_of;
use super::place::ArchiveArgs;
use crate::cli::failure::Failure;
use crate::cli::prompt;

/// Export games as PGN, oldest first
///
/// With `[Variant "Atomic"]`, clocks (`%clk`), scores from White's view (`%eval`, with depth) and
/// the time of each move (`%emt`). The losing move found by a review is marked (`$4`), with the
/// better line as a variation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton export > all.pgn
  megaton export q7ZxVt2B --lines
  megaton export --since 7d --result loss --out losses.pgn")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: GameFilterArgs,
    /// Only these games: ids or URLs
    #[arg(value_name = "ID")]
    games: Vec<String>,
    /// Output file, replaced once the new one is complete [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Moves and results only, plus lines if requested
    #[arg(long)]
    bare: bool,
    /// Add the engine's expected lines as variations where the reply differed
    #[arg(long)]
    lines: bool,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let Some(path) = &args.out else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write(args, &mut out)?;
        return Ok(out.flush()?);
    };
    let partial = path.with_added_extension("partial");
    let named = |error: io::Error| Failure::failed(format!("{}: {error}", path.display()));
    let written = fs::File::create(&partial).map_err(named).and_then(|file| {
        let mut out = io::BufWriter::new(file);
        let games = write(args, &mut out)?;
        finish(out, &partial, path).map_err(named)?;
        Ok(games)
    });
    if written.is_err() {
        // What is left of it is of no use to anyone.
        let _ = fs::remove_file(&partial);
    }
    prompt::say(&format!(
        "{} games written to {}\n",
        written?,
        path.display()
    ))
}

fn finish(out: io::BufWriter<fs::File>, partial: &Path, path: &Path) -> io::Result<()> {
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(partial, path)
}

/// How many were written.
fn write(args: &Args, out: &mut impl Write) -> Result<u64, Failure> {
    let (reader, place) = args.archive.open()?;
    let options = PgnOptions {
        site: place.site,
        comments: !args.bare,
        lines: args.lines,
    };
    let mut games = 0;
    let mut put = |game: &GameRecord| -> Result<bool, Failure> {
        let review = reader.review(&game.id)?;
        let text = pgn_reviewed(game, review.as_ref(), &options);
        out.write_all(text.as_bytes())?;
        games += 1;
        Ok(true)
    };
    let filter = args.wanted.filter()?;
    if !args.games.is_empty() && filter != Filter::default() {
        return Err(Failure::setup(
            "ids cannot be combined with filters: leave out one or the other",
        ));
    }
    if args.games.is_empty() {
        reader.each_game(&filter, Order::Oldest, usize::MAX, |game| put(&game))?;
    }
    for id in &args.games {
        let game = reader.game(id_of(id))?;
        put(&game.ok_or_else(|| Failure::setup(format!("there is no game {id}")))?)?;
    }
    Ok(games)
}
