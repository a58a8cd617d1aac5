//! How games end, and everything on them that is no move: offers, claims, games that never begin,
//! games of another kind.

use megaton::bot::game::{Anomaly, CallOutcome, GameEffect, GameInput, GameRequest};
use megaton::lichess::{Expiration, Side, Speed, Status, Variant};

use crate::desk::{
    Desk, asks, ending, full, ms, notes, posts, refused, reopens, state, stops, thinking,
};

const LINE: &str = "g1f3 f7f6";

#[test]
fn the_last_move_and_the_end_come_in_one_line() {
    let (mut desk, actions) = Desk::at(Side::White, LINE);
    assert!(thinking(&actions).is_some());
    let mut over = state("g1f3 f7f6 e2e3");
    over.status = Status::Resign;
    over.winner = Some(Side::White);
    let actions = desk.state_with(over);
    assert!(stops(&actions));
    let ending = ending(&actions).unwrap();
    assert_eq!(
        (ending.result(), ending.plies, ending.status),
        ("1-0", 3, Some(Status::Resign))
    );
    assert!(desk.machine.is_over());
}

#[test]
fn nothing_is_done_after_the_end() {
    let (mut desk, post) = Desk::posted(Side::White, LINE, "e2e3");
    let mut over = state(LINE);
    over.status = Status::Aborted;
    assert_eq!(ending(&desk.state_with(over)).unwrap().result(), "*");
    assert!(desk.answer(post.request_id, CallOutcome::Lost).is_empty());
    assert!(desk.state("").is_empty());
    assert!(desk.open("").is_empty());
    assert_eq!(desk.machine.next_timeout(), None);
}

#[test]
fn a_game_that_is_over_when_it_is_opened_ends_at_once() {
    let mut desk = Desk::new(Side::White);
    let mut over = state(LINE);
    over.status = Status::OutOfTime;
    let actions = desk.open_with(full(Side::White, over), desk.now);
    assert_eq!(ending(&actions).unwrap().result(), "1/2-1/2");
    assert!(thinking(&actions).is_none());
}

#[test]
fn an_unknown_status_is_an_end() {
    let (mut desk, _) = Desk::at(Side::White, LINE);
    let mut over = state(LINE);
    over.status = Status::Unknown;
    assert!(ending(&desk.state_with(over)).is_some());
}

#[test]
fn a_game_said_to_be_over_is_looked_at() {
    let (mut desk, _) = Desk::at(Side::Black, LINE);
    desk.apply(GameInput::GameFinish);
    assert!(reopens(&desk.wait(ms(1500))));
}

#[test]
fn a_game_that_does_not_open_is_given_up_after_some_refusals() {
    let (mut desk, _) = Desk::at(Side::Black, LINE);
    for _ in 0..3 {
        assert!(ending(&desk.apply(GameInput::NoStream)).is_none());
    }
    let actions = desk.apply(GameInput::NoStream);
    assert_eq!(ending(&actions).unwrap().status, None);
    assert_eq!(notes(&actions), [Anomaly::Vanished]);
}

#[test]
fn an_opponent_who_never_moves_is_aborted() {
    let (mut desk, _) = Desk::at(Side::Black, "");
    assert_eq!(asks(&desk.wait(ms(59_900))), []);
    assert_eq!(asks(&desk.wait(ms(200))), [GameRequest::Abort]);
    // Once our own move is made it is Black's first move that is waited for.
    let (mut desk, _) = Desk::at(Side::White, "g1f3");
    assert_eq!(asks(&desk.wait(ms(60_100))), [GameRequest::Abort]);
}

#[test]
fn a_bot_gets_less_patience_than_a_human() {
    let mut desk = Desk::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.white.title = Some("BOT".into());
    desk.open_with(game, desk.now);
    assert_eq!(asks(&desk.wait(ms(30_100))), [GameRequest::Abort]);
}

#[test]
fn a_reopening_does_not_restart_the_wait_and_a_move_ends_it() {
    let (mut desk, _) = Desk::at(Side::Black, "");
    desk.wait(ms(50_000));
    desk.open("");
    assert_eq!(asks(&desk.wait(ms(11_000))), [GameRequest::Abort]);
    let (mut desk, _) = Desk::at(Side::Black, "");
    desk.state("g1f3");
    assert!(!asks(&desk.wait(ms(100_000))).contains(&GameRequest::Abort));
}

#[test]
fn an_abort_refused_is_not_asked_for_again() {
    let (mut desk, _) = Desk::at(Side::Black, "");
    desk.wait(ms(60_100));
    let actions = desk.apply(GameInput::Asked {
        request: GameRequest::Abort,
        answer: refused("This game can no longer be aborted"),
    });
    assert!(reopens(&actions));
    assert_eq!(asks(&desk.wait(ms(60_000))), []);
}

#[test]
fn arenas_watch_over_the_first_move_themselves() {
    let mut desk = Desk::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.tournament = Some("abcd1234".into());
    desk.open_with(game, desk.now);
    assert_eq!(asks(&desk.wait(ms(120_000))), []);
}

#[test]
fn games_without_a_clock_have_time_for_a_first_move() {
    let mut desk = Desk::new(Side::Black);
    let mut game = full(Side::Black, state(""));
    game.clock = None;
    game.speed = Speed::Correspondence;
    desk.open_with(game, desk.now);
    assert_eq!(asks(&desk.wait(ms(3_600_000))), []);
}

#[test]
fn a_game_of_another_kind_is_aborted_or_resigned() {
    let strange = [
        (Variant::Standard, "startpos"),
        (Variant::Crazyhouse, "startpos"),
        (Variant::Atomic, "8/8/8/8/8/8/8/8 w - - 0 1"),
    ];
    for (variant, fen) in strange {
        let mut desk = Desk::new(Side::White);
        let mut game = full(Side::White, state("e2e4 e7e5"));
        game.variant = variant;
        game.initial_fen = Some(fen.into());
        let actions = desk.open_with(game, desk.now);
        assert_eq!(asks(&actions), [GameRequest::Abort]);
        assert!(thinking(&actions).is_none() && posts(&actions) == 0);
        let actions = desk.apply(GameInput::Asked {
            request: GameRequest::Abort,
            answer: refused("This game can no longer be aborted"),
        });
        assert_eq!(asks(&actions), [GameRequest::Resign]);
        assert_eq!(asks(&desk.wait(ms(5100))), [GameRequest::Resign]);
        let mut over = state("e2e4 e7e5 b8b8");
        over.status = Status::Resign;
        assert!(ending(&desk.state_with(over)).is_some());
    }
}

#[test]
fn an_untold_variant_is_the_one_of_the_announcement() {
    let mut desk = Desk::new(Side::White);
    let mut game = full(Side::White, state(""));
    game.variant = Variant::Unknown;
    let actions = desk.open_with(game, desk.now);
    assert!(thinking(&actions).is_some());
}

#[test]
fn the_stream_is_looked_at_when_the_opponents_flag_must_have_fallen() {
    let mut desk = Desk::new(Side::White);
    let mut scramble = state("g1f3 f7f6 e2e3");
    scramble.time.black = Some(ms(8000));
    desk.open_with(full(Side::White, scramble), desk.now);
    assert!(!reopens(&desk.wait(ms(8000))));
    assert!(reopens(&desk.wait(ms(6000))));
}

#[test]
fn on_a_short_clock_a_line_that_never_came_is_looked_for_before_our_flag_falls() {
    let mut scramble = state("g1f3 f7f6 e2e3");
    (scramble.time.white, scramble.time.black) = (Some(ms(15_000)), Some(ms(15_000)));
    let mut desk = Desk::new(Side::White);
    desk.open_with(full(Side::White, scramble.clone()), desk.now);
    assert!(!reopens(&desk.wait(ms(4900))));
    assert!(reopens(&desk.wait(ms(200))));
    // However short it is, not again and again.
    (scramble.time.white, scramble.time.black) = (Some(ms(3000)), Some(ms(60_000)));
    let mut desk = Desk::new(Side::White);
    desk.open_with(full(Side::White, scramble), desk.now);
    assert!(!reopens(&desk.wait(ms(2400))));
    assert!(reopens(&desk.wait(ms(200))));
}

#[test]
fn a_line_that_never_came_costs_a_third_of_the_clock_at_most() {
    let (mut desk, _) = Desk::at(Side::White, "g1f3 f7f6 e2e3");
    assert!(!reopens(&desk.wait(ms(59_000))));
    assert!(reopens(&desk.wait(ms(2000))));
    // The opening shows that it was our turn all along.
    let mut shown = state("g1f3 f7f6 e2e3 e7e6");
    shown.time.white = Some(ms(119_000));
    let actions = desk.open_with(full(Side::White, shown), desk.now);
    assert!(thinking(&actions).is_some());
}

#[test]
fn the_time_allowed_for_a_first_move_is_kept() {
    let mut desk = Desk::new(Side::White);
    let mut first = state("");
    first.expiration = Some(Expiration {
        idle: ms(19_000),
        to_move: ms(21_000),
    });
    let actions = desk.open_with(full(Side::White, first), desk.now);
    let limits = thinking(&actions).unwrap().limits;
    assert!(limits.movetime.unwrap() <= ms(500));
    assert!(desk.machine.next_timeout().unwrap() - desk.now < ms(1000));
}

#[test]
fn a_game_is_taken_up_with_one_word() {
    let (_, actions) = Desk::at(Side::White, LINE);
    let told = actions.iter().filter(|a| matches!(a, GameEffect::Tell(_)));
    assert_eq!(told.count(), 1);
}
