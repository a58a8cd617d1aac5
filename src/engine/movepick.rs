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
    /// For captures the blast balance, for quiet moves the history score.
    pub(super) worth: Value,
    pub(super) is_killer: bool,
    /// Whether it threatens to explode the enemy king.
    pub(super) threatens: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    mv: Move,
    order: i32,
    worth: Value,
    threatens: bool,
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
    candidates: ArrayVec<Candidate, 256>,
    next: usize,
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
            candidates: ArrayVec::new(),
            next: 0,
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
                Stage::GoodNoisy => match self.take_best() {
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
                Stage::Quiet => match self.take_best().filter(|_| !self.skips_quiets) {
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

    fn generate_noisy(&mut self, position: &Position, histories: &Histories) {
        let mut list = MoveList::new();
        position.noisy_moves(&mut list);
        for mv in list {
            let is_double = mv.promotion().is_some_and(|role| role != Role::Queen);
            if is_double || Some(mv) == self.table_move {
                continue;
            }
            let worth = see::exchange(position, mv);
            let order = worth * tunables::blast_weight() + histories.capture(position, mv);
            self.candidates.push(Candidate {
                mv,
                order,
                worth,
                threatens: false,
            });
        }
    }

    fn generate_quiet(&mut self, position: &Position, histories: &Histories, context: &Context) {
        let mut list = MoveList::new();
        position.quiet_moves(&mut list);
        self.candidates.clear();
        self.next = 0;
        let Some(attacks) = QuietAttacks::of(position) else {
            return;
        };
        for mv in list {
            let Some(role) = position.role_at(mv.from()) else {
                continue;
            };
            if Some(mv) == self.table_move || Some(mv) == self.killer {
                continue;
            }
            let worth = histories.quiet(position, context, mv);
            let threatens = attacks.attacks_fuse(mv, role);
            let mut order = worth + tactical_bonus(position, context, mv, role);
            if threatens {
                order += tunables::creates_threat_bonus();
            }
            if attacks.gives_check(mv, role) {
                order += tunables::check_bonus();
            }
            self.candidates.push(Candidate {
                mv,
                order,
                worth,
                threatens,
            });
        }
    }

    /// The best remaining candidate, moved to the front.
    #[inline]
    fn take_best(&mut self) -> Option<Candidate> {
        let rest = self.candidates.get_mut(self.next..)?;
        // In two passes: the first compiles without branches that depend on the order.
        let most = rest.iter().map(|candidate| candidate.order).max()?;
        let best = rest.iter().position(|candidate| candidate.order == most)?;
        rest.swap(0, best);
        self.next += 1;
        Some(self.candidates[self.next - 1])
    }
}

impl Candidate {
    #[inline]
    fn picked(self, class: MoveClass) -> Picked {
        let Candidate {
            mv,
            worth,
            threatens,
            ..
        } = self;
        Picked {
            mv,
            class,
            worth,
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
    if is_noisy(position, mv) {
        let worth = see::exchange(position, mv);
        return Picked {
            mv,
            class: MoveClass::Noisy,
            worth,
            is_killer: false,
            threatens: false,
        };
    }
    let worth = histories.quiet(position, context, mv);
    let threatens = position.attacks_fuse(mv);
    Picked {
        mv,
        class: MoveClass::Quiet,
        worth,
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
