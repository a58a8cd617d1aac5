//! The program: makes sure that the processor can run it, then hands over to one command.

mod cli;
mod cpu;

use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: on a processor that lacks what this was compiled for, anything else may be an
    // illegal instruction.
    if cpu::refuses() {
        return ExitCode::from(cli::EXIT_SETUP);
    }
    cpu::hand_over();
    cli::start()
}
