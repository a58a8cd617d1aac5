//! The sequential probability ratio test: decides between two hypotheses as early as possible.
//!
//! H0 says that the difference is `elo0`, H1 that it is `elo1` (logistic Elo). After each pair the
//! log-likelihood ratio of the pair scores is compared with two bounds; between them the match continues.
//! Both error rates are 5%. The test never decides before a minimum number of pairs, and mean and variance
//! count half a pair more in each of the five cells, so that a short run of equal results decides nothing. Pure
//! arithmetic.

use std::fmt;
use std::str::FromStr;

use super::tally::{Tally, expected_score, moments};

/// The accepted probability of either error.
const ERROR: f64 = 0.05;
/// The minimum number of pairs for a decision.
const LEAST_PAIRS: u64 = 50;
/// The pairs added to each cell.
const PRIOR: f64 = 0.5;
/// The greatest plausible difference in Elo.
const MOST_ELO: f64 = 500.0;

/// A test between two differences in Elo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    elo0: f64,
    elo1: f64,
}

/// The state of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtVerdict {
    /// The first player is better by `elo1` rather than by `elo0`.
    Accepted,
    /// The first player is better by at most `elo0` rather than by `elo1`.
    Rejected,
    Undecided,
}

impl Sprt {
    /// A test of `elo1` against `elo0`, which must be smaller.
    pub fn new(elo0: f64, elo1: f64) -> Option<Self> {
        let is_sane = elo0 < elo1 && elo0.abs() <= MOST_ELO && elo1.abs() <= MOST_ELO;
        is_sane.then_some(Self { elo0, elo1 })
    }

    /// The log-likelihood ratio at which the test ends, on either side of zero.
    pub fn bound() -> f64 {
        ((1.0 - ERROR) / ERROR).ln()
    }

    /// The log-likelihood ratio of H1 against H0; zero before there are enough pairs.
    pub fn ratio(&self, tally: &Tally) -> f64 {
        let pairs: u64 = tally.pairs.iter().sum();
        if pairs < LEAST_PAIRS {
            return 0.0;
        }
        let (mean, variance) = moments(&tally.pairs.map(|count| count as f64 + PRIOR));
        let (s0, s1) = (expected_score(self.elo0), expected_score(self.elo1));
        pairs as f64 * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance)
    }

    /// The decision for these counts.
    pub fn verdict(&self, tally: &Tally) -> SprtVerdict {
        let ratio = self.ratio(tally);
        if ratio >= Self::bound() {
            SprtVerdict::Accepted
        } else if ratio <= -Self::bound() {
            SprtVerdict::Rejected
        } else {
            SprtVerdict::Undecided
        }
    }
}

impl fmt::Display for Sprt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.elo0, self.elo1)
    }
}

impl FromStr for Sprt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bounds = text
            .split_once(',')
            .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
        bounds
            .and_then(|(elo0, elo1)| Self::new(elo0, elo1))
            .ok_or_else(|| {
                format!("{text:?} is not a pair of bounds; write elo0,elo1 with the smaller first, such as 0,10 or -10,0")
            })
    }
}

impl fmt::Display for SprtVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Undecided => "undecided",
        })
    }
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

    fn ratio(pairs: [u64; 5], elo0: f64, elo1: f64) -> f64 {
        Sprt::new(elo0, elo1).unwrap().ratio(&tally(pairs))
    }

    /// Counts and the ratio for [0, 5], [0, 20] and [-10, 0], computed apart from this program.
    const KNOWN: [([u64; 5], [f64; 3]); 7] = [
        ([10, 40, 100, 60, 15], [0.860_845, 2.177_507, 2.353_798]),
        ([3, 10, 30, 25, 12], [0.843_855, 2.994_951, 1.876_242]),
        ([0, 0, 50, 0, 0], [-0.217_431, -3.471_699, 0.869_362]),
        (
            [120, 410, 900, 430, 140],
            [0.953_139, -6.735_246, 7.188_735],
        ),
        ([0, 1, 2, 3, 44], [4.181_257, 16.284_007, 8.573_083]),
        (
            [700, 1500, 2600, 1650, 800],
            [5.608_778, -6.115_576, 25.508_524],
        ),
        ([0, 0, 0, 0, 49], [0.0, 0.0, 0.0]),
    ];

    #[test]
    fn the_ratio_is_that_computed_elsewhere() {
        for (pairs, known) in KNOWN {
            let found = [
                ratio(pairs, 0.0, 5.0),
                ratio(pairs, 0.0, 20.0),
                ratio(pairs, -10.0, 0.0),
            ];
            for (found, known) in found.iter().zip(known) {
                assert!((found - known).abs() < 1e-5, "{pairs:?}: {found} {known}");
            }
        }
    }

    /// Maximum likelihood under a given mean, the exact form that the ratio is an approximation of.
    /// The values come from a solver apart from this program.
    #[test]
    fn near_equality_the_ratio_is_the_exact_one() {
        let exact = [
            ([10, 40, 100, 60, 15], 0.0, 5.0, 0.8605),
            ([120, 410, 900, 430, 140], 0.0, 20.0, -6.7091),
            ([700, 1500, 2600, 1650, 800], -10.0, 0.0, 25.4047),
        ];
        for (pairs, elo0, elo1, known) in exact {
            let found = ratio(pairs, elo0, elo1);
            assert!((found / known - 1.0).abs() < 0.01, "{found} {known}");
        }
    }

    #[test]
    fn the_verdict_falls_at_the_bounds() {
        assert!((Sprt::bound() - 2.944_439).abs() < 1e-6);
        let test = Sprt::new(0.0, 20.0).unwrap();
        let verdict = |pairs| test.verdict(&tally(pairs));
        assert_eq!(verdict([3, 10, 30, 25, 12]), SprtVerdict::Accepted);
        assert_eq!(verdict([120, 410, 900, 430, 140]), SprtVerdict::Rejected);
        assert_eq!(verdict([10, 40, 100, 60, 15]), SprtVerdict::Undecided);
        assert_eq!(verdict([0, 0, 0, 0, 49]), SprtVerdict::Undecided);
    }

    #[test]
    fn bounds_are_read_and_bad_ones_explained() {
        assert_eq!("0,10".parse(), Ok(Sprt::new(0.0, 10.0).unwrap()));
        assert_eq!("-10, 0".parse(), Ok(Sprt::new(-10.0, 0.0).unwrap()));
        for bad in ["", "5", "10,0", "3,3", "a,b", "0,nan", "0,1e9", "0,10,20"] {
            let error = bad.parse::<Sprt>().unwrap_err();
            assert!(error.contains("elo0,elo1"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn the_test_seen_from_the_other_side_says_the_opposite(
            pairs in prop::array::uniform5(0u64..400),
            elo0 in -50.0f64..50.0,
            width in 0.5f64..50.0,
        ) {
            let here = ratio(pairs, elo0, elo0 + width);
            let there = Sprt::new(-elo0 - width, -elo0).unwrap().ratio(&tally(pairs).mirrored());
            prop_assert!((here + there).abs() < 1e-6);
        }

        #[test]
        fn the_sign_says_on_which_side_of_the_middle_the_score_lies(
            pairs in prop::array::uniform5(20u64..400),
            elo0 in -50.0f64..50.0,
            width in 0.5f64..50.0,
        ) {
            let (mean, _) = moments(&pairs.map(|count| count as f64 + PRIOR));
            let middle = f64::midpoint(expected_score(elo0), expected_score(elo0 + width));
            let found = ratio(pairs, elo0, elo0 + width);
            prop_assert_eq!(found > 0.0, mean > middle);
        }
    }
}
