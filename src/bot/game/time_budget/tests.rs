//! Search budgets: no clock runs out while thinking, scrambles are played at once, and every clock
//! lasts for a long game. Time is data.

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn clock(left: Option<Duration>, kind: ClockKind, at: Instant) -> ClockState {
    ClockState {
        left,
        increment: ms(2000),
        at,
        kind,
        expires_in: None,
    }
}

fn bare(left: u64, at: Instant) -> ClockState {
    ClockState {
        increment: ms(0),
        ..clock(Some(ms(left)), ClockKind::Running, at)
    }
}

/// The latency after many moves of about the same cost.
fn known(cost: u64) -> Latency {
    Latency {
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

fn allotted(clock: &ClockState, latency: &Latency, now: Instant) -> SearchBudget {
    search_budget(
        clock,
        latency,
        &Settings::default(),
        &BotTiming::default(),
        now,
    )
}

#[test]
fn no_clock_runs_out_while_thinking() {
    let now = Instant::now();
    let rules = config::Clock::default();
    for latency in [Latency::default(), known(10), known(90), known(1500)] {
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
                let allotment = allotted(&running, &latency, now);
                let deadline = allotment.limits.hard_deadline.expect("always one");
                assert!(deadline <= allotment.fallback, "{left}");
                let spent = allotment.fallback - now;
                let held_back = latency.held_back(ms(left), &rules);
                let least = (ms(left) / 50).clamp(ms(1), ms(20));
                assert!(
                    spent <= ms(left).saturating_sub(held_back).max(least),
                    "{left} {increment} {latency:?}: {spent:?}"
                );
            }
        }
    }
}

#[test]
fn a_scramble_without_increment_is_played_at_once() {
    let now = Instant::now();
    for latency in [Latency::default(), known(30), known(120)] {
        for left in [1000, 700, 400, 100] {
            let allotment = allotted(&bare(left, now), &latency, now);
            let time = allotment.limits.hard_deadline.expect("always one") - now;
            assert!(time < ms(50), "{left} {latency:?}: {time:?}");
        }
    }
    // An increment to rely on leaves more to spend.
    let running = clock(Some(ms(2000)), ClockKind::Running, now);
    let time = allotted(&running, &known(30), now).limits.hard_deadline;
    assert!(time.expect("always one") - now > ms(500));
}

/// Plays until the flag falls, at this cost per move, and returns the number of moves.
fn moves_before_the_flag(start: u64, increment: u64, cost: u64, latency: &Latency) -> usize {
    let now = Instant::now();
    let mut left = ms(start);
    for moves in 0..1000 {
        let running = ClockState {
            increment: ms(increment),
            ..bare(left.as_millis() as u64, now)
        };
        // Every search uses its whole budget.
        let spent = allotted(&running, latency, now).fallback - now;
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
        let limits = allotted(&standing, &Latency::default(), now).limits;
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
        let spent = allotted(&limited, &Latency::default(), now).fallback - now;
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
        let limits = allotted(&unclocked, &Latency::default(), now).limits;
        assert_eq!((limits.movetime, limits.clock), (Some(think), None));
        assert!(limits.background);
        assert!(limits.hard_deadline.expect("always one") > now + think);
    }
    // Few of the days are left.
    let late = clock(Some(ms(40_000)), ClockKind::Unclocked, now);
    let allotment = allotted(&late, &Latency::default(), now);
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
