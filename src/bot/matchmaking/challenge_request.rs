//! A challenge to be sent: opponent and terms. Plain data.

use std::time::Duration;

use crate::bot::quota::OpponentKind;
use crate::config::{DAYS, Profile, TimeRule};
use crate::lichess::{ChallengeOptions, ColorChoice, Speed, UserId, Variant, speed_of};

/// Origin of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiator {
    /// The rules of the config.
    Rules,
    /// The operator, by command.
    Operator,
    /// The operator's series of games.
    Series,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeRequest {
    pub to: UserId,
    pub target: OpponentKind,
    pub profile: Profile,
    pub color: ColorChoice,
    pub origin: Initiator,
}

impl ChallengeRequest {
    pub fn speed(&self) -> Speed {
        self.profile.speed()
    }

    /// The API call's options.
    pub fn options(&self) -> ChallengeOptions {
        ChallengeOptions {
            rated: self.profile.rated,
            time_control: self.profile.time_control(),
            color: self.color,
            variant: Variant::Atomic,
            credits: self.target.credits(),
        }
    }

    /// The same with colours reversed; a random colour stays random.
    #[must_use]
    pub fn turned(&self) -> Self {
        let color = match self.color {
            ColorChoice::White => ColorChoice::Black,
            ColorChoice::Black => ColorChoice::White,
            other => other,
        };
        Self {
            color,
            ..self.clone()
        }
    }
}

/// Manual challenges that may wait.
pub(super) const MAX_MANUAL: usize = 8;
/// The longest increment of a challenge from a bot.
const MAX_INCREMENT: Duration = Duration::from_secs(60);
/// Most games of a series.
const MAX_SERIES: u32 = 1000;

/// Why a manual challenge is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManualChallengeError {
    #[error("that is the bot's own account")]
    Ourselves,
    #[error("{0:?} is not an account name: 2 to 30 letters, digits, _ and -")]
    NoName(String),
    /// The config has no such profile.
    #[error("no profile is called {0:?}: there are {1}")]
    UnknownProfile(String, String),
    /// The entry of a list, or the command, that forbids it.
    #[error(
        "{0} is never challenged: see [matchmaking] avoid, [challenge] block and `megaton block` ({1})"
    )]
    Avoided(UserId, String),
    #[error("Lichess rates no atomic game of days per move: leave out --rated")]
    NeverRated,
    /// Lichess does not offer that clock.
    #[error(
        "{0:?} is not a clock for a bot on Lichess: write minutes+seconds, such as 3+2 or 0.5+0, or days per \
         move, one of 1d, 2d, 3d, 5d, 7d, 10d and 14d"
    )]
    BadClock(String),
    #[error("a series is of 1 to {MAX_SERIES} games, not {0}")]
    BadSeries(u32),
    /// One at a time.
    #[error("a series with {0} is not over: `megaton cancel` ends it")]
    SeriesRuns(UserId),
    /// Too many are queued.
    #[error("{MAX_MANUAL} challenges are queued already")]
    TooMany,
    /// There is no last opponent.
    #[error("no opponent has been challenged yet")]
    NoOpponent,
    /// The bot accepts nothing new.
    #[error("the bot accepts no new games")]
    Closed,
}

impl ChallengeRequest {
    /// A challenge by command to `user`; `what` is a profile's name or a clock such as "3+2", for
    /// the first profile by default.
    ///
    /// It bypasses hours, ratings, idle time, cooldowns and the spreading of games over the day;
    /// never slots, the daily quota or the server's limits.
    pub fn manual(
        user: &str,
        what: Option<&str>,
        profiles: &[Profile],
    ) -> Result<Self, ManualChallengeError> {
        let to =
            UserId::typed(user).ok_or_else(|| ManualChallengeError::NoName(user.to_owned()))?;
        let usual = [Profile::default()];
        let profiles = if profiles.is_empty() {
            &usual
        } else {
            profiles
        };
        let profile = match what {
            Some(what) => profile(what, profiles)?,
            None => profiles[0].clone(),
        };
        Ok(Self {
            to,
            target: OpponentKind::Human,
            profile,
            color: ColorChoice::Random,
            origin: Initiator::Operator,
        })
    }
}

/// Games with one opponent by command, one after another with colours turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The next challenge.
    pub request: ChallengeRequest,
    pub games: u32,
    /// How many have begun.
    pub begun: u32,
}

impl Series {
    /// The name of its note in the state.
    pub const NOTE: &str = "series";

    /// A series that starts with this challenge, by default as White.
    ///
    /// # Errors
    /// When there can be no such number of games.
    pub fn new(request: ChallengeRequest, games: u32) -> Result<Self, ManualChallengeError> {
        if !(1..=MAX_SERIES).contains(&games) {
            return Err(ManualChallengeError::BadSeries(games));
        }
        let color = match request.color {
            ColorChoice::Random => ColorChoice::White,
            color => color,
        };
        let request = ChallengeRequest {
            origin: Initiator::Series,
            color,
            ..request
        };
        Ok(Self {
            request,
            games,
            begun: 0,
        })
    }

    /// What a restart needs to continue it; the reverse of [`Series::read`].
    pub fn note(&self) -> String {
        let ChallengeRequest {
            to, profile, color, ..
        } = &self.request;
        let white = *color == ColorChoice::White;
        let (what, rated) = (&profile.name, profile.rated);
        format!("{to} {what} {rated} {white} {} {}", self.games, self.begun)
    }

    /// The series of a note; `None` if it cannot be continued under these profiles.
    pub fn read(note: &str, profiles: &[Profile]) -> Option<Self> {
        let words: Vec<&str> = note.split(' ').collect();
        let [user, what, rated, white, games, begun] = words[..] else {
            return None;
        };
        let mut request = ChallengeRequest::manual(user, Some(what), profiles).ok()?;
        request.profile.rated = rated.parse().ok()?;
        request.color = if white.parse().ok()? {
            ColorChoice::White
        } else {
            ColorChoice::Black
        };
        let begun = begun.parse().ok()?;
        let series = Self::new(request, games.parse().ok()?).ok()?;
        Some(Self { begun, ..series })
    }

    pub fn describe(&self) -> String {
        let (begun, games, with) = (self.begun, self.games, &self.request.to);
        format!("series with {with}: {begun} of {games} games begun")
    }
}

/// The profile of this name, or the first one with this clock; there is at least one.
fn profile(what: &str, profiles: &[Profile]) -> Result<Profile, ManualChallengeError> {
    let mut known = profiles.iter();
    if let Some(profile) = known.find(|it| it.name.eq_ignore_ascii_case(what)) {
        return Ok(profile.clone());
    }
    if !what.starts_with(|c: char| c.is_numeric()) {
        let known: Vec<_> = profiles.iter().map(|it| it.name.as_str()).collect();
        let known = known.join(", ");
        return Err(ManualChallengeError::UnknownProfile(what.to_owned(), known));
    }
    let first = profiles[0].clone();
    let profile = if let Some(days) = days(what) {
        Profile { days, ..first }
    } else {
        let (base, increment) =
            clock(what).ok_or_else(|| ManualChallengeError::BadClock(what.to_owned()))?;
        Profile {
            base,
            increment,
            days: 0,
            ..first
        }
    };
    Ok(Profile {
        // One word, as the note of a series needs it.
        name: what.split_whitespace().collect(),
        rated: profile.rated && profile.days == 0,
        ..profile
    })
}

/// Days per move, such as `2d`.
fn days(text: &str) -> Option<u32> {
    let days = text.strip_suffix('d')?.parse().ok()?;
    DAYS.contains(&days).then_some(days)
}

/// Minutes and seconds, such as `3+2` or `0.5+0`; `None` for a clock that bots cannot play.
fn clock(text: &str) -> Option<(Duration, Duration)> {
    let Ok(TimeRule::Exact { base, increment }) = text.parse() else {
        return None;
    };
    let is_slow_enough = speed_of(base, increment) != Speed::UltraBullet;
    (is_slow_enough && increment <= MAX_INCREMENT).then_some((base, increment))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn speed_classes_are_those_of_the_server() {
        let speed =
            |base, increment| speed_of(Duration::from_secs(base), Duration::from_secs(increment));
        for (base, increment, expected) in [
            (15, 0, Speed::UltraBullet),
            (30, 0, Speed::Bullet),
            (0, 1, Speed::Bullet),
            (120, 1, Speed::Bullet),
            (180, 0, Speed::Blitz),
            (300, 3, Speed::Blitz),
            (480, 0, Speed::Rapid),
            (900, 10, Speed::Rapid),
            (1500, 0, Speed::Classical),
            (10_800, 180, Speed::Classical),
            (10_800, 300, Speed::Correspondence),
        ] {
            assert_eq!(speed(base, increment), expected, "{base}+{increment}");
        }
    }

    #[test]
    fn a_challenge_request_matches_its_profile() {
        let offer = ChallengeRequest {
            to: UserId::new("nukeengine"),
            target: OpponentKind::Human,
            profile: Profile::default(),
            color: ColorChoice::White,
            origin: Initiator::Rules,
        };
        let options = offer.options();
        assert_eq!((options.rated, options.credits), (true, 5));
        assert_eq!(offer.turned().color, ColorChoice::Black);
        assert_eq!(offer.turned().turned(), offer);
    }
}

#[cfg(test)]
mod manual_challenge_tests {
    use super::*;
    use crate::lichess::TimeControl;

    fn manual(what: Option<&str>) -> Result<(u64, u64), String> {
        let slow = Profile {
            name: "Slow".to_owned(),
            base: Duration::from_secs(900),
            ..Profile::default()
        };
        ChallengeRequest::manual("NukeEngine", what, &[Profile::default(), slow])
            .map(|it| (it.profile.base.as_secs(), it.profile.increment.as_secs()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_manual_challenge_names_a_profile_or_a_clock_or_nothing() {
        assert_eq!(manual(None), Ok((180, 2)));
        assert_eq!(manual(Some("slow")), Ok((900, 2)));
        assert_eq!(manual(Some("1+1")), Ok((60, 1)));
        assert_eq!(manual(Some("0.5+0")), Ok((30, 0)));
        assert_eq!(manual(Some("1/2+0")), Ok((30, 0)));
        assert_eq!(manual(Some("0+2")), Ok((0, 2)));
    }

    #[test]
    fn a_series_survives_a_restart_under_any_profiles() {
        for profiles in [vec![], vec![Profile::default()]] {
            for what in [None, Some("5 + 3")] {
                let request = ChallengeRequest::manual("NukeEngine", what, &profiles).unwrap();
                let series = Series::new(request, 5).unwrap();
                assert_eq!(Series::read(&series.note(), &profiles), Some(series));
            }
        }
    }

    #[test]
    fn an_invalid_account_name_is_rejected() {
        let error = ChallengeRequest::manual("nuke engine", None, &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"nuke engine\" is not an account name"),
            "{error}"
        );
    }

    #[test]
    fn a_word_that_is_neither_profile_nor_clock_is_quoted_in_the_error() {
        assert!(manual(Some("fast")).unwrap_err().contains("blitz, Slow"));
        for bad in [
            "3", "3+", "3+61", "181+0", "0+0", "0.25+0", "0.7+1", "1e9+1",
        ] {
            assert!(
                manual(Some(bad)).unwrap_err().contains("not a clock"),
                "{bad}"
            );
        }
    }

    #[test]
    fn days_per_move_are_offered_as_the_server_has_them() {
        let manual = |what| ChallengeRequest::manual("NukeEngine", Some(what), &[]);
        let request = manual("2d").unwrap();
        let days = TimeControl::Correspondence { days: 2 };
        assert_eq!(request.options().time_control, days);
        assert!(!request.options().rated, "Lichess rates no such game");
        assert_eq!(request.speed(), Speed::Correspondence);
        for bad in ["4d", "0d", "15d", "d", "-1d"] {
            assert!(manual(bad).is_err(), "{bad}");
        }
        let slow = Profile {
            name: "Post".to_owned(),
            days: 3,
            ..Profile::default()
        };
        let fast = ChallengeRequest::manual("NukeEngine", Some("3+2"), &[slow]).unwrap();
        assert_eq!(fast.speed(), Speed::Blitz, "a clock is a clock");
    }
}
