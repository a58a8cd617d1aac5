//! Positions as text, for humans and for programs that check the rules.

use std::fmt::Write as _;

use crate::engine::Evaluator;
use crate::rules::{Color, Draw, Game, Outcome, Piece, Position, RepetitionRule, Square, UciStyle};

/// The output of `d`. `Result:` is `none`, the winner's colour, or `draw-` and the reason.
pub(super) fn position(game: &Game, style: UciStyle) -> String {
    let position = game.position();
    let mut moves: Vec<String> = position
        .legal_moves()
        .into_iter()
        .map(|mv| format!("{}={}", mv.uci(style), position.san(mv)))
        .collect();
    moves.sort();
    let check = if position.in_check() { "yes" } else { "no" };
    let mut text = board(position);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nFen: {}\nKey: {:016X}\nCheck: {check}\nResult: {}\nSan: {}",
        position.fen(),
        position.key(),
        result(game),
        moves.join(" "),
    );
    text.truncate(text.trim_end().len());
    text
}

fn board(position: &Position) -> String {
    let mut text = String::from("\n  +-----------------+\n");
    for rank in (0..8).rev() {
        let _ = write!(text, "{} |", rank + 1);
        for file in 0..8 {
            let piece = position.piece_at(Square::from_coords(file, rank));
            let _ = write!(text, " {}", piece.map_or('.', Piece::char));
        }
        text.push_str(" |\n");
    }
    text.push_str("  +-----------------+\n    a b c d e f g h\n");
    text
}

fn result(game: &Game) -> &'static str {
    let outcome = game
        .outcome(RepetitionRule::Fivefold)
        .or_else(|| game.outcome(RepetitionRule::Threefold));
    match outcome {
        None => "none",
        Some(Outcome::Win {
            winner: Color::White,
            ..
        }) => "white",
        Some(Outcome::Win {
            winner: Color::Black,
            ..
        }) => "black",
        Some(Outcome::Draw(draw)) => match draw {
            Draw::Stalemate => "draw-stalemate",
            Draw::Insufficient => "draw-insufficient",
            Draw::FiftyMoves => "draw-fifty-moves",
            Draw::Threefold => "draw-threefold",
            Draw::Fivefold => "draw-fivefold",
            Draw::PlyCap => "draw-plies",
        },
    }
}

pub(super) fn evaluation(position: &Position, evaluator: &Evaluator) -> String {
    let Some(value) = evaluator.evaluate(position) else {
        return "Evaluation: none (a king is gone)".to_owned();
    };
    let white = if position.turn() == Color::White {
        value
    } else {
        -value
    };
    let check = if position.in_check() {
        ", in check"
    } else {
        ""
    };
    format!(
        "Evaluation: {:+.2} (white side{check}, {})",
        f64::from(white) / 100.0,
        evaluator.id()
    )
}

/// The output of `go perft`: a count for each move, then the sum.
pub(super) fn perft(position: &Position, depth: u32, style: UciStyle) -> String {
    let mut text = String::new();
    let counts = position.divide(depth.max(1));
    for (mv, count) in &counts {
        let _ = writeln!(text, "{}: {count}", mv.uci(style));
    }
    let sum: u64 = counts.iter().map(|(_, count)| count).sum();
    let _ = write!(text, "\nNodes searched: {sum}");
    text
}
