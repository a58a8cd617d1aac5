//! HTTP to servers other than Lichess: public name lists, a webhook.
//!
//! It has its own client without token, cookies or our name, so that none of them can reach a foreign
//! server. Size and time of pages are bounded.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH, USER_AGENT};
use reqwest::{StatusCode, redirect};

use super::connect::tls_config;
use super::error::{describe, is_html};
use super::response::Body;

/// The maximum length of a page.
const MAX_PAGE: usize = 2 << 20;
/// The longest `ETag` that the bot sends back.
const MAX_MARK: usize = 200;
/// The most redirects.
const MAX_HOPS: usize = 3;

/// Reads public pages, and posts texts.
#[derive(Clone, Debug)]
pub struct HttpFetcher {
    client: reqwest::Client,
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
    /// A fetcher with a time limit for each page.
    ///
    /// # Errors
    /// When the client cannot be set up.
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
        let request = self.client.post(url).header(CONTENT_TYPE, kind);
        self.deliver(request.body(body)).await
    }

    /// Requests a page; any success status counts, and the page is not read.
    ///
    /// # Errors
    /// Why the request did not succeed, without the address.
    pub async fn visit(&self, url: &str) -> Result<(), FetchError> {
        self.deliver(self.client.get(url)).await
    }

    async fn deliver(&self, request: reqwest::RequestBuilder) -> Result<(), FetchError> {
        let agent = concat!("megaton/", env!("CARGO_PKG_VERSION"));
        let sent = tokio::time::timeout(self.time, request.header(USER_AGENT, agent).send());
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
        let mut response = request.send().await.map_err(no_answer)?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(FetchedPage::Same),
            StatusCode::OK => {}
            other => return Err(FetchError::Status(other.as_u16())),
        }
        let mark = response.headers().get(ETAG).and_then(|v| v.to_str().ok());
        let etag = mark
            .filter(|mark| mark.len() <= MAX_MARK)
            .map(str::to_owned);
        let headers = response.headers().clone();
        let mut body = Body::default();
        body.read(&mut response, MAX_PAGE).await;
        let bytes = body.whole().ok_or_else(|| {
            if body.len() >= MAX_PAGE {
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

fn no_answer(error: reqwest::Error) -> FetchError {
    FetchError::NoAnswer(describe(&error.without_url()))
}

fn late(_: tokio::time::error::Elapsed) -> FetchError {
    FetchError::NoAnswer("no answer in time".to_owned())
}

/// Follows a few redirects, but never one from HTTPS to plain HTTP.
fn onward(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let safe = attempt.previous().iter().any(|url| url.scheme() == "https");
    if attempt.previous().len() > MAX_HOPS {
        attempt.error("sent on too often")
    } else if safe && attempt.url().scheme() != "https" {
        attempt.error("sent on to an open connection")
    } else {
        attempt.follow()
    }
}
