//! Challenges: as received, and as requested.

use std::time::Duration;

use super::enums::{ChallengeStatus, ColorChoice, DeclineReason, Direction, Side, Speed, Variant};
use super::ids::{ChallengeId, GameId};
use super::lenient_json::{FromObject, JsonMismatch, Lenient, Object, read};
use super::player::Player;

/// How time runs in a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// A clock for the game.
    Clock {
        /// Time at the start.
        limit: Duration,
        /// Time added after each move.
        increment: Duration,
    },
    /// Days for each move.
    Correspondence { days: u32 },
    /// No clock at all.
    Unlimited,
    /// A kind this program does not know.
    Unknown,
}

impl FromObject for TimeControl {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let kind: Option<String> = object.optional("type");
        Ok(match kind.as_deref() {
            Some("clock") => match (object.count("limit"), object.count("increment")) {
                (Some(limit), Some(increment)) => Self::Clock {
                    limit: Duration::from_secs(limit),
                    increment: Duration::from_secs(increment),
                },
                _ => Self::Unknown,
            },
            Some("correspondence") => match object.small("daysPerTurn") {
                Some(days) => Self::Correspondence { days },
                None => Self::Unknown,
            },
            Some("unlimited") => Self::Unlimited,
            _ => Self::Unknown,
        })
    }
}

/// A challenge, as the stream and the calls show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Its id, normally also that of the game it becomes.
    pub id: ChallengeId,
    pub status: ChallengeStatus,
    /// Who challenges; none for anonymous players and open challenges.
    pub challenger: Option<Player>,
    pub dest_user: Option<Player>,
    /// What is to be played.
    pub variant: Variant,
    /// Whether ratings are at stake. The server may turn a yes into a no: read it in each answer.
    pub rated: bool,
    pub speed: Speed,
    pub time_control: TimeControl,
    /// The colour the challenger chose for themself.
    pub color: ColorChoice,
    /// The colour the challenger gets; ours is the other one.
    pub final_color: Option<Side>,
    /// Which way it goes; told in answers to calls only.
    pub direction: Option<Direction>,
    /// A start position other than the usual one.
    pub initial_fen: Option<String>,
    /// The game this is a rematch of.
    pub rematch_of: Option<GameId>,
    /// Special rules, by the server's names.
    pub rules: Vec<String>,
    /// Why it was declined.
    pub decline_reason: Option<DeclineReason>,
    /// Whether anyone may take it.
    pub open: bool,
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

impl FromObject for Challenge {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: String = object.required("id")?;
        let rematch_of: Option<String> = object.optional("rematchOf");
        Ok(Self {
            id: ChallengeId::new(id),
            status: object.word("status").unwrap_or(ChallengeStatus::Created),
            challenger: someone(object, "challenger"),
            dest_user: someone(object, "destUser"),
            variant: variant(object),
            rated: object.flag("rated"),
            speed: object.word("speed").unwrap_or(Speed::Unknown),
            time_control: object.nested("timeControl").unwrap_or(TimeControl::Unknown),
            color: object.word("color").unwrap_or(ColorChoice::Unknown),
            final_color: object.optional("finalColor"),
            direction: object.word("direction"),
            initial_fen: object.optional("initialFen"),
            rematch_of: rematch_of.map(GameId::new),
            rules: object.optional("rules").unwrap_or_default(),
            decline_reason: object.word("declineReasonKey"),
            open: object.raw("open").is_some(),
        })
    }
}

/// A user object; one without any identity is no one.
fn someone(object: &Object<'_>, key: &str) -> Option<Player> {
    let player: Player = object.nested(key)?;
    (player.id.is_some() || player.is_ai()).then_some(player)
}

/// The variant key, an object in streams and a bare word in exports.
pub(super) fn variant(object: &Object<'_>) -> Variant {
    object
        .word_within("variant", "key")
        .unwrap_or(Variant::Unknown)
}

/// All pending challenges, both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenges {
    pub incoming: Vec<Challenge>,
    pub outgoing: Vec<Challenge>,
}

impl FromObject for Challenges {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        Ok(Self {
            incoming: object.list("in"),
            outgoing: object.list("out"),
        })
    }
}

/// News of a challenge of ours that is kept alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChallengeUpdate {
    /// It stands; the first news.
    Created(Box<Challenge>),
    /// It was accepted, declined or cancelled; the last news.
    Done(ChallengeStatus),
}

impl FromObject for ChallengeUpdate {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        if object.has("done") {
            return Ok(Self::Done(object.required("done")?));
        }
        let challenge = created(object)?;
        Ok(Self::Created(Box::new(challenge)))
    }
}

/// The challenge in the answer that created it: bare, or wrapped as older servers do.
pub(super) fn created(object: &Object<'_>) -> Result<Challenge, JsonMismatch> {
    if object.has("challenge") {
        object.required_nested("challenge")
    } else {
        Challenge::from_object(object)
    }
}

/// What is asked of a user we challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeOptions {
    pub rated: bool,
    /// The clock; `Unknown` asks for none, like `Unlimited`.
    pub time_control: TimeControl,
    /// The colour we want.
    pub color: ColorChoice,
    /// What is to be played.
    pub variant: Variant,
    /// Special rules; refused when the other side is a bot.
    pub rules: Vec<String>,
    /// What it costs of the server's allowance: 1 where a bot is challenged, 5 for a person.
    pub credits: u32,
}

impl Default for ChallengeOptions {
    /// Casual atomic, 3+2, colours as they fall.
    fn default() -> Self {
        Self {
            rated: false,
            time_control: TimeControl::Clock {
                limit: Duration::from_secs(180),
                increment: Duration::from_secs(2),
            },
            color: ColorChoice::Random,
            variant: Variant::Atomic,
            rules: Vec::new(),
            credits: 1,
        }
    }
}

impl ChallengeOptions {
    /// The fields of the form that makes the challenge.
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
        if !self.rules.is_empty() {
            form.push(("rules", self.rules.join(",")));
        }
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_challenges_when_the_challenger_is_null_or_empty() {
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
        assert!(!form.iter().any(|(key, _)| *key == "rules"));
    }
}
