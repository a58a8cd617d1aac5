//! Access control: who may read, and who may send commands.
//!
//! Every request must come from our own page by a name of this machine: see `http_common::origin`.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::app_state::{AppState, Site};
use super::assets;
use super::responses::refusal;
use super::session::LoginOutcome;
use crate::http_common::{ForeignRequest, by_own_name, is_from_here};

/// The session cookie.
pub(super) const COOKIE: &str = "megaton-session";

/// Headers of every response.
const RULES: [(HeaderName, &str); 5] = [
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

/// Applies to every request: checks its origin, limits its time, and adds the headers.
pub(super) async fn protect(State(site): State<Site>, request: Request, next: Next) -> Response {
    if let Err(foreign) = by_own_name(request.headers(), site.address, &site.hosts) {
        let hint = match foreign {
            ForeignRequest::Name => ": see [panel] hosts",
            ForeignRequest::Unclear | ForeignRequest::Page => "",
        };
        return refusal(StatusCode::FORBIDDEN, &format!("{foreign}{hint}"));
    }
    let answered = tokio::time::timeout(site.timeouts.request, next.run(request)).await;
    let mut response =
        answered.unwrap_or_else(|_| refusal(StatusCode::REQUEST_TIMEOUT, "request timed out"));
    for (name, value) in RULES {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Protects private data: requests from this machine may read it, others need the password. A proxy on
/// this machine forwards requests from everywhere, so those count as others.
pub(super) async fn require_reader(
    State(site): State<Site>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let is_local = site.address.ip().is_loopback() && is_from_here(headers);
    if is_local || authenticate(&site, headers).is_ok() {
        return next.run(request).await;
    }
    let wants_page = request.method() == Method::GET
        && text(headers, &header::ACCEPT).is_some_and(|kind| kind.contains("text/html"));
    if wants_page {
        return assets::login();
    }
    let text = if site.sessions.is_set() {
        "password required"
    } else {
        "remote access needs a password: set [panel] token_file and restart the bot"
    };
    refusal(StatusCode::UNAUTHORIZED, text)
}

/// Protects commands: they need the password everywhere.
pub(super) async fn require_operator(
    State(site): State<Site>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !site.sessions.is_set() {
        let text = "commands are disabled here: set [panel] token_file and restart the bot";
        return refusal(StatusCode::FORBIDDEN, text);
    }
    if let Err((status, text)) = authenticate(&site, headers) {
        return refusal(status, text);
    }
    // A browser that sends the cookie also sends the origin.
    if bearer(headers).is_none() && !headers.contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "the request states no origin");
    }
    next.run(request).await
}

/// Whether the headers contain the password or name a session.
pub(super) fn authenticate(
    site: &AppState,
    headers: &HeaderMap,
) -> Result<(), (StatusCode, &'static str)> {
    let now = Instant::now();
    if let Some(given) = bearer(headers) {
        return match site.sessions.try_password(given, now) {
            LoginOutcome::Right => Ok(()),
            LoginOutcome::Wrong => Err((StatusCode::UNAUTHORIZED, "wrong password")),
            LoginOutcome::Later => Err((
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong passwords: wait a minute",
            )),
        };
    }
    match session(headers) {
        Some(id) if site.sessions.knows_session(id, now) => Ok(()),
        _ => Err((StatusCode::UNAUTHORIZED, "password required")),
    }
}

/// The password of a Bearer header. Other schemes belong to proxies and browsers.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, word) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| word.trim())
}

/// The session id of the cookie.
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
    fn only_a_bearer_header_carries_a_password() {
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
