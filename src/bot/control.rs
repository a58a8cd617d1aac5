//! Operator commands to a running bot and its replies.
//!
//! Plain data and a bounded channel. A commander can neither block the bot nor reach into it: a
//! full channel rejects the command at once.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::sync::{mpsc, oneshot};

use super::bot_event::{AlertKind, BotEvent};
use super::settings::Settings;
use super::status::Status;
use super::supervisor::restart_and_report;
use crate::config::ColorWish;
use crate::lichess::{ChallengeId, GameId, JoinOptions, Room};

/// Commands that may wait in the channel.
const MAX_WAITING: usize = 16;

/// A command to the bot.
#[derive(Clone, Debug)]
pub enum Command {
    Status,
    /// Accept no new games; continue with games in progress.
    Pause,
    Resume,
    /// Finish games in progress, then exit.
    Drain,
    /// Hand over to the program that is installed now, at the first moment within this time that costs
    /// no game anything.
    Upgrade(Duration),
    /// New rules for everything that follows.
    Reload(Arc<Settings>),
    /// An alert of what runs beside the bot: its text, or none once the problem is resolved.
    Alert(AlertKind, Option<String>),
    Challenge(ChallengeSpec),
    /// Challenge the last opponent again.
    Rechallenge,
    /// Withdraw this challenge of the bot, or every open or queued one.
    Cancel(Option<ChallengeId>),
    Abort(GameId),
    Resign(GameId),
    /// Decline everything from this account from now on.
    Block(String),
    Unblock(String),
    /// Turn matchmaking on or off.
    Matchmaking(bool),
    JoinArena(String, JoinOptions),
    LeaveArena(String),
    /// Send a chat message in a game.
    Say(GameId, Room, String),
}

/// Opponent and terms of a manual challenge, also as the control socket takes them.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChallengeSpec {
    pub user: String,
    /// A profile of the config, or a clock such as `3+2`; by default the first profile.
    pub what: Option<String>,
    /// Rated or casual, if not as the profile has it.
    pub rated: Option<bool>,
    /// The bot's wished colour.
    pub color: Option<ColorWish>,
    /// How many games, one after another with colours turned; one by default.
    pub games: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Done or in progress, in words.
    Done(String),
    /// Rejected, with the reason.
    Refused(String),
    Status(Box<Status>),
}

impl Reply {
    pub fn done(words: impl Into<String>) -> Self {
        Self::Done(words.into())
    }

    pub fn refused(words: impl Into<String>) -> Self {
        Self::Refused(words.into())
    }
}

/// Why a command got no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnected {
    /// The command channel is full.
    #[error("the bot is busy with other commands: try again in a moment")]
    Busy,
    /// The bot has exited.
    #[error("the bot has exited")]
    Gone,
    /// The bot dropped the command, as after a panic, and goes on.
    #[error("the bot dropped the command: see its log")]
    Dropped,
    /// No answer in time.
    #[error("the bot does not answer")]
    Silent,
}

/// A command with its reply channel.
#[derive(Debug)]
pub struct Envelope {
    pub command: Command,
    /// How the command came, in a word or two.
    pub via: &'static str,
    answer: oneshot::Sender<Reply>,
}

impl Envelope {
    /// Sends the reply; a caller that stopped waiting is no error.
    pub fn answer(self, reply: Reply) {
        let _ = self.answer.send(reply);
    }
}

/// The commander's end of the channel. Clones reach the same bot.
#[derive(Clone, Debug)]
pub struct ControlHandle {
    commands: mpsc::Sender<Envelope>,
    failures: mpsc::UnboundedSender<BotEvent>,
    via: &'static str,
}

#[derive(Debug)]
pub struct CommandReceiver {
    commands: mpsc::Receiver<Envelope>,
    failures: mpsc::UnboundedReceiver<BotEvent>,
}

/// Creates a command channel.
pub fn channel() -> (ControlHandle, CommandReceiver) {
    let (sender, commands) = mpsc::channel(MAX_WAITING);
    // Few: a service that fails again and again is started again at growing intervals.
    let (fail, failures) = mpsc::unbounded_channel();
    let control = ControlHandle {
        commands: sender,
        failures: fail,
        via: "the program",
    };
    (control, CommandReceiver { commands, failures })
}

impl ControlHandle {
    /// How its commands come, in a word or two.
    pub fn via(&self) -> &'static str {
        self.via
    }

    /// A handle whose commands come by `via`.
    #[must_use]
    pub fn by(&self, via: &'static str) -> Self {
        Self {
            via,
            ..self.clone()
        }
    }

    /// Sends a command and waits at most `patience` for the reply.
    ///
    /// # Errors
    /// Why there is no reply.
    pub async fn ask(&self, command: Command, patience: Duration) -> Result<Reply, Disconnected> {
        let (answer, reply) = oneshot::channel();
        let via = self.via;
        let envelope = Envelope {
            command,
            via,
            answer,
        };
        self.commands
            .try_send(envelope)
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Disconnected::Busy,
                mpsc::error::TrySendError::Closed(_) => Disconnected::Gone,
            })?;
        match tokio::time::timeout(patience, reply).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) if self.commands.is_closed() => Err(Disconnected::Gone),
            Ok(Err(_)) => Err(Disconnected::Dropped),
            Err(_) => Err(Disconnected::Silent),
        }
    }

    /// Reports that the engine failed its self-test. Never waits; works before there is a server.
    pub(crate) fn engine_failed(&self, reason: &str) {
        let reason = reason.to_owned();
        // Nobody listens once the bot has ended.
        let _ = self.failures.send(BotEvent::EngineFailed { reason });
    }

    /// Runs a service beside the bot until it is done; restarts it whenever it panics, and reports that.
    /// `first` is the pause after the first panic.
    pub(crate) async fn keep_running<F: Future<Output = ()>>(
        &self,
        service: &'static str,
        first: Duration,
        begin: impl FnMut() -> F,
    ) {
        let report = |reason| {
            let failed = BotEvent::ServiceFailed { service, reason };
            let _ = self.failures.send(failed);
        };
        restart_and_report(service, first, begin, report).await;
    }
}

impl CommandReceiver {
    /// A receiver that never gets a command.
    pub fn none() -> Self {
        channel().1
    }

    /// The next command; pends forever once every handle is gone.
    pub async fn next(&mut self) -> Envelope {
        match self.commands.recv().await {
            Some(envelope) => envelope,
            None => std::future::pending().await,
        }
    }

    /// The failures of the engine's self-test and of services beside the bot, also earlier ones. They
    /// can be taken once.
    pub(crate) fn take_failures(&mut self) -> mpsc::UnboundedReceiver<BotEvent> {
        std::mem::replace(&mut self.failures, mpsc::unbounded_channel().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_command_is_answered_once_and_in_order() {
        let (control, mut commands) = channel();
        let other = control.clone();
        let asked = tokio::spawn(async move {
            let paused = control.ask(Command::Pause, PATIENCE).await;
            (paused, control.ask(Command::Resume, PATIENCE).await)
        });
        let envelope = commands.next().await;
        assert!(matches!(envelope.command, Command::Pause));
        envelope.answer(Reply::done("paused"));
        drop(commands.next().await);
        let (first, second) = asked.await.unwrap();
        assert_eq!(first, Ok(Reply::done("paused")));
        assert_eq!(second, Err(Disconnected::Dropped), "the bot goes on");
        drop(commands);
        let third = other.ask(Command::Status, PATIENCE).await;
        assert_eq!(third, Err(Disconnected::Gone));
    }

    #[tokio::test]
    async fn an_unresponsive_bot_blocks_no_commander() {
        let (control, commands) = channel();
        let moment = Duration::from_millis(1);
        for _ in 0..MAX_WAITING {
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
