//! What an arena is like. Plain data, all times in seconds and minutes of Lichess.

use crate::practice::game_settings::{GameSettings, TimeControl};

/// What an arena is like. The default is a rated one of an hour that admits bots.
#[derive(Clone, Debug)]
pub struct ArenaPlan {
    pub name: String,
    /// The key of what is played. Only atomic is: players of others wait in vain.
    pub variant: String,
    /// Whether bots may play.
    pub bots_allowed: bool,
    /// Seconds on the clock at the start.
    pub limit: u32,
    /// Seconds added after a move.
    pub increment: u32,
    pub rated: bool,
    /// It begins after so many seconds.
    pub starts_in: u32,
    /// How long it lasts.
    pub minutes: u32,
    /// The password to join.
    pub password: Option<String>,
    /// Only members of this team come in.
    pub team: Option<String>,
    /// Teams that play against each other; a joining player names one.
    pub battle: Vec<String>,
    /// The least rating to join.
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

    /// Every team that matters here.
    pub(in crate::practice) fn teams(&self) -> impl Iterator<Item = &String> {
        self.team.iter().chain(&self.battle)
    }
}
