//! Probes and metrics. They read what is known already, so no probe reaches the bot.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::app_state::Site;
use super::responses::refusal;
use crate::panel::metrics::CONTENT_TYPE;

/// Liveness: whether the process should be left running.
pub(super) async fn healthz(State(site): State<Site>) -> Response {
    let report = site.sources.health.report();
    if report.alive {
        return "alive\n".into_response();
    }
    let checks = report.checks.iter();
    let wrong = checks.filter(|check| !check.ok && check.is_vital());
    let wrong = wrong.map(|check| format!("{}: {}\n", check.name, check.text));
    let text = "not alive\n".to_owned() + &wrong.collect::<String>();
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

/// Readiness: whether the bot would accept a game, with reasons.
pub(super) async fn readyz(State(site): State<Site>) -> Response {
    let report = site.sources.health.report();
    let status = if report.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(report)).into_response()
}

pub(super) async fn metrics(State(site): State<Site>) -> Response {
    let Some(metrics) = &site.sources.metrics else {
        return refusal(StatusCode::NOT_FOUND, "metrics are disabled");
    };
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "cannot write metrics"),
    }
}
