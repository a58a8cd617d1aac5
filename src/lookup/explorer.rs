//! Reads the opening explorer while nothing else is to do, and lets our search check what it finds.
//!
//! It works only while no game runs, and stops within a moment when one begins. Slow, broken or wrong
//! replies are named in the log and close the explorer for a while; a position that gets one is skipped for
//! a day. Its file has a thread of its own, since the disk may hang.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::breaker::{BreakerSettings, CircuitBreaker};
use super::cache::AgedCache;
use super::candidate_file::CandidateFile;
use super::candidates::{
    CandidateSet, CheckedMoves, ExploredKey, ExploredPosition, MOST_CANDIDATES, is_approved,
    played_moves,
};
use super::explorer_plan::{ExplorerPlan, ExplorerRules, ExplorerStep, ExplorerWalk};
use crate::engine::{Engine, Limits, Pool, SearchResult, StopReason};
use crate::lichess::{Error, LookupServer, UserId};
use crate::rules::{Game, Move, Position};

/// The file's name in the data folder.
pub const EXPLORER_FILE: &str = "explorer.jsonl";
/// Positions that may wait to be written.
const UNWRITTEN: usize = 64;
/// Pause before a file that cannot be written is opened again.
const REOPEN: Duration = Duration::from_secs(600);
/// How long a position that failed is skipped.
const SKIP: Duration = Duration::from_secs(24 * 3600);
/// Failed positions that are kept.
const SKIPPED: usize = 1000;

/// What the explorer must know of the bot.
pub trait ExplorerHost: Send + Sync {
    /// Waits until no game has run for a while.
    fn quiet(&self) -> BoxFuture<'_, ()>;
    /// Waits until a game runs.
    fn game(&self) -> BoxFuture<'_, ()>;
    /// The moves of our book; none where it knows nothing.
    fn book_moves(&self, position: &Position) -> Vec<Move>;
    /// Opponents whose openings are worth reading.
    fn regulars(&self) -> BoxFuture<'_, Vec<UserId>>;
}

/// The positions read so far. Clones share them.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// Positions of games with at least so many plies are not looked up.
    plies: usize,
    /// Centipawns that a move may cost.
    loss: u32,
    /// Locked only for a moment: a game asks for its moves.
    set: Arc<Mutex<CandidateSet>>,
    /// To the thread of the file.
    unwritten: SyncSender<ExploredPosition>,
}

impl Explorer {
    /// Keeps at most `capacity` positions of less than `plies`, in a file of this folder if there is
    /// one. A thread reads and writes it, and no one waits for that. A move may cost `loss` centipawns.
    pub fn open(folder: Option<&Path>, capacity: usize, plies: u32, loss: u32) -> Self {
        let (unwritten, positions) = mpsc::sync_channel(UNWRITTEN);
        let explorer = Self {
            plies: plies as usize,
            loss,
            set: Arc::new(Mutex::new(CandidateSet::new(capacity))),
            unwritten,
        };
        if let Some(folder) = folder {
            let (path, set) = (folder.join(EXPLORER_FILE), Arc::clone(&explorer.set));
            let keep = move || keep(&path, &set, positions);
            if let Err(error) = thread::Builder::new().name("explorer".into()).spawn(keep) {
                tracing::error!(%error, "no thread for the file of explored positions");
            }
        }
        explorer
    }

    /// The moves that the explorer found for a game's position in the opening and our search approved.
    pub fn approved(&self, game: &Game) -> Vec<Move> {
        let position = game.position();
        let key = (game.ply() < self.plies).then(|| ExploredKey::new(position, None));
        let known = key.and_then(|key| self.get(&key));
        known.map_or_else(Vec::new, |known| known.approved(position, self.loss))
    }

    pub fn get(&self, key: &ExploredKey) -> Option<ExploredPosition> {
        self.set.lock().get(key).cloned()
    }

    fn put(&self, position: ExploredPosition) {
        // While the disk hangs the rest is kept in memory only: a later run reads it again.
        let _ = self.unwritten.try_send(position.clone());
        self.set.lock().put(position);
    }
}

/// Reads the explorer as long as it is polled.
pub struct ExplorerTask<H> {
    pub explorer: Explorer,
    pub server: LookupServer,
    pub pool: Pool,
    pub rules: ExplorerRules,
    pub pace: BreakerSettings,
    /// The pause when nothing is left to read.
    pub again: Duration,
    pub host: H,
}

impl<H> std::fmt::Debug for ExplorerTask<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplorerTask").finish_non_exhaustive()
    }
}

impl<H: ExplorerHost> ExplorerTask<H> {
    pub async fn run(&self) {
        let mut breaker = CircuitBreaker::new(self.pace);
        let mut skipped = AgedCache::new(SKIPPED, SKIP);
        loop {
            self.host.quiet().await;
            let regulars = self.host.regulars().await;
            tokio::select! {
                () = self.read(&regulars, &mut breaker, &mut skipped) => {
                    tokio::time::sleep(self.again).await;
                }
                () = self.host.game() => {}
            }
        }
    }

    /// Reads until nothing is left.
    async fn read(
        &self,
        regulars: &[UserId],
        breaker: &mut CircuitBreaker,
        skipped: &mut AgedCache<ExploredKey, ()>,
    ) {
        let mut walk = ExplorerWalk::new(regulars);
        while let Some(step) = self.next(&mut walk, skipped).await {
            let key = match step {
                ExplorerStep::Ask { position, player } => {
                    let now = Instant::now();
                    if !breaker.admit(now) {
                        tokio::time::sleep(breaker.wait(now)).await;
                        continue;
                    }
                    let key = ExploredKey::new(&position, player.as_ref());
                    match self.ask(&position, player.as_ref()).await {
                        Ok(explored) => {
                            breaker.succeeded();
                            self.explorer.put(explored);
                            continue;
                        }
                        Err(error) => {
                            let closed_for = breaker.failed(&error, Instant::now());
                            tracing::warn!(%error, ?closed_for, "the explorer gave no usable answer");
                            // The network, the service and the token say nothing about the position.
                            let status = error.status();
                            if matches!(status, Some(401 | 403 | 429 | 500..))
                                || error.is_unreached()
                            {
                                continue;
                            }
                            key
                        }
                    }
                }
                ExplorerStep::Check { position } => match self.check(&position).await {
                    Some(checked) => {
                        self.explorer.put(checked);
                        continue;
                    }
                    None => ExploredKey::new(&position, None),
                },
            };
            skipped.put(key, (), Instant::now());
        }
    }

    async fn next(
        &self,
        walk: &mut ExplorerWalk<'_>,
        skipped: &AgedCache<ExploredKey, ()>,
    ) -> Option<ExplorerStep> {
        let capacity = self.explorer.set.lock().capacity();
        let plan = ExplorerPlan {
            rules: &self.rules,
            // A game asks for its moves meanwhile: the lock is free between two positions.
            known: &|key| self.explorer.get(key),
            capacity,
            book_moves: &|position| self.host.book_moves(position),
            is_skipped: &|key| skipped.get(key, Instant::now()).is_some(),
            now: seconds(),
        };
        walk.next(&plan).await
    }

    async fn ask(
        &self,
        position: &Position,
        player: Option<&UserId>,
    ) -> Result<ExploredPosition, Error> {
        let fen = position.fen();
        let reply = match player {
            Some(player) => {
                let side = position.turn().into();
                self.server.explore_player(player, side, &fen).await?
            }
            None => self.server.explore(&fen).await?,
        };
        let moves = played_moves(position, &reply).map_err(|wrong| Error::Protocol {
            reason: wrong.to_string(),
        })?;
        Ok(ExploredPosition {
            key: ExploredKey::new(position, player),
            at: seconds(),
            moves,
            checked: None,
        })
    }

    /// Searches the position, and then each frequent move of it; `None` if a search failed.
    async fn check(&self, position: &Position) -> Option<ExploredPosition> {
        let mut explored = self.explorer.get(&ExploredKey::new(position, None))?;
        let engine = self.pool.lease();
        let best = self.search(&engine, position, Vec::new()).await?;
        let mut checked = CheckedMoves {
            loss: self.rules.loss,
            best: best.best.map(|mv| mv.to_string()),
            ..CheckedMoves::default()
        };
        let frequent = explored.frequent(self.rules.min_games);
        for played in frequent.take(MOST_CANDIDATES) {
            let mv = position.parse_uci(&played.uci).ok()?;
            let score = if Some(mv) == best.best {
                best.score
            } else {
                self.search(&engine, position, vec![mv]).await?.score
            };
            let is_good = is_approved(best.score, score, self.rules.loss);
            tracing::debug!(fen = position.fen(), %mv, %score, best = %best.score, is_good, "checked");
            let list = if is_good {
                &mut checked.approved
            } else {
                &mut checked.refused
            };
            list.push(mv.to_string());
        }
        explored.checked = Some(checked);
        Some(explored)
    }

    /// Dropping the future stops the search.
    async fn search(
        &self,
        engine: &Engine,
        position: &Position,
        searchmoves: Vec<Move>,
    ) -> Option<SearchResult> {
        let limits = Limits {
            nodes: Some(self.rules.nodes),
            background: true,
            searchmoves,
            ..Limits::default()
        };
        let search = engine.think(&Game::from_position(*position), limits);
        let result = search.answer().await.ok()?;
        (result.ended != StopReason::Failed).then_some(result)
    }
}

/// Reads the file into the set, and appends positions until their source is gone.
fn keep(path: &Path, set: &Mutex<CandidateSet>, positions: Receiver<ExploredPosition>) {
    let capacity = set.lock().capacity();
    let mut read = CandidateSet::new(capacity);
    let mut file = CandidateFile::open(path, &mut read);
    set.lock().put_older(read);
    let (mut appended, mut opened) = (Some(0), Instant::now());
    for position in positions {
        // A file that has grown is written anew when it is opened. Opening one that cannot be written reads it
        // and logs the error, every time.
        if appended.map_or(opened.elapsed() >= REOPEN, |count| count >= capacity) {
            file = CandidateFile::open(path, &mut CandidateSet::new(capacity));
            (appended, opened) = (Some(0), Instant::now());
        }
        appended = file.append(&position).and(appended).map(|count| count + 1);
    }
}

/// Seconds since 1970.
fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_disk_that_hangs_delays_no_game_and_few_positions_wait_for_it() {
        let entry = |at| ExploredPosition {
            key: ExploredKey::new(&Position::default(), None),
            at,
            moves: Vec::new(),
            checked: Some(CheckedMoves {
                approved: vec!["g1f3".to_owned()],
                ..CheckedMoves::default()
            }),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EXPLORER_FILE);
        // A pipe hangs until the test uses its other end.
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        let home = folder.path().to_owned();
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || {
            let explorer = Explorer::open(Some(&home), UNWRITTEN, 16, 0);
            for at in 0..1000 {
                explorer.put(entry(at));
            }
            let _ = answer.send(explorer.approved(&Game::default()));
        });
        let approved = answered.recv_timeout(Duration::from_secs(60));
        assert_eq!(approved.expect("no one waits for the disk").len(), 1);
        fs::write(
            &path,
            concat!(r#"{"file":"megaton explorer","version":1}"#, "\n"),
        )
        .unwrap();
        // The thread ends, and with it this, once no explorer is left and all that waits is written.
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written.lines().count(), UNWRITTEN, "{written}");
    }

    #[test]
    fn a_file_that_grows_is_written_anew_while_the_program_runs() {
        let position = Position::default();
        let moves = position.legal_moves();
        let keys = moves
            .iter()
            .map(|mv| ExploredKey::new(&position.play(*mv), None));
        let keys: Vec<ExploredKey> = keys.take(10).collect();
        let (unwritten, positions) = mpsc::sync_channel(1000);
        for at in 0..1000 {
            let key = keys[at % keys.len()].clone();
            let explored = ExploredPosition {
                key,
                at: at as u64,
                moves: Vec::new(),
                checked: None,
            };
            unwritten.send(explored).unwrap();
        }
        drop(unwritten);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EXPLORER_FILE);
        keep(&path, &Mutex::new(CandidateSet::new(keys.len())), positions);
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 1 + 5 * keys.len(), "{lines}");
        let set = Mutex::new(CandidateSet::new(keys.len()));
        let (_, nothing) = mpsc::sync_channel(1);
        keep(&path, &set, nothing);
        let read: Vec<u64> = set.lock().iter().map(|position| position.at).collect();
        assert_eq!(read, (990..1000).collect::<Vec<_>>(), "the latest of each");
    }
}
