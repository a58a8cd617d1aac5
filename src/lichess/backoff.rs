//! When a lost stream is opened again: pure rules, with time and chance as data.
//!
//! A stream that lived long is reopened at once; one that keeps dying young is reopened slower and
//! slower. Life resets the back-off, a mere line does not. The event stream has a budget of openings
//! besides, well under the server's, because overdrawing it makes the bot deaf for ten minutes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::loss::StreamLoss;
use super::timing::Timing;

/// How much longer each wait for the event stream is than the one before …
const GROWTH: f64 = 1.5;
/// … from this attempt on where the server answered for itself that it is out of order: most such
/// troubles are over in a moment …
const PATIENT_AFTER: i32 = 3;
/// … so often at most: far beyond the longest wait.
const MOST_GROWTHS: i32 = 40;
/// While nothing answers at all, the wait is this part of the time it has been so.
const ABSENCE_SHARE: u32 = 8;
/// While a server is out of order, the wait between two questions is this part of that time.
const KNOCK_SHARE: u32 = 16;

/// The reopening of one game's stream.
#[derive(Clone, Debug)]
pub struct GameReopening {
    waits: Vec<Duration>,
    healthy_life: Duration,
    attempts: usize,
}

impl GameReopening {
    /// The rules of `timing`.
    pub fn new(timing: &Timing) -> Self {
        Self {
            waits: timing.game_backoff.clone(),
            healthy_life: timing.healthy_life,
            attempts: 0,
        }
    }

    /// How long to wait before the next opening, after a stream that lived for `lived` (nought if
    /// it never opened). A wait the server advised is left to the caller, who knows the clock.
    pub fn after_loss(&mut self, lived: Duration) -> Duration {
        if lived >= self.healthy_life {
            self.attempts = 0;
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
pub struct EventReopening {
    first: Duration,
    longest: Duration,
    longest_unreached: Duration,
    healthy_life: Duration,
    attempts: i32,
    /// Since when no connection comes about.
    away_since: Option<Instant>,
    budget: OpeningBudget,
}

impl EventReopening {
    /// The rules of `timing`.
    pub fn new(timing: &Timing) -> Self {
        Self {
            first: timing.event_backoff,
            longest: timing.event_backoff_max,
            longest_unreached: timing.unreached_backoff_max,
            healthy_life: timing.healthy_life,
            attempts: 0,
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

    /// How long to wait at `now` before the next opening, after `loss` of a stream that lived for
    /// `lived` (nought if it never opened). `chance` is a random number in `0.0..1.0`.
    pub fn after_loss(
        &mut self,
        loss: &StreamLoss,
        lived: Duration,
        now: Instant,
        chance: f64,
    ) -> Duration {
        if let StreamLoss::Unopened(error) = loss
            && error.is_unreached()
        {
            return self.after_knocking(now, chance);
        }
        self.away_since = None;
        let own = if lived >= self.healthy_life {
            self.attempts = 0;
            Duration::ZERO
        } else {
            let in_trouble = matches!(loss, StreamLoss::Unopened(error) if error.is_out_of_order());
            let before = if in_trouble { PATIENT_AFTER } else { 0 };
            let growths = (self.attempts - before).clamp(0, MOST_GROWTHS);
            let full = self.first.mul_f64(GROWTH.powi(growths));
            self.attempts = self.attempts.saturating_add(1);
            jittered(full.min(self.longest), chance)
        };
        let demanded = match loss {
            StreamLoss::Unopened(error) if error.is_unauthorized() => self.longest,
            StreamLoss::Unopened(error) => error.wait().unwrap_or_default(),
            _ => Duration::ZERO,
        };
        own.max(demanded).max(self.budget.wait(now))
    }

    /// No connection came about: nothing was opened and nothing is counted. The longer it has been
    /// so, the longer the wait, so that a return is noticed after a fraction of the absence.
    fn after_knocking(&mut self, now: Instant, chance: f64) -> Duration {
        self.budget.refund();
        let since = *self.away_since.get_or_insert(now);
        let share = now.saturating_duration_since(since) / ABSENCE_SHARE;
        let longest = self.longest_unreached.max(self.first);
        jittered(share.clamp(self.first, longest), chance)
    }
}

/// When a server that is out of order is asked whether it is well again: by a small call, which
/// spends none of the openings.
#[derive(Clone, Copy, Debug)]
pub struct Knocking {
    first: Duration,
    longest: Duration,
    since: Instant,
}

impl Knocking {
    /// The rules of `timing`, for trouble that began at `since`.
    pub fn new(timing: &Timing, since: Instant) -> Self {
        Self {
            first: timing.knock,
            longest: timing.knock_max.max(timing.knock),
            since,
        }
    }

    /// How long to wait at `now` before the next question. `chance` is a random number in
    /// `0.0..1.0`.
    pub fn wait(&self, now: Instant, chance: f64) -> Duration {
        let share = now.saturating_duration_since(self.since) / KNOCK_SHARE;
        jittered(share.clamp(self.first, self.longest), chance)
    }
}

/// Between half of `full` and all of it, so that a crowd of clients does not come back as one.
fn jittered(full: Duration, chance: f64) -> Duration {
    full.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
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

    /// Counts an opening.
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
mod tests {
    use super::super::error::Error;
    use super::super::error_body::ErrorBody;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn a_game_stream_is_reopened_at_once_after_a_life_and_slower_after_each_death() {
        let mut reopening = GameReopening::new(&Timing::default());
        let table = [(60, 0), (59, 500), (0, 1000), (3, 1000), (0, 1000)];
        for (row, (lived, wait)) in table.into_iter().enumerate() {
            assert_eq!(reopening.after_loss(secs(lived)), ms(wait), "row {row}");
        }
        // Half a minute of an outage is followed second by second.
        for _ in 3..30 {
            assert_eq!(reopening.after_loss(secs(0)), secs(1));
        }
        for (lived, wait) in [(0, 2000), (0, 2000), (61, 0), (0, 500)] {
            assert_eq!(reopening.after_loss(secs(lived)), ms(wait));
        }
    }

    #[test]
    fn a_server_in_trouble_is_asked_a_few_times_soon_and_then_ever_later() {
        let mut reopening = EventReopening::new(&Timing::default());
        let bad_gateway = StreamLoss::Unopened(Error::Transient {
            reached: true,
            status: Some(502),
            reason: "bad gateway".into(),
        });
        let now = Instant::now();
        let mut wait = || reopening.after_loss(&bad_gateway, secs(0), now, 1.0);
        let full: Vec<_> = (0..16).map(|_| wait().as_millis()).collect();
        assert_eq!(full[..6], [1000, 1000, 1000, 1000, 1500, 2250]);
        assert_eq!(full[14..], [60000, 60000]);
    }

    #[test]
    fn the_event_stream_backs_off_from_one_second_to_sixty() {
        let mut reopening = EventReopening::new(&Timing::default());
        let now = Instant::now();
        let mut wait = |lived, chance| {
            let wait = reopening.after_loss(&StreamLoss::Ended, secs(lived), now, chance);
            wait.as_millis()
        };
        let full: Vec<_> = (0..13).map(|_| wait(0, 1.0)).collect();
        assert_eq!(full[..6], [1000, 1500, 2250, 3375, 5062, 7593]);
        assert_eq!(full[11..], [60000, 60000]);
        assert_eq!(wait(0, 0.0), 30000);
        assert_eq!(wait(60, 0.3), 0);
        assert_eq!(wait(59, 0.0), 500);
    }

    #[test]
    fn never_more_than_the_budget_of_openings_in_any_window() {
        let timing = Timing::default();
        let mut reopening = EventReopening::new(&timing);
        let mut now = Instant::now();
        let mut openings: Vec<Instant> = Vec::new();
        for _ in 0..200 {
            reopening.opening(now);
            openings.push(now);
            // Streams that live just long enough to be reopened at once: the worst case.
            let lived = if openings.len().is_multiple_of(2) {
                secs(60)
            } else {
                secs(0)
            };
            now += if lived.is_zero() { secs(0) } else { ms(1) };
            now += reopening.after_loss(&StreamLoss::Ended, lived, now, 0.0);
        }
        for (index, &opening) in openings.iter().enumerate() {
            let within = openings[index..]
                .iter()
                .take_while(|&&other| other < opening + timing.opening_window)
                .count();
            assert!(within <= timing.openings, "{within} openings in a window");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_looked_for_again_soon_and_without_end() {
        let timing = Timing::default();
        let mut reopening = EventReopening::new(&timing);
        let unreached = StreamLoss::Unopened(Error::Transient {
            reached: false,
            status: None,
            reason: "connection refused".into(),
        });
        let start = Instant::now();
        let mut now = start;
        for _ in 0..500 {
            reopening.opening(now);
            let wait = reopening.after_loss(&unreached, secs(0), now, 1.0);
            let away = now - start;
            assert!(wait >= timing.event_backoff, "{away:?}");
            assert!(
                wait <= (away / 8).max(timing.event_backoff),
                "{away:?}: {wait:?}"
            );
            assert!(wait <= timing.unreached_backoff_max, "{away:?}: {wait:?}");
            now += wait;
        }
        assert_eq!(reopening.openings(now), 0);
        // Once it answers, everything counts again, from the first wait on.
        reopening.opening(now);
        let wait = reopening.after_loss(&StreamLoss::Ended, secs(0), now, 1.0);
        assert_eq!((wait, reopening.openings(now)), (secs(1), 1));
    }

    #[test]
    fn a_server_out_of_order_is_asked_every_second_at_first_and_never_rarer_than_every_ten() {
        let since = Instant::now();
        let knocking = Knocking::new(&Timing::default(), since);
        for (after, wait) in [
            (0, 1000),
            (16, 1000),
            (20, 1250),
            (80, 5000),
            (3600, 10_000),
        ] {
            let now = since + secs(after);
            assert_eq!(knocking.wait(now, 1.0), ms(wait), "after {after} s");
            assert_eq!(knocking.wait(now, 0.0), ms(wait / 2), "after {after} s");
        }
    }

    #[test]
    fn an_opening_is_due_only_where_the_budget_has_room() {
        let timing = Timing::default();
        let mut reopening = EventReopening::new(&timing);
        let now = Instant::now();
        for _ in 1..timing.openings {
            reopening.opening(now);
        }
        assert!(reopening.has_room(now));
        reopening.opening(now);
        assert!(!reopening.has_room(now));
        assert!(reopening.has_room(now + timing.opening_window));
    }

    #[test]
    fn the_wait_of_a_429_is_honoured_and_a_401_is_not_hammered() {
        let mut reopening = EventReopening::new(&Timing::default());
        let limited = StreamLoss::Unopened(Error::RateLimited {
            wait: Some(secs(300)),
            body: Box::default(),
        });
        let unauthorized = StreamLoss::Unopened(Error::Refused {
            status: 401,
            body: Box::<ErrorBody>::default(),
        });
        let now = Instant::now();
        assert_eq!(reopening.after_loss(&limited, secs(0), now, 0.5), secs(300));
        assert_eq!(
            reopening.after_loss(&unauthorized, secs(0), now, 0.5),
            secs(60)
        );
    }
}
