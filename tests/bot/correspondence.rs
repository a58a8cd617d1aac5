//! Correspondence games: no slot, visited on the bot's turn, never in the way of other games.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::bot::game::{CallOutcome, GameRequest};
use megaton::bot::{
    AccountEffect, AccountEvent, AccountState, BotState, BotTiming, Settings, StateRules,
};
use megaton::engine::Score;
use megaton::lichess::{Event, GameFull, GameId, GameInfo, Side, Speed};
use megaton::store::Store;
use proptest::prelude::*;

use crate::challenges::{challenge, game, player};
use crate::fixture::{SECOND, me};
use crate::harness::{Harness, active_search, asks, full, ms, posted, refused, state};

const HOUR: u64 = 3600;

/// An account state with its own clock.
struct Fixture {
    account: AccountState,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        let settings = Arc::new(settings);
        let (store, kept) = Store::nowhere();
        let state = BotState::new(store, kept, StateRules::default());
        Self {
            account: AccountState::new(&me(), settings, BotTiming::default(), SECOND, state),
            now: Instant::now(),
        }
    }

    fn apply(&mut self, event: &AccountEvent) -> Vec<AccountEffect> {
        self.account.handle(event, self.now)
    }

    fn started(&mut self, game: GameInfo) -> Vec<String> {
        visits(&self.apply(&AccountEvent::Event(Event::GameStart(Box::new(game)))))
    }

    fn listed(&mut self, games: Vec<GameInfo>) -> Vec<String> {
        visits(&self.apply(&AccountEvent::Running(games)))
    }

    fn correspondence(&mut self, id: &str) -> Vec<String> {
        visits(&self.apply(&AccountEvent::LeftCorrespondence(GameId::new(id))))
    }

    fn left(&mut self, id: &str, seen: bool) -> Vec<String> {
        let game = GameId::new(id);
        visits(&self.apply(&AccountEvent::Left { game, seen }))
    }

    fn wait(&mut self, seconds: u64) -> Vec<AccountEffect> {
        let end = self.now + Duration::from_secs(seconds);
        let mut api_queue = Vec::new();
        while let Some(at) = self.account.next_timeout().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            api_queue.extend(self.apply(&AccountEvent::Tick));
        }
        self.now = end;
        api_queue
    }
}

fn visits(api_queue: &[AccountEffect]) -> Vec<String> {
    let visit = |effect: &AccountEffect| match effect {
        AccountEffect::Play(game) => Some(game.id.to_string()),
        _ => None,
    };
    api_queue.iter().filter_map(visit).collect()
}

/// A correspondence game; not the bot's turn without hours.
fn slow(id: &str, hours: Option<u64>) -> GameInfo {
    GameInfo {
        speed: Speed::Correspondence,
        rated: false,
        is_my_turn: hours.is_some(),
        time_left: hours.map(|hours| Duration::from_secs(hours * HOUR)),
        ..game(id, player("snail"))
    }
}

#[test]
fn a_correspondence_game_takes_no_slot_and_is_visited_on_the_bots_turn_only() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.started(slow("s1", None)), [""; 0]);
    assert_eq!(fixture.account.taken(), 0);
    assert_eq!(fixture.listed(vec![slow("s1", Some(30))]), ["s1"]);
    assert_eq!(fixture.account.taken(), 0);
    // However often it is announced meanwhile, it has one task.
    assert_eq!(fixture.listed(vec![slow("s1", Some(29))]), [""; 0]);
    assert_eq!(fixture.started(slow("s1", Some(29))), [""; 0]);
    assert_eq!(fixture.correspondence("s1"), [""; 0]);
    assert_eq!(fixture.listed(vec![slow("s1", Some(24))]), ["s1"]);
}

#[test]
fn a_list_of_challenges_older_than_the_game_does_not_accept_it_again() {
    let mut fixture = Fixture::new();
    let waiting = AccountEvent::Waiting(vec![challenge("s1", player("snail"))]);
    let accepts = |effects: &[AccountEffect]| {
        let accept = |it: &&AccountEffect| matches!(it, AccountEffect::Accept { .. });
        effects.iter().filter(accept).count()
    };
    assert_eq!(accepts(&fixture.apply(&waiting)), 1);
    let mut fixture = Fixture::new();
    fixture.listed(vec![slow("s1", None)]);
    assert_eq!(accepts(&fixture.apply(&waiting)), 0);
}

#[test]
fn a_game_that_turns_out_to_have_no_clock_keeps_no_slot_and_is_visited_again() {
    let mut fixture = Fixture::new();
    let announced = || game("s1", player("snail"));
    assert_eq!(fixture.started(announced()), ["s1"]);
    assert_eq!(fixture.account.taken(), 1);
    // Its first line told the task that there is no clock, and it is the opponent's turn.
    assert_eq!(fixture.correspondence("s1"), [""; 0]);
    assert_eq!(fixture.account.taken(), 0);
    assert_eq!(fixture.listed(vec![announced()]), ["s1"]);
}

#[test]
fn the_status_tells_where_the_bot_is_to_move_and_by_when() {
    let mut fixture = Fixture::new();
    for (id, hours) in [("s1", None), ("s2", Some(30)), ("s3", Some(9))] {
        fixture.started(slow(id, hours));
    }
    let told = |fixture: &Fixture| fixture.account.correspondence(fixture.now).to_string();
    assert_eq!(told(&fixture), "3 games, 2 to move, next deadline in 9 h");
    fixture.correspondence("s3");
    assert_eq!(told(&fixture), "3 games, 1 to move, next deadline in 30 h");
}

#[test]
fn one_list_every_few_minutes_covers_all_of_them() {
    let mut fixture = Fixture::new();
    for n in 0..20 {
        fixture.started(slow(&format!("s{n}"), None));
    }
    let api_queue = fixture.wait(HOUR);
    assert_eq!(api_queue.len(), 12, "every five minutes");
    assert!(
        api_queue
            .iter()
            .all(|effect| *effect == AccountEffect::List)
    );
}

#[test]
fn the_list_is_polled_often_enough_for_one_day_per_move() {
    let mut fixture = Fixture::with(|settings| {
        settings.correspondence.poll = Duration::from_secs(24 * HOUR);
    });
    fixture.started(slow("s1", None));
    assert_eq!(fixture.wait(24 * HOUR).len(), 6);
}

#[test]
fn a_shorter_interval_of_a_reloaded_config_holds_at_once() {
    let mut settings = Settings::default();
    settings.correspondence.poll = Duration::from_secs(4 * HOUR);
    let mut fixture = Fixture::with(|initial| initial.clone_from(&settings));
    fixture.started(slow("s1", None));
    fixture.wait(60);
    settings.correspondence.poll = Duration::from_secs(30);
    fixture.apply(&AccountEvent::Settings(Arc::new(settings)));
    assert_eq!(fixture.wait(30), [AccountEffect::List]);
}

#[test]
fn the_nearest_deadline_comes_first_and_two_at_a_time() {
    let mut fixture = Fixture::new();
    let unlimited = GameInfo {
        time_left: None,
        ..slow("never", Some(1))
    };
    let due = vec![
        slow("s50", Some(50)),
        unlimited,
        slow("s2", Some(2)),
        slow("theirs", None),
        slow("s9", Some(9)),
    ];
    assert_eq!(fixture.listed(due), ["s2", "s9"]);
    assert_eq!(fixture.correspondence("s2"), ["s50"]);
    assert_eq!(fixture.correspondence("s9"), ["never"]);
    assert_eq!(fixture.correspondence("s50"), [""; 0]);
}

#[test]
fn a_visit_without_an_end_does_not_delay_the_others() {
    let mut fixture = Fixture::new();
    let due = (0..4).map(|n| slow(&format!("s{n}"), Some(n + 1)));
    assert_eq!(fixture.listed(due.collect()), ["s0", "s1"]);
    assert_eq!(visits(&fixture.wait(590)), [""; 0]);
    assert_eq!(visits(&fixture.wait(600)), ["s2", "s3"]);
}

#[test]
fn a_restart_visits_forty_games_one_after_the_other() {
    let mut fixture = Fixture::new();
    let mut seen = BTreeMap::new();
    let mut visiting: Vec<String> = Vec::new();
    for n in 0..40 {
        visiting.extend(fixture.started(slow(&format!("s{n}"), Some(n + 1))));
    }
    while let Some(id) = visiting.pop() {
        *seen.entry(id.clone()).or_insert(0) += 1;
        visiting.extend(fixture.correspondence(&id));
        assert!(visiting.len() <= 2);
    }
    assert_eq!(seen.len(), 40);
    assert!(seen.values().all(|&times| times == 1));
}

#[test]
fn an_ended_game_is_visited_once_more() {
    let mut fixture = Fixture::new();
    fixture.started(slow("s1", None));
    fixture.started(slow("s2", None));
    let finish = AccountEvent::Event(Event::GameFinish(Box::new(slow("s1", None))));
    assert_eq!(visits(&fixture.apply(&finish)), ["s1"]);
    assert_eq!(fixture.left("s1", true), [""; 0]);
    // The other one's end was missed; it is no longer on the list.
    assert_eq!(fixture.listed(Vec::new()), ["s2"]);
    assert_eq!(fixture.left("s2", true), [""; 0]);
    assert_eq!(fixture.listed(Vec::new()), [""; 0]);
    assert_eq!(visits(&fixture.wait(24 * HOUR)), [""; 0], "nothing is left");
}

#[test]
fn a_running_visit_learns_of_the_end() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.started(slow("s1", Some(3))), ["s1"]);
    let finish = AccountEvent::Event(Event::GameFinish(Box::new(slow("s1", None))));
    let told = fixture.apply(&finish);
    assert_eq!(told, [AccountEffect::GameFinish(GameId::new("s1"))]);
}

#[test]
fn a_draining_account_leaves_them_alone() {
    let mut fixture = Fixture::new();
    fixture.started(slow("s1", Some(3)));
    fixture.started(slow("s2", None));
    fixture.apply(&AccountEvent::Drain);
    assert!(!fixture.account.is_empty(), "one has a task");
    assert_eq!(
        fixture.listed(vec![slow("s1", Some(3)), slow("s2", Some(2))]),
        [""; 0]
    );
    fixture.correspondence("s1");
    assert!(fixture.account.is_empty());
}

#[test]
fn games_with_a_clock_are_not_delayed_by_correspondence_games() {
    let mut fixture = Fixture::new();
    for n in 0..30 {
        fixture.started(slow(&format!("s{n}"), Some(n + 1)));
    }
    assert_eq!(fixture.started(game("fast", player("rabbit"))), ["fast"]);
    assert_eq!(fixture.account.taken(), 1);
}

fn unclocked(moves: &str) -> GameFull {
    let mut game = full(Side::White, state(moves));
    (game.clock, game.speed) = (None, Speed::Correspondence);
    game
}

#[test]
fn a_game_without_a_clock_is_left_on_the_opponents_turn_and_never_before() {
    let mut harness = Harness::new(Side::White);
    assert!(!harness.machine.can_park(), "nothing is known yet");
    let actions = harness.open_with(unclocked("g1f3 f7f6"), harness.now);
    assert!(!harness.machine.can_park());
    let search = active_search(&actions).expect("our turn").request_id;
    posted(&harness.think(search, "e2e3")).expect("sent");
    assert!(!harness.machine.can_park(), "not shown yet");
    harness.state("g1f3 f7f6 e2e3");
    assert!(harness.machine.can_park());
    harness.state("g1f3 f7f6 e2e3 nonsense");
    assert!(!harness.machine.can_park(), "what it shows cannot be read");
    // A game with a clock is never left.
    let (mut harness, _) = Harness::at(Side::White, "g1f3");
    harness.now += ms(1);
    assert!(!harness.machine.can_park());
}

#[test]
fn a_game_without_a_clock_is_not_left_while_a_failed_resignation_is_to_be_repeated() {
    let mut settings = Settings::default();
    (settings.resign.enabled, settings.resign.moves) = (true, 1);
    settings.resign.depth = 9;
    let mut harness = Harness::with(Side::White, settings);
    let actions = harness.open_with(unclocked("g1f3 f7f6"), harness.now);
    let search = active_search(&actions).expect("our turn").request_id;
    posted(&harness.think_with(search, "e2e3", Score::Mate(-3))).expect("sent");
    let actions = harness.state("g1f3 f7f6 e2e3");
    assert_eq!(asks(&actions), [GameRequest::Resign]);
    harness.asked(GameRequest::Resign, CallOutcome::Lost);
    assert!(!harness.machine.can_park());
    let actions = harness.wait(Duration::from_secs(60));
    assert_eq!(asks(&actions), [GameRequest::Resign]);
    harness.asked(GameRequest::Resign, refused("no"));
    assert!(harness.machine.can_park());
}

#[test]
fn a_game_that_the_server_called_correspondence_can_wait_before_its_stream_says_so() {
    let minute = Duration::from_secs(60);
    let mut harness = Harness::new(Side::White);
    assert!(!harness.machine.can_wait(minute, harness.now));
    harness.announce_correspondence();
    assert!(harness.machine.can_wait(minute, harness.now));
    // Its stream knows better.
    harness.open("g1f3 f7f6");
    assert!(!harness.machine.can_wait(minute, harness.now));
}

/// Anything that can happen to correspondence games.
#[derive(Clone, Debug)]
enum Happening {
    Told(u8, Option<u64>),
    Listed(Vec<(u8, Option<u64>)>),
    Finished(u8),
    Correspondence(u8),
    Left(u8, bool),
    Wait(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    let id = || 0..6_u8;
    let turn = || proptest::option::of(0..100_u64);
    prop_oneof![
        (id(), turn()).prop_map(|(id, turn)| Happening::Told(id, turn)),
        prop::collection::vec((id(), turn()), 0..8).prop_map(Happening::Listed),
        id().prop_map(Happening::Finished),
        id().prop_map(Happening::Correspondence),
        (id(), any::<bool>()).prop_map(|(id, seen)| Happening::Left(id, seen)),
        (0..9_u64).prop_map(Happening::Wait),
    ]
}

proptest! {
    #[test]
    fn no_correspondence_game_has_two_tasks_and_no_more_than_two_are_visited(
        happenings in prop::collection::vec(happening(), 1..60),
    ) {
        let mut fixture = Fixture::new();
        let mut sitting: Vec<String> = Vec::new();
        let name = |id: u8| format!("s{id}");
        for happening in happenings {
            let begun = match happening {
                Happening::Told(id, turn) => fixture.started(slow(&name(id), turn)),
                Happening::Listed(games) => {
                    let games = games.into_iter().map(|(id, turn)| slow(&name(id), turn));
                    fixture.listed(games.collect())
                }
                Happening::Finished(id) => {
                    let game = Box::new(slow(&name(id), None));
                    visits(&fixture.apply(&AccountEvent::Event(Event::GameFinish(game))))
                }
                Happening::Correspondence(id) => {
                    if !sitting.contains(&name(id)) {
                        continue;
                    }
                    sitting.retain(|at| *at != name(id));
                    fixture.correspondence(&name(id))
                }
                Happening::Left(id, seen) => {
                    if !sitting.contains(&name(id)) {
                        continue;
                    }
                    sitting.retain(|at| *at != name(id));
                    fixture.left(&name(id), seen)
                }
                Happening::Wait(seconds) => visits(&fixture.wait(seconds)),
            };
            for id in begun {
                prop_assert!(!sitting.contains(&id), "twice at {id}");
                sitting.push(id);
            }
            prop_assert!(sitting.len() <= 2);
            prop_assert_eq!(fixture.account.taken(), 0);
        }
    }
}
