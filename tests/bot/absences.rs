//! Opponents who leave, opponents who never come, and stalled games.

use std::time::Instant;

use megaton::bot::game::{
    Anomaly, CallOutcome, GameEffect, GameInput, GameRequest, Notification, Persist, ResumeState,
};
use megaton::lichess::{OpponentGone, Side, Speed, Status, Variant};

use crate::harness::{
    Harness, active_search, asks, full, ms, notes, posted, refused, remembered, reopens, settings,
    state,
};

const THEIRS: &str = "g1f3 f7f6 e2e3";
const OURS: &str = "g1f3 f7f6";

fn they_think() -> Harness {
    Harness::at(Side::White, THEIRS).0
}

fn back() -> GameInput {
    GameInput::Gone(OpponentGone {
        gone: false,
        claim_win_in: None,
    })
}

#[test]
fn the_countdown_is_awaited_and_the_win_claimed_at_zero() {
    let mut harness = they_think();
    for seconds in [10, 5, 1] {
        assert_eq!(asks(&harness.gone(seconds)), []);
        harness.wait(ms(4000));
    }
    assert_eq!(asks(&harness.gone(0)), [GameRequest::ClaimVictory]);
}

#[test]
fn a_refused_claim_is_made_again_on_the_next_tick() {
    let mut harness = they_think();
    harness.gone(0);
    harness.now += ms(500);
    harness.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&harness.wait(ms(2000))), [], "not at once");
    harness.now += ms(2500);
    assert_eq!(asks(&harness.gone(0)), [GameRequest::ClaimVictory]);
    // Also without another message, while the last one is fresh.
    harness.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&harness.wait(ms(5100))), [GameRequest::ClaimVictory]);
}

#[test]
fn messages_that_just_stop_expire_after_a_while() {
    let mut harness = they_think();
    harness.gone(0);
    harness.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    harness.wait(ms(5100));
    harness.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    harness.wait(ms(5100));
    harness.asked(
        GameRequest::ClaimVictory,
        refused("You cannot claim the win on this game"),
    );
    assert_eq!(asks(&harness.wait(ms(60_000))), []);
}

#[test]
fn a_zero_received_while_searching_is_used_after_our_move() {
    let (mut harness, actions) = Harness::at(Side::White, OURS);
    let request_id = active_search(&actions).unwrap().request_id;
    assert_eq!(asks(&harness.gone(0)), [], "it is our turn");
    harness.now += ms(3000);
    assert!(
        posted(&harness.think(request_id, "e2e3")).is_some(),
        "the move goes first"
    );
    assert_eq!(asks(&harness.state(THEIRS)), [GameRequest::ClaimVictory]);
    // An expired one is not used.
    let (mut harness, actions) = Harness::at(Side::White, OURS);
    let request_id = active_search(&actions).unwrap().request_id;
    harness.gone(0);
    harness.now += ms(13_000);
    harness.think(request_id, "e2e3");
    assert_eq!(asks(&harness.state(THEIRS)), []);
}

#[test]
fn an_opponent_who_comes_back_or_moves_is_present() {
    let (mut harness, actions) = Harness::at(Side::White, OURS);
    let request_id = active_search(&actions).unwrap().request_id;
    harness.gone(0);
    harness.apply(back());
    harness.think(request_id, "e2e3");
    assert_eq!(asks(&harness.state(THEIRS)), []);
    let mut harness = they_think();
    harness.gone(0);
    harness.asked(GameRequest::ClaimVictory, CallOutcome::Lost);
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6");
    let request_id = active_search(&actions).unwrap().request_id;
    harness.think(request_id, "f1e2");
    let shown = harness.state("g1f3 f7f6 e2e3 e7e6 f1e2");
    assert_eq!(asks(&shown), []);
    assert_eq!(asks(&harness.wait(ms(20_000))), []);
}

#[test]
fn after_a_few_claims_without_effect_no_more_are_made() {
    let mut harness = they_think();
    let mut claims = 0;
    for _ in 0..50 {
        claims += asks(&harness.gone(0)).len();
        harness.asked(GameRequest::ClaimVictory, CallOutcome::Done);
        harness.now += ms(5000);
    }
    assert_eq!(claims, 3);
    harness.apply(back());
    assert_eq!(
        asks(&harness.gone(0)),
        [GameRequest::ClaimVictory],
        "another absence"
    );
}

#[test]
fn a_claim_always_refused_is_given_up_in_the_end() {
    let mut harness = they_think();
    let mut claims = 0;
    for _ in 0..200 {
        claims += asks(&harness.gone(0)).len();
        harness.asked(GameRequest::ClaimVictory, refused("no"));
        harness.now += ms(5000);
    }
    assert!((5..20).contains(&claims), "{claims}");
}

#[test]
fn nothing_is_claimed_where_nothing_can_be() {
    let (mut harness, _) = Harness::at(Side::White, "g1f3");
    assert_eq!(asks(&harness.gone(0)), [], "both must have moved");
    let mut harness = Harness::new(Side::White);
    let mut unlimited = full(Side::White, state(THEIRS));
    unlimited.clock = None;
    unlimited.speed = Speed::Correspondence;
    harness.open_with(unlimited, harness.now);
    assert_eq!(asks(&harness.gone(0)), [], "no clock, no claim");
}

#[test]
fn a_wait_requested_by_the_server_delays_claims() {
    let mut harness = they_think();
    assert_eq!(asks(&harness.gone(0)), [GameRequest::ClaimVictory]);
    let wait = Some(ms(20_000));
    harness.asked(GameRequest::ClaimVictory, CallOutcome::Limited { wait });
    for _ in 0..6 {
        harness.now += ms(3000);
        assert_eq!(asks(&harness.gone(0)), []);
    }
    assert_eq!(asks(&harness.wait(ms(2100))), [GameRequest::ClaimVictory]);
}

#[test]
fn a_claim_in_progress_is_not_doubled() {
    let mut harness = they_think();
    assert_eq!(asks(&harness.gone(0)), [GameRequest::ClaimVictory]);
    assert_eq!(asks(&harness.gone(0)), []);
}

#[test]
fn a_bare_king_claims_the_draw() {
    let mut harness = Harness::new(Side::White);
    harness.open(crate::quiet_game::BARE_WHITE);
    assert_eq!(asks(&harness.gone(0)), [GameRequest::ClaimDraw]);
}

#[test]
fn a_game_aborted_while_the_opponent_owed_the_first_move_is_recorded() {
    let aborted = |moves| {
        let mut over = state(moves);
        over.status = Status::Aborted;
        over
    };
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert_eq!(asks(&harness.wait(ms(60_100))), [GameRequest::Abort]);
    let noted = remembered(&harness.state_with(aborted("")));
    assert_eq!(noted, [Persist::NoShow]);
    // By the opponent as well, whichever side it has; but not where it waited for our move.
    for (us, moves, expected) in [
        (Side::Black, "", 1),
        (Side::White, "g1f3", 1),
        (Side::White, "", 0),
        (Side::Black, "g1f3", 0),
    ] {
        let (mut harness, _) = Harness::at(us, moves);
        let noted = remembered(&harness.state_with(aborted(moves)));
        assert_eq!(noted.len(), expected, "{us:?} {moves}");
    }
    // Nor a game that the bot aborts because it does not play such games.
    let mut harness = Harness::new(Side::Black);
    let mut other = full(Side::Black, state(""));
    other.variant = Variant::Crazyhouse;
    assert_eq!(
        asks(&harness.open_with(other, harness.now)),
        [GameRequest::Abort]
    );
    assert_eq!(remembered(&harness.state_with(aborted(""))), []);
}

#[test]
fn a_restart_does_not_restart_the_wait_for_a_first_move() {
    let before = |age| Instant::now().checked_sub(ms(age));
    let sit_down = |us, moves, begun, made| {
        let past = ResumeState {
            begun,
            ..ResumeState::default()
        };
        let mut harness = Harness::with_past(us, settings(), past);
        harness.machine.set_created(made);
        harness.open(moves);
        harness
    };
    let mut known = sit_down(Side::Black, "", before(50_000), None);
    assert_eq!(asks(&known.wait(ms(9_000))), []);
    assert_eq!(asks(&known.wait(ms(1_100))), [GameRequest::Abort]);
    // The server's clock may differ; and after our own move they have not waited as long.
    let hour = before(3_600_000);
    for mut harness in [
        sit_down(Side::Black, "", None, hour),
        sit_down(Side::White, "g1f3", hour, hour),
    ] {
        assert_eq!(asks(&harness.wait(ms(29_000))), []);
        assert_eq!(asks(&harness.wait(ms(1_100))), [GameRequest::Abort]);
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
fn a_human_who_asks_for_time_gets_as_long_again_once() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    assert_eq!(asks(&harness.wait(ms(59_000))), []);
    harness.apply(GameInput::WaitLonger);
    harness.apply(GameInput::WaitLonger);
    assert_eq!(asks(&harness.wait(ms(60_000))), []);
    assert_eq!(asks(&harness.wait(ms(1_100))), [GameRequest::Abort]);
    harness.apply(GameInput::WaitLonger);
    let mut harness = Harness::new(Side::Black);
    harness.bot_opponent = true;
    harness.open("");
    harness.apply(GameInput::WaitLonger);
    assert_eq!(asks(&harness.wait(ms(30_100))), [GameRequest::Abort]);
}

#[test]
fn a_game_that_can_be_neither_begun_nor_aborted_frees_its_slot() {
    let (mut harness, _) = Harness::at(Side::Black, "");
    let (mut asked, mut is_stalled) = (0, false);
    for _ in 0..20 {
        let actions = harness.wait(ms(61_000));
        asked += asks(&actions).len();
        is_stalled = stalled(&actions);
        if is_stalled {
            break;
        }
        if !asks(&actions).is_empty() {
            let actions = harness.asked(
                GameRequest::Abort,
                refused("This game can no longer be aborted"),
            );
            is_stalled = stalled(&actions);
            if is_stalled {
                break;
            }
            harness.open("");
        }
    }
    assert!(is_stalled && asked < 10, "{asked}");
    assert_eq!(asks(&harness.wait(ms(3_600_000))), []);
    // The game continues once they move at last.
    let actions = harness.state("g1f3");
    assert!(
        actions
            .iter()
            .any(|action| matches!(action, GameEffect::Notify(Notification::Moving)))
    );
    assert!(active_search(&actions).is_some());
}

fn stalled(actions: &[GameEffect]) -> bool {
    let told = |action: &GameEffect| matches!(action, GameEffect::Notify(Notification::Stalled));
    actions.iter().any(told)
}

#[test]
fn a_game_whose_flag_never_falls_frees_its_slot() {
    let mut harness = they_think();
    let actions = harness.wait(ms(190_000));
    assert!(reopens(&actions) && !stalled(&actions));
    let actions = harness.wait(ms(60_000));
    assert!(stalled(&actions));
    assert!(notes(&actions).contains(&Anomaly::Stalled));
    assert!(!stalled(&harness.wait(ms(3_600_000))), "said once");
}

#[test]
fn after_a_fallen_flag_a_stream_stays_open_until_the_server_has_looked_at_the_clock() {
    let mut harness = they_think();
    harness.wait(ms(190_000));
    let mut fallen = state(THEIRS);
    fallen.time.black = Some(ms(0));
    let mut found = false;
    for _ in 0..7 {
        let opening = full(Side::White, fallen.clone());
        let mut actions = harness.open_with(opening, harness.now);
        actions.extend(harness.wait(ms(9900)));
        assert!(!reopens(&actions), "its look comes after seven seconds");
        actions.extend(harness.wait(ms(200)));
        assert!(reopens(&actions));
        found |= stalled(&actions);
    }
    assert!(found, "the looks do not put off that it counts as stalled");
}

#[test]
fn a_game_without_a_clock_never_counts_as_stalled() {
    let mut harness = Harness::new(Side::White);
    let mut unlimited = full(Side::White, state(THEIRS));
    unlimited.clock = None;
    unlimited.speed = Speed::Correspondence;
    harness.open_with(unlimited, harness.now);
    assert!(!stalled(&harness.wait(ms(86_400_000))));
}
