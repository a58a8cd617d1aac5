//! Move lists from the server: complete, shrinking, with gaps, unreadable.

use megaton::bot::game::{Anomaly, CallOutcome, GameEffect, Notification};
use megaton::lichess::{Side, Status};

use crate::harness::{
    Harness, active_search, ending, is_quiet, ms, notes, posted, posts, reopens, state, stops,
};

#[test]
fn white_moves_first_on_an_empty_list() {
    let (_, actions) = Harness::at(Side::White, "");
    assert!(active_search(&actions).is_some());
    let (_, actions) = Harness::at(Side::Black, "");
    assert!(active_search(&actions).is_none());
}

#[test]
fn castling_is_our_move_in_either_spelling() {
    let line = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5";
    let (mut harness, post) = Harness::posted(Side::White, line, "e1g1");
    assert!(["e1g1", "e1h1"].contains(&post.uci.as_str()));
    let actions = harness.state(&format!("{line} e1h1"));
    assert!(notes(&actions).is_empty(), "no other move than ours");
    assert_eq!(harness.machine.sent(), None);
    assert_eq!(
        posts(&harness.answer(post.request_id, CallOutcome::Lost)),
        0
    );
}

#[test]
fn a_takeback_ends_the_search_and_drops_the_sent_move() {
    let (mut harness, actions) = Harness::at(Side::White, "g1f3 f7f6");
    assert!(active_search(&actions).is_some());
    let actions = harness.open("g1f3");
    assert!(stops(&actions) && active_search(&actions).is_none());

    let (mut harness, post) = Harness::posted(Side::White, "g1f3 f7f6", "e2e3");
    let actions = harness.open("");
    let request_id = active_search(&actions)
        .expect("our first move again")
        .request_id;
    assert_eq!(
        posts(&harness.answer(post.request_id, CallOutcome::Lost)),
        0
    );
    assert_eq!(
        posts(&harness.wait(ms(500))),
        0,
        "the old move is not repeated"
    );
    assert_eq!(
        posted(&harness.think(request_id, "e2e4")).unwrap().uci,
        "e2e4"
    );
}

#[test]
fn a_late_or_repeated_line_is_no_takeback() {
    let old = "g1f3 f7f6";
    // On the opponent's turn: no search, no move.
    let (mut harness, post) = Harness::posted(Side::White, old, "e2e3");
    harness.state("g1f3 f7f6 e2e3");
    let actions = harness.state(old);
    assert!(reopens(&actions) && active_search(&actions).is_none() && posts(&actions) == 0);
    let shrunk = Anomaly::Shrunk {
        known: 3,
        listed: 2,
    };
    assert_eq!(notes(&actions), [shrunk]);
    assert_eq!(
        posts(&harness.answer(post.request_id, CallOutcome::Done)),
        0
    );
    assert!(is_quiet(&harness.open("g1f3 f7f6 e2e3")), "all as before");

    // On our turn: the bot searches the position of a fresh opening.
    let (mut harness, _) = Harness::at(Side::White, "g1f3 f7f6 e2e3 e7e6");
    let actions = harness.state(old);
    assert!(reopens(&actions) && stops(&actions) && active_search(&actions).is_none());
    let actions = harness.open("g1f3 f7f6 e2e3 e7e6");
    let request_id = active_search(&actions).expect("our turn still").request_id;
    assert_eq!(
        posted(&harness.think(request_id, "d2d4")).unwrap().uci,
        "d2d4"
    );

    // A takeback granted elsewhere, or before a restart, is believed once an opening shows it.
    let actions = harness.state(old);
    assert!(reopens(&actions) && posts(&actions) == 0);
    assert!(active_search(&harness.open(old)).is_some());
}

#[test]
fn a_late_line_does_not_shorten_the_wait_after_a_429() {
    let list = "g1f3 f7f6";
    for believed in [true, false] {
        let (mut harness, post) = Harness::posted(Side::White, list, "e2e3");
        let wait = Some(ms(60_000));
        harness.answer(post.request_id, CallOutcome::Limited { wait });
        assert!(reopens(&harness.state("g1f3")));
        if believed {
            assert_eq!(posts(&harness.open(list)), 0);
        }
        assert_eq!(posts(&harness.wait(ms(59_900))), 0);
        let mut actions = harness.wait(ms(200));
        if !believed {
            assert_eq!(posts(&actions), 0, "not on the strength of an old list");
            actions = harness.open(list);
        }
        assert_eq!(posted(&actions).unwrap().uci, "e2e3");
    }
}

#[test]
fn the_end_of_a_game_is_believed_with_any_list() {
    let (mut harness, _) = Harness::at(Side::White, "g1f3 f7f6 e2e3 e7e6");
    let mut over = state("g1f3 f7f6");
    over.status = Status::OutOfTime;
    over.winner = Some(Side::White);
    assert_eq!(ending(&harness.state_with(over)).unwrap().result(), "1-0");
}

#[test]
fn an_unreadable_list_reopens_the_stream_and_nothing_is_sent_meanwhile() {
    for bad in ["g1f3 f7f6 e2e9", "g1f3 f7f6 e7e5", "g1f3 x", "e2e4 e2e4"] {
        let (mut harness, _) = Harness::posted(Side::White, "g1f3 f7f6", "e2e3");
        let actions = harness.state(bad);
        assert!(reopens(&actions), "{bad}");
        assert!(matches!(notes(&actions)[..], [Anomaly::Foreign(_)]));
        assert_eq!(posts(&harness.wait(ms(4000))), 0);
        assert_eq!(posted(&harness.open("g1f3 f7f6")).unwrap().uci, "e2e3");
    }
}

#[test]
fn a_list_that_stays_unreadable_causes_no_storm_of_reopenings() {
    let (mut harness, _) = Harness::at(Side::White, "g1f3");
    let mut openings = 0;
    for _ in 0..600 {
        if reopens(&harness.wait(ms(1000))) {
            openings += 1;
            assert!(!reopens(&harness.open("g1f3 zz")));
        }
        harness.open("g1f3 zz");
    }
    assert!((1..=60).contains(&openings), "{openings}");
}

#[test]
fn our_own_move_by_another_client_is_adopted() {
    let (mut harness, _) = Harness::posted(Side::White, "g1f3 f7f6", "e2e3");
    let actions = harness.state("g1f3 f7f6 d2d4");
    assert!(matches!(notes(&actions)[..], [Anomaly::Overruled { .. }]));
    assert_eq!(harness.machine.sent(), None);
}

#[test]
fn moves_are_published_once_and_with_the_position_before_them() {
    let (mut harness, _) = Harness::posted(Side::White, "g1f3 f7f6", "e2e3");
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6");
    let told: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            GameEffect::Notify(Notification::Moved(moved)) => Some(moved),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].ours && told[0].result.is_some());
    assert_eq!(told[0].before.san(told[0].played), "e3");
    assert!(!told[1].ours && told[1].result.is_none());
    assert_eq!(told[1].before.san(told[1].played), "e6");
    assert!(is_quiet(&harness.state("g1f3 f7f6 e2e3 e7e6")));
}

#[test]
fn a_threefold_waits_for_the_server_and_then_plays_on() {
    let line = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let (mut harness, actions) = Harness::at(Side::White, line);
    assert!(
        active_search(&actions).is_none(),
        "the server is about to end it"
    );
    let mut over = state(line);
    over.status = Status::Draw;
    assert!(ending(&harness.state_with(over)).is_some());

    let (mut harness, _) = Harness::at(Side::White, line);
    assert!(active_search(&harness.wait(ms(1500))).is_some());
}

#[test]
fn an_exploded_king_needs_no_move_of_ours() {
    let line = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1 f8d6 f3d4 d6h2";
    let (mut harness, actions) = Harness::at(Side::White, line);
    assert!(active_search(&actions).is_none() && posts(&actions) == 0);
    assert!(
        reopens(&harness.wait(ms(3000))),
        "the end must be on its way"
    );
    let mut over = state(line);
    over.status = Status::VariantEnd;
    over.winner = Some(Side::Black);
    let ending = ending(&harness.state_with(over)).unwrap();
    assert_eq!((ending.result(), ending.plies), ("0-1", 10));
}
