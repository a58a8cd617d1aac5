//! A challenge, its states, and the reasons for declining one.

use strum::{EnumMessage, EnumString, IntoStaticStr};

use super::game_settings::{ColorWish, GameSettings, TimeControl};
use super::time::{Millis, Timing};
use super::wire::Variant;
use crate::rules::Color;

/// Seconds for which a challenge without a clock can be accepted.
const LIFETIME_UNCLOCKED: u64 = 14 * 86_400;

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

    fn has_clock(&self) -> bool {
        matches!(self.request.settings.time, TimeControl::Clock { .. })
    }

    /// When it goes offline, unless something keeps it alive until then.
    pub(super) fn goes_offline(&self, timing: &Timing) -> Option<Millis> {
        let is_seen = self.status == ChallengeState::Created && self.has_clock();
        (is_seen && self.keepers == 0).then(|| self.seen + timing.challenge_offline)
    }

    /// When it is dropped, unless a game came of it.
    pub(super) fn expires(&self, timing: &Timing) -> Millis {
        if self.has_clock() {
            return self.created + timing.challenge_lifetime;
        }
        self.created + timing.seconds(LIFETIME_UNCLOCKED)
    }
}

/// Why a challenge was declined. The message is its text for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub(crate) enum Reason {
    #[default]
    #[strum(message = "I am not taking challenges right now.")]
    Generic,
    #[strum(message = "Not now; please ask again later.")]
    Later,
    #[strum(message = "That is too fast for me; please offer a slower game.")]
    TooFast,
    #[strum(message = "That is too slow for me; please offer a faster game.")]
    TooSlow,
    #[strum(message = "I do not play at this time control.")]
    TimeControl,
    #[strum(message = "Please make it a rated game.")]
    Rated,
    #[strum(message = "Please make it a casual game.")]
    Casual,
    #[strum(message = "I play standard chess only for now.")]
    Standard,
    #[strum(message = "I do not play this variant.")]
    Variant,
    #[strum(message = "I do not play bots.")]
    NoBot,
    #[strum(message = "I play bots only.")]
    OnlyBot,
}

impl Reason {
    /// The reason with that key in any letter case; unknown keys are generic.
    pub(crate) fn of(key: &str) -> Self {
        key.parse().unwrap_or_default()
    }

    /// The key in lower case, as the other side receives it.
    pub(crate) fn key(self) -> &'static str {
        self.into()
    }

    pub(crate) fn text(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_in_any_case_and_sent_in_lower_case() {
        assert_eq!(Reason::of("tooFast").key(), "toofast");
        assert_eq!(Reason::of("NOBOT").key(), "nobot");
        assert_eq!(Reason::of("whatever").key(), "generic");
        assert_eq!(Reason::of("").key(), "generic");
    }
}
