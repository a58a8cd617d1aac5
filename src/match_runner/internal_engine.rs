//! The built-in engine as a player: no process, no pipe, its own hash table.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use super::error::MatchError;
use super::limit::MoveLimit;
use super::player::{PlayedMove, Player, PlayerFault, TurnTime};
use crate::book::OwnBook;
use crate::engine::{Clock, EngineOptions, Evaluator, LEVELS, Level, Limits, SingleThread};
use crate::rules::Game;
use crate::tablebase::{BuiltIn, tablebases};

/// The default hash size in megabytes, as under UCI.
const HASH_MB: usize = 16;
const MOST_HASH_MB: usize = 65_536;
/// The default move overhead, as under UCI.
const OVERHEAD: Duration = Duration::from_millis(10);

/// The options of the engine.
#[derive(Clone, Debug)]
pub(super) struct EngineSettings {
    engine: EngineOptions,
    book: OwnBook,
    overhead: Duration,
    /// In centipawns; 0 unless set, so that a match of two versions is neutral.
    contempt: i32,
    /// Its limit of nodes a move, to give odds: in place of the match's, or beside another limit.
    nodes: Option<u64>,
    /// Plays on this level.
    level: Option<Level>,
}

impl EngineSettings {
    /// Reads options by name, in any letter case.
    pub(super) fn new(options: &[(String, String)]) -> Result<Self, String> {
        let mut settings = Self {
            engine: EngineOptions {
                hash_mb: HASH_MB,
                tables: tablebases(BuiltIn::On, None),
                ..EngineOptions::default()
            },
            book: OwnBook::default(),
            overhead: OVERHEAD,
            contempt: 0,
            nodes: None,
            level: None,
        };
        for (name, value) in options {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// The values of the search's parameters, in their order.
    #[cfg(any(test, feature = "tune"))]
    pub(super) fn params(&self) -> &[i32] {
        self.engine.params.values()
    }

    /// Sets an option by name, in any letter case.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "hash" => self.engine.hash_mb = number(name, value, 1..=MOST_HASH_MB)?,
            "nodes" => self.nodes = Some(number(name, value, 1..=u64::MAX)?),
            "level" => {
                let level = Level::named(value);
                self.level = Some(level.ok_or_else(|| {
                    let names = LEVELS.map(|level| level.name).join(", ");
                    format!("{name} is one of {names}, not {value:?}")
                })?);
            }
            "move overhead" | "overhead" => {
                self.overhead = Duration::from_millis(number(name, value, 0..=5000)?);
            }
            "contempt" => self.contempt = number(name, value, -100..=100)?,
            "evalfile" => {
                self.engine.evaluator =
                    Evaluator::named(Path::new(value)).map_err(|error| error.to_string())?;
            }
            "builtintables" => {
                let is_on = value
                    .parse()
                    .map_err(|_| format!("{name} is true or false, not {value:?}"))?;
                let built_in = if is_on { BuiltIn::On } else { BuiltIn::Off };
                self.engine.tables = tablebases(built_in, None);
            }
            "ownbook" | "bookfile" => return self.book.set(name, value).unwrap_or(Ok(())),
            _ => {
                return self.engine.params.set(name, value).unwrap_or_else(|| {
                    Err(format!(
                        "self has no option {name:?}; it has hash, evalfile, nodes, level, overhead, contempt, \
                         builtintables, ownbook and bookfile, and the parameters of the search if built with \
                         --features tune"
                    ))
                });
            }
        }
        Ok(())
    }
}

fn number<T: FromStr + PartialOrd + Display>(
    name: &str,
    value: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    let number = value.parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            format!("{name} takes a number from {least} to {most}, not {value:?}")
        })
}

pub(super) struct InternalEngine {
    engine: SingleThread,
    settings: EngineSettings,
}

impl InternalEngine {
    pub(super) fn new(settings: &EngineSettings) -> Self {
        Self {
            engine: SingleThread::new(&settings.engine),
            settings: settings.clone(),
        }
    }

    fn limits(&self, game: &Game, turn: &TurnTime) -> Limits {
        let limits = match turn.allowance {
            MoveLimit::Nodes { soft, hard } => Limits {
                soft_nodes: soft,
                ..Limits::nodes(hard)
            },
            MoveLimit::Depth(plies) => Limits::depth(plies),
            MoveLimit::Movetime(time) => Limits::movetime(time),
            MoveLimit::Clock {
                increment,
                nodes_per_ms,
                ..
            } => Limits {
                nodes_per_ms,
                ..Limits::clock(Clock {
                    time: turn.clocks[game.position().turn()],
                    increment,
                    moves_to_go: None,
                    overhead: self.settings.overhead,
                })
            },
        };
        let limits = Limits {
            contempt: self.settings.contempt,
            nodes: self.settings.nodes.or(limits.nodes),
            soft_nodes: limits.soft_nodes.filter(|_| self.settings.nodes.is_none()),
            ..limits
        };
        match &self.settings.level {
            Some(level) => level.limits(limits),
            None => limits,
        }
    }
}

impl Player for InternalEngine {
    fn new_game(&mut self) -> Result<(), PlayerFault> {
        self.engine.new_game();
        Ok(())
    }

    fn choose(&mut self, game: &Game, turn: &TurnTime) -> Result<PlayedMove, PlayerFault> {
        // The same match gives the same games.
        let seed = game.position().key() ^ ((game.ply() as u64) << 48);
        let mut random = fastrand::Rng::with_seed(seed);
        if let Some(mv) = self.settings.book.choose(game, &mut random) {
            return Ok(PlayedMove {
                mv,
                score: None,
                depth: None,
                nodes: 0,
            });
        }
        let limits = self.limits(game, turn);
        // A panic of the search must lose only this game.
        let result = catch_unwind(AssertUnwindSafe(|| self.engine.think(game, &limits)))
            .map_err(|_| PlayerFault::Crash("the search panicked".to_owned()))?;
        let chosen = match &self.settings.level {
            Some(level) => level.choose(&result, &mut random),
            None => result.best,
        };
        let mv = chosen.ok_or_else(|| PlayerFault::Illegal("no move at all".to_owned()))?;
        Ok(PlayedMove {
            mv,
            score: Some(result.score),
            depth: Some(result.depth),
            nodes: result.nodes,
        })
    }
}

/// Checks the options for the built-in engine.
pub(super) fn check(
    name: &str,
    options: &[(String, String)],
) -> Result<EngineSettings, MatchError> {
    EngineSettings::new(options).map_err(|reason| MatchError::Setup(format!("{name}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ByColor;

    fn settings(options: &[(&str, &str)]) -> Result<EngineSettings, String> {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        EngineSettings::new(&options)
    }

    #[test]
    fn it_thinks_as_long_as_any_other_engine_is_told_to() {
        let engine = InternalEngine::new(&settings(&[("overhead", "20")]).unwrap());
        let turn = |allowance| TurnTime {
            allowance,
            clocks: ByColor::from_fn(|_| Duration::from_secs(1)),
        };
        let time = Duration::from_millis(50);
        let limits = engine.limits(&Game::new(), &turn(MoveLimit::Movetime(time)));
        assert_eq!(limits.movetime, Some(time));
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
        assert_eq!(settings(&[("contempt", "-7")]).unwrap().contempt, -7);
        let unknown = settings(&[("level", "weak")]).unwrap_err();
        assert!(unknown.contains("beginner, easy"), "{unknown}");
        let bad = settings(&[("hash", "0")]).unwrap_err();
        assert!(bad.contains("from 1 to"), "{bad}");
        settings(&[("EvalFile", "classical")]).unwrap();
        let lost = settings(&[("evalfile", "no/such.net")]).unwrap_err();
        assert!(lost.contains("no/such.net"), "{lost}");
    }

    #[test]
    fn odds_of_nodes_hold_under_any_limit() {
        let engine = InternalEngine::new(&settings(&[("nodes", "60")]).unwrap());
        let clock = MoveLimit::parse_clock("1+0.01").unwrap();
        for allowance in [
            MoveLimit::Depth(9),
            clock,
            MoveLimit::Nodes {
                soft: Some(5),
                hard: 9,
            },
        ] {
            let turn = TurnTime {
                allowance,
                clocks: crate::rules::ByColor::from_fn(|_| Duration::from_secs(1)),
            };
            let limits = engine.limits(&Game::new(), &turn);
            assert_eq!((limits.nodes, limits.soft_nodes), (Some(60), None));
        }
    }

    #[test]
    fn a_move_of_its_book_costs_no_search_and_is_the_same_each_time() {
        let turn = TurnTime {
            allowance: MoveLimit::Depth(1),
            clocks: crate::rules::ByColor::from_fn(|_| Duration::ZERO),
        };
        let played = |options: &[(&str, &str)]| {
            let mut engine = InternalEngine::new(&settings(options).unwrap());
            engine.choose(&Game::new(), &turn).unwrap()
        };
        assert!(played(&[]).nodes > 0);
        let from_book = || played(&[("ownbook", "true")]);
        assert_eq!(from_book().nodes, 0);
        assert!((0..20).all(|_| from_book().mv == from_book().mv));
        let wrong = settings(&[("bookfile", "no/such.bin")]).unwrap_err();
        assert!(wrong.contains("no/such.bin"), "{wrong}");
    }
}
