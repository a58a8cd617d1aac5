//! Correspondence games: days per move, or no clock at all.
//!
//! They take no slot and wait most of the time. The polled list of running games shows where it is our turn;
//! those are visited, nearest deadline first and a few at a time: a game task joins, moves, and leaves. A
//! game reported as over is visited once more, to see how it ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::event::AccountEffect;
use crate::config;
use crate::lichess::{GameId, GameInfo, Speed, UserId};

/// Games visited at the same time. Each thinks in the background of the games with a clock.
const VISITS_AT_ONCE: usize = 2;

/// A visit longer than this no longer keeps others from theirs: something is wrong with that game.
const LONG_VISIT: Duration = Duration::from_secs(600);

/// Looks are no rarer than this, whatever is set: a day a move must not go by unseen.
const LONGEST_POLL: Duration = Duration::from_secs(4 * 3600);

/// Whether a game is one of those, as far as its announcement tells. One with a very long clock
/// looks the same; it is played to its end at the first visit.
pub(super) fn is_parked(game: &GameInfo) -> bool {
    game.speed == Speed::Correspondence
}

/// The correspondence games of the account.
#[derive(Debug, Default)]
pub(super) struct CorrespondenceGames(BTreeMap<GameId, CorrespondenceGame>);

#[derive(Debug)]
struct CorrespondenceGame {
    game: Box<GameInfo>,
    state: VisitState,
    /// When our time is up, as far as it is known.
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisitState {
    Waiting,
    /// Our turn, or an end to be seen.
    Due,
    /// A player sits at it.
    Visited {
        since: Instant,
    },
}

impl VisitState {
    fn is_visited(self) -> bool {
        matches!(self, Self::Visited { .. })
    }
}

impl CorrespondenceGames {
    pub(super) fn contains(&self, id: &GameId) -> bool {
        self.0.contains_key(id)
    }

    /// How long it is to the next look at the list, if there is anything to look for.
    pub(super) fn poll(&self, rules: &config::Correspondence) -> Option<Duration> {
        (!self.0.is_empty()).then(|| rules.poll.min(LONGEST_POLL))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a game task sits at any of them.
    pub(super) fn is_visited(&self) -> bool {
        self.0.values().any(|parking| parking.state.is_visited())
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &GameId> {
        self.0.keys()
    }

    /// Games with this opponent.
    pub(super) fn with(&self, opponent: &UserId) -> u32 {
        let theirs =
            |parking: &&CorrespondenceGame| parking.game.opponent.id.as_ref() == Some(opponent);
        u32::try_from(self.0.values().filter(theirs).count()).unwrap_or(u32::MAX)
    }

    /// What is told of a game, new or known: whose turn it is, and how long there is.
    pub(super) fn told(&mut self, game: Box<GameInfo>, now: Instant) {
        let deadline = game.time_left.and_then(|left| now.checked_add(left));
        let state = if game.is_my_turn {
            VisitState::Due
        } else {
            VisitState::Waiting
        };
        let parking = self
            .0
            .entry(game.id.clone())
            .or_insert_with(|| CorrespondenceGame {
                game: game.clone(),
                state,
                deadline,
            });
        // A player who sits there knows better.
        if !parking.state.is_visited() {
            *parking = CorrespondenceGame {
                game,
                state,
                deadline,
            };
        }
    }

    /// A game is over, or no longer listed. Tells whether a game task sits there.
    pub(super) fn over(&mut self, id: &GameId) -> bool {
        let Some(parking) = self.0.get_mut(id) else {
            return false;
        };
        let visited = parking.state.is_visited();
        if !visited {
            parking.state = VisitState::Due;
            parking.deadline = None;
        }
        visited
    }

    /// The game task left while the game continues.
    pub(super) fn waits(&mut self, id: &GameId) {
        if let Some(parking) = self.0.get_mut(id) {
            parking.state = VisitState::Waiting;
        }
    }

    pub(super) fn remove(&mut self, id: &GameId) -> bool {
        self.0.remove(id).is_some()
    }

    /// The next games that are sat down at.
    pub(super) fn next_visits(&mut self, now: Instant) -> Vec<AccountEffect> {
        let short = |parking: &&CorrespondenceGame| matches!(parking.state, VisitState::Visited { since } if now - since < LONG_VISIT);
        let visits = self.0.values().filter(short).count();
        let free = VISITS_AT_ONCE.saturating_sub(visits);
        let is_due = |parking: &&mut CorrespondenceGame| parking.state == VisitState::Due;
        let mut due: Vec<_> = self.0.values_mut().filter(is_due).collect();
        due.sort_by_key(|parking| (parking.deadline.is_none(), parking.deadline));
        let visit = |parking: &mut CorrespondenceGame| {
            parking.state = VisitState::Visited { since: now };
            AccountEffect::Play(parking.game.clone())
        };
        due.into_iter().take(free).map(visit).collect()
    }
}
