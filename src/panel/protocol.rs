//! The messages on the control socket: one JSON object per line, each way.
//!
//! Responses only ever gain fields. A request with an unknown field is refused, since the sender meant
//! something by it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::health::HealthReport;
use crate::bot::{ChallengeSpec, Command, Reply, Status};
use crate::lichess::{ChallengeId, GameId, JoinOptions, Room};

/// Longest request, in bytes.
pub const LONGEST: usize = 4096;
/// The most seconds for which an upgrade looks for its moment: a day.
pub const LONGEST_UPGRADE: u64 = 86_400;

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    Status {},
    Health {},
    Pause {},
    Resume {},
    /// Finish the games and exit.
    Drain {},
    /// Hand over to the program that is installed now, between moves.
    Upgrade {
        /// Seconds to look for a moment.
        within: u64,
    },
    /// Reread the config.
    Reload {},
    Challenge(ChallengeSpec),
    /// Challenge the last opponent again.
    Rechallenge {},
    /// Withdraw a challenge of ours.
    Cancel {
        /// Its id; without it the open challenge and those waiting to be sent.
        challenge: Option<String>,
    },
    Abort {
        game: String,
    },
    Resign {
        game: String,
    },
    /// Decline all challenges of an account.
    Block {
        user: String,
    },
    Unblock {
        user: String,
    },
    /// Turn matchmaking on or off.
    Matchmaking {
        on: bool,
    },
    Join {
        /// The eight letters in its URL.
        arena: String,
        password: Option<Secret>,
        /// The team to play for.
        team: Option<String>,
    },
    Leave {
        /// The eight letters in its URL.
        arena: String,
    },
    /// Send a chat message in a game.
    Say {
        game: String,
        text: String,
        /// Send to the spectators instead of the opponent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        spectators: bool,
    },
}

/// A password, which logs do not show.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Request {
    /// The bot's command; `None` for requests that the panel handles itself.
    pub(super) fn command(self) -> Option<Command> {
        Some(match self {
            Self::Status {} => Command::Status,
            Self::Pause {} => Command::Pause,
            Self::Resume {} => Command::Resume,
            Self::Drain {} => Command::Drain,
            Self::Upgrade { within } => {
                Command::Upgrade(Duration::from_secs(within.min(LONGEST_UPGRADE)))
            }
            Self::Reload {} | Self::Health {} => return None,
            Self::Challenge(spec) => Command::Challenge(spec),
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

#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// Whether the request succeeded, or is in progress.
    pub ok: bool,
    /// What was done, or why it was refused.
    pub text: String,
    pub status: Option<Box<Status>>,
    pub health: Option<HealthReport>,
}

impl Response {
    pub(super) fn done(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            ..Self::refused(text)
        }
    }

    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self {
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
    use crate::config::ColorWish;

    #[test]
    fn a_request_is_one_object_with_a_verb() {
        let read = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(read(r#"{"do":"status"}"#).unwrap(), Request::Status {});
        assert_eq!(
            read(r#"{"do":"challenge","user":"x","rated":false,"color":"white"}"#).unwrap(),
            Request::Challenge(ChallengeSpec {
                user: "x".to_owned(),
                what: None,
                rated: Some(false),
                color: Some(ColorWish::White),
                games: None,
            })
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
    fn unknown_fields_of_an_answer_are_ignored() {
        let later = r#"{"ok":true,"text":"","status":{"account":"x","mood":"good"},"more":1}"#;
        let answer: Response = serde_json::from_str(later).unwrap();
        assert_eq!(answer.status.unwrap().account.as_deref(), Some("x"));
    }
}
