//! `megaton import`: games of PGN files into the archive.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megaton::archive::{
    ArchiveEntry, ArchiveReader, Database, GameRecord, Merge, PgnFault, PgnGames, dates, merge,
    side_of,
};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;
use crate::cli::setup::{ArchiveArgs, create_privately, input_name, open_input};

/// Games written together; a running bot writes in between.
const BATCH: usize = 200;
/// Complaints shown; others are only counted.
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
pub(crate) struct Args {
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

#[derive(Debug, Default)]
struct ImportCounts {
    new: u64,
    completed: u64,
    known: u64,
    of_others: u64,
    not_atomic: u64,
    broken: u64,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let path = args.archive.locate()?.path;
    let no_account =
        || Failure::setup("the archive is empty, so the account is unknown: use --account NAME");
    let exists = path.try_exists().or_failed(path.display())?;
    if args.account.is_none() && !exists {
        return Err(no_account());
    }
    let target = Target::open(&path, args.dry_run)?;
    let account = match &args.account {
        Some(account) => account.to_lowercase(),
        None => ArchiveReader::open(&path)?
            .account()?
            .ok_or_else(no_account)?,
    };
    let mut import = Import {
        target,
        account,
        batch: Vec::new(),
        new: 0,
        ids: HashSet::new(),
        counts: ImportCounts::default(),
    };
    let read = args.files.iter().try_for_each(|file| import.file(file));
    // An unreadable file does not undo the import of those before it.
    let written = import.flush();
    let report = import.report(&path);
    read.and(written).and(report)
}

/// The archive to write to, or for a dry run to read from, if there is one.
enum Target {
    Archive(Database),
    Dry(Option<ArchiveReader>),
}

impl Target {
    fn open(path: &Path, dry: bool) -> Result<Self, Failure> {
        if dry {
            let reader = path.exists().then(|| ArchiveReader::open(path));
            return Ok(Self::Dry(reader.transpose()?));
        }
        create_privately();
        if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir_all(folder).or_setup(folder.display())?;
        }
        Ok(Self::Archive(Database::open(path, dates::now())?))
    }

    fn game(&self, id: &str) -> Result<Option<GameRecord>, Failure> {
        Ok(match self {
            Self::Archive(database) => database.game(id)?,
            Self::Dry(Some(reader)) => reader.game(id)?,
            Self::Dry(None) => None,
        })
    }
}

struct Import {
    target: Target,
    account: String,
    batch: Vec<Arc<GameRecord>>,
    /// How many of the batch are new; the others are completed.
    new: u64,
    /// The ids of the batch, in a dry run of all its games.
    ids: HashSet<String>,
    counts: ImportCounts,
}

impl Import {
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let name = input_name(path);
        let source = open_input(path).or_failed(&name)?;
        let mut games = PgnGames::new(source);
        while let Some(game) = games.next() {
            match game.or_failed(&name)? {
                Ok(game) => self.game(game, &name, games.line())?,
                Err(PgnFault::Foreign { .. }) => self.counts.not_atomic += 1,
                Err(fault) => self.complain(&format!("{name}, {fault}"))?,
            }
        }
        Ok(())
    }

    fn game(&mut self, mut game: GameRecord, file: &str, line: u64) -> Result<(), Failure> {
        game.us = side_of(&game, &self.account);
        if game.us.is_none() {
            self.counts.of_others += 1;
            return Ok(());
        }
        let repeated = self.ids.contains(&game.id);
        if repeated && matches!(self.target, Target::Dry(_)) {
            self.counts.known += 1;
            return Ok(());
        }
        if repeated || self.batch.len() >= BATCH {
            self.flush()?;
        }
        let known = self.target.game(&game.id)?;
        let id = game.id.clone();
        let game = match merge(known, game) {
            Merge::New(game) => {
                self.new += 1;
                game
            }
            Merge::More(game) => game,
            Merge::Known => {
                self.counts.known += 1;
                return Ok(());
            }
            Merge::Contradicts => {
                let what = "contradicts the archived game, which is kept";
                return self.complain(&format!("{file}, line {line}, game {id}: {what}"));
            }
        };
        self.ids.insert(id);
        self.batch.push(Arc::from(game));
        Ok(())
    }

    /// Writes the batch. What the archive refused does not count.
    fn flush(&mut self) -> Result<(), Failure> {
        let games = std::mem::take(&mut self.batch);
        let (all, new) = (games.len() as u64, std::mem::take(&mut self.new));
        if let Target::Archive(database) = &mut self.target
            && let Some(earliest) = games.iter().map(|game| game.began()).min()
        {
            self.ids.clear();
            // Old games bring details, so the next pruning of details must start with them again.
            let thinned = database.thinned()?;
            if earliest < thinned {
                database.set_thinned(thinned, earliest)?;
            }
            let entries: Vec<ArchiveEntry> = games.into_iter().map(ArchiveEntry::Game).collect();
            database.commit(&entries)?;
        }
        self.counts.new += new;
        self.counts.completed += all - new;
        Ok(())
    }

    fn complain(&mut self, what: &str) -> Result<(), Failure> {
        self.counts.broken += 1;
        if self.counts.broken <= COMPLAINTS {
            writeln!(io::stderr().lock(), "megaton: {what}")?;
        }
        Ok(())
    }

    fn report(&self, path: &Path) -> Result<(), Failure> {
        let counts = &self.counts;
        let would = match self.target {
            Target::Dry(_) => "would be ",
            Target::Archive(_) => "",
        };
        output::print(format!(
            "{} games {would}new, {} {would}completed, {} already known, in {}",
            counts.new,
            counts.completed,
            counts.known,
            path.display()
        ))?;
        let not_ours = format!("not played by {}", self.account);
        for (count, why) in [
            (counts.of_others, not_ours.as_str()),
            (counts.not_atomic, "not atomic from its usual position"),
            (counts.broken, "broken"),
        ] {
            if count > 0 {
                output::print(format!("{count} skipped: {why}"))?;
            }
        }
        if counts.broken > 0 {
            return Err(Failure::Reported);
        }
        Ok(())
    }
}
