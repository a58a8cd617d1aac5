//! The terms of a game: time control, speed, rated or casual, and the names Lichess gives to game
//! states.

use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

use crate::rules::Color;

/// How time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// A clock: initial seconds and increment.
    Clock {
        /// Seconds at the start.
        limit: u32,
        /// Seconds added after a move.
        increment: u32,
    },
    /// Days per move.
    Correspondence {
        /// Days for each move.
        days: u32,
    },
    /// No clock at all.
    Unlimited,
}

/// The class of speed, from the estimated duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Speed {
    /// Under 30 s: closed to bots.
    UltraBullet,
    Bullet,
    Blitz,
    Rapid,
    Classical,
    /// Longer, or without a clock.
    Correspondence,
}

impl TimeControl {
    /// Reads "60+1": seconds, a plus sign, seconds.
    pub fn parse(text: &str) -> Option<Self> {
        let (limit, increment) = text.split_once('+')?;
        let control = Self::Clock {
            limit: limit.trim().parse().ok()?,
            increment: increment.trim().parse().ok()?,
        };
        control.is_offered().then_some(control)
    }

    /// Whether a challenge may request it.
    pub fn is_offered(self) -> bool {
        match self {
            Self::Clock { limit, increment } => {
                let limit_fits = [0, 15, 30, 45, 60, 90].contains(&limit)
                    || (limit.is_multiple_of(60) && limit <= 10_800);
                limit_fits && increment <= 180 && limit + increment > 0
            }
            Self::Correspondence { days } => [1, 2, 3, 5, 7, 10, 14].contains(&days),
            Self::Unlimited => true,
        }
    }

    /// The class of speed.
    pub fn speed(self) -> Speed {
        let Self::Clock { limit, increment } = self else {
            return Speed::Correspondence;
        };
        match limit + 40 * increment {
            0..30 => Speed::UltraBullet,
            30..180 => Speed::Bullet,
            180..480 => Speed::Blitz,
            480..1500 => Speed::Rapid,
            1500..21_600 => Speed::Classical,
            _ => Speed::Correspondence,
        }
    }

    /// Whether an atomic game at this control can be rated at all.
    pub fn ratable(self) -> RatedCheck {
        match self {
            Self::Clock {
                limit: 0,
                increment: 0..=1,
            } => RatedCheck::SilentlyCasual,
            Self::Clock { .. } => RatedCheck::Yes,
            Self::Correspondence { .. } | Self::Unlimited => RatedCheck::Refused,
        }
    }

    /// As the website writes it, "3+2".
    pub fn show(self) -> String {
        match self {
            Self::Clock { limit, increment } => format!("{}+{increment}", minutes(limit)),
            Self::Correspondence { days } => format!("{days} days"),
            Self::Unlimited => "∞".to_owned(),
        }
    }
}

fn minutes(limit: u32) -> String {
    match limit {
        15 => "¼".to_owned(),
        30 => "½".to_owned(),
        45 => "¾".to_owned(),
        90 => "1.5".to_owned(),
        _ => (limit / 60).to_string(),
    }
}

/// What becomes of a request for a rated game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatedCheck {
    Yes,
    /// It silently becomes casual.
    SilentlyCasual,
    /// The challenge is refused.
    Refused,
}

/// The terms of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameSettings {
    /// How time is kept.
    pub time: TimeControl,
    pub rated: bool,
}

/// The colour that a challenger asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ColorWish {
    White,
    Black,
    /// Whichever the server draws.
    #[default]
    Random,
}

impl ColorWish {
    /// Parses the word of the API.
    pub fn parse(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// The requested colour, or the one drawn.
    pub fn resolve(self, drawn: Color) -> Color {
        match self {
            Self::White => Color::White,
            Self::Black => Color::Black,
            Self::Random => drawn,
        }
    }
}

impl From<Color> for ColorWish {
    fn from(color: Color) -> Self {
        match color {
            Color::White => Self::White,
            Color::Black => Self::Black,
        }
    }
}

/// The state of a game. Everything but [`Status::Started`] is an end.
/// The discriminant is the number that events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
#[repr(u8)]
pub enum Status {
    Started = 20,
    /// Aborted before both had moved; counts for nothing.
    Aborted = 25,
    Mate = 30,
    Resign = 31,
    /// No legal move and no check.
    Stalemate = 32,
    /// A player left and the other claimed.
    Timeout = 33,
    /// Agreement, repetition, fifty moves, dead position or ply cap.
    Draw = 34,
    Outoftime = 35,
    /// A first move in an arena did not come in time.
    NoStart = 37,
    /// A draw was offered to a bare king.
    InsufficientMaterialClaim = 39,
    VariantEnd = 60,
}

impl Status {
    /// The word used in streams.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The number used in events.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// Whether the game is still being played.
    pub fn is_playing(self) -> bool {
        self == Self::Started
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(limit: u32, increment: u32) -> TimeControl {
        TimeControl::Clock { limit, increment }
    }

    #[test]
    fn speeds_follow_the_estimated_duration() {
        let entry = [
            (15, 0, Speed::UltraBullet),
            (30, 0, Speed::Bullet),
            (0, 1, Speed::Bullet),
            (60, 2, Speed::Bullet),
            (120, 1, Speed::Bullet),
            (180, 0, Speed::Blitz),
            (300, 3, Speed::Blitz),
            (480, 0, Speed::Rapid),
            (900, 10, Speed::Rapid),
            (1500, 0, Speed::Classical),
            (10_800, 180, Speed::Classical),
        ];
        for (limit, increment, speed) in entry {
            assert_eq!(
                clock(limit, increment).speed(),
                speed,
                "{limit}+{increment}"
            );
        }
        assert_eq!(TimeControl::Unlimited.speed(), Speed::Correspondence);
    }

    #[test]
    fn only_the_offered_limits_pass() {
        for limit in [0, 15, 30, 45, 60, 90, 120, 180, 10_800] {
            assert!(clock(limit, 1).is_offered(), "{limit}");
        }
        for limit in [1, 10, 75, 100, 10_860] {
            assert!(!clock(limit, 1).is_offered(), "{limit}");
        }
        assert!(!clock(0, 0).is_offered());
        assert!(!TimeControl::Correspondence { days: 4 }.is_offered());
    }

    #[test]
    fn zero_plus_one_turns_casual_and_rated_correspondence_is_refused() {
        assert_eq!(clock(0, 1).ratable(), RatedCheck::SilentlyCasual);
        assert_eq!(clock(0, 2).ratable(), RatedCheck::Yes);
        assert_eq!(clock(30, 0).ratable(), RatedCheck::Yes);
        assert_eq!(
            TimeControl::Correspondence { days: 2 }.ratable(),
            RatedCheck::Refused
        );
    }

    #[test]
    fn time_controls_are_read_in_seconds() {
        assert_eq!(TimeControl::parse("60+1"), Some(clock(60, 1)));
        assert_eq!(TimeControl::parse("61+1"), None);
        assert_eq!(TimeControl::parse("1m"), None);
    }
}
