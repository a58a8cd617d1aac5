//! Matches and openings as a user runs them: `megaton match` and `megaton openings`.
//!
//! Players are this program, in process or as a child, and tiny scripts that misbehave.

mod clocks;
mod external_engines;
mod games;
mod openings;
mod resume;
mod specs;
#[cfg(feature = "tune")]
mod tune;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Level positions, enough for twenty games.
const OPENINGS: &str = include_str!("openings.epd");

/// What came of one start of the program.
#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// What the table says under a name.
    fn field(&self, name: &str) -> &str {
        let mut lines = self.stdout.lines();
        let line = lines.find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name:?} in {self:?}"))
            .trim()
    }

    /// The table without what depends on the machine.
    fn lasting(&self) -> String {
        let lines = self.stdout.lines();
        let lines = lines.filter(|line| !line.starts_with("speed") && !line.starts_with("White"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn megaton(arguments: &[&str]) -> Ran {
    let output = command(arguments).output().expect("the program starts");
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// A folder with an opening file, and room for more.
struct Hall {
    folder: TempDir,
}

impl Hall {
    fn new() -> Self {
        let hall = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::write(hall.path("openings.epd"), OPENINGS).expect("the openings");
        hall
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A match from the openings of the hall.
    fn contest(&self, arguments: &[&str]) -> Ran {
        let openings = self.text("openings.epd");
        megaton(&[&["match", "--openings", &openings], arguments].concat())
    }
}

/// This program as a UCI child.
fn ourselves() -> String {
    format!("cmd:'{}' uci", env!("CARGO_BIN_EXE_megaton"))
}

/// The games of a journal, without its heading and without times.
fn games(journal: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(journal).expect("a journal");
    let mut games: Vec<serde_json::Value> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).expect("a game"))
        .collect();
    for game in &mut games {
        for player in ["a", "b"] {
            game[player]["micros"] = 0.into();
        }
    }
    games.sort_by_key(|game| (game["pair"].as_u64(), game["white"].to_string()));
    games
}
