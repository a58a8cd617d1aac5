//! This program's own engine as a player: no process, no pipe, a table of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use super::error::ContestError;
use super::limit::Allowance;
use super::player::{Choice, Fault, Player, Turn};
use crate::engine::{Clock, EngineOptions, Evaluator, Limits, SingleThread};
use crate::rules::Game;

/// Megabytes of table when nothing is asked for, the same as under UCI.
const HASH_MB: usize = 16;
const MOST_HASH_MB: usize = 65_536;
/// Held back of a clock for each move, the same as under UCI.
const OVERHEAD: Duration = Duration::from_millis(10);

/// What may be set.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    engine: EngineOptions,
    overhead: Duration,
    /// In place of what the match allows: odds.
    nodes: Option<u64>,
}

impl Settings {
    /// Reads options by name; case does not matter.
    pub(super) fn new(options: &[(String, String)]) -> Result<Self, String> {
        let mut settings = Self {
            engine: EngineOptions {
                hash_mb: HASH_MB,
                ..EngineOptions::default()
            },
            overhead: OVERHEAD,
            nodes: None,
        };
        for (name, value) in options {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "hash" => self.engine.hash_mb = number(name, value, 1, MOST_HASH_MB as u64)? as usize,
            "nodes" => self.nodes = Some(number(name, value, 1, u64::MAX)?),
            "move overhead" | "overhead" => {
                self.overhead = Duration::from_millis(number(name, value, 0, 5000)?);
            }
            "evalfile" => {
                self.engine.evaluator =
                    Evaluator::named(Path::new(value)).map_err(|error| error.to_string())?;
            }
            _ => {
                return Err(format!(
                    "self has no option {name:?}; it has hash, evalfile, nodes and overhead"
                ));
            }
        }
        Ok(())
    }
}

fn number(name: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = value.parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("{name} takes a number from {least} to {most}, not {value:?}"))
}

/// The engine at the board.
pub(super) struct Inside {
    engine: SingleThread,
    settings: Settings,
}

impl Inside {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            engine: SingleThread::new(&settings.engine),
            settings: settings.clone(),
        }
    }

    fn limits(&self, game: &Game, turn: &Turn) -> Limits {
        match turn.allowance {
            Allowance::Nodes { soft, hard } => Limits {
                soft_nodes: soft,
                ..Limits::nodes(self.settings.nodes.unwrap_or(hard))
            },
            Allowance::Depth(plies) => Limits::depth(plies),
            Allowance::Movetime(time) => {
                Limits::movetime(time.saturating_sub(self.settings.overhead))
            }
            Allowance::Clock { increment, .. } => Limits::clock(Clock {
                time: turn.clocks[game.position().turn()],
                increment,
                moves_to_go: None,
                overhead: self.settings.overhead,
            }),
        }
    }
}

impl Player for Inside {
    fn new_game(&mut self) -> Result<(), Fault> {
        self.engine.new_game();
        Ok(())
    }

    fn choose(&mut self, game: &Game, turn: &Turn) -> Result<Choice, Fault> {
        let limits = self.limits(game, turn);
        // A panic of the search loses this game and must not end the match.
        let thought = catch_unwind(AssertUnwindSafe(|| self.engine.think(game, &limits)))
            .map_err(|_| Fault::Crash("the search panicked".to_owned()))?;
        let mv = thought
            .best
            .ok_or_else(|| Fault::Illegal("no move at all".to_owned()))?;
        Ok(Choice {
            mv,
            score: Some(thought.score),
            depth: Some(thought.depth),
            nodes: thought.nodes,
        })
    }
}

/// Checks the options of a player that would play inside.
pub(super) fn check(name: &str, options: &[(String, String)]) -> Result<Settings, ContestError> {
    Settings::new(options).map_err(|reason| ContestError::Setup(format!("{name}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, &str)]) -> Result<Settings, String> {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Settings::new(&options)
    }

    #[test]
    fn options_are_read_by_name_and_bad_ones_explained() {
        let found = settings(&[("HASH", "3"), ("nodes", "500"), ("Move Overhead", "0")]).unwrap();
        assert_eq!((found.engine.hash_mb, found.nodes), (3, Some(500)));
        assert_eq!(found.overhead, Duration::ZERO);
        let unknown = settings(&[("Skill", "3")]).unwrap_err();
        assert!(
            unknown.contains("\"Skill\"") && unknown.contains("hash"),
            "{unknown}"
        );
        let bad = settings(&[("hash", "0")]).unwrap_err();
        assert!(bad.contains("from 1 to"), "{bad}");
        settings(&[("EvalFile", "classical")]).unwrap();
        let lost = settings(&[("evalfile", "no/such.net")]).unwrap_err();
        assert!(lost.contains("no/such.net"), "{lost}");
    }
}
