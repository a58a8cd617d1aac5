//! What the two `SQLite` files, the bot's state and the archive, have in common.
//!
//! This module opens a file, checks and migrates it, and runs its writer thread. It knows no table
//! and never touches a file of another program or of a later version.
//!
//! * `schema`: the file's format and the migration steps; `database`: open, check, transactions
//! * `worker`: the thread that owns a file; `row`: writing one row
//! * `error`: errors in the operator's words; `timestamp`: times that survive a restart

mod database;
mod error;
mod row;
mod schema;
mod timestamp;
mod worker;

pub use database::Database;
pub use error::Error;
pub use row::{Column, replace, upsert};
pub use schema::{FileKind, Format, Schema};
pub use timestamp::Timestamp;
pub use worker::Worker;
