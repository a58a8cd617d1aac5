//! `megaton backup`: a copy of the archive while the bot runs.

use std::io::{self, Write};
use std::path::PathBuf;

use megaton::archive::dates;

use super::place::ArchiveArgs;
use crate::cli::failure::Failure;

/// Copy the archive to a file while the bot runs
///
/// The copy is consistent, can be read with `--archive FILE`, and can replace the archive while no
/// bot runs. Does not overwrite an existing file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton backup /backup/games.db
  megaton backup /backup        games-2026-11-21.db in that folder
  megaton games --archive /backup/games.db")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Output file, or a folder for it
    #[arg(value_name = "PLACE")]
    to: PathBuf,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, _) = args.archive.open()?;
    let to = if args.to.is_dir() {
        args.to
            .join(format!("games-{}.db", dates::date(dates::now())))
    } else {
        args.to.clone()
    };
    let bytes = reader.backup(&to)?;
    let megabytes = bytes as f64 / 1e6;
    writeln!(io::stdout().lock(), "{} ({megabytes:.1} MB)", to.display())?;
    Ok(())
}
