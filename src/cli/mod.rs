//! The command line: what can be asked of the program, one file a command; the commands that
//! speak to a running bot share `remote`.
//!
//! A command reads its arguments, puts the rooms of the library together and says what came of it
//! on stdout; logs and complaints go to stderr. Exit status 0 is success, 1 a failure at work,
//! 2 a command line, config or account that cannot work as it stands; a command may have more.

mod account;
mod account_summary;
mod args;
mod bench;
mod check;
mod config_writer;
mod contest;
#[cfg(unix)]
mod control_commands;
mod data;
mod datagen;
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
