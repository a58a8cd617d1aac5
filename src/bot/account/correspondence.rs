//! Correspondence games: days per move, or no clock.
//!
//! They take no slot and are idle most of their life. The list of running games, polled now and
//! then, shows where it is the bot's turn; it visits those, nearest deadline first and few at a
//! time: a game task starts, moves and ends. A game reported as over gets one more visit, to read
//! its result.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::bot::account_event::AccountEffect;
use crate::bot::status::CorrespondenceStatus;
use crate::config;
use crate::lichess::{GameId, GameInfo, Speed, UserId};

/// Games visited at the same time. Each thinks in the background of the games with a clock.
const VISITS_AT_ONCE: usize = 2;

/// A visit longer than this no longer blocks others: something is wrong with that game.
const LONG_VISIT: Duration = Duration::from_secs(600);

/// Maximum poll interval, whatever the config says: a game of one day per move must not be missed.
const MAX_POLL: Duration = Duration::from_secs(4 * 3600);

/// Whether this is a correspondence game, by its announcement. A game with a very long clock
/// looks the same; its first visit plays it to the end.
pub(super) fn is_correspondence(game: &GameInfo) -> bool {
    game.speed == Speed::Correspondence
}

/// The account's correspondence games.
#[derive(Debug, Default)]
pub(super) struct CorrespondenceGames(BTreeMap<GameId, CorrespondenceGame>);

#[derive(Debug)]
struct CorrespondenceGame {
    game: Box<GameInfo>,
    state: VisitState,
    /// When the bot's time runs out, if known.
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisitState {
    Waiting,
    /// The bot is to move, or the result is to be read.
    Due,
    /// A game task runs.
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

    /// Time to the next poll of the list, if there is anything to poll for.
    pub(super) fn poll(&self, rules: &config::Correspondence) -> Option<Duration> {
        (!self.0.is_empty()).then(|| rules.poll.min(MAX_POLL))
    }

    pub(super) fn status(&self, now: Instant) -> CorrespondenceStatus {
        let ours = |it: &&CorrespondenceGame| it.state != VisitState::Waiting && it.game.is_my_turn;
        let to_move = self.0.values().filter(ours);
        let deadline = to_move.clone().filter_map(|it| it.deadline).min();
        CorrespondenceStatus {
            games: self.0.len(),
            to_move: to_move.count(),
            deadline: deadline.map(|at| at.saturating_duration_since(now).as_secs()),
        }
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

    /// Updates a game, new or known, from its announcement: side to move and time left.
    pub(super) fn update(&mut self, game: &GameInfo, now: Instant) {
        let deadline = game.time_left.and_then(|left| now.checked_add(left));
        let state = if game.is_my_turn {
            VisitState::Due
        } else {
            VisitState::Waiting
        };
        let known = self.0.get(&game.id);
        // A running game task knows better.
        if !known.is_some_and(|known| known.state.is_visited()) {
            let announced = CorrespondenceGame {
                game: Box::new(game.clone()),
                state,
                deadline,
            };
            self.0.insert(game.id.clone(), announced);
        }
    }

    /// Removes a game that is over or no longer listed. Returns whether it has a game task.
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

    /// The game task ended while the game continues.
    pub(super) fn waits(&mut self, id: &GameId) {
        if let Some(parking) = self.0.get_mut(id) {
            parking.state = VisitState::Waiting;
        }
    }

    pub(super) fn remove(&mut self, id: &GameId) -> bool {
        self.0.remove(id).is_some()
    }

    /// Starts the next visits.
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
