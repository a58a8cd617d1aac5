//! The addresses of a webhook and of a heartbeat: secrets from the environment or a file.

use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::config::{AlertFormat, Alerts as Settings};

/// The variables with the addresses.
pub const WEBHOOK_VARIABLE: &str = "MEGATON_WEBHOOK";
pub const HEARTBEAT_VARIABLE: &str = "MEGATON_HEARTBEAT";

/// Longest address, in bytes.
const MAX_LENGTH: usize = 2048;

/// The address of a webhook. `Debug` shows only the host.
#[derive(Clone)]
pub struct Address {
    url: SecretString,
    host: String,
}

/// Why the address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("[alerts] {key}: cannot read {}: {source}", path.display())]
    Unreadable {
        key: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{origin} holds no usable address: {problem}")]
    Unusable {
        /// The variable or the file.
        origin: String,
        /// Does not quote the content.
        problem: &'static str,
    },
}

/// Which messages go where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub settings: Settings,
    pub webhook: Option<Address>,
    /// What is requested while the bot is ready.
    pub heartbeat: Option<Address>,
}

impl Delivery {
    /// As the config, the environment and the files have it.
    ///
    /// # Errors
    /// When an address cannot be used. The error does not quote it.
    pub fn read(settings: &Settings) -> Result<Self, AddressError> {
        let telegram = settings.format == AlertFormat::Telegram;
        let [hook, beat] = [&settings.webhook_file, &settings.heartbeat_file];
        let webhook = secret(WEBHOOK_VARIABLE, "webhook_file", hook.as_deref());
        let heartbeat = secret(HEARTBEAT_VARIABLE, "heartbeat_file", beat.as_deref());
        let parse = |(text, origin): (String, String)| match text.trim() {
            token if telegram && is_bot_token(token) => {
                let url = format!("https://api.telegram.org/bot{token}/sendMessage");
                Address::parse(&url, &origin)
            }
            text if telegram && !text.starts_with("http") => Err(AddressError::Unusable {
                origin,
                problem: "it is not the token of a Telegram bot, such as 123456:AbC-dEf…",
            }),
            text => Address::parse(text, &origin),
        };
        let visit = |(text, origin): (String, String)| Address::parse(&text, &origin);
        Ok(Self {
            settings: settings.clone(),
            webhook: webhook?.map(parse).transpose()?,
            heartbeat: heartbeat?.map(visit).transpose()?,
        })
    }
}

/// Whether this is the token of a Telegram bot, such as `123456:AbC-dEf`.
fn is_bot_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.split_once(':').is_some_and(|(id, word)| {
        let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        is_number && word.len() >= 20 && word.bytes().all(plain)
    })
}

/// The text in the variable, else in the file, and its origin for errors; `None` without either.
fn secret(
    variable: &str,
    key: &'static str,
    file: Option<&Path>,
) -> Result<Option<(String, String)>, AddressError> {
    let value = std::env::var_os(variable).map(|value| value.to_string_lossy().into_owned());
    if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
        return Ok(Some((value, format!("the variable {variable}"))));
    }
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|source| AddressError::Unreadable {
        key,
        path: path.to_owned(),
        source,
    })?;
    Ok(Some((text, format!("the file {}", path.display()))))
}

impl Address {
    /// Parses an address, ignoring surrounding white space. `origin` names its source in errors.
    ///
    /// # Errors
    /// When it is not an address.
    pub fn parse(text: &str, origin: &str) -> Result<Self, AddressError> {
        let unusable = |problem| AddressError::Unusable {
            origin: origin.to_owned(),
            problem,
        };
        let text = text.trim();
        if text.len() > MAX_LENGTH {
            return Err(unusable("it is far too long"));
        }
        let url = Url::parse(text).map_err(|_| unusable("write it like https://host/path"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("it must begin with https:// or http://"));
        }
        let host = url.host_str().ok_or_else(|| unusable("it names no host"))?;
        Ok(Self {
            host: host.to_owned(),
            url: SecretString::from(text),
        })
    }

    /// The host, which is not secret.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The whole address.
    pub(super) fn expose(&self) -> &str {
        self.url.expose_secret()
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Address {}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({}/***)", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_more_than_the_host() {
        let text = " https://hooks.example.org/services/T0/verysecret?key=verysecret\n";
        let address = Address::parse(text, "here").unwrap();
        assert_eq!(address.host(), "hooks.example.org");
        assert!(!format!("{address:?}").contains("verysecret"));
        assert_eq!(address.expose(), text.trim());
        for bad in [
            "verysecret",
            "ftp://verysecret/x",
            "mailto:verysecret@x",
            "",
        ] {
            let error = Address::parse(bad, "here").unwrap_err().to_string();
            assert!(!error.contains("verysecret"), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let mut settings = Settings {
            webhook_file: Some("/nowhere/hook".into()),
            ..Settings::default()
        };
        let error = Delivery::read(&settings).unwrap_err().to_string();
        assert!(
            error.contains("webhook_file") && error.contains("/nowhere/hook"),
            "{error}"
        );
        settings.webhook_file = None;
        assert_eq!(Delivery::read(&settings).unwrap().webhook, None);
        settings.heartbeat_file = Some("/nowhere/beat".into());
        let error = Delivery::read(&settings).unwrap_err().to_string();
        assert!(
            error.contains("heartbeat_file") && error.contains("/nowhere/beat"),
            "{error}"
        );
    }

    #[test]
    fn a_telegram_file_holds_the_token_of_the_bot_which_nothing_shows() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telegram");
        let token = "123456789:AAverysecretverysecret_-x";
        std::fs::write(&file, format!("{token}\n")).unwrap();
        let mut settings = Settings {
            webhook_file: Some(file.clone()),
            format: AlertFormat::Telegram,
            chat_id: Some("-100123".to_owned()),
            ..Settings::default()
        };
        let read = Delivery::read(&settings).unwrap();
        let address = read.webhook.as_ref().unwrap();
        let url = format!("https://api.telegram.org/bot{token}/sendMessage");
        assert_eq!(address.expose(), url);
        assert!(!format!("{read:?}").contains("verysecret"));
        // Mistyped: too short.
        std::fs::write(&file, "123456789:verysecret").unwrap();
        let error = Delivery::read(&settings).unwrap_err().to_string();
        assert!(error.contains("the token of a Telegram bot"), "{error}");
        assert!(!error.contains("verysecret"), "{error}");
        settings.format = AlertFormat::Json;
        let error = Delivery::read(&settings).unwrap_err().to_string();
        assert!(!error.contains("verysecret"), "{error}");
    }
}
