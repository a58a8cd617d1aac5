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
/// … or where a server that was reached is out of order, from the attempt after so many on: most
/// such troubles are over in ten seconds, and what is left of the budget then lasts for minutes …
const PATIENT_AFTER: i32 = 12;
const PATIENT_GROWTH: f64 = GROWTH * GROWTH;
/// … so often at most: far beyond the longest wait.
const MOST_GROWTHS: i32 = 40;
/// While nothing answers at all, the wait grows to this part of the time it has been so, without its
/// steady beginning.
const ABSENCE_SHARE: u32 = 8;
/// So many streams in a row that fell silent are reopened at once: each has waited for its limit of
/// silence, so this hammers nobody, and a clock may run.
const FREE_SILENCES: u32 = 2;
/// While a server is out of order, the wait between two questions is this part of that time, alike.
const KNOCK_SHARE: u32 = 16;

/// After so many openings in a row without an answer the next one is waited for longer.
const QUICK_OPENINGS: u32 = 2;

/// The reopening of one game's stream.
#[derive(Clone, Debug)]
pub struct GameReopening {
    waits: Vec<Duration>,
    healthy_life: Duration,
    attempts: usize,
    silences: Silences,
    opening: Duration,
    idle: Duration,
    /// Openings in a row that nobody answered.
    unanswered: u32,
}

impl GameReopening {
    /// The rules of `timing`.
    pub fn new(timing: &Timing) -> Self {
        Self {
            waits: timing.game_backoff.clone(),
            healthy_life: timing.healthy_life,
            attempts: 0,
            silences: Silences::default(),
            opening: timing.game_opening,
            idle: timing.game_idle,
            unanswered: 0,
        }
    }

    /// How long to wait before the next opening, after `loss` of a stream that lived for `lived`
    /// (nought if it never opened). A wait the server advised is left to the caller, who knows the
    /// clock.
    pub fn after_loss(&mut self, loss: &StreamLoss, lived: Duration) -> Duration {
        let unanswered = lived.is_zero() && matches!(loss, StreamLoss::Silent(_));
        self.unanswered = if unanswered {
            self.unanswered.saturating_add(1)
        } else {
            0
        };
        if lived < self.healthy_life && self.silences.excuse(loss, lived) {
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
            self.silences = Silences::default();
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
    steady: Duration,
    healthy_life: Duration,
    attempts: i32,
    silences: Silences,
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
            steady: timing.steady,
            healthy_life: timing.healthy_life,
            attempts: 0,
            silences: Silences::default(),
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
            self.silences = Silences::default();
            Duration::ZERO
        } else if self.silences.excuse(loss, lived) {
            Duration::ZERO
        } else {
            let (before, growth) = if Knocking::helps(loss, lived) {
                (PATIENT_AFTER, PATIENT_GROWTH)
            } else {
                (0, GROWTH)
            };
            let growths = (self.attempts - before).clamp(0, MOST_GROWTHS);
            let full = self.first.mul_f64(growth.powi(growths));
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
struct Silences(u32);

impl Silences {
    /// Takes in a `loss` after a short life. Says whether it is no reason to wait.
    fn excuse(&mut self, loss: &StreamLoss, lived: Duration) -> bool {
        let was_open = !lived.is_zero();
        if was_open && matches!(loss, StreamLoss::Silent(_)) {
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
pub struct Knocking {
    first: Duration,
    longest: Duration,
    steady: Duration,
    since: Instant,
}

impl Knocking {
    /// The rules of `timing`, for trouble that began at `since`.
    pub fn new(timing: &Timing, since: Instant) -> Self {
        Self {
            first: timing.knock,
            longest: timing.knock_max.max(timing.knock),
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

    /// Whether `loss` of a stream that lived for `lived` (nought if it never opened) is one of a
    /// server that was reached and is out of order: a small call can tell when it is no more.
    pub fn helps(loss: &StreamLoss, lived: Duration) -> bool {
        match loss {
            StreamLoss::Unopened(error) => error.is_out_of_order(),
            // Nobody answered the opening.
            StreamLoss::Silent(_) => lived.is_zero(),
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
        // limit of such calls would hold some back, and nobody would ask for seconds on end.
        if away < self.first / 2 {
            wait
        } else {
            wait.max(self.first)
        }
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
    use super::super::governor::{Governor, Turn};
    use super::super::scope::Scope;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn unopened(reached: bool, status: Option<u16>) -> StreamLoss {
        StreamLoss::Unopened(Error::Transient {
            reached,
            status,
            reason: "away".into(),
        })
    }

    #[test]
    fn a_game_stream_is_reopened_at_once_after_a_life_and_slower_after_each_death() {
        let mut reopening = GameReopening::new(&Timing::default());
        let table = [(60, 0), (59, 500), (0, 1000), (3, 1000), (0, 1000)];
        let mut wait = |lived| reopening.after_loss(&StreamLoss::Ended, secs(lived));
        for (row, (lived, expected)) in table.into_iter().enumerate() {
            assert_eq!(wait(lived), ms(expected), "row {row}");
        }
        // Half a minute of an outage is followed second by second.
        for _ in 3..30 {
            assert_eq!(wait(0), secs(1));
        }
        for (lived, expected) in [(0, 2000), (0, 2000), (61, 0), (0, 500)] {
            assert_eq!(wait(lived), ms(expected));
        }
        assert_eq!(reopening.after_life(secs(59)), secs(1));
        assert_eq!(reopening.after_life(secs(60)), secs(0));
    }

    #[test]
    fn an_opening_that_nobody_answers_is_soon_made_again_and_then_waited_for_longer() {
        let mut reopening = GameReopening::new(&Timing::default());
        assert_eq!(reopening.patience(), secs(4));
        let silent = StreamLoss::Silent(secs(4));
        let ended = StreamLoss::Ended;
        let table = [
            (&silent, 0, 4),
            (&silent, 0, 10),
            (&silent, 0, 10),
            // It opened, whatever came of that.
            (&silent, 12, 4),
            (&silent, 0, 4),
            (&silent, 0, 10),
            (&ended, 0, 4),
        ];
        for (row, (loss, lived, expected)) in table.into_iter().enumerate() {
            reopening.after_loss(loss, secs(lived));
            assert_eq!(reopening.patience(), secs(expected), "row {row}");
        }
    }

    #[test]
    fn a_stream_that_fell_silent_is_reopened_at_once_twice_in_a_row() {
        let silent = StreamLoss::Silent(secs(10));
        let table = [
            (&silent, 25, [0, 0]),
            (&silent, 12, [0, 0]),
            (&silent, 12, [500, 1000]),
            // An opening that nobody answers has waited too, but nothing says that anybody is there.
            (&silent, 0, [1000, 1000]),
            (&silent, 12, [1000, 2250]),
            // Another end, or a long life, and silence counts from one again.
            (&StreamLoss::Ended, 12, [1000, 3375]),
            (&silent, 12, [0, 0]),
            (&silent, 60, [0, 0]),
            (&silent, 12, [0, 0]),
            (&silent, 12, [0, 0]),
            (&silent, 12, [500, 1000]),
        ];
        let timing = Timing::default();
        let mut game = GameReopening::new(&timing);
        let mut events = EventReopening::new(&timing);
        let now = Instant::now();
        for (row, (loss, lived, expected)) in table.into_iter().enumerate() {
            let waits = [
                game.after_loss(loss, secs(lived)),
                events.after_loss(loss, secs(lived), now, 1.0),
            ];
            assert_eq!(waits, expected.map(ms), "row {row}");
        }
        // The budget of openings stands above it.
        let mut spent = EventReopening::new(&timing);
        for _ in 0..timing.openings {
            spent.opening(now);
        }
        let wait = spent.after_loss(&silent, secs(12), now, 1.0);
        assert_eq!(wait, timing.opening_window);
    }

    #[test]
    fn a_server_in_trouble_is_asked_for_ten_seconds_soon_and_then_ever_later() {
        let silent = StreamLoss::Silent(secs(15));
        for loss in [unopened(true, Some(502)), unopened(true, None), silent] {
            let mut reopening = EventReopening::new(&Timing::default());
            let now = Instant::now();
            let mut wait = || reopening.after_loss(&loss, secs(0), now, 1.0);
            let full: Vec<_> = (0..19).map(|_| wait().as_millis()).collect();
            assert_eq!(full[..13], [1000; 13], "{loss:?}");
            let later = [2250, 5062, 11390, 25628, 57665, 60000];
            assert_eq!(full[13..], later, "{loss:?}");
        }
    }

    #[test]
    fn small_calls_are_made_where_the_server_was_reached_and_is_out_of_order() {
        for (loss, lived, expected) in [
            (unopened(true, Some(502)), 0, true),
            (unopened(true, None), 0, true),
            (StreamLoss::Silent(secs(15)), 0, true),
            (StreamLoss::Silent(secs(15)), 20, false),
            (unopened(false, None), 0, false),
            (StreamLoss::Ended, 0, false),
        ] {
            let helps = Knocking::helps(&loss, secs(lived));
            assert_eq!(helps, expected, "{loss:?} after {lived} s");
        }
    }

    #[test]
    fn a_long_outage_spends_few_openings_and_leaves_room_for_the_one_that_counts() {
        let mut reopening = EventReopening::new(&Timing::default());
        let reset = unopened(true, None);
        let start = Instant::now();
        let mut now = start;
        for opening in 1..=80 {
            reopening.opening(now);
            let wait = reopening.after_loss(&reset, secs(0), now, 0.5);
            // It may have reached the server, so it counts.
            assert!(reopening.openings(now) >= opening.min(13), "{opening}");
            assert!(reopening.has_room(now), "{opening}");
            now += reopening.while_knocking(wait, 0.5);
        }
        assert!(now - start >= secs(3600));
        assert_eq!(reopening.while_knocking(secs(1), 0.0), secs(30));
        assert_eq!(reopening.while_knocking(secs(300), 1.0), secs(300));
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
        let unreached = unopened(false, None);
        let start = Instant::now();
        for (away, wait) in [
            (0, 1000),
            (30, 1000),
            (119, 1000),
            (128, 1000),
            (140, 2500),
            (160, 5000),
            (3600, 10_000),
        ] {
            let now = start + secs(away);
            for _ in 0..2 * timing.openings {
                reopening.opening(now);
                let full = reopening.after_loss(&unreached, secs(0), now, 1.0);
                assert_eq!(full, ms(wait), "after {away} s");
                let half = reopening.clone().after_loss(&unreached, secs(0), now, 0.0);
                assert_eq!(half, ms(wait / 2), "after {away} s");
            }
        }
        let now = start + secs(3600);
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
        for (after, least, wait) in [
            (0, 500, 1000),
            (1, 1000, 1000),
            (60, 1000, 1000),
            (119, 1000, 1000),
            (136, 1000, 1000),
            (144, 1000, 1500),
            (200, 2500, 5000),
            (3600, 5000, 10_000),
        ] {
            let now = since + secs(after);
            assert_eq!(knocking.wait(now, 1.0), ms(wait), "after {after} s");
            assert_eq!(knocking.wait(now, 0.0), ms(least), "after {after} s");
        }
    }

    #[test]
    fn no_question_to_a_server_out_of_order_is_held_back_by_the_limit_of_such_calls() {
        let timing = Timing::default();
        for chance in [0.0, 0.5, 1.0] {
            let since = Instant::now();
            let knocking = Knocking::new(&timing, since);
            let mut governor = Governor::new(&timing);
            let mut now = since;
            while now < since + secs(600) {
                now += knocking.wait(now, chance);
                let turn = governor.ask(Scope::Warm, 1, now);
                assert_eq!(turn, Turn::Go, "after {:?}", now - since);
            }
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
