//! The layers: a module uses only modules below its own.
//!
//! All spellings of a path are found: `crate::module`, `crate::{module, …}`, `megaton::module` in
//! the binary, and `super::super::module`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::rust_words::{spelled_paths, words};

/// The modules with their layers; a higher number may use a lower one.
const LAYERS: [(&str, u8); 20] = [
    ("cli", 6),
    ("match_runner", 5),
    ("practice", 5),
    ("panel", 5),
    ("uci", 5),
    ("bot", 4),
    ("training", 4),
    ("tablebase", 3),
    ("archive", 3),
    ("book", 3),
    ("store", 3),
    ("config", 3),
    ("lookup", 3),
    ("engine", 2),
    ("experience", 2),
    ("lichess", 2),
    ("sqlite", 2),
    ("http_common", 2),
    ("files", 1),
    ("rules", 1),
];

/// What a module must not know of the world outside: name and forbidden beginnings of paths.
const BANS: [(&str, &[&str]); 3] = [
    (
        "rules",
        &[
            "tokio",
            "reqwest",
            "axum",
            "tracing",
            "std::fs",
            "std::io",
            "std::net",
            "std::thread",
        ],
    ),
    (
        "engine",
        &["tokio", "reqwest", "axum", "toml", "clap", "std::net"],
    ),
    ("lichess", &["axum", "clap", "toml"]),
];

/// What the practice server may take from the client's module: ids and enumerations, so that one
/// mistake in a wire type cannot cancel out on both sides.
const SHARED_WITH_PRACTICE: [&str; 12] = [
    "BySide",
    "ChallengeId",
    "ChallengeStatus",
    "ColorChoice",
    "DeclineReason",
    "Direction",
    "GameId",
    "Room",
    "Side",
    "Speed",
    "Status",
    "UserId",
];

fn layer(module: &str) -> Option<u8> {
    LAYERS
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, layer)| *layer)
}

/// Every Rust file under a folder.
pub(super) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the source") {
            let path = entry.expect("an entry of the source").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What is wrong with the boundaries of one file, each as one sentence.
fn faults(file: &str, text: &str) -> BTreeSet<String> {
    let parts: Vec<&str> = file.split('/').collect();
    let module = parts[0];
    let mut faults = BTreeSet::new();
    let Some(own) = layer(module) else {
        faults.insert(format!("{file}: the module {module} is on no layer"));
        return faults;
    };
    let depth = parts.len() - usize::from(file.ends_with("/mod.rs"));
    for path in spelled_paths(&words(text), depth) {
        let spelled = path.parts.join("::");
        if !path.rooted {
            // Tests may lean on the world outside.
            let bans = BANS
                .iter()
                .filter(|(name, _)| *name == module && !path.in_tests);
            for ban in bans.flat_map(|(_, bans)| *bans) {
                if spelled == *ban || spelled.starts_with(&format!("{ban}::")) {
                    faults.insert(format!("{file}: {module} must not know {spelled}"));
                }
            }
            continue;
        }
        let Some(other) = path.parts.first() else {
            continue;
        };
        if other == module {
            continue;
        }
        match layer(other) {
            Some(below) if below < own => {}
            Some(_) => {
                faults.insert(format!(
                    "{file}: {module} reaches up or beside it to {spelled}"
                ));
            }
            None => {
                faults.insert(format!("{file}: {spelled} is not a module"));
            }
        }
        if module == "practice" && other == "lichess" {
            let name = path.parts.get(1).map_or("", String::as_str);
            if !SHARED_WITH_PRACTICE.contains(&name) {
                faults.insert(format!(
                    "{file}: practice shares only ids with lichess, not {name}"
                ));
            }
        }
    }
    faults
}

#[test]
fn no_module_reaches_above_its_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults_found = BTreeSet::new();
    let mut files = 0;
    for path in sources(&root) {
        let name = path
            .strip_prefix(&root)
            .expect("inside src")
            .display()
            .to_string();
        if !name.contains('/') {
            continue;
        }
        files += 1;
        faults_found.extend(faults(
            &name,
            &fs::read_to_string(&path).expect("source text"),
        ));
    }
    assert!(files >= 7, "only {files} files looked at");
    assert!(faults_found.is_empty(), "{faults_found:#?}");
}

#[test]
fn the_check_finds_every_spelling_of_a_wrong_path() {
    let wrong = [
        ("rules/board.rs", "use crate::engine::Pool;"),
        (
            "rules/board.rs",
            "use crate::{rules::Move, engine::{Pool, Engine}};",
        ),
        ("rules/board.rs", "fn f() { let _ = crate::bot::run; }"),
        ("rules/board.rs", "pub use super::super::engine::Pool;"),
        (
            "rules/mod.rs",
            "use super::engine;  fn f() { super::engine::f() }",
        ),
        (
            "rules/board.rs",
            "mod tests { use super::super::super::config::Config; }",
        ),
        ("engine/pool.rs", "use crate::lichess::Client;"),
        ("lichess/client.rs", "use crate::engine::Pool;"),
        ("bot/mod.rs", "use crate::practice::Server;"),
        ("uci/mod.rs", "use crate::practice::Server;"),
        ("config/load.rs", "use crate::bot::run;"),
        (
            "rules/clock.rs",
            "use std::thread;  fn f() { std::thread::yield_now() }",
        ),
        ("rules/clock.rs", "use std::{fmt, io::Write};"),
        ("engine/pool.rs", "async fn f() { tokio::spawn(async {}); }"),
        (
            "practice/wire.rs",
            "use crate::lichess::{GameId, GameFull};",
        ),
        ("attic/mod.rs", ""),
        ("bot/mod.rs", "use crate::attic::Trunk;"),
    ];
    for (file, text) in wrong {
        assert!(!faults(file, text).is_empty(), "missed in {file}: {text}");
    }
}

#[test]
fn the_check_lets_every_right_path_be() {
    let right = [
        (
            "bot/mod.rs",
            "use crate::{engine::{self, Pool}, rules::Move, lichess::Client, config};",
        ),
        (
            "cli/run.rs",
            "use megaton::bot::run; use super::setup::ConfigArgs;",
        ),
        (
            "rules/board.rs",
            "//! See crate::engine.\n/* crate::bot::x */ use super::bitboard::Bitboard;",
        ),
        (
            "rules/board.rs",
            "const HINT: &str = \"crate::engine::Pool\"; const C: char = '\"';",
        ),
        (
            "rules/board.rs",
            "const RAW: &str = r#\"crate::engine \" ::x\"#; use crate::rules::Move;",
        ),
        (
            "rules/board.rs",
            "mod tests { use super::super::bitboard::Bitboard; use super::*; }",
        ),
        (
            "rules/slow/mod.rs",
            "use super::super::rules::Move; use super::board::Position;",
        ),
        ("practice/wire.rs", "use crate::lichess::{GameId, Status};"),
        (
            "rules/board.rs",
            "#[cfg(test)]\nmod tests { use std::thread; }",
        ),
        (
            "rules/board.rs",
            "fn f<'a>(x: &'a str) -> core::fmt::Result { std::fmt::Write::write(x) }",
        ),
    ];
    for (file, text) in right {
        let found = faults(file, text);
        assert!(found.is_empty(), "{found:?}");
    }
}
