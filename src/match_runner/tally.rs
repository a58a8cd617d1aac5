//! The statistics of a match: counts, and the score with its error, also in Elo.
//!
//! The unit is the pair, the two games of one opening: its five possible scores (the pentanomial
//! counts) carry less noise than single games, because an opening that favours a colour favours both players
//! once. Pure arithmetic.

use super::record::Points;

/// The standard errors on either side that contain 95% of a normal distribution.
const NORMAL_95: f64 = 1.96;
/// The Elo scale ends at scores this close to 0 or 1.
const LEAST_SCORE: f64 = 1e-6;

/// Counts of games and pairs, from the first player's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Pairs by score: 0, ½, 1, 1½ and 2 points.
    pub pairs: [u64; 5],
}

/// The estimated difference in strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean score of a game, 0 to 1.
    pub score: f64,
    /// The standard error of the score.
    pub error: f64,
    /// The score as a difference in Elo.
    pub elo: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end of its 95% interval.
    pub high: f64,
}

impl Estimate {
    /// Half the width of the 95% interval; none while all pairs are equal, which says nothing of the
    /// error.
    pub fn margin(&self) -> Option<f64> {
        (self.error > 0.0).then(|| (self.high - self.low) / 2.0)
    }
}

impl Tally {
    /// Counts a pair by the first player's results.
    pub fn add(&mut self, games: [Points; 2]) {
        for points in games {
            match points {
                Points::Won => self.wins += 1,
                Points::Drawn => self.draws += 1,
                Points::Lost => self.losses += 1,
            }
        }
        self.pairs[games[0].halves() + games[1].halves()] += 1;
    }

    /// The same games from the other player's side.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        let mut pairs = self.pairs;
        pairs.reverse();
        Self {
            wins: self.losses,
            draws: self.draws,
            losses: self.wins,
            pairs,
        }
    }

    pub const fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Score and Elo with their errors; none before the first pair.
    pub fn estimate(&self) -> Option<Estimate> {
        let counts = self.pairs.map(|count| count as f64);
        let total: f64 = counts.iter().sum();
        if total == 0.0 {
            return None;
        }
        let (score, variance) = moments(&counts);
        let error = (variance / total).sqrt();
        Some(Estimate {
            score,
            error,
            elo: elo(score),
            low: elo(score - NORMAL_95 * error),
            high: elo(score + NORMAL_95 * error),
        })
    }
}

/// Mean and variance of the score per game of one pair, from 0 to 1.
pub(super) fn moments(counts: &[f64; 5]) -> (f64, f64) {
    let total: f64 = counts.iter().sum();
    let values = |index: usize| index as f64 / 4.0;
    let weighted = counts.iter().enumerate();
    let mean = weighted
        .clone()
        .map(|(index, count)| count * values(index))
        .sum::<f64>()
        / total;
    let variance = weighted
        .map(|(index, count)| count * (values(index) - mean).powi(2))
        .sum::<f64>()
        / total;
    (mean, variance)
}

/// The difference in Elo for a score.
pub(super) fn elo(score: f64) -> f64 {
    let score = score.clamp(LEAST_SCORE, 1.0 - LEAST_SCORE);
    // Avoids a negative zero, which would print its sign.
    -400.0 * (1.0 / score - 1.0).log10() + 0.0
}

/// The expected score for a difference in Elo.
pub(super) fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(pairs: [u64; 5]) -> Tally {
        Tally {
            pairs,
            ..Tally::default()
        }
    }

    /// Counts with score, its error, Elo and its interval, computed apart from this program.
    const KNOWN: [([u64; 5], [f64; 5]); 6] = [
        (
            [10, 40, 100, 60, 15],
            [
                0.533_333_333,
                0.015_555_556,
                23.196_779,
                1.976_544,
                44.591_461,
            ],
        ),
        (
            [3, 10, 30, 25, 12],
            [
                0.603_125,
                0.028_192_194,
                72.701_435,
                33.364_486,
                113.974_650,
            ],
        ),
        ([0, 0, 50, 0, 0], [0.5, 0.0, 0.0, 0.0, 0.0]),
        (
            [0, 1, 2, 3, 44],
            [0.95, 0.021_213_203, 511.501_440, 398.598_849, 828.362_136],
        ),
        (
            [30, 20, 10, 5, 0],
            [
                0.211_538_462,
                0.029_407_748,
                -228.556_469,
                -296.074_197,
                -173.509_131,
            ],
        ),
        (
            [700, 1500, 2600, 1650, 800],
            [
                0.512_068_966,
                0.003_295_423,
                8.388_006,
                3.898_346,
                12.880_467,
            ],
        ),
    ];

    #[test]
    fn score_and_elo_are_those_computed_elsewhere() {
        for (pairs, [score, error, elo, low, high]) in KNOWN {
            let found = tally(pairs).estimate().unwrap();
            let differences = [
                found.score - score,
                found.error - error,
                found.elo - elo,
                found.low - low,
                found.high - high,
            ];
            assert!(
                differences.iter().all(|it| it.abs() < 1e-5),
                "{pairs:?}: {found:?}"
            );
        }
    }

    #[test]
    fn equal_pairs_give_no_interval() {
        let margin = |pairs| tally(pairs).estimate().unwrap().margin();
        for at in 0..5 {
            let mut pairs = [0; 5];
            for count in [1, 3, 50, 1001] {
                pairs[at] = count;
                assert_eq!(margin(pairs), None, "{pairs:?}");
            }
            pairs[(at + 1) % 5] = 1;
            assert!(margin(pairs).is_some_and(|it| it > 0.0), "{pairs:?}");
        }
    }

    #[test]
    fn no_games_give_no_estimate() {
        assert_eq!(Tally::default().estimate(), None);
    }

    #[test]
    fn a_pair_counts_as_two_games_and_one_pair() {
        let mut tally = Tally::default();
        tally.add([Points::Won, Points::Drawn]);
        tally.add([Points::Lost, Points::Lost]);
        tally.add([Points::Lost, Points::Won]);
        assert_eq!((tally.wins, tally.draws, tally.losses), (2, 1, 3));
        assert_eq!(tally.pairs, [1, 0, 1, 1, 0]);
        assert_eq!(tally.games(), 6);
    }

    proptest! {
        #[test]
        fn swapping_sides_negates_the_score(
            pairs in prop::array::uniform5(0u64..400)
        ) {
            let here = tally(pairs);
            prop_assume!(pairs.iter().sum::<u64>() > 0);
            let (ours, theirs) = (here.estimate().unwrap(), here.mirrored().estimate().unwrap());
            prop_assert!((ours.elo + theirs.elo).abs() < 1e-6);
            prop_assert!((ours.low + theirs.high).abs() < 1e-6);
            prop_assert!(ours.low <= ours.elo && ours.elo <= ours.high);
        }

        #[test]
        fn a_better_pair_never_lowers_the_score(
            pairs in prop::array::uniform5(0u64..400),
            at in 0usize..4,
        ) {
            prop_assume!(pairs[at] > 0);
            let mut better = pairs;
            better[at] -= 1;
            better[at + 1] += 1;
            let (before, after) = (tally(pairs).estimate().unwrap(), tally(better).estimate().unwrap());
            prop_assert!(after.score > before.score && after.elo >= before.elo);
        }

        #[test]
        fn elo_and_score_are_each_others_inverse(difference in -800.0f64..800.0) {
            prop_assert!((elo(expected_score(difference)) - difference).abs() < 1e-6);
        }
    }
}
