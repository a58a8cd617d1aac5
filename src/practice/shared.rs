//! The server state with its open streams behind one lock, the server's clock, and the task that
//! runs its timers.
//!
//! The lock is never held across an await; everything done under it reaches all readers in the same
//! order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::archive::dates;
use crate::rules::Color;

use super::api_error::ApiError;
use super::attribution::{EndContext, attribution};
use super::chaos::{Faults, GamePhase, Injection, MID_SEARCH_DELAY, ScheduledInjection};
use super::connection::ConnectionGate;
use super::event::Event;
use super::outbox::Outbox;
use super::report::GameReport;
use super::state::{GameProgress, OutgoingEvent, ServerState};
use super::streams::{GameStreamKey, Streams};
use super::time::{Millis, Timing};
use super::traffic_log::TrafficLog;
use super::wire::GameLine;

/// Shared by all requests and sparring bots.
#[derive(Debug)]
pub(crate) struct SharedServer {
    inner: Mutex<Inner>,
    opened: Instant,
    opened_at: Millis,
    due_changed: Notify,
    pub(crate) timing: Timing,
    pub(crate) faults: Faults,
    pub(crate) log: TrafficLog,
    pub(super) gate: Arc<ConnectionGate>,
    /// Cancelled when the server ends.
    pub(super) stop: CancellationToken,
    injection_sender: UnboundedSender<ScheduledInjection>,
    /// Reports of games with a client, until a caller takes them.
    reports: Mutex<VecDeque<GameReport>>,
}

/// Reports kept until a caller takes them.
const REPORTS: usize = 8192;

#[derive(Debug)]
struct Inner {
    state: ServerState,
    streams: Streams,
}

impl SharedServer {
    /// A shared server, and the receiver of the injections to run.
    pub(super) fn new(
        state: ServerState,
        stop: CancellationToken,
    ) -> (Arc<Self>, UnboundedReceiver<ScheduledInjection>) {
        let (injection_sender, injection_receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Self {
            timing: *state.timing(),
            log: TrafficLog::new(state.timing().seconds(1)),
            gate: Arc::default(),
            stop,
            injection_sender,
            reports: Mutex::default(),
            inner: Mutex::new(Inner {
                state,
                streams: Streams::new(),
            }),
            opened: Instant::now(),
            opened_at: Millis(dates::now()),
            due_changed: Notify::new(),
            faults: Faults::default(),
        });
        (shared, injection_receiver)
    }

    pub(crate) fn now(&self) -> Millis {
        self.opened_at + self.opened.elapsed()
    }

    /// Changes the server state and delivers the resulting events.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut ServerState, Millis) -> T) -> T {
        let now = self.now();
        let mut inner = self.inner.lock();
        let result = action(&mut inner.state, now);
        self.deliver_outbox(&mut inner, now);
        drop(inner);
        self.due_changed.notify_one();
        result
    }

    /// Reads the server state.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&ServerState, Millis) -> T) -> T {
        look(&self.inner.lock().state, self.now())
    }

    /// Opens the event stream of a token.
    pub(crate) fn open_events(&self, token: &str, user: &str) -> Result<Arc<Outbox>, ApiError> {
        let now = self.now();
        let mut inner = self.inner.lock();
        inner.state.open_event_stream(token, now)?;
        let lines = inner
            .state
            .event_snapshot(user, now)
            .iter()
            .map(|event| serde_json::to_string(event).unwrap_or_default())
            .collect();
        Ok(inner.streams.open_events(token, lines))
    }

    /// Opens the stream of a game; that of a finished game states it completely and ends at once.
    pub(crate) fn open_game(&self, key: GameStreamKey) -> Result<Arc<Outbox>, ApiError> {
        let now = self.now();
        let mut inner = self.inner.lock();
        let entry = inner
            .state
            .entry(&key.game)
            .ok_or_else(ApiError::not_found)?;
        let playing = entry.game.is_playing();
        let full = GameLine::GameFull(Box::new(ServerState::game_full(&entry.game, now)));
        let first = serde_json::to_string(&full).unwrap_or_default();
        let (game, side) = (key.game.clone(), key.side);
        let outbox = inner.streams.open_game(key, first);
        if playing {
            inner.state.arrive(&game, side, now);
            self.deliver_outbox(&mut inner, now);
            if let Some(moment) = inner.state.moment(&game).filter(|moment| moment.ply < 2) {
                let begin = GameProgress {
                    phase: GamePhase::Begin,
                    ..moment
                };
                self.inject_due(&mut inner, &game, begin);
            }
        } else {
            outbox.close();
        }
        Ok(outbox)
    }

    /// Keeps a challenge alive while this stream is read; tells at once if it has been answered already.
    pub(crate) fn open_challenge(&self, id: &str, first: String) -> Arc<Outbox> {
        let mut inner = self.inner.lock();
        inner.state.keep_challenge(id);
        let outbox = inner.streams.open_challenge(id, first);
        let answered = inner.state.pending(id).map(|challenge| challenge.status);
        if let Some(status) = answered.filter(|status| !status.is_pending()) {
            outbox.push(format!("{{\"done\":\"{}\"}}", status.name()));
            outbox.close();
        }
        outbox
    }

    pub(crate) fn forget(&self, outbox: &Arc<Outbox>) {
        self.inner.lock().streams.forget(outbox);
    }

    /// The side of `user` in a game, if it may stream the game.
    pub(crate) fn side_at(&self, user: &str, game: &str) -> Result<Color, ApiError> {
        self.see(|state, _| state.find_player(user, game).map(|(_, side)| side))
    }

    pub(crate) fn watch(&self, id: &str) -> watch::Receiver<u64> {
        self.inner.lock().streams.watch(id)
    }

    pub(crate) fn news(&self) -> broadcast::Receiver<Event> {
        self.inner.lock().streams.news()
    }

    pub(crate) fn close_all(&self) {
        self.inner.lock().streams.close_all();
    }

    pub(crate) fn break_all(&self) {
        self.inner.lock().streams.break_all();
    }

    /// When the next timer is due; `None` while the server is down.
    fn next_due(&self) -> Option<Millis> {
        if self.gate.is_closed() {
            return None;
        }
        self.inner.lock().state.next_due()
    }

    /// Wakes the timer task: a timer may be due earlier.
    pub(super) fn wake_timer(&self) {
        self.due_changed.notify_one();
    }

    fn deliver_outbox(&self, inner: &mut Inner, now: Millis) {
        for delivery in inner.state.take_outbox() {
            match &delivery {
                OutgoingEvent::News(Event::Started { game, .. }) => {
                    self.faults.begin(game);
                    self.log.begin(game);
                }
                OutgoingEvent::Game {
                    id,
                    moment: Some(moment),
                    ..
                } => self.inject_due(inner, id, *moment),
                OutgoingEvent::TakenBack { id } => self.log.taken_back(id, now),
                OutgoingEvent::GameOver { id } => self.file_report(inner, id, now),
                _ => {}
            }
            inner.streams.deliver(&inner.state, delivery);
        }
    }

    /// Injects the faults that are due in a game, before anything else goes out.
    fn inject_due(&self, inner: &mut Inner, game: &str, moment: GameProgress) {
        for injection in self.faults.due(game, moment.phase, moment.ply) {
            self.inject(inner, game, injection);
        }
        if moment.phase == GamePhase::OurTurn {
            for injection in self.faults.due(game, GamePhase::Thinking, moment.ply) {
                self.schedule_injection(game, injection, MID_SEARCH_DELAY);
            }
        }
    }

    fn inject(&self, inner: &mut Inner, game: &str, injection: Injection) {
        self.log.record(game, self.now(), injection.name());
        match injection {
            Injection::Call(place, fault) if place.is_of_a_game() => {
                self.faults.add_at(game, place, fault);
            }
            Injection::Call(place, fault) => self.faults.add(place, fault),
            Injection::Stream(channel, stream_fault) => {
                inner.streams.stream_fault(game, channel, &stream_fault);
            }
            injection @ Injection::World(_) => {
                self.schedule_injection(game, injection, Duration::ZERO);
            }
        }
    }

    /// Injects a fault into a game.
    pub(super) fn trigger(&self, game: &str, injection: Injection) {
        let mut inner = self.inner.lock();
        self.inject(&mut inner, game, injection);
    }

    fn schedule_injection(&self, game: &str, injection: Injection, after: Duration) {
        let schedule_injection = ScheduledInjection {
            game: game.to_owned(),
            injection,
            after,
        };
        // If the server is ending, nothing runs injections any more.
        let _ = self.injection_sender.send(schedule_injection);
    }

    /// Injects what is due when a move arrives.
    pub(super) fn on_move(&self, id: &str, uci: &str) {
        let now = self.now();
        let mut inner = self.inner.lock();
        let Some(entry) = inner.state.entry(id) else {
            return;
        };
        let game = &entry.game;
        let ply = game.plies();
        // A client that never got a reply repeats its last move.
        let again = game.record().iter().rev().nth(1);
        let again = again.is_some_and(|played| played.uci == uci || played.stream_uci == uci);
        let turn = ServerState::client_side(game) == Some(game.turn());
        if turn && game.is_playing() && !again {
            self.log.move_sent(id, game.spelled(), uci, now);
        }
        for injection in self.faults.due(id, GamePhase::Posting, ply) {
            self.inject(&mut inner, id, injection);
        }
    }

    /// The game is over: files its report and ends its faults.
    fn file_report(&self, inner: &Inner, game: &str, now: Millis) {
        let behavior = self.faults.behavior(game);
        self.faults.forget(game);
        let trace = self.log.close(game);
        let Some(entry) = inner.state.entry(game) else {
            return;
        };
        let game = &entry.game;
        let Some(side) = ServerState::client_side(game) else {
            return;
        };
        let since = game.turn_since();
        let around = EndContext {
            behavior,
            refused_throughout: self.log.refused_throughout(since, now),
            stalled: self
                .log
                .stalled_longer_than(game.longest_absence(side), now),
        };
        let attribution = attribution(game, side, &trace, around);
        let report = GameReport::of(game, side, attribution, &trace);
        let mut reports = self.reports.lock();
        if reports.len() >= REPORTS {
            reports.pop_front();
        }
        reports.push_back(report);
    }

    /// The reports of games that finished since the last call.
    pub(super) fn take_reports(&self) -> Vec<GameReport> {
        self.reports.lock().drain(..).collect()
    }

    /// The same for the games of one arena; the others stay.
    pub(super) fn take_reports_of(&self, arena: &str) -> Vec<GameReport> {
        let mut reports = self.reports.lock();
        let all = std::mem::take(&mut *reports);
        let of_arena = |report: &GameReport| report.arena.as_deref() == Some(arena);
        let (taken, left): (Vec<_>, Vec<_>) = all.into_iter().partition(of_arena);
        reports.extend(left);
        taken
    }

    /// The report of one finished game.
    pub(super) fn take_report(&self, game: &str) -> Option<GameReport> {
        let mut reports = self.reports.lock();
        let at = reports.iter().position(|report| report.id == game)?;
        reports.remove(at)
    }
}

/// Runs the timers of the server state, for ever.
pub(crate) async fn run_timer(shared: Arc<SharedServer>) {
    loop {
        let wait = shared
            .next_due()
            .map_or(Duration::from_secs(3600), |due| due - shared.now());
        if wait.is_zero() && !shared.gate.is_closed() {
            shared.with(ServerState::tick);
        }
        tokio::select! {
            () = tokio::time::sleep(wait.max(Duration::from_millis(1))) => {}
            () = shared.due_changed.notified() => {}
        }
    }
}
