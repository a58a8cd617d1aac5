//! `megaton prune`: deletes what is old.

use megaton::archive::{Database, Prune, dates};

use super::filters::moment;
use crate::cli::failure::Failure;
use crate::cli::setup::ArchiveArgs;
use crate::cli::{output, prompt};

/// Delete old games and events, or only the engine's analysis of them
///
/// Challenges and raw traffic go with them. Safe beside a running bot. Deleted data cannot be recovered:
/// see `megaton backup`. The bot prunes by itself as `[archive]` of its config says. On a terminal it asks first;
/// without one, as from cron, it deletes at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton prune --older-than 365d --dry-run
  megaton prune --older-than 90d --details
  megaton prune --older-than 2026-01-01 --yes")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// What is older: a date (2026-11-21) or an age (12h, 7d, 3w)
    #[arg(long, value_name = "WHEN")]
    older_than: String,
    /// Keep games with moves and clocks; delete only scores, depths and lines
    #[arg(long)]
    details: bool,
    /// Change nothing; only report the counts
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let before = moment("--older-than", &args.older_than)?;
    let (reader, location) = args.archive.open()?;
    let games = reader.prunable(before)?;
    let date = dates::minute(before);
    let what = if args.details {
        // Some may have lost theirs before.
        format!("the details of up to {games} games from before {date}")
    } else {
        format!("{games} games from before {date}, and the challenges and events")
    };
    if args.dry_run {
        return output::print(format!("would delete {what}"));
    }
    let path = &location.path;
    prompt::confirm(&format!("Delete {what} from {}?", path.display()), args.yes)?;
    drop(reader);
    let mut database = Database::open(path, dates::now())?;
    if args.details {
        let gone = database.prune(before, Prune::Details)?;
        return output::print(format!("deleted the details of {} games", gone.games));
    }
    let gone = database.prune(before, Prune::Games)?;
    output::print(format!(
        "deleted {} games, {} challenges and {} events",
        gone.games, gone.challenges, gone.events
    ))
}
