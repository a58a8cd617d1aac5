//! `megaton completions` and `megaton man`: shell completions and manual pages, generated from the
//! definition of the command line.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap_complete::Shell;

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton completions bash > ~/.local/share/bash-completion/completions/megaton
  megaton completions zsh > ~/.zfunc/_megaton
  megaton completions fish > ~/.config/fish/completions/megaton.fish")]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

/// Print a manual page, of the program or of one command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton man | man -l -
  megaton man run | man -l -
  megaton man tournament join | man -l -
  megaton man --out ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Command, and subcommand if any [default: the whole program]
    command: Vec<String>,
    /// Write all pages into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
}

impl Completions {
    pub(crate) fn execute(&self, mut program: clap::Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut program, "megaton", &mut text);
        Ok(io::stdout().lock().write_all(&text)?)
    }
}

impl Man {
    pub(crate) fn execute(&self, program: clap::Command) -> Result<(), Failure> {
        let pages = pages(program);
        if let Some(folder) = &self.out {
            let count = write_all(pages, folder)?;
            return output::print(format!("{count} pages in {}", folder.display()));
        }
        let mut page = &pages;
        for name in &self.command {
            page = page.find_subcommand(name).ok_or_else(|| {
                let words = self.command.join(" ");
                Failure::setup(format!("no such command: {words}"))
            })?;
        }
        let text = render(page.clone())?;
        Ok(io::stdout().lock().write_all(&text)?)
    }
}

/// The definition of the command line, with every command named in full.
fn pages(program: clap::Command) -> clap::Command {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    program
}

fn render(page: clap::Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let title = name_of(&page).to_uppercase();
    // Without a date the same program makes the same pages.
    clap_mangen::Man::new(page)
        .title(title)
        .manual("Megaton")
        .render(&mut text)?;
    Ok(text)
}

fn name_of(page: &clap::Command) -> String {
    page.get_display_name()
        .unwrap_or(page.get_name())
        .to_owned()
}

/// Writes every page, and returns how many there are.
fn write_all(pages: clap::Command, folder: &Path) -> Result<usize, Failure> {
    fs::create_dir_all(folder).or_failed(folder.display())?;
    let mut waiting = vec![pages];
    let mut count = 0;
    // A page refers to the pages of its subcommands, so they must exist too.
    while let Some(page) = waiting.pop() {
        waiting.extend(page.get_subcommands().cloned());
        let file = folder.join(format!("{}.1", name_of(&page)));
        fs::write(file, render(page)?).or_failed(folder.display())?;
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::program;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        write_all(pages(program()), folder.path()).unwrap();
        for command in program().get_subcommands() {
            let page = folder
                .path()
                .join(format!("megaton-{}.1", command.get_name()));
            let text = fs::read_to_string(&page).unwrap();
            assert!(text.contains(".SH SYNOPSIS"), "{}", page.display());
        }
        let text = fs::read_to_string(folder.path().join("megaton.1")).unwrap();
        assert!(
            text.contains("megaton\\-run") || text.contains("megaton-run"),
            "{text}"
        );
    }

    #[test]
    fn every_referenced_manual_page_exists() {
        let folder = tempfile::tempdir().unwrap();
        let count = write_all(pages(program()), folder.path()).unwrap();
        let pages: Vec<PathBuf> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(pages.len(), count);
        assert!(folder.path().join("megaton-tournament-join.1").exists());
        let mut named = 0;
        for page in pages {
            let text = fs::read_to_string(&page).unwrap().replace("\\-", "-");
            let listed = text.lines().filter_map(|line| line.strip_suffix("(1)"));
            for name in listed.filter(|name| name.starts_with("megaton-")) {
                let other = folder.path().join(format!("{name}.1"));
                assert!(other.exists(), "{} names {name}", page.display());
                named += 1;
            }
        }
        // Each but that of the program as a whole, by the one above it.
        assert_eq!(named, count - 1);
    }

    #[test]
    fn every_shell_completes_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut program(), "megaton", &mut text);
            let text = String::from_utf8(text).unwrap();
            for name in ["run", "explain-challenge", "resign"] {
                assert!(text.contains(name), "{shell}: {name}");
            }
        }
    }
}
