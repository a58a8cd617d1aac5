//! Megaton: a Lichess bot that plays atomic chess, and the engine inside it.
//!
//! The rooms of the house, highest floor first; a room may use the floors below its own only.
//! `docs/architecture.md` is the plan.

pub mod match_runner;
#[cfg(unix)]
pub mod panel;
pub mod practice;
pub mod uci;

pub mod bot;
pub mod training;

pub mod archive;
pub mod config;
pub mod store;
pub mod tablebase;

pub mod engine;
pub mod http_common;
pub mod lichess;
pub mod sqlite;

pub mod rules;
