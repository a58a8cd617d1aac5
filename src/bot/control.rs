//! The operator's commands to a running bot, and its replies.
//!
//! Plain data and a bounded channel. A client can neither block the bot nor reach into it: a command that
//! finds the channel full is refused at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::settings::Settings;
use super::status::Status;
use crate::config::ColorWish;
use crate::lichess::{ChallengeId, GameId, JoinOptions, Room};

/// Commands that may wait to be heard.
const MOST_WAITING: usize = 16;

/// What the bot is told.
#[derive(Clone, Debug)]
pub enum Command {
    /// Say how things are.
    Status,
    /// Take nothing new; continue with what runs.
    Pause,
    Resume,
    /// Finish what runs, then end.
    Drain,
    /// Other rules for what comes next.
    Reload(Arc<Settings>),
    Challenge(ChallengeSpec),
    /// Challenge the last opponent again.
    Rechallenge,
    /// Take a challenge of ours back: this one, or whatever is out or waits.
    Cancel(Option<ChallengeId>),
    /// Call a game off.
    Abort(GameId),
    /// Give a game up.
    Resign(GameId),
    /// Decline whatever this account wants, from now on.
    Block(String),
    /// Do so no longer.
    Unblock(String),
    /// Look for games, or no longer.
    Matchmaking(bool),
    JoinArena(String, JoinOptions),
    LeaveArena(String),
    /// Say something in a game.
    Say(GameId, Room, String),
}

/// Whom to challenge, and to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChallengeSpec {
    pub user: String,
    /// A profile of the config, or a clock such as `3+2`; the first profile if nothing is said.
    pub what: Option<String>,
    /// Rated or casual, if not as the profile has it.
    pub rated: Option<bool>,
    /// The colour that we want.
    pub color: Option<ColorWish>,
}

/// What the bot answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// It is done, or under way; in words.
    Done(String),
    /// It is not done; why.
    Refused(String),
    Status(Box<Status>),
}

impl Reply {
    /// It is done, or under way.
    pub fn done(words: impl Into<String>) -> Self {
        Self::Done(words.into())
    }

    /// It is not done.
    pub fn refused(words: impl Into<String>) -> Self {
        Self::Refused(words.into())
    }
}

/// Why a command was not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnected {
    /// Too many commands wait.
    #[error("the bot is busy with other commands: try again in a moment")]
    Busy,
    /// The bot has ended.
    #[error("the bot has exited")]
    Gone,
    /// There was no answer in time.
    #[error("the bot does not answer")]
    Silent,
}

/// A command on its way, with the way back.
#[derive(Debug)]
pub struct Envelope {
    pub command: Command,
    /// By which way it came, in a word or two.
    pub via: &'static str,
    answer: oneshot::Sender<Reply>,
}

impl Envelope {
    /// Answers it. No one may be listening any more, and that is no error.
    pub fn answer(self, reply: Reply) {
        let _ = self.answer.send(reply);
    }
}

/// The end of anyone who commands. Clones speak to the same bot.
#[derive(Clone, Debug)]
pub struct ControlHandle {
    orders: mpsc::Sender<Envelope>,
    failures: watch::Sender<Option<String>>,
    via: &'static str,
}

#[derive(Debug)]
pub struct CommandReceiver {
    orders: mpsc::Receiver<Envelope>,
    failures: watch::Receiver<Option<String>>,
}

/// Both ends of a new channel.
pub fn channel() -> (ControlHandle, CommandReceiver) {
    let (give, orders) = mpsc::channel(MOST_WAITING);
    let (fail, failures) = watch::channel(None);
    let control = ControlHandle {
        orders: give,
        failures: fail,
        via: "the program",
    };
    (control, CommandReceiver { orders, failures })
}

impl ControlHandle {
    /// By which way its commands come, in a word or two.
    pub fn via(&self) -> &'static str {
        self.via
    }

    /// The same for commands that come by this way.
    #[must_use]
    pub fn by(&self, via: &'static str) -> Self {
        Self {
            via,
            ..self.clone()
        }
    }

    /// Tells the bot something and waits for its answer, so long at most.
    ///
    /// # Errors
    /// When there is no answer; says why.
    pub async fn ask(&self, command: Command, patience: Duration) -> Result<Reply, Disconnected> {
        let (answer, reply) = oneshot::channel();
        let via = self.via;
        let order = Envelope {
            command,
            via,
            answer,
        };
        self.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Disconnected::Busy,
            mpsc::error::TrySendError::Closed(_) => Disconnected::Gone,
        })?;
        match tokio::time::timeout(patience, reply).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Err(Disconnected::Gone),
            Err(_) => Err(Disconnected::Silent),
        }
    }

    /// Says that the engine fails its test. Never waits, and is heard before there is a server too.
    pub(crate) fn engine_failed(&self, reason: &str) {
        self.failures.send_replace(Some(reason.to_owned()));
    }
}

impl CommandReceiver {
    /// A bot that no one commands.
    pub fn none() -> Self {
        channel().1
    }

    /// The next command; never comes once no one is left to give one.
    pub async fn next(&mut self) -> Envelope {
        match self.orders.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }

    /// How the engine last failed its test.
    pub(crate) fn failures(&self) -> watch::Receiver<Option<String>> {
        self.failures.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_command_is_answered_once_and_in_order() {
        let (control, mut commands) = channel();
        let asked = tokio::spawn(async move {
            let paused = control.ask(Command::Pause, PATIENCE).await;
            (paused, control.ask(Command::Resume, PATIENCE).await)
        });
        let order = commands.next().await;
        assert!(matches!(order.command, Command::Pause));
        order.answer(Reply::done("paused"));
        drop(commands.next().await);
        let (first, second) = asked.await.unwrap();
        assert_eq!(first, Ok(Reply::done("paused")));
        assert_eq!(second, Err(Disconnected::Gone));
    }

    #[tokio::test]
    async fn a_bot_that_does_not_listen_holds_nobody_up() {
        let (control, commands) = channel();
        let moment = Duration::from_millis(1);
        for _ in 0..MOST_WAITING {
            let disconnected = control.ask(Command::Status, moment).await;
            assert_eq!(disconnected, Err(Disconnected::Silent));
        }
        let disconnected = control.ask(Command::Status, PATIENCE).await;
        assert_eq!(disconnected, Err(Disconnected::Busy));
        drop(commands);
        let disconnected = control.ask(Command::Status, PATIENCE).await;
        assert_eq!(disconnected, Err(Disconnected::Gone));
    }
}
