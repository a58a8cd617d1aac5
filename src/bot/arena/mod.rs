//! Arena tournaments: which to join, when, and when to leave.
//!
//! Here: what the operator wants of an arena, and what the arena wants of the bot. `schedule`: upcoming and
//! current arenas. Both pure.

mod schedule;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::config;
use crate::lichess::{Account, Arena, Speed, Variant, speed_of};

pub use schedule::ArenaSchedule;

const DAY: u64 = 24 * 3600;

/// Account facts that an arena may require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eligibility {
    pub rating: Option<i32>,
    pub games: u32,
    pub created_at: Option<SystemTime>,
}

impl Eligibility {
    pub fn of(account: &Account) -> Self {
        let atomic = account.atomic();
        Self {
            rating: atomic.and_then(|perf| perf.rating),
            games: atomic.map_or(0, |perf| perf.games),
            created_at: account.created_at,
        }
    }
}

/// Whether an arena admits the bot, with the given team and password. What an arena does not state
/// is no obstacle here: the server decides on joining.
///
/// # Errors
/// The first obstacle.
pub fn admits(
    arena: &Arena,
    team: Option<&str>,
    password: bool,
    us: &Eligibility,
    now: SystemTime,
) -> Result<(), &'static str> {
    let entry = &arena.entry;
    let clock = arena.base.zip(arena.increment);
    let too_fast = clock.is_some_and(|(at, plus)| speed_of(at, plus) == Speed::UltraBullet);
    let of_team = |wanted: &String| team.is_some_and(|team| team == wanted);
    let wrong_team = !entry.teams.is_empty() && !entry.teams.iter().any(of_team);
    let ratings = entry.min_rating.unwrap_or(i32::MIN)..=entry.max_rating.unwrap_or(i32::MAX);
    let is_outside = us.rating.is_some_and(|our| !ratings.contains(&our));
    let too_few = entry.min_rated_games.is_some_and(|least| us.games < least);
    let age = us.created_at.and_then(|at| now.duration_since(at).ok());
    let too_young = age.zip(entry.min_account_age);
    let obstacles = [
        (arena.variant != Variant::Atomic, "it is not atomic"),
        (!arena.bots_allowed, "it does not admit bots"),
        (arena.from_position, "it starts from a custom position"),
        (too_fast, "it is too fast for bots"),
        (arena.is_finished, "it is over"),
        (arena.is_private && !password, "it needs a password"),
        (wrong_team, "it needs a team"),
        (entry.only_titled, "it is for titled players"),
        (
            entry.by_list && entry.accepted != Some(true),
            "it is for invited users",
        ),
        (is_outside, "the bot's rating is outside its limits"),
        (too_few, "the bot has not played enough games"),
        (
            too_young.is_some_and(|(our, least)| our.as_secs() / DAY < u64::from(least)),
            "the bot's account is too young",
        ),
        // Only joining shows whether a password or team is right.
        (
            entry.accepted == Some(false) && team.is_none() && !password,
            "the server does not let the bot join",
        ),
    ];
    let first = obstacles.into_iter().find(|(stalled, _)| *stalled);
    first.map_or(Ok(()), |(_, why)| Err(why))
}

/// Whether the rules look for an arena.
pub fn suits(arena: &Arena, rules: &config::Arena, begins: SystemTime) -> bool {
    let base = rules.min_base..=rules.max_base;
    let increment = rules.min_increment..=rules.max_increment;
    let clock = arena.base.zip(arena.increment);
    let fits = clock.is_some_and(|(at, plus)| base.contains(&at) && increment.contains(&plus));
    let since = begins.duration_since(UNIX_EPOCH);
    let second = since.map_or(0, |since| since.as_secs());
    let team = arena.entry.team.as_ref();
    fits && (arena.rated || !rules.rated_only)
        && rules.hours.contains_second(second)
        && team.is_none_or(|team| rules.teams.contains(team))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lichess::EntryConditions;

    fn arena() -> Arena {
        Arena {
            id: "aBcD1234".to_owned(),
            name: "Atomic Arena".to_owned(),
            variant: Variant::Atomic,
            base: Some(Duration::from_secs(180)),
            increment: Some(Duration::from_secs(2)),
            rated: true,
            bots_allowed: true,
            starts_at: None,
            to_start: None,
            to_end: None,
            length: None,
            is_finished: false,
            pairings_closed: false,
            from_position: false,
            is_private: false,
            entry: EntryConditions::default(),
        }
    }

    const US: Eligibility = Eligibility {
        rating: Some(2000),
        games: 50,
        created_at: Some(UNIX_EPOCH),
    };

    /// Whether it admits an account of a hundred days.
    fn admits(
        arena: &Arena,
        team: Option<&str>,
        password: bool,
        us: &Eligibility,
    ) -> Result<(), &'static str> {
        let now = UNIX_EPOCH + Duration::from_secs(100 * DAY);
        super::admits(arena, team, password, us, now)
    }

    #[test]
    fn each_obstacle_is_named() {
        type AccountFault = fn(&mut Arena);
        let rows: [(AccountFault, &str); 14] = [
            (|it| it.variant = Variant::Standard, "it is not atomic"),
            (|it| it.bots_allowed = false, "it does not admit bots"),
            (
                |it| it.from_position = true,
                "it starts from a custom position",
            ),
            (
                |it| {
                    it.base = Some(Duration::from_secs(15));
                    it.increment = Some(Duration::ZERO);
                },
                "it is too fast for bots",
            ),
            (|it| it.is_finished = true, "it is over"),
            (|it| it.is_private = true, "it needs a password"),
            (
                |it| it.entry.teams = vec!["x".to_owned()],
                "it needs a team",
            ),
            (|it| it.entry.only_titled = true, "it is for titled players"),
            (|it| it.entry.by_list = true, "it is for invited users"),
            (
                |it| it.entry.min_rating = Some(2001),
                "the bot's rating is outside its limits",
            ),
            (
                |it| it.entry.max_rating = Some(1999),
                "the bot's rating is outside its limits",
            ),
            (
                |it| it.entry.min_rated_games = Some(51),
                "the bot has not played enough games",
            ),
            (
                |it| it.entry.min_account_age = Some(101),
                "the bot's account is too young",
            ),
            (
                |it| it.entry.accepted = Some(false),
                "the server does not let the bot join",
            ),
        ];
        assert_eq!(admits(&arena(), None, false, &US), Ok(()));
        for (spoil, why) in rows {
            let mut arena = arena();
            spoil(&mut arena);
            assert_eq!(admits(&arena, None, false, &US), Err(why));
        }
    }

    #[test]
    fn a_password_and_a_team_remove_their_obstacles() {
        let mut arena = arena();
        arena.is_private = true;
        arena.entry.teams = vec!["x".to_owned(), "y".to_owned()];
        assert_eq!(admits(&arena, Some("y"), true, &US), Ok(()));
        assert_eq!(admits(&arena, Some("z"), true, &US), Err("it needs a team"));
        assert_eq!(
            admits(&arena, Some("y"), false, &US),
            Err("it needs a password")
        );
    }

    #[test]
    fn an_unknown_account_fact_is_no_obstacle() {
        let mut arena = arena();
        arena.entry.min_rating = Some(2400);
        arena.entry.min_account_age = Some(30);
        assert_eq!(admits(&arena, None, false, &Eligibility::default()), Ok(()));
    }

    #[test]
    fn the_operators_rules_choose() {
        let rules = config::Arena::default();
        let at = |hour: u64| UNIX_EPOCH + Duration::from_secs(hour * 3600);
        let suits = |arena: &Arena, rules: &config::Arena| suits(arena, rules, at(12));
        assert!(suits(&arena(), &rules));
        let casual = Arena {
            rated: false,
            ..arena()
        };
        assert!(!suits(&casual, &rules));
        for (base, increment) in [(30, 0), (900, 0), (180, 6)] {
            let other = Arena {
                base: Some(Duration::from_secs(base)),
                increment: Some(Duration::from_secs(increment)),
                ..arena()
            };
            assert!(!suits(&other, &rules));
        }
        let untold = Arena {
            base: None,
            ..arena()
        };
        assert!(!suits(&untold, &rules));
        let mut of_team = arena();
        of_team.entry.team = Some("bombers".to_owned());
        assert!(!suits(&of_team, &rules));
        let member = config::Arena {
            teams: vec!["bombers".to_owned()],
            ..rules.clone()
        };
        assert!(suits(&of_team, &member));
        let night = config::Arena {
            hours: "22-6".parse().unwrap(),
            ..rules
        };
        assert!(!suits(&arena(), &night));
    }
}
