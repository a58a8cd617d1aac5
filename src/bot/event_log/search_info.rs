//! What a search says on its way, for anyone who looks.
//!
//! A game has one desk. The search thread, which gives way to everything else, lays its latest
//! report there; should a reader hold the matchmaking service at that moment, the report is skipped. No one on the
//! way of a move ever waits here.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use serde::Serialize;
use tokio::sync::watch;

use crate::archive::{Millis, ScoreRecord};
use crate::engine::{Info, ScoreBound};
use crate::rules::{Game, Position};

/// Moves of a line that are shown.
const LINE: usize = 16;

/// A search under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchInfo {
    /// How many moves had been made in the position searched.
    pub ply: usize,
    /// Whether it thinks on the opponent's time, about a reply that has not come yet.
    pub pondering: bool,
    /// The last iteration finished.
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    /// What the position is worth to us.
    pub score: ScoreRecord,
    pub nodes: u64,
    /// Positions visited a second.
    pub nps: u64,
    /// Time used so far.
    pub time: Millis,
    /// How full the table is, in thousandths.
    pub hashfull: u32,
    /// The line expected, in UCI.
    pub line: Vec<String>,
    /// The same as people write it.
    pub san: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct SearchRoot {
    position: Position,
    ply: usize,
    pondering: bool,
}

#[derive(Debug, Default)]
struct SlotContent {
    root: Option<SearchRoot>,
    info: Option<Info>,
}

/// Where the search of one game reports. Clones are the same desk.
#[derive(Clone, Debug, Default)]
pub(in crate::bot) struct SearchInfoSlot(Arc<Mutex<SlotContent>>);

impl SearchInfoSlot {
    /// A search begins, or none is under way any more.
    fn clear(&self, root: Option<SearchRoot>) {
        if let Some(mut content) = self.try_lock() {
            *content = SlotContent { root, info: None };
        }
    }

    /// No search is under way any more.
    pub(in crate::bot) fn done(&self) {
        self.clear(None);
    }

    /// Takes the reports of a search of this game; `news` counts them.
    pub(in crate::bot) fn reporter(
        &self,
        game: &Game,
        pondering: bool,
        news: watch::Sender<u64>,
    ) -> impl FnMut(&Info) + Send + 'static {
        self.clear(Some(SearchRoot {
            position: *game.position(),
            ply: game.ply(),
            pondering,
        }));
        let slot = self.clone();
        move |info| {
            if info.multipv != 1 || info.bound != ScoreBound::Exact {
                return;
            }
            if let Some(mut content) = slot.try_lock() {
                content.info = Some(info.clone());
                drop(content);
                news.send_modify(|count| *count += 1);
            }
        }
    }

    /// What the search under way has found so far.
    pub(super) fn read(&self) -> Option<SearchInfo> {
        let (root, info) = {
            let content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (content.root?, content.info.clone()?)
        };
        let millis = u64::try_from(info.time.as_millis()).unwrap_or(u64::MAX);
        let moves = info.line.iter().copied().take(LINE);
        let san = root.position.san_line(moves.clone());
        let line = moves.take(san.len()).map(|mv| mv.to_string()).collect();
        Some(SearchInfo {
            ply: root.ply,
            pondering: root.pondering,
            depth: info.depth,
            seldepth: info.seldepth,
            score: info.score.into(),
            nodes: info.nodes,
            nps: info.nodes * 1000 / millis.max(1),
            time: millis,
            hashfull: info.hashfull,
            line,
            san,
        })
    }

    fn try_lock(&self) -> Option<std::sync::MutexGuard<'_, SlotContent>> {
        match self.0.try_lock() {
            Ok(content) => Some(content),
            Err(TryLockError::Poisoned(content)) => Some(content.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
