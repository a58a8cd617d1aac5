//! The operator's page and what else is asked over HTTP.
//!
//! It listens to the bot and is told nothing that the bot would have to wait for. Whatever comes in,
//! however much of it and from whomever, costs the games nothing.
//!
//! * `door`: the listener and its limits; `gate`: who may ask; `key`: the password and sessions
//! * `site`: what the addresses share; `routes`: the addresses
//! * `assets`: the files of the pages; `steer`: what an operator tells the bot

mod assets;
mod door;
mod gate;
mod key;
mod routes;
mod server;
mod site;
mod steer;

pub use key::KeyError;
pub use server::{Http, HttpError, Sources};
