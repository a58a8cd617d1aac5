//! The feature list is true: every row once, and everything it names exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use megaton::config::SECTIONS;

use super::program::megaton;

/// How many rows each group of the list has, from A on.
const ROWS: [usize; 21] = [
    10, 33, 4, 25, 8, 20, 7, 14, 9, 11, 9, 3, 2, 8, 4, 5, 8, 5, 5, 9, 5,
];

/// Stands for the id of what is not on the list.
const BEYOND: &str = "+";

struct Row {
    id: String,
    state: String,
    /// What stands between backquotes in the last column.
    named: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/features.md");
    let page = fs::read_to_string(page).expect("docs/features.md");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let id = cells.first()?.strip_prefix("| ")?;
        let is_id = id.starts_with(|c: char| c.is_ascii_uppercase())
            && id[1..].chars().all(|c| c.is_ascii_digit());
        (is_id || id == BEYOND).then(|| Row {
            id: id.to_owned(),
            state: cells[2].to_owned(),
            named: cells[3]
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect(),
        })
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn every_row_is_on_the_page_once() {
    let mut counted = BTreeMap::new();
    for row in rows().into_iter().filter(|row| row.id != BEYOND) {
        *counted.entry(row.id).or_insert(0) += 1;
    }
    for (group, count) in ('A'..).zip(ROWS) {
        for number in 1..=count {
            assert_eq!(counted.remove(&format!("{group}{number}")), Some(1));
        }
    }
    assert!(counted.is_empty(), "rows of no list: {counted:?}");
}

#[test]
fn whatever_a_row_names_exists() {
    for row in rows() {
        let known = ["yes", "other", "not yet", "no"].contains(&row.state.as_str());
        assert!(known, "{}: {}", row.id, row.state);
        assert!(
            row.state != "yes" || !row.named.is_empty(),
            "{}: nothing shows it",
            row.id
        );
        for name in &row.named {
            assert!(is_there(name), "{}: there is no `{name}`", row.id);
        }
    }
}

fn is_there(name: &str) -> bool {
    if let Some(key) = name.strip_prefix('[') {
        let Some((section, key)) = key.split_once(']') else {
            return false;
        };
        let key = key.trim();
        return SECTIONS
            .iter()
            .filter(|known| known.path == section)
            .any(|known| key.is_empty() || known.keys.iter().any(|known| known.name == key));
    }
    if let Some(command) = name.strip_prefix("megaton ") {
        return megaton(&[command, "--help"]).status == Some(0);
    }
    if name.contains('/') {
        return is_file(name);
    }
    // Words of the protocol, and files at the top.
    true
}

fn is_file(name: &str) -> bool {
    let (path, test) = name
        .split_once("::")
        .map_or((name, None), |(path, test)| (path, Some(test)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    match (test, path.is_dir()) {
        (None, true) => true,
        (None, false) => path.is_file(),
        (Some(test), _) => fs::read_to_string(path).is_ok_and(|source| is_test(&source, test)),
    }
}

/// Whether this is a function that runs as a test: a helper of that name shows nothing.
fn is_test(source: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    source.match_indices(&function).any(|(at, _)| {
        let above = source[..at].trim_end().lines().rev().map(str::trim);
        above
            .take_while(|line| !line.is_empty() && *line != "}")
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn a_helper_shows_nothing() {
    let source = "#[test]\nfn one() {\n}\nfn two() {}\n\n#[tokio::test(a = 1)]\n// Why.\nasync fn \
                  three() {}\n\nmod inner {\n    #[test]\n    fn four() {}\n}\n";
    let found = ["one", "two", "three", "four", "five"].map(|name| is_test(source, name));
    assert_eq!(found, [true, false, true, true, false]);
}
