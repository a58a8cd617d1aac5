//! The typed configuration: what may be set, its defaults, and its complaints.
//!
//! A config is read whole or refused with one message that names the line, the key and what would
//! be right. It holds no secret: the token comes from a file it names or from the environment, and
//! a token written into the TOML is refused without being repeated.

mod error;
mod keys;
mod load;
mod nearest;
mod settings;
mod units;

pub use error::{ConfigError, Fault};
pub use keys::{KEYS, Key, Takes};
pub use settings::{Challenge, Config, Engine, Format, Game, Level, Lichess, Log};
