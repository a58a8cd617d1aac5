//! Caps one search and holds time back: by when the engine must have answered, and when the game's
//! own timer takes the best move so far.
//!
//! It does not divide a running clock over the moves of the game: the engine gets the clock and the
//! time held back, and `src/engine/time.rs` divides the rest. Without a running clock, with hardly
//! any time left, or where the config limits the search, it fixes the limits itself.
//!
//! Pure arithmetic on durations; nothing overflows. Except for an instant, a search never gets the
//! time held back for the move's way to the server, so the flag does not fall while thinking. The
//! number of other games does not matter here: cores go to the search with the nearest deadline.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use super::move_overhead::{ClockKind, ClockState, MoveOverhead};
use crate::bot::settings::{BotTiming, Settings};
use crate::config;
use crate::engine::{Clock, Limits};

/// Part of the usable time after which the engine must have answered.
const ENGINE_SHARE: f64 = 0.55;
/// Part of the usable time after which the game's own timer sends the best move so far.
const TIMER_SHARE: f64 = 0.65;
/// The most that a move may take of the usable time, apart from a few increments.
const MAX_PART: u32 = 4;
const MAX_INCREMENTS: u32 = 4;
/// How late a search may be, as a part of its time, before the game's own timer fires.
const LATE_PART: u32 = 4;
/// The part of the clock that a first move may take although the clock stands.
const FIRST_MOVE_PART: u32 = 20;
/// The part of the time limit on a first move that it may take.
const EXPIRATION_PART: u32 = 4;
/// Extra time for the engine before the game's own timer fires.
const GRACE: Duration = Duration::from_millis(40);
/// Below this, increment apart, the clock must last for [`SCRAMBLE_MOVES`] more moves.
const SCRAMBLE: Duration = Duration::from_secs(3);
/// Moves that a scramble may take.
const SCRAMBLE_MOVES: u32 = 20;
/// The part of the clock that a move may take even if no usable time is left: a few thousand
/// positions are worth more than the moment.
const MIN_PART: u32 = 100;
/// The most that such a move takes.
const MIN_THINK: Duration = Duration::from_millis(10);
/// Assumed for a running clock that cannot be read.
const UNREADABLE: Duration = Duration::from_secs(15);
/// Longer clocks count as this.
const MAX_CLOCK: Duration = Duration::from_secs(30 * 86_400);
/// A search without a clock must end within this multiple of its thinking time, should the cores be
/// busy.
const BACKGROUND_STRETCH: u32 = 12;
/// The part of the usable clock that a move at a human pace takes in all.
const LEISURE_PART: u32 = 40;
/// The most that it takes of the usable clock.
const LEISURE_MOST_PART: u32 = 20;
/// The longest delay: opponents dislike a longer wait.
const MAX_LEISURE: Duration = Duration::from_secs(8);
/// Below this the bot plays without delay.
const MIN_FOR_LEISURE: Duration = Duration::from_secs(20);
/// Openings are played faster: this many plies at a third of the pace.
const OPENING_PLIES: usize = 10;

/// The budget of one search.
#[derive(Clone, Debug)]
pub struct SearchBudget {
    /// The limits given to the engine.
    pub limits: Limits,
    /// When the game's own timer takes the best move so far.
    pub fallback: Instant,
}

/// The budget that a kind of clock allows.
struct TimeShare {
    limits: Limits,
    /// Within this time the engine answers.
    engine: Duration,
    /// The delay of the game's own timer.
    timer: Duration,
}

/// The budget of a search that starts at `now`, given the known move overhead.
pub fn search_budget(
    clock: &ClockState,
    overhead: &MoveOverhead,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> SearchBudget {
    let search = &settings.engine;
    let time = match clock.kind {
        ClockKind::Running => on_the_clock(clock, overhead, settings, timing, now),
        ClockKind::Standing => first_move(clock, search, timing, now),
        ClockKind::Unclocked => unclocked(clock, search, settings.correspondence.think, now),
    };
    SearchBudget {
        limits: Limits {
            nodes: search.nodes.map(NonZeroU64::get),
            depth: search
                .depth
                .map(|depth| u32::try_from(depth.get()).unwrap_or(u32::MAX)),
            hard_deadline: Some(now + time.engine),
            ..time.limits
        },
        fallback: now + time.timer,
    }
}

/// The budget of a ponder search once its move is played: our clock stands until then. None if no
/// clock runs.
pub fn ponder(
    clock: &ClockState,
    overhead: &MoveOverhead,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> Option<Limits> {
    let standing = ClockState { at: now, ..*clock };
    let search = &settings.engine;
    if clock.kind != ClockKind::Running || search.limits_search() {
        return None;
    }
    let time = on_the_clock(&standing, overhead, settings, timing, now);
    Some(Limits {
        movetime: Some(time.engine),
        ponder: true,
        ..time.limits
    })
}

fn on_the_clock(
    clock: &ClockState,
    overhead: &MoveOverhead,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> TimeShare {
    let left = clock.left_at(now).unwrap_or(UNREADABLE);
    let left = left.min(MAX_CLOCK);
    let held_back = overhead.held_back(left, &settings.clock);
    let usable = left.saturating_sub(held_back);
    // Little time left and no increment to rely on: each move must leave enough for many more.
    let scramble = (usable / SCRAMBLE_MOVES)
        .saturating_add(clock.increment)
        .saturating_add(left.saturating_sub(SCRAMBLE));
    // Even a search that hangs costs only a part of the clock, and so does the next one.
    let longest =
        (usable / MAX_PART).saturating_add(clock.increment.saturating_mul(MAX_INCREMENTS));
    let least = (left / MIN_PART).min(MIN_THINK);
    let most = scramble.min(longest).min(timing.longest_think);
    let engine = usable.mul_f64(ENGINE_SHARE).min(most).max(least);
    let timer = usable
        .mul_f64(TIMER_SHARE)
        .min(engine + (engine / LATE_PART).max(GRACE))
        .max(least * 2)
        .max(Duration::from_millis(1));
    let mut limits = Limits::default();
    if let Some(movetime) = settings.engine.movetime {
        limits.movetime = Some(movetime.min(engine));
    } else if engine == least && !settings.engine.limits_search() {
        limits.movetime = Some(least);
    } else if !settings.engine.limits_search() {
        limits.clock = Some(Clock {
            time: left,
            increment: clock.increment,
            moves_to_go: None,
            overhead: held_back,
        });
    }
    TimeShare {
        limits,
        engine,
        timer,
    }
}

/// The clock stands, but an opponent waits, and there may be a limit on first moves.
fn first_move(
    clock: &ClockState,
    search: &config::Engine,
    timing: &BotTiming,
    now: Instant,
) -> TimeShare {
    let mut time = timing.first_think;
    if let Some(left) = clock.left {
        time = time.min(left / FIRST_MOVE_PART);
    }
    let mut most = timing.longest_think;
    if let Some(left) = clock.expires_at(now) {
        most = most.min(left / EXPIRATION_PART);
        time = time.min(most);
    }
    fixed(search, time, most)
}

/// Correspondence or no clock: cores that the other games leave idle are good enough.
fn unclocked(
    clock: &ClockState,
    search: &config::Engine,
    think: Duration,
    now: Instant,
) -> TimeShare {
    let left = clock.left_at(now).unwrap_or(MAX_CLOCK) / FIRST_MOVE_PART;
    let time = think.min(left);
    let most = time.saturating_mul(BACKGROUND_STRETCH).min(left);
    let result = fixed(search, time, most);
    TimeShare {
        limits: Limits {
            background: true,
            ..result.limits
        },
        engine: most,
        timer: most + GRACE,
    }
}

/// A fixed thinking time, or a limit of nodes or depth; the latter may take its time here, but not
/// for ever.
fn fixed(search: &config::Engine, time: Duration, most: Duration) -> TimeShare {
    let movetime = search.movetime.unwrap_or(time).min(most);
    let given = (!search.limits_search() || search.movetime.is_some()).then_some(movetime);
    let engine = given.unwrap_or(most) + GRACE / 2;
    TimeShare {
        limits: Limits {
            movetime: given,
            ..Limits::default()
        },
        engine,
        timer: engine + GRACE,
    }
}

/// Until when to hold back a move at a human pace, if there is time: a part of the clock, never
/// twice the same, less in the opening.
pub fn human_pace(
    clock: &ClockState,
    overhead: &MoveOverhead,
    rules: &config::Clock,
    ply: usize,
    now: Instant,
) -> Option<Instant> {
    if clock.kind != ClockKind::Running || clock.left_at(now)? < MIN_FOR_LEISURE {
        return None;
    }
    let usable = clock.usable(overhead, rules, now)?;
    let usual = usable / LEISURE_PART + clock.increment / 2;
    let varied = usual.mul_f64(0.5 + (ply * 37 % 100) as f64 / 100.0);
    let paced = if ply < OPENING_PLIES {
        varied / 3
    } else {
        varied
    };
    let most = (usable / LEISURE_MOST_PART).min(MAX_LEISURE);
    clock.at.checked_add(paced.min(most))
}

#[cfg(test)]
mod tests {
    //! Search budgets: no clock runs out while thinking, scrambles are played at once, and every
    //! clock lasts for a long game. Time is data.

    use super::*;
    use crate::bot::game::move_overhead::clock_tests::{clock_state as clock, ms};

    fn bare(left: u64, at: Instant) -> ClockState {
        ClockState {
            increment: ms(0),
            ..clock(Some(ms(left)), ClockKind::Running, at)
        }
    }

    /// The overhead after many moves of about the same cost.
    fn known(cost: u64) -> MoveOverhead {
        MoveOverhead {
            learned: ms(cost),
            worst: ms(cost + 40),
            moves: 100,
        }
    }

    fn searching(search: config::Engine) -> Settings {
        Settings {
            engine: search,
            ..Settings::default()
        }
    }

    fn allotted(clock: &ClockState, overhead: &MoveOverhead, now: Instant) -> SearchBudget {
        search_budget(
            clock,
            overhead,
            &Settings::default(),
            &BotTiming::default(),
            now,
        )
    }

    #[test]
    fn no_clock_runs_out_while_thinking() {
        let now = Instant::now();
        let rules = config::Clock::default();
        for overhead in [MoveOverhead::default(), known(10), known(90), known(1500)] {
            for left in [
                0,
                1,
                7,
                50,
                300,
                1000,
                2999,
                15_000,
                60_000,
                2_147_483_646,
                u64::MAX,
            ] {
                for increment in [0, 1000, 60_000, u64::MAX] {
                    let running = ClockState {
                        increment: ms(increment),
                        ..bare(left, now)
                    };
                    let allotment = allotted(&running, &overhead, now);
                    let deadline = allotment.limits.hard_deadline.expect("always one");
                    assert!(deadline <= allotment.fallback, "{left}");
                    let spent = allotment.fallback - now;
                    let held_back = overhead.held_back(ms(left), &rules);
                    let least = (ms(left) / 50).clamp(ms(1), ms(20));
                    assert!(
                        spent <= ms(left).saturating_sub(held_back).max(least),
                        "{left} {increment} {overhead:?}: {spent:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_scramble_without_increment_is_played_at_once() {
        let now = Instant::now();
        for overhead in [MoveOverhead::default(), known(30), known(120)] {
            for left in [1000, 700, 400, 100] {
                let allotment = allotted(&bare(left, now), &overhead, now);
                let time = allotment.limits.hard_deadline.expect("always one") - now;
                assert!(time < ms(50), "{left} {overhead:?}: {time:?}");
            }
        }
        // An increment to rely on leaves more to spend.
        let running = clock(Some(ms(2000)), ClockKind::Running, now);
        let time = allotted(&running, &known(30), now).limits.hard_deadline;
        assert!(time.expect("always one") - now > ms(500));
    }

    /// Plays until the flag falls, at this cost per move, and returns the number of moves.
    fn moves_before_the_flag(
        start: u64,
        increment: u64,
        cost: u64,
        overhead: &MoveOverhead,
    ) -> usize {
        let now = Instant::now();
        let mut left = ms(start);
        for moves in 0..1000 {
            let running = ClockState {
                increment: ms(increment),
                ..bare(left.as_millis() as u64, now)
            };
            // Every search uses its whole budget.
            let spent = allotted(&running, overhead, now).fallback - now;
            match left.checked_sub(spent + ms(cost)) {
                Some(rest) if !rest.is_zero() => left = rest + ms(increment),
                _ => return moves,
            }
        }
        1000
    }

    #[test]
    fn a_game_with_an_increment_above_the_overhead_never_ends_by_the_flag() {
        for (start, increment) in [(15_000, 1000), (3_000, 1000), (60_000, 1000), (3_000, 2000)] {
            for cost in [5, 100, 400] {
                let moves = moves_before_the_flag(start, increment, cost, &known(cost));
                assert_eq!(moves, 1000, "{start}+{increment} at {cost} ms a move");
            }
        }
    }

    #[test]
    fn without_an_increment_even_searches_that_all_overrun_leave_a_game_of_moves() {
        for (start, cost) in [(15_000, 10), (30_000, 20), (60_000, 30)] {
            let moves = moves_before_the_flag(start, 0, cost, &known(cost));
            assert!(moves >= 35, "{start} at {cost} ms a move: {moves} moves");
        }
    }

    #[test]
    fn the_clock_goes_to_the_engine_unless_a_test_sets_limits() {
        let now = Instant::now();
        let running = clock(Some(ms(60_000)), ClockKind::Running, now);
        let clock = allotted(&running, &known(50), now).limits.clock;
        let clock = clock.expect("the clock decides");
        assert_eq!((clock.time, clock.increment), (ms(60_000), ms(2000)));
        let limited = |search| {
            let settings = searching(search);
            search_budget(&running, &known(50), &settings, &BotTiming::default(), now).limits
        };
        let limits = limited(config::Engine {
            nodes: NonZeroU64::new(1),
            ..config::Engine::default()
        });
        assert!(limits.clock.is_none() && limits.nodes == Some(1));
        let limits = limited(config::Engine {
            movetime: Some(ms(90_000)),
            ..config::Engine::default()
        });
        let movetime = limits.movetime.expect("set");
        assert!(movetime < ms(60_000), "not beyond the clock");
    }

    #[test]
    fn a_first_move_is_searched_briefly_whatever_the_clock() {
        let now = Instant::now();
        let first_think = BotTiming::default().first_think;
        for (left, time) in [(180_000, first_think), (3000, ms(150)), (10_000, ms(500))] {
            let standing = clock(Some(ms(left)), ClockKind::Standing, now);
            let limits = allotted(&standing, &MoveOverhead::default(), now).limits;
            assert_eq!((limits.movetime, limits.clock), (Some(time), None));
            assert!(!limits.background);
        }
    }

    #[test]
    fn a_first_move_beats_its_expiration_even_after_a_restart() {
        let at = Instant::now();
        let limited = ClockState {
            expires_in: Some(ms(12_000)),
            ..clock(Some(ms(180_000)), ClockKind::Standing, at)
        };
        for age in [0, 6_000, 11_500, 12_000, 99_000] {
            let now = at + ms(age);
            let spent = allotted(&limited, &MoveOverhead::default(), now).fallback - now;
            assert!(
                spent <= ms(12_000_u64.saturating_sub(age)) / 4 + 2 * GRACE,
                "{age}"
            );
        }
        assert!(limited.can_wait(ms(5_000), &BotTiming::default(), at));
        assert!(!limited.can_wait(ms(5_000), &BotTiming::default(), at + ms(3_000)));
    }

    #[test]
    fn without_a_clock_a_fixed_time_is_searched_in_the_background() {
        let now = Instant::now();
        let think = config::Correspondence::default().think;
        for left in [None, Some(ms(172_800_000)), Some(Duration::MAX)] {
            let unclocked = clock(left, ClockKind::Unclocked, now);
            let limits = allotted(&unclocked, &MoveOverhead::default(), now).limits;
            assert_eq!((limits.movetime, limits.clock), (Some(think), None));
            assert!(limits.background);
            assert!(limits.hard_deadline.expect("always one") > now + think);
        }
        // Few of the days are left.
        let late = clock(Some(ms(40_000)), ClockKind::Unclocked, now);
        let allotment = allotted(&late, &MoveOverhead::default(), now);
        assert!(allotment.fallback - now < ms(3000));
    }

    #[test]
    fn pondering_budgets_from_our_standing_clock() {
        let at = Instant::now();
        let running = clock(Some(ms(60_000)), ClockKind::Running, at);
        let (settings, timing) = (Settings::default(), BotTiming::default());
        // However long the opponent thinks.
        let limits = ponder(&running, &known(50), &settings, &timing, at + ms(50_000));
        let limits = limits.expect("a clock runs");
        assert!(limits.ponder && limits.hard_deadline.is_none());
        assert_eq!(limits.clock.map(|clock| clock.time), Some(ms(60_000)));
        assert!(limits.movetime.is_some_and(|time| time < ms(40_000)));
        let unclocked = clock(None, ClockKind::Unclocked, at);
        assert!(ponder(&unclocked, &known(50), &settings, &timing, at).is_none());
    }

    #[test]
    fn a_human_pace_takes_only_a_small_part_of_a_healthy_clock() {
        let now = Instant::now();
        let rules = config::Clock::default();
        let waits = |left, ply| {
            let until = human_pace(&bare(left, now), &known(50), &rules, ply, now);
            until.map(|until| until - now)
        };
        for left in [0, 1000, 19_999] {
            assert_eq!(waits(left, 40), None);
        }
        for left in [20_000, 60_000, 600_000, u64::MAX] {
            for ply in 2..80 {
                let wait = waits(left, ply).expect("time enough");
                assert!(wait <= ms(left / 20).min(MAX_LEISURE), "{left} {ply}");
            }
        }
        assert!(waits(180_000, 4) < waits(180_000, 14));
        let standing = clock(Some(ms(60_000)), ClockKind::Standing, now);
        assert_eq!(human_pace(&standing, &known(50), &rules, 0, now), None);
    }
}
