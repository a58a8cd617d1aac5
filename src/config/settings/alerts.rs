//! Messages to the operator about alerts.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[alerts]`: messages to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// File that holds only the URL, since most are secrets; `MEGATON_WEBHOOK` takes precedence. A
    /// relative path in a config file starts at that file's folder.
    #[serde(with = "units::path")]
    pub webhook_file: Option<PathBuf>,
    pub format: AlertFormat,
    /// Maximum messages per hour.
    pub per_hour: usize,
    /// Time without an event stream before a message.
    #[serde(with = "units::seconds")]
    pub deaf: Duration,
}

/// Format of a webhook message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertFormat {
    /// An object whose `text` and `content` chat services show.
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
