//! Rules about time controls: limits set by Lichess and by the operator.
//!
//! Each violation says whether the game is too fast or too slow; together they give one reason. Too
//! fast in one respect and too slow in another is "not with this time control".

use std::time::Duration;

use super::rule::{ChallengeRule, RuleScope, Violation};
use crate::config::{TimeRule, Visitors};
use crate::lichess::{DeclineReason, Speed, TimeControl, estimate, speed_of};

/// The shortest game, by estimated duration, that Lichess lets a bot play.
const MIN_DURATION: Duration = Duration::from_secs(30);
/// Games estimated shorter than this are bullet.
const BULLET_ENDS: Duration = Duration::from_secs(180);

/// Violations of the rules about the clock.
pub(super) fn violations(
    time: TimeControl,
    rules: &Visitors,
    scope: RuleScope,
    out: &mut Vec<Violation>,
) {
    match time {
        TimeControl::Clock { limit, increment } => {
            if estimate(limit, increment) < MIN_DURATION {
                out.push(Violation::new(
                    ChallengeRule::UltraBullet,
                    DeclineReason::TooFast,
                    "",
                ));
            }
            if scope == RuleScope::All {
                clock(limit, increment, rules, out);
            }
        }
        TimeControl::Correspondence { days } => correspondence(days, rules, scope, out),
        // A game of weeks is no matter of taste: these two bind welcome challengers too.
        TimeControl::Unlimited if !rules.unlimited => out.push(Violation::new(
            ChallengeRule::NoUnlimited,
            DeclineReason::TooSlow,
            "unlimited = false",
        )),
        TimeControl::Unlimited => {}
        TimeControl::Unknown => out.push(Violation::new(
            ChallengeRule::UnknownTime,
            DeclineReason::TimeControl,
            "",
        )),
    }
}

fn correspondence(days: u32, rules: &Visitors, scope: RuleScope, out: &mut Vec<Violation>) {
    let mut object = |rule, reason, detail: String| {
        out.push(Violation::new(rule, reason, detail));
    };
    if !rules.correspondence {
        let detail = "correspondence = false".to_owned();
        object(
            ChallengeRule::NoCorrespondence,
            DeclineReason::TooSlow,
            detail,
        );
    } else if scope == RuleScope::All && days < rules.min_days {
        let detail = format!("{days}, min_days = {}", rules.min_days);
        object(ChallengeRule::FewDays, DeclineReason::TooFast, detail);
    } else if scope == RuleScope::All && days > rules.max_days {
        let detail = format!("{days}, max_days = {}", rules.max_days);
        object(ChallengeRule::ManyDays, DeclineReason::TooSlow, detail);
    }
}

fn clock(base: Duration, increment: Duration, rules: &Visitors, out: &mut Vec<Violation>) {
    use DeclineReason::{TooFast, TooSlow};
    let mut object = |rule, reason, key: &str, asked: Duration, bound: Duration| {
        let detail = format!("{} s, {key} = {}", asked.as_secs(), bound.as_secs());
        out.push(Violation::new(rule, reason, detail));
    };
    if base < rules.min_base {
        object(
            ChallengeRule::ShortBase,
            TooFast,
            "min_base",
            base,
            rules.min_base,
        );
    }
    if base > rules.max_base {
        object(
            ChallengeRule::LongBase,
            TooSlow,
            "max_base",
            base,
            rules.max_base,
        );
    }
    if increment < rules.min_increment {
        let bound = rules.min_increment;
        object(
            ChallengeRule::SmallIncrement,
            TooFast,
            "min_increment",
            increment,
            bound,
        );
    }
    if increment > rules.max_increment {
        let bound = rules.max_increment;
        object(
            ChallengeRule::LargeIncrement,
            TooSlow,
            "max_increment",
            increment,
            bound,
        );
    }
    let length = estimate(base, increment);
    if length > rules.max_duration {
        let detail = format!(
            "about {} minutes, max_duration = {}",
            length.as_secs().div_ceil(60),
            rules.max_duration.as_secs() / 60
        );
        out.push(Violation::new(ChallengeRule::LongGame, TooSlow, detail));
    }
    if rules.bullet_needs_increment && increment.is_zero() && length < BULLET_ENDS {
        let detail = "bullet_needs_increment = true";
        out.push(Violation::new(
            ChallengeRule::BulletWithoutIncrement,
            TooFast,
            detail,
        ));
    }
    if !rules.times.is_empty() && !rules.times.iter().any(|rule| rule.fits(base, increment)) {
        let listed: Vec<_> = rules.times.iter().map(ToString::to_string).collect();
        let detail = format!("times = {}", listed.join(", "));
        let reason = direction(base, increment, &rules.times);
        out.push(Violation::new(ChallengeRule::TimeNotListed, reason, detail));
    }
}

/// Whether the clock is faster or slower than every listed time control.
fn direction(base: Duration, increment: Duration, listed: &[TimeRule]) -> DeclineReason {
    let beside = |rule: &TimeRule| match *rule {
        TimeRule::Speed(speed) => rank(speed_of(base, increment)).cmp(&rank(speed)),
        TimeRule::Exact {
            base: listed_base,
            increment: listed_increment,
        } => estimate(base, increment).cmp(&estimate(listed_base, listed_increment)),
    };
    if listed.iter().all(|rule| beside(rule).is_lt()) {
        DeclineReason::TooFast
    } else if listed.iter().all(|rule| beside(rule).is_gt()) {
        DeclineReason::TooSlow
    } else {
        DeclineReason::TimeControl
    }
}

/// The rank of a speed, the fastest first.
fn rank(speed: Speed) -> Option<usize> {
    Speed::ALL.iter().position(|known| *known == speed)
}

/// One decline reason for several violations about time.
pub(super) fn together(reasons: impl Iterator<Item = DeclineReason>) -> DeclineReason {
    let mut reasons = reasons;
    let Some(first) = reasons.next() else {
        return DeclineReason::TimeControl;
    };
    if reasons.all(|reason| reason == first) {
        first
    } else {
        DeclineReason::TimeControl
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_reasons_ask_for_another_time_control() {
        use DeclineReason::{TimeControl, TooFast, TooSlow};
        assert_eq!(together([TooFast, TooFast].into_iter()), TooFast);
        assert_eq!(together([TooSlow].into_iter()), TooSlow);
        assert_eq!(together([TooFast, TooSlow].into_iter()), TimeControl);
    }
}
