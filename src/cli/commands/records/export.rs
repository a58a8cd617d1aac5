//! `megaton export`: games as PGN.

use std::io::{self, Write};
use std::path::PathBuf;

use megaton::archive::{Filter, GameRecord, Order, PgnOptions, pgn_reviewed};
use megaton::files::{AtomicFile, check_apart};

use super::filters::GameFilterArgs;
use super::id_of;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::setup::ArchiveArgs;
use crate::cli::{output, prompt};

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
pub(crate) struct Args {
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

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let Some(path) = &args.out else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write(args, &mut out)?;
        return Ok(out.flush()?);
    };
    check_apart(path, [args.archive.locate()?.path]).or_setup(path.display())?;
    let mut out = AtomicFile::create(path).or_failed(path.display())?;
    let games = write(args, &mut out)?;
    out.commit().or_failed(path.display())?;
    let games = output::count(games, "game");
    prompt::write(&format!("{games} written to {}\n", path.display()))
}

/// Writes the games and returns how many there are.
fn write(args: &Args, out: &mut impl Write) -> Result<u64, Failure> {
    let (reader, location) = args.archive.open()?;
    let options = PgnOptions {
        site: location.site,
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
    if args.games.is_empty() {
        reader.each_game(&filter, Order::Oldest, usize::MAX, |game| put(&game))?;
    } else if filter != Filter::default() {
        return Err(Failure::setup(
            "ids cannot be combined with filters: leave out one or the other",
        ));
    }
    for id in &args.games {
        let game = reader.game(id_of(id))?;
        put(&game.ok_or_else(|| Failure::setup(format!("there is no game {id}")))?)?;
    }
    Ok(games)
}
