//! The online bots: which fit a profile, and in which order.
//!
//! Few bots play atomic. The list is rarely fetched, and an opponent gets a cooldown after its
//! games until the others have had their share.

use std::time::{Duration, Instant};

use crate::config::{Prefer, Profile};
use crate::lichess::{Account, UserId};

/// The rating assumed for an unrated account.
const UNRATED: i32 = 1500;
/// A pair of games with the same opponent.
const PAIR: u32 = 2;
/// However few bots fit, none is challenged to more games than this per day.
const MAX_A_DAY: u32 = 24;
/// With fewer results than this, they say less than the ratings.
const PRIOR: f64 = 10.0;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The relevant data of a listed bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: UserId,
    /// The atomic rating; `None` if it never played atomic.
    pub rating: Option<i32>,
    /// Atomic games it has played.
    pub games: u32,
}

#[derive(Clone, Debug, Default)]
pub struct OnlineBots {
    bots: Vec<Candidate>,
    own: Option<i32>,
    listed: Option<Instant>,
}

impl OnlineBots {
    /// Replaces the list. Closed and flagged accounts and the bot's own are left out.
    pub fn fill(&mut self, me: &UserId, accounts: &[Account], now: Instant) {
        let rating = |account: &Account| account.atomic().and_then(|perf| perf.rating);
        if let Some(own) = accounts.iter().find(|account| account.id == *me) {
            self.own = rating(own).or(self.own);
        }
        self.bots = accounts
            .iter()
            .filter(|account| account.id != *me && !account.disabled && !account.tos_violation)
            .map(|account| Candidate {
                id: account.id.clone(),
                rating: rating(account),
                games: account.atomic().map_or(0, |perf| perf.games),
            })
            .collect();
        self.listed = Some(now);
    }

    /// Whether the list is older than `age` or missing.
    pub fn is_older(&self, age: Duration, now: Instant) -> bool {
        self.listed
            .is_none_or(|at| now.saturating_duration_since(at) >= age)
    }

    pub(super) fn len(&self) -> usize {
        self.bots.len()
    }

    /// The bot's own rating, or the assumed one.
    pub fn own_rating(&self) -> i32 {
        self.own.unwrap_or(UNRATED)
    }

    /// Candidates for a profile, whether available or not.
    pub(super) fn fitting(
        &self,
        profile: &Profile,
        min_games: u32,
    ) -> impl Iterator<Item = &Candidate> {
        let (least, most) = (i64::from(profile.min_rating), i64::from(profile.max_rating));
        let own = i64::from(self.own_rating());
        let widest = i64::from(profile.max_rating_difference);
        self.bots.iter().filter(move |bot| {
            let rating = i64::from(bot.rating.unwrap_or(UNRATED));
            // A bot that never played atomic qualifies only if no experience is required.
            bot.games >= min_games
                && (bot.rating.is_some() || min_games == 0)
                && (least..=most).contains(&rating)
                && (rating - own).abs() <= widest
        })
    }

    /// Candidates for a profile in order of preference; equals in random order. `results` are our points
    /// against an opponent, and the number of games.
    pub fn in_order(
        &self,
        profile: &Profile,
        prefer: Prefer,
        min_games: u32,
        results: impl Fn(&UserId) -> (f64, u32),
        may: impl Fn(&UserId) -> bool,
        chance: &mut fastrand::Rng,
    ) -> Vec<UserId> {
        let fitting = self.fitting(profile, min_games);
        let mut fitting: Vec<_> = fitting.filter(|bot| may(&bot.id)).collect();
        chance.shuffle(&mut fitting);
        let own = self.own_rating();
        let rating = |bot: &&Candidate| bot.rating.unwrap_or(UNRATED);
        match prefer {
            Prefer::Nearest => fitting.sort_by_key(|bot| (rating(bot) - own).abs()),
            Prefer::Strongest => fitting.sort_by_key(|bot| -rating(bot)),
            Prefer::Weakest => fitting.sort_by_key(rating),
            Prefer::Gain => {
                let gain = |bot: &&Candidate| {
                    let (points, games) = results(&bot.id);
                    gain(points, games, rating(bot) - own)
                };
                fitting.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
            }
            Prefer::Random => {}
        }
        fitting.into_iter().map(|bot| bot.id.clone()).collect()
    }

    /// The cooldown of an opponent after `games` games, so that all candidates, of `least` games or more, get
    /// their share of a day's `budget`.
    pub fn share_rest(&self, profile: &Profile, least: u32, games: u32, budget: u32) -> Duration {
        let fitting = u32::try_from(self.fitting(profile, least).count()).unwrap_or(u32::MAX);
        let share = (budget / fitting.max(1)).clamp(PAIR, MAX_A_DAY);
        DAY * games / share
    }
}

/// How many points a game is expected to bring beyond what ratings promise against an opponent with a
/// rating `above` ours, by the results so far and [`PRIOR`] games as promised.
fn gain(points: f64, games: u32, above: i32) -> f64 {
    // The expected score of Elo's formula.
    let promised = 1.0 / (1.0 + 10_f64.powf(f64::from(above) / 400.0));
    let games = f64::from(games);
    (points - games * promised) / (games + PRIOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::Perf;

    fn bot(name: &str, rating: i32, games: u32) -> Account {
        let perf = Perf {
            games,
            rating: Some(rating),
            ..Perf::default()
        };
        let played = (games > 0).then(|| ("atomic".to_owned(), perf));
        Account {
            id: UserId::new(name),
            username: name.to_owned(),
            title: Some("BOT".to_owned()),
            perfs: played.into_iter().collect(),
            games: None,
            created_at: None,
            bio: None,
            disabled: false,
            tos_violation: false,
        }
    }

    fn bots() -> OnlineBots {
        let mut online = OnlineBots::default();
        let closed = Account {
            disabled: true,
            ..bot("closed", 2000, 9)
        };
        let marked = Account {
            tos_violation: true,
            ..bot("marked", 2000, 9)
        };
        let bots = [
            bot("me", 2000, 50),
            bot("near", 2040, 9),
            bot("strong", 2500, 9),
            bot("weak", 1600, 9),
            bot("fresh", 2010, 0),
            closed,
            marked,
        ];
        online.fill(&UserId::new("Me"), &bots, Instant::now());
        online
    }

    fn order(profile: &Profile, prefer: Prefer, min_games: u32) -> Vec<String> {
        let mut chance = fastrand::Rng::with_seed(1);
        let none = |_: &UserId| (0.0, 0);
        let order = bots().in_order(profile, prefer, min_games, none, |_| true, &mut chance);
        order.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_preference_orders_the_candidates() {
        let profile = Profile::default();
        let expected = ["near", "weak", "strong"];
        assert_eq!(order(&profile, Prefer::Nearest, 1), expected);
        assert_eq!(
            order(&profile, Prefer::Strongest, 1),
            ["strong", "near", "weak"]
        );
        assert_eq!(
            order(&profile, Prefer::Weakest, 1),
            ["weak", "near", "strong"]
        );
        assert_eq!(order(&profile, Prefer::Random, 1).len(), 3);
    }

    #[test]
    fn results_beyond_the_ratings_come_first_and_unknown_opponents_before_bad_ones() {
        // About as the ratings promise; half the points against 500 more; less than promised.
        let weak = ("weak", (91.2, 100));
        let (strong, near) = (("strong", (3.0, 6)), ("near", (1.0, 6)));
        let order = |known: &[(&str, (f64, u32))]| -> Vec<String> {
            let results = |user: &UserId| {
                let known = known.iter().find(|(name, _)| user.as_str() == *name);
                known.map_or((0.0, 0), |known| known.1)
            };
            let mut chance = fastrand::Rng::with_seed(1);
            let profile = Profile::default();
            let order = bots().in_order(&profile, Prefer::Gain, 1, results, |_| true, &mut chance);
            order.iter().map(ToString::to_string).collect()
        };
        assert_eq!(order(&[weak, strong, near]), ["strong", "weak", "near"]);
        assert_eq!(order(&[strong, near]), ["strong", "weak", "near"]);
        assert_eq!(order(&[near])[2], "near");
    }

    #[test]
    fn closed_and_flagged_accounts_and_the_bots_own_are_never_challenged() {
        let names = order(&Profile::default(), Prefer::Nearest, 0);
        for excluded in ["me", "closed", "marked"] {
            assert!(!names.iter().any(|name| name == excluded), "{names:?}");
        }
        assert!(names.contains(&"fresh".to_owned()), "1500 is within 600");
    }

    #[test]
    fn the_window_and_the_difference_both_hold() {
        let profile = |min, max, difference| Profile {
            min_rating: min,
            max_rating: max,
            max_rating_difference: difference,
            ..Profile::default()
        };
        let order = |profile| order(&profile, Prefer::Weakest, 1);
        assert_eq!(order(profile(1700, 4000, 4000)), ["near", "strong"]);
        assert_eq!(order(profile(0, 2100, 4000)), ["weak", "near"]);
        assert_eq!(order(profile(0, 4000, 100)), ["near"]);
    }

    #[test]
    fn experience_can_be_required() {
        assert!(order(&Profile::default(), Prefer::Nearest, 10).is_empty());
        assert_eq!(order(&Profile::default(), Prefer::Nearest, 9).len(), 3);
    }

    #[test]
    fn a_small_pool_is_met_more_often_but_not_without_end() {
        let hours = |budget| {
            let rest = bots().share_rest(&Profile::default(), 1, 2, budget);
            rest.as_secs() / 3600
        };
        assert_eq!(hours(30), 4, "ten games each: a pair every 4.8 hours");
        assert_eq!(hours(1000), 2, "24 games each at most");
        assert_eq!(hours(0), 24);
    }
}
