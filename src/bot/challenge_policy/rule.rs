//! Every reason to refuse a challenge, in order of weight.
//!
//! If several apply, the reason sent is the one that spares the challenger a useless second try.
//! First what no other challenge would change: the opponent, kind before name ("bots only" says more
//! than "no"); "not this variant" would bring an atomic challenge, only to be told "no bots". Then what
//! another challenge would change, the largest change first: variant, time, mode, colour, special
//! rules. Last what only time changes: daily limits, no free slot.

use std::fmt;

use strum::Display;

use crate::bot::player_lists::PlayerLists;
use crate::lichess::{DeclineReason, UserId};

/// Why a challenge is refused. The earlier one weighs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[cfg_attr(test, derive(strum::VariantArray))]
pub enum ChallengeRule {
    /// The bot itself sent it.
    #[strum(to_string = "our own challenge")]
    OurOwn,
    /// Addressed to another account.
    #[strum(to_string = "for another account")]
    NotForUs,
    #[strum(to_string = "no longer open")]
    Closed,
    #[strum(to_string = "bots are not accepted")]
    NoBots,
    #[strum(to_string = "only bots are accepted")]
    NoHumans,
    #[strum(to_string = "the challenger is blocked")]
    Blocked,
    /// An allow list exists, and the challenger is not on it.
    #[strum(to_string = "the challenger is not on the allow list")]
    NotAllowed,
    /// Also an unknown rating where a minimum is set.
    #[strum(to_string = "the challenger's rating is too low")]
    RatingTooLow,
    #[strum(to_string = "the challenger's rating is too high")]
    RatingTooHigh,
    #[strum(to_string = "the challenger's rating is too far from ours")]
    RatingTooFar,
    /// Provisional or unknown rating.
    #[strum(to_string = "the challenger's rating is provisional")]
    Provisional,
    #[strum(to_string = "only atomic is accepted")]
    Variant,
    #[strum(to_string = "only the standard start position is accepted")]
    StartPosition,
    /// Too short: Lichess does not allow bots to play it.
    #[strum(to_string = "too short: Lichess does not allow bots to play it")]
    UltraBullet,
    /// A time control type that the bot does not know.
    #[strum(to_string = "unknown time control type")]
    UnknownTime,
    #[strum(to_string = "correspondence games are not accepted")]
    NoCorrespondence,
    #[strum(to_string = "unlimited games are not accepted")]
    NoUnlimited,
    #[strum(to_string = "too few days per move")]
    FewDays,
    #[strum(to_string = "too many days per move")]
    ManyDays,
    #[strum(to_string = "initial time too short")]
    ShortBase,
    #[strum(to_string = "initial time too long")]
    LongBase,
    #[strum(to_string = "increment too small")]
    SmallIncrement,
    #[strum(to_string = "increment too large")]
    LargeIncrement,
    #[strum(to_string = "time control not in the list")]
    TimeNotListed,
    #[strum(to_string = "game would last too long")]
    LongGame,
    #[strum(to_string = "bullet is accepted only with an increment")]
    BulletWithoutIncrement,
    /// Lichess rates atomic only with a clock.
    #[strum(to_string = "Lichess rates atomic only with a clock")]
    RatedWithoutClock,
    #[strum(to_string = "rated games are not accepted")]
    NoRated,
    #[strum(to_string = "casual games are not accepted")]
    NoCasual,
    /// Rated games are paused after too many losses.
    #[strum(to_string = "rated games are paused after too many losses")]
    RatedRests,
    /// The bot would get the wrong colour.
    #[strum(to_string = "we would get the wrong colour")]
    Color,
    /// Special rules that the bot does not accept.
    #[strum(to_string = "special rules that are not accepted")]
    SpecialRules,
    /// Lichess reports that bots cannot play it.
    #[strum(to_string = "Lichess says bots cannot play it")]
    Incompatible,
    /// Too many concurrent games with this opponent.
    #[strum(to_string = "too many concurrent games with this opponent")]
    AtOnce,
    /// Too many challenges from this opponent in a short time.
    #[strum(to_string = "too many challenges from this opponent in a short time")]
    Repeats,
    #[strum(to_string = "too many rematches in a row")]
    Rematches,
    /// Daily limit of games with this opponent.
    #[strum(to_string = "daily limit of games with this opponent reached")]
    PerDay,
    /// Daily limit of games with this kind of opponent.
    #[strum(to_string = "daily limit of games with this kind of opponent reached")]
    TotalPerDay,
    /// Today this opponent repeatedly failed to make the first move.
    #[strum(to_string = "opponent repeatedly failed to make the first move")]
    NoShows,
    /// The bot is shutting down.
    #[strum(to_string = "the bot is shutting down")]
    Draining,
    /// Paused by the operator.
    #[strum(to_string = "paused by the operator")]
    Paused,
    /// An alert needs the operator.
    #[strum(to_string = "an alert needs the operator")]
    Alert,
    /// The daily bot games are used up, or accepting bots is on cooldown.
    #[strum(to_string = "daily limit of bot games reached, or a rest after a rate limit")]
    BotsSpent,
    #[strum(to_string = "every slot is taken")]
    NoSlot,
}

impl ChallengeRule {
    /// Whether it concerns the time control; such rules share one decline reason.
    pub(super) fn is_about_time(self) -> bool {
        (Self::UltraBullet..=Self::BulletWithoutIncrement).contains(&self)
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

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)?;
        if self.detail.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.detail)
    }
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Violations(pub(super) Vec<Violation>);

impl Violations {
    pub(super) fn add(
        &mut self,
        rule: ChallengeRule,
        reason: DeclineReason,
        detail: impl Into<String>,
    ) {
        self.0.push(Violation {
            rule,
            reason,
            detail: detail.into(),
        });
    }
}

/// Which rules apply: welcome challengers bypass the operator's preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleScope {
    All,
    /// Only the rules that bind everyone.
    Necessary,
}

/// The bot's state at the moment of the decision.
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
    use strum::VariantArray;

    use super::*;

    #[test]
    fn the_list_of_rules_is_complete_and_in_order() {
        assert!(ChallengeRule::VARIANTS.is_sorted());
        assert_eq!(
            ChallengeRule::VARIANTS.first(),
            Some(&ChallengeRule::OurOwn)
        );
        assert_eq!(ChallengeRule::VARIANTS.last(), Some(&ChallengeRule::NoSlot));
    }

    #[test]
    fn no_two_rules_have_the_same_sentence() {
        let rules = ChallengeRule::VARIANTS.iter();
        let mut sentences: Vec<String> = rules.map(ToString::to_string).collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), ChallengeRule::VARIANTS.len());
    }

    #[test]
    fn a_violation_shows_its_detail() {
        let mut out = Violations::default();
        out.add(ChallengeRule::NoSlot, DeclineReason::Later, "");
        let length = "60 s, at most 30";
        out.add(ChallengeRule::LongBase, DeclineReason::TooSlow, length);
        let [bare, detailed] = &out.0[..] else {
            panic!("{out:?}");
        };
        assert_eq!(bare.to_string(), "every slot is taken");
        let text = detailed.to_string();
        assert_eq!(text, "initial time too long (60 s, at most 30)");
    }
}
