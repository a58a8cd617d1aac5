//! Other accounts.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;

use crate::practice::api_error::ApiError;

use super::reply::lines;
use crate::practice::shared::SharedServer;

#[derive(Debug, Deserialize)]
pub(super) struct UserQuery {
    #[serde(default)]
    ids: String,
    #[serde(default, rename = "withGameIds")]
    with_game_ids: bool,
}

pub(super) async fn status(
    State(shared): State<Arc<SharedServer>>,
    Query(query): Query<UserQuery>,
) -> Response {
    let list: Vec<_> = shared.see(|state, now| {
        query
            .ids
            .split(',')
            .take(100)
            .filter_map(|id| state.user_status(id.trim(), query.with_game_ids, now))
            .collect()
    });
    Json(list).into_response()
}

pub(super) async fn many(State(shared): State<Arc<SharedServer>>, body: String) -> Response {
    let list: Vec<_> = shared.see(|state, now| {
        body.split(',')
            .take(300)
            .filter_map(|id| state.account(&id.trim().to_lowercase()))
            .map(|account| state.user_json(account, false, now))
            .collect()
    });
    Json(list).into_response()
}

pub(super) async fn one(
    State(shared): State<Arc<SharedServer>>,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let json = shared.see(|state, now| {
        let account = state.account(&name.to_lowercase())?;
        Some(state.user_json(account, true, now))
    });
    json.map(Json).ok_or_else(ApiError::not_found)
}

#[derive(Debug, Deserialize)]
pub(super) struct CountQuery {
    nb: Option<usize>,
}

pub(super) async fn online_bots(
    State(shared): State<Arc<SharedServer>>,
    Query(query): Query<CountQuery>,
) -> Response {
    let most = query.nb.unwrap_or(100).clamp(1, 512);
    lines(&shared.see(|state, now| state.online_bots(most, now)))
}
