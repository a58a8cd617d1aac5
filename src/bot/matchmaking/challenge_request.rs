//! A challenge to be sent: opponent and terms. Plain data.

use crate::config::Profile;
use crate::lichess::{
    ChallengeOptions, ColorChoice, Speed, TimeControl, UserId, Variant, speed_of,
};

use crate::bot::quota::ChallengeTarget;

/// Origin of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiator {
    /// The rules of the config.
    Rules,
    /// The operator, by command.
    Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeRequest {
    pub to: UserId,
    pub target: ChallengeTarget,
    pub profile: Profile,
    pub color: ColorChoice,
    pub origin: Initiator,
}

impl ChallengeRequest {
    pub fn speed(&self) -> Speed {
        speed_of(self.profile.base, self.profile.increment)
    }

    /// The API call's options.
    pub fn options(&self) -> ChallengeOptions {
        ChallengeOptions {
            rated: self.profile.rated,
            time_control: TimeControl::Clock {
                limit: self.profile.base,
                increment: self.profile.increment,
            },
            color: self.color,
            variant: Variant::Atomic,
            rules: Vec::new(),
            credits: self.target.credits(),
        }
    }

    /// The same with colours reversed; a random colour stays random.
    #[must_use]
    pub fn turned(&self) -> Self {
        let color = match self.color {
            ColorChoice::White => ColorChoice::Black,
            ColorChoice::Black => ColorChoice::White,
            other => other,
        };
        Self {
            color,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn speed_classes_are_those_of_the_server() {
        let speed =
            |base, increment| speed_of(Duration::from_secs(base), Duration::from_secs(increment));
        for (base, increment, expected) in [
            (15, 0, Speed::UltraBullet),
            (30, 0, Speed::Bullet),
            (0, 1, Speed::Bullet),
            (120, 1, Speed::Bullet),
            (180, 0, Speed::Blitz),
            (300, 3, Speed::Blitz),
            (480, 0, Speed::Rapid),
            (900, 10, Speed::Rapid),
            (1500, 0, Speed::Classical),
            (10_800, 180, Speed::Classical),
            (10_800, 300, Speed::Correspondence),
        ] {
            assert_eq!(speed(base, increment), expected, "{base}+{increment}");
        }
    }

    #[test]
    fn a_challenge_request_matches_its_profile() {
        let offer = ChallengeRequest {
            to: UserId::new("nukeengine"),
            target: ChallengeTarget::Human,
            profile: Profile::default(),
            color: ColorChoice::White,
            origin: Initiator::Rules,
        };
        let options = offer.options();
        assert_eq!((options.rated, options.credits), (true, 5));
        assert_eq!(offer.turned().color, ColorChoice::Black);
        assert_eq!(offer.turned().turned(), offer);
    }
}
