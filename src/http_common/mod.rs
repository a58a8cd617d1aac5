//! What the pages of this program have in common: files that are embedded, and whose request it is.
//!
//! It knows no game and no bot, and opens no socket.
//!
//! * `assets`: a folder of files inside the program
//! * `origin`: whether a request came by this machine's own name and from no other page

mod assets;
mod origin;

pub use assets::{Asset, Kind, embedded, find};
pub use origin::{ForeignRequest, by_own_name, is_from_here};
