//! Divides a running clock over the moves of a game: from limits to a soft end (start no further
//! iteration) and a hard end (answer now).
//!
//! It knows no game and no server: `src/bot/game/time_budget.rs` caps each search of the bot and
//! holds back the time for the move's way to the server, which comes here as the overhead of the
//! clock.
//!
//! Pure arithmetic on durations; it reads no clock. The thread that computes a plan must have the
//! parameters of its search installed.

use std::time::Duration;

use super::limits::{Clock, Limits};
use super::{params, tunables};

/// The two ends of a search, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimePlan {
    /// The allotted time; scaled by [`soft_factor`].
    pub(super) soft: Option<Duration>,
    /// The maximum time.
    pub(super) hard: Option<Duration>,
}

impl TimePlan {
    pub(super) fn new(limits: &Limits) -> TimePlan {
        let clock = limits.clock.as_ref().map(TimePlan::on_clock);
        let clock = clock.unwrap_or_default();
        let hard = [clock.hard, limits.movetime].into_iter().flatten().min();
        TimePlan { hard, ..clock }
    }

    fn on_clock(clock: &Clock) -> TimePlan {
        let usable = clock
            .time
            .saturating_sub(clock.overhead)
            .max(params::LEAST_TIME);
        let ahead = f64::from(tunables::time_moves_ahead()) / 10.0;
        let moves = clock
            .moves_to_go
            .filter(|&moves| moves > 0)
            .map_or(ahead, |moves| f64::from(moves).min(ahead));
        // Near the bottom of the clock keep more of it: a machine that pauses must not lose on
        // time.
        let filled = usable.div_duration_f64(params::SHORT_CLOCK).min(1.0);
        let increment_share = thousandths(tunables::time_increment_share());
        let increment = clock.increment.mul_f64(increment_share * filled);
        let thrift = params::SHORT_SHARE + (1.0 - params::SHORT_SHARE) * filled;
        // The last move before a time control may use nearly all of it.
        let share = if moves < params::LAST_MOVES {
            params::LAST_SHARE / moves
        } else {
            thousandths(tunables::time_hard_share())
        };
        let hard = usable.mul_f64(share);
        let soft = (usable.div_f64(moves).mul_f64(thrift) + increment).min(hard);
        TimePlan {
            soft: Some(soft),
            hard: Some(hard),
        }
    }
}

/// What the finished iterations say about the time needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Share of all nodes spent on the best move, 0 to 1.
    pub(super) best_move_share: f64,
    /// Iterations since the best move changed.
    pub(super) stable_for: u32,
    /// How far the score fell since the last iteration, in centipawns; negative if it rose.
    pub(super) score_drop: i32,
}

/// The factor on the soft limit.
pub(super) fn soft_factor(progress: Progress) -> f64 {
    let slope = thousandths(tunables::time_nodes_slope());
    let nodes = thousandths(tunables::time_nodes_base()) - slope * progress.best_move_share;
    let stable = f64::from(progress.stable_for.min(params::TIME_STABLE_MOST));
    let slope = thousandths(tunables::time_stable_slope());
    let stability = thousandths(tunables::time_stable_base()) - slope * stable;
    let drop = f64::from(progress.score_drop) / f64::from(tunables::time_drop_scale());
    let falling = 1.0
        + drop.clamp(
            -thousandths(tunables::time_drop_least()),
            thousandths(tunables::time_drop_most()),
        );
    // Not every slope within its bounds goes with every base.
    nodes.max(0.0) * stability.max(0.0) * falling
}

fn thousandths(value: i32) -> f64 {
    f64::from(value) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(time: u64, increment: u64, moves_to_go: Option<u32>) -> TimePlan {
        TimePlan::new(&Limits::clock(Clock {
            time: Duration::from_millis(time),
            increment: Duration::from_millis(increment),
            moves_to_go,
            overhead: Duration::from_millis(10),
        }))
    }

    #[test]
    fn the_soft_end_never_lies_behind_the_hard_one() {
        for time in [0, 1, 5, 20, 100, 1000, 60_000, 600_000] {
            for increment in [0, 20, 2000, 30_000] {
                for moves in [None, Some(0), Some(1), Some(2), Some(5), Some(40)] {
                    let plan = clock(time, increment, moves);
                    assert!(plan.soft <= plan.hard, "{time} {increment} {moves:?}");
                    let most = Duration::from_millis(time.saturating_sub(10).max(1));
                    assert!(plan.hard.unwrap() <= most, "{time} {increment} {moves:?}");
                }
            }
        }
    }

    #[test]
    fn no_moves_to_go_are_no_time_control() {
        assert_eq!(clock(60_000, 0, Some(0)), clock(60_000, 0, None));
    }

    #[test]
    fn a_two_second_game_gives_about_eighty_milliseconds_a_move() {
        let soft = clock(2000, 20, None).soft.unwrap();
        assert!((65..100).contains(&soft.as_millis()), "{soft:?}");
    }

    #[test]
    fn a_long_game_with_a_hundredth_a_move_keeps_a_sixth_of_a_second() {
        let mut left = Duration::from_secs(1);
        let increment = Duration::from_millis(10);
        for _ in 0..300 {
            let plan = TimePlan::new(&Limits::clock(Clock {
                time: left,
                increment,
                moves_to_go: None,
                overhead: Duration::from_millis(10),
            }));
            left = left.checked_sub(plan.soft.unwrap()).unwrap() + increment;
            assert!(left > Duration::from_millis(165), "{left:?}");
        }
    }

    #[test]
    fn movetime_is_a_hard_end_only() {
        let plan = TimePlan::new(&Limits::movetime(Duration::from_millis(70)));
        assert_eq!(
            plan,
            TimePlan {
                soft: None,
                hard: Some(Duration::from_millis(70))
            }
        );
    }

    #[test]
    fn an_unsettled_search_gets_more_time_than_a_settled_one() {
        let unsettled = Progress {
            best_move_share: 0.3,
            stable_for: 0,
            score_drop: 40,
        };
        let settled = Progress {
            best_move_share: 0.95,
            stable_for: 9,
            score_drop: -5,
        };
        assert!(soft_factor(unsettled) > 1.5);
        assert!(soft_factor(settled) < 0.7);
    }

    #[test]
    fn installed_parameters_change_the_plan_and_none_of_them_breaks_it() {
        use crate::engine::{SearchParams, TUNABLES};

        let usual = clock(2000, 20, None);
        let settled = Progress {
            best_move_share: 1.0,
            stable_for: 9,
            score_drop: -500,
        };
        let ours = TUNABLES.iter().filter(|it| it.name.starts_with("time_"));
        for tunable in ours {
            for value in [tunable.least, tunable.most] {
                let mut params = SearchParams::default();
                let set = params.set(tunable.name, &value.to_string());
                assert_eq!(set, Some(Ok(())));
                params.install();
                let plan = clock(2000, 20, None);
                assert!(plan.soft <= plan.hard, "{} {value}", tunable.name);
                assert!(soft_factor(settled) >= 0.0, "{} {value}", tunable.name);
            }
        }
        let mut params = SearchParams::default();
        assert_eq!(params.set("time_moves_ahead", "440"), Some(Ok(())));
        params.install();
        assert!(clock(2000, 20, None).soft < usual.soft);
        SearchParams::default().install();
        assert_eq!(clock(2000, 20, None), usual);
    }
}
