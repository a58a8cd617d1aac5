//! What the bot says in the chat of a game.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[chat]`: what it says. Each text is a template, see [`crate::config::Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chat {
    pub humans: bool,
    pub bots: bool,
    /// Said to the opponent as the game begins; empty for nothing.
    pub greeting: String,
    /// Said to the opponent when it is over.
    pub goodbye: String,
    /// Said to those who look on as the game begins.
    pub spectator_greeting: String,
    /// Said to them when it is over.
    pub spectator_goodbye: String,
    /// Answer commands such as `!help`.
    pub commands: bool,
    /// Least time between two lines of ours in a game.
    #[serde(with = "units::seconds")]
    pub pause: Duration,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            humans: true,
            bots: false,
            greeting:
                "Good luck, {opponent}! I am {me}, an atomic engine. Type !help for commands."
                    .to_owned(),
            goodbye: "Good game, {opponent}!".to_owned(),
            spectator_greeting: String::new(),
            spectator_goodbye: String::new(),
            commands: true,
            pause: Duration::from_secs(3),
        }
    }
}
