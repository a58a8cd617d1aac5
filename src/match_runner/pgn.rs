//! Games as PGN, with each move's score, from White's side, and depth as a comment.

use super::record::{GameRecord, MatchSide};
use super::runner::{Match, MatchReport};
use crate::archive::{move_number, write_tag, write_words};
use crate::engine::Score;
use crate::rules::{Color, Game, Position};

/// All games of a match.
pub fn pgn(contest: &Match, report: &MatchReport) -> String {
    let mut text = String::new();
    for game in &report.games {
        write_game(&mut text, contest, game);
    }
    text
}

fn write_game(text: &mut String, contest: &Match, game: &GameRecord) {
    let name = |side: MatchSide| contest.players[side as usize].to_string();
    let result = match game.winner.map(|side| game.color(side)) {
        Some(Color::White) => "1-0",
        Some(Color::Black) => "0-1",
        None => "1/2-1/2",
    };
    let tags = [
        ("Event", contest.allowance.to_string()),
        ("Site", "?".to_owned()),
        ("Date", "????.??.??".to_owned()),
        ("Round", format!("{}", game.pair + 1)),
        ("White", name(game.white)),
        ("Black", name(game.white.other())),
        ("Result", result.to_owned()),
        ("Variant", "Atomic".to_owned()),
        ("SetUp", "1".to_owned()),
        ("FEN", game.fen.clone()),
        ("Termination", game.end.words().to_owned()),
    ];
    for (tag, value) in tags {
        write_tag(text, tag, &value);
    }
    text.push('\n');
    let mut words = moves(game);
    words.extend(game.note.iter().map(|note| {
        let note = note.replace(['{', '}'], "");
        format!("{{{note}}}")
    }));
    words.push(result.to_owned());
    write_words(text, &words);
}

/// The words of the move text. A record with an illegal move ends early, since this is for display only.
fn moves(game: &GameRecord) -> Vec<String> {
    let mut words = Vec::new();
    let Ok(start) = Position::from_fen(&game.fen) else {
        return words;
    };
    let mut board = Game::from_position(start);
    for (index, uci) in game.moves.split_ascii_whitespace().enumerate() {
        let position = *board.position();
        let Ok(mv) = board.push_uci(uci) else {
            break;
        };
        words.extend(move_number(&position, index == 0));
        words.push(position.san(mv));
        let score = game.scores.get(index).copied().flatten();
        let depth = game.depths.get(index).copied().flatten();
        if let (Some(score), Some(depth)) = (score, depth) {
            let score = match Score::from_value(score) {
                Score::Cp(cp) => format!("{:+.2}", f64::from(cp) / 100.0),
                Score::Mate(moves @ 1..) => format!("+M{moves}"),
                Score::Mate(moves) => format!("-M{}", -moves),
            };
            words.push(format!("{{{score}/{depth}}}"));
        }
    }
    words
}
