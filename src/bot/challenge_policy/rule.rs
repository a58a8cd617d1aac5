//! Every reason to refuse a challenge, in order of weight.
//!
//! If several apply, the reason sent is the one that spares the challenger a useless second try.
//! First what no other challenge would change: the opponent, kind before name ("bots only" says more
//! than "no"); "not this variant" would bring an atomic challenge, only to be told "no bots". Then what
//! another challenge would change, the largest change first: variant, time, mode, colour, special
//! rules. Last what only time changes: daily limits, no free slot.

use std::fmt;

use crate::bot::player_lists::PlayerLists;
use crate::lichess::{DeclineReason, UserId};

/// Why a challenge is refused. The earlier one weighs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChallengeRule {
    /// The bot itself sent it.
    OurOwn,
    /// Addressed to another account.
    NotForUs,
    Closed,
    NoBots,
    NoHumans,
    Blocked,
    /// An allow list exists, and the challenger is not on it.
    NotAllowed,
    /// Also an unknown rating where a minimum is set.
    RatingTooLow,
    RatingTooHigh,
    RatingTooFar,
    /// Provisional or unknown rating.
    Provisional,
    Variant,
    StartPosition,
    /// Too short: Lichess does not allow bots to play it.
    UltraBullet,
    /// A time control type that the bot does not know.
    UnknownTime,
    NoCorrespondence,
    NoUnlimited,
    FewDays,
    ManyDays,
    ShortBase,
    LongBase,
    SmallIncrement,
    LargeIncrement,
    TimeNotListed,
    LongGame,
    BulletWithoutIncrement,
    /// Lichess rates atomic only with a clock.
    RatedWithoutClock,
    NoRated,
    NoCasual,
    /// Rated games are paused after too many losses.
    RatedRests,
    /// The bot would get the wrong colour.
    Color,
    /// Special rules that the bot does not accept.
    SpecialRules,
    /// Lichess reports that bots cannot play it.
    Incompatible,
    /// Too many concurrent games with this opponent.
    AtOnce,
    /// Too many challenges from this opponent in a short time.
    Repeats,
    Rematches,
    /// Daily limit of games with this opponent.
    PerDay,
    /// Daily limit of games with this kind of opponent.
    TotalPerDay,
    /// Today this opponent repeatedly failed to make the first move.
    NoShows,
    /// The bot is shutting down.
    Draining,
    /// Paused by the operator.
    Paused,
    /// An alert needs the operator.
    Alarm,
    /// The daily bot games are used up, or accepting bots is on cooldown.
    BotsSpent,
    NoSeat,
}

impl ChallengeRule {
    /// Every rule in order of weight, heaviest first.
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

    /// The rule as an explanation for the operator.
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

    /// Whether it concerns the time control; such rules share one decline reason.
    pub(super) fn is_about_time(self) -> bool {
        (Self::UltraBullet..=Self::BulletWithoutIncrement).contains(&self)
    }
}

impl fmt::Display for ChallengeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A rule that a challenge violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: ChallengeRule,
    /// The decline reason if this were the only violation.
    pub reason: DeclineReason,
    /// The requested and the accepted value with its config key; may be empty.
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

/// Which rules apply: welcome challengers bypass the operator's preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleScope {
    All,
    /// Only the rules that bind everyone.
    Necessary,
}

/// The bot's state at the moment a challenge is judged.
#[derive(Clone, Debug)]
pub struct ChallengeContext<'a> {
    pub me: &'a UserId,
    /// The bot's atomic rating, if it has one.
    pub rating: Option<i32>,
    pub lists: &'a PlayerLists,
    /// Recent history with this challenger.
    pub past: OpponentHistory,
    /// Whether rated games against this challenger are paused.
    pub rated_rests: bool,
    /// Whether a game against this kind of challenger may start.
    pub open: Availability,
}

/// Recent history with one challenger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpponentHistory {
    /// Games with them in progress or about to start.
    pub at_once: u32,
    /// Their challenges accepted within the configured window.
    pub lately: u32,
    /// Consecutive rematches so far.
    pub rematches: u32,
    /// Games with them in the last 24 hours.
    pub today: u32,
    /// Games with all opponents of their kind in the last 24 hours.
    pub kind_today: u32,
    /// Whether they are on cooldown for repeatedly not making the first move.
    pub rests: bool,
}

/// Whether another game may start against an opponent of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Open,
    /// Every slot open to this kind is taken.
    Full,
    /// The daily bot games are used up, or accepting bots is on cooldown.
    BotsSpent,
    /// The bot is shutting down.
    Draining,
    /// Paused by the operator.
    Paused,
    /// An alert needs the operator.
    Alert,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_rules_is_complete_and_in_order() {
        assert!(ChallengeRule::ALL.is_sorted());
        assert_eq!(ChallengeRule::ALL.first(), Some(&ChallengeRule::OurOwn));
        assert_eq!(ChallengeRule::ALL.last(), Some(&ChallengeRule::NoSeat));
        // Discriminants of a field-less enum start at 0.
        let last = ChallengeRule::NoSeat as usize;
        assert_eq!(ChallengeRule::ALL.len(), last + 1);
    }

    #[test]
    fn no_two_rules_have_the_same_sentence() {
        let mut sentences: Vec<_> = ChallengeRule::ALL
            .iter()
            .map(|rule| rule.sentence())
            .collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), ChallengeRule::ALL.len());
    }

    #[test]
    fn a_violation_shows_its_detail() {
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
