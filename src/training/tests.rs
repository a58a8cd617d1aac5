//! Small games for the tests of this module.

use super::record::{GameRecord, GameResult, NO_SCORE, RecordedPly};
use crate::rules::{Game, Position, RepetitionRule};

/// A game of four plies.
pub(super) fn short_game() -> GameRecord {
    won_game(Game::new(), "g1f3 a7a6 f3g5 a6a5")
}

/// A game of four plies from an ending with castling rights and a pawn that has just passed another.
pub(super) fn ending() -> GameRecord {
    let fen = "4k3/8/8/8/2pP4/8/8/R3K3 b Q d3 3 40";
    let start = Position::from_fen(fen).expect("a good FEN");
    assert_eq!(start.fen(), fen);
    won_game(Game::from_position(start), "e8d7 e1c1 d7e6 d1e1")
}

fn won_game(mut game: Game, line: &str) -> GameRecord {
    let start = *game.position();
    game.push_uci_moves(line).expect("legal moves");
    let scores = [NO_SCORE, 12, -31_990, 40];
    let plies = game.moves().iter().zip(scores);
    let plies = plies.map(|(&mv, score)| RecordedPly { mv, score });
    GameRecord::new(&start, plies.collect(), GameResult::Won)
}

/// The game that follows these choices among the legal moves, with these scores.
pub(super) fn game_by(start: Position, choices: &[(u8, i16)], result: GameResult) -> GameRecord {
    let mut game = Game::from_position(start);
    let mut plies = Vec::new();
    for &(choice, score) in choices {
        if game.outcome(RepetitionRule::Threefold).is_some() {
            break;
        }
        let legal = game.position().legal_moves();
        let mv = legal[usize::from(choice) % legal.len()];
        plies.push(RecordedPly { mv, score });
        game.push(mv);
    }
    GameRecord::new(&start, plies, result)
}
