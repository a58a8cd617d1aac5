//! The command line: what can be asked of the program, one file a command.
//!
//! A command reads its arguments, puts the rooms of the library together and says what came of it
//! on stdout; logs and complaints go to stderr. Exit status 0 is success, 1 a failure at work,
//! 2 a command line, config or account that cannot work as it stands.

mod args;
mod bench;
mod check;
mod explain;
mod failure;
mod identity;
mod logging;
mod perft;
mod practice;
mod report;
mod run;
mod runtime;
mod setup;
mod soak;
mod uci;
mod upgrade;

pub(crate) use args::start;
pub(crate) use failure::EXIT_SETUP;
