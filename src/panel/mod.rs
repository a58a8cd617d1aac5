//! The operator's way to a running bot: a control socket in the data folder and its other end, and a
//! page.
//!
//! One line of JSON in, one line of JSON out. The panel passes on what it is told and knows nothing
//! of games; however many clients it has and whatever they send, the bot is never slowed.
//!
//! * `wire`: what goes over the socket
//! * `server`: the bot's end; `client`: the end of a command
//! * `reload`: the config, read again
//! * `watch`: one look at the bot a second, for everybody
//! * `http`: the page

mod client;
mod http;
mod reload;
mod server;
mod watch;
mod wire;

pub use client::{Unreachable, ask};
pub use http::{Http, HttpError, KeyError, Sources};
pub use reload::{Reload, Reloader};
pub use server::{Panel, PanelError};
pub use watch::{Seen, Watch, Watcher};
pub use wire::{Answer, LONGEST, Password, Request};
