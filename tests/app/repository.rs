//! The repository: top level, file lengths, and the promises of README and docs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::megaton;

/// What may lie at the top level besides hidden files of git, cargo and CI.
const TOP_LEVEL: [&str; 11] = [
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "assets",
    "benches",
    "config.example.toml",
    "docs",
    "src",
    "tests",
];
/// No source file is longer.
const MOST_LINES: usize = 900;
/// How the README starts the game and the tests; CI runs these very texts.
const PLAY: &str = "cargo run --release -- practice";
const TEST: &str = "cargo test";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Files that git holds, `None` where this is no checkout.
fn tracked() -> Option<Vec<String>> {
    let listed = Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .ok()?;
    let text = String::from_utf8(listed.stdout).ok()?;
    let files: Vec<String> = text.lines().map(str::to_owned).collect();
    (listed.status.success() && !files.is_empty()).then_some(files)
}

fn source_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the source") {
            let path = entry.expect("an entry of the source").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// Command lines in the fenced blocks of a text, prompts and comments left out.
fn command_lines(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            let line = line.split("  #").next().unwrap_or_default();
            lines.push(line.trim().trim_start_matches("$ ").to_owned());
        }
    }
    lines
}

#[test]
fn the_top_level_holds_only_what_belongs_there() {
    let Some(files) = tracked() else {
        let _ = writeln!(
            io::stderr(),
            "SKIPPED the_top_level_holds_only_what_belongs_there: no git checkout"
        );
        return;
    };
    for file in files {
        let top = file.split('/').next().unwrap_or_default();
        assert!(
            top.starts_with('.') || TOP_LEVEL.contains(&top),
            "{file} at the top level"
        );
    }
}

#[test]
fn every_source_file_is_short_and_says_what_it_is_for() {
    for path in source_files() {
        let text = fs::read_to_string(&path).expect("source is text");
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        assert!(
            text.starts_with("//! "),
            "{} does not say what it is for",
            path.display()
        );
    }
}

#[test]
fn the_readme_and_ci_use_the_same_two_commands() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let ci = fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    let lines = command_lines(&readme);
    for command in [PLAY, TEST] {
        assert!(
            lines.iter().any(|line| line == command),
            "README.md lacks `{command}`"
        );
        assert!(ci.contains(command), ".ci/run lacks `{command}`");
    }
    let top: String = readme.lines().take(40).collect::<Vec<_>>().join("\n");
    assert!(
        top.contains(PLAY) && top.contains(TEST),
        "the two commands stand near the top"
    );
}

/// What stands between backquotes in running text and is a command of ours.
fn inline_commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let running = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    let running = running.collect::<Vec<_>>().join(" ");
    let quoted = running.split('`').skip(1).step_by(2);
    let ours = quoted.filter(|it| it.starts_with("megaton "));
    ours.map(str::to_owned).collect()
}

/// A line with a command of ours: the command, and the options that it is given.
fn told(line: &str) -> Option<(&str, Vec<&str>)> {
    let (_, arguments) = line.rsplit_once("megaton ")?;
    let mut arguments = arguments.split_whitespace();
    let command = arguments
        .next()
        .filter(|c| c.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !c.starts_with('-'))?;
    let options = arguments.filter(|a| a.starts_with("--"));
    let options = options.map(|a| a.split('=').next().unwrap_or_default());
    Some((command, options.collect()))
}

#[test]
fn every_command_in_the_docs_exists() {
    for (paper, least) in [("README.md", 6), ("docs/operating.md", 20)] {
        let text = fs::read_to_string(root().join(paper)).expect(paper);
        let mut lines = command_lines(&text);
        if paper != "README.md" {
            lines.extend(inline_commands(&text));
        }
        let mut seen = 0;
        for line in lines {
            let typed = line.replace("cargo run --release --", "megaton");
            let Some((command, options)) = told(&typed) else {
                continue;
            };
            let help = megaton(&[command, "--help"]);
            assert_eq!(help.status, Some(0), "{paper}: {line}");
            for option in options {
                assert!(help.stdout.contains(option), "{paper}: {line}: no {option}");
            }
            seen += 1;
        }
        assert!(seen >= least, "only {seen} commands in {paper}");
    }
}

#[test]
fn every_link_in_the_docs_resolves() {
    for paper in ["README.md", "docs/architecture.md", "docs/operating.md"] {
        let path = root().join(paper);
        let text = fs::read_to_string(&path).expect(paper);
        for part in text.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || target.contains("://") {
                continue;
            }
            let folder = path.parent().unwrap_or(Path::new("."));
            assert!(folder.join(file).exists(), "{paper} links to {target}");
        }
    }
}
