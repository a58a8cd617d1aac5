//! Connections: TLS with the platform's roots, HTTP/1.1, no redirects, no delay.
//!
//! Streams and other calls share one pool, moves have their own: a chat message can never take the warm
//! connection of a move. Root certificates are loaded once, and only for TLS.

use std::sync::Arc;

use reqwest::redirect;
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

impl Pools {
    pub(super) fn new(tls: bool, timing: &Timing) -> Result<Self, reqwest::Error> {
        let config = tls_config(tls);
        let pool = || {
            reqwest::Client::builder()
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
    fn tls_always_has_root_certificates() {
        assert!(!roots().is_empty());
        assert!(Pools::new(true, &Timing::default()).is_ok());
    }
}
