//! What experience does to the choice of a move: what is searched, what is played instead, and its
//! bounds.

use std::sync::Arc;

use megaton::bot::Settings;
use megaton::bot::game::{GameEffect, GameInput, Notification, RequestId};
use megaton::engine::{Limits, Ranked, Score, SearchResult, StopReason};
use megaton::experience::{Experience, LineMistake, LineResult, PlayedLine};
use megaton::lichess::Side;
use megaton::rules::{Color, Game};
use proptest::prelude::*;

use super::harness::{Harness, active_search, posted, result, uci};

/// A lost game of ours as White; the mistake, if any, is the first move.
fn lost(game: &str, opponent: &str, first: &str, value: Option<i32>) -> PlayedLine {
    PlayedLine {
        game: game.to_owned(),
        opponent: Some(opponent.to_owned()),
        color: Color::White,
        result: LineResult::Loss,
        moves: format!("{first} f7f6"),
        mistake: value.map(|value| LineMistake {
            ply: 0,
            value,
            better: None,
            reviewed: false,
        }),
        at: 1,
    }
}

/// A casual game against the human `blastcap` with these earlier games.
fn harness(lines: &[PlayedLine], change: impl FnOnce(&mut Settings)) -> Harness {
    let mut settings = Settings::default();
    change(&mut settings);
    let mut harness = Harness::with(Side::White, settings);
    harness.casual = true;
    let mut experience = Experience::default();
    for line in lines {
        assert!(experience.learn(line.clone()).is_empty());
    }
    harness.machine.set_experience(Arc::new(experience));
    harness
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

/// The search for the first move, after its limits were looked at.
fn opened(harness: &mut Harness, check: impl FnOnce(&Limits)) -> RequestId {
    let search = active_search(&harness.open("")).expect("our turn");
    check(&search.limits);
    search.request_id
}

/// The first move after a search that found this, and what was logged about it.
fn first_move(
    harness: &mut Harness,
    found: impl FnOnce(&Harness) -> SearchResult,
) -> (String, Option<String>) {
    let request_id = opened(harness, |_| ());
    answered(harness, request_id, found)
}

fn answered(
    harness: &mut Harness,
    request_id: RequestId,
    found: impl FnOnce(&Harness) -> SearchResult,
) -> (String, Option<String>) {
    let result = found(harness);
    let actions = harness.apply(GameInput::SearchDone { request_id, result });
    let note = actions.iter().find_map(|action| match action {
        GameEffect::Note(text) => Some(text.clone()),
        _ => None,
    });
    (posted(&actions).expect("a move is sent").uci, note)
}

#[test]
fn a_move_that_cost_a_game_is_not_searched_again_against_anybody() {
    for opponent in ["blastcap", "another"] {
        let mut harness = harness(&[lost("a", opponent, "g1f3", Some(-800))], |_| ());
        let mut searched = Vec::new();
        let request_id = opened(&mut harness, |limits| {
            assert_eq!(limits.multipv, 1, "all the time goes to the other moves");
            searched.clone_from(&limits.searchmoves);
        });
        let refuted = uci(&harness.machine, "g1f3");
        assert!(searched.len() == 19 && !searched.contains(&refuted));
        let (played, note) = answered(&mut harness, request_id, |it| {
            result("b1c3", Score::Cp(10), &it.machine)
        });
        assert_eq!(played, "b1c3");
        assert_eq!(note.unwrap(), "Nc3 instead of Nf3 (it cost game a)");
    }
}

#[test]
fn nothing_known_changes_nothing() {
    let mut new = harness(&[], |_| ());
    let limits = active_search(&new.open("")).unwrap().limits;
    assert_eq!((limits.searchmoves.len(), limits.multipv), (0, 1));
    let known = [lost("a", "x", "g1f3", Some(-800))];
    let mut off = harness(&known, |settings| settings.experience.enabled = false);
    let limits = active_search(&off.open("")).unwrap().limits;
    assert_eq!((limits.searchmoves.len(), limits.multipv), (0, 1));
    let mut elsewhere = harness(&known, |_| ());
    let limits = active_search(&elsewhere.open("g1f3 f7f6")).unwrap().limits;
    assert_eq!((limits.searchmoves.len(), limits.multipv), (0, 1));
}

#[test]
fn a_lost_move_does_not_force_a_worse_one() {
    let mut harness = harness(&[lost("a", "x", "g1f3", Some(-300))], |_| ());
    let (played, note) = first_move(&mut harness, |it| {
        result("b1c3", Score::Cp(-700), &it.machine)
    });
    assert_eq!((played.as_str(), note), ("g1f3", None));
}

/// Else the next loss blames the same move, and never the one that led to it.
#[test]
fn a_lost_move_played_for_want_of_a_better_one_is_recorded_with_what_it_is_known_to_be_worth() {
    let legal = Game::new().position().legal_moves();
    let names = legal.iter().map(ToString::to_string);
    let lines: Vec<PlayedLine> = names
        .filter(|name| !["b1c3", "g1f3"].contains(&name.as_str()))
        .map(|name| lost(&name, "x", &name, Some(-700)))
        .chain([lost("best", "x", "g1f3", Some(-300))])
        .collect();
    let mut harness = harness(&lines, |_| ());
    let (played, _) = first_move(&mut harness, |it| {
        ranked(it, &[("g1f3", 40), ("b1c3", -900)])
    });
    assert_eq!(played, "g1f3");
    let actions = harness.state("g1f3");
    let recorded = actions.iter().find_map(|action| match action {
        GameEffect::Notify(Notification::Moved(moved)) => moved.result.clone(),
        _ => None,
    });
    let recorded = recorded.expect("the move was searched");
    assert_eq!(recorded.score, Score::Cp(-300));
}

#[test]
fn a_lost_move_stays_excluded_where_the_others_are_about_as_bad() {
    let mut harness = harness(&[lost("a", "x", "g1f3", Some(-300))], |_| ());
    let (played, _) = first_move(&mut harness, |it| {
        result("b1c3", Score::Cp(-340), &it.machine)
    });
    assert_eq!(played, "b1c3");
}

#[test]
fn a_loss_without_a_mistake_yields_to_a_move_within_the_allowed_loss() {
    let line = lost("a", "blastcap", "g1f3", None);
    let ranking = |second| [("g1f3", 40), ("b1c3", second)];
    for (second, times, played) in [
        (15, 1, "b1c3"),
        (5, 1, "g1f3"),
        (5, 2, "b1c3"),
        (-21, 9, "g1f3"),
    ] {
        let lines: Vec<PlayedLine> = (0..times)
            .map(|number| PlayedLine {
                game: number.to_string(),
                ..line.clone()
            })
            .collect();
        let mut harness = harness(&lines, |_| ());
        let request_id = opened(&mut harness, |limits| {
            assert_eq!((limits.searchmoves.len(), limits.multipv), (0, 2));
        });
        let found = answered(&mut harness, request_id, |it| ranked(it, &ranking(second)));
        assert_eq!(found.0, played, "{second} after {times} losses");
    }
}

#[test]
fn a_proven_win_is_played_whatever_was_lost_with_it() {
    let mut harness = harness(&[lost("a", "blastcap", "g1f3", None)], |_| ());
    let (played, _) = first_move(&mut harness, |it| {
        let mut result = ranked(it, &[("g1f3", 40), ("b1c3", 39)]);
        result.score = Score::Mate(4);
        result
    });
    assert_eq!(played, "g1f3");
}

#[test]
fn a_failed_search_is_not_second_guessed() {
    let mut harness = harness(&[lost("a", "blastcap", "g1f3", None)], |_| ());
    let (played, _) = first_move(&mut harness, |it| SearchResult {
        ended: StopReason::Failed,
        ..ranked(it, &[("g1f3", 40), ("b1c3", 39)])
    });
    assert_eq!(played, "g1f3");
}

#[test]
fn pondering_leaves_out_the_same_moves_and_goes_on_after_a_hit() {
    let line = PlayedLine {
        moves: "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1".to_owned(),
        mistake: Some(LineMistake {
            ply: 6,
            value: -900,
            better: None,
            reviewed: true,
        }),
        ..lost("a", "x", "g1f3", None)
    };
    let mut harness = harness(&[line], |settings| settings.engine.ponder = true);
    let request_id = active_search(&harness.open("g1f3 f7f6 e2e3 e7e6"))
        .unwrap()
        .request_id;
    let reply = {
        let mut game = harness.machine.game().clone();
        game.push_uci("f1e2").unwrap();
        game.push_uci("d7d5").unwrap()
    };
    let result = SearchResult {
        ponder: Some(reply),
        ..result("f1e2", Score::Cp(20), &harness.machine)
    };
    harness.apply(GameInput::SearchDone { request_id, result });
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6 f1e2");
    let pondered = actions.iter().find_map(|action| match action {
        GameEffect::Ponder {
            request_id, limits, ..
        } => Some((*request_id, limits.clone())),
        _ => None,
    });
    let (id, limits) = pondered.expect("it ponders");
    assert!(!limits.searchmoves.is_empty(), "castling is left out");
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5");
    let hit = active_search(&actions).unwrap();
    assert_eq!(hit.request_id, id);
    assert_eq!(hit.limits.searchmoves, limits.searchmoves);
}

proptest! {
    /// However the search ranks the moves: what is sent is legal, and it costs no more than the known
    /// value or the allowed loss.
    #[test]
    fn what_is_sent_is_within_the_bounds(
        scores in proptest::collection::vec(-1500_i32..300, 4),
        values in proptest::collection::vec(proptest::option::of(-1000_i32..0), 2),
        loss in 0_u32..200,
        times in 1_usize..9,
    ) {
        let moves = ["g1f3", "b1c3", "e2e3", "a2a3"];
        let mut lines = Vec::new();
        for (mv, value) in moves.iter().zip(&values) {
            for number in 0..times {
                lines.push(lost(&format!("{mv}{number}"), "blastcap", mv, *value));
            }
        }
        let mut harness = harness(&lines, |settings| settings.experience.loss = loss);
        let mut searched = Vec::new();
        let request_id = opened(&mut harness, |limits| searched.clone_from(&limits.searchmoves));
        let searched = |mv: &&(&str, i32)| {
            let mv = uci(&harness.machine, mv.0);
            searched.is_empty() || searched.contains(&mv)
        };
        let mut ranking: Vec<(&str, i32)> = moves.into_iter().zip(scores).collect();
        ranking.sort_by_key(|(_, cp)| -cp);
        let ranking: Vec<(&str, i32)> = ranking.iter().filter(searched).copied().collect();
        let (played, _) = answered(&mut harness, request_id, |it| ranked(it, &ranking));
        let best = ranking[0].1;
        let known = moves.iter().zip(&values).find(|(mv, _)| **mv == played).and_then(|(_, value)| *value);
        if let Some(value) = known {
            prop_assert!(best + 50 < value, "the others are clearly worse");
        } else {
            let cp = ranking.iter().find(|(mv, _)| *mv == played).unwrap().1;
            prop_assert!(best - cp <= loss as i32);
        }
    }
}
