//! Chat in a game: greetings, goodbyes and answers to commands.
//!
//! Chat can never touch a move. Messages go through a queue of their own, which drops what it cannot
//! send and repeats nothing. Text from others is untrusted: it is matched against a few known commands,
//! and otherwise only logged, escaped.
//!
//! * `conversation`: one game's chat, from its events to our messages; what a player can ask
//! * `sender`: how many answers, the order of messages, and the task that sends them

mod conversation;
mod sender;

use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;

use crate::config::MAX_LINE;
use crate::lichess::{GameId, Room};

pub(in crate::bot) use conversation::Circumstances;
pub use conversation::{ChatState, Conversation, Players};
pub use sender::{ChatQueue, ChatTask};

/// Longest untrusted text in the log, in characters.
const LOGGED: usize = 200;

/// A message to send.
#[derive(Debug)]
pub struct ChatMessage {
    pub game: GameId,
    pub room: Room,
    pub text: String,
    pub kind: MessageKind,
    /// Minimum time between two messages in this game.
    pub pause: Duration,
    /// Reports the outcome of the send, if someone listens.
    pub outcome_sender: Option<oneshot::Sender<Result<(), String>>>,
}

/// Receives the outcome of a queued message.
#[derive(Debug)]
pub struct OutcomeReceiver(oneshot::Receiver<Result<(), String>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// Sent: the server accepted it.
    Sent,
    /// The server refused it; holds the error.
    Refused(String),
    /// Dropped: the queue was full, or it waited too long.
    Dropped,
    /// Still in the queue.
    Waits,
}

impl OutcomeReceiver {
    /// Waits for the outcome for up to `most`.
    pub async fn within(self, most: Duration) -> SendOutcome {
        match tokio::time::timeout(most, self.0).await {
            Ok(Ok(Ok(()))) => SendOutcome::Sent,
            Ok(Ok(Err(why))) => SendOutcome::Refused(why),
            Ok(Err(_)) => SendOutcome::Dropped,
            Err(_) => SendOutcome::Waits,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Greeting,
    Goodbye,
    Answer,
    /// The answer that gives the opponent more time for its first move.
    MoreTime,
    Operator,
}

/// Why an operator's message is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChatError {
    #[error("the message is empty")]
    Empty,
    #[error("the message has {0} characters; Lichess takes at most {MAX_LINE}")]
    TooLong(usize),
    #[error("control characters are not allowed in chat")]
    NotALine,
    /// The queue is full, or its task has ended.
    #[error("the chat queue is full")]
    Full,
}

/// An operator's message, trimmed, if it can be sent.
///
/// # Errors
/// Why it cannot.
pub(super) fn checked(text: &str) -> Result<&str, ChatError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ChatError::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(ChatError::NotALine);
    }
    let length = text.chars().count();
    if length > MAX_LINE {
        return Err(ChatError::TooLong(length));
    }
    Ok(text)
}

/// A message fit to send: one line, short enough, without control characters that a name may
/// contain. None if nothing is left.
pub(super) fn sendable(text: &str) -> Option<String> {
    let plain = text.chars().filter(|c| !c.is_control());
    let plain: String = plain.take(MAX_LINE).collect();
    let plain = plain.trim();
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// Untrusted text for the log: escaped and shortened.
pub(in crate::bot) fn loggable(text: &str) -> String {
    let short: String = text.chars().take(LOGGED).collect();
    short.escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_message_is_measured_in_characters() {
        assert_eq!(checked("  hello  "), Ok("hello"));
        assert_eq!(checked("\n "), Err(ChatError::Empty));
        assert_eq!(checked("a\u{7}b"), Err(ChatError::NotALine));
        assert!(checked(&"é".repeat(140)).is_ok());
        assert_eq!(checked(&"é".repeat(141)), Err(ChatError::TooLong(141)));
    }

    #[test]
    fn a_sent_message_is_one_short_line() {
        assert_eq!(sendable("a\r\nb\u{0}").as_deref(), Some("ab"));
        assert_eq!(sendable(&"é".repeat(500)).unwrap().chars().count(), 140);
        assert_eq!(sendable(" \u{1b} "), None);
    }

    #[test]
    fn untrusted_text_is_escaped_in_the_log() {
        let logged = loggable("\u{1b}[2J\u{202e}gnp\nERROR all is lost");
        assert!(
            logged.chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{logged}"
        );
        assert!(loggable(&"x".repeat(10_000)).len() <= LOGGED);
    }
}
