//! What goes over the control socket: one JSON object a line, each way.
//!
//! Data only. Fields are only ever added to answers; a request with a field that is not known is
//! refused, for it may have been meant.

use serde::{Deserialize, Serialize};

use super::health::HealthReport;
use crate::bot::{ChallengeSpec, Command, Reply, Status};
use crate::config::ColorWish;
use crate::lichess::{ChallengeId, GameId, JoinOptions, Room};

/// Longest request, in bytes.
pub const LONGEST: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    Status {},
    Health {},
    Pause {},
    Resume {},
    /// Finish the games and end.
    Drain {},
    /// Read the config again.
    Reload {},
    Challenge {
        user: String,
        /// A profile's name or a clock such as `3+2`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        what: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rated: Option<bool>,
        /// The colour that we want.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        color: Option<ColorWish>,
    },
    /// Challenge the last opponent again.
    Rechallenge {},
    /// Take a challenge of ours back.
    Cancel {
        /// Which; without it whatever is out or waits to go out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        challenge: Option<String>,
    },
    /// Call a game off.
    Abort {
        game: String,
    },
    /// Give a game up.
    Resign {
        game: String,
    },
    /// Decline whatever an account wants.
    Block {
        user: String,
    },
    /// Do so no longer.
    Unblock {
        user: String,
    },
    /// Look for games, or no longer.
    Matchmaking {
        /// Which of the two.
        on: bool,
    },
    Join {
        /// The eight letters of its address.
        arena: String,
        /// What it asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
        /// The team to play for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        team: Option<String>,
    },
    Leave {
        /// The eight letters of its address.
        arena: String,
    },
    /// Say something in a game.
    Say {
        game: String,
        text: String,
        /// To those who watch, not to the opponent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        spectators: bool,
    },
}

/// A word that no log shows.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Request {
    /// The bot's command; none for what is not the bot's affair.
    pub(super) fn command(self) -> Option<Command> {
        Some(match self {
            Self::Status {} => Command::Status,
            Self::Pause {} => Command::Pause,
            Self::Resume {} => Command::Resume,
            Self::Drain {} => Command::Drain,
            Self::Reload {} | Self::Health {} => return None,
            Self::Challenge {
                user,
                what,
                rated,
                color,
            } => Command::Challenge(ChallengeSpec {
                user,
                what,
                rated,
                color,
            }),
            Self::Rechallenge {} => Command::Rechallenge,
            Self::Cancel { challenge } => Command::Cancel(challenge.map(ChallengeId::new)),
            Self::Abort { game } => Command::Abort(GameId::new(game)),
            Self::Resign { game } => Command::Resign(GameId::new(game)),
            Self::Block { user } => Command::Block(user),
            Self::Unblock { user } => Command::Unblock(user),
            Self::Matchmaking { on } => Command::Matchmaking(on),
            Self::Join {
                arena,
                password,
                team,
            } => Command::JoinArena(
                arena,
                JoinOptions {
                    password: password.map(|Secret(word)| word),
                    team,
                    ..JoinOptions::default()
                },
            ),
            Self::Leave { arena } => Command::LeaveArena(arena),
            Self::Say {
                game,
                text,
                spectators,
            } => {
                let room = if spectators {
                    Room::Spectator
                } else {
                    Room::Player
                };
                Command::Say(GameId::new(game), room, text)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// Whether it is done, or under way.
    pub ok: bool,
    /// What there is to say: what is done, or why it is not.
    pub text: String,
    /// How things are, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<Status>>,
    /// Whether it is well, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthReport>,
}

impl Response {
    pub(super) fn done(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            text: text.into(),
            ..Self::default()
        }
    }

    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self {
            ok: false,
            text: text.into(),
            ..Self::default()
        }
    }
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Done(text) => Self::done(text),
            Reply::Refused(text) => Self::refused(text),
            Reply::Status(status) => Self {
                status: Some(status),
                ..Self::done("")
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_object_with_a_verb() {
        let read = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(read(r#"{"do":"status"}"#).unwrap(), Request::Status {});
        assert_eq!(
            read(r#"{"do":"challenge","user":"x","rated":false,"color":"white"}"#).unwrap(),
            Request::Challenge {
                user: "x".to_owned(),
                what: None,
                rated: Some(false),
                color: Some(ColorWish::White),
            }
        );
        assert_eq!(
            read(r#"{"do":"cancel"}"#).unwrap(),
            Request::Cancel { challenge: None }
        );
        assert_eq!(
            read(r#"{"do":"abort","game":"q7ZxVt2B"}"#).unwrap(),
            Request::Abort {
                game: "q7ZxVt2B".to_owned()
            }
        );
        assert!(read(r#"{"do":"resign"}"#).is_err(), "which game?");
        assert!(read(r#"{"do":"dance"}"#).is_err());
        assert!(read(r#"{"do":"pause","for":3}"#).is_err());
        assert!(read(r#""status""#).is_err());
    }

    #[test]
    fn an_answer_with_more_in_it_is_understood() {
        let later = r#"{"ok":true,"text":"","status":{"account":"x","mood":"good"},"more":1}"#;
        let answer: Response = serde_json::from_str(later).unwrap();
        assert_eq!(answer.status.unwrap().account.as_deref(), Some("x"));
    }
}
