//! Messages of the bot in a game's chat.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[chat]`: messages of the bot. Each text is a template, see [`crate::config::Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chat {
    pub humans: bool,
    pub bots: bool,
    /// To the opponent at the start; empty for none.
    pub greeting: String,
    /// To the opponent at the end.
    pub goodbye: String,
    /// To the spectators at the start.
    pub spectator_greeting: String,
    /// To the spectators at the end.
    pub spectator_goodbye: String,
    /// Answer commands such as `!help`.
    pub commands: bool,
    /// Minimum time between two messages in a game.
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
