//! The pending move under every failure: the effects of each answer to a sent move.

use megaton::bot::game::{Anomaly, CallOutcome, GameInput};
use megaton::engine::{SearchResult, StopReason};
use megaton::lichess::{BySide, Side};

use crate::harness::{
    Harness, active_search, ms, notes, posted, posts, refused, reopens, result, settings, state,
    stops, uci,
};

const LINE: &str = "g1f3 f7f6";

#[test]
fn our_turn_is_searched_and_the_result_is_sent() {
    let (mut harness, actions) = Harness::at(Side::Black, "g1f3");
    let request_id = active_search(&actions).unwrap().request_id;
    assert_eq!(
        posted(&harness.think(request_id, "f7f6")).unwrap().uci,
        "f7f6"
    );
}

#[test]
fn the_opponents_turn_requires_nothing() {
    let (_, actions) = Harness::at(Side::White, "g1f3");
    assert!(active_search(&actions).is_none());
    assert_eq!(posts(&actions), 0);
}

#[test]
fn a_move_that_is_shown_is_settled() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.state("g1f3 f7f6 e2e3");
    assert_eq!(
        posts(&harness.answer(post.request_id, CallOutcome::Done)),
        0
    );
    assert_eq!(posts(&harness.wait(ms(60_000))), 0);
    assert_eq!(harness.machine.sent(), None);
}

#[test]
fn the_echo_may_come_before_the_answer_or_after_it() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    assert_eq!(
        posts(&harness.answer(post.request_id, CallOutcome::Done)),
        0
    );
    assert!(!reopens(&harness.state("g1f3 f7f6 e2e3")));
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.state("g1f3 f7f6 e2e3");
    // The answer to a move already shown is irrelevant, even a refusal.
    let actions = harness.answer(
        post.request_id,
        refused("Not your turn, or game already over"),
    );
    assert!(!reopens(&actions) && posts(&actions) == 0);
}

#[test]
fn a_lost_answer_repeats_the_same_move_soon() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let mut last = post.request_id;
    for _ in 0..20 {
        assert_eq!(posts(&harness.answer(last, CallOutcome::Lost)), 0);
        let again = posted(&harness.wait(ms(1000))).expect("repeated within a second");
        assert_eq!(again.uci, "e2e3");
        assert_ne!(again.request_id, last);
        last = again.request_id;
    }
}

#[test]
fn a_call_that_never_returns_counts_as_lost() {
    let (mut harness, _) = Harness::posted(Side::White, LINE, "e2e3");
    // The first two follow each other quickly, to notice a recovered server soon.
    for _ in 0..2 {
        assert_eq!(posts(&harness.wait(ms(1300))), 0);
        assert_eq!(posted(&harness.wait(ms(300))).unwrap().uci, "e2e3");
    }
    // The next one gets more time.
    assert_eq!(posts(&harness.wait(ms(2800))), 0);
    assert_eq!(posted(&harness.wait(ms(400))).unwrap().uci, "e2e3");
}

#[test]
fn an_answer_to_an_older_sending_is_ignored() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.answer(post.request_id, CallOutcome::Lost);
    let again = posted(&harness.wait(ms(1000))).unwrap();
    assert!(!reopens(
        &harness.answer(post.request_id, refused("Not your turn"))
    ));
    assert_eq!(harness.machine.sent(), Some(uci(&harness.machine, "e2e3")));
    harness.answer(again.request_id, CallOutcome::Done);
}

#[test]
fn an_ok_without_a_state_is_checked_and_repeated() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.answer(post.request_id, CallOutcome::Done);
    let actions = harness.wait(ms(2500));
    assert!(reopens(&actions));
    assert_eq!(posts(&actions), 0, "the look comes first");
    assert!(matches!(notes(&actions)[..], [Anomaly::Unshown { .. }]));
    assert_eq!(posted(&harness.open(LINE)).unwrap().uci, "e2e3");
}

#[test]
fn an_ok_whose_stream_does_not_open_is_never_repeated_blindly() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.answer(post.request_id, CallOutcome::Done);
    assert_eq!(posts(&harness.wait(ms(120_000))), 0);
    // The move had arrived, and the opponent has replied: the bot searches the next one.
    let actions = harness.open("g1f3 f7f6 e2e3 e7e6");
    assert!(active_search(&actions).is_some());
    assert_eq!(posts(&actions), 0);
}

#[test]
fn a_stream_that_opens_slowly_gets_more_time_each_time() {
    let (mut harness, mut post) = Harness::posted(Side::White, LINE, "e2e3");
    let mut patience = Vec::new();
    for _ in 0..3 {
        harness.answer(post.request_id, CallOutcome::Done);
        let began = harness.now;
        while !reopens(&harness.wait(ms(100))) {}
        patience.push(harness.now - began);
        post = posted(&harness.open(LINE)).expect("still owed");
    }
    assert!(
        patience.is_sorted() && patience[2] >= 2 * patience[0],
        "{patience:?}"
    );
}

#[test]
fn an_opening_from_before_the_ok_proves_nothing() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let before = harness.now;
    harness.now += ms(50);
    harness.answer(post.request_id, CallOutcome::Done);
    let full = crate::harness::full(Side::White, state(LINE));
    assert_eq!(posts(&harness.open_with(full, before)), 0);
}

/// The stream was lost and is being opened when the answer comes: that opening was asked for too early,
/// and the request for another one was left to it.
#[test]
fn an_opening_from_before_a_refusal_asks_for_another_one() {
    for answer in [refused("Not your turn"), CallOutcome::Gone] {
        let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
        let before = harness.now;
        harness.now += ms(50);
        harness.answer(post.request_id, answer);
        let full = crate::harness::full(Side::White, state(LINE));
        let actions = harness.open_with(full, before);
        assert!(reopens(&actions));
        assert_eq!(posts(&actions), 0);
        assert_eq!(posted(&harness.open(LINE)).unwrap().uci, "e2e3");
    }
}

#[test]
fn after_a_refusal_another_move_needs_a_fresh_opening() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let before = harness.now;
    harness.now += ms(5);
    let actions = harness.answer(post.request_id, refused("Piece on e2 cannot move to e3"));
    assert!(reopens(&actions));
    // Neither a state on the old stream, nor an earlier requested opening, nor time suffices.
    assert!(active_search(&harness.state(LINE)).is_none());
    let full = crate::harness::full(Side::White, state(LINE));
    assert!(active_search(&harness.open_with(full, before)).is_none());
    let waited = harness.wait(ms(60_000));
    assert!(posts(&waited) == 0 && active_search(&waited).is_none());
    let actions = harness.open(LINE);
    let search = active_search(&actions).expect("the ply is still owed");
    let barred = uci(&harness.machine, "e2e3");
    assert!(!search.limits.searchmoves.is_empty());
    assert!(!search.limits.searchmoves.contains(&barred));
    // Even a search that repeats the refused move cannot force it.
    let second = posted(&harness.think(search.request_id, "e2e3")).unwrap();
    assert_ne!(second.uci, "e2e3");
}

#[test]
fn not_your_turn_means_that_the_bot_is_behind() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let actions = harness.answer(
        post.request_id,
        refused("Not your turn, or game already over"),
    );
    assert!(reopens(&actions));
    // The first sending had arrived, and the opponent has moved already.
    let actions = harness.open("g1f3 f7f6 e2e3 e7e6");
    assert!(active_search(&actions).is_some());
    assert_eq!(posts(&actions), 0);
}

#[test]
fn not_your_turn_on_a_pending_ply_repeats_the_same_move() {
    let (mut harness, mut post) = Harness::posted(Side::White, LINE, "e2e3");
    for _ in 0..3 {
        harness.answer(post.request_id, refused("Not your turn"));
        harness.now += ms(100);
        post = posted(&harness.open(LINE)).expect("a stale opening");
        assert_eq!(post.uci, "e2e3");
    }
}

#[test]
fn a_429_waits_as_advised_if_the_clock_allows_it() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    let wait = Some(ms(60_000));
    harness.answer(post.request_id, CallOutcome::Limited { wait });
    assert_eq!(posts(&harness.wait(ms(59_900))), 0);
    assert_eq!(posted(&harness.wait(ms(200))).unwrap().uci, "e2e3");
}

#[test]
fn a_429_on_a_first_move_is_retried_before_the_opponent_gives_up() {
    let (mut harness, mut post) = Harness::posted(Side::White, "", "e2e4");
    for _ in 0..3 {
        let wait = Some(ms(60_000));
        harness.answer(post.request_id, CallOutcome::Limited { wait });
        assert_eq!(posts(&harness.wait(ms(1990))), 0);
        post = posted(&harness.wait(ms(20))).expect("after two seconds");
    }
}

#[test]
fn a_game_on_the_clock_is_not_left_without_its_stream_until_the_opponent_can_claim() {
    let (harness, _) = Harness::at(Side::White, "g1f3 f7f6 e2e3");
    assert!(!harness.machine.can_wait(ms(60_000), harness.now));
    assert!(harness.machine.can_wait(ms(4000), harness.now));
}

#[test]
fn a_429_on_a_short_clock_is_retried_but_never_faster_than_every_two_seconds() {
    let mut harness = Harness::new(Side::White);
    let mut short = state(LINE);
    short.time.white = Some(ms(30_000));
    let actions = harness.open_with(crate::harness::full(Side::White, short), harness.now);
    let mut post =
        posted(&harness.think(active_search(&actions).unwrap().request_id, "e2e3")).unwrap();
    for _ in 0..10 {
        let wait = Some(ms(60_000));
        harness.answer(post.request_id, CallOutcome::Limited { wait });
        assert_eq!(posts(&harness.wait(ms(1990))), 0);
        post = posted(&harness.wait(ms(20))).expect("after two seconds");
        assert_eq!(post.uci, "e2e3");
    }
}

#[test]
fn a_refused_token_is_retried_slowly_with_the_same_move() {
    let (mut harness, mut post) = Harness::posted(Side::White, LINE, "e2e3");
    for _ in 0..5 {
        let answer = CallOutcome::Refused {
            status: 401,
            text: "No such token".into(),
        };
        harness.answer(post.request_id, answer);
        assert_eq!(posts(&harness.wait(ms(1990))), 0);
        post = (0..64)
            .find_map(|_| posted(&harness.wait(ms(1000))))
            .expect("retried within a minute");
        assert_eq!(post.uci, "e2e3");
    }
}

#[test]
fn a_reopening_sends_a_lost_move_at_once() {
    let (mut harness, post) = Harness::posted(Side::White, LINE, "e2e3");
    harness.answer(post.request_id, CallOutcome::Lost);
    assert_eq!(posted(&harness.open(LINE)).unwrap().uci, "e2e3");
}

#[test]
fn a_state_without_a_new_move_starts_nothing() {
    let (mut harness, actions) = Harness::at(Side::White, LINE);
    let request_id = active_search(&actions).unwrap().request_id;
    let mut more_time = state(LINE);
    more_time.time.white = Some(ms(195_000));
    let mut offer = state(LINE);
    offer.draw_offer.black = true;
    for same in [more_time, offer, state(LINE)] {
        let actions = harness.state_with(same);
        assert!(active_search(&actions).is_none() && !stops(&actions));
    }
    assert!(
        active_search(&harness.open(LINE)).is_none(),
        "nor does a reopening"
    );
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 1);
    assert_eq!(posts(&harness.state(LINE)), 0);
}

#[test]
fn two_missed_plies_are_caught_up_with() {
    let (mut harness, _) = Harness::posted(Side::White, LINE, "e2e3");
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6");
    assert!(active_search(&actions).is_some());
    assert_eq!(harness.machine.ply(), 4);
}

#[test]
fn a_late_search_yields_its_best_move_so_far() {
    let (mut harness, actions) = Harness::at(Side::White, LINE);
    let request_id = active_search(&actions).unwrap().request_id;
    let actions = harness.wait(ms(120_000));
    let asked = actions.iter().any(|action| {
        matches!(action, megaton::bot::game::GameEffect::TakeBest { request_id: t } if *t == request_id)
    });
    assert!(asked);
}

#[test]
fn the_best_move_so_far_is_sent_and_the_search_stopped() {
    let (mut harness, actions) = Harness::at(Side::White, LINE);
    let request_id = active_search(&actions).unwrap().request_id;
    let best = Some(uci(&harness.machine, "d2d4"));
    let actions = harness.apply(GameInput::BestSoFar { request_id, best });
    assert_eq!(posted(&actions).unwrap().uci, "d2d4");
    assert!(stops(&actions));
    assert_eq!(
        posts(&harness.think(request_id, "e2e3")),
        0,
        "its answer comes too late"
    );
}

#[test]
fn a_search_without_a_playable_move_costs_no_game() {
    for best in [None, Some("a7a5"), Some("e2e5")] {
        let (mut harness, actions) = Harness::at(Side::White, LINE);
        let request_id = active_search(&actions).unwrap().request_id;
        let mut nonsense = result("e2e3", megaton::engine::Score::Cp(0), &harness.machine);
        nonsense.best = best.map(|uci| {
            let [from, to] = [&uci[..2], &uci[2..]].map(|square| square.parse().unwrap());
            megaton::rules::Move::normal(from, to)
        });
        let nonsense = SearchResult {
            ended: StopReason::Failed,
            ..nonsense
        };
        let actions = harness.apply(GameInput::SearchDone {
            request_id,
            result: nonsense,
        });
        let post = posted(&actions).expect("a safe move");
        assert!(
            harness
                .machine
                .game()
                .position()
                .parse_uci(&post.uci)
                .is_ok()
        );
        assert!(notes(&actions).contains(&Anomaly::NoSearchResult));
    }
}

#[test]
fn an_only_move_needs_no_search() {
    // After the queen's check the king has nowhere to go: one block, one move.
    let line = "e2e4 f7f6 d1h5";
    let (_, actions) = Harness::at(Side::Black, line);
    assert!(active_search(&actions).is_none());
    assert_eq!(posted(&actions).unwrap().uci, "g7g6");
}

#[test]
fn the_whole_clock_is_never_spent_on_a_search_that_hangs() {
    let mut harness = Harness::new(Side::White);
    let mut short = state(LINE);
    short.time = BySide {
        white: Some(ms(1000)),
        black: Some(ms(1000)),
    };
    short.increment = BySide::default();
    harness.open_with(crate::harness::full(Side::White, short), harness.now);
    let began = harness.now;
    let wake = harness.machine.next_timeout().unwrap();
    assert!(wake - began < ms(700), "{:?}", wake - began);
    assert!(settings().clock.overhead_floor < ms(300));
}
