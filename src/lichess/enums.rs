//! The enumerations of the protocol, each with a variant for unknown words, and speeds of clocks.
//!
//! Matching ignores case (decline reasons are sent in camel case and come back in lower case). An unknown
//! word is never an error.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A vocabulary with a place for the word we do not know.
pub(super) trait OrUnknown: DeserializeOwned + Copy + PartialEq {
    const UNKNOWN: Self;
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word this program does not know.
            Unknown,
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as the server writes it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Unknown => "unknown",
                }
            }

            /// The meaning of a word, in any letter case.
            pub fn from_word(word: &str) -> Self {
                $(if word.eq_ignore_ascii_case($text) {
                    return Self::$variant;
                })+
                Self::Unknown
            }
        }

        impl OrUnknown for $name {
            const UNKNOWN: Self = Self::Unknown;
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                Ok(Self::from_word(&word))
            }
        }
    };
}

words! {
    /// How a game stands or how it ended.
    Status {
        /// Nothing has happened yet.
        Created = "created",
        Started = "started",
        /// Not played; counts for nothing.
        Aborted = "aborted",
        Mate = "mate",
        Resign = "resign",
        Stalemate = "stalemate",
        /// A player left and the other claimed.
        Timeout = "timeout",
        /// Agreement, repetition, fifty moves, dead position or ply cap.
        Draw = "draw",
        /// A flag fell; without a winner when the other side cannot win.
        OutOfTime = "outoftime",
        /// A player was caught cheating.
        Cheat = "cheat",
        /// The first move did not come in time.
        NoStart = "noStart",
        /// Finished in a way no one recorded.
        UnknownFinish = "unknownFinish",
        /// A draw claimed by a side whose opponent cannot win.
        InsufficientMaterialClaim = "insufficientMaterialClaim",
        /// The variant's own ending: in atomic, a king exploded.
        VariantEnd = "variantEnd",
    }
}

impl Status {
    /// Whether the game can continue. A status we do not know counts as finished.
    pub const fn is_playing(self) -> bool {
        matches!(self, Self::Created | Self::Started)
    }

    /// Whether the game is over.
    pub const fn is_over(self) -> bool {
        !self.is_playing()
    }

    /// How games end whose loser lost by time: a flag fell, or a player was gone for too long.
    pub const TIME_FORFEITS: [Self; 2] = [Self::OutOfTime, Self::Timeout];

    /// Whether it is one of those; drawn where the other side could not have won.
    pub fn is_time_forfeit(self) -> bool {
        Self::TIME_FORFEITS.contains(&self)
    }

    /// Whether a game that ended so, won by this side or by no one, has a result. What was called off
    /// has none, nor has what ended in a way that no one knows, unless someone won it.
    pub const fn has_result(self, winner: Option<Side>) -> bool {
        let open = self.is_playing()
            || matches!(
                self,
                Self::Aborted | Self::NoStart | Self::UnknownFinish | Self::Unknown
            );
        winner.is_some() || !open
    }

    /// The number the server uses for it in events, where it has one.
    pub const fn number(self) -> Option<u8> {
        Some(match self {
            Self::Created => 10,
            Self::Started => 20,
            Self::Aborted => 25,
            Self::Mate => 30,
            Self::Resign => 31,
            Self::Stalemate => 32,
            Self::Timeout => 33,
            Self::Draw => 34,
            Self::OutOfTime => 35,
            Self::Cheat => 36,
            Self::NoStart => 37,
            Self::UnknownFinish => 38,
            Self::InsufficientMaterialClaim => 39,
            Self::VariantEnd => 60,
            Self::Unknown => return None,
        })
    }

    /// The status with this number.
    pub fn from_number(number: u64) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|status| status.number().map(u64::from) == Some(number))
            .unwrap_or(Self::Unknown)
    }
}

words! {
    /// Speed classes by estimated duration. Not a test for the presence of a clock.
    Speed {
        /// Under 30 seconds: closed to bots.
        UltraBullet = "ultraBullet",
        Bullet = "bullet",
        Blitz = "blitz",
        Rapid = "rapid",
        Classical = "classical",
        /// Longer, or no clock at all.
        Correspondence = "correspondence",
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::Unknown
    }
}

/// The moves of an average game, as the server estimates durations.
const ESTIMATED_MOVES: u32 = 40;

/// How long a game lasts by the server's estimate: forty moves of each side.
pub fn estimate(base: Duration, increment: Duration) -> Duration {
    base.saturating_add(increment.saturating_mul(ESTIMATED_MOVES))
}

/// The speed class that the server gives a clock.
pub fn speed_of(base: Duration, increment: Duration) -> Speed {
    match estimate(base, increment).as_secs() {
        0..30 => Speed::UltraBullet,
        30..180 => Speed::Bullet,
        180..480 => Speed::Blitz,
        480..1500 => Speed::Rapid,
        1500..21_600 => Speed::Classical,
        _ => Speed::Correspondence,
    }
}

words! {
    /// The key of a variant.
    Variant {
        Standard = "standard",
        Chess960 = "chess960",
        Crazyhouse = "crazyhouse",
        Antichess = "antichess",
        /// The game this program plays.
        Atomic = "atomic",
        Horde = "horde",
        /// A king in the centre wins.
        KingOfTheHill = "kingOfTheHill",
        /// A race to the eighth rank.
        RacingKings = "racingKings",
        ThreeCheck = "threeCheck",
        /// Ordinary chess from some position.
        FromPosition = "fromPosition",
    }
}

/// White or black. There is no third word: anything else does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that moves first.
    White,
    Black,
}

impl Side {
    /// The word as the server writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Black => "black",
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
        }
    }
}

/// One value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BySide<T> {
    pub white: T,
    pub black: T,
}

impl<T> BySide<T> {
    /// The value of one side.
    pub const fn of(&self, side: Side) -> &T {
        match side {
            Side::White => &self.white,
            Side::Black => &self.black,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

words! {
    /// The colour a challenger chose for themself.
    ColorChoice {
        White = "white",
        Black = "black",
        /// Left to the server.
        Random = "random",
    }
}

words! {
    /// Why a challenge is declined. Two of them ask for the opposite of what they name: `Rated`
    /// says "send me a rated challenge instead", `Casual` "send me a casual one".
    DeclineReason {
        /// Not accepting at the moment.
        Generic = "generic",
        /// Not now, ask again later.
        Later = "later",
        /// The time control is too fast, send a slower one.
        TooFast = "tooFast",
        /// The time control is too slow, send a faster one.
        TooSlow = "tooSlow",
        /// Not with this time control.
        TimeControl = "timeControl",
        /// Send a rated challenge instead.
        Rated = "rated",
        /// Send a casual challenge instead.
        Casual = "casual",
        Standard = "standard",
        Variant = "variant",
        /// No challenges from bots.
        NoBot = "noBot",
        /// Challenges from bots only.
        OnlyBot = "onlyBot",
    }
}

words! {
    /// Where a challenge stands.
    ChallengeStatus {
        /// Waiting for an answer.
        Created = "created",
        /// Its creator stopped pinging; it can still be accepted for hours.
        Offline = "offline",
        Canceled = "canceled",
        Declined = "declined",
        Accepted = "accepted",
    }
}

words! {
    /// Which way a challenge goes, in answers to a call.
    Direction {
        In = "in",
        Out = "out",
    }
}

words! {
    /// The two chat rooms of a game.
    Room {
        Player = "player",
        Spectator = "spectator",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_name_and_a_number_that_lead_back_to_it() {
        for &status in Status::ALL {
            assert_eq!(Status::from_word(status.as_str()), status);
            let number = status.number().map(u64::from);
            assert_eq!(number.map(Status::from_number), Some(status));
        }
        assert_eq!(Status::from_number(61), Status::Unknown);
    }

    #[test]
    fn only_created_and_started_games_go_on() {
        let playing: Vec<_> = Status::ALL.iter().filter(|s| s.is_playing()).collect();
        assert_eq!(playing, [&Status::Created, &Status::Started]);
        assert!(Status::from_word("newKindOfEnding").is_over());
    }

    #[test]
    fn a_game_has_a_result_if_somebody_won_it_or_it_is_known_to_be_drawn() {
        let none = ["created", "started", "aborted", "noStart", "unknownFinish"];
        for &status in Status::ALL {
            let open = none.contains(&status.as_str());
            assert_eq!(status.has_result(None), !open, "{status:?}");
            assert!(status.has_result(Some(Side::Black)), "{status:?}");
        }
        assert!(!Status::from_word("newKindOfEnding").has_result(None));
    }

    #[test]
    fn decline_reasons_are_sent_in_camel_case_and_read_in_any() {
        assert_eq!(DeclineReason::from_word("toofast"), DeclineReason::TooFast);
        assert_eq!(DeclineReason::TooFast.as_str(), "tooFast");
        assert_eq!(DeclineReason::from_word("novelty"), DeclineReason::Unknown);
    }
}
