//! A match: the plan, the workers, and the count in the order of the plan.
//!
//! However many games run at once and whichever ends first, pairs are counted in their order, and
//! the sequential test looks at them in that order. With fixed nodes or depth the result is
//! therefore the same each time, and quick games have no louder voice than slow ones.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::error::MatchError;
use super::journal::{Heading, Journal};
use super::limit::MoveLimit;
use super::opening::{Opening, digest};
use super::players::{PlayerFactory, PlayerSlot};
use super::record::{GameRecord, MatchSide};
use super::referee::{GameTerms, PlayedGame, play as referee};
use super::score::MatchScore;
use super::spec::PlayerSpec;
use super::sprt::{Sprt, SprtVerdict};
use super::stall_detector::StallDetector;
use crate::rules::ByColor;

/// Stack of a thread that searches.
pub(super) const STACK_BYTES: usize = 16 << 20;

/// A match as it is asked for.
#[derive(Clone, Debug)]
pub struct Match {
    /// A, whose strength is asked for, and B.
    pub players: [PlayerSpec; 2],
    /// The limit for a move.
    pub allowance: MoveLimit,
    pub openings: Vec<Opening>,
    /// The seed for the order of the openings.
    pub seed: u64,
    /// The maximum number of pairs.
    pub pairs: usize,
    /// The number of games at the same time.
    pub concurrency: usize,
    /// The test that ends the match once it decides.
    pub sprt: Option<Sprt>,
    /// Whether agreeing scores may end a game.
    pub adjudicates: bool,
    /// The half-moves after which a game is drawn.
    pub most_plies: usize,
    /// The time by which a player may exceed its clock.
    pub margin: Duration,
    /// The wait for an overdue answer.
    pub watchdog: Duration,
    /// Whether to leave out pairs with a forfeit by A or by B.
    pub drops: [bool; 2],
    /// The file that records each game as it ends.
    pub journal: Option<PathBuf>,
}

/// The result of a match.
#[derive(Debug)]
pub struct MatchReport {
    pub score: MatchScore,
    /// The verdict of the test, if there was one.
    pub verdict: Option<SprtVerdict>,
    /// The games of the counted and the dropped pairs, in order.
    pub games: Vec<GameRecord>,
    /// What ended it before its time.
    pub failed: Option<MatchError>,
}

impl Match {
    fn check(&self) -> Result<(), MatchError> {
        let refuse = |text: String| Err(MatchError::Setup(text));
        let openings = self.openings.len();
        if self.pairs == 0 || self.concurrency == 0 {
            return refuse("a match needs at least one pair and one worker".to_owned());
        }
        if self.allowance.is_fixed() && self.pairs > openings {
            return refuse(format!(
                "{} games need {} openings and there are {openings}: without a real \
                 clock a repeated opening is a repeated game",
                2 * self.pairs,
                self.pairs
            ));
        }
        if self.allowance.needs_built_in_players()
            && self.players.iter().any(|player| !player.is_inside())
        {
            return refuse(
                "--soft-nodes, and a clock that counts nodes, need `self` on both sides".to_owned(),
            );
        }
        Ok(())
    }

    fn terms(&self) -> GameTerms {
        GameTerms {
            allowance: self.allowance,
            margin: self.margin,
            most_plies: self.most_plies,
            adjudicates: self.adjudicates,
        }
    }

    /// The opening of each pair.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.openings.len()).collect();
        fastrand::Rng::with_seed(self.seed).shuffle(&mut order);
        order
    }

    /// The first line of the journal of this match.
    fn heading(&self) -> Result<Heading, MatchError> {
        let mut heading = Heading::new();
        let mut put = |name: &str, value: serde_json::Value| {
            heading.insert(name.to_owned(), value);
        };
        put("megaton_match", 1.into());
        for (name, player) in ["a", "b"].into_iter().zip(&self.players) {
            put(name, player.to_string().into());
            put(&format!("{name}_files"), player.digest_of_files()?.into());
        }
        put("limit", self.allowance.to_string().into());
        put("openings", digest(&self.openings).into());
        put("seed", self.seed.into());
        put("adjudication", self.adjudicates.into());
        put("longest_game", self.most_plies.into());
        put("margin_ms", (self.margin.as_millis() as u64).into());
        put("watchdog_s", self.watchdog.as_secs().into());
        Ok(heading)
    }
}

/// The games so far, which count in order.
struct ScoreBook<'a> {
    contest: &'a Match,
    /// Games of incomplete pairs, and of pairs after an incomplete one.
    waiting: BTreeMap<usize, [Option<GameRecord>; 2]>,
    counted: usize,
    report: MatchReport,
}

impl<'a> ScoreBook<'a> {
    fn new(contest: &'a Match) -> Self {
        Self {
            contest,
            waiting: BTreeMap::new(),
            counted: 0,
            report: MatchReport {
                score: MatchScore {
                    ratio: contest.sprt.map(|_| 0.0),
                    ..MatchScore::default()
                },
                verdict: contest.sprt.map(|_| SprtVerdict::Undecided),
                games: Vec::new(),
                failed: None,
            },
        }
    }

    /// Adds a game, and counts the pairs that are complete now.
    fn enter(&mut self, game: GameRecord) {
        if game.pair >= self.contest.pairs || game.pair < self.counted {
            return;
        }
        let pair = self.waiting.entry(game.pair).or_default();
        let slot = game.white as usize;
        pair[slot] = Some(game);
        while !self.is_over() {
            let Some([Some(_), Some(_)]) = self.waiting.get(&self.counted) else {
                return;
            };
            if let Some([Some(first), Some(second)]) = self.waiting.remove(&self.counted) {
                self.count([first, second]);
            }
        }
    }

    fn count(&mut self, pair: [GameRecord; 2]) {
        self.counted += 1;
        let report = &mut self.report;
        report.score.count(&pair, self.contest.drops);
        if let Some(sprt) = &self.contest.sprt {
            report.score.ratio = Some(sprt.ratio(&report.score.tally));
            report.verdict = Some(sprt.verdict(&report.score.tally));
        }
        report.games.extend(pair);
    }

    fn is_over(&self) -> bool {
        let is_decided = matches!(
            self.report.verdict,
            Some(SprtVerdict::Accepted | SprtVerdict::Rejected)
        );
        is_decided || self.counted >= self.contest.pairs
    }

    /// The games still to play, in order: the pair, and the player with White.
    fn missing(&self) -> Vec<(usize, MatchSide)> {
        (self.counted..self.contest.pairs)
            .flat_map(|pair| MatchSide::ALL.map(|white| (pair, white)))
            .filter(|(pair, white)| {
                let kept = self.waiting.get(pair);
                kept.is_none_or(|games| games[*white as usize].is_none())
            })
            .collect()
    }
}

/// The state that the workers share.
struct WorkerShared<'a> {
    contest: &'a Match,
    terms: GameTerms,
    order: Vec<usize>,
    factories: [PlayerFactory; 2],
    games: Vec<(usize, MatchSide)>,
    stalls: StallDetector,
    next: AtomicUsize,
    called_off: AtomicBool,
}

type WorkerEvent = Result<GameRecord, MatchError>;

/// Plays a match; calls `on_progress` with the standing after each counted pair. Fails only without a
/// counted pair: a player that dies later ends the match, and [`MatchReport::failed`] says so.
pub fn play(
    contest: &Match,
    mut on_progress: impl FnMut(&MatchScore),
) -> Result<MatchReport, MatchError> {
    contest.check()?;
    let [a, b] = &contest.players;
    let factory = |spec| PlayerFactory::new(spec, contest.watchdog);
    let factories = [factory(a)?, factory(b)?];
    let mut scores = ScoreBook::new(contest);
    let mut journal = None;
    if let Some(path) = &contest.journal {
        let (open, games) = Journal::open(path, &contest.heading()?)?;
        journal = Some(open);
        for game in games {
            scores.enter(game);
        }
        on_progress(&scores.report.score);
    }
    let shared = WorkerShared {
        contest,
        terms: contest.terms(),
        order: contest.order(),
        factories,
        games: scores.missing(),
        stalls: StallDetector::of_this_machine(),
        next: AtomicUsize::new(0),
        called_off: AtomicBool::new(false),
    };
    if !scores.is_over() {
        let played = thread::scope(|scope| {
            if !contest.allowance.is_fixed() {
                for core in shared.stalls.cores() {
                    scope.spawn(|| core.watch(&shared.called_off));
                }
            }
            let (sender, news) = channel();
            let workers = contest.concurrency.min(shared.games.len());
            let started = (0..workers).try_for_each(|_| {
                let (sender, shared) = (sender.clone(), &shared);
                let builder = thread::Builder::new()
                    .name("worker".to_owned())
                    .stack_size(STACK_BYTES);
                builder
                    .spawn_scoped(scope, move || work(shared, &sender))
                    .map(drop)
            });
            drop(sender);
            let played = started
                .map_err(|error| MatchError::Setup(format!("no thread for a worker: {error}")))
                .and_then(|()| collect(&news, &mut scores, journal.as_mut(), &mut on_progress));
            shared.called_off.store(true, Ordering::Relaxed);
            played
        });
        scores.report.failed = played.err();
    }
    let mut report = scores.report;
    let failed = report.failed.take_if(|_| report.games.is_empty());
    failed.map_or(Ok(report), Err)
}

/// Receives the games of the workers until the match is over.
fn collect(
    news: &Receiver<WorkerEvent>,
    scores: &mut ScoreBook<'_>,
    mut journal: Option<&mut Journal<GameRecord>>,
    on_progress: &mut impl FnMut(&MatchScore),
) -> Result<(), MatchError> {
    for game in news {
        let game = game?;
        if let Some(journal) = &mut journal {
            journal.keep(&game)?;
        }
        let counted = scores.counted;
        scores.enter(game);
        if scores.counted > counted {
            on_progress(&scores.report.score);
        }
        if scores.is_over() {
            break;
        }
    }
    Ok(())
}

/// The loop of a worker: plays games until none is left or the match is cancelled.
fn work(shared: &WorkerShared<'_>, news: &Sender<WorkerEvent>) {
    let mut slots = shared.factories.clone().map(PlayerSlot::new);
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&(pair, white)) = shared.games.get(index) else {
            return;
        };
        let played = game(shared, &mut slots, pair, white).transpose();
        let Some(played) = played else {
            return;
        };
        let is_broken = played.is_err();
        if news.send(played).is_err() || is_broken {
            return;
        }
    }
}

/// One game of a pair; none if the match is cancelled.
fn game(
    shared: &WorkerShared<'_>,
    slots: &mut [PlayerSlot; 2],
    pair: usize,
    white: MatchSide,
) -> Result<Option<GameRecord>, MatchError> {
    let opening = shared.order[pair % shared.order.len()];
    let start = shared.contest.openings[opening].position;
    let [a, b] = slots;
    let (first, second) = (a.fill()?, b.fill()?);
    let mut players = match white {
        MatchSide::A => ByColor {
            white: first,
            black: second,
        },
        MatchSide::B => ByColor {
            white: second,
            black: first,
        },
    };
    let played = referee(
        start,
        &mut players,
        &shared.terms,
        &shared.stalls,
        &shared.called_off,
    );
    let Some(played) = played else {
        return Ok(None);
    };
    let is_broken = played
        .fault
        .as_ref()
        .is_some_and(super::PlayerFault::is_fatal);
    let record = record(played, pair, white);
    if let Some(side) = record.forfeited_by().filter(|_| is_broken) {
        slots[side as usize].clear();
    }
    Ok(Some(record))
}

fn record(played: PlayedGame, pair: usize, white: MatchSide) -> GameRecord {
    let side = |color| match color {
        crate::rules::Color::White => white,
        crate::rules::Color::Black => white.other(),
    };
    let ByColor {
        white: whites,
        black: blacks,
    } = played.efforts;
    let (a, b) = match white {
        MatchSide::A => (whites, blacks),
        MatchSide::B => (blacks, whites),
    };
    let moves = played.game.moves().iter().map(ToString::to_string);
    GameRecord {
        pair,
        white,
        fen: played.game.positions()[0].fen(),
        moves: moves.collect::<Vec<String>>().join(" "),
        scores: played.scores,
        depths: played.depths,
        winner: played.winner.map(side),
        end: played.end,
        note: played.fault.map(|fault| fault.to_string()),
        a,
        b,
        still_ms: played.still.as_millis() as u64,
    }
}
