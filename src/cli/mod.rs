//! The command line: what can be asked of the program, one file a command; the commands that
//! speak to a running bot share `remote`.
//!
//! A command reads its arguments, puts the rooms of the library together and says what came of it
//! on stdout; logs and complaints go to stderr. Exit status 0 is success, 1 a failure at work,
//! 2 a command line, config or account that cannot work as it stands; a command may have more.

mod args;
mod ask;
mod bench;
#[cfg(unix)]
mod beside;
mod check;
mod club;
mod contest;
mod data;
mod datagen;
mod draft;
mod explain;
mod failure;
#[cfg(unix)]
mod healthcheck;
mod heap;
#[cfg(unix)]
mod hidden;
mod identity;
mod init;
#[cfg(unix)]
mod intervene;
mod logging;
mod manual;
mod openings;
mod outlook;
#[cfg(unix)]
mod page;
mod perft;
mod places;
mod practice;
mod records;
#[cfg(unix)]
mod remote;
mod report;
mod run;
mod runtime;
mod setup;
#[cfg(unix)]
mod shown;
mod soak;
mod standing;
#[cfg(feature = "train")]
mod train;
mod uci;
mod upgrade;

pub(crate) use args::start;
pub(crate) use failure::EXIT_SETUP;
