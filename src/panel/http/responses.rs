//! Responses that several routes share.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

pub(super) fn reply(ok: bool, text: &str) -> Response {
    Json(json!({ "ok": ok, "text": text })).into_response()
}

pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    (status, reply(false, text)).into_response()
}

/// JSON, or 503 if the archive cannot be read.
pub(super) fn json_or_unreadable<T: Serialize, E>(answer: Result<T, E>) -> Response {
    answer.map_or_else(|_| unreadable(), |answer| Json(answer).into_response())
}

pub(super) fn unreadable() -> Response {
    let text = "the archive cannot be read right now: see the log";
    refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}
