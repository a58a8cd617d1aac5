//! Draws: which offers the bot accepts and makes, and that a stale flag costs nothing.

use megaton::bot::Settings;
use megaton::bot::game::{CallOutcome, EvalHistory, GameEffect, GameRequest, Persist, ResumeState};
use megaton::engine::Score;
use megaton::lichess::{BySide, GameState, OfferDraw, OpponentGone, Side, Status};

use crate::harness::{
    Harness, active_search, asks, ending, full, ms, posted, posts, refused, remembered, reopens,
    settings, state, stops,
};
use crate::quiet_game::{BARE_BLACK, BARE_WHITE, Played, by_tables, line, played};

fn late() -> Settings {
    let mut settings = settings();
    settings.draw.ply = 8;
    settings.draw.moves = 3;
    settings
}

fn offering() -> Settings {
    let mut settings = late();
    settings.draw.offer_humans = true;
    settings
}

/// White's game after `plies`, with `score` in each of our searches.
fn level(settings: Settings, plies: usize, score: i32) -> Played {
    played(Side::White, settings, plies, |_| Score::Cp(score))
}

fn offer(moves: &str, by: Side) -> GameState {
    let mut offer = state(moves);
    match by {
        Side::White => offer.draw_offer.white = true,
        Side::Black => offer.draw_offer.black = true,
    }
    offer
}

#[test]
fn an_offer_on_their_turn_is_answered_at_once_by_score_streak_and_ply() {
    let yes = GameRequest::AcceptDraw;
    let no = GameRequest::DeclineDraw;
    // Plies made, our score throughout, the answer.
    let rows = [
        (9, 0, yes),
        (9, 15, yes),
        (9, -15, yes),
        (9, -100, yes),
        (9, 16, no),
        (9, 300, no),
        // Too early for anything.
        (7, 0, no),
        (7, -900, no),
        // Late enough, and the streak is three moves long.
        (11, 0, yes),
    ];
    for (plies, score, answer) in rows {
        let mut harness = level(late(), plies, score).harness;
        let offer = offer(&line(plies), Side::Black);
        assert_eq!(
            asks(&harness.state_with(offer.clone())),
            [answer],
            "{plies} {score}"
        );
        assert_eq!(asks(&harness.state_with(offer)), [], "once an offer");
    }
}

#[test]
fn a_streak_ends_with_one_better_move_and_a_lost_game_needs_none() {
    let scores = |last: Score| {
        move |ply: usize| match ply {
            8 => last,
            6 => Score::Cp(200),
            _ => Score::Cp(0),
        }
    };
    for (last, answer) in [
        (Score::Cp(0), GameRequest::DeclineDraw),
        (Score::Cp(-100), GameRequest::DeclineDraw),
        (Score::Cp(-400), GameRequest::AcceptDraw),
        (Score::Mate(-3), GameRequest::AcceptDraw),
        (Score::Mate(0), GameRequest::AcceptDraw),
        (Score::Mate(3), GameRequest::DeclineDraw),
    ] {
        let mut harness = played(Side::White, late(), 9, scores(last)).harness;
        let offer = offer(&line(9), Side::Black);
        assert_eq!(asks(&harness.state_with(offer)), [answer], "{last:?}");
    }
}

#[test]
fn humans_and_bots_have_rules_of_their_own() {
    for (bot, accept_humans, accept_bots, taken) in [
        (false, true, false, true),
        (false, false, true, false),
        (true, false, true, true),
        (true, true, false, false),
    ] {
        let mut settings = late();
        settings.draw.accept_humans = accept_humans;
        settings.draw.accept_bots = accept_bots;
        let mut harness = Harness::with(Side::White, settings);
        harness.bot_opponent = bot;
        let mut harness = crate::quiet_game::play_on(harness, 9, |_| Score::Cp(0)).harness;
        let answer = asks(&harness.state_with(offer(&line(9), Side::Black)));
        assert_eq!(answer == [GameRequest::AcceptDraw], taken, "{bot}");
    }
}

#[test]
fn a_draw_offered_on_our_turn_is_answered_by_the_move() {
    for (score, with) in [
        (Score::Cp(0), OfferDraw::Yes),
        (Score::Cp(300), OfferDraw::No),
    ] {
        let mut harness = level(late(), 9, 0).harness;
        let actions = harness.state_with(offer(&line(10), Side::Black));
        assert_eq!(asks(&actions), [], "the new position is looked at first");
        let request_id = active_search(&actions).unwrap().request_id;
        let ours = line(11).rsplit(' ').next().unwrap().to_owned();
        let post = posted(&harness.think_with(request_id, &ours, score)).unwrap();
        assert_eq!(post.draw, with);
    }
}

#[test]
fn no_draw_is_agreed_to_where_the_last_move_was_not_searched() {
    // The offer comes with a check that leaves one legal move, or after that move. Whether the position is
    // still level nobody knows; one that was lost is not expected to have become a win.
    let level = (OfferDraw::No, GameRequest::DeclineDraw);
    let lost = (OfferDraw::Yes, GameRequest::AcceptDraw);
    for (score, (with_move, after_it)) in [(0, level), (-400, lost)] {
        let mut settings = settings();
        (settings.draw.ply, settings.draw.moves) = (2, 1);
        let harness = || {
            let mut harness = Harness::with(Side::Black, settings.clone());
            let request_id = active_search(&harness.open("e2e4")).unwrap().request_id;
            harness.think_with(request_id, "f7f6", Score::Cp(score));
            harness.state("e2e4 f7f6");
            harness
        };
        let actions = harness().state_with(offer("e2e4 f7f6 d1h5", Side::White));
        let post = posted(&actions).unwrap();
        assert_eq!((post.uci.as_str(), post.draw), ("g7g6", with_move));
        let mut harness = harness();
        posted(&harness.state("e2e4 f7f6 d1h5")).unwrap();
        harness.state("e2e4 f7f6 d1h5 g7g6");
        let offer = offer("e2e4 f7f6 d1h5 g7g6", Side::White);
        assert_eq!(asks(&harness.state_with(offer)), [after_it], "{score}");
    }
}

#[test]
fn an_offer_made_while_searching_disturbs_no_search_and_is_answered_by_the_move() {
    let mut harness = level(late(), 9, 0).harness;
    let request_id = active_search(&harness.state(&line(10))).unwrap().request_id;
    let actions = harness.state_with(offer(&line(10), Side::Black));
    assert!(asks(&actions).is_empty() && !stops(&actions) && active_search(&actions).is_none());
    let ours = line(11).rsplit(' ').next().unwrap().to_owned();
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, OfferDraw::Yes);
}

#[test]
fn a_flag_that_outlives_its_offer_is_not_answered_again() {
    let mut harness = level(late(), 9, 300).harness;
    harness.state_with(offer(&line(10), Side::Black));
    // Our move declined it, yet the flag stays for a while.
    let shown = harness.state_with(offer(&line(11), Side::Black));
    assert_eq!(asks(&shown), []);
    let actions = harness.state_with(offer(&line(12), Side::Black));
    let request_id = active_search(&actions).unwrap().request_id;
    let ours = line(13).rsplit(' ').next().unwrap().to_owned();
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(-500))).unwrap();
    assert_eq!(post.draw, OfferDraw::No, "there is nothing to agree to");
}

#[test]
fn the_state_of_our_own_move_can_carry_an_offer_that_it_declined() {
    let mut harness = level(late(), 8, 0).harness;
    let shown = harness.state_with(offer(&line(9), Side::Black));
    assert_eq!(asks(&shown), [], "a yes would be an offer of ours");
    // After a reconnect the order is unknown.
    let mut harness = level(late(), 8, 0).harness;
    let opened = harness.open_with(full(Side::White, offer(&line(9), Side::Black)), harness.now);
    assert_eq!(asks(&opened), [GameRequest::AcceptDraw]);
}

#[test]
fn our_own_flag_is_no_offer_to_the_bot() {
    let mut harness = level(late(), 9, 0).harness;
    assert_eq!(asks(&harness.state_with(offer(&line(9), Side::White))), []);
}

#[test]
fn a_lost_consent_is_repeated_as_long_as_it_makes_sense() {
    let mut harness = level(late(), 9, 0).harness;
    harness.state_with(offer(&line(9), Side::Black));
    for _ in 0..3 {
        harness.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
        assert_eq!(asks(&harness.wait(ms(1100))), [GameRequest::AcceptDraw]);
    }
    harness.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
    assert_eq!(asks(&harness.wait(ms(60_000))), [], "a few times");
    let mut harness = level(late(), 9, 0).harness;
    harness.state_with(offer(&line(9), Side::Black));
    harness.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
    harness.state(&line(10));
    assert_eq!(asks(&harness.wait(ms(10_000))), [], "they played on");
}

#[test]
fn no_draw_saves_an_opponent_whose_flag_is_about_to_fall() {
    let short = |mut state: GameState, theirs, increment| {
        state.increment = BySide {
            white: ms(increment),
            black: ms(increment),
        };
        state.time.black = Some(ms(theirs));
        state
    };
    for (theirs, increment, score, taken) in [
        (20_000, 0, 0, false),
        (20_000, 0, -400, true),
        (40_000, 0, 0, true),
        (20_000, 2000, 0, true),
        (3_000, 2000, 0, false),
    ] {
        let mut harness = level(late(), 9, score).harness;
        let offer = short(offer(&line(9), Side::Black), theirs, increment);
        let answer = asks(&harness.state_with(offer));
        assert_eq!(
            answer == [GameRequest::AcceptDraw],
            taken,
            "{theirs} {increment} {score}"
        );
    }
    // A bot with even less time needs the draw.
    let mut harness = level(late(), 9, 0).harness;
    let mut offer = short(offer(&line(9), Side::Black), 20_000, 0);
    offer.time.white = Some(ms(9_000));
    assert_eq!(asks(&harness.state_with(offer)), [GameRequest::AcceptDraw]);
}

#[test]
fn nothing_is_offered_unless_the_operator_wants_it() {
    assert!(level(late(), 40, 0).offers().is_empty());
    let mut bots_only = late();
    bots_only.draw.offer_bots = true;
    assert!(level(bots_only, 40, 0).offers().is_empty());
}

#[test]
fn offers_keep_to_streak_ply_budget_and_the_servers_pause() {
    let game = level(offering(), 60, 0);
    assert_eq!(
        game.offers(),
        [8, 30],
        "late, and more than twenty plies apart"
    );
    let kept = [1, 2].map(|so_far| Persist::DrawOffered { so_far });
    assert_eq!(remembered(&game.actions), kept);
    let mut once = offering();
    once.draw.offers = 1;
    assert_eq!(level(once, 60, 0).offers(), [8]);
    assert!(level(offering(), 60, 40).offers().is_empty(), "not level");
    assert!(level(offering(), 60, -40).offers().is_empty(), "nor worse");
}

#[test]
fn the_budget_holds_across_a_restart() {
    let past = |draw_offers| ResumeState {
        draw_offers,
        ..ResumeState::default()
    };
    let harness = Harness::with_past(Side::White, offering(), past(1));
    let game = crate::quiet_game::play_on(harness, 60, |_| Score::Cp(0));
    assert_eq!(
        game.offers(),
        [22],
        "the last one may have been made just before"
    );
    let harness = Harness::with_past(Side::White, offering(), past(2));
    assert!(
        crate::quiet_game::play_on(harness, 60, |_| Score::Cp(0))
            .offers()
            .is_empty()
    );
}

#[test]
fn a_streak_continues_when_a_game_is_left_and_resumed() {
    let eval_history = level(late(), 9, 0).harness.machine.eval_history();
    let answer = |eval_history, moves: &str| {
        let past = ResumeState {
            eval_history,
            ..ResumeState::default()
        };
        let mut settings = late();
        settings.draw.ply = 4;
        let mut harness = Harness::with_past(Side::White, settings, past);
        harness.open(moves);
        asks(&harness.state_with(offer(moves, Side::Black)))
    };
    assert_eq!(answer(eval_history, &line(9)), [GameRequest::AcceptDraw]);
    let fresh = answer(EvalHistory::default(), &line(9));
    assert_eq!(
        fresh,
        [GameRequest::DeclineDraw],
        "nothing was searched yet"
    );
    let shorter = answer(eval_history, &line(7));
    assert_eq!(shorter, [GameRequest::DeclineDraw], "moves were taken back");
}

#[test]
fn the_pause_between_offers_goes_on_while_a_game_is_left() {
    let game = level(offering(), 30, 0);
    assert_eq!(game.offers(), [8]);
    let next = line(31).rsplit(' ').next().unwrap().to_owned();
    for (eval_history, offered) in [
        (game.harness.machine.eval_history(), OfferDraw::Yes),
        // The offer may have been made just before a restart.
        (EvalHistory::default(), OfferDraw::No),
    ] {
        let past = ResumeState {
            draw_offers: 1,
            eval_history,
            ..ResumeState::default()
        };
        let mut harness = Harness::with_past(Side::White, offering(), past);
        let request_id = active_search(&harness.open(&line(30))).unwrap().request_id;
        let sent = posted(&harness.think_with(request_id, &next, Score::Cp(0))).unwrap();
        assert_eq!(sent.draw, offered);
    }
}

#[test]
fn nothing_is_offered_to_an_opponent_short_of_time_or_away() {
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    for (theirs, increment, offered) in [
        (50_000, 0, false),
        (70_000, 0, true),
        (50_000, 2000, true),
        (8_000, 2000, false),
    ] {
        let mut harness = level(offering(), 7, 0).harness;
        let mut turn = state(&line(8));
        turn.time.black = Some(ms(theirs));
        turn.increment.black = ms(increment);
        let request_id = active_search(&harness.state_with(turn)).unwrap().request_id;
        let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
        assert_eq!(post.draw == OfferDraw::Yes, offered, "{theirs} {increment}");
    }
    let mut harness = level(offering(), 7, 0).harness;
    let request_id = active_search(&harness.state(&line(8))).unwrap().request_id;
    harness.apply(megaton::bot::game::GameInput::Gone(OpponentGone {
        gone: true,
        claim_win_in: None,
    }));
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, OfferDraw::No);
}

#[test]
fn a_bare_king_is_offered_nothing_and_accepts_everything() {
    // Against a bare king an offer ends the game at once.
    for (late_enough, offered) in [(30, true), (32, false)] {
        let mut settings = offering();
        settings.draw.ply = late_enough;
        let harness = Harness::with(Side::White, settings);
        let game = crate::quiet_game::along(harness, BARE_BLACK, Score::Cp(0));
        let mut harness = game.harness;
        let last = active_search(&game.actions).expect("our turn");
        let sent = harness.think_with(last.request_id, "e1e2", Score::Cp(0));
        let all: Vec<_> = game.actions.into_iter().chain(sent).collect();
        let offers = |action: &GameEffect| {
            matches!(
                action,
                GameEffect::Post {
                    draw: OfferDraw::Yes,
                    ..
                }
            )
        };
        assert_eq!(all.iter().any(offers), offered, "{late_enough}");
    }
    // With a bare king of its own the bot cannot win, whatever a search says.
    let mut harness = Harness::with(Side::White, late());
    harness.open(BARE_WHITE);
    let offer = offer(BARE_WHITE, Side::Black);
    assert_eq!(asks(&harness.state_with(offer)), [GameRequest::AcceptDraw]);
}

#[test]
fn the_echo_of_our_offer_without_our_move_starts_nothing() {
    let mut harness = level(offering(), 7, 0).harness;
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    let request_id = active_search(&harness.state(&line(8))).unwrap().request_id;
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, OfferDraw::Yes);
    let echo = harness.state_with(offer(&line(8), Side::White));
    assert!(posts(&echo) == 0 && active_search(&echo).is_none() && asks(&echo).is_empty());
    harness.answer(post.request_id, CallOutcome::Done);
    let shown = harness.state(&line(9));
    assert!(posts(&shown) == 0 && active_search(&shown).is_none());
}

#[test]
fn an_offer_that_swallowed_our_move_costs_one_check_and_the_move_is_sent_alone() {
    let mut harness = level(offering(), 7, 0).harness;
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    let request_id = active_search(&harness.state(&line(8))).unwrap().request_id;
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    harness.answer(post.request_id, CallOutcome::Done);
    harness.state_with(offer(&line(8), Side::White));
    assert!(reopens(&harness.wait(ms(3000))));
    let again = posted(&harness.open(&line(8))).expect("still owed");
    assert_eq!((again.uci, again.draw), (ours, OfferDraw::No));
}

#[test]
fn a_draw_agreed_without_the_move_is_the_end_and_the_bot_owes_no_move() {
    let mut harness = level(late(), 9, 0).harness;
    let actions = harness.state_with(offer(&line(10), Side::Black));
    let ours = line(11).rsplit(' ').next().unwrap().to_owned();
    let request_id = active_search(&actions).unwrap().request_id;
    let post = posted(&harness.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, OfferDraw::Yes);
    harness.answer(post.request_id, CallOutcome::Done);
    let mut over = state(&line(10));
    over.status = Status::Draw;
    let ending = ending(&harness.state_with(over)).unwrap();
    assert_eq!((ending.result(), ending.plies), ("1/2-1/2", 10));
    assert!(harness.wait(ms(60_000)).is_empty());
}

#[test]
fn a_third_repetition_stated_twice_requires_no_move() {
    let thrice = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let (mut harness, _) = Harness::at(Side::White, &thrice[..thrice.len() - 5]);
    let actions = harness.state(thrice);
    assert!(active_search(&actions).is_none() && posts(&actions) == 0);
    let mut over = state(thrice);
    over.status = Status::Draw;
    assert!(ending(&harness.state_with(over)).is_some());
    // If the end does not come, the bot owes the move after all.
    let (mut harness, _) = Harness::at(Side::White, &thrice[..thrice.len() - 5]);
    harness.state(thrice);
    assert!(active_search(&harness.wait(ms(1500))).is_some());
}

#[test]
fn a_refused_consent_changes_nothing() {
    let mut harness = level(late(), 9, 0).harness;
    harness.state_with(offer(&line(9), Side::Black));
    let actions = harness.asked(GameRequest::AcceptDraw, refused("no"));
    assert!(
        actions
            .iter()
            .all(|action| matches!(action, GameEffect::Report(_)))
    );
    assert!(active_search(&harness.state(&line(10))).is_some());
}

#[test]
fn a_draw_is_worth_less_against_a_weaker_opponent() {
    // Our rating, the opponent's, and the contempt of the search.
    let rows = [
        (Some(2200), Some(2000), 10),
        (Some(2000), Some(2200), -10),
        (Some(2000), Some(1990), 0),
        (Some(2600), Some(900), 40),
        (Some(900), Some(2600), -20),
        (Some(2600), None, 0),
        (None, Some(900), 0),
    ];
    for (ours, theirs, contempt) in rows {
        let mut harness = Harness::new(Side::White);
        let mut full = harness.full(state(""));
        (full.white.rating, full.black.rating) = (ours, theirs);
        let opened = harness.now;
        let search = active_search(&harness.open_with(full, opened)).expect("our turn");
        assert_eq!(search.limits.contempt, contempt, "{ours:?} {theirs:?}");
    }
}

#[test]
fn a_dead_draw_counts_as_level_whatever_it_is_worth_against_the_opponent() {
    let played = |settings: Settings, ratings: [i32; 2], score: i32| {
        let mut harness = Harness::with(Side::White, settings);
        harness.ratings = Some(ratings);
        crate::quiet_game::play_on(harness, 9, |_| Score::Cp(score))
    };
    for (ratings, score, accepted) in [
        ([2000, 2400], 20, true),
        ([2000, 2400], 21, false),
        ([2000, 2000], 20, false),
        ([2800, 2000], 15, true),
    ] {
        let mut harness = played(late(), ratings, score).harness;
        let answer = asks(&harness.state_with(offer(&line(9), Side::Black)));
        let is_yes = answer == [GameRequest::AcceptDraw];
        assert_eq!(is_yes, accepted, "{ratings:?} {score}");
    }
    for (ratings, score, offered) in [
        ([2800, 2000], -40, true),
        ([2800, 2000], -41, false),
        ([2000, 2000], -40, false),
        ([2000, 2400], 20, true),
        ([2000, 2400], -15, true),
    ] {
        let offers = played(offering(), ratings, score).offers();
        assert_eq!(offers == [8], offered, "{ratings:?} {score} {offers:?}");
    }
}

/// Results by tables: won, won too late, drawn, lost too late, lost.
const PROVED: [i32; 5] = [30_000, 1, 0, -1, -30_000];

#[test]
fn a_result_that_tables_prove_answers_an_offer_at_once() {
    let answers = |settings: &Settings, black_clock: u64| {
        PROVED.map(|score| {
            let harness = Harness::with(Side::White, settings.clone());
            let mut harness = by_tables(harness, score).harness;
            let mut offer = offer(&line(3), Side::Black);
            offer.time.black = Some(ms(black_clock));
            offer.increment.black = ms(0);
            asks(&harness.state_with(offer)) == [GameRequest::AcceptDraw]
        })
    };
    // Neither ply nor streak would allow it.
    let usual = settings();
    assert!(usual.draw.ply > 3 && usual.draw.moves > 2);
    assert_eq!(answers(&usual, 180_000), [false, false, true, true, true]);
    // A draw does not save an opponent who is about to lose on time; a lost game is not held.
    assert_eq!(answers(&usual, 5_000), [false, false, false, true, true]);
    let mut never = settings();
    never.draw.accept_humans = false;
    assert_eq!(answers(&never, 180_000), [false; 5]);
    // A win that comes too late follows the ordinary rules; a proved win never does.
    let mut generous = late();
    (generous.draw.ply, generous.draw.moves) = (2, 1);
    assert_eq!(answers(&generous, 180_000), [false, true, true, true, true]);
}

#[test]
fn a_draw_that_tables_prove_is_offered_at_once_and_a_win_never() {
    let offers = |settings: &Settings| {
        PROVED.map(|score| {
            let harness = Harness::with(Side::White, settings.clone());
            by_tables(harness, score).offers() == [2]
        })
    };
    let mut willing = settings();
    willing.draw.offer_humans = true;
    assert_eq!(offers(&willing), [false, false, true, false, false]);
    assert_eq!(offers(&settings()), [false; 5], "off unless wanted");
    let mut spent = willing;
    spent.draw.offers = 0;
    assert_eq!(offers(&spent), [false; 5], "within the budget");
}

#[test]
fn what_tables_proved_is_void_after_a_move_without_them() {
    let mut willing = settings();
    willing.draw.offer_humans = true;
    let mut harness = by_tables(Harness::with(Side::White, willing), 0).harness;
    let request_id = active_search(&harness.state(&line(4))).unwrap().request_id;
    let next = line(5);
    let ours = next.rsplit(' ').next().unwrap();
    harness.think_with(request_id, ours, Score::Cp(0));
    harness.state(&next);
    let answer = asks(&harness.state_with(offer(&next, Side::Black)));
    assert_eq!(answer, [GameRequest::DeclineDraw]);
}
