//! The settings of an arena. Plain data, all times in seconds and minutes of Lichess.

use crate::practice::game_settings::{GameSettings, TimeControl};

/// The settings of an arena. By default rated, one hour long, open to bots.
#[derive(Clone, Debug)]
pub struct ArenaPlan {
    pub name: String,
    /// The variant's key. Only atomic games are started: players of others wait in vain.
    pub variant: String,
    /// Whether bots may play.
    pub bots_allowed: bool,
    /// Seconds on the clock at the start.
    pub limit: u32,
    /// Seconds added after a move.
    pub increment: u32,
    pub rated: bool,
    /// Seconds until it begins.
    pub starts_in: u32,
    /// How long it lasts.
    pub minutes: u32,
    /// The password required to join.
    pub password: Option<String>,
    /// Only members of this team may join.
    pub team: Option<String>,
    /// Teams that play against each other; a joining player names one.
    pub battle: Vec<String>,
    /// The minimum rating to join.
    pub min_rating: Option<i32>,
}

impl Default for ArenaPlan {
    fn default() -> Self {
        Self {
            name: "Atomic Arena".to_owned(),
            variant: "atomic".to_owned(),
            bots_allowed: true,
            limit: 180,
            increment: 2,
            rated: true,
            starts_in: 0,
            minutes: 60,
            password: None,
            team: None,
            battle: Vec::new(),
            min_rating: None,
        }
    }
}

impl ArenaPlan {
    pub(in crate::practice) fn settings(&self) -> GameSettings {
        GameSettings {
            time: TimeControl::Clock {
                limit: self.limit,
                increment: self.increment,
            },
            rated: self.rated,
        }
    }

    /// All teams that matter here.
    pub(in crate::practice) fn teams(&self) -> impl Iterator<Item = &String> {
        self.team.iter().chain(&self.battle)
    }
}
