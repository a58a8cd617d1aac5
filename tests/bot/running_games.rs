//! What the list of running games tells the account state, and when it is fetched.

use megaton::bot::{AcceptOutcome, AccountEvent};
use megaton::lichess::{Event, GameId};

use crate::challenges::{challenge, game, player};
use crate::fixture::{Fixture, Wanted, play};

#[test]
fn every_opening_compares_the_running_games() {
    let mut fixture = Fixture::new(4);
    assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
    fixture.started(game("g1", player("a")));
    let listed = vec![game("g2", player("b"))];
    let api_queue = fixture.apply(&AccountEvent::Running(listed));
    assert_eq!(api_queue[0], Wanted::GameFinish("g1".into()));
    assert!(matches!(&api_queue[1], Wanted::Play(game) if game == "g2"));
    // And from time to time while games run.
    assert_eq!(fixture.wait(301), [Wanted::List]);
}

#[test]
fn a_game_whose_start_was_lost_on_a_live_stream_is_found_while_nothing_runs() {
    let mut fixture = Fixture::new(4);
    assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
    assert_eq!(fixture.apply(&AccountEvent::Running(Vec::new())), []);
    for _ in 0..3 {
        assert_eq!(fixture.wait(299), []);
        assert_eq!(fixture.wait(1), [Wanted::List]);
        assert_eq!(fixture.apply(&AccountEvent::Running(Vec::new())), []);
    }
    let lost = vec![game("g1", player("a"))];
    assert_eq!(
        fixture.apply(&AccountEvent::Running(lost)),
        [Wanted::Play("g1".into())]
    );
}

#[test]
fn while_the_stream_is_down_the_lists_replace_it() {
    let mut fixture = Fixture::new(4);
    assert_eq!(
        fixture.apply(&AccountEvent::Away),
        [Wanted::List, Wanted::Waiting]
    );
    let waiting = || AccountEvent::Waiting(vec![challenge("c1", player("a"))]);
    let accepts = [Wanted::Accept("c1".into())];
    assert_eq!(fixture.apply(&waiting()), accepts);
    assert_eq!(fixture.apply(&waiting()), [], "once is enough");
    fixture.answered("c1", AcceptOutcome::Done);
    assert_eq!(
        fixture.apply(&waiting()),
        [],
        "the list is older than the answer"
    );
    let begun = vec![game("c1", player("a"))];
    let plays = [Wanted::Play("c1".into())];
    assert_eq!(fixture.apply(&AccountEvent::Running(begun)), plays);
    assert_eq!(
        (fixture.apply(&waiting()), fixture.account.taken()),
        (vec![], 1)
    );
}

#[test]
fn a_list_that_is_older_than_the_end_of_a_game_does_not_start_it_again() {
    let mut fixture = Fixture::new(4);
    fixture.started(game("g1", player("a")));
    fixture.apply(&AccountEvent::Opened);
    fixture.left("g1");
    let listed = || AccountEvent::Running(vec![game("g1", player("a"))]);
    assert_eq!(fixture.apply(&listed()), []);
    assert_eq!(fixture.account.taken(), 0);
    // The next one is requested after that.
    fixture.apply(&AccountEvent::Opened);
    assert_eq!(fixture.apply(&listed()), [Wanted::Play("g1".into())]);
}

#[test]
fn after_a_burst_of_lines_the_list_is_fetched_once_and_soon() {
    let mut fixture = Fixture::new(4).settled();
    let unknown = || {
        AccountEvent::Event(Event::Unknown {
            kind: "news".into(),
        })
    };
    for _ in 0..60 {
        assert_eq!(fixture.apply(&unknown()), []);
    }
    assert_eq!(fixture.wait(6), [Wanted::List]);
    assert_eq!(fixture.wait(60), [], "once");
    // As many, but with pauses: nothing was dropped.
    for _ in 0..60 {
        assert_eq!(fixture.apply(&unknown()), []);
        assert_eq!(fixture.wait(1), []);
    }
}

#[test]
fn a_list_that_could_not_be_fetched_is_fetched_again_and_ever_more_rarely() {
    let mut fixture = Fixture::new(4);
    fixture.apply(&AccountEvent::Opened);
    fixture.apply(&AccountEvent::NoList);
    assert_eq!(fixture.wait(11), [Wanted::List]);
    // One that fails for long is fetched ever more rarely, until it works again.
    fixture.apply(&AccountEvent::NoList);
    assert_eq!(fixture.wait(11), []);
    assert_eq!(fixture.wait(10), [Wanted::List]);
    fixture.apply(&AccountEvent::Running(Vec::new()));
    assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
    fixture.apply(&AccountEvent::NoList);
    assert_eq!(fixture.wait(11), [Wanted::List]);
}

#[test]
fn the_list_shows_the_games_that_a_burst_dropped_from_the_stream() {
    let mut fixture = Fixture::new(4);
    let listed: Vec<_> = (0..40)
        .map(|n| game(&format!("g{n}"), player("a")))
        .collect();
    for known in &listed[..32] {
        fixture.started(known.clone());
    }
    let api_queue = fixture.apply(&AccountEvent::Running(listed));
    let plays = api_queue.iter().filter(|e| matches!(e, Wanted::Play(_)));
    assert_eq!((plays.count(), fixture.account.taken()), (8, 40));
}

#[test]
fn a_full_list_is_fetched_again_soon() {
    let mut fixture = Fixture::new(4);
    let listed = (0..50)
        .map(|n| game(&format!("g{n}"), player("a")))
        .collect();
    fixture.apply(&AccountEvent::Running(listed));
    assert_eq!(fixture.wait(6), [Wanted::List]);
}

#[test]
fn a_full_list_without_news_is_not_fetched_again_soon() {
    let mut fixture = Fixture::new(60);
    let listed: Vec<_> = (0..50)
        .map(|n| game(&format!("g{n}"), player("a")))
        .collect();
    fixture.apply(&AccountEvent::Running(listed.clone()));
    assert_eq!(fixture.wait(6), [Wanted::List]);
    fixture.apply(&AccountEvent::Running(listed));
    assert_eq!(fixture.wait(60), []);
}

#[test]
fn the_end_of_a_game_is_passed_on_to_its_task() {
    let mut fixture = Fixture::new(4);
    fixture.started(game("g1", player("a")));
    let finish = |id| AccountEvent::Event(Event::GameFinish(Box::new(game(id, player("a")))));
    assert_eq!(
        fixture.apply(&finish("g1")),
        [Wanted::GameFinish("g1".into())]
    );
    assert_eq!(fixture.apply(&finish("unknown")), []);
}

#[test]
fn after_a_task_lost_track_of_its_game_the_list_is_fetched() {
    let mut fixture = Fixture::new(4);
    fixture.started(game("g1", player("a")));
    let lost = AccountEvent::Left {
        game: GameId::new("g1"),
        seen: false,
    };
    assert_eq!(fixture.apply(&lost), []);
    assert_eq!(fixture.wait(6), [Wanted::List]);
}

#[test]
fn a_list_asked_for_meanwhile_does_not_put_off_the_look_after_a_lost_game() {
    let mut fixture = Fixture::new(4).settled();
    fixture.started(game("g1", player("a")));
    let lists = |fixture: &mut Fixture| {
        (1..=600)
            .find(|_| fixture.wait(1) == [Wanted::List])
            .unwrap()
    };
    lists(&mut fixture);
    fixture.apply(&AccountEvent::Running(vec![game("g1", player("a"))]));
    let usual = lists(&mut fixture);
    fixture.apply(&AccountEvent::Running(vec![game("g1", player("a"))]));
    fixture.wait(usual - 3);
    let lost = AccountEvent::Left {
        game: GameId::new("g1"),
        seen: false,
    };
    fixture.apply(&lost);
    assert_eq!(fixture.wait(3), [Wanted::List], "the usual one");
    let listed = AccountEvent::Running(vec![game("g1", player("a"))]);
    assert_eq!(fixture.apply(&listed), [], "too soon to try again");
    assert_eq!(fixture.wait(3), [Wanted::List], "the one that was planned");
    assert_eq!(fixture.apply(&listed), play("g1"));
}

#[test]
fn a_listed_game_whose_stream_is_refused_is_tried_ever_more_rarely() {
    let mut fixture = Fixture::new(4);
    let listed = || AccountEvent::Running(vec![game("g1", player("a"))]);
    let lost = AccountEvent::Left {
        game: GameId::new("g1"),
        seen: false,
    };
    fixture.started(game("g1", player("a")));
    let mut waits = Vec::new();
    for _ in 0..8 {
        fixture.apply(&lost);
        let played =
            |_: &u64| fixture.wait(1) == [Wanted::List] && fixture.apply(&listed()) == play("g1");
        waits.extend((1..1000).find(played));
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
    fixture.apply(&lost);
    fixture.apply(&AccountEvent::Opened);
    assert_eq!(fixture.apply(&listed()), play("g1"), "the server is back");
}

#[test]
fn a_list_asked_for_before_a_game_ended_does_not_bring_the_game_back() {
    let mut fixture = Fixture::new(4).settled();
    assert_eq!(fixture.apply(&AccountEvent::Opened), [Wanted::List]);
    assert_eq!(fixture.started(game("g1", player("a"))), play("g1"));
    // The stream is lost and opens again while that question has no answer yet.
    fixture.left("g1");
    assert_eq!(
        fixture.apply(&AccountEvent::Opened),
        [],
        "one question at a time"
    );
    let older = vec![game("g1", player("a"))];
    let effects = fixture.apply(&AccountEvent::Running(older));
    assert_eq!(
        effects,
        [Wanted::List],
        "the game is over, and the second question goes out"
    );
    assert_eq!(fixture.apply(&AccountEvent::Running(Vec::new())), []);
}
