//! Running games: which get a game task, which accepted challenge each belongs to, and
//! reconciliation with the server's list.
//!
//! Each game starts exactly once, however often it is announced. A game that the bot did not ask
//! for and that finds no slot is aborted if possible, else played; games from before this process
//! started are always played.

use std::collections::BTreeSet;
use std::time::Duration;

use super::correspondence::is_correspondence;
use super::slots::{AcceptedChallenge, ActiveGame};
use super::{AccountState, ListCall};
use crate::bot::account_event::AccountEffect;
use crate::bot::game::CallOutcome;
use crate::bot::quota::OpponentKind;
use crate::bot::state::StartedGame;
use crate::lichess::{GameId, GameInfo, Status, Variant};
use crate::store::Origin;

/// The most games that the list of running games shows.
const LIST_CAP: usize = 50;
/// With this many lines at once the server may have dropped some: it buffers 32 for a slow reader.
const CROWD: usize = 24;

/// What led to a game.
struct GameOrigin {
    kind: OpponentKind,
    origin: Option<Origin>,
    rematch: bool,
}

impl GameOrigin {
    fn of(accepted: &AcceptedChallenge) -> Self {
        Self {
            kind: accepted.kind,
            origin: Some(Origin::Incoming),
            rematch: accepted.rematch_of.is_some(),
        }
    }

    /// No known challenge led to the game.
    fn unknown(game: &GameInfo) -> Self {
        Self {
            kind: OpponentKind::of(Some(&game.opponent)),
            origin: is_arena(game).then_some(Origin::Arena),
            rematch: false,
        }
    }
}

fn is_arena(game: &GameInfo) -> bool {
    game.tournament.is_some() || game.source.as_deref() == Some("arena")
}

impl AccountState {
    /// Whether its rating may be our atomic one: another program on the account may play other variants.
    pub(super) fn may_be_atomic(game: &GameInfo) -> bool {
        matches!(game.variant, Variant::Atomic | Variant::Unknown)
    }

    pub(super) fn started(&mut self, game: &GameInfo) {
        let over = game.status.is_some_and(Status::is_over);
        let closed = game.compat.is_some_and(|compat| !compat.bot);
        let known = self.games.contains_key(&game.id) || self.excess.leaving.contains_key(&game.id);
        let waits = (self.lost.get(&game.id)).is_some_and(|lost| lost.0 > self.now);
        if over || closed || known || waits {
            return;
        }
        if self.correspondence.contains(&game.id) {
            return self.correspondence.update(game, self.now);
        }
        // No challenge led to it, though the opponent may have one that was accepted or is open.
        if is_arena(game) {
            return self.play(game, &GameOrigin::unknown(game));
        }
        // Two challenges that crossed become two games of the same opponent.
        let outgoing = self.outgoing();
        let ours = outgoing.is_some_and(|id| id.as_str() == game.id.as_str());
        let accepted = if ours { None } else { self.accepted.take(game) };
        let asked = if let Some(accepted) = accepted {
            accepted.count_for(&self.state);
            // A game with another id takes the slot over; a rematch's takes over the quota entry as
            // well.
            if accepted.id != game.id.as_challenge() {
                self.state.forget_game(&accepted.id.as_game());
                if accepted.rematch_of.is_none() {
                    self.release_game(&accepted);
                }
            }
            if accepted.rated != game.rated {
                let rated = game.rated;
                tracing::info!(game = %game.id, rated, "the server changed whether the game is rated");
            }
            GameOrigin::of(&accepted)
        } else if let Some(kind) = self.outgoing_becomes(game) {
            GameOrigin {
                kind,
                origin: Some(Origin::Outgoing),
                rematch: false,
            }
        } else if self.has_no_slot_for(game) {
            self.call_off(game);
            return;
        } else {
            GameOrigin::unknown(game)
        };
        self.play(game, &asked);
    }

    fn play(&mut self, game: &GameInfo, asked: &GameOrigin) {
        self.record_start(game, asked);
        if is_correspondence(game) {
            self.correspondence.update(game, self.now);
            let poll = self.correspondence.poll(&self.settings.correspondence);
            return poll.into_iter().for_each(|poll| self.list_within(poll));
        }
        let active = ActiveGame {
            opponent: game.opponent.id.clone(),
            kind: asked.kind,
            stalled: false,
        };
        self.games.insert(game.id.clone(), active);
        self.list_at.get_or_insert(self.now + self.timing.reconcile);
        self.out.push(AccountEffect::Play(Box::new(game.clone())));
    }

    fn record_start(&self, game: &GameInfo, asked: &GameOrigin) {
        self.state.started(&StartedGame {
            game: game.id.clone(),
            opponent: game.opponent.id.clone(),
            is_bot: asked.kind.is_bot(),
            origin: asked.origin,
            rematch: asked.rematch,
        });
    }

    /// Whether a game that the bot did not ask for is in excess and can still be aborted: before
    /// the bot's first move.
    fn has_no_slot_for(&self, game: &GameInfo) -> bool {
        let kind = OpponentKind::of(Some(&game.opponent));
        self.excess.settled.is_some_and(|at| at <= self.now)
            && !game.has_moved
            && !is_correspondence(game)
            && !self.excess.tried.contains(&game.id)
            && self.plan().room(kind, self.tally()) == 0
    }

    fn call_off(&mut self, game: &GameInfo) {
        tracing::warn!(game = %game.id, "no free slot: aborting the game");
        // A game aborted long ago does not come back, so the set can be bounded.
        if self.excess.tried.len() >= LIST_CAP {
            self.excess.tried.clear();
        }
        self.excess.tried.insert(game.id.clone());
        self.out.push(AccountEffect::Abort(game.id.clone()));
        let until = self.now + self.timing.again * 2;
        let game = Box::new(game.clone());
        self.excess.leaving.insert(game.id.clone(), (game, until));
    }

    /// Handles the outcome of an abort. If the game continues, it is played.
    pub(super) fn aborted(&mut self, id: &GameId, answer: &CallOutcome) {
        let Some((game, _)) = self.excess.leaving.remove(id) else {
            return;
        };
        if !matches!(answer, CallOutcome::Done | CallOutcome::Gone) {
            self.play(&game, &GameOrigin::unknown(&game));
        }
    }

    pub(super) fn tick_surplus(&mut self) {
        for game in self.excess.overdue(self.now) {
            self.play(&game, &GameOrigin::unknown(&game));
        }
    }

    pub(super) fn finished(&mut self, game: &GameInfo) {
        if let Some(accepted) = self.accepted.remove(&game.id.as_challenge()) {
            // The game ended before its start was seen, but it did start. It is backfilled after
            // the next list.
            accepted.count_for(&self.state);
            self.record_start(game, &GameOrigin::of(&accepted));
            self.list_within(self.timing.again);
        }
        self.outgoing_is_gone(&game.id.as_challenge());
        self.excess.leaving.remove(&game.id);
        if self.games.contains_key(&game.id) || self.correspondence.over(&game.id) {
            self.out.push(AccountEffect::GameFinish(game.id.clone()));
        }
    }

    pub(super) fn left(&mut self, game: &GameId, seen: bool) {
        self.tasks.remove(game);
        self.games.remove(game);
        self.correspondence.remove(game);
        if seen {
            self.ended.push(game.clone());
            return;
        }
        // The server may list a game whose stream it refuses: each time the pause doubles.
        let before = self.lost.get(game).map_or(Duration::ZERO, |lost| lost.1);
        let pause = (before * 2).clamp(self.timing.again, self.timing.reconcile);
        self.lost.insert(game.clone(), (self.now + pause, pause));
        self.list_within(pause);
    }

    /// Fetches the list now and schedules the next fetch, even while nothing runs: a live stream
    /// may have lost the line that announced a game. With only correspondence games the config sets
    /// the interval.
    pub(super) fn ask_for_list(&mut self) {
        let usual = self.timing.reconcile;
        let pause = match self.correspondence.poll(&self.settings.correspondence) {
            Some(poll) if self.is_empty() => poll,
            poll => poll.unwrap_or(usual).min(usual),
        };
        // A game its task lost may be started again by then at the latest.
        let lost = self.lost.values().map(|lost| lost.0);
        let again = lost.filter(|&at| at > self.now);
        self.list_at = again.chain(self.now.checked_add(pause)).min();
        // One question at a time: an answer must never be judged by a later question. Every question is
        // answered long before the usual next one.
        let recent = |asked| self.now < asked + usual;
        if self.list_call != ListCall::None && self.list_asked.is_some_and(recent) {
            self.list_call = ListCall::UnderWayAndAgain;
            return;
        }
        self.list_call = ListCall::UnderWay;
        self.list_asked = Some(self.now);
        self.ended.clear();
        self.out.push(AccountEffect::List);
    }

    /// The question for the list has its answer, or none will come.
    pub(super) fn list_answered(&mut self) {
        if std::mem::take(&mut self.list_call) == ListCall::UnderWayAndAgain {
            self.ask_for_list();
        }
    }

    /// Brings the next fetch of the list forward, to `pause` from now at the latest.
    pub(super) fn list_within(&mut self, pause: Duration) {
        let at = self.now + pause;
        self.list_at = Some(self.list_at.map_or(at, |planned| planned.min(at)));
    }

    /// After a burst of lines, fetch the list: some lines may have been dropped.
    pub(super) fn count_line(&mut self) {
        self.lines.push_back(self.now);
        if self.lines.len() < CROWD {
            return;
        }
        let first = self.lines.pop_front();
        if first.is_some_and(|first| self.now - first <= self.timing.burst) {
            self.lines.clear();
            self.list_within(self.timing.again);
        }
    }

    /// Whether a list of running games is complete.
    pub(super) fn is_complete_list(games: &[GameInfo]) -> bool {
        games.len() < LIST_CAP
    }

    /// Whether a game runs here or is about to, so that the bot will see its end.
    pub fn tracks(&self, game: &GameId) -> bool {
        self.games.contains_key(game)
            || self.correspondence.contains(game)
            || self.excess.leaving.contains_key(game)
            || self.accepted.holds(&game.as_challenge())
    }

    /// Compares with the list of running games: starts missed games, checks games not on it, and
    /// drops accepted challenges without a game.
    pub(super) fn compare(&mut self, games: &[GameInfo]) {
        let is_complete_list = Self::is_complete_list(games);
        if is_complete_list {
            let listed: BTreeSet<_> = games.iter().map(|game| &game.id).collect();
            self.lost.retain(|id, _| listed.contains(id));
            let missing = self.games.keys().filter(|id| !listed.contains(id));
            self.out
                .extend(missing.cloned().map(AccountEffect::GameFinish));
            let gone = self.correspondence.ids().filter(|id| !listed.contains(id));
            let gone: Vec<GameId> = gone.cloned().collect();
            let visited = gone.into_iter().filter(|id| self.correspondence.over(id));
            self.out.extend(visited.map(AccountEffect::GameFinish));
        }
        let has_news = games.iter().any(|game| !self.tracks(&game.id));
        for game in games {
            if !self.ended.contains(&game.id) {
                self.started(game);
            }
        }
        if is_complete_list {
            let asked = self.list_asked.unwrap_or(self.now);
            for void in self.accepted.not_listed(asked, self.timing.again) {
                self.release_game(&void);
            }
        } else if has_news {
            // The list is full. The most urgent games come first, so the next list will show
            // others.
            self.list_within(self.timing.again);
        }
        if self.swept.is_none() {
            self.out.push(AccountEffect::ListOutgoing);
        }
        // The stream also announces running games when it opens: those lines may still be coming.
        let settles = self.now + self.timing.again;
        self.excess.settled.get_or_insert(settles);
    }
}
