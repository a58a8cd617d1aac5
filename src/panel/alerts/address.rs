//! The address of a webhook: a secret from the environment or a file.

use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

/// The variable with the address.
pub const WEBHOOK_VARIABLE: &str = "MEGATON_WEBHOOK";

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
    #[error("[alerts] webhook_file: cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{origin} holds no address of a webhook: {problem}")]
    Unusable {
        /// The variable or the file.
        origin: String,
        /// Does not quote the content.
        problem: &'static str,
    },
}

impl Address {
    /// The address in the environment, else in `file`; `None` without either.
    ///
    /// # Errors
    /// When it cannot be used. The error does not quote it.
    pub fn from_env_or_file(file: Option<&Path>) -> Result<Option<Self>, AddressError> {
        let variable = std::env::var_os(WEBHOOK_VARIABLE);
        let variable = variable.map(|value| value.to_string_lossy().into_owned());
        if let Some(value) = variable.filter(|value| !value.trim().is_empty()) {
            let origin = format!("the variable {WEBHOOK_VARIABLE}");
            return Self::parse(&value, &origin).map(Some);
        }
        let Some(path) = file else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|source| AddressError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &format!("the file {}", path.display())).map(Some)
    }

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
        let error = Address::from_env_or_file(Some(Path::new("/nowhere/hook"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/hook"), "{error}");
        assert!(Address::from_env_or_file(None).unwrap().is_none());
    }
}
