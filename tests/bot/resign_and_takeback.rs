//! Resigning and takebacks.

use megaton::bot::Settings;
use megaton::bot::game::{CallOutcome, GameRequest, Persist, RequestId, ResumeState};
use megaton::engine::{Score, SearchResult, StopReason};
use megaton::lichess::{GameState, OpponentGone, Side};

use crate::harness::{
    Harness, active_search, asks, ms, posted, posts, refused, remembered, result, settings, state,
    stops,
};
use crate::quiet_game::{by_tables, line, play_on, played};

fn resigning() -> Settings {
    let mut settings = settings();
    settings.resign.enabled = true;
    settings.resign.moves = 3;
    settings.resign.depth = 9;
    settings
}

fn lost(_: usize) -> Score {
    Score::Cp(-1500)
}

#[test]
fn a_lost_game_is_resigned_once_after_a_streak_of_lost_moves() {
    let game = played(Side::White, resigning(), 4, lost);
    assert_eq!(asks(&game.actions), []);
    let game = played(Side::White, resigning(), 5, lost);
    assert_eq!(asks(&game.actions), [GameRequest::Resign]);
    let game = played(Side::Black, resigning(), 6, lost);
    assert_eq!(asks(&game.actions), [GameRequest::Resign]);
}

#[test]
fn nothing_is_resigned_unless_the_operator_wants_it() {
    assert_eq!(asks(&played(Side::White, settings(), 30, lost).actions), []);
}

#[test]
fn one_better_move_ends_the_streak() {
    let score = |ply: usize| Score::Cp(if ply % 6 == 4 { -1499 } else { -9000 });
    assert_eq!(
        asks(&played(Side::White, resigning(), 40, score).actions),
        []
    );
}

#[test]
fn a_forced_mate_counts_as_lost() {
    let game = played(Side::White, resigning(), 5, |_| Score::Mate(-4));
    assert_eq!(asks(&game.actions), [GameRequest::Resign]);
}

#[test]
fn a_loss_that_tables_prove_needs_no_streak_and_a_draw_is_never_resigned() {
    let resigns = |settings: Settings, score| {
        let game = by_tables(Harness::with(Side::White, settings), score);
        asks(&game.actions) == [GameRequest::Resign]
    };
    assert!(resigns(resigning(), -30_000));
    for score in [-1, 0, 1, 30_000] {
        assert!(!resigns(resigning(), score), "{score}");
    }
    assert!(!resigns(settings(), -30_000), "off unless wanted");
}

#[test]
fn a_loss_that_the_fifty_moves_may_save_is_played_on() {
    // The rooks wander: the count no longer restarts. Without a distance nothing is proved then.
    let wander = "a2a3 a7a6 a1a2 a8a7 a2a1 a7a8 b1c3 b8c6 c3b1 c6b8 a1a2 a8a7";
    let mut harness = Harness::with(Side::White, resigning());
    for ply in 0..=wander.split(' ').count() {
        let moves: Vec<_> = wander.split(' ').take(ply).collect();
        let actions = if ply == 0 {
            harness.open("")
        } else {
            harness.state(&moves.join(" "))
        };
        assert_eq!(asks(&actions), [], "{ply}");
        let ours = wander.split(' ').nth(ply).unwrap_or("a2a1");
        if let Some(search) = active_search(&actions) {
            let mut found = result(ours, Score::Cp(-30_000), &harness.machine);
            found.by_tables = ply > 2;
            harness.apply(megaton::bot::game::GameInput::SearchDone {
                request_id: search.request_id,
                result: found,
            });
        }
    }
}

/// Three lost moves, the last one changed.
fn last_move(change: impl FnOnce(&mut SearchResult, &mut GameState)) -> Vec<GameRequest> {
    let mut harness = played(Side::White, resigning(), 3, lost).harness;
    let mut turn = state(&line(4));
    let ours = line(5).rsplit(' ').next().expect("a move").to_owned();
    let mut last = result("a2a3", Score::Cp(-3000), &harness.machine);
    change(&mut last, &mut turn);
    let mut shown = turn.clone();
    let request_id = active_search(&harness.state_with(turn))
        .expect("our turn")
        .request_id;
    last.best = harness.machine.game().position().parse_uci(&ours).ok();
    harness.apply(megaton::bot::game::GameInput::SearchDone {
        request_id,
        result: last,
    });
    shown.moves = line(5);
    asks(&harness.state_with(shown))
}

#[test]
fn only_deep_searches_on_a_healthy_clock_count() {
    assert_eq!(last_move(|_, _| {}), [GameRequest::Resign]);
    assert_eq!(last_move(|result, _| result.depth = 8), []);
    let proof = last_move(|result, _| {
        result.depth = 3;
        result.score = Score::Mate(-1);
        result.ended = StopReason::Decided;
    });
    assert_eq!(proof, [GameRequest::Resign], "a proof needs no depth");
    assert_eq!(last_move(|result, _| result.ended = StopReason::Failed), []);
    assert_eq!(last_move(|_, state| state.time.white = Some(ms(9_000))), []);
}

#[test]
fn the_bot_does_not_resign_to_an_opponent_who_is_about_to_flag() {
    let flagging = last_move(|_, state| {
        state.time.black = Some(ms(20_000));
        state.increment.black = ms(0);
    });
    assert_eq!(flagging, []);
}

#[test]
fn a_proved_loss_is_played_on_while_the_opponent_may_lose_on_time() {
    let proved = |black_clock: u64| {
        last_move(|result, state| {
            result.score = Score::Cp(-30_000);
            result.by_tables = true;
            result.depth = 0;
            state.time.black = Some(ms(black_clock));
            state.increment.black = ms(0);
        })
    };
    assert_eq!(proved(180_000), [GameRequest::Resign]);
    assert_eq!(proved(20_000), []);
}

#[test]
fn the_bot_does_not_resign_to_an_opponent_who_left() {
    let mut harness = played(Side::White, resigning(), 3, lost).harness;
    let request_id = active_search(&harness.state(&line(4))).unwrap().request_id;
    harness.apply(megaton::bot::game::GameInput::Gone(OpponentGone {
        gone: true,
        claim_win_in: Some(ms(20_000)),
    }));
    let ours = line(5).rsplit(' ').next().unwrap().to_owned();
    harness.think_with(request_id, &ours, Score::Cp(-3000));
    assert_eq!(asks(&harness.state(&line(5))), []);
}

#[test]
fn the_bot_does_not_resign_while_its_next_move_would_explode_the_king() {
    // The queen attacks f7: an opponent who overlooks it is exploded.
    let mut settings = resigning();
    settings.resign.moves = 1;
    let resigned = |ours: &str| {
        let mut harness = Harness::with(Side::White, settings.clone());
        let request_id = active_search(&harness.open("e2e3 a7a6"))
            .unwrap()
            .request_id;
        harness.think_with(request_id, ours, Score::Cp(-3000));
        asks(&harness.state(&format!("e2e3 a7a6 {ours}")))
    };
    assert_eq!(resigned("d1f3"), []);
    assert_eq!(resigned("d1e2"), [GameRequest::Resign]);
}

#[test]
fn before_both_have_moved_it_would_be_an_abort() {
    let mut settings = resigning();
    settings.resign.moves = 1;
    let game = played(Side::White, settings.clone(), 1, lost);
    assert_eq!(asks(&game.actions), []);
    let game = played(Side::Black, settings, 2, lost);
    assert_eq!(asks(&game.actions), [GameRequest::Resign]);
}

#[test]
fn a_lost_resignation_is_repeated_until_they_move() {
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    harness.asked(GameRequest::Resign, CallOutcome::Lost);
    assert_eq!(asks(&harness.wait(ms(1100))), [GameRequest::Resign]);
    harness.asked(GameRequest::Resign, refused("This game cannot be resigned"));
    assert_eq!(asks(&harness.wait(ms(30_000))), []);
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    harness.asked(GameRequest::Resign, CallOutcome::Lost);
    let actions = harness.state(&line(6));
    assert!(active_search(&actions).is_some(), "the game goes on");
    assert_eq!(asks(&harness.wait(ms(1100))), []);
}

#[test]
fn a_resignation_without_effect_is_repeated() {
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    harness.asked(GameRequest::Resign, CallOutcome::Done);
    assert_eq!(asks(&harness.wait(ms(4900))), []);
    assert_eq!(asks(&harness.wait(ms(200))), [GameRequest::Resign]);
}

/// The opponent moves, then we do with this score; returns the requests once that move stands.
fn moves(harness: &mut Harness, number: usize, score: i32) -> Vec<GameRequest> {
    let search = active_search(&harness.state(&line(number - 1))).expect("our turn");
    let moves = line(number);
    let ours = moves.rsplit(' ').next().expect("our move");
    harness.think_with(search.request_id, ours, Score::Cp(score));
    asks(&harness.state(&moves))
}

#[test]
fn a_resignation_in_progress_is_not_repeated_with_the_next_move() {
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    assert_eq!(moves(&mut harness, 7, -3000), []);
    harness.asked(GameRequest::Resign, CallOutcome::Lost);
    assert_eq!(asks(&harness.wait(ms(1100))), [GameRequest::Resign]);
}

#[test]
fn a_wait_requested_by_the_server_outlasts_the_next_moves() {
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    let wait = Some(ms(30_000));
    harness.asked(GameRequest::Resign, CallOutcome::Limited { wait });
    assert_eq!(moves(&mut harness, 7, -3000), []);
    assert_eq!(asks(&harness.wait(ms(29_000))), []);
    assert_eq!(asks(&harness.wait(ms(2_000))), [GameRequest::Resign]);
}

#[test]
fn a_wait_requested_by_the_server_outlasts_a_better_looking_move() {
    let mut settings = resigning();
    settings.resign.moves = 1;
    let mut harness = played(Side::White, settings, 3, lost).harness;
    let wait = Some(ms(30_000));
    harness.asked(GameRequest::Resign, CallOutcome::Limited { wait });
    assert_eq!(moves(&mut harness, 5, 100), []);
    assert_eq!(
        moves(&mut harness, 7, -3000),
        [],
        "lost again, and it is to wait"
    );
    assert_eq!(asks(&harness.wait(ms(29_000))), []);
    assert_eq!(asks(&harness.wait(ms(2_000))), [GameRequest::Resign]);
}

#[test]
fn after_a_wait_that_ends_on_our_turn_resigning_follows_once_our_move_stands() {
    let mut harness = played(Side::White, resigning(), 5, lost).harness;
    let wait = Some(ms(10_000));
    harness.asked(GameRequest::Resign, CallOutcome::Limited { wait });
    let request_id = active_search(&harness.state(&line(6))).unwrap().request_id;
    assert_eq!(asks(&harness.wait(ms(11_000))), []);
    let ours = line(7).rsplit(' ').next().unwrap().to_owned();
    harness.think_with(request_id, &ours, Score::Cp(-3000));
    assert_eq!(asks(&harness.state(&line(7))), [GameRequest::Resign]);
}

fn proposal(moves: &str) -> GameState {
    let mut proposal = state(moves);
    proposal.takeback.black = true;
    proposal
}

/// A casual game after four moves, our turn.
fn casual(settings: Settings, past: ResumeState, bot: bool) -> Harness {
    let mut harness = Harness::with_past(Side::White, settings, past);
    harness.bot_opponent = bot;
    harness.casual = true;
    play_on(harness, 4, |_| Score::Cp(0)).harness
}

#[test]
fn a_human_may_take_back_so_often_in_a_casual_game() {
    let mut settings = settings();
    settings.takeback.humans = 2;
    let mut harness = casual(settings, ResumeState::default(), false);
    for (plies, granted) in [(4, true), (2, true), (0, false)] {
        let actions = harness.state_with(proposal(&line(plies)));
        let answer = if granted {
            GameRequest::AcceptTakeback
        } else {
            GameRequest::DeclineTakeback
        };
        assert_eq!(asks(&actions), [answer]);
        assert_eq!(
            asks(&harness.state_with(proposal(&line(plies)))),
            [],
            "once an offer"
        );
        if granted {
            // The shorter list stops the search and starts another.
            let shorter = harness.state(&line(plies - 2));
            assert!(active_search(&shorter).is_some());
        }
    }
}

#[test]
fn the_shorter_list_stops_the_search() {
    let mut harness = casual(settings(), ResumeState::default(), false);
    let actions = harness.state_with(proposal(&line(4)));
    assert!(!stops(&actions), "a yes alone stops nothing");
    assert_eq!(
        remembered(&actions),
        [Persist::TakebackGranted { so_far: 1 }]
    );
    assert!(stops(&harness.state(&line(3))));
}

#[test]
fn rated_games_bots_and_a_used_up_limit_get_a_refusal() {
    let no = [GameRequest::DeclineTakeback];
    let mut rated = played(Side::White, settings(), 4, |_| Score::Cp(0)).harness;
    assert_eq!(asks(&rated.state_with(proposal(&line(4)))), no);
    let mut bot = casual(settings(), ResumeState::default(), true);
    assert_eq!(asks(&bot.state_with(proposal(&line(4)))), no);
    let past = ResumeState {
        takebacks: 1,
        ..ResumeState::default()
    };
    let mut spent = casual(settings(), past, false);
    assert_eq!(asks(&spent.state_with(proposal(&line(4)))), no);
}

#[test]
fn a_move_on_its_way_is_not_taken_back() {
    let mut harness = casual(settings(), ResumeState::default(), false);
    let request_id = active_search(&harness.open(&line(4))).map(|search| search.request_id);
    assert!(request_id.is_none(), "the search goes on");
    let mut harness = Harness::with(Side::White, settings());
    harness.casual = true;
    let request_id = active_search(&harness.open(&line(4))).unwrap().request_id;
    let ours = line(5).rsplit(' ').next().unwrap().to_owned();
    posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    let actions = harness.state_with(proposal(&line(4)));
    assert_eq!(asks(&actions), [], "our move answers");
    assert_eq!(posts(&actions), 0);
    let after_theirs = harness.state_with(proposal(&line(6)));
    assert_eq!(asks(&after_theirs), [GameRequest::AcceptTakeback]);
}

/// The bot proposes nothing, so its flag means that a "yes" came after their proposal had ended.
#[test]
fn a_proposal_in_our_name_is_withdrawn_once() {
    let (mut harness, _) = Harness::at(Side::White, "g1f3 f7f6");
    let mut ours = state("g1f3 f7f6");
    ours.takeback.white = true;
    let withdrawal = [GameRequest::DeclineTakeback];
    assert_eq!(asks(&harness.state_with(ours.clone())), withdrawal);
    assert_eq!(asks(&harness.state_with(ours.clone())), []);
    harness.state(&line(2));
    assert_eq!(asks(&harness.state_with(ours)), withdrawal);
}

fn end_of(moves: &str) -> String {
    moves.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// A game in which the search of our move has begun and a "yes" is on its way.
fn granting() -> (Harness, RequestId, String) {
    let mut harness = Harness::with(Side::White, settings());
    harness.casual = true;
    let request_id = active_search(&harness.open(&line(4)))
        .expect("our turn")
        .request_id;
    let yes = [GameRequest::AcceptTakeback];
    assert_eq!(asks(&harness.state_with(proposal(&line(4)))), yes);
    let ours = end_of(&line(5));
    (harness, request_id, ours)
}

#[test]
fn a_move_found_while_a_grant_is_on_its_way_waits_for_its_effect() {
    let (mut harness, request_id, ours) = granting();
    let found = harness.think_with(request_id, &ours, Score::Cp(0));
    assert_eq!(posts(&found), 0);
    // The proposer's turn again: the move is dropped.
    assert_eq!(posts(&harness.state(&line(3))), 0);
    assert_eq!(posts(&harness.wait(ms(5_000))), 0);
}

#[test]
fn a_grant_without_effect_delays_our_move_for_a_moment_only() {
    let (mut harness, request_id, ours) = granting();
    harness.think_with(request_id, &ours, Score::Cp(0));
    let actions = harness.wait(ms(1_500));
    assert_eq!(posted(&actions).unwrap().uci, ours);
}

#[test]
fn a_move_held_back_for_a_human_pace_waits_for_a_grant_too() {
    let mut settings = settings();
    settings.clock.human_pace = true;
    let mut harness = Harness::with(Side::White, settings);
    harness.casual = true;
    let request_id = active_search(&harness.open(&line(4))).unwrap().request_id;
    let found = harness.think_with(request_id, &end_of(&line(5)), Score::Cp(0));
    assert_eq!(posts(&found), 0);
    let paced = harness.machine.next_timeout().unwrap();
    harness.wait((paced - harness.now).saturating_sub(ms(1)));
    harness.state_with(proposal(&line(4)));
    assert_eq!(posts(&harness.wait(ms(1_000))), 0);
    assert_eq!(posts(&harness.wait(ms(1_000))), 1);
}

#[test]
fn a_lost_grant_is_repeated_while_they_ask() {
    let mut harness = casual(settings(), ResumeState::default(), false);
    harness.state_with(proposal(&line(4)));
    harness.asked(GameRequest::AcceptTakeback, CallOutcome::Lost);
    assert_eq!(asks(&harness.wait(ms(1100))), [GameRequest::AcceptTakeback]);
    harness.asked(GameRequest::AcceptTakeback, CallOutcome::Lost);
    harness.state(&line(4));
    assert_eq!(asks(&harness.wait(ms(1100))), [], "withdrawn");
}
