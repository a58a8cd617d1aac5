//! The export of a game.
//!
//! Clock times, analysis and opening names are not recorded here and therefore left out, as Lichess
//! does if it has none.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::practice::game_settings::{Speed, Status};

use super::game::is_false;

/// The JSON reply of `/game/export/{id}`.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportJson {
    pub(crate) id: String,
    pub(crate) rated: bool,
    /// A bare key, unlike on the streams.
    pub(crate) variant: &'static str,
    pub(crate) speed: Speed,
    pub(crate) perf: &'static str,
    pub(crate) created_at: u64,
    pub(crate) last_move_at: u64,
    pub(crate) status: Status,
    pub(crate) source: &'static str,
    pub(crate) players: ExportPlayers,
    pub(crate) winner: Option<&'static str>,
    /// In SAN, unlike on the streams.
    pub(crate) moves: Option<String>,
    pub(crate) clock: Option<ExportClock>,
    pub(crate) days_per_turn: Option<u32>,
    pub(crate) arena_tour: Option<ExportArena>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExportPlayers {
    pub(crate) white: ExportPlayer,
    pub(crate) black: ExportPlayer,
}

/// One side of a game.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportPlayer {
    pub(crate) user: ExportUser,
    pub(crate) rating: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rating_diff: Option<i32>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) provisional: bool,
}

/// Whose account it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExportUser {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'static str>,
    pub(crate) id: String,
}

/// The clock in seconds, and the estimated time of a side for forty moves.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportClock {
    pub(crate) initial: u32,
    pub(crate) increment: u32,
    pub(crate) total_time: u32,
}

/// The arena of a game.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExportArena {
    pub(crate) id: String,
    pub(crate) name: String,
}
