//! The built-in tables and the operator's Syzygy files as one probe.
//!
//! Up to four pieces the built-in tables tell the result, in memory and at once; Syzygy files tell the
//! distances, and the results of more pieces.

use std::sync::Arc;

use super::{OutcomeTables, Syzygy};
use crate::engine::{Dtz, TablebaseProbe, TablebaseState, Tablebases, Wdl};
use crate::rules::Position;

/// Both kinds of tables; at least one is there.
#[derive(Clone, Debug)]
struct LayeredTables {
    built_in: Option<Arc<OutcomeTables>>,
    syzygy: Option<Arc<Syzygy>>,
}

/// What a search probes: the built-in tables unless they are switched off, and Syzygy files if there
/// are any.
pub fn tablebases(built_in: BuiltIn, syzygy: Option<Arc<Syzygy>>) -> Option<Tablebases> {
    let built_in = match built_in {
        BuiltIn::On => Some(OutcomeTables::built_in()),
        BuiltIn::Off => None,
    };
    if built_in.is_none() && syzygy.is_none() {
        return None;
    }
    Some(Tablebases::new(Arc::new(LayeredTables {
        built_in,
        syzygy,
    })))
}

/// Whether the built-in tables are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    #[default]
    On,
    Off,
}

impl TablebaseProbe for LayeredTables {
    fn most_pieces(&self) -> usize {
        let built_in = self.built_in.as_ref().map_or(0, |it| it.most_pieces());
        let syzygy = self.syzygy.as_ref().map_or(0, |it| it.most_pieces());
        built_in.max(syzygy)
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        let built_in = self.built_in.as_ref();
        let wdl = built_in.and_then(|tables| tables.wdl(position));
        wdl.or_else(|| self.syzygy.as_ref()?.wdl(position))
    }

    fn dtz(&self, position: &Position) -> Option<Dtz> {
        self.syzygy.as_ref()?.dtz(position)
    }

    fn computed_dtz(&self, position: &Position, gives_up: &dyn Fn() -> bool) -> Option<Dtz> {
        self.built_in.as_ref()?.computed_dtz(position, gives_up)
    }

    /// The operator's files; without any, the built-in tables.
    fn state(&self) -> TablebaseState {
        match (&self.syzygy, &self.built_in) {
            (Some(syzygy), _) => syzygy.state(),
            (None, Some(built_in)) => built_in.state(),
            (None, None) => TablebaseState::default(),
        }
    }
}
