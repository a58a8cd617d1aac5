//! From text to a config, or to its first error.
//!
//! The text is parsed twice: once into spanned values, to check names, types and ranges with their
//! lines, and once by serde into the settings. No message repeats a value before the loader knows
//! that it is not a token.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Fault};
use super::keys::{Key, Section, Takes};
use super::settings::{self, Config, Data, Lichess, SECTIONS};
use super::suggestion::nearest;
use super::validation::{Setting, contradiction};
use crate::engine::CLASSICAL;

/// Prefixes of personal and application tokens of Lichess.
const TOKEN_PREFIXES: [&str; 2] = ["lip_", "lio_"];

/// So many letters and digits after a prefix are taken for a token, which must not be repeated. A token
/// has at least 20 and nothing else, but one may be cut, or have more behind it. Names of new accounts,
/// of 20 characters at most, have fewer; longer names, of old accounts and of teams, may have as many,
/// and are refused.
const FEWEST_OF_A_TOKEN: usize = 17;

/// Keys of `[alerts]` that name a file with a secret address.
const ADDRESS_FILES: [&str; 2] = ["webhook_file", "heartbeat_file"];

/// A name in the text.
type Name<'t> = Spanned<Cow<'t, str>>;
/// A value in the text.
type Value<'t> = Spanned<DeValue<'t>>;

impl Config {
    /// Reads a file; relative paths in it start at the file's folder.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let text = String::from_utf8(fs::read(path).map_err(unreadable)?).map_err(|error| {
            let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = read.split(|&byte| byte == b'\n').count();
            unreadable(io::Error::other(format!(
                "line {line} is not UTF-8: save it as UTF-8"
            )))
        })?;
        let config = Self::parse(&text).map_err(|fault| ConfigError::Refused {
            path: path.to_owned(),
            fault,
        })?;
        Ok(config.seen_from(path.parent().unwrap_or(Path::new(""))))
    }

    /// Server and data folder of a file that may have errors, as far as they can be read; otherwise
    /// the defaults.
    pub fn read_places(path: &Path) -> (Lichess, Data) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let (tree, _) = DeTable::parse_recoverable(&text);
        let word = |section: &str, key: &str| {
            let table = tree.get_ref().get(section)?.get_ref().as_table()?;
            Some(table.get(key)?.get_ref().as_str()?.to_owned())
        };
        let mut config = Self::default();
        if let Some(url) = word("lichess", "url") {
            config.lichess.url = url;
        }
        let data = &mut config.data;
        for (key, place) in [("folder", &mut data.folder), ("socket", &mut data.socket)] {
            if let Some(named) = word("data", key) {
                *place = (!named.is_empty()).then(|| named.into());
            }
        }
        let config = config.seen_from(path.parent().unwrap_or(Path::new("")));
        (config.lichess, config.data)
    }

    /// Parses a text without resolving paths.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let source = Source(text);
        let tree = DeTable::parse(text).map_err(|error| source.broken(&error))?;
        source.check_tables(None, tree.get_ref())?;
        let mut config: Self = toml::from_str(text).map_err(|error| source.broken(&error))?;
        source.check_together(&config, tree.get_ref())?;
        for profile in &mut config.matchmaking.profile {
            // Lichess rates no atomic game without a clock.
            profile.rated &= profile.days == 0;
        }
        let url = &mut config.lichess.url;
        url.truncate(url.trim_end_matches('/').len());
        Ok(config)
    }

    /// Resolves every relative path against a folder.
    fn seen_from(mut self, folder: &Path) -> Self {
        let paths = [
            &mut self.lichess.token_file,
            &mut self.data.folder,
            &mut self.panel.token_file,
            &mut self.alerts.webhook_file,
            &mut self.alerts.heartbeat_file,
            &mut self.log.file,
        ];
        for path in paths {
            *path = path.take().map(|path| folder.join(path));
        }
        // A keyword, not a file.
        let file = |name: &PathBuf| name.as_os_str() != CLASSICAL;
        if let Some(name) = self.engine.eval_file.take_if(|name| file(name)) {
            self.engine.eval_file = Some(folder.join(name));
        }
        let folders = self.engine.syzygy_path.iter_mut();
        for place in folders.chain(&mut self.book.files) {
            *place = folder.join(&*place);
        }
        let lists = [
            &mut self.challenge.block,
            &mut self.challenge.allow,
            &mut self.challenge.welcome,
            &mut self.matchmaking.avoid,
        ];
        for list in lists {
            let entries = std::mem::take(list).into_iter();
            *list = entries.map(|entry| entry.seen_from(folder)).collect();
        }
        self
    }
}

/// The parser's message for a duplicate key or section; the error's span is its name.
const DUPLICATE: &str = "duplicate key";

/// The text, to turn offsets into lines.
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
        let span = error.span().unwrap_or_default();
        let line = self.0.lines().nth(self.line(span.start) - 1);
        let value = line.and_then(|line| line.split_once('=')?.1.split('#').next());
        let value = value.unwrap_or("?").trim();
        // The message alone: the error's own display repeats the line, which may hold a token.
        let what = format!("invalid TOML: {}", error.message());
        let advice = match self.0.get(span.clone()) {
            Some(key) if error.message() == DUPLICATE => &format!(" {}: keep one", key.trim()),
            _ if value.is_empty() => "; the value is missing",
            _ if value.starts_with(char::is_alphanumeric) => "; text needs quotes: key = \"text\"",
            _ => "",
        };
        self.fault(span.start, "", what + advice)
    }

    /// Checks a section, or the whole file, and everything in it.
    fn check_tables(&self, section: Option<&Section>, table: &DeTable<'_>) -> Result<(), Fault> {
        let path = section.map_or("", |section| section.path);
        for (name, value) in table {
            self.check_for_secret(name, value)?;
            let typed = name.get_ref().as_ref();
            if let Some(key) = section.and_then(|section| section.key(typed)) {
                self.check_value(section.map(Section::title), key, value)?;
            } else if let Some(inner) =
                settings::within(path).find(|inner| inner.split().1 == typed)
            {
                self.check_section(inner, name, value)?;
            } else if value.get_ref().is_table() && section.is_none_or(has_sections) {
                return Err(self.unknown_section(path, name));
            } else {
                return Err(self.unknown_key(section, name));
            }
        }
        Ok(())
    }

    fn check_section(
        &self,
        section: &Section,
        name: &Name<'_>,
        value: &Value<'_>,
    ) -> Result<(), Fault> {
        let wrong = || {
            let what = format!(
                "is a section: write {} on a line of its own",
                section.title()
            );
            self.fault(name.span().start, section.path, what)
        };
        match value.get_ref() {
            DeValue::Table(table) if !section.many => self.check_tables(Some(section), table),
            DeValue::Array(items) if section.many => items.iter().try_for_each(|item| {
                let table = item.get_ref().as_table().ok_or_else(wrong)?;
                self.check_tables(Some(section), table)
            }),
            _ => Err(wrong()),
        }
    }

    /// Refuses a secret in place of a file that holds it, without repeating it.
    fn check_for_secret(&self, name: &Name<'_>, value: &Value<'_>) -> Result<(), Fault> {
        let address = value.get_ref().as_str().is_some_and(|it| it.contains(':'));
        if ADDRESS_FILES.contains(&name.get_ref().as_ref()) && address {
            let what = "takes the path of a file that holds the address, not the address itself";
            let key = format!("[alerts] {}", name.get_ref());
            return Err(self.fault(value.span().start, key, what));
        }
        let mut words = ["token", "api_token", "lichess_bot_token"].iter();
        let named = words.any(|word| name.get_ref().eq_ignore_ascii_case(word));
        let is_secret = |item: &Value<'_>| item.get_ref().as_str().is_some_and(looks_secret);
        let given = match value.get_ref() {
            DeValue::Array(items) => items.iter().any(is_secret),
            _ => is_secret(value),
        };
        if !named && !given && !looks_secret(name.get_ref()) {
            return Ok(());
        }
        let what = "a token or password does not belong in the config: put it into a file of its own and name that \
                    with token_file of its section; the variable LICHESS_BOT_TOKEN can hold the API token";
        Err(self.fault(name.span().start, "", what))
    }

    fn unknown_section(&self, within: &str, name: &Name<'_>) -> Fault {
        let typed = name.get_ref();
        let siblings = || settings::within(within).map(|section| section.split().1);
        let near = nearest(typed, siblings())
            .and_then(|near| settings::within(within).find(|section| section.split().1 == near));
        let what = match near {
            Some(section) => format!("unknown section; did you mean {}?", section.title()),
            None => format!("unknown section; {}", name_sections(within)),
        };
        let path = if within.is_empty() {
            typed.to_string()
        } else {
            format!("{within}.{typed}")
        };
        self.fault(name.span().start, format!("[{path}]"), what)
    }

    fn unknown_key(&self, section: Option<&Section>, name: &Name<'_>) -> Fault {
        let typed = name.get_ref().as_ref();
        let offset = name.span().start;
        let homes = homes(section, typed);
        let Some(section) = section else {
            let what = match homes {
                Some(homes) => format!("is outside its section: put it under {homes}"),
                None => format!("unknown key; {}", name_sections("")),
            };
            return self.fault(offset, typed, what);
        };
        let here = || section.keys.iter().map(|key| key.name);
        let what = if let Some(homes) = homes {
            format!("does not belong here: put it under {homes}")
        } else if let Some(near) = nearest(typed, here()) {
            format!("unknown key; did you mean `{near}`?")
        } else {
            let names: Vec<&str> = here().collect();
            format!("unknown key; {} has {}", section.title(), names.join(", "))
        };
        self.fault(offset, format!("{} {typed}", section.title()), what)
    }

    fn check_value(
        &self,
        section: Option<String>,
        key: &Key,
        value: &Value<'_>,
    ) -> Result<(), Fault> {
        let at = |value: &Value<'_>, what: String| {
            let key = format!("{} {}", section.unwrap_or_default(), key.name);
            Err(self.fault(value.span().start, key, what))
        };
        if !fits(key.takes, value.get_ref()) {
            let got = describe(value.get_ref());
            return at(value, format!("must be {}, {got}", key.takes.describe()));
        }
        let alone = std::slice::from_ref(value);
        let texts = value.get_ref().as_array().map_or(alone, |items| items);
        for item in texts {
            let text = item.get_ref().as_str().unwrap_or_default();
            if let Some(what) = key.takes.fault_in(text) {
                return at(item, what);
            }
        }
        Ok(())
    }

    /// Checks settings against each other.
    fn check_together(&self, config: &Config, tree: &DeTable<'_>) -> Result<(), Fault> {
        let place = |setting: &Setting| place(tree, setting);
        let Some((setting, what)) = contradiction(config, &|setting| place(setting).is_some())
        else {
            return Ok(());
        };
        let title = settings::section(setting.section).map(Section::title);
        let key = format!("{} {}", title.unwrap_or_default(), setting.key);
        Err(self.fault(place(&setting).unwrap_or_default(), key, what))
    }
}

/// Whether a text contains something like a token.
fn looks_secret(text: &str) -> bool {
    let run = |text: &str| text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .flat_map(|word| TOKEN_PREFIXES.map(|prefix| word.strip_prefix(prefix)))
        .any(|rest| rest.is_some_and(|rest| run(rest) >= FEWEST_OF_A_TOKEN))
}

fn has_sections(section: &Section) -> bool {
    settings::within(section.path).next().is_some()
}

fn name_sections(within: &str) -> String {
    let titles: Vec<String> = settings::within(within).map(Section::title).collect();
    format!("the sections are {}", titles.join(", "))
}

/// The sections that have such a key: those within the present one, otherwise all.
fn homes(section: Option<&Section>, name: &str) -> Option<String> {
    let has = |section: &&Section| section.key(name).is_some();
    let all = || SECTIONS.iter().filter(has);
    let near: Vec<&Section> = all()
        .filter(|home| section.is_some_and(|section| home.split().0 == section.path))
        .collect();
    let homes = if near.is_empty() {
        all().collect()
    } else {
        near
    };
    let titles: Vec<String> = homes.into_iter().map(Section::title).collect();
    (!titles.is_empty()).then(|| titles.join(" or "))
}

/// Whether a value has the key's type and is within its range.
fn fits(takes: Takes, value: &DeValue<'_>) -> bool {
    match (takes, value) {
        (Takes::Flag, DeValue::Boolean(_))
        | (Takes::Text(_) | Takes::Hours | Takes::Line | Takes::Address, DeValue::String(_)) => {
            true
        }
        (Takes::Whole { min, max, .. }, DeValue::Integer(number)) => {
            i64::from_str_radix(number.as_str(), number.radix())
                .is_ok_and(|number| (min..=max).contains(&number))
        }
        (Takes::Choice(words), DeValue::String(word)) => words.contains(&word.as_ref()),
        (
            Takes::Entries
            | Takes::Times
            | Takes::Arenas
            | Takes::Folders
            | Takes::Files
            | Takes::Hosts
            | Takes::Choices(_)
            | Takes::Teams,
            DeValue::Array(items),
        ) => items.iter().all(|item| item.get_ref().is_str()),
        _ => false,
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(number) => format!("not {}", number.as_str()),
        DeValue::Float(number) => format!("not {}", number.as_str()),
        DeValue::Boolean(flag) => format!("not {flag}"),
        DeValue::String(text) if text.chars().count() <= 40 => format!("not \"{text}\""),
        other => format!("not this {}", other.type_str()),
    }
}

/// The line on which a text sets something, if it does.
pub(super) fn line_of(text: &str, tree: &DeTable<'_>, setting: &Setting) -> Option<usize> {
    place(tree, setting).map(|offset| Source(text).line(offset))
}

/// The offset of a setting's value, if the file has one.
fn place(tree: &DeTable<'_>, setting: &Setting) -> Option<usize> {
    let mut table = tree;
    for part in setting.section.split('.') {
        table = match table.get(part)?.get_ref() {
            DeValue::Array(items) => items.get(setting.index)?.get_ref().as_table()?,
            value => value.as_table()?,
        };
    }
    table.get(setting.key).map(|value| value.span().start)
}
