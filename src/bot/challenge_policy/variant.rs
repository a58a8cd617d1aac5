//! Rules about the game: variant, start position, mode, colour, special rules.

use super::context::ChallengeContext;
use super::rule::{ChallengeRule, Violation};
use crate::config::{ColorWish, Visitors, may_be_rated};
use crate::lichess::{Challenge, ColorChoice, Compat, DeclineReason, Side, TimeControl, Variant};

/// Special rules that a challenger may set: none of them lets a game hang. `noAbort` would, since a
/// challenge game has no deadline for first moves, and what this program does not know might.
const HARMLESS_RULES: [&str; 4] = ["noRematch", "noGiveTime", "noClaimWin", "noEarlyDraw"];

/// Whether anyone who is welcome is asked about the operator's taste too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleScope {
    All,
    /// Only what no one is spared.
    Necessary,
}

/// What speaks against the game, its clock aside.
pub(super) fn violations(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &Visitors,
    standing: &ChallengeContext<'_>,
    asked: RuleScope,
    out: &mut Vec<Violation>,
) {
    let mut object = |rule, reason, detail: String| {
        out.push(Violation::new(rule, reason, detail));
    };
    if challenge.variant != Variant::Atomic {
        let detail = challenge.variant.to_string();
        object(ChallengeRule::Variant, DeclineReason::Variant, detail);
    } else if !matches!(challenge.initial_fen.as_deref(), None | Some("startpos")) {
        object(
            ChallengeRule::StartPosition,
            DeclineReason::Variant,
            String::new(),
        );
    }
    if challenge.rated && !has_clock(challenge) {
        let reason = if rules.casual {
            DeclineReason::Casual
        } else {
            DeclineReason::TooSlow
        };
        object(ChallengeRule::RatedWithoutClock, reason, String::new());
    }
    if let Some(rule) = (challenge.rules.iter()).find(|rule| !is_harmless(rule)) {
        object(
            ChallengeRule::SpecialRules,
            DeclineReason::Generic,
            shortened(rule),
        );
    }
    if compat.is_some_and(|compat| !compat.bot) {
        object(
            ChallengeRule::Incompatible,
            DeclineReason::Generic,
            String::new(),
        );
    }
    if challenge.rated && standing.rated_rests {
        let reason = if rules.casual {
            DeclineReason::Casual
        } else {
            DeclineReason::Later
        };
        object(ChallengeRule::RatedRests, reason, "[guard]".to_owned());
    }
    if asked == RuleScope::All {
        out.extend(mode(challenge, rules));
        out.extend(color(challenge, rules));
    }
}

fn has_clock(challenge: &Challenge) -> bool {
    !matches!(
        challenge.time_control,
        TimeControl::Correspondence { .. } | TimeControl::Unlimited
    )
}

fn is_harmless(rule: &str) -> bool {
    HARMLESS_RULES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(rule))
}

/// Foreign text, short enough for a line and without anything but letters and digits.
fn shortened(rule: &str) -> String {
    rule.chars()
        .filter(char::is_ascii_alphanumeric)
        .take(20)
        .collect()
}

/// The keys name what is asked for instead.
fn mode(challenge: &Challenge, rules: &Visitors) -> Option<Violation> {
    match (challenge.rated, rules.rated, rules.casual) {
        (true, true, _) | (false, _, true) => None,
        (true, false, casual) => {
            let reason = if casual {
                DeclineReason::Casual
            } else {
                DeclineReason::Generic
            };
            Some(Violation::new(
                ChallengeRule::NoRated,
                reason,
                "rated = false",
            ))
        }
        (false, rated, false) => {
            let reason = if rated {
                rated_instead(challenge.time_control)
            } else {
                DeclineReason::Generic
            };
            Some(Violation::new(
                ChallengeRule::NoCasual,
                reason,
                "casual = false",
            ))
        }
    }
}

/// How a rated game is to be had. With some clocks it cannot: Lichess turns a rated 0+1 into a
/// casual one without a word, and "rated" would bring the same challenge again.
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

/// No one can be told "the other colour". A colour that fell by lot may fall otherwise next time:
/// that is what "later" comes nearest to.
fn color(challenge: &Challenge, rules: &Visitors) -> Option<Violation> {
    let wanted = match rules.color {
        ColorWish::Any => return None,
        ColorWish::White => Side::White,
        ColorWish::Black => Side::Black,
    };
    let theirs = challenge.final_color.or(match challenge.color {
        ColorChoice::White => Some(Side::White),
        ColorChoice::Black => Some(Side::Black),
        ColorChoice::Random | ColorChoice::Unknown => None,
    })?;
    if theirs.other() == wanted {
        return None;
    }
    let reason = match challenge.color {
        ColorChoice::Random => DeclineReason::Later,
        _ => DeclineReason::Generic,
    };
    Some(Violation::new(
        ChallengeRule::Color,
        reason,
        format!("color = \"{wanted}\""),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_cleaned() {
        assert_eq!(shortened("no\u{1b}[31mAbort"), "no31mAbort");
        assert_eq!(shortened(&"x".repeat(99)).len(), 20);
    }
}
