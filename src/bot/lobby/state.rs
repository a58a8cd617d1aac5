//! The lobby itself, and what it does about the news.
//!
//! It is told the time and whatever happened, and says what is to be done, in order. It has no
//! socket, no clock and no task, so lists of events test it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::news::{Errand, News};
use super::outgoing::Outgoing;
use super::parked::Parked;
use super::permits::Permits;
use super::queue::Queue;
use super::running::Surplus;
use super::seats::{Games, Kind, Plan, Tally};
use crate::bot::challenge::Openness;
use crate::bot::lists::Lists;
use crate::bot::memory::Memory;
use crate::bot::settings::{Pace, Settings};
use crate::lichess::{Event, GameId, GameInfo, UserId};

/// The state of the account as far as games are concerned.
#[derive(Debug)]
pub struct Lobby {
    pub(super) me: UserId,
    pub(super) settings: Arc<Settings>,
    pub(super) lists: Arc<Lists>,
    pub(super) pace: Pace,
    pub(super) memory: Memory,
    pub(super) rating: Option<i32>,
    pub(super) permits: Permits,
    pub(super) queue: Queue,
    pub(super) games: Games,
    pub(super) parked: Parked,
    pub(super) outgoing: Option<Outgoing>,
    pub(super) surplus: Surplus,
    /// When the list of running games is wanted next.
    pub(super) list_at: Option<Instant>,
    /// When the last lines of the event stream came.
    pub(super) lines: VecDeque<Instant>,
    /// When the list under way was asked for.
    pub(super) list_asked: Option<Instant>,
    /// Games whose end was seen since then: a list on its way may still show them.
    pub(super) ended: Vec<GameId>,
    draining: bool,
    paused: bool,
    alarm: bool,
}

impl Lobby {
    /// An empty lobby, with what is remembered of the time before.
    pub fn new(me: UserId, settings: Arc<Settings>, pace: Pace, memory: Memory) -> Self {
        Self {
            me,
            lists: Arc::new(Lists::named(&settings.challenge)),
            settings,
            pace,
            memory,
            rating: None,
            permits: Permits::default(),
            queue: Queue::default(),
            games: Games::default(),
            parked: Parked::default(),
            outgoing: None,
            surplus: Surplus::default(),
            list_at: None,
            lines: VecDeque::new(),
            list_asked: None,
            ended: Vec::new(),
            draining: false,
            paused: false,
            alarm: false,
        }
    }

    /// Seats taken: games, challenges accepted, and the challenge of our own.
    pub fn taken(&self) -> usize {
        self.tally().all
    }

    /// Those of them that bots have.
    pub fn taken_by_bots(&self) -> usize {
        self.tally().bots
    }

    /// Games that have a player.
    pub fn running(&self) -> usize {
        self.games.ids().count()
    }

    /// Games of days a move, whoever is to move.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Whether this is a game of days a move.
    pub fn is_parked(&self, game: &GameId) -> bool {
        self.parked.contains(game)
    }

    /// Our rating in atomic, as far as it is known.
    pub fn rating(&self) -> Option<i32> {
        self.rating
    }

    /// Challenges that wait for a seat.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing runs and nothing is about to. Parked games do not count unless somebody sits
    /// at one.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
            && !self.parked.is_visited()
            && self.permits.is_empty()
            && self.outgoing.is_none()
            && self.surplus.is_empty()
    }

    /// When [`News::Tick`] is wanted.
    pub fn wake_at(&self) -> Option<Instant> {
        let outgoing = self.outgoing.as_ref().and_then(Outgoing::wake_at);
        [
            self.list_at,
            self.permits.wake_at(),
            self.queue.wake_at(),
            self.surplus.wake_at(),
            outgoing,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Takes in what happened and says what is to be done about it, in order.
    pub fn apply(&mut self, news: News, now: Instant) -> Vec<Errand> {
        let mut out = Vec::new();
        match news {
            News::Opened => self.ask_for_list(now, &mut out),
            News::Away => {
                self.ask_for_list(now, &mut out);
                out.push(Errand::Waiting);
            }
            News::Event(event) => {
                self.note_line(now);
                self.event(event, now, &mut out);
            }
            News::Waiting(challenges) => {
                for challenge in challenges {
                    self.challenged(challenge, None, now, &mut out);
                }
            }
            News::Running(games) => self.compare(games, now, &mut out),
            News::NoList => self.list_at = now.checked_add(self.pace.again * 2),
            News::Accepted { id, answer } => self.accepted(&id, &answer, now, &mut out),
            News::Canceled { id, answer } => self.canceled(&id, &answer, now, &mut out),
            News::Aborted { game, answer } => self.aborted(&game, &answer, now, &mut out),
            News::Left { game, seen } => self.left(&game, seen, now),
            News::Parked(game) => self.parked.waits(&game),
            News::Standstill { game, stands } => self.games.stand(&game, stands),
            News::Settings(settings) => self.settings = settings,
            News::Lists(lists) => self.lists = lists,
            News::Rating(rating) => self.rating = Some(rating),
            News::Pause => self.close(|lobby| lobby.paused = true, &mut out),
            News::Resume => self.paused = false,
            News::Alarm(alarm) => self.close(|lobby| lobby.alarm = alarm, &mut out),
            News::Drain => self.close(|lobby| lobby.draining = true, &mut out),
            News::Tick => self.tick(now, &mut out),
        }
        self.seat(now, &mut out);
        self.visit_parked(now, &mut out);
        out
    }

    fn close(&mut self, how: impl FnOnce(&mut Self), out: &mut Vec<Errand>) {
        how(self);
        if self.is_closed() {
            self.take_back(out);
        }
    }

    fn event(&mut self, event: Event, now: Instant, out: &mut Vec<Errand>) {
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

    /// Each game tells our rating when it begins, and what it did to it when it ends.
    fn learn_rating(&mut self, game: &GameInfo) {
        if let Some(rating) = game.rating {
            self.rating = Some(rating.saturating_add(game.rating_diff.unwrap_or(0)));
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Errand>) {
        let until = now + self.pace.permit;
        for permit in self.permits.due(now, until) {
            out.push(permit.accept());
        }
        let grace = now + self.pace.again * 2;
        let (gone, expired) = self.permits.expire(now, grace);
        for permit in &gone {
            self.release_game(permit);
        }
        self.tick_outgoing(now, out);
        self.tick_surplus(now, out);
        if expired || self.list_at.is_some_and(|at| at <= now) {
            self.ask_for_list(now, out);
        }
    }

    /// Sits down where it is our turn. At the end of the day such games can wait.
    fn visit_parked(&mut self, now: Instant, out: &mut Vec<Errand>) {
        if !self.draining {
            out.extend(self.parked.next_visits(now));
        }
    }

    /// Whether nothing new is taken at all.
    pub(super) fn is_closed(&self) -> bool {
        self.draining || self.paused || self.alarm
    }

    pub(super) fn plan(&self) -> Plan {
        Plan {
            all: self.settings.challenge.concurrency,
            for_humans: self.settings.challenge.reserved_for_humans,
        }
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.games.count(&mut tally);
        self.permits.count(&mut tally);
        if let Some(outgoing) = &self.outgoing {
            outgoing.count(&mut tally);
        }
        tally
    }

    /// Whether another game with an opponent of this kind may begin.
    pub(super) fn openness(&self, kind: Kind) -> Openness {
        if self.draining {
            Openness::Draining
        } else if self.alarm {
            Openness::Alarm
        } else if self.paused {
            Openness::Paused
        } else if kind.is_bot() && !self.memory.may_accept_bot().is_granted() {
            Openness::BotsSpent
        } else if self.plan().room(kind, self.tally()) == 0 {
            Openness::Full
        } else {
            Openness::Open
        }
    }
}
