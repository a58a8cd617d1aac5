//! Decides on a challenge: accept it, decline it with the most helpful reason, or ignore it.
//!
//! Pure: the challenge, the operator's rules and the context go in; every violation comes out, the
//! decisive one first. A fact that the server did not state counts as unknown, never as "no".
//!
//! [`evaluate_challenge`] applies all rules and decides.
//!
//! * `rule`: every reason to refuse a challenge, in order of weight
//! * `opponent`, `variant`, `time_control`: the rules by subject

mod opponent;
mod rule;
mod time_control;
mod variant;

use self::rule::{RuleScope, Violations};
use crate::config;
use crate::lichess::{Challenge, ChallengeStatus, Compat, DeclineReason, Player};

pub use rule::{Availability, ChallengeContext, ChallengeRule, OpponentHistory, Violation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Accept,
    /// Decline with the reason sent to the challenger.
    Decline(DeclineReason),
    /// Not ours to answer: sent by the bot itself, for another account, or no longer open.
    Ignore,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOutcome {
    pub decision: Decision,
    /// Every violation, the decisive one first.
    pub violations: Vec<Violation>,
}

impl PolicyOutcome {
    /// The decisive violation; none if the challenge is accepted.
    pub fn decided_by(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// Whether nothing weighs more than this rule: for `NoSlot`, only a slot is lacking.
    pub fn lacks(&self, rule: ChallengeRule) -> bool {
        self.decided_by().map(|first| first.rule) == Some(rule)
    }

    fn ignored(rule: ChallengeRule) -> Self {
        let mut out = Violations::default();
        out.add(rule, DeclineReason::Generic, "");
        Self {
            decision: Decision::Ignore,
            violations: out.0,
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

pub fn evaluate_challenge(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
    context: &ChallengeContext<'_>,
) -> PolicyOutcome {
    if let Some(rule) = reason_to_ignore(challenge, context) {
        return PolicyOutcome::ignored(rule);
    }
    let challenger = challenge.challenger.as_ref();
    let rules = rules.rules_for(challenger.is_some_and(Player::is_bot));
    let id = challenger.and_then(|player| player.id.as_ref());
    let scope = if id.is_some_and(|id| context.lists.welcomes(id)) {
        RuleScope::Necessary
    } else {
        RuleScope::All
    };
    let mut out = Violations::default();
    opponent::blocked(challenger, context, &mut out);
    if scope == RuleScope::All {
        opponent::violations(challenge, rules, context, &mut out);
        opponent::rate_limit_violations(challenge, rules, context.past, &mut out);
    }
    variant::violations(challenge, compat, rules, context, scope, &mut out);
    time_control::violations(challenge.time_control, rules, scope, &mut out);
    opponent::availability(context, &mut out);
    PolicyOutcome::of(out.0)
}

/// The bot's own challenges come back as events, and so do answered ones.
fn reason_to_ignore(
    challenge: &Challenge,
    context: &ChallengeContext<'_>,
) -> Option<ChallengeRule> {
    let is_me = |player: &Option<Player>| {
        let id = player.as_ref().and_then(|player| player.id.as_ref());
        id == Some(context.me)
    };
    if is_me(&challenge.challenger) {
        return Some(ChallengeRule::OurOwn);
    }
    if challenge.dest_user.is_some() && !is_me(&challenge.dest_user) {
        return Some(ChallengeRule::NotForUs);
    }
    (challenge.status != ChallengeStatus::Created).then_some(ChallengeRule::Closed)
}
