//! From text to a config, or to the first thing that is wrong with it.
//!
//! The text is read twice: once into spanned values, to check names, types and ranges with their
//! lines at hand, and once by serde into the settings. No value is repeated in a complaint before
//! it is known not to be a token.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Fault};
use super::keys::{self, KEYS, Key, Takes};
use super::nearest::nearest;
use super::settings::Config;

/// How personal and application tokens of Lichess begin.
const TOKEN_PREFIXES: [&str; 2] = ["lip_", "lio_"];
/// Longest contact that is sent along, in characters.
const MAX_CONTACT: usize = 100;
/// Shortest estimated game (base plus forty increments) in seconds that Lichess lets bots play.
const SHORTEST_GAME: u64 = 30;

impl Config {
    /// Reads a file; a relative `token_file` in it is taken from the file's folder.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let mut config = Self::parse(&text).map_err(|fault| ConfigError::Refused {
            path: path.to_owned(),
            fault,
        })?;
        if let (Some(file), Some(folder)) = (&config.lichess.token_file, path.parent()) {
            config.lichess.token_file = Some(folder.join(file));
        }
        Ok(config)
    }

    /// Reads a text, paths as they stand.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let source = Source(text);
        let tree = DeTable::parse(text).map_err(|error| source.broken(&error))?;
        source.check_tree(tree.get_ref())?;
        let config: Self = toml::from_str(text).map_err(|error| source.broken(&error))?;
        source.check_together(&config, tree.get_ref())?;
        Ok(config)
    }
}

/// The text, for turning places in it into lines.
struct Source<'t>(&'t str);

impl Source<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.0.get(..offset).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    fn fault(&self, offset: usize, key: impl Into<String>, what: impl Into<String>) -> Fault {
        Fault {
            line: self.line(offset),
            key: key.into(),
            what: what.into(),
        }
    }

    fn broken(&self, error: &toml::de::Error) -> Fault {
        let offset = error.span().map_or(0, |span| span.start);
        // The message alone: the error's own display repeats the line, which may hold a token.
        self.fault(offset, "", format!("this is not TOML: {}", error.message()))
    }

    fn check_tree(&self, tree: &DeTable<'_>) -> Result<(), Fault> {
        for (name, value) in tree {
            self.check_for_token(name, value)?;
            let Some(section) = keys::sections().into_iter().find(|s| s == name.get_ref()) else {
                return Err(self.unknown_section(name, value.get_ref()));
            };
            let DeValue::Table(entries) = value.get_ref() else {
                let what = format!("is a section: write [{section}] on a line of its own");
                return Err(self.fault(name.span().start, section, what));
            };
            for (name, value) in entries {
                self.check_for_token(name, value)?;
                let Some(key) = keys::find(section, name.get_ref()) else {
                    return Err(self.unknown_key(section, name));
                };
                self.check_value(key, value)?;
            }
        }
        Ok(())
    }

    fn check_for_token(
        &self,
        name: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Fault> {
        let looks_secret = |text: &str| {
            TOKEN_PREFIXES
                .iter()
                .any(|prefix| text.trim().starts_with(prefix))
        };
        let named = ["token", "api_token", "lichess_bot_token"]
            .iter()
            .any(|word| name.get_ref().eq_ignore_ascii_case(word));
        let given = match value.get_ref() {
            DeValue::String(text) => looks_secret(text),
            DeValue::Array(items) => items
                .iter()
                .any(|item| item.get_ref().as_str().is_some_and(looks_secret)),
            _ => false,
        };
        if !named && !given && !looks_secret(name.get_ref()) {
            return Ok(());
        }
        let what = "a token does not belong in the config: put it into a file of its own and name \
                    that with [lichess] token_file, or set the variable LICHESS_BOT_TOKEN";
        Err(self.fault(name.span().start, "", what))
    }

    fn unknown_section(&self, name: &Spanned<Cow<'_, str>>, value: &DeValue<'_>) -> Fault {
        let typed = name.get_ref();
        let offset = name.span().start;
        if !value.is_table() {
            let what = match KEYS.iter().find(|key| key.name == typed) {
                Some(key) => format!("stands outside its section: put it under [{}]", key.section),
                None => format!("unknown key; {}", name_sections()),
            };
            return self.fault(offset, typed.as_ref(), what);
        }
        let what = match nearest(typed, keys::sections()) {
            Some(section) => format!("unknown section; did you mean [{section}]?"),
            None => format!("unknown section; {}", name_sections()),
        };
        self.fault(offset, format!("[{typed}]"), what)
    }

    fn unknown_key(&self, section: &str, name: &Spanned<Cow<'_, str>>) -> Fault {
        let typed = name.get_ref();
        let here = || {
            KEYS.iter()
                .filter(|key| key.section == section)
                .map(|key| key.name)
        };
        let elsewhere = KEYS.iter().find(|key| key.name == typed);
        let what = if let Some(key) = elsewhere {
            format!("does not belong here: put it under [{}]", key.section)
        } else if let Some(near) = nearest(typed, here()) {
            format!("unknown key; did you mean `{near}`?")
        } else {
            let names: Vec<&str> = here().collect();
            format!("unknown key; [{section}] takes {}", names.join(", "))
        };
        self.fault(name.span().start, format!("[{section}] {typed}"), what)
    }

    fn check_value(&self, key: &Key, value: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
        let fits = match (key.takes, value.get_ref()) {
            (Takes::Flag, DeValue::Boolean(_)) | (Takes::Text(_), DeValue::String(_)) => true,
            (Takes::Whole { min, max, .. }, DeValue::Integer(number)) => {
                i64::from_str_radix(number.as_str(), number.radix())
                    .is_ok_and(|number| (min..=max).contains(&number))
            }
            (Takes::Choice(words), DeValue::String(word)) => words.contains(&word.as_ref()),
            (Takes::Names(_), DeValue::Array(items)) => {
                items.iter().all(|item| item.get_ref().is_str())
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let got = match value.get_ref() {
            DeValue::Integer(number) => format!("not {}", number.as_str()),
            DeValue::Float(number) => format!("not {}", number.as_str()),
            DeValue::Boolean(flag) => format!("not {flag}"),
            DeValue::String(text) if text.chars().count() <= 40 => format!("not \"{text}\""),
            other => format!("not this {}", other.type_str()),
        };
        let what = format!("wants {}, {got}", key.takes.describe());
        Err(self.fault(
            value.span().start,
            format!("[{}] {}", key.section, key.name),
            what,
        ))
    }

    /// What no key can show by itself.
    fn check_together(&self, config: &Config, tree: &DeTable<'_>) -> Result<(), Fault> {
        let found = fault_in_texts(config)
            .or_else(|| fault_in_ranges(config, tree))
            .or_else(|| fault_in_clocks(config, tree));
        let Some((section, name, what)) = found else {
            return Ok(());
        };
        let offset = place(tree, section, name).unwrap_or_default();
        Err(self.fault(offset, format!("[{section}] {name}"), what))
    }
}

fn name_sections() -> String {
    format!("the sections are [{}]", keys::sections().join("], ["))
}

/// Section, key and what is wrong with its value.
type Found = (&'static str, &'static str, String);

/// Where the value of a key stands, if the file sets it.
fn place(tree: &DeTable<'_>, section: &str, name: &str) -> Option<usize> {
    let entries = tree.get(section)?.get_ref().as_table()?;
    entries.get(name).map(|value| value.span().start)
}

fn fault_in_texts(config: &Config) -> Option<Found> {
    if let Some(what) = fault_in_url(&config.lichess.url) {
        return Some(("lichess", "url", what));
    }
    let contact = config.lichess.contact.as_deref().unwrap_or_default();
    let plain = |c: char| c == ' ' || (c.is_ascii_graphic() && !matches!(c, '(' | ')'));
    if contact.len() > MAX_CONTACT || !contact.chars().all(plain) {
        let what = "goes into a header: at most 100 plain characters, without ( and )";
        return Some(("lichess", "contact", what.to_owned()));
    }
    let wrong = config
        .challenge
        .block
        .iter()
        .find(|name| !is_account_name(name))?;
    let what = format!("\"{wrong}\" is no account name: 2 to 30 letters, digits, _ and -");
    Some(("challenge", "block", what))
}

fn fault_in_ranges(config: &Config, tree: &DeTable<'_>) -> Option<Found> {
    let Config {
        challenge, game, ..
    } = config;
    let ranges = [
        (
            "challenge",
            ["min_base", "max_base"],
            [challenge.min_base, challenge.max_base],
        ),
        (
            "challenge",
            ["min_increment", "max_increment"],
            [challenge.min_increment, challenge.max_increment],
        ),
        (
            "game",
            ["overhead_floor", "overhead_ceiling"],
            [game.overhead_floor, game.overhead_ceiling],
        ),
    ];
    let (section, [low, high], _) = ranges.into_iter().find(|(_, _, [low, high])| low > high)?;
    // Point at a key that the file sets: the other may be a default.
    let name = if place(tree, section, low).is_some() {
        low
    } else {
        high
    };
    let what = format!("impossible range: {low} is above {high}; lower one or raise the other");
    Some((section, name, what))
}

fn fault_in_clocks(config: &Config, tree: &DeTable<'_>) -> Option<Found> {
    let challenge = &config.challenge;
    let longest = challenge.max_base.as_secs() + 40 * challenge.max_increment.as_secs();
    if longest >= SHORTEST_GAME {
        return None;
    }
    let name = match place(tree, "challenge", "max_base") {
        Some(_) => "max_base",
        None => "max_increment",
    };
    let what = "impossible range: Lichess gives bots no clock so short; max_base plus 40 times \
                max_increment must reach 30 seconds";
    Some(("challenge", name, what.to_owned()))
}

fn is_account_name(name: &str) -> bool {
    (2..=30).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// What is wrong with an address, if anything.
fn fault_in_url(url: &str) -> Option<String> {
    let example = "write it like \"https://lichess.org\"";
    let Ok(parsed) = reqwest::Url::parse(url) else {
        return Some(format!("\"{url}\" is no address: {example}"));
    };
    if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
        return Some(format!(
            "the address must begin with https:// or http://: {example}"
        ));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Some(format!(
            "the address must not hold a name or password: {example}"
        ));
    }
    if parsed.path() != "/" || parsed.query().is_some() || parsed.fragment().is_some() {
        return Some(format!(
            "the address must end with the host, without a path: {example}"
        ));
    }
    None
}
