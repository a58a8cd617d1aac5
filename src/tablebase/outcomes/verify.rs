//! Checks a file of outcome tables: against other tables, and each value against those of its moves.

use super::OutcomeTables;
use super::layout::{Layout, NAMES, Squares};
use crate::engine::{TablebaseProbe, Wdl};
use crate::rules::{Color, Outcome, Piece, Position, Square};

/// A table in whose positions more errors are found is known to be wrong.
const MOST_ERRORS: usize = 10;

/// The values of a table's positions with one side to move, equal ones by symmetry counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueCounts {
    pub won: u64,
    /// Won, but the fifty moves run out first.
    pub cursed: u64,
    pub drawn: u64,
    /// Lost, but the fifty moves run out first.
    pub blessed: u64,
    pub lost: u64,
}

impl ValueCounts {
    fn add(&mut self, wdl: Wdl) {
        *match wdl {
            Wdl::Win => &mut self.won,
            Wdl::CursedWin => &mut self.cursed,
            Wdl::Draw => &mut self.drawn,
            Wdl::BlessedLoss => &mut self.blessed,
            Wdl::Loss => &mut self.lost,
        } += 1;
    }

    pub fn all(&self) -> u64 {
        self.won + self.cursed + self.drawn + self.blessed + self.lost
    }
}

/// What a check of one table found.
#[derive(Clone, Debug)]
pub struct TableReport {
    pub name: &'static str,
    /// The table's size in the file.
    pub bytes: usize,
    /// White's side, which is the stronger, to move; then Black's.
    pub values: [ValueCounts; 2],
    /// Positions compared with the other tables, and with their own moves.
    pub compared: u64,
    pub played: u64,
    /// The first errors: the position, and what is wrong.
    pub errors: Vec<String>,
}

/// How much of a table is checked.
#[derive(Clone, Copy)]
pub struct Extent<'a> {
    /// One of so many positions is looked at.
    pub step: usize,
    /// One of so many of those is compared with its moves.
    pub played_step: usize,
    /// Tables to compare with.
    pub reference: Option<&'a dyn TablebaseProbe>,
}

impl std::fmt::Debug for Extent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extent").finish_non_exhaustive()
    }
}

impl OutcomeTables {
    /// Checks the table at a place from 0 to [`super::OUTCOME_TABLES`]; `None` if it is unusable.
    pub fn check(&self, table: usize, extent: Extent<'_>) -> Option<TableReport> {
        let bytes = self.file.bytes(table)?;
        let layout = Layout::new(NAMES.get(table)?);
        let mut report = TableReport {
            name: layout.name,
            bytes,
            values: [ValueCounts::default(); 2],
            compared: 0,
            played: 0,
            errors: Vec::new(),
        };
        let indices = (0..layout.size()).step_by(extent.step.max(1));
        for (count, index) in indices.enumerate() {
            let squares = layout.squares(index);
            if layout.index(squares) != index {
                continue;
            }
            for turn in Color::ALL {
                let Some(position) = position(&layout, squares, turn) else {
                    continue;
                };
                let error = self.check_position(&position, &mut report, count, extent);
                if let Err(error) = error
                    && report.errors.len() < MOST_ERRORS
                {
                    report.errors.push(format!("{}: {error}", position.fen()));
                }
            }
        }
        Some(report)
    }

    fn check_position(
        &self,
        position: &Position,
        report: &mut TableReport,
        count: usize,
        extent: Extent<'_>,
    ) -> Result<(), String> {
        let wdl = self.wdl(position).ok_or("no value")?;
        report.values[position.turn().index()].add(wdl);
        if let Some(reference) = extent.reference {
            let other = reference
                .wdl(position)
                .ok_or("the other tables have none")?;
            report.compared += 1;
            if other != wdl {
                return Err(format!("{wdl:?}, but {other:?} in the other tables"));
            }
        }
        if count.is_multiple_of(extent.played_step.max(1)) {
            report.played += 1;
            let best = self.best_of_moves(position).ok_or("a move without value")?;
            // Which quiet moves the fifty moves spoil, only a distance tells.
            if (best as i8).signum() != (wdl as i8).signum() {
                return Err(format!("{wdl:?}, but {best:?} by its best move"));
            }
        }
        Ok(())
    }

    /// The value by the rules and the values of the moves.
    fn best_of_moves(&self, position: &Position) -> Option<Wdl> {
        if let Some(value) = by_rule(position) {
            return Some(value);
        }
        let mut best = Wdl::Loss;
        for mv in position.legal_moves() {
            let child = position.play(mv);
            let theirs = by_rule(&child).or_else(|| self.wdl(&child))?;
            best = best.max(theirs.reversed());
        }
        Some(best)
    }
}

/// The value for the side to move if the game is over.
fn by_rule(position: &Position) -> Option<Wdl> {
    Some(match position.outcome()? {
        Outcome::Win { .. } => Wdl::Loss,
        Outcome::Draw(_) => Wdl::Draw,
    })
}

/// The position, if it is a legal one.
fn position(layout: &Layout, squares: Squares, turn: Color) -> Option<Position> {
    let pieces: Vec<(Piece, Square)> = layout.pieces().iter().copied().zip(squares).collect();
    Position::from_pieces(&pieces, turn).ok()
}
