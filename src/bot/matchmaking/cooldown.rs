//! Cooldowns: which opponents to leave alone after a decline, and for how long.
//!
//! A cooldown applies to one opponent and, where the reason says so, only to some speeds or to
//! rated or casual games: an opponent who finds a game too fast may like a slower one. Pure: the
//! bot state stores cooldowns, doubles repeated ones, and keeps them across restarts.

use std::time::Duration;

use crate::lichess::{DeclineReason, Speed, UserId};

/// The speeds of games that the bot offers, the fastest first.
const SPEEDS: [Speed; 5] = [
    Speed::Bullet,
    Speed::Blitz,
    Speed::Rapid,
    Speed::Classical,
    Speed::Correspondence,
];
/// A permanent refusal counts this many times longer than a temporary one.
const LONG: u32 = 24;
/// The factor for one without a reason; "later" is as many times shorter.
const MIDDLING: u32 = 6;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    Declined(DeclineReason),
    Silent,
    /// The server refuses challenges to them.
    Barred,
    /// They played; leave them to others for this long.
    Played(Duration),
}

/// A cooldown to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cooldown {
    /// Its key in the bot state.
    pub key: String,
    /// Its first length; doubled with each repetition.
    pub first: Duration,
    pub most: Duration,
    pub reason: &'static str,
}

/// What a cooldown covers: everything with this opponent, or only some games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CooldownScope {
    All,
    Speed(Speed),
    Mode(bool),
    Game(Speed, bool),
    /// Everything, by the bot's own choice: no refusal, and not shortened by one.
    Played,
}

impl CooldownScope {
    fn key(self, opponent: &UserId) -> String {
        let (speed, rated) = match self {
            Self::All => (None, None),
            Self::Speed(speed) => (Some(speed), None),
            Self::Mode(rated) => (None, Some(rated)),
            Self::Game(speed, rated) => (Some(speed), Some(rated)),
            Self::Played => return format!("played {opponent}"),
        };
        let speed = speed.map_or("*", Speed::as_str);
        let mode = rated.map_or("*", |rated| if rated { "rated" } else { "casual" });
        format!("{}{speed} {mode}", refusals(opponent))
    }
}

/// The cooldowns that rule out such a game.
pub fn keys(opponent: &UserId, speed: Speed, rated: bool) -> [String; 5] {
    [
        CooldownScope::All,
        CooldownScope::Speed(speed),
        CooldownScope::Mode(rated),
        CooldownScope::Game(speed, rated),
        CooldownScope::Played,
    ]
    .map(|about| about.key(opponent))
}

/// The prefix of the keys of an opponent's refusals, which an accepted challenge makes forgotten.
pub fn refusals(opponent: &UserId) -> String {
    format!("challenge {opponent} ")
}

/// The cooldowns that follow an attempt at such a game; `first` and `most` are the configured
/// lengths.
pub fn lesson(
    opponent: &UserId,
    speed: Speed,
    rated: bool,
    outcome: AttemptOutcome,
    (first, most): (Duration, Duration),
) -> Vec<Cooldown> {
    let (abouts, length) = about(speed, rated, outcome, first);
    let fixed = matches!(outcome, AttemptOutcome::Played(_));
    abouts
        .into_iter()
        .map(|about| Cooldown {
            key: about.key(opponent),
            first: length,
            most: if fixed { length } else { most },
            reason: reason(outcome),
        })
        .collect()
}

fn about(
    speed: Speed,
    rated: bool,
    outcome: AttemptOutcome,
    first: Duration,
) -> (Vec<CooldownScope>, Duration) {
    let at = SPEEDS.iter().position(|it| *it == speed);
    let as_fast = || SPEEDS[..at.map_or(0, |at| at + 1)].iter();
    let as_slow = || SPEEDS[at.unwrap_or(SPEEDS.len())..].iter();
    let speeds =
        |speeds: std::slice::Iter<'_, Speed>| speeds.copied().map(CooldownScope::Speed).collect();
    let (middling, long) = (first.saturating_mul(MIDDLING), first.saturating_mul(LONG));
    match outcome {
        AttemptOutcome::Declined(reason) => match reason {
            DeclineReason::NoBot | DeclineReason::Variant | DeclineReason::Standard => {
                (vec![CooldownScope::All], long)
            }
            DeclineReason::TooFast => (speeds(as_fast()), long),
            DeclineReason::TooSlow => (speeds(as_slow()), long),
            DeclineReason::TimeControl => (vec![CooldownScope::Speed(speed)], long),
            // The reason names what they want instead, so they refuse the opposite.
            DeclineReason::Rated => (vec![CooldownScope::Mode(false)], long),
            DeclineReason::Casual => (vec![CooldownScope::Mode(true)], long),
            DeclineReason::Later => (vec![CooldownScope::All], first / MIDDLING),
            DeclineReason::Generic | DeclineReason::OnlyBot | DeclineReason::Unknown => {
                (vec![CooldownScope::Game(speed, rated)], middling)
            }
        },
        AttemptOutcome::Silent => (vec![CooldownScope::All], first),
        AttemptOutcome::Barred => (vec![CooldownScope::All], long),
        AttemptOutcome::Played(wait) => (vec![CooldownScope::Played], wait),
    }
}

fn reason(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Declined(reason) => reason.as_str(),
        AttemptOutcome::Silent => "no answer",
        AttemptOutcome::Barred => "refused by the server",
        AttemptOutcome::Played(_) => "played",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const WEEK: Duration = Duration::from_secs(604_800);

    fn learned(outcome: AttemptOutcome) -> Vec<Cooldown> {
        let them = UserId::new("NukeEngine");
        lesson(&them, Speed::Blitz, true, outcome, (HOUR, WEEK))
    }

    /// Which of bullet, blitz, rapid and classical remain allowed after it, rated or casual.
    fn open(outcome: AttemptOutcome, rated: bool) -> String {
        let learned = learned(outcome);
        let closed = |speed| {
            let keys = keys(&UserId::new("nukeengine"), speed, rated);
            learned.iter().any(|rest| keys.contains(&rest.key))
        };
        let mark = |speed| if closed(speed) { '-' } else { 'x' };
        SPEEDS.into_iter().take(4).map(mark).collect()
    }

    #[test]
    fn a_reason_rules_out_what_it_names_and_nothing_else() {
        for (reason, rated, casual) in [
            ("nobot", "----", "----"),
            ("variant", "----", "----"),
            ("standard", "----", "----"),
            ("later", "----", "----"),
            ("toofast", "--xx", "--xx"),
            ("tooslow", "x---", "x---"),
            ("timecontrol", "x-xx", "x-xx"),
            ("rated", "xxxx", "----"),
            ("casual", "----", "xxxx"),
            ("generic", "x-xx", "xxxx"),
            ("onlybot", "x-xx", "xxxx"),
            ("novelty", "x-xx", "xxxx"),
        ] {
            let outcome = AttemptOutcome::Declined(DeclineReason::from_word(reason));
            assert_eq!(open(outcome, true), rated, "{reason}, rated");
            assert_eq!(open(outcome, false), casual, "{reason}, casual");
        }
    }

    #[test]
    fn a_permanent_refusal_counts_longer_than_a_temporary_one() {
        let minutes = |outcome| learned(outcome)[0].first.as_secs() / 60;
        assert_eq!(minutes(AttemptOutcome::Declined(DeclineReason::Later)), 10);
        assert_eq!(minutes(AttemptOutcome::Silent), 60);
        assert_eq!(
            minutes(AttemptOutcome::Declined(DeclineReason::Generic)),
            6 * 60
        );
        assert_eq!(
            minutes(AttemptOutcome::Declined(DeclineReason::NoBot)),
            24 * 60
        );
        assert_eq!(minutes(AttemptOutcome::Barred), 24 * 60);
    }

    #[test]
    fn a_cooldown_with_a_fixed_length_is_never_doubled() {
        let rest = &learned(AttemptOutcome::Played(HOUR * 3))[0];
        assert_eq!((rest.first, rest.most), (HOUR * 3, HOUR * 3));
        assert_eq!(learned(AttemptOutcome::Silent)[0].most, WEEK);
    }

    #[test]
    fn every_refusal_has_the_prefix_and_a_played_game_is_none() {
        let prefix = refusals(&UserId::new("nukeengine"));
        for reason in DeclineReason::ALL {
            for rest in learned(AttemptOutcome::Declined(*reason)) {
                assert!(rest.key.starts_with(&prefix), "{rest:?}");
            }
        }
        let played = AttemptOutcome::Played(HOUR);
        assert!(!learned(played)[0].key.starts_with(&prefix));
        assert_eq!(open(played, true), "----");
    }
}
