//! The account's event stream: its events.
//!
//! The position in an event is for display and is not read: after an explosion it lacks a king. Positions
//! come from the move list of the game stream.

use std::time::Duration;

use super::challenge::{Challenge, variant};
use super::enums::{Side, Speed, Status, Variant};
use super::ids::GameId;
use super::lenient_json::{FromObject, JsonMismatch, Lenient, Object, read};
use super::player::Player;

/// One line of the event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A game is on; repeated for every running game each time the stream is opened.
    GameStart(Box<GameInfo>),
    /// A game has ended. Not sent for games that ended while no one listened.
    GameFinish(Box<GameInfo>),
    /// A challenge, ours too.
    Challenge {
        challenge: Box<Challenge>,
        /// Whether the game could be played; unknown for those sent at the opening.
        compat: Option<Compat>,
    },
    /// A challenge was withdrawn, perhaps by us.
    ChallengeCanceled(Box<Challenge>),
    /// A challenge was declined, perhaps by us.
    ChallengeDeclined(Box<Challenge>),
    /// Something this program does not know.
    Unknown {
        /// What the server calls it.
        kind: String,
    },
}

impl Event {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is no object, or lacks what its kind cannot be understood without.
    pub fn from_line(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        read(line)
    }
}

impl FromObject for Event {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let kind: String = object.required("type")?;
        Ok(match kind.as_str() {
            "gameStart" => Self::GameStart(Box::new(object.required_nested("game")?)),
            "gameFinish" => Self::GameFinish(Box::new(object.required_nested("game")?)),
            "challenge" => Self::Challenge {
                challenge: Box::new(object.required_nested("challenge")?),
                compat: object.nested("compat"),
            },
            "challengeCanceled" => {
                Self::ChallengeCanceled(Box::new(object.required_nested("challenge")?))
            }
            "challengeDeclined" => {
                Self::ChallengeDeclined(Box::new(object.required_nested("challenge")?))
            }
            _ => Self::Unknown { kind },
        })
    }
}

/// Through which interfaces a game may be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compat {
    pub bot: bool,
    /// By a physical board.
    pub board: bool,
}

impl FromObject for Compat {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        Ok(Self {
            bot: object.required("bot")?,
            board: object.flag("board"),
        })
    }
}

/// A game as the event stream and the list of running games show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameInfo {
    /// Its public id. The private one is never kept.
    pub id: GameId,
    pub color: Option<Side>,
    /// Where the game came from: `friend`, `ai`, `arena` …
    pub source: Option<String>,
    /// Where it stands; absent in some lists.
    pub status: Option<Status>,
    pub variant: Variant,
    pub speed: Speed,
    /// Whether ratings are at stake.
    pub rated: bool,
    /// Whether we have moved.
    pub has_moved: bool,
    /// Whether it is our turn.
    pub is_my_turn: bool,
    pub opponent: Player,
    /// Our remaining time; absent when unlimited.
    pub time_left: Option<Duration>,
    /// Our rating when the game began.
    pub rating: Option<i32>,
    /// What the game did to our rating; absent where it did not count.
    pub rating_diff: Option<i32>,
    /// The arena it belongs to.
    pub tournament: Option<String>,
    pub winner: Option<Side>,
    /// Whether we may play it here; unknown in lists.
    pub compat: Option<Compat>,
}

impl FromObject for GameInfo {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: Option<String> = object.optional("gameId");
        let id = match id {
            Some(id) => id,
            None => object.required("id")?,
        };
        Ok(Self {
            id: GameId::new(id),
            color: object.optional("color"),
            source: object.optional("source"),
            status: status(object),
            variant: variant(object),
            speed: object.word("speed").unwrap_or(Speed::Unknown),
            rated: object.flag("rated"),
            has_moved: object.flag("hasMoved"),
            is_my_turn: object.flag("isMyTurn"),
            opponent: object.nested("opponent").unwrap_or_default(),
            time_left: object.count("secondsLeft").map(Duration::from_secs),
            rating: object.small("rating"),
            rating_diff: object.small("ratingDiff"),
            tournament: object.optional("tournamentId"),
            winner: object.optional("winner"),
            compat: object.nested("compat"),
        })
    }
}

/// A status: a word in streams, an object in events, absent in places.
pub(super) fn status(object: &Object<'_>) -> Option<Status> {
    let raw = object.raw("status")?;
    if raw.starts_with(|c: char| c.is_ascii_digit()) {
        return object.count("status").map(Status::from_number);
    }
    object.word_within("status", "name").or_else(|| {
        let number = object.object("status")?.count("id");
        number.map(Status::from_number)
    })
}

/// The games of the account that are running now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playing {
    /// The games, most urgent first.
    pub games: Vec<GameInfo>,
}

impl FromObject for Playing {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        if object.raw("nowPlaying").is_none() {
            return Err(JsonMismatch {
                path: "nowPlaying".into(),
                reason: "missing".into(),
            });
        }
        Ok(Self {
            games: object.list("nowPlaying"),
        })
    }
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
    fn a_status_is_read_as_word_as_object_as_number_and_as_nothing() {
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
