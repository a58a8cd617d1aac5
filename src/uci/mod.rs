//! The engine for chess programs, over the Universal Chess Interface.
//!
//! Reads commands, drives one [`Engine`](crate::engine::Engine) and writes only what the protocol allows.
//! Every input gets an answer or `info string error: …`; no input causes a panic, and every `go` gets its
//! `bestmove`.

mod command;
mod describe;
mod options;
mod output;
mod session;

use std::io::{self, BufRead, Write};

use command::Command;
use session::{Next, Session};

use crate::engine::Evaluator;

/// Runs UCI until `quit` or the end of the input.
///
/// At the end of the input, and before the next command that needs the engine, a limited search
/// finishes and an infinite one is stopped. `evaluator` evaluates positions until `EvalFile` is set.
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
            session.settle();
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
