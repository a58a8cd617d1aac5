//! The rules about how often: at once, in a short time, in a row, in a day.
//!
//! All of them pass by themselves, so the challenger is told "later".

use super::rule::{Objection, Rule};
use super::standing::{Openness, Past, Standing};
use crate::config::Visitors;
use crate::lichess::{Challenge, DeclineReason};

/// What speaks against one more game with this challenger.
pub(super) fn objections(
    challenge: &Challenge,
    rules: &Visitors,
    past: Past,
    out: &mut Vec<Objection>,
) {
    let mut limit = |rule, have: u32, most: u32, key: &str| {
        if have >= most {
            let detail = format!("{have}, {key} = {most}");
            out.push(Objection::new(rule, DeclineReason::Later, detail));
        }
    };
    limit(Rule::AtOnce, past.at_once, rules.at_once, "at_once");
    limit(Rule::Repeats, past.lately, rules.repeats, "repeats");
    if challenge.rematch_of.is_some() {
        limit(
            Rule::Rematches,
            past.rematches,
            rules.rematches,
            "rematches",
        );
    }
    limit(Rule::PerDay, past.today, rules.per_day, "per_day");
    limit(
        Rule::TotalPerDay,
        past.kind_today,
        rules.total_per_day,
        "total_per_day",
    );
    if past.rests {
        let detail = "rests for [game] abort_rest";
        out.push(Objection::new(Rule::NoShows, DeclineReason::Later, detail));
    }
}

/// What speaks against any more game at this moment.
pub(super) fn house(standing: &Standing<'_>) -> Option<Objection> {
    let rule = match standing.open {
        Openness::Open => return None,
        Openness::Full => Rule::NoSeat,
        Openness::BotsSpent => Rule::BotsSpent,
        Openness::Draining => Rule::Draining,
        Openness::Paused => Rule::Paused,
        Openness::Alarm => Rule::Alarm,
    };
    Some(Objection::new(rule, DeclineReason::Later, ""))
}
