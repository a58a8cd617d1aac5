//! HTTP to servers other than Lichess: public name lists, a webhook.
//!
//! A separate client without token, cookies or our name, so none of them can reach a foreign server. Pages
//! are bounded in size and time.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH, USER_AGENT};
use reqwest::{StatusCode, redirect};

use super::connect::tls_config;
use super::error::{describe, is_html};
use super::response::Body;

/// Most of a page that is read.
const LONGEST_PAGE: usize = 2 << 20;
/// The longest mark of a version that is sent back.
const LONGEST_MARK: usize = 200;
/// How often a server may send us on.
const MOST_HOPS: usize = 3;

/// Reads public pages, and hands texts in.
#[derive(Clone, Debug)]
pub struct HttpFetcher {
    client: reqwest::Client,
    time: Duration,
}

/// What a page's server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchedPage {
    /// It is as it was.
    Same,
    /// This is what it holds.
    New {
        text: String,
        /// The server's mark for this version, if it gives one.
        etag: Option<String>,
    },
}

/// Why a page could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// No answer, or none in time.
    #[error("{0}")]
    NoAnswer(String),
    /// Another answer than the page.
    #[error("status {0}")]
    Status(u16),
    /// More than could be a list.
    #[error("longer than {} kilobytes", LONGEST_PAGE / 1024)]
    TooLong,
    #[error("the answer broke off")]
    Broken,
    /// A web page where plain text should be.
    #[error("a web page and no plain text")]
    Html,
    /// It is no text.
    #[error("no text in UTF-8")]
    NotText,
}

impl HttpFetcher {
    /// A reader that gives each page so long.
    ///
    /// # Errors
    /// When connections cannot be set up at all.
    pub fn new(time: Duration) -> Result<Self, FetchError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls_config(true))
            .http1_only()
            .redirect(redirect::Policy::custom(onward))
            .retry(reqwest::retry::never())
            .connect_timeout(time)
            .timeout(time)
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| FetchError::NoAnswer(describe(&error)))?;
        Ok(Self { client, time })
    }

    /// Reads a page; with the mark of the version that is known, only if it has changed.
    ///
    /// # Errors
    /// When there is no such text to be had; says why, without the address.
    pub async fn read(&self, url: &str, known: Option<&str>) -> Result<FetchedPage, FetchError> {
        let all = tokio::time::timeout(self.time, self.ask(url, known));
        let late = |_| FetchError::NoAnswer("no answer in time".to_owned());
        all.await.map_err(late)?
    }

    /// Hands a text in; any success will do, and what is answered is not read.
    ///
    /// # Errors
    /// When it was not taken; says why, without the address.
    pub async fn post(
        &self,
        url: &str,
        kind: &'static str,
        body: String,
    ) -> Result<(), FetchError> {
        let agent = concat!("megaton/", env!("CARGO_PKG_VERSION"));
        let request = self.client.post(url);
        let request = request.header(USER_AGENT, agent).header(CONTENT_TYPE, kind);
        let no_answer =
            |error: reqwest::Error| FetchError::NoAnswer(describe(&error.without_url()));
        let sent = tokio::time::timeout(self.time, request.body(body).send());
        let late = |_| FetchError::NoAnswer("no answer in time".to_owned());
        let response = sent.await.map_err(late)?.map_err(no_answer)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            other => Err(FetchError::Status(other.as_u16())),
        }
    }

    async fn ask(&self, url: &str, known: Option<&str>) -> Result<FetchedPage, FetchError> {
        let agent = concat!("megaton/", env!("CARGO_PKG_VERSION"));
        let mut request = self
            .client
            .get(url)
            .header(USER_AGENT, agent)
            .header(ACCEPT, "text/plain, */*;q=0.5");
        if let Some(mark) = known {
            request = request.header(IF_NONE_MATCH, mark);
        }
        let no_answer =
            |error: reqwest::Error| FetchError::NoAnswer(describe(&error.without_url()));
        let mut response = request.send().await.map_err(no_answer)?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(FetchedPage::Same),
            StatusCode::OK => {}
            other => return Err(FetchError::Status(other.as_u16())),
        }
        let mark = response.headers().get(ETAG).and_then(|v| v.to_str().ok());
        let etag = mark
            .filter(|mark| mark.len() <= LONGEST_MARK)
            .map(str::to_owned);
        let headers = response.headers().clone();
        let mut body = Body::default();
        body.read(&mut response, LONGEST_PAGE).await;
        let bytes = body.whole().ok_or_else(|| {
            if body.len() >= LONGEST_PAGE {
                FetchError::TooLong
            } else {
                FetchError::Broken
            }
        })?;
        if is_html(&headers, bytes) {
            return Err(FetchError::Html);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| FetchError::NotText)?;
        Ok(FetchedPage::New {
            text: text.to_owned(),
            etag,
        })
    }
}

/// Whether to go where a server sends us: a few times, and never from a safe way to an open one.
fn onward(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let safe = attempt.previous().iter().any(|url| url.scheme() == "https");
    if attempt.previous().len() > MOST_HOPS {
        attempt.error("sent on too often")
    } else if safe && attempt.url().scheme() != "https" {
        attempt.error("sent on to an open connection")
    } else {
        attempt.follow()
    }
}
