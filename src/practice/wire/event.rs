//! The lines of the event stream, and the list of running games.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::practice::game_settings::{Speed, Status};

use super::{ChallengeJson, Variant};

/// One line of `/api/stream/event`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum EventLine {
    GameStart {
        game: Box<GameInfo>,
    },
    GameFinish {
        game: Box<GameInfo>,
    },
    /// `compat` is beside the challenge, and missing when a stream is opened.
    Challenge {
        challenge: Box<ChallengeJson>,
        #[serde(skip_serializing_if = "Option::is_none")]
        compat: Option<Compat>,
    },
    ChallengeCanceled {
        challenge: Box<ChallengeJson>,
    },
    ChallengeDeclined {
        challenge: Box<ChallengeJson>,
    },
}

/// Which APIs can play the game.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Compat {
    pub(crate) bot: bool,
    pub(crate) board: bool,
}

/// A status with its number.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct StatusJson {
    pub(crate) id: u8,
    pub(crate) name: &'static str,
}

impl From<Status> for StatusJson {
    fn from(status: Status) -> Self {
        Self {
            id: status.id(),
            name: status.name(),
        }
    }
}

/// The opponent, seen from one side. The name may carry the title before it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Opponent {
    pub(crate) id: String,
    pub(crate) username: String,
    pub(crate) rating: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rating_diff: Option<i32>,
}

/// A game seen from one side.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GameInfo {
    pub(crate) full_id: String,
    pub(crate) game_id: String,
    pub(crate) fen: String,
    pub(crate) color: &'static str,
    pub(crate) last_move: String,
    pub(crate) source: &'static str,
    pub(crate) status: StatusJson,
    pub(crate) variant: Variant,
    pub(crate) speed: Speed,
    pub(crate) perf: &'static str,
    pub(crate) rated: bool,
    pub(crate) has_moved: bool,
    pub(crate) opponent: Opponent,
    pub(crate) is_my_turn: bool,
    pub(crate) seconds_left: Option<u64>,
    pub(crate) tournament_id: Option<String>,
    pub(crate) winner: Option<&'static str>,
    pub(crate) rating_diff: Option<i32>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) extra: Option<EventExtra>,
}

/// Fields of events that the list of running games lacks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventExtra {
    pub(crate) rating: i32,
    pub(crate) compat: Compat,
    pub(crate) id: String,
}

/// The reply of `/api/account/playing`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NowPlaying {
    pub(crate) now_playing: Vec<GameInfo>,
    pub(crate) nb_my_turn: usize,
}
