//! Atomic Syzygy tables in folders: which there are, and their answers.
//!
//! Files are opened when first asked and read piece by piece, so a file that shrinks is an error
//! and not the end of the process. A table that fails is reported once in the log and never asked
//! again; nothing here panics on what a file holds.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use shakmaty::variant::Atomic;
use shakmaty::{
    Bitboard, Board, ByColor, ByRole, CastlingMode, FromSetup, Setup, Square as TheirSquare,
};
use shakmaty_syzygy::{
    MaybeRounded, Metric, ProbeError as FileError, SyzygyError as ProbeError, Tablebase,
    Wdl as TheirWdl,
};

use super::material::Material;
use crate::engine::{Dtz, TablebaseProbe, TablebaseState, Wdl};
use crate::rules::{CastlingRights, Color, Position, Role};

/// The endings of the files that hold outcomes, and distances.
const OUTCOMES: &str = "atbw";
const DISTANCES: &str = "atbz";

/// Why tables cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SyzygyError {
    /// The folder cannot be listed.
    #[error("{path}: {source}")]
    Unreadable {
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no table in it.
    #[error("{path}: no atomic tables (*.atbw, *.atbz) here")]
    Empty { path: PathBuf },
}

/// The tables found in some folders.
pub struct Syzygy {
    tables: Tablebase<Atomic>,
    known: HashMap<Material, MaterialTables>,
    most_men: usize,
    /// Files that were passed over, with the reason.
    refused: Vec<String>,
    /// Files that failed when they were asked, with the reason.
    failed: Mutex<Vec<String>>,
}

/// What there is about some pieces.
#[derive(Debug, Default)]
struct MaterialTables {
    outcomes: TableFile,
    distances: TableFile,
}

#[derive(Debug, Default)]
struct TableFile {
    exists: bool,
    is_broken: AtomicBool,
    is_reported: AtomicBool,
}

impl MaterialTables {
    const fn table(&self, wanted: TableKind) -> &TableFile {
        match wanted {
            TableKind::Outcome => &self.outcomes,
            TableKind::Distance => &self.distances,
        }
    }
}

impl TableFile {
    fn is_sound(&self) -> bool {
        self.exists && !self.is_broken.load(Ordering::Relaxed)
    }

    fn condemn(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }
}

/// How many tables were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundTables {
    /// Files of outcomes (WDL).
    pub outcomes: usize,
    /// Files of distances (DTZ).
    pub distances: usize,
    /// The pieces, kings included, of the largest.
    pub most_men: usize,
}

impl fmt::Display for FoundTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FoundTables {
            outcomes,
            distances,
            most_men,
        } = self;
        write!(
            f,
            "{outcomes} WDL and {distances} DTZ tables, up to {most_men} pieces"
        )
    }
}

impl fmt::Debug for Syzygy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Syzygy")
            .field("found", &self.found())
            .finish_non_exhaustive()
    }
}

impl Syzygy {
    /// The tables in these folders; each must hold some. Where two hold the same, the first counts.
    pub fn open<P: AsRef<Path>>(folders: &[P]) -> Result<Syzygy, SyzygyError> {
        let mut syzygy = Syzygy {
            tables: Tablebase::new(),
            known: HashMap::new(),
            most_men: 0,
            refused: Vec::new(),
            failed: Mutex::default(),
        };
        for folder in folders {
            syzygy.add(folder.as_ref())?;
        }
        Ok(syzygy)
    }

    fn add(&mut self, folder: &Path) -> Result<(), SyzygyError> {
        let unreadable = |source| SyzygyError::Unreadable {
            path: folder.to_owned(),
            source,
        };
        let mut is_empty = true;
        for entry in folder.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(material) = name.and_then(Material::named) else {
                continue;
            };
            let known = self.known.entry(material).or_default();
            let table = match ending {
                Some(OUTCOMES) => &mut known.outcomes,
                Some(DISTANCES) => &mut known.distances,
                _ => continue,
            };
            is_empty = false;
            if table.exists {
                continue;
            }
            match self.tables.add_file(&path) {
                Ok(()) => table.exists = true,
                Err(error) => self.refused.push(format!("{}: {error}", path.display())),
            }
        }
        let usable = self.known.iter();
        let usable = usable.filter(|(_, known)| known.outcomes.exists);
        self.most_men = usable.map(|(men, _)| men.men()).max().unwrap_or(0);
        if is_empty {
            return Err(SyzygyError::Empty {
                path: folder.to_owned(),
            });
        }
        Ok(())
    }

    /// How many tables there are.
    pub fn found(&self) -> FoundTables {
        let count = |exists: fn(&MaterialTables) -> bool| {
            let known = self.known.values();
            known.filter(|known| exists(known)).count()
        };
        FoundTables {
            outcomes: count(|known| known.outcomes.exists),
            distances: count(|known| known.distances.exists),
            most_men: self.most_men,
        }
    }

    /// How many tables that are there are of no use, because they are bad or lead to one that is.
    fn useless(&self) -> usize {
        let is_broken = |table: &TableFile| table.exists && !table.is_sound();
        let of_one = |known: &MaterialTables| {
            let outcomes = is_broken(&known.outcomes);
            // Without the outcome no distance is asked for.
            let distances = known.distances.exists && (outcomes || is_broken(&known.distances));
            usize::from(outcomes) + usize::from(distances)
        };
        self.known.values().map(of_one).sum()
    }

    /// Files that look like tables and cannot be, each with the reason.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Whether there is any hope of an answer; keeps most questions from the files.
    fn knows(&self, position: &Position, wanted: TableKind) -> Option<(Material, &MaterialTables)> {
        if position.castling_rights() != CastlingRights::NONE
            || position.occupied().count() > self.most_men
        {
            return None;
        }
        let material = Material::of(position);
        let known = self.known.get(&material)?;
        let is_known = known.outcomes.is_sound()
            && (wanted == TableKind::Outcome || known.distances.is_sound());
        is_known.then_some((material, known))
    }

    /// Ask the files, and condemn what fails.
    fn ask<T>(
        &self,
        position: &Position,
        wanted: TableKind,
        ask: impl Fn(&Atomic) -> Result<T, ProbeError>,
    ) -> Option<T> {
        let (material, known) = self.knows(position, wanted)?;
        let translated = translated(position)?;
        // A broken file is answered with an error; should its reader panic instead, this is one.
        let failure = match catch_unwind(AssertUnwindSafe(|| ask(&translated))) {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(ProbeError::ProbeFailed {
                metric,
                material,
                error,
            })) => FileFailure::of(metric, &material.to_string(), &error),
            // Some table that a capture leads to is not there.
            Ok(Err(_)) => return None,
            Err(_) => None,
        };
        known.table(wanted).condemn();
        self.report(&failure.unwrap_or(FileFailure {
            material,
            wanted,
            what: "its reader gave up".to_owned(),
        }));
        None
    }

    /// Condemn the file that failed, and say so once.
    fn report(&self, failure: &FileFailure) {
        let FileFailure {
            material,
            wanted,
            what,
        } = failure;
        let Some(known) = self.known.get(material) else {
            return;
        };
        if known
            .table(*wanted)
            .is_reported
            .swap(true, Ordering::Relaxed)
        {
            return;
        }
        known.table(*wanted).condemn();
        let table = format!("{material}.{}", wanted.ending());
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push(format!("{table}: {what}"));
        drop(failed);
        tracing::error!(
            table,
            what,
            "an endgame table cannot be read: it is not asked again, nor what leads to it"
        );
    }
}

/// A file that failed.
#[derive(Debug)]
struct FileFailure {
    material: Material,
    wanted: TableKind,
    what: String,
}

impl FileFailure {
    fn of(metric: Metric, name: &str, error: &FileError) -> Option<FileFailure> {
        Some(FileFailure {
            material: Material::named(name)?,
            wanted: match metric {
                Metric::Wdl => TableKind::Outcome,
                Metric::Dtz => TableKind::Distance,
            },
            what: match error {
                FileError::CorruptedTable { .. } => "it is corrupt".to_owned(),
                error => error.to_string(),
            },
        })
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableKind {
    Outcome,
    Distance,
}

impl TableKind {
    const fn ending(self) -> &'static str {
        match self {
            TableKind::Outcome => OUTCOMES,
            TableKind::Distance => DISTANCES,
        }
    }
}

impl TablebaseProbe for Syzygy {
    fn most_men(&self) -> usize {
        self.most_men
    }

    fn state(&self) -> TablebaseState {
        let FoundTables {
            outcomes,
            distances,
            most_men,
        } = self.found();
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        TablebaseState {
            outcomes,
            distances,
            most_men,
            faulty: self.refused.len() + self.useless(),
            faults: self.refused.iter().chain(failed.iter()).cloned().collect(),
        }
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        let wdl = self.ask(position, TableKind::Outcome, |position| {
            self.tables.probe_wdl_after_zeroing(position)
        })?;
        Some(match wdl {
            TheirWdl::Loss => Wdl::Loss,
            TheirWdl::BlessedLoss => Wdl::BlessedLoss,
            TheirWdl::Draw => Wdl::Draw,
            TheirWdl::CursedWin => Wdl::CursedWin,
            TheirWdl::Win => Wdl::Win,
        })
    }

    fn dtz(&self, position: &Position) -> Option<Dtz> {
        let dtz = self.ask(position, TableKind::Distance, |position| {
            self.tables.probe_dtz(position)
        })?;
        Some(Dtz {
            plies: dtz.ignore_rounding().into(),
            is_rounded: matches!(dtz, MaybeRounded::Rounded(_)),
        })
    }
}

/// The position in the words of the reader; `None` if that takes it for impossible.
fn translated(position: &Position) -> Option<Atomic> {
    let role = |role| Bitboard(position.by_role(role).0);
    let by_role = ByRole {
        pawn: role(Role::Pawn),
        knight: role(Role::Knight),
        bishop: role(Role::Bishop),
        rook: role(Role::Rook),
        queen: role(Role::Queen),
        king: role(Role::King),
    };
    let by_color = ByColor {
        white: Bitboard(position.by_color(Color::White).0),
        black: Bitboard(position.by_color(Color::Black).0),
    };
    let ep_square = position.ep_square();
    let setup = Setup {
        board: Board::try_from_bitboards(by_role, by_color).ok()?,
        turn: match position.turn() {
            Color::White => shakmaty::Color::White,
            Color::Black => shakmaty::Color::Black,
        },
        castling_rights: Bitboard::EMPTY,
        ep_square: ep_square.map(|square| TheirSquare::new(square.index() as u32)),
        halfmoves: position.halfmove_clock(),
        ..Setup::empty()
    };
    Atomic::from_setup(setup, CastlingMode::Standard)
        .or_else(shakmaty::PositionError::ignore_impossible_check)
        .or_else(shakmaty::PositionError::ignore_too_much_material)
        .ok()
}

#[cfg(test)]
mod tests;
