//! The record of everything that happens, in memory, for the archive and the operator's page.
//!
//! Game tasks, the event loop and alerts write to it; the lock is held only while copying, so a reader
//! never delays a game. A reader asks for what changed since a version and gets each changed game
//! whole: slow readers coalesce. Only the rings of challenges and events can overflow; they count what
//! they drop.
//!
//! * `state`: the data behind its lock
//! * `record_builder`: records of games and challenges from what the server states
//! * `search_info`: the running search

mod record_builder;
mod search_info;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use self::state::LogState;
use crate::archive::{
    ChallengeRecord, ChallengeVerdict, EventRecord, GameRecord, Millis, WireRecord,
};
use crate::bot::account_event::{AcceptOutcome, Decline};
use crate::bot::bot_event::BotEvent;
use crate::bot::game::{Ending, MovePlayed};
use crate::bot::status::GameStatus;
use crate::lichess::{
    Challenge, ChallengeId, ChallengeStatus, ExportedGame, GameId, GameState, Liveness, Side,
    UserId, WireLine,
};
use crate::rules::Game;

pub(super) use self::record_builder::{Header, epoch, millis};
pub(super) use record_builder::MoveNote;
pub use search_info::SearchInfo;
pub(super) use search_info::SearchInfoSlot;
pub use state::{Changes, Clocks, LiveGame};

/// Number of latest reviewed games to remember.
const MAX_REVIEWED: usize = 16;

/// Everything that happens, in memory. Clones share it. Writers never block for long; readers copy.
/// No call waits for a reader, a disk or a search.
#[derive(Clone, Default)]
pub struct EventLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<LogState>,
    changes: watch::Sender<u64>,
    search_progress: watch::Sender<u64>,
    trouble: watch::Sender<Option<String>>,
    reviewed: Mutex<VecDeque<(String, Millis)>>,
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").finish_non_exhaustive()
    }
}

impl EventLog {
    /// Running games, each with its clocks and its running search.
    pub fn running(&self) -> Vec<LiveGame> {
        let state = self.state();
        let (mut games, search_slots) = (state.running(), state.search_slots());
        drop(state);
        for game in &mut games {
            let slot = search_slots.iter().find(|(id, _)| *id == game.record.id);
            // Search results of moves made since are in their records.
            let made = game.record.moves.len();
            let search = slot.and_then(|(_, slot)| slot.read());
            game.search = search.filter(|search| search.ply >= made);
        }
        games
    }

    /// The running games, for the bot's status.
    pub(in crate::bot) fn statuses(&self) -> Vec<GameStatus> {
        self.state().statuses(now())
    }

    /// The time on both clocks of the running game that has the least of it.
    pub(in crate::bot) fn least_clocks(&self) -> Option<Duration> {
        let games = self.statuses().into_iter();
        let clocks = games.filter_map(|game| game.our_clock?.checked_add(game.their_clock?));
        clocks.min().map(Duration::from_millis)
    }

    pub(in crate::bot) fn running_count(&self) -> usize {
        self.state().with_task().count()
    }

    /// Games with a clock in which not both sides have moved: the server lets the bot abort them.
    pub(in crate::bot) fn barely_begun(&self) -> Vec<GameId> {
        let state = self.state();
        let begun = state
            .with_task()
            .filter(|(_, game)| game.record.control.has_clock() && game.record.moves.len() < 2);
        begun.map(|(id, _)| GameId::new(id.as_str())).collect()
    }

    /// Records that a game stream is wanted, open or lost.
    pub(in crate::bot) fn stream(&self, game: &GameId, open: Option<Liveness>) {
        self.state().stream(game.as_str(), open);
    }

    /// A running or recently ended game.
    pub fn game(&self, id: &str) -> Option<Arc<GameRecord>> {
        self.state().game(id)
    }

    /// Recently ended games, the latest first: at least a few dozen, if there were so many.
    pub fn recent(&self) -> Vec<Arc<GameRecord>> {
        self.state().recent()
    }

    /// The latest challenges, newest first.
    pub fn challenges(&self, most: usize) -> Vec<Arc<ChallengeRecord>> {
        self.state().challenges.latest(most)
    }

    /// The latest events, newest first.
    pub fn events(&self, most: usize) -> Vec<Arc<EventRecord>> {
        self.state().events.latest(most)
    }

    /// Counts changes of games, challenges and events. Sent on every change: a slow reader sees
    /// only the latest number.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Counts search reports. Searches report only if such a receiver exists when they begin.
    pub fn search_progress(&self) -> watch::Receiver<u64> {
        self.0.search_progress.subscribe()
    }

    /// Changes after a version, each game whole.
    pub fn since(&self, version: u64) -> Changes {
        self.state().since(version)
    }

    /// Connects an archive that stores ended games; `unfinished` are its games in progress.
    pub fn archive(&self, unfinished: Vec<GameRecord>) {
        self.state().archive(unfinished);
    }

    /// Everything up to this version is archived.
    pub fn settle(&self, version: u64) {
        self.state().settle(version);
    }

    /// Why the archive currently cannot be written, if so; the bot raises an alert.
    pub fn set_write_error(&self, trouble: Option<String>) {
        self.0.trouble.send_if_modified(|known| {
            let news = *known != trouble;
            *known = trouble;
            news
        });
    }

    /// The archive's current trouble.
    pub fn write_errors(&self) -> watch::Receiver<Option<String>> {
        self.0.trouble.subscribe()
    }

    /// A finished game was analysed and the result stored.
    pub fn reviewed(&self, game: &str) {
        let mut reviewed = self.0.reviewed.lock();
        if reviewed.len() >= MAX_REVIEWED {
            reviewed.pop_front();
        }
        reviewed.push_back((game.to_owned(), now()));
        drop(reviewed);
        self.change(|_, _| {});
    }

    /// The latest reviewed games with their times.
    pub fn reviews(&self) -> Vec<(String, Millis)> {
        self.0.reviewed.lock().iter().cloned().collect()
    }

    /// Logs an event that an operator may want to look up later.
    pub fn note(&self, kind: &str, text: impl Into<String>, game: Option<&GameId>) {
        let event = EventRecord {
            at: now(),
            kind: kind.to_owned(),
            text: text.into(),
            game: game.map(ToString::to_string),
        };
        self.change(|state, _| state.events.push(event, state.version));
    }

    /// Logs a piece of the traffic of a game, to be archived.
    pub fn note_wire(&self, line: WireLine) {
        self.change(|state, at| {
            let wire = WireRecord {
                game: line.game.to_string(),
                at,
                kind: line.kind.to_string(),
                text: line.text,
            };
            state.wire.push(wire, state.version);
        });
    }
}

impl EventLog {
    /// A game stream opened.
    pub(in crate::bot) fn opened(
        &self,
        header: Header,
        us: Side,
        game: &Game,
        state: &GameState,
        slot: &SearchInfoSlot,
    ) {
        self.change(|log, now| log.opened(header, us, game, state, slot, now));
    }

    pub(in crate::bot) fn moved(&self, game: &GameId, moved: &MovePlayed, note: MoveNote) {
        self.change(|state, now| state.moved(game.as_str(), moved, note, now));
    }

    /// A state arrived; `game` is the move list now.
    pub(in crate::bot) fn stated(&self, id: &GameId, game: &Game, state: &GameState) {
        self.change(|log, now| log.stated(id.as_str(), game, state, now));
    }

    /// A game is over, or lost track of.
    pub(in crate::bot) fn over(&self, ending: &Ending) {
        self.change(|state, now| state.over(ending, now));
    }

    /// A game ended unseen; `game` is its replay.
    pub(in crate::bot) fn missed(&self, export: &ExportedGame, us: Side, game: &Game) {
        self.change(|state, now| {
            state.missed(record_builder::exported(export, us, game, now), game);
        });
    }

    /// The server no longer knows a game whose end nobody saw.
    pub(in crate::bot) fn end_unknown(&self, game: &GameId) {
        self.change(|state, _| state.end_unknown(game.as_str()));
    }

    /// The rating changes of a game, the opponent's if known.
    pub(in crate::bot) fn rated(&self, game: &GameId, ours: i32, theirs: Option<i32>) {
        self.change(|state, _| state.rated(game.as_str(), ours, theirs));
    }

    /// A game task ended.
    pub(in crate::bot) fn leave(&self, game: &GameId) {
        self.change(|state, _| state.leave(game.as_str()));
    }

    /// Counter for search reports, if there is a reader.
    pub(in crate::bot) fn audience(&self) -> Option<watch::Sender<u64>> {
        let search_progress = &self.0.search_progress;
        (search_progress.receiver_count() > 0).then(|| search_progress.clone())
    }

    /// A challenge exists. The server repeats it whenever the stream opens.
    pub(in crate::bot) fn challenged(&self, challenge: &Challenge, me: &UserId) {
        let record = record_builder::challenge(challenge, me, now());
        self.change(|state, _| {
            if state.challenges.find(|it| it.id == record.id).is_none() {
                state.challenges.push(record, state.version);
            }
        });
    }

    /// A decline reached the server.
    pub(in crate::bot) fn declined(&self, refusal: &Decline) {
        self.refused(refusal, ChallengeVerdict::Declined, "");
    }

    /// A decline that could not be sent, and why.
    pub(in crate::bot) fn unsent(&self, refusal: &Decline, trouble: &str) {
        self.refused(refusal, ChallengeVerdict::Failed, trouble);
    }

    /// A challenge was gone before the bot declined it.
    pub(in crate::bot) fn gone(&self, refusal: &Decline) {
        self.settle_challenge(&refusal.id, true, |it| {
            it.verdict = ChallengeVerdict::Canceled;
            it.why = Some("challenge was withdrawn before it could be declined".to_owned());
        });
    }

    fn refused(&self, refusal: &Decline, verdict: ChallengeVerdict, trouble: &str) {
        let why = [refusal.why.as_str(), trouble];
        let why: Vec<&str> = why.into_iter().filter(|part| !part.is_empty()).collect();
        // Without a delivered decline, the challenger may have withdrawn it meanwhile.
        let only_waiting = verdict != ChallengeVerdict::Declined;
        self.settle_challenge(&refusal.id, only_waiting, |it| {
            it.verdict = verdict;
            it.reason = Some(refusal.reason.to_string());
            it.rule = refusal.rule.map(|rule| format!("{rule:?}"));
            it.why = Some(why.join("; ")).filter(|why| !why.is_empty());
        });
    }

    /// The server's answer to an accept.
    pub(in crate::bot) fn accepted(&self, id: &ChallengeId, answer: &AcceptOutcome) {
        let (verdict, why) = match answer {
            AcceptOutcome::Done => (ChallengeVerdict::Accepted, None),
            AcceptOutcome::Refused => (
                ChallengeVerdict::Failed,
                Some("Lichess refused the acceptance"),
            ),
            AcceptOutcome::Gone => (
                ChallengeVerdict::Canceled,
                Some("challenge was withdrawn before it could be accepted"),
            ),
            // The accept is retried, or the challenge declined, which records why.
            _ => return,
        };
        self.settle_challenge(id, false, |it| {
            it.verdict = verdict;
            it.why = why.map(str::to_owned);
        });
    }

    /// A challenge was withdrawn or declined by either side.
    pub(in crate::bot) fn withdrawn(&self, challenge: &Challenge) {
        let verdict = match challenge.status {
            ChallengeStatus::Declined => ChallengeVerdict::Declined,
            _ => ChallengeVerdict::Canceled,
        };
        let reason = challenge.decline_reason;
        self.settle_challenge(&challenge.id, true, |it| {
            it.verdict = verdict;
            it.reason = reason.map(|reason| reason.to_string());
        });
    }

    /// A game began: its challenge was accepted, even if the answer to the accept was lost.
    pub(in crate::bot) fn began(&self, game: &GameId) {
        self.accepted(&game.as_challenge(), &AcceptOutcome::Done);
    }

    /// Records a challenge's outcome. An accepted challenge never changes; with `only_waiting`, no
    /// settled one does.
    fn settle_challenge(
        &self,
        id: &ChallengeId,
        only_waiting: bool,
        change: impl FnOnce(&mut ChallengeRecord),
    ) {
        self.change(|state, now| {
            let fits = |it: &ChallengeRecord| it.id == id.as_str();
            let is_settled = |it: &ChallengeRecord| match it.verdict {
                ChallengeVerdict::Accepted => true,
                verdict => only_waiting && verdict != ChallengeVerdict::Waiting,
            };
            if state.challenges.find(fits).is_some_and(is_settled) {
                return;
            }
            state.challenges.change(fits, state.version, |it| {
                change(it);
                it.settled = Some(now);
            });
        });
    }

    /// Logs the bus events that are worth a line.
    pub(in crate::bot) fn handle(&self, event: &BotEvent) {
        match event {
            BotEvent::Online => self.note("online", "the event stream is open", None),
            BotEvent::Offline { reason } => self.note("offline", reason.clone(), None),
            BotEvent::AlertRaised { kind, text } => {
                self.note("alert", format!("{}: {text}", kind.as_str()), None);
            }
            BotEvent::AlertCleared { kind } => {
                self.note("alert-over", kind.as_str(), None);
            }
            BotEvent::StreamLost { game, reason } => {
                self.note("stream", format!("lost: {reason}"), Some(game));
            }
            BotEvent::GameTaskFailed { game, reason } => {
                let text = format!("game task panicked; restarting: {reason}");
                self.note("engine", text, Some(game));
            }
            BotEvent::EventLoopFailed { reason } => {
                let text = format!("event loop panicked; restarting: {reason}");
                self.note("event-loop", text, None);
            }
            BotEvent::EngineFailed { reason } => {
                self.note("engine", format!("self-test failed: {reason}"), None);
            }
            BotEvent::ServiceFailed { service, reason } => {
                let text = format!("{service} panicked; restarting: {reason}");
                self.note("service", text, None);
            }
            BotEvent::Accepted
            | BotEvent::Declined { .. }
            | BotEvent::Joined { .. }
            | BotEvent::Moved { .. }
            | BotEvent::Overhead { .. }
            | BotEvent::AnomalySeen { .. }
            | BotEvent::Finished { .. } => {}
        }
    }

    /// Changes the log at the current time and notifies readers.
    fn change(&self, change: impl FnOnce(&mut LogState, Millis)) {
        let now = now();
        let version = {
            let mut state = self.state();
            state.version += 1;
            change(&mut state, now);
            state.version
        };
        self.0
            .changes
            .send_modify(|told| *told = version.max(*told));
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.state.lock()
    }
}

fn now() -> Millis {
    epoch(SystemTime::now())
}
