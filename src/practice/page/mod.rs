//! The page on which a person plays the bot: its files, its small API, and its visitors.
//!
//! It serves only requests of its own pages: those from another origin or for another host name are
//! refused.

mod analysis;
mod assets;
mod routes;
mod snapshot;
mod sse;
mod visitor;

pub(super) use routes::{Page, router};
pub(super) use visitor::VISITOR;
