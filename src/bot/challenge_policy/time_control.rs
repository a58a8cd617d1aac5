//! Rules about time controls: limits set by Lichess and by the operator.
//!
//! Each violation says whether the game is too fast or too slow; together they give one reason. Too
//! fast in one respect and too slow in another is "not with this time control".

use std::time::Duration;

use DeclineReason::{TooFast, TooSlow};

use super::rule::{ChallengeRule, RuleScope, Violations};
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
    out: &mut Violations,
) {
    match time {
        TimeControl::Clock { limit, increment } => {
            if estimate(limit, increment) < MIN_DURATION {
                out.add(ChallengeRule::UltraBullet, TooFast, "");
            }
            if scope == RuleScope::All {
                clock(limit, increment, rules, out);
            }
        }
        TimeControl::Correspondence { days } => correspondence(days, rules, scope, out),
        // A game of weeks is no matter of taste: these two bind welcome challengers too.
        TimeControl::Unlimited if !rules.unlimited => {
            out.add(ChallengeRule::NoUnlimited, TooSlow, "unlimited = false");
        }
        TimeControl::Unlimited => {}
        TimeControl::Unknown => {
            out.add(ChallengeRule::UnknownTime, DeclineReason::TimeControl, "");
        }
    }
}

fn correspondence(days: u32, rules: &Visitors, scope: RuleScope, out: &mut Violations) {
    if !rules.correspondence {
        let detail = "correspondence = false";
        out.add(ChallengeRule::NoCorrespondence, TooSlow, detail);
    } else if scope == RuleScope::All && days < rules.min_days {
        let detail = format!("{days}, min_days = {}", rules.min_days);
        out.add(ChallengeRule::FewDays, TooFast, detail);
    } else if scope == RuleScope::All && days > rules.max_days {
        let detail = format!("{days}, max_days = {}", rules.max_days);
        out.add(ChallengeRule::ManyDays, TooSlow, detail);
    }
}

fn clock(base: Duration, increment: Duration, rules: &Visitors, out: &mut Violations) {
    let seconds = |asked: Duration, key: &str, bound: Duration| {
        format!("{} s, {key} = {}", asked.as_secs(), bound.as_secs())
    };
    if base < rules.min_base {
        let detail = seconds(base, "min_base", rules.min_base);
        out.add(ChallengeRule::ShortBase, TooFast, detail);
    }
    if base > rules.max_base {
        let detail = seconds(base, "max_base", rules.max_base);
        out.add(ChallengeRule::LongBase, TooSlow, detail);
    }
    if increment < rules.min_increment {
        let detail = seconds(increment, "min_increment", rules.min_increment);
        out.add(ChallengeRule::SmallIncrement, TooFast, detail);
    }
    if increment > rules.max_increment {
        let detail = seconds(increment, "max_increment", rules.max_increment);
        out.add(ChallengeRule::LargeIncrement, TooSlow, detail);
    }
    let length = estimate(base, increment);
    if length > rules.max_duration {
        let detail = format!(
            "about {} minutes, max_duration = {}",
            length.as_secs().div_ceil(60),
            rules.max_duration.as_secs() / 60
        );
        out.add(ChallengeRule::LongGame, TooSlow, detail);
    }
    if rules.bullet_needs_increment && increment.is_zero() && length < BULLET_ENDS {
        let detail = "bullet_needs_increment = true";
        out.add(ChallengeRule::BulletWithoutIncrement, TooFast, detail);
    }
    if !rules.times.is_empty() && !rules.times.iter().any(|rule| rule.fits(base, increment)) {
        let listed: Vec<_> = rules.times.iter().map(ToString::to_string).collect();
        let detail = format!("times = {}", listed.join(", "));
        let reason = direction(base, increment, &rules.times);
        out.add(ChallengeRule::TimeNotListed, reason, detail);
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
        TooFast
    } else if listed.iter().all(|rule| beside(rule).is_gt()) {
        TooSlow
    } else {
        DeclineReason::TimeControl
    }
}

/// The rank of a speed, the fastest first.
fn rank(speed: Speed) -> Option<usize> {
    Speed::ALL.iter().position(|known| *known == speed)
}

/// One decline reason for several violations about time.
pub(super) fn together(mut reasons: impl Iterator<Item = DeclineReason>) -> DeclineReason {
    let first = reasons.next();
    let agreed = first.filter(|first| reasons.all(|reason| reason == *first));
    agreed.unwrap_or(DeclineReason::TimeControl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_reasons_ask_for_another_time_control() {
        use DeclineReason::TimeControl;
        assert_eq!(together([TooFast, TooFast].into_iter()), TooFast);
        assert_eq!(together([TooSlow].into_iter()), TooSlow);
        assert_eq!(together([TooFast, TooSlow].into_iter()), TimeControl);
    }
}
