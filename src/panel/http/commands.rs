//! Commands over HTTP: the requests of the control socket, and login.
//!
//! All but login need the password (see `auth`) and are logged.

use std::error::Error as _;
use std::time::Instant;

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::app_state::{AppState, Site};
use super::auth::{self, Access};
use super::responses::{refusal, reply};
use crate::panel::control_socket;
use crate::panel::protocol::{Request, Secret};

/// Attributes of the session cookie.
const ATTRIBUTES: &str = "HttpOnly; SameSite=Strict; Path=/";

/// A JSON body. A refusal does not repeat the body, which may contain the password.
pub(super) struct Body<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: HttpRequest, state: &S) -> Result<Self, Response> {
        let body = Json::from_request(request, state).await;
        body.map(|Json(body)| Self(body))
            .map_err(|refused| match refused {
                JsonRejection::MissingJsonContentType(_) => {
                    let text = "requests must be JSON: content-type: application/json";
                    refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
                }
                JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_) => {
                    let text = format!("unknown request{}", place(&refused));
                    refusal(StatusCode::BAD_REQUEST, &text)
                }
                refused => refused.into_response(),
            })
    }
}

/// Where parsing failed.
fn place(rejection: &JsonRejection) -> String {
    let mut cause = rejection.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<serde_json::Error>() {
            return format!(" (line {}, column {})", error.line(), error.column());
        }
        cause = error.source();
    }
    String::new()
}

/// Who looks at the page: whether there is a password, whether it was given, and the game server.
pub(super) async fn me(
    State(site): State<Site>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
) -> Response {
    if access.is_spectator() {
        return Json(json!({ "spectator": true, "server": site.sources.server })).into_response();
    }
    Json(json!({
        "spectator": false,
        "steerable": site.sessions.is_set(),
        "steers": auth::operator(&site, &headers).await.is_ok(),
        "server": site.sources.server,
        "version": env!("CARGO_PKG_VERSION"),
    }))
    .into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    password: Secret,
}

/// Starts a session for the password.
pub(super) async fn login(
    State(site): State<Site>,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> Response {
    if !site.sessions.is_set() {
        return reply(false, "commands are disabled here: set [panel] token_file");
    }
    if let Err((_, text)) = auth::check_password(&site, &login.password.0).await {
        return reply(false, text);
    }
    let Some(session) = site.sessions.begin_session(Instant::now()) else {
        return reply(false, "the system has no random numbers");
    };
    tracing::info!("login on the operator's page");
    let cookie = cookie(&site, &headers, &session.id, 2_592_000);
    let answer = json!({ "ok": true, "text": "", "token": session.token });
    ([(header::SET_COOKIE, cookie)], Json(answer)).into_response()
}

/// The session cookie for a page of this origin.
fn cookie(site: &AppState, headers: &HeaderMap, id: &str, age: u32) -> String {
    let origin = headers.get(header::ORIGIN);
    let is_secure = origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let name = auth::cookie_name(site, is_secure);
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={id}; {ATTRIBUTES}; Max-Age={age}{secure}")
}

pub(super) async fn logout(State(site): State<Site>, headers: HeaderMap) -> Response {
    if let Some(session) = auth::session(&site, &headers) {
        site.sessions.end_session(session);
    }
    let cookie = cookie(&site, &headers, "", 0);
    ([(header::SET_COOKIE, cookie)], reply(true, "")).into_response()
}

/// Forwards a command and returns the bot's response, which may be a refusal.
pub(super) async fn control(State(site): State<Site>, Body(request): Body<Request>) -> Response {
    if request != (Request::Status {}) {
        tracing::info!(?request, "command over HTTP");
    }
    let sources = &site.sources;
    let control = sources.control.by("HTTP");
    let answer = control_socket::answer(request, &control, &sources.reload, &sources.health).await;
    Json(answer).into_response()
}
