//! The command line: one file per command or family in `commands`, everything printed in `output`.
//!
//! A command reads its arguments, wires library modules together and prints results on stdout; logs and
//! errors go to stderr. It holds no logic that another module needs. Exit status: 0 success, 1 failure,
//! 2 a command line, config or account that cannot work; single commands may add others.
//!
//! * `args`: the command line; `setup`: options of several commands; `prompt`: questions
//! * `failure`: exit statuses; `logging`, `runtime`, `malloc`: the process; `log_file`: a new file
//!   each day; `writable`: whether a folder takes files
//! * `plain_text`: text from outside without control characters
//! * `account`, `summary`: token, account and config; `account_bot`: the bot of an account; `services`: what
//!   runs beside it; `shared_process`: several accounts in one process

mod account;
mod account_bot;
mod args;
mod commands;
mod failure;
mod log_file;
mod logging;
mod malloc;
mod output;
mod plain_text;
mod prompt;
mod runtime;
mod services;
mod setup;
mod shared_process;
mod summary;
mod writable;

pub(crate) use args::start;
pub(crate) use failure::EXIT_SETUP;
