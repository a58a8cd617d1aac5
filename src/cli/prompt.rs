//! Questions on the terminal.
//!
//! Only a person at a terminal is asked; a script means what it says. Questions go to stderr, so that
//! stdout holds results only.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use secrecy::SecretString;

use super::failure::{Failure, OrFailure as _};
pub(super) use hidden::secret;

/// Succeeds if the person at the terminal agrees, if there is no terminal, or if `sure`.
pub(super) fn confirm(question: &str, sure: bool) -> Result<(), Failure> {
    if sure || !io::stdin().is_terminal() || is_yes(&line(&format!("{question} [y/N] "))?) {
        return Ok(());
    }
    Err(Failure::failed("nothing done"))
}

/// An entry password. Other users see a command line while the command runs, so it may come from a file.
#[derive(Debug, Args)]
pub(super) struct EntryPassword {
    /// Entry password; other users can see it, and shells keep it: prefer --password-file
    #[arg(long, value_name = "WORD")]
    password: Option<SecretString>,
    /// File with the entry password, - for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "password")]
    password_file: Option<PathBuf>,
}

impl EntryPassword {
    pub(super) fn read(self) -> Result<Option<SecretString>, Failure> {
        let Some(path) = self.password_file else {
            return Ok(self.password);
        };
        let text = if path.as_os_str() == "-" {
            secret("Entry password: ")?
        } else {
            let text = fs::read_to_string(&path);
            text.or_setup(format!("--password-file {}", path.display()))?
        };
        match text.trim() {
            "" => Err(Failure::setup(
                "--password-file: there is no password in it",
            )),
            word => Ok(Some(SecretString::from(word))),
        }
    }
}

/// Reads a line after this prompt, without surrounding blanks.
pub(super) fn line(prompt: &str) -> Result<String, Failure> {
    write(prompt)?;
    let mut typed = String::new();
    if io::stdin().lock().read_line(&mut typed)? == 0 {
        return Err(Failure::failed("no answer: stdin is closed"));
    }
    Ok(typed.trim().to_owned())
}

/// Writes a message beside the results, without a line break.
pub(super) fn write(text: &str) -> Result<(), Failure> {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes())?;
    Ok(err.flush()?)
}

fn is_yes(answer: &str) -> bool {
    answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")
}

/// A question whose answer the terminal does not echo.
///
/// The interrupt key must not end the program while echo is off, since not every shell turns it on again.
/// So the key only ends the line, and the program raises the signal itself once the terminal is restored.
/// (The crate `rpassword` leaves echo off when a signal ends the program.)
mod hidden {
    use std::io::{self, Read};

    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    use super::{Failure, line, write};

    /// Reads a line after this prompt, without surrounding blanks. A terminal does not echo it.
    pub(in crate::cli) fn secret(prompt: &str) -> Result<String, Failure> {
        let Some(hidden) = HiddenInput::begin() else {
            return line(prompt);
        };
        write(prompt)?;
        let typed = hidden.line();
        let interrupt = hidden.interrupt();
        drop(hidden);
        // The terminal did not echo Enter either.
        write("\n")?;
        let mut typed = typed?;
        match typed.pop() {
            Some(b'\n') => {}
            Some(last) if last == interrupt => {
                kill_process(getpid(), Signal::INT).map_err(io::Error::from)?;
                return Err(Failure::failed("nothing done"));
            }
            _ => return Err(Failure::failed("no answer: stdin is closed")),
        }
        let text = String::from_utf8(typed);
        let text = text.map_err(|_| Failure::failed("the input is not valid UTF-8"))?;
        Ok(text.trim().to_owned())
    }

    /// Until dropped, the terminal does not echo and ends a line at its interrupt key.
    struct HiddenInput(Termios);

    impl HiddenInput {
        /// `None` if stdin is not a terminal.
        fn begin() -> Option<Self> {
            let hidden = Self(tcgetattr(io::stdin()).ok()?);
            let mut silent = hidden.0.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            silent.special_codes[SpecialCodeIndex::VEOL] = hidden.interrupt();
            silent.special_codes[SpecialCodeIndex::VINTR] = 0;
            tcsetattr(io::stdin(), OptionalActions::Now, &silent).ok()?;
            Some(hidden)
        }

        /// The interrupt key, Ctrl-C as a rule.
        fn interrupt(&self) -> u8 {
            self.0.special_codes[SpecialCodeIndex::VINTR]
        }

        /// Reads up to and including Enter or the interrupt key.
        fn line(&self) -> io::Result<Vec<u8>> {
            let mut typed = Vec::new();
            for byte in io::stdin().lock().bytes() {
                typed.push(byte?);
                if typed.ends_with(b"\n") || typed.ends_with(&[self.interrupt()]) {
                    break;
                }
            }
            Ok(typed)
        }
    }

    impl Drop for HiddenInput {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_confirms() {
        for yes in ["y", "Y", "yes", "YES"] {
            assert!(is_yes(yes));
        }
        for no in ["", "n", "no", "yess", "ja", "1"] {
            assert!(!is_yes(no));
        }
    }
}
