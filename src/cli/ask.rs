//! Questions on the terminal.
//!
//! Whoever is no person is not asked: a script that says so means it. Questions go to stderr, so
//! that results can be taken from stdout.

use std::io::{self, BufRead, IsTerminal, Write};

use super::failure::Failure;

/// Goes on if the person at the terminal says yes, or nobody is there to ask, or `sure`.
pub(super) fn confirm(question: &str, sure: bool) -> Result<(), Failure> {
    if sure || !io::stdin().is_terminal() {
        return Ok(());
    }
    let answer = line(&format!("{question} [y/N] "))?;
    if is_yes(&answer) {
        Ok(())
    } else {
        Err(Failure::failed("nothing was done"))
    }
}

/// What is typed after this prompt, without blanks around it.
pub(super) fn line(prompt: &str) -> Result<String, Failure> {
    say(prompt)?;
    let mut typed = String::new();
    if io::stdin().lock().read_line(&mut typed)? == 0 {
        return Err(Failure::failed("the answer is missing: stdin has ended"));
    }
    Ok(typed.trim().to_owned())
}

/// What is typed after this prompt and not shown, where the terminal can do that.
pub(super) fn secret(prompt: &str) -> Result<String, Failure> {
    let hidden = Hidden::begin();
    let typed = line(prompt);
    if hidden.is_some() {
        // The Enter was not shown either.
        say("\n")?;
    }
    typed
}

/// Something for the person, beside the results.
pub(super) fn say(text: &str) -> Result<(), Failure> {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()?;
    Ok(())
}

/// Whether an answer means yes.
fn is_yes(answer: &str) -> bool {
    answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")
}

/// A terminal that does not show what is typed, until this is dropped.
#[cfg(unix)]
struct Hidden(rustix::termios::Termios);

#[cfg(unix)]
impl Hidden {
    fn begin() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let before = tcgetattr(io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(Self(before))
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    const fn begin() -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for yes in ["y", "Y", "yes", "YES"] {
            assert!(is_yes(yes));
        }
        for no in ["", "n", "no", "yess", "ja", "1"] {
            assert!(!is_yes(no));
        }
    }
}
