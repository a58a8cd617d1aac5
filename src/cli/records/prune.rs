//! `megaton prune`: what is old goes.

use std::io::{self, Write};

use megaton::archive::{Database, Prune, dates};

use super::filters::when;
use super::place::ArchiveArgs;
use crate::cli::failure::Failure;
use crate::cli::prompt;

/// Delete old games, or only the engine's analysis of them
///
/// Safe beside a running bot. Deleted data cannot be recovered: see `megaton backup`. The bot
/// prunes by itself as `[archive]` of its config says.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton prune --older-than 365d --dry-run
  megaton prune --older-than 90d --details
  megaton prune --older-than 2026-01-01 --yes")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Games that started before: a date (2026-11-21) or an age (12h, 7d, 3w)
    #[arg(long, value_name = "WHEN")]
    older_than: String,
    /// Keep games with moves and clocks; delete only scores, depths and lines
    #[arg(long)]
    details: bool,
    /// Change nothing; only report the counts
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let before = when("--older-than", Some(&args.older_than))?.unwrap_or_default();
    let (reader, place) = args.archive.open()?;
    let games = reader.prunable(before)?;
    let date = dates::minute(before);
    let what = if args.details {
        // Of some of them they may be gone already.
        format!("the details of up to {games} games from before {date}")
    } else {
        format!("{games} games from before {date}, and the challenges and events")
    };
    let mut out = io::stdout().lock();
    if args.dry_run {
        writeln!(out, "would delete {what}")?;
        return Ok(());
    }
    prompt::confirm(
        &format!("Delete {what} from {}?", place.path.display()),
        args.yes,
    )?;
    drop(reader);
    let mut disk = Database::open(&place.path, dates::now())?;
    let kind = if args.details {
        Prune::Details
    } else {
        Prune::Games
    };
    let gone = disk.prune(before, kind)?;
    match kind {
        Prune::Games => writeln!(
            out,
            "deleted {} games, {} challenges and {} events",
            gone.games, gone.challenges, gone.events
        )?,
        Prune::Details => writeln!(out, "deleted the details of {} games", gone.games)?,
    }
    Ok(())
}
