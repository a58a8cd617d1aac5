//! The own account, tokens, and the event stream.

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

use crate::practice::api_error::ApiError;

use super::auth::Caller;
use super::body::{StreamOwner, stream_of};
use super::reply::done_or;
use crate::practice::chaos::middleware::{PendingStreamFault, stream_fault};
use crate::practice::shared::SharedServer;

pub(super) async fn account(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
) -> Result<impl IntoResponse, ApiError> {
    shared.with(|state, now| {
        state.count_profile_call(&caller.user, now)?;
        let account = state.account(&caller.user);
        let account = account.ok_or_else(ApiError::not_found)?;
        Ok(Json(state.user_json(account, true, now)))
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct CountQuery {
    nb: Option<usize>,
}

pub(super) async fn playing(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<CountQuery>,
) -> Response {
    let most = query.nb.unwrap_or(9).clamp(1, 50);
    Json(shared.see(|state, now| state.now_playing(&caller.user, most, now))).into_response()
}

pub(super) async fn upgrade(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    done_or(shared.with(|state, _| state.upgrade(&caller.user)))
}

/// Maps comma-separated tokens to their owners and scopes.
pub(super) async fn token_test(State(shared): State<Arc<SharedServer>>, body: String) -> Response {
    let answer: Map<String, Value> = shared.see(|state, _| {
        body.split(',')
            .map(str::trim)
            .filter(|token| !token.is_empty())
            .take(1000)
            .map(|token| {
                let known = state.token(token).map(|grant| {
                    json!({ "userId": grant.user, "scopes": grant.scopes.join(","), "expires": null })
                });
                (token.to_owned(), known.unwrap_or(Value::Null))
            })
            .collect()
    });
    Json(answer).into_response()
}

pub(super) async fn revoke(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    shared.with(|state, _| state.revoke(&caller.token));
    StatusCode::NO_CONTENT.into_response()
}

pub(super) async fn events(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    fault: Option<Extension<PendingStreamFault>>,
) -> Result<Response, ApiError> {
    let outbox = shared.open_events(&caller.token, &caller.user)?;
    let reader = StreamOwner::Events { user: caller.user };
    let fault = stream_fault(fault);
    Ok(stream_of(shared, outbox, reader, fault.as_ref()))
}
