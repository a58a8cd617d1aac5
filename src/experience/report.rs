//! What experience says about one opponent, in SAN, for a terminal and the page.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::line::{LineMistake, LineResult, PlayedLine, WINDOW, is_turn};
use super::memory::{Advice, Experience};
use crate::rules::{Color, Game, Move};

/// Plies of a line that are shown, at least.
const SHOWN: usize = 12;
/// Lost games with so many plies in common were lost in the same line.
const SAME: usize = 6;
/// Lines with several lost games that are shown.
const LOST_LINES: usize = 10;

/// The lines against one opponent, and the moves that the bot avoids because of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExperienceReport {
    pub opponent: String,
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    /// The moves avoided, those of the latest games first.
    pub avoided: Vec<AvoidedMove>,
    /// The lines in which more than one game was lost, the most frequent first.
    pub lost_lines: Vec<LostLine>,
    /// The latest game first.
    pub lines: Vec<ShownLine>,
}

/// A line in which several games were lost, other than on time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostLine {
    pub times: usize,
    /// The bot's colour.
    pub color: &'static str,
    /// The moves that these games share, numbered.
    pub moves: String,
}

/// A move that the bot avoids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AvoidedMove {
    /// The moves before it, numbered.
    pub after: String,
    /// The move in SAN, with its number.
    pub mv: String,
    /// What it is worth, in centipawns, where a game showed that.
    pub value: Option<i32>,
    /// Centipawns taken off its score otherwise.
    pub penalty: i32,
    pub why: String,
}

/// A game's line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownLine {
    pub game: String,
    pub at: u64,
    pub color: &'static str,
    pub result: &'static str,
    /// The first moves, numbered.
    pub moves: String,
    /// The move that cost the game, and what was better, if known.
    pub mistake: Option<String>,
}

impl ExperienceReport {
    /// What the lines against `opponent` say.
    pub fn of(experience: &Experience, opponent: &str) -> Self {
        let mut report = Self {
            opponent: opponent.to_owned(),
            ..Self::default()
        };
        let mut seen = BTreeSet::new();
        let mut lost = LostLines::default();
        for line in experience.against(opponent) {
            let Some(game) = line.replay() else { continue };
            if line.result == LineResult::Loss {
                lost.add(line.color, &game);
            }
            match line.result.as_str() {
                "win" => report.wins += 1,
                "draw" => report.draws += 1,
                _ => report.losses += 1,
            }
            report.lines.push(shown(line, &game));
            for ply in (0..game.ply()).filter(|&ply| is_turn(ply, line.color)) {
                let key = game.keys()[ply];
                if !seen.insert(key) {
                    continue;
                }
                let advice = experience.advice(key, Some(opponent));
                let avoided = advice.iter().map(|advice| avoided(&game, ply, advice));
                report.avoided.extend(avoided);
            }
        }
        report.lost_lines = lost.shown();
        report
    }
}

/// Lost games by the bot's colour and their first moves, with the shared part of the latest game and how
/// many there are.
#[derive(Default)]
struct LostLines(BTreeMap<(&'static str, Vec<Move>), (Game, usize)>);

impl LostLines {
    /// Adds a game, no later than those before it.
    fn add(&mut self, color: Color, game: &Game) {
        let moves = &game.moves()[..game.ply().min(WINDOW)];
        let key = (color.as_str(), moves.iter().copied().take(SAME).collect());
        let (shared, times) = self.0.entry(key).or_insert_with(|| (game.clone(), 0));
        let both = shared.moves().iter().zip(moves);
        let common = both.take_while(|(a, b)| a == b).count();
        shared.takeback(shared.ply() - common);
        *times += 1;
    }

    fn shown(self) -> Vec<LostLine> {
        let repeated = self.0.into_iter().filter(|(_, (_, times))| *times > 1);
        let mut lines: Vec<LostLine> = repeated
            .map(|((color, _), (shared, times))| LostLine {
                times,
                color,
                moves: numbered(&shared, shared.ply()),
            })
            .collect();
        lines.sort_by_key(|line| Reverse(line.times));
        lines.truncate(LOST_LINES);
        lines
    }
}

fn shown(line: &PlayedLine, game: &Game) -> ShownLine {
    let plies = line.mistake.as_ref().map_or(SHOWN, |it| it.ply + 1);
    ShownLine {
        game: line.game.clone(),
        at: line.at,
        color: line.color.as_str(),
        result: line.result.as_str(),
        moves: numbered(game, plies.max(SHOWN)),
        mistake: line.mistake.as_ref().map(|it| mistake(game, it)),
    }
}

fn avoided(game: &Game, ply: usize, advice: &Advice) -> AvoidedMove {
    AvoidedMove {
        after: numbered(game, ply),
        mv: number(ply) + &game.positions()[ply].san(advice.mv),
        value: advice.value,
        penalty: advice.penalty,
        why: advice.reason.to_string(),
    }
}

fn mistake(game: &Game, mistake: &LineMistake) -> String {
    let position = game.positions()[mistake.ply];
    let played = position.san(game.moves()[mistake.ply]);
    let value = f64::from(mistake.value) / 100.0;
    let mut text = format!("{}{played} ({value:+.2})", number(mistake.ply));
    let better = mistake.better.as_ref();
    if let Some(better) = better.and_then(|better| position.parse_uci(better).ok()) {
        text += ", better ";
        text += &position.san(better);
    }
    text
}

/// The number before a move: `3. ` or `3... `.
fn number(ply: usize) -> String {
    let dots = if ply.is_multiple_of(2) { "." } else { "..." };
    format!("{}{dots} ", ply / 2 + 1)
}

/// The first moves as in a score sheet.
fn numbered(game: &Game, plies: usize) -> String {
    let moves = game.moves().iter().zip(game.positions()).take(plies);
    let moves = moves.enumerate().map(|(ply, (mv, position))| {
        let number = if ply.is_multiple_of(2) {
            number(ply)
        } else {
            String::new()
        };
        number + &position.san(*mv)
    });
    moves.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Position;

    fn lost(game: usize, color: Color, moves: &str, result: LineResult) -> PlayedLine {
        PlayedLine {
            game: game.to_string(),
            opponent: Some("foe".to_owned()),
            color,
            result,
            moves: moves.to_owned(),
            mistake: None,
            at: game as u64,
        }
    }

    #[test]
    fn lines_lost_several_times_are_counted_with_the_moves_they_share() {
        let (white, black) = (Color::White, Color::Black);
        let (often, twice) = (
            "g1f3 f7f6 b1c3 e7e6 e2e3 d7d5",
            "e2e4 e7e6 d2d4 d7d5 b1c3 g8f6",
        );
        let games = [
            (white, format!("{often} f3d4 b8c6"), LineResult::Loss),
            (white, format!("{often} f3d4 g8h6 a2a3"), LineResult::Loss),
            (white, format!("{often} f3d4"), LineResult::Loss),
            (white, format!("{often} f3d4 b8c6"), LineResult::Time),
            (white, format!("{often} f3d4 b8c6"), LineResult::Win),
            (black, format!("{often} f3d4"), LineResult::Loss),
            (black, twice.to_owned(), LineResult::Loss),
            (black, format!("{twice} a2a3"), LineResult::Loss),
            (white, "e2e4 e7e5".to_owned(), LineResult::Loss),
        ];
        let mut experience = Experience::default();
        for (game, (color, moves, result)) in games.into_iter().enumerate() {
            experience.learn(lost(game, color, &moves, result));
        }
        let report = ExperienceReport::of(&experience, "foe");
        let line = |times, color, moves: &str| LostLine {
            times,
            color,
            moves: moves.to_owned(),
        };
        let expected = [
            line(3, "white", "1. Nf3 f6 2. Nc3 e6 3. e3 d5 4. Nd4"),
            line(2, "black", "1. e4 e6 2. d4 d5 3. Nc3 Nf6"),
        ];
        assert_eq!(report.lost_lines, expected);
    }

    #[test]
    fn the_most_frequent_lost_lines_are_kept() {
        let mut experience = Experience::default();
        let mut game = 0;
        let starts = Position::default().legal_moves();
        for (index, start) in starts.iter().take(LOST_LINES + 2).enumerate() {
            for _ in 0..=index {
                let moves = format!("{start} g8f6");
                experience.learn(lost(game, Color::Black, &moves, LineResult::Loss));
                game += 1;
            }
        }
        let report = ExperienceReport::of(&experience, "foe");
        let times: Vec<usize> = report.lost_lines.iter().map(|line| line.times).collect();
        assert_eq!(times, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    }

    #[test]
    fn a_report_names_each_avoided_move_once_with_its_reason() {
        let mut experience = Experience::default();
        for (game, reply) in [("a", "h7h6"), ("b", "f8d6")] {
            experience.learn(PlayedLine {
                game: game.to_owned(),
                opponent: Some("foe".to_owned()),
                color: Color::White,
                result: LineResult::Loss,
                moves: format!("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 {reply}"),
                mistake: Some(LineMistake {
                    ply: 4,
                    value: -780,
                    better: Some("f3d4".to_owned()),
                    reviewed: true,
                }),
                at: 7,
            });
        }
        let report = ExperienceReport::of(&experience, "foe");
        assert_eq!((report.wins, report.draws, report.losses), (0, 0, 2));
        let [avoided] = report.avoided.as_slice() else {
            panic!("{report:?}");
        };
        assert_eq!(avoided.after, "1. Nf3 f6 2. e3 e6");
        assert_eq!((avoided.mv.as_str(), avoided.value), ("3. Be2", Some(-780)));
        assert!(avoided.why.ends_with("says its review"), "{}", avoided.why);
        let line = &report.lines[0];
        assert_eq!(line.moves, "1. Nf3 f6 2. e3 e6 3. Be2 d5 4. O-O Bd6");
        assert_eq!(line.mistake.as_deref(), Some("3. Be2 (-7.80), better Nd4"));
        let nobody = ExperienceReport::of(&experience, "nobody");
        assert!(nobody.lines.is_empty() && nobody.avoided.is_empty());
    }
}
