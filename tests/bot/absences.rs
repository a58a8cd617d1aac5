//! Opponents who leave, opponents who never come, and games in which nothing happens any more.

use std::time::Instant;

use megaton::bot::game::{
    Anomaly, CallOutcome, GameEffect, GameInput, GameRequest, Notification, Persist, ResumeState,
};
use megaton::lichess::{OpponentGone, Side, Speed, Status};

use crate::desk::{
    Desk, asks, full, ms, notes, posted, refused, remembered, reopens, settings, state, thinking,
};

const THEIRS: &str = "g1f3 f7f6 e2e3";
const OURS: &str = "g1f3 f7f6";

fn they_think() -> Desk {
    Desk::at(Side::White, THEIRS).0
}

fn back() -> GameInput {
    GameInput::Gone(OpponentGone {
        gone: false,
        claim_win_in: None,
    })
}

#[test]
fn the_countdown_is_awaited_and_the_win_claimed_at_nought() {
    let mut desk = they_think();
    for seconds in [10, 5, 1] {
        assert_eq!(asks(&desk.gone(seconds)), []);
        desk.wait(ms(4000));
    }
    assert_eq!(asks(&desk.gone(0)), [GameRequest::ClaimVictory]);
}

#[test]
fn a_refused_claim_is_made_again_on_the_next_tick() {
    let mut desk = they_think();
    desk.gone(0);
    desk.now += ms(500);
    desk.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&desk.wait(ms(2000))), [], "not at once");
    desk.now += ms(2500);
    assert_eq!(asks(&desk.gone(0)), [GameRequest::ClaimVictory]);
    // And even if the next word does not come, as long as the last one is fresh.
    desk.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&desk.wait(ms(5100))), [GameRequest::ClaimVictory]);
}

#[test]
fn words_that_just_stop_are_void_after_a_while() {
    let mut desk = they_think();
    desk.gone(0);
    desk.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    desk.wait(ms(5100));
    desk.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    desk.wait(ms(5100));
    desk.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&desk.wait(ms(60_000))), []);
}

#[test]
fn a_nought_heard_while_we_think_is_used_after_our_move() {
    let (mut desk, actions) = Desk::at(Side::White, OURS);
    let request_id = thinking(&actions).unwrap().request_id;
    assert_eq!(asks(&desk.gone(0)), [], "it is our turn");
    desk.now += ms(3000);
    assert!(
        posted(&desk.think(request_id, "e2e3")).is_some(),
        "the move goes first"
    );
    assert_eq!(asks(&desk.state(THEIRS)), [GameRequest::ClaimVictory]);
    // Not an old one.
    let (mut desk, actions) = Desk::at(Side::White, OURS);
    let request_id = thinking(&actions).unwrap().request_id;
    desk.gone(0);
    desk.now += ms(13_000);
    desk.think(request_id, "e2e3");
    assert_eq!(asks(&desk.state(THEIRS)), []);
}

#[test]
fn whoever_comes_back_or_moves_is_there() {
    let (mut desk, actions) = Desk::at(Side::White, OURS);
    let request_id = thinking(&actions).unwrap().request_id;
    desk.gone(0);
    desk.apply(back());
    desk.think(request_id, "e2e3");
    assert_eq!(asks(&desk.state(THEIRS)), []);
    let mut desk = they_think();
    desk.gone(0);
    desk.asked(GameRequest::ClaimVictory, CallOutcome::Lost);
    let actions = desk.state("g1f3 f7f6 e2e3 e7e6");
    let request_id = thinking(&actions).unwrap().request_id;
    desk.think(request_id, "f1e2");
    let shown = desk.state("g1f3 f7f6 e2e3 e7e6 f1e2");
    assert_eq!(asks(&shown), []);
    assert_eq!(asks(&desk.wait(ms(20_000))), []);
}

#[test]
fn a_yes_that_ends_nothing_is_believed_after_a_few() {
    let mut desk = they_think();
    let mut claims = 0;
    for _ in 0..50 {
        claims += asks(&desk.gone(0)).len();
        desk.asked(GameRequest::ClaimVictory, CallOutcome::Done);
        desk.now += ms(5000);
    }
    assert_eq!(claims, 3);
    desk.apply(back());
    assert_eq!(
        asks(&desk.gone(0)),
        [GameRequest::ClaimVictory],
        "another absence"
    );
}

#[test]
fn a_claim_always_refused_is_given_up_in_the_end() {
    let mut desk = they_think();
    let mut claims = 0;
    for _ in 0..200 {
        claims += asks(&desk.gone(0)).len();
        desk.asked(GameRequest::ClaimVictory, refused("no"));
        desk.now += ms(5000);
    }
    assert!((5..20).contains(&claims), "{claims}");
}

#[test]
fn nothing_is_claimed_where_nothing_can_be() {
    let (mut desk, _) = Desk::at(Side::White, "g1f3");
    assert_eq!(asks(&desk.gone(0)), [], "both must have moved");
    let mut desk = Desk::new(Side::White);
    let mut unlimited = full(Side::White, state(THEIRS));
    unlimited.clock = None;
    unlimited.speed = Speed::Correspondence;
    desk.open_with(unlimited, desk.now);
    assert_eq!(asks(&desk.gone(0)), [], "no clock, no claim");
}

#[test]
fn a_wait_that_the_server_asks_for_holds_claims_back() {
    let mut desk = they_think();
    assert_eq!(asks(&desk.gone(0)), [GameRequest::ClaimVictory]);
    let wait = Some(ms(20_000));
    desk.asked(GameRequest::ClaimVictory, CallOutcome::Limited { wait });
    for _ in 0..6 {
        desk.now += ms(3000);
        assert_eq!(asks(&desk.gone(0)), []);
    }
    assert_eq!(asks(&desk.wait(ms(2100))), [GameRequest::ClaimVictory]);
}

#[test]
fn a_claim_under_way_is_not_doubled() {
    let mut desk = they_think();
    assert_eq!(asks(&desk.gone(0)), [GameRequest::ClaimVictory]);
    assert_eq!(asks(&desk.gone(0)), []);
}

#[test]
fn a_bare_king_claims_the_draw() {
    let mut desk = Desk::new(Side::White);
    desk.open(crate::quiet::BARE_WHITE);
    assert_eq!(asks(&desk.gone(0)), [GameRequest::ClaimDraw]);
}

#[test]
fn an_opponent_who_never_moves_is_remembered_once_the_game_is_aborted() {
    let (mut desk, _) = Desk::at(Side::Black, "");
    assert_eq!(asks(&desk.wait(ms(60_100))), [GameRequest::Abort]);
    let mut over = state("");
    over.status = Status::Aborted;
    assert_eq!(
        remembered(&desk.state_with(over.clone())),
        [Persist::NoShow]
    );
    // Anyone who aborts of their own accord is no such thing.
    let (mut desk, _) = Desk::at(Side::Black, "");
    assert_eq!(remembered(&desk.state_with(over)), []);
}

#[test]
fn a_first_move_is_not_waited_for_anew_after_a_restart() {
    let before = |age| Instant::now().checked_sub(ms(age));
    let sit_down = |us, moves, begun, made| {
        let past = ResumeState {
            begun,
            ..ResumeState::default()
        };
        let mut desk = Desk::with_past(us, settings(), past);
        desk.machine.made_at(made);
        desk.open(moves);
        desk
    };
    let mut known = sit_down(Side::Black, "", before(50_000), None);
    assert_eq!(asks(&known.wait(ms(9_000))), []);
    assert_eq!(asks(&known.wait(ms(1_100))), [GameRequest::Abort]);
    // The server's clock may be another one; and after our own move they have not waited as long.
    let hour = before(3_600_000);
    for mut desk in [
        sit_down(Side::Black, "", None, hour),
        sit_down(Side::White, "g1f3", hour, hour),
    ] {
        assert_eq!(asks(&desk.wait(ms(29_000))), []);
        assert_eq!(asks(&desk.wait(ms(1_100))), [GameRequest::Abort]);
    }
    let mut ahead = sit_down(Side::Black, "", before(0), before(0));
    assert_eq!(asks(&ahead.wait(ms(59_000))), []);
    // A move in between: they have all their time.
    let mut begun = sit_down(Side::White, "", hour, hour);
    begun.state("g1f3");
    assert_eq!(asks(&begun.wait(ms(59_000))), []);
    assert_eq!(asks(&begun.wait(ms(1_100))), [GameRequest::Abort]);
}

#[test]
fn a_game_that_can_be_neither_begun_nor_aborted_gives_up_its_seat() {
    let (mut desk, _) = Desk::at(Side::Black, "");
    let mut asked = 0;
    for _ in 0..20 {
        let actions = desk.wait(ms(61_000));
        asked += asks(&actions).len();
        if stalled(&actions) {
            break;
        }
        if !asks(&actions).is_empty() {
            let actions = desk.asked(
                GameRequest::Abort,
                refused("This game can no longer be aborted"),
            );
            if stalled(&actions) {
                break;
            }
            desk.open("");
        }
    }
    assert!(desk.machine.stands_still() && asked < 10, "{asked}");
    assert_eq!(asks(&desk.wait(ms(3_600_000))), []);
    // It comes back to life when they move at last.
    let actions = desk.state("g1f3");
    assert!(
        actions
            .iter()
            .any(|action| matches!(action, GameEffect::Tell(Notification::Revived)))
    );
    assert!(thinking(&actions).is_some() && !desk.machine.stands_still());
}

fn stalled(actions: &[GameEffect]) -> bool {
    let told = |action: &GameEffect| matches!(action, GameEffect::Tell(Notification::Standstill));
    actions.iter().any(told)
}

#[test]
fn a_game_whose_flag_never_falls_gives_up_its_seat() {
    let mut desk = they_think();
    let actions = desk.wait(ms(190_000));
    assert!(reopens(&actions) && !stalled(&actions));
    let actions = desk.wait(ms(60_000));
    assert!(stalled(&actions));
    assert!(notes(&actions).contains(&Anomaly::Standstill));
    assert!(!stalled(&desk.wait(ms(3_600_000))), "said once");
}

#[test]
fn a_game_without_a_clock_never_stands_still() {
    let mut desk = Desk::new(Side::White);
    let mut unlimited = full(Side::White, state(THEIRS));
    unlimited.clock = None;
    unlimited.speed = Speed::Correspondence;
    desk.open_with(unlimited, desk.now);
    assert!(!stalled(&desk.wait(ms(86_400_000))));
}
