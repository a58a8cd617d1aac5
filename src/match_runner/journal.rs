//! The journal of a match or a tuning: its settings, then one line per game or step. An interrupted one
//! continues from it, but only the same one: an error names players, limits or openings that differ.

use std::marker::PhantomData;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::append_file::AppendFile;
use super::error::MatchError;
use super::record::GameRecord;

/// The identity of what is recorded: fields by name.
pub(super) type Heading = Map<String, Value>;

/// What a line after the heading records.
pub(super) trait JournalLine: Serialize + DeserializeOwned {
    /// What all lines together record, for messages.
    const WHOLE: &'static str;
    /// What one line records.
    const PART: &'static str;
}

impl JournalLine for GameRecord {
    const WHOLE: &'static str = "match";
    const PART: &'static str = "game";
}

/// The journal, open for the next line.
#[derive(Debug)]
pub(super) struct Journal<L> {
    file: AppendFile,
    lines: PhantomData<fn(L)>,
}

impl<L: JournalLine> Journal<L> {
    /// Opens or creates a journal; returns its lines.
    pub(super) fn open(path: &Path, heading: &Heading) -> Result<(Self, Vec<L>), MatchError> {
        let first = Value::Object(heading.clone()).to_string();
        let (mut file, lines) = AppendFile::open(path, |contents| {
            if contents.is_new(&first) {
                return Ok(None);
            }
            let lines = read(contents.lines, heading);
            lines
                .map(Some)
                .map_err(|fault| MatchError::Setup(format!("{}, {fault}", path.display())))
        })?;
        if lines.is_none() {
            file.append(&first)?;
        }
        let journal = Self {
            file,
            lines: PhantomData,
        };
        Ok((journal, lines.unwrap_or_default()))
    }

    /// Appends a line.
    pub(super) fn keep(&mut self, line: &L) -> Result<(), MatchError> {
        self.file.append(&json!(line).to_string())
    }
}

/// The lines of a journal; an error says in which line it is not the one of this heading.
fn read<L: JournalLine>(text: &str, heading: &Heading) -> Result<Vec<L>, String> {
    let mut lines = text.lines();
    let kept: Heading = serde_json::from_str(lines.next().unwrap_or_default())
        .map_err(|_| format!("line 1: this is not a journal of a {}", L::WHOLE))?;
    compare(&kept, heading, L::WHOLE).map_err(|what| format!("line 1: {what}"))?;
    let parse = |(index, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("line {}: no {}: {error}", index + 2, L::PART))
    };
    lines.enumerate().map(parse).collect()
}

/// Checks that the journal belongs to this match or tuning; the error says how it differs.
fn compare(kept: &Heading, asked: &Heading, whole: &str) -> Result<(), String> {
    for name in kept.keys().chain(asked.keys()) {
        let (was, is) = (kept.get(name), asked.get(name));
        if was != is {
            let show = |value: Option<&Value>| match value {
                Some(Value::String(text)) => format!("{text:?}"),
                Some(value) => value.to_string(),
                None => "nothing".to_owned(),
            };
            let meaning = if name.ends_with("_files") {
                " (a checksum of program, net and book)"
            } else {
                ""
            };
            return Err(format!(
                "the journal is of another {whole}: {name}{meaning} was {}, now it is {}; give it another \
                 --journal, or ask for the same",
                show(was),
                show(is)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn heading(seed: u64) -> Heading {
        json!({ "match": 1, "seed": seed, "a": "self" })
            .as_object()
            .unwrap()
            .clone()
    }

    fn open(
        path: &Path,
        heading: &Heading,
    ) -> Result<(Journal<GameRecord>, Vec<GameRecord>), MatchError> {
        Journal::open(path, heading)
    }

    fn game(pair: usize) -> GameRecord {
        let text = json!({
            "pair": pair, "white": "a", "fen": "f", "moves": "e2e4", "scores": [3, null],
            "depths": [1, null], "winner": "b", "end": "mate",
            "a": { "nodes": 1, "micros": 2 }, "b": { "nodes": 3, "micros": 4 },
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn games_survive_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("match.jsonl");
        let (mut journal, games) = open(&path, &heading(1)).unwrap();
        assert!(games.is_empty());
        journal.keep(&game(0)).unwrap();
        journal.keep(&game(1)).unwrap();
        drop(journal);
        let (_, games) = open(&path, &heading(1)).unwrap();
        assert_eq!(games, [game(0), game(1)]);
        // Its writer died in the first line.
        fs::write(&path, &fs::read(&path).unwrap()[..9]).unwrap();
        let (_, games) = open(&path, &heading(1)).unwrap();
        assert!(games.is_empty());
        open(&path, &heading(1)).unwrap();
    }

    #[test]
    fn another_match_and_garbage_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("match.jsonl");
        drop(open(&path, &heading(1)).unwrap());
        let error = open(&path, &heading(2)).unwrap_err().to_string();
        assert!(error.contains("seed was 1, now it is 2"), "{error}");
        let mut rebuilt = heading(1);
        rebuilt.insert("a_files".to_owned(), "12ab".into());
        let error = open(&path, &rebuilt).unwrap_err().to_string();
        assert!(
            error.contains("a_files (a checksum of program, net and book) was nothing"),
            "{error}"
        );
        let kept = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{kept}{{\"pair\":1}}\n")).unwrap();
        let error = open(&path, &heading(1)).unwrap_err().to_string();
        assert!(error.contains("line 2: no game"), "{error}");
        fs::write(&path, "Dear diary\n").unwrap();
        let error = open(&path, &heading(1)).unwrap_err().to_string();
        assert!(error.contains("not a journal"), "{error}");
        // The result of another program, without an end of line.
        fs::write(&path, "{\"wins\": 3}").unwrap();
        let error = open(&path, &heading(1)).unwrap_err().to_string();
        assert!(error.contains("not a journal"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"wins\": 3}");
    }
}
