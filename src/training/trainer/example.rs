//! A sample in the form for training: the active inputs for each side, and the target.

use arrayvec::ArrayVec;

use super::super::{Sample, SamplePiece};
use crate::engine::nnue::Shape;
use crate::rules::{Bitboard, Color, Role, role_attacks};

/// The target of outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The weight of the game's result; the rest is the score.
    pub(super) lambda: f32,
    /// The score in centipawns with an expected result of 1 / (1 + 1/e).
    pub(super) score_scale: f32,
}

impl Target {
    /// The expected result for the side to move, from 0 to 1.
    fn of(self, sample: &Sample) -> f32 {
        let result = f32::from(sample.result()) / 2.0;
        let score = sigmoid(f32::from(sample.score()) / self.score_scale);
        self.lambda * result + (1.0 - self.lambda) * score
    }
}

/// The expected result of an output.
#[inline]
pub(super) fn sigmoid(output: f32) -> f32 {
    1.0 / (1.0 + (-output).exp())
}

/// The active inputs, one per piece.
pub(super) type Inputs = ArrayVec<usize, 32>;

/// One training position.
#[derive(Clone, Debug)]
pub(super) struct Example {
    /// The perspective of the side to move, then the other.
    pub(super) views: [Inputs; 2],
    /// The output bucket.
    pub(super) bucket: usize,
    /// The target, from 0 to 1.
    pub(super) target: f32,
}

impl Example {
    /// A sample has the side to move at the bottom of the board, so White is to move here.
    pub(super) fn of(sample: &Sample, shape: Shape, target: Target) -> Example {
        let mut kings = [None; 2];
        for piece in sample.pieces() {
            if piece.role == Role::King {
                kings[usize::from(!piece.mine)] = Some(piece.square);
            }
        }
        let mut views = [Inputs::new(), Inputs::new()];
        if let [Some(mine), Some(theirs)] = kings {
            let ours = shape.layout.view(Color::White, mine);
            let others = shape.layout.view(Color::Black, theirs);
            let marks = shape
                .layout
                .marks([mine, theirs], || attacked_pieces(sample));
            for piece in sample.pieces() {
                let (color, marks) = (side(piece), marks.at(piece.square));
                views[0].push(ours.feature(color, piece.role, piece.square, marks));
                views[1].push(others.feature(color, piece.role, piece.square, marks));
            }
        }
        let pawns = sample
            .pieces()
            .filter(|piece| piece.role == Role::Pawn)
            .count();
        Example {
            bucket: shape.bucket_by.bucket(views[0].len(), pawns, shape.buckets),
            views,
            target: target.of(sample),
        }
    }
}

fn side(piece: SamplePiece) -> Color {
    if piece.mine {
        Color::White
    } else {
        Color::Black
    }
}

/// The pieces that an enemy piece other than the king attacks, as the engine counts them.
fn attacked_pieces(sample: &Sample) -> Bitboard {
    let of = |mine| {
        let pieces = sample.pieces().filter(move |piece| piece.mine == mine);
        pieces.map(|piece| piece.square).collect::<Bitboard>()
    };
    let (ours, theirs) = (of(true), of(false));
    let occupied = ours | theirs;
    let attackers = sample.pieces().filter(|piece| piece.role != Role::King);
    attackers.fold(Bitboard::EMPTY, |all, piece| {
        let prey = if piece.mine { theirs } else { ours };
        all | (prey & role_attacks(piece.role, side(piece), piece.square, occupied))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::nnue::features;
    use crate::rules::Position;
    use crate::training::GameResult;

    #[test]
    fn a_sample_and_its_position_have_the_same_attacked_pieces() {
        let fens = [
            "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R w KQkq - 0 1",
            "r2k3r/1P3b1p/p7/8/3P1P2/2N5/PP4pP/R1B2K1R w - - 0 15",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "8/1p1k4/8/P1Q5/3K2r1/8/8/b7 w - - 0 1",
        ];
        for fen in fens {
            let position = Position::from_fen(fen).expect("a good FEN");
            let sample = Sample::of(&position, 0, GameResult::Drawn, 9, false);
            assert_eq!(
                attacked_pieces(&sample),
                features::attacked_pieces(&position),
                "{fen}"
            );
        }
    }
}
