//! Accounts in replies.

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::game::is_false;

/// A user: short in lists, with `count` and `url` if requested alone.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserJson {
    pub(crate) id: String,
    pub(crate) username: String,
    pub(crate) title: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) disabled: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) tos_violation: bool,
    pub(crate) perfs: Perfs,
    pub(crate) created_at: u64,
    pub(crate) seen_at: u64,
    pub(crate) url: Option<String>,
    pub(crate) playing: Option<String>,
    pub(crate) count: Option<Counts>,
}

/// The ratings; a category never played is missing.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Perfs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) atomic: Option<Perf>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Perf {
    pub(crate) games: u32,
    pub(crate) rating: i32,
    pub(crate) rd: u32,
    pub(crate) prog: i32,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) prov: bool,
}

/// Number of games by result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) all: u32,
    pub(crate) rated: u32,
    pub(crate) draw: u32,
    pub(crate) loss: u32,
    pub(crate) win: u32,
    pub(crate) bookmark: u32,
    pub(crate) playing: u32,
    pub(crate) import: u32,
    pub(crate) me: u32,
}

/// One entry of `/api/users/status`; false flags are left out.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserStatus {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) title: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) online: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) playing: bool,
    pub(crate) playing_id: Option<String>,
}
