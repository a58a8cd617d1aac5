//! What a failed call means, in five classes.
//!
//! One pure function makes an error of status, headers and body. The class decides what is done
//! about it; texts are for people, because the server translates them.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::governor::Scope;
use super::reading::excerpt;

/// Longest piece of a body that is kept or shown.
pub(super) const EXCERPT_CHARS: usize = 200;

/// Waits beyond this are a mistake in the answer: two days.
const LONGEST_WAIT: Duration = Duration::from_secs(48 * 3600);

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The server or the way to it fails for the moment: try again, slower each time.
    #[error("{}{reason}", status.map_or_else(String::new, |s| format!("status {s}: ")))]
    Transient {
        /// The status, if any answer came at all.
        status: Option<u16>,
        /// What was seen.
        reason: String,
    },
    /// Too many calls of this kind: none more of them for that long.
    #[error("rate limited, {}: {}", describe_wait(*wait), body.message)]
    RateLimited {
        /// The wait the server asks for, if it says.
        wait: Option<Duration>,
        /// What it says besides.
        body: Box<ErrorBody>,
    },
    /// Understood and refused: the same call again would be refused again.
    #[error("refused with status {status}: {}", body.message)]
    Refused {
        /// 400, 401, 403 and so on.
        status: u16,
        /// What the server says.
        body: Box<ErrorBody>,
    },
    /// What was named does not exist, or no more, or not for us.
    #[error("gone: {}", body.message)]
    Gone {
        /// What the server says.
        body: Box<ErrorBody>,
    },
    /// An answer that this protocol does not have.
    #[error("unexpected answer: {reason}")]
    Protocol {
        /// What was seen.
        reason: String,
    },
}

fn describe_wait(wait: Option<Duration>) -> String {
    wait.map_or_else(
        || "no wait advised".to_owned(),
        |wait| format!("to wait {} s", wait.as_secs()),
    )
}

/// The body of an error, as far as it could be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// The message, shortened; for people only.
    pub message: String,
    /// Complaints about single form fields.
    pub fields: Vec<FieldError>,
    /// The limit that was hit, if it is named. In a refusal it is the other side's limit.
    pub rate_limit: Option<RateLimit>,
}

/// A complaint about one field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field, `global` for the whole form.
    pub field: String,
    /// The complaint.
    pub message: String,
}

/// A limit the server names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Its name, such as `bot.vsBot.day`.
    pub key: Option<String>,
    /// How long it holds.
    pub wait: Option<Duration>,
}

impl Error {
    /// The error in an answer that is no success. Pure.
    pub fn classify(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let html = is_html(headers, body);
        let parsed = || Box::new(ErrorBody::parse(status, html, body));
        match status {
            429 => {
                let body = parsed();
                let wait = body.rate_limit.as_ref().and_then(|limit| limit.wait);
                let wait = wait.max(retry_after(headers));
                Self::RateLimited { wait, body }
            }
            // A proxy's login page is no verdict of the server, but 401 must never be hammered.
            401 => Self::Refused {
                status,
                body: parsed(),
            },
            500.. | 408 | 425 => Self::transient(status, &parsed()),
            400..=499 if html => Self::transient(status, &parsed()),
            404 | 410 => Self::Gone { body: parsed() },
            400..=499 => Self::Refused {
                status,
                body: parsed(),
            },
            _ => Self::Protocol {
                reason: format!("status {status}: {}", parsed().message),
            },
        }
    }

    fn transient(status: u16, body: &ErrorBody) -> Self {
        Self::Transient {
            status: Some(status),
            reason: body.message.clone(),
        }
    }

    /// The error of a call that got no answer.
    pub(super) fn no_answer(error: &reqwest::Error) -> Self {
        Self::Transient {
            status: None,
            reason: describe(error),
        }
    }

    /// The refusal of a call whose kind pauses; nothing was sent.
    pub(super) fn paused(scope: Scope, rest: Duration) -> Self {
        Self::RateLimited {
            wait: Some(rest),
            body: Box::new(ErrorBody::of(format!("{scope:?} calls pause"))),
        }
    }

    /// The status the server answered with, if it did.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Transient { status, .. } => *status,
            Self::RateLimited { .. } => Some(429),
            Self::Refused { status, .. } => Some(*status),
            Self::Gone { .. } => Some(404),
            Self::Protocol { .. } => None,
        }
    }

    /// How long to wait before such a call, where a limit was hit and the wait is known.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => *wait,
            _ => None,
        }
    }

    /// Whether the token is not accepted: an operator has to look.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// Whether the account or the token may not do this, whatever the moment.
    pub fn is_forbidden(&self) -> bool {
        self.status() == Some(403)
    }

    /// Whether the same call may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }

    /// The limit the server names, be it ours (429) or the other side's (400).
    pub fn rate_limit(&self) -> Option<&RateLimit> {
        match self {
            Self::RateLimited { body, .. } | Self::Refused { body, .. } => body.rate_limit.as_ref(),
            _ => None,
        }
    }
}

/// Whether a body is a web page and not an answer of the interface.
pub(super) fn is_html(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let named = kind.is_some_and(|kind| kind.trim_start().starts_with("text/html"));
    named || body.trim_ascii_start().first() == Some(&b'<')
}

/// The seconds of a `Retry-After` header; its other form, a date, is never sent here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().and_then(wait_of)
}

fn wait_of(seconds: f64) -> Option<Duration> {
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.min(LONGEST_WAIT))
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

impl ErrorBody {
    fn parse(status: u16, html: bool, body: &[u8]) -> Self {
        if html {
            return Self::of(format!("a web page of {} bytes", body.len()));
        }
        if let Ok(Value::Object(object)) = serde_json::from_slice(body) {
            return Self::from_object(&object);
        }
        let text = short(String::from_utf8_lossy(body).trim());
        Self::of(if text.is_empty() {
            format!("status {status} without a body")
        } else {
            text
        })
    }

    fn of(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    fn from_object(object: &serde_json::Map<String, Value>) -> Self {
        let rate_limit = object.get("ratelimit").and_then(Value::as_object);
        let rate_limit = rate_limit.map(|limit| RateLimit {
            key: limit.get("key").and_then(Value::as_str).map(short),
            wait: limit
                .get("seconds")
                .and_then(Value::as_f64)
                .and_then(wait_of),
        });
        let mut fields = Vec::new();
        let message = match object.get("error") {
            Some(Value::String(text)) => short(text),
            Some(Value::Object(by_field)) => {
                fields = field_errors(by_field);
                joined(&fields)
            }
            Some(other) => short(&other.to_string()),
            None => {
                fields = field_errors(object);
                joined(&fields)
            }
        };
        Self {
            message,
            fields,
            rate_limit,
        }
    }
}

fn short(text: &str) -> String {
    excerpt(text, EXCERPT_CHARS)
}

fn field_errors(object: &serde_json::Map<String, Value>) -> Vec<FieldError> {
    let one = |field: &String, message: &Value| FieldError {
        field: short(field),
        message: message
            .as_str()
            .map_or_else(|| short(&message.to_string()), short),
    };
    let mut errors = Vec::new();
    for (field, messages) in object.iter().take(16) {
        match messages {
            Value::Array(list) => errors.extend(list.iter().take(4).map(|m| one(field, m))),
            other => errors.push(one(field, other)),
        }
    }
    errors
}

fn joined(fields: &[FieldError]) -> String {
    let texts: Vec<_> = fields
        .iter()
        .map(|error| format!("{}: {}", error.field, error.message))
        .collect();
    short(&texts.join("; "))
}
