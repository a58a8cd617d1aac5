//! Table results as bounds and scores; no file is read.

use std::sync::Arc;

use super::*;
use crate::engine::core_scheduler::CorePermits;
use crate::engine::evaluator::Evaluator;
use crate::engine::limits::Limits;
use crate::engine::options::EngineOptions;
use crate::engine::score::{DRAW, MATE_BOUND, MAX_PLY, Score, TABLE_BOUND, TABLE_WIN, is_decisive};
use crate::engine::search::Task;
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::SearchResult;
use crate::engine::tablebase::{Dtz, TablebaseProbe, Tablebases};
use crate::engine::tt::TranspositionTable;
use crate::rules::{Color, Game};

/// Tables with the same answer for every position of at most this many pieces.
#[derive(Clone, Copy, Debug)]
struct Fake {
    pieces: usize,
    white: Option<Wdl>,
}

impl TablebaseProbe for Fake {
    fn most_pieces(&self) -> usize {
        self.pieces
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        assert_eq!(position.castling_rights(), CastlingRights::NONE);
        assert!(position.occupied().count() <= self.pieces);
        let wdl = self.white?;
        Some(if position.turn() == Color::White {
            wdl
        } else {
            wdl.reversed()
        })
    }

    fn dtz(&self, _position: &Position) -> Option<Dtz> {
        None
    }
}

fn searcher(tables: Option<Tablebases>) -> Searcher {
    let (table, permits) = (
        Arc::new(TranspositionTable::new(1)),
        Arc::new(CorePermits::new(1)),
    );
    let options = EngineOptions {
        evaluator: Evaluator::classical(),
        tables,
        ..EngineOptions::default()
    };
    Searcher::new(table, permits, &options)
}

/// The result of a search, and how often the tables answered.
fn think(fen: &str, depth: u32, tables: Option<Tablebases>) -> (SearchResult, u64) {
    let position = Position::from_fen(fen).unwrap();
    let game = Game::from_position(position);
    let search_shared = Arc::new(SearchShared::new(false, None));
    let mut searcher = searcher(tables);
    let result = searcher.run(Task::new(&game, Limits::depth(depth), None, search_shared));
    (result, searcher.table_hits)
}

fn saying(pieces: usize, white: Option<Wdl>) -> Tablebases {
    Tablebases::new(Arc::new(Fake { pieces, white }))
}

/// White's queen can capture the pawn, which explodes Black's king.
const MATES: &str = "7k/6p1/8/8/8/8/8/K5Q1 w - - 0 1";
/// White can capture the pawn with its rook, which leaves king and bishop against king and knight.
const TAKES: &str = "7k/8/8/2n5/8/R6p/8/1B2K3 w - - 10 40";

#[test]
fn wins_and_losses_are_bounds_and_the_rest_is_exact() {
    let win = table_win_in(7);
    let by = |wdl| TbBound::by(wdl, 7, true, DRAW);
    assert_eq!((by(Wdl::Win).least, by(Wdl::Win).most), (win, INFINITE));
    assert_eq!((by(Wdl::Loss).least, by(Wdl::Loss).most), (-INFINITE, -win));
    for (wdl, value) in [
        (Wdl::CursedWin, DRAW + 1),
        (Wdl::Draw, DRAW),
        (Wdl::BlessedLoss, DRAW - 1),
    ] {
        assert_eq!(by(wdl), TbBound::exactly(value));
    }
}

#[test]
fn without_the_fifty_move_rule_a_cursed_win_is_one() {
    let by = |wdl| TbBound::by(wdl, 3, false, DRAW);
    assert_eq!(by(Wdl::CursedWin), by(Wdl::Win));
    assert_eq!(by(Wdl::BlessedLoss), by(Wdl::Loss));
    assert_eq!(by(Wdl::Draw), TbBound::exactly(DRAW));
}

#[test]
fn a_bound_cuts_off_only_outside_the_window() {
    let win = TbBound::by(Wdl::Win, 4, true, DRAW);
    let value = table_win_in(4);
    assert_eq!(win.settles(-50, 50), Some((value, Bound::Lower)));
    assert_eq!(win.settles(-50, value), Some((value, Bound::Lower)));
    assert_eq!(win.settles(-50, value + 1), None, "it may be a mate");
    let loss = TbBound::by(Wdl::Loss, 4, true, DRAW);
    assert_eq!(loss.settles(-50, 50), Some((-value, Bound::Upper)));
    assert_eq!(loss.settles(-value - 1, 50), None);
    assert_eq!(loss.clamp(0), -value);
    assert_eq!(
        TbBound::by(Wdl::Draw, 4, true, DRAW).settles(-50, 50),
        Some((0, Bound::Exact))
    );
    assert_eq!(TbBound::NOTHING.settles(-50, 50), None);
}

#[test]
fn a_win_by_tables_is_below_every_mate_and_sooner_is_better() {
    assert!(table_win_in(0) < MATE_BOUND && table_win_in(MAX_PLY) >= TABLE_BOUND);
    assert!(table_win_in(3) > table_win_in(4));
    for ply in [0, 5, MAX_PLY] {
        assert!(is_decisive(table_win_in(ply)) && is_decisive(-table_win_in(ply)));
        let score = Score::from_value(table_win_in(ply));
        assert_eq!(score, Score::Cp(TABLE_WIN - ply as i32));
    }
    assert!(!is_decisive(TABLE_BOUND - 1) && !is_decisive(TABLE_WIN + 1));
}

#[test]
fn a_stored_tablebase_win_counts_from_its_own_position() {
    let entry = |value, ply| Entry {
        best: None,
        value: value_to_store(value, ply),
        eval: NO_VALUE,
        depth: 3,
        bound: Bound::Exact,
    };
    for sign in [1, -1] {
        let stored = entry(sign * table_win_in(9), 4);
        assert_eq!(stored.value, sign * table_win_in(5));
        assert_eq!(stored.value_at(4, 0), sign * table_win_in(9));
        assert_eq!(stored.value_at(2, 95), sign * table_win_in(7));
        let late = stored.value_at(2, 96);
        assert_eq!(late, sign * (TABLE_BOUND - 1), "not within the fifty moves");
    }
}

#[test]
fn a_capture_into_a_won_table_is_a_win_that_is_not_yet_a_mate() {
    let (result, hits) = think(TAKES, 4, Some(saying(4, Some(Wdl::Win))));
    let Score::Cp(score) = result.score else {
        panic!("{result:?}");
    };
    assert!((TABLE_BOUND..=TABLE_WIN).contains(&score), "{result:?}");
    assert!(hits > 0);
    let (result, _) = think(TAKES, 4, Some(saying(4, Some(Wdl::Loss))));
    assert!(result.score.centipawns() > -TABLE_BOUND, "it can keep away");
}

#[test]
fn a_root_in_the_tables_is_answered_by_the_tables() {
    let lone = "6k1/8/8/8/8/8/P6p/4K3 w - - 10 40";
    for wdl in [Wdl::Win, Wdl::Draw, Wdl::Loss] {
        let (result, _) = think(lone, 4, Some(saying(4, Some(wdl))));
        assert!(result.by_tables, "{wdl:?}: {result:?}");
    }
    let (result, _) = think(lone, 4, Some(saying(4, None)));
    assert!(!result.by_tables, "they do not know it");
    let (result, hits) = think(TAKES, 4, Some(saying(4, Some(Wdl::Win))));
    assert!(hits > 0 && !result.by_tables, "further on is a search's");
    let (result, _) = think(MATES, 4, Some(saying(4, Some(Wdl::Win))));
    assert!(!result.by_tables, "nobody needs them for a mate");
}

#[test]
fn cursed_wins_are_almost_draws() {
    let lone = "6k1/8/8/8/8/8/P6p/4K3 w - - 10 40";
    for (wdl, least) in [(Wdl::CursedWin, DRAW + 1), (Wdl::BlessedLoss, DRAW - 1)] {
        let (result, _) = think(lone, 4, Some(saying(4, Some(wdl))));
        assert_eq!(result.score, Score::Cp(least), "{wdl:?}");
    }
    let unruled = saying(4, Some(Wdl::CursedWin)).with_fifty_moves(false);
    let (result, _) = think(lone, 4, Some(unruled));
    assert!(result.score.centipawns() >= TABLE_BOUND, "{result:?}");
}

#[test]
fn with_wdl_only_the_end_of_the_game_is_not_delayed() {
    let (result, hits) = think(MATES, 4, Some(saying(4, Some(Wdl::Win))));
    assert!(hits > 0);
    assert_eq!(result.score, Score::Mate(1), "{result:?}");
}

#[test]
fn empty_tables_change_nothing() {
    let (plain, hits) = think(TAKES, 7, None);
    assert_eq!(hits, 0);
    let silent = [
        saying(32, None),
        saying(4, Some(Wdl::Win)).with_limit(0),
        saying(0, Some(Wdl::Win)),
    ];
    for tables in silent {
        let (result, hits) = think(TAKES, 7, Some(tables));
        assert_eq!(hits, 0);
        assert_eq!(
            (result.best, result.score, result.nodes, result.line),
            (plain.best, plain.score, plain.nodes, plain.line.clone())
        );
    }
}

/// Its `wdl` rejects castling rights and too many pieces.
#[test]
fn positions_with_castling_rights_are_not_probed() {
    let castles = "r3k3/8/8/3p4/4P3/8/8/R3K2R w KQq - 0 1";
    let (_, hits) = think(castles, 6, Some(saying(8, Some(Wdl::Draw))));
    assert!(hits > 0, "some lines lose every right");
}

#[test]
fn the_largest_tables_wait_for_depth() {
    let deep = |depth| saying(4, Some(Wdl::Draw)).with_depth(depth);
    let (_, all) = think(TAKES, 5, Some(deep(1)));
    let (_, some) = think(TAKES, 5, Some(deep(4)));
    let (_, none) = think(TAKES, 5, Some(deep(50)));
    assert!(all > some, "{all} {some}");
    // Only positions with fewer pieces than the largest are probed.
    assert!(none < all, "{none} {all}");
}
