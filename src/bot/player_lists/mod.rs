//! Who is blocked, allowed, welcome: names in the config, in files, and at addresses.
//!
//! The lists that a challenge is judged by are in memory; no challenge ever waits for a file or for
//! the network. What could not be read keeps the names it had.
//!
//! * `names`: the lists themselves, and how a text is read as one; pure
//! * `kept`: the last good copy of an address's names, on disk
//! * `refresher`: the task that reads files and addresses now and then

mod cache;
mod names;
mod refresher;

pub use names::{ListParseError, PlayerLists, read_names};
pub use refresher::{ListRefresher, ListSources, ListState};
