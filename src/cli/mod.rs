//! The command line: one file a command. Commands that talk to a running bot share `control_commands`.
//!
//! A command reads its arguments, wires library modules together and prints results on stdout; logs and
//! errors go to stderr. It holds no logic that another module needs. Exit status: 0 success, 1 failure,
//! 2 a command line, config or account that cannot work; single commands may add others.

mod account;
mod account_summary;
mod args;
mod bench;
mod check;
mod config_writer;
#[cfg(unix)]
mod control_commands;
mod data;
mod datagen;
mod engine_match;
mod explain;
mod failure;
mod features_summary;
#[cfg(unix)]
mod game_commands;
#[cfg(unix)]
mod healthcheck;
mod init;
mod logging;
mod malloc;
mod manpage;
mod match_summary;
mod openings;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod password_prompt;
mod paths;
mod perft;
mod practice;
mod prompt;
mod records;
mod run;
mod runtime;
#[cfg(unix)]
mod services;
mod setup;
mod soak;
#[cfg(unix)]
mod status_summary;
mod team_commands;
#[cfg(feature = "train")]
mod train;
mod uci;
mod upgrade;

pub(crate) use args::start;
pub(crate) use failure::EXIT_SETUP;
