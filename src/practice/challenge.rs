//! A challenge, its states, and the reasons for declining one.

use super::game_settings::{ColorWish, GameSettings};
use super::time::Millis;
use super::wire::Variant;
use crate::rules::Color;

/// The terms of a challenge, already checked.
#[derive(Clone, Debug)]
pub(crate) struct ChallengeRequest {
    pub(crate) settings: GameSettings,
    pub(crate) color: ColorWish,
    pub(crate) variant: Variant,
    pub(crate) rules: Vec<String>,
    pub(crate) rematch_of: Option<String>,
}

/// The state of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChallengeState {
    Created,
    /// No stream keeps it alive; it can still be accepted.
    Offline,
    Canceled,
    Declined(Reason),
    Accepted,
}

impl ChallengeState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Offline => "offline",
            Self::Canceled => "canceled",
            Self::Declined(_) => "declined",
            Self::Accepted => "accepted",
        }
    }

    pub(crate) fn is_pending(self) -> bool {
        matches!(self, Self::Created | Self::Offline)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ServerChallenge {
    pub(crate) id: String,
    pub(crate) challenger: String,
    pub(crate) dest: String,
    pub(crate) request: ChallengeRequest,
    /// The challenger's colour, drawn at random if requested.
    pub(crate) color: Color,
    pub(crate) status: ChallengeState,
    pub(crate) created: Millis,
    /// When it was last kept alive.
    pub(crate) seen: Millis,
    /// Streams that keep it alive now.
    pub(crate) keepers: u32,
}

impl ServerChallenge {
    /// Whether `user` is one of the two.
    pub(crate) fn concerns(&self, user: &str) -> bool {
        self.challenger == user || self.dest == user
    }
}

/// Why a challenge is declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// The key in lower case, as the other side receives it.
    pub(crate) key: &'static str,
    /// Its text for people.
    pub(crate) text: &'static str,
}

const REASONS: [Reason; 11] = [
    Reason {
        key: "generic",
        text: "I am not taking challenges right now.",
    },
    Reason {
        key: "later",
        text: "Not now; please ask again later.",
    },
    Reason {
        key: "toofast",
        text: "That is too fast for me; please offer a slower game.",
    },
    Reason {
        key: "tooslow",
        text: "That is too slow for me; please offer a faster game.",
    },
    Reason {
        key: "timecontrol",
        text: "I do not play at this time control.",
    },
    Reason {
        key: "rated",
        text: "Please make it a rated game.",
    },
    Reason {
        key: "casual",
        text: "Please make it a casual game.",
    },
    Reason {
        key: "standard",
        text: "I play standard chess only for now.",
    },
    Reason {
        key: "variant",
        text: "I do not play this variant.",
    },
    Reason {
        key: "nobot",
        text: "I do not play bots.",
    },
    Reason {
        key: "onlybot",
        text: "I play bots only.",
    },
];

impl Reason {
    /// The reason with that key in any letter case; unknown keys are generic.
    pub(crate) fn of(key: &str) -> Self {
        let key = key.to_lowercase();
        REASONS
            .into_iter()
            .find(|reason| reason.key == key)
            .unwrap_or(REASONS[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_in_any_case_and_sent_in_lower_case() {
        assert_eq!(Reason::of("tooFast").key, "toofast");
        assert_eq!(Reason::of("NOBOT").key, "nobot");
        assert_eq!(Reason::of("whatever").key, "generic");
        assert_eq!(Reason::of("").key, "generic");
    }
}
