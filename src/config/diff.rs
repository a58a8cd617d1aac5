//! The differences between two configs, key by key, as the file writes them.
//!
//! Pure; also marks the changes that need a restart.

use std::collections::BTreeMap;
use std::fmt;

use toml::{Table, Value};

use super::keys::Section;
use super::settings::{Config, SECTIONS};
use super::values::without_query;

impl Config {
    /// The differences of another config, in the order of the file, such as `[engine] hash: 256 -> 64`.
    pub fn changes(&self, other: &Self) -> Vec<String> {
        let (old, new) = (flat(self), flat(other));
        let mut places: Vec<&Place> = old.keys().chain(new.keys()).collect();
        places.sort();
        places.dedup();
        places.retain(|place| old.get(*place) != new.get(*place));
        let line = |place: &Place| {
            let of = |values: &Values| values.get(place).map_or_else(|| "none".to_owned(), shown);
            let when = if place.is_fixed() {
                " (at the next start)"
            } else {
                ""
            };
            let (was, is) = (of(&old), of(&new));
            if was == is {
                return format!("{place}: {is}, changed in a part that is not shown{when}");
            }
            format!("{place}: {was} -> {is}{when}")
        };
        places.into_iter().map(line).collect()
    }
}

/// The place of a value: the section by its number, the name of one of several, the key by its
/// number within the section.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    section: usize,
    name: String,
    key: usize,
}

impl Place {
    /// Settings that the program reads only when it starts.
    fn is_fixed(&self) -> bool {
        let section = &SECTIONS[self.section];
        let key = section.keys[self.key].name;
        match section.path {
            "lichess" | "panel" => key != "token_file",
            "data" | "online_tables" | "explorer" | "archive" | "log" => true,
            "engine" => matches!(key, "hash" | "threads" | "eval_file" | "syzygy_path"),
            _ => false,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = &SECTIONS[self.section];
        write!(f, "{} ", section.title())?;
        if !self.name.is_empty() {
            write!(f, "{} ", self.name)?;
        }
        f.write_str(section.keys[self.key].name)
    }
}

/// The tables of a section in a config that was written as TOML.
pub(super) fn tables<'t>(tree: &'t Table, section: &Section) -> &'t [Value] {
    let mut parts = section.path.split('.');
    let first = parts.next().and_then(|part| tree.get(part));
    match parts.fold(first, |value, part| value?.get(part)) {
        Some(Value::Array(items)) => items.as_slice(),
        Some(table) => std::slice::from_ref(table),
        None => &[],
    }
}

type Values = BTreeMap<Place, Value>;

/// A value as the log and the operator get it.
fn shown(value: &Value) -> String {
    let Value::Array(items) = value else {
        return value.to_string();
    };
    let bare = |item: &Value| match item {
        Value::String(text) => without_query(text).into(),
        other => other.clone(),
    };
    Value::Array(items.iter().map(bare).collect()).to_string()
}

/// Every value of a config.
fn flat(config: &Config) -> Values {
    let mut values = Values::new();
    let Ok(tree) = Table::try_from(config) else {
        return values;
    };
    for (number, section) in SECTIONS.iter().enumerate() {
        for table in tables(&tree, section) {
            let name = table.get("name").and_then(Value::as_str);
            let name = name.filter(|_| section.many).unwrap_or_default();
            for (key, value) in section.keys.iter().enumerate() {
                if let Some(value) = table.get(value.name) {
                    let name = name.to_owned();
                    let section = number;
                    values.insert(Place { section, name, key }, value.clone());
                }
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        let other = Config::parse(text).unwrap();
        Config::default().changes(&other)
    }

    #[test]
    fn changes_are_listed_in_the_order_of_the_file() {
        assert_eq!(changes(""), Vec::<String>::new());
        assert_eq!(
            changes(
                "[draw]\nply = 40\n[challenge.bots]\ntimes = [\"3+2\"]\n[engine]\nponder = true"
            ),
            [
                "[engine] ponder: false -> true",
                "[challenge.bots] times: [] -> [\"3+2\"]",
                "[draw] ply: 60 -> 40"
            ]
        );
    }

    #[test]
    fn changes_that_need_a_restart_are_marked() {
        assert_eq!(
            changes("[engine]\nhash = 64\n[log]\nlevel = \"debug\""),
            [
                "[engine] hash: 256 -> 64 (at the next start)",
                "[log] level: \"info\" -> \"debug\" (at the next start)"
            ]
        );
        assert_eq!(
            changes("[panel]\nlisten = \"\"\ntoken_file = \"x\"\n[alerts]\nper_hour = 3"),
            [
                "[panel] listen: \"127.0.0.1:8650\" -> \"\" (at the next start)",
                "[panel] token_file: \"\" -> \"x\"",
                "[alerts] per_hour: 12 -> 3"
            ]
        );
    }

    #[test]
    fn the_query_of_an_address_is_compared_but_not_shown() {
        let text = |key: &str| {
            format!("[challenge]\nblock = [\"Foe\", \"https://example.org/list?key={key}\"]")
        };
        let shown = r#"["Foe", "https://example.org/list"]"#;
        assert_eq!(
            changes(&text("secret")),
            [format!("[challenge] block: [] -> {shown}")]
        );
        let [old, new] = ["secret", "other"].map(|key| Config::parse(&text(key)).unwrap());
        assert_eq!(
            old.changes(&new),
            [format!(
                "[challenge] block: {shown}, changed in a part that is not shown"
            )]
        );
    }

    #[test]
    fn profiles_are_matched_by_name() {
        let said = changes("[[matchmaking.profile]]\nname = \"blitz\"\nbase = 300");
        assert_eq!(said, ["[[matchmaking.profile]] blitz base: 180 -> 300"]);
        let said = changes("[[matchmaking.profile]]\nname = \"slow\"");
        assert!(said.contains(&"[[matchmaking.profile]] blitz base: 180 -> none".to_owned()));
        assert!(said.contains(&"[[matchmaking.profile]] slow base: none -> 180".to_owned()));
    }
}
