//! Connections: TLS with the platform's roots, HTTP/1.1, no redirects, no delay.
//!
//! Streams and other calls share one pool, moves have their own: a chat message can never take the warm
//! connection of a move. Root certificates are loaded once, and only for TLS.

use std::net::IpAddr;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{ClientBuilder, Proxy, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::timing::Timing;

/// The variables that may name the root certificates.
const NAMED_BY: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

#[derive(Clone, Debug)]
pub(super) struct Pools {
    /// For moves and for the calls that keep their connection warm.
    pub(super) moves: reqwest::Client,
    pub(super) rest: reqwest::Client,
}

/// Whether a URL leads to this machine itself.
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To this machine never through a proxy, which would get the token.
    Direct,
    /// Through the proxy of the config.
    Proxy(String),
    /// As the environment wants it.
    Environment,
}

impl Route {
    pub(super) fn new(server: &Url, proxy: Option<&str>) -> Self {
        match proxy {
            _ if is_this_machine(server) => Self::Direct,
            Some(proxy) => Self::Proxy(proxy.to_owned()),
            None => Self::Environment,
        }
    }

    /// A client that takes this way.
    pub(super) fn client(&self) -> Result<ClientBuilder, reqwest::Error> {
        let builder = reqwest::Client::builder();
        Ok(match self {
            Self::Direct => builder.no_proxy(),
            Self::Proxy(proxy) => builder.proxy(Proxy::all(proxy)?),
            Self::Environment => builder,
        })
    }

    /// The proxy on the way, without a user name or password, and where it is set.
    pub(super) fn proxy(&self, server: &Url) -> Option<String> {
        match self {
            Self::Direct => None,
            Self::Proxy(proxy) => Some(format!("{proxy} ([lichess] proxy)")),
            Self::Environment => {
                let proxy = Matcher::from_env().intercept(&server.as_str().parse().ok()?)?;
                let (scheme, host) = (proxy.uri().scheme_str(), proxy.uri().host()?);
                let port = proxy.uri().port().map(|port| format!(":{port}"));
                Some(format!(
                    "{}://{host}{} (the environment)",
                    scheme.unwrap_or("http"),
                    port.unwrap_or_default()
                ))
            }
        }
    }
}

impl Pools {
    pub(super) fn new(tls: bool, route: &Route, timing: &Timing) -> Result<Self, reqwest::Error> {
        let config = tls_config(tls);
        let pool = || {
            route
                .client()?
                .tls_backend_preconfigured(config.clone())
                .http1_only()
                .tcp_nodelay(true)
                .redirect(redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(timing.connect)
                .build()
        };
        Ok(Self {
            moves: pool()?,
            rest: pool()?,
        })
    }
}

/// The TLS settings that pools share, including the cache of sessions.
pub(super) fn tls_config(needed: bool) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = if needed {
        roots()
    } else {
        RootCertStore::empty()
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks the default versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// The roots of the system, or those of Mozilla where it has none, as in a slim image.
fn roots() -> RootCertStore {
    let mut store = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    let named = NAMED_BY
        .into_iter()
        .find(|name| std::env::var_os(name).is_some());
    if let (Some(variable), Some(error)) = (named, native.errors.first()) {
        tracing::warn!(variable, %error, "cannot read the configured root certificates");
    }
    let (trusted, unreadable) = store.add_parsable_certificates(native.certs);
    if trusted == 0 {
        let embedded = TLS_SERVER_ROOT_CERTS.iter().cloned();
        store.add_parsable_certificates(embedded);
        tracing::debug!(
            roots = store.len(),
            "no system root certificates: using the embedded ones"
        );
    } else {
        tracing::debug!(
            roots = trusted,
            unreadable,
            "root certificates of the system"
        );
    }
    store
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_roots_can_all_be_used() {
        let mut store = RootCertStore::empty();
        let embedded = TLS_SERVER_ROOT_CERTS.iter().cloned();
        let (added, ignored) = store.add_parsable_certificates(embedded);
        assert!(
            added > 50 && ignored == 0,
            "{added} added, {ignored} ignored"
        );
    }

    #[test]
    fn nothing_for_this_machine_goes_through_a_proxy() {
        let proxy = Some("http://proxy.example.org:3128");
        for here in ["http://127.0.0.1:9663", "http://[::1]", "https://localhost"] {
            let here = Url::parse(here).unwrap();
            assert_eq!(Route::new(&here, proxy), Route::Direct);
            assert_eq!(Route::new(&here, None), Route::Direct);
        }
        let there = Url::parse("https://lichess.org").unwrap();
        let route = Route::new(&there, proxy);
        let told = "http://proxy.example.org:3128 ([lichess] proxy)";
        assert_eq!(route.proxy(&there).as_deref(), Some(told));
        assert_eq!(Route::new(&there, None), Route::Environment);
    }

    #[test]
    fn tls_always_has_root_certificates() {
        assert!(!roots().is_empty());
        assert!(Pools::new(true, &Route::Environment, &Timing::default()).is_ok());
    }
}
