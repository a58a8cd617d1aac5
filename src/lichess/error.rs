//! What a failed call means, in five classes.
//!
//! One pure function makes an error from status, headers and body. Code acts on the class; texts
//! are for humans, because the server translates them. `error_body` lists the few places that read
//! more than the class.

use std::time::Duration;

use super::endpoint_class::EndpointClass;
use super::error_body::{ErrorBody, MAX_UNNAMED_WAIT, RateLimit, wait_of};
use super::lenient_json::{EXCERPT_CHARS, excerpt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server or the connection fails for now: retry with back-off.
    #[error("{}{reason}", status.map_or_else(String::new, |s| format!("status {s}: ")))]
    Transient {
        /// Whether there was a connection: without one, the server has not seen the call.
        reached: bool,
        /// The status, if there was a response.
        status: Option<u16>,
        reason: String,
    },
    /// Too many calls of this class: it pauses for the wait.
    #[error("rate limited, {}: {}", describe_wait(*wait), body.message)]
    RateLimited {
        /// The wait the server asks for, if it names one.
        wait: Option<Duration>,
        body: Box<ErrorBody>,
    },
    /// Understood and refused: the server would refuse the same call again.
    #[error("refused with status {status}: {}", body.message)]
    Refused {
        /// 400, 401, 403 and so on.
        status: u16,
        body: Box<ErrorBody>,
    },
    /// The resource does not exist, no longer exists, or is not ours.
    #[error("gone: {}", body.message)]
    Gone {
        /// 404 or 410.
        status: u16,
        body: Box<ErrorBody>,
    },
    /// A response outside the protocol.
    #[error("unexpected answer: {reason}")]
    Protocol { reason: String },
}

fn describe_wait(wait: Option<Duration>) -> String {
    wait.map_or_else(
        || "no wait advised".to_owned(),
        |wait| format!("to wait {} s", wait.as_secs()),
    )
}

impl Error {
    /// The error of a response that is no success.
    pub fn classify(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let html = is_html(headers, body);
        let body = Box::new(ErrorBody::parse(status, html, body));
        match status {
            429 => {
                let wait = body.rate_limit.as_ref().and_then(|limit| limit.wait);
                let wait = wait.max(retry_after(headers));
                Self::RateLimited { wait, body }
            }
            500.. | 408 | 425 => Self::transient(Some(status), body.message),
            // A 401 may be a proxy's login page ([`Error::is_page`]), but the bot must never repeat it
            // quickly.
            400..=499 if html && status != 401 => Self::transient(Some(status), body.message),
            404 | 410 => Self::Gone { status, body },
            400..=499 => Self::Refused { status, body },
            _ => Self::Protocol {
                reason: format!("status {status}: {}", body.message),
            },
        }
    }

    /// The error of a server that was reached and does not serve for now.
    pub(super) fn transient(status: Option<u16>, reason: impl Into<String>) -> Self {
        Self::Transient {
            reached: true,
            status,
            reason: reason.into(),
        }
    }

    /// The error of a call without a response.
    pub(super) fn no_answer(error: &reqwest::Error) -> Self {
        Self::Transient {
            reached: !error.is_connect(),
            status: None,
            reason: describe(error),
        }
    }

    /// The refusal of a call whose class pauses; it was not sent.
    pub(super) fn paused(class: EndpointClass, rest: Duration) -> Self {
        Self::RateLimited {
            wait: Some(rest),
            body: Box::new(ErrorBody::of(format!(
                "calls of the kind {} pause",
                class.as_str()
            ))),
        }
    }

    /// The status of the response, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Transient { status, .. } => *status,
            Self::RateLimited { .. } => Some(429),
            Self::Refused { status, .. } | Self::Gone { status, .. } => Some(*status),
            Self::Protocol { .. } => None,
        }
    }

    /// The wait after a 429, if known.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => *wait,
            _ => None,
        }
    }

    /// Whether there was no connection, so that the server has not counted the call.
    pub fn is_unreached(&self) -> bool {
        matches!(self, Self::Transient { reached: false, .. })
    }

    /// Whether the server answered 429. The bot logs that for all calls, by kind.
    pub fn is_rate_limited(&self) -> bool {
        matches!(self, Self::RateLimited { .. })
    }

    /// Whether the server was reached but is out of order: it says so, or closes the connection.
    pub fn is_out_of_order(&self) -> bool {
        matches!(self, Self::Transient { reached: true, .. })
    }

    /// Whether the server rejects the token, which only the operator can fix.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// Whether the account or the token is not allowed to do this at all. A web page with this status says nothing
    /// of either.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { status: 403, .. })
    }

    /// Whether a web page refused the call, so that the server may never have seen it.
    pub fn is_page(&self) -> bool {
        matches!(self, Self::Refused { body, .. } if body.is_page)
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    /// The limit the server names, ours (429) or the other player's (400).
    pub fn rate_limit(&self) -> Option<&RateLimit> {
        match self {
            Self::RateLimited { body, .. } | Self::Refused { body, .. } => body.rate_limit.as_ref(),
            _ => None,
        }
    }
}

/// Whether a body is a web page rather than a response of the API.
pub(super) fn is_html(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let named = kind.is_some_and(|kind| kind.trim_start().starts_with("text/html"));
    named || body.trim_ascii_start().first() == Some(&b'<')
}

/// The seconds of a `Retry-After` header; Lichess does not send its other form, a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    wait_of(text.trim().parse().ok()?, MAX_UNNAMED_WAIT)
}

/// The chain of causes in one line, without the URL.
pub(super) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    excerpt(&text, EXCERPT_CHARS)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    const HTML: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head></html>";
    const NOT_FOUND: &str = "404 - Resource not found";
    const TURN: &str = r#"{"error":"Not your turn, or game already over"}"#;
    const BOT_DAY: &str = r#"{"error":"You played 100 games against other bots today",
        "ratelimit":{"key":"bot.vsBot.day","seconds":27594}}"#;

    fn headers(kind: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))])
    }

    fn class(status: u16, kind: &'static str, body: &str) -> &'static str {
        match Error::classify(status, &headers(kind), body.as_bytes()) {
            Error::Transient { .. } => "transient",
            Error::RateLimited { .. } => "limited",
            Error::Refused { .. } => "refused",
            Error::Gone { .. } => "gone",
            Error::Protocol { .. } => "protocol",
        }
    }

    #[test]
    fn every_answer_has_its_class() {
        let json = "application/json";
        let html = "text/html; charset=utf-8";
        let plain = "text/plain";
        let table = [
            (400, json, TURN, "refused"),
            (400, json, BOT_DAY, "refused"),
            (400, json, "", "refused"),
            (400, html, HTML, "transient"),
            (401, json, r#"{"error":"No such token"}"#, "refused"),
            (401, html, HTML, "refused"),
            (
                403,
                json,
                r#"{"error":"Missing scope: bot:play"}"#,
                "refused",
            ),
            (403, plain, HTML, "transient"),
            (404, json, r#"{"error":"No such game"}"#, "gone"),
            (404, plain, NOT_FOUND, "gone"),
            (404, html, HTML, "transient"),
            (405, plain, "", "refused"),
            (408, plain, "", "transient"),
            (410, json, "{}", "gone"),
            (415, plain, "", "refused"),
            (425, plain, "", "transient"),
            (429, json, BOT_DAY, "limited"),
            (429, html, HTML, "limited"),
            (429, plain, "", "limited"),
            (500, plain, "Internal Server Error", "transient"),
            (502, html, HTML, "transient"),
            (503, json, r#"{"error":"down"}"#, "transient"),
            (504, "", "", "transient"),
            (521, html, HTML, "transient"),
            (301, html, "", "protocol"),
            (304, json, "", "protocol"),
            (100, json, "", "protocol"),
        ];
        for (status, kind, body, expected) in table {
            let error = Error::classify(status, &headers(kind), body.as_bytes());
            let kept = error.status().unwrap_or(status);
            assert_eq!(kept, status, "{kind} {body}");
            let is_forbidden = status == 403 && expected == "refused";
            assert_eq!(error.is_forbidden(), is_forbidden, "{status} {body}");
            assert_eq!(
                class(status, kind, body),
                expected,
                "{status} {kind} {body}"
            );
        }
    }

    #[test]
    fn every_shape_of_an_answer_has_the_class_of_its_status_but_a_page() {
        let shapes = [
            ("application/json", r#"{"error":"Sorry"}"#),
            ("application/json", r#"{"error":{"global":["Sorry"]}}"#),
            (
                "application/json",
                r#"{"global":["Sorry"],"error":{"global":["Sorry"]}}"#,
            ),
            (
                "application/json",
                r#"{"error":"Sorry","ratelimit":{"key":"bot.test","seconds":2}}"#,
            ),
            ("text/plain", "Sorry"),
            ("application/json", ""),
            ("application/json", r#"{"error":"So"#),
        ];
        let statuses = [
            (400, "refused", "transient"),
            (401, "refused", "refused"),
            (403, "refused", "transient"),
            (404, "gone", "transient"),
            (429, "limited", "limited"),
            (500, "transient", "transient"),
            (502, "transient", "transient"),
            (503, "transient", "transient"),
            (504, "transient", "transient"),
        ];
        for (status, expected, of_page) in statuses {
            for (kind, body) in shapes {
                assert_eq!(class(status, kind, body), expected, "{status} {body}");
            }
            assert_eq!(class(status, "text/html", HTML), of_page, "{status}");
        }
    }

    #[test]
    fn the_wait_is_the_longer_one_of_body_and_header() {
        let wait = |header: Option<&'static str>, body: &str| {
            let mut headers = headers("application/json");
            if let Some(text) = header {
                headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            }
            let wait = Error::classify(429, &headers, body.as_bytes()).wait();
            wait.map(|wait| wait.as_secs())
        };
        assert_eq!(wait(None, r#"{"error":"Too many requests."}"#), None);
        assert_eq!(wait(None, BOT_DAY), Some(27_594));
        assert_eq!(wait(Some("90"), "{}"), Some(90));
        assert_eq!(wait(Some("90"), BOT_DAY), Some(27_594));
        assert_eq!(wait(Some("Wed, 21 Oct 2026 07:28:00 GMT"), "{}"), None);
        for nonsense in ["-5", "1e400", "\"x\"", "null", "{}"] {
            let body = format!(r#"{{"error":"x","ratelimit":{{"seconds":{nonsense}}}}}"#);
            assert_eq!(wait(None, &body), None, "{nonsense}");
        }
    }

    #[test]
    fn only_a_limit_with_a_name_may_last_for_days() {
        let wait = |header: &'static str, body: &str| {
            let header = HeaderValue::from_static(header);
            let headers = HeaderMap::from_iter([(RETRY_AFTER, header)]);
            let wait = Error::classify(429, &headers, body.as_bytes()).wait();
            wait.map(|wait| wait.as_secs())
        };
        let (named, unnamed) = (
            r#"{"ratelimit":{"key":"bot.test","seconds":1e18}}"#,
            r#"{"ratelimit":{"seconds":1e18}}"#,
        );
        assert_eq!(wait("0", named), Some(48 * 3600));
        assert_eq!(wait("0", unnamed), Some(3600));
        for header in ["172800", "1e18"] {
            assert_eq!(
                wait(header, r#"{"error":"Too many requests."}"#),
                Some(3600)
            );
            assert_eq!(wait(header, r#"{"ratelimit":{"key":"x"}}"#), Some(3600));
        }
    }

    #[test]
    fn a_server_error_means_out_of_order_with_or_without_a_status() {
        for (reached, status) in [(true, Some(502)), (true, None), (false, None)] {
            let error = Error::Transient {
                reached,
                status,
                reason: String::new(),
            };
            assert_eq!(error.is_out_of_order(), reached, "{error:?}");
            assert_eq!(error.is_unreached(), !reached, "{error:?}");
        }
        let gone = Error::classify(404, &HeaderMap::new(), NOT_FOUND.as_bytes());
        assert!(!gone.is_out_of_order());
    }

    #[test]
    fn the_error_class_shows_whose_limit_it_is() {
        let body = BOT_DAY.as_bytes();
        let ours = Error::classify(429, &HeaderMap::new(), body);
        let theirs = Error::classify(400, &HeaderMap::new(), body);
        assert_eq!(ours.wait(), Some(Duration::from_secs(27_594)));
        assert_eq!(theirs.wait(), None);
        let key = |error: &Error| error.rate_limit().and_then(|limit| limit.key.clone());
        assert_eq!(key(&ours).as_deref(), Some("bot.vsBot.day"));
        assert_eq!(key(&ours), key(&theirs));
    }
}
