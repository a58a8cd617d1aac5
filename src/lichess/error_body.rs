//! The body of an error, in any of its shapes.
//!
//! Texts are shortened and made safe for a log. The status of the response decides what an error
//! means, with few exceptions that read the body:
//! * [`ErrorBody::is_about_bots`], the daily limit of games against bots: `client` pauses no calls
//!   for it, `bot::account_event` passes it on, `bot::state` counts it
//! * the wait of a limit (`error`), and whether the limit has a name (`client`)
//! * [`ErrorBody::is_page`]: `error` takes most web pages for a passing fault, and `bot::run` and
//!   `bot::account_check` take none for a refusal of the token
//! * the message: `bot::game::delivery_policy` looks for "not your turn", and `bot::state` for the
//!   number of games played today

use std::time::Duration;

use serde_json::Value;

use super::lenient_json::{EXCERPT_CHARS, excerpt};

/// The longest credible wait for a limit that the server names: two days.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(48 * 3600);
/// The longest credible wait otherwise: it may be of a proxy.
pub(super) const MAX_UNNAMED_WAIT: Duration = Duration::from_secs(3600);

/// The body of an error, as far as it is readable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// The message, shortened; for humans, but for the exceptions at the head of this file.
    pub message: String,
    /// Errors of single form fields.
    pub fields: Vec<FieldError>,
    /// The limit that the server names. In a refusal it is the other player's limit.
    pub rate_limit: Option<RateLimit>,
    /// Whether it is a web page, as a proxy sends it, and not a response of the API.
    pub is_page: bool,
}

/// An error of one form field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field, `global` for the whole form.
    pub field: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Its name, such as `bot.vsBot.day`.
    pub key: Option<String>,
    pub wait: Option<Duration>,
}

/// The prefix of the limits on games of bots against bots.
const BOTS_AGAINST_BOTS: &str = "bot.vsBot";

impl ErrorBody {
    pub fn limit_key(&self) -> Option<&str> {
        self.rate_limit.as_ref()?.key.as_deref()
    }

    /// Whether the limit is on games of bots against bots rather than on calls.
    pub fn is_about_bots(&self) -> bool {
        self.limit_key()
            .is_some_and(|key| key.starts_with(BOTS_AGAINST_BOTS))
    }

    /// Reads `body`; `html` says that it is a web page.
    pub(super) fn parse(status: u16, html: bool, body: &[u8]) -> Self {
        if html {
            return Self {
                is_page: true,
                ..Self::of(format!("a web page of {} bytes", body.len()))
            };
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

    pub(super) fn of(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    fn from_object(object: &serde_json::Map<String, Value>) -> Self {
        let rate_limit = object.get("ratelimit").and_then(Value::as_object);
        let rate_limit = rate_limit.map(|limit| {
            let key = limit.get("key").and_then(Value::as_str).map(short);
            let most = key.as_ref().map_or(MAX_UNNAMED_WAIT, |_| MAX_WAIT);
            let seconds = limit.get("seconds").and_then(Value::as_f64);
            let wait = seconds.and_then(|seconds| wait_of(seconds, most));
            RateLimit { key, wait }
        });
        let mut fields = Vec::new();
        let error = object.get("error");
        let message = match error {
            Some(Value::String(text)) => short(text),
            Some(Value::Object(_)) | None => {
                let by_field = error.and_then(Value::as_object).unwrap_or(object);
                fields = field_errors(by_field);
                joined(&fields)
            }
            Some(other) => short(&other.to_string()),
        };
        Self {
            message,
            fields,
            rate_limit,
            is_page: false,
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

/// A wait of this many seconds, if valid; at most this long.
pub(super) fn wait_of(seconds: f64, most: Duration) -> Option<Duration> {
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_in_every_shape_of_body() {
        let message = |body: &str| {
            let body = ErrorBody::parse(400, false, body.as_bytes());
            (body.message, body.fields.len())
        };
        let form = r#"{"error":{"clock.limit":["Invalid value"]}}"#;
        assert_eq!(message(form), ("clock.limit: Invalid value".into(), 1));
        let doubled = r#"{"global":["Invalid clock"],"error":{"global":["Invalid clock"]}}"#;
        assert_eq!(message(doubled), ("global: Invalid clock".into(), 1));
        assert_eq!(
            message(r#"{"text":["too long"]}"#),
            ("text: too long".into(), 1)
        );
        assert_eq!(message(r#"{"error":7}"#), ("7".into(), 0));
        assert_eq!(message(r#"{"error":null}"#), ("null".into(), 0));
        assert_eq!(message("[1,2]"), ("[1,2]".into(), 0));
        assert_eq!(message("plain\nwords"), ("plain\\nwords".into(), 0));
        assert_eq!(message("\u{0}"), ("\\u{0}".into(), 0));
        assert_eq!(message(""), ("status 400 without a body".into(), 0));
    }

    #[test]
    fn no_message_is_longer_than_its_bound() {
        let long = "x".repeat(70_000);
        let bodies = [
            long.clone(),
            format!(r#"{{"error":"{long}"}}"#),
            format!(r#"{{"error":{{"{long}":["{long}"]}}}}"#),
        ];
        for body in bodies {
            let body = ErrorBody::parse(400, false, body.as_bytes());
            assert!(body.message.chars().count() <= EXCERPT_CHARS + 1);
        }
    }
}
