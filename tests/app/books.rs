//! `megaton book` as a user runs it: grow, show, export and import.

use std::fs;
use std::path::Path;

use super::program::{Ran, command, ran};

/// Runs `megaton book` in a folder.
fn book(folder: &Path, words: &[&str]) -> Ran {
    let words = [&["book"], words].concat();
    ran(command(&words).current_dir(folder))
}

fn said(folder: &Path, words: &[&str]) -> String {
    let ran = book(folder, words);
    assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.stderr);
    ran.stdout
}

/// The error of a command that cannot work.
fn refused(folder: &Path, words: &[&str]) -> String {
    let ran = book(folder, words);
    assert_eq!(ran.status, Some(2), "{words:?}: {}", ran.stdout);
    ran.stderr
}

#[test]
fn a_book_is_grown_from_lines_exported_imported_and_shown_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("lines.txt"), "Nf3 f6 e3\ng1h3\n").unwrap();
    let grow =
        "grow a.graph --positions 8 --nodes 300 --proof-nodes 100 --threads 1 --lines lines.txt";
    let grow: Vec<&str> = grow.split(' ').collect();
    assert_eq!(said(folder, &grow), "8 positions\n");
    let stats = said(folder, &["stats", "a.graph"]);
    assert!(stats.starts_with("positions     8\n"), "{stats}");

    said(folder, &["export", "a.graph", "own.book", "--visits", "0"]);
    assert_eq!(said(folder, &["stats", "own.book"]), stats);
    let shown = said(folder, &["show", "a.graph", "Nf3"]);
    assert_eq!(said(folder, &["show", "own.book", "g1f3"]), shown);
    let import = said(folder, &["import", "b.graph", "own.book"]);
    assert_eq!(import, "8 positions added\n");
    let again = said(folder, &["import", "b.graph", "own.book"]);
    assert_eq!(again, "0 positions added\n");
    assert_eq!(said(folder, &["stats", "b.graph"]), stats);
    // The search of days is not replaced by what is made of it in a second.
    let before = fs::read(folder.join("b.graph")).unwrap();
    let error = refused(folder, &["export", "a.graph", "b.graph", "--visits", "0"]);
    assert!(
        error.contains("b.graph is a book under construction"),
        "{error}"
    );
    assert_eq!(fs::read(folder.join("b.graph")).unwrap(), before);
    // A finished book is no book that grows, and stays as it is.
    let before = fs::read(folder.join("own.book")).unwrap();
    refused(folder, &["import", "own.book", "own.book"]);
    let error = refused(
        folder,
        &["export", "own.book", "./own.book", "--visits", "0"],
    );
    assert!(
        error.contains("own.book: this very file is used here"),
        "{error}"
    );
    assert_eq!(fs::read(folder.join("own.book")).unwrap(), before);

    let export = [
        "export",
        "a.graph",
        "own.bin",
        "--polyglot",
        "--visits",
        "0",
    ];
    said(folder, &export);
    let size = fs::metadata(folder.join("own.bin")).unwrap().len();
    assert!(size > 0 && size.is_multiple_of(16), "{size}");
    let error = refused(folder, &["show", "own.bin"]);
    assert!(
        error.contains("own.bin is a Polyglot book") && error.contains("--book"),
        "{error}"
    );
    let seeded = "grow c.graph --positions 9 --nodes 300 --threads 1 --book own.bin";
    said(folder, &seeded.split(' ').collect::<Vec<_>>());
    let seeded = said(folder, &["show", "c.graph", "Nf3"]);
    assert!(!seeded.contains("not in the book"), "{seeded}");
}

#[test]
fn a_book_with_a_fault_is_named_and_a_wrong_line_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("bad.bin"), [0xff; 40]).unwrap();
    let error = refused(folder, &["stats", "bad.bin"]);
    assert!(
        error.contains("bad.bin: 40 bytes are not a whole number"),
        "{error}"
    );
    // Any text would be a book under construction without a readable line.
    fs::write(folder.join("notes.txt"), "Not a book.\n").unwrap();
    fs::write(folder.join("empty.graph"), "").unwrap();
    fs::write(folder.join("own.book"), "a good one").unwrap();
    for command in ["stats", "show"] {
        let error = refused(folder, &[command, "notes.txt"]);
        assert!(error.contains("notes.txt is no book: line 1: "), "{error}");
    }
    let grow = "grow young.graph --positions 3 --nodes 300 --proof-nodes 100 --threads 1";
    said(folder, &grow.split(' ').collect::<Vec<_>>());
    for (export, problem) in [
        ("export notes.txt own.book", "notes.txt is no book"),
        ("export empty.graph own.book", "nothing to export"),
        (
            "export young.graph own.book --polyglot",
            "no move reaches --visits 10",
        ),
    ] {
        let error = refused(folder, &export.split(' ').collect::<Vec<_>>());
        assert!(error.contains(problem), "{error}");
        let kept = fs::read_to_string(folder.join("own.book")).unwrap();
        assert_eq!(kept, "a good one", "{export}");
    }
    let error = refused(folder, &["export", "missing.graph", "out.book"]);
    assert!(error.contains("missing.graph"), "{error}");
    let error = refused(folder, &["show", "built-in", "Nf3", "Nf3"]);
    assert!(
        error.contains("\"Nf3\" is not a legal move after 1 half-moves"),
        "{error}"
    );
}

#[test]
fn a_byte_that_is_no_text_costs_a_growing_book_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let grow = "grow a.graph --positions 3 --nodes 300 --proof-nodes 100 --threads 1";
    said(folder, &grow.split(' ').collect::<Vec<_>>());
    let mut bytes = fs::read(folder.join("a.graph")).unwrap();
    bytes[0] |= 0x80;
    fs::write(folder.join("a.graph"), bytes).unwrap();
    let stats = said(folder, &["stats", "a.graph"]);
    let damage = "1 damaged lines left out, the first: line 1: ";
    assert!(stats.starts_with(damage), "{stats}");
    assert!(stats.contains("\npositions     2\n"), "{stats}");
}

#[test]
fn an_export_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("taken").join("inside")).unwrap();
    let ran = book(folder.path(), &["export", "built-in", "taken"]);
    assert_eq!(ran.status, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("taken"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_book_is_exported_into_a_pipe() {
    let export = ["book", "export", "built-in", "/dev/stdout"];
    let output = command(&export).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.len() > 1000, "{}", output.stdout.len());
}

#[test]
fn the_book_in_the_program_is_shown_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let stats = said(folder.path(), &["stats", "built-in"]);
    assert!(stats.contains("main line     N"), "{stats}");
}

#[test]
fn the_check_names_a_book_of_the_config_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("empty.bin"), []).unwrap();
    let config = "[book]\nbuilt_in = true\nfiles = [\"empty.bin\"]\n";
    fs::write(folder.join("config.toml"), config).unwrap();
    let ran = ran(command(&["check", "--offline"]).current_dir(folder));
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let line = |part: &str| ran.stdout.lines().any(|line| line.contains(part));
    assert!(line("books that can be used: 1"), "{}", ran.stdout);
    assert!(
        line("empty.bin: the file is empty; skipped"),
        "{}",
        ran.stdout
    );
}
