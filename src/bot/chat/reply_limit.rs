//! Limits how often the bot answers one user, and everyone in one game.
//!
//! Questions above the limit get no reply at all, or a flood would be answered with a flood.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::lichess::UserId;

/// Answers to one user per window.
const MOST_A_USER: usize = 4;
/// Answers in one game per window.
const MOST_A_GAME: usize = 10;
/// Length of the window, in pauses between two messages.
const PAUSES: u32 = 20;
/// The shortest pause assumed.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// The answers in one game within the window.
#[derive(Debug)]
pub(super) struct ReplyLimit {
    window: Duration,
    answers: VecDeque<(Instant, UserId)>,
}

impl ReplyLimit {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            window: pause.max(LEAST_PAUSE) * PAUSES,
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
        let admitted = theirs < MOST_A_USER && self.answers.len() < MOST_A_GAME;
        if admitted {
            self.answers.push_back((now, user.clone()));
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
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
        assert!(reply_limit.answers.len() <= MOST_A_GAME);
    }
}
