//! Incremental accumulators of the positions in a search.
//!
//! One per ply. Each records the pieces it was computed for, and which of them are marked, as attacked
//! or beside a king, where the net sees that, so any of them is a valid start for
//! any position: the pieces that differ are added and subtracted, whatever moves lie between (a
//! step, castling, a blast, a null move, or several plies without an evaluation). Nothing is
//! computed before a value is requested, and nothing is undone. When a king has crossed the middle of
//! the board, so that its view is mirrored, a cache with one entry per view is the start.

use std::fmt;
use std::sync::Arc;

use arrayvec::ArrayVec;

use super::Network;
use super::features::{Marks, View, attacked_pieces, number};
use super::lines::{FeatureDelta, Line};
use crate::rules::{Bitboard, Color, Position, Role};

/// Maximum pieces on a board.
const MOST_PIECES: usize = 32;
/// One move nearly always changes at most this many pieces.
const A_MOVE: usize = 5;
const NONE: u8 = u8::MAX;

/// Pieces on one board only, or their inputs in a view.
#[derive(Default)]
struct Difference {
    more: PieceList,
    fewer: PieceList,
}

/// Pieces by their [`number`].
type PieceList = ArrayVec<u16, MOST_PIECES>;

/// What a net sees of a position.
#[derive(Clone, Copy)]
struct SeenBoard {
    position: Position,
    /// The marks of its pieces; none of empty squares.
    marks: Marks,
}

impl SeenBoard {
    fn empty() -> SeenBoard {
        SeenBoard {
            position: Position::empty(),
            marks: Marks::NONE,
        }
    }

    /// The squares on which two boards differ.
    #[inline]
    fn changed(&self, other: &SeenBoard) -> Bitboard {
        let (one, two) = (&self.position, &other.position);
        let white = one.by_color(Color::White) ^ two.by_color(Color::White);
        let roles = Role::ALL.map(|role| one.by_role(role) ^ two.by_role(role));
        let ([first, second], [third, fourth]) = (self.marks.0, other.marks.0);
        let start = white | (first ^ third) | (second ^ fourth);
        roles.into_iter().fold(start, |all, set| all | set)
    }

    /// The pieces on some squares.
    #[inline]
    fn list(&self, squares: Bitboard, pieces: &mut PieceList) {
        pieces.clear();
        for square in squares & self.position.occupied() {
            if let Some(piece) = self.position.piece_at(square) {
                let marks = self.marks.at(square);
                pieces.push(number(piece.color, piece.role, square, marks));
            }
        }
    }
}

impl Difference {
    /// The pieces of two boards on the squares on which they differ, written in place: a copy would
    /// have to wait for what has just been written.
    #[inline]
    fn set(&mut self, board: &SeenBoard, from: &SeenBoard, changed: Bitboard) {
        board.list(changed, &mut self.more);
        from.list(changed, &mut self.fewer);
    }

    /// The same as inputs of a view.
    #[inline]
    fn seen(&self, view: View, inputs: &mut Difference) {
        let pairs = [
            (&self.more, &mut inputs.more),
            (&self.fewer, &mut inputs.fewer),
        ];
        for (pieces, inputs) in pairs {
            inputs.clear();
            inputs.extend(pieces.iter().map(|&piece| view.input(piece)));
        }
    }
}

/// What both sides' accumulators at a ply were computed for.
#[derive(Clone, Copy)]
struct PlyState {
    board: SeenBoard,
    views: [u8; 2],
}

/// The accumulators of one thread.
pub struct Accumulators {
    network: Arc<Network>,
    places: Vec<PlyState>,
    /// For each ply White's accumulator, then Black's.
    units: Vec<Line>,
    /// For each side and view, the board of its last accumulator.
    cache: Vec<SeenBoard>,
    cached: Vec<Line>,
}

impl Accumulators {
    /// Room for plies below `plies`.
    pub fn new(network: &Arc<Network>, plies: usize) -> Accumulators {
        let views = 2 * View::COUNT;
        let place = PlyState {
            board: SeenBoard::empty(),
            views: [NONE; 2],
        };
        Accumulators {
            network: Arc::clone(network),
            places: vec![place; plies],
            units: network.feature_biases.repeat(2 * plies),
            cache: vec![SeenBoard::empty(); views],
            cached: network.feature_biases.repeat(views),
        }
    }

    /// The value of a position for the side to move; `None` once a king is gone.
    ///
    /// Fast if the position is close to those last evaluated at this ply and the two before,
    /// correct in any case.
    ///
    /// # Panics
    ///
    /// If `ply` is out of range.
    pub fn evaluate(&mut self, position: &Position, ply: usize) -> Option<i32> {
        let layout = self.network.shape.layout;
        let kings = [position.king(Color::White)?, position.king(Color::Black)?];
        let white = layout.view(Color::White, kings[0]);
        let black = layout.view(Color::Black, kings[1]);
        let marks = layout.marks(kings, || attacked_pieces(position)).0;
        let board = SeenBoard {
            position: *position,
            marks: Marks(marks.map(|squares| squares & position.occupied())),
        };
        self.bring(&board, [white, black], ply);
        let lines = self.network.lines();
        let units = &self.units[2 * lines * ply..][..2 * lines];
        let (white, black) = units.split_at(lines);
        let units = match position.turn() {
            Color::White => [white, black],
            Color::Black => [black, white],
        };
        let shape = self.network.shape;
        let bucket = shape.bucket_by.bucket_of(position, shape.buckets);
        let output = self.network.output(bucket);
        let sum = self.network.kernels.output(units, output);
        let value = self.network.centipawns(bucket, sum);
        #[cfg(feature = "self-check")]
        assert_eq!(
            Some(value),
            self.network.evaluate(position),
            "{}",
            position.fen()
        );
        Some(value)
    }

    /// Computes the accumulators at a ply for a board.
    fn bring(&mut self, board: &SeenBoard, views: [View; 2], ply: usize) {
        let (source, changed) = self.source(board, ply);
        let mut difference = Difference::default();
        difference.set(board, &self.places[source].board, changed);
        for view in views {
            let number = view.index() as u8;
            if self.places[source].views[view.side().index()] != number {
                self.refresh(board, view, ply);
            } else if source != ply || changed.any() {
                self.derive(source, ply, view, &difference);
            }
        }
        self.places[ply] = PlyState {
            board: *board,
            views: views.map(|view| view.index() as u8),
        };
    }

    /// The ply with the closest board, and the squares on which it differs: nearly always the one
    /// before, else the nearest of its neighbours.
    #[inline]
    fn source(&self, board: &SeenBoard, ply: usize) -> (usize, Bitboard) {
        let changed = |ply: usize| (ply, board.changed(&self.places[ply].board));
        let parent = changed(ply.saturating_sub(1));
        if parent.1.count() <= A_MOVE {
            return parent;
        }
        let relatives = [parent, changed(ply), changed(ply.saturating_sub(2))];
        let distance = |(_, changed): &(usize, Bitboard)| changed.count();
        relatives.into_iter().min_by_key(distance).unwrap_or(parent)
    }

    /// One side's accumulator at a ply from that at another.
    #[inline]
    fn derive(&mut self, from: usize, to: usize, view: View, difference: &Difference) {
        let lines = self.network.lines();
        let start = |ply: usize| (2 * ply + view.side().index()) * lines;
        let mut inputs = Difference::default();
        difference.seen(view, &mut inputs);
        let delta = self.network.delta(&inputs);
        let kernels = self.network.kernels;
        if from == to {
            kernels.update_in_place(&mut self.units[start(to)..][..lines], delta);
            return;
        }
        let (before, after) = self.units.split_at_mut(start(from.max(to)));
        let (earlier, later) = (
            &mut before[start(from.min(to))..][..lines],
            &mut after[..lines],
        );
        if from < to {
            kernels.update(earlier, later, delta);
        } else {
            kernels.update(later, earlier, delta);
        }
    }

    /// One side's accumulator at a ply from the last one of its view.
    #[cold]
    fn refresh(&mut self, board: &SeenBoard, view: View, ply: usize) {
        let (lines, side) = (self.network.lines(), view.side().index());
        let slot = side * View::COUNT + view.index();
        let (mut difference, mut inputs) = (Difference::default(), Difference::default());
        let from = &self.cache[slot];
        difference.set(board, from, board.changed(from));
        difference.seen(view, &mut inputs);
        let cached = &mut self.cached[slot * lines..][..lines];
        let delta = self.network.delta(&inputs);
        self.network.kernels.update_in_place(cached, delta);
        self.cache[slot] = *board;
        self.units[(2 * ply + side) * lines..][..lines].copy_from_slice(cached);
    }
}

impl Network {
    /// Inputs turned on and off, with their weights.
    #[inline]
    fn delta<'a>(&'a self, inputs: &'a Difference) -> FeatureDelta<'a> {
        FeatureDelta {
            weights: &self.feature_weights,
            on: &inputs.more,
            off: &inputs.fewer,
        }
    }
}

impl fmt::Debug for Accumulators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accumulators")
            .field("network", &self.network)
            .field("plies", &self.places.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
