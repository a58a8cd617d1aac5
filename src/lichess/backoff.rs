//! When to reopen a lost stream: pure rules, with time and randomness as data.
//!
//! A stream that lived long is reopened at once, one that keeps dying young ever more slowly. A long life
//! resets the back-off, a single line does not. The event stream also has a budget of openings, well below
//! the server's: exceeding that one would leave the bot without events for ten minutes.

use std::time::{Duration, Instant};

use super::disconnect::Disconnect;
use super::rate_window::{Rate, RateWindow};
use super::timing::Timing;

/// The growth of the wait for the event stream.
const GROWTH: f64 = 1.5;
/// Where the server responds but is out of order, the wait grows only after this many attempts, and
/// then faster: most such outages end within ten seconds, and the rest of the budget must last minutes.
const PATIENT_AFTER: i32 = 12;
const PATIENT_GROWTH: f64 = GROWTH * GROWTH;
/// The most growths, far beyond the longest wait.
const MAX_GROWTHS: i32 = 40;
/// The least random share of a wait.
const MIN_SHARE: f64 = 0.5;
/// The least share of the waits in those first ten seconds, except the very first.
const QUICK_LEAST: f64 = 0.8;
/// While no connection comes about, the wait is this part of the outage, less its steady beginning.
const ABSENCE_SHARE: u32 = 8;
/// The number of consecutive silent streams that are reopened at once: each has already waited for its
/// limit of silence, so this floods no server, and a clock may run.
const FREE_SILENCES: u32 = 2;
/// While the server is out of order, the wait between two polls is this part of the outage.
const POLL_SHARE: u32 = 16;
/// After this many consecutive unanswered openings the next one may take longer.
const QUICK_OPENINGS: u32 = 2;

/// The back-off of one game stream.
#[derive(Clone, Debug)]
pub struct GameBackoff {
    timing: Timing,
    attempts: usize,
    silences: SilenceCount,
    /// Consecutive openings without a response.
    unanswered: u32,
}

impl GameBackoff {
    pub fn new(timing: &Timing) -> Self {
        Self {
            timing: timing.clone(),
            attempts: 0,
            silences: SilenceCount::default(),
            unanswered: 0,
        }
    }

    /// The wait before the next opening, after `disconnect` of a stream that lived for `lived` (zero if
    /// it never opened). A wait that the server advised is up to the caller, who knows the clock.
    pub fn after_loss(&mut self, disconnect: &Disconnect, lived: Duration) -> Duration {
        let unanswered = lived.is_zero() && matches!(disconnect, Disconnect::Silent(_));
        self.unanswered = if unanswered {
            self.unanswered.saturating_add(1)
        } else {
            0
        };
        if lived < self.timing.healthy_life && self.silences.reopen_at_once(disconnect, lived) {
            return Duration::ZERO;
        }
        self.after_life(lived)
    }

    /// How long the next opening may wait for its response. An absent player can lose the game in ten
    /// seconds, so a call that hangs is soon repeated; a slow server then gets more time.
    pub fn patience(&self) -> Duration {
        if self.unanswered < QUICK_OPENINGS {
            self.timing.game_opening
        } else {
            self.timing.game_opening.max(self.timing.game_idle)
        }
    }

    /// The wait where nothing was lost: the bot drops a stream that said too little.
    pub fn after_life(&mut self, lived: Duration) -> Duration {
        if lived >= self.timing.healthy_life {
            self.attempts = 0;
            self.silences = SilenceCount::default();
            return Duration::ZERO;
        }
        let waits = &self.timing.game_backoff;
        let wait = waits.get(self.attempts).or(waits.last()).copied();
        self.attempts += 1;
        wait.unwrap_or_default()
    }
}

/// The back-off of the event stream.
#[derive(Clone, Debug)]
pub struct EventBackoff {
    timing: Timing,
    attempts: i32,
    silences: SilenceCount,
    /// The start of the time without any connection.
    away_since: Option<Instant>,
    budget: RateWindow,
}

impl EventBackoff {
    pub fn new(timing: &Timing) -> Self {
        Self {
            timing: timing.clone(),
            attempts: 0,
            silences: SilenceCount::default(),
            away_since: None,
            budget: RateWindow::new(Rate {
                most: u32::try_from(timing.openings).unwrap_or(u32::MAX).max(1),
                span: timing.opening_window,
            }),
        }
    }

    /// Counts an opening at `now`, also the very first one.
    pub fn opening(&mut self, now: Instant) {
        self.budget.spend(1, now);
    }

    /// Counts the openings of an earlier run: how long ago each was, the first one first.
    pub fn restore(&mut self, ages: impl IntoIterator<Item = Duration>, now: Instant) {
        for age in ages {
            if let Some(at) = now.checked_sub(age) {
                self.budget.spend(1, at);
            }
        }
    }

    /// How long ago each counted opening was, the first one first.
    pub fn ages(&self, now: Instant) -> Vec<Duration> {
        self.budget.ages(now)
    }

    /// How long at `now` until the budget has room for an opening.
    pub fn first_wait(&self, now: Instant) -> Duration {
        let free = self.budget.free(1, now).unwrap_or(now);
        free.saturating_duration_since(now)
    }

    /// The number of openings in the window that the server counts over.
    pub fn openings(&self, now: Instant) -> usize {
        self.budget.used(now) as usize
    }

    /// Whether the budget has room for one more opening at `now`.
    pub fn has_room(&self, now: Instant) -> bool {
        self.budget.free(1, now).is_none()
    }

    /// The wait at `now` before the next opening, after `disconnect` of a stream that lived for `lived`
    /// (zero if it never opened). `chance` is a random number in `0.0..1.0`.
    pub fn after_loss(
        &mut self,
        disconnect: &Disconnect,
        lived: Duration,
        now: Instant,
        chance: f64,
    ) -> Duration {
        if let Disconnect::Unopened(error) = disconnect
            && error.is_unreached()
        {
            return self.while_unreached(now, chance);
        }
        self.away_since = None;
        let own = if lived >= self.timing.healthy_life {
            self.attempts = 0;
            self.silences = SilenceCount::default();
            Duration::ZERO
        } else if self.silences.reopen_at_once(disconnect, lived) {
            Duration::ZERO
        } else {
            let (before, growth) = if ProbeSchedule::helps(disconnect, lived) {
                (PATIENT_AFTER, PATIENT_GROWTH)
            } else {
                (0, GROWTH)
            };
            let growths = (self.attempts - before).clamp(0, MAX_GROWTHS);
            let full = self.timing.event_backoff.mul_f64(growth.powi(growths));
            // The first wait has spread out the clients; the next ones must add up to ten seconds.
            let is_quick = (1..=before).contains(&self.attempts);
            let least = if is_quick { QUICK_LEAST } else { MIN_SHARE };
            self.attempts = self.attempts.saturating_add(1);
            jittered_from(least, full.min(self.timing.event_backoff_max), chance)
        };
        let demanded = match disconnect {
            Disconnect::Unopened(error) if error.is_unauthorized() => self.timing.event_backoff_max,
            Disconnect::Unopened(error) => error.wait().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        own.max(demanded).max(self.first_wait(now))
    }

    /// The `wait` for the next opening while small calls poll the server: while they fail, an opening
    /// would fail too. It is bounded, because only those calls may be failing.
    pub fn while_probing(&self, wait: Duration, chance: f64) -> Duration {
        wait.max(jittered(self.timing.event_backoff_max, chance))
    }

    /// The wait after no connection came about, which does not count as an opening. It grows with the
    /// outage, so the bot notices the end after a fraction of it.
    fn while_unreached(&mut self, now: Instant, chance: f64) -> Duration {
        self.budget.refund();
        let since = *self.away_since.get_or_insert(now);
        let away = now.saturating_duration_since(since);
        let share = away.saturating_sub(self.timing.steady) / ABSENCE_SHARE;
        let first = self.timing.event_backoff;
        let longest = self.timing.unreached_backoff_max.max(first);
        jittered(share.clamp(first, longest), chance)
    }
}

/// The number of consecutive streams that opened and fell silent.
#[derive(Clone, Copy, Debug, Default)]
struct SilenceCount(u32);

impl SilenceCount {
    /// Counts a `disconnect` after a short life. Returns whether to reopen at once.
    fn reopen_at_once(&mut self, disconnect: &Disconnect, lived: Duration) -> bool {
        let was_open = !lived.is_zero();
        if was_open && matches!(disconnect, Disconnect::Silent(_)) {
            self.0 = self.0.saturating_add(1);
            return self.0 <= FREE_SILENCES;
        }
        // A failed reopening says nothing about the end of the last stream.
        if was_open {
            self.0 = 0;
        }
        false
    }
}

/// When to poll the server while the event stream is down. A server that is out of order gets a small
/// call that spends no opening; one that works is asked for what the stream would report.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSchedule {
    first: Duration,
    longest: Duration,
    steady: Duration,
    since: Instant,
}

impl ProbeSchedule {
    /// For an outage that began at `since`.
    pub fn new(timing: &Timing, since: Instant) -> Self {
        Self {
            first: timing.ping,
            longest: timing.max_ping.max(timing.ping),
            steady: timing.steady,
            since,
        }
    }

    /// For what the stream, down since `since`, would report: every second at first, soon less often,
    /// because each poll makes several calls.
    pub fn for_polls(timing: &Timing, since: Instant) -> Self {
        Self {
            steady: Duration::ZERO,
            ..Self::new(timing, since)
        }
    }

    /// Whether `disconnect` of a stream that lived for `lived` (zero if it never opened) shows a server
    /// that responds but is out of order: then a small call can tell when it recovers.
    pub fn helps(disconnect: &Disconnect, lived: Duration) -> bool {
        match disconnect {
            Disconnect::Unopened(error) => error.is_out_of_order(),
            Disconnect::Silent(_) => lived.is_zero(),
            _ => false,
        }
    }

    /// The wait at `now` before the next poll. `chance` is a random number in `0.0..1.0`.
    pub fn wait(&self, now: Instant, chance: f64) -> Duration {
        let away = now.saturating_duration_since(self.since);
        let share = away.saturating_sub(self.steady) / POLL_SHARE;
        let wait = jittered(share.clamp(self.first, self.longest), chance);
        // The first poll spreads out the clients. More than one a second after that would exceed the
        // rate of such calls, and the bot would then not poll for seconds.
        if away < self.first / 2 {
            wait
        } else {
            wait.max(self.first)
        }
    }
}

/// Between half of `full` and all of it, so that clients do not return all at once.
fn jittered(full: Duration, chance: f64) -> Duration {
    jittered_from(MIN_SHARE, full, chance)
}

fn jittered_from(least: f64, full: Duration, chance: f64) -> Duration {
    full.mul_f64(least + chance.clamp(0.0, 1.0) * (1.0 - least))
}

#[cfg(test)]
mod tests;
