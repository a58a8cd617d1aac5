//! The server state in virtual time, without a socket.

use std::time::Duration;

use serde_json::Value;

use super::server_state::KEPT_CLOSED;
use super::*;
use crate::practice::account::AccountKind;
use crate::practice::arena::{ArenaPlan, EntryRequest};
use crate::practice::challenge::{ChallengeRequest, ChallengeState};
use crate::practice::game_settings::{ColorWish, GameSettings, Status, TimeControl};
use crate::practice::time::{Millis, Timing};
use crate::practice::wire::Variant;
use crate::rules::Color;

const START: Millis = Millis(1_000_000);

fn state(rules: ServerRules) -> ServerState {
    let mut state = ServerState::new("http://x".to_owned(), Timing::default(), rules, 7);
    for name in ["One", "Two"] {
        state.open_account(name, AccountKind::Bot, START).unwrap();
    }
    state
}

fn request(rated: bool) -> ChallengeRequest {
    ChallengeRequest {
        settings: GameSettings {
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

fn start(state: &mut ServerState) -> String {
    let id = state.challenge("one", "two", request(true), START).unwrap();
    state.accept("two", &id, START).unwrap();
    id
}

/// Plays moves from White's first; returns the outgoing events.
fn play(state: &mut ServerState, id: &str, moves: &str) -> Vec<OutgoingEvent> {
    state.take_outbox();
    for (ply, uci) in moves.split(' ').enumerate() {
        let user = if ply % 2 == 0 { "one" } else { "two" };
        state
            .act(user, id, START, |game, side| {
                game.play(side, uci, false, START)
            })
            .unwrap();
    }
    state.take_outbox()
}

const EXPLOSION: &str = "g1f3 a7a6 f3g5 a6a5 g5f7";

fn diffs(state: &ServerState, id: &str) -> Option<[i32; 2]> {
    state.entry(id).unwrap().game.rating_diffs
}

#[test]
fn the_last_state_goes_out_before_the_end_of_the_stream_and_the_finish() {
    let mut state = state(ServerRules::default());
    let id = start(&mut state);
    let out = play(&mut state, &id, EXPLOSION);
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
    let mut state = state(ServerRules::default());
    let id = start(&mut state);
    assert_eq!(state.account("one").unwrap().counts.playing, 1);
    play(&mut state, &id, EXPLOSION);
    let (one, two) = (state.account("one").unwrap(), state.account("two").unwrap());
    assert_eq!(
        (one.counts.win, one.counts.playing, one.counts.all),
        (1, 0, 1)
    );
    assert_eq!((two.counts.loss, two.counts.rated), (1, 1));
    assert!(one.rating.shown() > two.rating.shown());
}

#[test]
fn an_aborted_game_counts_for_nothing() {
    let mut state = state(ServerRules::default());
    let id = start(&mut state);
    state
        .act("two", &id, START, |game, side| game.abort(side, START))
        .unwrap();
    assert_eq!(diffs(&state, &id), None);
    assert_eq!(state.account("one").unwrap().counts.all, 0);
    assert_eq!(state.entry(&id).unwrap().game.status(), Status::Aborted);
}

#[test]
fn a_repeated_game_is_not_rated_if_the_server_says_so() {
    let strict = ServerRules {
        repeats_do_not_count: true,
        ..ServerRules::default()
    };
    for (rules, counted) in [(ServerRules::default(), true), (strict, false)] {
        let mut state = state(rules);
        let first = start(&mut state);
        play(&mut state, &first, EXPLOSION);
        let second = start(&mut state);
        play(&mut state, &second, EXPLOSION);
        assert!(diffs(&state, &first).is_some());
        assert_eq!(diffs(&state, &second).is_some(), counted);
        let third = start(&mut state);
        play(&mut state, &third, "g1f3 h7h6 f3g5 a7a6 g5f7");
        assert!(diffs(&state, &third).is_some(), "another opening counts");
    }
}

#[test]
fn a_challenge_goes_offline_silently_and_is_forgotten_later() {
    let mut state = state(ServerRules::default());
    let id = state
        .challenge("one", "two", request(false), START)
        .unwrap();
    state.take_outbox();
    let timing = Timing::default();
    assert_eq!(state.next_due(), Some(START + timing.challenge_offline));
    state.tick(START + timing.challenge_offline);
    assert_eq!(state.pending(&id).unwrap().status, ChallengeState::Offline);
    assert!(state.take_outbox().is_empty());
    state.tick(START + timing.challenge_lifetime);
    assert!(state.pending(&id).is_none());
}

#[test]
fn a_challenge_without_a_clock_stays_open_for_two_weeks() {
    let two_weeks = 14 * 86_400;
    for time in [
        TimeControl::Correspondence { days: 2 },
        TimeControl::Unlimited,
    ] {
        let mut state = state(ServerRules::default());
        let mut request = request(false);
        request.settings.time = time;
        let id = state.challenge("one", "two", request, START).unwrap();
        assert_eq!(state.next_due(), None);
        let late = START + Duration::from_secs(two_weeks - 1);
        state.tick(late);
        assert_eq!(state.challenges_of("two", late).0.len(), 1);
        assert_eq!(state.pending(&id).unwrap().status, ChallengeState::Created);
        state.tick(START + Duration::from_secs(two_weeks));
        assert!(state.pending(&id).is_none());
    }
}

#[test]
fn only_the_latest_dead_challenges_are_kept() {
    let mut state = state(ServerRules::default());
    state
        .open_account("Three", AccountKind::Bot, START)
        .unwrap();
    let waiting = state
        .challenge("three", "two", request(false), START)
        .unwrap();
    let mut last = String::new();
    for _ in 0..3 * KEPT_CLOSED {
        last = state
            .challenge("one", "two", request(false), START)
            .unwrap();
        state.cancel("one", &last, START).unwrap();
        state.take_outbox();
    }
    assert_eq!(state.challenges.len(), KEPT_CLOSED + 1);
    assert_eq!(
        state.pending(&last).unwrap().status,
        ChallengeState::Canceled
    );
    assert_eq!(
        state.pending(&waiting).unwrap().status,
        ChallengeState::Created
    );
}

#[test]
fn a_kept_challenge_stays_alive() {
    let mut state = state(ServerRules::default());
    let id = state
        .challenge("one", "two", request(false), START)
        .unwrap();
    state.keep_challenge(&id);
    let later = START + Timing::default().challenge_offline * 3;
    state.tick(later);
    assert_eq!(state.pending(&id).unwrap().status, ChallengeState::Created);
    state.release_challenge(&id, later);
    state.tick(later + Timing::default().challenge_offline);
    assert_eq!(state.pending(&id).unwrap().status, ChallengeState::Offline);
}

#[test]
fn a_bot_is_online_while_its_stream_is_open_and_a_little_longer() {
    let mut state = state(ServerRules::default());
    state.grant("lip_one", "one", &["bot:play"]);
    assert!(!state.is_online("one", START));
    state.open_event_stream("lip_one", START).unwrap();
    assert!(state.is_online("one", START));
    state.close_event_stream("one", START);
    let grace = Timing::default().online_grace;
    assert!(state.is_online("one", Millis(START.0 + 1)));
    assert!(!state.is_online("one", START + grace));
}

#[test]
fn flags_fall_by_the_servers_clock() {
    let mut state = state(ServerRules::default());
    let id = start(&mut state);
    play(&mut state, &id, "e2e4 e7e5");
    for side in Color::ALL {
        state.arrive(&id, side, START);
    }
    let due = state.next_due().unwrap();
    assert_eq!(due, Millis(START.0 + 180_100));
    state.tick(due);
    assert_eq!(state.entry(&id).unwrap().game.status(), Status::Outoftime);
}

#[test]
fn only_so_many_finished_games_are_kept() {
    let mut state = state(ServerRules::default());
    let first = start(&mut state);
    play(&mut state, &first, EXPLOSION);
    for _ in 0..100 {
        let id = start(&mut state);
        play(&mut state, &id, EXPLOSION);
    }
    assert!(state.entry(&first).is_none());
    assert!(state.pending(&first).is_none());
}

#[test]
fn invalid_account_names_are_rejected() {
    let mut state = state(ServerRules::default());
    for name in ["", "a", "with space", "ünï", &"x".repeat(31)] {
        assert_eq!(
            state.open_account(name, AccountKind::Bot, START),
            None,
            "{name}"
        );
    }
}

/// Pairs the two bots in an arena.
fn pair(state: &mut ServerState) {
    let before = state.running().count();
    let arena = state.open_arena(ArenaPlan::default(), START).unwrap();
    // It begins.
    state.tick(START);
    let here = EntryRequest {
        pair_me: true,
        ..EntryRequest::default()
    };
    for user in ["one", "two"] {
        state.join_arena(user, &arena, &here, START).unwrap();
    }
    for _ in 0..10 {
        let due = state.next_due().unwrap();
        state.tick(due);
        if state.running().count() > before {
            return;
        }
    }
    panic!("no pairing");
}

#[test]
fn a_pairing_counts_as_a_game_between_bots_and_is_never_refused() {
    let rules = ServerRules {
        bot_games_a_day: Some(1),
        ..ServerRules::default()
    };
    let mut paired = state(rules);
    pair(&mut paired);
    let refused = paired.challenge("one", "two", request(false), START);
    assert_eq!(refused.unwrap_err().status, 429);
    let mut spent = state(rules);
    start(&mut spent);
    pair(&mut spent);
}

#[test]
fn a_first_join_is_charged_before_its_conditions_are_checked() {
    let mut state = state(ServerRules::default());
    let open = |state: &mut ServerState, password: Option<&str>| {
        let plan = ArenaPlan {
            minutes: 120,
            password: password.map(str::to_owned),
            ..ArenaPlan::default()
        };
        state.open_arena(plan, START).unwrap()
    };
    let (closed, other) = (open(&mut state, Some("sesame")), open(&mut state, None));
    let mut join = |arena: &str, seconds: u64| {
        let now = START + Duration::from_secs(seconds);
        let joined = state.join_arena("one", arena, &EntryRequest::default(), now);
        joined.map_err(|error| error.body["error"].clone())
    };
    for second in 0..4 {
        assert_eq!(join(&closed, second).unwrap_err(), "Wrong entry code");
    }
    let too_many = "You are joining too many tournaments";
    assert_eq!(join(&other, 4).unwrap_err(), too_many);
    assert_eq!(join(&other, 3600), Ok(()));
    for second in 3601..3610 {
        assert_eq!(join(&other, second), Ok(()), "it is in");
    }
}

#[test]
fn challenges_spend_credits_that_return_with_the_window() {
    let rules = ServerRules {
        challenge_credits: Some([7, 10]),
        ..ServerRules::default()
    };
    let mut state = state(rules);
    state
        .open_account("Person", AccountKind::Human, START)
        .unwrap();
    let mut ask = |dest: &str, seconds: u64| {
        let now = Millis(START.0 + seconds * 1000);
        state.challenge("one", dest, request(false), now)
    };
    assert!(ask("person", 0).is_ok(), "5 of the minute's 7");
    let error = ask("person", 1).unwrap_err();
    assert_eq!(error.status, 429);
    assert_eq!(error.body.get("ratelimit"), None);
    assert!(ask("two", 2).is_ok() && ask("two", 3).is_ok());
    assert!(ask("two", 4).is_err(), "the minute's are gone");
    assert!(ask("two", 61).is_ok() && ask("two", 62).is_ok());
    assert!(ask("two", 63).is_ok(), "ten of the day's ten");
    assert!(ask("two", 3600).is_err(), "the day's are gone");
    assert!(ask("two", 86_400).is_ok());
}
