//! The clock in the game state machine: move overhead is learned, the stated clock is believed, and
//! the bot ponders if the operator wants it.

use std::num::NonZeroU64;
use std::time::Duration;

use megaton::bot::game::{Anomaly, CallOutcome, GameEffect, GameInput, RequestId};
use megaton::bot::{MoveOverhead, Settings};
use megaton::engine::{Limits, Score, SearchResult};
use megaton::lichess::{BySide, Expiration, GameState, Player, Side, Speed, Status};

use crate::harness::{
    Harness, active_search, full, ms, notes, posted, posts, reopens, result, settings, state, stops,
};

const LINE: &str = "g1f3 f7f6";

/// The list after our next move.
const SHOWN: &str = "g1f3 f7f6 e2e3";

fn with_clock(moves: &str, left: u64) -> GameState {
    let mut state = state(moves);
    state.time = BySide {
        white: Some(ms(left)),
        black: Some(ms(left)),
    };
    state
}

fn learned(actions: &[GameEffect]) -> Option<Duration> {
    actions.iter().find_map(|action| match action {
        GameEffect::LearnOverhead(cost) => Some(*cost),
        _ => None,
    })
}

/// White to move on a line of an open stream, the clock at one minute.
fn live_harness() -> (Harness, RequestId) {
    let (mut harness, _) = Harness::at(Side::White, "g1f3");
    harness.now += ms(3000);
    let actions = harness.state_with(with_clock(LINE, 60_000));
    (
        harness,
        active_search(&actions).expect("our turn").request_id,
    )
}

#[test]
fn the_cost_of_a_move_is_learned_once_it_is_shown() {
    let (mut harness, request_id) = live_harness();
    harness.now += ms(400);
    let post = posted(&harness.think(request_id, "e2e3")).expect("sent");
    harness.now += ms(150);
    harness.answer(post.request_id, CallOutcome::Done);
    // A minute and two seconds minus 0.52 s.
    let actions = harness.state_with(with_clock(SHOWN, 61_480));
    assert_eq!(learned(&actions), Some(ms(120)));
}

#[test]
fn the_servers_own_engine_teaches_no_cost() {
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state("g1f3"));
    game.black = Player {
        ai_level: Some(3),
        ..Player::default()
    };
    harness.open_with(game, harness.now);
    harness.now += ms(3000);
    let actions = harness.state_with(with_clock(LINE, 60_000));
    let search = active_search(&actions).expect("our turn").request_id;
    harness.now += ms(400);
    posted(&harness.think(search, "e2e3")).expect("sent");
    // A minute and two seconds minus 1.02 s, half a second of it the server's own pause.
    let actions = harness.state_with(with_clock(SHOWN, 60_980));
    assert_eq!(learned(&actions), None);
}

#[test]
fn nothing_is_learned_if_the_clock_may_have_changed_otherwise() {
    let send = |harness: &mut Harness, request_id| {
        harness.now += ms(400);
        posted(&harness.think(request_id, "e2e3")).expect("sent")
    };
    // The state with the move came with a new opening.
    let (mut harness, request_id) = live_harness();
    send(&mut harness, request_id);
    let reopened = full(Side::White, with_clock(SHOWN, 61_480));
    assert_eq!(learned(&harness.open_with(reopened, harness.now)), None);
    // The clock came with an opening.
    let (mut harness, actions) = Harness::at(Side::White, LINE);
    send(
        &mut harness,
        active_search(&actions).expect("our turn").request_id,
    );
    assert_eq!(
        learned(&harness.state_with(with_clock(SHOWN, 181_400))),
        None
    );
    // Time was added while the move was on its way.
    let (mut harness, request_id) = live_harness();
    send(&mut harness, request_id);
    harness.state_with(with_clock(LINE, 74_600));
    assert_eq!(
        learned(&harness.state_with(with_clock(SHOWN, 76_400))),
        None
    );
    // It was sent twice.
    let (mut harness, request_id) = live_harness();
    let post = send(&mut harness, request_id);
    harness.answer(post.request_id, CallOutcome::Lost);
    assert_eq!(posts(&harness.wait(ms(1000))), 1);
    assert_eq!(
        learned(&harness.state_with(with_clock(SHOWN, 59_000))),
        None
    );
    // The reply is already on the list: our clock runs again.
    let (mut harness, request_id) = live_harness();
    send(&mut harness, request_id);
    let both = with_clock("g1f3 f7f6 e2e3 e7e6", 61_000);
    assert_eq!(learned(&harness.state_with(both)), None);
}

#[test]
fn the_time_that_an_opening_takes_counts_on_a_running_clock() {
    let time_to_think = |opening: u64| {
        let (mut harness, _) = Harness::at(Side::White, "g1f3");
        let asked = harness.now;
        harness.now += ms(opening);
        let reopened = full(Side::White, with_clock(LINE, 10_000));
        let actions = harness.open_with(reopened, asked);
        let limits = active_search(&actions).expect("our turn").limits.clone();
        limits.clock.expect("a clock").time
    };
    // The state may be as old as its request.
    assert_eq!(time_to_think(0), time_to_think(2500) + ms(2500));
}

#[test]
fn first_moves_teach_nothing() {
    let (mut harness, actions) = Harness::at(Side::Black, "");
    assert!(active_search(&actions).is_none());
    let actions = harness.state("g1f3");
    harness.think(
        active_search(&actions).expect("our turn").request_id,
        "f7f6",
    );
    assert_eq!(learned(&harness.state(LINE)), None);
}

#[test]
fn a_known_latency_leaves_more_time_to_think() {
    let time = |overhead: MoveOverhead| {
        let mut harness = Harness::new(Side::White);
        harness.machine.set_overhead(overhead);
        let actions = harness.open_with(full(Side::White, with_clock(LINE, 2500)), harness.now);
        let limits = active_search(&actions).expect("our turn").limits;
        limits.clock.expect("the clock decides").overhead
    };
    let quick = MoveOverhead {
        learned: ms(60),
        worst: ms(90),
        moves: 100,
    };
    assert!(time(quick) < time(MoveOverhead::default()) * 3 / 4);
}

#[test]
fn an_ok_to_an_earlier_sending_of_the_same_move_counts() {
    let (mut harness, first) = Harness::posted(Side::White, LINE, "e2e3");
    assert_eq!(posts(&harness.wait(ms(1700))), 1, "the first call hangs");
    assert_eq!(
        posts(&harness.answer(first.request_id, CallOutcome::Done)),
        0
    );
    assert_eq!(posts(&harness.wait(ms(2400))), 0, "a state is waited for");
}

#[test]
fn on_a_short_clock_silence_is_not_tolerated_for_long() {
    let first_repetition = |left: u64, answer: Option<CallOutcome>| {
        let mut harness = Harness::new(Side::White);
        let mut short = with_clock(LINE, left);
        short.increment = BySide::default();
        let actions = harness.open_with(full(Side::White, short), harness.now);
        let search = active_search(&actions).expect("our turn").request_id;
        let post = posted(&harness.think(search, "e2e3")).expect("sent");
        let began = harness.now;
        if let Some(answer) = answer {
            harness.answer(post.request_id, answer);
        }
        let at = harness.machine.next_timeout().expect("it is owed");
        at - began
    };
    assert_eq!(first_repetition(180_000, None), ms(1500));
    assert_eq!(first_repetition(3_000, None), ms(750));
    // But never sooner than an answer takes.
    assert_eq!(first_repetition(400, None), ms(600));
    assert_eq!(first_repetition(180_000, Some(CallOutcome::Done)), ms(2500));
    assert_eq!(first_repetition(3_000, Some(CallOutcome::Done)), ms(750));
}

#[test]
fn while_there_is_a_clock_a_connection_is_kept_ready() {
    let warmings = |actions: Vec<GameEffect>| {
        let warm = |action: &&GameEffect| matches!(action, GameEffect::Warm);
        actions.iter().filter(warm).count()
    };
    for left in [2_000, 29_000, 30_000, 180_000] {
        let (mut harness, _) = Harness::at(Side::White, "g1f3");
        harness.state(LINE);
        harness.state_with(with_clock(SHOWN, left));
        assert_eq!(warmings(harness.wait(ms(65_000))), 6, "{left} ms");
    }
    // The opponent's first move: the next one is ours, and then a clock runs.
    let mut harness = Harness::new(Side::Black);
    harness.open_with(full(Side::Black, state("")), harness.now);
    assert_eq!(warmings(harness.wait(ms(9_000))), 0);
    assert_eq!(warmings(harness.wait(ms(2_000))), 1);
    // During a long search the connection goes cold too.
    let mut harness = Harness::new(Side::White);
    let actions = harness.open_with(full(Side::White, with_clock(LINE, 36_000_000)), harness.now);
    assert_eq!(warmings(actions), 1, "at once");
    assert_eq!(warmings(harness.wait(ms(11_000))), 1);
    // No clock, no hurry.
    let mut game = full(Side::Black, state("g1f3 f7f6"));
    (game.clock, game.speed) = (None, Speed::Correspondence);
    game.state.time = BySide::default();
    let mut harness = Harness::new(Side::Black);
    harness.open_with(game, harness.now);
    assert_eq!(warmings(harness.wait(ms(65_000))), 0);
}

#[test]
fn a_clock_that_fell_shortens_the_search_in_progress() {
    let (mut harness, request_id) = live_harness();
    let planned = harness.machine.next_timeout().expect("a fallback");
    harness.now += ms(100);
    let actions = harness.state_with(with_clock(LINE, 2000));
    assert!(active_search(&actions).is_none(), "the search goes on");
    assert!(matches!(notes(&actions)[..], [Anomaly::ClockFell { .. }]));
    let tightened = harness.machine.next_timeout().expect("a fallback");
    assert!(tightened < planned && tightened < harness.now + ms(1500));
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 1);
}

#[test]
fn a_clock_that_jumps_up_changes_no_plan() {
    let (mut harness, _) = live_harness();
    let planned = harness.machine.next_timeout();
    for left in [60_000, 75_000, 2_147_483_646] {
        let actions = harness.state_with(with_clock(LINE, left));
        assert!(notes(&actions).is_empty());
        assert_eq!(harness.machine.next_timeout(), planned);
    }
}

#[test]
fn time_that_jumps_ahead_means_an_answer_at_once() {
    let (mut harness, request_id) = live_harness();
    // The host was suspended; the timer is long due.
    harness.now += Duration::from_secs(36_000);
    let actions = harness.apply(GameInput::Tick);
    assert!(matches!(actions[..], [GameEffect::TakeBest { request_id: t }, ..] if t == request_id));
    // A game resumed by then has no time left to think.
    let mut late = Harness::new(Side::White);
    let actions = late.open_with(full(Side::White, with_clock(LINE, 0)), late.now);
    let limits = active_search(&actions).expect("our turn").limits;
    assert!(limits.hard_deadline.expect("always one") <= late.now);
}

#[test]
fn a_base_of_zero_is_played_from_the_three_seconds_it_gives() {
    for moves in ["", LINE] {
        let mut harness = Harness::new(Side::White);
        let mut due_since = with_clock(moves, 3000);
        due_since.increment = BySide {
            white: ms(1000),
            black: ms(1000),
        };
        let mut game = full(Side::White, due_since);
        if let Some(clock) = &mut game.clock {
            (clock.initial, clock.increment) = (ms(0), ms(1000));
        }
        let actions = harness.open_with(game, harness.now);
        let limits = active_search(&actions).expect("our turn").limits;
        let time = limits.hard_deadline.expect("always one") - harness.now;
        assert!(time < ms(1500) && time > ms(50), "{moves:?}: {time:?}");
    }
}

#[test]
fn the_stream_is_checked_while_the_opponents_first_move_is_awaited_and_once_it_has_expired() {
    let mut harness = Harness::new(Side::Black);
    let mut waiting = state("");
    waiting.expiration = Some(Expiration {
        idle: ms(5000),
        to_move: ms(20_000),
    });
    let mut game = full(Side::Black, waiting);
    game.tournament = Some("abcd1234".into());
    harness.open_with(game, harness.now);
    assert!(!reopens(&harness.wait(ms(7400))));
    assert!(reopens(&harness.wait(ms(200))));
    assert!(reopens(&harness.wait(ms(13_000))));
}

#[test]
fn a_clock_that_cannot_be_read_is_still_a_clock() {
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state(LINE));
    game.clock = None;
    let limits = active_search(&harness.open_with(game, harness.now))
        .unwrap()
        .limits;
    assert!(limits.clock.is_some() && !limits.background);
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state(LINE));
    (game.clock, game.speed) = (None, Speed::Correspondence);
    let limits = active_search(&harness.open_with(game, harness.now))
        .unwrap()
        .limits;
    assert!(limits.clock.is_none() && limits.background);
}

/// A harness with the human pace enabled.
fn unhurried(bot: bool, left: u64) -> (Harness, RequestId) {
    let mut settings = settings();
    settings.clock.human_pace = true;
    let mut harness = Harness::with(Side::White, settings);
    let mut game = full(Side::White, with_clock(LINE, left));
    if bot {
        game.black.title = Some("BOT".into());
    }
    let actions = harness.open_with(game, harness.now);
    (
        harness,
        active_search(&actions).expect("our turn").request_id,
    )
}

#[test]
fn at_a_human_pace_a_move_is_held_back_a_little_against_humans() {
    let (mut harness, request_id) = unhurried(false, 180_000);
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 0);
    assert_eq!(harness.machine.sent(), None, "not sent, so not frozen");
    assert_eq!(posted(&harness.wait(ms(3500))).expect("sent").uci, "e2e3");
}

#[test]
fn no_move_is_held_back_against_bots_on_short_clocks_or_after_a_fall_of_the_clock() {
    let (mut harness, request_id) = unhurried(true, 180_000);
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 1);
    let (mut harness, request_id) = unhurried(false, 15_000);
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 1);
    let (mut harness, request_id) = unhurried(false, 180_000);
    assert_eq!(posts(&harness.think(request_id, "e2e3")), 0);
    harness.state_with(with_clock(LINE, 9_000));
    assert_eq!(posts(&harness.wait(ms(0))), 1);
}

#[test]
fn a_game_that_ends_while_a_move_is_held_back_needs_no_further_effect() {
    let (mut harness, request_id) = unhurried(false, 180_000);
    harness.think(request_id, "e2e3");
    let mut over = state(LINE);
    over.status = Status::Resign;
    harness.state_with(over);
    assert!(harness.wait(ms(60_000)).is_empty());
}

/// The last `Ponder` among the effects.
fn pondering(actions: &[GameEffect]) -> Option<(RequestId, String, Limits)> {
    actions.iter().rev().find_map(|action| match action {
        GameEffect::Ponder {
            request_id,
            reply,
            limits,
        } => Some((*request_id, reply.to_string(), limits.clone())),
        _ => None,
    })
}

/// Our move is shown, with `reply` as the expected answer.
fn expecting(
    settings: Settings,
    moves: &str,
    best: &str,
    reply: &str,
) -> (Harness, Vec<GameEffect>) {
    expecting_from(settings, moves, best, reply, |_| {})
}

/// The same with a changed search result.
fn expecting_from(
    settings: Settings,
    moves: &str,
    best: &str,
    reply: &str,
    change: impl FnOnce(&mut SearchResult),
) -> (Harness, Vec<GameEffect>) {
    let mut harness = Harness::with(Side::White, settings);
    let actions = harness.open(moves);
    let request_id = active_search(&actions).expect("our turn").request_id;
    let mut answer = result(best, Score::Cp(20), &harness.machine);
    let mut after = harness.machine.game().clone();
    after.push(answer.best.expect("legal"));
    answer.ponder = after.position().parse_uci(reply).ok();
    change(&mut answer);
    harness.apply(GameInput::SearchDone {
        request_id,
        result: answer,
    });
    let actions = harness.state(format!("{moves} {best}").trim());
    (harness, actions)
}

fn keen() -> Settings {
    let mut settings = settings();
    settings.engine.ponder = true;
    settings
}

#[test]
fn the_expected_reply_is_pondered_on_and_a_hit_continues_under_its_id() {
    let (mut harness, actions) = expecting(keen(), LINE, "e2e3", "e7e6");
    let (request_id, reply, limits) = pondering(&actions).expect("pondering");
    assert_eq!(reply, "e7e6");
    assert!(limits.ponder && limits.clock.is_some());
    harness.now += ms(5000);
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6");
    assert_eq!(
        active_search(&actions).expect("our turn").request_id,
        request_id
    );
    assert!(!stops(&actions));
    let fallback = harness
        .machine
        .next_timeout()
        .expect("a timer of the table's own");
    assert!(fallback > harness.now);
    assert_eq!(posts(&harness.think(request_id, "d2d4")), 1);
}

#[test]
fn after_a_tablebase_move_the_reply_is_pondered_on_too() {
    let from_tables = |answer: &mut SearchResult| answer.by_tables = true;
    let (harness, actions) = expecting_from(keen(), LINE, "e2e3", "e7e6", from_tables);
    let (_, reply, _) = pondering(&actions).expect("pondering");
    assert_eq!((reply.as_str(), harness.machine.ply()), ("e7e6", 3));
}

#[test]
fn another_reply_begins_a_new_search() {
    let (mut harness, actions) = expecting(keen(), LINE, "e2e3", "e7e6");
    let (request_id, ..) = pondering(&actions).expect("pondering");
    let actions = harness.state("g1f3 f7f6 e2e3 d7d5");
    let fresh = active_search(&actions).expect("our turn").request_id;
    assert_ne!(fresh, request_id);
    // The old search's result is ignored.
    assert_eq!(posts(&harness.think(request_id, "d2d4")), 0);
    assert_eq!(posts(&harness.think(fresh, "d2d4")), 1);
}

#[test]
fn there_is_no_pondering_unless_enabled_and_useful() {
    let none = |settings, moves, best, reply| {
        let (_, actions) = expecting(settings, moves, best, reply);
        assert!(pondering(&actions).is_none(), "{moves} {best} {reply}");
    };
    none(settings(), LINE, "e2e3", "e7e6");
    // Before the opponent's first move no clock runs.
    none(keen(), "", "g1f3", "f7f6");
    // An illegal reply.
    none(keen(), LINE, "e2e3", "e2e4");
    // A search with limits of its own is a test.
    let mut limited = keen();
    limited.engine.nodes = NonZeroU64::new(100);
    none(limited, LINE, "e2e3", "e7e6");
}

#[test]
fn a_reply_that_ends_the_game_is_not_pondered_on() {
    // Black will explode our king on f2.
    let moves = "e2e4 e7e5 b1c3 d8h4 a2a3 a7a6";
    let (_, actions) = expecting(keen(), moves, "a3a4", "h4f2");
    assert!(pondering(&actions).is_none());
}

#[test]
fn pondering_ends_with_the_game_or_a_takeback_and_survives_an_unbelieved_list() {
    let begin = || expecting(keen(), LINE, "e2e3", "e7e6").0;
    let mut harness = begin();
    let mut over = state(SHOWN);
    over.status = Status::Resign;
    assert!(stops(&harness.state_with(over)));
    assert!(stops(&begin().open("g1f3")));
    for unbelieved in ["g1f3", "g1f3 f7f6 e2e5"] {
        let mut harness = begin();
        assert!(!stops(&harness.state(unbelieved)), "{unbelieved}");
        assert!(!stops(&harness.open(SHOWN)), "all as before");
    }
    // A state without a new move changes nothing.
    let mut harness = begin();
    let mut offer = state(SHOWN);
    offer.draw_offer.black = true;
    assert!(!stops(&harness.state_with(offer)));
}

#[test]
fn an_only_move_ends_pondering_and_is_sent_at_once() {
    // If Black checks, g2g3 is the only move; another one was expected.
    let (mut harness, actions) = expecting(keen(), "f2f3 e7e6", "a2a3", "a7a6");
    assert!(pondering(&actions).is_some());
    let actions = harness.state("f2f3 e7e6 a2a3 d8h4");
    assert!(stops(&actions));
    assert_eq!(posted(&actions).expect("an only move").uci, "g2g3");
}

#[test]
fn no_latency_is_too_great_to_move() {
    let mut harness = Harness::new(Side::White);
    harness.machine.set_overhead(MoveOverhead {
        learned: Duration::MAX / 4,
        worst: Duration::MAX / 4,
        moves: usize::MAX,
    });
    assert!(active_search(&harness.open(LINE)).is_some());
}
