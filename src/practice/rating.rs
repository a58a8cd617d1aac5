//! Ratings by Glicko: number, deviation, and the change by one game.

/// An account's rating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    value: f64,
    deviation: f64,
    games: u32,
    progress: i32,
}

/// The result of a game for one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Score {
    Win,
    Draw,
    Loss,
}

const MOST_DEVIATION: f64 = 350.0;
const LEAST_DEVIATION: f64 = 45.0;
/// A rating with a larger deviation is provisional.
const PROVISIONAL: f64 = 110.0;

impl Default for Rating {
    fn default() -> Self {
        Self {
            value: 1500.0,
            deviation: MOST_DEVIATION,
            games: 0,
            progress: 0,
        }
    }
}

impl Rating {
    /// An established rating.
    pub fn settled(value: u32) -> Self {
        Self {
            value: f64::from(value),
            deviation: 60.0,
            games: 100,
            progress: 0,
        }
    }

    pub fn shown(&self) -> i32 {
        self.value.round() as i32
    }

    /// Its deviation, in points.
    pub fn deviation(&self) -> u32 {
        self.deviation.round() as u32
    }

    /// Number of rated games.
    pub fn games(&self) -> u32 {
        self.games
    }

    /// The change by the last rated game.
    pub fn progress(&self) -> i32 {
        self.progress
    }

    /// Whether it is provisional.
    pub fn is_provisional(&self) -> bool {
        self.deviation > PROVISIONAL
    }

    /// The rating after one game against `other`; the difference is of the displayed numbers.
    pub(crate) fn after(&self, other: &Self, score: Score) -> (Self, i32) {
        let scale = std::f64::consts::LN_10 / 400.0;
        let damp = |deviation: f64| {
            1.0 / (1.0 + 3.0 * (scale * deviation / std::f64::consts::PI).powi(2)).sqrt()
        };
        let weight = damp(other.deviation);
        let expected = 1.0 / (1.0 + 10f64.powf(-weight * (self.value - other.value) / 400.0));
        let information = (scale * weight).powi(2) * expected * (1.0 - expected);
        let precision = 1.0 / self.deviation.powi(2) + information;
        let gained = match score {
            Score::Win => 1.0,
            Score::Draw => 0.5,
            Score::Loss => 0.0,
        } - expected;
        let value = (self.value + scale / precision * weight * gained).clamp(400.0, 4000.0);
        let deviation = precision
            .recip()
            .sqrt()
            .clamp(LEAST_DEVIATION, MOST_DEVIATION);
        let mut next = Self {
            value,
            deviation,
            games: self.games + 1,
            progress: 0,
        };
        next.progress = next.shown() - self.shown();
        (next, next.progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_win_raises_and_a_loss_lowers() {
        let (me, other) = (Rating::settled(1500), Rating::settled(1600));
        let (_, won) = me.after(&other, Score::Win);
        let (_, drew) = me.after(&other, Score::Draw);
        let (_, lost) = me.after(&other, Score::Loss);
        assert!(won > drew && drew > 0 && lost < 0, "{won} {drew} {lost}");
    }

    #[test]
    fn a_new_account_moves_far_and_settles() {
        let mut me = Rating::default();
        assert!(me.is_provisional());
        let (next, first) = me.after(&Rating::settled(1500), Score::Win);
        assert!(first > 100, "{first}");
        me = next;
        for _ in 0..40 {
            me = me.after(&Rating::settled(me.shown() as u32), Score::Draw).0;
        }
        assert!(!me.is_provisional());
        assert_eq!(me.games(), 41);
    }

    #[test]
    fn the_textbook_example_comes_out() {
        let me = Rating {
            value: 1500.0,
            deviation: 200.0,
            games: 0,
            progress: 0,
        };
        let other = Rating {
            value: 1400.0,
            deviation: 30.0,
            games: 0,
            progress: 0,
        };
        let (next, _) = me.after(&other, Score::Win);
        assert!((next.value - 1563.0).abs() < 1.0, "{}", next.value);
    }
}
