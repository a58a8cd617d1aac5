//! Grows an opening book: searches the positions that its graph wants next, and proves wins.
//!
//! Each result is a line of a file that is only ever appended to, so a run can be killed at any byte
//! and continues where it stopped; files of several runs may be joined. A damaged line is named and
//! left out. It does not decide which positions are worth a search: `book::Graph` does.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::append_file::{AppendFile, Contents};
use super::error::MatchError;
use super::runner::STACK_BYTES;
use crate::book::{Candidate, Expansion, Graph, Leaf, prove, record};
use crate::engine::{EngineOptions, Evaluator, Limits, Ranked, Score, SingleThread};
use crate::rules::{Game, Position};

/// The hash size per thread in megabytes.
const HASH_MB: usize = 32;
/// Scores beyond this, in centipawns, are worth a proof.
const WORTH_A_PROOF: i32 = 600;
/// Leaves asked for at once.
const LEAVES: usize = 16;
/// The niceness of a background worker: the highest.
const BACKGROUND_NICENESS: i32 = 19;
/// How long a worker waits for another one to find leaves.
const NAP: Duration = Duration::from_millis(200);

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct GrowOptions {
    pub out: PathBuf,
    /// Stop at this many positions, those of earlier runs included.
    pub positions: usize,
    /// The nodes of a search, for all its lines.
    pub nodes: u64,
    /// The moves of a position that are compared.
    pub lines: usize,
    pub expansion: Expansion,
    /// The positions that a proof may visit.
    pub proof_nodes: u64,
    pub evaluator: Evaluator,
    pub threads: usize,
    /// Whether the threads run at the lowest priority.
    pub in_background: bool,
    /// Lines that are searched first, as positions.
    pub seeds: Vec<Position>,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrowProgress {
    /// Positions in the file.
    pub positions: usize,
    /// Damaged lines of the file, with the number of the first and what is wrong with it.
    pub damaged: usize,
    pub first_damage: Option<String>,
}

/// The state that the workers share.
struct Shared<'a> {
    state: Mutex<State>,
    changed: Condvar,
    options: &'a GrowOptions,
    stop: &'a AtomicBool,
}

struct State {
    graph: Graph,
    file: AppendFile,
    /// Positions that a worker searches.
    busy: Vec<u64>,
    seeds: Vec<Position>,
    failure: Option<MatchError>,
}

/// The graph in a file, and what is wrong with it.
pub fn read_graph(text: &str) -> (Graph, GrowProgress) {
    let mut graph = Graph::new(Position::default());
    let mut progress = GrowProgress::default();
    for (index, line) in text.lines().enumerate() {
        if let Err(error) = graph.read(line) {
            progress.damaged += 1;
            let place = format!("line {}: {error}", index + 1);
            progress.first_damage.get_or_insert(place);
        }
    }
    progress.positions = graph.len();
    (graph, progress)
}

/// The graph in a file that is to grow: one without any readable line is another file, unless it is
/// the beginning of a line, whose writer died.
fn graph_of(path: &Path, contents: Contents<'_>) -> Result<(Graph, GrowProgress), MatchError> {
    let (graph, progress) = read_graph(contents.lines);
    let board = contents.rest.split(|&byte| byte == b' ').next();
    let is_board = board.is_none_or(|it| {
        it.iter()
            .all(|byte| b"pnbrqkPNBRQK12345678/".contains(byte))
    });
    let is_new = contents.lines.is_empty() && is_board;
    if progress.positions == 0 && !is_new {
        let path = path.display();
        let why = format!("{path} is not a book that grows: it has no line with a position");
        return Err(MatchError::Setup(why));
    }
    Ok((graph, progress))
}

/// Adds the positions of a graph to the book in a file that lacks them; returns how many.
pub fn import(out: &Path, graph: &Graph) -> Result<usize, MatchError> {
    let (mut file, (known, _)) = AppendFile::open(out, |contents| graph_of(out, contents))?;
    let mut added = 0;
    for position in graph.positions() {
        if !known.contains(position) {
            file.append(&record(position, &graph.candidates(position)))?;
            added += 1;
        }
    }
    Ok(added)
}

/// Grows the book in a file until it has the wanted size, nothing is left to search, or `stop` is set.
pub fn grow(
    options: &GrowOptions,
    stop: &AtomicBool,
    on_progress: impl Fn(&GrowProgress) + Sync,
) -> Result<GrowProgress, MatchError> {
    if options.nodes == 0 || options.lines == 0 || options.threads == 0 {
        return Err(MatchError::Setup(
            "--nodes, --moves and --threads start at 1".to_owned(),
        ));
    }
    let (file, (graph, mut progress)) =
        AppendFile::open(&options.out, |contents| graph_of(&options.out, contents))?;
    on_progress(&progress);
    let shared = Shared {
        state: Mutex::new(State {
            graph,
            file,
            busy: Vec::new(),
            seeds: options.seeds.clone(),
            failure: None,
        }),
        changed: Condvar::new(),
        options,
        stop,
    };
    let (seen, shared) = (&progress, &shared);
    thread::scope(|scope| {
        for _ in 0..options.threads {
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            let work = || {
                shared.work(|positions| {
                    on_progress(&GrowProgress {
                        positions,
                        ..seen.clone()
                    });
                });
            };
            if let Err(error) = builder.spawn_scoped(scope, work) {
                shared.fail(MatchError::file(Path::new("a thread"))(error));
            }
        }
    });
    if let Some(failure) = shared.state.lock().failure.take() {
        return Err(failure);
    }
    progress.positions = shared.state.lock().graph.len();
    Ok(progress)
}

impl Shared<'_> {
    fn fail(&self, failure: MatchError) {
        self.state.lock().failure.get_or_insert(failure);
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Searches one position after another.
    fn work(&self, on_progress: impl Fn(usize)) {
        if self.options.in_background {
            // On Linux this is the priority of the thread, not of the process. A failure is harmless.
            let _ = rustix::process::nice(BACKGROUND_NICENESS);
        }
        let mut engine = SingleThread::new(&EngineOptions {
            hash_mb: HASH_MB,
            evaluator: self.options.evaluator.clone(),
            ..EngineOptions::default()
        });
        while let Some(position) = self.next() {
            let search = || self.search(&mut engine, &position);
            let candidates = match MatchError::catch(&position.fen(), search) {
                Ok(candidates) => candidates,
                Err(failure) => return self.fail(failure),
            };
            let mut state = self.state.lock();
            state.busy.retain(|key| *key != position.key());
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if let Err(failure) = state.file.append(&record(&position, &candidates)) {
                drop(state);
                return self.fail(failure);
            }
            state.graph.insert(&position, &candidates);
            let positions = state.graph.len();
            drop(state);
            self.changed.notify_all();
            on_progress(positions);
        }
        self.changed.notify_all();
    }

    /// The next position, marked as busy; none at the end.
    fn next(&self) -> Option<Position> {
        let mut state = self.state.lock();
        loop {
            let planned = state.graph.len() + state.busy.len();
            if self.stop.load(Ordering::Relaxed) || planned >= self.options.positions {
                return None;
            }
            let seed = state.next_seed();
            let found = seed.or_else(|| state.next_leaf(self.options.expansion));
            if let Some(position) = found {
                state.busy.push(position.key());
                return Some(position);
            }
            if state.busy.is_empty() {
                return None;
            }
            self.changed.wait_for(&mut state, NAP);
        }
    }

    /// The moves of a position, best first.
    fn search(&self, engine: &mut SingleThread, position: &Position) -> Vec<Candidate> {
        let limits = Limits {
            multipv: self.options.lines,
            ..Limits::nodes(self.options.nodes)
        };
        let result = engine.think(&Game::from_position(*position), &limits);
        let only = result.best.map(|mv| Ranked {
            mv,
            score: result.score,
        });
        let ranking = if result.ranking.is_empty() {
            only.into_iter().collect()
        } else {
            result.ranking
        };
        let candidates = ranking.iter().map(|ranked| self.judged(position, *ranked));
        candidates.collect()
    }

    /// A move with its score and, if one side seems to win, a proof of that.
    fn judged(&self, position: &Position, Ranked { mv, score }: Ranked) -> Candidate {
        let mut candidate = Candidate {
            mv,
            score: score.centipawns().clamp(-2_000, 2_000),
            win_in: None,
            loss_in: None,
        };
        let child = position.play(mv);
        let plies = |attacker| {
            let proof = prove(&child, attacker, self.options.proof_nodes);
            proof.map(|(_, plies)| plies + 1)
        };
        if candidate.score > WORTH_A_PROOF || matches!(score, Score::Mate(moves) if moves > 0) {
            candidate.win_in = plies(position.turn());
        } else if candidate.score < -WORTH_A_PROOF {
            candidate.loss_in = plies(!position.turn());
        }
        candidate
    }
}

impl State {
    fn next_seed(&mut self) -> Option<Position> {
        while let Some(position) = self.seeds.pop() {
            if self.is_open(&position) && position.outcome().is_none() {
                return Some(position);
            }
        }
        None
    }

    fn next_leaf(&self, expansion: Expansion) -> Option<Position> {
        let leaves = self.graph.leaves(expansion, LEAVES + self.busy.len());
        let open = |leaf: &&Leaf| self.is_open(&leaf.position);
        leaves.iter().find(open).map(|leaf| leaf.position)
    }

    fn is_open(&self, position: &Position) -> bool {
        !self.graph.contains(position) && !self.busy.contains(&position.key())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_without_positions_is_no_book_that_grows() {
        let path = Path::new("diary");
        let refused = |lines, rest| graph_of(path, Contents { lines, rest }).is_err();
        assert!(!refused("", b""));
        assert!(!refused("", b"rnbqkbnr/pppppppp/8/8/8"));
        assert!(refused("Dear diary\n", b""));
        assert!(refused("", b"Dear diary"));
    }

    fn options(out: PathBuf, positions: usize) -> GrowOptions {
        GrowOptions {
            out,
            positions,
            nodes: 300,
            lines: 3,
            expansion: Expansion::Broad,
            proof_nodes: 500,
            evaluator: Evaluator::default(),
            threads: 1,
            in_background: false,
            seeds: Vec::new(),
        }
    }

    fn run(options: &GrowOptions) -> GrowProgress {
        grow(options, &AtomicBool::new(false), |_| {}).expect("it grows")
    }

    #[test]
    fn a_run_killed_at_any_byte_continues() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("book.graph");
        assert_eq!(run(&options(out.clone(), 12)).positions, 12);
        let whole = fs::read(&out).unwrap();
        for cut in (0..whole.len()).step_by(whole.len() / 25) {
            fs::write(&out, &whole[..cut]).unwrap();
            let again = run(&options(out.clone(), 12));
            assert_eq!((again.positions, again.damaged), (12, 0), "cut at {cut}");
        }
    }

    #[test]
    fn a_damaged_line_is_named_and_its_position_searched_again() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("book.graph");
        run(&options(out.clone(), 6));
        let whole = fs::read(&out).unwrap();
        let at = whole.iter().position(|&byte| byte == b':').unwrap();
        // The second bit turns text into what is not text.
        for bit in [1, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= bit;
            fs::write(&out, damaged).unwrap();
            let again = run(&options(out.clone(), 6));
            assert_eq!((again.positions, again.damaged), (6, 1));
            let damage = again.first_damage.unwrap();
            assert!(damage.starts_with("line 1: the checksum"), "{damage}");
        }
    }

    #[test]
    fn several_threads_search_no_position_twice_and_seeds_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("book.graph");
        let seed = Position::default();
        let seed = seed.play(seed.parse_uci("a2a3").unwrap());
        let options = GrowOptions {
            threads: 3,
            seeds: vec![seed],
            ..options(out.clone(), 30)
        };
        assert_eq!(run(&options).positions, 30);
        let text = fs::read_to_string(&out).unwrap();
        let (graph, progress) = read_graph(&text);
        assert_eq!((text.lines().count(), progress.damaged), (30, 0));
        assert!(graph.contains(&seed));
    }
}
