//! Rules about frequency: concurrent, in a short time, in a row, in a day.
//!
//! All of these pass with time, so the decline reason is "later".

use super::context::{Availability, ChallengeContext, OpponentHistory};
use super::rule::{ChallengeRule, Violation};
use crate::config::Visitors;
use crate::lichess::{Challenge, DeclineReason};

/// Violations of the frequency limits by one more game with this challenger.
pub(super) fn violations(
    challenge: &Challenge,
    rules: &Visitors,
    past: OpponentHistory,
    out: &mut Vec<Violation>,
) {
    let mut limit = |rule, have: u32, most: u32, key: &str| {
        if have >= most {
            let detail = format!("{have}, {key} = {most}");
            out.push(Violation::new(rule, DeclineReason::Later, detail));
        }
    };
    limit(
        ChallengeRule::AtOnce,
        past.at_once,
        rules.at_once,
        "at_once",
    );
    limit(
        ChallengeRule::Repeats,
        past.lately,
        rules.repeats,
        "repeats",
    );
    if challenge.rematch_of.is_some() {
        limit(
            ChallengeRule::Rematches,
            past.rematches,
            rules.rematches,
            "rematches",
        );
    }
    limit(ChallengeRule::PerDay, past.today, rules.per_day, "per_day");
    limit(
        ChallengeRule::TotalPerDay,
        past.kind_today,
        rules.total_per_day,
        "total_per_day",
    );
    if past.rests {
        let detail = "cooldown of [game] abort_rest";
        out.push(Violation::new(
            ChallengeRule::NoShows,
            DeclineReason::Later,
            detail,
        ));
    }
}

/// The violation, if any, that rules out every new game at present.
pub(super) fn availability(context: &ChallengeContext<'_>) -> Option<Violation> {
    let rule = match context.open {
        Availability::Open => return None,
        Availability::Full => ChallengeRule::NoSeat,
        Availability::BotsSpent => ChallengeRule::BotsSpent,
        Availability::Draining => ChallengeRule::Draining,
        Availability::Paused => ChallengeRule::Paused,
        Availability::Alarm => ChallengeRule::Alarm,
    };
    Some(Violation::new(rule, DeclineReason::Later, ""))
}
