//! Generates openings: random lines that the engine evaluates as level.
//!
//! Each candidate has its own random generator, seeded by the run's seed and the candidate's number, and the
//! engine evaluates it with an empty hash table. Candidates count in the order of their numbers, so the file
//! does not depend on the number of threads, and an interrupted run continues where it stopped.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use super::append_file::{AppendFile, Contents};
use super::error::MatchError;
use super::runner::STACK_BYTES;
use crate::engine::{EngineOptions, Evaluator, Limits, SingleThread};
use crate::rules::{Game, Position};

/// The hash size per thread in megabytes: small, because each candidate clears it.
const HASH_MB: usize = 1;
/// The quick searches before the full one: the share of the nodes (1/n) and the factor on the greatest
/// score. The first rejects most candidates.
const LOOKS: [(u64, i32); 3] = [(64, 4), (12, 2), (1, 1)];
/// The attempts to draw a complete line.
const ATTEMPTS: u32 = 20;
/// Spreads candidate numbers over seeds; any odd number with well mixed bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    pub count: usize,
    pub seed: u64,
    /// The nodes of the full search.
    pub nodes: u64,
    /// The greatest absolute score in centipawns.
    pub most: i32,
    pub evaluator: Evaluator,
    /// The number of candidates searched at the same time.
    pub threads: usize,
    pub out: PathBuf,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorProgress {
    pub openings: usize,
    /// The candidates searched for them.
    pub candidates: u64,
}

/// A level position and the line that leads to it.
#[derive(Clone, Debug)]
struct BalancedOpening {
    game: Game,
    score: i32,
}

/// Generates openings until the file has the requested number.
pub fn generate(
    options: &GeneratorOptions,
    on_progress: impl FnMut(GeneratorProgress),
) -> Result<GeneratorProgress, MatchError> {
    fill(options, on_progress, || {
        let mut evaluator = OpeningEvaluator::new(options);
        move |number| evaluator.candidate(number)
    })
}

/// Fills the file with what `judge` accepts; each thread makes its own.
fn fill<J: FnMut(u64) -> Option<BalancedOpening>>(
    options: &GeneratorOptions,
    mut on_progress: impl FnMut(GeneratorProgress),
    judge: impl Fn() -> J + Sync,
) -> Result<GeneratorProgress, MatchError> {
    if options.count == 0 || options.threads == 0 || options.nodes == 0 {
        return Err(MatchError::Setup(
            "count, threads and nodes start at 1".to_owned(),
        ));
    }
    let (mut file, kept) = AppendFile::open(&options.out, |contents| {
        FoundOpenings::read(options, contents)
    })?;
    let is_new = kept.is_none();
    let mut kept = kept.unwrap_or_default();
    if is_new {
        file.append(&heading(options))?;
    }
    on_progress(kept.progress);
    let next = AtomicU64::new(kept.progress.candidates);
    let is_full = AtomicBool::new(kept.progress.openings >= options.count);
    thread::scope(|scope| {
        let (sender, judged) = channel();
        for _ in 0..options.threads {
            let (sender, next, is_full, judge) = (sender.clone(), &next, &is_full, &judge);
            let evaluator = move || {
                let mut judge = judge();
                while !is_full.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let place = format!("candidate {number} of --seed {}", options.seed);
                    let judged = MatchError::catch(&place, || judge(number));
                    if sender.send((number, judged)).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new()
                .name("evaluator".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, evaluator)
                .map_err(|error| MatchError::Setup(format!("no thread: {error}")))?;
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let outcome = judged.iter().try_for_each(|(number, level)| {
            waiting.insert(number, level?);
            while let Some(level) = waiting.remove(&kept.progress.candidates) {
                if kept.progress.openings < options.count {
                    kept.take(options, level, &mut file)?;
                    on_progress(kept.progress);
                }
                is_full.fetch_or(kept.progress.openings >= options.count, Ordering::Relaxed);
            }
            Ok(())
        });
        is_full.store(true, Ordering::Relaxed);
        outcome
    })?;
    Ok(kept.progress)
}

/// The first line of a file of openings, which identifies its run.
fn heading(options: &GeneratorOptions) -> String {
    format!(
        "# megaton openings: seed {}, 6 to 8 random plies, within {} centipawns at {} nodes, judged by {}",
        options.seed,
        options.most,
        options.nodes,
        options.evaluator.id()
    )
}

/// The openings generated so far.
#[derive(Default)]
struct FoundOpenings {
    progress: GeneratorProgress,
    keys: HashSet<u64>,
}

impl FoundOpenings {
    /// Those of a file, if it is not new.
    fn read(
        options: &GeneratorOptions,
        contents: Contents<'_>,
    ) -> Result<Option<Self>, MatchError> {
        let wanted = heading(options);
        if contents.is_new(&wanted) {
            return Ok(None);
        }
        let mut kept = Self::default();
        let mut lines = contents.lines.lines();
        let complain =
            |what: String| MatchError::Setup(format!("{} {what}", options.out.display()));
        let first = lines.next().unwrap_or_default();
        if first != wanted {
            return Err(complain(format!(
                "was not made this way; it should begin with {wanted:?}, and begins with {first:?}"
            )));
        }
        for (index, line) in lines.enumerate() {
            let read = || {
                let fields: Vec<&str> = line.split(' ').take(4).collect();
                let position = Position::from_fen(&format!("{} 0 1", fields.join(" "))).ok()?;
                let id = line.split("id \"").nth(1)?.split('"').next()?;
                Some((position.key(), id.rsplit('.').next()?.parse::<u64>().ok()?))
            };
            let (key, number) =
                read().ok_or_else(|| complain(format!("has no opening in line {}", index + 2)))?;
            kept.keys.insert(key);
            kept.progress.openings += 1;
            kept.progress.candidates = number + 1;
        }
        Ok(Some(kept))
    }

    /// Counts the next candidate, and keeps it if level and new.
    fn take(
        &mut self,
        options: &GeneratorOptions,
        level: Option<BalancedOpening>,
        file: &mut AppendFile,
    ) -> Result<(), MatchError> {
        let number = self.progress.candidates;
        self.progress.candidates += 1;
        let Some(level) = level else {
            return Ok(());
        };
        let position = level.game.position();
        if self.keys.insert(position.key()) {
            file.append(&line(options.seed, number, &level))?;
            self.progress.openings += 1;
        }
        Ok(())
    }
}

/// An opening as a line of EPD.
fn line(seed: u64, number: u64, level: &BalancedOpening) -> String {
    let position = level.game.position();
    let fen = position.fen();
    let fields: Vec<&str> = fen.split(' ').collect();
    let moves: Vec<String> = level.game.moves().iter().map(ToString::to_string).collect();
    format!(
        "{} ce {}; hmvc {}; fmvn {}; id \"{seed}.{number}\"; c0 \"{}\";",
        fields[..4].join(" "),
        level.score,
        position.halfmove_clock(),
        position.fullmoves(),
        moves.join(" "),
    )
}

struct OpeningEvaluator<'a> {
    options: &'a GeneratorOptions,
    engine: SingleThread,
}

impl<'a> OpeningEvaluator<'a> {
    fn new(options: &'a GeneratorOptions) -> Self {
        let engine = EngineOptions {
            hash_mb: HASH_MB,
            evaluator: options.evaluator.clone(),
            ..EngineOptions::default()
        };
        Self {
            options,
            engine: SingleThread::new(&engine),
        }
    }

    /// The candidate with this number, if it is level.
    fn candidate(&mut self, number: u64) -> Option<BalancedOpening> {
        let game = draw(self.options.seed, number)?;
        self.engine.new_game();
        let mut score = 0;
        for (share, times) in LOOKS {
            let nodes = (self.options.nodes / share).max(1);
            let result = self.engine.think(&game, &Limits::nodes(nodes));
            score = result.score.centipawns();
            let best = result.best?;
            let most = self.options.most.saturating_mul(times);
            if score.abs() > most || is_loud(game.position(), best) {
                return None;
            }
        }
        Some(BalancedOpening { game, score })
    }
}

fn is_loud(position: &Position, best: crate::rules::Move) -> bool {
    position.is_capture(best) || best.is_promotion()
}

/// A random line of six to eight half-moves, with equal chances of an odd and an even number; none if it
/// leads to a check, a pending explosion or the end of the game.
fn draw(seed: u64, number: u64) -> Option<Game> {
    let mut random = fastrand::Rng::with_seed(seed ^ (number + 1).wrapping_mul(SPREAD));
    let is_odd = random.bool();
    let plies = if is_odd {
        7
    } else if random.bool() {
        6
    } else {
        8
    };
    (0..ATTEMPTS).find_map(|_| {
        let mut game = Game::new();
        for _ in 0..plies {
            let moves = game.position().legal_moves();
            if moves.is_empty() {
                return None;
            }
            game.push(moves[random.usize(..moves.len())]);
        }
        let position = game.position();
        let is_calm = position.outcome().is_none()
            && !position.in_check()
            && !position.can_explode()
            && !position.is_threatened();
        is_calm.then_some(game)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::opening::parse_openings;
    use super::*;

    fn options(out: &Path, count: usize) -> GeneratorOptions {
        GeneratorOptions {
            count,
            seed: 5,
            nodes: 640,
            most: 120,
            evaluator: Evaluator::classical(),
            threads: 1,
            out: out.to_owned(),
        }
    }

    #[test]
    fn the_file_is_the_same_whatever_the_threads_and_after_a_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let whole = generate(&options(&path("one"), 12), |_| {}).unwrap();
        assert_eq!(whole.openings, 12);
        let text = fs::read_to_string(path("one")).unwrap();
        let mut many = options(&path("many"), 12);
        many.threads = 3;
        generate(&many, |_| {}).unwrap();
        assert_eq!(fs::read_to_string(path("many")).unwrap(), text);
        for cut in [0, 30, text.len() / 2, text.len() - 1] {
            fs::write(path("cut"), &text[..cut]).unwrap();
            generate(&options(&path("cut"), 12), |_| {}).unwrap();
            assert_eq!(fs::read_to_string(path("cut")).unwrap(), text, "{cut}");
        }
        let more = generate(&options(&path("one"), 14), |_| {}).unwrap();
        assert_eq!(more.openings, 14);
        assert!(fs::read_to_string(path("one")).unwrap().starts_with(&text));
    }

    #[test]
    fn a_panic_of_the_engine_ends_the_run_and_names_the_candidate() {
        let folder = tempfile::tempdir().unwrap();
        for threads in [1, 3] {
            let path = folder.path().join(threads.to_string());
            let options = GeneratorOptions {
                threads,
                ..options(&path, 12)
            };
            let judge = || {
                let mut evaluator = OpeningEvaluator::new(&options);
                move |number| {
                    assert_ne!(number, 5, "the engine");
                    evaluator.candidate(number)
                }
            };
            let error = fill(&options, |_| {}, judge).unwrap_err().to_string();
            assert!(
                error.contains("panicked at candidate 5 of --seed 5"),
                "{error}"
            );
        }
    }

    #[test]
    fn openings_are_calm_new_and_of_both_parities() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openings.epd");
        generate(&options(&path, 24), |_| {}).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let openings = parse_openings(&text).unwrap();
        assert_eq!(openings.len(), 24);
        let blacks = openings
            .iter()
            .filter(|opening| opening.position.turn() == crate::rules::Color::Black)
            .count();
        assert!((4..=20).contains(&blacks), "{blacks}");
        for opening in &openings {
            assert!(!opening.position.in_check() && !opening.position.can_explode());
        }
        for line in text.lines().skip(1) {
            let moves = line.split("c0 \"").nth(1).unwrap().trim_end_matches("\";");
            let game = Game::from_uci_moves(moves).unwrap();
            assert!((6..=8).contains(&game.ply()));
            let board = line.split(' ').next().unwrap();
            assert!(game.position().fen().starts_with(board));
        }
    }

    #[test]
    fn without_a_bound_on_the_score_every_calm_line_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let mut any = options(&folder.path().join("openings.epd"), 2);
        any.most = i32::MAX;
        assert_eq!(generate(&any, |_| {}).unwrap().openings, 2);
    }

    #[test]
    fn a_file_of_another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openings.epd");
        generate(&options(&path, 1), |_| {}).unwrap();
        let mut other = options(&path, 1);
        other.seed = 6;
        let error = generate(&other, |_| {}).unwrap_err().to_string();
        assert!(
            error.contains("seed 6") && error.contains("seed 5"),
            "{error}"
        );
    }
}
