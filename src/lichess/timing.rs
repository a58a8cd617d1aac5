//! Every duration of the client in one value.
//!
//! The default is for production; tests and the practice server use it scaled down.

use std::iter::{once, repeat_n};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The server's pause between two keep-alive lines.
    pub keep_alive: Duration,
    /// Silence after which a game stream counts as dead.
    pub game_idle: Duration,
    /// Silence after which the event stream counts as dead.
    pub event_idle: Duration,
    /// Silence after which the stream of a kept challenge counts as dead: its keep-alives are rare.
    pub challenge_idle: Duration,
    /// For the response that opens a game stream: an absent player soon loses the game.
    pub game_opening: Duration,
    /// To establish a connection, TLS included.
    pub connect: Duration,
    /// For a whole call, up to the last byte of the response.
    pub call: Duration,
    /// For moves and for accepting challenges, where the opponent waits.
    pub move_call: Duration,
    /// Idleness of the move connection after which it is warmed.
    pub warm_after: Duration,
    /// The wait after a 429 that names none.
    pub rate_limit: Duration,
    /// Between two queued calls.
    pub spacing: Duration,
    /// The unit of the server's limits.
    pub minute: Duration,
    /// Life after which a stream counts as having been healthy.
    pub healthy_life: Duration,
    /// Waits before reopening a game stream; the last one repeats.
    pub game_backoff: Vec<Duration>,
    /// The first wait before reopening the event stream; later ones grow.
    pub event_backoff: Duration,
    pub event_backoff_max: Duration,
    /// The longest such wait without a connection: an attempt then costs the server nothing.
    pub unreached_backoff_max: Duration,
    /// The first wait between two polls of a server that is out of order.
    pub ping: Duration,
    pub knock_max: Duration,
    /// How long the first wait holds while the server is away or out of order; then waits grow.
    pub steady: Duration,
    /// The span over which openings of the event stream are counted.
    pub opening_window: Duration,
    /// How many openings that span may hold.
    pub openings: usize,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            keep_alive: seconds(7),
            game_idle: seconds(10),
            event_idle: seconds(15),
            challenge_idle: seconds(90),
            game_opening: seconds(4),
            connect: seconds(5),
            call: seconds(10),
            move_call: seconds(3),
            warm_after: seconds(20),
            rate_limit: seconds(60),
            spacing: Duration::from_millis(300),
            minute: seconds(60),
            healthy_life: seconds(60),
            // A clock may run: for half a minute the bot tries every second.
            game_backoff: once(Duration::from_millis(500))
                .chain(repeat_n(seconds(1), 30))
                .chain(once(seconds(2)))
                .collect(),
            event_backoff: seconds(1),
            event_backoff_max: seconds(60),
            unreached_backoff_max: seconds(10),
            ping: seconds(1),
            knock_max: seconds(10),
            steady: seconds(120),
            opening_window: seconds(600),
            // The server allows a token 30, and asks clients to stay below 20.
            openings: 19,
        }
    }
}

impl Timing {
    /// The same timing, `factor` times faster. Counts stay; limits on connections and calls are at
    /// least two seconds, since a loopback connection may take that long.
    #[must_use]
    pub fn faster(&self, factor: u32) -> Self {
        let floor = Duration::from_secs(2);
        Self {
            keep_alive: self.keep_alive / factor,
            game_idle: self.game_idle / factor,
            event_idle: self.event_idle / factor,
            challenge_idle: self.challenge_idle / factor,
            game_opening: (self.game_opening / factor).max(floor),
            connect: (self.connect / factor).max(floor),
            call: (self.call / factor).max(floor),
            move_call: (self.move_call / factor).max(floor),
            warm_after: self.warm_after / factor,
            rate_limit: self.rate_limit / factor,
            spacing: self.spacing / factor,
            minute: self.minute / factor,
            healthy_life: self.healthy_life / factor,
            game_backoff: self.game_backoff.iter().map(|&d| d / factor).collect(),
            event_backoff: self.event_backoff / factor,
            event_backoff_max: self.event_backoff_max / factor,
            unreached_backoff_max: self.unreached_backoff_max / factor,
            ping: self.ping / factor,
            knock_max: self.knock_max / factor,
            steady: self.steady / factor,
            opening_window: self.opening_window / factor,
            openings: self.openings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keep_alive_may_be_late_but_not_missing() {
        let timing = Timing::default();
        assert!(timing.keep_alive < timing.game_idle);
        assert!(timing.event_idle < timing.keep_alive * 3);
        assert!(timing.game_opening < timing.game_idle);
    }

    #[test]
    fn faster_timing_keeps_the_proportions() {
        let timing = Timing::default().faster(100);
        assert_eq!(timing.keep_alive, Duration::from_millis(70));
        assert_eq!(timing.game_idle, Duration::from_millis(100));
        assert_eq!(timing.openings, 19);
    }
}
