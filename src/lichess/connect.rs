//! Connections: TLS with the platform's roots, HTTP/1.1, no redirects, no delay.
//!
//! Streams and other calls share one pool, moves have their own: a chat message can never take the warm
//! connection of a move. Root certificates are loaded once, and only for TLS. Addresses that were found
//! once are used again while names cannot be resolved.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use hyper_util::client::proxy::matcher::Matcher;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Proxy, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::timing::Timing;
use super::warn_once::WarnOnce;

/// The variables that may name the root certificates.
const NAMED_BY: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The most idle connections of a pool: enough for the moves of several games, and few to lose.
const MAX_IDLE: usize = 4;

/// The part of the time to connect that a look-up of known addresses may take.
const LOOKUP_SHARE: u32 = 3;

type Found = Result<Vec<SocketAddr>, String>;
pub(super) type Lookup = fn(String) -> BoxFuture<'static, Found>;

/// The names of servers, and their addresses as far as they are known. Equal look-ups are one: those of
/// the system hang in threads of their own, and must not pile up.
#[derive(Clone, Debug)]
pub(super) struct Names {
    lookup: Lookup,
    /// How long a look-up of known addresses may take; none if there is one look-up of each name.
    patience: Option<Duration>,
    known: Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>,
    pending: Arc<Mutex<HashMap<String, Shared<BoxFuture<'static, Found>>>>>,
    /// The names that cannot be resolved for now, though their addresses are known.
    failing: WarnOnce,
}

impl Names {
    pub(super) fn new(lookup: Lookup, patience: Option<Duration>) -> Self {
        Self {
            lookup,
            patience,
            known: Arc::default(),
            pending: Arc::default(),
            failing: WarnOnce::default(),
        }
    }

    pub(super) async fn find(&self, host: String) -> Found {
        let known = self.known.lock().get(&host).cloned();
        if let (Some(known), None) = (&known, self.patience) {
            return Ok(known.clone());
        }
        let lookup = {
            let mut pending = self.pending.lock();
            let new = || (self.lookup)(host.clone()).shared();
            pending.entry(host.clone()).or_insert_with(new).clone()
        };
        let patience = self.patience.filter(|_| known.is_some());
        let patience = patience.unwrap_or(Duration::MAX);
        let in_time = tokio::time::timeout(patience, lookup).await;
        if in_time.is_ok() {
            self.pending.lock().remove(&host);
        }
        match in_time.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
            Ok(addresses) => {
                if self.failing.forget(&host) {
                    tracing::info!(host, "the name resolves again");
                }
                self.known.lock().insert(host, addresses.clone());
                Ok(addresses)
            }
            Err(error) => {
                if known.is_some() && self.failing.is_new(host.clone()) {
                    tracing::warn!(host, %error, "cannot resolve the name: using the last known address");
                }
                known.ok_or(error)
            }
        }
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move {
            let found = names.find(name.as_str().to_owned()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Asks the system. The port does not matter.
pub(super) fn lookup(host: String) -> BoxFuture<'static, Found> {
    let found = async move {
        let found = tokio::net::lookup_host((host.as_str(), 0)).await;
        found
            .map(Iterator::collect)
            .map_err(|error| error.to_string())
    };
    found.boxed()
}

#[derive(Clone, Debug)]
pub(super) struct Pools {
    config: ClientConfig,
    names: Names,
    route: Route,
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
        let names = Names::new(lookup, Some(timing.connect / LOOKUP_SHARE));
        Self::with(tls_config(tls), names, route.clone(), timing)
    }

    /// The same without any connection.
    pub(super) fn fresh(&self, timing: &Timing) -> Result<Self, reqwest::Error> {
        let (config, names) = (self.config.clone(), self.names.clone());
        Self::with(config, names, self.route.clone(), timing)
    }

    fn with(
        config: ClientConfig,
        names: Names,
        route: Route,
        timing: &Timing,
    ) -> Result<Self, reqwest::Error> {
        let pool = || {
            route
                .client()?
                .tls_backend_preconfigured(config.clone())
                .http1_only()
                .tcp_nodelay(true)
                .redirect(redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(timing.connect)
                .pool_max_idle_per_host(MAX_IDLE)
                .dns_resolver(names.clone())
                .build()
        };
        Ok(Self {
            moves: pool()?,
            rest: pool()?,
            config,
            names,
            route,
        })
    }
}

/// The TLS settings that pools share, including the cache of sessions.
pub(super) fn tls_config(needed: bool) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = if needed {
        Arc::clone(&ROOTS)
    } else {
        Arc::new(RootCertStore::empty())
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks the default versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Loaded once, at the first use.
static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| Arc::new(roots()));

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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

    /// Answers once and then hangs.
    fn once(_host: String) -> BoxFuture<'static, Found> {
        match LOOKUPS.fetch_add(1, Ordering::Relaxed) {
            0 => async { Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))]) }.boxed(),
            _ => std::future::pending().boxed(),
        }
    }

    fn fails(_host: String) -> BoxFuture<'static, Found> {
        async { Err("no such host".to_owned()) }.boxed()
    }

    #[tokio::test]
    async fn while_a_look_up_hangs_the_known_address_is_used_and_none_is_added() {
        let names = Names::new(once, Some(Duration::from_millis(5)));
        let first = names.find("lichess.org".to_owned()).await;
        assert!(first.is_ok());
        for _ in 0..5 {
            assert_eq!(names.find("lichess.org".to_owned()).await, first);
        }
        assert_eq!(LOOKUPS.load(Ordering::Relaxed), 2);
        assert!(names.failing.forget("lichess.org"), "warned of");
    }

    #[tokio::test]
    async fn a_look_up_that_fails_leaves_what_was_known_and_is_warned_of_until_it_works_again() {
        let mut names = Names::new(fails, Some(Duration::from_secs(60)));
        let host = "lichess.org".to_owned();
        assert!(names.find(host.clone()).await.is_err(), "never found");
        let known = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        names.known.lock().insert(host.clone(), known.clone());
        assert_eq!(names.find(host.clone()).await, Ok(known.clone()));
        assert!(!names.failing.is_new(host.clone()), "warned of");
        names.lookup = |_| async { Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))]) }.boxed();
        assert_eq!(names.find(host.clone()).await, Ok(known));
        assert!(names.failing.is_new(host), "another failure is news");
    }

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
