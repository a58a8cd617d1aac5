//! Records a game in the event log, after everything urgent has been sent.
//!
//! It collects what belongs to the next move and hands it over. It decides nothing, and nothing waits for it.

use std::time::Duration;

use crate::bot::event_log::{EventLog, Header, MoveNote, SearchInfoSlot};
use crate::bot::game::{Anomaly, Ending, GameMachine, MovePlayed};
use crate::engine::{Engine, Limits, Search};
use crate::lichess::{GameFull, GameId};
use crate::rules::Game;

pub(in crate::bot) struct GameRecorder {
    event_log: EventLog,
    game: GameId,
    search_info: SearchInfoSlot,
    /// The first line of an opening, not recorded yet.
    header: Option<Header>,
    /// Whether a line was read but not recorded yet.
    read: bool,
    /// Whether that line came over an already open stream.
    live: bool,
    latency: Option<Duration>,
    safe: bool,
}

impl GameRecorder {
    pub(in crate::bot) fn new(event_log: EventLog, game: &GameId) -> Self {
        Self {
            event_log,
            game: game.clone(),
            search_info: SearchInfoSlot::default(),
            header: None,
            read: false,
            live: false,
            latency: None,
            safe: false,
        }
    }

    /// Handles the first line of an opening.
    pub(in crate::bot) fn full(&mut self, full: &GameFull) {
        self.header = Header::of(&self.game, full);
        (self.read, self.live) = (true, false);
    }

    /// Handles a later line of the stream.
    pub(in crate::bot) fn state(&mut self) {
        (self.read, self.live) = (true, true);
    }

    /// Sets the overhead of the next move to record.
    pub(in crate::bot) fn cost(&mut self, cost: Duration) {
        self.latency = Some(cost);
    }

    pub(in crate::bot) fn anomaly(&mut self, anomaly: &Anomaly) {
        self.safe |= *anomaly == Anomaly::NoThought;
        let kind = match anomaly {
            // The event log already has it with the server's reply, as it has every refusal.
            Anomaly::Limited { .. } => return,
            Anomaly::Late | Anomaly::NoThought => "search",
            _ => "game",
        };
        self.event_log
            .note(kind, anomaly.to_string(), Some(&self.game));
    }

    /// Records a move; `ply` is the length of the list after it.
    pub(in crate::bot) fn moved(&mut self, moved: &MovePlayed, ply: usize) {
        let mut note = MoveNote {
            ply,
            live: self.live,
            ..MoveNote::default()
        };
        if moved.ours {
            note.latency = self.latency.take();
            note.safe = std::mem::take(&mut self.safe);
        }
        self.event_log.moved(&self.game, moved, note);
    }

    /// Records a line once all its effects have run.
    pub(in crate::bot) fn write(&mut self, machine: &GameMachine) {
        // A state that the machine does not believe is not recorded.
        if !std::mem::take(&mut self.read) || !machine.is_trusted() {
            return;
        }
        let (Some(us), Some(state)) = (machine.us(), machine.shown_state()) else {
            return;
        };
        match self.header.take() {
            Some(header) => {
                self.event_log
                    .opened(header, us, machine.game(), state, &self.search_info);
            }
            None => self.event_log.stated(&self.game, machine.game(), state),
        }
    }

    /// The game is over, or no longer visible.
    pub(in crate::bot) fn over(&self, ending: &Ending) {
        self.event_log.over(ending);
    }

    /// Starts a search, which reports its progress if anyone watches.
    pub(in crate::bot) fn think(&self, engine: &Engine, game: &Game, limits: Limits) -> Search {
        self.start(engine, game, limits, false)
    }

    /// The same on the opponent's time.
    pub(in crate::bot) fn ponder(&self, engine: &Engine, game: &Game, limits: Limits) -> Search {
        self.start(engine, game, limits, true)
    }

    fn start(&self, engine: &Engine, game: &Game, limits: Limits, pondering: bool) -> Search {
        if let Some(news) = self.event_log.audience() {
            let reporter = self.search_info.reporter(game, pondering, news);
            return engine.think_with(game, limits, reporter);
        }
        self.search_info.done();
        engine.think(game, limits)
    }
}
