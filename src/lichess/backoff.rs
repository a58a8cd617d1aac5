//! When to reopen a lost stream: pure rules, with time and randomness as data.
//!
//! A stream that lived long is reopened at once; one that keeps dying young ever more slowly. A long life
//! resets the back-off, a mere line does not. The event stream also has a budget of openings, well under the
//! server's: overdrawing it would leave the bot without events for ten minutes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::disconnect::Disconnect;
use super::timing::Timing;

/// How much longer each wait for the event stream is than the one before …
const GROWTH: f64 = 1.5;
/// … or where a server that was reached is out of order, from the attempt after so many on: most
/// such troubles are over in ten seconds, and what is left of the budget then lasts for minutes …
const PATIENT_AFTER: i32 = 12;
const PATIENT_GROWTH: f64 = GROWTH * GROWTH;
/// … so often at most: far beyond the longest wait.
const MOST_GROWTHS: i32 = 40;
/// The least share of a wait, which chance decides …
const LEAST_SHARE: f64 = 0.5;
/// … and of those of the first ten seconds, but the very first.
const QUICK_LEAST: f64 = 0.8;
/// While nothing answers at all, the wait grows to this part of the time it has been so, without its
/// steady beginning.
const ABSENCE_SHARE: u32 = 8;
/// So many streams in a row that fell silent are reopened at once: each has waited for its limit of
/// silence, so this hammers no one, and a clock may run.
const FREE_SILENCES: u32 = 2;
/// While a server is out of order, the wait between two questions is this part of that time, alike.
const KNOCK_SHARE: u32 = 16;
/// After so many openings in a row without an answer the next one is waited for longer.
const QUICK_OPENINGS: u32 = 2;

/// The reopening of one game's stream.
#[derive(Clone, Debug)]
pub struct GameBackoff {
    waits: Vec<Duration>,
    healthy_life: Duration,
    attempts: usize,
    silences: SilenceCount,
    opening: Duration,
    idle: Duration,
    /// Openings in a row that no one answered.
    unanswered: u32,
}

impl GameBackoff {
    /// The rules of `timing`.
    pub fn new(timing: &Timing) -> Self {
        Self {
            waits: timing.game_backoff.clone(),
            healthy_life: timing.healthy_life,
            attempts: 0,
            silences: SilenceCount::default(),
            opening: timing.game_opening,
            idle: timing.game_idle,
            unanswered: 0,
        }
    }

    /// How long to wait before the next opening, after `disconnect` of a stream that lived for `lived`
    /// (zero if it never opened). A wait the server advised is left to the caller, who knows the
    /// clock.
    pub fn after_loss(&mut self, disconnect: &Disconnect, lived: Duration) -> Duration {
        let unanswered = lived.is_zero() && matches!(disconnect, Disconnect::Silent(_));
        self.unanswered = if unanswered {
            self.unanswered.saturating_add(1)
        } else {
            0
        };
        if lived < self.healthy_life && self.silences.excuse(disconnect, lived) {
            return Duration::ZERO;
        }
        self.after_life(lived)
    }

    /// How long the next opening may wait for its answer. Who is not there can lose the game in ten
    /// seconds, so a call that hangs is soon made again; a server that is slow is given more time.
    pub fn patience(&self) -> Duration {
        if self.unanswered < QUICK_OPENINGS {
            self.opening
        } else {
            self.opening.max(self.idle)
        }
    }

    /// The same where nothing was lost: the stream is dropped because it told too little.
    pub fn after_life(&mut self, lived: Duration) -> Duration {
        if lived >= self.healthy_life {
            self.attempts = 0;
            self.silences = SilenceCount::default();
            return Duration::ZERO;
        }
        let last = self.waits.len().saturating_sub(1);
        let wait = self.waits.get(self.attempts.min(last)).copied();
        self.attempts += 1;
        wait.unwrap_or_default()
    }
}

/// The reopening of the event stream.
#[derive(Clone, Debug)]
pub struct EventBackoff {
    first: Duration,
    longest: Duration,
    longest_unreached: Duration,
    steady: Duration,
    healthy_life: Duration,
    attempts: i32,
    silences: SilenceCount,
    /// Since when no connection comes about.
    away_since: Option<Instant>,
    budget: OpeningBudget,
}

impl EventBackoff {
    /// The rules of `timing`.
    pub fn new(timing: &Timing) -> Self {
        Self {
            first: timing.event_backoff,
            longest: timing.event_backoff_max,
            longest_unreached: timing.unreached_backoff_max,
            steady: timing.steady,
            healthy_life: timing.healthy_life,
            attempts: 0,
            silences: SilenceCount::default(),
            away_since: None,
            budget: OpeningBudget::new(timing.opening_window, timing.openings),
        }
    }

    /// An opening is tried at `now`, the very first one too.
    pub fn opening(&mut self, now: Instant) {
        self.budget.spend(now);
    }

    /// How many openings were tried in the time that the server counts over.
    pub fn openings(&self, now: Instant) -> usize {
        self.budget.spent(now)
    }

    /// Whether one more opening fits at `now`.
    pub fn has_room(&self, now: Instant) -> bool {
        self.budget.wait(now).is_zero()
    }

    /// How long to wait at `now` before the next opening, after `disconnect` of a stream that lived for
    /// `lived` (zero if it never opened). `chance` is a random number in `0.0..1.0`.
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
            return self.after_knocking(now, chance);
        }
        self.away_since = None;
        let own = if lived >= self.healthy_life {
            self.attempts = 0;
            self.silences = SilenceCount::default();
            Duration::ZERO
        } else if self.silences.excuse(disconnect, lived) {
            Duration::ZERO
        } else {
            let (before, growth) = if PollFallback::helps(disconnect, lived) {
                (PATIENT_AFTER, PATIENT_GROWTH)
            } else {
                (0, GROWTH)
            };
            let growths = (self.attempts - before).clamp(0, MOST_GROWTHS);
            let full = self.first.mul_f64(growth.powi(growths));
            // The first wait has scattered a crowd of clients; the next ones are to last ten seconds.
            let is_quick = (1..=before).contains(&self.attempts);
            let least = if is_quick { QUICK_LEAST } else { LEAST_SHARE };
            self.attempts = self.attempts.saturating_add(1);
            jittered_from(least, full.min(self.longest), chance)
        };
        let demanded = match disconnect {
            Disconnect::Unopened(error) if error.is_unauthorized() => self.longest,
            Disconnect::Unopened(error) => error.wait().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        own.max(demanded).max(self.budget.wait(now))
    }

    /// The `wait` for the next opening where small calls tell sooner that it is time: while they fail
    /// it would fail too. Not for ever, because it may be they alone that fail.
    pub fn while_knocking(&self, wait: Duration, chance: f64) -> Duration {
        wait.max(jittered(self.longest, chance))
    }

    /// No connection came about: nothing was opened and nothing is counted. In a long absence the
    /// wait grows, so that a return is noticed after a fraction of it.
    fn after_knocking(&mut self, now: Instant, chance: f64) -> Duration {
        self.budget.refund();
        let since = *self.away_since.get_or_insert(now);
        let away = now.saturating_duration_since(since);
        let share = away.saturating_sub(self.steady) / ABSENCE_SHARE;
        let longest = self.longest_unreached.max(self.first);
        jittered(share.clamp(self.first, longest), chance)
    }
}

/// How often in a row a stream opened and fell silent.
#[derive(Clone, Copy, Debug, Default)]
struct SilenceCount(u32);

impl SilenceCount {
    /// Takes in a `disconnect` after a short life. Says whether it is no reason to wait.
    fn excuse(&mut self, disconnect: &Disconnect, lived: Duration) -> bool {
        let was_open = !lived.is_zero();
        if was_open && matches!(disconnect, Disconnect::Silent(_)) {
            self.0 = self.0.saturating_add(1);
            return self.0 <= FREE_SILENCES;
        }
        // An opening that fails on the way back says nothing of how the last stream ended.
        if was_open {
            self.0 = 0;
        }
        false
    }
}

/// When a server is asked while the event stream is away: one that is out of order whether it is well
/// again, by a small call which spends none of the openings; one that is there for what the stream
/// would tell.
#[derive(Clone, Copy, Debug)]
pub struct PollFallback {
    first: Duration,
    longest: Duration,
    steady: Duration,
    since: Instant,
}

impl PollFallback {
    /// The rules of `timing`, for trouble that began at `since`.
    pub fn new(timing: &Timing, since: Instant) -> Self {
        Self {
            first: timing.ping,
            longest: timing.knock_max.max(timing.ping),
            steady: timing.steady,
            since,
        }
    }

    /// For what the stream would tell, which is away since `since`: every second at first, soon
    /// rarer, because each time several calls are made.
    pub fn by_hand(timing: &Timing, since: Instant) -> Self {
        Self {
            steady: Duration::ZERO,
            ..Self::new(timing, since)
        }
    }

    /// Whether `disconnect` of a stream that lived for `lived` (zero if it never opened) is one of a
    /// server that was reached and is out of order: a small call can tell when it is no more.
    pub fn helps(disconnect: &Disconnect, lived: Duration) -> bool {
        match disconnect {
            Disconnect::Unopened(error) => error.is_out_of_order(),
            // No one answered the opening.
            Disconnect::Silent(_) => lived.is_zero(),
            _ => false,
        }
    }

    /// How long to wait at `now` before the next question. `chance` is a random number in
    /// `0.0..1.0`.
    pub fn wait(&self, now: Instant, chance: f64) -> Duration {
        let away = now.saturating_duration_since(self.since);
        let share = away.saturating_sub(self.steady) / KNOCK_SHARE;
        let wait = jittered(share.clamp(self.first, self.longest), chance);
        // The first question scatters a crowd of clients. With more than one a second thereafter the
        // limit of such calls would hold some back, and no one would ask for seconds on end.
        if away < self.first / 2 {
            wait
        } else {
            wait.max(self.first)
        }
    }
}

/// Between half of `full` and all of it, so that a crowd of clients does not come back as one.
fn jittered(full: Duration, chance: f64) -> Duration {
    jittered_from(LEAST_SHARE, full, chance)
}

/// Between that share of `full` and all of it.
fn jittered_from(least: f64, full: Duration, chance: f64) -> Duration {
    full.mul_f64(least + chance.clamp(0.0, 1.0) * (1.0 - least))
}

/// So many openings in any span of time.
#[derive(Clone, Debug)]
pub struct OpeningBudget {
    window: Duration,
    limit: usize,
    spent: VecDeque<Instant>,
}

impl OpeningBudget {
    /// At most `limit` openings (one at least) in any `window`.
    pub fn new(window: Duration, limit: usize) -> Self {
        Self {
            window,
            limit: limit.max(1),
            spent: VecDeque::new(),
        }
    }

    pub fn spend(&mut self, now: Instant) {
        if self.spent.len() == self.limit {
            self.spent.pop_front();
        }
        self.spent.push_back(now);
    }

    /// The opening counted last did not take place.
    pub fn refund(&mut self) {
        self.spent.pop_back();
    }

    /// How many were counted in the window that ends at `now`.
    pub fn spent(&self, now: Instant) -> usize {
        let within = |at: &&Instant| now.saturating_duration_since(**at) < self.window;
        self.spent.iter().filter(within).count()
    }

    /// How long until one more opening fits.
    pub fn wait(&self, now: Instant) -> Duration {
        if self.spent.len() < self.limit {
            return Duration::ZERO;
        }
        let free_again = self.spent.front().map(|&oldest| oldest + self.window);
        free_again.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests;
