//! `megaton import`: games of a PGN file into the archive.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megaton::archive::{
    ArchiveEntry, ArchiveReader, Database, GameRecord, Merge, Millis, PgnFault, PgnGames, dates,
    merge, side_of,
};

use super::place::ArchiveArgs;
use crate::cli::failure::Failure;

/// Games written at a time, so that a running bot writes in between.
const AT_ONCE: usize = 200;
/// Complaints shown; the rest is counted.
const COMPLAINTS: u64 = 20;

/// Import games from PGN files, such as a full export from Lichess
///
/// Broken games are reported with their line and skipped. A game that is already known only gains
/// missing data, so the same file can be imported again. Safe beside a running bot. Exits with
/// status 1 if any game was skipped as broken.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton import lichess_Megaton_2026-11-21.pgn
  megaton import --account Megaton *.pgn
  curl -s 'https://lichess.org/api/games/user/Megaton?perfType=atomic&clocks=true' | megaton import -")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// PGN files, or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Our account: only its games are imported [default: the account already in the archive]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Change nothing; only report what would be imported
    #[arg(long)]
    dry_run: bool,
}

/// What became of the games of all files.
#[derive(Debug, Default)]
struct ImportCounts {
    new: u64,
    more: u64,
    known: u64,
    others: u64,
    foreign: u64,
    broken: u64,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let place = args.archive.place()?;
    let nobodys =
        || Failure::setup("the archive is empty, so the account is unknown: use --account NAME");
    if args.account.is_none() && !place.path.exists() {
        return Err(nobodys());
    }
    let target = Target::open(&place.path, args.dry_run)?;
    let account = match &args.account {
        Some(account) => account.to_lowercase(),
        None => ArchiveReader::open(&place.path)?
            .account()?
            .ok_or_else(nobodys)?,
    };
    let mut import = Import {
        target,
        account,
        batch: Vec::new(),
        ids: HashSet::new(),
        told: ImportCounts::default(),
    };
    let read = args.files.iter().try_for_each(|file| import.file(file));
    // What was read before a file that cannot be is taken all the same, and said.
    import.flush()?;
    let report = import.report(&place.path);
    read.and(report)
}

/// Where games go, or only would.
enum Target {
    Archive(Database),
    /// Looked into and left as it is; nothing if there is none.
    Dry(Option<ArchiveReader>),
}

impl Target {
    fn open(path: &Path, dry: bool) -> Result<Self, Failure> {
        if dry {
            let reader = path
                .exists()
                .then(|| ArchiveReader::open(path))
                .transpose()?;
            return Ok(Self::Dry(reader));
        }
        if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|error| Failure::setup(format!("{}: {error}", folder.display())))?;
        }
        Ok(Self::Archive(Database::open(path, dates::now())?))
    }

    /// What is known of a game.
    fn game(&self, id: &str) -> Result<Option<GameRecord>, Failure> {
        Ok(match self {
            Self::Archive(disk) => disk.game(id)?,
            Self::Dry(Some(reader)) => reader.game(id)?,
            Self::Dry(None) => None,
        })
    }

    fn is_dry(&self) -> bool {
        matches!(self, Self::Dry(_))
    }
}

fn began(entry: &ArchiveEntry) -> Option<Millis> {
    match entry {
        ArchiveEntry::Game(game) => Some(game.began()),
        _ => None,
    }
}

struct Import {
    target: Target,
    account: String,
    batch: Vec<ArchiveEntry>,
    /// Those of the batch.
    ids: HashSet<String>,
    told: ImportCounts,
}

impl Import {
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        let wrong = |error: io::Error| Failure::failed(format!("{name}: {error}"));
        let source: Box<dyn BufRead> = if stdin {
            Box::new(io::stdin().lock())
        } else {
            Box::new(BufReader::with_capacity(
                1 << 16,
                fs::File::open(path).map_err(wrong)?,
            ))
        };
        for game in PgnGames::new(source) {
            match game.map_err(wrong)? {
                Ok(game) => self.game(game, &name)?,
                Err(PgnFault::Foreign { .. }) => self.told.foreign += 1,
                Err(fault) => self.complain(&format!("{name}, {fault}"))?,
            }
        }
        Ok(())
    }

    fn game(&mut self, mut game: GameRecord, file: &str) -> Result<(), Failure> {
        game.us = side_of(&game, &self.account);
        if game.us.is_none() {
            self.told.others += 1;
            return Ok(());
        }
        if self.batch.len() >= AT_ONCE || self.ids.contains(&game.id) {
            self.flush()?;
        }
        let known = self.target.game(&game.id)?;
        let id = game.id.clone();
        let taken = match merge(known, game) {
            Merge::New(game) => {
                self.told.new += 1;
                game
            }
            Merge::More(game) => {
                self.told.more += 1;
                game
            }
            Merge::Known => {
                self.told.known += 1;
                return Ok(());
            }
            Merge::Contradicts => {
                let what = "contradicts the archived game, which is kept";
                return self.complain(&format!("{file}, game {id}: {what}"));
            }
        };
        self.ids.insert(id);
        self.batch.push(ArchiveEntry::Game(Arc::from(taken)));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if let Target::Archive(disk) = &mut self.target
            && let Some(earliest) = self.batch.iter().filter_map(began).min()
        {
            // Old games come with details: anyone who lets go of these has to look there again.
            let thinned = disk.thinned()?;
            if earliest < thinned {
                disk.set_thinned(thinned, earliest)?;
            }
            disk.commit(&self.batch)?;
        }
        self.batch.clear();
        self.ids.clear();
        Ok(())
    }

    fn complain(&mut self, what: &str) -> Result<(), Failure> {
        self.told.broken += 1;
        if self.told.broken <= COMPLAINTS {
            writeln!(io::stderr().lock(), "megaton: {what}")?;
        }
        Ok(())
    }

    fn report(&self, path: &Path) -> Result<(), Failure> {
        let told = &self.told;
        let would = if self.target.is_dry() {
            "would be "
        } else {
            ""
        };
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{} games {would}new, {} {would}completed, {} already known, in {}",
            told.new,
            told.more,
            told.known,
            path.display()
        )?;
        for (count, what) in [
            (
                told.others,
                format!("skipped: not played by {}", self.account),
            ),
            (told.foreign, "skipped: not atomic chess".to_owned()),
            (told.broken, "skipped: broken".to_owned()),
        ] {
            if count > 0 {
                writeln!(out, "{count} {what}")?;
            }
        }
        if told.broken > 0 {
            Err(Failure::Told)
        } else {
            Ok(())
        }
    }
}
