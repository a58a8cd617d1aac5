//! Bounds on the source: code lines per module (they may only fall), names of files, and types that
//! share a name.
//!
//! A line of code is a line that is neither blank nor a comment and belongs to no test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of code by module: what was measured, and five percent.
const MOST_LINES: [(&str, usize); 21] = [
    ("archive", 3974),
    ("book", 1096),
    ("bot", 17_421),
    ("cli", 8063),
    ("config", 2240),
    ("engine", 6391),
    ("experience", 560),
    ("files", 98),
    ("http_common", 112),
    ("lichess", 5115),
    ("lookup", 1019),
    ("match_runner", 3126),
    ("panel", 5119),
    ("practice", 10_966),
    ("rules", 3097),
    ("sqlite", 508),
    ("store", 1031),
    ("tablebase", 2488),
    ("training", 3980),
    ("uci", 862),
    (".", 179),
];
/// Most files in the bot, tests included.
const MOST_BOT_FILES: usize = 85;
/// A name may belong to so many types.
const MOST_TYPES_OF_A_NAME: usize = 3;
/// Names that every command or every handle has: they are never met outside their file.
const COMMON_TYPES: [&str; 4] = ["Args", "Error", "Inner", "Output"];
/// Metaphors that were names of files once.
const OLD_NAMES: [&str; 33] = [
    "beside",
    "blow",
    "chronicle",
    "closing",
    "crew",
    "desk",
    "doorbell",
    "envoy",
    "errands",
    "feed",
    "hall",
    "havoc",
    "lobby",
    "manner",
    "manners",
    "mess",
    "minutes",
    "mint",
    "mischief",
    "misbehave",
    "outlook",
    "porter",
    "revival",
    "roll",
    "scribe",
    "shelf",
    "sole",
    "steward",
    "stock",
    "upkeep",
    "voice",
    "knowledge",
    "contest",
];

fn source() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All source files, as paths below `src`.
fn files() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the source") {
            let path = entry.expect("an entry of the source").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(source()).expect("below src");
                found.push((name.to_string_lossy().replace('\\', "/"), path.clone()));
            }
        }
    }
    found.sort();
    found
}

fn is_test_file(name: &str) -> bool {
    name.split('/')
        .any(|part| part == "tests" || part == "tests.rs")
}

/// How many lines of code a file has, up to the test module inside it. The declaration of a test
/// module in a file of its own is not counted either.
fn code_lines(text: &str) -> usize {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let mut lines = text.lines().map(str::trim).filter(is_code).peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let is_for_tests = line.starts_with("#[cfg(") && line.contains("test");
        let module = lines.next_if(|next| is_for_tests && next.starts_with("mod "));
        match module {
            Some(module) if module.ends_with('{') => break,
            Some(_) => {}
            None => count += 1,
        }
    }
    count
}

#[test]
fn modules_keep_within_their_size() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (name, path) in files().iter().filter(|(name, _)| !is_test_file(name)) {
        let module = name.split_once('/').map_or(".", |(module, _)| module);
        let text = fs::read_to_string(path).expect("source is text");
        *lines.entry(module.to_owned()).or_default() += code_lines(&text);
    }
    let bounds: BTreeMap<&str, usize> = MOST_LINES.into_iter().collect();
    let too_many: Vec<String> = lines
        .iter()
        .map(|(module, count)| (module, *count, bounds.get(module.as_str()).copied()))
        .filter(|(_, count, most)| *count > most.unwrap_or_default())
        .map(|(module, count, most)| format!("src/{module}: {count}, {most:?} at most"))
        .collect();
    assert!(too_many.is_empty(), "lines of code: {too_many:#?}");
    let bot = files()
        .iter()
        .filter(|(name, _)| name.starts_with("bot/"))
        .count();
    assert!(
        bot <= MOST_BOT_FILES,
        "src/bot has {bot} files, {MOST_BOT_FILES} at most"
    );
}

#[test]
fn code_lines_are_counted_correctly() {
    let text = "//! Head.\n\nuse a::b;\n// why\nfn f() {\n    g(); // why\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
    assert_eq!(code_lines(text), 4);
    let declared = "#[cfg(test)]\nmod tests;\n\nuse a::b;\n#[cfg(test)]\nfn f() {}\n";
    assert_eq!(code_lines(declared), 3);
}

#[test]
fn no_file_is_named_by_a_metaphor() {
    for (name, _) in files() {
        let old = name
            .split('/')
            .map(|part| part.trim_end_matches(".rs"))
            .find(|part| OLD_NAMES.contains(part));
        assert_eq!(
            old, None,
            "src/{name}: see the glossary in docs/architecture.md"
        );
    }
}

#[test]
fn few_types_share_a_name() {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, path) in files().iter().filter(|(name, _)| !is_test_file(name)) {
        let text = fs::read_to_string(path).expect("source is text");
        for line in text.lines().map(str::trim_start) {
            let line = match line.strip_prefix("pub") {
                Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
                None => line,
            };
            for kind in ["struct ", "enum ", "trait "] {
                // A variable of a macro is not a name.
                let Some(rest) = line
                    .strip_prefix(kind)
                    .filter(|rest| !rest.starts_with('$'))
                else {
                    continue;
                };
                let end = rest
                    .find(|c: char| !c.is_alphanumeric())
                    .unwrap_or(rest.len());
                types
                    .entry(rest[..end].to_owned())
                    .or_default()
                    .insert(name.clone());
            }
        }
    }
    for (name, places) in types {
        assert!(
            places.len() <= MOST_TYPES_OF_A_NAME || COMMON_TYPES.contains(&name.as_str()),
            "{name} is {} types: {places:?}",
            places.len()
        );
    }
}

#[test]
fn the_source_is_where_it_is_expected() {
    assert!(files().len() > 100 && Path::new(&source()).is_dir());
}
