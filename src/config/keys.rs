//! What a key takes: the source of range checks and error messages. `settings` declares the keys.

use std::net::SocketAddr;

use super::values::{ArenaId, Entry, Hours, Template, TimeRule};

/// A section of the config.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name, with dots between the parts.
    pub path: &'static str,
    /// Whether there may be several, as `[[path]]`.
    pub many: bool,
    /// Its keys, in the order of `config.example.toml`.
    pub keys: &'static [Key],
}

/// One key of the config.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name within its section.
    pub name: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// What it means, as one line; empty if the name says it.
    pub about: &'static str,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Flag,
    /// A whole number of `unit`, both ends included.
    Whole {
        min: i64,
        max: i64,
        unit: &'static str,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A list of some of these words.
    Choices(&'static [&'static str]),
    Text(&'static str),
    /// Hours of the day.
    Hours,
    /// A line of chat.
    Line,
    /// A list of accounts.
    Entries,
    /// A list of time controls.
    Times,
    /// A list of tournaments.
    Arenas,
    /// A list of folders.
    Folders,
    /// A list of files.
    Files,
    /// An address to listen at.
    Address,
    /// A list of host names.
    Hosts,
    /// A list of teams.
    Teams,
}

impl Section {
    /// A section that appears once.
    pub(super) const fn one(path: &'static str, keys: &'static [Key]) -> Self {
        Self {
            path,
            many: false,
            keys,
        }
    }

    /// The section header.
    pub fn title(&self) -> String {
        if self.many {
            format!("[[{}]]", self.path)
        } else {
            format!("[{}]", self.path)
        }
    }

    /// The parent section's name, and the section's own name within it.
    pub(super) fn split(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// The key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Takes {
    /// The expected value, for error messages.
    pub fn describe(&self) -> String {
        let fixed = match self {
            Self::Flag => "true or false",
            Self::Whole { min, max, unit } => {
                return format!("a whole number of {unit} from {min} to {max}");
            }
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                return format!("one of {}", quoted.join(", "));
            }
            Self::Choices(words) => return format!("a list of words among {}", words.join(", ")),
            Self::Text(what) => what,
            Self::Hours => "hours in quotes, such as \"8-22\"",
            Self::Line => "a line of chat in quotes, \"\" for none",
            Self::Entries => "a list of account names such as [\"someone\", \"file:names.txt\"]",
            Self::Times => "a list of time controls such as [\"blitz\", \"3+2\"]",
            Self::Folders => "a list of folders such as [\"tables\"]",
            Self::Files => "a list of files such as [\"atomic.bin\"]",
            Self::Address => {
                "an address and a port in quotes such as \"127.0.0.1:8650\", \"\" for none"
            }
            Self::Hosts => "a list of host names such as [\"bot.example.org\"]",
            Self::Teams => "a list of teams such as [\"lichess-bots\"]",
            Self::Arenas => "a list of tournaments such as [\"aBcD1234\"]",
        };
        fixed.to_owned()
    }

    /// The error in a text of the right type, or in an item of a list.
    pub(super) fn fault_in(&self, text: &str) -> Option<String> {
        match self {
            Self::Hours => text.parse::<Hours>().err(),
            Self::Line => Template(text).fault(),
            Self::Entries => text.parse::<Entry>().err(),
            Self::Times => text.parse::<TimeRule>().err(),
            Self::Arenas => text.parse::<ArenaId>().err(),
            Self::Address => fault_in_address(text),
            Self::Hosts => fault_in_host(text),
            Self::Choices(words) => {
                let known = words.join(", ");
                (!words.contains(&text)).then(|| format!("\"{text}\" is none of {known}"))
            }
            Self::Teams => fault_in_team(text),
            Self::Folders | Self::Files => text
                .is_empty()
                .then(|| "must not be an empty path".to_owned()),
            Self::Flag | Self::Whole { .. } | Self::Choice(_) | Self::Text(_) => None,
        }
    }
}

/// A whole number of `unit` in a range.
pub(super) const fn whole((min, max): (i64, i64), unit: &'static str) -> Takes {
    Takes::Whole { min, max, unit }
}

/// The error in a listen address, if any.
fn fault_in_address(text: &str) -> Option<String> {
    if text.is_empty() || text.parse::<SocketAddr>().is_ok() {
        return None;
    }
    Some("is not an address and port: write it like \"127.0.0.1:8650\", \"\" for none".to_owned())
}

/// The error in a team's id, if any.
fn fault_in_team(text: &str) -> Option<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_id = (1..=100).contains(&text.len()) && text.chars().all(word);
    (!is_id).then(|| {
        format!("\"{text}\" is not a team: write the end of its URL, such as \"lichess-bots\"")
    })
}

/// The error in a host name, if any.
fn fault_in_host(text: &str) -> Option<String> {
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
    fn urls_and_names_are_recognized() {
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
