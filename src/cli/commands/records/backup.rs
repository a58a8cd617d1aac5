//! `megaton backup`: a copy of the archive while the bot runs.

use std::path::PathBuf;

use megaton::archive::dates;

use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::setup::{ArchiveArgs, create_privately};

/// Copy the archive to a file while the bot runs
///
/// The copy is consistent, can be read with `--archive FILE`, and can replace the archive while no
/// bot runs. Does not overwrite an existing file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton backup /backup/games.db
  megaton backup /backup        games-2026-11-21.db in that folder
  megaton games --archive /backup/games.db")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Output file, or a folder for it
    #[arg(value_name = "PLACE")]
    to: PathBuf,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, _) = args.archive.open()?;
    let to = if args.to.is_dir() {
        args.to
            .join(format!("games-{}.db", dates::date(dates::now())))
    } else {
        args.to.clone()
    };
    create_privately();
    let megabytes = reader.backup(&to)? as f64 / 1e6;
    output::print(format!("{} ({megabytes:.1} MB)", to.display()))
}
