//! The page on which a person plays the bot: its files, its small API, and its visitors.
//!
//! It answers only pages served by this server: a request from another origin, or by another host name,
//! is refused.

mod assets;
mod routes;
mod snapshot;
mod sse;
mod visitor;

pub(super) use routes::{Page, router};
