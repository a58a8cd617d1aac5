//! Records the traffic: calls by endpoint, pauses after 429s, streams lost and reopened, and the
//! trace of each running game.
//!
//! Records only; `attribution` decides what the records mean for a game.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;

use super::chaos::Endpoint;
use super::time::Millis;

/// Lines kept of a game's trace: the last ones show how it ended.
const MAX_TRACE_LINES: usize = 120;
/// Complaints kept about calls that came too soon.
const COMPLAINTS: usize = 50;
/// Waking up late by less than this is normal.
const LATE: Duration = Duration::from_millis(30);
/// Stalls kept.
const STALLS: usize = 64;
/// A call of another game or challenge may have been in flight when a 429 was sent.
const UNDER_WAY: Duration = Duration::from_millis(15);
/// Minimum Lichess seconds between two calls that meet a limit.
const SPACING: u64 = 2;
/// Times are whole milliseconds: a recorded difference of 33 may be nearly 34.
const GRAIN: Duration = Duration::from_millis(1);
/// Lichess seconds over which openings of event streams are counted.
const OPENING_WINDOW: u64 = 600;

/// The client's calls, and how long it was without its streams.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    pub calls: BTreeMap<&'static str, u64>,
    /// Answers of status 429.
    pub limited: u64,
    /// The shortest time from a 429 to the account's next call of the class, of the same game if it
    /// belongs to one.
    pub least_gap: Option<Duration>,
    /// Calls that came sooner than two Lichess seconds after a 429.
    pub too_soon: Vec<String>,
    /// The most openings of the event stream within ten Lichess minutes.
    pub most_openings: usize,
    /// From the loss of a stream to its next opening, by kind of loss.
    pub recoveries: BTreeMap<String, Vec<Duration>>,
    /// Streams that were lost and not reopened.
    pub still_lost: usize,
}

/// A call of the Bot API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRecord<'a> {
    /// The account, if the token is known.
    pub(crate) who: Option<&'a str>,
    pub(crate) endpoint: Endpoint,
    /// The game it belongs to.
    pub(crate) game: Option<&'a str>,
    /// The move it makes, or the command in the game, as in `takeback/yes`.
    pub(crate) command: Option<&'a str>,
}

impl CallRecord<'_> {
    /// The move it makes.
    pub(crate) fn uci(&self) -> Option<&str> {
        self.command.filter(|_| self.endpoint == Endpoint::Move)
    }

    fn kind(&self) -> LimitKey {
        LimitKey {
            who: self.who.map(str::to_owned),
            endpoint: self.endpoint,
            game: self.game.map(str::to_owned),
        }
    }
}

/// The key of a rate limit: account and endpoint, and the game if the endpoint belongs to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LimitKey {
    who: Option<String>,
    endpoint: Endpoint,
    game: Option<String>,
}

/// The trace of a running game.
#[derive(Clone, Debug, Default)]
pub(crate) struct GameTrace {
    pub(crate) lines: VecDeque<(Millis, String)>,
    pub(crate) calls: u32,
    /// Changed moves: another move for a ply without a refusal in between.
    pub(crate) second_thoughts: u32,
    sent: Option<FirstSend>,
}

/// The first move that was sent for each move list.
#[derive(Clone, Debug)]
struct FirstSend {
    after: String,
    uci: String,
    refused: bool,
}

/// The traffic log of the server.
#[derive(Debug)]
pub(crate) struct TrafficLog {
    spacing: Duration,
    window: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    traffic: Traffic,
    games: HashMap<String, GameTrace>,
    openings: VecDeque<Millis>,
    /// When the last call of a class came in.
    came: HashMap<LimitKey, Millis>,
    /// 429s: when, and the move if the call was one.
    limited: HashMap<LimitKey, (Millis, Option<String>)>,
    lost: HashMap<String, (&'static str, Millis)>,
    /// Outages, when no one was admitted or the token was unknown: from, and until.
    outages: Vec<(Millis, Option<Millis>)>,
    /// The last stalls: until when, and for how long.
    stalls: VecDeque<(Millis, Duration)>,
    /// When the stall detector should have woken.
    heartbeat: Option<Millis>,
}

impl TrafficLog {
    pub(crate) fn new(second: Duration) -> Self {
        Self {
            spacing: second * SPACING as u32,
            window: second * OPENING_WINDOW as u32,
            inner: Mutex::default(),
        }
    }

    /// The traffic so far.
    pub(crate) fn traffic(&self) -> Traffic {
        let inner = self.inner.lock();
        Traffic {
            still_lost: inner.lost.len(),
            ..inner.traffic.clone()
        }
    }

    pub(crate) fn begin(&self, game: &str) {
        let mut inner = self.inner.lock();
        inner.games.insert(game.to_owned(), GameTrace::default());
    }

    /// The trace of a finished game.
    pub(crate) fn close(&self, game: &str) -> GameTrace {
        let mut inner = self.inner.lock();
        inner.lost.remove(&format!("game {game}"));
        let elsewhere = |kind: &LimitKey| kind.game.as_deref() != Some(game);
        inner.limited.retain(|kind, _| elsewhere(kind));
        inner.came.retain(|kind, _| elsewhere(kind));
        inner.games.remove(game).unwrap_or_default()
    }

    /// Adds a line to the trace of a running game.
    pub(crate) fn record(&self, game: &str, now: Millis, line: impl Into<String>) {
        self.inner.lock().record(game, now, line.into());
    }

    /// A call came in; a different move than the limited one is not its repetition.
    pub(crate) fn called(&self, call: CallRecord<'_>, now: Millis) {
        let (endpoint, game) = (call.endpoint, call.game);
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        *inner.traffic.calls.entry(endpoint.name()).or_default() += 1;
        if let Some(trace) = game.and_then(|game| inner.games.get_mut(game)) {
            trace.calls += 1;
        }
        if let (Endpoint::Game, Some(game), Some(command)) = (endpoint, game, call.command) {
            inner.record(game, now, format!("the client asks for {command}"));
        }
        if endpoint == Endpoint::Events {
            inner.openings.push_back(now);
            let is_past = |first: &Millis| now - *first > self.window;
            while inner.openings.front().is_some_and(is_past) {
                inner.openings.pop_front();
            }
            let openings = inner.openings.len();
            inner.traffic.most_openings = inner.traffic.most_openings.max(openings);
        }
        let kind = call.kind();
        inner.came.insert(kind.clone(), now);
        let waits = inner.limited.get(&kind).cloned();
        if let Some((limited, what)) = waits
            && what.as_deref() == call.uci()
            && (game.is_some() || now - limited >= UNDER_WAY)
        {
            inner.limited.remove(&kind);
            let gap = now - limited;
            let least = inner.traffic.least_gap.unwrap_or(gap);
            inner.traffic.least_gap = Some(least.min(gap));
            if gap + GRAIN <= self.spacing && inner.traffic.too_soon.len() < COMPLAINTS {
                let at = game.unwrap_or("the account");
                let line = format!("{} of {at} {gap:?} after a 429", endpoint.name());
                inner.traffic.too_soon.push(line);
            }
        }
    }

    /// A call was answered.
    pub(crate) fn answered(&self, call: CallRecord<'_>, status: u16, now: Millis) {
        let CallRecord { endpoint, game, .. } = call;
        let mut inner = self.inner.lock();
        if status == 429 {
            inner.traffic.limited += 1;
            let kind = call.kind();
            // A client kept waiting this long may have given the call up and made the next one.
            let came = inner.came.get(&kind).copied();
            let sent = came.filter(|&came| now - came >= self.spacing);
            let limited = (sent.unwrap_or(now), call.uci().map(str::to_owned));
            inner.limited.insert(kind, limited);
        }
        if let Some(game) = game
            && (status != 200 || endpoint == Endpoint::Move)
        {
            inner.record(game, now, format!("{} answered {status}", endpoint.name()));
        }
    }

    /// A move was sent for the list of moves `after`.
    pub(crate) fn move_sent(&self, game: &str, after: &str, uci: &str, now: Millis) {
        let mut inner = self.inner.lock();
        inner.record(game, now, format!("the client sends {uci}"));
        let Some(trace) = inner.games.get_mut(game) else {
            return;
        };
        match &trace.sent {
            Some(sent) if sent.after == after => {
                if sent.uci != uci && !sent.refused {
                    trace.second_thoughts += 1;
                    let line = format!("{uci} after {} for the same ply", sent.uci);
                    inner.record(game, now, line);
                }
            }
            _ => {
                trace.sent = Some(FirstSend {
                    after: after.to_owned(),
                    uci: uci.to_owned(),
                    refused: false,
                });
            }
        }
    }

    /// A takeback was granted: the turn that follows is another, even after the same moves.
    pub(crate) fn taken_back(&self, game: &str, now: Millis) {
        let mut inner = self.inner.lock();
        inner.record(game, now, "a takeback".to_owned());
        if let Some(trace) = inner.games.get_mut(game) {
            trace.sent = None;
        }
    }

    /// The pending move was definitely refused.
    pub(crate) fn move_refused(&self, game: &str) {
        let mut inner = self.inner.lock();
        let trace = inner.games.get_mut(game);
        if let Some(sent) = trace.and_then(|trace| trace.sent.as_mut()) {
            sent.refused = true;
        }
    }

    /// A stream is unusable from now on.
    pub(crate) fn lost(&self, stream: &str, how: &'static str, now: Millis) {
        let mut inner = self.inner.lock();
        inner.lost.entry(stream.to_owned()).or_insert((how, now));
        if let Some(game) = stream.strip_prefix("game ") {
            inner.record(game, now, how.to_owned());
        }
    }

    /// A stream was opened.
    pub(crate) fn opened(&self, stream: &str, now: Millis) {
        let mut inner = self.inner.lock();
        if let Some((how, since)) = inner.lost.remove(stream) {
            let kind = stream.split(' ').next().unwrap_or_default();
            let found = inner.traffic.recoveries.entry(format!("{kind}: {how}"));
            found.or_default().push(now - since);
        }
        if let Some(game) = stream.strip_prefix("game ") {
            inner.record(game, now, "the client opens the stream".to_owned());
        }
    }

    /// An outage begins: the server serves no one.
    pub(crate) fn outage(&self, now: Millis) {
        self.inner.lock().outages.push((now, None));
    }

    /// The oldest outage in progress is over.
    pub(crate) fn outage_over(&self, now: Millis) {
        let mut inner = self.inner.lock();
        if let Some((_, until)) = inner.outages.iter_mut().find(|(_, until)| until.is_none()) {
            *until = Some(now);
        }
    }

    /// The stall detector goes to sleep and should wake at `due`; last time it woke this much too
    /// late.
    pub(crate) fn heartbeat(&self, late: Duration, due: Millis, now: Millis) {
        let mut inner = self.inner.lock();
        inner.heartbeat = Some(due);
        if late < LATE {
            return;
        }
        if inner.stalls.len() >= STALLS {
            inner.stalls.pop_front();
        }
        inner.stalls.push_back((now, late));
    }

    /// Whether the machine stalled for longer than `margin`, less than `margin` ago: a client has
    /// not had that much time since to make up for it.
    pub(crate) fn stalled_longer_than(&self, margin: Duration, now: Millis) -> bool {
        let counts = |&(until, span): &(Millis, Duration)| span > margin && now - until < margin;
        let inner = self.inner.lock();
        // Other tasks may wake from the stall before the detector does.
        let still = inner.heartbeat.is_some_and(|due| now - due > margin);
        still || inner.stalls.iter().any(counts)
    }

    /// Whether the server served no one during the whole span.
    pub(crate) fn refused_throughout(&self, from: Millis, to: Millis) -> bool {
        let covers = |&(since, until): &(Millis, Option<Millis>)| {
            since <= from && until.is_none_or(|until| until >= to)
        };
        self.inner.lock().outages.iter().any(covers)
    }
}

impl Inner {
    fn record(&mut self, game: &str, now: Millis, line: String) {
        if let Some(trace) = self.games.get_mut(game) {
            if trace.lines.len() >= MAX_TRACE_LINES {
                trace.lines.pop_front();
            }
            trace.lines.push_back((now, line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(endpoint: Endpoint, game: Option<&str>) -> CallRecord<'_> {
        CallRecord {
            who: Some("bot"),
            endpoint,
            game,
            command: None,
        }
    }

    fn log() -> TrafficLog {
        TrafficLog::new(Duration::from_secs(1))
    }

    #[test]
    fn a_call_too_soon_after_a_429_is_a_complaint() {
        let log = log();
        for (endpoint, game) in [(Endpoint::Move, Some("g")), (Endpoint::Events, None)] {
            log.called(call(endpoint, game), Millis(0));
            log.answered(call(endpoint, game), 429, Millis(100));
            log.called(call(endpoint, Some("other")), Millis(200));
        }
        log.called(call(Endpoint::Move, Some("g")), Millis(2_100));
        log.called(call(Endpoint::Events, None), Millis(2_000));
        let traffic = log.traffic();
        assert_eq!(traffic.limited, 2);
        assert_eq!(traffic.least_gap, Some(Duration::from_millis(1_900)));
        assert_eq!(traffic.too_soon.len(), 1, "{:?}", traffic.too_soon);
    }

    #[test]
    fn a_call_answered_very_late_counts_from_its_arrival() {
        for (answered, complaints) in [(1_900, 1), (2_000, 0)] {
            let log = log();
            log.called(call(Endpoint::Move, Some("g")), Millis(0));
            log.answered(call(Endpoint::Move, Some("g")), 429, Millis(answered));
            log.called(call(Endpoint::Move, Some("g")), Millis(2_001));
            let soon = log.traffic().too_soon.len();
            assert_eq!(soon, complaints, "{answered} ms");
        }
    }

    #[test]
    fn two_seconds_are_not_too_soon_because_of_rounding_to_milliseconds() {
        let hurried = Duration::from_secs(1) / 60;
        for (gap, complaints) in [(34, 0), (33, 0), (32, 1)] {
            let log = TrafficLog::new(hurried);
            log.answered(call(Endpoint::Move, Some("g")), 429, Millis(100));
            log.called(call(Endpoint::Move, Some("g")), Millis(100 + gap));
            assert_eq!(log.traffic().too_soon.len(), complaints, "{gap} ms");
        }
    }

    #[test]
    fn the_fullest_window_of_openings_is_found() {
        let log = log();
        for second in (0..1200).step_by(60) {
            log.called(call(Endpoint::Events, None), Millis(second * 1000));
        }
        assert_eq!(log.traffic().most_openings, 11);
    }

    #[test]
    fn a_stream_is_lost_until_it_is_opened() {
        let log = log();
        log.lost("game g", "stream reset", Millis(1_000));
        log.lost("game g", "stream ended", Millis(1_500));
        assert_eq!(log.traffic().still_lost, 1);
        log.opened("game g", Millis(1_700));
        log.opened("game g", Millis(1_900));
        let traffic = log.traffic();
        let took = &traffic.recoveries["game: stream reset"];
        assert_eq!(took, &[Duration::from_millis(700)]);
        assert_eq!(traffic.still_lost, 0);
    }

    #[test]
    fn another_move_for_a_ply_is_a_fault_unless_the_first_was_refused() {
        let log = log();
        log.begin("g");
        log.move_sent("g", "", "e2e4", Millis(0));
        log.move_sent("g", "", "e2e4", Millis(1));
        log.move_refused("g");
        log.move_sent("g", "", "d2d4", Millis(2));
        log.move_sent("g", "d2d4 e7e5", "a2a3", Millis(3));
        log.move_sent("g", "d2d4 e7e5", "a2a4", Millis(4));
        log.taken_back("g", Millis(5));
        log.move_sent("g", "d2d4 e7e5", "h2h4", Millis(6));
        assert_eq!(log.close("g").second_thoughts, 1);
    }

    #[test]
    fn a_stall_excuses_only_when_it_was_longer_than_the_margin_and_just_now() {
        let log = log();
        let margin = Duration::from_millis(160);
        log.heartbeat(Duration::from_millis(150), Millis(1_020), Millis(1_000));
        assert!(!log.stalled_longer_than(margin, Millis(1_001)), "too short");
        assert!(log.stalled_longer_than(margin, Millis(1_181)), "it lasts");
        log.heartbeat(Duration::from_millis(300), Millis(2_020), Millis(2_000));
        assert!(log.stalled_longer_than(margin, Millis(2_100)));
        assert!(
            !log.stalled_longer_than(margin, Millis(2_160)),
            "time enough since"
        );
    }

    #[test]
    fn an_outage_excuses_only_a_client_refused_throughout() {
        let log = log();
        log.outage(Millis(100));
        assert!(log.refused_throughout(Millis(100), Millis(900)));
        log.outage_over(Millis(500));
        assert!(!log.refused_throughout(Millis(100), Millis(900)));
        assert!(log.refused_throughout(Millis(200), Millis(500)));
    }
}
