//! Who may speak when, after the server said "too many".
//!
//! A pause belongs to one kind of call and to no other: a 429 on a challenge never holds up a move.
//! Pure and in memory; time comes in as data. What the lanes of a game (moves, its stream, its end)
//! do about a 429 is decided by whoever plays the game, who knows the clock.

use std::time::{Duration, Instant};

/// Kinds of calls, each with limits of its own on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Posting a move.
    Move,
    /// The end of a game: abort, resign, draw, take back, claim.
    Act,
    /// Opening the stream of a game.
    GameStream,
    /// Opening the event stream.
    EventStream,
    /// Accepting, declining and cancelling challenges.
    Answer,
    /// Making challenges.
    Create,
    /// Chat, both ways.
    Chat,
    /// Our own account.
    Account,
    /// Everything else that is only looked up.
    Lookup,
    /// Keeping the connection of the moves warm.
    Warm,
}

impl Scope {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Move,
        Self::Act,
        Self::GameStream,
        Self::EventStream,
        Self::Answer,
        Self::Create,
        Self::Chat,
        Self::Account,
        Self::Lookup,
        Self::Warm,
    ];

    /// Whether a pause is enforced here; otherwise it is told and the player of the game decides.
    pub const fn is_enforced(self) -> bool {
        !matches!(self, Self::Move | Self::Act | Self::GameStream)
    }
}

/// Longest pause the governor makes up itself when the server keeps refusing without a number.
const LONGEST_GUESS: u32 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    paused_until: Option<Instant>,
    /// Limits hit in a row without a success between.
    hits: u32,
    calls: u64,
}

/// The memory of calls and pauses.
#[derive(Clone, Debug)]
pub struct Governor {
    lanes: [Lane; Scope::ALL.len()],
    /// The pause after a first 429 that names none.
    usual: Duration,
}

impl Governor {
    /// A governor that pauses for `usual` where the server does not say how long.
    pub fn new(usual: Duration) -> Self {
        Self {
            lanes: [Lane::default(); Scope::ALL.len()],
            usual,
        }
    }

    /// May a call of this kind go out now? If so it is counted; if not, the wait is told.
    ///
    /// # Errors
    /// The rest of the pause of this kind of call.
    pub fn ask(&mut self, scope: Scope, now: Instant) -> Result<(), Duration> {
        let pause = self.pause(scope, now);
        if let Some(rest) = pause.filter(|_| scope.is_enforced()) {
            return Err(rest);
        }
        self.lane(scope).calls += 1;
        Ok(())
    }

    /// The server answered this kind of call, with whatever but a 429.
    pub fn answered(&mut self, scope: Scope) {
        self.lane(scope).hits = 0;
    }

    /// The server answered 429. Returns how long this kind of call pauses: as long as advised,
    /// else longer with each repetition.
    pub fn limited(&mut self, scope: Scope, advised: Option<Duration>, now: Instant) -> Duration {
        let usual = self.usual;
        let lane = self.lane(scope);
        let factor = 1_u32 << lane.hits.min(4);
        lane.hits += 1;
        let pause = advised.unwrap_or(usual * factor.min(LONGEST_GUESS));
        let until = now + pause;
        lane.paused_until = lane.paused_until.max(Some(until));
        pause
    }

    /// The rest of a pause, enforced or not.
    pub fn pause(&self, scope: Scope, now: Instant) -> Option<Duration> {
        let until = self.lanes[scope as usize].paused_until?;
        let rest = until.saturating_duration_since(now);
        (!rest.is_zero()).then_some(rest)
    }

    /// How many calls of this kind went out.
    pub fn calls(&self, scope: Scope) -> u64 {
        self.lanes[scope as usize].calls
    }

    fn lane(&mut self, scope: Scope) -> &mut Lane {
        &mut self.lanes[scope as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn governor() -> (Governor, Instant) {
        (Governor::new(MINUTE), Instant::now())
    }

    #[test]
    fn a_limit_on_anything_else_never_delays_a_move() {
        let (mut governor, now) = governor();
        for scope in Scope::ALL {
            governor.limited(scope, Some(MINUTE * 60), now);
        }
        assert_eq!(governor.ask(Scope::Move, now), Ok(()));
        assert_eq!(governor.ask(Scope::Act, now), Ok(()));
        assert_eq!(governor.ask(Scope::GameStream, now), Ok(()));
    }

    #[test]
    fn a_pause_holds_for_its_own_kind_and_ends() {
        let (mut governor, now) = governor();
        governor.limited(Scope::Create, None, now);
        assert_eq!(
            governor.ask(Scope::Create, now + MINUTE / 2),
            Err(MINUTE / 2)
        );
        assert_eq!(governor.ask(Scope::Answer, now), Ok(()));
        assert_eq!(governor.ask(Scope::Create, now + MINUTE), Ok(()));
    }

    #[test]
    fn the_servers_word_counts_before_our_guess() {
        let (mut governor, now) = governor();
        let advised = Duration::from_secs(27_594);
        assert_eq!(governor.limited(Scope::Create, Some(advised), now), advised);
        assert_eq!(governor.pause(Scope::Create, now), Some(advised));
        // A shorter word later does not shorten a pause that runs.
        governor.limited(Scope::Create, Some(MINUTE), now);
        assert_eq!(governor.pause(Scope::Create, now), Some(advised));
    }

    #[test]
    fn guesses_grow_until_an_answer_comes() {
        let (mut governor, now) = governor();
        let mut guess = || governor.limited(Scope::Create, None, now).as_secs();
        let guesses: Vec<_> = (0..6).map(|_| guess()).collect();
        assert_eq!(guesses, [60, 120, 240, 480, 600, 600]);
        governor.answered(Scope::Create);
        assert_eq!(governor.limited(Scope::Create, None, now), MINUTE);
    }

    #[test]
    fn only_calls_that_go_out_are_counted() {
        let (mut governor, now) = governor();
        governor.ask(Scope::Lookup, now).unwrap();
        governor.limited(Scope::Lookup, None, now);
        governor.ask(Scope::Lookup, now).unwrap_err();
        assert_eq!(governor.calls(Scope::Lookup), 1);
    }
}
