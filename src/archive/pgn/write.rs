//! Records to PGN.
//!
//! A record with an illegal move ends before it, with a note.

use crate::archive::record::{GameRecord, MoveRecord};
use crate::archive::review::{Mistake, ReviewRecord};
use crate::rules::{Game, Move, Position};

use super::comment::comment;
use super::tags;

/// Maximum line length.
const WIDTH: usize = 100;
/// The annotation glyph of a blunder.
const BLUNDER: &str = "$4";

/// What a PGN contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgnOptions {
    /// The URL of the server, for links to the games.
    pub site: String,
    /// Clocks, scores and sources after the moves, and the finding of the review.
    pub comments: bool,
    /// The line that the search expected, where the opponent replied otherwise.
    pub lines: bool,
}

impl Default for PgnOptions {
    fn default() -> Self {
        Self {
            site: "https://lichess.org".to_owned(),
            comments: true,
            lines: false,
        }
    }
}

/// Writes a game, followed by a blank line.
pub fn pgn(game: &GameRecord, options: &PgnOptions) -> String {
    pgn_reviewed(game, None, options)
}

/// Writes a game with its review: a mark at the losing move, and the better line as a variation.
pub fn pgn_reviewed(
    game: &GameRecord,
    review: Option<&ReviewRecord>,
    options: &PgnOptions,
) -> String {
    let mistake = review.and_then(|review| review.mistake.as_ref());
    let mistake = mistake.filter(|_| options.comments);
    let mut text = String::with_capacity(1024 + 64 * game.moves.len());
    for (name, value) in tags::of_record(game, &options.site) {
        write_tag(&mut text, name, &value);
    }
    text.push('\n');
    let mut words = moves(game, mistake, options);
    words.push(game.result().to_owned());
    write_words(&mut text, &words);
    text
}

/// Writes one tag on a line of its own, without control characters.
pub fn write_tag(text: &mut String, name: &str, value: &str) {
    text.push('[');
    text.push_str(name);
    text.push_str(" \"");
    for letter in value.chars().filter(|letter| !letter.is_control()) {
        if matches!(letter, '"' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text.push_str("\"]\n");
}

/// Writes the move text in lines of limited length, followed by a blank line.
pub fn write_words(text: &mut String, words: &[String]) {
    let mut column = 0;
    for word in words {
        if column > 0 && column + word.len() >= WIDTH {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push_str("\n\n");
}

/// The board at the start of a game.
pub(in crate::archive) fn board(game: &GameRecord) -> Option<Game> {
    let start = match &game.initial_fen {
        Some(fen) => Position::from_fen(fen).ok()?,
        None => Position::default(),
    };
    Some(Game::from_position(start))
}

/// The move text in words. A comment is one word, so that no line begins with its bracket.
fn moves(game: &GameRecord, mistake: Option<&Mistake>, options: &PgnOptions) -> Vec<String> {
    let mut words = Vec::with_capacity(2 * game.moves.len() + 1);
    let Some(mut board) = board(game) else {
        words.push("{ the start position is unknown }".to_owned());
        return words;
    };
    // After a comment or a variation, Black's move number is repeated.
    let mut numbered = false;
    for (ply, made) in game.moves.iter().enumerate() {
        let before = *board.position();
        let Ok(mv) = board.push_uci(&made.uci) else {
            words.push("{ here the record breaks off }".to_owned());
            break;
        };
        let played = before.san(mv);
        let mistake = mistake.filter(|mistake| mistake.ply == ply && mistake.played == played);
        words.extend(move_number(&before, ply == 0 || numbered));
        words.push(played);
        words.extend(mistake.map(|_| BLUNDER.to_owned()));
        numbered = false;
        if options.comments {
            let said = comment(made, GameRecord::mover(ply));
            numbered = !said.is_empty();
            words.extend((!said.is_empty()).then_some(said));
        }
        if let Some(line) = mistake.and_then(|mistake| better(&before, mistake)) {
            words.extend(line);
            numbered = true;
        }
        if options.lines {
            let earlier = ply.checked_sub(1);
            let earlier = earlier.and_then(|earlier| game.moves.get(earlier));
            if let Some(line) = earlier.and_then(|earlier| expected(&before, earlier, made)) {
                words.extend(line);
                numbered = true;
            }
        }
    }
    words
}

/// The number before a move: before White's, and before Black's if `always`.
pub fn move_number(position: &Position, always: bool) -> Option<String> {
    match position.turn() {
        crate::rules::Color::White => Some(format!("{}.", position.fullmoves())),
        crate::rules::Color::Black => always.then(|| format!("{}...", position.fullmoves())),
    }
}

/// The line that the search of the previous move expected, if the reply was another.
fn expected(before: &Position, earlier: &MoveRecord, reply: &MoveRecord) -> Option<Vec<String>> {
    let mut line = earlier.line.split_ascii_whitespace();
    if line.next()? != earlier.uci {
        return None;
    }
    let line: Vec<&str> = line.collect();
    if *line.first()? == reply.uci {
        return None;
    }
    variation(before, line, |position, uci| position.parse_uci(uci).ok())
}

/// The better move and its line.
fn better(before: &Position, mistake: &Mistake) -> Option<Vec<String>> {
    let line = mistake.line.iter().map(String::as_str);
    variation(before, line, |position, san| position.parse_san(san).ok())
}

/// A line in parentheses, up to the first illegal move.
fn variation<'l>(
    before: &Position,
    line: impl IntoIterator<Item = &'l str>,
    read: impl Fn(&Position, &str) -> Option<Move>,
) -> Option<Vec<String>> {
    let mut board = Game::from_position(*before);
    let mut words = Vec::new();
    for word in line {
        let position = *board.position();
        let Some(mv) = read(&position, word) else {
            break;
        };
        board.push(mv);
        words.extend(move_number(&position, words.is_empty()));
        words.push(position.san(mv));
    }
    words.first_mut()?.insert(0, '(');
    words.last_mut()?.push(')');
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::record::{EndingRecord, PlayerRecord, Source};
    use crate::engine::Score;
    use crate::lichess::{Side, Status};

    fn game() -> GameRecord {
        let own = |uci: &str, clock, score, line: &str| MoveRecord {
            clock: Some(clock),
            score: Some(Score::Cp(score)),
            depth: Some(9),
            source: Source::Engine,
            line: line.to_owned(),
            ..MoveRecord::bare(uci)
        };
        GameRecord {
            id: "q7ZxVt2B".to_owned(),
            white: PlayerRecord {
                name: "Mega \"ton\\".to_owned(),
                ..PlayerRecord::default()
            },
            us: Some(Side::White),
            moves: vec![
                own("g1f3", 180_000, 35, "g1f3 f7f6 e2e4"),
                MoveRecord::bare("a7a6"),
                own("f3g5", 179_500, 900, "f3g5 a6a5 g5f7"),
                MoveRecord::bare("a6a5"),
                own("g5f7", 179_000, 32_000, ""),
            ],
            ending: Some(EndingRecord {
                status: Status::VariantEnd,
                winner: Some(Side::White),
                at: 5000,
            }),
            ..GameRecord::default()
        }
    }

    #[test]
    fn a_game_is_written_as_lichess_writes_it() {
        let text = pgn(&game(), &PgnOptions::default());
        assert!(text.contains("[White \"Mega \\\"ton\\\\\"]\n"), "{text}");
        assert!(
            text.contains("[Variant \"Atomic\"]\n[TimeControl \"?\"]\n"),
            "{text}"
        );
        assert!(
            text.contains("[Site \"https://lichess.org/q7ZxVt2B\"]\n"),
            "{text}"
        );
        let moves = text.split_once("\n\n").unwrap().1;
        let moves = moves.replace('\n', " ");
        assert_eq!(
            moves,
            "1. Nf3 { [%eval 0.35,9] [%clk 0:03:00] } 1... a6 \
             2. Ng5 { [%eval 9.00,9] [%clk 0:02:59.5] } 2... a5 \
             3. Nxf7# { [%eval 320.00,9] [%clk 0:02:59] } 1-0  "
        );
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn the_expected_line_is_written_beside_the_actual_reply() {
        let options = PgnOptions {
            comments: false,
            lines: true,
            ..PgnOptions::default()
        };
        let text = pgn(&game(), &options);
        assert!(
            text.ends_with("1. Nf3 a6 (1... f6 2. e4) 2. Ng5 a5 3. Nxf7# 1-0\n\n"),
            "{text}"
        );
    }

    fn review(played: &str) -> ReviewRecord {
        ReviewRecord {
            game: "q7ZxVt2B".to_owned(),
            at: 9000,
            program: "megaton".to_owned(),
            positions: 3,
            mistake: Some(Mistake {
                ply: 3,
                played: played.to_owned(),
                before: Score::Cp(-20),
                after: Score::Mate(-1),
                better: "f6".to_owned(),
                better_uci: "f7f6".to_owned(),
                depth: 20,
                line: ["f6", "Nxh7", "Qd9"].map(str::to_owned).into(),
                refutation: Vec::new(),
            }),
            given_up: false,
        }
    }

    #[test]
    fn the_losing_move_is_marked_and_the_better_line_is_written_beside_it() {
        let mut options = PgnOptions {
            lines: true,
            ..PgnOptions::default()
        };
        let told = |review: &ReviewRecord, options: &PgnOptions| {
            let text = pgn_reviewed(&game(), Some(review), options);
            text.split_once("\n\n").unwrap().1.replace('\n', " ")
        };
        // The variation ends before the first illegal move.
        let marked = told(&review("a5"), &options);
        assert!(
            marked.contains(" 2... a5 $4 (2... f6 3. Nxh7) 3. Nxf7# { "),
            "{marked}"
        );
        let other = told(&review("h5"), &options);
        assert!(!other.contains('$'), "of another game: {other}");
        options.comments = false;
        let bare = told(&review("a5"), &options);
        assert!(!bare.contains('$'), "{bare}");
    }

    #[test]
    fn a_broken_record_ends_where_it_breaks() {
        let mut broken = game();
        broken.moves[2].uci = "e1e8".to_owned();
        let text = pgn(&broken, &PgnOptions::default());
        assert!(
            text.ends_with("1... a6 { here the record breaks off } 1-0\n\n"),
            "{text}"
        );
        broken.initial_fen = Some("nonsense".to_owned());
        let text = pgn(&broken, &PgnOptions::default());
        assert!(
            text.contains("{ the start position is unknown } 1-0"),
            "{text}"
        );
    }
}
