//! Commands over HTTP: the requests of the control socket, and login.
//!
//! All but login need the password (see `auth`) and are logged.

use std::error::Error as _;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::app_state::Site;
use super::auth::{self, COOKIE};
use super::responses::{refusal, reply};
use super::session::LoginOutcome;
use crate::panel::protocol::{Request, Secret};
use crate::panel::server;

/// Delay of the response to a wrong password.
const WRONG_PAUSE: Duration = Duration::from_millis(300);

/// Attributes of the session cookie.
const ATTRIBUTES: &str = "HttpOnly; SameSite=Strict; Path=/";

/// A JSON body. A refusal does not repeat the body, which may contain the password.
pub(super) struct Body<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: HttpRequest, state: &S) -> Result<Self, Response> {
        let refused = match Json::from_request(request, state).await {
            Ok(Json(body)) => return Ok(Self(body)),
            Err(refused) => refused,
        };
        let text = match refused {
            JsonRejection::MissingJsonContentType(_) => {
                "requests must be JSON: content-type: application/json"
            }
            JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_) => {
                let text = format!("unknown request{}", place(&refused));
                return Err(refusal(StatusCode::BAD_REQUEST, &text));
            }
            refused => return Err(refused.into_response()),
        };
        Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
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
pub(super) async fn me(State(site): State<Site>, headers: HeaderMap) -> Response {
    Json(json!({
        "steerable": site.sessions.is_set(),
        "steers": auth::authenticate(&site, &headers).is_ok(),
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
    let now = Instant::now();
    if !site.sessions.is_set() {
        return reply(false, "commands are disabled here: set [panel] token_file");
    }
    match site.sessions.try_password(&login.password.0, now) {
        LoginOutcome::Right => {}
        LoginOutcome::Wrong => {
            tracing::warn!("wrong password on the operator's page");
            tokio::time::sleep(WRONG_PAUSE).await;
            return reply(false, "wrong password");
        }
        LoginOutcome::Later => return reply(false, "too many wrong passwords: wait a minute"),
    }
    let Some(session) = site.sessions.begin_session(now) else {
        return reply(false, "the system has no random numbers");
    };
    tracing::info!("login on the operator's page");
    let is_secure = headers
        .get(header::ORIGIN)
        .is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={session}; {ATTRIBUTES}; Max-Age=2592000{secure}");
    ([(header::SET_COOKIE, cookie)], reply(true, "")).into_response()
}

pub(super) async fn logout(State(site): State<Site>, headers: HeaderMap) -> Response {
    if let Some(session) = auth::session(&headers) {
        site.sessions.end_session(session);
    }
    let cookie = format!("{COOKIE}=; {ATTRIBUTES}; Max-Age=0");
    ([(header::SET_COOKIE, cookie)], reply(true, "")).into_response()
}

/// Forwards a command and returns the bot's response, which may be a refusal.
pub(super) async fn control(State(site): State<Site>, Body(request): Body<Request>) -> Response {
    if request != (Request::Status {}) {
        tracing::info!(?request, "command over HTTP");
    }
    let sources = &site.sources;
    let control = sources.control.by("HTTP");
    let answer = server::answer(request, &control, &sources.reload, &sources.health).await;
    Json(answer).into_response()
}
