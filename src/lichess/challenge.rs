//! Challenges, received and requested.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::enums::{ChallengeStatus, ColorChoice, DeclineReason, Direction, Side, Speed, Variant};
use super::ids::{ChallengeId, GameId};
use super::lenient_json::{JsonMismatch, Lenient, is_present, or_default, read, required_seconds};
use super::player::Player;

/// How time runs in a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeControl {
    /// A clock for the game.
    Clock {
        /// Time at the start.
        #[serde(deserialize_with = "required_seconds")]
        limit: Duration,
        /// Time added after each move.
        #[serde(deserialize_with = "required_seconds")]
        increment: Duration,
    },
    /// Days for each move.
    Correspondence {
        #[serde(rename = "daysPerTurn")]
        days: u32,
    },
    /// No clock at all.
    Unlimited,
    /// A kind this program does not know.
    #[default]
    Unknown,
}

impl TimeControl {
    /// Whether a clock runs; in a kind unknown to this program one may.
    pub fn has_clock(self) -> bool {
        !matches!(self, Self::Correspondence { .. } | Self::Unlimited)
    }
}

/// A challenge, as the stream and the calls show it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// Its id, normally also that of the game it becomes.
    pub id: ChallengeId,
    #[serde(deserialize_with = "or_default")]
    pub status: ChallengeStatus,
    /// None for anonymous players and open challenges.
    #[serde(deserialize_with = "user")]
    pub challenger: Option<Player>,
    #[serde(deserialize_with = "user")]
    pub dest_user: Option<Player>,
    #[serde(rename = "variant.key|variant")]
    pub variant: Variant,
    /// Whether the game is rated. The server may turn a requested rated game into a casual one.
    pub rated: bool,
    pub speed: Speed,
    #[serde(deserialize_with = "or_default")]
    pub time_control: TimeControl,
    /// The colour the challenger asks for.
    pub color: ColorChoice,
    /// The colour the challenger gets.
    pub final_color: Option<Side>,
    /// Only in responses to calls.
    pub direction: Option<Direction>,
    /// A start position other than the standard one.
    pub initial_fen: Option<String>,
    /// The game this is a rematch of.
    pub rematch_of: Option<GameId>,
    /// Special rules, by the server's names.
    pub rules: Vec<String>,
    #[serde(rename = "declineReasonKey")]
    pub decline_reason: Option<DeclineReason>,
    /// Whether any user may accept it.
    #[serde(deserialize_with = "is_present")]
    pub open: bool,
    /// The line of the event stream that it came with, unless that was too long to be kept.
    #[serde(skip)]
    pub line: Option<Arc<str>>,
}

impl Challenge {
    /// Reads a challenge that stands alone.
    ///
    /// # Errors
    /// When it is no object, or lacks its id.
    pub fn from_json(json: &str) -> Result<Lenient<Self>, JsonMismatch> {
        read(json)
    }
}

/// A user; an object without any identity is none.
fn user<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Player>, D::Error> {
    let player: Option<Player> = Option::deserialize(value)?;
    Ok(player.filter(|player| player.id.is_some() || player.is_ai()))
}

/// All pending challenges, both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Challenges {
    #[serde(rename = "in")]
    pub incoming: Vec<Challenge>,
    #[serde(rename = "out")]
    pub outgoing: Vec<Challenge>,
}

/// One line of the stream that keeps an outgoing challenge alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChallengeUpdate {
    /// The server created the challenge; the first line.
    Created(Box<Challenge>),
    /// The challenge was accepted, declined or canceled; the last line.
    Done(ChallengeStatus),
}

impl ChallengeUpdate {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is no object, or neither a challenge nor its end.
    pub(super) fn from_line(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        let Lenient { value, mut dropped } = read::<ChallengeEnd>(line)?;
        let value = match (value.done, dropped.pop_if(|_| value.done.is_none())) {
            (Some(status), _) => Self::Done(status),
            (None, Some(mismatch)) => return Err(mismatch),
            (None, None) => {
                let created: Lenient<CreatedChallenge> = read(line)?;
                dropped = created.dropped;
                Self::Created(Box::new(created.value.challenge))
            }
        };
        Ok(Lenient { value, dropped })
    }
}

#[derive(Deserialize)]
struct ChallengeEnd {
    done: Option<ChallengeStatus>,
}

/// The answer that creates or shows a challenge: bare, or wrapped as older servers do.
#[derive(Deserialize)]
pub(super) struct CreatedChallenge {
    #[serde(rename = "challenge|.")]
    pub(super) challenge: Challenge,
}

/// The terms of an outgoing challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeOptions {
    pub rated: bool,
    /// `Unknown` asks for no clock, like `Unlimited`.
    pub time_control: TimeControl,
    pub color: ColorChoice,
    pub variant: Variant,
    /// The cost in the server's credits: 1 for a bot, 5 for a human.
    pub credits: u32,
}

impl Default for ChallengeOptions {
    /// Casual atomic, 3+2, random colour.
    fn default() -> Self {
        Self {
            rated: false,
            time_control: TimeControl::Clock {
                limit: Duration::from_secs(180),
                increment: Duration::from_secs(2),
            },
            color: ColorChoice::Random,
            variant: Variant::Atomic,
            credits: 1,
        }
    }
}

impl ChallengeOptions {
    /// The fields of the form.
    pub(super) fn form(&self) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("rated", self.rated.to_string()),
            ("color", self.color.as_str().to_owned()),
            ("variant", self.variant.as_str().to_owned()),
        ];
        match self.time_control {
            TimeControl::Clock { limit, increment } => {
                form.push(("clock.limit", limit.as_secs().to_string()));
                form.push(("clock.increment", increment.as_secs().to_string()));
            }
            TimeControl::Correspondence { days } => form.push(("days", days.to_string())),
            TimeControl::Unlimited | TimeControl::Unknown => {}
        }
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_challenger_is_anonymous() {
        for json in [
            r#"{"id":"a","challenger":null}"#,
            r#"{"id":"a","challenger":{}}"#,
            r#"{"id":"a"}"#,
        ] {
            let challenge = read::<Challenge>(json).unwrap().value;
            assert_eq!(challenge.challenger, None, "{json}");
        }
    }

    #[test]
    fn a_variant_is_read_as_object_and_as_word() {
        for json in [
            r#"{"id":"a","variant":{"key":"atomic","name":"Atomic"}}"#,
            r#"{"id":"a","variant":"atomic"}"#,
        ] {
            let challenge = read::<Challenge>(json).unwrap().value;
            assert_eq!(challenge.variant, Variant::Atomic);
        }
    }

    #[test]
    fn the_clock_is_decided_by_its_type_and_not_by_the_speed() {
        let json = r#"{"id":"a","speed":"correspondence",
            "timeControl":{"type":"clock","limit":10800,"increment":180,"show":"180+180"}}"#;
        let challenge = read::<Challenge>(json).unwrap().value;
        let limit = Duration::from_secs(10_800);
        let increment = Duration::from_secs(180);
        assert_eq!(
            challenge.time_control,
            TimeControl::Clock { limit, increment }
        );
    }

    #[test]
    fn the_form_of_a_challenge_counts_in_seconds() {
        let form = ChallengeOptions::default().form();
        assert!(form.contains(&("clock.limit", "180".into())));
        assert!(form.contains(&("clock.increment", "2".into())));
        assert!(form.contains(&("variant", "atomic".into())));
    }
}
