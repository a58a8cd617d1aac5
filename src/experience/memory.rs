//! All remembered lines, found by position, and the advice they give for a move.
//!
//! Bounded: the oldest lines go first, of losses and of others apart. A line that cannot be replayed is
//! dropped. The advice names moves to avoid with the reason; it never says what to play.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use super::line::{LineResult, PlayedLine, WINDOW, is_turn};
use crate::rules::{Game, Move};

/// Lines kept that the bot lost, and as many others.
const MOST: usize = 2000;
/// Centipawns off a move for each game that this opponent won after it, if none of its moves is to
/// blame.
const AGAINST_THIS: i32 = 30;
/// The same for games that others won.
const AGAINST_OTHERS: i32 = 10;
/// So many more games must be lost to others than not.
const OTHERS_COUNT_FROM: i32 = 2;
/// So many different mistakes in one position, and no move there that held, cast doubt on the move that
/// led there.
const DEAD_END: usize = 2;
/// A move that the scores of one game blame is still played against others if it held in so many games
/// for each such game.
const HOLDS_ELSEWHERE: usize = 3;

/// Games as expected that are counted besides those played: a few results mean little.
const VIRTUAL_GAMES: f64 = 20.0;

/// A move that experience advises against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub mv: Move,
    /// What the move is worth in centipawns, where a game or a review showed it.
    pub value: Option<i32>,
    /// Centipawns to take off its score otherwise.
    pub penalty: i32,
    pub reason: Reason,
}

/// Why a move is to be avoided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It cost this game.
    Mistake { game: String, reviewed: bool },
    /// Each move tried in the position after it cost a game, this one last.
    DeadEnd { game: String },
    /// Games after it were lost, so many more than not; this one last.
    Lost { game: String, times: i32 },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake {
                game,
                reviewed: true,
            } => write!(f, "it cost game {game}, says its review"),
            Self::Mistake { game, .. } => write!(f, "it cost game {game}"),
            Self::DeadEnd { game } => {
                write!(f, "each move tried after it cost a game, the last {game}")
            }
            Self::Lost { game, times: 1 } => write!(f, "game {game} was lost after it"),
            Self::Lost { game, times } => {
                write!(
                    f,
                    "{times} more games lost than not after it, the last {game}"
                )
            }
        }
    }
}

/// What a line says about one of its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lesson {
    /// The game went on well, or the mistake came later.
    Held,
    Lost,
    /// The move cost the game; what it is worth.
    Mistake(i32),
    /// The next move of the bot was the mistake, in the position with this key.
    LedTo(u64),
}

#[derive(Clone, Debug)]
struct LearnedMove {
    mv: Move,
    lesson: Lesson,
    line: Arc<PlayedLine>,
}

/// The remembered lines.
#[derive(Clone, Debug, Default)]
pub struct Experience {
    /// By time and game.
    lines: BTreeMap<(u64, String), Arc<PlayedLine>>,
    /// The time of each game.
    times: HashMap<String, u64>,
    /// The bot's moves by the key of the position before them.
    positions: HashMap<u64, Vec<LearnedMove>>,
    losses: usize,
}

impl Experience {
    /// Remembers a line, in place of an earlier one of the same game. Returns the games that were
    /// forgotten for it; the line itself if it cannot be replayed.
    pub fn learn(&mut self, line: PlayedLine) -> Vec<String> {
        self.forget(&line.game);
        let line = Arc::new(line.bounded());
        let Some(game) = line.replay() else {
            return vec![line.game.clone()];
        };
        for (key, mv, lesson) in lessons(&line, &game) {
            let line = Arc::clone(&line);
            let entries = self.positions.entry(key).or_default();
            entries.push(LearnedMove { mv, lesson, line });
        }
        self.losses += usize::from(line.result == LineResult::Loss);
        self.times.insert(line.game.clone(), line.at);
        self.lines.insert((line.at, line.game.clone()), line);
        self.bound()
    }

    /// Forgets the oldest lines beyond the bounds.
    fn bound(&mut self) -> Vec<String> {
        let others = self.lines.len() - self.losses;
        let is_loss = |line: &PlayedLine| line.result == LineResult::Loss;
        let oldest = |losses: bool, most: usize, count: usize| {
            let too_many = count.saturating_sub(most);
            let lines = self.lines.values();
            let lines = lines.filter(move |line| is_loss(line) == losses);
            lines.take(too_many).map(|line| line.game.clone())
        };
        let gone: Vec<String> = oldest(true, MOST, self.losses)
            .chain(oldest(false, MOST, others))
            .collect();
        for game in &gone {
            self.forget(game);
        }
        gone
    }

    fn forget(&mut self, game: &str) {
        let Some(at) = self.times.remove(game) else {
            return;
        };
        let Some(line) = self.lines.remove(&(at, game.to_owned())) else {
            return;
        };
        self.losses -= usize::from(line.result == LineResult::Loss);
        let Some(played) = line.replay() else { return };
        for key in played.keys() {
            if let Some(entries) = self.positions.get_mut(key) {
                entries.retain(|entry| entry.line.game != game);
                if entries.is_empty() {
                    self.positions.remove(key);
                }
            }
        }
    }

    /// The line of a game, if remembered.
    pub fn line(&self, game: &str) -> Option<&PlayedLine> {
        let at = *self.times.get(game)?;
        let line = self.lines.get(&(at, game.to_owned()));
        line.map(AsRef::as_ref)
    }

    /// All lines against one opponent, the latest first.
    pub fn against<'e>(&'e self, opponent: &'e str) -> impl Iterator<Item = &'e PlayedLine> {
        let lines = self.lines.values().rev().map(AsRef::as_ref);
        lines.filter(move |line: &&PlayedLine| line.is_against(Some(opponent)))
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How games went after a move, as a factor: 1 is how they go from this position. Games lost on the
    /// clock say nothing.
    pub fn success(&self, position: u64, mv: Move) -> f64 {
        let entries = self.positions.get(&position).into_iter().flatten();
        let (mut all, mut after) = ((0.0, 0.0), (0.0, 0.0));
        for entry in entries {
            let points = match entry.line.result {
                LineResult::Win => 1.0,
                LineResult::Draw => 0.5,
                LineResult::Loss => 0.0,
                LineResult::Time => continue,
            };
            all = (all.0 + points, all.1 + 1.0);
            if entry.mv == mv {
                after = (after.0 + points, after.1 + 1.0);
            }
        }
        let mean = |(points, games): (f64, f64), expected: f64| {
            (VIRTUAL_GAMES * expected + points) / (VIRTUAL_GAMES + games)
        };
        let usual = mean(all, 0.5);
        mean(after, usual) / usual
    }

    /// The moves to avoid in the position with this key, in a game against `opponent`.
    pub fn advice(&self, position: u64, opponent: Option<&str>) -> Vec<Advice> {
        let Some(entries) = self.positions.get(&position) else {
            return Vec::new();
        };
        let moves: BTreeSet<Move> = entries.iter().map(|entry| entry.mv).collect();
        let advice = moves.into_iter().filter_map(|mv| {
            let entries: Vec<&LearnedMove> =
                entries.iter().filter(|entry| entry.mv == mv).collect();
            mistake(&entries, opponent)
                .or_else(|| self.dead_end(&entries))
                .or_else(|| lost(&entries, opponent))
        });
        advice.collect()
    }

    /// The move leads to a position in which each move tried was a mistake.
    fn dead_end(&self, entries: &[&LearnedMove]) -> Option<Advice> {
        let mistakes_at = |entry: &&LearnedMove| {
            let Lesson::LedTo(position) = entry.lesson else {
                return None;
            };
            let tried = self.positions.get(&position)?;
            let all = tried
                .iter()
                .all(|it| matches!(it.lesson, Lesson::Mistake(_)));
            let moves: BTreeSet<Move> = tried.iter().map(|it| it.mv).collect();
            (all && moves.len() >= DEAD_END).then_some((moves.len(), entry.line.at))
        };
        let dead_ends = entries.iter().filter_map(|it| Some((mistakes_at(it)?, it)));
        let ((mistakes, _), entry) = dead_ends.max_by_key(|(worst, _)| *worst)?;
        Some(Advice {
            mv: entry.mv,
            value: None,
            penalty: AGAINST_THIS * i32::try_from(mistakes - 1).unwrap_or(1),
            reason: Reason::DeadEnd {
                game: entry.line.game.clone(),
            },
        })
    }
}

/// What a line says about each of the bot's moves.
fn lessons(line: &PlayedLine, game: &Game) -> Vec<(u64, Move, Lesson)> {
    let cost = line.mistake.as_ref();
    let last = cost.map_or(WINDOW, |mistake| mistake.ply + 1);
    let counts = |ply: usize| ply < WINDOW || ply + 3 >= last;
    let own = (0..game.ply().min(last)).filter(|&ply| is_turn(ply, line.color) && counts(ply));
    let lesson = |ply: usize| match (cost, line.result) {
        (Some(mistake), _) if mistake.ply == ply => Lesson::Mistake(mistake.value),
        (Some(mistake), _) if mistake.ply == ply + 2 => Lesson::LedTo(game.keys()[mistake.ply]),
        (None, LineResult::Loss) => Lesson::Lost,
        _ => Lesson::Held,
    };
    own.map(|ply| (game.keys()[ply], game.moves()[ply], lesson(ply)))
        .collect()
}

/// The move cost a game. A review counts more than the scores during a game.
fn mistake(entries: &[&LearnedMove], opponent: Option<&str>) -> Option<Advice> {
    let reviewed = |entry: &LearnedMove| {
        let mistake = entry.line.mistake.as_ref();
        mistake.is_some_and(|it| it.reviewed)
    };
    let mistakes = entries.iter().filter_map(|entry| match entry.lesson {
        Lesson::Mistake(value) => Some((*entry, value)),
        _ => None,
    });
    let is_known = |entry: &LearnedMove| reviewed(entry) || entry.line.is_against(opponent);
    let count = mistakes.clone().count();
    let holds = entries.len() - count >= HOLDS_ELSEWHERE * count;
    let counted = mistakes.filter(|(entry, _)| !holds || is_known(entry));
    let (entry, value) =
        counted.min_by_key(|(entry, value)| (!reviewed(entry), *value, entry.line.at))?;
    Some(Advice {
        mv: entry.mv,
        value: Some(value),
        penalty: 0,
        reason: Reason::Mistake {
            game: entry.line.game.clone(),
            reviewed: reviewed(entry),
        },
    })
}

/// More games were lost than not after the move, and none of its own moves is to blame, or this opponent won
/// the same line several times.
fn lost(entries: &[&LearnedMove], opponent: Option<&str>) -> Option<Advice> {
    let won_by_this =
        |it: &&&LearnedMove| it.line.result == LineResult::Loss && it.line.is_against(opponent);
    let is_lost = |entry: &&&LearnedMove| {
        let same = entries
            .iter()
            .filter(|it| it.line.opening().eq(entry.line.opening()));
        entry.lesson == Lesson::Lost || (won_by_this(entry) && same.filter(won_by_this).count() > 1)
    };
    let (mut this, mut others) = (0, 0);
    for entry in entries {
        let count = if entry.line.is_against(opponent) {
            &mut this
        } else {
            &mut others
        };
        *count += if is_lost(&entry) { 1 } else { -1 };
    }
    let others = if others >= OTHERS_COUNT_FROM {
        others
    } else {
        0
    };
    let penalty = AGAINST_THIS * this.max(0) + AGAINST_OTHERS * others;
    let last = entries
        .iter()
        .filter(is_lost)
        .max_by_key(|entry| entry.line.at)?;
    (penalty > 0).then(|| Advice {
        mv: last.mv,
        value: None,
        penalty,
        reason: Reason::Lost {
            game: last.line.game.clone(),
            times: this.max(0) + others,
        },
    })
}

#[cfg(test)]
mod tests;
