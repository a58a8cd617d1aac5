//! The text of a config that `megaton init` writes. Pure.
//!
//! Only what differs from the defaults is set; every key there is stands in `config.example.toml`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;

/// The usual server.
const LICHESS: &str = "https://lichess.org";

/// Whom to play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Opponents {
    #[default]
    All,
    Humans,
    Bots,
}

/// What to play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Modes {
    #[default]
    Both,
    Rated,
    Casual,
}

/// What a config is to say; nothing is as usual.
#[derive(Clone, Debug, Default)]
pub(super) struct ConfigDraft {
    pub(super) url: Option<String>,
    pub(super) contact: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) opponents: Opponents,
    pub(super) modes: Modes,
    pub(super) games: Option<u8>,
    pub(super) matchmaking: bool,
}

impl ConfigDraft {
    /// The server.
    pub(super) fn url(&self) -> &str {
        let url = self.url.as_deref().unwrap_or(LICHESS);
        url.trim_end_matches('/')
    }

    /// The config as a text.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "# Megaton's settings. Keys not listed here have their defaults: see config.example.toml.\n",
        );
        let mut say = |line: &str| {
            let _ = writeln!(text, "{line}");
        };
        say("\n[lichess]");
        say(&format!("url = {}", quoted(self.url())));
        if let Some(file) = &self.token_file {
            say(&format!("token_file = {}", quoted(&file.to_string_lossy())));
        }
        if let Some(contact) = &self.contact {
            say(&format!("contact = {}", quoted(contact)));
        }
        if let Some(games) = self.games {
            say("\n[challenge]");
            say(&format!("concurrency = {games}"));
        }
        self.visitors("humans", Opponents::Bots, &mut say);
        self.visitors("bots", Opponents::Humans, &mut say);
        if self.matchmaking {
            say("\n[matchmaking]\nenabled = true");
            if self.modes == Modes::Casual {
                say("\n[[matchmaking.profile]]\nname = \"blitz\"\nrated = false");
            }
        }
        text
    }

    /// The rules for one kind of challenger, who is left out if only these `others` are wanted.
    fn visitors(&self, who: &str, others: Opponents, say: &mut impl FnMut(&str)) {
        let refused = self.opponents == others;
        if !refused && self.modes == Modes::Both {
            return;
        }
        say(&format!("\n[challenge.{who}]"));
        match self.modes {
            _ if refused => say("accept = false"),
            Modes::Rated => say("casual = false"),
            Modes::Casual => say("rated = false"),
            Modes::Both => {}
        }
    }
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use megaton::config::Config;

    use super::*;

    #[test]
    fn nothing_said_is_nothing_changed() {
        let config = Config::parse(&ConfigDraft::default().text()).unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn what_was_said_stands_in_it() {
        for opponents in [Opponents::All, Opponents::Humans, Opponents::Bots] {
            for modes in [Modes::Both, Modes::Rated, Modes::Casual] {
                let draft = ConfigDraft {
                    url: Some("http://127.0.0.1:8642/".to_owned()),
                    contact: Some("\"quoted\" \\ back".to_owned()),
                    token_file: Some("a b/\"token\".txt".into()),
                    opponents,
                    modes,
                    games: Some(3),
                    matchmaking: true,
                };
                let config = Config::parse(&draft.text()).unwrap();
                assert_eq!(config.lichess.url, "http://127.0.0.1:8642");
                assert_eq!(config.lichess.token_file, draft.token_file);
                assert_eq!(config.lichess.contact, draft.contact);
                let challenge = &config.challenge;
                assert_eq!(challenge.concurrency, 3);
                assert_eq!(challenge.humans.accept, opponents != Opponents::Bots);
                assert_eq!(challenge.bots.accept, opponents != Opponents::Humans);
                for rules in [&challenge.humans, &challenge.bots] {
                    if rules.accept {
                        assert_eq!(rules.rated, modes != Modes::Casual);
                        assert_eq!(rules.casual, modes != Modes::Rated);
                    }
                }
                assert!(config.matchmaking.enabled);
                assert_eq!(config.matchmaking.profile[0].rated, modes != Modes::Casual);
            }
        }
    }
}
