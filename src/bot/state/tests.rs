//! The bot state as its callers use it, with a simulated clock.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::{BotState, QuotaCall, StartedGame, StateRules};
use crate::bot::quota::{Denied, OpponentKind, Permit};
use crate::lichess::{ChallengeId, Error, ErrorBody, GameId, RateLimit, Side, UserId};
use crate::store::{FinishedGame, GameResult, GuardScope, Origin, State, Store, Timestamp};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A state and its simulated clock.
struct Fixture {
    state: BotState,
    time: Arc<Mutex<SystemTime>>,
}

impl Fixture {
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
        rematch: false,
    }
}

#[test]
fn a_game_that_the_bot_itself_calls_off_is_no_no_show() {
    let Fixture { state, .. } = Fixture::new();
    let [ours, theirs] = ["game0001", "game0002"].map(GameId::new);
    state.call_off(&ours);
    assert!(!state.no_show(&ours, &foe(), true));
    assert_eq!(state.opponent(&foe()).no_shows_today, 0);
    assert!(state.no_show(&theirs, &foe(), true));
    assert_eq!(state.opponent(&foe()).no_shows_today, 1);
}

#[test]
fn a_game_called_off_has_a_note_of_it_until_its_end_is_counted() {
    let Fixture { state, .. } = Fixture::new();
    let game = GameId::new("game0001");
    let notes = || {
        let of_game = |key: &&String| key.ends_with("game0001");
        state.with_state(|inner, _| {
            inner
                .notes
                .keys()
                .filter(of_game)
                .cloned()
                .collect::<Vec<_>>()
        })
    };
    state.call_off(&game);
    assert!(notes().is_empty(), "nobody looks up how it ended");
    state.expect_game(&game);
    state.call_off(&game);
    assert_eq!(notes(), ["called off game0001", "open game0001"]);
    state.heed_refusal(&game, &Err(limited(400, None, "too late")));
    assert_eq!(notes(), ["open game0001"]);
    state.call_off(&game);
    state.finished(finished("game0001", None, state.now()));
    assert!(notes().is_empty());
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
        is_page: false,
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
fn changes_found_by_a_read_are_queued_before_the_next_read() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::over(Store::open(folder.path()).unwrap());
    let state = &fixture.state;
    // The next read finds that old state is due for pruning.
    fixture.pass(HOUR * 2);
    let (say_taken, taken) = mpsc::channel();
    let (let_go, held) = mpsc::channel::<()>();
    let (say_looking, looking) = mpsc::channel();
    let (say_told, told) = mpsc::channel();
    std::thread::scope(move |threads| {
        // Nothing can be queued while this runs.
        threads.spawn(move || {
            let none = std::iter::from_fn(|| {
                say_taken.send(()).unwrap();
                let _ = held.recv();
                None
            });
            state.store().write_all(none);
        });
        taken.recv().unwrap();
        threads.spawn(move || state.with_state(|_, _| say_looking.send(()).unwrap()));
        looking.recv().unwrap();
        threads.spawn(move || {
            // A failed test may have dropped the receiver.
            let _ = say_told.send(state.note("any"));
        });
        let early = told.recv_timeout(Duration::from_millis(100));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(let_go);
        assert_eq!(told.recv(), Ok(None));
    });
}

#[test]
fn accepting_bots_cools_down_as_long_as_advised_whatever_the_limits_name() {
    let minute = Duration::from_secs(60);
    for (wait, rest) in [(None, minute), (Some(HOUR), HOUR)] {
        let fixture = Fixture::new();
        let error = Error::RateLimited {
            wait,
            body: Box::default(),
        };
        fixture
            .state
            .refused(QuotaCall::Accept, &error, Some(&foe()));
        assert!(fixture.state.may_accept_bot().is_granted(), "a person's");
        fixture
            .state
            .refused(QuotaCall::AcceptBot, &error, Some(&foe()));
        let resting = Permit::Later {
            at: fixture.state.now() + rest,
            denied: Denied::Closed,
        };
        assert_eq!(fixture.state.may_accept_bot(), resting);
        assert!(fixture.state.may_challenge(OpponentKind::Bot).is_granted());
        fixture.pass(rest);
        assert!(fixture.state.may_accept_bot().is_granted());
    }
}

#[test]
fn a_game_counts_once_however_often_it_is_reported() {
    let fixture = Fixture::new();
    fixture.state.hold_accept(&ChallengeId::new("a"), &foe());
    assert_eq!(fixture.state.budget().incoming, 1);
    for _ in 0..3 {
        fixture.state.started(&started("a", true));
    }
    fixture.state.started(&started("human", false));
    for _ in 0..3 {
        fixture.state.started(&StartedGame {
            origin: Some(Origin::Arena),
            ..started("arena", true)
        });
    }
    assert_eq!(fixture.state.budget().incoming, 2, "the arena's too");
    assert_eq!(fixture.state.opponent(&foe()).games_today, 3);
    assert_eq!(
        (
            fixture.state.games_today(true),
            fixture.state.games_today(false)
        ),
        (2, 1)
    );
    fixture.pass(DAY);
    assert_eq!(fixture.state.budget().incoming, 0);
    assert_eq!(fixture.state.opponent(&foe()).games_today, 0);
}

#[test]
fn a_challenge_of_ours_costs_a_credit_and_perhaps_a_game() {
    let fixture = Fixture::new();
    let key = fixture.state.hold_challenge(OpponentKind::Bot, &foe());
    fixture
        .state
        .challenge_made(&key, &ChallengeId::new("ours"));
    let budget = fixture.state.budget();
    assert_eq!((budget.outgoing, budget.credits_spent), (1, 1));
    fixture.state.release("ours");
    let budget = fixture.state.budget();
    assert_eq!(
        (budget.outgoing, budget.credits_spent),
        (0, 1),
        "the credit is gone"
    );
    let key = fixture.state.hold_challenge(OpponentKind::Bot, &foe());
    fixture
        .state
        .challenge_made(&key, &ChallengeId::new("next"));
    let mut game = started("next", true);
    game.origin = Some(Origin::Incoming);
    fixture.state.started(&game);
    assert_eq!(
        fixture.state.budget().outgoing,
        1,
        "the recorded origin wins"
    );
}

#[test]
fn a_rematch_under_another_id_takes_the_reserved_game() {
    let fixture = Fixture::new();
    fixture
        .state
        .hold_accept(&ChallengeId::new("offer"), &foe());
    let mut game = started("rematch", true);
    game.rematch = true;
    fixture.state.started(&game);
    assert_eq!(fixture.state.budget().incoming, 1);
    assert_eq!(fixture.state.opponent(&foe()).rematches_in_a_row, 1);
    fixture.state.started(&started("new", true));
    assert_eq!(fixture.state.opponent(&foe()).rematches_in_a_row, 0);
}

#[test]
fn refusals_show_whose_limit_it_is() {
    let key = Some("bot.vsBot.day");
    let fixture = Fixture::new();
    let ours = "You played 64 games against other bots today, please wait";
    fixture
        .state
        .refused(QuotaCall::Accept, &limited(429, key, ours), Some(&foe()));
    let budget = fixture.state.budget();
    assert_eq!(budget.games, 64);
    assert!(!fixture.state.may_accept_bot().is_granted());
    assert_eq!(fixture.state.opponent(&foe()).spent_until, None);

    let fixture = Fixture::new();
    let theirs = "Foe played 100 games against other bots today";
    fixture.state.refused(
        QuotaCall::Challenge,
        &limited(400, key, theirs),
        Some(&foe()),
    );
    assert!(fixture.state.may_accept_bot().is_granted());
    let until = fixture
        .state
        .opponent(&foe())
        .spent_until
        .expect("they rest");
    assert_eq!(until.since(fixture.state.now()), HOUR);

    let fixture = Fixture::new();
    let storm = limited(429, None, "Too many requests. Try again later.");
    fixture.state.refused(QuotaCall::Accept, &storm, None);
    assert!(
        fixture
            .state
            .may_challenge(OpponentKind::Human)
            .is_granted()
    );
    fixture.state.refused(QuotaCall::Challenge, &storm, None);
    let closed = fixture.state.may_challenge(OpponentKind::Human);
    assert!(matches!(
        closed,
        Permit::Later {
            denied: Denied::Closed,
            ..
        }
    ));
    assert!(fixture.state.may_accept_bot().is_granted());
}

/// A day with more games than any bot plays. Each game looks up the others about six times: if each
/// lookup went through all of them, this would take minutes.
#[test]
fn the_history_of_other_games_slows_none_down() {
    let fixture = Fixture::new();
    let begin = Instant::now();
    for number in 0..50_000 {
        let game = GameId::new(format!("g{number:07}"));
        let who = UserId::new(&format!("foe{}", number % 700));
        fixture.state.started(&StartedGame {
            opponent: Some(who.clone()),
            ..started(game.as_str(), false)
        });
        assert!(fixture.state.known_for(&game).is_some());
        assert!(fixture.state.opponent(&who).games_today > 0);
        fixture.state.finished(FinishedGame {
            opponent: Some(who),
            ..finished(game.as_str(), Some(Side::White), fixture.state.now())
        });
        fixture.state.rated(&game, 1);
        assert!(!fixture.state.lacks_rating(&game));
    }
    assert_eq!(fixture.state.games_today(false), 50_000);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn beyond_a_weeks_capacity_the_latest_games_are_kept() {
    let fixture = Fixture::new();
    for number in 0..50_010 {
        fixture.state.started(&StartedGame {
            opponent: Some(UserId::new(if number < 20 { "early" } else { "late" })),
            ..started(&format!("g{number:07}"), false)
        });
    }
    assert_eq!(
        fixture.state.opponent(&UserId::new("early")).games_today,
        10
    );
    assert_eq!(fixture.state.games_today(false), 50_000);
    assert_eq!(fixture.state.known_for(&GameId::new("g0000009")), None);
    assert!(fixture.state.known_for(&GameId::new("g0000010")).is_some());
}

#[test]
fn a_missing_rating_is_overdue_after_half_a_minute_and_for_a_day() {
    let fixture = Fixture::new();
    let now = fixture.state.now();
    for game in ["told", "untold"] {
        fixture
            .state
            .finished(finished(game, Some(Side::White), now));
    }
    let aborted = FinishedGame {
        plies: 1,
        ..finished("aborted", None, now)
    };
    fixture.state.finished(aborted);
    assert_eq!(
        fixture.state.missing_rating_changes(),
        [],
        "it may be told yet"
    );
    fixture.state.rated(&GameId::new("told"), 5);
    fixture.pass(Duration::from_secs(31));
    let untold = fixture.state.missing_rating_changes();
    let games: Vec<_> = untold.iter().map(|open| open.game.as_str()).collect();
    assert_eq!(games, ["untold"]);
    assert!(fixture.state.lacks_rating(&GameId::new("untold")));
    fixture.state.rated(&GameId::new("untold"), 0);
    assert_eq!(
        fixture.state.missing_rating_changes(),
        [],
        "zero is an answer"
    );
    fixture.state.finished(finished("late", None, now));
    fixture.pass(DAY);
    assert_eq!(
        fixture.state.missing_rating_changes(),
        [],
        "too old to look up"
    );
}

#[test]
fn a_missed_first_move_in_an_arena_counts_for_the_ratings() {
    let fixture = Fixture::new();
    let now = fixture.state.now();
    let missed = |id: &str, winner| FinishedGame {
        status: "noStart".into(),
        plies: 1,
        ..finished(id, winner, now)
    };
    fixture.state.finished(missed("undecided", None));
    let casual = FinishedGame {
        rated: false,
        ..missed("casual", Some(Side::Black))
    };
    fixture.state.finished(casual);
    let lost = missed("a", Some(Side::Black));
    assert_eq!(fixture.state.finished(lost), [], "the first loss");
    fixture.pass(Duration::from_secs(31));
    let untold = fixture.state.missing_rating_changes();
    let games: Vec<_> = untold.iter().map(|open| open.game.as_str()).collect();
    assert_eq!(games, ["a"]);
    for n in 1..8 {
        assert!(fixture.state.rated_rest(Some(&foe())).is_none(), "{n}");
        let lost = missed(&format!("b{n}"), Some(Side::Black));
        fixture.state.finished(lost);
    }
    assert!(fixture.state.rated_rest(Some(&foe())).is_some());
    let record = fixture.state.opponent(&foe());
    assert_eq!(
        (record.losses, record.last.len()),
        (0, 0),
        "nothing was played"
    );
}

#[test]
fn a_rating_may_be_reported_before_or_after_the_end_and_counts_once() {
    let fixture = Fixture::new();
    let now = fixture.state.now();
    let lost = Some(Side::Black);
    assert_eq!(fixture.state.rated(&GameId::new("a"), -60), []);
    for game in ["a", "b", "c"] {
        assert_eq!(fixture.state.finished(finished(game, lost, now)), []);
    }
    assert_eq!(fixture.state.rated(&GameId::new("c"), -30), []);
    let pause = fixture.state.rated(&GameId::new("b"), -60);
    assert_eq!(pause.len(), 2, "this opponent, and all");
    assert_eq!(fixture.state.rated(&GameId::new("b"), -60), []);
    assert_eq!(
        fixture.state.finished(finished("b", lost, now)),
        [],
        "reported twice"
    );
    assert!(fixture.state.rated_rest(None).is_some());
    let scopes: Vec<_> = fixture
        .state
        .rated_rests()
        .into_iter()
        .map(|(scope, _)| scope)
        .collect();
    assert!(scopes.contains(&GuardScope::All) && scopes.contains(&GuardScope::Opponent(foe())));
    fixture.pass(DAY);
    assert!(fixture.state.rated_rest(Some(&foe())).is_none());
    assert_eq!(fixture.state.opponent(&foe()).losses, 3);
}

#[test]
fn the_last_two_games_of_a_pair_are_known_except_aborted_ones() {
    let fixture = Fixture::new();
    for id in ["a", "b", "c"] {
        fixture
            .state
            .finished(finished(id, None, fixture.state.now()));
    }
    let mut aborted = finished("d", None, fixture.state.now());
    aborted.status = "aborted".into();
    fixture.state.finished(aborted);
    fixture.pass(DAY * 30);
    let record = fixture.state.opponent(&foe());
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
fn cooldowns_double_and_end_and_are_cleared_by_their_prefix() {
    let fixture = Fixture::new();
    let cool = |key| fixture.state.cool(key, HOUR, DAY, Some("later"));
    let lengths: Vec<_> = (0..6)
        .map(|_| {
            let span = cool("foe blitz").span;
            span.until.since(span.at).as_secs() / 3600
        })
        .collect();
    assert_eq!(lengths, [1, 2, 4, 8, 16, 24]);
    cool("other blitz");
    assert!(fixture.state.resting("foe blitz").is_some());
    fixture.pass(DAY);
    assert!(fixture.state.resting("foe blitz").is_none());
    assert_eq!(
        fixture
            .state
            .cooldown("foe blitz")
            .expect("remembered")
            .failures,
        6
    );
    fixture.state.clear_cooldowns("foe ");
    assert_eq!(fixture.state.cooldown("foe blitz"), None);
    assert!(fixture.state.cooldown("other blitz").is_some());
}

#[test]
fn a_short_cooldown_does_not_shorten_a_longer_one() {
    let fixture = Fixture::new();
    let long = fixture.state.cool("foe", DAY, DAY * 7, Some("nobot"));
    fixture.pass(HOUR);
    let short = fixture.state.cool("foe", HOUR, DAY * 7, Some("later"));
    assert_eq!(short.span.until, long.span.until);
    fixture.pass(DAY);
    let later = fixture.state.cool("foe", HOUR, DAY * 7, Some("later")).span;
    assert_eq!(later.until.since(later.at), HOUR * 4, "the old one is over");
}

#[test]
fn a_clock_set_back_a_year_lengthens_no_cooldown() {
    let fixture = Fixture::new();
    fixture.pass(DAY * 365);
    fixture.state.cool("foe", HOUR, DAY, None);
    fixture.state.opponent_spent(&foe(), HOUR);
    fixture.state.started(&started("a", true));
    fixture.state.accepted(&ChallengeId::new("a"), &foe(), true);
    fixture.set_back(DAY * 365);
    assert!(fixture.state.resting("foe").is_some());
    assert!(fixture.state.opponent(&foe()).spent_until.is_some());
    assert_eq!(fixture.state.accepted_within(&foe(), HOUR), 1);
    fixture.pass(HOUR * 2);
    assert!(fixture.state.resting("foe").is_none());
    assert!(fixture.state.opponent(&foe()).spent_until.is_none());
    assert_eq!(fixture.state.accepted_within(&foe(), HOUR), 0);
    fixture.pass(DAY);
    assert_eq!(fixture.state.budget().incoming, 0);
}

#[test]
fn the_chat_state_of_a_game_is_kept_for_a_month() {
    let fixture = Fixture::new();
    let game = GameId::new("a");
    fixture.state.update_game(&game, |game| game.greeted = true);
    fixture
        .state
        .update_game(&game, |game| game.draw_offers += 1);
    fixture.pass(DAY * 29);
    let known = fixture.state.game(&game);
    assert!(known.greeted && !known.parted && known.draw_offers == 1);
    fixture.pass(DAY * 2);
    fixture.state.set_note("wake", None);
    assert!(!fixture.state.game(&game).greeted);
}

#[test]
fn a_game_is_known_from_its_first_mention_on_and_move_costs_are_available() {
    let fixture = Fixture::new();
    let game = GameId::new("a");
    assert_eq!(fixture.state.known_for(&game), None);
    fixture.state.started(&started("a", true));
    fixture.pass(HOUR);
    fixture.state.started(&started("a", true));
    assert_eq!(fixture.state.known_for(&game), Some(HOUR));
    fixture.state.move_cost(Duration::from_millis(70));
    assert_eq!(fixture.state.move_costs(), [Duration::from_millis(70)]);
    fixture.pass(DAY * 2);
    assert!(fixture.state.move_costs().is_empty());
}

#[test]
fn a_game_against_an_anonymous_player_is_known_after_a_restart_and_names_no_opponent() {
    let folder = tempfile::tempdir().unwrap();
    let anonymous = StartedGame {
        opponent: None,
        ..started("a", false)
    };
    let fixture = Fixture::over(Store::open(folder.path()).unwrap());
    fixture.state.started(&anonymous);
    drop(fixture);
    let (store, kept) = Store::open(folder.path()).unwrap();
    assert_eq!(kept.opponents, []);
    let fixture = Fixture::over((store, kept));
    assert_eq!(fixture.state.games_today(false), 1);
    fixture.pass(HOUR);
    fixture.state.started(&anonymous);
    assert_eq!(fixture.state.known_for(&anonymous.game), Some(HOUR));
    assert_eq!(fixture.state.games_today(false), 1);
}

#[test]
fn a_game_that_lasts_for_weeks_is_not_a_game_of_today_at_every_restart() {
    let folder = tempfile::tempdir().unwrap();
    for is_on_disk in [false, true] {
        let open = || Store::open(folder.path()).unwrap();
        let opened = if is_on_disk { open() } else { Store::nowhere() };
        let mut fixture = Fixture::over(opened);
        let counted = |state: &BotState| (state.budget().incoming, state.games_today(true));
        // Expected days ago, it begins only now.
        fixture.state.expect_game(&GameId::new("a"));
        fixture.pass(DAY * 6);
        fixture.state.started(&started("a", true));
        assert_eq!(counted(&fixture.state), (1, 1));
        fixture.pass(DAY * 8);
        if is_on_disk {
            fixture.state = BotState::nowhere();
            let ((store, kept), hand) = (open(), Arc::clone(&fixture.time));
            let clock = Arc::new(move || *hand.lock().unwrap());
            fixture.state = BotState::with_clock(store, kept, StateRules::default(), clock);
        }
        fixture.state.started(&started("a", true));
        assert_eq!(counted(&fixture.state), (0, 0));
        fixture.state.started(&started("b", true));
        assert_eq!(counted(&fixture.state), (1, 1), "another is one of today");
    }
}

#[test]
fn a_game_is_open_until_its_end_is_counted_and_no_longer() {
    let fixture = Fixture::new();
    let open = || -> Vec<GameId> {
        let open = fixture.state.open_games().into_iter();
        open.map(|open| open.game).collect()
    };
    let [a, b, c] = ["a", "b", "c"].map(GameId::new);
    fixture.state.expect_game(&c);
    fixture.pass(HOUR);
    fixture.state.started(&started("a", true));
    fixture.state.started(&started("b", false));
    fixture.state.expect_game(&c);
    // Other notes are not among them.
    fixture.state.set_note("opera", Some("1".into()));
    assert_eq!(open(), [c.clone(), a.clone(), b.clone()]);
    let now = fixture.state.now();
    fixture
        .state
        .finished(finished("a", Some(Side::White), now));
    fixture.state.forget_game(&c);
    assert_eq!(open(), [b]);
    assert!(!fixture.state.is_open(&a));
    // Reported again after its end, it stays counted once.
    fixture.state.started(&started("a", true));
    assert!(!fixture.state.is_open(&a));
    fixture
        .state
        .finished(finished("a", Some(Side::White), now));
    assert_eq!(fixture.state.opponent(&foe()).wins, 1);
}
