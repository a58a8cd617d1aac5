//! Draws: which offers are taken, which are made, and what a flag that lies costs: nothing.

use megaton::bot::Settings;
use megaton::bot::game::{
    CallOutcome, DrawOffer, EvalHistory, GameEffect, GameRequest, Persist, ResumeState,
};
use megaton::engine::Score;
use megaton::lichess::{BySide, GameState, OpponentGone, Side, Status};

use crate::desk::{
    Desk, asks, ending, full, ms, posted, posts, refused, remembered, reopens, settings, state,
    stops, thinking,
};
use crate::quiet::{BARE_BLACK, BARE_WHITE, Played, line, played};

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

/// White's game after `plies`, every search of ours saying this.
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
fn an_offer_on_their_turn_is_answered_at_once_by_score_row_and_ply() {
    let yes = GameRequest::AcceptDraw;
    let no = GameRequest::DeclineDraw;
    // Plies made, our score all along, the answer.
    let streaks = [
        (9, 0, yes),
        (9, 15, yes),
        (9, -15, yes),
        (9, -100, yes),
        (9, 16, no),
        (9, 300, no),
        // Too early for anything.
        (7, 0, no),
        (7, -900, no),
        // Late enough, and the row is three moves long.
        (11, 0, yes),
    ];
    for (plies, score, answer) in streaks {
        let mut desk = level(late(), plies, score).desk;
        let offer = offer(&line(plies), Side::Black);
        assert_eq!(
            asks(&desk.state_with(offer.clone())),
            [answer],
            "{plies} {score}"
        );
        assert_eq!(asks(&desk.state_with(offer)), [], "once an offer");
    }
}

#[test]
fn a_row_is_broken_by_one_better_move_and_a_lost_game_needs_none() {
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
        let mut desk = played(Side::White, late(), 9, scores(last)).desk;
        let offer = offer(&line(9), Side::Black);
        assert_eq!(asks(&desk.state_with(offer)), [answer], "{last:?}");
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
        let mut desk = Desk::with(Side::White, settings);
        desk.bot_opponent = bot;
        let mut desk = crate::quiet::play_on(desk, 9, |_| Score::Cp(0)).desk;
        let answer = asks(&desk.state_with(offer(&line(9), Side::Black)));
        assert_eq!(answer == [GameRequest::AcceptDraw], taken, "{bot}");
    }
}

#[test]
fn a_draw_offered_on_our_turn_is_answered_by_the_move() {
    for (score, with) in [
        (Score::Cp(0), DrawOffer::Yes),
        (Score::Cp(300), DrawOffer::No),
    ] {
        let mut desk = level(late(), 9, 0).desk;
        let actions = desk.state_with(offer(&line(10), Side::Black));
        assert_eq!(asks(&actions), [], "the new position is looked at first");
        let request_id = thinking(&actions).unwrap().request_id;
        let ours = line(11).rsplit(' ').next().unwrap().to_owned();
        let post = posted(&desk.think_with(request_id, &ours, score)).unwrap();
        assert_eq!(post.draw, with);
    }
}

#[test]
fn an_offer_made_while_we_think_disturbs_no_search_and_is_answered_by_the_move() {
    let mut desk = level(late(), 9, 0).desk;
    let request_id = thinking(&desk.state(&line(10))).unwrap().request_id;
    let actions = desk.state_with(offer(&line(10), Side::Black));
    assert!(asks(&actions).is_empty() && !stops(&actions) && thinking(&actions).is_none());
    let ours = line(11).rsplit(' ').next().unwrap().to_owned();
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, DrawOffer::Yes);
}

#[test]
fn a_flag_that_outlives_its_offer_is_not_answered_again() {
    let mut desk = level(late(), 9, 300).desk;
    desk.state_with(offer(&line(10), Side::Black));
    // Our move declined it, and the flag stays for a while all the same.
    let shown = desk.state_with(offer(&line(11), Side::Black));
    assert_eq!(asks(&shown), []);
    let actions = desk.state_with(offer(&line(12), Side::Black));
    let request_id = thinking(&actions).unwrap().request_id;
    let ours = line(13).rsplit(' ').next().unwrap().to_owned();
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(-500))).unwrap();
    assert_eq!(post.draw, DrawOffer::No, "there is nothing to agree to");
}

#[test]
fn the_state_of_our_own_move_can_carry_an_offer_that_it_declined() {
    let mut desk = level(late(), 8, 0).desk;
    let shown = desk.state_with(offer(&line(9), Side::Black));
    assert_eq!(asks(&shown), [], "a yes would be an offer of ours");
    // After a reconnect no one knows what came first.
    let mut desk = level(late(), 8, 0).desk;
    let opened = desk.open_with(full(Side::White, offer(&line(9), Side::Black)), desk.now);
    assert_eq!(asks(&opened), [GameRequest::AcceptDraw]);
}

#[test]
fn our_own_flag_is_no_offer_to_us() {
    let mut desk = level(late(), 9, 0).desk;
    assert_eq!(asks(&desk.state_with(offer(&line(9), Side::White))), []);
}

#[test]
fn a_yes_that_got_lost_is_said_again_as_long_as_it_makes_sense() {
    let mut desk = level(late(), 9, 0).desk;
    desk.state_with(offer(&line(9), Side::Black));
    for _ in 0..3 {
        desk.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
        assert_eq!(asks(&desk.wait(ms(1100))), [GameRequest::AcceptDraw]);
    }
    desk.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
    assert_eq!(asks(&desk.wait(ms(60_000))), [], "a few times");
    let mut desk = level(late(), 9, 0).desk;
    desk.state_with(offer(&line(9), Side::Black));
    desk.asked(GameRequest::AcceptDraw, CallOutcome::Lost);
    desk.state(&line(10));
    assert_eq!(asks(&desk.wait(ms(10_000))), [], "they played on");
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
        let mut desk = level(late(), 9, score).desk;
        let offer = short(offer(&line(9), Side::Black), theirs, increment);
        let answer = asks(&desk.state_with(offer));
        assert_eq!(
            answer == [GameRequest::AcceptDraw],
            taken,
            "{theirs} {increment} {score}"
        );
    }
    // Who has even less needs the draw.
    let mut desk = level(late(), 9, 0).desk;
    let mut offer = short(offer(&line(9), Side::Black), 20_000, 0);
    offer.time.white = Some(ms(9_000));
    assert_eq!(asks(&desk.state_with(offer)), [GameRequest::AcceptDraw]);
}

#[test]
fn nothing_is_offered_unless_the_operator_wants_it() {
    assert!(level(late(), 40, 0).offers().is_empty());
    let mut bots_only = late();
    bots_only.draw.offer_bots = true;
    assert!(level(bots_only, 40, 0).offers().is_empty());
}

#[test]
fn offers_keep_to_row_ply_budget_and_the_servers_pause() {
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
fn the_budget_holds_over_a_restart() {
    let past = |draw_offers| ResumeState {
        draw_offers,
        ..ResumeState::default()
    };
    let desk = Desk::with_past(Side::White, offering(), past(1));
    let game = crate::quiet::play_on(desk, 60, |_| Score::Cp(0));
    assert_eq!(
        game.offers(),
        [22],
        "the last one may have been made just before"
    );
    let desk = Desk::with_past(Side::White, offering(), past(2));
    assert!(
        crate::quiet::play_on(desk, 60, |_| Score::Cp(0))
            .offers()
            .is_empty()
    );
}

#[test]
fn a_row_goes_on_where_a_game_was_left_and_taken_up_again() {
    let eval_history = level(late(), 9, 0).desk.machine.eval_history();
    let answer = |eval_history, moves: &str| {
        let past = ResumeState {
            eval_history,
            ..ResumeState::default()
        };
        let mut settings = late();
        settings.draw.ply = 4;
        let mut desk = Desk::with_past(Side::White, settings, past);
        desk.open(moves);
        asks(&desk.state_with(offer(moves, Side::Black)))
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
fn no_offer_is_left_standing_with_an_opponent_short_of_time_or_away() {
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    for (theirs, increment, offered) in [
        (50_000, 0, false),
        (70_000, 0, true),
        (50_000, 2000, true),
        (8_000, 2000, false),
    ] {
        let mut desk = level(offering(), 7, 0).desk;
        let mut turn = state(&line(8));
        turn.time.black = Some(ms(theirs));
        turn.increment.black = ms(increment);
        let request_id = thinking(&desk.state_with(turn)).unwrap().request_id;
        let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
        assert_eq!(post.draw == DrawOffer::Yes, offered, "{theirs} {increment}");
    }
    let mut desk = level(offering(), 7, 0).desk;
    let request_id = thinking(&desk.state(&line(8))).unwrap().request_id;
    desk.apply(megaton::bot::game::GameInput::Gone(OpponentGone {
        gone: true,
        claim_win_in: None,
    }));
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, DrawOffer::No);
}

#[test]
fn a_bare_king_is_offered_nothing_and_takes_everything() {
    // Against a bare king an offer ends the game at once.
    for (late_enough, offered) in [(30, true), (32, false)] {
        let mut settings = offering();
        settings.draw.ply = late_enough;
        let desk = Desk::with(Side::White, settings);
        let game = crate::quiet::along(desk, BARE_BLACK, Score::Cp(0));
        let mut desk = game.desk;
        let last = thinking(&game.actions).expect("our turn");
        let sent = desk.think_with(last.request_id, "e1e2", Score::Cp(0));
        let all: Vec<_> = game.actions.into_iter().chain(sent).collect();
        let offers = |action: &GameEffect| {
            matches!(
                action,
                GameEffect::Post {
                    draw: DrawOffer::Yes,
                    ..
                }
            )
        };
        assert_eq!(all.iter().any(offers), offered, "{late_enough}");
    }
    // With one of our own there is nothing to win, whatever a search says.
    let mut desk = Desk::with(Side::White, late());
    desk.open(BARE_WHITE);
    let offer = offer(BARE_WHITE, Side::Black);
    assert_eq!(asks(&desk.state_with(offer)), [GameRequest::AcceptDraw]);
}

#[test]
fn the_echo_of_our_offer_without_our_move_starts_nothing() {
    let mut desk = level(offering(), 7, 0).desk;
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    let request_id = thinking(&desk.state(&line(8))).unwrap().request_id;
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, DrawOffer::Yes);
    let echo = desk.state_with(offer(&line(8), Side::White));
    assert!(posts(&echo) == 0 && thinking(&echo).is_none() && asks(&echo).is_empty());
    desk.answer(post.request_id, CallOutcome::Done);
    let shown = desk.state(&line(9));
    assert!(posts(&shown) == 0 && thinking(&shown).is_none());
}

#[test]
fn an_offer_that_swallowed_our_move_costs_one_look_and_the_move_goes_alone() {
    let mut desk = level(offering(), 7, 0).desk;
    let ours = line(9).rsplit(' ').next().unwrap().to_owned();
    let request_id = thinking(&desk.state(&line(8))).unwrap().request_id;
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    desk.answer(post.request_id, CallOutcome::Done);
    desk.state_with(offer(&line(8), Side::White));
    assert!(reopens(&desk.wait(ms(3000))));
    let again = posted(&desk.open(&line(8))).expect("still owed");
    assert_eq!((again.uci, again.draw), (ours, DrawOffer::No));
}

#[test]
fn a_draw_agreed_without_the_move_is_the_end_and_no_move_is_owed() {
    let mut desk = level(late(), 9, 0).desk;
    let actions = desk.state_with(offer(&line(10), Side::Black));
    let ours = line(11).rsplit(' ').next().unwrap().to_owned();
    let request_id = thinking(&actions).unwrap().request_id;
    let post = posted(&desk.think_with(request_id, &ours, Score::Cp(0))).unwrap();
    assert_eq!(post.draw, DrawOffer::Yes);
    desk.answer(post.request_id, CallOutcome::Done);
    let mut over = state(&line(10));
    over.status = Status::Draw;
    let ending = ending(&desk.state_with(over)).unwrap();
    assert_eq!((ending.result(), ending.plies), ("1/2-1/2", 10));
    assert!(desk.wait(ms(60_000)).is_empty());
}

#[test]
fn a_third_repetition_said_twice_asks_for_no_move() {
    let thrice = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let (mut desk, _) = Desk::at(Side::White, &thrice[..thrice.len() - 5]);
    let actions = desk.state(thrice);
    assert!(thinking(&actions).is_none() && posts(&actions) == 0);
    let mut over = state(thrice);
    over.status = Status::Draw;
    assert!(ending(&desk.state_with(over)).is_some());
    // Should the end not come, the move is owed after all.
    let (mut desk, _) = Desk::at(Side::White, &thrice[..thrice.len() - 5]);
    desk.state(thrice);
    assert!(thinking(&desk.wait(ms(1500))).is_some());
}

#[test]
fn a_refused_yes_changes_nothing() {
    let mut desk = level(late(), 9, 0).desk;
    desk.state_with(offer(&line(9), Side::Black));
    let actions = desk.asked(GameRequest::AcceptDraw, refused("no"));
    assert!(
        actions
            .iter()
            .all(|action| matches!(action, GameEffect::Note(_)))
    );
    assert!(thinking(&desk.state(&line(10))).is_some());
}
