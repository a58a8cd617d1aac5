//! The memory as its callers use it, in a time that is told.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::{BotState, QuotaCall, StartedGame, StateRules};
use crate::bot::quota::{ChallengeTarget, Denied, Permit};
use crate::lichess::{ChallengeId, Error, ErrorBody, GameId, RateLimit, Side, UserId};
use crate::store::{FinishedGame, GameResult, GuardScope, Origin, State, Store, Timestamp};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A memory and the hand on its clock.
struct Room {
    state: BotState,
    time: Arc<Mutex<SystemTime>>,
}

impl Room {
    fn new() -> Self {
        Self::over(Store::nowhere())
    }

    fn over((store, kept): (Store, State)) -> Self {
        let time = Arc::new(Mutex::new(
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        ));
        let hand = Arc::clone(&time);
        let clock = Arc::new(move || *hand.lock().unwrap());
        Self {
            state: BotState::with_clock(store, kept, StateRules::default(), clock),
            time,
        }
    }

    fn pass(&self, time: Duration) {
        *self.time.lock().unwrap() += time;
    }

    fn set_back(&self, time: Duration) {
        *self.time.lock().unwrap() -= time;
    }
}

fn foe() -> UserId {
    UserId::new("foe")
}

fn started(id: &str, is_bot: bool) -> StartedGame {
    StartedGame {
        game: GameId::new(id),
        opponent: Some(foe()),
        is_bot,
        origin: None,
        arena: false,
        rematch: false,
    }
}

fn finished(id: &str, winner: Option<Side>, at: Timestamp) -> FinishedGame {
    FinishedGame {
        game: GameId::new(id),
        opponent: Some(foe()),
        is_bot: true,
        rated: true,
        color: Some(Side::White),
        winner,
        status: "variantEnd".into(),
        plies: 30,
        opening: format!("opening of {id}"),
        rating_diff: None,
        at,
    }
}

fn limited(status: u16, key: Option<&str>, message: &str) -> Error {
    let body = Box::new(ErrorBody {
        message: message.into(),
        fields: Vec::new(),
        rate_limit: key.map(|key| RateLimit {
            key: Some(key.into()),
            wait: Some(HOUR),
        }),
    });
    match status {
        429 => Error::RateLimited {
            wait: key.map(|_| HOUR),
            body,
        },
        status => Error::Refused { status, body },
    }
}

#[test]
fn what_is_noticed_at_a_look_is_handed_over_before_anybody_else_looks() {
    let folder = tempfile::tempdir().unwrap();
    let room = Room::over(Store::open(folder.path()).unwrap());
    let state = &room.state;
    // The next look finds that it is time to forget what is old.
    room.pass(HOUR * 2);
    let (say_taken, taken) = mpsc::channel();
    let (let_go, held) = mpsc::channel::<()>();
    let (say_looking, looking) = mpsc::channel();
    let (say_told, told) = mpsc::channel();
    std::thread::scope(move |threads| {
        // Nothing can be handed over while this continues.
        threads.spawn(move || {
            let none = std::iter::from_fn(|| {
                say_taken.send(()).unwrap();
                let _ = held.recv();
                None
            });
            state.store().write_all(none);
        });
        taken.recv().unwrap();
        threads.spawn(move || state.look(|_, _| say_looking.send(()).unwrap()));
        looking.recv().unwrap();
        threads.spawn(move || {
            // A failed test has gone already.
            let _ = say_told.send(state.note("any"));
        });
        let early = told.recv_timeout(Duration::from_millis(100));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(let_go);
        assert_eq!(told.recv(), Ok(None));
    });
}

#[test]
fn accepting_bots_rests_as_long_as_is_advised_whatever_the_limit_is_called() {
    let minute = Duration::from_secs(60);
    for (wait, rest) in [(None, minute), (Some(HOUR), HOUR)] {
        let room = Room::new();
        let error = Error::RateLimited {
            wait,
            body: Box::default(),
        };
        room.state.refused(QuotaCall::Accept, &error, Some(&foe()));
        assert!(room.state.may_accept_bot().is_granted(), "a person's");
        room.state
            .refused(QuotaCall::AcceptBot, &error, Some(&foe()));
        let resting = Permit::Later {
            at: room.state.now() + rest,
            denied: Denied::Closed,
        };
        assert_eq!(room.state.may_accept_bot(), resting);
        assert!(room.state.may_challenge(ChallengeTarget::Bot).is_granted());
        room.pass(rest);
        assert!(room.state.may_accept_bot().is_granted());
    }
}

#[test]
fn a_game_counts_once_however_often_it_is_told() {
    let room = Room::new();
    drop(room.state.hold_accept(&ChallengeId::new("a"), &foe()));
    assert_eq!(room.state.budget().incoming, 1);
    for _ in 0..3 {
        room.state.started(&started("a", true));
    }
    room.state.started(&started("human", false));
    let mut arena = started("arena", true);
    arena.arena = true;
    room.state.started(&arena);
    assert_eq!(room.state.budget().incoming, 1);
    assert_eq!(room.state.opponent(&foe()).games_today, 3);
    assert_eq!(
        (room.state.games_today(true), room.state.games_today(false)),
        (2, 1)
    );
    room.pass(DAY);
    assert_eq!(room.state.budget().incoming, 0);
    assert_eq!(room.state.opponent(&foe()).games_today, 0);
}

#[test]
fn a_challenge_of_ours_costs_a_credit_and_perhaps_a_game() {
    let room = Room::new();
    let (key, _writing) = room.state.hold_challenge(ChallengeTarget::Bot, &foe());
    room.state.challenge_made(&key, &ChallengeId::new("ours"));
    let budget = room.state.budget();
    assert_eq!((budget.outgoing, budget.credits_spent), (1, 1));
    room.state.release("ours");
    let budget = room.state.budget();
    assert_eq!(
        (budget.outgoing, budget.credits_spent),
        (0, 1),
        "the credit is gone"
    );
    let (key, _writing) = room.state.hold_challenge(ChallengeTarget::Bot, &foe());
    room.state.challenge_made(&key, &ChallengeId::new("next"));
    let mut game = started("next", true);
    game.origin = Some(Origin::Incoming);
    room.state.started(&game);
    assert_eq!(
        room.state.budget().outgoing,
        1,
        "who asked is known better here"
    );
}

#[test]
fn a_rematch_under_another_id_takes_the_game_set_aside() {
    let room = Room::new();
    drop(room.state.hold_accept(&ChallengeId::new("offer"), &foe()));
    let mut game = started("rematch", true);
    game.rematch = true;
    room.state.started(&game);
    assert_eq!(room.state.budget().incoming, 1);
    assert_eq!(room.state.opponent(&foe()).rematches_in_a_row, 1);
    room.state.started(&started("new", true));
    assert_eq!(room.state.opponent(&foe()).rematches_in_a_row, 0);
}

#[test]
fn refusals_teach_whose_limit_it_is() {
    let key = Some("bot.vsBot.day");
    let room = Room::new();
    let ours = "You played 64 games against other bots today, please wait";
    room.state
        .refused(QuotaCall::Accept, &limited(429, key, ours), Some(&foe()));
    let budget = room.state.budget();
    assert_eq!(budget.games, 64);
    assert!(budget.closed_until.is_some() && !room.state.may_accept_bot().is_granted());
    assert_eq!(room.state.opponent(&foe()).spent_until, None);

    let room = Room::new();
    let theirs = "Foe played 100 games against other bots today";
    room.state.refused(
        QuotaCall::Challenge,
        &limited(400, key, theirs),
        Some(&foe()),
    );
    assert!(room.state.may_accept_bot().is_granted());
    let until = room.state.opponent(&foe()).spent_until.expect("they rest");
    assert_eq!(until.since(room.state.now()), HOUR);

    let room = Room::new();
    let storm = limited(429, None, "Too many requests. Try again later.");
    room.state.refused(QuotaCall::Accept, &storm, None);
    assert!(
        room.state
            .may_challenge(ChallengeTarget::Human)
            .is_granted()
    );
    room.state.refused(QuotaCall::Challenge, &storm, None);
    let closed = room.state.may_challenge(ChallengeTarget::Human);
    assert!(matches!(
        closed,
        Permit::Later {
            denied: Denied::Closed,
            ..
        }
    ));
    assert!(room.state.may_accept_bot().is_granted());
}

/// A day of a bot that plays more than any did. Each game asks some six times about the others: had
/// it to go through all of them, this would take minutes.
#[test]
fn what_is_remembered_of_other_games_makes_none_slower() {
    let room = Room::new();
    let begin = Instant::now();
    for number in 0..50_000 {
        let game = GameId::new(format!("g{number:07}"));
        let who = UserId::new(&format!("foe{}", number % 700));
        room.state.started(&StartedGame {
            opponent: Some(who.clone()),
            ..started(game.as_str(), false)
        });
        assert!(room.state.known_for(&game).is_some());
        assert!(room.state.opponent(&who).games_today > 0);
        room.state.finished(FinishedGame {
            opponent: Some(who),
            ..finished(game.as_str(), Some(Side::White), room.state.now())
        });
        room.state.rated(&game, 1);
        assert!(!room.state.lacks_rating(&game));
    }
    assert_eq!(room.state.games_today(false), 50_000);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn of_more_games_than_a_week_holds_the_latest_are_remembered() {
    let room = Room::new();
    for number in 0..50_010 {
        room.state.started(&StartedGame {
            opponent: Some(UserId::new(if number < 20 { "early" } else { "late" })),
            ..started(&format!("g{number:07}"), false)
        });
    }
    assert_eq!(room.state.opponent(&UserId::new("early")).games_today, 10);
    assert_eq!(room.state.games_today(false), 50_000);
    assert_eq!(room.state.known_for(&GameId::new("g0000009")), None);
    assert!(room.state.known_for(&GameId::new("g0000010")).is_some());
}

#[test]
fn a_rating_that_nobody_told_is_missed_after_half_a_minute_and_for_a_day() {
    let room = Room::new();
    let now = room.state.now();
    for game in ["told", "untold"] {
        room.state.finished(finished(game, Some(Side::White), now));
    }
    let aborted = FinishedGame {
        plies: 1,
        ..finished("aborted", None, now)
    };
    room.state.finished(aborted);
    assert_eq!(room.state.untold_ratings(), [], "it may be told yet");
    room.state.rated(&GameId::new("told"), 5);
    room.pass(Duration::from_secs(31));
    let untold = room.state.untold_ratings();
    let games: Vec<_> = untold.iter().map(|open| open.game.as_str()).collect();
    assert_eq!(games, ["untold"]);
    assert!(room.state.lacks_rating(&GameId::new("untold")));
    room.state.rated(&GameId::new("untold"), 0);
    assert_eq!(room.state.untold_ratings(), [], "nought is an answer");
    room.state.finished(finished("late", None, now));
    room.pass(DAY);
    assert_eq!(room.state.untold_ratings(), [], "nobody asks any more");
}

#[test]
fn a_rating_may_be_told_before_or_after_the_end_and_counts_once() {
    let room = Room::new();
    let now = room.state.now();
    let lost = Some(Side::Black);
    assert_eq!(room.state.rated(&GameId::new("a"), -60), []);
    for game in ["a", "b", "c"] {
        assert_eq!(room.state.finished(finished(game, lost, now)), []);
    }
    assert_eq!(room.state.rated(&GameId::new("c"), -30), []);
    let pause = room.state.rated(&GameId::new("b"), -60);
    assert_eq!(pause.len(), 2, "this opponent, and all");
    assert_eq!(room.state.rated(&GameId::new("b"), -60), []);
    assert_eq!(
        room.state.finished(finished("b", lost, now)),
        [],
        "told twice"
    );
    assert!(room.state.rated_rest(None).is_some());
    let scopes: Vec<_> = room
        .state
        .rated_rests()
        .into_iter()
        .map(|(scope, _)| scope)
        .collect();
    assert!(scopes.contains(&GuardScope::All) && scopes.contains(&GuardScope::Opponent(foe())));
    room.pass(DAY);
    assert!(room.state.rated_rest(Some(&foe())).is_none());
    assert_eq!(room.state.opponent(&foe()).losses, 3);
}

#[test]
fn the_last_two_games_of_a_pair_are_known_and_aborted_ones_are_none() {
    let room = Room::new();
    for id in ["a", "b", "c"] {
        room.state.finished(finished(id, None, room.state.now()));
    }
    let mut aborted = finished("d", None, room.state.now());
    aborted.status = "aborted".into();
    room.state.finished(aborted);
    room.pass(DAY * 30);
    let record = room.state.opponent(&foe());
    let openings: Vec<_> = record
        .last
        .iter()
        .map(|game| game.opening.as_str())
        .collect();
    assert_eq!(openings, ["opening of c", "opening of b"]);
    assert_eq!(record.last[0].result, GameResult::Draw);
    assert_eq!(record.draws, 3);
}

#[test]
fn rests_double_and_end_and_are_found_by_their_beginning() {
    let room = Room::new();
    let cool = |key| room.state.cool(key, HOUR, DAY, Some("later"));
    let lengths: Vec<_> = (0..6)
        .map(|_| {
            let span = cool("foe blitz").span;
            span.until.since(span.at).as_secs() / 3600
        })
        .collect();
    assert_eq!(lengths, [1, 2, 4, 8, 16, 24]);
    cool("other blitz");
    assert_eq!(room.state.cooldowns("foe ").len(), 1);
    assert!(room.state.resting("foe blitz").is_some());
    room.pass(DAY);
    assert!(room.state.resting("foe blitz").is_none());
    assert_eq!(
        room.state
            .cooldown("foe blitz")
            .expect("remembered")
            .failures,
        6
    );
    room.state.clear_cooldown("foe blitz");
    assert_eq!(room.state.cooldown("foe blitz"), None);
}

#[test]
fn a_clock_set_back_a_year_lengthens_no_rest() {
    let room = Room::new();
    room.pass(DAY * 365);
    room.state.cool("foe", HOUR, DAY, None);
    room.state.opponent_spent(&foe(), HOUR);
    room.state.started(&started("a", true));
    room.state.accepted(&ChallengeId::new("a"), &foe(), true);
    room.set_back(DAY * 365);
    assert!(room.state.resting("foe").is_some());
    assert!(room.state.opponent(&foe()).spent_until.is_some());
    assert_eq!(room.state.accepted_within(&foe(), HOUR), 1);
    room.pass(HOUR * 2);
    assert!(room.state.resting("foe").is_none());
    assert!(room.state.opponent(&foe()).spent_until.is_none());
    assert_eq!(room.state.accepted_within(&foe(), HOUR), 0);
    room.pass(DAY);
    assert_eq!(room.state.budget().incoming, 0);
}

#[test]
fn what_was_said_in_a_game_is_known_for_a_month() {
    let room = Room::new();
    let game = GameId::new("a");
    room.state.update_game(&game, |game| game.greeted = true);
    drop(
        room.state
            .update_game_through(&game, |game| game.draw_offers += 1),
    );
    room.pass(DAY * 29);
    let known = room.state.game(&game);
    assert!(known.greeted && !known.parted && known.draw_offers == 1);
    room.pass(DAY * 2);
    room.state.set_note("wake", None);
    assert!(!room.state.game(&game).greeted);
}

#[test]
fn a_game_is_known_from_its_first_word_on_and_costs_are_at_hand() {
    let room = Room::new();
    let game = GameId::new("a");
    assert_eq!(room.state.known_for(&game), None);
    room.state.started(&started("a", true));
    room.pass(HOUR);
    room.state.started(&started("a", true));
    assert_eq!(room.state.known_for(&game), Some(HOUR));
    room.state.move_cost(Duration::from_millis(70));
    assert_eq!(room.state.move_costs(), [Duration::from_millis(70)]);
    room.pass(DAY * 2);
    assert!(room.state.move_costs().is_empty());
}

#[test]
fn a_game_is_open_until_its_end_is_counted_and_no_longer() {
    let room = Room::new();
    let open = || -> Vec<GameId> {
        let open = room.state.open_games().into_iter();
        open.map(|open| open.game).collect()
    };
    let [a, b, c] = ["a", "b", "c"].map(GameId::new);
    room.state.expect_game(&c);
    room.pass(HOUR);
    room.state.started(&started("a", true));
    room.state.started(&started("b", false));
    room.state.expect_game(&c);
    // Other notes are none of these.
    room.state.set_note("opera", Some("1".into()));
    assert_eq!(open(), [c.clone(), a.clone(), b.clone()]);
    let now = room.state.now();
    room.state.finished(finished("a", Some(Side::White), now));
    room.state.give_game_up(&c);
    assert_eq!(open(), [b]);
    assert!(!room.state.is_open(&a));
    // Told again after its end, it stays counted once.
    room.state.started(&started("a", true));
    assert!(!room.state.is_open(&a));
    room.state.finished(finished("a", Some(Side::White), now));
    assert_eq!(room.state.opponent(&foe()).wins, 1);
}
