//! Rules about the opponent: human or bot, lists, rating, frequency.
//!
//! Only the atomic rating counts; ratings in other variants are irrelevant.

use DeclineReason::{Generic, Later, NoBot, OnlyBot};

use super::rule::{Availability, ChallengeContext, ChallengeRule, OpponentHistory, Violations};
use crate::config::Visitors;
use crate::lichess::{Challenge, DeclineReason, Player, Variant};

/// Above every real rating: this as `max_rating` accepts everyone.
const NO_CEILING: u32 = 4000;

/// Whether a block list names the challenger. No other list, `welcome` included, overrides a block.
pub(super) fn blocked(
    challenger: Option<&Player>,
    context: &ChallengeContext<'_>,
    out: &mut Violations,
) {
    let id = challenger.and_then(|player| player.id.as_ref());
    if let Some(source) = id.and_then(|id| context.lists.blocked_by(id)) {
        let detail = format!("[challenge] block: {source}");
        out.add(ChallengeRule::Blocked, Generic, detail);
    }
}

/// All other violations by the challenger. Welcome challengers bypass them: the list exists for
/// that.
pub(super) fn violations(
    challenge: &Challenge,
    rules: &Visitors,
    context: &ChallengeContext<'_>,
    out: &mut Violations,
) {
    let challenger = challenge.challenger.as_ref();
    kind(challenger, rules, out);
    allowed(challenger, context, out);
    if challenge.variant == Variant::Atomic {
        rating(challenger, rules, context.rating, out);
    }
}

fn kind(challenger: Option<&Player>, rules: &Visitors, out: &mut Violations) {
    if rules.accept {
        return;
    }
    if challenger.is_some_and(Player::is_bot) {
        out.add(ChallengeRule::NoBots, NoBot, "[challenge.bots] accept");
    } else {
        let detail = "[challenge.humans] accept";
        out.add(ChallengeRule::NoHumans, OnlyBot, detail);
    }
}

fn allowed(challenger: Option<&Player>, context: &ChallengeContext<'_>, out: &mut Violations) {
    let id = challenger.and_then(|player| player.id.as_ref());
    // An anonymous challenger is on no list.
    let allowed = match id {
        Some(id) => context.lists.allows(id),
        None => context.lists.allows_anyone(),
    };
    if !allowed {
        out.add(ChallengeRule::NotAllowed, Generic, "[challenge] allow");
    }
}

fn rating(challenger: Option<&Player>, rules: &Visitors, ours: Option<i32>, out: &mut Violations) {
    let theirs = challenger.and_then(|player| player.rating);
    let uncertain = challenger.is_none_or(|player| player.provisional) || theirs.is_none();
    if uncertain && !rules.provisional {
        out.add(ChallengeRule::Provisional, Generic, "provisional = false");
    }
    let Some(theirs) = theirs.map(i64::from) else {
        // An unrated challenger fails any minimum; the other bounds do not apply.
        if rules.min_rating > 0 {
            let detail = format!("none, min_rating = {}", rules.min_rating);
            out.add(ChallengeRule::RatingTooLow, Generic, detail);
        }
        return;
    };
    if theirs < i64::from(rules.min_rating) {
        let detail = format!("{theirs}, min_rating = {}", rules.min_rating);
        out.add(ChallengeRule::RatingTooLow, Generic, detail);
    }
    if theirs > i64::from(rules.max_rating) && rules.max_rating < NO_CEILING {
        let detail = format!("{theirs}, max_rating = {}", rules.max_rating);
        out.add(ChallengeRule::RatingTooHigh, Generic, detail);
    }
    let Some(ours) = ours.map(i64::from) else {
        return;
    };
    let most = rules.max_rating_difference;
    if theirs.abs_diff(ours) > u64::from(most) && most < NO_CEILING {
        let detail = format!("{theirs} and {ours}, max_rating_difference = {most}");
        out.add(ChallengeRule::RatingTooFar, Generic, detail);
    }
}

/// Violations of the frequency limits by one more game with this challenger: concurrent, in a short
/// time, in a row, in a day. All of these pass with time, so the decline reason is "later".
pub(super) fn rate_limit_violations(
    challenge: &Challenge,
    rules: &Visitors,
    past: OpponentHistory,
    out: &mut Violations,
) {
    use ChallengeRule::{AtOnce, PerDay, Rematches, Repeats, TotalPerDay};
    let total = rules.total_per_day;
    // The rule, what counts, the limit, and its config key.
    let limits = [
        (AtOnce, past.at_once, rules.at_once, "at_once"),
        (Repeats, past.lately, rules.repeats, "repeats"),
        (Rematches, past.rematches, rules.rematches, "rematches"),
        (PerDay, past.today, rules.per_day, "per_day"),
        (TotalPerDay, past.kind_today, total, "total_per_day"),
    ];
    for (rule, count, most, key) in limits {
        let applies = rule != Rematches || challenge.rematch_of.is_some();
        if applies && count >= most {
            out.add(rule, Later, format!("{count}, {key} = {most}"));
        }
    }
    if past.rests {
        let detail = "cooldown of [game] abort_rest";
        out.add(ChallengeRule::NoShows, Later, detail);
    }
}

/// Adds the violation, if any, that rules out every new game at present.
pub(super) fn availability(context: &ChallengeContext<'_>, out: &mut Violations) {
    let rule = match context.open {
        Availability::Open => return,
        Availability::Full => ChallengeRule::NoSlot,
        Availability::BotsSpent => ChallengeRule::BotsSpent,
        Availability::Draining => ChallengeRule::Draining,
        Availability::Paused => ChallengeRule::Paused,
        Availability::Alert => ChallengeRule::Alert,
    };
    out.add(rule, Later, "");
}
