//! HTTP to servers other than Lichess: public name lists, a webhook.
//!
//! It has its own client without token, cookies or our name, so that none of them can reach a foreign
//! server. Size and time of pages are bounded. A page may be elsewhere, but no public server may send the
//! bot into the operator's own network; a post goes nowhere else.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, USER_AGENT};
use reqwest::{Response, StatusCode, Url, redirect};

use super::connect::{Lookup, Names, Route, is_this_machine, lookup, tls_config};
use super::error::{describe, is_html};
use super::response::Body;

/// The maximum length of a page.
const MAX_PAGE: usize = 2 << 20;
/// The longest `ETag` that the bot sends back.
const MAX_MARK: usize = 200;
/// The most redirects.
const MAX_HOPS: usize = 3;
/// The user agent.
const AGENT: &str = concat!("megaton/", env!("CARGO_PKG_VERSION"));

/// Reads public pages, and posts texts.
#[derive(Clone, Debug)]
pub struct HttpFetcher {
    /// The way to other machines.
    outside: Route,
    lookup: Lookup,
    time: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchedPage {
    /// The page has not changed.
    Same,
    New {
        text: String,
        etag: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    NoAnswer(String),
    #[error("status {0}")]
    Status(u16),
    #[error("status {0}, a redirect: configure the address that it leads to")]
    Redirected(u16),
    #[error("sent on {0}")]
    SentOn(&'static str),
    #[error("longer than {} kilobytes", MAX_PAGE / 1024)]
    TooLong,
    #[error("the answer broke off")]
    Broken,
    #[error("a web page and no plain text")]
    Html,
    #[error("no text in UTF-8")]
    NotText,
}

impl HttpFetcher {
    /// A fetcher with a time limit for each page. Requests to other machines go through this proxy, else
    /// that of the environment.
    ///
    /// # Errors
    /// When the client cannot be set up.
    pub fn new(proxy: Option<&str>, time: Duration) -> Result<Self, FetchError> {
        let outside = proxy.map_or(Route::Environment, |proxy| Route::Proxy(proxy.to_owned()));
        let fetcher = Self {
            outside,
            lookup,
            time,
        };
        fetcher.outside.client().map(drop).map_err(no_answer)?;
        Ok(fetcher)
    }

    /// Looks each name up once, so that what was checked is what a client connects to.
    fn names(&self) -> Names {
        Names::new(self.lookup, None)
    }

    /// A client for one call; to this machine through no proxy.
    fn client(&self, url: &Url, names: Names) -> Result<reqwest::Client, FetchError> {
        let here = is_this_machine(url).then_some(&Route::Direct);
        let client = here.unwrap_or(&self.outside).client().and_then(|client| {
            client
                .tls_backend_preconfigured(tls_config(true))
                .http1_only()
                .redirect(redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(self.time)
                .timeout(self.time)
                .dns_resolver(names)
                .build()
        });
        client.map_err(no_answer)
    }

    /// Reads a page; given the `ETag` of the known version, only if the page has changed.
    ///
    /// # Errors
    /// Why the page could not be read, without its address.
    pub async fn read(&self, url: &str, known: Option<&str>) -> Result<FetchedPage, FetchError> {
        let all = tokio::time::timeout(self.time, self.ask(url, known));
        all.await.map_err(late)?
    }

    /// Posts a text; any success status counts, and the response is not read.
    ///
    /// # Errors
    /// Why the text was not accepted, without the address.
    pub async fn post(
        &self,
        url: &str,
        kind: &'static str,
        body: String,
    ) -> Result<(), FetchError> {
        let url = parse(url)?;
        let client = self.client(&url, self.names())?;
        let request = client.post(url).header(CONTENT_TYPE, kind);
        self.deliver(request.body(body)).await
    }

    /// Requests a page; any success status counts, and the page is not read.
    ///
    /// # Errors
    /// Why the request did not succeed, without the address.
    pub async fn visit(&self, url: &str) -> Result<(), FetchError> {
        let url = parse(url)?;
        let client = self.client(&url, self.names())?;
        self.deliver(client.get(url)).await
    }

    async fn deliver(&self, request: reqwest::RequestBuilder) -> Result<(), FetchError> {
        let sent = tokio::time::timeout(self.time, request.header(USER_AGENT, AGENT).send());
        let response = sent.await.map_err(late)?.map_err(no_answer)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status if status.is_redirection() => Err(FetchError::Redirected(status.as_u16())),
            other => Err(FetchError::Status(other.as_u16())),
        }
    }

    /// Follows a few redirects: never from HTTPS to plain HTTP, and from a public server to none of the
    /// own network.
    async fn follow(&self, first: Url, known: Option<&str>) -> Result<Response, FetchError> {
        let (mut url, names) = (first.clone(), self.names());
        for _ in 0..=MAX_HOPS {
            let request = self.client(&url, names.clone())?.get(url.clone());
            let request = request.header(USER_AGENT, AGENT);
            let mut request = request.header(ACCEPT, "text/plain, */*;q=0.5");
            if let Some(mark) = known {
                request = request.header(IF_NONE_MATCH, mark);
            }
            let response = request.send().await.map_err(no_answer)?;
            let Some(next) = onward(&url, &response) else {
                return Ok(response);
            };
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(FetchError::SentOn("to an open connection"));
            }
            let to = is_internal(&next, &names).await;
            let from = is_internal(&first, &names).await;
            // Behind a proxy, no name may be resolved here: one unknown host may lead to another.
            if to != Some(false) && from != Some(true) && (to, from) != (None, None) {
                return Err(FetchError::SentOn("into the bot's own network"));
            }
            url = next;
        }
        Err(FetchError::SentOn("too often"))
    }

    async fn ask(&self, url: &str, known: Option<&str>) -> Result<FetchedPage, FetchError> {
        let mut response = self.follow(parse(url)?, known).await?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(FetchedPage::Same),
            StatusCode::OK => {}
            other => return Err(FetchError::Status(other.as_u16())),
        }
        let headers = response.headers().clone();
        let mark = headers.get(ETAG).and_then(|mark| mark.to_str().ok());
        let mark = mark.filter(|mark| mark.len() <= MAX_MARK);
        let mut body = Body::default();
        body.read(&mut response, MAX_PAGE).await;
        let bytes = body.whole().ok_or(match body.len() {
            MAX_PAGE.. => FetchError::TooLong,
            _ => FetchError::Broken,
        })?;
        if is_html(&headers, bytes) {
            return Err(FetchError::Html);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| FetchError::NotText)?;
        Ok(FetchedPage::New {
            text: text.to_owned(),
            etag: mark.map(str::to_owned),
        })
    }
}

fn parse(url: &str) -> Result<Url, FetchError> {
    Url::parse(url).map_err(|error| FetchError::NoAnswer(error.to_string()))
}

fn no_answer(error: reqwest::Error) -> FetchError {
    FetchError::NoAnswer(describe(&error.without_url()))
}

fn late(_: tokio::time::error::Elapsed) -> FetchError {
    FetchError::NoAnswer("no answer in time".to_owned())
}

/// Where a response sends the client on, if it does.
fn onward(from: &Url, response: &Response) -> Option<Url> {
    let status = response.status();
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    from.join(to).ok()
}

/// Whether a host is this machine or one of its own network; none if its name cannot be resolved.
async fn is_internal(url: &Url, names: &Names) -> Option<bool> {
    let host = url.host_str()?.trim_matches(['[', ']']);
    let mut found = names.find(host.to_owned()).await.ok()?.into_iter();
    Some(found.any(|address| is_internal_address(address.ip())))
}

fn is_internal_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
            ip.is_loopback()
                || ip.is_private()
                || ip.is_link_local()
                || ip.octets()[0] == 0
                || shared
        }
        IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    /// An address of documentation (RFC 5737), where nobody is.
    const ELSEWHERE: &str = "http://192.0.2.1/list";

    /// A server that answers once, with this status line and header. Ends with the line of the request.
    fn once(answer: String) -> (String, std::thread::JoinHandle<String>) {
        use std::io::{Read as _, Write as _};
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        let task = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 4096];
            let read = stream.read(&mut request).expect("a request");
            let end = "content-length: 0\r\nconnection: close\r\n\r\n";
            let _ = write!(stream, "HTTP/1.1 {answer}\r\n{end}");
            let request = String::from_utf8_lossy(&request[..read]);
            request.lines().next().unwrap_or_default().to_owned()
        });
        (url, task)
    }

    fn fetcher(proxy: Option<&str>) -> HttpFetcher {
        HttpFetcher::new(proxy, Duration::from_secs(20)).expect("a fetcher")
    }

    #[tokio::test]
    async fn no_public_server_sends_the_bot_into_its_own_network() {
        let inner = TcpListener::bind("127.0.0.1:0").expect("a free port");
        inner.set_nonblocking(true).expect("a socket");
        let to = inner.local_addr().expect("bound");
        let (proxy, server) = once(format!("302 Found\r\nlocation: http://{to}/"));
        let outcome = fetcher(Some(&proxy)).read(ELSEWHERE, None).await;
        let sent_on = FetchError::SentOn("into the bot's own network");
        assert_eq!(outcome, Err(sent_on));
        assert!(inner.accept().is_err(), "no one knocked");
        server.join().expect("it answered");
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_resolved_may_be_of_the_own_network() {
        // Longer than a name can be: no name server is asked.
        let unknown = format!("http://{}/", "x".repeat(64));
        let (proxy, server) = once(format!("302 Found\r\nlocation: {unknown}"));
        let outcome = fetcher(Some(&proxy)).read(ELSEWHERE, None).await;
        let sent_on = FetchError::SentOn("into the bot's own network");
        assert_eq!(outcome, Err(sent_on.clone()));
        server.join().expect("it answered");
        // Where only the proxy resolves names, a list may move, but not to an address inside.
        let (proxy, server) = once("302 Found\r\nlocation: http://127.0.0.1:9/".to_owned());
        let outcome = fetcher(Some(&proxy)).read(&unknown, None).await;
        assert_eq!(outcome, Err(sent_on));
        server.join().expect("it answered");
        let (proxy, server) = once("302 Found\r\nlocation: /list".to_owned());
        let outcome = fetcher(Some(&proxy)).read(&unknown, None).await;
        let is_followed = matches!(outcome, Err(FetchError::NoAnswer(_)));
        assert!(is_followed, "the proxy answers once only: {outcome:?}");
        server.join().expect("it answered");
    }

    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

    /// Knows this machine once, and then a public one.
    fn rebound(_host: String) -> BoxFuture<'static, Result<Vec<SocketAddr>, String>> {
        let ip = match LOOKUPS.fetch_add(1, Ordering::Relaxed) {
            0 => [127, 0, 0, 1],
            _ => [192, 0, 2, 1],
        };
        async move { Ok(vec![SocketAddr::from((ip, 0))]) }.boxed()
    }

    #[tokio::test]
    async fn the_address_of_a_name_that_is_checked_is_the_one_that_is_connected_to() {
        let by_name = |url: String| url.replace("127.0.0.1", "localhost");
        let (target, second) = once("200 OK".to_owned());
        let target = by_name(target);
        let (url, first) = once(format!("302 Found\r\nlocation: {target}"));
        let mut fetcher = fetcher(None);
        fetcher.lookup = rebound;
        let outcome = fetcher.read(&by_name(url), None).await;
        assert!(
            matches!(outcome, Ok(FetchedPage::New { .. })),
            "{outcome:?}"
        );
        assert_eq!(LOOKUPS.load(Ordering::Relaxed), 1);
        first.join().expect("it answered");
        second.join().expect("it answered");
    }

    #[tokio::test]
    async fn a_post_that_is_sent_on_has_failed_and_says_so() {
        let (target, _unasked) = once("200 OK".to_owned());
        let (url, server) = once(format!("301 Moved Permanently\r\nlocation: {target}"));
        let outcome = fetcher(None)
            .post(&url, "text/plain", "alert".to_owned())
            .await;
        assert_eq!(outcome, Err(FetchError::Redirected(301)));
        server.join().expect("it answered");
    }

    #[tokio::test]
    async fn another_machine_is_reached_through_the_proxy_and_this_one_is_not() {
        let (proxy, server) = once("200 OK".to_owned());
        let read = fetcher(Some(&proxy)).read(ELSEWHERE, None).await;
        assert!(matches!(read, Ok(FetchedPage::New { .. })), "{read:?}");
        let asked = server.join().expect("it answered");
        assert_eq!(asked, format!("GET {ELSEWHERE} HTTP/1.1"));
        let (proxy, server) = once("200 OK".to_owned());
        let fetcher = fetcher(Some(&proxy));
        let posted = fetcher.post(ELSEWHERE, "text/plain", "alert".to_owned());
        assert_eq!(posted.await, Ok(()));
        let asked = server.join().expect("it answered");
        assert_eq!(asked, format!("POST {ELSEWHERE} HTTP/1.1"));
        let (here, server) = once("200 OK".to_owned());
        let nobody = Some("http://127.0.0.1:9");
        let nobody = HttpFetcher::new(nobody, Duration::from_secs(20)).expect("a fetcher");
        assert_eq!(nobody.visit(&here).await, Ok(()));
        server.join().expect("it answered");
    }

    #[test]
    fn addresses_of_the_own_network_are_known_in_every_notation() {
        for internal in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
        ] {
            let address = internal.parse().expect("an address");
            assert!(is_internal_address(address), "{internal}");
        }
        for public in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"] {
            let address = public.parse().expect("an address");
            assert!(!is_internal_address(address), "{public}");
        }
    }

    #[tokio::test]
    async fn a_host_in_digits_is_looked_at_as_an_address() {
        for (url, internal) in [
            ("http://127.0.0.1:8650/", true),
            ("http://[::1]:8650/", true),
            ("http://0x7f.1/", true),
            ("http://2130706433/", true),
            ("http://1.1.1.1/", false),
        ] {
            let url = Url::parse(url).expect("an address");
            let names = Names::new(lookup, None);
            assert_eq!(is_internal(&url, &names).await, Some(internal), "{url}");
        }
    }
}
