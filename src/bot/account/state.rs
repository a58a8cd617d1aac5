//! The account state and its event handling.
//!
//! Receives the time and events, and returns the effects in order. Has no socket, clock or task, so
//! lists of events can test it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::accepted::AcceptedChallenges;
use super::challenge_queue::ChallengeQueue;
use super::correspondence::CorrespondenceGames;
use super::event::{AccountEffect, AccountEvent};
use super::outgoing_challenge::OutgoingChallenge;
use super::running_games::ExcessGames;
use super::slots::{ActiveGames, OpponentKind, SlotLimits, SlotUsage};
use crate::bot::challenge_policy::Availability;
use crate::bot::player_lists::PlayerLists;
use crate::bot::settings::{BotTiming, Settings};
use crate::bot::state::BotState;
use crate::lichess::{Event, GameId, GameInfo, UserId};

/// The state of the account as far as games are concerned.
#[derive(Debug)]
pub struct AccountState {
    pub(super) me: UserId,
    pub(super) settings: Arc<Settings>,
    pub(super) lists: Arc<PlayerLists>,
    pub(super) timing: BotTiming,
    pub(super) state: BotState,
    pub(super) rating: Option<i32>,
    pub(super) accepted: AcceptedChallenges,
    pub(super) queue: ChallengeQueue,
    pub(super) games: ActiveGames,
    pub(super) correspondence: CorrespondenceGames,
    pub(super) outgoing: Option<OutgoingChallenge>,
    pub(super) excess: ExcessGames,
    /// When to fetch the list of running games next.
    pub(super) list_at: Option<Instant>,
    /// When the last lines of the event stream came.
    pub(super) lines: VecDeque<Instant>,
    /// When the list call in progress was made.
    pub(super) list_asked: Option<Instant>,
    /// Games that ended since then: a list on its way may still show them.
    pub(super) ended: Vec<GameId>,
    draining: bool,
    paused: bool,
    alarm: bool,
}

impl AccountState {
    /// An empty account state, beside what `state` remembers of earlier runs.
    pub fn new(me: UserId, settings: Arc<Settings>, timing: BotTiming, state: BotState) -> Self {
        Self {
            me,
            lists: Arc::new(PlayerLists::named(&settings.challenge)),
            settings,
            timing,
            state,
            rating: None,
            accepted: AcceptedChallenges::default(),
            queue: ChallengeQueue::default(),
            games: ActiveGames::default(),
            correspondence: CorrespondenceGames::default(),
            outgoing: None,
            excess: ExcessGames::default(),
            list_at: None,
            lines: VecDeque::new(),
            list_asked: None,
            ended: Vec::new(),
            draining: false,
            paused: false,
            alarm: false,
        }
    }

    /// Slots taken: games, accepted challenges, and the bot's own challenge.
    pub fn taken(&self) -> usize {
        self.tally().all
    }

    /// Slots taken by bots.
    pub fn taken_by_bots(&self) -> usize {
        self.tally().bots
    }

    pub fn running(&self) -> usize {
        self.games.ids().count()
    }

    /// Correspondence games, whichever side is to move.
    pub fn correspondence(&self) -> usize {
        self.correspondence.len()
    }

    /// Whether this is a correspondence game.
    pub fn is_parked(&self, game: &GameId) -> bool {
        self.correspondence.contains(game)
    }

    /// The bot's atomic rating, if known.
    pub fn rating(&self) -> Option<i32> {
        self.rating
    }

    /// Challenges queued for a slot.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing runs or is about to. Correspondence games count only while a game task runs.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
            && !self.correspondence.is_visited()
            && self.accepted.is_empty()
            && self.outgoing.is_none()
            && self.excess.is_empty()
    }

    /// When the next [`AccountEvent::Tick`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let outgoing = self
            .outgoing
            .as_ref()
            .and_then(OutgoingChallenge::next_timeout);
        [
            self.list_at,
            self.accepted.next_timeout(),
            self.queue.next_timeout(),
            self.excess.next_timeout(),
            outgoing,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles an event and returns the effects in order.
    pub fn apply(&mut self, news: AccountEvent, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        match news {
            AccountEvent::Opened => self.ask_for_list(now, &mut out),
            AccountEvent::Away => {
                self.ask_for_list(now, &mut out);
                out.push(AccountEffect::Waiting);
            }
            AccountEvent::Event(event) => {
                self.note_line(now);
                self.event(event, now, &mut out);
            }
            AccountEvent::Waiting(challenges) => {
                for challenge in challenges {
                    self.challenged(challenge, None, now, &mut out);
                }
            }
            AccountEvent::Running(games) => self.compare(games, now, &mut out),
            AccountEvent::NoList => self.list_at = now.checked_add(self.timing.again * 2),
            AccountEvent::Accepted { id, answer } => self.accepted(&id, &answer, now, &mut out),
            AccountEvent::Canceled { id, answer } => self.canceled(&id, &answer, now, &mut out),
            AccountEvent::Aborted { game, answer } => self.aborted(&game, &answer, now, &mut out),
            AccountEvent::Left { game, seen } => self.left(&game, seen, now),
            AccountEvent::Parked(game) => self.correspondence.waits(&game),
            AccountEvent::Standstill { game, stands } => self.games.stand(&game, stands),
            AccountEvent::Settings(settings) => self.settings = settings,
            AccountEvent::Lists(lists) => self.lists = lists,
            AccountEvent::Rating(rating) => self.rating = Some(rating),
            AccountEvent::Pause => self.close(|account| account.paused = true, &mut out),
            AccountEvent::Resume => self.paused = false,
            AccountEvent::Alarm(alarm) => self.close(|account| account.alarm = alarm, &mut out),
            AccountEvent::Drain => self.close(|account| account.draining = true, &mut out),
            AccountEvent::Tick => self.tick(now, &mut out),
        }
        self.params(now, &mut out);
        self.visit_parked(now, &mut out);
        out
    }

    fn close(&mut self, how: impl FnOnce(&mut Self), out: &mut Vec<AccountEffect>) {
        how(self);
        if self.is_closed() {
            self.take_back(out);
        }
    }

    fn event(&mut self, event: Event, now: Instant, out: &mut Vec<AccountEffect>) {
        match event {
            Event::GameStart(game) => {
                self.learn_rating(&game);
                self.started(game, now, out);
            }
            Event::GameFinish(game) => {
                self.learn_rating(&game);
                self.finished(&game, now, out);
            }
            Event::Challenge { challenge, compat } => self.challenged(*challenge, compat, now, out),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.withdrawn(&challenge.id);
            }
            Event::Unknown { .. } => {}
        }
    }

    /// Reads the bot's rating from the start of a game and the rating change from its end.
    fn learn_rating(&mut self, game: &GameInfo) {
        if let Some(rating) = game.rating {
            self.rating = Some(rating.saturating_add(game.rating_diff.unwrap_or(0)));
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<AccountEffect>) {
        let until = now + self.timing.accepted;
        for accepted in self.accepted.due(now, until) {
            out.push(accepted.accept());
        }
        let grace = now + self.timing.again * 2;
        let (gone, expired) = self.accepted.expire(now, grace);
        for accepted in &gone {
            self.release_game(accepted);
        }
        self.tick_outgoing(now, out);
        self.tick_surplus(now, out);
        if expired || self.list_at.is_some_and(|at| at <= now) {
            self.ask_for_list(now, out);
        }
    }

    /// Visits correspondence games where it is the bot's turn. They can wait when the daily quota
    /// is spent.
    fn visit_parked(&mut self, now: Instant, out: &mut Vec<AccountEffect>) {
        if !self.draining {
            out.extend(self.correspondence.next_visits(now));
        }
    }

    /// Whether the bot accepts nothing new at all.
    pub(super) fn is_closed(&self) -> bool {
        self.draining || self.paused || self.alarm
    }

    pub(super) fn plan(&self) -> SlotLimits {
        SlotLimits {
            all: self.settings.challenge.concurrency,
            for_humans: self.settings.challenge.reserved_for_humans,
        }
    }

    pub(super) fn tally(&self) -> SlotUsage {
        let mut tally = SlotUsage::default();
        self.games.count(&mut tally);
        self.accepted.count(&mut tally);
        if let Some(outgoing) = &self.outgoing {
            outgoing.count(&mut tally);
        }
        tally
    }

    /// Whether another game with an opponent of this kind may begin.
    pub(super) fn availability(&self, kind: OpponentKind) -> Availability {
        if self.draining {
            Availability::Draining
        } else if self.alarm {
            Availability::Alarm
        } else if self.paused {
            Availability::Paused
        } else if kind.is_bot() && !self.state.may_accept_bot().is_granted() {
            Availability::BotsSpent
        } else if self.plan().room(kind, self.tally()) == 0 {
            Availability::Full
        } else {
            Availability::Open
        }
    }
}
