//! Challenges in events and replies.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::practice::game_settings::{ColorWish, Speed, TimeControl};

use super::game::{Variant, is_false};

#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChallengeJson {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) status: &'static str,
    pub(crate) challenger: ChallengeUser,
    pub(crate) dest_user: ChallengeUser,
    pub(crate) variant: Variant,
    pub(crate) rated: bool,
    pub(crate) speed: Speed,
    pub(crate) time_control: TimeControlJson,
    pub(crate) color: ColorWish,
    pub(crate) final_color: &'static str,
    pub(crate) perf: PerfIcon,
    pub(crate) direction: Option<Direction>,
    pub(crate) rematch_of: Option<String>,
    pub(crate) rules: Option<Vec<String>>,
    pub(crate) decline_reason: Option<&'static str>,
    pub(crate) decline_reason_key: Option<&'static str>,
}

/// Whether a challenge is incoming or outgoing; only in replies, never in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    In,
    Out,
}

/// One of the two users of a challenge.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChallengeUser {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) title: Option<&'static str>,
    pub(crate) rating: i32,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) provisional: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) online: bool,
    pub(crate) lag: Option<u8>,
}

/// Icon and name of a rating category.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PerfIcon {
    pub(crate) icon: &'static str,
    pub(crate) name: &'static str,
}

/// The time control of a challenge, in seconds and days.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum TimeControlJson {
    Clock {
        limit: u32,
        increment: u32,
        show: String,
    },
    #[serde(rename_all = "camelCase")]
    Correspondence {
        days_per_turn: u32,
    },
    Unlimited,
}

impl From<TimeControl> for TimeControlJson {
    fn from(time: TimeControl) -> Self {
        match time {
            TimeControl::Clock { limit, increment } => Self::Clock {
                limit,
                increment,
                show: time.show(),
            },
            TimeControl::Correspondence { days } => Self::Correspondence {
                days_per_turn: days,
            },
            TimeControl::Unlimited => Self::Unlimited,
        }
    }
}
