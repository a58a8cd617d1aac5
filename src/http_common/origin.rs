//! Whether a request comes from our own page, by a name of this machine.
//!
//! Otherwise a page of another site could send commands, and a foreign name that resolves to the loopback
//! (DNS rebinding) could read our data.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Why a request is foreign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignRequest {
    /// It has no single Host, or more than one Origin.
    #[error("a request has one Host, and one Origin at most")]
    Unclear,
    /// It names another host.
    #[error("this page answers under its own name only")]
    Name,
    /// A page of another site sent it.
    #[error("this page answers itself only, not the pages of others")]
    Page,
}

/// The header that tells how the site of the requesting page relates to ours.
const SITE: &str = "sec-fetch-site";
/// The headers that tell what the request is for.
const MODE: &str = "sec-fetch-mode";
const DEST: &str = "sec-fetch-dest";
/// Headers that proxies add.
const PROXIES: [&str; 5] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
    "via",
];

/// Checks that a request names this machine (the loopback, the bound address, or one of `hosts`) and comes
/// from no page of another site. Links of other pages to ours are allowed.
///
/// # Errors
/// When the request is foreign.
pub fn by_own_name(
    headers: &HeaderMap,
    bound: SocketAddr,
    hosts: &[String],
) -> Result<(), ForeignRequest> {
    let single = |name: &HeaderName| headers.get_all(name).iter().count() <= 1;
    if !single(&header::HOST) || !single(&header::ORIGIN) {
        return Err(ForeignRequest::Unclear);
    }
    let Some(host) = text(headers, &header::HOST) else {
        return Err(ForeignRequest::Unclear);
    };
    if !is_own(host, bound, hosts) {
        return Err(ForeignRequest::Name);
    }
    if is_fetched_by_another(headers) {
        return Err(ForeignRequest::Page);
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
        Err(ForeignRequest::Page)
    }
}

/// Whether a browser says that another site's page embeds the response. Browsers send no Origin with
/// requests for images and scripts.
fn is_fetched_by_another(headers: &HeaderMap) -> bool {
    let own = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
    let says = |name: &str, what: &str| headers.get(name).is_some_and(|value| value == what);
    let follows_link = says(MODE, "navigate") && says(DEST, "document");
    !headers.get_all(SITE).iter().all(own) && !follows_link
}

/// Whether a request seems to come from this machine: it names the loopback, and no proxy forwarded it. A
/// listener on the loopback receives only such requests and those of proxies.
pub fn is_from_here(headers: &HeaderMap) -> bool {
    let passed_on = PROXIES.iter().any(|name| headers.contains_key(*name));
    let host = text(headers, &header::HOST).map(name_of);
    !passed_on && host.is_some_and(names_loopback)
}

fn is_own(host: &str, bound: SocketAddr, hosts: &[String]) -> bool {
    let name = name_of(host);
    if names_loopback(name) || hosts.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return true;
    }
    address_of(name).is_some_and(|address| bound.ip().is_unspecified() || address == bound.ip())
}

/// The host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    }
}

fn names_loopback(name: &str) -> bool {
    let address = address_of(name);
    name.eq_ignore_ascii_case("localhost") || address.is_some_and(|it| it.is_loopback())
}

fn address_of(name: &str) -> Option<IpAddr> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
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
    fn requests_of_our_own_page_are_allowed() {
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
    fn loopback_requests_without_a_proxy_are_local() {
        let here = |host: &str, proxy: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(name) = proxy {
                headers.insert(name, "10.0.0.9".parse().unwrap());
            }
            is_from_here(&headers)
        };
        for host in ["localhost:8650", "127.0.0.1", "127.0.0.2:80", "[::1]:8650"] {
            assert!(here(host, None), "{host}");
            for name in PROXIES {
                assert!(!here(host, Some(name)), "{host} by {name}");
            }
        }
        for host in [
            "bot.example.org",
            "10.0.0.5:8650",
            "localhost.evil.example",
            "",
        ] {
            assert!(!here(host, None), "{host}");
        }
        assert!(!is_from_here(&HeaderMap::new()));
    }

    #[test]
    fn cross_site_fetches_are_rejected_and_links_are_not() {
        let fetched = |site: &str, mode: &str, dest: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, "localhost:8650".parse().unwrap());
            headers.insert(SITE, site.parse().unwrap());
            headers.insert(MODE, mode.parse().unwrap());
            headers.insert(DEST, dest.parse().unwrap());
            by_own_name(&headers, "127.0.0.1:8650".parse().unwrap(), &[])
        };
        for site in ["cross-site", "same-site"] {
            for (mode, dest) in [
                ("no-cors", "image"),
                ("no-cors", "script"),
                ("cors", "empty"),
                ("navigate", "iframe"),
            ] {
                let refused = fetched(site, mode, dest);
                assert_eq!(refused, Err(ForeignRequest::Page), "{site} {mode} {dest}");
            }
            assert_eq!(fetched(site, "navigate", "document"), Ok(()), "{site}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(fetched(site, "cors", "empty"), Ok(()), "{site}");
        }
        let mut bare = HeaderMap::new();
        bare.insert(header::HOST, "localhost".parse().unwrap());
        bare.insert(SITE, "cross-site".parse().unwrap());
        let refused = by_own_name(&bare, "127.0.0.1:8650".parse().unwrap(), &[]);
        assert_eq!(refused, Err(ForeignRequest::Page));
    }

    #[test]
    fn other_sites_and_host_names_are_rejected() {
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
}
