//! What both web pages share: embedded files and the check of a request's origin.
//!
//! It knows no game and no bot, and opens no socket.
//!
//! * `assets`: a folder of files embedded in the program
//! * `origin`: whether a request names this machine and comes from no other page

mod assets;
mod origin;

pub use assets::{BOARD, Headers, find};
pub use origin::{ForeignRequest, by_own_name, is_from_here};
