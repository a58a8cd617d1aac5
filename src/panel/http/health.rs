//! What probes and monitoring systems ask for.
//!
//! All of it is known already when it is asked for: no probe, however often it comes, reaches the
//! bot.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::app_state::AppState;
use super::auth::refusal;
use crate::panel::metrics::CONTENT_TYPE;

/// Whether the process should be left running.
pub(super) async fn healthz(State(site): State<AppState>) -> Response {
    let report = site.sources().health.report();
    if report.alive {
        return "alive\n".into_response();
    }
    let wrong = report.checks.iter().filter(|check| !check.ok);
    let mut lines: Vec<String> = wrong
        .map(|it| format!("{}: {}\n", it.name, it.text))
        .collect();
    lines.insert(0, "not alive\n".to_owned());
    (StatusCode::SERVICE_UNAVAILABLE, lines.concat()).into_response()
}

/// Whether it would take a game, with reasons.
pub(super) async fn readyz(State(site): State<AppState>) -> Response {
    let report = site.sources().health.report();
    let status = if report.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(report)).into_response()
}

pub(super) async fn metrics(State(site): State<AppState>) -> Response {
    let Some(metrics) = &site.sources().metrics else {
        return refusal(StatusCode::NOT_FOUND, "metrics are disabled");
    };
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "cannot write metrics"),
    }
}
