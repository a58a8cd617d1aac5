//! What the quiet moves of a position attack: the enemy king, or a piece whose capture wins.
//!
//! The squares from which each role attacks are computed once per position, so that a move costs a
//! few instructions. The answers are exactly those of [`Position::gives_check`] and
//! [`Position::attacks_fuse`]; captures and promotions to a queen are none of its business.

use super::{
    Bitboard, Color, Move, Position, Role, Square, between, bishop_attacks, king_attacks,
    knight_attacks, line, pawn_attacks, rook_attacks,
};

/// The quiet moves of the side to move that give check or attack a fuse.
#[derive(Debug)]
pub struct QuietAttacks<'a> {
    position: &'a Position,
    enemy_king: Square,
    kings_touch: bool,
    /// For each role the squares from which it attacks the enemy king; none while the kings touch.
    checks: [Bitboard; 6],
    /// For each role the squares from which it attacks a fuse.
    threats: [Bitboard; 6],
    /// Our pieces that alone stand between one of our sliders and the enemy king; none while the
    /// kings touch.
    discoverers: Bitboard,
}

impl<'a> QuietAttacks<'a> {
    /// Those of a position; `None` if a king is missing, when there are no moves.
    #[inline]
    pub fn of(position: &'a Position) -> Option<QuietAttacks<'a>> {
        let us = position.turn();
        let (_, enemy_king) = (position.king(us)?, position.king(!us)?);
        let kings_touch = position.kings_touch();
        let fuses = position.fuses(us);
        let (checks, discoverers) = if kings_touch {
            ([Bitboard::EMPTY; 6], Bitboard::EMPTY)
        } else {
            (
                attack_squares(position, us, enemy_king.into()),
                discoverers(position, enemy_king),
            )
        };
        Some(QuietAttacks {
            position,
            enemy_king,
            kings_touch,
            checks,
            threats: attack_squares(position, us, fuses),
            discoverers,
        })
    }

    /// Whether a quiet move of a piece of this role gives check.
    #[inline]
    pub fn gives_check(&self, mv: Move, role: Role) -> bool {
        let is_king = role == Role::King;
        let gives_check = if mv.is_special() || (is_king && self.kings_touch) {
            self.position.gives_check(mv)
        } else {
            // A king that steps beside the enemy king ends every check.
            (self.discovers(mv) && !(is_king && king_attacks(self.enemy_king).contains(mv.to())))
                || self.checks[role.index()].contains(mv.to())
        };
        debug_assert_eq!(gives_check, self.position.gives_check(mv));
        gives_check
    }

    /// Whether a quiet move of a piece of this role attacks a fuse.
    #[inline]
    pub fn attacks_fuse(&self, mv: Move, role: Role) -> bool {
        let squares = self.threats[role.index()];
        let attacks_fuse = if mv.is_special() || squares.contains(mv.from()) {
            // A slider that attacks a fuse already may step back on its line.
            self.position.attacks_fuse(mv)
        } else {
            squares.contains(mv.to())
        };
        debug_assert_eq!(attacks_fuse, self.position.attacks_fuse(mv));
        attacks_fuse
    }

    /// Whether the move opens the line of a slider to the enemy king.
    #[inline]
    fn discovers(&self, mv: Move) -> bool {
        self.discoverers.contains(mv.from()) && !line(self.enemy_king, mv.from()).contains(mv.to())
    }
}

/// For each role but the king the squares from which a piece of `color` attacks one of `targets`.
#[inline]
fn attack_squares(position: &Position, color: Color, targets: Bitboard) -> [Bitboard; 6] {
    let occupied = position.occupied();
    let mut pawns = Bitboard::EMPTY;
    let mut knights = Bitboard::EMPTY;
    let mut diagonal = Bitboard::EMPTY;
    let mut straight = Bitboard::EMPTY;
    for target in targets {
        pawns |= pawn_attacks(!color, target);
        knights |= knight_attacks(target);
        diagonal |= bishop_attacks(target, occupied);
        straight |= rook_attacks(target, occupied);
    }
    let none = Bitboard::EMPTY;
    [
        pawns,
        knights,
        diagonal,
        straight,
        diagonal | straight,
        none,
    ]
}

/// Our pieces that alone stand between one of our sliders and the enemy king.
#[inline]
fn discoverers(position: &Position, enemy_king: Square) -> Bitboard {
    let (us, occupied) = (position.us(), position.occupied());
    let mut discoverers = Bitboard::EMPTY;
    for slider in position.sliders_aligned_with(enemy_king) & us {
        let blockers = between(enemy_king, slider) & occupied;
        if !blockers.more_than_one() {
            discoverers |= blockers & us;
        }
    }
    discoverers
}
