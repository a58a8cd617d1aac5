//! Opening variety when a move is chosen: which games use it, its cost, and when it stays off.

use megaton::bot::game::{GameEffect, GameInput, RequestId};
use megaton::bot::{BotState, BotTiming, Settings};
use megaton::engine::{Ranked, Score, SearchResult, StopReason};
use megaton::lichess::{GameId, Side, UserId};
use megaton::store::FinishedGame;
use proptest::prelude::*;

use super::harness::{Harness, active_search, posted, result, uci};
use super::running_bot::{Bot, all_over};
use super::test_server::Server;

/// The search's ranking of the first move, best first.
const RANKING: [(&str, i32); 5] = [
    ("g1f3", 40),
    ("b1c3", 35),
    ("g1h3", 20),
    ("e2e3", 15),
    ("a2a3", -30),
];
const EARLIER: &str = "g1f3 f7f6 e2e3 e7e6";

/// A rated game, with these openings of earlier games.
fn harness(earlier: &[&str], change: impl FnOnce(&mut Settings)) -> Harness {
    let mut settings = Settings::default();
    change(&mut settings);
    let mut harness = Harness::with(Side::White, settings);
    harness.machine.avoid(earlier.iter().copied(), 7);
    harness
}

fn lines(actions: &[GameEffect]) -> usize {
    active_search(actions).expect("it thinks").limits.multipv
}

fn ranked(harness: &Harness, ranking: &[(&str, i32)]) -> SearchResult {
    let (best, cp) = ranking[0];
    let ranking = ranking.iter().map(|(mv, cp)| Ranked {
        mv: uci(&harness.machine, mv),
        score: Score::Cp(*cp),
    });
    SearchResult {
        ranking: ranking.collect(),
        ..result(best, Score::Cp(cp), &harness.machine)
    }
}

/// The move sent after this search result for the first move.
fn sent(harness: &mut Harness, request_id: RequestId, result: SearchResult) -> String {
    let actions = harness.apply(GameInput::SearchDone { request_id, result });
    posted(&actions).expect("a move is sent").uci
}

/// The first move of a game, searched as ranked.
fn first_move(earlier: &[&str], change: impl FnOnce(&mut Settings)) -> String {
    let mut harness = harness(earlier, change);
    let actions = harness.open("");
    let request_id = active_search(&actions).expect("it is our turn").request_id;
    let result = ranked(&harness, &RANKING);
    sent(&mut harness, request_id, result)
}

#[test]
fn a_new_pair_ranks_one_line_and_plays_the_best() {
    assert_eq!(lines(&harness(&[], |_| ()).open("")), 1);
    assert_eq!(first_move(&[], |_| ()), "g1f3");
    assert_eq!(
        first_move(&["e2e4 e7e5"], |_| ()),
        "g1f3",
        "that was another line"
    );
}

#[test]
fn an_earlier_game_is_left_by_a_move_about_as_good() {
    assert!(lines(&harness(&[EARLIER], |_| ()).open("")) > 2);
    let played = first_move(&[EARLIER], |_| ());
    assert!(
        ["b1c3", "g1h3", "e2e3"].contains(&played.as_str()),
        "{played}"
    );
}

#[test]
fn both_earlier_games_are_left() {
    let played = first_move(&[EARLIER, "b1c3 f7f6"], |_| ());
    assert!(["g1h3", "e2e3"].contains(&played.as_str()), "{played}");
}

#[test]
fn a_deviation_costs_no_more_than_allowed() {
    for seed in 0..50 {
        let mut harness = harness(&[EARLIER], |settings| settings.variety.loss = 5);
        harness.machine.avoid([EARLIER], seed);
        let request_id = active_search(&harness.open("")).unwrap().request_id;
        let result = ranked(&harness, &RANKING);
        assert_eq!(sent(&mut harness, request_id, result), "b1c3");
    }
    assert_eq!(
        first_move(&[EARLIER], |settings| settings.variety.loss = 4),
        "g1f3"
    );
}

#[test]
fn the_same_seed_picks_the_same_move_and_another_may_not() {
    let draw = |seed| {
        let mut harness = harness(&[], |_| ());
        harness.machine.avoid([EARLIER], seed);
        let request_id = active_search(&harness.open("")).unwrap().request_id;
        let result = ranked(&harness, &RANKING);
        sent(&mut harness, request_id, result)
    };
    let drawn: Vec<_> = (0..40).map(draw).collect();
    assert_eq!(drawn, (0..40).map(draw).collect::<Vec<_>>());
    assert!(drawn.iter().any(|played| *played != drawn[0]), "{drawn:?}");
}

#[test]
fn a_decided_game_is_not_varied() {
    for score in [Score::Mate(3), Score::Mate(-2)] {
        let mut harness = harness(&[EARLIER], |_| ());
        let request_id = active_search(&harness.open("")).unwrap().request_id;
        let mut result = ranked(&harness, &RANKING);
        result.score = score;
        result.ranking[0].score = score;
        assert_eq!(sent(&mut harness, request_id, result), "g1f3", "{score}");
    }
}

#[test]
fn only_rated_games_before_the_last_ply_are_varied() {
    for bot in [false, true] {
        let mut rated = harness(&[EARLIER], |_| ());
        rated.bot_opponent = bot;
        assert!(lines(&rated.open("")) > 1, "against a bot: {bot}");
    }
    let mut casual = harness(&[EARLIER], |_| ());
    casual.casual = true;
    assert_eq!(lines(&casual.open("")), 1);
    let mut off = harness(&[EARLIER], |settings| settings.variety.enabled = false);
    assert_eq!(lines(&off.open("")), 1);
    let mut late = harness(&[EARLIER], |settings| settings.variety.plies = 2);
    assert_eq!(lines(&late.open("g1f3 f7f6")), 1);
    let mut left = harness(&[EARLIER], |_| ());
    assert_eq!(
        lines(&left.open("g1f3 e7e6")),
        1,
        "the opponent left it already"
    );
    let mut over = harness(&[EARLIER], |_| ());
    assert_eq!(
        lines(&over.open(EARLIER)),
        1,
        "the earlier game went no further"
    );
}

/// The bot's first move of a rated game against a human, given the opening of the last one.
async fn first_move_against_a_human(earlier: Option<&str>) -> String {
    let server = Server::start().await;
    let state = BotState::nowhere();
    if let Some(opening) = earlier {
        state.finished(FinishedGame {
            game: GameId::new("earlier1"),
            opponent: Some(UserId::new("blastcap")),
            is_bot: false,
            rated: true,
            color: Some(Side::White),
            winner: Some(Side::White),
            status: "resign".to_owned(),
            plies: 2,
            opening: opening.to_owned(),
            rating_diff: Some(1),
            at: state.now(),
        });
    }
    let timing = BotTiming::default().faster(25);
    let bot = Bot::remembering(&server, &timing, state, |settings| {
        settings.book.enabled = false;
        settings.experience.enabled = false;
        settings.variety.loss = 1000;
    });
    server.until_online().await;
    {
        let mut world = server.world();
        world.begin("g1", true, 1);
        world.rounds.get_mut("g1").expect("it began").rated = true;
    }
    all_over(&server).await;
    bot.stop().await;
    let posts = &server.world().posts;
    posts[0].strip_prefix("g1 ").expect("its game").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_game_with_a_human_is_left_too() {
    let usual = first_move_against_a_human(None).await;
    let opening = format!("{usual} a7a6");
    assert_ne!(first_move_against_a_human(Some(&opening)).await, usual);
}

#[test]
fn a_late_search_is_not_waited_for() {
    let mut harness = harness(&[EARLIER], |_| ());
    let request_id = active_search(&harness.open("")).unwrap().request_id;
    let best = Some(uci(&harness.machine, "g1f3"));
    let actions = harness.apply(GameInput::BestSoFar { request_id, best });
    assert_eq!(posted(&actions).expect("at once").uci, "g1f3");
}

#[test]
fn a_result_without_a_ranking_or_of_a_failed_search_is_played_as_it_is() {
    for spoil in [
        |result: &mut SearchResult| result.ranking.clear(),
        |result: &mut SearchResult| result.ended = StopReason::Failed,
    ] {
        let mut harness = harness(&[EARLIER], |_| ());
        let request_id = active_search(&harness.open("")).unwrap().request_id;
        let mut result = ranked(&harness, &RANKING);
        spoil(&mut result);
        assert_eq!(sent(&mut harness, request_id, result), "g1f3");
    }
}

#[test]
fn a_ranking_that_is_an_iteration_behind_does_not_cheapen_a_move() {
    let mut harness = harness(&[EARLIER], |_| ());
    let request_id = active_search(&harness.open("")).unwrap().request_id;
    let mut result = ranked(&harness, &RANKING);
    // The interrupted iteration raised the score of the best move.
    result.score = Score::Cp(90);
    assert_eq!(sent(&mut harness, request_id, result), "g1f3");
}

#[test]
fn an_unreadable_earlier_game_is_ignored() {
    assert_eq!(first_move(&["e2e5 nonsense", ""], |_| ()), "g1f3");
}

proptest! {
    #[test]
    fn what_is_sent_is_the_best_or_about_as_good(
        scores in proptest::collection::vec(-60_i32..60, 5),
        loss in 0_u32..50,
        seed in any::<u64>(),
        past_lines in 0_usize..5,
    ) {
        let mut ranking: Vec<_> = RANKING.iter().map(|(mv, _)| *mv).zip(scores).collect();
        ranking.sort_by_key(|(_, cp)| -cp);
        let mut harness = harness(&[], |settings| settings.variety.loss = loss);
        let earlier = ranking[past_lines].0;
        harness.machine.avoid([earlier], seed);
        let request_id = active_search(&harness.open("")).unwrap().request_id;
        let result = ranked(&harness, &ranking);
        let played = sent(&mut harness, request_id, result);
        let cp = ranking.iter().find(|(mv, _)| *mv == played).expect("a ranked move").1;
        prop_assert!(ranking[0].1 - cp <= loss as i32);
        let another = ranking[1..].iter().any(|(_, cp)| ranking[0].1 - cp <= loss as i32);
        if past_lines == 0 && another {
            prop_assert_ne!(played.as_str(), earlier);
        }
        if past_lines != 0 {
            prop_assert_eq!(played.as_str(), ranking[0].0);
        }
    }
}
