//! Move ordering: hash move, good captures, killer, quiets, bad captures.
//!
//! Each stage is generated only when reached; the best remaining move is selected each time. Of the
//! four promotions by one capture, which lead to the same position, only the queen is tried.

use arrayvec::ArrayVec;

use super::history::{Context, Histories};
use super::lmr::MoveClass;
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
    /// The history score of a quiet move; 0 for others.
    pub(super) history: i32,
    pub(super) is_killer: bool,
    /// Whether it threatens to explode the enemy king.
    pub(super) threatens: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    mv: Move,
    /// The blast balance of a noisy move, the history score of a quiet one.
    worth: i32,
    threatens: bool,
}

/// Most moves of a position.
const MOST_MOVES: usize = 256;

/// Moves still to be picked. The orders stand apart, so that the greatest is found without branches
/// that depend on them.
#[derive(Debug)]
struct Candidates {
    moves: ArrayVec<Candidate, MOST_MOVES>,
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
    fn push(&mut self, candidate: Candidate, order: i32) {
        debug_assert!(order.abs() < 1 << 23, "{order}");
        self.keys
            .push(key(order * MOST_MOVES as i32, self.moves.len()));
        self.moves.push(candidate);
    }

    /// Takes the best one out; the first one that is left moves to its place.
    #[inline]
    fn take_best(&mut self) -> Option<Candidate> {
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
    bad: ArrayVec<Candidate, 64>,
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
                    Some(candidate) if candidate.worth < tunables::good_capture() => {
                        // More than 64 bad captures do not occur in practice; further ones are
                        // skipped.
                        let _ = self.bad.try_push(candidate);
                    }
                    Some(candidate) => return Some(candidate.picked(MoveClass::Noisy)),
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
                    Some(candidate) => return Some(candidate.picked(MoveClass::Quiet)),
                    None => self.stage = Stage::BadNoisy,
                },
                Stage::BadNoisy => {
                    let bad = self.bad.get(self.next_bad).copied();
                    self.next_bad += 1;
                    match bad {
                        Some(candidate) => return Some(candidate.picked(MoveClass::Noisy)),
                        None => self.stage = Stage::Done,
                    }
                }
                Stage::Done => return None,
            }
        }
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
            let worth = see::exchange(position, mv);
            let order = worth * tunables::blast_weight() + histories.capture(position, mv);
            let candidate = Candidate {
                mv,
                worth,
                threatens: false,
            };
            self.candidates.push(candidate, order);
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
            let (role, worth) = (piece.role, histories.quiet_of(piece, context, mv));
            let threatens = attacks.attacks_fuse(mv, role);
            let mut order = worth + tactical_bonus(position, context, mv, role);
            if threatens {
                order += tunables::creates_threat_bonus();
            }
            if attacks.gives_check(mv, role) {
                order += tunables::check_bonus();
            }
            let candidate = Candidate {
                mv,
                worth,
                threatens,
            };
            self.candidates.push(candidate, order);
        }
    }
}

impl Candidate {
    #[inline]
    fn picked(self, class: MoveClass) -> Picked {
        let Candidate {
            mv,
            worth,
            threatens,
        } = self;
        let (balance, history) = match class {
            MoveClass::Noisy => (worth, 0),
            MoveClass::Quiet => (0, worth),
        };
        Picked {
            mv,
            class,
            balance,
            history,
            is_killer: false,
            threatens,
        }
    }
}

/// Whether a move captures or promotes to a queen.
#[inline]
pub(super) fn is_noisy(position: &Position, mv: Move) -> bool {
    position.is_capture(mv) || mv.promotion() == Some(Role::Queen)
}

fn picked_alone(position: &Position, histories: &Histories, context: &Context, mv: Move) -> Picked {
    let (class, worth, threatens) = if is_noisy(position, mv) {
        (MoveClass::Noisy, see::exchange(position, mv), false)
    } else {
        let history = histories.quiet(position, context, mv);
        (MoveClass::Quiet, history, position.attacks_fuse(mv))
    };
    let candidate = Candidate {
        mv,
        worth,
        threatens,
    };
    candidate.picked(class)
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
