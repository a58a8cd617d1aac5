//! The account's event stream: its events.
//!
//! The position in an event is for display and is not read: after an explosion it lacks a king. Positions
//! come from the move list of the game stream.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::challenge::Challenge;
use super::enums::{Side, Speed, Status, Variant};
use super::ids::GameId;
use super::lenient_json::{JsonMismatch, Lenient, or_default, read, required, seconds};
use super::player::Player;

/// Longest line that stays with its challenge, in bytes; usual ones have a tenth.
const MAX_KEPT_LINE: usize = 16 * 1024;

/// One line of the event stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A game has started; repeated for every running game each time the stream is opened.
    #[serde(deserialize_with = "game")]
    GameStart(Box<GameInfo>),
    /// A game has ended. Not sent for games that ended while the stream was closed.
    #[serde(deserialize_with = "game")]
    GameFinish(Box<GameInfo>),
    /// A challenge, incoming or outgoing.
    Challenge {
        challenge: Box<Challenge>,
        /// Whether the game could be played; unknown for challenges repeated at the opening.
        compat: Option<Compat>,
    },
    /// The challenger withdrew a challenge; it may have been ours.
    #[serde(deserialize_with = "challenge")]
    ChallengeCanceled(Box<Challenge>),
    /// The challenged player declined a challenge; that may have been us.
    #[serde(deserialize_with = "challenge")]
    ChallengeDeclined(Box<Challenge>),
    /// Something this program does not know.
    Unknown {
        /// What the server calls it.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl Event {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is no object, or lacks what its kind cannot be understood without.
    pub fn from_line(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        let mut event = read(line)?;
        if let Self::Challenge { challenge, .. } = &mut event.value
            && line.len() <= MAX_KEPT_LINE
        {
            challenge.line = Some(line.into());
        }
        Ok(event)
    }
}

fn game<'de, D: Deserializer<'de>>(line: D) -> Result<Box<GameInfo>, D::Error> {
    #[derive(Deserialize)]
    struct Line {
        game: Box<GameInfo>,
    }
    Line::deserialize(line).map(|line| line.game)
}

fn challenge<'de, D: Deserializer<'de>>(line: D) -> Result<Box<Challenge>, D::Error> {
    #[derive(Deserialize)]
    struct Line {
        challenge: Box<Challenge>,
    }
    Line::deserialize(line).map(|line| line.challenge)
}

/// The interfaces through which a game may be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Compat {
    #[serde(deserialize_with = "required")]
    pub bot: bool,
    /// By a physical board.
    pub board: bool,
}

/// A game in the event stream and in the list of running games.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameInfo {
    /// The public id. The bot never keeps the private one.
    #[serde(rename = "gameId|id")]
    pub id: GameId,
    pub color: Option<Side>,
    /// The origin of the game: `friend`, `ai`, `arena` …
    pub source: Option<String>,
    /// Absent in some lists.
    #[serde(rename = "status.name|status.id|status")]
    pub status: Option<Status>,
    #[serde(rename = "variant.key|variant")]
    pub variant: Variant,
    pub speed: Speed,
    pub rated: bool,
    /// Whether we have moved.
    pub has_moved: bool,
    /// Whether it is our turn.
    pub is_my_turn: bool,
    #[serde(deserialize_with = "or_default")]
    pub opponent: Player,
    /// Our remaining time; absent when unlimited.
    #[serde(rename = "secondsLeft", deserialize_with = "seconds")]
    pub time_left: Option<Duration>,
    /// Our rating when the game began.
    pub rating: Option<i32>,
    /// The effect of the game on our rating; absent in unrated games.
    pub rating_diff: Option<i32>,
    /// The arena it belongs to.
    #[serde(rename = "tournamentId")]
    pub tournament: Option<String>,
    pub winner: Option<Side>,
    /// Unknown in lists.
    pub compat: Option<Compat>,
}

/// The running games of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Playing {
    /// The games, most urgent first.
    #[serde(rename = "nowPlaying", deserialize_with = "required")]
    pub games: Vec<GameInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(json: &str) -> GameInfo {
        let read = read::<GameInfo>(json).unwrap();
        assert_eq!(read.dropped, [], "{json}");
        read.value
    }

    #[test]
    fn a_status_is_read_as_word_object_number_or_nothing() {
        let cases = [
            (
                r#"{"id":"a","status":"variantEnd"}"#,
                Some(Status::VariantEnd),
            ),
            (
                r#"{"id":"a","status":{"id":60,"name":"variantEnd"}}"#,
                Some(Status::VariantEnd),
            ),
            (r#"{"id":"a","status":{"id":60}}"#, Some(Status::VariantEnd)),
            (r#"{"id":"a","status":60}"#, Some(Status::VariantEnd)),
            (r#"{"id":"a","status":null}"#, None),
            (r#"{"id":"a"}"#, None),
        ];
        for (json, expected) in cases {
            assert_eq!(game(json).status, expected, "{json}");
        }
    }

    #[test]
    fn an_unknown_word_is_kept_as_unknown_and_mentioned() {
        let read = read::<GameInfo>(r#"{"id":"a","status":"exploded","speed":"warp"}"#).unwrap();
        assert_eq!(read.value.status, Some(Status::Unknown));
        let warnings: Vec<_> = read.dropped.iter().map(JsonMismatch::to_string).collect();
        assert_eq!(
            warnings,
            [
                r#"status: unknown word "exploded""#,
                r#"speed: unknown word "warp""#
            ]
        );
    }

    #[test]
    fn the_public_id_is_read_from_either_name() {
        assert_eq!(game(r#"{"gameId":"q7ZxVt2B"}"#).id, GameId::new("q7ZxVt2B"));
        assert_eq!(game(r#"{"id":"q7ZxVt2B"}"#).id, GameId::new("q7ZxVt2B"));
        assert!(read::<GameInfo>(r#"{"fullId":"q7ZxVt2BkM4s"}"#).is_err());
    }

    #[test]
    fn missing_compat_is_unknown_and_not_false() {
        let line = r#"{"type":"challenge","challenge":{"id":"c0Rr3sPd"}}"#;
        let Event::Challenge { compat, .. } = Event::from_line(line).unwrap().value else {
            panic!("no challenge");
        };
        assert_eq!(compat, None);
    }

    #[test]
    fn a_challenge_keeps_its_line_unless_that_is_too_long() {
        let kept = |line: &str| match Event::from_line(line).unwrap().value {
            Event::Challenge { challenge, .. } => challenge.line,
            other => panic!("{other:?}"),
        };
        let line = r#"{"type":"challenge","challenge":{"id":"c0Rr3sPd"}}"#;
        assert_eq!(kept(line).as_deref(), Some(line));
        let long = line.replace("c0", &format!("c0\",\"x\":\"{}", "y".repeat(MAX_KEPT_LINE)));
        assert_eq!(kept(&long), None);
    }

    #[test]
    fn an_unknown_kind_is_no_error() {
        let read = Event::from_line(r#"{"type":"simulStart","x":1}"#).unwrap();
        let kind = "simulStart".to_owned();
        assert_eq!(read.value, Event::Unknown { kind });
    }

    #[test]
    fn the_position_is_never_read() {
        let line = r#"{"type":"gameFinish","game":{"id":"a","fen":17,"lastMove":[]}}"#;
        assert!(Event::from_line(line).unwrap().dropped.is_empty());
    }
}
