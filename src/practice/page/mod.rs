//! The page on which a person plays the bot: its files, its own small API, and the visitors.
//!
//! It answers only pages that this server itself has sent: what comes from another origin, or by
//! another name than this machine's, is refused.

mod assets;
mod origin;
mod routes;
mod snapshot;
mod sse;
mod visitor;

pub(super) use routes::{Page, router};
