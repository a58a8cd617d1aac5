//! Reads one JSON object field by field, so one bad field costs only that field.
//!
//! Each field is lexed as raw text and typed on its own. A mismatch is recorded with its path and dropped;
//! only a required field fails the whole object.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::enums::OrUnknown;

/// JSON that does not have the shape its place demands. Never a reason to drop a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct JsonMismatch {
    /// Where in the record, dotted.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

/// A value and the parts of its source that had to be left out.
#[derive(Clone, Debug)]
pub struct Lenient<T> {
    pub value: T,
    /// What was dropped, each with its path.
    pub dropped: Vec<JsonMismatch>,
}

/// Longest piece of foreign text that goes into a message.
const REASON_CHARS: usize = 160;

/// Longest piece of a foreign text that is kept or shown.
pub(super) const EXCERPT_CHARS: usize = 200;

/// Foreign text made fit for a log: at most `limit` characters, control characters escaped.
pub(super) fn excerpt(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (taken, c) in text.chars().enumerate() {
        if taken == limit {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// What a record of the streams or a part of one can be built from.
pub(super) trait FromObject: Sized {
    /// Reads the value; fails only for want of a field it cannot do without.
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch>;
}

/// Reads a whole document as `T`.
pub(super) fn read<T: FromObject>(json: &str) -> Result<Lenient<T>, JsonMismatch> {
    let dropped = RefCell::new(Vec::new());
    let object = Object::parse(json, String::new(), &dropped)?;
    let value = T::from_object(&object)?;
    drop(object);
    Ok(Lenient {
        value,
        dropped: dropped.into_inner(),
    })
}

/// One JSON object, its fields not yet typed.
pub(super) struct Object<'a> {
    fields: HashMap<String, &'a RawValue>,
    path: String,
    dropped: &'a RefCell<Vec<JsonMismatch>>,
}

impl<'a> Object<'a> {
    fn parse(
        json: &'a str,
        path: String,
        dropped: &'a RefCell<Vec<JsonMismatch>>,
    ) -> Result<Self, JsonMismatch> {
        match serde_json::from_str(json) {
            Ok(fields) => Ok(Self {
                fields,
                path,
                dropped,
            }),
            Err(error) => Err(JsonMismatch {
                path: if path.is_empty() {
                    "record".into()
                } else {
                    excerpt(&path, REASON_CHARS)
                },
                reason: excerpt(&error.to_string(), REASON_CHARS),
            }),
        }
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn mismatch(&self, key: &str, reason: impl Display) -> JsonMismatch {
        JsonMismatch {
            path: excerpt(&self.at(key), REASON_CHARS),
            reason: excerpt(&reason.to_string(), REASON_CHARS),
        }
    }

    /// Writes down that a field was left out.
    fn drop_field(&self, mismatch: JsonMismatch) {
        self.dropped.borrow_mut().push(mismatch);
    }

    /// The raw text of a field that is present and not null.
    pub(super) fn raw(&self, key: &str) -> Option<&'a str> {
        let raw = self.fields.get(key)?.get();
        (raw != "null").then_some(raw)
    }

    /// Whether the field is present, be it null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    /// A field one can do without.
    pub(super) fn optional<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let raw = self.raw(key)?;
        serde_json::from_str(raw)
            .map_err(|error| self.drop_field(self.mismatch(key, error)))
            .ok()
    }

    /// A field one cannot do without.
    pub(super) fn required<'t, T: Deserialize<'t>>(&self, key: &str) -> Result<T, JsonMismatch>
    where
        'a: 't,
    {
        let Some(raw) = self.raw(key) else {
            return Err(self.mismatch(key, "missing"));
        };
        serde_json::from_str(raw).map_err(|error| self.mismatch(key, error))
    }

    /// A flag; flags are omitted when false.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.optional(key).unwrap_or(false)
    }

    /// A whole number, also when it is written as a fraction.
    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        let number: f64 = self.optional(key)?;
        if number.is_finite() {
            Some(number as i64)
        } else {
            self.drop_field(self.mismatch(key, "not a finite number"));
            None
        }
    }

    /// A whole number that fits `T`.
    pub(super) fn small<T: TryFrom<i64>>(&self, key: &str) -> Option<T> {
        let number = self.integer(key)?;
        let fitting = T::try_from(number).ok();
        if fitting.is_none() {
            self.drop_field(self.mismatch(key, format_args!("{number} is out of range")));
        }
        fitting
    }

    /// A count that can not be negative; a negative one counts as zero.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.integer(key)
            .map(|number| u64::try_from(number).unwrap_or(0))
    }

    /// A nested object one can do without.
    pub(super) fn object(&self, key: &str) -> Option<Object<'a>> {
        let raw = self.raw(key)?;
        Object::parse(raw, self.at(key), self.dropped)
            .map_err(|mismatch| self.drop_field(mismatch))
            .ok()
    }

    /// A nested value one can do without.
    pub(super) fn nested<T: FromObject>(&self, key: &str) -> Option<T> {
        let object = self.object(key)?;
        T::from_object(&object)
            .map_err(|mismatch| self.drop_field(mismatch))
            .ok()
    }

    /// A nested value one cannot do without.
    pub(super) fn required_nested<T: FromObject>(&self, key: &str) -> Result<T, JsonMismatch> {
        let Some(raw) = self.raw(key) else {
            return Err(self.mismatch(key, "missing"));
        };
        T::from_object(&Object::parse(raw, self.at(key), self.dropped)?)
    }

    /// A list of nested values; entries that do not fit are dropped one by one.
    pub(super) fn list<T: FromObject>(&self, key: &str) -> Vec<T> {
        let Some(raw) = self.raw(key) else {
            return Vec::new();
        };
        let entries: Vec<&RawValue> = match serde_json::from_str(raw) {
            Ok(entries) => entries,
            Err(error) => {
                self.drop_field(self.mismatch(key, error));
                return Vec::new();
            }
        };
        let path = self.at(key);
        let read_entry = |(index, entry): (usize, &'a RawValue)| {
            Object::parse(entry.get(), format!("{path}.{index}"), self.dropped)
                .and_then(|object| T::from_object(&object))
                .map_err(|mismatch| self.drop_field(mismatch))
                .ok()
        };
        entries
            .into_iter()
            .enumerate()
            .filter_map(read_entry)
            .collect()
    }

    /// The names of the fields.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// The raw texts of all fields.
    pub(super) fn values(&self) -> impl Iterator<Item = &'a str> {
        self.fields.values().map(|raw| raw.get())
    }

    /// A word of a vocabulary; one we do not know is written down and kept as unknown.
    pub(super) fn word<T: OrUnknown>(&self, key: &str) -> Option<T> {
        let word: T = self.optional(key)?;
        if word == T::UNKNOWN {
            let raw = self.raw(key).unwrap_or_default();
            self.drop_field(self.mismatch(key, format_args!("unknown word {raw}")));
        }
        Some(word)
    }

    /// A word that stands bare or as the `inner` field of an object, as `variant` and `status` do.
    pub(super) fn word_within<T: OrUnknown>(&self, key: &str, inner: &str) -> Option<T> {
        if self.raw(key)?.starts_with('{') {
            self.object(key)?.word(inner)
        } else {
            self.word(key)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pair {
        must: String,
        may: Option<i32>,
    }

    impl FromObject for Pair {
        fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
            Ok(Self {
                must: object.required("must")?,
                may: object.small("may"),
            })
        }
    }

    #[test]
    fn a_bad_optional_field_costs_that_field_only() {
        for bad in ["\"x\"", "[]", "{}", "true", "1e999", "9e18", "\"\\ud800\""] {
            let read = read::<Pair>(&format!("{{\"must\":\"a\",\"may\":{bad}}}")).unwrap();
            assert_eq!(read.value.must, "a");
            assert_eq!(read.value.may, None, "{bad}");
            assert_eq!(read.dropped[0].path, "may", "{bad}");
        }
    }

    #[test]
    fn null_and_absence_are_no_complaint() {
        for json in [r#"{"must":"a"}"#, r#"{"must":"a","may":null}"#] {
            let read = read::<Pair>(json).unwrap();
            assert!(read.value.may.is_none() && read.dropped.is_empty());
        }
    }

    #[test]
    fn a_bad_required_field_is_named() {
        let mismatch = read::<Pair>(r#"{"must":7}"#).map(|_| ()).unwrap_err();
        assert_eq!(mismatch.path, "must");
        let mismatch = read::<Pair>("{}").map(|_| ()).unwrap_err();
        assert_eq!(mismatch.to_string(), "must: missing");
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let read = read::<Pair>(r#"{"must":"a","must":"b","may":1.0}"#).unwrap();
        assert_eq!((read.value.must.as_str(), read.value.may), ("b", Some(1)));
    }

    #[test]
    fn an_excerpt_is_short_and_has_no_control_characters() {
        assert_eq!(excerpt("a\nb\u{1b}[31m", 20), "a\\nb\\u{1b}[31m");
        assert_eq!(excerpt(&"ü".repeat(500), 3), "üüü…");
    }
}
