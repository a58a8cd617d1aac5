//! Replies: done, refused, not found, JSON and NDJSON.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use crate::practice::api_error::ApiError;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        (status, Json(self.body)).into_response()
    }
}

/// Done, or the refusal.
pub(in crate::practice) fn done_or(outcome: Result<(), ApiError>) -> Response {
    outcome
        .map(|()| Json(json!({ "ok": true })))
        .into_response()
}

/// One JSON object per line.
pub(super) fn lines<T: Serialize>(values: &[T]) -> Response {
    let mut text = String::new();
    for value in values {
        text.push_str(&serde_json::to_string(value).unwrap_or_default());
        text.push('\n');
    }
    ([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response()
}

/// The reply for unknown paths and wrong methods.
pub(in crate::practice) async fn unknown_path() -> Response {
    (StatusCode::NOT_FOUND, "404 - Resource not found").into_response()
}
