//! One entry of a list of accounts: a name, or a source of names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::lichess::UserId;

/// Prefix of an entry that is a file.
const FILE: &str = "file:";
/// Hosts that may be read without encryption: the traffic stays on this machine.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// One entry of a list of accounts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub enum Entry {
    /// One account, as it was typed.
    Name(String),
    /// A file with one account a line; `#` begins a comment.
    File(PathBuf),
    /// An address whose answer reads like such a file.
    Url(String),
}

impl Entry {
    /// Whether the entry names this account; case does not matter.
    pub fn is_name(&self, account: &str) -> bool {
        matches!(self, Self::Name(name) if name.eq_ignore_ascii_case(account))
    }

    /// The entry with a relative file resolved against a folder.
    #[must_use]
    pub(in crate::config) fn seen_from(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            other => other,
        }
    }
}

/// An entry as shown to readers: a URL's query may hold a secret.
pub fn without_query(entry: &str) -> &str {
    let is_address = entry.contains("://");
    entry
        .split_once('?')
        .filter(|_| is_address)
        .map_or(entry, |(bare, _)| bare)
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(FILE) {
            return match path.trim() {
                "" => Err("\"file:\" lacks a path".to_owned()),
                path => Ok(Self::File(path.into())),
            };
        }
        if text.contains("://") {
            return address(text).map(|()| Self::Url(text.to_owned()));
        }
        if UserId::is_name(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        Err(format!(
            "\"{text}\" is not an account name (2 to 30 letters, digits, _ and -), \
             \"file:PATH\" or \"https://…\""
        ))
    }
}

/// Checks the URL of a list of names.
fn address(text: &str) -> Result<(), String> {
    let shown = without_query(text);
    let url = reqwest::Url::parse(text).map_err(|_| format!("\"{shown}\" is not a URL"))?;
    let host = url.host_str().unwrap_or_default();
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL in a list must not contain a user name or password".to_owned());
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if HERE.contains(&host) => Ok(()),
        _ => Err(format!("\"{shown}\" must begin with https://")),
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Url(text) => f.write_str(text),
            Self::File(path) => write!(f, "{FILE}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_name_a_file_or_an_address() {
        let read = |text: &str| text.parse::<Entry>();
        assert_eq!(read("Some-One"), Ok(Entry::Name("Some-One".to_owned())));
        assert_eq!(read("file:a b.txt"), Ok(Entry::File("a b.txt".into())));
        for address in ["https://example.org/list?a=1", "http://127.0.0.1:9/x"] {
            assert_eq!(read(address), Ok(Entry::Url(address.to_owned())));
            assert_eq!(read(address).unwrap().to_string(), address);
        }
        for wrong in [
            "",
            "a",
            "no name",
            "file: ",
            "http://example.org/list",
            "ftp://example.org",
            "https://me:pw@example.org",
            "https://",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_fault_of_an_address_shows_its_query() {
        for wrong in [
            "http://a.org/list?key=secret",
            "https://a b/list?key=secret",
        ] {
            let fault = wrong.parse::<Entry>().unwrap_err();
            assert!(
                fault.contains("/list\"") && !fault.contains("secret"),
                "{fault}"
            );
        }
    }

    #[test]
    fn only_an_address_has_a_query_that_is_not_shown() {
        assert_eq!(without_query("https://a/b?key=secret"), "https://a/b");
        assert_eq!(without_query("file:a?b"), "file:a?b");
    }

    #[test]
    fn a_file_is_relative_to_the_config_folder() {
        let entry = Entry::File("block.txt".into());
        let seen = entry.seen_from(Path::new("/etc/megaton"));
        assert_eq!(seen.to_string(), "file:/etc/megaton/block.txt");
    }
}
