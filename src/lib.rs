//! Megaton: a Lichess bot that plays atomic chess, and the engine inside it.
//!
//! The modules are listed by layer, highest first; a module may use only the layers below its own.
//! `docs/architecture.md` has the map and the glossary.

pub mod match_runner;
pub mod panel;
pub mod practice;
pub mod uci;

pub mod bot;
pub mod training;

pub mod archive;
pub mod book;
pub mod config;
pub mod lookup;
pub mod store;
pub mod tablebase;

pub mod engine;
pub mod experience;
pub mod http_common;
pub mod lichess;
pub mod sqlite;

pub mod files;
pub mod rules;
