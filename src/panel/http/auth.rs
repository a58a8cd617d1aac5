//! Who may ask: those who use this page by its own name, and those who showed the password.
//!
//! A page of another site could otherwise steer the bot, and a name that someone points at the
//! loopback could read what stands here.

use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::app_state::AppState;
use super::session::LoginOutcome;
use crate::http_common::{ForeignRequest, by_own_name, is_from_here};

/// The cookie that names a session.
pub(super) const COOKIE: &str = "megaton-session";

/// A refusal in words.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "ok": false, "text": text }))).into_response()
}

/// What holds for every request: the name that it came by, how long it may take, and what a
/// browser may do with the answer.
pub(super) async fn watch(State(site): State<AppState>, request: Request, next: Next) -> Response {
    if let Err(stranger) = by_own_name(request.headers(), site.address(), site.hosts()) {
        let hint = match stranger {
            ForeignRequest::Name => ": see [panel] hosts",
            ForeignRequest::Unclear | ForeignRequest::Page => "",
        };
        return refusal(StatusCode::FORBIDDEN, &format!("{stranger}{hint}"));
    }
    let answered = tokio::time::timeout(site.patience().request, next.run(request)).await;
    let mut response =
        answered.unwrap_or_else(|_| refusal(StatusCode::REQUEST_TIMEOUT, "request timed out"));
    let rules = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ];
    for (name, value) in rules {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// What says much: for those on this machine, and of others for those alone who showed the password.
/// A proxy on this machine has visitors from everywhere.
pub(super) async fn guard(State(site): State<AppState>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let from_here = site.address().ip().is_loopback() && is_from_here(headers);
    if from_here || is_known(&site, headers) == Ok(()) {
        return next.run(request).await;
    }
    let wants_page = request.method() == Method::GET
        && text(request.headers(), &header::ACCEPT).is_some_and(|kind| kind.contains("text/html"));
    if wants_page {
        return super::assets::door();
    }
    let text = if site.key().is_set() {
        "password required"
    } else {
        "remote access needs a password: set [panel] token_file and restart the bot"
    };
    refusal(StatusCode::UNAUTHORIZED, text)
}

/// What steers the bot: for those alone who showed the password, wherever they come from.
pub(super) async fn steer(State(site): State<AppState>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !site.key().is_set() {
        let text = "commands are disabled here: set [panel] token_file and restart the bot";
        return refusal(StatusCode::FORBIDDEN, text);
    }
    let by_session = bearer(headers).is_none();
    if let Err((status, text)) = is_known(&site, headers) {
        return refusal(status, text);
    }
    // A browser that holds the session says where the request was made.
    if by_session && !headers.contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "the request states no origin");
    }
    next.run(request).await
}

/// Whether the headers show the password or name a session.
pub(super) fn is_known(
    site: &AppState,
    headers: &HeaderMap,
) -> Result<(), (StatusCode, &'static str)> {
    let now = Instant::now();
    if let Some(given) = bearer(headers) {
        return match site.key().try_password(given, now) {
            LoginOutcome::Right => Ok(()),
            LoginOutcome::Wrong => Err((StatusCode::UNAUTHORIZED, "wrong password")),
            LoginOutcome::Later => Err((
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong passwords: wait a minute",
            )),
        };
    }
    let known = session(headers).is_some_and(|id| site.key().knows_session(id, now));
    if known {
        Ok(())
    } else {
        Err((StatusCode::UNAUTHORIZED, "password required"))
    }
}

/// The password that is shown. What else a proxy or a browser says who it is by is none of ours.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, word) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| word.trim())
}

/// What the cookie says.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    let pairs = text(headers, &header::COOKIE)?.split(';');
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find(|(name, _)| *name == COOKIE).map(|(_, id)| id)
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_among_cookies() {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::COOKIE,
            "a=b; megaton-session=abc; c=d".parse().unwrap(),
        );
        assert_eq!(session(&headers), Some("abc"));
        headers.insert(header::COOKIE, "not-megaton-session=abc".parse().unwrap());
        assert_eq!(session(&headers), None);
    }

    #[test]
    fn only_a_bearer_shows_a_password() {
        let mut headers = HeaderMap::new();
        assert_eq!(bearer(&headers), None);
        for (value, shown) in [
            ("Bearer word", Some("word")),
            ("bearer  word", Some("word")),
            ("Basic bWU6d29yZA==", None),
            ("Digest username=\"me\"", None),
            ("Bearer", None),
            ("word", None),
        ] {
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(bearer(&headers), shown, "{value}");
        }
    }
}
