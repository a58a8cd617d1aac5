//! How games end, and everything in them except moves: offers, claims, games that never begin,
//! unsupported games.

use megaton::bot::game::{Anomaly, CallOutcome, GameEffect, GameInput, GameRequest};
use megaton::lichess::{Expiration, Side, Speed, Status, Variant};

use crate::harness::{
    Harness, active_search, asks, ending, full, ms, notes, posts, refused, reopens, state, stops,
};

const LINE: &str = "g1f3 f7f6";
/// Milliseconds before a lost abort is repeated.
const LOST_PAUSES: [u64; 8] = [
    5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000, 60_000,
];

fn limited() -> CallOutcome {
    CallOutcome::Limited {
        wait: Some(ms(60_000)),
    }
}

#[test]
fn the_last_move_and_the_end_come_in_one_line() {
    let (mut harness, actions) = Harness::at(Side::White, LINE);
    assert!(active_search(&actions).is_some());
    let mut over = state("g1f3 f7f6 e2e3");
    over.status = Status::Resign;
    over.winner = Some(Side::White);
    let actions = harness.state_with(over);
    assert!(stops(&actions));
    let ending = ending(&actions).unwrap();
    assert_eq!(
        (ending.result(), ending.plies, ending.status),
        ("1-0", 3, Some(Status::Resign))
    );
    assert!(harness.machine.is_over());
}

#[test]
fn nothing_is_done_after_the_end() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let mut over = state(LINE);
    over.status = Status::Aborted;
    assert_eq!(ending(&harness.state_with(over)).unwrap().result(), "*");
    assert!(
        harness
            .answer(post.request_id, CallOutcome::Lost)
            .is_empty()
    );
    assert!(harness.state("").is_empty());
    assert!(harness.open("").is_empty());
    assert_eq!(harness.machine.next_timeout(), None);
}

#[test]
fn a_game_that_is_over_when_it_is_opened_ends_at_once() {
    let mut harness = Harness::new(Side::White);
    let mut over = state(LINE);
    over.status = Status::OutOfTime;
    let actions = harness.open_with(full(Side::White, over), harness.now);
    assert_eq!(ending(&actions).unwrap().result(), "1/2-1/2");
    assert!(active_search(&actions).is_none());
}

#[test]
fn an_unknown_status_is_an_end() {
    let (mut harness, _) = Harness::at(Side::White, LINE);
    let mut over = state(LINE);
    over.status = Status::Unknown;
    assert!(ending(&harness.state_with(over)).is_some());
}

#[test]
fn a_game_reported_over_is_checked() {
    let (mut harness, _) = Harness::at(Side::Black, LINE);
    harness.apply(GameInput::GameFinish);
    assert!(reopens(&harness.wait(ms(1500))));
}

#[test]
fn a_game_that_does_not_open_is_given_up_after_some_refusals() {
    let (mut harness, _) = Harness::at(Side::Black, LINE);
    for _ in 0..3 {
        assert!(ending(&harness.apply(GameInput::NoStream)).is_none());
    }
    let actions = harness.apply(GameInput::NoStream);
    assert_eq!(ending(&actions).unwrap().status, None);
    assert_eq!(notes(&actions), [Anomaly::Vanished]);
}

#[test]
fn an_opponent_who_never_moves_is_aborted() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert_eq!(asks(&harness.wait(ms(59_900))), []);
    assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Abort]);
    // After our own move it is Black's first move that the bot waits for.
    let (mut harness, _) = Harness::at(Side::White, "g1f3");
    assert_eq!(asks(&harness.wait(ms(60_100))), [GameRequest::Abort]);
}

#[test]
fn a_first_move_missed_while_the_stream_opened_is_looked_for_and_nobody_aborted() {
    for patience in [60_000, 30_000] {
        let mut harness = Harness::new(Side::Black);
        let mut game = full(Side::Black, state(""));
        if patience == 30_000 {
            game.white.title = Some("BOT".into());
        }
        harness.open_with(game.clone(), harness.now);
        // Soon after the opening, and often enough that the last look is shortly before the abort.
        assert!(reopens(&harness.wait(ms(5000))));
        harness.open_with(game.clone(), harness.now);
        let mut waited = 5000;
        let mut looked = waited;
        loop {
            let actions = harness.wait(ms(500));
            waited += 500;
            if asks(&actions) == [GameRequest::Abort] {
                break;
            }
            if reopens(&actions) {
                looked = waited;
                harness.open_with(game.clone(), harness.now);
            }
            assert!(waited <= patience, "{waited}");
        }
        assert!(waited - looked <= 10_000, "{looked} {waited}");
    }
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert!(reopens(&harness.wait(ms(5000))));
    let actions = harness.open("g1f3");
    assert!(active_search(&actions).is_some());
}

#[test]
fn a_first_move_missed_in_an_arena_is_looked_for_before_its_time_is_up() {
    let mut harness = Harness::new(Side::Black);
    let mut first = state("");
    first.expiration = Some(Expiration {
        idle: ms(0),
        to_move: ms(20_000),
    });
    let mut game = full(Side::Black, first);
    game.tournament = Some("abcd1234".into());
    harness.open_with(game, harness.now);
    assert!(reopens(&harness.wait(ms(10_000))));
}

#[test]
fn a_bot_gets_less_patience_than_a_human() {
    let mut harness = Harness::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.white.title = Some("BOT".into());
    harness.open_with(game, harness.now);
    assert_eq!(asks(&harness.wait(ms(30_100))), [GameRequest::Abort]);
}

#[test]
fn a_reopening_does_not_restart_the_wait_and_a_move_ends_it() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    harness.wait(ms(50_000));
    harness.open("");
    assert_eq!(asks(&harness.wait(ms(11_000))), [GameRequest::Abort]);
    let (mut harness, _) = Harness::at(Side::Black, "");
    harness.state("g1f3");
    assert!(!asks(&harness.wait(ms(100_000))).contains(&GameRequest::Abort));
}

#[test]
fn a_refused_abort_is_not_requested_again() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    harness.wait(ms(60_100));
    let actions = harness.apply(GameInput::RequestDone {
        request: GameRequest::Abort,
        answer: refused("This game can no longer be aborted"),
    });
    assert!(reopens(&actions));
    assert_eq!(asks(&harness.wait(ms(60_000))), []);
}

#[test]
fn a_rate_limited_abort_waits_as_advised() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert_eq!(asks(&harness.wait(ms(60_100))), [GameRequest::Abort]);
    for _ in 0..6 {
        harness.asked(GameRequest::Abort, limited());
        assert_eq!(asks(&harness.wait(ms(59_900))), []);
        assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Abort]);
    }
}

#[test]
fn lost_aborts_are_repeated_ever_more_rarely_and_never_given_up() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert_eq!(asks(&harness.wait(ms(60_100))), [GameRequest::Abort]);
    for pause in LOST_PAUSES {
        harness.asked(GameRequest::Abort, CallOutcome::Lost);
        harness.open("");
        assert_eq!(asks(&harness.wait(ms(pause - 100))), []);
        assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Abort]);
    }
}

#[test]
fn arenas_watch_the_first_move_themselves() {
    let mut harness = Harness::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.tournament = Some("abcd1234".into());
    harness.open_with(game, harness.now);
    assert_eq!(asks(&harness.wait(ms(120_000))), []);
}

#[test]
fn games_without_a_clock_have_time_for_a_first_move() {
    let mut harness = Harness::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.clock = None;
    game.speed = Speed::Correspondence;
    harness.open_with(game, harness.now);
    assert_eq!(asks(&harness.wait(ms(3_600_000))), []);
}

#[test]
fn an_unsupported_game_is_aborted_or_resigned() {
    let strange = [
        (Variant::Standard, "startpos"),
        (Variant::Crazyhouse, "startpos"),
        (Variant::Atomic, "8/8/8/8/8/8/8/8 w - - 0 1"),
    ];
    for (variant, fen) in strange {
        let mut harness = Harness::new(Side::White);
        let mut game = full(Side::White, state("e2e4 e7e5"));
        game.variant = variant;
        game.initial_fen = Some(fen.into());
        let actions = harness.open_with(game, harness.now);
        assert_eq!(asks(&actions), [GameRequest::Abort]);
        assert!(active_search(&actions).is_none() && posts(&actions) == 0);
        let actions = harness.apply(GameInput::RequestDone {
            request: GameRequest::Abort,
            answer: refused("This game can no longer be aborted"),
        });
        assert_eq!(asks(&actions), [GameRequest::Resign]);
        assert_eq!(asks(&harness.wait(ms(5100))), [GameRequest::Resign]);
        let mut over = state("e2e4 e7e5 b8b8");
        over.status = Status::Resign;
        assert!(ending(&harness.state_with(over)).is_some());
    }
}

#[test]
fn an_outage_or_a_rate_limit_makes_no_unsupported_game_stalled() {
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state(""));
    game.variant = Variant::Standard;
    let mut actions = harness.open_with(game, harness.now);
    for pause in LOST_PAUSES {
        assert_eq!(asks(&actions), [GameRequest::Abort]);
        harness.asked(GameRequest::Abort, CallOutcome::Lost);
        assert_eq!(asks(&harness.wait(ms(pause - 100))), []);
        actions = harness.wait(ms(200));
        assert!(!notes(&actions).contains(&Anomaly::Stalled));
    }
    harness.asked(GameRequest::Abort, limited());
    assert_eq!(asks(&harness.wait(ms(59_900))), []);
    assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Abort]);
    harness.asked(
        GameRequest::Abort,
        refused("This game can no longer be aborted"),
    );
    harness.asked(GameRequest::Resign, limited());
    assert_eq!(asks(&harness.wait(ms(59_900))), []);
    assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Resign]);
}

#[test]
fn a_missing_variant_is_the_announced_one() {
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state(""));
    game.variant = Variant::Unknown;
    let actions = harness.open_with(game, harness.now);
    assert!(active_search(&actions).is_some());
}

#[test]
fn the_stream_is_checked_when_the_opponents_flag_must_have_fallen() {
    let mut harness = Harness::new(Side::White);
    let mut scramble = state("g1f3 f7f6 e2e3");
    scramble.time.black = Some(ms(8000));
    harness.open_with(full(Side::White, scramble), harness.now);
    assert!(!reopens(&harness.wait(ms(8000))));
    assert!(reopens(&harness.wait(ms(6000))));
}

#[test]
fn on_a_short_clock_a_lost_line_is_noticed_before_our_flag_falls() {
    let mut scramble = state("g1f3 f7f6 e2e3");
    (scramble.time.white, scramble.time.black) = (Some(ms(15_000)), Some(ms(15_000)));
    let mut harness = Harness::new(Side::White);
    harness.open_with(full(Side::White, scramble.clone()), harness.now);
    assert!(!reopens(&harness.wait(ms(4900))));
    assert!(reopens(&harness.wait(ms(200))));
    // However short it is, not again and again.
    (scramble.time.white, scramble.time.black) = (Some(ms(3000)), Some(ms(60_000)));
    let mut harness = Harness::new(Side::White);
    harness.open_with(full(Side::White, scramble), harness.now);
    assert!(!reopens(&harness.wait(ms(2400))));
    assert!(reopens(&harness.wait(ms(200))));
}

#[test]
fn a_lost_line_costs_a_third_of_the_clock_at_most() {
    let (mut harness, _) = Harness::at(Side::White, "g1f3 f7f6 e2e3");
    assert!(!reopens(&harness.wait(ms(59_000))));
    assert!(reopens(&harness.wait(ms(2000))));
    // The opening shows that it was our turn all along.
    let mut shown = state("g1f3 f7f6 e2e3 e7e6");
    shown.time.white = Some(ms(119_000));
    let actions = harness.open_with(full(Side::White, shown), harness.now);
    assert!(active_search(&actions).is_some());
}

#[test]
fn the_time_allowed_for_a_first_move_is_kept() {
    let mut harness = Harness::new(Side::White);
    let mut first = state("");
    first.expiration = Some(Expiration {
        idle: ms(19_000),
        to_move: ms(21_000),
    });
    let actions = harness.open_with(full(Side::White, first), harness.now);
    let limits = active_search(&actions).unwrap().limits;
    assert!(limits.movetime.unwrap() <= ms(500));
    assert!(harness.machine.next_timeout().unwrap() - harness.now < ms(1000));
}

#[test]
fn joining_a_game_is_reported_once() {
    let (_, actions) = Harness::at(Side::White, LINE);
    let told = actions
        .iter()
        .filter(|a| matches!(a, GameEffect::Notify(_)));
    assert_eq!(told.count(), 1);
}
