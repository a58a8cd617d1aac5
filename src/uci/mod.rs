//! The engine for chess programs, over the Universal Chess Interface.
//!
//! Reads commands, drives one [`Engine`](crate::engine::Engine) and writes only what the protocol allows.
//! It answers any input or says `info string error: …`; it never panics and never leaves a `go` without
//! its `bestmove`.

mod command;
mod describe;
mod options;
mod output;
mod session;

use std::io::{self, BufRead, Write};

use command::Command;
use session::{Next, Session};

use crate::engine::Evaluator;

/// Speak UCI until `quit` or the end of the input.
///
/// At the end of the input a search with an end of its own is finished first; an endless one is
/// stopped. Until `EvalFile` is set, `evaluator` judges positions.
pub fn run(
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
    evaluator: Evaluator,
) -> io::Result<()> {
    let mut session = Session::new(output, evaluator);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            session.finish();
            return Ok(());
        }
        let command = Command::parse(&String::from_utf8_lossy(&line));
        if session.obey(command)? == Next::Quit {
            session.quit();
            return Ok(());
        }
    }
}

/// [`run`] on the standard streams.
pub fn run_stdio(evaluator: Evaluator) -> io::Result<()> {
    run(io::stdin().lock(), io::stdout(), evaluator)
}

#[cfg(test)]
mod tests;
