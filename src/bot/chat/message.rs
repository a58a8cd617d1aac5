//! One line of ours, and what is done to text before it is sent or logged.
//!
//! The server takes 140 characters and refuses the rest; a line is one line.

use std::time::Duration;

use thiserror::Error;
use tokio::sync::mpsc;

use crate::config::LONGEST_LINE;
use crate::lichess::{GameId, Room};

/// The most of a foreign line that goes to the log, in characters.
const LOGGED: usize = 200;

/// A line to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    pub game: GameId,
    pub room: Room,
    pub text: String,
    /// What it is for.
    pub kind: MessageKind,
    /// Least time between two lines of ours in this game.
    pub pause: Duration,
    /// Who wants to know what became of it.
    pub outcome_sender: OutcomeSender,
}

/// Where it is told what became of a line; nowhere, as a rule. It says nothing about the line: any
/// two are equal.
#[derive(Clone, Debug, Default)]
pub struct OutcomeSender(Option<mpsc::Sender<Result<(), String>>>);

impl PartialEq for OutcomeSender {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OutcomeSender {}

impl OutcomeSender {
    /// A receipt, and where it is awaited.
    pub(super) fn outcome_receiver() -> (Self, OutcomeReceiver) {
        let (sender, receiver) = mpsc::channel(1);
        (Self(Some(sender)), OutcomeReceiver(receiver))
    }

    /// Tells anyone who wants to know.
    pub(super) fn tell(&self, outcome: Result<(), String>) {
        if let Some(sender) = &self.0 {
            // No one may be waiting any more.
            let _ = sender.try_send(outcome);
        }
    }
}

/// What becomes of a line that was handed in.
#[derive(Debug)]
pub struct OutcomeReceiver(mpsc::Receiver<Result<(), String>>);

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The server has taken it.
    Said,
    /// The server has not; what it said.
    Refused(String),
    /// It was dropped: too much was to be said, or it had waited too long.
    Dropped,
    /// It still waits for its turn.
    Waits,
}

impl OutcomeReceiver {
    /// What has become of it after so long at most.
    pub async fn within(mut self, most: Duration) -> SendOutcome {
        match tokio::time::timeout(most, self.0.recv()).await {
            Ok(Some(Ok(()))) => SendOutcome::Said,
            Ok(Some(Err(why))) => SendOutcome::Refused(why),
            Ok(None) => SendOutcome::Dropped,
            Err(_) => SendOutcome::Waits,
        }
    }
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Greeting,
    Goodbye,
    Answer,
    Operator,
}

/// Why a line of the operator's is not said.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChatError {
    #[error("the message is empty")]
    Empty,
    /// The server would refuse it.
    #[error("the message has {0} characters; Lichess takes at most {LONGEST_LINE}")]
    TooLong(usize),
    /// It is no line.
    #[error("control characters are not allowed in chat")]
    NotALine,
    /// Too many lines wait already, or no one is there to say it.
    #[error("the chat queue is full")]
    Full,
}

/// The text of an operator's line, if it can be said.
///
/// # Errors
/// What is wrong with it.
pub(super) fn checked(text: &str) -> Result<&str, ChatError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ChatError::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(ChatError::NotALine);
    }
    let length = text.chars().count();
    if length > LONGEST_LINE {
        return Err(ChatError::TooLong(length));
    }
    Ok(text)
}

/// A text of ours as it can be sent: one line, without what a name may have smuggled in, and short
/// enough. Nothing at all if nothing is left.
pub(super) fn sendable(text: &str) -> Option<String> {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_LINE)
        .collect();
    let plain = plain.trim();
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// A foreign text for the log: everything escaped that is not plain, and not too much of it.
pub(in crate::bot) fn loggable(text: &str) -> String {
    let short: String = text.chars().take(LOGGED).collect();
    short.escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_line_is_checked_by_characters() {
        assert_eq!(checked("  hello  "), Ok("hello"));
        assert_eq!(checked("\n "), Err(ChatError::Empty));
        assert_eq!(checked("a\u{7}b"), Err(ChatError::NotALine));
        assert!(checked(&"é".repeat(140)).is_ok());
        assert_eq!(checked(&"é".repeat(141)), Err(ChatError::TooLong(141)));
    }

    #[test]
    fn what_is_sent_is_one_short_line() {
        assert_eq!(sendable("a\r\nb\u{0}").as_deref(), Some("ab"));
        assert_eq!(sendable(&"é".repeat(500)).unwrap().chars().count(), 140);
        assert_eq!(sendable(" \u{1b} "), None);
    }

    #[test]
    fn foreign_text_in_the_log_can_move_no_cursor() {
        let logged = loggable("\u{1b}[2J\u{202e}gnp\nERROR all is lost");
        assert!(
            logged.chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{logged}"
        );
        assert!(loggable(&"x".repeat(10_000)).len() <= LOGGED);
    }
}
