//! The verdict on a challenge: taken, declined with the one reason that helps most, or ignored.
//!
//! A pure function of the challenge, the operator's rules and what is going on. What is not told is
//! unknown, never "no".

use std::time::Duration;

use crate::config;
use crate::lichess::{
    Challenge, ChallengeStatus, Compat, DeclineReason, Player, TimeControl, UserId, Variant,
};

/// The shortest game, by estimated duration, that the server lets a bot play.
const LEAST_DURATION: Duration = Duration::from_secs(30);
/// The moves of an average game, as the server estimates durations.
const ESTIMATED_MOVES: u32 = 40;

/// What is done about a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Accept,
    /// It is declined, and this is what the challenger is told.
    Decline(DeclineReason),
    /// It is none of our business: our own, or no longer open.
    Ignore,
}

/// What is going on while a challenge is judged.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Our account.
    pub me: &'a UserId,
    /// Whether another game may begin.
    pub open: Openness,
}

/// Whether another game may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// With anybody.
    Open,
    /// With humans only: the day's games against bots are used up.
    HumansOnly,
    /// With nobody: every seat is taken, or the program is about to end.
    Full,
}

/// Judges a challenge.
pub fn consider(
    challenge: &Challenge,
    compat: Option<Compat>,
    rules: &config::Challenge,
    standing: &Standing<'_>,
) -> Verdict {
    if !concerns_us(challenge, standing.me) {
        return Verdict::Ignore;
    }
    let visitors = rules.rules_for(challenge.challenger.as_ref().is_some_and(Player::is_bot));
    let reason = game_reason(challenge, visitors)
        .or_else(|| {
            compat
                .filter(|compat| !compat.bot)
                .map(|_| DeclineReason::Generic)
        })
        .or_else(|| challenger_reason(challenge.challenger.as_ref(), rules))
        .or_else(|| standing_reason(challenge, standing));
    reason.map_or(Verdict::Accept, Verdict::Decline)
}

/// Whether the challenge is open and meant for us: our own come back as events.
fn concerns_us(challenge: &Challenge, me: &UserId) -> bool {
    let is_me =
        |player: &Option<Player>| player.as_ref().is_some_and(|p| p.id.as_ref() == Some(me));
    let to_somebody_else = challenge.dest_user.is_some() && !is_me(&challenge.dest_user);
    challenge.status == ChallengeStatus::Created
        && !is_me(&challenge.challenger)
        && !to_somebody_else
}

fn game_reason(challenge: &Challenge, rules: &config::Visitors) -> Option<DeclineReason> {
    let usual_start = matches!(challenge.initial_fen.as_deref(), None | Some("startpos"));
    if challenge.variant != Variant::Atomic || !usual_start {
        return Some(DeclineReason::Variant);
    }
    time_reason(challenge.time_control, rules).or_else(|| mode_reason(challenge.rated, rules))
}

fn time_reason(time: TimeControl, rules: &config::Visitors) -> Option<DeclineReason> {
    let TimeControl::Clock { limit, increment } = time else {
        return Some(DeclineReason::TimeControl);
    };
    let estimate = limit.saturating_add(increment.saturating_mul(ESTIMATED_MOVES));
    let fast = limit < rules.min_base || increment < rules.min_increment;
    let slow = limit > rules.max_base || increment > rules.max_increment;
    match (fast || estimate < LEAST_DURATION, slow) {
        (true, true) => Some(DeclineReason::TimeControl),
        (true, false) => Some(DeclineReason::TooFast),
        (false, true) => Some(DeclineReason::TooSlow),
        (false, false) => None,
    }
}

/// The keys name what is asked for instead.
fn mode_reason(rated: bool, rules: &config::Visitors) -> Option<DeclineReason> {
    match (rated, rules.rated, rules.casual) {
        (true, true, _) | (false, _, true) => None,
        (true, false, true) => Some(DeclineReason::Casual),
        (false, true, false) => Some(DeclineReason::Rated),
        (_, false, false) => Some(DeclineReason::Generic),
    }
}

fn challenger_reason(
    challenger: Option<&Player>,
    rules: &config::Challenge,
) -> Option<DeclineReason> {
    let is_bot = challenger.is_some_and(Player::is_bot);
    let id = challenger.and_then(|player| player.id.as_ref());
    match is_bot {
        true if !rules.bots.accept => Some(DeclineReason::NoBot),
        false if !rules.humans.accept => Some(DeclineReason::OnlyBot),
        _ => id
            .filter(|id| rules.blocks(id.as_str()))
            .map(|_| DeclineReason::Generic),
    }
}

fn standing_reason(challenge: &Challenge, standing: &Standing<'_>) -> Option<DeclineReason> {
    let is_bot = challenge.challenger.as_ref().is_some_and(Player::is_bot);
    match standing.open {
        Openness::Open => None,
        Openness::HumansOnly if !is_bot => None,
        Openness::HumansOnly | Openness::Full => Some(DeclineReason::Later),
    }
}
