//! The order of chat messages: one at a time, with a pause between two of the same game.
//!
//! Pure and bounded. It drops messages that do not fit or have waited too long: a greeting after a
//! minute helps no one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::message::ChatMessage;
use crate::lichess::GameId;

/// Messages queued per game.
const MOST_A_GAME: usize = 8;
const MOST_GAMES: usize = 256;
/// How long a message is worth sending.
const LIFE: Duration = Duration::from_secs(30);

/// The messages of all games.
#[derive(Debug, Default)]
pub(super) struct PendingMessages {
    games: VecDeque<GameMessages>,
}

/// The messages of one game.
#[derive(Debug)]
struct GameMessages {
    game: GameId,
    lines: VecDeque<(ChatMessage, Instant)>,
    /// When the next one may be sent.
    free: Instant,
}

impl PendingMessages {
    /// Queues a message; false if it was dropped.
    pub(super) fn push(&mut self, line: ChatMessage, now: Instant) -> bool {
        self.games
            .retain(|waiting| !waiting.lines.is_empty() || waiting.free > now);
        let known = self
            .games
            .iter()
            .position(|waiting| waiting.game == line.game);
        let index = match known {
            Some(index) => index,
            None if self.games.len() >= MOST_GAMES => return false,
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
        let fits = waiting.lines.len() < MOST_A_GAME;
        if fits {
            waiting.lines.push_back((line, now + LIFE));
        }
        fits
    }

    /// The message to send now, if any. Games take turns.
    pub(super) fn next(&mut self, now: Instant) -> Option<ChatMessage> {
        for waiting in &mut self.games {
            waiting.lines.retain(|(_, until)| *until > now);
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
        let with_lines = self
            .games
            .iter()
            .filter(|waiting| !waiting.lines.is_empty());
        with_lines.map(|waiting| waiting.free).min()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.games.iter().all(|waiting| waiting.lines.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::chat::{MessageKind, OutcomeSender};
    use crate::lichess::Room;

    const PAUSE: Duration = Duration::from_secs(3);

    fn line(game: &str, text: &str) -> ChatMessage {
        ChatMessage {
            game: GameId::new(game),
            room: Room::Player,
            text: text.into(),
            kind: MessageKind::Answer,
            pause: PAUSE,
            outcome_sender: OutcomeSender::default(),
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
    fn messages_that_are_old_or_do_not_fit_are_dropped() {
        let mut queue = PendingMessages::default();
        let now = Instant::now();
        let taken = (0..100).filter(|_| queue.push(line("a", "x"), now)).count();
        assert_eq!(taken, MOST_A_GAME);
        assert_eq!(queue.next(now + LIFE), None);
        assert!(queue.is_empty());
        let games = (0..1000).filter(|n| queue.push(line(&format!("g{n}"), "x"), now));
        assert_eq!(games.count(), MOST_GAMES);
    }
}
