//! Slots: which game gets one, what frees one, and that none is lost.

use std::time::Duration;

use megaton::bot::game::CallOutcome;
use megaton::bot::{
    AcceptOutcome, AccountEffect, AccountEvent, OpponentKind, Settings, StateRules,
};
use megaton::config;
use megaton::lichess::{
    Challenge, ChallengeId, ChallengeStatus, DeclineReason, Event, GameId, GameInfo, Player,
    Presence, Side, Speed, TimeControl, UserId, Variant,
};
use megaton::store::FinishedGame;

use crate::challenges::{bot, challenge, game, player};
use crate::fixture::{Fixture, Wanted, accept, later, play};
use crate::harness::refused;

fn fixture(slots: usize, for_humans: usize) -> Fixture {
    Fixture::with(|settings| {
        settings.challenge.concurrency = slots;
        settings.challenge.reserved_for_humans = for_humans;
    })
}

fn cancel(id: &str) -> Vec<Wanted> {
    vec![Wanted::Cancel(id.to_owned())]
}

fn abort(id: &str) -> Vec<Wanted> {
    vec![Wanted::Abort(id.to_owned())]
}

fn casual(id: &str) -> Vec<Wanted> {
    vec![Wanted::Decline(id.to_owned(), DeclineReason::Casual)]
}

fn canceled(challenge: Challenge) -> AccountEvent {
    AccountEvent::Event(Event::ChallengeCanceled(Box::new(challenge)))
}

#[test]
fn games_of_an_arena_bring_the_limit_nearer_at_which_bots_are_declined() {
    let mut fixture = fixture(10, 0);
    fixture
        .state
        .bot_games_refused(Some(Duration::ZERO), Some(4));
    // Until the server allows games again.
    fixture.wait(10);
    for id in ["a1", "a2"] {
        let mut paired = game(id, bot("rival"));
        paired.tournament = Some("arena1".into());
        assert_eq!(fixture.started(paired), play(id));
    }
    let budget = fixture.state.budget();
    assert_eq!((budget.games, budget.incoming), (4, 2));
    for id in ["b1", "b2"] {
        assert_eq!(fixture.challenged(challenge(id, bot(id))), accept(id));
    }
    assert_eq!(fixture.challenged(challenge("b3", bot("b3"))), later("b3"));
}

#[test]
fn bots_never_get_slots_reserved_for_humans_and_never_delay_humans() {
    let mut fixture = fixture(2, 1);
    assert_eq!(fixture.challenged(challenge("b1", bot("n1"))), accept("b1"));
    assert_eq!(fixture.challenged(challenge("b2", bot("n2"))), []);
    // The bot waits; a human behind it does not.
    assert_eq!(
        fixture.challenged(challenge("h1", player("a"))),
        accept("h1")
    );
    assert_eq!(fixture.wait(6), later("b2"));
    // A human may take any slot.
    fixture.apply(&canceled(challenge("b1", bot("n1"))));
    assert_eq!(
        fixture.challenged(challenge("h2", player("b"))),
        accept("h2")
    );
    assert_eq!(fixture.account.taken(), 2);
}

#[test]
fn humans_go_first_among_queued_challenges() {
    let mut fixture = fixture(1, 0);
    fixture.started(game("g1", player("x")));
    assert_eq!(fixture.challenged(challenge("b1", bot("n1"))), []);
    assert_eq!(fixture.challenged(challenge("h1", player("a"))), []);
    assert_eq!(fixture.left("g1"), accept("h1"));
    assert_eq!(fixture.account.waiting(), 1);
}

#[test]
fn a_human_takes_the_place_of_a_queued_bot_when_the_queue_is_full() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.concurrency = 1;
        settings.challenge.queue_places = 2;
    });
    fixture.started(game("g1", player("x")));
    fixture.challenged(challenge("b1", bot("n1")));
    fixture.challenged(challenge("b2", bot("n2")));
    assert_eq!(fixture.challenged(challenge("b3", bot("n3"))), later("b3"));
    assert_eq!(
        fixture.challenged(challenge("h1", player("a"))),
        later("b2")
    );
    assert_eq!(
        fixture.challenged(challenge("h2", player("b"))),
        later("b1")
    );
    assert_eq!(
        fixture.challenged(challenge("h3", player("c"))),
        later("h3")
    );
    assert_eq!(fixture.account.waiting(), 2);
}

#[test]
fn no_challenge_waits_where_the_queue_is_off() {
    for change in [
        |settings: &mut Settings| settings.challenge.queue = Duration::ZERO,
        |settings: &mut Settings| settings.challenge.queue_places = 0,
    ] {
        let mut fixture = Fixture::with(|settings| {
            settings.challenge.concurrency = 1;
            change(settings);
        });
        fixture.started(game("g1", player("x")));
        assert_eq!(
            fixture.challenged(challenge("c1", player("a"))),
            later("c1")
        );
        fixture.left("g1");
        // The bot's own challenge makes room all the same.
        assert!(fixture.hold("nuke"));
        fixture.held("o1");
        assert_eq!(
            fixture.challenged(challenge("c2", player("a"))),
            cancel("o1")
        );
        assert_eq!(fixture.canceled("o1", CallOutcome::Done), accept("c2"));
    }
}

#[test]
fn the_bots_own_challenge_holds_a_slot_and_becomes_its_game() {
    let mut fixture = fixture(2, 1);
    assert_eq!(fixture.account.spare(OpponentKind::Bot), 1);
    assert!(fixture.hold("nuke"));
    assert_eq!(fixture.account.spare(OpponentKind::Bot), 0, "one at a time");
    assert_eq!(fixture.account.taken(), 1);
    assert_eq!(fixture.held("o1"), []);
    assert_eq!(fixture.started(game("o1", bot("nuke"))), play("o1"));
    assert_eq!(
        (fixture.account.taken(), fixture.account.has_outgoing()),
        (1, false)
    );
    // The only slot that bots may have is taken.
    assert_eq!(fixture.account.spare(OpponentKind::Bot), 0);
    fixture.left("o1");
    assert!(fixture.account.is_empty());
}

#[test]
fn the_bots_own_challenge_is_withdrawn_before_another_is_accepted_in_its_slot() {
    for who in [player("a"), bot("fuse")] {
        let mut fixture = fixture(1, 0);
        assert!(fixture.hold("nuke"));
        fixture.held("o1");
        assert_eq!(fixture.challenged(challenge("c1", who)), cancel("o1"));
        assert_eq!(fixture.account.taken(), 1);
        assert_eq!(fixture.canceled("o1", CallOutcome::Done), accept("c1"));
        assert_eq!(
            (fixture.account.taken(), fixture.account.has_outgoing()),
            (1, false)
        );
    }
}

#[test]
fn the_bots_own_challenge_stays_while_there_is_another_slot() {
    let mut fixture = fixture(2, 0);
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        accept("c1")
    );
    assert!(fixture.account.has_outgoing());
    // If a bot may not have the slot, withdrawing the bot's own challenge would not help it.
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.concurrency = 2;
        settings.challenge.reserved_for_humans = 1;
    });
    fixture.started(game("g1", bot("other")));
    assert!(!fixture.hold("nuke"));
    assert_eq!(fixture.challenged(challenge("b1", bot("fuse"))), []);
}

#[test]
fn the_bots_own_challenge_is_withdrawn_as_soon_as_its_id_is_known() {
    let mut fixture = fixture(1, 0);
    assert!(fixture.hold("nuke"));
    assert_eq!(fixture.challenged(challenge("c1", player("a"))), []);
    assert_eq!(fixture.held("o1"), cancel("o1"));
    assert_eq!(fixture.canceled("o1", CallOutcome::Gone), accept("c1"));
}

#[test]
fn a_queued_challenge_gets_the_slot_of_a_challenge_that_failed() {
    let mut fixture = fixture(1, 0);
    assert!(fixture.hold("nuke"));
    fixture.challenged(challenge("c1", player("a")));
    assert_eq!(fixture.released(), accept("c1"));

    let mut fixture = Fixture::new(1);
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    fixture.challenged(challenge("c1", player("a")));
    let declined = challenge("o1", bot("me"));
    let news = AccountEvent::Event(Event::ChallengeDeclined(Box::new(declined)));
    assert_eq!(fixture.apply(&news), accept("c1"));
}

#[test]
fn a_game_that_begins_before_the_answer_with_its_id_takes_one_slot() {
    let mut fixture = fixture(2, 0);
    assert!(fixture.hold("nuke"));
    assert_eq!(fixture.started(game("o1", bot("nuke"))), play("o1"));
    assert_eq!(fixture.account.taken(), 1);
    assert_eq!(fixture.held("o1"), []);
    assert_eq!(
        (fixture.account.taken(), fixture.account.has_outgoing()),
        (1, false)
    );

    // It was another game with the same opponent: the bot's own challenge is still open.
    let mut fixture = Fixture::new(2);
    assert!(fixture.hold("nuke"));
    fixture.started(game("g1", bot("nuke")));
    assert_eq!(fixture.held("o1"), []);
    assert_eq!(
        (fixture.account.taken(), fixture.account.has_outgoing()),
        (2, true)
    );
}

#[test]
fn challenges_that_cross_become_two_games_in_either_order() {
    for order in [["o1", "c1"], ["c1", "o1"]] {
        let mut fixture = fixture(2, 0).settled();
        assert!(fixture.hold("nuke"));
        fixture.held("o1");
        let crossing = challenge("c1", bot("nuke"));
        assert_eq!(fixture.challenged(crossing), accept("c1"));
        fixture.answered("c1", AcceptOutcome::Done);
        for id in order {
            assert_eq!(fixture.started(game(id, bot("nuke"))), play(id));
        }
        let account = &fixture.account;
        assert_eq!((account.taken(), account.has_outgoing()), (2, false));
    }
}

#[test]
fn a_forgotten_challenge_of_the_bot_loses_its_slot() {
    let mut fixture = fixture(1, 0);
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    let api_queue = fixture.wait(120);
    assert!(
        api_queue.contains(&Wanted::Cancel("o1".into())),
        "{api_queue:?}"
    );
    assert!(api_queue.contains(&Wanted::List));
    assert!(fixture.account.is_empty());
    // The answer comes after the hold expired: the challenge is withdrawn.
    assert_eq!(fixture.held("o2"), cancel("o2"));
}

#[test]
fn an_accepted_challenge_whose_game_is_not_announced_is_looked_up_and_not_withdrawn() {
    let accepted = AccountEvent::ChallengeDone {
        id: ChallengeId::new("o1"),
        status: ChallengeStatus::Accepted,
    };
    let mut fixture = fixture(1, 0).settled();
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(fixture.apply(&accepted), []);
    assert_eq!(fixture.wait(6), [Wanted::List]);
    let listed = vec![game("o1", bot("nuke"))];
    assert_eq!(fixture.apply(&AccountEvent::Running(listed)), play("o1"));
    assert!(!fixture.account.has_outgoing());

    // It was announced first: no question.
    fixture.left("o1");
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(fixture.started(game("o1", bot("nuke"))), play("o1"));
    assert_eq!(fixture.apply(&accepted), []);
    assert_eq!(fixture.wait(6), []);
}

#[test]
fn a_cancellation_without_an_answer_is_repeated() {
    let mut fixture = fixture(1, 0);
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        cancel("o1")
    );
    assert_eq!(fixture.canceled("o1", CallOutcome::Lost), []);
    assert_eq!(fixture.wait(2), cancel("o1"));
    assert_eq!(fixture.canceled("o1", CallOutcome::Done), accept("c1"));
}

#[test]
fn a_challenge_accepted_before_it_could_be_withdrawn_is_played() {
    let mut fixture = fixture(1, 0).settled();
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        cancel("o1")
    );
    let answer = refused("Missing opponentToken");
    assert_eq!(fixture.canceled("o1", answer), [Wanted::List]);
    assert_eq!(fixture.started(game("o1", bot("nuke"))), play("o1"));
    assert_eq!(fixture.wait(6), later("c1"));
    assert_eq!(fixture.account.taken(), 1);
}

#[test]
fn an_unrequested_game_is_aborted_if_there_is_no_slot_and_played_if_there_is() {
    let ghost = |slots| {
        let mut fixture = Fixture::new(slots).settled();
        assert!(fixture.hold("nuke"));
        fixture.held("o1");
        for n in 1..slots {
            fixture.challenged(challenge(&format!("c{n}"), player("a")));
        }
        fixture.challenged(challenge("last", player("b")));
        fixture.canceled("o1", CallOutcome::Done);
        fixture
    };
    let mut full = ghost(1);
    assert_eq!(full.started(game("o1", bot("nuke"))), abort("o1"));
    assert_eq!(full.started(game("o1", bot("nuke"))), [], "announced again");
    assert_eq!(full.aborted("o1", CallOutcome::Done), []);
    assert_eq!(full.account.taken(), 1);
    let mut roomy = ghost(2);
    roomy.apply(&canceled(challenge("c1", player("a"))));
    assert_eq!(roomy.started(game("o1", bot("nuke"))), play("o1"));
}

#[test]
fn an_excess_game_that_cannot_be_aborted_is_played() {
    // The server refuses, or does not answer at all.
    for answer in [
        Some(refused("can no longer be aborted")),
        Some(CallOutcome::Lost),
        None,
    ] {
        let mut fixture = Fixture::new(1).settled();
        fixture.started(game("g1", player("a")));
        assert_eq!(fixture.started(game("g2", player("b"))), abort("g2"));
        let api_queue = match answer {
            Some(answer) => fixture.aborted("g2", answer),
            None => fixture.wait(11),
        };
        assert!(
            api_queue.contains(&Wanted::Play("g2".into())),
            "{api_queue:?}"
        );
        assert_eq!(fixture.account.taken(), 2);
    }
    // The bot has moved, or it is an arena's game.
    let changes: [fn(&mut GameInfo); 3] = [
        |game| game.has_moved = true,
        |game| game.tournament = Some("arena1".into()),
        |game| game.source = Some("arena".into()),
    ];
    for change in changes {
        let mut fixture = Fixture::new(1).settled();
        fixture.started(game("g1", player("a")));
        let mut second = game("g2", player("b"));
        change(&mut second);
        assert_eq!(fixture.started(second), play("g2"));
    }
}

#[test]
fn a_game_that_continues_after_an_abort_is_not_aborted_again() {
    let mut fixture = Fixture::new(1).settled();
    fixture.started(game("g1", player("a")));
    assert_eq!(fixture.started(game("g2", player("b"))), abort("g2"));
    // "ok", and nothing happened: it is still on the list.
    fixture.aborted("g2", CallOutcome::Done);
    let listed = vec![game("g1", player("a")), game("g2", player("b"))];
    assert_eq!(fixture.apply(&AccountEvent::Running(listed)), play("g2"));
}

#[test]
fn every_game_from_before_the_start_is_played() {
    for running in [0_usize, 1, 12, 40] {
        let mut fixture = Fixture::new(8);
        let games: Vec<_> = (0..running)
            .map(|n| game(&format!("g{n}"), player(&format!("p{n}"))))
            .collect();
        assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
        // The stream holds no more than 32 lines; the list has them all; then all are announced
        // again.
        let mut played = Vec::new();
        for known in games.iter().skip(running.saturating_sub(32)) {
            played.extend(fixture.started(known.clone()));
        }
        played.extend(fixture.apply(&AccountEvent::Running(games.clone())));
        for known in &games {
            played.extend(fixture.started(known.clone()));
        }
        assert_eq!(played.len(), running, "{played:?}");
        assert!(
            played
                .iter()
                .all(|wanted| matches!(wanted, Wanted::Play(_)))
        );
        assert_eq!(fixture.account.taken(), running);
        // Until enough of them are over, no new game begins.
        let open = running < 8;
        let answer = fixture.challenged(challenge("c1", player("new")));
        assert_eq!(answer, if open { accept("c1") } else { Vec::new() });
    }
}

#[test]
fn an_accepted_challenge_whose_game_is_not_on_the_list_is_void() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    fixture.answered("c1", AcceptOutcome::Done);
    // A list requested right then may have been too early.
    fixture.apply(&AccountEvent::Opened);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert_eq!(fixture.account.taken(), 1);
    fixture.wait(10);
    fixture.apply(&AccountEvent::Opened);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert!(fixture.account.is_empty());
}

#[test]
fn an_accept_that_may_have_been_lost_each_time_costs_its_slot_no_longer_than_until_the_list() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    for _ in 0..6 {
        fixture.answered("c1", AcceptOutcome::Lost);
        fixture.wait(2);
    }
    assert_eq!(fixture.answered("c1", AcceptOutcome::Lost), [Wanted::List]);
    assert_eq!(fixture.account.taken(), 1);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert!(fixture.account.is_empty());
    // It had arrived after all.
    assert_eq!(fixture.started(game("c1", player("a"))), play("c1"));
}

#[test]
fn a_short_pause_of_accepts_is_waited_out_and_a_long_one_is_not() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("c1", player("a")));
    let short = AcceptOutcome::Limited(Some(Duration::from_secs(3)));
    assert_eq!(fixture.answered("c1", short), []);
    assert_eq!(fixture.wait(4), accept("c1"));
    let long = AcceptOutcome::Limited(Some(Duration::from_secs(60)));
    assert_eq!(fixture.answered("c1", long), later("c1"));
    assert!(fixture.account.is_empty());
}

#[test]
fn the_last_game_of_the_day_is_given_to_one_bot_only() {
    let mut fixture = Fixture::new(4);
    fixture.state.set_rules(StateRules {
        quota: config::Limits {
            bot_games: 1,
            ..config::Limits::default()
        },
        ..StateRules::default()
    });
    fixture
        .state
        .bot_games_refused(Some(Duration::ZERO), Some(1));
    fixture.wait(10);
    assert_eq!(fixture.challenged(challenge("b1", bot("n1"))), accept("b1"));
    assert_eq!(fixture.challenged(challenge("b2", bot("n2"))), later("b2"));
    assert_eq!(
        fixture.challenged(challenge("h1", player("a"))),
        accept("h1")
    );
    // The first one failed: its game is available again.
    fixture.answered("b1", AcceptOutcome::Gone);
    assert_eq!(fixture.challenged(challenge("b3", bot("n3"))), accept("b3"));
    fixture.answered("b3", AcceptOutcome::Done);
    fixture.started(game("b3", bot("n3")));
    fixture.left("b3");
    assert_eq!(fixture.challenged(challenge("b4", bot("n4"))), later("b4"));
    fixture.wait(24 * 3600);
    assert_eq!(fixture.challenged(challenge("b5", bot("n5"))), accept("b5"));
}

#[test]
fn an_accept_of_a_withdrawn_challenge_spends_no_game() {
    let mut fixture = Fixture::new(4);
    fixture.challenged(challenge("b1", bot("n1")));
    fixture.apply(&canceled(challenge("b1", bot("n1"))));
    assert_eq!(fixture.state.budget().incoming, 0);
    fixture.answered("b1", AcceptOutcome::Gone);
    assert_eq!(fixture.state.budget().incoming, 0);
    // And once its game has begun, an accept that failed does not refund it.
    fixture.challenged(challenge("b2", bot("n2")));
    fixture.started(game("b2", bot("n2")));
    fixture.answered("b2", AcceptOutcome::Refused);
    assert_eq!(fixture.state.budget().incoming, 1);
}

#[test]
fn a_bots_rematch_under_another_id_is_one_game_of_the_day() {
    for rematch_of in [Some(GameId::new("old")), None] {
        let mut fixture = Fixture::new(4);
        let mut asked = challenge("r1", bot("n1"));
        asked.rematch_of = rematch_of;
        fixture.challenged(asked);
        fixture.answered("r1", AcceptOutcome::Done);
        assert_eq!(fixture.started(game("other", bot("n1"))), play("other"));
        assert_eq!(
            (fixture.state.budget().incoming, fixture.account.taken()),
            (1, 1)
        );
    }
}

#[test]
fn the_opponents_spent_day_costs_neither_a_slot_nor_a_game() {
    let mut fixture = Fixture::new(1);
    fixture.challenged(challenge("b1", bot("n1")));
    assert_eq!(fixture.answered("b1", AcceptOutcome::TheirDay), later("b1"));
    assert!(fixture.account.is_empty());
    assert_eq!(fixture.state.budget().incoming, 0);
    assert_eq!(fixture.challenged(challenge("b2", bot("n2"))), accept("b2"));
}

#[test]
fn no_opponent_holds_every_slot_and_a_rematch_takes_the_place_of_its_game() {
    let mut fixture = Fixture::new(8);
    for id in ["c1", "c2", "c3"] {
        assert_eq!(fixture.challenged(challenge(id, player("a"))), accept(id));
        fixture.answered(id, AcceptOutcome::Done);
        fixture.started(game(id, player("a")));
    }
    let fourth = fixture.challenged(challenge("c4", player("a")));
    assert_eq!(fourth, later("c4"));
    // The bot has yet to hear that the game is over.
    let mut rematch = challenge("r1", player("a"));
    rematch.rematch_of = Some(GameId::new("c3"));
    assert_eq!(fixture.challenged(rematch), accept("r1"));
    let other = fixture.challenged(challenge("c5", player("b")));
    assert_eq!(other, accept("c5"));
}

#[test]
fn a_stalled_game_takes_no_slot_until_it_continues() {
    let mut fixture = Fixture::new(1);
    fixture.started(game("g1", player("a")));
    let mut taken = |stalled| {
        let game = GameId::new("g1");
        fixture.apply(&AccountEvent::Stalled { game, stalled });
        fixture.account.taken()
    };
    assert_eq!([taken(false), taken(true), taken(false)], [1, 0, 1]);
}

#[test]
fn games_without_a_clock_and_games_with_one_are_counted_apart() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.humans.at_once = 1;
        settings.challenge.humans.correspondence = true;
    });
    let slow = |id: &str| Challenge {
        rated: false,
        speed: Speed::Correspondence,
        time_control: TimeControl::Correspondence { days: 2 },
        ..challenge(id, player("a"))
    };
    let begun = |id: &str| GameInfo {
        rated: false,
        speed: Speed::Correspondence,
        is_my_turn: false,
        ..game(id, player("a"))
    };
    assert_eq!(fixture.challenged(slow("s1")), accept("s1"));
    assert_eq!(fixture.challenged(slow("s2")), later("s2"), "accepted");
    fixture.answered("s1", AcceptOutcome::Done);
    fixture.started(begun("s1"));
    assert_eq!(fixture.challenged(slow("s3")), later("s3"), "in progress");
    let mut rematch = slow("s4");
    rematch.rematch_of = Some(GameId::new("s1"));
    assert_eq!(fixture.challenged(rematch), accept("s4"));
    // They hold none of its slots.
    let quick = |id: &str| challenge(id, player("a"));
    assert_eq!(fixture.challenged(quick("c1")), accept("c1"));
    assert_eq!(fixture.challenged(quick("c2")), later("c2"));
}

#[test]
fn games_are_counted_by_opponent_by_day_and_in_a_row() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.humans.at_once = 2;
        settings.challenge.humans.per_day = 3;
        settings.challenge.humans.repeats = 100;
    });
    for n in 1..=2 {
        let id = format!("c{n}");
        assert_eq!(fixture.challenged(challenge(&id, player("a"))), accept(&id));
        fixture.answered(&id, AcceptOutcome::Done);
    }
    assert_eq!(
        fixture.challenged(challenge("c3", player("a"))),
        later("c3")
    );
    fixture.started(game("c1", player("a")));
    fixture.started(game("c2", player("a")));
    fixture.left("c1");
    assert_eq!(
        fixture.challenged(challenge("c4", player("a"))),
        accept("c4")
    );
    fixture.answered("c4", AcceptOutcome::Done);
    fixture.started(game("c4", player("a")));
    fixture.left("c2");
    fixture.left("c4");
    assert_eq!(
        fixture.challenged(challenge("c5", player("a"))),
        later("c5")
    );
    assert_eq!(
        fixture.challenged(challenge("c6", player("b"))),
        accept("c6")
    );
    fixture.wait(24 * 3600 + 1);
    assert_eq!(
        fixture.challenged(challenge("c7", player("a"))),
        accept("c7")
    );
}

#[test]
fn games_against_anonymous_players_count_for_the_day() {
    let mut fixture = Fixture::with(|settings| settings.challenge.humans.total_per_day = 1);
    let anonymous = |id: &str| Challenge {
        challenger: None,
        rated: false,
        ..challenge(id, player("a"))
    };
    assert_eq!(fixture.challenged(anonymous("c1")), accept("c1"));
    fixture.answered("c1", AcceptOutcome::Done);
    let begun = || GameInfo {
        rated: false,
        ..game("c1", Player::default())
    };
    assert_eq!(fixture.started(begun()), play("c1"));
    assert_eq!(fixture.challenged(anonymous("c2")), later("c2"));
    // It is announced again.
    fixture.started(begun());
    fixture.left("c1");
    assert_eq!(fixture.state.games_today(false), 1);
    assert_eq!(fixture.challenged(anonymous("c3")), later("c3"));
    fixture.wait(24 * 3600 + 1);
    assert_eq!(fixture.challenged(anonymous("c4")), accept("c4"));
}

#[test]
fn repeats_are_counted_within_their_window() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.humans.repeats = 2;
        settings.challenge.humans.repeat_window = Duration::from_secs(600);
    });
    // The answer may come before the news of the game, after its start, or after its end.
    let orders: [&[u8]; 3] = [&[0, 1, 2], &[1, 0, 2], &[2, 0]];
    for (who, order) in ["a", "x", "y"].into_iter().zip(orders) {
        for n in 1..=2 {
            let id = format!("{who}{n}");
            assert_eq!(fixture.challenged(challenge(&id, player(who))), accept(&id));
            for step in order {
                match step {
                    0 => fixture.answered(&id, AcceptOutcome::Done),
                    1 => fixture.started(game(&id, player(who))),
                    _ => fixture.ended(game(&id, player(who))),
                };
            }
            fixture.left(&id);
        }
        let third = format!("{who}3");
        let declined = fixture.challenged(challenge(&third, player(who)));
        assert_eq!(declined, later(&third), "{order:?}");
    }
    // A challenge not accepted after all does not count.
    assert_eq!(
        fixture.challenged(challenge("d1", player("b"))),
        accept("d1")
    );
    fixture.answered("d1", AcceptOutcome::Gone);
    assert_eq!(
        fixture.challenged(challenge("d2", player("b"))),
        accept("d2")
    );
    fixture.wait(601);
    assert_eq!(
        fixture.challenged(challenge("c4", player("a"))),
        accept("c4")
    );
}

#[test]
fn ratings_are_taken_from_the_games_and_not_from_the_start() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.humans.max_rating_difference = 100;
    });
    let asked = |id: &str| {
        let mut who = player("a");
        who.rating = Some(1690);
        challenge(id, who)
    };
    let generic = |id: &str| vec![Wanted::Decline(id.into(), DeclineReason::Generic)];
    assert_eq!(fixture.challenged(asked("c1")), generic("c1"));
    let mut over = game("g1", player("b"));
    over.rating = Some(1590);
    over.rating_diff = Some(5);
    fixture.apply(&AccountEvent::Event(Event::GameFinish(Box::new(over))));
    assert_eq!(fixture.challenged(asked("c2")), accept("c2"));
}

#[test]
fn a_rating_in_another_variant_is_not_ours_in_atomic() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.humans.max_rating_difference = 100;
    });
    let foreign = GameInfo {
        variant: Variant::Standard,
        rating: Some(2400),
        rating_diff: Some(-300),
        ..game("g1", player("b"))
    };
    let asked = |id: &str| {
        let mut who = player("a");
        who.rating = Some(1510);
        challenge(id, who)
    };
    fixture.started(foreign.clone());
    assert_eq!(fixture.challenged(asked("c1")), accept("c1"));
    fixture.ended(foreign);
    assert_eq!(fixture.challenged(asked("c2")), accept("c2"));
}

fn lose(fixture: &Fixture, id: &str, opponent: &str) {
    fixture.state.finished(FinishedGame {
        game: GameId::new(id),
        opponent: Some(UserId::new(opponent)),
        is_bot: false,
        rated: true,
        color: Some(Side::White),
        winner: Some(Side::Black),
        status: "resign".into(),
        plies: 30,
        opening: String::new(),
        rating_diff: None,
        at: fixture.state.now(),
    });
}

#[test]
fn while_all_rated_games_pause_rated_arenas_are_left() {
    let mut fixture = Fixture::new(4);
    let mut paired = game("g1", player("a"));
    paired.tournament = Some("arena1".into());
    fixture.started(paired);
    let leaves = |fixture: &mut Fixture| {
        let unshown = AccountEvent::ArenaNotShown("arena1".into(), false);
        let effects = fixture.account.handle(&unshown, fixture.now);
        effects.contains(&AccountEffect::LeaveArena("arena1".into()))
    };
    assert!(!leaves(&mut fixture));
    for n in 0..15 {
        assert!(!leaves(&mut fixture), "after {n} losses");
        lose(&fixture, &format!("l{n}"), &format!("foe{n}"));
    }
    assert!(leaves(&mut fixture));
}

#[test]
fn after_a_run_of_losses_only_casual_games_are_offered() {
    let mut fixture = Fixture::new(4);
    for n in 0..8 {
        lose(&fixture, &format!("l{n}"), "bane");
    }
    assert_eq!(
        fixture.challenged(challenge("c1", player("bane"))),
        casual("c1")
    );
    assert_eq!(
        fixture.challenged(challenge("c2", player("a"))),
        accept("c2")
    );
    let mut friendly = challenge("c3", player("bane"));
    friendly.rated = false;
    assert_eq!(fixture.challenged(friendly), accept("c3"));
}

#[test]
fn closing_withdraws_the_bots_own_challenge_and_declines_all_others() {
    let mut fixture = fixture(1, 0);
    assert!(fixture.hold("nuke"));
    fixture.held("o1");
    assert_eq!(fixture.apply(&AccountEvent::Drain), cancel("o1"));
    assert_eq!(
        fixture.challenged(challenge("c1", player("a"))),
        later("c1")
    );
    assert!(!fixture.account.is_empty());
    fixture.canceled("o1", CallOutcome::Done);
    assert!(fixture.account.is_empty());
    assert!(!fixture.hold("nuke"));
}

#[test]
fn a_pause_ends_and_so_does_an_alert() {
    let mut fixture = Fixture::new(1);
    for (close, open) in [
        (AccountEvent::Pause, AccountEvent::Resume),
        (AccountEvent::Alert(true), AccountEvent::Alert(false)),
    ] {
        fixture.apply(&close);
        assert_eq!(
            fixture.challenged(challenge("c1", player("a"))),
            later("c1")
        );
        assert_eq!(fixture.account.spare(OpponentKind::Bot), 0);
        fixture.apply(&open);
        assert_eq!(
            fixture.challenged(challenge("c1", player("a"))),
            accept("c1")
        );
        fixture.apply(&canceled(challenge("c1", player("a"))));
    }
}

#[test]
fn a_challenge_by_command_to_a_human_takes_a_slot_reserved_for_humans() {
    for (title, is_sent) in [(None, true), (Some("BOT"), false)] {
        let mut fixture = fixture(2, 2).settled();
        let account = &mut fixture.account;
        account.challenge("Humy", None, None, None, 1).unwrap();
        let humy = UserId::new("humy");
        let effects = account.handle(&AccountEvent::Tick, fixture.now);
        assert_eq!(effects, [AccountEffect::LookUp(vec![humy.clone()])]);
        let seen = Presence {
            id: humy,
            title: title.map(str::to_owned),
            online: true,
            playing: false,
        };
        let effects = account.handle(&AccountEvent::UsersSeen(vec![seen]), fixture.now);
        let [AccountEffect::Create(_)] = effects[..] else {
            let why = "challenge humy: not sent, every slot is reserved for humans";
            assert_eq!(effects, [AccountEffect::Note(why.to_owned())]);
            assert_eq!(account.matchmaker.describe(), "off", "it does not wait");
            assert!(!is_sent, "{title:?}");
            continue;
        };
        assert!(is_sent && account.has_outgoing(), "{title:?}");
    }
}

#[test]
fn a_series_by_command_with_a_bot_ends_if_every_slot_is_reserved_for_humans() {
    let mut fixture = fixture(1, 1).settled();
    let account = &mut fixture.account;
    account.challenge("Boty", None, None, None, 2).unwrap();
    account.handle(&AccountEvent::Tick, fixture.now);
    let seen = Presence {
        id: UserId::new("boty"),
        title: Some("BOT".to_owned()),
        online: true,
        playing: false,
    };
    let effects = account.handle(&AccountEvent::UsersSeen(vec![seen]), fixture.now);
    let why = "series with boty: 0 of 2 games begun; over: every slot is reserved for humans";
    assert_eq!(effects, [AccountEffect::Note(why.to_owned())]);
    assert!(account.matchmaker.series().is_none());
}
