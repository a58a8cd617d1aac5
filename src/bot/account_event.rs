//! The account's events and effects: the only vocabulary between the event loop, the account state and
//! the API queue.
//!
//! Data only.

use std::sync::Arc;
use std::time::Duration;

use super::challenge_policy::ChallengeRule;
use super::game::{CallOutcome, Ending};
use super::matchmaking::ChallengeRequest;
use super::player_lists::PlayerLists;
use super::quota::OpponentKind;
use super::settings::Settings;
use super::state::StartedGame;
use crate::lichess::{
    Account, Arena, Challenge, ChallengeId, ChallengeStatus, DeclineReason, Disconnect, Error,
    Event, ExportedGame, GameId, GameInfo, JoinOptions, Presence, UserId,
};
use crate::store::FinishedGame;

#[derive(Clone, Debug)]
pub enum AccountEvent {
    /// The event stream opened: the server repeats running games and open challenges.
    Opened,
    /// The event stream is down while the server responds: poll for what it would deliver.
    Away,
    /// A line of the event stream.
    Event(Event),

    /// A game task ended.
    Left {
        game: GameId,
        /// Whether it saw the game end, or only lost track of it.
        seen: bool,
    },
    /// A game task ended while the game continues: no clock runs, and it is the opponent's turn.
    LeftCorrespondence(GameId),
    /// A game stalled, or continues.
    Stalled {
        game: GameId,
        /// Whether it is stalled.
        stalled: bool,
    },

    /// New settings; accepted challenges stay accepted.
    Settings(Arc<Settings>),
    Lists(Arc<PlayerLists>),
    /// Accept nothing new until resumed.
    Pause,
    Resume,
    /// Whether an alert forbids new games.
    Alert(bool),
    /// Accept nothing new for good.
    Drain,
    /// The time of [`super::AccountState::next_timeout`] has passed.
    Tick,

    /// Incoming challenges that await an answer.
    Waiting(Vec<Challenge>),
    /// The server's list of running games.
    Running(Vec<GameInfo>),
    /// The list of running games could not be fetched.
    NoList,
    /// Outcome of an accept.
    Accepted {
        id: ChallengeId,
        answer: AcceptOutcome,
    },
    /// Outcome of withdrawing the bot's own challenge.
    Canceled {
        id: ChallengeId,
        answer: CallOutcome,
    },
    /// Outcome of aborting an excess game.
    Aborted {
        game: GameId,
        answer: CallOutcome,
    },

    /// The online bots, and perhaps the bot's own account.
    BotsListed(Vec<Account>),
    /// The list could not be fetched; such calls pause for this long.
    BotsNotListed(Option<Duration>),
    /// The status of the requested users.
    UsersSeen(Vec<Presence>),
    /// The status could not be fetched.
    UsersNotSeen,
    /// The server created the bot's challenge.
    Created(Box<Challenge>),
    NotCreated(NotCreated),
    /// The bot's open challenges, after a start or a lost answer; `None` if they could not be fetched.
    Outgoing(Option<Vec<Challenge>>),
    /// Outcome of the bot's challenge, from its own stream.
    ChallengeDone {
        id: ChallengeId,
        status: ChallengeStatus,
    },

    /// With what to do about each of the teams that the bot is not a member of.
    ArenasListed(Vec<Arena>, Vec<String>),
    /// The list could not be fetched; such calls pause for this long.
    ArenasNotListed(Option<Duration>),
    ArenaShown(Box<Arena>),
    /// An arena could not be fetched; `true` if it does not exist.
    ArenaNotShown(String, bool),
    /// Outcome of joining an arena, or of repeating the join.
    ArenaJoined(String, CallOutcome),
    /// Outcome of leaving an arena: whether it succeeded.
    ArenaLeft(String, bool),

    /// A game that ended unseen was looked up.
    Exported {
        game: GameId,
        answer: Result<Box<ExportedGame>, Error>,
    },
}

/// An effect to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEffect {
    /// Start the only task of a game.
    Play(Box<GameInfo>),
    /// Tell a game task that its game is reported as over.
    GameFinish(GameId),
    /// Record the rating change of a finished game, and the opponent's.
    RatingChanged {
        game: GameId,
        ours: i32,
        theirs: Option<i32>,
    },
    /// Count a game that ended unseen as its game task would have.
    Missed(Box<MissedGame>),
    /// Log a counted game from its export, unless the event log knows it.
    LogExport(Box<MissedGame>),
    /// Log that nobody knows how a game ended.
    LogUnknownEnd(GameId),
    /// Note in the event log what became of an operator's command.
    Note(String),

    /// Accept a challenge. A bot's is charged to the quota, on disk before the call goes out.
    Accept {
        id: ChallengeId,
        from: OpponentKind,
        /// The opponent, unless anonymous.
        opponent: Option<UserId>,
    },
    Decline(Box<Decline>),
    /// Withdraw the bot's own challenge.
    Cancel(ChallengeId),
    /// Abort an excess game.
    Abort(GameId),
    /// Fetch the list of running games.
    List,
    /// Fetch the challenges that await an answer.
    Waiting,

    /// Fetch the online bots.
    ListBots,
    /// Fetch the status of these users.
    LookUp(Vec<UserId>),
    /// Create this challenge; its slot is taken and its quota reserved, on disk before the call.
    Create(Box<ChallengeRequest>),
    /// Fetch the bot's open challenges.
    ListOutgoing,

    /// Fetch the current tournaments.
    /// Also the arenas of those of these teams that the bot is a member of.
    ListArenas(Vec<String>),
    ShowArena(String),
    /// Join it, or repeat the join to stay available for pairing.
    JoinArena(String, JoinOptions),
    LeaveArena(String),

    /// Look up a game that ended unseen.
    Export(GameId),
}

/// A game whose end the bot did not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedGame {
    /// The start, in case the bot did not see it either.
    pub started: StartedGame,
    /// The result to store in the bot state.
    pub finished: FinishedGame,
    /// The event to publish.
    pub ending: Ending,
    /// The game as the server exported it.
    pub export: ExportedGame,
}

/// A challenge to decline, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    pub id: ChallengeId,
    /// The reason sent to the challenger.
    pub reason: DeclineReason,
    /// The challenger's kind: humans are answered first.
    pub from: OpponentKind,
    /// The challenger's name, for the log.
    pub challenger: String,
    /// Whether it is for a game with a clock: others stay open for two weeks.
    pub has_clock: bool,
    /// The rule that decided; `None` when the server did.
    pub rule: Option<ChallengeRule>,
    /// The violation, for the operator.
    pub why: String,
}

/// The server's answer to an accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    Done,
    /// No answer, or an unintelligible one.
    Lost,
    /// The bot's daily games against bots are used up; the quota knows for how long.
    OurDay,
    TheirDay,
    /// Too many calls of this kind.
    Limited(Option<Duration>),
    Refused,
    /// The challenge no longer exists.
    Gone,
}

impl From<Result<(), Error>> for AcceptOutcome {
    fn from(outcome: Result<(), Error>) -> Self {
        let Err(error) = outcome else {
            return Self::Done;
        };
        match error {
            Error::Transient { .. } | Error::Protocol { .. } => Self::Lost,
            Error::RateLimited { body, .. } if body.is_about_bots() => Self::OurDay,
            Error::RateLimited { wait, .. } => Self::Limited(wait),
            Error::Refused { body, .. } if body.is_about_bots() => Self::TheirDay,
            Error::Refused { .. } => Self::Refused,
            Error::Gone { .. } => Self::Gone,
        }
    }
}

/// Why a challenge was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// Unknown: no answer, or an unintelligible one.
    #[error("no reply, and the challenge does not exist")]
    Lost,
    /// No slot was free, or the quota spending could not be written.
    #[error("no free slot")]
    NoSlot,
    /// Such calls pause for this long.
    #[error("rate limited by Lichess for {} s", .0.as_secs())]
    Limited(Duration),
    /// The bot's daily limit of games against bots is spent.
    #[error("daily limit of bot games reached")]
    OurDay,
    /// The opponent's is.
    #[error("the opponent's daily limit of bot games is reached")]
    TheirDay,
    /// The server refuses a challenge to this user, in its words.
    #[error("{0}")]
    Refused(String),
    /// The token or account may not send challenges, in the server's words.
    #[error("Lichess does not let this account send challenges ({0}); incoming games continue")]
    Forbidden(String),
    /// The token is rejected: clearing that alert resumes matchmaking.
    #[error("the token is rejected")]
    Unauthorized,
}

/// Why a challenge with its stream was not opened.
impl From<&Disconnect> for NotCreated {
    fn from(loss: &Disconnect) -> Self {
        let Disconnect::Unopened(error) = loss else {
            return Self::Lost;
        };
        match error {
            Error::RateLimited { body, .. } if body.is_about_bots() => Self::OurDay,
            Error::Refused { body, .. } if body.is_about_bots() => Self::TheirDay,
            Error::RateLimited { wait, .. } => Self::Limited(wait.unwrap_or_default()),
            Error::Refused { .. } if error.is_unauthorized() => Self::Unauthorized,
            Error::Refused { .. } if error.is_forbidden() => Self::Forbidden(error.to_string()),
            Error::Refused { .. } | Error::Gone { .. } => Self::Refused(error.to_string()),
            Error::Transient { .. } | Error::Protocol { .. } => Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::{ErrorBody, RateLimit};

    #[test]
    fn the_error_class_shows_whose_daily_limit_is_spent() {
        let wait = Some(Duration::from_secs(7));
        let body = |key: &str| {
            Box::new(ErrorBody {
                rate_limit: Some(RateLimit {
                    key: Some(key.to_owned()),
                    wait,
                }),
                ..ErrorBody::default()
            })
        };
        let ours = Error::RateLimited {
            wait,
            body: body("bot.vsBot.day"),
        };
        assert_eq!(AcceptOutcome::from(Err(ours)), AcceptOutcome::OurDay);
        let theirs = Error::Refused {
            status: 400,
            body: body("bot.vsBot.day"),
        };
        assert_eq!(AcceptOutcome::from(Err(theirs)), AcceptOutcome::TheirDay);
        let other = Error::RateLimited {
            wait,
            body: body("challenge.accept"),
        };
        assert_eq!(
            AcceptOutcome::from(Err(other)),
            AcceptOutcome::Limited(wait)
        );
        assert_eq!(AcceptOutcome::from(Ok(())), AcceptOutcome::Done);
    }

    #[test]
    fn the_error_class_shows_why_a_challenge_was_not_created() {
        let day = || {
            Box::new(ErrorBody {
                rate_limit: Some(RateLimit {
                    key: Some("bot.vsBot.day".to_owned()),
                    wait: None,
                }),
                ..ErrorBody::default()
            })
        };
        let limited = |wait, body| Error::RateLimited { wait, body };
        let refused = |status, body| Error::Refused { status, body };
        let said = |words: &str| NotCreated::Refused(words.to_owned());
        let minute = Some(Duration::from_secs(60));
        let transient = Error::Transient {
            reached: true,
            status: None,
            reason: String::new(),
        };
        for (error, expected) in [
            (limited(minute, day()), NotCreated::OurDay),
            (refused(400, day()), NotCreated::TheirDay),
            (
                limited(minute, Box::default()),
                NotCreated::Limited(Duration::from_secs(60)),
            ),
            (
                refused(400, Box::default()),
                said("refused with status 400: "),
            ),
            (refused(401, Box::default()), NotCreated::Unauthorized),
            (
                refused(403, Box::default()),
                NotCreated::Forbidden("refused with status 403: ".to_owned()),
            ),
            (
                Error::Gone {
                    status: 404,
                    body: Box::default(),
                },
                said("gone: "),
            ),
            (transient, NotCreated::Lost),
        ] {
            assert_eq!(
                NotCreated::from(&Disconnect::Unopened(error.clone())),
                expected,
                "{error:?}"
            );
        }
        assert_eq!(NotCreated::from(&Disconnect::Ended), NotCreated::Lost);
    }

    #[test]
    fn a_refused_call_keeps_status_and_words() {
        let text = "Missing scope: tournament:write".to_owned();
        let body = ErrorBody {
            message: text.clone(),
            ..ErrorBody::default()
        };
        let status = 403;
        let outcome = CallOutcome::from(Err(Error::Refused {
            status,
            body: Box::new(body),
        }));
        assert_eq!(outcome, CallOutcome::Refused { status, text });
    }
}
