//! The account state under events in any order: no game has two tasks, no slot is given twice or
//! lost.

use std::collections::BTreeSet;

use megaton::bot::game::CallOutcome;
use megaton::bot::{AcceptOutcome, AccountEvent, OpponentKind};
use megaton::lichess::{Event, Player};
use proptest::prelude::*;

use crate::challenges::{bot, challenge, game, player};
use crate::fixture::{Fixture, Wanted};
use crate::harness::refused;

const SLOTS: usize = 3;
const FOR_HUMANS: usize = 1;

/// Anything that can happen to the account.
#[derive(Clone, Debug)]
enum Happening {
    Challenge(u8),
    Canceled(u8),
    Start(u8, bool),
    Finish(u8),
    Left(u8),
    Accepted(u8, u8),
    Listed(Vec<u8>),
    Opened,
    Away,
    Waiting(Vec<u8>),
    NoList,
    Wait(u8),
    Hold(u8),
    Held(u8),
    Release,
    Withdraw,
    CancelAnswered(u8, u8),
    AbortAnswered(u8, u8),
    Pause(bool),
}

fn happening() -> impl Strategy<Value = Happening> {
    let id = || 0..8_u8;
    prop_oneof![
        6 => id().prop_map(Happening::Challenge),
        2 => id().prop_map(Happening::Canceled),
        4 => (id(), any::<bool>()).prop_map(|(id, moved)| Happening::Start(id, moved)),
        2 => id().prop_map(Happening::Finish),
        3 => id().prop_map(Happening::Left),
        5 => (id(), 0..7_u8).prop_map(|(id, answer)| Happening::Accepted(id, answer)),
        2 => prop::collection::vec(id(), 0..6).prop_map(Happening::Listed),
        1 => Just(Happening::Opened),
        1 => Just(Happening::Away),
        2 => prop::collection::vec(id(), 0..6).prop_map(Happening::Waiting),
        1 => Just(Happening::NoList),
        3 => (0..60_u8).prop_map(Happening::Wait),
        3 => id().prop_map(Happening::Hold),
        3 => id().prop_map(Happening::Held),
        1 => Just(Happening::Release),
        1 => Just(Happening::Withdraw),
        3 => (id(), 0..5_u8).prop_map(|(id, answer)| Happening::CancelAnswered(id, answer)),
        3 => (id(), 0..5_u8).prop_map(|(id, answer)| Happening::AbortAnswered(id, answer)),
        1 => any::<bool>().prop_map(Happening::Pause),
    ]
}

fn name(id: u8) -> String {
    format!("g{id}")
}

/// Every other opponent is a bot; two ids share one.
fn who(id: u8) -> Player {
    let name = format!("p{}", id / 2);
    if (id / 2).is_multiple_of(2) {
        bot(&name)
    } else {
        player(&name)
    }
}

fn acceptance(number: u8) -> AcceptOutcome {
    match number {
        0 | 1 => AcceptOutcome::Done,
        2 => AcceptOutcome::Lost,
        3 => AcceptOutcome::Gone,
        4 => AcceptOutcome::Limited(None),
        5 => AcceptOutcome::TheirDay,
        _ => AcceptOutcome::Refused,
    }
}

fn answer(number: u8) -> CallOutcome {
    match number {
        0 | 1 => CallOutcome::Done,
        2 => CallOutcome::Lost,
        3 => CallOutcome::Gone,
        _ => refused("no"),
    }
}

fn happen(fixture: &mut Fixture, happening: Happening) -> Vec<Wanted> {
    let event = |event| AccountEvent::Event(event);
    match happening {
        Happening::Challenge(id) => fixture.challenged(challenge(&name(id), who(id))),
        Happening::Canceled(id) => {
            let gone = Box::new(challenge(&name(id), who(id)));
            fixture.apply(&event(Event::ChallengeCanceled(gone)))
        }
        Happening::Start(id, moved) => {
            let mut begun = game(&name(id), who(id));
            begun.has_moved = moved;
            fixture.started(begun)
        }
        Happening::Finish(id) => {
            let over = Box::new(game(&name(id), who(id)));
            fixture.apply(&event(Event::GameFinish(over)))
        }
        Happening::Left(id) => fixture.left(&name(id)),
        Happening::Accepted(id, number) => fixture.answered(&name(id), acceptance(number)),
        Happening::Listed(ids) => {
            let games = ids.into_iter().map(|id| game(&name(id), who(id)));
            fixture.apply(&AccountEvent::Running(games.collect()))
        }
        Happening::Opened => fixture.apply(&AccountEvent::Opened),
        Happening::Away => fixture.apply(&AccountEvent::Away),
        Happening::Waiting(ids) => {
            let challenges = ids.into_iter().map(|id| challenge(&name(id), who(id)));
            fixture.apply(&AccountEvent::Waiting(challenges.collect()))
        }
        Happening::NoList => fixture.apply(&AccountEvent::NoList),
        Happening::Wait(seconds) => fixture.wait(u64::from(seconds)),
        Happening::Hold(id) => {
            let spare = fixture.account.spare(OpponentKind::Bot);
            let taken = fixture.account.taken();
            let held = fixture.hold(&format!("p{}", id / 2));
            assert_eq!(held, spare > 0);
            assert!(!held || taken < SLOTS);
            Vec::new()
        }
        Happening::Held(id) => fixture.held(&name(id)),
        Happening::Release => fixture.released(),
        Happening::Withdraw => {
            let mut effects = fixture.apply(&AccountEvent::Pause);
            effects.extend(fixture.apply(&AccountEvent::Resume));
            effects
        }
        Happening::CancelAnswered(id, number) => fixture.canceled(&name(id), answer(number)),
        Happening::AbortAnswered(id, number) => fixture.aborted(&name(id), answer(number)),
        Happening::Pause(true) => fixture.apply(&AccountEvent::Pause),
        Happening::Pause(false) => fixture.apply(&AccountEvent::Resume),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn under_any_events_no_game_has_two_tasks_and_no_slot_is_lost(
        happenings in prop::collection::vec(happening(), 1..120),
    ) {
        let mut fixture = Fixture::with(|settings| {
            settings.challenge.concurrency = SLOTS;
            settings.challenge.reserved_for_humans = FOR_HUMANS;
        });
        let mut playing = BTreeSet::new();
        for happening in happenings {
            if let Happening::Left(id) = happening {
                playing.remove(&name(id));
            }
            let is_wait = matches!(happening, Happening::Wait(_));
            let api_queue = happen(&mut fixture, happening);
            let accepted = api_queue.iter().any(|wanted| matches!(wanted, Wanted::Accept(_)));
            // A repeated accept has its slot already, and games may have begun since.
            prop_assert!(is_wait || !accepted || fixture.account.taken() <= SLOTS, "{api_queue:?}");
            prop_assert!(fixture.account.waiting() <= 9);
            let bot_accepted = api_queue.iter().any(|wanted| match wanted {
                Wanted::Accept(id) => who(id[1..].parse().unwrap_or(0)).is_bot(),
                _ => false,
            });
            let bots = fixture.account.taken_by_bots();
            prop_assert!(is_wait || !bot_accepted || bots <= SLOTS - FOR_HUMANS, "{bots} bots");
            for wanted in api_queue {
                if let Wanted::Play(game) = wanted {
                    prop_assert!(playing.insert(game), "two tasks");
                }
            }
        }
        // Once every game is left and everything has expired, every slot is free again.
        for _ in 0..4 {
            for wanted in fixture.wait(600) {
                if let Wanted::Play(game) = wanted {
                    prop_assert!(playing.insert(game), "two tasks");
                }
            }
            for id in std::mem::take(&mut playing) {
                fixture.left(&id);
            }
        }
        prop_assert!(fixture.account.is_empty());
        prop_assert_eq!((fixture.account.taken(), fixture.account.waiting()), (0, 0));
    }
}

#[test]
fn a_storm_is_answered_humans_first_and_within_bounds() {
    let mut fixture = Fixture::with(|settings| {
        settings.challenge.concurrency = 4;
        settings.challenge.reserved_for_humans = 2;
        settings.challenge.queue_places = 16;
    });
    let mut answered = BTreeSet::new();
    let mut accepted = Vec::new();
    let mut note = |api_queue: Vec<Wanted>| {
        for wanted in api_queue {
            match wanted {
                Wanted::Accept(id) => {
                    assert!(answered.insert(id.clone()), "answered twice");
                    accepted.push(id);
                }
                Wanted::Decline(id, _) => assert!(answered.insert(id), "answered twice"),
                _ => {}
            }
        }
    };
    for n in 0..500 {
        let (id, by) = (format!("c{n}"), format!("p{n}"));
        let who = if n % 5 == 4 { player(&by) } else { bot(&by) };
        note(fixture.challenged(challenge(&id, who)));
        assert!(fixture.account.waiting() <= 16 && fixture.account.taken() <= 4);
    }
    // Two slots for bots, two for the first humans; those still waiting are humans.
    for id in ["c0", "c1", "c4", "c9"] {
        note(fixture.answered(id, AcceptOutcome::Done));
        note(fixture.started(game(id, player(id))));
        note(fixture.left(id));
    }
    note(fixture.wait(10));
    assert_eq!(answered.len(), 500, "every challenge has an answer");
    let opponents = |id: &&String| id[1..].parse::<u32>().is_ok_and(|n| n % 5 == 4);
    assert_eq!(accepted.len(), 8);
    assert_eq!(accepted.iter().filter(opponents).count(), 6);
}
