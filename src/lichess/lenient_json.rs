//! Reads wire types by `serde` so that one bad part of a document costs only that part.
//!
//! The types derive `Deserialize`; this reader supplies their fields by the same rules everywhere:
//!
//! * A part that does not fit is reported with its path and then read as if it were absent. Where an
//!   absent part is required, the object around it does not fit; at the root, the document does not.
//! * `null` counts as absent. An absent flag is false, an absent list or map is empty, and an absent
//!   word is `Unknown` where its type has that variant.
//! * Words match in any letter case; one that is not known is reported and read as `Unknown`.
//! * A signed or small integer may be written as a fraction; a `u64` may not.
//! * Of two equal keys the last one counts.
//! * An enum that is no word is chosen by the `type` of its object, and reads its fields there.
//!
//! A field is named by the places to look for it: `#[serde(rename = "a|b.c")]` takes the first of
//! `a` and `c` within `b` that holds a value, `.a` is the object itself, `a?` asks whether the key
//! exists, and `a,b` fills the two sides of a [`BySide`](super::enums::BySide).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::iter::Enumerate;
use std::time::{Duration, SystemTime};

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

use super::enums::Status;

/// JSON that does not have the shape its place demands. Never a reason to drop a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct JsonMismatch {
    /// Where in the record, dotted.
    pub path: String,
    pub reason: String,
}

/// A value and the parts of its source that had to be left out.
#[derive(Clone, Debug)]
pub struct Lenient<T> {
    pub value: T,
    pub dropped: Vec<JsonMismatch>,
}

/// Longest path or reason in a message.
const REASON_CHARS: usize = 160;

/// Longest piece of foreign text that is kept or shown.
pub(super) const EXCERPT_CHARS: usize = 200;

/// Most parts of one document that may be left out; each costs another pass over it.
const MAX_LEFT_OUT: usize = 1000;

/// As many may be left out, however long the document is.
const MIN_LEFT_OUT: usize = 16;

/// Most bytes that the passes over a document may read where it leaves out more than these.
const MAX_REREAD: usize = 16 << 20;

/// Longest name that is kept; the longest of Lichess are half as long.
const NAME_CHARS: usize = 60;

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

/// A foreign name fit for a log, a terminal and a page.
pub(super) fn plain_name(name: &str) -> String {
    let plain = name.chars().filter(|c| !c.is_control());
    plain.take(NAME_CHARS).collect()
}

/// Reads a whole document as `T`.
pub(super) fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<Lenient<T>, JsonMismatch> {
    let mut report = ReadReport::default();
    let mut dropped = Vec::new();
    let most = (MAX_REREAD / json.len().max(1)).clamp(MIN_LEFT_OUT, MAX_LEFT_OUT);
    loop {
        let root = JsonNode {
            raw: Some(json),
            key: "",
            parent: None,
            is_reported: false,
            fields: None,
            sides: None,
            report: &report,
        };
        let (mismatch, costs) = match T::deserialize(root) {
            Ok(value) => {
                dropped.append(&mut report.unknown_words.borrow_mut());
                return Ok(Lenient { value, dropped });
            }
            Err(failure) => failure.located(&root),
        };
        dropped.extend(mismatch);
        if costs == address(json) || report.left_out.len() >= most {
            return Err(dropped.pop().expect("every failure is reported once"));
        }
        report.left_out.push(costs);
        report.unknown_words.get_mut().clear();
    }
}

/// What one pass over a document leaves out and finds.
#[derive(Default)]
struct ReadReport {
    /// The values to treat as absent, by their address in the document.
    left_out: Vec<usize>,
    unknown_words: RefCell<Vec<JsonMismatch>>,
}

/// A value is known by the address of its text: each is a slice of the same document.
fn address(raw: &str) -> usize {
    raw.as_ptr().addr()
}

/// The members of an object in their order, their values not yet typed.
///
/// A list and no map: the objects of the protocol have a dozen members.
#[derive(Default)]
struct Fields<'de>(Vec<(Cow<'de, str>, &'de RawValue)>);

impl<'de> Fields<'de> {
    fn get(&self, key: &str) -> Option<&'de str> {
        let mut last_first = self.0.iter().rev();
        last_first
            .find(|(own, _)| own == key)
            .map(|(_, raw)| raw.get())
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
        /// Without escapes a key is a slice of the document.
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(16);
                while let Some((Key(key), raw)) = map.next_entry()? {
                    fields.push((key, raw));
                }
                Ok(Fields(fields))
            }
        }

        object.deserialize_map(Members)
    }
}

/// One value of a document, not yet typed, and its place.
#[derive(Clone, Copy)]
struct JsonNode<'de, 'n> {
    /// Nothing where the value is absent.
    raw: Option<&'de str>,
    key: &'n str,
    parent: Option<&'n JsonNode<'de, 'n>>,
    /// Whether the value is absent because it did not fit, which is reported already.
    is_reported: bool,
    /// The fields of this object, where they are read already.
    fields: Option<&'n Fields<'de>>,
    /// Where this stands for both sides of something: the object around it, and their two keys.
    sides: Option<(&'n Fields<'de>, &'n str)>,
    report: &'n ReadReport,
}

impl<'de> JsonNode<'de, '_> {
    fn child<'c>(&'c self, key: &'c str, raw: Option<&'de str>) -> JsonNode<'de, 'c> {
        let raw = raw.filter(|&raw| raw != "null");
        let is_reported = raw.is_some_and(|raw| self.report.left_out.contains(&address(raw)));
        JsonNode {
            raw: raw.filter(|_| !is_reported),
            key,
            parent: Some(self),
            is_reported,
            fields: None,
            sides: None,
            report: self.report,
        }
    }

    fn path(&self) -> String {
        let around = self.parent.map(JsonNode::path).unwrap_or_default();
        match (around.as_str(), self.key) {
            ("", key) => key.to_owned(),
            (_, "") => around,
            (around, key) => format!("{around}.{key}"),
        }
    }

    fn mismatch(&self, reason: &str) -> JsonMismatch {
        let path = excerpt(&self.path(), REASON_CHARS);
        let reason = excerpt(reason, REASON_CHARS);
        match path.as_str() {
            "" => JsonMismatch {
                path: "record".into(),
                reason,
            },
            _ => JsonMismatch { path, reason },
        }
    }

    fn text(&self) -> Result<&'de str, ReadFailure> {
        self.raw.ok_or_else(|| ReadFailure::Here("missing".into()))
    }

    fn parse<T: Deserialize<'de>>(&self) -> Result<T, ReadFailure> {
        Ok(serde_json::from_str(self.text()?)?)
    }

    fn integer<T: TryFrom<i64>>(&self) -> Result<T, ReadFailure> {
        let number: f64 = self.parse()?;
        if !number.is_finite() {
            return Err(ReadFailure::Here("not a finite number".into()));
        }
        let number = number as i64;
        let out_of_range = |_| ReadFailure::Here(format!("{number} is out of range"));
        T::try_from(number).map_err(out_of_range)
    }

    /// The known word that this value is.
    fn word(&self, known: &'static [&'static str]) -> Result<&'static str, ReadFailure> {
        let word: String = self.parse()?;
        let like = |it: &&&str| it.eq_ignore_ascii_case(&word) && **it != UNKNOWN;
        if let Some(known) = known.iter().find(like) {
            return Ok(known);
        }
        let reason = format!("unknown word {}", self.text()?);
        let mut unknown_words = self.report.unknown_words.borrow_mut();
        unknown_words.push(self.mismatch(&reason));
        Ok(UNKNOWN)
    }

    /// The kind of record that the object with these fields is.
    fn kind(
        &self,
        fields: &Fields<'de>,
        known: &'static [&'static str],
    ) -> Result<&'static str, ReadFailure> {
        let kind = self.child("type", fields.get("type"));
        let name: String = kind.parse().map_err(|failure| failure.at(&kind))?;
        Ok(known.iter().find(|it| **it == name).unwrap_or(&UNKNOWN))
    }
}

/// The variant for words and records that the bot does not know.
const UNKNOWN: &str = "unknown";

impl<'de> Deserializer<'de> for JsonNode<'de, '_> {
    type Error = ReadFailure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        let mut json = serde_json::Deserializer::from_str(self.text()?);
        Ok(json.deserialize_any(visitor)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        match self.raw {
            None => visitor.visit_bool(false),
            Some(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_u8(self.integer()?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_u32(self.integer()?)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_i32(self.integer()?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_i64(self.integer()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        match self.raw {
            None => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        let entries: Vec<&RawValue> = match self.raw {
            None => Vec::new(),
            Some(_) => self.parse()?,
        };
        visitor.visit_seq(JsonEntries {
            list: &self,
            entries: entries.into_iter().enumerate(),
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        let fields: Fields<'de> = match self.raw {
            None => Fields::default(),
            Some(_) => self.parse()?,
        };
        let members = fields.0.iter().map(|(key, raw)| (&**key, raw.get()));
        visitor.visit_map(JsonMembers {
            object: &self,
            fields: &fields,
            names: members
                .filter(|(key, raw)| self.child(key, Some(raw)).raw.is_some())
                .map(|(key, raw)| (key, FieldPlace::Value(key, raw)))
                .collect(),
            next: None,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadFailure> {
        if let (Some((fields, keys)), Some(object)) = (self.sides, self.parent) {
            let sides = names.iter().zip(keys.split(','));
            return visitor.visit_map(JsonMembers {
                object,
                fields,
                names: sides
                    .map(|(name, key)| (*name, FieldPlace::Key(key)))
                    .collect(),
                next: None,
            });
        }
        let read;
        let fields = if let Some(fields) = self.fields {
            fields
        } else {
            read = self.parse()?;
            &read
        };
        visitor.visit_map(JsonMembers {
            object: &self,
            fields,
            names: names
                .iter()
                .map(|name| (*name, FieldPlace::Named(name)))
                .collect(),
            next: None,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadFailure> {
        let is_open = variants.contains(&UNKNOWN);
        let word = match self.raw {
            None if is_open => UNKNOWN,
            Some(raw) if raw.starts_with('{') => {
                let fields = self.parse()?;
                let kind = self.kind(&fields, variants)?;
                let object = JsonNode {
                    fields: Some(&fields),
                    ..self
                };
                return visitor.visit_enum(MapAccessDeserializer::new(JsonMembers {
                    object: &object,
                    fields: &fields,
                    names: [(kind, FieldPlace::Object)].into(),
                    next: None,
                }));
            }
            // A game's status comes as a number too.
            Some(raw) if name == "Status" && raw.starts_with(|c: char| c.is_ascii_digit()) => {
                let number = u64::try_from(self.integer::<i64>()?).unwrap_or(0);
                Status::from_number(number).as_str()
            }
            _ if is_open => self.word(variants)?,
            _ => {
                let mut json = serde_json::Deserializer::from_str(self.text()?);
                return Ok(json.deserialize_enum(name, variants, visitor)?);
            }
        };
        visitor.visit_enum(StrDeserializer::new(word))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadFailure> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u16 u64 u128 f32 f64 char str string bytes byte_buf unit_struct tuple
        tuple_struct newtype_struct identifier
    }
}

/// Where the value of a field is found.
#[derive(Clone, Copy)]
enum FieldPlace<'de, 'n> {
    Key(&'n str),
    /// Found already, with its key.
    Value(&'n str, &'de str),
    /// By the name of the field, which lists places.
    Named(&'static str),
    /// The object itself.
    Object,
}

/// The members of an object that its type asks for.
struct JsonMembers<'de, 'n> {
    object: &'n JsonNode<'de, 'n>,
    fields: &'n Fields<'de>,
    names: VecDeque<(&'n str, FieldPlace<'de, 'n>)>,
    next: Option<FieldPlace<'de, 'n>>,
}

impl<'de> JsonMembers<'de, '_> {
    fn raw(&self, key: &str) -> Option<&'de str> {
        self.fields.get(key)
    }

    /// The first of the `places` that holds a value.
    fn find(&self, places: &'static str) -> Result<JsonNode<'de, '_>, ReadFailure> {
        if places.contains(',') {
            return Ok(JsonNode {
                raw: self.object.raw,
                sides: Some((self.fields, places)),
                ..self.object.child("", None)
            });
        }
        let mut is_reported = false;
        let mut no_object = None;
        for place in places.split('|') {
            let raw = match (place.split_once('.'), place.strip_suffix('?')) {
                (Some(("", _)), _) => self.object.raw,
                (Some((outer, inner)), _) => {
                    let outer = self.object.child(outer, self.raw(outer));
                    is_reported |= outer.is_reported;
                    let is_object = |raw: &&str| raw.starts_with('{');
                    let fields = outer.raw.filter(is_object).map(|_| outer.parse());
                    let fields: Option<Fields<'de>> = fields.and_then(Result::ok);
                    if fields.is_none() && outer.raw.is_some() {
                        no_object.get_or_insert(outer);
                    }
                    fields.and_then(|fields| fields.get(inner))
                }
                (_, Some(key)) => self.raw(key).map(|_| "true"),
                _ => self.raw(place),
            };
            let key = if place.starts_with('.') { "" } else { place };
            let node = self.object.child(key, raw);
            if node.raw.is_some() {
                return Ok(node);
            }
            is_reported |= node.is_reported;
        }
        let last = places.rsplit('|').next().unwrap_or(places);
        if let Some(outer) = no_object {
            let _: Fields<'de> = outer.parse().map_err(|failure| failure.at(&outer))?;
        }
        Ok(JsonNode {
            is_reported,
            ..self.object.child(last, None)
        })
    }
}

impl<'de> MapAccess<'de> for JsonMembers<'de, '_> {
    type Error = ReadFailure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadFailure> {
        let Some((name, place)) = self.names.pop_front() else {
            return Ok(None);
        };
        self.next = Some(place);
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ReadFailure> {
        let value = match self.next.take() {
            Some(FieldPlace::Key(key)) => self.object.child(key, self.raw(key)),
            Some(FieldPlace::Value(key, raw)) => self.object.child(key, Some(raw)),
            Some(FieldPlace::Named(places)) => self.find(places)?,
            Some(FieldPlace::Object) => *self.object,
            None => return Err(ReadFailure::Here("a value without a key".into())),
        };
        seed.deserialize(value)
            .map_err(|failure| failure.at(&value))
    }
}

/// The entries of a list.
struct JsonEntries<'de, 'n> {
    list: &'n JsonNode<'de, 'n>,
    entries: Enumerate<std::vec::IntoIter<&'de RawValue>>,
}

impl<'de> SeqAccess<'de> for JsonEntries<'de, '_> {
    type Error = ReadFailure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadFailure> {
        for (index, raw) in self.entries.by_ref() {
            let key = index.to_string();
            let entry = self.list.child(&key, Some(raw.get()));
            if entry.raw.is_some() {
                let value = seed.deserialize(entry);
                return value.map(Some).map_err(|failure| failure.at(&entry));
            }
        }
        Ok(None)
    }
}

/// Why a value does not fit its type.
#[derive(Debug)]
enum ReadFailure {
    /// The reason, before the value is known.
    Here(String),
    /// The value lacks this field.
    Lacks(&'static str),
    At {
        /// What to report, unless it is reported already.
        mismatch: Option<JsonMismatch>,
        /// The address of the value that has to be left out for it.
        costs: usize,
    },
}

impl ReadFailure {
    /// What to report and what has to be left out, for a failure of `node` or within it.
    fn located(self, node: &JsonNode<'_, '_>) -> (Option<JsonMismatch>, usize) {
        match self {
            Self::At { mismatch, costs } => (mismatch, costs),
            Self::Lacks(key) => {
                let fields: Fields<'_> = node.parse().unwrap_or_default();
                let absent = node.child(key, fields.get(key));
                Self::Here("missing".into()).located(&absent)
            }
            Self::Here(reason) => {
                let costly = match (node.raw, node.parent) {
                    (None, Some(object)) => object.raw,
                    (raw, _) => raw,
                };
                let mismatch = (!node.is_reported).then(|| node.mismatch(&reason));
                (mismatch, costly.map_or(0, address))
            }
        }
    }

    fn at(self, node: &JsonNode<'_, '_>) -> Self {
        let (mismatch, costs) = self.located(node);
        Self::At { mismatch, costs }
    }
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ReadFailure {}

impl serde::de::Error for ReadFailure {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::Here(reason.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Lacks(field)
    }
}

impl From<serde_json::Error> for ReadFailure {
    fn from(error: serde_json::Error) -> Self {
        Self::Here(error.to_string())
    }
}

/// For a flag or a number that a type cannot do without.
pub(super) fn required<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<T, D::Error> {
    Option::deserialize(value)?.ok_or_else(|| serde::de::Error::custom("missing"))
}

/// For what has a natural default.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// For a name, which becomes plain.
pub(super) fn name<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    String::deserialize(value).map(|name| plain_name(&name))
}

/// Whether there is any value at all.
pub(super) fn is_present<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(value)?.is_some())
}

/// A number that counts something; a negative one counts as zero.
#[derive(Clone, Copy, Deserialize)]
#[serde(from = "i64")]
pub(super) struct WireCount(pub(super) u64);

impl From<i64> for WireCount {
    fn from(number: i64) -> Self {
        Self(u64::try_from(number).unwrap_or(0))
    }
}

/// Seconds, where there are any.
pub(super) fn seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Duration>, D::Error> {
    let seconds: Option<WireCount> = Option::deserialize(value)?;
    Ok(seconds.map(|WireCount(seconds)| Duration::from_secs(seconds)))
}

pub(super) fn required_seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    WireCount::deserialize(value).map(|WireCount(seconds)| Duration::from_secs(seconds))
}

/// Milliseconds since 1970, where there are any.
pub(super) fn epoch_ms<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<SystemTime>, D::Error> {
    let ms: Option<WireCount> = Option::deserialize(value)?;
    Ok(ms.map(|WireCount(ms)| from_epoch_ms(ms)))
}

pub(super) fn from_epoch_ms(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_millis(ms))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Pair {
        must: String,
        may: Option<i32>,
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
    fn null_and_missing_fields_are_not_reported() {
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
    fn a_bad_part_costs_the_smallest_optional_value_around_it() {
        #[derive(Debug, Deserialize)]
        struct Tree {
            #[serde(rename = "top|root.top")]
            top: Option<Pair>,
            pairs: Vec<Pair>,
            named: HashMap<String, Pair>,
        }
        let json = r#"{"top":{"must":1},"root":{"top":{"must":"b","may":"x"}},
            "named":{"x|y":{"must":"d"},"z":[]},"pairs":[7,null,{"may":1},{"must":"c","may":"y"}]}"#;
        let read = read::<Tree>(json).unwrap();
        assert_eq!(read.value.top.unwrap().must, "b");
        assert_eq!(read.value.pairs.len(), 1);
        assert_eq!(read.value.named["x|y"].must, "d");
        let paths: Vec<_> = read.dropped.iter().map(|it| it.path.as_str()).collect();
        let expected = [
            "top.must",
            "root.top.may",
            "pairs.0",
            "pairs.2.must",
            "pairs.3.may",
            "named.z",
        ];
        assert_eq!(paths, expected);
        assert_eq!(read.dropped[3].reason, "missing");
    }

    #[test]
    fn the_longer_a_document_the_fewer_parts_of_it_may_be_bad() {
        #[derive(Debug, Deserialize)]
        struct Pairs {
            pairs: Vec<Pair>,
        }
        let bad_parts = |count: usize, padding: usize| {
            let (bad, space) = ("7,".repeat(count), " ".repeat(padding));
            read::<Pairs>(&format!(r#"{{"pairs":[{bad}{{"must":"a"}}]{space}}}"#))
        };
        for (count, padding, fits) in [(100, 0, true), (100, 1 << 20, false), (16, 2 << 20, true)] {
            let read = bad_parts(count, padding);
            let kept = read
                .ok()
                .map(|read| (read.value.pairs.len(), read.dropped.len()));
            assert_eq!(kept, fits.then_some((1, count)), "{count} {padding}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_has_no_control_characters() {
        assert_eq!(excerpt("a\nb\u{1b}[31m", 20), "a\\nb\\u{1b}[31m");
        assert_eq!(excerpt(&"ü".repeat(500), 3), "üüü…");
    }
}
