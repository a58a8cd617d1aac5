//! Golden copies of every name that leaves the program: commands and options, config keys, SQL schema,
//! kinds of alerts and events, metrics, and the JSON of the control socket and of the page.
//!
//! Operators, scripts, dashboards and files on disk depend on these names, so a change here is a
//! decision: `MEGATON_BLESS=1 cargo test --test app golden` writes the files anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;

use megaton::bot::AlertKind;
use megaton::{archive, store};
use rusqlite::Connection;
use serde_json::Value;

use super::control::{server, until};
use super::monitoring::Watched;
use super::program::{command, megaton};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares `actual` with the golden file `name`, or writes the file where `MEGATON_BLESS` is set.
fn golden(name: &str, actual: &str) {
    let path = root().join("tests/data/golden").join(name);
    if std::env::var_os("MEGATON_BLESS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, actual).expect("a golden file");
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (old, new) = (lines(&wanted), lines(actual));
    let mut report = String::new();
    for line in old.difference(&new) {
        let _ = writeln!(report, "- {line}");
    }
    for line in new.difference(&old) {
        let _ = writeln!(report, "+ {line}");
    }
    assert!(
        wanted == actual,
        "tests/data/golden/{name} differs (MEGATON_BLESS=1 writes it anew):\n{report}"
    );
}

fn sorted(lines: impl IntoIterator<Item = String>) -> String {
    let lines: BTreeSet<String> = lines.into_iter().collect();
    lines.into_iter().fold(String::new(), |mut text, line| {
        text.push_str(&line);
        text.push('\n');
        text
    })
}

/// The help of the program and of each command below it, with the arguments that print it.
fn helps() -> Vec<(String, String)> {
    let mut open = vec![Vec::<String>::new()];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = megaton(&arguments);
        assert_eq!(help.status, Some(0), "{path:?}");
        let commands = help.stdout.split("\nCommands:\n").nth(1);
        let commands = commands.map_or("", |it| it.split("\n\n").next().unwrap_or_default());
        for line in commands.lines() {
            let name = line.strip_prefix("  ").filter(|it| !it.starts_with(' '));
            let name = name.and_then(|it| it.split(' ').next());
            if let Some(name) = name.filter(|name| *name != "help") {
                open.push(path.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
        found.push((path.join(" "), help.stdout));
    }
    found.sort();
    found
}

#[test]
fn commands_and_options_keep_their_names() {
    let mut names = Vec::new();
    let mut texts = String::new();
    for (command, text) in helps() {
        let _ = writeln!(texts, "===== megaton {command}\n{text}");
        for line in text.lines() {
            let line = line.trim_start();
            let is_name = line.starts_with("--")
                || (line.starts_with('-') && line[1..].starts_with(|c: char| c.is_alphabetic()));
            if is_name {
                let option = line.split("  ").next().unwrap_or_default();
                names.push(format!("{command}: {option}"));
            }
            if let Some(usage) = line.strip_prefix("Usage: ") {
                names.push(format!("{command}: {usage}"));
            }
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (mark, end) in [("[default: ", ']'), ("[possible values: ", ']')] {
            for part in words.split(mark).skip(1) {
                let value = part.split(end).next().unwrap_or_default();
                names.push(format!("{command}: {mark}{value}]"));
            }
        }
    }
    golden("commands.txt", &sorted(names));
    golden("help.txt", &texts);
}

#[test]
fn config_keys_keep_their_names() {
    let text = fs::read_to_string(root().join("config.example.toml")).expect("the example");
    let mut section = String::new();
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches("# ").trim_start_matches('#');
        let title = line.trim_matches(['[', ']']);
        if line.starts_with('[')
            && title
                .chars()
                .all(|c| c.is_ascii_lowercase() || "._".contains(c))
        {
            title.clone_into(&mut section);
        } else if let Some((key, _)) = line.split_once(" = ")
            && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        {
            names.push(format!("{section}.{key}"));
        }
    }
    assert!(names.len() > 80, "only {} keys", names.len());
    golden("config.txt", &sorted(names));
}

fn schema(path: &Path) -> String {
    let file = Connection::open(path).expect("a file of ours");
    let mut rows = file
        .prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name")
        .expect("a query");
    let rows = rows.query_map([], |row| {
        let sql: String = row.get(2)?;
        let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(format!(
            "{} {}: {sql}\n",
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?
        ))
    });
    let mut text: String = rows.expect("rows").map(|row| row.expect("a row")).collect();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = file
            .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
            .expect("a number");
        let _ = writeln!(text, "{pragma} {value}");
    }
    text
}

#[test]
fn both_databases_keep_their_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, _) = store::Store::open(folder.path()).expect("a new state");
    drop(state);
    let file = fs::read_dir(folder.path())
        .expect("the folder")
        .filter_map(Result::ok)
        .map(|it| it.path())
        .find(|it| fs::read(it).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3")));
    golden("state-schema.txt", &schema(&file.expect("a state file")));
    let file = folder.path().join("games.db");
    drop(archive::Database::open(&file, 0).expect("a new archive"));
    golden("archive-schema.txt", &schema(&file));
}

#[test]
fn alerts_keep_their_kinds() {
    let kinds = AlertKind::ALL.iter().map(|kind| kind.as_str().to_owned());
    golden("alerts.txt", &sorted(kinds));
}

/// The paths of all keys of a value; elements of lists share `[]`.
fn key_paths(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{path}.{key}");
                out.insert(path.clone());
                key_paths(value, &path, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                key_paths(item, &format!("{path}[]"), out);
            }
        }
        _ => {}
    }
}

fn paths_of(value: &Value) -> String {
    let mut out = BTreeSet::new();
    key_paths(value, "", &mut out);
    sorted(out)
}

/// The names of all figures with their kinds and the keys of their labels.
fn figures(text: &str) -> String {
    let names = text.lines().filter_map(|line| {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            return Some(format!("{kind} (type)"));
        }
        let (name, _) = line
            .split_once([' ', '{'])
            .filter(|_| !line.starts_with('#'))?;
        let labels = line
            .split_once('{')
            .and_then(|(_, rest)| rest.split_once('}'));
        let keys = labels.map_or_else(Vec::new, |(labels, _)| {
            let keys = labels.split("\",").filter_map(|it| it.split_once('='));
            keys.map(|(key, value)| match key {
                "le" | "version" | "evaluation" => key.to_owned(),
                _ => format!("{key}={}", value.trim_matches('"')),
            })
            .collect()
        });
        Some(format!("{name} {{{}}}", keys.join(", ")))
    });
    sorted(names)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_bot_keeps_its_figures_and_the_keys_of_its_status() {
    let server = server().await;
    let bot = Watched::start(&server, "", &[]);
    let is_ready = || bot.get("/readyz").is_some_and(|it| it.0 == 200);
    until("it is ready", async || is_ready()).await;
    let (_, text) = bot.get("/metrics").expect("figures");
    golden("metrics.txt", &figures(&text));
    let (code, status) = bot.tell(&["status", "--json"]);
    assert_eq!(code, Some(0));
    let status: Value = serde_json::from_str(&status).expect("JSON");
    golden("status.txt", &paths_of(&status));
    for (name, path) in [("page-me.txt", "/api/me"), ("page-ready.txt", "/readyz")] {
        let (_, body) = bot.get(path).expect("an answer");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        golden(name, &paths_of(&body));
    }
}

#[test]
fn requests_on_the_control_socket_keep_their_form() {
    let commands: [&[&str]; 16] = [
        &["status"],
        &["pause"],
        &["resume"],
        &["drain"],
        &["reload"],
        &[
            "challenge",
            "someone",
            "3+2",
            "--casual",
            "--color",
            "white",
        ],
        &["rechallenge"],
        &["cancel"],
        &["abort", "abcd1234"],
        &["resign", "abcd1234"],
        &["block", "someone"],
        &["unblock", "someone"],
        &["matchmaking", "on"],
        &["join", "arena123"],
        &["say", "abcd1234", "hello"],
        &["tournament", "leave", "arena123"],
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    fs::write(&config, "").expect("a config");
    let mut text = String::new();
    for arguments in commands {
        let path = folder.path().join("control.sock");
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        let listening = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
            reader.read_line(&mut line).expect("a request");
            // What is answered does not matter here.
            let _ = stream.write_all(b"{}\n");
            line
        });
        let ran = command(arguments)
            .arg("--socket")
            .arg(&path)
            .output()
            .expect("it starts");
        if ran.status.code() == Some(2) {
            let error = String::from_utf8_lossy(&ran.stderr).into_owned();
            panic!("{arguments:?}: {error}");
        }
        let line = listening.join().expect("a request");
        let _ = writeln!(text, "{}: {}", arguments.join(" "), line.trim_end());
    }
    golden("control.txt", &text);
}
