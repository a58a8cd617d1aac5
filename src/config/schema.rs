//! The JSON Schema of the config, for editors; made from the declaration of the settings.
//!
//! It knows names, types, ranges and defaults. What a text must look like and what contradicts what,
//! `megaton check` says.

use serde_json::{Value, json};
use toml::Table;

use super::diff::tables;
use super::keys::{Key, Takes};
use super::settings::{Config, SECTIONS};

/// The schema, in the draft that editors for TOML know.
pub fn schema() -> Value {
    let defaults = Table::try_from(Config::default()).unwrap_or_default();
    let mut root = table("Configuration of Megaton");
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    for section in SECTIONS {
        let mut made = table(&section.title());
        let default = tables(&defaults, section).first();
        for key in section.keys {
            let default = default.and_then(|table| table.get(key.name));
            made["properties"][key.name] = property(key, default);
        }
        if section.many {
            made = json!({ "type": "array", "items": made });
        }
        let mut parent = &mut root;
        let (path, name) = section.split();
        for part in path.split('.').filter(|part| !part.is_empty()) {
            parent = &mut parent["properties"][part];
        }
        parent["properties"][name] = made;
    }
    root
}

fn table(title: &str) -> Value {
    json!({ "title": title, "type": "object", "additionalProperties": false, "properties": {} })
}

fn property(key: &Key, default: Option<&toml::Value>) -> Value {
    let mut made = of_type(key.takes);
    let about = format!("{} Takes {}.", key.about.trim(), key.takes.describe());
    made["description"] = json!(about.trim_start());
    made["default"] = json!(default);
    made
}

fn of_type(takes: Takes) -> Value {
    match takes {
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::Whole { min, max, .. } if max == i64::MAX => {
            json!({ "type": "integer", "minimum": min })
        }
        Takes::Whole { min, max, .. } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Takes::Choice(words) => json!({ "enum": words }),
        Takes::Text(_) | Takes::Hours | Takes::Line | Takes::Address => json!({ "type": "string" }),
        Takes::Choices(words) => json!({ "type": "array", "items": { "enum": words } }),
        Takes::Entries
        | Takes::Times
        | Takes::Arenas
        | Takes::Teams
        | Takes::Folders
        | Takes::Files
        | Takes::Hosts => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
    }
}
