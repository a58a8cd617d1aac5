//! The typed configuration: settings, defaults and error messages.
//!
//! A config is read whole or refused with one message that names line, key and remedy. It holds no
//! secret: the token comes from a file that it names or from the environment, and a token in the TOML is
//! refused without being repeated.

mod diff;
mod effective;
mod error;
mod keys;
mod load;
mod schema;
mod secret_files;
mod settings;
mod suggestion;
mod units;
mod validation;
mod values;

pub use effective::Override;
pub use error::{ConfigError, Fault};
pub use keys::{Key, Section, Takes};
pub use schema::schema;
pub use settings::{
    AlertFormat, Alerts, Archive, Arena, BookRules, BookSelection, Challenge, Chat, Clock,
    ColorWish, Config, Correspondence, Data, Draw, Engine, ExperienceRules, Explorer, Format, Game,
    Guard, Level, Lichess, Limits, Log, MESSAGE_KINDS, Matchmaking, OnlineTables, Panel, Prefer,
    Profile, Resign, SECTIONS, ShutdownRules, Takeback, Variety, Visitors,
};
pub use validation::foreign_teams;
pub use values::{
    ArenaId, CasualLevel, DAYS, Entry, Hours, MAX_LINE, Template, TimeRule, Words, is_offered,
    may_be_rated, without_query,
};
