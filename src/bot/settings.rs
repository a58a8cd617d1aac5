//! The operator's rules and the bot's own delays.
//!
//! Plain data: reads no clock and no file; tests pass in a scaled-down [`BotTiming`].

use std::time::Duration;

use crate::config;

/// The parts of the configuration that the bot uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which games to accept, and how many at a time.
    pub challenge: config::Challenge,
    /// The server's daily limits.
    pub limits: config::Limits,
    /// Games that the bot looks for itself.
    pub matchmaking: config::Matchmaking,
    pub arena: config::Arena,
    /// Time reserved for the way to the server.
    pub clock: config::Clock,
    /// Correspondence and untimed games.
    pub correspondence: config::Correspondence,
    /// Patience with a first move.
    pub game: config::Game,
    /// Draws to accept and offer.
    pub draw: config::Draw,
    pub resign: config::Resign,
    pub takeback: config::Takeback,
    pub chat: config::Chat,
    pub variety: config::Variety,
    /// When to pause rated games.
    pub guard: config::Guard,
    pub shutdown: config::ShutdownRules,
    /// Limits of every search, for tests; none in real games.
    pub search: SearchLimits,
    /// Think on the opponent's time.
    pub ponder: bool,
}

/// Limits of every search beside the clock. If none is set, the clock alone decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchLimits {
    pub nodes: Option<u64>,
    pub depth: Option<u32>,
    pub movetime: Option<Duration>,
}

impl SearchLimits {
    /// Whether any limit is set.
    pub fn any(&self) -> bool {
        self.nodes.is_some() || self.depth.is_some() || self.movetime.is_some()
    }
}

impl From<&config::Config> for Settings {
    fn from(config: &config::Config) -> Self {
        let engine = &config.engine;
        Self {
            challenge: config.challenge.clone(),
            limits: config.limits.clone(),
            matchmaking: config.matchmaking.clone(),
            arena: config.arena.clone(),
            clock: config.clock.clone(),
            correspondence: config.correspondence.clone(),
            game: config.game.clone(),
            draw: config.draw.clone(),
            resign: config.resign.clone(),
            takeback: config.takeback.clone(),
            chat: config.chat.clone(),
            variety: config.variety.clone(),
            guard: config.guard.clone(),
            shutdown: config.shutdown.clone(),
            search: SearchLimits {
                nodes: engine.nodes.map(std::num::NonZeroU64::get),
                depth: engine
                    .depth
                    .map(|depth| u32::try_from(depth.get()).unwrap_or(u32::MAX)),
                movetime: engine.movetime,
            },
            ponder: engine.ponder,
        }
    }
}

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

/// Every delay of the bot. `Default` is for Lichess; [`BotTiming::faster`] scales all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BotTiming {
    /// After this long without confirmation in a state, look for a move that was answered "ok".
    pub confirm: Duration,
    /// A move call without an answer after this long counts as lost; longer each time.
    pub post_limit: Duration,
    /// First pause before a lost move is sent again; doubled up to [`BotTiming::retry_cap`].
    pub retry: Duration,
    /// Longest pause between two retries of a lost move.
    pub retry_cap: Duration,
    /// Shortest pause between two retries of a move refused for the rate, or for the account.
    pub limited_retry: Duration,
    /// The wait after a 429 that advises none.
    pub limited_wait: Duration,
    /// Clock time that must remain after such a wait to make it worthwhile.
    pub limited_reserve: Duration,
    /// Pause between two log records of 429s while they keep coming.
    pub limited_note: Duration,
    /// How often a game with a running clock warms the move connection.
    pub warm: Duration,
    /// How long to wait for the server to end a game that is drawn on the board.
    pub settle: Duration,
    /// Thinking time before the clock runs.
    pub first_think: Duration,
    /// Upper limit of any thinking time.
    pub longest_think: Duration,
    /// Pause before retrying an abort, resignation or claim without effect.
    pub again: Duration,
    /// Below this, without increment, a side is about to lose on time.
    pub short_clock: Duration,
    /// Below this on the bot's clock, a search is no ground to resign.
    pub healthy_clock: Duration,
    /// A report of an absent opponent is void after this long.
    pub absence: Duration,
    /// A game that should have ended on time this long ago is stalled.
    pub stalled: Duration,
    /// How long an accepted challenge holds its slot without a game.
    pub accepted: Duration,
    /// How long the bot's own challenge holds its slot without any event.
    pub hold: Duration,
    /// How often to refresh lists from files and addresses.
    pub lists: Duration,
    /// Timeout for fetching a list.
    pub list_page: Duration,
    /// Two dozen lines of the event stream within this time are a burst.
    pub burst: Duration,
    /// How often to compare the list of running games while games run.
    pub reconcile: Duration,
    /// First pause before restarting a game task that panicked.
    pub revive: Duration,
}

impl Default for BotTiming {
    fn default() -> Self {
        Self {
            confirm: Duration::from_millis(2500),
            post_limit: Duration::from_millis(1500),
            retry: Duration::from_millis(100),
            retry_cap: Duration::from_secs(1),
            limited_retry: Duration::from_secs(2),
            limited_wait: Duration::from_secs(60),
            limited_reserve: Duration::from_secs(20),
            limited_note: Duration::from_secs(5),
            warm: Duration::from_secs(10),
            settle: Duration::from_secs(1),
            first_think: Duration::from_secs(1),
            longest_think: Duration::from_secs(120),
            again: Duration::from_secs(5),
            short_clock: Duration::from_secs(30),
            healthy_clock: Duration::from_secs(10),
            absence: Duration::from_secs(12),
            stalled: Duration::from_secs(60),
            accepted: Duration::from_secs(30),
            hold: Duration::from_secs(90),
            lists: Duration::from_secs(3600),
            list_page: Duration::from_secs(20),
            burst: Duration::from_secs(1),
            reconcile: Duration::from_secs(300),
            revive: Duration::from_millis(100),
        }
    }
}

impl BotTiming {
    /// Every delay divided by `factor`, for tests against a server whose clock runs faster.
    #[must_use]
    pub fn faster(self, factor: u32) -> Self {
        let factor = factor.max(1);
        Self {
            confirm: self.confirm / factor,
            // A call takes the same time on any clock.
            post_limit: (self.post_limit / factor).max(MIN_POST_LIMIT),
            retry: self.retry / factor,
            retry_cap: self.retry_cap / factor,
            limited_retry: self.limited_retry / factor,
            limited_wait: self.limited_wait / factor,
            limited_reserve: self.limited_reserve / factor,
            limited_note: self.limited_note / factor,
            warm: self.warm / factor,
            settle: self.settle / factor,
            first_think: self.first_think / factor,
            longest_think: self.longest_think / factor,
            again: self.again / factor,
            short_clock: self.short_clock / factor,
            healthy_clock: self.healthy_clock / factor,
            absence: self.absence / factor,
            stalled: self.stalled / factor,
            accepted: self.accepted / factor,
            hold: self.hold / factor,
            lists: self.lists / factor,
            // A connection takes the same time on any clock.
            list_page: (self.list_page / factor).max(MIN_POST_LIMIT),
            // Reading takes the same time on any clock.
            burst: (self.burst / factor).max(MIN_BURST),
            reconcile: self.reconcile / factor,
            revive: self.revive / factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_test_limits_come_through() {
        let mut config = config::Config::default();
        assert!(!Settings::from(&config).search.any());
        config.engine.nodes = std::num::NonZeroU64::new(7);
        config.engine.depth = std::num::NonZeroU64::new(u64::MAX);
        let search = Settings::from(&config).search;
        assert_eq!(search.nodes, Some(7));
        assert_eq!(search.depth, Some(u32::MAX));
        assert!(search.any());
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
