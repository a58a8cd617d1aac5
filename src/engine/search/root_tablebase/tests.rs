//! The root moves that tables keep, from numbers alone.

use super::*;
use crate::engine::score::mate_in;

const fn exact(plies: i32) -> Dtz {
    Dtz {
        plies,
        is_rounded: false,
    }
}

const fn rounded(plies: i32) -> Dtz {
    Dtz {
        plies,
        is_rounded: true,
    }
}

#[test]
fn a_win_must_come_before_the_fifty_moves_are_over() {
    let outcome_tier = |distance, clock| outcome(distance, clock, true).outcome_tier;
    assert_eq!(outcome_tier(exact(1), 99), OutcomeTier::Win);
    assert_eq!(outcome_tier(exact(2), 99), OutcomeTier::LateWin);
    assert_eq!(outcome_tier(exact(100), 0), OutcomeTier::Win);
    assert_eq!(outcome_tier(rounded(100), 0), OutcomeTier::LikelyWin);
    assert_eq!(outcome_tier(rounded(99), 0), OutcomeTier::Win);
    assert_eq!(outcome_tier(exact(101), 0), OutcomeTier::LateWin);
    assert_eq!(outcome_tier(exact(0), 40), OutcomeTier::Draw);
    assert_eq!(outcome_tier(exact(-60), 40), OutcomeTier::Loss);
    assert_eq!(outcome_tier(exact(-61), 40), OutcomeTier::LateLoss);
    assert_eq!(outcome(exact(61), 40, false).outcome_tier, OutcomeTier::Win);
    assert_eq!(
        outcome(exact(-161), 40, false).outcome_tier,
        OutcomeTier::Loss
    );
}

#[test]
fn distances_grow_by_the_move_made() {
    assert_eq!(after_quiet(exact(-7)), exact(8));
    assert_eq!(after_quiet(rounded(7)), rounded(-8));
    assert_eq!(after_quiet(exact(0)), exact(0));
    assert_eq!(after_zeroing(Wdl::Win), exact(1));
    assert_eq!(after_zeroing(Wdl::BlessedLoss), exact(-101));
}

fn moves(count: usize) -> Vec<Move> {
    let all = Position::default().legal_moves();
    all.into_iter().take(count).collect()
}

/// Indices of the kept moves, and the verdict.
fn kept(
    outcomes: &[Option<(OutcomeTier, i32)>],
    precision: Precision,
) -> Option<(Vec<usize>, RootVerdict)> {
    let moves = moves(outcomes.len());
    let outcomes: Vec<Option<MoveOutcome>> = outcomes
        .iter()
        .map(|outcome| {
            outcome.map(|(outcome_tier, plies)| MoveOutcome {
                outcome_tier,
                plies,
            })
        })
        .collect();
    let verdict = judged(&moves, &outcomes, precision)?;
    let places = (0..moves.len()).filter(|&at| verdict.keeps(moves[at]));
    Some((places.collect(), verdict))
}

/// The value to report of a move that is kept.
fn reported(verdict: &RootVerdict, found: Value) -> Value {
    verdict.value(verdict.kept[0], found)
}

#[test]
fn of_the_winning_moves_the_nearest_to_progress_are_kept() {
    let outcomes = [
        Some((OutcomeTier::Win, 9)),
        Some((OutcomeTier::Draw, 0)),
        Some((OutcomeTier::Win, 7)),
        Some((OutcomeTier::LikelyWin, 3)),
        Some((OutcomeTier::Win, 7)),
    ];
    let (places, verdict) = kept(&outcomes, Precision::Distance).unwrap();
    assert_eq!(places, [2, 4]);
    assert!(!verdict.asks_below);
    assert_eq!(reported(&verdict, 35), table_win_in(7));
    assert_eq!(reported(&verdict, mate_in(3)), mate_in(3));
    assert_eq!(
        reported(&verdict, -mate_in(3)),
        table_win_in(7),
        "it cannot be"
    );
}

#[test]
fn a_loss_is_delayed_beyond_the_fifty_moves_or_left_to_the_search() {
    let late = [
        Some((OutcomeTier::Loss, 40)),
        Some((OutcomeTier::LateLoss, 101)),
        Some((OutcomeTier::LateLoss, 104)),
    ];
    let (places, verdict) = kept(&late, Precision::Distance).unwrap();
    assert_eq!((places, reported(&verdict, -900)), (vec![2], DRAW - 1));
    let (places, verdict) = kept(&late[..1], Precision::Distance).unwrap();
    assert_eq!(places, [0]);
    assert_eq!(reported(&verdict, 300), -table_win_in(40));
}

#[test]
fn an_unknown_move_may_be_better_than_all_but_a_sure_win() {
    let outcomes = [
        None,
        Some((OutcomeTier::Draw, 0)),
        Some((OutcomeTier::Loss, 3)),
    ];
    let (places, verdict) = kept(&outcomes, Precision::Outcome).unwrap();
    assert_eq!(places, [0, 1]);
    assert_eq!(reported(&verdict, 77), 77, "nothing is proved");
    assert!(verdict.asks_below);
    let outcomes = [None, Some((OutcomeTier::Win, 0))];
    let (places, verdict) = kept(&outcomes, Precision::Outcome).unwrap();
    assert_eq!(places, [1]);
    assert!(
        verdict.asks_below,
        "no distances: the search makes progress"
    );
    assert_eq!(kept(&[None, None], Precision::Outcome), None);
}
