//! The rules of reopening, with time and chance as data.

use super::super::endpoint_class::EndpointClass;
use super::super::error::Error;
use super::super::error_body::ErrorBody;
use super::super::scheduler::{Decision, Scheduler};
use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn unopened(reached: bool, status: Option<u16>) -> Disconnect {
    Disconnect::Unopened(Error::Transient {
        reached,
        status,
        reason: "away".into(),
    })
}

#[test]
fn openings_of_an_earlier_run_count() {
    let timing = Timing::default();
    let now = Instant::now();
    let mut first = EventBackoff::new(&timing);
    for _ in 0..timing.openings {
        first.opening(now);
    }
    let passed = Duration::from_secs(100);
    let later = now + passed;
    let mut second = EventBackoff::new(&timing);
    second.restore(first.ages(later), later);
    assert!(!second.has_room(later));
    assert_eq!(
        second.first_wait(later),
        timing.opening_window.saturating_sub(passed)
    );
    assert_eq!(EventBackoff::new(&timing).first_wait(now), Duration::ZERO);
}

#[test]
fn a_game_stream_reopens_at_once_after_a_long_life_and_slower_after_each_short_one() {
    let mut reopening = GameBackoff::new(&Timing::default());
    let table = [(60, 0), (59, 500), (0, 1000), (3, 1000), (0, 1000)];
    let mut wait = |lived| reopening.after_loss(&Disconnect::Ended, secs(lived));
    for (row, (lived, expected)) in table.into_iter().enumerate() {
        assert_eq!(wait(lived), ms(expected), "row {row}");
    }
    // Half a minute of an outage is followed second by second.
    for _ in 3..30 {
        assert_eq!(wait(0), secs(1));
    }
    for (lived, expected) in [(0, 2000), (0, 2000), (61, 0), (0, 500)] {
        assert_eq!(wait(lived), ms(expected));
    }
    assert_eq!(reopening.after_life(secs(59)), secs(1));
    assert_eq!(reopening.after_life(secs(60)), secs(0));
}

#[test]
fn an_unanswered_opening_is_repeated_soon_with_a_longer_timeout() {
    let mut reopening = GameBackoff::new(&Timing::default());
    assert_eq!(reopening.patience(), secs(4));
    let silent = Disconnect::Silent(secs(4));
    let ended = Disconnect::Ended;
    let table = [
        (&silent, 0, 4),
        (&silent, 0, 10),
        (&silent, 0, 10),
        // It opened, whatever came of that.
        (&silent, 12, 4),
        (&silent, 0, 4),
        (&silent, 0, 10),
        (&ended, 0, 4),
    ];
    for (row, (disconnect, lived, expected)) in table.into_iter().enumerate() {
        reopening.after_loss(disconnect, secs(lived));
        assert_eq!(reopening.patience(), secs(expected), "row {row}");
    }
}

#[test]
fn a_stream_that_fell_silent_is_reopened_at_once_twice_in_a_row() {
    let silent = Disconnect::Silent(secs(10));
    let table = [
        (&silent, 25, [0, 0]),
        (&silent, 12, [0, 0]),
        (&silent, 12, [500, 1000]),
        // An opening without a response has waited too, but the server may be away.
        (&silent, 0, [1000, 1000]),
        (&silent, 12, [1000, 2250]),
        // Another end, or a long life, and silence counts from one again.
        (&Disconnect::Ended, 12, [1000, 3375]),
        (&silent, 12, [0, 0]),
        (&silent, 60, [0, 0]),
        (&silent, 12, [0, 0]),
        (&silent, 12, [0, 0]),
        (&silent, 12, [500, 1000]),
    ];
    let timing = Timing::default();
    let mut game = GameBackoff::new(&timing);
    let mut events = EventBackoff::new(&timing);
    let now = Instant::now();
    for (row, (disconnect, lived, expected)) in table.into_iter().enumerate() {
        let waits = [
            game.after_loss(disconnect, secs(lived)),
            events.after_loss(disconnect, secs(lived), now, 1.0),
        ];
        assert_eq!(waits, expected.map(ms), "row {row}");
    }
    // The budget of openings stands above it.
    let mut spent = EventBackoff::new(&timing);
    for _ in 0..timing.openings {
        spent.opening(now);
    }
    let wait = spent.after_loss(&silent, secs(12), now, 1.0);
    assert_eq!(wait, timing.opening_window);
}

#[test]
fn a_failing_server_is_polled_often_for_ten_seconds_and_then_ever_less() {
    let silent = Disconnect::Silent(secs(15));
    for disconnect in [unopened(true, Some(502)), unopened(true, None), silent] {
        let mut reopening = EventBackoff::new(&Timing::default());
        let now = Instant::now();
        let mut wait = || reopening.after_loss(&disconnect, secs(0), now, 1.0);
        let full: Vec<_> = (0..19).map(|_| wait().as_millis()).collect();
        assert_eq!(full[..13], [1000; 13], "{disconnect:?}");
        let mut reopening = EventBackoff::new(&Timing::default());
        let mut wait = || reopening.after_loss(&disconnect, secs(0), now, 0.0);
        let least: Duration = (0..13).map(|_| wait()).sum();
        assert_eq!(least, ms(500 + 12 * 800), "{disconnect:?}");
        let later = [2250, 5062, 11390, 25628, 57665, 60000];
        assert_eq!(full[13..], later, "{disconnect:?}");
    }
}

#[test]
fn a_reachable_server_that_is_out_of_order_is_probed() {
    for (disconnect, lived, expected) in [
        (unopened(true, Some(502)), 0, true),
        (unopened(true, None), 0, true),
        (Disconnect::Silent(secs(15)), 0, true),
        (Disconnect::Silent(secs(15)), 20, false),
        (unopened(false, None), 0, false),
        (Disconnect::Ended, 0, false),
    ] {
        let helps = ProbeSchedule::helps(&disconnect, secs(lived));
        assert_eq!(helps, expected, "{disconnect:?} after {lived} s");
    }
}

#[test]
fn a_long_outage_spends_few_openings_and_leaves_room_for_the_one_that_counts() {
    let mut reopening = EventBackoff::new(&Timing::default());
    let reset = unopened(true, None);
    let start = Instant::now();
    let mut now = start;
    for opening in 1..=80 {
        reopening.opening(now);
        let wait = reopening.after_loss(&reset, secs(0), now, 0.5);
        // It may have reached the server, so it counts.
        assert!(reopening.openings(now) >= opening.min(13), "{opening}");
        assert!(reopening.has_room(now), "{opening}");
        now += reopening.while_probing(wait, 0.5);
    }
    assert!(now - start >= secs(3600));
    assert_eq!(reopening.while_probing(secs(1), 0.0), secs(30));
    assert_eq!(reopening.while_probing(secs(300), 1.0), secs(300));
}

#[test]
fn the_event_stream_backs_off_from_one_second_to_sixty() {
    let mut reopening = EventBackoff::new(&Timing::default());
    let now = Instant::now();
    let mut wait = |lived, chance| {
        let wait = reopening.after_loss(&Disconnect::Ended, secs(lived), now, chance);
        wait.as_millis()
    };
    let full: Vec<_> = (0..13).map(|_| wait(0, 1.0)).collect();
    assert_eq!(full[..6], [1000, 1500, 2250, 3375, 5062, 7593]);
    assert_eq!(full[11..], [60000, 60000]);
    assert_eq!(wait(0, 0.0), 30000);
    assert_eq!(wait(60, 0.3), 0);
    assert_eq!(wait(59, 0.0), 500);
}

#[test]
fn never_more_than_the_budget_of_openings_in_any_window() {
    let timing = Timing::default();
    let mut reopening = EventBackoff::new(&timing);
    let mut now = Instant::now();
    let mut openings: Vec<Instant> = Vec::new();
    for _ in 0..200 {
        reopening.opening(now);
        openings.push(now);
        // Streams that live just long enough to be reopened at once: the worst case.
        let lived = if openings.len().is_multiple_of(2) {
            secs(60)
        } else {
            secs(0)
        };
        now += if lived.is_zero() { secs(0) } else { ms(1) };
        now += reopening.after_loss(&Disconnect::Ended, lived, now, 0.0);
    }
    for (index, &opening) in openings.iter().enumerate() {
        let within = openings[index..]
            .iter()
            .take_while(|&&other| other < opening + timing.opening_window)
            .count();
        assert!(within <= timing.openings, "{within} openings in a window");
    }
}

#[test]
fn an_unreachable_server_is_retried_soon_and_for_ever() {
    let timing = Timing::default();
    let mut reopening = EventBackoff::new(&timing);
    let unreached = unopened(false, None);
    let start = Instant::now();
    for (away, wait) in [
        (0, 1000),
        (30, 1000),
        (119, 1000),
        (128, 1000),
        (140, 2500),
        (160, 5000),
        (3600, 10_000),
    ] {
        let now = start + secs(away);
        for _ in 0..2 * timing.openings {
            reopening.opening(now);
            let full = reopening.after_loss(&unreached, secs(0), now, 1.0);
            assert_eq!(full, ms(wait), "after {away} s");
            let half = reopening.clone().after_loss(&unreached, secs(0), now, 0.0);
            assert_eq!(half, ms(wait / 2), "after {away} s");
        }
    }
    let now = start + secs(3600);
    assert_eq!(reopening.openings(now), 0);
    // Once it answers, everything counts again, from the first wait on.
    reopening.opening(now);
    let wait = reopening.after_loss(&Disconnect::Ended, secs(0), now, 1.0);
    assert_eq!((wait, reopening.openings(now)), (secs(1), 1));
}

#[test]
fn a_server_out_of_order_is_probed_every_one_to_ten_seconds() {
    let since = Instant::now();
    let schedule = ProbeSchedule::new(&Timing::default(), since);
    for (after, least, wait) in [
        (0, 500, 1000),
        (1, 1000, 1000),
        (60, 1000, 1000),
        (119, 1000, 1000),
        (136, 1000, 1000),
        (144, 1000, 1500),
        (200, 2500, 5000),
        (3600, 5000, 10_000),
    ] {
        let now = since + secs(after);
        assert_eq!(schedule.wait(now, 1.0), ms(wait), "after {after} s");
        assert_eq!(schedule.wait(now, 0.0), ms(least), "after {after} s");
    }
}

#[test]
fn no_probe_is_delayed_by_the_rate_limiter() {
    let timing = Timing::default();
    for chance in [0.0, 0.5, 1.0] {
        let since = Instant::now();
        let schedule = ProbeSchedule::new(&timing, since);
        let mut scheduler = Scheduler::new(&timing);
        let mut now = since;
        while now < since + secs(600) {
            now += schedule.wait(now, chance);
            let turn = scheduler.ask(EndpointClass::Warm, 1, now);
            assert_eq!(turn, Decision::Go, "after {:?}", now - since);
        }
    }
}

#[test]
fn an_opening_is_due_only_where_the_budget_has_room() {
    let timing = Timing::default();
    let mut reopening = EventBackoff::new(&timing);
    let now = Instant::now();
    for _ in 1..timing.openings {
        reopening.opening(now);
    }
    assert!(reopening.has_room(now));
    reopening.opening(now);
    assert!(!reopening.has_room(now));
    assert!(reopening.has_room(now + timing.opening_window));
}

#[test]
fn the_wait_of_a_429_is_honoured_and_a_401_is_not_hammered() {
    let mut reopening = EventBackoff::new(&Timing::default());
    let limited = Disconnect::Unopened(Error::RateLimited {
        wait: Some(secs(300)),
        body: Box::default(),
    });
    let unauthorized = Disconnect::Unopened(Error::Refused {
        status: 401,
        body: Box::<ErrorBody>::default(),
    });
    let now = Instant::now();
    assert_eq!(reopening.after_loss(&limited, secs(0), now, 0.5), secs(300));
    assert_eq!(
        reopening.after_loss(&unauthorized, secs(0), now, 0.5),
        secs(60)
    );
}
