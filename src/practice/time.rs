//! Time in the practice server: whole milliseconds on one axis, passed in as data.
//!
//! The pure parts (clock, referee, challenges) never read a clock. All durations of the server are
//! in one [`Timing`], so that a test can run keep-alives of 70 ms instead of 7 s.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time, in milliseconds since the Unix epoch; it never goes backwards within one
/// server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Add<Duration> for Millis {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_millis() as u64))
    }
}

impl Sub for Millis {
    type Output = Duration;

    /// The time since `earlier`; zero if that is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Every duration of the server. The defaults are those of Lichess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A stream gets an empty line after this much silence.
    pub keep_alive: Duration,
    /// A challenge without a keep-alive goes offline after this.
    pub challenge_offline: Duration,
    /// A pending real-time challenge can be accepted for this long.
    pub challenge_lifetime: Duration,
    /// A closed game stream makes its player absent after this.
    pub absence_grace: Duration,
    /// Intervals between the notices about an absent opponent.
    pub absence_notice: Duration,
    /// Speed factor of everything that is counted in whole seconds.
    pub speed: u32,
    /// Speed factor of the chess clocks.
    pub clock_speed: u32,
    /// Speed factor of the limit on first moves in arenas.
    pub first_move_speed: u32,
    /// From the fall of a flag until the server notices it by itself.
    pub flag_grace: Duration,
    /// From the third occurrence of a position, shown as `started`, to the claim for the bot.
    pub threefold_claim: Duration,
    /// Delay of the reply to a refused claim of victory.
    pub claim_refusal: Duration,
    /// A sparring bot aborts a game in which no one moves for this long, unless the opponent is a person who
    /// is there.
    pub first_move: Duration,
    /// A bot counts as online for this long after its event stream closed.
    pub online_grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(7),
            challenge_offline: Duration::from_secs(20),
            challenge_lifetime: Duration::from_secs(3 * 3600),
            absence_grace: Duration::from_secs(1),
            absence_notice: Duration::from_secs(5),
            speed: 1,
            clock_speed: 1,
            first_move_speed: 1,
            flag_grace: Duration::from_millis(100),
            threefold_claim: Duration::ZERO,
            claim_refusal: Duration::from_millis(500),
            first_move: Duration::from_secs(30),
            online_grace: Duration::from_secs(10),
        }
    }
}

impl Timing {
    /// The same server, `factor` times as fast, except for the chess clocks and the patience of
    /// sparring bots.
    #[must_use]
    pub fn scaled(factor: u32) -> Self {
        let usual = Self::default();
        let factor = factor.max(1);
        Self {
            keep_alive: usual.keep_alive / factor,
            challenge_offline: usual.challenge_offline / factor,
            challenge_lifetime: usual.challenge_lifetime / factor,
            absence_grace: usual.absence_grace / factor,
            absence_notice: usual.absence_notice / factor,
            speed: factor,
            first_move_speed: factor,
            claim_refusal: usual.claim_refusal / factor,
            online_grace: usual.online_grace / factor,
            ..usual
        }
    }

    /// The same server, `factor` times as fast including the chess clocks: a game of three minutes
    /// takes seconds. The patience of sparring bots stays, as calls take real time.
    #[must_use]
    pub fn fast(factor: u32) -> Self {
        let factor = factor.max(1);
        let usual = Self::default();
        Self {
            clock_speed: factor,
            // A call takes real time, and at this speed a single one may decide the game.
            first_move_speed: (factor / 4).max(1),
            flag_grace: (usual.flag_grace / factor).max(Duration::from_millis(5)),
            first_move: usual.first_move * 4 / factor,
            ..Self::scaled(factor)
        }
    }

    /// Milliseconds of this many seconds of a chess clock.
    pub(crate) fn clock_ms(&self, seconds: u32) -> u64 {
        u64::from(seconds) * 1000 / u64::from(self.clock_speed.max(1))
    }

    /// The limit on a first move in an arena, from its seconds.
    pub(crate) fn first_move_seconds(&self, seconds: u64) -> Duration {
        Duration::from_secs(seconds) / self.first_move_speed.max(1)
    }

    /// A duration in whole seconds of Lichess.
    pub(crate) fn count(&self, span: Duration) -> u64 {
        (span * self.speed.max(1)).as_secs()
    }

    /// This many seconds of Lichess.
    pub(crate) fn seconds(&self, seconds: u64) -> Duration {
        Duration::from_secs(seconds) / self.speed.max(1)
    }
}

/// A fixed window: at most this many events in a span that starts with the first.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    most: u32,
    span: Duration,
    opened: Option<Millis>,
    used: u32,
}

impl Window {
    pub(crate) fn new(most: u32, span: Duration) -> Self {
        Self {
            most,
            span,
            opened: None,
            used: 0,
        }
    }

    /// Takes one, or returns how long until one is available.
    pub(crate) fn take(&mut self, now: Millis) -> Result<(), Duration> {
        let left = self.left(now);
        if left.is_zero() {
            self.used += 1;
            return Ok(());
        }
        Err(left)
    }

    /// Takes this many at once, or returns how long until the window opens again.
    pub(crate) fn take_all(&mut self, count: u32, now: Millis) -> Result<(), Duration> {
        let left = self.left(now);
        if left.is_zero() && self.used + count <= self.most {
            self.used += count;
            return Ok(());
        }
        Err(self.span.saturating_sub(now - self.opened.unwrap_or(now)))
    }

    /// How long until one is available; zero if one is available now.
    pub(crate) fn left(&mut self, now: Millis) -> Duration {
        let opened = *self.opened.get_or_insert(now);
        if now - opened >= self.span {
            self.opened = Some(now);
            self.used = 0;
        }
        if self.used < self.most {
            return Duration::ZERO;
        }
        self.span.saturating_sub(now - self.opened.unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_its_number_and_opens_again_after_its_span() {
        let mut window = Window::new(2, Duration::from_secs(10));
        assert_eq!(window.take(Millis(5_000)), Ok(()));
        assert_eq!(window.take(Millis(6_000)), Ok(()));
        assert_eq!(window.take(Millis(7_000)), Err(Duration::from_secs(8)));
        assert_eq!(window.take(Millis(15_000)), Ok(()));
    }

    #[test]
    fn scaling_shortens_every_wait() {
        let quick = Timing::scaled(100);
        assert_eq!(quick.keep_alive, Duration::from_millis(70));
        assert_eq!(quick.challenge_offline, Duration::from_millis(200));
    }
}
