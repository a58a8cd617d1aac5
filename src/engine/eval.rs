//! The classical evaluation: material, piece squares, mobility, pawns, kings and blasts.
//!
//! Small and linear in its terms. It evaluates quiet positions with both kings on the board; the
//! search resolves captures. Weights are untuned start values in centipawns, middlegame and
//! endgame, unless stated otherwise.

use std::ops::{AddAssign, Mul, Sub};

use super::score::Value;
use super::see;
use crate::rules::{
    Bitboard, Color, Position, Role, Square, bishop_attacks, king_attacks, knight_attacks,
    queen_attacks, rook_attacks,
};

/// A weight for the middlegame and one for the endgame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tapered(i32, i32);

impl AddAssign for Tapered {
    #[inline]
    fn add_assign(&mut self, other: Tapered) {
        *self = Tapered(self.0 + other.0, self.1 + other.1);
    }
}

impl Sub for Tapered {
    type Output = Tapered;
    #[inline]
    fn sub(self, other: Tapered) -> Tapered {
        Tapered(self.0 - other.0, self.1 - other.1)
    }
}

impl Mul<i32> for Tapered {
    type Output = Tapered;
    #[inline]
    fn mul(self, factor: i32) -> Tapered {
        Tapered(self.0 * factor, self.1 * factor)
    }
}

const MATERIAL: [Tapered; 6] = [
    Tapered(100, 150),
    Tapered(185, 285),
    Tapered(235, 310),
    Tapered(335, 450),
    Tapered(610, 820),
    Tapered(0, 0),
];
/// A piece's contribution to the game phase, by role.
const PHASE: [i32; 6] = [0, 1, 1, 2, 4, 0];
const PHASE_MOST: i32 = 24;
/// Per rank a piece has advanced: pieces in front defend themselves by their blast.
const ADVANCE: [Tapered; 6] = [
    Tapered(7, 12),
    Tapered(11, 4),
    Tapered(8, 3),
    Tapered(7, 3),
    Tapered(9, 5),
    Tapered(-22, 6),
];
/// Per step nearer to the middle files and ranks.
const CENTRE: [Tapered; 6] = [
    Tapered(3, 0),
    Tapered(5, 4),
    Tapered(3, 3),
    Tapered(2, 1),
    Tapered(2, 4),
    Tapered(-9, 7),
];
/// Per square attacked beyond the usual number.
const MOBILITY: [Tapered; 6] = [
    Tapered(0, 0),
    Tapered(5, 5),
    Tapered(5, 6),
    Tapered(4, 7),
    Tapered(3, 8),
    Tapered(0, 0),
];
const USUAL_MOBILITY: [i32; 6] = [0, 4, 5, 6, 10, 0];
/// A passed pawn by its rank from its own side.
const PASSED: [Tapered; 8] = [
    Tapered(0, 0),
    Tapered(5, 15),
    Tapered(8, 22),
    Tapered(20, 45),
    Tapered(45, 85),
    Tapered(80, 150),
    Tapered(130, 240),
    Tapered(0, 0),
];
/// Each own piece beside the king that is not a pawn, and each pawn: capturing it explodes the
/// king.
const CONFINED_PIECE: Tapered = Tapered(-16, -6);
const CONFINED_PAWN: Tapered = Tapered(-7, -2);
/// The opponent threatens to explode the king of the side to move; once, and for each further
/// target.
const EXPLOSION_THREAT: Tapered = Tapered(-90, -90);
const MORE_FUSES: Tapered = Tapered(-40, -40);
/// A target that an enemy slider reaches through one piece.
const VEILED_FUSE: Tapered = Tapered(-18, -8);
/// Weight of the best available blast of the side to move (and of the other side), in 1/256.
const BLAST_SHARE_TO_MOVE: i32 = 110;
const BLAST_SHARE_WAITING: i32 = 40;
/// The right to move.
const TEMPO: i32 = 22;
/// King danger is counted in points: for each attacked square of the king ring, divided by the
/// squares the king can flee to, and for each attacked target.
const DANGER_ATTACK: i32 = 20;
const DANGER_FUSE: i32 = 40;
/// Points become centipawns as `points * (100 + points) / DANGER_DIVISOR`, up to a limit.
const DANGER_DIVISOR: i32 = 260;
const DANGER_MOST: i32 = 260;

/// The squares that the pieces of a side attack, without the king, and its mobility term.
#[derive(Clone, Copy, Debug)]
struct Attacks {
    squares: Bitboard,
    mobility: Tapered,
}

#[inline]
fn attacks_by(position: &Position, color: Color) -> Attacks {
    let (pieces, occupied) = (position.by_color(color), position.occupied());
    let mut squares = position.pawn_attacks_by(color);
    let mut mobility = Tapered::default();
    let mut add = |role: Role, attacked: Bitboard| {
        let free = (attacked - pieces).count() as i32 - USUAL_MOBILITY[role.index()];
        mobility += MOBILITY[role.index()] * free;
        squares |= attacked;
    };
    for from in pieces & position.by_role(Role::Knight) {
        add(Role::Knight, knight_attacks(from));
    }
    for from in pieces & position.by_role(Role::Bishop) {
        add(Role::Bishop, bishop_attacks(from, occupied));
    }
    for from in pieces & position.by_role(Role::Rook) {
        add(Role::Rook, rook_attacks(from, occupied));
    }
    for from in pieces & position.by_role(Role::Queen) {
        add(Role::Queen, queen_attacks(from, occupied));
    }
    Attacks { squares, mobility }
}

/// The static value for the side to move. Both kings must be on the board.
pub(super) fn evaluate(position: &Position) -> Value {
    let attacks = &Color::ALL.map(|color| attacks_by(position, color));
    let (us, them) = (position.turn(), !position.turn());
    let mut total = side(position, attacks, us) - side(position, attacks, them);
    let threats = position.fuses(them) & attacks[them.index()].squares;
    if threats.any() {
        total += EXPLOSION_THREAT;
        total += MORE_FUSES * (threats.count() as i32 - 1);
    }
    let phase = phase(position);
    let blended = (total.0 * phase + total.1 * (PHASE_MOST - phase)) / PHASE_MOST;
    let blasts = best_blast(position, attacks, us) * BLAST_SHARE_TO_MOVE / 256
        - best_blast(position, attacks, them) * BLAST_SHARE_WAITING / 256;
    damped(position, blended + blasts + TEMPO)
}

fn phase(position: &Position) -> i32 {
    [Role::Knight, Role::Bishop, Role::Rook, Role::Queen]
        .iter()
        .map(|&role| position.by_role(role).count() as i32 * PHASE[role.index()])
        .sum::<i32>()
        .min(PHASE_MOST)
}

/// All terms of one side that do not depend on the side to move.
fn side(position: &Position, attacks: &[Attacks; 2], color: Color) -> Tapered {
    let mut total = attacks[color.index()].mobility;
    for role in Role::ALL {
        for square in position.by_piece(color, role) {
            total += SQUARES[role.index()][relative(square, color).index()];
        }
    }
    total += pawns(position, color);
    total += king(position, attacks, color);
    total
}

#[inline]
const fn relative(square: Square, color: Color) -> Square {
    match color {
        Color::White => square,
        Color::Black => square.flip_rank(),
    }
}

static SQUARES: [[Tapered; 64]; 6] = squares();

const fn squares() -> [[Tapered; 64]; 6] {
    let mut table = [[Tapered(0, 0); 64]; 6];
    let mut role = 0;
    while role < 6 {
        let mut square = 0;
        while square < 64 {
            let (rank, file) = (square as i32 / 8, square as i32 % 8);
            let from_centre = (2 * rank - 7).abs() / 2 + (2 * file - 7).abs() / 2;
            let (advance, centre) = (ADVANCE[role], CENTRE[role]);
            let (forward, inward) = (rank - 2, 3 - from_centre);
            table[role][square] = Tapered(
                MATERIAL[role].0 + forward * advance.0 + inward * centre.0,
                MATERIAL[role].1 + forward * advance.1 + inward * centre.1,
            );
            square += 1;
        }
        role += 1;
    }
    table
}

fn pawns(position: &Position, color: Color) -> Tapered {
    let enemies = position.by_piece(!color, Role::Pawn);
    let mut total = Tapered::default();
    for square in position.by_piece(color, Role::Pawn) {
        if !(enemies & FRONT[color.index()][square.index()]).any() {
            total += PASSED[relative(square, color).rank() as usize];
        }
    }
    total
}

/// The squares in front of a pawn on its own and the neighbouring files.
static FRONT: [[Bitboard; 64]; 2] = front();

const fn front() -> [[Bitboard; 64]; 2] {
    let mut table = [[Bitboard::EMPTY; 64]; 2];
    let mut square = 0;
    while square < 64 {
        let (rank, file) = (square / 8, square % 8);
        let mut files = Bitboard::file(file).0;
        if file > 0 {
            files |= Bitboard::file(file - 1).0;
        }
        if file < 7 {
            files |= Bitboard::file(file + 1).0;
        }
        let below = (1 << (8 * rank)) - 1;
        let above = !(below | Bitboard::rank(rank).0);
        table[0][square as usize] = Bitboard(files & above);
        table[1][square as usize] = Bitboard(files & below);
        square += 1;
    }
    table
}

/// King safety of a side: targets beside the king, attacks on its ring, flight squares.
fn king(position: &Position, attacks: &[Attacks; 2], color: Color) -> Tapered {
    let (Some(king), Some(enemy_king)) = (position.king(color), position.king(!color)) else {
        return Tapered::default();
    };
    let ring = king_attacks(king);
    if ring.contains(enemy_king) {
        return Tapered::default();
    }
    let enemy = attacks[(!color).index()].squares;
    let pawns = position.by_role(Role::Pawn);
    let fuses = position.fuses(!color);
    let mut total = CONFINED_PIECE * (fuses - pawns).count() as i32;
    total += CONFINED_PAWN * (fuses & pawns).count() as i32;
    total += VEILED_FUSE * veiled(position, fuses - enemy, !color);
    let exits = ring - position.occupied() - enemy;
    let attacked = ((ring | king) & enemy).count() as i32;
    let points = DANGER_ATTACK * attacked / (exits.count() as i32 + 1)
        + DANGER_FUSE * (fuses & enemy).count() as i32;
    let danger = (points * (100 + points) / DANGER_DIVISOR).min(DANGER_MOST);
    total += Tapered(-danger, 0);
    total
}

/// How many of the targets a slider of `attacker` reaches through exactly one piece.
fn veiled(position: &Position, fuses: Bitboard, attacker: Color) -> i32 {
    let occupied = position.occupied();
    let pieces = position.by_color(attacker);
    let queens = position.by_role(Role::Queen);
    let straight = pieces & (position.by_role(Role::Rook) | queens);
    let diagonal = pieces & (position.by_role(Role::Bishop) | queens);
    let through = |fuse: &Square| {
        let near = rook_attacks(*fuse, occupied) & occupied;
        let near_diagonal = bishop_attacks(*fuse, occupied) & occupied;
        (rook_attacks(*fuse, occupied - near) & straight).any()
            || (bishop_attacks(*fuse, occupied - near_diagonal) & diagonal).any()
    };
    fuses.into_iter().filter(through).count() as i32
}

/// The best balance of a blast available to a side, not counting the capturing piece; never
/// negative.
fn best_blast(position: &Position, attacks: &[Attacks; 2], color: Color) -> Value {
    let Some(own_king) = position.king(color) else {
        return 0;
    };
    let reach = attacks[color.index()].squares & position.by_color(!color);
    let targets = reach - king_attacks(own_king) - position.by_role(Role::King);
    targets
        .into_iter()
        .map(|target| see::blast_balance(position, target, color))
        .max()
        .map_or(0, |best| best.max(0))
}

/// Scaled towards a draw as the fifty-move count grows and where little material is left.
fn damped(position: &Position, value: Value) -> Value {
    let stronger = if value > 0 {
        position.turn()
    } else {
        !position.turn()
    };
    let winning_pieces = position.by_color(stronger) - position.by_role(Role::King);
    let mut value = value;
    if !winning_pieces.intersects(position.by_role(Role::Pawn) | position.by_role(Role::Queen)) {
        let pieces = winning_pieces.count();
        if pieces <= 1 {
            value /= 8;
        } else if position.kings_touch() {
            value /= 3;
        }
    } else if position.kings_touch() && position.occupied().count() <= 6 {
        value /= 2;
    }
    value * (220 - position.halfmove_clock().min(100) as Value) / 220
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(fen: &str) -> Value {
        let position = Position::from_fen(fen).unwrap();
        evaluate(&position)
    }

    #[test]
    fn the_evaluation_is_the_same_for_both_colours() {
        let pairs = [
            (
                "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1",
                "r2qkb1r/pp3ppp/4pn2/2p3B1/3p4/P2Q1PP1/1PP1P2P/RN2KB1R w KQkq - 0 1",
            ),
            (
                "8/2p1p3/3k4/3K1p1R/1P6/4P1r1/5P2/8 w - - 0 30",
                "8/5p2/4p1R1/1p6/3k1P1r/3K4/2P1P3/8 b - - 0 30",
            ),
        ];
        for (one, other) in pairs {
            assert_eq!(eval(one), eval(other));
        }
    }

    #[test]
    fn more_pieces_are_better() {
        let even = eval("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        let queen_up = eval("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert!(even.abs() < 100, "{even}");
        assert!(queen_up > even + 300);
    }

    #[test]
    fn a_threatened_explosion_costs_the_side_to_move() {
        let calm = eval("4k3/4p3/8/8/8/8/4P3/3R1K2 b - - 0 1");
        let threatened = eval("4k3/4p3/8/8/8/8/3P4/4RK2 b - - 0 1");
        assert!(threatened < calm - 50, "{threatened} {calm}");
    }
}
