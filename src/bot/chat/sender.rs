//! The chat queue and the task that sends its messages one by one.
//!
//! Losing it harms no game. Callers never wait: the queue takes a message or drops it. A failed
//! message is never sent again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{ChatError, ChatMessage, MessageKind, OutcomeReceiver, checked};
use crate::bot::sleep_until;
use crate::lichess::{Client, GameId, Room, UserId};

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
    pub fn enqueue(&self, line: ChatMessage) {
        if let Err(error) = self.0.try_send(line) {
            tracing::debug!(%error, "chat message dropped");
        }
    }

    /// Queues an operator's message; the receiver reports its outcome.
    ///
    /// # Errors
    /// When the message is not valid, or the queue is full.
    pub fn say(&self, game: GameId, room: Room, text: &str) -> Result<OutcomeReceiver, ChatError> {
        let (outcome_sender, outcome_receiver) = oneshot::channel();
        let line = ChatMessage {
            game,
            room,
            text: checked(text)?.to_owned(),
            kind: MessageKind::Operator,
            pause: Duration::ZERO,
            outcome_sender: Some(outcome_sender),
        };
        self.0.try_send(line).map_err(|_| ChatError::Full)?;
        Ok(OutcomeReceiver(outcome_receiver))
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
                    send(&client, line).await;
                }
            }
        }
    }
}

async fn send(client: &Client, line: ChatMessage) {
    let (game, room, kind) = (&line.game, line.room, line.kind);
    let outcome = client.chat(game, room, &line.text).await;
    match &outcome {
        Ok(()) => tracing::debug!(%game, %room, ?kind, text = ?line.text, "chat message sent"),
        Err(error) => tracing::debug!(%game, %room, ?kind, %error, "chat message not sent"),
    }
    if let Some(outcome_sender) = line.outcome_sender {
        // The receiver may be gone.
        let _ = outcome_sender.send(outcome.map_err(|error| error.to_string()));
    }
}

/// Messages queued per game.
const MAX_A_GAME: usize = 8;
const MAX_GAMES: usize = 256;
/// How long a message is worth sending once the pause before it is over.
const LIFE: Duration = Duration::from_secs(30);

/// The messages of all games: one goes at a time, with a pause between two of the same game.
///
/// Pure and bounded. It drops messages that do not fit or have waited too long beyond the pause: a
/// greeting after a minute helps no one.
#[derive(Debug, Default)]
pub(super) struct PendingMessages {
    games: VecDeque<GameMessages>,
}

/// The messages of one game.
#[derive(Debug)]
struct GameMessages {
    game: GameId,
    /// Each with when it came.
    lines: VecDeque<(ChatMessage, Instant)>,
    /// When the next one may be sent.
    free: Instant,
}

impl PendingMessages {
    /// Queues a message; false if it was dropped.
    pub(super) fn push(&mut self, line: ChatMessage, now: Instant) -> bool {
        self.games
            .retain(|waiting| !waiting.lines.is_empty() || waiting.free > now);
        let mut games = self.games.iter();
        let known = games.position(|waiting| waiting.game == line.game);
        let index = match known {
            Some(index) => index,
            None if self.games.len() >= MAX_GAMES => return false,
            None => {
                self.games.push_back(GameMessages {
                    game: line.game.clone(),
                    lines: VecDeque::new(),
                    free: now,
                });
                self.games.len() - 1
            }
        };
        let waiting = &mut self.games[index];
        let fits = waiting.lines.len() < MAX_A_GAME;
        if fits {
            waiting.lines.push_back((line, now));
        }
        fits
    }

    /// The message to send now, if any. Games take turns.
    pub(super) fn next(&mut self, now: Instant) -> Option<ChatMessage> {
        for waiting in &mut self.games {
            let (free, lines) = (waiting.free, &mut waiting.lines);
            lines.retain(|(_, came)| now < free.max(*came) + LIFE);
        }
        let ready = |waiting: &GameMessages| waiting.free <= now && !waiting.lines.is_empty();
        let index = self.games.iter().position(ready)?;
        let mut waiting = self.games.remove(index)?;
        let (line, _) = waiting.lines.pop_front()?;
        waiting.free = now + line.pause;
        self.games.push_back(waiting);
        Some(line)
    }

    /// When the next message may be sent; none if the queue is empty.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let games = self.games.iter();
        let with_lines = games.filter(|waiting| !waiting.lines.is_empty());
        with_lines.map(|waiting| waiting.free).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.games.iter().all(|waiting| waiting.lines.is_empty())
    }
}

/// Answers to one user per window.
const MAX_ANSWERS_A_USER: usize = 4;
/// Answers in one game per window.
const MAX_ANSWERS: usize = 10;
/// Length of the window, in pauses between two messages.
const PAUSES: u32 = 20;
/// The shortest pause assumed.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The answers in one game within the window. They limit how often the bot answers one user, and
/// everyone in the game.
///
/// Questions above the limit get no reply at all, or a flood would be answered with a flood.
#[derive(Debug)]
pub(super) struct ReplyLimit {
    window: Duration,
    answers: VecDeque<(Instant, UserId)>,
}

impl ReplyLimit {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            window: pause.max(MIN_PAUSE) * PAUSES,
            answers: VecDeque::new(),
        }
    }

    /// Whether to answer this user now; if so, counts the answer.
    pub(super) fn admits(&mut self, user: &UserId, now: Instant) -> bool {
        let window = self.window;
        let is_old = |at: Instant| now.saturating_duration_since(at) >= window;
        while self.answers.front().is_some_and(|(at, _)| is_old(*at)) {
            self.answers.pop_front();
        }
        let theirs = self.answers.iter().filter(|(_, who)| who == user).count();
        let admitted = theirs < MAX_ANSWERS_A_USER && self.answers.len() < MAX_ANSWERS;
        if admitted {
            self.answers.push_back((now, user.clone()));
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::chat::MessageKind;
    use crate::lichess::Room;

    const PAUSE: Duration = Duration::from_secs(3);

    fn line(game: &str, text: &str) -> ChatMessage {
        ChatMessage {
            game: GameId::new(game),
            room: Room::Player,
            text: text.into(),
            kind: MessageKind::Answer,
            pause: PAUSE,
            outcome_sender: None,
        }
    }

    #[test]
    fn messages_of_a_game_are_a_pause_apart_and_games_do_not_wait_for_each_other() {
        let mut queue = PendingMessages::default();
        let now = Instant::now();
        for text in ["one", "two"] {
            queue.push(line("a", text), now);
            queue.push(line("b", text), now);
        }
        let said =
            |queue: &mut PendingMessages, at| queue.next(at).map(|line| (line.game, line.text));
        let first = [said(&mut queue, now), said(&mut queue, now)];
        assert!(first.iter().flatten().all(|(_, text)| text == "one"));
        assert_eq!(said(&mut queue, now), None);
        assert_eq!(queue.next_timeout(), Some(now + PAUSE));
        assert!(said(&mut queue, now + PAUSE).is_some());
        assert!(said(&mut queue, now + PAUSE).is_some());
        assert!(queue.is_empty());
    }

    #[test]
    fn a_long_pause_costs_no_message() {
        let mut queue = PendingMessages::default();
        let (now, pause) = (Instant::now(), Duration::from_secs(60));
        for text in ["one", "two", "three"] {
            let line = line("a", text);
            assert!(queue.push(ChatMessage { pause, ..line }, now));
        }
        let mut said = |at| queue.next(at).map(|line| line.text);
        assert_eq!(said(now), Some("one".to_owned()));
        assert_eq!(said(now + pause), Some("two".to_owned()));
        assert_eq!(said(now + pause * 2), Some("three".to_owned()));
        // An operator's message comes within the pause, and then waits for too long.
        let pause = Duration::ZERO;
        let line = line("a", "four");
        assert!(queue.push(ChatMessage { pause, ..line }, now + LIFE * 4));
        assert!(queue.next(now + LIFE * 7).is_none());
    }

    #[test]
    fn messages_that_are_old_or_do_not_fit_are_dropped() {
        let mut queue = PendingMessages::default();
        let now = Instant::now();
        let taken = (0..100).filter(|_| queue.push(line("a", "x"), now)).count();
        assert_eq!(taken, MAX_A_GAME);
        assert!(queue.next(now + LIFE).is_none());
        assert!(queue.is_empty());
        let games = (0..1000).filter(|n| queue.push(line(&format!("g{n}"), "x"), now));
        assert_eq!(games.count(), MAX_GAMES);
    }
}

#[cfg(test)]
mod reply_limit_tests {
    use super::*;

    #[test]
    fn answers_are_limited_per_user_and_per_game() {
        let mut reply_limit = ReplyLimit::new(Duration::from_secs(3));
        let now = Instant::now();
        let mut asked = |name: &str, at| {
            let user = UserId::new(name);
            (0..100).filter(|_| reply_limit.admits(&user, at)).count()
        };
        assert_eq!(asked("a", now), 4);
        assert_eq!(asked("b", now), 4);
        assert_eq!(asked("c", now), 2, "the game's ten");
        assert_eq!(asked("d", now + Duration::from_secs(59)), 0);
        assert_eq!(asked("a", now + Duration::from_secs(60)), 4);
    }

    #[test]
    fn a_thousand_users_cost_no_memory() {
        let mut reply_limit = ReplyLimit::new(Duration::ZERO);
        let now = Instant::now();
        for n in 0..1000 {
            reply_limit.admits(&UserId::new(&format!("user{n}")), now);
        }
        assert!(reply_limit.answers.len() <= MAX_ANSWERS);
    }
}
