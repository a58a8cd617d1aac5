//! The chess clock: pure, every call passes the time.
//!
//! It computes the remaining time and when a flag falls; it never decides the result.

use std::time::Duration;

use crate::rules::Color;

use super::game_settings::TimeControl;
use super::time::Millis;

/// What Lichess shows as the remaining time of a game without a clock.
pub(crate) const UNLIMITED: i64 = 2_147_483_647;

const DAY: i64 = 86_400_000;

/// The clock of one game.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    time: TimeControl,
    /// Speed of the clock relative to real time.
    speed: i64,
    /// Milliseconds left when the running side's clock was started.
    left: [i64; 2],
    running: Option<(Color, Millis)>,
    /// What each side had left after each of its moves.
    history: [Vec<i64>; 2],
}

impl Clock {
    /// A clock that stands still until both sides have moved. A correspondence clock runs from the
    /// start.
    pub(crate) fn new(time: TimeControl, now: Millis) -> Self {
        let start = match time {
            TimeControl::Clock {
                limit: 0,
                increment,
            } => i64::from(increment.max(3)) * 1000,
            TimeControl::Clock { limit, .. } => i64::from(limit) * 1000,
            TimeControl::Correspondence { days } => i64::from(days) * DAY,
            TimeControl::Unlimited => UNLIMITED,
        };
        let running =
            matches!(time, TimeControl::Correspondence { .. }).then_some((Color::White, now));
        Self {
            time,
            speed: 1,
            left: [start; 2],
            running,
            history: Default::default(),
        }
    }

    /// A clock that runs this many times as fast from the start.
    pub(crate) fn faster(mut self, speed: u32) -> Self {
        self.speed = i64::from(speed.max(1));
        if matches!(self.time, TimeControl::Clock { .. }) {
            self.left = self.left.map(|left| left / self.speed);
        }
        self
    }

    /// Milliseconds that `side` has left; below zero is shown as zero.
    pub(crate) fn left(&self, side: Color, now: Millis) -> u64 {
        self.balance(side, now).max(0) as u64
    }

    fn balance(&self, side: Color, now: Millis) -> i64 {
        let used = match self.running {
            Some((running, since)) if running == side => (now - since).as_millis() as i64,
            _ => 0,
        };
        self.left[side.index()] - used
    }

    pub(crate) fn running(&self) -> Option<Color> {
        self.running.map(|(side, _)| side)
    }

    /// When the running side's flag will fall.
    pub(crate) fn flag_due(&self) -> Option<Millis> {
        let (side, since) = self.running?;
        let left = self.left[side.index()].max(0) as u64;
        Some(Millis(since.0.saturating_add(left)))
    }

    /// The side without time left.
    pub(crate) fn flagged(&self, now: Millis) -> Option<Color> {
        let (side, _) = self.running?;
        (self.balance(side, now) <= 0).then_some(side)
    }

    /// `side` has made the move that puts `plies` half-moves on the board.
    pub(crate) fn press(&mut self, side: Color, plies: usize, now: Millis) {
        match self.time {
            TimeControl::Clock { increment, .. } => {
                self.left[side.index()] = self.balance(side, now);
                if plies > 2 {
                    self.left[side.index()] += i64::from(increment) * 1000 / self.speed;
                }
                self.history[side.index()].push(self.left[side.index()]);
                self.running = (plies >= 2).then_some((!side, now));
            }
            TimeControl::Correspondence { days } => {
                self.left = [i64::from(days) * DAY; 2];
                self.running = Some((!side, now));
            }
            TimeControl::Unlimited => {}
        }
    }

    /// Half-moves are taken back, so that `plies` are left; `turn` was to move. With each one the side to
    /// move gets what it had after its last move (lila's `Rewind`); who takes only its own move back pays for
    /// it.
    pub(crate) fn take_back(&mut self, mut turn: Color, undone: usize, plies: usize, now: Millis) {
        self.left = Color::ALL.map(|color| self.balance(color, now));
        for _ in 0..undone {
            if let Some(&left) = self.history[turn.index()].last() {
                self.left[turn.index()] = left;
            }
            turn = !turn;
            self.history[turn.index()].pop();
        }
        let runs = match self.time {
            TimeControl::Clock { .. } => plies >= 2,
            TimeControl::Correspondence { .. } => true,
            TimeControl::Unlimited => false,
        };
        self.running = runs.then_some((turn, now));
    }

    /// Stops for good with the current time left.
    pub(crate) fn stop(&mut self, now: Millis) {
        self.left = Color::ALL.map(|color| self.balance(color, now).max(0));
        self.running = None;
    }

    /// Gives `side` more time.
    pub(crate) fn give(&mut self, side: Color, seconds: u32) {
        if self.time != TimeControl::Unlimited {
            self.left[side.index()] += i64::from(seconds) * 1000 / self.speed;
        }
    }

    /// Gives both sides more time, as the server does after an outage.
    pub(crate) fn jump(&mut self, by: Duration) {
        if matches!(self.time, TimeControl::Clock { .. }) {
            self.left = self.left.map(|left| left + by.as_millis() as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Millis = Millis(1_000_000);

    fn at(ms: u64) -> Millis {
        Millis(START.0 + ms)
    }

    fn blitz() -> Clock {
        Clock::new(
            TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
            START,
        )
    }

    #[test]
    fn the_first_moves_cost_no_time() {
        let mut clock = blitz();
        clock.press(Color::White, 1, at(60_000));
        clock.press(Color::Black, 2, at(120_000));
        assert_eq!(clock.left(Color::White, at(120_000)), 180_000);
        assert_eq!(clock.left(Color::Black, at(120_000)), 180_000);
        assert_eq!(clock.running(), Some(Color::White));
    }

    #[test]
    fn the_increment_comes_from_the_second_move_on() {
        let mut clock = blitz();
        clock.press(Color::White, 1, at(0));
        clock.press(Color::Black, 2, at(0));
        clock.press(Color::White, 3, at(5_000));
        assert_eq!(clock.left(Color::White, at(9_000)), 177_000);
        assert_eq!(clock.left(Color::Black, at(9_000)), 176_000);
        clock.press(Color::Black, 4, at(10_000));
        assert_eq!(clock.left(Color::Black, at(10_000)), 177_000);
    }

    #[test]
    fn the_flag_falls_when_the_last_millisecond_is_used() {
        let mut clock = blitz();
        clock.press(Color::White, 1, at(0));
        assert_eq!(clock.flag_due(), None);
        clock.press(Color::Black, 2, at(0));
        assert_eq!(clock.flag_due(), Some(at(180_000)));
        assert_eq!(clock.flagged(at(179_999)), None);
        assert_eq!(clock.flagged(at(180_000)), Some(Color::White));
        assert_eq!(clock.left(Color::White, at(200_000)), 0);
    }

    #[test]
    fn a_takeback_returns_the_time_as_lichess_does() {
        let played = || {
            let mut clock = blitz();
            for (ply, moment) in [(1, 0), (2, 0), (3, 4_000), (4, 9_000)] {
                let side = [Color::Black, Color::White][ply % 2];
                clock.press(side, ply, at(moment));
            }
            clock
        };
        let left = |clock: &Clock| Color::ALL.map(|side| clock.left(side, at(12_000)));
        // White thinks for three seconds more and takes two half-moves back: each side has what it had after
        // its last move but that of Black, which is undone.
        let mut clock = played();
        assert_eq!(left(&clock), [175_000, 177_000]);
        clock.take_back(Color::White, 2, 2, at(12_000));
        assert_eq!(left(&clock), [178_000, 180_000]);
        assert_eq!(clock.running(), Some(Color::White));
        // Black takes its own move back: its time stays spent, White's thinking does not count.
        let mut clock = played();
        clock.take_back(Color::White, 1, 3, at(12_000));
        assert_eq!(left(&clock), [178_000, 177_000]);
        assert_eq!(clock.running(), Some(Color::Black));
    }

    #[test]
    fn a_limit_of_zero_starts_with_the_increment_but_three_seconds_at_least() {
        let start = |increment| {
            Clock::new(
                TimeControl::Clock {
                    limit: 0,
                    increment,
                },
                START,
            )
            .left(Color::White, START)
        };
        assert_eq!(start(1), 3_000);
        assert_eq!(start(10), 10_000);
    }

    #[test]
    fn an_unlimited_game_has_no_flag() {
        let mut clock = Clock::new(TimeControl::Unlimited, START);
        for ply in 1..9 {
            let side = if ply % 2 == 1 {
                Color::White
            } else {
                Color::Black
            };
            clock.press(side, ply, at(1_000_000));
        }
        assert_eq!(clock.flag_due(), None);
        assert_eq!(
            clock.left(Color::Black, at(u64::from(u32::MAX))),
            2_147_483_647
        );
    }

    #[test]
    fn correspondence_gives_the_full_time_for_each_move() {
        let mut clock = Clock::new(TimeControl::Correspondence { days: 2 }, START);
        clock.press(Color::White, 1, at(3_600_000));
        assert_eq!(clock.left(Color::White, at(7_200_000)), 172_800_000);
        assert_eq!(clock.left(Color::Black, at(7_200_000)), 169_200_000);
    }

    #[test]
    fn a_stopped_clock_stands() {
        let mut clock = blitz();
        clock.press(Color::White, 1, at(0));
        clock.press(Color::Black, 2, at(0));
        clock.stop(at(1_500));
        assert_eq!(clock.left(Color::White, at(99_000)), 178_500);
        assert_eq!(clock.flag_due(), None);
    }
}
