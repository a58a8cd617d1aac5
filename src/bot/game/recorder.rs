//! Records a game in the event log, after everything urgent has been sent.
//!
//! It collects what belongs to the next move and hands it over. It decides nothing, and nothing waits for it.

use std::time::Duration;

use crate::bot::event_log::{EventLog, Header, MoveNote, SearchInfoSlot};
use crate::bot::game::{Anomaly, Ending, GameMachine, MovePlayed};
use crate::engine::{Engine, Limits, Search};
use crate::lichess::{GameFull, GameId};
use crate::rules::Game;

/// The minutes of one game.
pub(in crate::bot) struct GameRecorder {
    event_log: EventLog,
    game: GameId,
    desk: SearchInfoSlot,
    /// The first line of an opening, not yet written down.
    header: Option<Header>,
    /// Whether a line was read that is not written down yet.
    read: bool,
    /// Whether that line came over a stream that was open.
    live: bool,
    latency: Option<Duration>,
    safe: bool,
}

impl GameRecorder {
    pub(in crate::bot) fn new(event_log: EventLog, game: &GameId) -> Self {
        Self {
            event_log,
            game: game.clone(),
            desk: SearchInfoSlot::default(),
            header: None,
            read: false,
            live: false,
            latency: None,
            safe: false,
        }
    }

    /// The first line of an opening has come.
    pub(in crate::bot) fn full(&mut self, full: &GameFull) {
        self.header = Header::of(&self.game, full);
        (self.read, self.live) = (true, false);
    }

    /// A later line has come.
    pub(in crate::bot) fn state(&mut self) {
        (self.read, self.live) = (true, true);
    }

    /// What the move about to be told cost beside our thinking.
    pub(in crate::bot) fn cost(&mut self, cost: Duration) {
        self.latency = Some(cost);
    }

    /// Something is not as it should be.
    pub(in crate::bot) fn anomaly(&mut self, anomaly: &Anomaly) {
        self.safe |= *anomaly == Anomaly::NoThought;
        let kind = match anomaly {
            // Written down where refusals of every kind are, with what the server said.
            Anomaly::Limited { .. } => return,
            Anomaly::Late | Anomaly::NoThought => "search",
            _ => "game",
        };
        self.event_log
            .note(kind, anomaly.to_string(), Some(&self.game));
    }

    /// A move stands, and after it so many are on the list.
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

    /// Everything about a line has been done: what it says is written down.
    pub(in crate::bot) fn write(&mut self, machine: &GameMachine) {
        // What the game state machine does not believe is not written down either.
        if !std::mem::take(&mut self.read) || !machine.is_trusted() {
            return;
        }
        let (Some(us), Some(state)) = (machine.us(), machine.shown_state()) else {
            return;
        };
        match self.header.take() {
            Some(header) => {
                self.event_log
                    .opened(header, us, machine.game(), state, &self.desk);
            }
            None => self.event_log.stated(&self.game, machine.game(), state),
        }
    }

    /// The game is over, or out of sight.
    pub(in crate::bot) fn over(&self, ending: &Ending) {
        self.event_log.over(ending);
    }

    /// Starts a search, which reports on its way if anyone looks.
    pub(in crate::bot) fn think(&self, engine: &Engine, game: &Game, limits: Limits) -> Search {
        self.start(engine, game, limits, false)
    }

    /// The same on the opponent's time.
    pub(in crate::bot) fn ponder(&self, engine: &Engine, game: &Game, limits: Limits) -> Search {
        self.start(engine, game, limits, true)
    }

    fn start(&self, engine: &Engine, game: &Game, limits: Limits, pondering: bool) -> Search {
        if let Some(news) = self.event_log.audience() {
            let reporter = self.desk.reporter(game, pondering, news);
            return engine.think_with(game, limits, reporter);
        }
        self.desk.done();
        engine.think(game, limits)
    }
}
