//! Who may ask: those who use this page by its own name, and those who showed the password.
//!
//! A page of another site could otherwise steer the bot, and a name that somebody points at the
//! loopback could read what stands here.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::key::Knock;
use super::site::Site;

/// The cookie that names a session.
pub(super) const COOKIE: &str = "megaton-session";
/// For a request to be answered, its body read included; streams only have to begin.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// A refusal in words.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "ok": false, "text": text }))).into_response()
}

/// What holds for every request: the name that it came by, how long it may take, and what a
/// browser may do with the answer.
pub(super) async fn watch(State(site): State<Site>, request: Request, next: Next) -> Response {
    if let Err(text) = by_own_name(request.headers(), site.address(), site.hosts()) {
        return refusal(StatusCode::FORBIDDEN, text);
    }
    let answered = tokio::time::timeout(REQUEST_TIME, next.run(request)).await;
    let mut response = answered
        .unwrap_or_else(|_| refusal(StatusCode::REQUEST_TIMEOUT, "the request took too long"));
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

/// What says much: beyond the loopback for those alone who showed the password.
pub(super) async fn guard(State(site): State<Site>, request: Request, next: Next) -> Response {
    if site.address().ip().is_loopback() || is_known(&site, request.headers()) == Ok(()) {
        return next.run(request).await;
    }
    let wants_page = request.method() == Method::GET
        && text(request.headers(), &header::ACCEPT).is_some_and(|kind| kind.contains("text/html"));
    if wants_page {
        return super::assets::door();
    }
    refusal(StatusCode::UNAUTHORIZED, "show the password first")
}

/// What steers the bot: for those alone who showed the password, wherever they come from.
pub(super) async fn steer(State(site): State<Site>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !site.key().is_set() {
        let text = "nothing is steered from here: set [panel] token_file and start the bot anew";
        return refusal(StatusCode::FORBIDDEN, text);
    }
    let by_session = !headers.contains_key(header::AUTHORIZATION);
    if let Err((status, text)) = is_known(&site, headers) {
        return refusal(status, text);
    }
    // A browser that holds the session says where the request was made.
    if by_session && !headers.contains_key(header::ORIGIN) {
        return refusal(
            StatusCode::FORBIDDEN,
            "the request does not say where it comes from",
        );
    }
    next.run(request).await
}

/// Whether the headers show the password or name a session.
pub(super) fn is_known(site: &Site, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let now = Instant::now();
    if let Some(given) = text(headers, &header::AUTHORIZATION) {
        let given = given.strip_prefix("Bearer ").unwrap_or_default().trim();
        return match site.key().try_password(given, now) {
            Knock::Right => Ok(()),
            Knock::Wrong => Err((StatusCode::UNAUTHORIZED, "that is not the password")),
            Knock::Later => Err((
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong passwords: wait a minute",
            )),
        };
    }
    let known = session(headers).is_some_and(|id| site.key().knows_session(id, now));
    if known {
        Ok(())
    } else {
        Err((StatusCode::UNAUTHORIZED, "show the password first"))
    }
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

/// Whether a request came by a name of this machine, and from no other page.
fn by_own_name(
    headers: &HeaderMap,
    bound: SocketAddr,
    hosts: &[String],
) -> Result<(), &'static str> {
    let single = |name: &HeaderName| headers.get_all(name).iter().count() <= 1;
    if !single(&header::HOST) || !single(&header::ORIGIN) {
        return Err("a request has one Host and one Origin");
    }
    let Some(host) = text(headers, &header::HOST) else {
        return Err("a request names its Host");
    };
    if !is_own(host, bound, hosts) {
        return Err("this page answers under its own name only: see [panel] hosts");
    }
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = text(headers, &header::ORIGIN).unwrap_or_default();
    let from = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    if from.is_some_and(|from| from.eq_ignore_ascii_case(host)) {
        Ok(())
    } else {
        Err("this page answers itself only, not the pages of others")
    }
}

fn is_own(host: &str, bound: SocketAddr, hosts: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let named = |own: &str| name.eq_ignore_ascii_case(own);
    if named("localhost") || hosts.iter().any(|own| named(own)) {
        return true;
    }
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok_and(|address| {
        address.is_loopback() || bound.ip().is_unspecified() || address == bound.ip()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcome(host: &str, origin: Option<&str>, bound: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let hosts = ["bot.example.org".to_owned()];
        by_own_name(&headers, bound.parse().unwrap(), &hosts).is_ok()
    }

    #[test]
    fn the_own_page_is_welcome() {
        let bound = "127.0.0.1:8650";
        for host in [
            "127.0.0.1:8650",
            "localhost:8650",
            "LOCALHOST",
            "[::1]:8650",
        ] {
            assert!(welcome(host, None, bound), "{host}");
            assert!(
                welcome(host, Some(&format!("http://{host}")), bound),
                "{host}"
            );
        }
        assert!(welcome("Bot.example.org", None, bound));
        assert!(welcome(
            "bot.example.org",
            Some("https://bot.example.org"),
            bound
        ));
        assert!(welcome("10.0.0.5:8650", None, "10.0.0.5:8650"));
        assert!(welcome("10.0.0.5:8650", None, "0.0.0.0:8650"));
    }

    #[test]
    fn other_sites_and_other_names_are_not() {
        let bound = "127.0.0.1:8650";
        for origin in [
            "http://evil.example",
            "null",
            "http://127.0.0.1:9999",
            "http://127.0.0.1:8650.evil.example",
            "127.0.0.1:8650",
            "",
        ] {
            assert!(!welcome("127.0.0.1:8650", Some(origin), bound), "{origin}");
        }
        for host in [
            "evil.example",
            "evil.example:8650",
            "localhost.evil.example",
            "bot.example.org.evil.example",
            "10.0.0.5",
            "",
            "127.0.0.1:8650@evil.example",
        ] {
            assert!(!welcome(host, None, bound), "{host}");
        }
        assert!(!welcome("evil.example:8650", None, "0.0.0.0:8650"));
        let mut twice = HeaderMap::new();
        twice.append(header::HOST, "localhost".parse().unwrap());
        twice.append(header::HOST, "evil.example".parse().unwrap());
        assert!(by_own_name(&twice, bound.parse().unwrap(), &[]).is_err());
        assert!(by_own_name(&HeaderMap::new(), bound.parse().unwrap(), &[]).is_err());
    }

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
}
