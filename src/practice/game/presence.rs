//! Presence: a player is present while one of its streams of the game is open.
//!
//! Determines when the opponent is notified of an absence and from when it may claim. It never ends
//! a game.

use std::time::Duration;

use crate::practice::game_settings::Speed;
use crate::practice::time::{Millis, Timing};

/// The presence of one player in one game.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    streams: u32,
    /// A sparring bot inside the server cannot leave.
    task: bool,
    away_since: Option<Millis>,
    left_the_page: bool,
    next_notice: Option<Millis>,
    announced_long_absence: bool,
}

/// A notice to the opponent of an absent player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// Seconds until the win may be claimed.
    pub(super) claim_in: u64,
}

/// How long an absence may last, depending on the game.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) speed: Speed,
    /// The absent side is badly behind in material.
    pub(super) hopeless: bool,
}

impl Patience {
    fn limit(self, left_the_page: bool, timing: &Timing) -> Duration {
        let seconds = match self.speed {
            _ if left_the_page => 10,
            Speed::UltraBullet | Speed::Bullet | Speed::Blitz => 40,
            Speed::Rapid => 80,
            Speed::Classical | Speed::Correspondence => 120,
        };
        let seconds = if self.hopeless {
            (seconds / 3).max(10)
        } else {
            seconds
        };
        timing.seconds(seconds)
    }
}

impl Presence {
    pub(super) fn new(task: bool, now: Millis) -> Self {
        Self {
            streams: 0,
            task,
            away_since: (!task).then_some(now),
            left_the_page: false,
            next_notice: None,
            announced_long_absence: false,
        }
    }

    /// A stream was opened; true if the opponent must be notified of the return.
    pub(super) fn arrive(&mut self) -> bool {
        self.streams += 1;
        self.away_since = None;
        self.next_notice = None;
        std::mem::take(&mut self.announced_long_absence)
    }

    /// Leaves although it runs inside the server.
    pub(super) fn walk_away(&mut self, now: Millis) {
        self.away_since = Some(now);
        self.left_the_page = true;
    }

    /// No one could be present until now.
    pub(super) fn excuse(&mut self, now: Millis) {
        if self.away_since.is_some() {
            self.away_since = Some(now);
            self.next_notice = None;
        }
    }

    /// A stream was closed.
    pub(super) fn leave(&mut self, now: Millis, left_the_page: bool) {
        self.streams = self.streams.saturating_sub(1);
        if self.streams == 0 && !self.task {
            self.away_since = Some(now);
            self.left_the_page = left_the_page;
        }
    }

    /// How long a player may be away before the opponent may claim.
    pub(super) fn longest(&self, patience: Patience, timing: &Timing) -> Duration {
        timing.absence_grace + patience.limit(self.left_the_page, timing)
    }

    /// From when the opponent may claim.
    pub(super) fn long_gone_at(&self, patience: Patience, timing: &Timing) -> Option<Millis> {
        let gone = self.away_since? + timing.absence_grace;
        Some(gone + patience.limit(self.left_the_page, timing))
    }

    /// When the next notice to the opponent is due.
    pub(super) fn notice_due(&self, timing: &Timing) -> Option<Millis> {
        let gone = self.away_since? + timing.absence_grace;
        Some(self.next_notice.unwrap_or(gone))
    }

    /// The notice to the opponent, if one is due now.
    pub(super) fn notice(
        &mut self,
        patience: Patience,
        timing: &Timing,
        now: Millis,
    ) -> Option<Notice> {
        if now < self.notice_due(timing)? {
            return None;
        }
        self.next_notice = Some(now + timing.absence_notice);
        let left = self.long_gone_at(patience, timing)? - now;
        let claim_in = left.as_millis().div_ceil(1000) as u64;
        self.announced_long_absence |= claim_in == 0;
        Some(Notice { claim_in })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLITZ: Patience = Patience {
        speed: Speed::Blitz,
        hopeless: false,
    };

    #[test]
    fn the_countdown_runs_in_steps_of_five_seconds_to_zero() {
        let timing = Timing::default();
        let mut player = Presence::new(false, Millis(0));
        assert!(!player.arrive());
        assert_eq!(player.notice(BLITZ, &timing, Millis(50_000)), None);
        player.leave(Millis(100_000), false);
        assert_eq!(player.notice(BLITZ, &timing, Millis(100_500)), None);
        let mut heard = Vec::new();
        for ms in (100_000..150_000).step_by(250) {
            heard.extend(
                player
                    .notice(BLITZ, &timing, Millis(ms))
                    .map(|notice| notice.claim_in),
            );
        }
        assert_eq!(heard, [40, 35, 30, 25, 20, 15, 10, 5, 0, 0]);
        assert!(
            player.arrive(),
            "an absence past its limit ends with a notice"
        );
    }

    #[test]
    fn a_player_who_returns_in_time_is_not_announced() {
        let timing = Timing::default();
        let mut player = Presence::new(false, Millis(0));
        assert!(player.notice(BLITZ, &timing, Millis(2_000)).is_some());
        assert!(!player.arrive());
    }

    #[test]
    fn a_visitor_who_closes_the_page_has_ten_seconds_and_a_server_bot_never_leaves() {
        let timing = Timing::default();
        let mut player = Presence::new(false, Millis(0));
        player.arrive();
        player.leave(Millis(0), true);
        assert_eq!(player.long_gone_at(BLITZ, &timing), Some(Millis(11_000)));
        let task = Presence::new(true, Millis(0));
        assert_eq!(task.long_gone_at(BLITZ, &timing), None);
    }

    #[test]
    fn the_second_of_two_streams_keeps_its_player_present() {
        let timing = Timing::default();
        let mut player = Presence::new(false, Millis(0));
        player.arrive();
        player.arrive();
        player.leave(Millis(10), false);
        assert_eq!(player.notice_due(&timing), None);
    }
}
