//! The engine's own endgame tables: win, draw or loss for every position of at most four pieces.
//!
//! They are made by `generator`, packed by `codec`, put together by `writer`, read through `file` and
//! probed here. They know no castling rights; a broken table costs knowledge, never a game.
//!
//! * `layout`: which tables there are, and the number of a position; `verify`: checks of a file
//! * `distances`: how far a won position is from the next capture, pawn move or mate, solved when needed

mod codec;
mod distances;
mod file;
mod generator;
mod layout;
mod verify;
mod writer;

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::{fs, io};

use self::distances::DistanceStore;
use self::file::{FileBytes, OutcomeFile};
use self::generator::Generator;
use self::layout::{MOST_PIECES, NAMES, Placement};
use self::writer::OutcomeWriter;
use crate::engine::{Dtz, TablebaseProbe, TablebaseState, Wdl};
use crate::rules::{Color, Position};

pub use self::file::OutcomeFileError;
pub use self::verify::{Extent, TableReport, ValueCounts};

/// The number of tables.
pub const OUTCOME_TABLES: usize = NAMES.len();

static BUILT_IN: LazyLock<Arc<OutcomeTables>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../assets/tables/outcomes.bin");
    Arc::new(
        OutcomeTables::new(&FileBytes::Embedded(bytes)).unwrap_or_else(|error| {
            tracing::error!(%error, "the endgame tables of the program cannot be used");
            OutcomeTables::default()
        }),
    )
});

/// Why a file of tables cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Wrong(#[from] OutcomeFileError),
}

/// The tables of a file.
#[derive(Debug, Default)]
pub struct OutcomeTables {
    file: Arc<OutcomeFile>,
    distances: Arc<DistanceStore>,
}

/// The end of a game under best play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRuling {
    Won(Color),
    Drawn,
}

/// A table that [`generate`] has made.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedTable {
    pub name: &'static str,
    pub bytes: usize,
}

/// Makes all tables; returns the bytes of their file. Needs some minutes and about 150 MB.
pub fn generate(mut report: impl FnMut(GeneratedTable)) -> Vec<u8> {
    let (mut generator, mut writer) = (Generator::default(), OutcomeWriter::default());
    while generator.next(|solved| {
        let bytes = writer.add(solved);
        report(GeneratedTable {
            name: solved.layout.name,
            bytes,
        });
    }) {}
    writer.finish()
}

impl OutcomeTables {
    /// The tables in the program.
    pub fn built_in() -> Arc<OutcomeTables> {
        Arc::clone(&BUILT_IN)
    }

    /// The tables in a file.
    pub fn open(path: &Path) -> Result<OutcomeTables, OutcomeError> {
        Ok(Self::new(&FileBytes::Read(fs::read(path)?))?)
    }

    fn new(source: &FileBytes) -> Result<OutcomeTables, OutcomeFileError> {
        let file = OutcomeFile::new(source)?;
        for fault in file.faults() {
            tracing::error!(fault, "an endgame table of the program cannot be used");
        }
        Ok(OutcomeTables {
            file: Arc::new(file),
            distances: Arc::default(),
        })
    }

    /// The number of usable tables.
    pub fn found(&self) -> usize {
        self.file.found()
    }

    /// How a game with few pieces ends under best play. A win is certain only where the fifty-move count
    /// has just restarted.
    pub fn ruling(&self, position: &Position) -> Option<TableRuling> {
        let winner = match self.wdl(position)? {
            Wdl::Win => position.turn(),
            Wdl::Loss => !position.turn(),
            _ => return Some(TableRuling::Drawn),
        };
        (position.halfmove_clock() == 0).then_some(TableRuling::Won(winner))
    }

    /// Unusable tables, each with the reason.
    pub fn faults(&self) -> &[String] {
        self.file.faults()
    }
}

impl TablebaseProbe for OutcomeTables {
    fn most_pieces(&self) -> usize {
        if self.found() > 0 { MOST_PIECES } else { 0 }
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        self.file.wdl(position)
    }

    fn dtz(&self, _: &Position) -> Option<Dtz> {
        None
    }

    fn computed_dtz(&self, position: &Position, gives_up: &dyn Fn() -> bool) -> Option<Dtz> {
        let wdl = self.wdl(position)?;
        let plies = match wdl {
            Wdl::Draw => 0,
            _ if position.can_explode() => 1,
            _ => {
                let placement = Placement::of(position)?;
                let plies = self.distances.plies(&self.file, &placement, gives_up)?;
                i32::from(plies) * (wdl as i32).signum()
            }
        };
        Some(Dtz {
            plies,
            is_rounded: false,
        })
    }

    fn state(&self) -> TablebaseState {
        TablebaseState {
            outcomes: self.found(),
            distances: 0,
            most_pieces: self.most_pieces(),
            faulty: self.faults().len(),
            faults: self.faults().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests;
