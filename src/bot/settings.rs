//! The operator's rules and the bot's own delays.
//!
//! Plain data: reads no clock and no file; tests pass in a scaled-down [`BotTiming`].

use std::time::Duration;

use crate::config;
use crate::lichess::durations;

/// The configuration, of which the bot uses the sections that concern it.
pub type Settings = config::Config;

impl Settings {
    /// Every delay divided by `factor`, the patience with a first move by half of that, for tests
    /// against a server whose clocks run faster.
    #[must_use]
    pub fn faster(mut self, factor: u32) -> Self {
        for span in [
            &mut self.clock.overhead_floor,
            &mut self.clock.overhead_ceiling,
            &mut self.clock.reserve,
            &mut self.clock.reserve_least,
            &mut self.game.abort_rest,
            &mut self.challenge.queue,
            &mut self.correspondence.poll,
            &mut self.correspondence.think,
            &mut self.chat.pause,
            &mut self.guard.rest,
            &mut self.shutdown.drain,
        ] {
            *span /= factor.max(1);
        }
        // An API call takes the same time on any clock, and here a single one decides the game.
        self.game.abort_bots /= (factor / 2).max(1);
        self.game.abort_humans /= (factor / 2).max(1);
        self
    }
}

/// Never abandon a call earlier than this, however fast the rest runs.
const MIN_POST_LIMIT: Duration = Duration::from_millis(500);
/// A burst is read in less than this, however busy the machine is.
const MIN_BURST: Duration = Duration::from_millis(250);

durations! {
    /// Every delay of the bot. `Default` is for Lichess; [`BotTiming::faster`] scales all alike.
    #[derive(Copy)]
    pub struct BotTiming {
        /// After this long without confirmation in a state, look for a move that was answered "ok".
        confirm = Duration::from_millis(2500);
        /// A move call without an answer after this long counts as lost; longer each time.
        // A call takes the same time on any clock.
        post_limit = Duration::from_millis(1500), at least MIN_POST_LIMIT;
        /// First pause before a lost move is sent again; doubled up to [`BotTiming::retry_cap`].
        retry = Duration::from_millis(100);
        /// Longest pause between two retries of a lost move.
        retry_cap = Duration::from_secs(1);
        /// Shortest pause between two retries of a move refused for the rate, or for the account.
        limited_retry = Duration::from_secs(2);
        /// The wait after a 429 that advises none.
        limited_wait = Duration::from_secs(60);
        /// Clock time that must remain after such a wait to make it worthwhile.
        limited_reserve = Duration::from_secs(20);
        /// Pause between two log records of 429s while they keep coming.
        limited_note = Duration::from_secs(5);
        /// How often a game with a running clock warms the move connection.
        warm = Duration::from_secs(10);
        /// How long to wait for the server to end a game that is drawn on the board.
        settle = Duration::from_secs(1);
        /// Thinking time before the clock runs.
        first_think = Duration::from_secs(1);
        /// Upper limit of any thinking time.
        longest_think = Duration::from_secs(120);
        /// Pause before retrying an abort, resignation or claim without effect.
        again = Duration::from_secs(5);
        /// Below this, without increment, a side is about to lose on time.
        short_clock = Duration::from_secs(30);
        /// Below this on the bot's clock, a search is no ground to resign.
        healthy_clock = Duration::from_secs(10);
        /// A report of an absent opponent is void after this long.
        absence = Duration::from_secs(12);
        /// A game that should have ended on time this long ago is stalled.
        stalled = Duration::from_secs(60);
        /// How long an accepted challenge holds its slot without a game.
        accepted = Duration::from_secs(30);
        /// How long the bot's own challenge holds its slot without any event.
        hold = Duration::from_secs(90);
        /// How often to refresh lists from files and addresses.
        lists = Duration::from_secs(3600);
        /// Timeout for fetching a list.
        // A connection takes the same time on any clock.
        list_page = Duration::from_secs(20), at least MIN_POST_LIMIT;
        /// Time for the disk to give a list, or to take a copy of one.
        // A disk takes the same time on any clock.
        list_file = Duration::from_secs(5), at least MIN_POST_LIMIT;
        /// Two dozen lines of the event stream within this time are a burst.
        // Reading takes the same time on any clock.
        burst = Duration::from_secs(1), at least MIN_BURST;
        /// How often to compare the list of running games while games run.
        reconcile = Duration::from_secs(300);
        /// Time without a game before the bot reads the opening explorer.
        explorer_quiet = Duration::from_secs(20);
        /// First pause before restarting a game task that panicked.
        revive = Duration::from_millis(100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_test_limits_come_through() {
        let mut settings = Settings::default();
        assert!(!settings.engine.limits_search());
        settings.engine.depth = std::num::NonZeroU64::new(7);
        assert!(settings.engine.limits_search());
    }

    #[test]
    fn faster_settings_wait_less_and_count_the_same() {
        let settings = Settings::default().faster(60);
        let usual = Settings::default().shutdown.drain;
        assert_eq!(settings.shutdown.drain, usual / 60);
        assert_eq!(settings.game.abort_bots, Duration::from_secs(1));
        assert_eq!(
            settings.game.abort_repeats,
            config::Game::default().abort_repeats
        );
        assert_eq!(Settings::default().faster(0), Settings::default());
    }

    #[test]
    fn faster_timing_scales_every_field() {
        let timing = BotTiming::default().faster(10);
        assert_eq!(timing.confirm, Duration::from_millis(250));
        assert_eq!(timing.post_limit, MIN_POST_LIMIT);
        assert_eq!(BotTiming::default().faster(0), BotTiming::default());
    }
}
