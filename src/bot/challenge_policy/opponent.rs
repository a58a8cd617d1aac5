//! Rules about the opponent: human or bot, lists, rating.
//!
//! Only the atomic rating counts; ratings in other variants are irrelevant.

use super::rule::{Availability, ChallengeContext, ChallengeRule, OpponentHistory, Violation};
use crate::config::Visitors;
use crate::lichess::{Challenge, DeclineReason, Player, Variant};

/// Above every real rating: this as `max_rating` accepts everyone.
const NO_CEILING: u32 = 4000;

/// Whether a block list names the challenger. No other list, `welcome` included, overrides a block.
pub(super) fn blocked(
    challenger: Option<&Player>,
    context: &ChallengeContext<'_>,
    out: &mut Vec<Violation>,
) {
    let id = challenger.and_then(|player| player.id.as_ref());
    if let Some(source) = id.and_then(|id| context.lists.blocked_by(id)) {
        let detail = format!("[challenge] block: {source}");
        out.push(Violation::new(
            ChallengeRule::Blocked,
            DeclineReason::Generic,
            detail,
        ));
    }
}

/// All other violations by the challenger. Welcome challengers bypass them: the list exists for
/// that.
pub(super) fn violations(
    challenge: &Challenge,
    rules: &Visitors,
    context: &ChallengeContext<'_>,
    out: &mut Vec<Violation>,
) {
    let challenger = challenge.challenger.as_ref();
    kind(challenger, rules, out);
    allowed(challenger, context, out);
    if challenge.variant == Variant::Atomic {
        rating(challenger, rules, context.rating, out);
    }
}

fn kind(challenger: Option<&Player>, rules: &Visitors, out: &mut Vec<Violation>) {
    if rules.accept {
        return;
    }
    out.push(if challenger.is_some_and(Player::is_bot) {
        Violation::new(
            ChallengeRule::NoBots,
            DeclineReason::NoBot,
            "[challenge.bots] accept",
        )
    } else {
        Violation::new(
            ChallengeRule::NoHumans,
            DeclineReason::OnlyBot,
            "[challenge.humans] accept",
        )
    });
}

fn allowed(challenger: Option<&Player>, context: &ChallengeContext<'_>, out: &mut Vec<Violation>) {
    let id = challenger.and_then(|player| player.id.as_ref());
    // An anonymous challenger is on no list.
    let allowed = match id {
        Some(id) => context.lists.allows(id),
        None => context.lists.allows_anyone(),
    };
    if !allowed {
        out.push(Violation::new(
            ChallengeRule::NotAllowed,
            DeclineReason::Generic,
            "[challenge] allow",
        ));
    }
}

fn rating(
    challenger: Option<&Player>,
    rules: &Visitors,
    ours: Option<i32>,
    out: &mut Vec<Violation>,
) {
    let mut object = |rule, detail: String| {
        out.push(Violation::new(rule, DeclineReason::Generic, detail));
    };
    let theirs = challenger.and_then(|player| player.rating);
    let uncertain = challenger.is_none_or(|player| player.provisional) || theirs.is_none();
    if uncertain && !rules.provisional {
        object(ChallengeRule::Provisional, "provisional = false".to_owned());
    }
    let Some(theirs) = theirs.map(i64::from) else {
        // An unrated challenger fails any minimum; the other bounds do not apply.
        if rules.min_rating > 0 {
            let detail = format!("none, min_rating = {}", rules.min_rating);
            object(ChallengeRule::RatingTooLow, detail);
        }
        return;
    };
    if theirs < i64::from(rules.min_rating) {
        let detail = format!("{theirs}, min_rating = {}", rules.min_rating);
        object(ChallengeRule::RatingTooLow, detail);
    }
    if theirs > i64::from(rules.max_rating) && rules.max_rating < NO_CEILING {
        let detail = format!("{theirs}, max_rating = {}", rules.max_rating);
        object(ChallengeRule::RatingTooHigh, detail);
    }
    let Some(ours) = ours.map(i64::from) else {
        return;
    };
    let most = rules.max_rating_difference;
    if theirs.abs_diff(ours) > u64::from(most) && most < NO_CEILING {
        let detail = format!("{theirs} and {ours}, max_rating_difference = {most}");
        object(ChallengeRule::RatingTooFar, detail);
    }
}

// Rules about frequency: concurrent, in a short time, in a row, in a day.
//
// All of these pass with time, so the decline reason is "later".

/// Violations of the frequency limits by one more game with this challenger.
pub(super) fn rate_limit_violations(
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
        Availability::Alert => ChallengeRule::Alarm,
    };
    Some(Violation::new(rule, DeclineReason::Later, ""))
}
