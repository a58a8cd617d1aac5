//! Challenges and games at the account state, event by event.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::bot::game::CallOutcome;
use megaton::bot::{AcceptOutcome, AccountEffect, AccountEvent, NotCreated, PlayerLists};
use megaton::config;
use megaton::lichess::{
    Challenge, ChallengeId, Compat, Event, GameId, GameInfo, JoinOptions, Presence, Speed, Status,
    UserId,
};

use crate::challenges::{bot, challenge, game, player};
use crate::fixture::{Fixture, SECOND, Wanted, accept, later, me, play};
use crate::harness::ME;

#[test]
fn an_accepted_challenge_holds_a_slot_until_its_game_takes_it_over() {
    let mut fixture = Fixture::new(1);
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        accept("c1")
    );
    assert_eq!(fixture.challenged(challenge("c2", player("b"))), []);
    assert_eq!(fixture.wait(5), later("c2"));
    fixture.answered("c1", AcceptOutcome::Done);
    assert_eq!(fixture.started(game("c1", player("a"))), play("c1"));
    assert_eq!(fixture.account.taken(), 1);
    fixture.left("c1");
    assert_eq!(
        fixture.challenged(challenge("c3", player("b"))),
        accept("c3")
    );
}

#[test]
fn a_game_is_started_exactly_once_however_often_it_is_announced() {
    let mut fixture = Fixture::new(2);
    assert_eq!(fixture.started(game("g1", player("a"))).len(), 1);
    for _ in 0..5 {
        assert_eq!(fixture.started(game("g1", player("a"))), []);
    }
    let listed = vec![game("g1", player("a"))];
    assert_eq!(fixture.apply(&AccountEvent::Running(listed)), []);
}

#[test]
fn finished_and_foreign_games_start_nothing() {
    let mut fixture = Fixture::new(2);
    let mut over = game("g1", player("a"));
    over.status = Some(Status::Mate);
    assert_eq!(fixture.started(over), []);
    let mut board_only = game("g2", player("a"));
    board_only.compat = Some(Compat {
        bot: false,
        board: true,
    });
    assert_eq!(fixture.started(board_only), []);
    assert!(fixture.account.is_empty());
}

#[test]
fn an_accepted_challenge_without_a_game_expires_after_a_look_at_the_list() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    fixture.answered("c1", AcceptOutcome::Done);
    assert_eq!(fixture.wait(29), []);
    assert_eq!(fixture.wait(2), [Wanted::List]);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert!(fixture.account.is_empty());
    // A game that begins after all is played all the same.
    assert_eq!(fixture.started(game("c1", player("a"))).len(), 1);
}

#[test]
fn no_one_is_challenged_before_the_running_games_are_known() {
    let mut fixture = Fixture::new(2);
    let series = fixture
        .account
        .challenge("near", Some("3+2"), None, None, 3)
        .map_err(|error| error.to_string());
    assert_eq!(series, Ok(()));
    let looks_up = |fixture: &mut Fixture, event: &AccountEvent| {
        let effects = fixture.account.handle(event, fixture.now);
        let is_lookup = |effect: &AccountEffect| matches!(effect, AccountEffect::LookUp(_));
        effects.iter().any(is_lookup)
    };
    for event in [
        AccountEvent::Tick,
        AccountEvent::Opened,
        AccountEvent::NoList,
    ] {
        assert!(!looks_up(&mut fixture, &event), "{event:?}");
    }
    // The game of the series that began before a restart.
    let listed = AccountEvent::Running(vec![game("g1", player("near"))]);
    assert!(!looks_up(&mut fixture, &listed));
    let over = AccountEvent::Left {
        game: GameId::new("g1"),
        seen: true,
    };
    assert!(looks_up(&mut fixture, &over));
}

#[test]
fn a_program_that_takes_over_leaves_on_record_what_commands_asked_for() {
    let mut fixture = Fixture::with(|settings| {
        settings.arena.ids = vec!["config12".parse().expect("an id")];
    })
    .settled();
    let account = &mut fixture.account;
    for user in ["near", "far"] {
        assert!(account.challenge(user, Some("3+2"), None, None, 1).is_ok());
    }
    for (id, password) in [("aBcD1234", Some("boom")), ("eFgH5678", None)] {
        let entrance = JoinOptions {
            password: password.map(str::to_owned),
            ..JoinOptions::default()
        };
        assert!(account.join_arena(id, entrance, fixture.now).is_some());
    }
    let expected = [
        "challenge near: not sent, no new games accepted",
        "challenge far: not sent, no new games accepted",
        "join aBcD1234: the program that takes over does not know the password, join again",
    ];
    let expected = expected.map(|text| AccountEffect::Note(text.to_owned()));
    assert_eq!(account.hand_over(), expected);
}

#[test]
fn a_restart_joins_the_arenas_of_commands_and_none_that_was_left() {
    let mut fixture = Fixture::new(1).settled();
    let account = &mut fixture.account;
    let entrance = JoinOptions {
        password: Some("boom".to_owned()),
        ..JoinOptions::default()
    };
    account.join_arena("aBcD1234", entrance, fixture.now);
    account.join_arena("eFgH5678", JoinOptions::default(), fixture.now);
    account.leave_arena("eFgH5678");
    let note = fixture.state.note("arenas").expect("a note");
    assert_eq!(note, "+aBcD1234 -eFgH5678", "never the password");
    let again = fixture.account.restarted(&me(), SECOND, BTreeSet::new());
    assert_eq!(again.arenas.describe(), ["aBcD1234: being checked"]);
    assert_eq!(again.arenas.note(), Some(note));
}

/// A challenge of the bot, as the server describes it.
fn ours(id: &str, to: &str) -> Challenge {
    Challenge {
        dest_user: Some(player(to)),
        ..challenge(id, bot(ME))
    }
}

/// Makes the bot send a challenge to "near".
fn ask_near(fixture: &mut Fixture) {
    let account = &mut fixture.account;
    let asked = account.challenge("near", Some("3+2"), None, None, 1);
    assert!(asked.is_ok());
    account.handle(&AccountEvent::Tick, fixture.now);
    let seen = Presence {
        id: UserId::new("near"),
        title: None,
        online: true,
        playing: false,
    };
    let effects = account.handle(&AccountEvent::UsersSeen(vec![seen]), fixture.now);
    assert!(matches!(effects[..], [AccountEffect::Create(_)]));
}

#[test]
fn no_command_challenges_an_account_that_is_never_to_be_challenged() {
    let mut fixture = Fixture::new(2).settled();
    ask_near(&mut fixture);
    let rules = config::Challenge {
        block: vec!["near".parse().expect("a name")],
        ..config::Challenge::default()
    };
    let account = &mut fixture.account;
    let lists = Arc::new(PlayerLists::named(&rules));
    account.handle(&AccountEvent::Lists(lists), fixture.now);
    for refused in [
        account.challenge("Near", None, None, None, 1),
        account.challenge("Near", None, None, None, 2),
        account.rechallenge().map(drop),
    ] {
        let why = refused.expect_err("it is blocked").to_string();
        assert!(why.starts_with("near is never challenged"), "{why}");
        assert!(why.ends_with("(near)"), "{why}");
    }
    assert!(account.challenge("Far", None, None, None, 1).is_ok());
}

#[test]
fn a_command_for_a_rated_game_is_never_obeyed_with_a_casual_one() {
    let mut fixture = Fixture::new(2).settled();
    let account = &mut fixture.account;
    let days = Some("2d");
    let refused = account.challenge("Near", days, Some(true), None, 1);
    let why = refused.expect_err("never rated").to_string();
    assert!(why.contains("leave out --rated"), "{why}");
    for rated in [None, Some(false)] {
        assert!(account.challenge("Near", days, rated, None, 1).is_ok());
    }
}

/// A bot whose challenge to "near" began a game before the server's answer came.
fn begun_before_the_answer(fixture: Fixture) -> Fixture {
    let mut fixture = fixture.settled();
    ask_near(&mut fixture);
    assert_eq!(fixture.started(game("g1", player("near"))), play("g1"));
    fixture
}

#[test]
fn a_game_announced_again_and_one_of_an_arena_answer_no_challenge() {
    for arena in [false, true] {
        let mut fixture = Fixture::new(4).settled();
        let mut other = game("g1", player("near"));
        if arena {
            other.tournament = Some("arena1".into());
        } else {
            fixture.started(other.clone());
        }
        ask_near(&mut fixture);
        fixture.started(other);
        let created = AccountEvent::Created(Box::new(ours("c1", "near")));
        assert_eq!(fixture.apply(&created), [], "arena: {arena}");
        assert!(fixture.account.has_outgoing());
        assert_eq!(fixture.started(game("c1", player("near"))), play("c1"));
        assert!(!fixture.account.has_outgoing());
    }
}

/// Whether the bot fetches its open challenges once it knows the running games.
fn looks_for_its_challenges(fixture: &mut Fixture) -> bool {
    let running = AccountEvent::Running(Vec::new());
    let effects = fixture.account.handle(&running, fixture.now);
    effects.contains(&AccountEffect::ListOutgoing)
}

#[test]
fn what_an_earlier_run_left_open_is_withdrawn_after_a_start_and_not_later() {
    let open = || AccountEvent::Outgoing(Some(vec![ours("o1", "near"), ours("o2", "far")]));
    let mut fixture = Fixture::new(4).settled();
    assert_eq!(fixture.apply(&AccountEvent::Outgoing(None)), []);
    assert!(looks_for_its_challenges(&mut fixture));
    // A challenge of this run is on its way, and its id is not known yet.
    ask_near(&mut fixture);
    let withdrawn = [Wanted::Cancel("o2".to_owned())];
    assert_eq!(fixture.apply(&open()), withdrawn);
    assert_eq!(fixture.canceled("o2", CallOutcome::Done), []);
    assert!(fixture.account.has_outgoing());
    // Later ones were made by hand.
    assert!(!looks_for_its_challenges(&mut fixture));
    assert_eq!(fixture.apply(&open()), []);
    // The event loop begins anew, and with it all that is known.
    fixture.account = fixture.account.restarted(&me(), SECOND, BTreeSet::new());
    assert!(looks_for_its_challenges(&mut fixture));
    let withdrawn = ["o1", "o2"].map(|id| Wanted::Cancel(id.to_owned()));
    assert_eq!(fixture.apply(&open()), withdrawn);
}

#[test]
fn a_game_that_begins_before_the_answer_takes_one_slot() {
    let ours = |id| AccountEvent::Created(Box::new(ours(id, "near")));
    let lost = || AccountEvent::NotCreated(NotCreated::Lost);
    for answer in [ours("g1"), lost()] {
        let mut fixture = begun_before_the_answer(Fixture::new(2));
        assert_eq!(fixture.apply(&answer), [], "{answer:?}");
        assert_eq!(fixture.account.taken(), 1, "{answer:?}");
        assert!(!fixture.account.has_outgoing(), "{answer:?}");
    }
    // The game was another one: what was created after all is withdrawn.
    let mut fixture = begun_before_the_answer(Fixture::new(2));
    let withdrawn = [Wanted::Cancel("c1".to_owned())];
    assert_eq!(fixture.apply(&ours("c1")), withdrawn);
    fixture.canceled("c1", CallOutcome::Done);
    assert_eq!(fixture.account.taken(), 1);
}

#[test]
fn a_challenge_recalled_while_its_answer_is_lost_is_withdrawn_once_it_is_found() {
    let open = || Box::new(ours("c1", "near"));
    let echo = Event::Challenge {
        challenge: open(),
        compat: None,
    };
    for found in [
        AccountEvent::Event(echo),
        AccountEvent::Outgoing(Some(vec![*open()])),
    ] {
        let mut fixture = Fixture::new(2).settled();
        ask_near(&mut fixture);
        fixture.apply(&AccountEvent::NotCreated(NotCreated::Lost));
        fixture.account.recall(true, fixture.now);
        let withdrawn = [Wanted::Cancel("c1".to_owned())];
        assert_eq!(fixture.apply(&found), withdrawn, "{found:?}");
        fixture.canceled("c1", CallOutcome::Done);
        assert!(!fixture.account.has_outgoing());
    }
}

#[test]
fn a_challenge_whose_game_has_begun_makes_room_for_no_other() {
    let fixture = Fixture::with(|settings| {
        settings.challenge.concurrency = 1;
        settings.challenge.queue = Duration::ZERO;
    });
    let mut fixture = begun_before_the_answer(fixture);
    assert!(fixture.account.has_outgoing());
    let declined = fixture.challenged(challenge("h1", player("a")));
    assert_eq!(declined, later("h1"));
}

#[test]
fn the_rating_survives_a_restart_of_the_event_loop() {
    let mut fixture = Fixture::new(1);
    let mut finished = game("g1", player("a"));
    finished.rating = Some(1600);
    finished.rating_diff = Some(7);
    fixture.apply(&AccountEvent::Event(Event::GameFinish(Box::new(finished))));
    assert_eq!(fixture.account.rating(), Some(1607));
    let restarted = fixture.account.restarted(&me(), SECOND, BTreeSet::new());
    assert_eq!(restarted.rating(), Some(1607));
}

#[test]
fn a_shutdown_waits_for_games_whose_list_failed_after_a_restart_of_the_event_loop() {
    let mut slow = game("g2", player("b"));
    slow.speed = Speed::Correspondence;
    slow.is_my_turn = true;
    let mut fixture = Fixture::new(3);
    assert_eq!(fixture.started(game("g1", player("a"))), play("g1"));
    assert_eq!(fixture.started(slow), play("g2"));
    // The event loop panicked on the end of this one.
    fixture.started(game("g3", player("c")));
    fixture.apply(&AccountEvent::Drain);
    let running = ["g1", "g2"].map(GameId::new);
    fixture.account = fixture
        .account
        .restarted(&me(), SECOND, BTreeSet::from(running.clone()));
    fixture.apply(&AccountEvent::Away);
    fixture.apply(&AccountEvent::NoList);
    assert!(fixture.account.is_draining() && !fixture.account.is_empty());
    fixture.left("g1");
    assert!(!fixture.account.is_empty());
    let [_, slow] = running;
    fixture.apply(&AccountEvent::LeftCorrespondence(slow));
    assert!(fixture.account.is_empty());
}

/// A game of the bot that began at this rating, or ended with this change of it.
fn rated(id: &str, rating: i32, diff: Option<i32>) -> GameInfo {
    let mut rated = game(id, player("a"));
    (rated.rating, rated.rating_diff) = (Some(rating), diff);
    rated
}

#[test]
fn each_of_two_games_at_once_changes_the_rating_that_the_other_left() {
    for is_left in [false, true] {
        let mut fixture = Fixture::new(2);
        for id in ["g1", "g2"] {
            fixture.started(rated(id, 1600, None));
        }
        for (id, diff) in [("g1", 7), ("g2", 8)] {
            if is_left {
                // Its own stream says first that it is over.
                fixture.left(id);
            }
            fixture.ended(rated(id, 1600, Some(diff)));
        }
        assert_eq!(fixture.account.rating(), Some(1615), "left: {is_left}");
    }
}

#[test]
fn a_game_announced_again_does_not_take_the_rating_back_to_its_start() {
    let mut fixture = Fixture::new(3);
    for id in ["g1", "g2"] {
        fixture.started(rated(id, 1600, None));
    }
    fixture.ended(rated("g1", 1600, Some(7)));
    // The stream opens again.
    fixture.started(rated("g2", 1600, None));
    assert_eq!(fixture.account.rating(), Some(1607));
    // One from before the start of the bot, and one that waits for days.
    let mut older = rated("g3", 1500, None);
    older.has_moved = true;
    fixture.started(older);
    let mut slow = rated("g4", 1400, None);
    slow.speed = Speed::Correspondence;
    fixture.started(slow);
    assert_eq!(fixture.account.rating(), Some(1607));
    fixture.started(rated("g5", 1610, None));
    assert_eq!(fixture.account.rating(), Some(1610));
}

#[test]
fn an_arena_game_against_a_challenger_leaves_the_challenge_its_slot() {
    let mut fixture = Fixture::new(2).settled();
    fixture.challenged(challenge("c1", player("a")));
    let mut paired = game("g1", player("a"));
    paired.tournament = Some("arena1".into());
    assert_eq!(fixture.started(paired), play("g1"));
    // With the challenge's slot taken over by the arena game, nothing would be left for its own game.
    fixture.challenged(challenge("c2", player("b")));
    assert_eq!(fixture.started(game("c1", player("a"))), play("c1"));
    assert_eq!(open(&fixture), ["c1", "g1"]);
}

#[test]
fn a_rematch_may_begin_under_another_id() {
    let mut fixture = Fixture::new(2);
    let mut rematch = challenge("r1", player("a"));
    rematch.rematch_of = Some(GameId::new("old"));
    fixture.challenged(rematch);
    assert_eq!(fixture.started(game("other", player("a"))).len(), 1);
    assert_eq!(
        fixture.account.taken(),
        1,
        "the accepted challenge became the game"
    );
}

#[test]
fn an_excess_game_is_played() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    assert_eq!(fixture.started(game("g2", player("b"))).len(), 1);
    assert_eq!(fixture.challenged(challenge("c1", player("c"))), []);
    assert_eq!(
        fixture.left("g1"),
        [],
        "one game too many is over, no slot is free"
    );
    assert_eq!(fixture.wait(5), later("c1"));
}

#[test]
fn a_challenge_that_comes_before_the_end_of_a_game_is_seen_gets_its_slot() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    assert_eq!(fixture.challenged(challenge("c1", player("b"))), []);
    assert_eq!(fixture.challenged(challenge("c1", player("b"))), []);
    assert_eq!(fixture.challenged(challenge("c2", player("c"))), []);
    fixture.wait(3);
    assert_eq!(fixture.left("g1"), accept("c1"), "first come, first served");
    assert_eq!(fixture.account.taken(), 1);
    assert_eq!(
        fixture.wait(3),
        later("c2"),
        "and no challenger waits for long"
    );
}

#[test]
fn a_queued_challenge_that_is_withdrawn_is_dropped() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    let asked = challenge("c1", player("b"));
    fixture.challenged(asked.clone());
    fixture.apply(&AccountEvent::Event(Event::ChallengeCanceled(Box::new(
        asked,
    ))));
    assert_eq!(fixture.left("g1"), []);
}

#[test]
fn a_crowd_is_declined_at_once_when_every_slot_is_taken() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    let ids: Vec<_> = (1..=9).map(|n| format!("c{n}")).collect();
    for id in &ids[..8] {
        assert_eq!(fixture.challenged(challenge(id, player("b"))), []);
    }
    assert_eq!(
        fixture.challenged(challenge("c9", player("b"))),
        later("c9")
    );
}

#[test]
fn queued_challenges_are_declined_when_the_bot_closes() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    fixture.challenged(challenge("c1", player("b")));
    assert_eq!(fixture.apply(&AccountEvent::Drain), later("c1"));
}

#[test]
fn a_withdrawn_challenge_frees_its_slot() {
    let mut fixture = Fixture::new(1);
    let asked = challenge("c1", player("a"));
    fixture.challenged(asked.clone());
    fixture.apply(&AccountEvent::Event(Event::ChallengeCanceled(Box::new(
        asked,
    ))));
    assert!(fixture.account.is_empty());
}

#[test]
fn an_accept_ends_in_a_slot_or_in_none_whatever_the_answer() {
    for answer in [
        AcceptOutcome::Refused,
        AcceptOutcome::Gone,
        AcceptOutcome::Limited(None),
        AcceptOutcome::OurDay,
        AcceptOutcome::TheirDay,
    ] {
        let mut fixture = Fixture::new(1);
        fixture.challenged(challenge("c1", player("a")));
        fixture.answered("c1", answer);
        assert!(fixture.account.is_empty());
    }
}

#[test]
fn a_lost_accept_is_repeated_a_few_times() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    for _ in 0..6 {
        fixture.answered("c1", AcceptOutcome::Lost);
        assert_eq!(fixture.wait(2), accept("c1"));
    }
    assert_eq!(
        fixture.answered("c1", AcceptOutcome::Lost),
        [Wanted::List],
        "one of them may have arrived"
    );
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert!(fixture.account.is_empty());
}

#[test]
fn a_challenge_whose_accept_may_have_arrived_keeps_its_slot_until_the_list() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    fixture.answered("c1", AcceptOutcome::Lost);
    fixture.wait(2);
    // The first call arrived: the challenge is gone because its game has begun.
    fixture.answered("c1", AcceptOutcome::Gone);
    assert_eq!(fixture.challenged(challenge("c2", player("b"))), []);
    assert_eq!(fixture.started(game("c1", player("a"))), play("c1"));
    assert_eq!(fixture.account.taken(), 1);
    assert_eq!(fixture.wait(6), later("c2"));
    // There is no game: neither the list's answer nor its failure holds the slot.
    for listed in [AccountEvent::Running(Vec::new()), AccountEvent::NoList] {
        let mut fixture = Fixture::new(1);
        fixture.challenged(challenge("c1", player("a")));
        fixture.answered("c1", AcceptOutcome::Lost);
        fixture.wait(2);
        fixture.answered("c1", AcceptOutcome::Gone);
        fixture.apply(&listed);
        fixture.wait(11);
        assert!(fixture.account.is_empty(), "{listed:?}");
    }
}

#[test]
fn a_list_asked_for_before_the_accept_was_given_up_does_not_free_its_slot() {
    let mut fixture = Fixture::new(1).settled();
    assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
    fixture.challenged(challenge("c1", player("a")));
    fixture.answered("c1", AcceptOutcome::Lost);
    assert_eq!(fixture.wait(2), accept("c1"));
    // The call whose answer was lost arrived after the server had read the list.
    assert_eq!(fixture.answered("c1", AcceptOutcome::Refused), []);
    let older = fixture.apply(&AccountEvent::Running(Vec::new()));
    assert_eq!(older, [Wanted::List], "this one decides");
    assert_eq!(fixture.account.taken(), 1);
    assert_eq!(fixture.challenged(challenge("c2", player("b"))), []);
    let newer = AccountEvent::Running(vec![game("c1", player("a"))]);
    assert_eq!(fixture.apply(&newer), play("c1"));
    assert_eq!(fixture.account.taken(), 1);
}

#[test]
fn a_decline_names_whose_bot_games_are_used_up() {
    for (answer, why) in [
        (AcceptOutcome::OurDay, "bot games of the day used up"),
        (
            AcceptOutcome::TheirDay,
            "the opponent's bot games are used up",
        ),
    ] {
        let mut fixture = Fixture::new(1);
        fixture.challenged(challenge("c1", bot("nuke")));
        let id = ChallengeId::new("c1");
        let refused = AccountEvent::Accepted { id, answer };
        let effects = fixture.account.handle(&refused, Instant::now());
        let told = effects
            .iter()
            .any(|effect| matches!(effect, AccountEffect::Decline(decline) if decline.why == why));
        assert!(told, "{effects:?}");
    }
}

#[test]
fn the_days_limit_against_bots_leaves_humans_alone() {
    let mut fixture = Fixture::new(4);
    fixture.challenged(challenge("c1", bot("nuke")));
    // The call that got the refusal told the bot state.
    let wait = Duration::from_secs(27_594);
    fixture.state.bot_games_refused(Some(wait), None);
    assert_eq!(fixture.answered("c1", AcceptOutcome::OurDay), later("c1"));
    assert_eq!(
        fixture.challenged(challenge("c2", bot("fuse"))),
        later("c2")
    );
    assert_eq!(
        fixture.challenged(challenge("c3", player("a"))),
        accept("c3")
    );
    fixture.wait(27_600);
    assert_eq!(
        fixture.challenged(challenge("c4", bot("fuse"))),
        accept("c4")
    );
}

#[test]
fn a_repeated_challenge_is_answered_once() {
    let mut fixture = Fixture::new(4);
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        accept("c1")
    );
    assert_eq!(fixture.challenged(challenge("c1", player("a"))), []);
    fixture.started(game("c1", player("a")));
    assert_eq!(fixture.challenged(challenge("c1", player("a"))), []);
}

#[test]
fn a_bot_that_is_shutting_down_gives_way_to_no_other_program() {
    let mut fixture = Fixture::new(4).settled();
    assert_eq!(fixture.account.restart_obstacle(), None);
    ask_near(&mut fixture);
    let open = Some("a challenge of the bot is open");
    assert_eq!(fixture.account.restart_obstacle(), open);
    fixture.apply(&AccountEvent::Drain);
    let ends = Some("the bot is shutting down");
    assert_eq!(fixture.account.restart_obstacle(), ends);
}

#[test]
fn a_draining_account_accepts_nothing_and_plays_what_runs() {
    let mut fixture = Fixture::new(4);
    fixture.challenged(challenge("c1", player("a")));
    fixture.apply(&AccountEvent::Drain);
    assert_eq!(
        fixture.challenged(challenge("c2", player("b"))),
        later("c2")
    );
    assert!(!fixture.account.is_empty());
    assert_eq!(fixture.started(game("c1", player("a"))).len(), 1);
    fixture.left("c1");
    assert!(fixture.account.is_empty());
}

/// The games whose end is still to be counted.
fn open(fixture: &Fixture) -> Vec<String> {
    let open = fixture.state.open_games().into_iter();
    open.map(|open| open.game.to_string()).collect()
}

#[test]
fn an_accepted_game_is_looked_up_until_it_is_clear_that_it_never_began() {
    let refused = [
        AcceptOutcome::Refused,
        AcceptOutcome::Gone,
        AcceptOutcome::TheirDay,
    ];
    for answer in refused {
        let mut fixture = Fixture::new(2);
        fixture.challenged(challenge("c1", player("a")));
        assert_eq!(open(&fixture), ["c1"], "before the call goes out");
        fixture.answered("c1", answer);
        assert!(open(&fixture).is_empty());
    }
    // Withdrawn.
    let mut fixture = Fixture::new(2);
    let first = challenge("c1", player("a"));
    fixture.challenged(first.clone());
    fixture.apply(&AccountEvent::Event(Event::ChallengeCanceled(Box::new(
        first,
    ))));
    assert!(open(&fixture).is_empty());
    // Accepted, and then no game: it may have come and gone.
    fixture.challenged(challenge("c2", player("a")));
    fixture.answered("c2", AcceptOutcome::Done);
    assert!(
        fixture.account.tracks(&GameId::new("c2")),
        "it may begin yet"
    );
    fixture.wait(29);
    fixture.wait(2);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert!(!fixture.account.tracks(&GameId::new("c2")));
    assert_eq!(open(&fixture), ["c2"]);
    // Perhaps accepted by a call whose answer was lost, and over by now.
    let mut fixture = Fixture::new(2);
    fixture.challenged(challenge("c3", player("a")));
    fixture.answered("c3", AcceptOutcome::Lost);
    fixture.wait(2);
    assert_eq!(fixture.answered("c3", AcceptOutcome::Gone), [Wanted::List]);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert_eq!(open(&fixture), ["c3"]);
    // The same, when the next call is refused for a long time.
    let mut fixture = Fixture::new(2);
    fixture.challenged(challenge("c4", player("a")));
    fixture.answered("c4", AcceptOutcome::Lost);
    fixture.wait(2);
    let hour = Some(Duration::from_secs(3600));
    let given_up = fixture.answered("c4", AcceptOutcome::Limited(hour));
    assert_eq!(given_up, [vec![Wanted::List], later("c4")].concat());
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert_eq!(open(&fixture), ["c4"]);
}

#[test]
fn a_game_that_began_and_ended_unseen_is_looked_up_after_the_next_list() {
    let mut fixture = Fixture::new(2);
    fixture.challenged(challenge("c1", player("a")));
    fixture.answered("c1", AcceptOutcome::Done);
    let mut over = game("c1", player("a"));
    over.status = Some(Status::Aborted);
    fixture.apply(&AccountEvent::Event(Event::GameFinish(Box::new(over))));
    assert_eq!(open(&fixture), ["c1"]);
    assert_eq!(fixture.wait(6), [Wanted::List]);
    // A rematch under another id is one game.
    let mut fixture = Fixture::new(2);
    let mut rematch = challenge("r1", player("a"));
    rematch.rematch_of = Some(GameId::new("old"));
    fixture.challenged(rematch);
    fixture.started(game("other", player("a")));
    assert_eq!(open(&fixture), ["other"]);
}

#[test]
fn an_older_game_with_the_same_opponent_takes_no_accepted_challenge() {
    let mut fixture = Fixture::new(1).settled();
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        accept("c1")
    );
    fixture.answered("c1", AcceptOutcome::Done);
    let mut older = game("g1", player("a"));
    older.has_moved = true;
    let listed = AccountEvent::Running(vec![older]);
    assert_eq!(fixture.apply(&listed), play("g1"));
    assert_eq!(fixture.started(game("c1", player("a"))), play("c1"));
}
