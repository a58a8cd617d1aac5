//! Information from a running search, for readers.
//!
//! A game has one slot. The search thread, which yields to everything else, stores its latest
//! report there; if a reader holds the slot at that moment, it skips the report. A move never waits
//! here.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use super::record_builder::millis;
use crate::archive::Millis;
use crate::engine::{Info, Score, ScoreBound};
use crate::rules::{Game, Position};

/// Moves of a line to show.
const LINE: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchInfo {
    /// Moves made before the searched position.
    pub ply: usize,
    /// Whether it thinks on the opponent's time, about an expected reply.
    pub pondering: bool,
    /// The last finished iteration.
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    /// The score from the bot's side.
    pub score: Score,
    pub nodes: u64,
    /// Speed in nodes per second.
    pub nps: u64,
    pub time: Millis,
    /// Fill of the transposition table in permille.
    pub hashfull: u32,
    /// The expected line, in UCI.
    pub line: Vec<String>,
    /// The expected line in SAN.
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

/// The search info of one game. Clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::bot) struct SearchInfoSlot(Arc<Mutex<SlotContent>>);

impl SearchInfoSlot {
    /// A search begins, or none runs any more.
    fn clear(&self, root: Option<SearchRoot>) {
        if let Some(mut content) = self.0.try_lock() {
            *content = SlotContent { root, info: None };
        }
    }

    /// No search runs any more.
    pub(in crate::bot) fn done(&self) {
        self.clear(None);
    }

    /// A receiver for reports of this game's search; `news` counts them.
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
            if let Some(mut content) = slot.0.try_lock() {
                content.info = Some(info.clone());
                drop(content);
                news.send_modify(|count| *count += 1);
            }
        }
    }

    /// The latest report of the running search.
    pub(super) fn read(&self) -> Option<SearchInfo> {
        let (root, info) = {
            let content = self.0.lock();
            (content.root?, content.info.clone()?)
        };
        let time = millis(info.time);
        let moves = info.line.iter().copied().take(LINE);
        let san = root.position.san_line(moves.clone());
        let line = moves.take(san.len()).map(|mv| mv.to_string()).collect();
        Some(SearchInfo {
            ply: root.ply,
            pondering: root.pondering,
            depth: info.depth,
            seldepth: info.seldepth,
            score: info.score,
            nodes: info.nodes,
            nps: info.nodes * 1000 / time.max(1),
            time,
            hashfull: info.hashfull,
            line,
            san,
        })
    }
}
