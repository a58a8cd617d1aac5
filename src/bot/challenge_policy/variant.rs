//! Rules about the game: variant, start position, mode, colour, special rules.

use DeclineReason::{Casual, Generic, Later};

use super::rule::{ChallengeContext, ChallengeRule, RuleScope, Violations};
use crate::config::{ColorWish, Visitors, may_be_rated};
use crate::lichess::{Challenge, ColorChoice, Compat, DeclineReason, Side, TimeControl, Variant};

/// Special rules that a challenger may set, as no game can hang by them. `noAbort` could (a
/// challenge game has no deadline for first moves), and so might rules unknown to the bot.
const HARMLESS_RULES: [&str; 4] = ["noRematch", "noGiveTime", "noClaimWin", "noEarlyDraw"];

/// Violations by the game, except for its clock.
pub(super) fn violations(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &Visitors,
    context: &ChallengeContext<'_>,
    scope: RuleScope,
    out: &mut Violations,
) {
    if challenge.variant != Variant::Atomic {
        let detail = challenge.variant.to_string();
        out.add(ChallengeRule::Variant, DeclineReason::Variant, detail);
    } else if !matches!(challenge.initial_fen.as_deref(), None | Some("startpos")) {
        out.add(ChallengeRule::StartPosition, DeclineReason::Variant, "");
    }
    let casual_or = |other| if rules.casual { Casual } else { other };
    if challenge.rated && !challenge.time_control.has_clock() {
        let reason = casual_or(DeclineReason::TooSlow);
        out.add(ChallengeRule::RatedWithoutClock, reason, "");
    }
    if let Some(rule) = (challenge.rules.iter()).find(|rule| !is_harmless(rule)) {
        out.add(ChallengeRule::SpecialRules, Generic, shortened(rule));
    }
    if compat.is_some_and(|compat| !compat.bot) {
        out.add(ChallengeRule::Incompatible, Generic, "");
    }
    if challenge.rated && context.rated_rests {
        out.add(ChallengeRule::RatedRests, casual_or(Later), "[guard]");
    }
    if scope == RuleScope::All {
        mode(challenge, rules, out);
        color(challenge, rules, out);
    }
}

fn is_harmless(rule: &str) -> bool {
    HARMLESS_RULES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(rule))
}

/// Untrusted text, cut to a short run of letters and digits.
fn shortened(rule: &str) -> String {
    rule.chars()
        .filter(char::is_ascii_alphanumeric)
        .take(20)
        .collect()
}

/// The decline reason names the mode that the bot does accept.
fn mode(challenge: &Challenge, rules: &Visitors, out: &mut Violations) {
    if challenge.rated && !rules.rated {
        let reason = if rules.casual { Casual } else { Generic };
        out.add(ChallengeRule::NoRated, reason, "rated = false");
    }
    if !challenge.rated && !rules.casual {
        let rated = rules.rated.then(|| rated_instead(challenge.time_control));
        let reason = rated.unwrap_or(Generic);
        out.add(ChallengeRule::NoCasual, reason, "casual = false");
    }
}

/// The decline reason that leads to a rated game. Some clocks cannot be rated: Lichess silently
/// turns a rated 0+1 into a casual game, so "rated" would bring the same challenge again.
fn rated_instead(time: TimeControl) -> DeclineReason {
    match time {
        TimeControl::Clock { limit, increment } if may_be_rated(limit, increment) => {
            DeclineReason::Rated
        }
        TimeControl::Clock { .. } => DeclineReason::TooFast,
        TimeControl::Correspondence { .. } | TimeControl::Unlimited => DeclineReason::TooSlow,
        TimeControl::Unknown => DeclineReason::TimeControl,
    }
}

/// No decline reason says "the other colour". A random colour may differ next time, which "later"
/// comes closest to saying.
fn color(challenge: &Challenge, rules: &Visitors, out: &mut Violations) {
    let wanted = match rules.color {
        ColorWish::Any => return,
        ColorWish::White => Side::White,
        ColorWish::Black => Side::Black,
    };
    let theirs = challenge.final_color.or(match challenge.color {
        ColorChoice::White => Some(Side::White),
        ColorChoice::Black => Some(Side::Black),
        ColorChoice::Random | ColorChoice::Unknown => None,
    });
    if theirs == Some(wanted) {
        let reason = match challenge.color {
            ColorChoice::Random => Later,
            _ => Generic,
        };
        out.add(
            ChallengeRule::Color,
            reason,
            format!("color = \"{wanted}\""),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_is_shortened_and_cleaned() {
        assert_eq!(shortened("no\u{1b}[31mAbort"), "no31mAbort");
        assert_eq!(shortened(&"x".repeat(99)).len(), 20);
    }
}
