//! Makes the tables by retrograde analysis.
//!
//! A table is solved slice by slice: the positions with its pawns on the same squares, the most advanced
//! pawns first. Captures and pawn moves leave the slice, so their results are known beforehand: a capture
//! explodes a king or leaves bare kings, a pawn move leads to a solved slice or table. From the mates, the
//! explosions and those results the analysis walks backwards by unmoves, one ply a round; the number of
//! the round is the distance to the next capture, pawn move or mate, so wins that the fifty-move rule
//! spoils are told apart. With finished tables at hand a single slice can be solved for its distances.

use std::ops::Range;

use arrayvec::ArrayVec;

use super::file::OutcomeFile;
use super::layout::{Layout, MOST_PIECES, NAMES, Placement, Squares, occupied};
use crate::engine::Wdl;
use crate::rules::{
    Bitboard, Color, Piece, Position, Role, Square, king_attacks, pawn_attacks, role_attacks,
};

/// Plies without a capture or a pawn move that are a draw.
const FIFTY_MOVES: u32 = 100;
/// The rank of a pawn's first and of its last square, as White sees them.
const FIRST_RANK: u8 = 1;
const LAST_RANK: u8 = 6;

/// What is known of a position, one byte each. The low bits are one of these values ...
const UNUSED: u8 = 0;
/// Neither won nor lost: drawn once the slice is solved.
const OPEN: u8 = 1;
const WIN: u8 = 2;
const LOSS: u8 = 3;
const CURSED_WIN: u8 = 4;
const BLESSED_LOSS: u8 = 5;
const VALUE: u8 = 7;
/// ... the others are facts. The side to move can explode the king.
const EXPLODES: u8 = 1 << 3;
/// It has a legal capture, which leaves bare kings.
const CAPTURES: u8 = 1 << 4;
/// A capture, a pawn move or stalemate draws, at least.
const HOLDS: u8 = 1 << 5;
/// The best capture or pawn move is a cursed win.
const ZEROES_TO_CURSED_WIN: u8 = 1 << 6;
/// The best capture or pawn move is a blessed loss.
const ZEROES_TO_BLESSED_LOSS: u8 = 1 << 7;

/// A solved table.
#[derive(Debug)]
pub(super) struct Solved {
    pub(super) layout: Layout,
    /// White to move, then Black.
    states: [Vec<u8>; 2],
}

impl Solved {
    /// The value of a number; `None` if it stands for no legal position or for another number.
    pub(super) fn wdl(&self, turn: Color, index: usize) -> Option<Wdl> {
        wdl(self.states[turn.index()][index])
    }

    /// Whether the side to move can explode the enemy king: then no table needs to know.
    pub(super) fn explodes(&self, turn: Color, index: usize) -> bool {
        self.states[turn.index()][index] & EXPLODES != 0
    }

    /// Whether the side to move has a legal capture, which draws at least.
    pub(super) fn captures(&self, turn: Color, index: usize) -> bool {
        self.states[turn.index()][index] & CAPTURES != 0
    }
}

fn wdl(state: u8) -> Option<Wdl> {
    Some(match state & VALUE {
        OPEN => Wdl::Draw,
        WIN => Wdl::Win,
        LOSS => Wdl::Loss,
        CURSED_WIN => Wdl::CursedWin,
        BLESSED_LOSS => Wdl::BlessedLoss,
        _ => return None,
    })
}

/// A position of the table in the making.
#[derive(Clone, Copy, Debug)]
struct Node {
    turn: Color,
    squares: Squares,
}

/// The positions found in one round, as places with the side to move in the top bit.
type Frontier = Vec<u32>;
const BLACK_TO_MOVE: u32 = 1 << 31;

/// Solves one table after another, in the order of [`NAMES`], with the tables that it leads to at hand.
#[derive(Debug, Default)]
pub(super) struct Generator {
    solved: Vec<Option<Solved>>,
}

impl Generator {
    /// Solves the next table and hands it to `receive`; false after the last one.
    pub(super) fn next(&mut self, mut receive: impl FnMut(&Solved)) -> bool {
        let Some(name) = NAMES.get(self.solved.len()) else {
            return false;
        };
        let layout = Layout::new(name);
        // One piece on each side leads to no table of two against a king.
        if *name == "KQvKQ" {
            self.solved.iter_mut().for_each(|solved| *solved = None);
        }
        let mut solver = Solver::new(layout, Known::Solved(&self.solved), None);
        for slice in slices(&solver.layout) {
            solver.mark_legal(&slice);
            solver.solve_slice(&slice);
        }
        let table = Solved {
            states: solver.states,
            layout: solver.layout,
        };
        receive(&table);
        self.solved.push(Some(table));
        true
    }
}

/// The distances of one slice of a table: plies to the next capture, pawn move or mate.
#[derive(Debug)]
pub(super) struct SliceDistances {
    start: usize,
    /// White to move, then Black.
    plies: [Vec<u8>; 2],
}

impl SliceDistances {
    /// Solves the slice of a number, with the results of a file for what it leads to.
    pub(super) fn solve(layout: Layout, index: usize, file: &OutcomeFile) -> SliceDistances {
        let start = layout.slice_start(index);
        let slice = start..start + layout.slice_size();
        let mut solver = Solver::new(layout, Known::File(file), Some(slice.clone()));
        solver.mark_legal(&slice);
        solver.solve_slice(&slice);
        SliceDistances {
            start,
            plies: solver.distances.unwrap_or_default(),
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.plies.iter().map(Vec::len).sum()
    }

    /// The distance of a won or lost position; `None` for a number of another slice.
    pub(super) fn plies(&self, turn: Color, index: usize) -> Option<u8> {
        let at = index.checked_sub(self.start)?;
        self.plies[turn.index()].get(at).copied()
    }
}

/// What is known of the positions that leave a slice.
enum Known<'a> {
    /// The solved tables, and the slices before in the table itself.
    Solved(&'a [Option<Solved>]),
    /// All results.
    File(&'a OutcomeFile),
}

/// One table in the making, or one slice of it.
struct Solver<'a> {
    layout: Layout,
    pieces: ArrayVec<Piece, MOST_PIECES>,
    /// The number of the first state.
    start: usize,
    states: [Vec<u8>; 2],
    /// Plies of the won and lost positions, if they are wanted.
    distances: Option<[Vec<u8>; 2]>,
    known: Known<'a>,
}

impl<'a> Solver<'a> {
    /// Of a whole table, or of one slice with its distances.
    fn new(layout: Layout, known: Known<'a>, slice: Option<Range<usize>>) -> Solver<'a> {
        let bytes = |size: usize| [vec![UNUSED; size], vec![UNUSED; size]];
        let range = slice.clone().unwrap_or(0..layout.size());
        Solver {
            pieces: layout.pieces().iter().copied().collect(),
            layout,
            start: range.start,
            states: bytes(range.len()),
            distances: slice.map(|slice| bytes(slice.len())),
            known,
        }
    }

    fn squares(&self, index: usize) -> Squares {
        self.layout.squares(index)
    }

    fn placed<'s>(&self, squares: &'s Squares) -> &'s [Square] {
        &squares[..self.pieces.len()]
    }

    fn state(&self, node: Node) -> u8 {
        self.states[node.turn.index()][self.place(node)]
    }

    /// The place of a node of the slices at hand.
    fn place(&self, node: Node) -> usize {
        self.layout.index(node.squares) - self.start
    }

    /// Sets the value of a position that is won or lost in so many plies.
    fn settle(&mut self, turn: Color, place: usize, value: u8, plies: u32) {
        let state = &mut self.states[turn.index()][place];
        *state = *state & !VALUE | value;
        if let Some(distances) = &mut self.distances {
            distances[turn.index()][place] = plies.min(u32::from(u8::MAX)) as u8;
        }
    }

    /// Opens the legal positions of a slice.
    fn mark_legal(&mut self, slice: &Range<usize>) {
        for index in slice.clone() {
            let squares = self.squares(index);
            let placed = self.placed(&squares);
            let is_legal = occupied(placed).count() == placed.len()
                && self.layout.index(squares) == index
                && self.pieces.iter().zip(placed).all(|(piece, square)| {
                    piece.role != Role::Pawn || !Bitboard::BACK_RANKS.contains(*square)
                });
            if !is_legal {
                continue;
            }
            for turn in Color::ALL {
                if !self.is_attacked(squares, !turn) {
                    self.states[turn.index()][index - self.start] = OPEN;
                }
            }
        }
    }

    /// Whether a king is directly attacked and the kings do not touch.
    fn is_attacked(&self, squares: Squares, victim: Color) -> bool {
        let king = squares[victim.index()];
        if king_attacks(king).contains(squares[(!victim).index()]) {
            return false;
        }
        let placed = self.placed(&squares);
        let occupied = occupied(placed);
        let mut attackers = self.pieces.iter().zip(placed).skip(2);
        attackers.any(|(piece, &square)| {
            piece.color != victim
                && role_attacks(piece.role, piece.color, square, occupied).contains(king)
        })
    }

    fn solve_slice(&mut self, slice: &Range<usize>) {
        // Of this round: won and lost positions that no quiet move has to prove.
        let (mut won, mut lost) = (Frontier::new(), Frontier::new());
        let mut mated = Frontier::new();
        let mut has_cursed = false;
        let places = slice.start - self.start..slice.end - self.start;
        for place in places.clone() {
            for turn in Color::ALL {
                if self.states[turn.index()][place] == UNUSED {
                    continue;
                }
                let node = self.node(entry(turn, place));
                let FirstState { state, is_mate } = self.first_state(node);
                self.states[turn.index()][place] = state;
                has_cursed |= state & (ZEROES_TO_CURSED_WIN | ZEROES_TO_BLESSED_LOSS) != 0;
                let (frontier, value, plies) = match (state & VALUE, is_mate) {
                    (WIN, _) => (&mut won, WIN, 1),
                    (LOSS, true) => (&mut mated, LOSS, 0),
                    (LOSS, false) => (&mut lost, LOSS, 1),
                    _ => continue,
                };
                frontier.push(entry(turn, place));
                self.settle(turn, place, value, plies);
            }
        }
        self.walk_back(Rounds {
            places,
            has_cursed,
            before: (Frontier::new(), mated),
            first: (won, lost),
        });
    }

    fn walk_back(&mut self, rounds: Rounds) {
        let Rounds {
            places,
            mut has_cursed,
            before: (mut won, mut lost),
            first,
        } = rounds;
        let mut extra = Some(first);
        let (mut win_value, mut loss_value) = (WIN, LOSS);
        // Cursed results begin beyond the fifty moves, however few rounds the others took.
        let mut plies_ahead = 0;
        for round in 1.. {
            let is_over = won.is_empty() && lost.is_empty() && extra.is_none();
            let mut waiting = Frontier::new();
            if win_value == WIN && (round > FIFTY_MOVES || (is_over && has_cursed)) {
                (win_value, loss_value) = (CURSED_WIN, BLESSED_LOSS);
                plies_ahead = (FIFTY_MOVES + 1).saturating_sub(round);
                if std::mem::take(&mut has_cursed) {
                    let late;
                    (late, waiting) = self.cursed(places.clone(), round + plies_ahead);
                    extra = Some((late, Frontier::new()));
                }
            } else if is_over {
                break;
            }
            let plies = round + plies_ahead;
            let mut now_lost = self.newly_lost(&won, loss_value, plies);
            now_lost.extend(self.settle_lost(&waiting, loss_value, plies));
            let mut now_won = self.newly_won(&lost, win_value, plies);
            if let Some((more_won, more_lost)) = extra.take() {
                now_won.extend(more_won);
                now_lost.extend(more_lost);
            }
            (won, lost) = (now_won, now_lost);
        }
    }

    /// The open positions whose best capture or pawn move is a cursed win, which they are now, and
    /// those where it is a blessed loss.
    fn cursed(&mut self, places: Range<usize>, plies: u32) -> (Frontier, Frontier) {
        let (mut won, mut waiting) = (Frontier::new(), Frontier::new());
        for place in places {
            for turn in Color::ALL {
                let state = self.states[turn.index()][place];
                if state & VALUE != OPEN {
                    continue;
                }
                if state & ZEROES_TO_CURSED_WIN != 0 {
                    self.settle(turn, place, CURSED_WIN, plies);
                    won.push(entry(turn, place));
                } else if state & ZEROES_TO_BLESSED_LOSS != 0 {
                    waiting.push(entry(turn, place));
                }
            }
        }
        (won, waiting)
    }

    /// Marks the open positions with a quiet move to a lost one.
    fn newly_won(&mut self, lost: &Frontier, win: u8, plies: u32) -> Frontier {
        let mut found = Frontier::new();
        for &at in lost {
            let node = self.node(at);
            self.for_each_unmove(node, |solver, turn, place| {
                if solver.states[turn.index()][place] & VALUE == OPEN {
                    solver.settle(turn, place, win, plies);
                    found.push(entry(turn, place));
                }
            });
        }
        found
    }

    /// Marks the open positions with a quiet move to a won one that have no better move.
    fn newly_lost(&mut self, won: &Frontier, loss: u8, plies: u32) -> Frontier {
        let mut candidates = Frontier::new();
        for &at in won {
            let node = self.node(at);
            self.for_each_unmove(node, |solver, turn, place| {
                let state = solver.states[turn.index()][place];
                if state & VALUE == OPEN && state & (HOLDS | ZEROES_TO_CURSED_WIN) == 0 {
                    candidates.push(entry(turn, place));
                }
            });
        }
        candidates.sort_unstable();
        candidates.dedup();
        self.settle_lost(&candidates, loss, plies)
    }

    fn settle_lost(&mut self, candidates: &Frontier, loss: u8, plies: u32) -> Frontier {
        let mut found = Frontier::new();
        for &at in candidates {
            let node = self.node(at);
            let (turn, place) = split(at);
            let is_blessed = self.states[turn.index()][place] & ZEROES_TO_BLESSED_LOSS != 0;
            if (!is_blessed || loss == BLESSED_LOSS) && self.all_quiet_moves_lose(node) {
                self.settle(turn, place, loss, plies);
                found.push(at);
            }
        }
        found
    }

    fn node(&self, at: u32) -> Node {
        let (turn, place) = split(at);
        Node {
            turn,
            squares: self.squares(self.start + place),
        }
    }

    /// Calls for the places of all positions with a quiet move, not a pawn's, to this one.
    fn for_each_unmove(&mut self, node: Node, mut call: impl FnMut(&mut Self, Color, usize)) {
        let mover = !node.turn;
        let occupied = occupied(self.placed(&node.squares));
        for (at, piece) in self.pieces.clone().into_iter().enumerate() {
            if piece.color != mover || piece.role == Role::Pawn {
                continue;
            }
            let origins = role_attacks(piece.role, mover, node.squares[at], occupied) - occupied;
            for origin in origins {
                let mut before = Node {
                    turn: mover,
                    ..node
                };
                before.squares[at] = origin;
                let place = self.place(before);
                call(self, mover, place);
            }
        }
    }

    /// Whether every quiet move but a pawn's leads to a position that the opponent wins; true without
    /// such moves.
    fn all_quiet_moves_lose(&self, node: Node) -> bool {
        self.quiet_children(node, |state| {
            matches!(state & VALUE, UNUSED | WIN | CURSED_WIN)
        })
    }

    /// Whether `holds` for the state of every child by a quiet move of a piece; illegal ones are unused.
    fn quiet_children(&self, node: Node, holds: impl Fn(u8) -> bool) -> bool {
        let occupied = occupied(self.placed(&node.squares));
        let mut child = Node {
            turn: !node.turn,
            ..node
        };
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.color != node.turn || piece.role == Role::Pawn {
                continue;
            }
            let targets =
                role_attacks(piece.role, node.turn, node.squares[at], occupied) - occupied;
            for target in targets {
                child.squares[at] = target;
                if !holds(self.state(child)) {
                    return false;
                }
            }
            child.squares[at] = node.squares[at];
        }
        true
    }

    /// What captures, pawn moves and the lack of moves say of a position.
    fn first_state(&self, node: Node) -> FirstState {
        if self.layout.is_dead(node.squares) {
            return FirstState::of(OPEN | HOLDS);
        }
        let mut best = None;
        let mut facts = 0;
        match self.capture(node) {
            Some(Wdl::Win) => return FirstState::of(WIN | EXPLODES | CAPTURES),
            Some(value) => {
                facts |= CAPTURES;
                best = Some(value);
            }
            None => {}
        }
        best = best.max(self.best_pawn_move(node));
        let has_quiet = !self.quiet_children(node, |state| state & VALUE == UNUSED);
        let state = match best {
            None | Some(Wdl::Loss) if has_quiet => OPEN,
            None if self.is_attacked(node.squares, node.turn) => {
                return FirstState {
                    state: LOSS,
                    is_mate: true,
                };
            }
            None | Some(Wdl::Draw) => OPEN | HOLDS,
            Some(Wdl::Win) => WIN,
            Some(Wdl::CursedWin) => OPEN | ZEROES_TO_CURSED_WIN,
            Some(Wdl::BlessedLoss) => OPEN | ZEROES_TO_BLESSED_LOSS,
            Some(Wdl::Loss) => LOSS,
        };
        FirstState::of(state | facts)
    }

    /// The best capture: it explodes the king, or leaves bare kings.
    fn capture(&self, node: Node) -> Option<Wdl> {
        let Node { turn, squares } = node;
        let occupied = occupied(self.placed(&squares));
        let mut best = None;
        for (at, piece) in self.pieces.iter().enumerate().skip(2) {
            if piece.color != turn {
                continue;
            }
            let attacked = role_attacks(piece.role, turn, squares[at], occupied);
            for (prey, other) in self.pieces.iter().enumerate().skip(2) {
                if other.color != turn && attacked.contains(squares[prey]) {
                    best = best.max(blast(node, squares[prey]));
                }
            }
        }
        best
    }

    /// The best of the legal pawn moves that capture nothing.
    fn best_pawn_move(&self, node: Node) -> Option<Wdl> {
        let occupied = occupied(self.placed(&node.squares));
        let mut best = None;
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.color != node.turn || piece.role != Role::Pawn {
                continue;
            }
            let from = node.squares[at];
            let to = ahead(piece.color, from);
            if occupied.contains(to) {
                continue;
            }
            match relative_rank(piece.color, from) {
                LAST_RANK => best = best.max(self.best_promotion(node, at, to)),
                rank => {
                    best = best.max(self.after_push(node, at, to, None));
                    let two = ahead(piece.color, to);
                    if rank == FIRST_RANK && !occupied.contains(two) {
                        best = best.max(self.after_push(node, at, two, Some(to)));
                    }
                }
            }
        }
        best
    }

    /// The value of a pawn move to `to`, over the square `passed` if it is a double step; none if it is
    /// illegal.
    fn after_push(&self, node: Node, at: usize, to: Square, passed: Option<Square>) -> Option<Wdl> {
        let mut child = Node {
            turn: !node.turn,
            ..node
        };
        child.squares[at] = to;
        let mut theirs = match &self.known {
            Known::Solved(_) => wdl(self.state(child))?,
            Known::File(file) => in_file(file, child, &self.others_on(child.squares))?,
        };
        if let Some(passed) = passed {
            let takers = pawn_attacks(node.turn, passed);
            let can_take = self
                .pieces
                .iter()
                .zip(&child.squares)
                .any(|(piece, &from)| {
                    piece.color == child.turn && piece.role == Role::Pawn && takers.contains(from)
                });
            if let Some(taken) = blast(child, passed).filter(|_| can_take) {
                theirs = theirs.max(taken);
            }
        }
        Some(theirs.reversed())
    }

    fn best_promotion(&self, node: Node, at: usize, to: Square) -> Option<Wdl> {
        let mut squares = node.squares;
        squares[at] = to;
        let mut best = None;
        for role in Role::PROMOTIONS {
            let mut others = self.others_on(squares);
            others[at - 2].0.role = role;
            let turn = !node.turn;
            let value = match &self.known {
                Known::Solved(tables) => {
                    let placement = Placement::new([squares[0], squares[1]], &others, turn)?;
                    let solved = tables.get(placement.table)?.as_ref()?;
                    solved.wdl(placement.turn, solved.layout.index(placement.squares))
                }
                Known::File(file) => in_file(file, Node { turn, squares }, &others),
            };
            best = best.max(value.map(Wdl::reversed));
        }
        best
    }

    /// The pieces beside the kings with their squares.
    fn others_on(&self, squares: Squares) -> ArrayVec<(Piece, Square), 2> {
        let placed = self.pieces.iter().copied().zip(squares);
        placed.skip(2).collect()
    }
}

/// What a capture on a square brings; none if it explodes the own king.
fn blast(node: Node, target: Square) -> Option<Wdl> {
    let blast = king_attacks(target);
    if blast.contains(node.squares[node.turn.index()]) {
        None
    } else if blast.contains(node.squares[(!node.turn).index()]) {
        Some(Wdl::Win)
    } else {
        Some(Wdl::Draw)
    }
}

/// The result in a file of a position whose pieces may differ from the table's; `None` if it is
/// illegal.
fn in_file(file: &OutcomeFile, node: Node, others: &[(Piece, Square)]) -> Option<Wdl> {
    let kings = [node.squares[0], node.squares[1]];
    let mut pieces = ArrayVec::<(Piece, Square), 4>::new();
    for (color, king) in Color::ALL.into_iter().zip(kings) {
        let role = Role::King;
        pieces.push((Piece { color, role }, king));
    }
    pieces.extend(others.iter().copied());
    file.wdl(&Position::from_pieces(&pieces, node.turn).ok()?)
}

/// What [`Solver::first_state`] finds.
struct FirstState {
    state: u8,
    is_mate: bool,
}

impl FirstState {
    const fn of(state: u8) -> FirstState {
        FirstState {
            state,
            is_mate: false,
        }
    }
}

/// The start of the walk backwards.
struct Rounds {
    places: Range<usize>,
    /// Some captures or pawn moves lead to cursed results.
    has_cursed: bool,
    /// Won and lost positions of round 0, and those of round 1 that no quiet move has to prove.
    before: (Frontier, Frontier),
    first: (Frontier, Frontier),
}

#[inline]
fn entry(turn: Color, place: usize) -> u32 {
    let place = place as u32;
    if turn == Color::Black {
        place | BLACK_TO_MOVE
    } else {
        place
    }
}

#[inline]
fn split(entry: u32) -> (Color, usize) {
    let turn = if entry & BLACK_TO_MOVE != 0 {
        Color::Black
    } else {
        Color::White
    };
    (turn, (entry & !BLACK_TO_MOVE) as usize)
}

/// The square in front of a pawn.
fn ahead(color: Color, square: Square) -> Square {
    match color {
        Color::White => Square::masked(square.index() as u8 + 8),
        Color::Black => Square::masked((square.index() as u8).wrapping_sub(8)),
    }
}

fn relative_rank(color: Color, square: Square) -> u8 {
    match color {
        Color::White => square.rank(),
        Color::Black => 7 - square.rank(),
    }
}

/// The numbers of each slice of a table, those with the most advanced pawns first.
fn slices(layout: &Layout) -> Vec<Range<usize>> {
    let in_slice = layout.slice_size();
    let mut found: Vec<(u32, Range<usize>)> = (0..layout.size() / in_slice)
        .map(|slice| {
            let numbers = slice * in_slice..(slice + 1) * in_slice;
            let squares = layout.squares(numbers.start);
            let pawns = &layout.by_weight()[..layout.pawns()];
            let left =
                |&at: &usize| 7 - u32::from(relative_rank(layout.pieces()[at].color, squares[at]));
            (pawns.iter().map(left).sum(), numbers)
        })
        .collect();
    found.sort_by_key(|(left, _)| *left);
    found.into_iter().map(|(_, numbers)| numbers).collect()
}
