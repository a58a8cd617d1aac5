//! Who may use the page: browsers that were sent here by this server, under this machine's name.
//!
//! A page of another site could otherwise post moves here, and a name that somebody points at the
//! loopback could read what the server says.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Page;

pub(super) async fn refuse_strangers(
    State(page): State<Page>,
    request: Request,
    next: Next,
) -> Response {
    if is_welcome(request.headers(), page.address) {
        return next.run(request).await;
    }
    (
        StatusCode::FORBIDDEN,
        "This page answers under its own address only",
    )
        .into_response()
}

fn is_welcome(headers: &HeaderMap, bound: SocketAddr) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(host) = text(header::HOST) else {
        return false;
    };
    let own_name = is_own(host, bound);
    let own_origin = text(header::ORIGIN).is_none_or(|origin| origin == format!("http://{host}"));
    let no_foreign_origin = headers.get_all(header::ORIGIN).iter().count() <= 1;
    own_name && own_origin && no_foreign_origin
}

/// Whether `host` names this machine: the loopback, or the address that was bound.
fn is_own(host: &str, bound: SocketAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if name.eq_ignore_ascii_case("localhost") {
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
        is_welcome(&headers, bound.parse().unwrap())
    }

    #[test]
    fn the_own_page_is_welcome() {
        let bound = "127.0.0.1:8642";
        assert!(welcome("127.0.0.1:8642", None, bound));
        assert!(welcome(
            "localhost:8642",
            Some("http://localhost:8642"),
            bound
        ));
        assert!(welcome(
            "[::1]:8642",
            Some("http://[::1]:8642"),
            "[::1]:8642"
        ));
        assert!(welcome(
            "192.168.1.5:8642",
            Some("http://192.168.1.5:8642"),
            "0.0.0.0:8642"
        ));
    }

    #[test]
    fn other_sites_and_other_names_are_not() {
        let bound = "127.0.0.1:8642";
        assert!(!welcome(
            "127.0.0.1:8642",
            Some("http://evil.example"),
            bound
        ));
        assert!(!welcome("127.0.0.1:8642", Some("null"), bound));
        assert!(!welcome("evil.example:8642", None, bound));
        assert!(!welcome("evil.example:8642", None, "0.0.0.0:8642"));
        assert!(!welcome("192.168.1.5:8642", None, bound));
    }
}
