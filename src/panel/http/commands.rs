//! What an operator tells the bot over HTTP: the very requests of the control socket.
//!
//! Anyone who gets here has shown the password, but for the way in itself. Everything is logged.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::app_state::AppState;
use super::auth::{self, COOKIE, refusal};
use super::session::LoginOutcome;
use crate::panel::protocol::{Request, Secret};
use crate::panel::server;

/// After a wrong password.
const WRONG_PAUSE: Duration = Duration::from_millis(300);

/// What the page needs to know of who looks at it.
#[derive(Debug, Serialize)]
struct SessionInfo {
    /// Whether there is a password to show.
    steerable: bool,
    /// Whether it was shown.
    steers: bool,
    /// Where the games are played.
    server: String,
    version: &'static str,
}

pub(super) async fn me(State(site): State<AppState>, headers: HeaderMap) -> Response {
    let me = SessionInfo {
        steerable: site.key().is_set(),
        steers: auth::is_known(&site, &headers).is_ok(),
        server: site.sources().server.clone(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Json(me).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    password: Secret,
}

/// Gives a session for the password.
pub(super) async fn login(
    State(site): State<AppState>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let login = match read::<Login>(&headers, &body) {
        Ok(login) => login,
        Err((status, text)) => return refusal(status, &text),
    };
    let now = Instant::now();
    if !site.key().is_set() {
        return said(false, "commands are disabled here: set [panel] token_file");
    }
    match site.key().try_password(&login.password.0, now) {
        LoginOutcome::Right => {}
        LoginOutcome::Wrong => {
            tracing::warn!("wrong password on the operator's page");
            tokio::time::sleep(WRONG_PAUSE).await;
            return said(false, "wrong password");
        }
        LoginOutcome::Later => return said(false, "too many wrong passwords: wait a minute"),
    }
    let Some(session) = site.key().begin_session(now) else {
        return said(false, "the system has no random numbers");
    };
    tracing::info!("login on the operator's page");
    let secure = headers
        .get(header::ORIGIN)
        .is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000{secure}");
    ([(header::SET_COOKIE, cookie)], said(true, "")).into_response()
}

pub(super) async fn logout(State(site): State<AppState>, headers: HeaderMap) -> Response {
    if let Some(session) = auth::session(&headers) {
        site.key().end_session(session);
    }
    let cookie = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    ([(header::SET_COOKIE, cookie)], said(true, "")).into_response()
}

/// Passes an order on and gives the answer back. What the bot refuses is an answer too.
pub(super) async fn control(
    State(site): State<AppState>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = match read::<Request>(&headers, &body) {
        Ok(request) => request,
        Err((status, text)) => return refusal(status, &text),
    };
    if !matches!(request, Request::Status {}) {
        tracing::info!(?request, "command over HTTP");
    }
    let sources = site.sources();
    let control = sources.control.by("HTTP");
    let answer = server::answer(request, &control, &sources.reload, &sources.health).await;
    Json(answer).into_response()
}

fn read<T: for<'de> Deserialize<'de>>(
    headers: &HeaderMap,
    body: &[u8],
) -> Result<T, (StatusCode, String)> {
    let kind = headers.get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        let text = "requests must be JSON: content-type: application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text.to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| {
        // What was sent is not repeated: it may hold the password.
        let place = format!("line {}, column {}", error.line(), error.column());
        let text = format!("unknown request ({place})");
        (StatusCode::BAD_REQUEST, text)
    })
}

fn said(ok: bool, text: &str) -> Response {
    Json(json!({ "ok": ok, "text": text })).into_response()
}
