//! The enumerations of the protocol, each with a variant for unknown words, and speeds of clocks.
//!
//! Matching ignores case: decline reasons go out in camel case and come back in lower case. An unknown
//! word is never an error.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, FromRepr, IntoStaticStr, VariantArray};

use crate::rules::Color;

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($variants:tt)+ })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[derive(Serialize, Deserialize, Display, EnumString, IntoStaticStr, VariantArray)]
        #[serde(rename_all = "camelCase")]
        #[strum(serialize_all = "camelCase", ascii_case_insensitive, const_into_str)]
        pub enum $name {
            $($variants)+
            /// A word this program does not know.
            #[serde(other)]
            Unknown,
        }

        impl $name {
            /// All but `Unknown`, which comes last.
            pub const ALL: &'static [Self] = match Self::VARIANTS.split_last() {
                Some((_, known)) => known,
                None => &[],
            };

            /// The word as the server writes it.
            pub const fn as_str(self) -> &'static str {
                self.into_str()
            }

            /// The meaning of a word, in any letter case.
            pub fn from_word(word: &str) -> Self {
                word.parse().unwrap_or(Self::Unknown)
            }
        }
    )+};
}

words! {
    /// How a game stands or how it ended, with the number that events use for it.
    #[derive(FromRepr)]
    #[repr(u64)]
    Status {
        /// Nothing has happened yet.
        Created = 10,
        Started = 20,
        /// Not played; counts for nothing.
        Aborted = 25,
        Mate = 30,
        Resign = 31,
        Stalemate = 32,
        /// A player left and the other claimed the win.
        Timeout = 33,
        /// Agreement, repetition, fifty moves, dead position or ply cap.
        Draw = 34,
        /// A flag fell; without a winner when the other side cannot win.
        #[serde(rename = "outoftime")]
        #[strum(serialize = "outoftime")]
        OutOfTime = 35,
        /// A player was caught cheating.
        Cheat = 36,
        /// The first move did not come in time.
        NoStart = 37,
        /// Finished in a way that Lichess did not record.
        UnknownFinish = 38,
        /// A draw claimed because the opponent cannot win.
        InsufficientMaterialClaim = 39,
        /// The variant's own ending: in atomic, a king exploded.
        VariantEnd = 60,
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

    /// The ends by time: a flag fell, or a player was gone for too long.
    pub const TIME_FORFEITS: [Self; 2] = [Self::OutOfTime, Self::Timeout];

    /// Whether time ended the game, which is drawn if the other side could not have won.
    pub fn is_time_forfeit(self) -> bool {
        Self::TIME_FORFEITS.contains(&self)
    }

    /// Whether a game with this end and `winner` has a result. An aborted game and one with an unknown
    /// end have none unless there is a winner.
    pub const fn has_result(self, winner: Option<Side>) -> bool {
        let open = self.is_playing()
            || matches!(
                self,
                Self::Aborted | Self::NoStart | Self::UnknownFinish | Self::Unknown
            );
        winner.is_some() || !open
    }

    /// The status with this number.
    pub fn from_number(number: u64) -> Self {
        Self::from_repr(number).unwrap_or(Self::Unknown)
    }
}

words! {
    /// Speed classes by estimated duration. Not a test for the presence of a clock.
    Speed {
        /// Under 30 seconds: closed to bots.
        UltraBullet,
        Bullet,
        Blitz,
        Rapid,
        Classical,
        /// Longer, or no clock at all.
        Correspondence,
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::Unknown
    }
}

/// The moves of an average game in the server's estimate.
const ESTIMATED_MOVES: u32 = 40;

/// The duration of a game in the server's estimate: forty moves by each side.
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
        Standard,
        Chess960,
        Crazyhouse,
        Antichess,
        /// The game this program plays.
        Atomic,
        Horde,
        /// A king in the centre wins.
        KingOfTheHill,
        /// A race to the eighth rank.
        RacingKings,
        ThreeCheck,
        /// Ordinary chess from some position.
        FromPosition,
    }
}

/// White or black; any other word is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Side {
    White,
    Black,
}

impl Side {
    /// The word as the server writes it.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::White => Self::Black,
            Self::Black => Self::White,
        }
    }
}

impl From<Color> for Side {
    fn from(color: Color) -> Self {
        match color {
            Color::White => Self::White,
            Color::Black => Self::Black,
        }
    }
}

impl From<Side> for Color {
    fn from(side: Side) -> Self {
        match side {
            Side::White => Self::White,
            Side::Black => Self::Black,
        }
    }
}

/// One value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BySide<T> {
    pub white: T,
    pub black: T,
}

impl<T> BySide<T> {
    pub(super) fn map<U>(self, change: impl Fn(T) -> U) -> BySide<U> {
        BySide {
            white: change(self.white),
            black: change(self.black),
        }
    }

    /// The value of one side.
    pub const fn of(&self, side: Side) -> &T {
        match side {
            Side::White => &self.white,
            Side::Black => &self.black,
        }
    }
}

words! {
    /// The colour the challenger asks for.
    ColorChoice {
        White,
        Black,
        Random,
    }
}

words! {
    /// Why a challenge is declined. Two of them ask for the opposite of what they name: `Rated`
    /// says "send me a rated challenge instead", `Casual` "send me a casual one".
    DeclineReason {
        /// Not accepting at the moment.
        Generic,
        /// Not now, ask again later.
        Later,
        /// The time control is too fast, send a slower one.
        TooFast,
        /// The time control is too slow, send a faster one.
        TooSlow,
        /// Not with this time control.
        TimeControl,
        /// Send a rated challenge instead.
        Rated,
        /// Send a casual challenge instead.
        Casual,
        Standard,
        Variant,
        /// No challenges from bots.
        NoBot,
        /// Challenges from bots only.
        OnlyBot,
    }
}

words! {
    /// Where a challenge stands.
    #[derive(Default)]
    ChallengeStatus {
        /// Waiting for an answer.
        #[default]
        Created,
        /// Its creator is offline; it can still be accepted for hours.
        Offline,
        Canceled,
        Declined,
        Accepted,
    }
}

words! {
    /// Which way a challenge goes, in answers to a call.
    Direction {
        In,
        Out,
    }
}

words! {
    /// The two chat rooms of a game.
    #[derive(Default)]
    Room {
        #[default]
        Player,
        Spectator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_name_and_a_number_that_lead_back_to_it() {
        for &status in Status::ALL {
            assert_eq!(Status::from_word(status.as_str()), status);
            assert_eq!(Status::from_number(status as u64), status);
        }
        assert_eq!(Status::from_number(61), Status::Unknown);
    }

    #[test]
    fn only_created_and_started_games_are_running() {
        let playing: Vec<_> = Status::ALL.iter().filter(|s| s.is_playing()).collect();
        assert_eq!(playing, [&Status::Created, &Status::Started]);
        assert!(Status::from_word("newKindOfEnding").is_over());
    }

    #[test]
    fn a_game_has_a_result_if_it_was_won_or_is_known_to_be_drawn() {
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
