//! The lane of the chat: a task that says one line after the other.
//!
//! It can be lost without harm. Anyone who has something to say never waits: the lane takes it or drops
//! it. A line that failed, for whatever reason, is not said again.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::{
    ChatError, ChatMessage, MessageKind, OutcomeReceiver, OutcomeSender, checked,
};
use super::queue::PendingMessages;
use crate::lichess::{Client, GameId, Room};

/// Lines on their way to the task.
const CAPACITY: usize = 64;

/// Where lines are handed in. Clones lead to the same lane.
#[derive(Clone, Debug)]
pub struct ChatQueue(mpsc::Sender<ChatMessage>);

/// The task behind a lane. Dropping it silences the lane.
#[derive(Debug)]
pub struct ChatTask(JoinHandle<()>);

impl ChatQueue {
    /// A lane to this server, and the task that says what is handed in. It ends by itself once every
    /// handle to the lane is gone and the last line is said.
    pub fn open(client: Client) -> (Self, ChatTask) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let task = tokio::spawn(speak(client, receiver));
        (Self(sender), ChatTask(task))
    }

    /// Hands a line in; drops it if there is no room.
    pub fn hand_in(&self, line: ChatMessage) {
        if let Err(error) = self.0.try_send(line) {
            tracing::debug!(%error, "chat message dropped");
        }
    }

    /// The operator speaks in a game. What comes back tells what becomes of it.
    ///
    /// # Errors
    /// When the server would refuse the line, or too many wait already.
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
    /// Waits until everything is said, but not longer than `most`. Every handle to the lane must be
    /// gone, or it waits in vain.
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

async fn speak(client: Client, mut lines: mpsc::Receiver<ChatMessage>) {
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
                    say(&client, &line).await;
                }
            }
        }
    }
}

async fn say(client: &Client, line: &ChatMessage) {
    let (game, room) = (&line.game, line.room);
    match client.chat(game, room, &line.text).await {
        Ok(()) => {
            let kind = line.kind;
            tracing::debug!(%game, %room, ?kind, text = ?line.text, "said");
            line.outcome_sender.tell(Ok(()));
        }
        Err(error) => {
            tracing::debug!(%game, %room, kind = ?line.kind, %error, "not said");
            line.outcome_sender.tell(Err(error.to_string()));
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
