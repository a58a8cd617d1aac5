//! Rules about the opponent: human or bot, lists, rating.
//!
//! Only the atomic rating counts: that of another variant says nothing here.

use super::context::ChallengeContext;
use super::rule::{ChallengeRule, Violation};
use crate::config::Visitors;
use crate::lichess::{Challenge, DeclineReason, Player, Variant};

/// Ratings end before this; as the most that is accepted it accepts everyone.
const NO_CEILING: u32 = 4000;

/// Whether a block list names the challenger. No one is spared that: a name on it is there for a
/// reason, whatever other list it came to stand on too.
pub(super) fn blocked(
    challenger: Option<&Player>,
    standing: &ChallengeContext<'_>,
    out: &mut Vec<Violation>,
) {
    let id = challenger.and_then(|player| player.id.as_ref());
    if let Some(source) = id.and_then(|id| standing.lists.blocked_by(id)) {
        let detail = format!("[challenge] block: {source}");
        out.push(Violation::new(
            ChallengeRule::Blocked,
            DeclineReason::Generic,
            detail,
        ));
    }
}

/// What else speaks against the challenger. Who is welcome is spared all of it: that is what the
/// list is for.
pub(super) fn violations(
    challenge: &Challenge,
    rules: &Visitors,
    standing: &ChallengeContext<'_>,
    out: &mut Vec<Violation>,
) {
    let challenger = challenge.challenger.as_ref();
    kind(challenger, rules, out);
    allowed(challenger, standing, out);
    if challenge.variant == Variant::Atomic {
        rating(challenger, rules, standing.rating, out);
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

fn allowed(challenger: Option<&Player>, standing: &ChallengeContext<'_>, out: &mut Vec<Violation>) {
    let id = challenger.and_then(|player| player.id.as_ref());
    // No one in particular is on no list.
    let allowed = match id {
        Some(id) => standing.lists.allows(id),
        None => standing.lists.allows_anybody(),
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
    let shaky = challenger.is_none_or(|player| player.provisional) || theirs.is_none();
    if shaky && !rules.provisional {
        object(ChallengeRule::Provisional, "provisional = false".to_owned());
    }
    let Some(theirs) = theirs.map(i64::from) else {
        // Who has no rating does not reach a least one; to the other bounds they are unknown.
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
