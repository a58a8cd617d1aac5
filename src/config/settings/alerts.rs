//! Whom the bot tells when something is wrong.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[alerts]`: messages to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// File that holds the address and nothing else, for most addresses are secrets.
    /// `MEGATON_WEBHOOK` goes before it. A relative path in a file is read from that file's folder.
    #[serde(with = "units::path")]
    pub webhook_file: Option<PathBuf>,
    pub format: AlertFormat,
    /// Most messages in an hour.
    pub per_hour: usize,
    /// How long the event stream may be closed before that is worth a message.
    #[serde(with = "units::seconds")]
    pub deaf: Duration,
}

/// What is sent to a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertFormat {
    /// One object whose `text` and `content` are what chat services show.
    #[default]
    Json,
    Text,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            webhook_file: None,
            format: AlertFormat::Json,
            per_hour: 12,
            deaf: Duration::from_secs(120),
        }
    }
}
