//! The config as the program uses it: a TOML text with every key and where its value comes from.
//!
//! Pure, and a valid config itself. A config holds no secret, so the text has none: of a token it has
//! the file's name.

use std::fmt::Write as _;
use std::path::Path;

use toml::Table;
use toml::de::DeTable;

use super::diff::tables;
use super::load::line_of;
use super::settings::{Config, SECTIONS};
use super::validation::Setting;

/// A variable of the environment that is set and takes precedence over a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Override {
    pub section: &'static str,
    pub key: &'static str,
    pub variable: &'static str,
}

impl Config {
    /// Every setting with its source: the line of the file that this config was read from, or the
    /// default.
    pub fn effective(&self, file: Option<(&Path, &str)>, overrides: &[Override]) -> String {
        let (path, text) = file.unwrap_or((Path::new(""), ""));
        let (set, _) = DeTable::parse_recoverable(text);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut out = match file {
            Some(_) => format!("# Effective configuration: {}, and ", path.display()),
            None => "# Effective configuration: no file, ".to_owned(),
        };
        out.push_str("the defaults for the rest.\n");
        let tree = Table::try_from(self).unwrap_or_default();
        for section in SECTIONS {
            let tables = tables(&tree, section);
            if tables.is_empty() {
                // A line of the section around it.
                let _ = writeln!(out, "{} = []", section.split().1);
            }
            for (index, table) in tables.iter().enumerate() {
                let _ = writeln!(out, "\n{}", section.title());
                for key in section.keys {
                    let Some(value) = table.get(key.name) else {
                        continue;
                    };
                    let (path, key) = (section.path, key.name);
                    let setting = Setting {
                        section: path,
                        index,
                        key,
                    };
                    let source = match line_of(text, set.get_ref(), &setting) {
                        Some(line) => format!("{name}:{line}"),
                        None => "default".to_owned(),
                    };
                    let _ = write!(out, "{key} = {value}  # {source}");
                    let over = |over: &&Override| over.section == path && over.key == key;
                    if let Some(over) = overrides.iter().find(over) {
                        let _ = write!(out, "; the variable {} takes precedence", over.variable);
                    }
                    out.push('\n');
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_config_is_the_same_config_and_says_where_each_value_is_from() {
        let text = "[engine]\nhash = 64\n\n[challenge.humans]\ntimes = [\n  \"3+2\",\n]\n\
                    [[matchmaking.profile]]\nname = \"a\"\n[[matchmaking.profile]]\nname = \"b\"\n";
        let config = Config::parse(text).unwrap();
        let overrides = [Override {
            section: "lichess",
            key: "token_file",
            variable: "LICHESS_BOT_TOKEN",
        }];
        let shown = config.effective(Some((Path::new("at/my.toml"), text)), &overrides);
        assert_eq!(Config::parse(&shown).unwrap(), config, "{shown}");
        for line in [
            "# Effective configuration: at/my.toml, and the defaults for the rest.",
            "hash = 64  # my.toml:2",
            "threads = 0  # default",
            "times = [\"3+2\"]  # my.toml:5",
            "name = \"a\"  # my.toml:9",
            "name = \"b\"  # my.toml:11",
            "token_file = \"\"  # default; the variable LICHESS_BOT_TOKEN takes precedence",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
    }

    #[test]
    fn a_list_of_sections_that_is_empty_stays_empty() {
        let text = "[matchmaking]\nprofile = []\n";
        let config = Config::parse(text).unwrap();
        let shown = config.effective(None, &[]);
        assert_eq!(Config::parse(&shown).unwrap(), config, "{shown}");
    }
}
