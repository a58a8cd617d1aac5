//! Where the operator's page listens, and which requests need a password.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[panel]`: the operator's page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Panel {
    /// Address and port; none serves no page.
    #[serde(with = "units::address")]
    pub listen: Option<SocketAddr>,
    /// File with the password for commands over HTTP, and for every request from another machine or
    /// through a proxy. A relative path in a config file starts at that file's folder.
    #[serde(with = "units::path")]
    pub token_file: Option<PathBuf>,
    /// Further host names of the page, besides `localhost` and the listen address. Requests for these
    /// need the password.
    pub hosts: Vec<String>,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 8650))),
            token_file: None,
            hosts: Vec::new(),
        }
    }
}

/// The error in a listen address, if any.
pub(in crate::config) fn fault_in_address(text: &str) -> Option<String> {
    if text.is_empty() || text.parse::<SocketAddr>().is_ok() {
        return None;
    }
    Some("is not an address and port: write it like \"127.0.0.1:8650\", \"\" for none".to_owned())
}

/// The error in a host name, if any.
pub(in crate::config) fn fault_in_host(text: &str) -> Option<String> {
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() <= 63 && label.bytes().all(plain)
    };
    if text.len() <= 253 && text.split('.').all(label) {
        return None;
    }
    let what = "is not a host name: write it without scheme, port and path, like \
                \"bot.example.org\"";
    Some(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_told_from_what_looks_like_them() {
        for good in ["", "127.0.0.1:8650", "[::1]:0", "0.0.0.0:80"] {
            assert_eq!(fault_in_address(good), None, "{good}");
        }
        for bad in [
            "8650",
            "localhost:8650",
            "127.0.0.1",
            "http://127.0.0.1:1",
            "1.1.1.1:99999",
        ] {
            assert!(fault_in_address(bad).is_some(), "{bad}");
        }
        for good in ["bot.example.org", "bot", "10.0.0.5", "my-bot_1"] {
            assert_eq!(fault_in_host(good), None, "{good}");
        }
        for bad in ["", "a..b", "https://a.b", "a.b:80", "a/b", "ü.de", "*"] {
            assert!(fault_in_host(bad).is_some(), "{bad}");
        }
    }
}
