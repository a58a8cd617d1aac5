//! The arena schedule in virtual time: an arena from the list to its end.

use std::time::UNIX_EPOCH;

use proptest::prelude::*;

use super::*;
use crate::config::ArenaId;
use crate::lichess::{EntryConditions, Event, Variant};

const SECOND: Duration = Duration::from_secs(1);
/// When a world begins.
const START: Duration = Duration::from_secs(1_700_000_000);
const ID: &str = "aBcD1234";

struct World {
    calendar: ArenaSchedule,
    begun: Instant,
    passed: Duration,
    may_rate: bool,
}

impl World {
    fn new(rules: config::Arena) -> Self {
        let begun = Instant::now();
        let us = Eligibility {
            rating: Some(2000),
            games: 50,
            created_at: Some(UNIX_EPOCH + START - SECOND * 86_400 * 100),
        };
        Self {
            calendar: ArenaSchedule::new(Arc::new(rules), us, SECOND, 7, begun),
            begun,
            passed: Duration::ZERO,
            may_rate: true,
        }
    }

    fn auto() -> Self {
        Self::new(config::Arena {
            auto: true,
            ..config::Arena::default()
        })
    }

    fn named() -> Self {
        Self::new(named(&[&format!("{ID}:bombers")]))
    }

    /// Reloads the config, which names these arenas.
    fn reload(&mut self, ids: &[&str]) -> Vec<AccountEffect> {
        self.calendar.set_rules(Arc::new(named(ids)), self.now());
        self.pass(0)
    }

    fn now(&self) -> Instant {
        self.begun + self.passed
    }

    fn handle(&mut self, received: &AccountEvent) -> Vec<AccountEffect> {
        let (now, wall) = (self.now(), UNIX_EPOCH + START + self.passed);
        self.calendar.handle(received, now, wall, self.may_rate)
    }

    fn pass(&mut self, seconds: u64) -> Vec<AccountEffect> {
        self.passed += Duration::from_secs(seconds);
        self.handle(&AccountEvent::Tick)
    }

    /// Seconds until the next tick is due.
    fn sleeps(&self) -> Option<u64> {
        let at = self.calendar.next_timeout()?;
        Some(at.saturating_duration_since(self.now()).as_secs())
    }

    fn done(&mut self) -> Vec<AccountEffect> {
        self.handle(&AccountEvent::ArenaJoined(ID.to_owned(), CallOutcome::Done))
    }
}

/// Rules that name these arenas.
fn named(ids: &[&str]) -> config::Arena {
    let id = |id: &&str| id.parse::<ArenaId>().unwrap();
    config::Arena {
        ids: ids.iter().map(id).collect(),
        ..config::Arena::default()
    }
}

fn arena(to_start: u64) -> Arena {
    Arena {
        id: ID.to_owned(),
        name: "Atomic Arena".to_owned(),
        variant: Variant::Atomic,
        base: Some(SECOND * 180),
        increment: Some(SECOND * 2),
        rated: true,
        bots_allowed: true,
        starts_at: None,
        to_start: Some(Duration::from_secs(to_start)),
        to_end: None,
        length: Some(SECOND * 3600),
        is_finished: false,
        pairings_closed: false,
        from_position: false,
        is_private: false,
        entry: EntryConditions::default(),
    }
}

fn game(id: &str, status: &str, winner: &str) -> Box<GameInfo> {
    let line = format!(
        r#"{{"type":"gameStart","game":{{"gameId":"{id}","color":"white","source":"arena",
        "status":{{"name":"{status}"}},"tournamentId":"{ID}","winner":{winner},
        "opponent":{{"id":"x","username":"x"}},"variant":{{"key":"atomic"}},"rated":true}}}}"#
    );
    match Event::from_line(&line).unwrap().value {
        Event::GameStart(game) => game,
        other => panic!("{other:?}"),
    }
}

fn began() -> AccountEvent {
    AccountEvent::Event(Event::GameStart(game("g1", "started", "null")))
}

fn over() -> AccountEvent {
    AccountEvent::Left {
        game: GameId::new("g1"),
        seen: true,
    }
}

/// Whether this is one join, and whether it asks to be paired.
fn join(effects: &[AccountEffect]) -> Option<bool> {
    match effects {
        [AccountEffect::JoinArena(id, entrance)] if id == ID => Some(entrance.pair_me),
        _ => None,
    }
}

/// The note that tells the operator why the bot did not join.
fn not_joined(why: &str) -> AccountEffect {
    AccountEffect::Note(format!("join {ID}: not joined, {why}"))
}

#[test]
fn nothing_is_fetched_unless_enabled() {
    let mut world = World::new(config::Arena::default());
    assert_eq!(world.pass(100_000), []);
    assert_eq!(world.sleeps(), None);
}

#[test]
fn a_suitable_arena_is_joined_just_before_it_begins() {
    let mut world = World::auto();
    assert_eq!(world.pass(0), [AccountEffect::ListArenas(Vec::new())]);
    let listed = AccountEvent::ArenasListed(vec![arena(300)], Vec::new());
    assert_eq!(world.handle(&listed), []);
    assert_eq!(world.sleeps(), Some(270));
    assert_eq!(world.pass(269), []);
    assert_eq!(join(&world.pass(1)), Some(false));
    assert_eq!(world.pass(10), [], "one call at a time");
    assert_eq!(world.done(), []);
    assert_eq!(world.calendar.playing(), 1);
}

#[test]
fn while_idle_in_an_arena_the_join_is_repeated() {
    let mut world = World::auto();
    world.pass(0);
    let effects = world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    assert_eq!(join(&effects), Some(true));
    world.done();
    for _ in 0..5 {
        let seconds = world.sleeps().unwrap();
        assert!((35..=45).contains(&seconds), "{seconds}");
        assert_eq!(join(&world.pass(seconds + 1)), Some(true));
        world.done();
    }
}

#[test]
fn a_game_that_is_over_when_the_bot_hears_of_its_start_keeps_no_join_back() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    let late = game("g1", "mate", r#""white""#);
    world.handle(&AccountEvent::Event(Event::GameStart(late)));
    let seconds = world.sleeps().expect("a join to come");
    assert_eq!(join(&world.pass(seconds + 1)), Some(true));
}

#[test]
fn while_a_game_of_it_runs_no_join_is_sent_and_after_it_one_soon() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    world.handle(&began());
    assert_eq!(world.pass(200), []);
    assert_eq!(world.handle(&over()), []);
    assert_eq!(world.sleeps(), Some(1));
    assert_eq!(join(&world.pass(1)), Some(true));
    world.done();
    // A short game must not make joins follow each other faster than the server allows.
    world.handle(&began());
    world.pass(3);
    world.handle(&over());
    assert_eq!(world.sleeps(), Some(22));
}

#[test]
fn an_arena_of_the_config_is_fetched_and_joined_for_its_team() {
    let mut world = World::named();
    assert_eq!(world.pass(0), [AccountEffect::ShowArena(ID.to_owned())]);
    let mut private = arena(0);
    private.entry.teams = vec!["bombers".to_owned()];
    let effects = world.handle(&AccountEvent::ArenaShown(Box::new(private)));
    let [AccountEffect::JoinArena(_, entrance)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(entrance.team.as_deref(), Some("bombers"));
}

#[test]
fn a_reload_drops_the_arenas_that_the_config_no_longer_names_and_leaves_none() {
    let mut world = World::named();
    world.pass(0);
    assert_eq!(world.reload(&[]), [], "it was being checked");
    let shown = |to_start| AccountEvent::ArenaShown(Box::new(arena(to_start)));
    assert_eq!(world.handle(&shown(0)), []);
    assert_eq!(world.calendar.describe(), [""; 0]);

    let mut world = World::named();
    world.pass(0);
    world.handle(&shown(600));
    let now = world.now();
    let joined = world.calendar.join("other123", JoinOptions::default(), now);
    assert!(joined.is_some());
    world.reload(&[]);
    assert_eq!(world.calendar.describe(), ["other123: being checked"]);

    let mut world = World::named();
    world.pass(0);
    world.handle(&shown(0));
    world.done();
    assert_eq!(world.reload(&[]), []);
    assert_eq!(world.calendar.playing(), 1);
}

#[test]
fn an_entry_changed_by_a_reload_replaces_what_was_planned_and_what_had_failed() {
    let rebels = format!("{ID}:rebels");
    let team = |effects: &[AccountEffect]| match effects {
        [AccountEffect::JoinArena(_, entrance)] => entrance.team.clone(),
        other => panic!("{other:?}"),
    };
    let battle = |to_start| {
        let mut battle = arena(to_start);
        battle.entry.teams = vec!["bombers".to_owned(), "rebels".to_owned()];
        AccountEvent::ArenaShown(Box::new(battle))
    };
    // Planned for another team.
    let mut world = World::named();
    world.pass(0);
    world.handle(&battle(600));
    world.reload(&[&rebels]);
    world.handle(&battle(600));
    assert_eq!(team(&world.pass(570)).as_deref(), Some("rebels"));
    // Given up: no member of a team was to join.
    let mut world = World::new(named(&[ID]));
    world.pass(0);
    assert_eq!(world.handle(&battle(0)), [not_joined("it needs a team")]);
    assert_eq!(world.reload(&[ID]), [], "nothing has changed");
    assert_eq!(
        world.reload(&[&rebels]),
        [AccountEffect::ShowArena(ID.to_owned())]
    );
    assert_eq!(team(&world.handle(&battle(0))).as_deref(), Some("rebels"));
    // Whoever plays there plays on.
    world.done();
    assert_eq!(world.reload(&[ID]), []);
    assert_eq!(team(&world.pass(45)).as_deref(), Some("rebels"));
}

#[test]
fn a_failed_look_is_repeated_soon_and_asking_again_learns_a_new_start() {
    let mut world = World::new(named(&[ID]));
    let show = [AccountEffect::ShowArena(ID.to_owned())];
    assert_eq!(world.pass(0), show);
    world.handle(&AccountEvent::ArenaNotShown(ID.to_owned(), false));
    assert_eq!(world.pass(u64::from(MIN_BETWEEN)), show);
    for to_start in [7200, 600] {
        world.handle(&AccountEvent::ArenaShown(Box::new(arena(to_start))));
        assert_eq!(world.sleeps(), Some(to_start - 30));
        let (entrance, now) = (JoinOptions::default(), world.now());
        assert_eq!(world.calendar.join(ID, entrance, now).unwrap(), show);
    }
}

#[test]
fn an_arena_that_does_not_admit_the_bot_is_given_up() {
    let mut world = World::named();
    world.pass(0);
    let mut closed = arena(0);
    closed.bots_allowed = false;
    assert_eq!(
        world.handle(&AccountEvent::ArenaShown(Box::new(closed))),
        [not_joined("it does not admit bots")]
    );
    assert_eq!(world.sleeps(), None);
    let mut world = World::named();
    world.pass(0);
    assert_eq!(
        world.handle(&AccountEvent::ArenaNotShown(ID.to_owned(), true)),
        [not_joined(NO_ARENA)]
    );
    assert_eq!(world.sleeps(), None);
}

/// The server's refusal of a join.
fn refusal(status: u16, why: &str) -> CallOutcome {
    CallOutcome::Refused {
        status,
        text: why.to_owned(),
    }
}

fn refused(why: &str) -> AccountEvent {
    AccountEvent::ArenaJoined(ID.to_owned(), refusal(400, why))
}

#[test]
fn a_refused_join_is_retried_a_few_times_only() {
    // A pause ends by itself, and to repeat a join is free.
    for (is_in, why) in [
        (false, "Your pause is not over yet"),
        (true, "Couldn't join for some reason?"),
    ] {
        let mut world = World::named();
        world.pass(0);
        let shown = AccountEvent::ArenaShown(Box::new(arena(0)));
        assert!(join(&world.handle(&shown)).is_some());
        if is_in {
            world.done();
            assert!(join(&world.pass(60)).is_some());
        }
        for _ in 0..2 {
            world.handle(&refused(why));
            assert_eq!(world.sleeps(), Some(60));
            assert!(join(&world.pass(60)).is_some());
        }
        assert_eq!(world.handle(&refused(why)), [not_joined(why)]);
        assert_eq!(world.sleeps(), None);
    }
}

#[test]
fn a_first_join_is_not_paid_for_twice() {
    for why in ["Wrong entry code", "Tournament restrictions"] {
        let mut world = World::named();
        world.pass(0);
        let shown = AccountEvent::ArenaShown(Box::new(arena(0)));
        assert!(join(&world.handle(&shown)).is_some());
        assert_eq!(world.handle(&refused(why)), [not_joined(why)]);
        assert_eq!(world.sleeps(), None);
    }
}

#[test]
fn an_arena_beyond_the_budget_of_first_joins_is_joined_an_hour_later() {
    let mut world = World::named();
    world.pass(0);
    let long = Arena {
        length: Some(SECOND * 36_000),
        ..arena(0)
    };
    let shown = AccountEvent::ArenaShown(Box::new(long));
    assert!(join(&world.handle(&shown)).is_some());
    for _ in 0..4 {
        let too_many = refused("You are joining too many tournaments");
        assert_eq!(world.handle(&too_many), []);
        assert_eq!(world.sleeps(), Some(3600));
        assert!(join(&world.pass(3600)).is_some());
    }
    world.done();
    assert_eq!(world.calendar.playing(), 1);
}

#[test]
fn the_operator_is_told_why_an_arena_asked_for_cannot_be_joined() {
    let outcomes = [
        (CallOutcome::Gone, NO_ARENA),
        (refusal(403, "no scope"), "no scope"),
    ];
    for (outcome, why) in outcomes {
        let joined = AccountEvent::ArenaJoined(ID.to_owned(), outcome);
        let mut world = World::named();
        world.pass(0);
        world.handle(&AccountEvent::ArenaShown(Box::new(arena(0))));
        assert_eq!(world.handle(&joined), [not_joined(why)]);
        // Nobody asked for what the rules found.
        let mut world = World::auto();
        world.pass(0);
        world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
        assert_eq!(world.handle(&joined), []);
    }
}

#[test]
fn a_team_that_the_bot_is_not_in_is_in_the_status_until_that_changes() {
    let mut world = World::auto();
    world.pass(0);
    let remedies = config::foreign_teams(&["x".to_owned()], &[]);
    world.handle(&AccountEvent::ArenasListed(Vec::new(), remedies));
    assert_eq!(
        world.calendar.describe(),
        ["[arena] teams: the account is not a member of x: `megaton team join x`"]
    );
    let remedies = config::foreign_teams(&["x".to_owned()], &["x".to_owned()]);
    world.handle(&AccountEvent::ArenasListed(Vec::new(), remedies));
    assert!(world.calendar.describe().is_empty());
}

#[test]
fn a_ban_pauses_all_joins_for_a_while() {
    let mut world = World::auto();
    world.pass(0);
    assert!(join(&world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()))).is_some());
    world.handle(&AccountEvent::ArenaJoined(
        ID.to_owned(),
        refusal(403, "banned"),
    ));
    let other = Arena {
        id: "other123".to_owned(),
        length: Some(SECOND * 36_000),
        ..arena(0)
    };
    assert_eq!(
        world.handle(&AccountEvent::ArenasListed(vec![other], Vec::new())),
        []
    );
    assert_eq!(world.pass(3000), [AccountEffect::ListArenas(Vec::new())]);
    let joins = world.pass(600);
    assert!(
        joins
            .iter()
            .any(|effect| matches!(effect, AccountEffect::JoinArena(..))),
        "{joins:?}"
    );
}

#[test]
fn after_a_missed_first_move_the_bot_does_not_rejoin() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    world.handle(&began());
    let lost = game("g1", "noStart", r#""black""#);
    world.handle(&AccountEvent::Event(Event::GameFinish(lost)));
    world.handle(&over());
    assert_eq!(world.calendar.playing(), 0);
    assert_eq!(
        world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new())),
        []
    );
}

#[test]
fn an_opponent_who_missed_the_first_move_is_no_reason_to_leave() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    world.handle(&began());
    world.handle(&AccountEvent::Event(Event::GameFinish(game(
        "g1",
        "noStart",
        r#""white""#,
    ))));
    assert_eq!(world.calendar.playing(), 1);
}

#[test]
fn an_arena_joined_elsewhere_is_played_on() {
    let mut world = World::new(config::Arena::default());
    assert_eq!(
        world.handle(&began()),
        [AccountEffect::ShowArena(ID.to_owned())]
    );
    let running = Arena {
        to_start: None,
        to_end: Some(SECOND * 900),
        ..arena(0)
    };
    world.handle(&AccountEvent::ArenaShown(Box::new(running)));
    world.handle(&over());
    assert_eq!(join(&world.pass(1)), Some(true));
}

#[test]
fn at_its_end_no_more_joins_are_sent() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    world.handle(&began());
    assert!(
        world
            .pass(3700)
            .iter()
            .all(|effect| !matches!(effect, AccountEffect::JoinArena(..)))
    );
    world.handle(&AccountEvent::ArenasListed(vec![], Vec::new()));
    world.handle(&AccountEvent::ArenaNotShown(ID.to_owned(), false));
    world.handle(&over());
    assert_eq!(world.calendar.playing(), 0);
    assert!(world.pass(100).is_empty());
}

#[test]
fn closing_leaves_joined_arenas_and_retries_on_failure() {
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    let now = world.now();
    let leave = [AccountEffect::LeaveArena(ID.to_owned())];
    assert_eq!(world.calendar.set_open(false, now), leave);
    assert_eq!(
        world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), false)),
        []
    );
    assert_eq!(world.pass(1), leave);
    assert_eq!(
        world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true)),
        []
    );
    assert_eq!(world.sleeps(), None);
    let joined = world.calendar.join(ID, JoinOptions::default(), now);
    assert_eq!(joined, None, "nothing is joined");
    // An arena being joined is left as soon as the join succeeds.
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    let now = world.now();
    assert_eq!(world.calendar.set_open(false, now), []);
    assert_eq!(world.done(), leave);
}

#[test]
fn a_rated_arena_is_left_while_rated_games_pause_and_joined_again_afterwards() {
    let mut world = World::named();
    world.pass(0);
    world.handle(&AccountEvent::ArenaShown(Box::new(arena(0))));
    world.done();
    world.may_rate = false;
    let leave = [AccountEffect::LeaveArena(ID.to_owned())];
    let left = |done| AccountEvent::ArenaLeft(ID.to_owned(), done);
    assert_eq!(world.pass(1), leave);
    assert_eq!(world.handle(&left(false)), []);
    assert_eq!(world.pass(1), leave);
    assert_eq!(world.handle(&left(true)), []);
    assert_eq!(world.calendar.playing(), 0);
    assert_eq!(world.pass(600), []);
    world.may_rate = true;
    let effects = world.pass(600);
    let [AccountEffect::JoinArena(_, entrance)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(entrance.team.as_deref(), Some("bombers"));
    world.done();
    // One that the operator leaves during the pause is not.
    world.may_rate = false;
    assert_eq!(world.pass(1), leave);
    assert_eq!(world.calendar.leave(ID), Some(Vec::new()));
    world.handle(&left(true));
    assert_eq!(world.calendar.describe(), [""; 0]);
}

#[test]
fn a_game_that_outlasts_an_arena_left_in_a_pause_keeps_no_timer_running() {
    let mut world = World::named();
    world.pass(0);
    world.handle(&AccountEvent::ArenaShown(Box::new(arena(0))));
    world.done();
    world.handle(&began());
    world.may_rate = false;
    let leave = [AccountEffect::LeaveArena(ID.to_owned())];
    assert_eq!(world.pass(1), leave);
    world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true));
    assert_eq!(world.pass(7200), []);
    assert_eq!(world.sleeps(), None);
    world.handle(&over());
    assert_eq!(world.calendar.describe(), [""; 0]);
}

#[test]
fn while_rated_games_pause_only_casual_arenas_are_planned() {
    let mut world = World::new(config::Arena {
        auto: true,
        rated_only: false,
        ..config::Arena::default()
    });
    world.may_rate = false;
    world.pass(0);
    let casual = Arena {
        id: "casual12".to_owned(),
        rated: false,
        ..arena(600)
    };
    world.handle(&AccountEvent::ArenasListed(
        vec![arena(600), casual],
        Vec::new(),
    ));
    assert_eq!(world.calendar.describe(), ["casual12: ahead"]);
}

#[test]
fn an_account_grows_old_enough_and_plays_enough_for_an_arena() {
    let mut world = World::auto();
    let mut strict = arena(600);
    strict.entry.min_account_age = Some(101);
    strict.entry.min_rated_games = Some(51);
    let listed = AccountEvent::ArenasListed(vec![strict], Vec::new());
    let mut over = game("g1", "mate", "null");
    over.rating_diff = Some(5);
    world.handle(&AccountEvent::Event(Event::GameFinish(over)));
    world.handle(&listed);
    assert_eq!(world.calendar.describe(), [""; 0], "a day too young");
    world.pass(86_400);
    world.handle(&listed);
    assert_eq!(world.calendar.describe(), [format!("{ID}: ahead")]);
    world = World::auto();
    world.pass(86_400);
    world.handle(&listed);
    assert_eq!(world.calendar.describe(), [""; 0], "a game too few");
}

#[test]
fn no_call_in_progress_overtakes_leaving() {
    let leave = [AccountEffect::LeaveArena(ID.to_owned())];
    let mut world = World::auto();
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new()));
    world.done();
    assert!(join(&world.pass(45)).is_some(), "we are still there");
    let now = world.now();
    assert_eq!(world.calendar.set_open(false, now), []);
    assert_eq!(world.done(), leave);
    // Nor is leaving forgotten after a fetch of the arena.
    let mut world = World::named();
    world.pass(0);
    world.handle(&AccountEvent::ArenaShown(Box::new(arena(0))));
    world.done();
    world.handle(&began());
    assert_eq!(world.pass(300), [AccountEffect::ShowArena(ID.to_owned())]);
    let now = world.now();
    assert_eq!(world.calendar.set_open(false, now), []);
    assert_eq!(
        world.handle(&AccountEvent::ArenaNotShown(ID.to_owned(), false)),
        leave
    );
}

#[test]
fn the_servers_seconds_are_as_long_as_it_counts_them() {
    let mut world = World::auto();
    let us = Eligibility::default();
    let rules = Arc::clone(&world.calendar.rules);
    world.calendar = ArenaSchedule::new(rules, us, SECOND / 10, 7, world.begun);
    world.pass(0);
    world.handle(&AccountEvent::ArenasListed(vec![arena(600)], Vec::new()));
    assert_eq!(
        world.sleeps(),
        Some(57),
        "a minute, and three seconds before"
    );
}

#[test]
fn the_operator_joins_with_a_password_and_leaves_for_good() {
    let mut world = World::auto();
    world.pass(0);
    let entrance = JoinOptions {
        password: Some("boom".to_owned()),
        ..JoinOptions::default()
    };
    let now = world.now();
    let effects = world.calendar.join(ID, entrance, now);
    assert_eq!(effects, Some(vec![AccountEffect::ShowArena(ID.to_owned())]));
    let private = Arena {
        is_private: true,
        ..arena(0)
    };
    let effects = world.handle(&AccountEvent::ArenaShown(Box::new(private)));
    let [AccountEffect::JoinArena(_, entrance)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(entrance.password.as_deref(), Some("boom"));
    assert!(!format!("{effects:?}").contains("boom"));
    world.done();
    assert_eq!(
        world.calendar.leave(ID),
        Some(vec![AccountEffect::LeaveArena(ID.to_owned())])
    );
    world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true));
    assert_eq!(
        world.handle(&AccountEvent::ArenasListed(vec![arena(0)], Vec::new())),
        []
    );
    assert_eq!(world.calendar.leave("unknown1"), None);
}

#[test]
fn a_restart_leaves_alone_what_was_left_and_joins_what_commands_and_config_name() {
    let mut world = World::auto();
    assert_eq!(world.calendar.note(), None);
    let entrance = JoinOptions {
        team: Some("bombers".to_owned()),
        ..JoinOptions::default()
    };
    world
        .calendar
        .join("other123", entrance.clone(), world.now());
    world.calendar.leave(ID);
    let note = world.calendar.note().unwrap();
    let resume = |world: &mut World| world.calendar.resume(&note, world.begun);
    let listed = AccountEvent::ArenasListed(vec![arena(0)], Vec::new());
    let mut again = World::auto();
    resume(&mut again);
    assert_eq!(again.calendar.note(), Some(note.clone()));
    assert_eq!(again.calendar.plans["other123"].entrance, entrance);
    assert_eq!(join(&again.handle(&listed)), None);
    again.calendar.join(ID, JoinOptions::default(), again.now());
    assert_eq!(
        again.calendar.note().unwrap(),
        "+aBcD1234 +other123:bombers"
    );
    let mut named = World::named();
    resume(&mut named);
    named.calendar.resume(&format!("+{ID}"), world.begun);
    let team = named.calendar.plans[ID].entrance.team.as_deref();
    assert_eq!(team, Some("bombers"), "as the config says");
    for damaged in ["", "+", "-", "+a b:c", "x"] {
        World::auto().calendar.resume(damaged, world.begun);
    }
}

#[test]
fn an_arena_joined_by_command_outlasts_a_pause() {
    for is_joined in [false, true] {
        let mut world = World::new(config::Arena::default());
        let entrance = JoinOptions {
            password: Some("boom".to_owned()),
            ..JoinOptions::default()
        };
        world.calendar.join(ID, entrance.clone(), world.now());
        let begins = if is_joined { 0 } else { 600 };
        world.handle(&AccountEvent::ArenaShown(Box::new(arena(begins))));
        let mut left = Vec::new();
        if is_joined {
            world.done();
            left.push(AccountEffect::LeaveArena(ID.to_owned()));
        }
        assert_eq!(world.calendar.set_open(false, world.now()), left);
        if is_joined {
            world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true));
        }
        assert_eq!(world.pass(575), [], "paused");
        assert_eq!(world.calendar.set_open(true, world.now()), []);
        let join = |pair_me| {
            let password = entrance.password.clone();
            let entrance = JoinOptions {
                password,
                pair_me,
                ..JoinOptions::default()
            };
            AccountEffect::JoinArena(ID.to_owned(), entrance)
        };
        assert_eq!(world.pass(0), [join(is_joined)]);
        // A command ends it even in a pause.
        world.done();
        world.calendar.set_open(false, world.now());
        world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true));
        assert_eq!(world.calendar.describe(), [format!("{ID}: ahead")]);
        assert_eq!(world.calendar.leave(ID), Some(Vec::new()));
        assert_eq!(world.calendar.describe(), [""; 0]);
    }
}

#[test]
fn a_pause_while_an_arena_is_looked_at_changes_nothing() {
    let mut world = World::named();
    assert_eq!(world.pass(0), [AccountEffect::ShowArena(ID.to_owned())]);
    assert_eq!(world.calendar.set_open(false, world.now()), []);
    let shown = AccountEvent::ArenaShown(Box::new(arena(0)));
    assert_eq!(world.handle(&shown), []);
    assert_eq!(world.sleeps(), Some(3600), "until it ends");
    world.calendar.set_open(true, world.now());
    assert_eq!(join(&world.pass(0)), Some(true));
}

#[test]
fn an_arena_that_left_the_config_while_joined_does_not_outlast_a_pause() {
    let mut world = World::named();
    world.pass(0);
    world.handle(&AccountEvent::ArenaShown(Box::new(arena(0))));
    world.done();
    world.reload(&[]);
    assert_eq!(world.calendar.playing(), 1);
    world.calendar.set_open(false, world.now());
    world.handle(&AccountEvent::ArenaLeft(ID.to_owned(), true));
    assert_eq!(world.calendar.describe(), [""; 0]);
}

#[test]
fn arenas_joined_at_the_same_time_share_the_joins_that_the_server_allows() {
    let ids: Vec<String> = (0..5).map(|n| format!("aBcD123{n}")).collect();
    let named_ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut world = World::new(named(&named_ids));
    let mut joins: BTreeMap<String, u32> = BTreeMap::new();
    let mut effects = world.pass(0);
    for _ in 0..600 {
        while let Some(effect) = effects.pop() {
            effects.extend(match effect {
                AccountEffect::ShowArena(id) => {
                    let shown = Arena { id, ..arena(0) };
                    world.handle(&AccountEvent::ArenaShown(Box::new(shown)))
                }
                AccountEffect::JoinArena(id, _) => {
                    *joins.entry(id.clone()).or_default() += 1;
                    world.handle(&AccountEvent::ArenaJoined(id, CallOutcome::Done))
                }
                other => panic!("{other:?}"),
            });
        }
        effects = world.pass(1);
    }
    let all: u32 = joins.values().sum();
    assert!((20..=29).contains(&all), "{joins:?}");
    assert!(
        joins.len() == 5 && joins.values().all(|&joins| joins >= 4),
        "{joins:?}"
    );
}

#[test]
fn the_rules_join_no_more_arenas_than_the_operator_wants() {
    let mut world = World::auto();
    world.pass(0);
    let sooner = Arena {
        id: "zooner12".to_owned(),
        length: Some(SECOND * 600),
        ..arena(20)
    };
    let effects = world.handle(&AccountEvent::ArenasListed(
        vec![arena(25), sooner],
        Vec::new(),
    ));
    // Both are about to begin: the bot joins the first to begin, the other after its end.
    let Some(AccountEffect::JoinArena(first, _)) = effects.first() else {
        panic!("{effects:?}");
    };
    assert_eq!(first, "zooner12");
    assert_eq!(effects.len(), 1);
}

proptest! {
    #[test]
    fn joins_keep_their_distance_under_any_events(
        steps in proptest::collection::vec((0..9_u8, 0..50_u64), 1..300),
    ) {
        let mut world = World::auto();
        let mut joins: Vec<Duration> = Vec::new();
        for (step, seconds) in steps {
            let effects = match step {
                0 => world.handle(&AccountEvent::ArenasListed(vec![arena(seconds)], Vec::new())),
                1 => world.handle(&began()),
                2 => world.handle(&over()),
                3 => world.handle(&AccountEvent::ArenaShown(Box::new(arena(0)))),
                4 | 5 => world.done(),
                6 => world.handle(&AccountEvent::ArenaJoined(ID.to_owned(), CallOutcome::Lost)),
                _ => world.pass(seconds),
            };
            if effects.iter().any(|effect| matches!(effect, AccountEffect::JoinArena(..))) {
                joins.push(world.passed);
            }
        }
        for (index, first) in joins.iter().enumerate() {
            let span = *first + SECOND * 600;
            let within = joins[index..].iter().take_while(|at| **at < span).count();
            prop_assert!(within <= 25, "{within} joins in ten minutes");
        }
    }
}
