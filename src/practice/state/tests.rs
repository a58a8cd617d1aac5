//! The house in virtual time, without a socket.

use serde_json::Value;

use super::server_state::KEPT_CLOSED;
use super::*;
use crate::practice::account::AccountKind;
use crate::practice::challenge::{ChallengeRequest, ChallengeState};
use crate::practice::game_settings::{ColorWish, GameSettings, Status, TimeControl};
use crate::practice::time::{Millis, Timing};
use crate::practice::wire::Variant;
use crate::rules::Color;

const START: Millis = Millis(1_000_000);

fn house(rules: ServerRules) -> ServerState {
    let mut house = ServerState::new("http://x".to_owned(), Timing::default(), rules, 7);
    for name in ["One", "Two"] {
        house.open_account(name, AccountKind::Bot, START).unwrap();
    }
    house
}

fn wish(rated: bool) -> ChallengeRequest {
    ChallengeRequest {
        terms: GameSettings {
            time: TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
            rated,
        },
        color: ColorWish::White,
        variant: Variant::ATOMIC,
        rules: Vec::new(),
        rematch_of: None,
    }
}

fn start(house: &mut ServerState) -> String {
    let id = house.challenge("one", "two", wish(true), START).unwrap();
    house.accept("two", &id, START).unwrap();
    id
}

/// Plays moves from White's first; gives back what went out.
fn play(house: &mut ServerState, id: &str, moves: &str) -> Vec<OutgoingEvent> {
    house.take_outbox();
    for (ply, uci) in moves.split(' ').enumerate() {
        let user = if ply % 2 == 0 { "one" } else { "two" };
        house
            .act(user, id, START, |round, side| {
                round.play(side, uci, false, START)
            })
            .unwrap();
    }
    house.take_outbox()
}

const EXPLOSION: &str = "g1f3 a7a6 f3g5 a6a5 g5f7";

fn diffs(house: &ServerState, id: &str) -> Option<[i32; 2]> {
    house.table(id).unwrap().round.rating_diffs
}

#[test]
fn the_last_state_goes_out_before_the_end_of_the_stream_and_the_finish() {
    let mut house = house(ServerRules::default());
    let id = start(&mut house);
    let out = play(&mut house, &id, EXPLOSION);
    let spot = |wanted: &dyn Fn(&OutgoingEvent) -> bool| out.iter().rposition(wanted).unwrap();
    let state =
        spot(&|it| matches!(it, OutgoingEvent::Game { line, .. } if line.contains("variantEnd")));
    let end = spot(&|it| matches!(it, OutgoingEvent::GameOver { .. }));
    let finish =
        spot(&|it| matches!(it, OutgoingEvent::Event { line, .. } if line.contains("gameFinish")));
    assert!(state < end && end < finish, "{state} {end} {finish}");
    let OutgoingEvent::Event { line, .. } = &out[finish] else {
        unreachable!()
    };
    let event: Value = serde_json::from_str(line).unwrap();
    assert!(event["game"]["ratingDiff"].is_i64());
}

#[test]
fn results_are_counted_for_both() {
    let mut house = house(ServerRules::default());
    let id = start(&mut house);
    assert_eq!(house.account("one").unwrap().counts.playing, 1);
    play(&mut house, &id, EXPLOSION);
    let (one, two) = (house.account("one").unwrap(), house.account("two").unwrap());
    assert_eq!(
        (one.counts.win, one.counts.playing, one.counts.all),
        (1, 0, 1)
    );
    assert_eq!((two.counts.loss, two.counts.rated), (1, 1));
    assert!(one.rating.shown() > two.rating.shown());
}

#[test]
fn an_aborted_game_counts_for_nothing() {
    let mut house = house(ServerRules::default());
    let id = start(&mut house);
    house
        .act("two", &id, START, |round, side| round.abort(side, START))
        .unwrap();
    assert_eq!(diffs(&house, &id), None);
    assert_eq!(house.account("one").unwrap().counts.all, 0);
    assert_eq!(house.table(&id).unwrap().round.status(), Status::Aborted);
}

#[test]
fn a_game_played_before_is_not_rated_again_where_the_house_says_so() {
    let strict = ServerRules {
        repeats_do_not_count: true,
        ..ServerRules::default()
    };
    for (rules, counted) in [(ServerRules::default(), true), (strict, false)] {
        let mut house = house(rules);
        let first = start(&mut house);
        play(&mut house, &first, EXPLOSION);
        let second = start(&mut house);
        play(&mut house, &second, EXPLOSION);
        assert!(diffs(&house, &first).is_some());
        assert_eq!(diffs(&house, &second).is_some(), counted);
        let third = start(&mut house);
        play(&mut house, &third, "g1f3 h7h6 f3g5 a7a6 g5f7");
        assert!(diffs(&house, &third).is_some(), "another opening counts");
    }
}

#[test]
fn a_challenge_goes_offline_without_a_word_and_is_forgotten_in_the_end() {
    let mut house = house(ServerRules::default());
    let id = house.challenge("one", "two", wish(false), START).unwrap();
    house.take_outbox();
    let timing = Timing::default();
    assert_eq!(house.next_due(), Some(START + timing.challenge_offline));
    house.tick(START + timing.challenge_offline);
    assert_eq!(
        house.pending(&id).unwrap().standing,
        ChallengeState::Offline
    );
    assert!(house.take_outbox().is_empty());
    house.tick(START + timing.challenge_lifetime);
    assert!(house.pending(&id).is_none());
}

#[test]
fn of_challenges_that_came_to_nothing_only_the_latest_are_kept() {
    let mut house = house(ServerRules::default());
    house
        .open_account("Three", AccountKind::Bot, START)
        .unwrap();
    let waiting = house.challenge("three", "two", wish(false), START).unwrap();
    let mut last = String::new();
    for _ in 0..3 * KEPT_CLOSED {
        last = house.challenge("one", "two", wish(false), START).unwrap();
        house.cancel("one", &last, START).unwrap();
        house.take_outbox();
    }
    assert_eq!(house.challenges.len(), KEPT_CLOSED + 1);
    assert_eq!(
        house.pending(&last).unwrap().standing,
        ChallengeState::Canceled
    );
    assert_eq!(
        house.pending(&waiting).unwrap().standing,
        ChallengeState::Created
    );
}

#[test]
fn a_kept_challenge_stays_alive() {
    let mut house = house(ServerRules::default());
    let id = house.challenge("one", "two", wish(false), START).unwrap();
    house.keep_challenge(&id);
    let later = START + Timing::default().challenge_offline * 3;
    house.tick(later);
    assert_eq!(
        house.pending(&id).unwrap().standing,
        ChallengeState::Created
    );
    house.let_go_of_challenge(&id, later);
    house.tick(later + Timing::default().challenge_offline);
    assert_eq!(
        house.pending(&id).unwrap().standing,
        ChallengeState::Offline
    );
}

#[test]
fn a_bot_is_online_while_its_stream_is_open_and_a_little_longer() {
    let mut house = house(ServerRules::default());
    house.grant("lip_one", "one", &["bot:play"]);
    assert!(!house.is_online("one", START));
    house.open_event_stream("lip_one", START).unwrap();
    assert!(house.is_online("one", START));
    house.close_event_stream("one", START);
    let grace = Timing::default().online_grace;
    assert!(house.is_online("one", Millis(START.0 + 1)));
    assert!(!house.is_online("one", START + grace));
}

#[test]
fn flags_fall_by_the_house_s_own_clock() {
    let mut house = house(ServerRules::default());
    let id = start(&mut house);
    play(&mut house, &id, "e2e4 e7e5");
    for side in Color::ALL {
        house.arrive(&id, side, START);
    }
    let due = house.next_due().unwrap();
    assert_eq!(due, Millis(START.0 + 180_100));
    house.tick(due);
    assert_eq!(house.table(&id).unwrap().round.status(), Status::Outoftime);
}

#[test]
fn only_so_many_finished_games_are_kept() {
    let mut house = house(ServerRules::default());
    let first = start(&mut house);
    play(&mut house, &first, EXPLOSION);
    for _ in 0..100 {
        let id = start(&mut house);
        play(&mut house, &id, EXPLOSION);
    }
    assert!(house.table(&first).is_none());
    assert!(house.pending(&first).is_none());
}

#[test]
fn names_that_lichess_would_not_take_are_refused() {
    let mut house = house(ServerRules::default());
    for name in ["", "a", "with space", "ünï", &"x".repeat(31)] {
        assert_eq!(
            house.open_account(name, AccountKind::Bot, START),
            None,
            "{name}"
        );
    }
}

#[test]
fn credits_are_spent_by_whoever_challenges_and_come_back_with_the_window() {
    let rules = ServerRules {
        challenge_credits: Some([7, 10]),
        ..ServerRules::default()
    };
    let mut house = house(rules);
    house
        .open_account("Person", AccountKind::Human, START)
        .unwrap();
    let mut ask = |dest: &str, seconds: u64| {
        let now = Millis(START.0 + seconds * 1000);
        house.challenge("one", dest, wish(false), now)
    };
    assert!(ask("person", 0).is_ok(), "5 of the minute's 7");
    let denial = ask("person", 1).unwrap_err();
    assert_eq!(denial.status, 429);
    assert_eq!(denial.body.get("ratelimit"), None);
    assert!(ask("two", 2).is_ok() && ask("two", 3).is_ok());
    assert!(ask("two", 4).is_err(), "the minute's are gone");
    assert!(ask("two", 61).is_ok() && ask("two", 62).is_ok());
    assert!(ask("two", 63).is_ok(), "ten of the day's ten");
    assert!(ask("two", 3600).is_err(), "the day's are gone");
    assert!(ask("two", 86_400).is_ok());
}
