//! Atomic Syzygy tables in folders: finds and probes them.
//!
//! A file is opened at its first probe and read piece by piece rather than mapped, so a file that shrinks is
//! an error and does not end the process. A table that fails is logged once and never probed again; no
//! content of a file can make this module panic.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
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

/// The extensions of files with outcomes (WDL) and distances (DTZ).
const OUTCOMES: &str = "atbw";
const DISTANCES: &str = "atbz";

/// Why tables cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SyzygyError {
    #[error("{path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path}: no atomic tables (*.atbw, *.atbz) here")]
    Empty { path: PathBuf },
}

/// The tables found in some folders.
pub struct Syzygy {
    tables: Tablebase<Atomic>,
    known: HashMap<Material, MaterialTables>,
    max_pieces: usize,
    /// Folders and files that were skipped, with the reason.
    refused: Vec<String>,
    /// Files that failed when probed, with the reason.
    failed: Mutex<Vec<String>>,
}

/// The tables for some pieces.
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

    fn mark_broken(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }
}

/// The number of tables found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundTables {
    pub outcomes: usize,
    pub distances: usize,
    /// The number of pieces, kings included, of the largest table.
    pub max_pieces: usize,
}

impl fmt::Display for FoundTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FoundTables {
            outcomes,
            distances,
            max_pieces,
        } = self;
        write!(
            f,
            "{outcomes} WDL and {distances} DTZ tables, up to {max_pieces} pieces"
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
    /// Opens the tables in these folders, each of which must have some. The first of two equal tables
    /// counts.
    pub fn open<P: AsRef<Path>>(folders: &[P]) -> Result<Syzygy, SyzygyError> {
        let mut syzygy = Syzygy::empty();
        for folder in folders {
            syzygy.add(folder.as_ref())?;
        }
        Ok(syzygy)
    }

    /// Opens what tables there are in these folders. A folder without any counts as refused: its disk may
    /// not be mounted yet.
    pub fn open_available<P: AsRef<Path>>(folders: &[P]) -> Syzygy {
        let mut syzygy = Syzygy::empty();
        for folder in folders {
            if let Err(error) = syzygy.add(folder.as_ref()) {
                syzygy.refused.push(error.to_string());
            }
        }
        syzygy
    }

    fn empty() -> Syzygy {
        Syzygy {
            tables: Tablebase::new(),
            known: HashMap::new(),
            max_pieces: 0,
            refused: Vec::new(),
            failed: Mutex::default(),
        }
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
                Ok(()) => {
                    table.exists = true;
                    if ending == Some(OUTCOMES) {
                        self.max_pieces = self.max_pieces.max(material.pieces());
                    }
                }
                Err(error) => self.refused.push(format!("{}: {error}", path.display())),
            }
        }
        if is_empty {
            return Err(SyzygyError::Empty {
                path: folder.to_owned(),
            });
        }
        Ok(())
    }

    pub fn found(&self) -> FoundTables {
        let count = |exists: fn(&MaterialTables) -> bool| {
            let known = self.known.values();
            known.filter(|known| exists(known)).count()
        };
        FoundTables {
            outcomes: count(|known| known.outcomes.exists),
            distances: count(|known| known.distances.exists),
            max_pieces: self.max_pieces,
        }
    }

    /// The number of existing tables that are unusable because they or the outcomes they need are broken.
    fn useless(&self) -> usize {
        let is_broken = |table: &TableFile| table.exists && !table.is_sound();
        let of_one = |known: &MaterialTables| {
            let outcomes = is_broken(&known.outcomes);
            // A distance is only probed after the outcome.
            let distances = known.distances.exists && (outcomes || is_broken(&known.distances));
            usize::from(outcomes) + usize::from(distances)
        };
        self.known.values().map(of_one).sum()
    }

    /// Folders without tables and files that look like tables but are not, each with the reason.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// The tables for a position, if they may answer; avoids most probes of the files.
    fn knows(&self, position: &Position, wanted: TableKind) -> Option<(Material, &MaterialTables)> {
        if position.castling_rights() != CastlingRights::NONE
            || position.occupied().count() > self.max_pieces
        {
            return None;
        }
        let material = Material::of(position);
        let known = self.known.get(&material)?;
        let is_known = known.outcomes.is_sound()
            && (wanted == TableKind::Outcome || known.distances.is_sound());
        is_known.then_some((material, known))
    }

    /// Probes the files, and marks a table that fails as broken.
    fn probe<T>(
        &self,
        position: &Position,
        wanted: TableKind,
        probe: impl Fn(&Atomic) -> Result<T, ProbeError>,
    ) -> Option<T> {
        let (material, known) = self.knows(position, wanted)?;
        let translated = translated(position)?;
        // The reader returns an error for a broken file; should it panic instead, that counts as one.
        let failure = match catch_unwind(AssertUnwindSafe(|| probe(&translated))) {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(ProbeError::ProbeFailed {
                metric,
                material,
                error,
            })) => FileFailure::of(metric, &material.to_string(), &error),
            // A table that a capture leads to is missing.
            Ok(Err(_)) => return None,
            Err(_) => None,
        };
        known.table(wanted).mark_broken();
        self.report(&failure.unwrap_or(FileFailure {
            material,
            wanted,
            what: "its reader gave up".to_owned(),
        }));
        None
    }

    /// Marks the file that failed as broken, and logs that once.
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
        known.table(*wanted).mark_broken();
        let table = format!("{material}.{}", wanted.extension());
        let mut failed = self.failed.lock();
        failed.push(format!("{table}: {what}"));
        drop(failed);
        tracing::error!(
            table,
            what,
            "an endgame table cannot be read: it is not asked again, nor what leads to it"
        );
    }
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableKind {
    Outcome,
    Distance,
}

impl TableKind {
    const fn extension(self) -> &'static str {
        match self {
            TableKind::Outcome => OUTCOMES,
            TableKind::Distance => DISTANCES,
        }
    }
}

impl TablebaseProbe for Syzygy {
    fn most_pieces(&self) -> usize {
        self.max_pieces
    }

    fn state(&self) -> TablebaseState {
        let FoundTables {
            outcomes,
            distances,
            max_pieces,
        } = self.found();
        let failed = self.failed.lock();
        TablebaseState {
            outcomes,
            distances,
            most_pieces: max_pieces,
            faulty: self.refused.len() + self.useless(),
            faults: self.refused.iter().chain(failed.iter()).cloned().collect(),
        }
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        let wdl = self.probe(position, TableKind::Outcome, |position| {
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
        let dtz = self.probe(position, TableKind::Distance, |position| {
            self.tables.probe_dtz(position)
        })?;
        Some(Dtz {
            plies: dtz.ignore_rounding().into(),
            is_rounded: matches!(dtz, MaybeRounded::Rounded(_)),
        })
    }
}

/// The position in the types of the reader; none if the reader rejects it as impossible.
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
