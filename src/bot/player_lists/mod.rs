//! Blocked, allowed and favoured players: names in the config, in files, and at URLs.
//!
//! The policy reads the lists from memory, so no challenge waits for a file or the network. A source
//! that cannot be read keeps its last names.
//!
//! * `names`: the lists, and the parser; pure
//! * `cache`: the last good copy of a URL's names, on disk
//! * `refresher`: the task that reads files and URLs now and then

mod cache;
mod names;
mod refresher;

pub use names::{ListParseError, PlayerLists, read_names};
pub use refresher::{ListRefresher, ListSources, ListState};
