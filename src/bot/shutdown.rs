//! How the bot ends: it plays on for a while, aborts games that have barely started, and leaves the
//! rest on the server for the next start.
//!
//! Pure: the current time is an argument.

use std::time::{Duration, Instant};

use crate::lichess::GameId;

/// State of the shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShutdownState {
    #[default]
    No,
    /// Plays on until then; without a limit, to the end of every game.
    Draining {
        /// When draining must end.
        until: Option<Instant>,
    },
    /// Aborting games; ends afterwards, whatever the outcome.
    CallingOff {
        /// When to stop waiting for the aborts.
        until: Instant,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShutdownStep {
    Wait,
    CallOff(Vec<GameId>),
    /// End; leave running games on the server.
    End,
}

impl ShutdownState {
    /// Begins draining for at most `limit`; a limit beyond the clock's range is none. No effect if
    /// draining.
    pub(super) fn begin(&mut self, limit: Duration, now: Instant) {
        if *self == Self::No {
            *self = Self::Draining {
                until: now.checked_add(limit),
            };
        }
    }

    /// Whether shutdown has begun.
    pub(super) fn has_begun(self) -> bool {
        self != Self::No
    }

    /// When to call [`ShutdownState::step`].
    pub(super) fn next_timeout(self) -> Option<Instant> {
        match self {
            Self::No => None,
            Self::Draining { until } => until,
            Self::CallingOff { until } => Some(until),
        }
    }

    /// The next step. `idle`: no game runs and no call is in progress; `fresh`: games to abort,
    /// within `patience`.
    pub(super) fn step(
        &mut self,
        idle: bool,
        fresh: impl FnOnce() -> Vec<GameId>,
        patience: Duration,
        now: Instant,
    ) -> ShutdownStep {
        match *self {
            Self::No => ShutdownStep::Wait,
            _ if idle => ShutdownStep::End,
            Self::Draining { until } if until.is_some_and(|until| until <= now) => {
                let fresh = fresh();
                if fresh.is_empty() {
                    return ShutdownStep::End;
                }
                *self = Self::CallingOff {
                    until: now + patience,
                };
                ShutdownStep::CallOff(fresh)
            }
            Self::CallingOff { until } if until <= now => ShutdownStep::End,
            Self::Draining { .. } | Self::CallingOff { .. } => ShutdownStep::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(300);
    const PATIENCE: Duration = Duration::from_secs(5);

    fn game() -> Vec<GameId> {
        vec![GameId::new("q7ZxVt2B")]
    }

    #[test]
    fn it_ends_when_the_last_game_is_over() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        assert_eq!(shutdown.step(true, game, PATIENCE, now), ShutdownStep::Wait);
        shutdown.begin(LIMIT, now);
        assert_eq!(
            shutdown.step(false, game, PATIENCE, now),
            ShutdownStep::Wait
        );
        assert_eq!(shutdown.step(true, game, PATIENCE, now), ShutdownStep::End);
    }

    #[test]
    fn at_the_limit_fresh_games_are_aborted_and_the_rest_is_left() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        shutdown.begin(LIMIT, now);
        shutdown.begin(LIMIT * 9, now);
        assert_eq!(
            shutdown.next_timeout(),
            Some(now + LIMIT),
            "it cannot be put off"
        );
        let late = now + LIMIT;
        let step = shutdown.step(false, game, PATIENCE, late);
        assert_eq!(step, ShutdownStep::CallOff(game()));
        assert_eq!(
            shutdown.step(false, game, PATIENCE, late),
            ShutdownStep::Wait
        );
        assert_eq!(shutdown.next_timeout(), Some(late + PATIENCE));
        let step = shutdown.step(false, game, PATIENCE, late + PATIENCE);
        assert_eq!(step, ShutdownStep::End);
    }

    #[test]
    fn without_fresh_games_it_ends_at_the_limit() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        shutdown.begin(Duration::ZERO, now);
        assert_eq!(
            shutdown.step(false, Vec::new, PATIENCE, now),
            ShutdownStep::End
        );
        let mut patient = ShutdownState::default();
        patient.begin(Duration::MAX, now);
        assert_eq!(patient.next_timeout(), None);
        assert_eq!(patient.step(false, game, PATIENCE, now), ShutdownStep::Wait);
    }
}
