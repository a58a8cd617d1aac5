//! Judges a challenge: asks all rules and decides by their violations.

use super::context::ChallengeContext;
use super::rule::{ChallengeRule, Violation};
use super::variant::RuleScope;
use super::{opponent, rate_limits, time_control, variant};
use crate::config;
use crate::lichess::{Challenge, ChallengeStatus, Compat, DeclineReason, Player};

/// What is done about a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Accept,
    /// It is declined, and this is what the challenger is told.
    Decline(DeclineReason),
    /// It is none of our business: our own, or no longer open.
    Ignore,
}

/// The judgement of a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVerdict {
    pub decision: Decision,
    /// Every rule that speaks against it, the one that decides first.
    pub violations: Vec<Violation>,
}

impl PolicyVerdict {
    /// The rule that decided; none where the challenge is taken.
    pub fn decided_by(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// Whether nothing but the want of a slot speaks against it.
    pub fn wants_only_a_seat(&self) -> bool {
        self.decided_by().map(|first| first.rule) == Some(ChallengeRule::NoSeat)
    }

    fn ignored(rule: ChallengeRule) -> Self {
        Self {
            decision: Decision::Ignore,
            violations: vec![Violation::new(rule, DeclineReason::Generic, "")],
        }
    }

    fn of(mut violations: Vec<Violation>) -> Self {
        violations.sort_by_key(|violation| violation.rule);
        let decision = match violations.first() {
            None => Decision::Accept,
            Some(first) if first.rule.is_about_time() => {
                let about_time = violations.iter().filter(|o| o.rule.is_about_time());
                Decision::Decline(time_control::together(about_time.map(|o| o.reason)))
            }
            Some(first) => Decision::Decline(first.reason),
        };
        Self {
            decision,
            violations,
        }
    }
}

pub fn judge_challenge(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
    standing: &ChallengeContext<'_>,
) -> PolicyVerdict {
    if let Some(rule) = none_of_our_business(challenge, standing) {
        return PolicyVerdict::ignored(rule);
    }
    let challenger = challenge.challenger.as_ref();
    let rules = rules.rules_for(challenger.is_some_and(Player::is_bot));
    let id = challenger.and_then(|player| player.id.as_ref());
    let asked = if id.is_some_and(|id| standing.lists.welcomes(id)) {
        RuleScope::Necessary
    } else {
        RuleScope::All
    };
    let mut out = Vec::new();
    opponent::blocked(challenger, standing, &mut out);
    if asked == RuleScope::All {
        opponent::violations(challenge, rules, standing, &mut out);
        rate_limits::violations(challenge, rules, standing.past, &mut out);
    }
    variant::violations(challenge, compat, rules, standing, asked, &mut out);
    time_control::violations(challenge.time_control, rules, asked, &mut out);
    out.extend(rate_limits::house(standing));
    PolicyVerdict::of(out)
}

/// Our own challenges come back as events, and so do those that were answered.
fn none_of_our_business(
    challenge: &Challenge,
    standing: &ChallengeContext<'_>,
) -> Option<ChallengeRule> {
    let is_me = |player: &Option<Player>| {
        let id = player.as_ref().and_then(|player| player.id.as_ref());
        id == Some(standing.me)
    };
    if is_me(&challenge.challenger) {
        return Some(ChallengeRule::OurOwn);
    }
    if challenge.dest_user.is_some() && !is_me(&challenge.dest_user) {
        return Some(ChallengeRule::NotForUs);
    }
    (challenge.status != ChallengeStatus::Created).then_some(ChallengeRule::Closed)
}
