//! The operator's page and what else is asked over HTTP.
//!
//! It listens to the bot and is told nothing that the bot would have to wait for. Whatever comes in,
//! however much of it and from whomever, costs the games nothing.
//!
//! * `door`: the listener and its limits; `gate`: who may ask; `key`: the password and sessions
//! * `site`: what the addresses share; `routes`: the addresses
//! * `health`: what probes and monitoring systems ask for
//! * `assets`: the files of the pages; `steer`: what an operator tells the bot
//! * `feed`: what is new, put together once for everyone; `view`: its pieces; `sse`: the stream
//!   of them to one page
//! * `queries`: games that are over; `replay`: a game played again; `notes`: challenges and events of
//!   before; `view`: what the pages are told

mod app_state;
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
mod routes;
mod server;
mod session;
mod sse;
mod view_state;

pub use listener::Timeouts;
pub use server::{Http, HttpError, HttpSources};
pub use session::{KeyError, check_password};
