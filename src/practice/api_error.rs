//! Refused requests: a status and a body in one of the shapes that Lichess uses.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl ApiError {
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        Self {
            status,
            body: json!({ "error": text.into() }),
        }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::text(400, text)
    }

    pub(crate) fn not_found() -> Self {
        Self::text(404, "Not found")
    }

    /// An invalid field: `error` is an object, and repeated at the top level.
    pub(crate) fn form(field: &str, complaint: &str) -> Self {
        let body = json!({ field: [complaint], "error": { field: [complaint] } });
        Self { status: 400, body }
    }

    /// A rate limit that states how long it lasts.
    pub(crate) fn limit(status: u16, text: &str, key: &str, wait: Duration) -> Self {
        let ratelimit = json!({ "key": key, "seconds": wait.as_secs().max(1) });
        Self {
            status,
            body: json!({ "error": text, "ratelimit": ratelimit }),
        }
    }
}
