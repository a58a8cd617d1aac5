//! Every reason to refuse a challenge, in order of weight.
//!
//! If several apply, one reason is sent: the one that spares the challenger a useless second try. First what
//! no other challenge would change: the opponent (the kind before the name: "bots only" tells more than
//! "no"). A challenger told "not this variant" who comes back with atomic, only to hear "no bots", was sent
//! round for nothing. Then what another challenge would change, the largest change first: variant, time,
//! mode, colour, special rules. Last what only time changes: too often today, no free slot.

use std::fmt;

use crate::lichess::DeclineReason;

/// Why a challenge is not taken. The earlier one weighs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChallengeRule {
    /// We sent it ourselves.
    OurOwn,
    /// It is for someone else.
    NotForUs,
    /// It waits for no answer any more.
    Closed,
    /// The challenger is a bot, and bots are not played.
    NoBots,
    /// The challenger is no bot, and only bots are played.
    NoHumans,
    /// The challenger is on a block list.
    Blocked,
    /// There is an allow list, and the challenger is not on it.
    NotAllowed,
    /// The challenger's rating is too low, or unknown where a least one is asked for.
    RatingTooLow,
    /// The challenger's rating is too high.
    RatingTooHigh,
    /// The challenger's rating is too far from ours.
    RatingTooFar,
    /// The challenger's rating is provisional or unknown.
    Provisional,
    /// Another variant than atomic.
    Variant,
    /// Another start than the usual one.
    StartPosition,
    /// Lichess lets no bot play so short a game.
    UltraBullet,
    /// A way of timing that this program does not know.
    UnknownTime,
    /// Games of days a move are not played.
    NoCorrespondence,
    /// Games without any limit of time are not played.
    NoUnlimited,
    /// Too few days a move.
    FewDays,
    /// Too many days a move.
    ManyDays,
    /// Too little time at the start.
    ShortBase,
    /// Too much time at the start.
    LongBase,
    /// Too little time added a move.
    SmallIncrement,
    /// Too much time added a move.
    LargeIncrement,
    /// Not among the time controls that are listed.
    TimeNotListed,
    /// The game would last too long.
    LongGame,
    /// Bullet without an increment.
    BulletWithoutIncrement,
    /// Rated atomic needs a clock.
    RatedWithoutClock,
    /// Rated games are not played.
    NoRated,
    /// Casual games are not played.
    NoCasual,
    /// Rated play rests after too many losses.
    RatedRests,
    /// We would get the other colour.
    Color,
    /// It comes with special rules that we do not play by.
    SpecialRules,
    /// Lichess says that a bot cannot play it.
    Incompatible,
    /// Enough games with this opponent at this moment.
    AtOnce,
    /// Enough challenges of this opponent in a short time.
    Repeats,
    /// Enough rematches in a row.
    Rematches,
    /// Enough games with this opponent today.
    PerDay,
    /// Enough games of this kind today.
    TotalPerDay,
    /// They left us waiting for their first move too often today.
    NoShows,
    /// The program is about to end.
    Draining,
    /// The operator has paused it.
    Paused,
    /// Something is wrong that an operator has to look at.
    Alarm,
    /// The day's games against bots are used up, or accepting bots rests.
    BotsSpent,
    /// Every slot is taken.
    NoSeat,
}

impl ChallengeRule {
    /// Every rule, the weightiest first.
    pub const ALL: &'static [Self] = &[
        Self::OurOwn,
        Self::NotForUs,
        Self::Closed,
        Self::NoBots,
        Self::NoHumans,
        Self::Blocked,
        Self::NotAllowed,
        Self::RatingTooLow,
        Self::RatingTooHigh,
        Self::RatingTooFar,
        Self::Provisional,
        Self::Variant,
        Self::StartPosition,
        Self::UltraBullet,
        Self::UnknownTime,
        Self::NoCorrespondence,
        Self::NoUnlimited,
        Self::FewDays,
        Self::ManyDays,
        Self::ShortBase,
        Self::LongBase,
        Self::SmallIncrement,
        Self::LargeIncrement,
        Self::TimeNotListed,
        Self::LongGame,
        Self::BulletWithoutIncrement,
        Self::RatedWithoutClock,
        Self::NoRated,
        Self::NoCasual,
        Self::RatedRests,
        Self::Color,
        Self::SpecialRules,
        Self::Incompatible,
        Self::AtOnce,
        Self::Repeats,
        Self::Rematches,
        Self::PerDay,
        Self::TotalPerDay,
        Self::NoShows,
        Self::Draining,
        Self::Paused,
        Self::Alarm,
        Self::BotsSpent,
        Self::NoSeat,
    ];

    /// What it says, in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::OurOwn => "our own challenge",
            Self::NotForUs => "for another account",
            Self::Closed => "no longer open",
            Self::NoBots => "bots are not accepted",
            Self::NoHumans => "only bots are accepted",
            Self::Blocked => "the challenger is blocked",
            Self::NotAllowed => "the challenger is not on the allow list",
            Self::RatingTooLow => "the challenger's rating is too low",
            Self::RatingTooHigh => "the challenger's rating is too high",
            Self::RatingTooFar => "the challenger's rating is too far from ours",
            Self::Provisional => "the challenger's rating is provisional",
            Self::Variant => "only atomic is accepted",
            Self::StartPosition => "only the standard start position is accepted",
            Self::UltraBullet => "too short: Lichess does not allow bots to play it",
            Self::UnknownTime => "unknown time control type",
            Self::NoCorrespondence => "correspondence games are not accepted",
            Self::NoUnlimited => "unlimited games are not accepted",
            Self::FewDays => "too few days per move",
            Self::ManyDays => "too many days per move",
            Self::ShortBase => "initial time too short",
            Self::LongBase => "initial time too long",
            Self::SmallIncrement => "increment too small",
            Self::LargeIncrement => "increment too large",
            Self::TimeNotListed => "time control not in the list",
            Self::LongGame => "game would last too long",
            Self::BulletWithoutIncrement => "bullet is accepted only with an increment",
            Self::RatedWithoutClock => "Lichess rates atomic only with a clock",
            Self::NoRated => "rated games are not accepted",
            Self::NoCasual => "casual games are not accepted",
            Self::RatedRests => "rated games are paused after too many losses",
            Self::Color => "we would get the wrong colour",
            Self::SpecialRules => "special rules that are not accepted",
            Self::Incompatible => "Lichess says bots cannot play it",
            Self::AtOnce => "too many concurrent games with this opponent",
            Self::Repeats => "too many challenges from this opponent in a short time",
            Self::Rematches => "too many rematches in a row",
            Self::PerDay => "daily limit of games with this opponent reached",
            Self::TotalPerDay => "daily limit of games with this kind of opponent reached",
            Self::NoShows => "opponent repeatedly failed to make the first move",
            Self::Draining => "the bot is shutting down",
            Self::Paused => "paused by the operator",
            Self::Alarm => "an alert needs the operator",
            Self::BotsSpent => "daily limit of bot games reached",
            Self::NoSeat => "every slot is taken",
        }
    }

    /// Whether it is one of those about time, which speak with one voice.
    pub(super) fn is_about_time(self) -> bool {
        (Self::UltraBullet..=Self::BulletWithoutIncrement).contains(&self)
    }
}

impl fmt::Display for ChallengeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A rule that speaks against a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: ChallengeRule,
    /// What the challenger would be told if it were the only one.
    pub reason: DeclineReason,
    /// What was asked for and what is accepted, with the key of the config; may be empty.
    pub detail: String,
}

impl Violation {
    pub(super) fn new(
        rule: ChallengeRule,
        reason: DeclineReason,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            reason,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.sentence())?;
        if self.detail.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_rules_is_whole_and_in_order() {
        assert!(ChallengeRule::ALL.is_sorted());
        assert_eq!(ChallengeRule::ALL.first(), Some(&ChallengeRule::OurOwn));
        assert_eq!(ChallengeRule::ALL.last(), Some(&ChallengeRule::NoSeat));
        // The numbers of a field-less enum run from 0.
        let last = ChallengeRule::NoSeat as usize;
        assert_eq!(ChallengeRule::ALL.len(), last + 1);
    }

    #[test]
    fn no_two_rules_say_the_same() {
        let mut sentences: Vec<_> = ChallengeRule::ALL
            .iter()
            .map(|rule| rule.sentence())
            .collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), ChallengeRule::ALL.len());
    }

    #[test]
    fn an_objection_says_what_was_asked_for() {
        let bare = Violation::new(ChallengeRule::NoSeat, DeclineReason::Later, "");
        assert_eq!(bare.to_string(), "every slot is taken");
        let told = Violation::new(
            ChallengeRule::LongBase,
            DeclineReason::TooSlow,
            "60 s, at most 30",
        );
        assert_eq!(told.to_string(), "initial time too long (60 s, at most 30)");
    }
}
