//! Seats, and which games get a player.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use megaton::bot::{Acceptance, Errand, Lobby, Memory, MemoryRules, News, Pace, Settings};
use megaton::lichess::{
    Challenge, ChallengeId, Compat, DeclineReason, Event, GameId, GameInfo, Status, UserId,
};
use megaton::store::Store;
use proptest::prelude::*;

use crate::challenges::{bot, challenge, game, player};
use crate::desk::ME;

/// A lobby with a clock of its own.
struct Door {
    lobby: Lobby,
    memory: Memory,
    /// How far the calendar has gone on.
    gone: Arc<Mutex<Duration>>,
    now: Instant,
}

impl Door {
    fn new(seats: usize) -> Self {
        Self::with(|settings| settings.challenge.concurrency = seats)
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        settings.challenge.queue = Duration::from_secs(5);
        settings.challenge.queue_places = 8;
        change(&mut settings);
        let (me, settings) = (UserId::new(ME), Arc::new(settings));
        let gone = Arc::new(Mutex::new(Duration::ZERO));
        let (start, passed) = (SystemTime::now(), Arc::clone(&gone));
        let clock = Arc::new(move || start + *passed.lock().unwrap());
        let (store, kept) = Store::nowhere();
        let memory = Memory::with_clock(store, kept, MemoryRules::default(), clock);
        Self {
            lobby: Lobby::new(me, settings, Pace::default(), memory.clone()),
            memory,
            gone,
            now: Instant::now(),
        }
    }

    fn apply(&mut self, news: News) -> Vec<Wanted> {
        wanted(self.lobby.apply(news, self.now))
    }

    fn challenged(&mut self, challenge: Challenge) -> Vec<Wanted> {
        self.apply(News::Event(Event::Challenge {
            challenge: Box::new(challenge),
            compat: None,
        }))
    }

    fn started(&mut self, game: GameInfo) -> Vec<Wanted> {
        self.apply(News::Event(Event::GameStart(Box::new(game))))
    }

    fn answered(&mut self, id: &str, answer: Acceptance) -> Vec<Wanted> {
        self.apply(News::Accepted {
            id: ChallengeId::new(id),
            answer,
        })
    }

    fn left(&mut self, id: &str) -> Vec<Wanted> {
        self.apply(News::Left {
            game: GameId::new(id),
            seen: true,
        })
    }

    fn wait(&mut self, seconds: u64) -> Vec<Wanted> {
        let end = self.now + Duration::from_secs(seconds);
        let mut errands = Vec::new();
        while let Some(at) = self.lobby.wake_at().filter(|&at| at <= end) {
            self.pass_to(self.now.max(at));
            errands.extend(self.apply(News::Tick));
        }
        self.pass_to(end);
        errands
    }

    fn pass_to(&mut self, moment: Instant) {
        *self.gone.lock().unwrap() += moment - self.now;
        self.now = moment;
    }
}

/// What is wanted, without the names of people.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Accept(String),
    Decline(String, DeclineReason),
    Cancel(String),
    Abort(String),
    Play(String),
    SaidOver(String),
    List,
}

fn wanted(errands: Vec<Errand>) -> Vec<Wanted> {
    let one = |errand| match errand {
        Errand::Accept { id, .. } => Wanted::Accept(id.to_string()),
        Errand::Decline(refusal) => Wanted::Decline(refusal.id.to_string(), refusal.reason),
        Errand::Cancel(id) => Wanted::Cancel(id.to_string()),
        Errand::Abort(id) => Wanted::Abort(id.to_string()),
        Errand::Play(game) => Wanted::Play(game.id.to_string()),
        Errand::SaidOver(id) => Wanted::SaidOver(id.to_string()),
        Errand::List => Wanted::List,
    };
    errands.into_iter().map(one).collect()
}

fn accept(id: &str) -> Vec<Wanted> {
    vec![Wanted::Accept(id.to_owned())]
}

fn later(id: &str) -> Vec<Wanted> {
    vec![Wanted::Decline(id.to_owned(), DeclineReason::Later)]
}

fn play(id: &str) -> Vec<Wanted> {
    vec![Wanted::Play(id.to_owned())]
}

#[test]
fn a_challenge_taken_holds_a_seat_until_its_game_takes_it_over() {
    let mut door = Door::new(1);
    assert_eq!(door.challenged(challenge("c1", player("a"))), accept("c1"));
    assert_eq!(door.challenged(challenge("c2", player("b"))), []);
    assert_eq!(door.wait(5), later("c2"));
    door.answered("c1", Acceptance::Done);
    assert_eq!(door.started(game("c1", player("a"))), play("c1"));
    assert_eq!(door.lobby.taken(), 1);
    door.left("c1");
    assert_eq!(door.challenged(challenge("c3", player("b"))), accept("c3"));
}

#[test]
fn a_game_is_started_exactly_once_however_often_it_is_announced() {
    let mut door = Door::new(2);
    assert_eq!(door.started(game("g1", player("a"))).len(), 1);
    for _ in 0..5 {
        assert_eq!(door.started(game("g1", player("a"))), []);
    }
    let listed = vec![game("g1", player("a"))];
    assert_eq!(door.apply(News::Running(listed)), []);
}

#[test]
fn finished_and_foreign_games_start_nothing() {
    let mut door = Door::new(2);
    let mut over = game("g1", player("a"));
    over.status = Some(Status::Mate);
    assert_eq!(door.started(over), []);
    let mut board_only = game("g2", player("a"));
    board_only.compat = Some(Compat {
        bot: false,
        board: true,
    });
    assert_eq!(door.started(board_only), []);
    assert!(door.lobby.is_empty());
}

#[test]
fn a_permit_without_a_game_runs_out_and_is_asked_about() {
    let mut door = Door::new(1);
    door.challenged(challenge("c1", player("a")));
    door.answered("c1", Acceptance::Done);
    assert_eq!(door.wait(29), []);
    assert_eq!(door.wait(2), [Wanted::List]);
    door.apply(News::Running(Vec::new()));
    assert!(door.lobby.is_empty());
    // A game that begins after all is played all the same.
    assert_eq!(door.started(game("c1", player("a"))).len(), 1);
}

#[test]
fn a_rematch_may_begin_under_another_id() {
    let mut door = Door::new(2);
    let mut rematch = challenge("r1", player("a"));
    rematch.rematch_of = Some(GameId::new("old"));
    door.challenged(rematch);
    assert_eq!(door.started(game("other", player("a"))).len(), 1);
    assert_eq!(door.lobby.taken(), 1, "the permit became the game");
}

#[test]
fn a_surplus_game_is_played() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    assert_eq!(door.started(game("g2", player("b"))).len(), 1);
    assert_eq!(door.challenged(challenge("c1", player("c"))), []);
    assert_eq!(
        door.left("g1"),
        [],
        "one game too many is over, no seat is free"
    );
    assert_eq!(door.wait(5), later("c1"));
}

#[test]
fn a_challenge_that_comes_before_the_end_of_a_game_is_seen_gets_its_seat() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    assert_eq!(door.challenged(challenge("c1", player("b"))), []);
    assert_eq!(door.challenged(challenge("c1", player("b"))), []);
    assert_eq!(door.challenged(challenge("c2", player("c"))), []);
    door.wait(3);
    assert_eq!(door.left("g1"), accept("c1"), "first come, first served");
    assert_eq!(door.lobby.taken(), 1);
    assert_eq!(door.wait(3), later("c2"), "and nobody waits for long");
}

#[test]
fn who_withdraws_while_waiting_is_forgotten() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    let asked = challenge("c1", player("b"));
    door.challenged(asked.clone());
    door.apply(News::Event(Event::ChallengeCanceled(Box::new(asked))));
    assert_eq!(door.left("g1"), []);
}

#[test]
fn a_crowd_at_a_full_house_is_sent_off_at_once() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    let ids: Vec<_> = (1..=9).map(|n| format!("c{n}")).collect();
    for id in &ids[..8] {
        assert_eq!(door.challenged(challenge(id, player("b"))), []);
    }
    assert_eq!(door.challenged(challenge("c9", player("b"))), later("c9"));
}

#[test]
fn those_who_wait_are_told_when_the_house_closes() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    door.challenged(challenge("c1", player("b")));
    assert_eq!(door.apply(News::Drain), later("c1"));
}

#[test]
fn what_is_withdrawn_leaves_its_seat() {
    let mut door = Door::new(1);
    let asked = challenge("c1", player("a"));
    door.challenged(asked.clone());
    door.apply(News::Event(Event::ChallengeCanceled(Box::new(asked))));
    assert!(door.lobby.is_empty());
}

#[test]
fn acceptances_end_in_a_seat_or_in_none_whatever_the_answer() {
    for answer in [
        Acceptance::Refused,
        Acceptance::Gone,
        Acceptance::Limited(None),
        Acceptance::OurDay,
        Acceptance::TheirDay,
    ] {
        let mut door = Door::new(1);
        door.challenged(challenge("c1", player("a")));
        door.answered("c1", answer);
        assert!(door.lobby.is_empty());
    }
}

#[test]
fn a_lost_acceptance_is_repeated_a_few_times() {
    let mut door = Door::new(1);
    door.challenged(challenge("c1", player("a")));
    for _ in 0..3 {
        door.answered("c1", Acceptance::Lost);
        assert_eq!(door.wait(2), accept("c1"));
    }
    door.answered("c1", Acceptance::Lost);
    assert!(door.lobby.is_empty());
}

#[test]
fn the_days_limit_against_bots_leaves_humans_alone() {
    let mut door = Door::new(4);
    door.challenged(challenge("c1", bot("nuke")));
    // The call that brought the refusal told the memory.
    let wait = Duration::from_secs(27_594);
    door.memory.bot_games_refused(Some(wait), None);
    assert_eq!(door.answered("c1", Acceptance::OurDay), later("c1"));
    assert_eq!(door.challenged(challenge("c2", bot("fuse"))), later("c2"));
    assert_eq!(door.challenged(challenge("c3", player("a"))), accept("c3"));
    door.wait(27_600);
    assert_eq!(door.challenged(challenge("c4", bot("fuse"))), accept("c4"));
}

#[test]
fn a_challenge_told_twice_is_answered_once() {
    let mut door = Door::new(4);
    assert_eq!(door.challenged(challenge("c1", player("a"))), accept("c1"));
    assert_eq!(door.challenged(challenge("c1", player("a"))), []);
    door.started(game("c1", player("a")));
    assert_eq!(door.challenged(challenge("c1", player("a"))), []);
}

#[test]
fn every_opening_compares_the_running_games() {
    let mut door = Door::new(4);
    assert_eq!(door.apply(News::Opened), [Wanted::List]);
    door.started(game("g1", player("a")));
    let listed = vec![game("g2", player("b"))];
    let errands = door.apply(News::Running(listed));
    assert_eq!(errands[0], Wanted::SaidOver("g1".into()));
    assert!(matches!(&errands[1], Wanted::Play(game) if game == "g2"));
    // And from time to time while games run.
    assert_eq!(door.wait(301), [Wanted::List]);
}

#[test]
fn a_list_that_could_not_be_had_is_asked_for_again() {
    let mut door = Door::new(4);
    door.apply(News::Opened);
    door.apply(News::NoList);
    assert_eq!(door.wait(11), [Wanted::List]);
}

#[test]
fn a_burst_that_overflowed_the_stream_is_made_up_by_the_list() {
    let mut door = Door::new(4);
    let listed: Vec<_> = (0..40)
        .map(|n| game(&format!("g{n}"), player("a")))
        .collect();
    for known in &listed[..32] {
        door.started(known.clone());
    }
    let errands = door.apply(News::Running(listed));
    let plays = errands.iter().filter(|e| matches!(e, Wanted::Play(_)));
    assert_eq!((plays.count(), door.lobby.taken()), (8, 40));
}

#[test]
fn the_end_of_a_game_is_passed_on_to_its_player() {
    let mut door = Door::new(4);
    door.started(game("g1", player("a")));
    let finish = |id| News::Event(Event::GameFinish(Box::new(game(id, player("a")))));
    assert_eq!(door.apply(finish("g1")), [Wanted::SaidOver("g1".into())]);
    assert_eq!(door.apply(finish("unknown")), []);
}

#[test]
fn a_game_lost_from_sight_is_asked_about() {
    let mut door = Door::new(4);
    door.started(game("g1", player("a")));
    let lost = News::Left {
        game: GameId::new("g1"),
        seen: false,
    };
    assert_eq!(door.apply(lost), []);
    assert_eq!(door.wait(6), [Wanted::List]);
}

#[test]
fn a_draining_lobby_takes_nothing_and_plays_what_runs() {
    let mut door = Door::new(4);
    door.challenged(challenge("c1", player("a")));
    door.apply(News::Drain);
    assert_eq!(door.challenged(challenge("c2", player("b"))), later("c2"));
    assert!(!door.lobby.is_empty());
    assert_eq!(door.started(game("c1", player("a"))).len(), 1);
    door.left("c1");
    assert!(door.lobby.is_empty());
}

/// Anything that can happen at the door.
#[derive(Clone, Debug)]
enum Happening {
    Challenge(u8, bool),
    Canceled(u8),
    Start(u8),
    Finish(u8),
    Left(u8),
    Answer(u8, u8),
    Listed(Vec<u8>),
    Opened,
    Wait(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    let id = || 0..6_u8;
    prop_oneof![
        (id(), any::<bool>()).prop_map(|(id, bot)| Happening::Challenge(id, bot)),
        id().prop_map(Happening::Canceled),
        id().prop_map(Happening::Start),
        id().prop_map(Happening::Finish),
        id().prop_map(Happening::Left),
        (id(), 0..6_u8).prop_map(|(id, answer)| Happening::Answer(id, answer)),
        prop::collection::vec(id(), 0..6).prop_map(Happening::Listed),
        Just(Happening::Opened),
        (0..40_u8).prop_map(Happening::Wait),
    ]
}

fn happen(door: &mut Door, happening: Happening) -> Vec<Wanted> {
    let name = |id: u8| format!("g{id}");
    let by = |id: u8, is_bot| {
        if is_bot {
            bot("nuke")
        } else {
            player(&name(id))
        }
    };
    match happening {
        Happening::Challenge(id, is_bot) => door.challenged(challenge(&name(id), by(id, is_bot))),
        Happening::Canceled(id) => {
            let asked = challenge(&name(id), by(id, false));
            door.apply(News::Event(Event::ChallengeCanceled(Box::new(asked))))
        }
        Happening::Start(id) => door.started(game(&name(id), by(id, false))),
        Happening::Finish(id) => {
            let over = game(&name(id), by(id, false));
            door.apply(News::Event(Event::GameFinish(Box::new(over))))
        }
        Happening::Left(id) => door.left(&name(id)),
        Happening::Answer(id, answer) => door.answered(
            &name(id),
            match answer {
                0 => Acceptance::Done,
                1 => Acceptance::Lost,
                2 => Acceptance::Gone,
                3 => Acceptance::Limited(None),
                4 => Acceptance::OurDay,
                _ => Acceptance::Refused,
            },
        ),
        Happening::Listed(ids) => {
            let games = ids.into_iter().map(|id| game(&name(id), by(id, false)));
            door.apply(News::Running(games.collect()))
        }
        Happening::Opened => door.apply(News::Opened),
        Happening::Wait(seconds) => door.wait(u64::from(seconds)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_no_game_has_two_players_and_no_seat_is_lost(
        happenings in prop::collection::vec(happening(), 1..80),
    ) {
        let mut door = Door::new(2);
        let mut playing = BTreeSet::new();
        for happening in happenings {
            if let Happening::Left(id) = happening {
                playing.remove(&format!("g{id}"));
            }
            let is_new = matches!(happening, Happening::Challenge(..));
            let full = door.lobby.taken() >= 2;
            for errand in happen(&mut door, happening) {
                match errand {
                    Wanted::Play(game) => {
                        prop_assert!(playing.insert(game), "two players");
                    }
                    Wanted::Accept(_) => prop_assert!(!(is_new && full), "beyond the seats"),
                    _ => {}
                }
            }
        }
        // Once every game is left and every permit has run out, every seat is free.
        for _ in 0..3 {
            for errand in door.wait(600) {
                if let Wanted::Play(game) = errand {
                    prop_assert!(playing.insert(game), "two players");
                }
            }
            for id in std::mem::take(&mut playing) {
                door.left(&id);
            }
        }
        prop_assert!(door.lobby.is_empty());
    }
}
