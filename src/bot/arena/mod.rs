//! Arena tournaments: which to join, when, and when to leave.
//!
//! Here: what the operator wants of an arena, and what the arena wants of the bot. `schedule`: upcoming and
//! current arenas. Both pure.

mod schedule;

use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;

use crate::config;
use crate::lichess::{Account, Arena, Variant};

pub use schedule::ArenaSchedule;

// Which arenas the bot looks for, and which admit it. Pure.
//
// What an arena does not state is no obstacle here: the server decides on joining.

const DAY: u64 = 24 * 3600;

/// Account facts that an arena may require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eligibility {
    pub rating: Option<i32>,
    pub games: u32,
    /// Account age in days.
    pub age: Option<u32>,
}

impl Eligibility {
    /// The facts at this time.
    pub fn of(account: &Account, now: SystemTime) -> Self {
        let atomic = account.atomic();
        let age = account
            .created_at
            .and_then(|at| now.duration_since(at).ok());
        Self {
            rating: atomic.and_then(|perf| perf.rating),
            games: atomic.map_or(0, |perf| perf.games),
            age: age.map(|age| u32::try_from(age.as_secs() / DAY).unwrap_or(u32::MAX)),
        }
    }
}

/// Why the bot does not join an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Ineligible {
    #[error("it is not atomic")]
    Variant,
    /// Bots are not admitted.
    #[error("it does not admit bots")]
    Bots,
    /// It starts from a custom position.
    #[error("it starts from a custom position")]
    Position,
    #[error("it is over")]
    Over,
    /// It needs a password that the operator has not given.
    #[error("it needs a password")]
    Password,
    /// It needs a team that the operator has not named.
    #[error("it needs a team")]
    Team,
    /// It is for titled players.
    #[error("it is for titled players")]
    Titled,
    /// It is for invited users.
    #[error("it is for invited users")]
    Listed,
    /// The bot's rating is outside its limits.
    #[error("the bot's rating is outside its limits")]
    Rating,
    /// Too few games played.
    #[error("the bot has not played enough games")]
    Games,
    /// The account is too young.
    #[error("the bot's account is too young")]
    Age,
    /// The server's own verdict.
    #[error("the server does not let the bot join")]
    Verdict,
    /// It is casual, and the rules want rated.
    #[error("it is casual")]
    Casual,
    /// The rules do not want its time control.
    #[error("its time control is not wanted")]
    Clock,
    /// It is outside the wanted hours.
    #[error("it is outside the wanted hours")]
    Hours,
}

/// Whether an arena admits the bot, with the given team and password.
///
/// # Errors
/// The first obstacle.
pub fn admits(
    arena: &Arena,
    team: Option<&str>,
    password: bool,
    us: &Eligibility,
) -> Result<(), Ineligible> {
    let entry = &arena.entry;
    let of_team = |wanted: &String| team.is_some_and(|team| team == wanted);
    let wrong_team = !entry.teams.is_empty() && !entry.teams.iter().any(of_team);
    let rating = us.rating;
    let too_low = rating
        .zip(entry.min_rating)
        .is_some_and(|(our, min)| our < min);
    let too_high = rating
        .zip(entry.max_rating)
        .is_some_and(|(our, max)| our > max);
    let too_few = entry.min_rated_games.is_some_and(|least| us.games < least);
    let too_young = us.age.zip(entry.min_account_age);
    let obstacles = [
        (arena.variant != Variant::Atomic, Ineligible::Variant),
        (!arena.bots_allowed, Ineligible::Bots),
        (arena.from_position, Ineligible::Position),
        (arena.is_finished, Ineligible::Over),
        (arena.is_private && !password, Ineligible::Password),
        (wrong_team, Ineligible::Team),
        (entry.only_titled, Ineligible::Titled),
        (
            entry.by_list && entry.accepted != Some(true),
            Ineligible::Listed,
        ),
        (too_low || too_high, Ineligible::Rating),
        (too_few, Ineligible::Games),
        (
            too_young.is_some_and(|(our, least)| our < least),
            Ineligible::Age,
        ),
        // Only joining shows whether a password or team is right.
        (
            entry.accepted == Some(false) && team.is_none() && !password,
            Ineligible::Verdict,
        ),
    ];
    let first = obstacles.into_iter().find(|(stalled, _)| *stalled);
    first.map_or(Ok(()), |(_, why)| Err(why))
}

/// Whether the rules look for an arena.
///
/// # Errors
/// The first rule that it violates.
pub fn suits(arena: &Arena, rules: &config::Arena, begins: SystemTime) -> Result<(), Ineligible> {
    let base = rules.min_base..=rules.max_base;
    let increment = rules.min_increment..=rules.max_increment;
    let clock = arena.base.zip(arena.increment);
    let fits = clock.is_some_and(|(at, plus)| base.contains(&at) && increment.contains(&plus));
    let second = begins
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    if rules.rated_only && !arena.rated {
        Err(Ineligible::Casual)
    } else if !fits {
        Err(Ineligible::Clock)
    } else if !rules.hours.contains_second(second) {
        Err(Ineligible::Hours)
    } else if arena
        .entry
        .team
        .as_ref()
        .is_some_and(|team| !rules.teams.contains(team))
    {
        Err(Ineligible::Team)
    } else {
        Ok(())
    }
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
        age: Some(100),
    };

    #[test]
    fn each_obstacle_is_named() {
        type AccountFault = fn(&mut Arena);
        let rows: [(AccountFault, Ineligible); 13] = [
            (|it| it.variant = Variant::Standard, Ineligible::Variant),
            (|it| it.bots_allowed = false, Ineligible::Bots),
            (|it| it.from_position = true, Ineligible::Position),
            (|it| it.is_finished = true, Ineligible::Over),
            (|it| it.is_private = true, Ineligible::Password),
            (|it| it.entry.teams = vec!["x".to_owned()], Ineligible::Team),
            (|it| it.entry.only_titled = true, Ineligible::Titled),
            (|it| it.entry.by_list = true, Ineligible::Listed),
            (|it| it.entry.min_rating = Some(2001), Ineligible::Rating),
            (|it| it.entry.max_rating = Some(1999), Ineligible::Rating),
            (|it| it.entry.min_rated_games = Some(51), Ineligible::Games),
            (|it| it.entry.min_account_age = Some(101), Ineligible::Age),
            (|it| it.entry.accepted = Some(false), Ineligible::Verdict),
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
        assert_eq!(admits(&arena, Some("z"), true, &US), Err(Ineligible::Team));
        assert_eq!(
            admits(&arena, Some("y"), false, &US),
            Err(Ineligible::Password)
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
        assert_eq!(suits(&arena(), &rules), Ok(()));
        let casual = Arena {
            rated: false,
            ..arena()
        };
        assert_eq!(suits(&casual, &rules), Err(Ineligible::Casual));
        for (base, increment) in [(30, 0), (900, 0), (180, 6)] {
            let other = Arena {
                base: Some(Duration::from_secs(base)),
                increment: Some(Duration::from_secs(increment)),
                ..arena()
            };
            assert_eq!(suits(&other, &rules), Err(Ineligible::Clock));
        }
        let untold = Arena {
            base: None,
            ..arena()
        };
        assert_eq!(suits(&untold, &rules), Err(Ineligible::Clock));
        let mut of_team = arena();
        of_team.entry.team = Some("bombers".to_owned());
        assert_eq!(suits(&of_team, &rules), Err(Ineligible::Team));
        let member = config::Arena {
            teams: vec!["bombers".to_owned()],
            ..rules.clone()
        };
        assert_eq!(suits(&of_team, &member), Ok(()));
        let night = config::Arena {
            hours: "22-6".parse().unwrap(),
            ..rules
        };
        assert_eq!(suits(&arena(), &night), Err(Ineligible::Hours));
    }
}
