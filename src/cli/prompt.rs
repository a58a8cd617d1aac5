//! Questions on the terminal.
//!
//! Anyone who is no person is not asked: a script that says so means it. Questions go to stderr, so
//! that results can be taken from stdout.

use std::io::{self, BufRead, IsTerminal, Write};

use super::failure::Failure;
#[cfg(unix)]
pub(super) use super::password_prompt::secret;

/// Goes on if the person at the terminal says yes, or no one is there to ask, or `sure`.
pub(super) fn confirm(question: &str, sure: bool) -> Result<(), Failure> {
    if sure || !io::stdin().is_terminal() {
        return Ok(());
    }
    let answer = line(&format!("{question} [y/N] "))?;
    if is_yes(&answer) {
        Ok(())
    } else {
        Err(Failure::failed("nothing done"))
    }
}

/// What is typed after this prompt, without blanks around it.
pub(super) fn line(prompt: &str) -> Result<String, Failure> {
    say(prompt)?;
    let mut typed = String::new();
    if io::stdin().lock().read_line(&mut typed)? == 0 {
        return Err(Failure::failed("no answer: stdin is closed"));
    }
    Ok(typed.trim().to_owned())
}

/// Shown all the same: this terminal cannot hide it.
#[cfg(not(unix))]
pub(super) fn secret(prompt: &str) -> Result<String, Failure> {
    line(prompt)
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
