//! The operator's page, probes and metrics over HTTP.
//!
//! It subscribes to the bot; the bot never waits for it, and no request slows a game.
//!
//! * `server`: opens the page with a config, and serves it
//! * `listener`: connections and their limits; `auth`: who may ask; `session`: password and sessions
//! * `app_state`, `responses`: what all routes share; `routes`: the routes
//! * `health`: probes and metrics
//! * `assets`: the pages' files; `commands`: the operator's commands
//! * `live_updates`: builds each update once for all pages; `view_state`: its sections; `sse`: the stream
//!   to one page
//! * `archive_access`: reads the archive; `game_queries`: finished games; `replay`: a game
//!   replayed; `history`: past challenges and events; `dto`: what the pages receive

mod app_state;
mod archive_access;
mod assets;
mod auth;
mod commands;
mod dto;
mod game_queries;
mod health;
mod history;
mod listener;
mod live_updates;
mod replay;
mod responses;
mod routes;
mod server;
mod session;
mod sse;
mod view_state;

pub use app_state::HttpSources;
pub use listener::Timeouts;
pub use server::{Http, HttpError};
pub(super) use session::read_password;
pub use session::{KeyError, Password, check_password};
