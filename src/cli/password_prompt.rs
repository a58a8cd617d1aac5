//! A question whose answer is not shown.
//!
//! However it ends, by Enter or by Ctrl-C, the terminal shows again what is typed: not every shell
//! sees to that.

use std::io::{self, Read};

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::failure::Failure;
use super::prompt::{line, say};

/// What is typed after this prompt, without blanks around it, and not shown where the terminal can
/// do that.
pub(super) fn secret(prompt: &str) -> Result<String, Failure> {
    let Some(hidden) = HiddenInput::begin() else {
        return line(prompt);
    };
    say(prompt)?;
    let typed = hidden.line();
    let interrupt = hidden.interrupt();
    drop(hidden);
    // The Enter was not shown either.
    say("\n")?;
    let mut typed = typed?;
    match typed.pop() {
        Some(b'\n') => {}
        Some(last) if last == interrupt => {
            // Only now what the key would have done at once.
            kill_process(getpid(), Signal::INT).map_err(io::Error::from)?;
            return Err(Failure::failed("nothing done"));
        }
        _ => return Err(Failure::failed("no answer: stdin is closed")),
    }
    let text = String::from_utf8(typed);
    let text = text.map_err(|_| Failure::failed("the input is not valid UTF-8"))?;
    Ok(text.trim().to_owned())
}

/// A terminal that does not show what is typed, and ends a line at its interrupt key, until this is
/// dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    /// Nothing where stdin is no terminal.
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let hidden = Self(before);
        let mut silent = hidden.0.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.special_codes[SpecialCodeIndex::VEOL] = hidden.interrupt();
        silent.special_codes[SpecialCodeIndex::VINTR] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(hidden)
    }

    /// The key that ends a program, Ctrl-C as a rule.
    fn interrupt(&self) -> u8 {
        self.0.special_codes[SpecialCodeIndex::VINTR]
    }

    /// What is typed, with the Enter or the interrupt that ends it; at the end of stdin without.
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
