//! The chat queue and the task that sends its messages one by one.
//!
//! Losing it harms no game. Callers never wait: the queue takes a message or drops it. A failed
//! message is never sent again.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::{
    ChatError, ChatMessage, MessageKind, OutcomeReceiver, OutcomeSender, checked,
};
use super::queue::PendingMessages;
use crate::bot::sleep_until;
use crate::lichess::{Client, GameId, Room};

/// Messages on their way to the task.
const CAPACITY: usize = 64;

/// A handle to the chat queue; clones share it.
#[derive(Clone, Debug)]
pub struct ChatQueue(mpsc::Sender<ChatMessage>);

/// The task that sends messages. Dropping it stops all chat.
#[derive(Debug)]
pub struct ChatTask(JoinHandle<()>);

impl ChatQueue {
    /// Opens a queue to this server and starts its task, which ends once every handle is dropped
    /// and the last message is sent.
    pub fn open(client: Client) -> (Self, ChatTask) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let task = tokio::spawn(run(client, receiver));
        (Self(sender), ChatTask(task))
    }

    /// Queues a message; drops it if the queue is full.
    pub fn hand_in(&self, line: ChatMessage) {
        if let Err(error) = self.0.try_send(line) {
            tracing::debug!(%error, "chat message dropped");
        }
    }

    /// Queues an operator's message; the receiver reports its outcome.
    /// | # Errors
    /// When the message is not valid, or the queue is full.
    pub fn say(&self, game: GameId, room: Room, text: &str) -> Result<OutcomeReceiver, ChatError> {
        let (outcome_sender, outcome_receiver) = OutcomeSender::outcome_receiver();
        let line = ChatMessage {
            game,
            room,
            text: checked(text)?.to_owned(),
            kind: MessageKind::Operator,
            pause: Duration::ZERO,
            outcome_sender,
        };
        self.0.try_send(line).map_err(|_| ChatError::Full)?;
        Ok(outcome_receiver)
    }
}

impl ChatTask {
    /// Waits at most `most` until every message is sent. All handles must be dropped first, or it
    /// always waits that long.
    pub async fn finish(mut self, most: Duration) {
        if tokio::time::timeout(most, &mut self.0).await.is_err() {
            tracing::debug!("chat messages left unsent at shutdown");
        }
    }
}

impl Drop for ChatTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run(client: Client, mut lines: mpsc::Receiver<ChatMessage>) {
    let mut queue = PendingMessages::default();
    let mut open = true;
    while open || !queue.is_empty() {
        let next_timeout = queue.next_timeout();
        tokio::select! {
            line = lines.recv(), if open => match line {
                Some(line) => {
                    if !queue.push(line, Instant::now()) {
                        tracing::debug!("chat message dropped: queue full");
                    }
                }
                None => open = false,
            },
            () = sleep_until(next_timeout) => {
                if let Some(line) = queue.next(Instant::now()) {
                    send(&client, &line).await;
                }
            }
        }
    }
}

async fn send(client: &Client, line: &ChatMessage) {
    let (game, room) = (&line.game, line.room);
    match client.chat(game, room, &line.text).await {
        Ok(()) => {
            let kind = line.kind;
            tracing::debug!(%game, %room, ?kind, text = ?line.text, "chat message sent");
            line.outcome_sender.tell(Ok(()));
        }
        Err(error) => {
            tracing::debug!(%game, %room, kind = ?line.kind, %error, "chat message not sent");
            line.outcome_sender.tell(Err(error.to_string()));
        }
    }
}
