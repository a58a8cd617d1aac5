//! How strongly the bot plays casual games against humans.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

use crate::engine::Level;

/// Strength in casual games against humans: one of [`crate::engine::LEVELS`], or all of it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames, IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CasualLevel {
    Beginner,
    Easy,
    Medium,
    Hard,
    Expert,
    Full,
}

impl CasualLevel {
    /// The level of a game outside arenas, if it is not played at full strength.
    pub fn of_game(self, rated: bool, opponent_is_bot: bool) -> Option<Level> {
        Level::named(self.into()).filter(|_| !rated && !opponent_is_bot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::LEVELS;

    #[test]
    fn every_level_of_the_engine_can_be_named() {
        let levels = LEVELS.map(|level| level.name);
        assert_eq!(CasualLevel::VARIANTS, [&levels[..], &["full"]].concat());
        let hard = CasualLevel::Hard;
        assert_eq!(hard.of_game(false, false), Level::named("hard"));
        assert_eq!(hard.of_game(true, false), None, "rated");
        assert_eq!(hard.of_game(false, true), None, "against a bot");
        assert_eq!(CasualLevel::Full.of_game(false, false), None);
    }
}
