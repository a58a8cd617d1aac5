//! Every duration of the client in one value.
//!
//! The default is for production; tests and the practice server use it scaled down.

use std::iter::{once, repeat_n};
use std::time::Duration;

/// Limits on connections and calls never scale below this: on a loopback they may take as long.
const FLOOR: Duration = Duration::from_secs(2);

/// Declares a struct of durations: each with its default, and perhaps a least value when scaled down.
/// Other fields come with a function of the value and the factor.
macro_rules! durations {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident {
            $($(#[$doc:meta])* $field:ident = $value:expr $(, at least $floor:expr)?;)+
        }
        $(others {
            $($(#[$other_doc:meta])* $other:ident: $Type:ty = $other_value:expr => $scale:expr;)+
        })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Name {
            $($(#[$doc])* pub $field: Duration,)+
            $($($(#[$other_doc])* pub $other: $Type,)+)?
        }

        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $($field: $value,)+
                    $($($other: $other_value,)+)?
                }
            }
        }

        impl $Name {
            /// The same, `factor` times faster.
            #[must_use]
            pub fn faster(&self, factor: u32) -> Self {
                let factor = factor.max(1);
                $($(let $other: fn(&$Type, u32) -> $Type = $scale;)+)?
                Self {
                    $($field: (self.$field / factor)$(.max($floor))?,)+
                    $($($other: $other(&self.$other, factor),)+)?
                }
            }
        }
    };
}
pub(crate) use durations;

durations! {
    /// Every duration of the client.
    pub struct Timing {
        /// The server's pause between two keep-alive lines.
        keep_alive = Duration::from_secs(7);
        /// Silence after which a game stream counts as dead.
        game_idle = Duration::from_secs(10);
        /// Silence after which the event stream counts as dead.
        event_idle = Duration::from_secs(15);
        /// Silence after which the stream of a kept challenge counts as dead: its keep-alives are rare.
        challenge_idle = Duration::from_secs(90);
        /// For the response that opens a game stream: an absent player soon loses the game.
        game_opening = Duration::from_secs(4), at least FLOOR;
        /// To establish a connection, TLS included.
        connect = Duration::from_secs(5), at least FLOOR;
        /// For a whole call, up to the last byte of the response.
        call = Duration::from_secs(10), at least FLOOR;
        /// For moves and for accepting challenges, where the opponent waits.
        move_call = Duration::from_secs(3), at least FLOOR;
        /// Idleness of the move connection after which it is warmed.
        warm_after = Duration::from_secs(20);
        /// The wait after a 429 that names none.
        rate_limit = Duration::from_secs(60);
        /// Between two queued calls.
        spacing = Duration::from_millis(300);
        /// The unit of the server's limits.
        minute = Duration::from_secs(60);
        /// Life after which a stream counts as having been healthy.
        healthy_life = Duration::from_secs(60);
        /// The first wait before reopening the event stream; later ones grow.
        event_backoff = Duration::from_secs(1);
        event_backoff_max = Duration::from_secs(60);
        /// The longest such wait without a connection: an attempt then costs the server nothing.
        unreached_backoff_max = Duration::from_secs(10);
        /// The first wait between two polls of a server that is out of order.
        ping = Duration::from_secs(1);
        max_ping = Duration::from_secs(10);
        /// How long the first wait holds while the server is away or out of order; then waits grow.
        steady = Duration::from_secs(120);
        /// The span over which openings of the event stream are counted.
        opening_window = Duration::from_secs(600);
    }
    others {
        /// Waits before reopening a game stream; the last one repeats.
        // A clock may run: for half a minute the bot tries every second.
        game_backoff: Vec<Duration> = once(Duration::from_millis(500))
            .chain(repeat_n(Duration::from_secs(1), 30))
            .chain(once(Duration::from_secs(2)))
            .collect() => |waits, factor| waits.iter().map(|&wait| wait / factor).collect();
        /// How many openings that span may hold.
        // The server allows a token 30, and asks clients to stay below 20.
        openings: usize = 19 => |count, _| *count;
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
