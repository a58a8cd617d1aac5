//! How the bot shuts down: games in progress go on for a while, then games that have barely started are
//! aborted and the rest is left on the server, to be resumed at the next start.
//!
//! Pure: time comes in as data.

use std::time::{Duration, Instant};

use crate::lichess::GameId;

/// How far the end has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShutdownState {
    /// No one wants it to end.
    #[default]
    No,
    /// Games are played on until then; without a moment, to their ends.
    Draining {
        /// The end of patience.
        until: Option<Instant>,
    },
    /// Games are being called off; then it ends, whatever came of it.
    CallingOff {
        /// The end of patience.
        until: Instant,
    },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShutdownStep {
    Wait,
    /// Call these games off.
    CallOff(Vec<GameId>),
    /// End; what still runs is left on the server.
    End,
}

impl ShutdownState {
    /// Begins, so long at most; a limit too far to be told is none. What has begun continues.
    pub(super) fn begin(&mut self, limit: Duration, now: Instant) {
        if *self == Self::No {
            *self = Self::Draining {
                until: now.checked_add(limit),
            };
        }
    }

    /// Whether it has begun.
    pub(super) fn has_begun(self) -> bool {
        self != Self::No
    }

    /// When [`ShutdownState::step`] is wanted.
    pub(super) fn next_timeout(self) -> Option<Instant> {
        match self {
            Self::No => None,
            Self::Draining { until } => until,
            Self::CallingOff { until } => Some(until),
        }
    }

    /// What is to be done now. `idle` says that nothing runs and nothing is under way; `fresh` are
    /// the games that may be called off, which is given `patience`.
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
    fn at_the_limit_fresh_games_are_called_off_and_the_rest_is_left() {
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
