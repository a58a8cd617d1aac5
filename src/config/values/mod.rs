//! Values written as text: names, hours, time controls, templates.
//!
//! Each is parsed once, when the config loads, and reports errors as text. None reads a file, a clock or the
//! network.

mod arena_id;
mod casual_level;
mod entry;
mod hours;
mod template;
mod time_rule;

pub use arena_id::ArenaId;
pub use casual_level::CasualLevel;
pub use entry::{Entry, without_query};
pub use hours::Hours;
pub use template::{MAX_LINE, Template, Words};
pub use time_rule::{DAYS, TimeRule, is_offered, may_be_rated};
