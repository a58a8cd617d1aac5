//! A tuning of the search's parameters: steps of `spsa`, each a pair of games of the built-in engine against
//! itself, and a journal from which an interrupted tuning continues.
//!
//! One worker at fixed nodes gives the same result each time, however often it was interrupted. Several workers
//! begin their steps with the values of that moment and learn in the order in which their pairs end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::error::MatchError;
use super::internal_engine::{EngineSettings, InternalEngine, check};
use super::journal::{Heading, Journal, JournalLine};
use super::limit::MoveLimit;
use super::opening::{Opening, digest};
use super::player::Player;
use super::referee::{GameTerms, play as referee};
use super::runner::STACK_BYTES;
use super::spec::PlayerSpec;
use super::spsa::{FinishedStep, SideValues, Spsa, SpsaOptions, TunedParameter};
use super::stall_detector::StallDetector;
use crate::engine::TUNABLES;
use crate::rules::{ByColor, Color, Position};

/// How the names of the parameters of time management begin.
const TIME: &str = "time_";
/// The half-moves after which a game is drawn, and the time past the clock before it is lost.
const MOST_PLIES: usize = 400;
const MARGIN: Duration = Duration::from_millis(50);

/// A tuning as it is asked for.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// `self` with its start values.
    pub player: PlayerSpec,
    /// The names of the parameters; `*` at the end of a name stands for any rest.
    pub names: Vec<String>,
    pub limit: MoveLimit,
    pub openings: Vec<Opening>,
    pub options: SpsaOptions,
    /// The number of games at the same time.
    pub concurrency: usize,
    /// The file that records each step as it ends.
    pub journal: PathBuf,
}

impl JournalLine for FinishedStep {
    const WHOLE: &'static str = "tuning";
    const PART: &'static str = "step";
}

/// Tunes until all steps are done, or until `interrupt` is set: then the games in progress are finished. Calls `on_progress`
/// at the beginning and after each step.
///
/// # Errors
/// When a parameter is unknown, the journal is of another tuning or cannot be written, or no thread can start.
pub fn tune(
    tuning: &Tuning,
    interrupt: &AtomicBool,
    on_progress: impl FnMut(&Spsa) + Send,
) -> Result<Spsa, MatchError> {
    let games = PairGames::new(tuning)?;
    let all = TUNABLES.iter().zip(games.settings.params());
    let all = all.map(|(tunable, start)| TunedParameter::new(*tunable, *start));
    let parameters = selected(all.collect(), &tuning.names, &tuning.limit)?;
    let spsa = Spsa::new(tuning.options, parameters);
    let heading = tuning.heading(&spsa)?;
    let shared = SharedTuning::open(spsa, &tuning.journal, &heading, on_progress)?;
    thread::scope(|scope| {
        if !tuning.limit.is_fixed() {
            for core in games.stalls.cores() {
                scope.spawn(|| core.watch(&games.called_off));
            }
        }
        let tuned = run(
            shared,
            tuning.concurrency,
            interrupt,
            &games.called_off,
            |step, sides| games.play(step, sides),
        );
        games.called_off.store(true, Ordering::Relaxed);
        tuned
    })
}

impl Tuning {
    fn check(&self) -> Result<EngineSettings, MatchError> {
        let refuse = |text: &str| Err(MatchError::Setup(text.to_owned()));
        if !self.player.is_inside() {
            return refuse("only self can be tuned");
        }
        if self.openings.is_empty() || self.options.steps == 0 || self.concurrency == 0 {
            return refuse("a tuning needs at least one opening, one step and one worker");
        }
        if !(self.options.gain > 0.0 && self.options.gain <= 1.0) {
            return refuse("the gain is a number above 0 and at most 1; 0.002 is usual");
        }
        check(&self.player.to_string(), &self.player.options)
    }

    /// The first line of the journal of this tuning.
    fn heading(&self, spsa: &Spsa) -> Result<Heading, MatchError> {
        let parameters = spsa.parameters.iter();
        let parameters = parameters.map(|it| {
            let (name, step) = (it.tunable.name, it.tunable.step);
            format!("{name}={} step {step}", it.start)
        });
        let mut heading = Heading::new();
        let mut put = |name: &str, value: serde_json::Value| {
            heading.insert(name.to_owned(), value);
        };
        put("megaton_tuning", 1.into());
        put("player", self.player.to_string().into());
        put("player_files", self.player.digest_of_files()?.into());
        put("parameters", parameters.collect::<Vec<_>>().into());
        put("limit", self.limit.to_string().into());
        put("openings", digest(&self.openings).into());
        put("steps", self.options.steps.into());
        put("gain", self.options.gain.into());
        put("seed", self.options.seed.into());
        Ok(heading)
    }

    /// The player with the results.
    pub fn tuned_player(&self, spsa: &Spsa) -> PlayerSpec {
        let results = spsa.parameters.iter();
        let results = results.map(|it| (it.tunable.name.to_owned(), it.result().to_string()));
        self.player.with_options(&results.collect::<Vec<_>>())
    }
}

/// The parameters with these names, in the order of the list. Without a clock those of time management are left
/// out.
fn selected(
    all: Vec<TunedParameter>,
    names: &[String],
    limit: &MoveLimit,
) -> Result<Vec<TunedParameter>, MatchError> {
    let is_named = |it: &TunedParameter, name: &str| match name.strip_suffix('*') {
        Some(start) => it.tunable.name.starts_with(start),
        None => it.tunable.name == name,
    };
    let has_clock = matches!(limit, MoveLimit::Clock { .. });
    let matters = |it: &TunedParameter| has_clock || !it.tunable.name.starts_with(TIME);
    for name in names {
        let mut found = all.iter().filter(|it| is_named(it, name)).peekable();
        let complaint = if found.peek().is_none() {
            format!("there is no parameter {name:?}; `megaton uci` lists them among its options")
        } else if !found.any(matters) {
            format!("{name} matters to games with a clock only; add --tc, such as --tc 10+0.1@20")
        } else {
            continue;
        };
        return Err(MatchError::Setup(complaint));
    }
    let is_selected =
        |it: &TunedParameter| matters(it) && names.iter().any(|name| is_named(it, name));
    let parameters: Vec<_> = all.into_iter().filter(is_selected).collect();
    if parameters.is_empty() {
        return Err(MatchError::Setup("name at least one parameter".to_owned()));
    }
    Ok(parameters)
}

/// What the workers share.
struct SharedTuning<F> {
    spsa: Spsa,
    journal: Journal<FinishedStep>,
    /// The steps that are still to play, in order.
    missing: VecDeque<u64>,
    on_progress: F,
}

impl<F: FnMut(&Spsa)> SharedTuning<F> {
    /// Opens the journal, and learns what it has.
    fn open(
        mut spsa: Spsa,
        path: &Path,
        heading: &Heading,
        mut on_progress: F,
    ) -> Result<Self, MatchError> {
        let (journal, kept) = Journal::<FinishedStep>::open(path, heading)?;
        let mut is_missing = vec![true; spsa.options.steps as usize];
        for finished in kept {
            match is_missing.get_mut(finished.step as usize) {
                Some(missing) if *missing && (-2..=2).contains(&finished.points) => {
                    *missing = false;
                }
                _ => {
                    return Err(MatchError::Setup(format!(
                        "{}: step {} is there twice or cannot be; delete its last line",
                        path.display(),
                        finished.step
                    )));
                }
            }
            spsa.learn(finished);
        }
        on_progress(&spsa);
        let missing = (0..).zip(is_missing);
        Ok(Self {
            spsa,
            journal,
            missing: missing
                .filter_map(|(step, missing)| missing.then_some(step))
                .collect(),
            on_progress,
        })
    }

    /// The next step, with the values of both sides.
    fn next(&mut self) -> Option<(u64, [SideValues; 2])> {
        let step = self.missing.pop_front()?;
        Some((step, self.spsa.sides(step)))
    }

    /// Records a step, then learns from it: what is learnt is never lost.
    fn finish(&mut self, finished: FinishedStep) -> Result<(), MatchError> {
        self.journal.keep(&finished)?;
        self.spsa.learn(finished);
        (self.on_progress)(&self.spsa);
        Ok(())
    }
}

/// Plays the missing steps by `play`, which gives none once it is called off.
fn run<F: FnMut(&Spsa) + Send>(
    shared: SharedTuning<F>,
    concurrency: usize,
    interrupt: &AtomicBool,
    called_off: &AtomicBool,
    play: impl Fn(u64, &[SideValues; 2]) -> Result<Option<FinishedStep>, MatchError> + Sync,
) -> Result<Spsa, MatchError> {
    let workers = concurrency.min(shared.missing.len());
    let shared = Mutex::new(shared);
    let end = |_: &MatchError| called_off.store(true, Ordering::Relaxed);
    let work = || -> Result<(), MatchError> {
        while !interrupt.load(Ordering::Relaxed) {
            let Some((step, sides)) = shared.lock().next() else {
                break;
            };
            let Some(finished) = play(step, &sides).inspect_err(end)? else {
                break;
            };
            let mut shared = shared.lock();
            // Nothing may follow the remains of a line that could not be written.
            if called_off.load(Ordering::Relaxed) {
                break;
            }
            shared.finish(finished).inspect_err(end)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let started = (0..workers).map(|_| {
            let builder = thread::Builder::new()
                .name("worker".to_owned())
                .stack_size(STACK_BYTES);
            let started = builder.spawn_scoped(scope, work);
            started
                .map_err(|error| MatchError::Setup(format!("no thread for a worker: {error}")))
                .inspect_err(end)
        });
        let started: Vec<_> = started.collect();
        started.into_iter().try_for_each(|worker| {
            let failed = |_| Err(MatchError::Setup("a worker failed".to_owned()));
            worker?.join().unwrap_or_else(failed)
        })
    })?;
    Ok(shared.into_inner().spsa)
}

/// The games of a tuning.
struct PairGames {
    settings: EngineSettings,
    terms: GameTerms,
    starts: Vec<Position>,
    stalls: StallDetector,
    called_off: AtomicBool,
}

impl PairGames {
    fn new(tuning: &Tuning) -> Result<Self, MatchError> {
        let settings = tuning.check()?;
        let openings = tuning.openings.iter();
        let mut starts: Vec<_> = openings.map(|opening| opening.position).collect();
        fastrand::Rng::with_seed(tuning.options.seed).shuffle(&mut starts);
        Ok(Self {
            settings,
            terms: GameTerms {
                allowance: tuning.limit,
                margin: MARGIN,
                most_plies: MOST_PLIES,
                adjudicates: true,
            },
            starts,
            stalls: StallDetector::of_this_machine(),
            called_off: AtomicBool::new(false),
        })
    }

    /// Plays the pair of a step.
    fn play(&self, step: u64, sides: &[SideValues; 2]) -> Result<Option<FinishedStep>, MatchError> {
        let start = self.starts[step as usize % self.starts.len()];
        let mut finished = FinishedStep {
            step,
            points: 0,
            forfeits: 0,
        };
        let mut engines = self.engines(sides)?;
        for up_has in Color::ALL {
            let [up, down] = &mut engines;
            let (up, down): (&mut dyn Player, &mut dyn Player) = (up, down);
            let (white, black) = match up_has {
                Color::White => (up, down),
                Color::Black => (down, up),
            };
            let mut players = ByColor { white, black };
            let (stalls, called_off) = (&self.stalls, &self.called_off);
            let played = referee(start, &mut players, &self.terms, stalls, called_off);
            let Some(played) = played else {
                return Ok(None);
            };
            finished.points += match played.winner {
                Some(winner) if winner == up_has => 1,
                Some(_) => -1,
                None => 0,
            };
            if played.fault.is_some() {
                finished.forfeits += 1;
                engines = self.engines(sides)?;
            }
        }
        Ok(Some(finished))
    }

    fn engines(&self, sides: &[SideValues; 2]) -> Result<[InternalEngine; 2], MatchError> {
        let [up, down] = sides;
        Ok([self.engine(up)?, self.engine(down)?])
    }

    fn engine(&self, side: &SideValues) -> Result<InternalEngine, MatchError> {
        let mut settings = self.settings.clone();
        for (name, value) in side {
            let set = settings.set(name, &value.to_string());
            set.map_err(MatchError::Setup)?;
        }
        Ok(InternalEngine::new(&settings))
    }
}

#[cfg(test)]
mod tests;
