//! What experience says about one opponent, in SAN, for a terminal and the page.

use std::collections::BTreeSet;

use serde::Serialize;

use super::line::{LineMistake, PlayedLine, is_turn};
use super::memory::{Advice, Experience};
use crate::rules::{Color, Game};

/// Plies of a line that are shown, at least.
const SHOWN: usize = 12;

/// The lines against one opponent, and the moves that the bot avoids because of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExperienceReport {
    pub opponent: String,
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    /// The moves avoided, those of the latest games first.
    pub avoided: Vec<AvoidedMove>,
    /// The latest game first.
    pub lines: Vec<ShownLine>,
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
        for line in experience.against(opponent) {
            let Some(game) = line.replay() else { continue };
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
        report
    }
}

fn shown(line: &PlayedLine, game: &Game) -> ShownLine {
    let plies = line.mistake.as_ref().map_or(SHOWN, |it| it.ply + 1);
    ShownLine {
        game: line.game.clone(),
        at: line.at,
        color: match line.color {
            Color::White => "white",
            Color::Black => "black",
        },
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
    use crate::experience::LineResult;

    #[test]
    fn a_report_names_each_avoided_move_once_with_its_reason() {
        let mut experience = Experience::default();
        for game in ["a", "b"] {
            experience.learn(PlayedLine {
                game: game.to_owned(),
                opponent: Some("foe".to_owned()),
                color: Color::White,
                result: LineResult::Loss,
                moves: "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6".to_owned(),
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
