//! Endgame tables at the root: which moves keep the best result.
//!
//! A win is kept within the fifty-move rule and makes progress: of the winning moves those nearest
//! to the next capture, pawn move or mate are kept, by distances read or computed. A draw is not lost.
//! The search chooses among the moves that are kept.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::searcher::{Searcher, ThreadRole};
use crate::engine::limits::Limits;
use crate::engine::score::{DRAW, MATE_BOUND, MAX_PLY, Value, table_win_in};
use crate::engine::tablebase::{Dtz, Tablebases, Wdl};
use crate::rules::{CastlingRights, Draw, Move, Outcome, Position};

/// Half-moves without progress that are a draw.
const FIFTY_MOVES: i32 = 100;

/// How a root move ends, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OutcomeTier {
    Loss,
    /// The fifty moves run out first.
    LateLoss,
    Draw,
    LateWin,
    /// Within the fifty moves unless the table has rounded the wrong way.
    LikelyWin,
    Win,
}

/// What a root move leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MoveOutcome {
    outcome_tier: OutcomeTier,
    /// Plies to the next zeroing move, this one included; 0 if unknown or irrelevant.
    plies: i32,
}

/// What the tables say about the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootVerdict {
    kept: Vec<Move>,
    /// The value of the root; `None` if some moves are unknown.
    value: Option<Value>,
    /// Whether tables are useful in the tree below.
    asks_below: bool,
}

impl RootVerdict {
    /// Whether a move is worth searching.
    pub(super) fn keeps(&self, mv: Move) -> bool {
        self.kept.contains(&mv)
    }

    /// The value to report of a move if the search has found another.
    pub(super) fn value(&self, mv: Move, found: Value) -> Value {
        let tb_bound = self.tb_bound(found).filter(|_| self.keeps(mv));
        tb_bound.unwrap_or(found)
    }

    /// The value that the tables prove, unless the search has a matching mate.
    pub(super) fn tb_bound(&self, found: Value) -> Option<Value> {
        let is_mate = |tb_bound: Value| found.abs() >= MATE_BOUND && (found > 0) == (tb_bound > 0);
        self.value.filter(|&tb_bound| !is_mate(tb_bound))
    }
}

impl Searcher {
    /// Probes the root moves, and decides whether the tree below is probed.
    pub(super) fn ask_tables_at_root(
        &mut self,
        position: &Position,
        moves: &[Move],
        limits: &Limits,
    ) -> Option<RootVerdict> {
        self.table_hits = 0;
        self.keeps_table_win = false;
        // A mate of a given length need not be on the way that the tables know.
        let tables = self.tables.as_ref().filter(|_| limits.mate.is_none());
        self.table_pieces = tables.map_or(0, Tablebases::most_pieces);
        let tables = tables?;
        if position.occupied().count() > self.table_pieces
            || position.castling_rights() != CastlingRights::NONE
        {
            return None;
        }
        // A helper holds a core while it waits, so it does not.
        let patience = match &self.role {
            ThreadRole::Helping(_) => Duration::ZERO,
            _ => self.control.table_patience,
        };
        let until = Instant::now() + patience;
        let gives_up = || Instant::now() >= until || self.control.is_over();
        let asked = RootQuery {
            tables,
            position,
            keys: &self.keys,
            gives_up: &gives_up,
            hits: Cell::new(0),
        };
        let verdict = asked.verdict(moves);
        self.table_hits = asked.hits.get();
        let verdict = verdict.filter(|_| self.table_hits > 0)?;
        if !verdict.asks_below {
            self.table_pieces = 0;
        }
        self.keeps_table_win = verdict.asks_below && verdict.value.is_some();
        Some(verdict)
    }
}

/// One root and its context.
struct RootQuery<'a> {
    tables: &'a Tablebases,
    position: &'a Position,
    /// The keys of the game so far.
    keys: &'a [u64],
    /// Whether to wait no longer for distances that are being computed.
    gives_up: &'a dyn Fn() -> bool,
    hits: Cell<u64>,
}

impl RootQuery<'_> {
    fn verdict(&self, moves: &[Move]) -> Option<RootVerdict> {
        let read = |child: &Position| self.tables.probe.dtz(child);
        let by_distance = moves.iter().map(|&mv| self.by_distance(mv, read).map(Some));
        if let Some(outcomes) = by_distance.collect::<Option<Vec<_>>>() {
            return judged(moves, &outcomes, Precision::Distance);
        }
        let outcomes: Vec<Option<MoveOutcome>> =
            moves.iter().map(|&mv| self.by_outcome(mv)).collect();
        match self.by_computed_distance(moves, &outcomes) {
            Some(outcomes) => judged(moves, &outcomes, Precision::Distance),
            None => judged(moves, &outcomes, Precision::Outcome),
        }
    }

    /// The results with the distances that decide: those of the moves that win, or that the fifty
    /// moves may save.
    fn by_computed_distance(
        &self,
        moves: &[Move],
        outcomes: &[Option<MoveOutcome>],
    ) -> Option<Vec<Option<MoveOutcome>>> {
        let best = best_tier(outcomes)?;
        if best == OutcomeTier::Draw
            || (best < OutcomeTier::Draw
                && self.position.halfmove_clock() == 0
                && self.tables.probe.wdl(self.position) != Some(Wdl::BlessedLoss))
        {
            return None;
        }
        let computed = moves.iter().zip(outcomes).map(|(&mv, outcome)| {
            let needs_distance = |outcome: &MoveOutcome| match outcome.outcome_tier {
                OutcomeTier::Draw => false,
                tier => (tier > OutcomeTier::Draw) == (best > OutcomeTier::Draw),
            };
            if !outcome.as_ref().is_some_and(needs_distance) {
                return Some(*outcome);
            }
            let compute = |child: &Position| self.tables.probe.computed_dtz(child, self.gives_up);
            self.by_distance(mv, compute).map(Some)
        });
        computed.collect()
    }

    /// The result of a move by distances.
    fn by_distance(&self, mv: Move, dtz: impl Fn(&Position) -> Option<Dtz>) -> Option<MoveOutcome> {
        let child = self.position.play(mv);
        if let Some(outcome) = self.by_rule(&child) {
            return Some(outcome);
        }
        let distance = if child.halfmove_clock() == 0 {
            after_zeroing(self.tables.probe.wdl(&child)?.reversed())
        } else {
            after_quiet(dtz(&child)?)
        };
        self.hits.update(|hits| hits + 1);
        let clock = self.position.halfmove_clock() as i32;
        Some(outcome(distance, clock, self.tables.fifty_moves))
    }

    /// The result of a move by the WDL tables alone.
    fn by_outcome(&self, mv: Move) -> Option<MoveOutcome> {
        let child = self.position.play(mv);
        let known = self.by_rule(&child).or_else(|| {
            let wdl = self.tables.probe.wdl(&child)?.reversed();
            self.hits.update(|hits| hits + 1);
            Some(outcome(after_zeroing(wdl), 0, self.tables.fifty_moves))
        });
        // No other move's distance is known: none must look nearer than the end of the game.
        Some(MoveOutcome { plies: 0, ..known? })
    }

    /// Results that need no table: the end of the game, and a third repetition.
    fn by_rule(&self, child: &Position) -> Option<MoveOutcome> {
        let stood = || self.keys.iter().filter(|&&key| key == child.key()).count();
        let counts = |draw: Draw| draw != Draw::FiftyMoves || self.tables.fifty_moves;
        let (outcome_tier, plies) = match child.outcome() {
            Some(Outcome::Win { .. }) => (OutcomeTier::Win, 1),
            Some(Outcome::Draw(draw)) if counts(draw) => (OutcomeTier::Draw, 0),
            _ if stood() >= 2 => (OutcomeTier::Draw, 0),
            _ => return None,
        };
        Some(MoveOutcome {
            outcome_tier,
            plies,
        })
    }
}

/// How much is known of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Distance,
    Outcome,
}

/// A capture or pawn move with this outcome, as a distance for the side that makes it.
const fn after_zeroing(wdl: Wdl) -> Dtz {
    let plies = match wdl {
        Wdl::Win => 1,
        Wdl::CursedWin => FIFTY_MOVES + 1,
        Wdl::Draw => 0,
        Wdl::BlessedLoss => -FIFTY_MOVES - 1,
        Wdl::Loss => -1,
    };
    Dtz {
        plies,
        is_rounded: false,
    }
}

/// The distance before a quiet move, from that after it.
const fn after_quiet(child: Dtz) -> Dtz {
    Dtz {
        plies: -child.plies - child.plies.signum(),
        ..child
    }
}

/// What a distance means with this many half-moves on the fifty-move count.
fn outcome(distance: Dtz, clock: i32, fifty_moves: bool) -> MoveOutcome {
    let Dtz { plies, is_rounded } = distance;
    let end = plies.abs() + clock;
    let is_late = fifty_moves && end > FIFTY_MOVES;
    let outcome_tier = match plies.signum() {
        0 => OutcomeTier::Draw,
        1 if is_late => OutcomeTier::LateWin,
        1 if fifty_moves && is_rounded && end == FIFTY_MOVES => OutcomeTier::LikelyWin,
        1 => OutcomeTier::Win,
        _ if is_late => OutcomeTier::LateLoss,
        _ => OutcomeTier::Loss,
    };
    MoveOutcome {
        outcome_tier,
        plies: plies.abs(),
    }
}

fn best_tier(outcomes: &[Option<MoveOutcome>]) -> Option<OutcomeTier> {
    let known = outcomes.iter().flatten();
    known.map(|outcome| outcome.outcome_tier).max()
}

/// Keeps the moves with the best result. Moves with an unknown result are kept beside them, but not
/// beside a certain win.
fn judged(
    moves: &[Move],
    outcomes: &[Option<MoveOutcome>],
    precision: Precision,
) -> Option<RootVerdict> {
    let best = best_tier(outcomes)?;
    let plies = || {
        let known = outcomes.iter().flatten();
        let alike = known.filter(|outcome| outcome.outcome_tier == best);
        alike.map(|outcome| outcome.plies)
    };
    let (nearest, farthest) = (plies().min()?, plies().max()?);
    let wanted = match best {
        OutcomeTier::Win | OutcomeTier::LikelyWin | OutcomeTier::LateWin => nearest..=nearest,
        OutcomeTier::LateLoss => farthest..=farthest,
        OutcomeTier::Draw | OutcomeTier::Loss => nearest..=farthest,
    };
    let is_kept =
        |outcome: &MoveOutcome| outcome.outcome_tier == best && wanted.contains(&outcome.plies);
    let is_sure = best == OutcomeTier::Win || outcomes.iter().all(Option::is_some);
    let kept = moves.iter().zip(outcomes);
    let kept =
        kept.filter(|(_, outcome)| outcome.as_ref().map_or(best != OutcomeTier::Win, is_kept));
    let win = |plies: i32| table_win_in(plies.clamp(0, MAX_PLY as i32) as usize);
    let value = match best {
        OutcomeTier::Win | OutcomeTier::LikelyWin => win(nearest),
        OutcomeTier::LateWin => DRAW + 1,
        OutcomeTier::Draw => DRAW,
        OutcomeTier::LateLoss => DRAW - 1,
        OutcomeTier::Loss => -win(farthest),
    };
    Some(RootVerdict {
        kept: kept.map(|(&mv, _)| mv).collect(),
        value: is_sure.then_some(value),
        asks_below: !is_sure || (precision == Precision::Outcome && best == OutcomeTier::Win),
    })
}

#[cfg(test)]
mod tests;
