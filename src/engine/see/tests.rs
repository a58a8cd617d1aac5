//! Blast exchange against cases checked by hand and against a slow implementation of the
//! definition.

use super::*;
use crate::rules::{Piece, role_attacks};

const CASES: &str = include_str!("../../../tests/data/see.txt");

type Board = Vec<Option<Piece>>;

fn board(position: &Position) -> Board {
    Square::all()
        .map(|square| position.piece_at(square))
        .collect()
}

fn value(piece: Piece) -> Value {
    SEE_VALUES[piece.role.index()]
}

fn neighbours(of: Square) -> impl Iterator<Item = Square> {
    Square::all().filter(move |square| {
        let files = square.file().abs_diff(of.file());
        let ranks = square.rank().abs_diff(of.rank());
        files.max(ranks) == 1
    })
}

/// What `taker` wins on this board by capturing on `to`, with `gone` pieces removed in any case.
/// The taker's own king in the blast forbids the capture.
fn blast(board: &Board, taker: Color, to: Square, gone: &[Square]) -> Option<Value> {
    let is_caught = |square: &Square| board[square.index()].is_some_and(|it| it.role != Role::Pawn);
    let mut squares: Vec<Square> = neighbours(to).filter(is_caught).collect();
    squares.extend(
        gone.iter()
            .filter(|square| !squares.contains(square))
            .copied()
            .collect::<Vec<_>>(),
    );
    let pieces: Vec<Piece> = squares
        .iter()
        .filter_map(|square| board[square.index()])
        .collect();
    let kings: Vec<Color> = pieces
        .iter()
        .filter(|piece| piece.role == Role::King)
        .map(|piece| piece.color)
        .collect();
    if kings.contains(&taker) {
        return None;
    }
    if !kings.is_empty() {
        return Some(SEE_KING);
    }
    Some(
        pieces
            .iter()
            .map(|&piece| {
                if piece.color == taker {
                    -value(piece)
                } else {
                    value(piece)
                }
            })
            .sum(),
    )
}

fn slow_exchange(position: &Position, mv: Move) -> Value {
    let (from, to, us) = (mv.from(), mv.to(), position.turn());
    let mut board = board(position);
    let piece = board[from.index()].unwrap();
    if mv.is_en_passant() {
        let victim = Square::from_coords(to.file(), from.rank());
        return blast(&board, us, to, &[from, victim]).unwrap();
    }
    if board[to.index()].is_some() {
        return blast(&board, us, to, &[from, to]).unwrap();
    }
    if piece.role == Role::King {
        return 0;
    }
    let landed = Piece {
        role: mv.promotion().unwrap_or(piece.role),
        ..piece
    };
    board[from.index()] = None;
    board[to.index()] = Some(landed);
    let occupied = Square::all()
        .filter(|square| board[square.index()].is_some())
        .collect();
    let best = Square::all()
        .filter(|&taker| {
            board[taker.index()].is_some_and(|it| {
                it.color != us
                    && it.role != Role::King
                    && role_attacks(it.role, it.color, taker, occupied).contains(to)
            })
        })
        .filter_map(|taker| blast(&board, !us, to, &[taker, to]))
        .max();
    value(landed) - value(piece) - best.unwrap_or(0).max(0)
}

#[test]
fn cases_checked_by_hand_hold() {
    let mut count = 0;
    for line in CASES.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let position = Position::from_fen(fields[0]).unwrap();
        let mv = position
            .parse_uci(fields[1])
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let expected: Value = fields[2].parse().unwrap();
        assert_eq!(exchange(&position, mv), expected, "{line}");
        assert_eq!(slow_exchange(&position, mv), expected, "slow: {line}");
        count += 1;
    }
    assert!(count >= 60, "{count} cases");
}

#[test]
fn random_positions_agree_with_the_definition() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut compared = 0;
    while compared < 30_000 {
        let mut position = Position::default();
        for _ in 0..160 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            for &mv in &moves {
                let (fast, slow) = (exchange(&position, mv), slow_exchange(&position, mv));
                assert_eq!(fast, slow, "{mv} in {}", position.fen());
            }
            compared += moves.len();
            // Prefers quiet moves, or few pieces would be left soon.
            let quiet: Vec<Move> = moves
                .iter()
                .copied()
                .filter(|&mv| !position.is_capture(mv))
                .collect();
            let pool = if quiet.is_empty() || random.u8(..8) == 0 {
                &moves[..]
            } else {
                &quiet
            };
            position = position.play(pool[random.usize(..pool.len())]);
        }
    }
}
