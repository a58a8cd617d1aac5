//! Statistics and verification of a set of shards.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::PathBuf;

use super::filter::Filter;
use super::record::{GameRecord, GameResult, NO_SCORE};
use super::sample::Sample;
use super::shard::{ShardError, ShardReader};
use crate::rules::RepetitionRule;

/// The upper bounds of the score classes, in absolute centipawns.
const CLASSES: [i16; 7] = [25, 50, 100, 200, 400, 800, 2500];

/// Scores of a class in the fit of the score scale, in centipawns.
const STEP: i16 = 10;
/// Those classes, from 0 to the greatest useful score.
const STEPS: usize = 251;
/// The smallest and the largest scale that a fit may give.
const SCALES: std::ops::RangeInclusive<u32> = 50..=2000;

/// The statistics of a set of shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub shards: usize,
    /// Games by result for White: lost, drawn, won.
    pub results: [u64; 3],
    pub plies: u64,
    /// Plies with a score.
    pub judged: u64,
    /// Positions usable for training.
    pub usable: u64,
    /// Duplicates among them.
    pub duplicates: u64,
    /// Those by absolute score.
    pub classes: [u64; CLASSES.len()],
    /// Those with at least 100 centipawns for one side, by that side's result: lost, drawn, won. A sign
    /// error of the scores would show here at once.
    pub ahead: [u64; 3],
    /// Usable positions by absolute score in steps of ten centipawns, each by the result of the side that
    /// is ahead: lost, drawn, won.
    pub by_score: Vec<[u64; 3]>,
    /// The size of all files.
    pub bytes: u64,
    /// Bytes after the last complete games, from interrupted writes.
    pub tails: u64,
}

impl Stats {
    pub fn games(&self) -> u64 {
        self.results.iter().sum()
    }

    /// The score scale that fits best: `1 / (1 + exp(-score / scale))` is then closest, in the mean of the
    /// squares, to the results of the games. None without games.
    pub fn score_scale(&self) -> Option<u32> {
        let error = |scale: u32| -> f64 {
            let steps = self.by_score.iter().enumerate();
            let of_step = |(step, results): (usize, &[u64; 3])| {
                let score = (step as f64 + 0.5) * f64::from(STEP);
                let expected = 1.0 / (1.0 + (-score / f64::from(scale)).exp());
                let results = results.iter().zip([0.0, 0.5, 1.0]);
                let errors = results.map(|(&n, result)| n as f64 * (result - expected).powi(2));
                errors.sum::<f64>()
            };
            steps.map(of_step).sum()
        };
        (self.usable > 0).then_some(())?;
        SCALES.min_by(|&a, &b| error(a).total_cmp(&error(b)))
    }

    /// Counts a game; `seen` detects duplicates.
    fn add(&mut self, game: &GameRecord, seen: &mut HashSet<u64>) -> Result<(), usize> {
        self.results[game.result as usize] += 1;
        self.plies += game.plies.len() as u64;
        let is_judged = |ply: &&super::RecordedPly| ply.score != NO_SCORE;
        self.judged += game.plies.iter().filter(is_judged).count() as u64;
        for usable in Filter::default().usable(game)? {
            self.usable += 1;
            let board = Sample::of(&usable.position, 0, game.result, 0, false).board();
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            self.duplicates += u64::from(!seen.insert(hasher.hash_one(board)));
            let size = usable.score.saturating_abs();
            if let Some(class) = CLASSES.iter().position(|&most| size <= most) {
                self.classes[class] += 1;
            }
            let made = game.result as usize;
            let made = if usable.score > 0 { made } else { 2 - made };
            if size >= 100 {
                self.ahead[made] += 1;
            }
            self.by_score.resize(STEPS, [0; 3]);
            if let Some(step) = self.by_score.get_mut((size / STEP) as usize) {
                step[made] += 1;
            }
        }
        Ok(())
    }
}

/// Reads and counts all shards; takes about 16 bytes of memory per usable position.
///
/// # Errors
///
/// The first flaw, with its place.
pub fn stats(shards: &[PathBuf]) -> Result<Stats, ShardError> {
    let (mut stats, mut seen) = (Stats::default(), HashSet::new());
    for path in shards {
        let mut reader = ShardReader::open(path)?;
        while let Some(game) = reader.next()? {
            let added = stats.add(&game, &mut seen);
            added.map_err(|ply| reader.broken(format!("move {ply} is illegal")))?;
        }
        stats.shards += 1;
        stats.bytes += std::fs::metadata(path).map_or(0, |data| data.len());
        stats.tails += reader.tail() as u64;
    }
    Ok(stats)
}

/// The result of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Games replayed without a flaw.
    pub games: u64,
    pub plies: u64,
    /// Bytes after the last complete games.
    pub tails: u64,
}

/// Replays every game by the rules.
///
/// # Errors
///
/// The first flaw, with its place: a wrong checksum, an illegal move, a result that the board
/// contradicts.
pub fn verify(shards: &[PathBuf]) -> Result<Verified, ShardError> {
    let mut verified = Verified::default();
    for path in shards {
        let mut reader = ShardReader::open(path)?;
        while let Some(game) = reader.next()? {
            check(&game).map_err(|what| reader.broken(what))?;
            verified.games += 1;
            verified.plies += game.plies.len() as u64;
        }
        verified.tails += reader.tail() as u64;
    }
    Ok(verified)
}

fn check(record: &GameRecord) -> Result<(), String> {
    let illegal = |ply| format!("move {ply} is illegal");
    let game = record.replay(|_, _| ()).map_err(illegal)?;
    match game.outcome(RepetitionRule::Threefold) {
        Some(outcome) if GameResult::of(outcome) != record.result => Err(format!(
            "the board says {}, the file says {:?} for White",
            outcome.result(),
            record.result
        )),
        _ => Ok(()),
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let games = self.games();
        let [lost, drawn, won] = self.results.map(|count| percent(count, games));
        writeln!(f, "files        {} ({} bytes)", self.shards, self.bytes)?;
        writeln!(
            f,
            "games        {games}: White wins {won:.1}%, Black {lost:.1}%, draws {drawn:.1}%"
        )?;
        let (per_game, per_ply) = (
            self.plies as f64 / games.max(1) as f64,
            self.bytes as f64 / self.plies.max(1) as f64,
        );
        writeln!(
            f,
            "plies        {} ({per_game:.1} a game, {per_ply:.2} bytes each)",
            self.plies
        )?;
        writeln!(
            f,
            "usable       {} ({:.1}% of the scored positions), {} of them are duplicates",
            self.usable,
            percent(self.usable, self.judged),
            self.duplicates
        )?;
        let mut low = 0;
        for (most, &count) in CLASSES.iter().zip(&self.classes) {
            writeln!(
                f,
                "  {low:>4}..{most:<4} {:5.1}%",
                percent(count, self.usable)
            )?;
            low = *most;
        }
        let all = self.ahead.iter().sum();
        let [lost, drawn, won] = self.ahead.map(|count| percent(count, all));
        writeln!(
            f,
            "a pawn up    won {won:.1}%, drawn {drawn:.1}%, lost {lost:.1}%"
        )?;
        if let Some(scale) = self.score_scale() {
            writeln!(f, "score scale  {scale} fits the results best")?;
        }
        if self.tails > 0 {
            writeln!(f, "cut tails    {} bytes, left out", self.tails)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::short_game;
    use super::*;

    #[test]
    fn the_advantage_is_seen_by_the_side_that_has_it() {
        let mut game = short_game();
        for (ply, score) in game.plies.iter_mut().zip([150, 150, -150, 0]) {
            ply.score = score;
        }
        let mut stats = Stats::default();
        stats.add(&game, &mut HashSet::new()).expect("legal moves");
        assert_eq!(stats.ahead, [1, 0, 2]);
        assert_eq!((stats.results, stats.judged), ([0, 0, 1], 4));
    }

    #[test]
    fn the_fitted_scale_is_the_one_that_made_the_results() {
        let by_score = (0..STEPS).map(|step| {
            let score = (step as f64 + 0.5) * f64::from(STEP);
            let won = (1000.0 / (1.0 + (-score / 325.0).exp())).round() as u64;
            [1000 - won, 0, won]
        });
        let stats = Stats {
            usable: 1,
            by_score: by_score.collect(),
            ..Stats::default()
        };
        let scale = stats.score_scale().expect("games");
        assert!((323..=327).contains(&scale), "{scale}");
        assert_eq!(Stats::default().score_scale(), None);
    }

    #[test]
    fn a_result_that_the_board_contradicts_is_a_flaw() {
        let mut game = short_game();
        let blow = crate::rules::Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5 g5f7").expect("legal");
        game.plies.push(super::super::RecordedPly {
            mv: blow.moves()[4],
            score: 31_999,
        });
        assert_eq!(check(&game), Ok(()));
        game.result = GameResult::Lost;
        assert!(check(&game).expect_err("contradiction").contains("1-0"));
    }
}
