//! Move ordering: hash move, good captures, killer, quiets, bad captures.
//!
//! Each stage is generated only when reached; the best remaining move is selected each time. Of the
//! four promotions by one capture, which lead to the same position, only the queen is tried.

use arrayvec::ArrayVec;

use super::history::{Context, Histories};
use super::lmr::MoveClass;
use super::params;
use super::score::Value;
use super::see;
use super::tunables;
use crate::rules::{Move, MoveList, Position, QuietAttacks, Role, king_attacks};

/// A move from the picker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picked {
    pub(super) mv: Move,
    pub(super) class: MoveClass,
    /// The blast balance of a capture or promotion, in centipawns; 0 for quiet moves.
    pub(super) balance: Value,
    /// The history score.
    pub(super) history: i32,
    pub(super) is_killer: bool,
    /// Whether it threatens to explode the enemy king.
    pub(super) threatens: bool,
}

/// Most moves of a position.
const MOST_MOVES: usize = 256;

/// Moves still to be picked. The orders stand apart, so that the greatest is found without branches
/// that depend on them.
#[derive(Debug)]
struct Candidates {
    moves: ArrayVec<Picked, MOST_MOVES>,
    /// The order of each, and in the lowest byte how far it is from the end: of several with the
    /// same order the first is the greatest.
    keys: ArrayVec<i32, MOST_MOVES>,
    /// How many were taken.
    taken: usize,
}

impl Candidates {
    #[inline]
    fn new() -> Candidates {
        Candidates {
            moves: ArrayVec::new(),
            keys: ArrayVec::new(),
            taken: 0,
        }
    }

    fn clear(&mut self) {
        self.moves.clear();
        self.keys.clear();
        self.taken = 0;
    }

    /// Adds a move; of its order 24 bits count.
    #[inline]
    fn push(&mut self, candidate: Picked, order: i32) {
        debug_assert!(order.abs() < 1 << 23, "{order}");
        self.keys
            .push(key(order * MOST_MOVES as i32, self.moves.len()));
        self.moves.push(candidate);
    }

    /// Takes the best one out; the first one that is left moves to its place.
    #[inline]
    fn take_best(&mut self) -> Option<Picked> {
        let first = self.taken;
        let rest = self.keys.get(first..).filter(|rest| !rest.is_empty())?;
        let best = rest.iter().fold(i32::MIN, |most, &key| most.max(key));
        let place = MOST_MOVES - 1 - (best as usize % MOST_MOVES);
        self.keys[place] = key(self.keys[first], place);
        self.moves.swap(first, place);
        self.taken += 1;
        Some(self.moves[first])
    }
}

/// An order with the place of its move in the lowest byte.
#[inline]
const fn key(order: i32, place: usize) -> i32 {
    let last = MOST_MOVES as i32 - 1;
    (order & !last) | (last - place as i32)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    TableMove,
    GenerateNoisy,
    GoodNoisy,
    Killer,
    GenerateQuiet,
    Quiet,
    BadNoisy,
    Done,
}

/// What a picker hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickMode {
    All,
    /// Captures and promotions to a queen.
    Noisy,
}

/// Yields the legal moves of one position, likely best first.
#[derive(Debug)]
pub(super) struct MovePicker {
    stage: Stage,
    wanted: PickMode,
    table_move: Option<Move>,
    killer: Option<Move>,
    candidates: Candidates,
    bad: ArrayVec<Picked, 64>,
    next_bad: usize,
    skips_quiets: bool,
}

impl MovePicker {
    /// `table_move` and `killer` may be any moves: they are validated here.
    pub(super) fn new(
        position: &Position,
        wanted: PickMode,
        table_move: Option<Move>,
        killer: Option<Move>,
    ) -> MovePicker {
        let is_wanted = |mv: &Move| {
            position.is_legal(*mv) && (wanted == PickMode::All || is_noisy(position, *mv))
        };
        MovePicker {
            stage: Stage::TableMove,
            wanted,
            table_move: table_move.filter(is_wanted),
            killer: killer.filter(|mv| {
                Some(*mv) != table_move && !is_noisy(position, *mv) && position.is_legal(*mv)
            }),
            candidates: Candidates::new(),
            bad: ArrayVec::new(),
            next_bad: 0,
            skips_quiets: false,
        }
    }

    /// Skips quiet moves from now on.
    pub(super) fn skip_quiets(&mut self) {
        self.skips_quiets = true;
    }

    pub(super) fn next(
        &mut self,
        position: &Position,
        histories: &Histories,
        context: &Context,
    ) -> Option<Picked> {
        loop {
            match self.stage {
                Stage::TableMove => {
                    self.stage = Stage::GenerateNoisy;
                    if let Some(mv) = self.table_move {
                        return Some(picked_alone(position, histories, context, mv));
                    }
                }
                Stage::GenerateNoisy => {
                    self.generate_noisy(position, histories);
                    self.stage = Stage::GoodNoisy;
                }
                Stage::GoodNoisy => match self.candidates.take_best() {
                    Some(picked) if self.is_bad(&picked) => {
                        // More than 64 bad captures do not occur in practice; further ones are
                        // skipped.
                        let _ = self.bad.try_push(picked);
                    }
                    Some(picked) => return Some(picked),
                    None if self.wanted == PickMode::Noisy => self.stage = Stage::BadNoisy,
                    None => self.stage = Stage::Killer,
                },
                Stage::Killer => {
                    self.stage = Stage::GenerateQuiet;
                    if let Some(mv) = self.killer.filter(|_| !self.skips_quiets) {
                        let alone = picked_alone(position, histories, context, mv);
                        return Some(Picked {
                            is_killer: true,
                            ..alone
                        });
                    }
                }
                Stage::GenerateQuiet => {
                    if !self.skips_quiets {
                        self.generate_quiet(position, histories, context);
                    }
                    self.stage = Stage::Quiet;
                }
                Stage::Quiet => match self.candidates.take_best().filter(|_| !self.skips_quiets) {
                    Some(picked) => return Some(picked),
                    None => self.stage = Stage::BadNoisy,
                },
                Stage::BadNoisy => {
                    self.next_bad += 1;
                    if let Some(picked) = self.bad.get(self.next_bad - 1) {
                        return Some(*picked);
                    }
                    self.stage = Stage::Done;
                }
                Stage::Done => return None,
            }
        }
    }

    /// Whether a capture waits until the quiet moves are tried. Quiescence out of check goes by the balance alone: it
    /// ends at the first that loses.
    #[inline]
    fn is_bad(&self, picked: &Picked) -> bool {
        let record = match self.wanted {
            PickMode::All => picked.history / params::CAPTURE_HISTORY_PER_CP,
            PickMode::Noisy => 0,
        };
        picked.balance + record < tunables::good_capture()
    }

    // Inlined, its list would be part of the stack frame that every call of `next` sets up.
    #[inline(never)]
    fn generate_noisy(&mut self, position: &Position, histories: &Histories) {
        let mut list = MoveList::new();
        position.noisy_moves(&mut list);
        for &mv in &list {
            let is_double = mv.promotion().is_some_and(|role| role != Role::Queen);
            if is_double || Some(mv) == self.table_move {
                continue;
            }
            let picked = noisy(position, histories, mv);
            let order = picked.balance * tunables::blast_weight() + picked.history;
            self.candidates.push(picked, order);
        }
    }

    #[inline(never)]
    fn generate_quiet(&mut self, position: &Position, histories: &Histories, context: &Context) {
        let mut list = MoveList::new();
        position.quiet_moves(&mut list);
        self.candidates.clear();
        let Some(attacks) = QuietAttacks::of(position) else {
            return;
        };
        for &mv in &list {
            let Some(piece) = position.piece_at(mv.from()) else {
                continue;
            };
            if Some(mv) == self.table_move || Some(mv) == self.killer {
                continue;
            }
            let (role, history) = (piece.role, histories.quiet_of(piece, context, mv));
            let threatens = attacks.attacks_fuse(mv, role);
            let mut order = history + tactical_bonus(position, context, mv, role);
            if threatens {
                order += tunables::creates_threat_bonus();
            }
            if attacks.gives_check(mv, role) {
                order += tunables::check_bonus();
            }
            self.candidates.push(quiet(mv, history, threatens), order);
        }
    }
}

/// Whether a move captures or promotes to a queen.
#[inline]
pub(super) fn is_noisy(position: &Position, mv: Move) -> bool {
    position.is_capture(mv) || mv.promotion() == Some(Role::Queen)
}

fn picked_alone(position: &Position, histories: &Histories, context: &Context, mv: Move) -> Picked {
    if is_noisy(position, mv) {
        noisy(position, histories, mv)
    } else {
        let history = histories.quiet(position, context, mv);
        quiet(mv, history, position.attacks_fuse(mv))
    }
}

#[inline]
fn noisy(position: &Position, histories: &Histories, mv: Move) -> Picked {
    Picked {
        mv,
        class: MoveClass::Noisy,
        balance: see::exchange(position, mv),
        history: histories.capture(position, mv),
        is_killer: false,
        threatens: false,
    }
}

#[inline]
const fn quiet(mv: Move, history: i32, threatens: bool) -> Picked {
    Picked {
        mv,
        class: MoveClass::Quiet,
        balance: 0,
        history,
        is_killer: false,
        threatens,
    }
}

/// Bonuses and penalties of a quiet move for the squares that the opponent attacks.
#[inline]
fn tactical_bonus(position: &Position, context: &Context, mv: Move, role: Role) -> i32 {
    let (from, to) = (mv.from(), mv.to());
    let attacked = context.attacked;
    let mut bonus = 0;
    if role != Role::Pawn && role != Role::King {
        bonus += tunables::escape_bonus() * i32::from(attacked.contains(from));
        bonus -= tunables::exposed_penalty() * i32::from(attacked.contains(to));
    }
    let is_beside_king = |color| {
        position
            .king(color)
            .is_some_and(|k| king_attacks(k).contains(to))
    };
    if attacked.contains(to) && is_beside_king(position.turn()) && !is_beside_king(!position.turn())
    {
        bonus -= tunables::exposed_penalty();
    }
    bonus
}
