//! Arenas and teams: listed, shown, joined, left.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::sync::Arc;

use crate::practice::api_error::ApiError;
use crate::practice::arena::EntryRequest;
use crate::practice::state::ServerState;

use super::auth::{Caller, caller_of};
use super::fields::Fields;
use super::reply::{done_or, lines};
use crate::practice::shared::SharedServer;

pub(super) async fn list(State(shared): State<Arc<SharedServer>>) -> Response {
    Json(shared.see(ServerState::arena_list)).into_response()
}

pub(super) async fn of_team(
    State(shared): State<Arc<SharedServer>>,
    Path(team): Path<String>,
) -> Response {
    lines(&shared.see(|state, now| state.team_arenas(&team, now)))
}

pub(super) async fn teams_of(
    State(shared): State<Arc<SharedServer>>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let teams = shared.see(|state, _| state.teams_of(&name));
    let teams = teams.ok_or_else(ApiError::not_found)?;
    Ok(Json(teams).into_response())
}

/// Needs no token; with one, the reply also says whether the account may join.
pub(super) async fn show(
    State(shared): State<Arc<SharedServer>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let json = shared.see(|state, now| {
        let caller = caller_of(state, &headers);
        state.shown_arena(&id, caller.as_ref().map(|it| it.user.as_str()), now)
    });
    json.map(Json).ok_or_else(ApiError::not_found)
}

pub(super) async fn join(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    let entrance = EntryRequest {
        password: fields.get("password").map(str::to_owned),
        team: fields.get("team").map(str::to_owned),
        pair_me: fields.is_true("pairMeAsap"),
    };
    done_or(shared.with(|state, now| {
        state.count_join(&caller.user, now)?;
        state.join_arena(&caller.user, &id, &entrance, now)
    }))
}

pub(super) async fn withdraw(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    done_or(shared.with(|state, now| state.leave_arena(&caller.user, &id, now)))
}

pub(super) async fn join_team(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(team): Path<String>,
) -> Response {
    done_or(shared.with(|state, _| state.join_team(&caller.user, &team)))
}

pub(super) async fn quit_team(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(team): Path<String>,
) -> Response {
    done_or(shared.with(|state, _| state.quit_team(&caller.user, &team)))
}
