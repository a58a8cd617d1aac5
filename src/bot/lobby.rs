//! Who comes in: challenges, seats, and which games get a player.
//!
//! Pure: events of the account go in, what is to be done comes out. A challenge taken holds a permit
//! until its game begins; a permit that sees no game runs out, so that no seat is ever lost. A game
//! under way is always played, permit or not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use super::challenge::{Openness, Standing, Verdict, consider};
use super::queue::Queue;
use super::settings::{Pace, Settings};
use super::table::Answer;
use crate::lichess::{
    Challenge, ChallengeId, Compat, DeclineReason, Event, GameId, GameInfo, Player, Status, UserId,
};

/// How often an acceptance that brought no answer is sent.
const MOST_TRIES: u32 = 4;
/// The most games that the list of running games shows.
const LIST_CAP: usize = 50;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum News {
    /// The event stream is open: everything that runs or waits is told again.
    Opened,
    /// A line of the event stream.
    Event(Event),
    /// The games that run now.
    Running(Vec<GameInfo>),
    /// The list of running games could not be had.
    NoList,
    /// What became of an acceptance.
    Accepted {
        /// Of which challenge.
        id: ChallengeId,
        /// What the server said.
        answer: Answer,
    },
    /// A game's player is done.
    Left {
        /// With which game.
        game: GameId,
        /// Whether it saw the end, or only lost sight of the game.
        seen: bool,
    },
    /// Take nothing new.
    Drain,
    /// The moment of [`Lobby::wake_at`] has come.
    Tick,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Accept a challenge.
    Accept(ChallengeId),
    /// Decline a challenge.
    Decline(ChallengeId, DeclineReason),
    /// Start the one player of a game.
    Play(Box<GameInfo>),
    /// Tell a game's player that the game is said to be over.
    SaidOver(GameId),
    /// Ask for the list of running games.
    List,
}

/// The state of the account as far as games are concerned.
#[derive(Debug)]
pub struct Lobby {
    me: UserId,
    settings: Arc<Settings>,
    pace: Pace,
    permits: Vec<Permit>,
    queue: Queue,
    games: BTreeSet<GameId>,
    draining: bool,
    bots_rest_until: Option<Instant>,
    list_at: Option<Instant>,
}

/// A challenge taken whose game has not begun.
#[derive(Debug)]
struct Permit {
    id: ChallengeId,
    opponent: Option<UserId>,
    is_bot: bool,
    rematch: bool,
    expires: Instant,
    tries: u32,
    again: Option<Instant>,
}

impl Lobby {
    /// An empty lobby.
    pub fn new(me: UserId, settings: Arc<Settings>, pace: Pace) -> Self {
        Self {
            me,
            settings,
            pace,
            permits: Vec::new(),
            queue: Queue::default(),
            games: BTreeSet::new(),
            draining: false,
            bots_rest_until: None,
            list_at: None,
        }
    }

    /// Seats taken: games and challenges accepted.
    pub fn taken(&self) -> usize {
        self.permits.len() + self.games.len()
    }

    /// Whether nothing runs and nothing is about to.
    pub fn is_empty(&self) -> bool {
        self.taken() == 0
    }

    /// When [`News::Tick`] is wanted.
    pub fn wake_at(&self) -> Option<Instant> {
        let permits = self.permits.iter();
        permits
            .flat_map(|permit| [Some(permit.expires), permit.again])
            .chain([self.list_at, self.queue.wake_at()])
            .flatten()
            .min()
    }

    /// Takes in what happened and says what is to be done about it, in order.
    pub fn apply(&mut self, news: News, now: Instant) -> Vec<Errand> {
        let mut out = Vec::new();
        match news {
            News::Opened => self.ask_for_list(now, &mut out),
            News::Event(event) => self.event(event, now, &mut out),
            News::Running(games) => self.compare(games, now, &mut out),
            News::NoList => self.list_at = now.checked_add(self.pace.again * 2),
            News::Accepted { id, answer } => self.accepted(&id, &answer, now, &mut out),
            News::Left { game, seen } => {
                self.games.remove(&game);
                if !seen {
                    self.list_at = now.checked_add(self.pace.again);
                }
            }
            News::Drain => self.draining = true,
            News::Tick => self.tick(now, &mut out),
        }
        self.seat(now, &mut out);
        out
    }

    fn event(&mut self, event: Event, now: Instant, out: &mut Vec<Errand>) {
        match event {
            Event::GameStart(game) => self.started(game, now, out),
            Event::GameFinish(game) => {
                self.drop_permit(&game.id.as_challenge());
                if self.games.contains(&game.id) {
                    out.push(Errand::SaidOver(game.id));
                }
            }
            Event::Challenge { challenge, compat } => self.challenged(*challenge, compat, now, out),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.drop_permit(&challenge.id);
                self.queue.remove(&challenge.id);
            }
            Event::Unknown { .. } => {}
        }
    }

    fn challenged(
        &mut self,
        challenge: Challenge,
        compat: Option<Compat>,
        now: Instant,
        out: &mut Vec<Errand>,
    ) {
        let taken = self.permits.iter().any(|permit| permit.id == challenge.id);
        if taken || self.queue.holds(&challenge.id) || self.games.contains(&challenge.id.as_game())
        {
            return;
        }
        let standing = Standing {
            me: &self.me,
            open: self.openness(now),
        };
        match consider(&challenge, compat, &self.settings.challenge, &standing) {
            Verdict::Accept => {
                self.permits.push(self.permit(&challenge, now));
                out.push(Errand::Accept(challenge.id));
            }
            Verdict::Decline(DeclineReason::Later)
                if standing.open == Openness::Full && !self.draining && self.queue.has_room() =>
            {
                self.queue.push(challenge, compat, now + self.pace.queue);
            }
            Verdict::Decline(reason) => out.push(Errand::Decline(challenge.id, reason)),
            Verdict::Ignore => {}
        }
    }

    /// Gives free seats to those who wait; tells the others when it has been long enough.
    fn seat(&mut self, now: Instant, out: &mut Vec<Errand>) {
        while self.draining || self.openness(now) != Openness::Full {
            let Some(waiting) = self.queue.pop() else {
                break;
            };
            self.challenged(*waiting.challenge, waiting.compat, now, out);
        }
        let late = self.queue.expired(now);
        out.extend(late.map(|id| Errand::Decline(id, DeclineReason::Later)));
    }

    fn permit(&self, challenge: &Challenge, now: Instant) -> Permit {
        let challenger = challenge.challenger.as_ref();
        Permit {
            id: challenge.id.clone(),
            opponent: challenger.and_then(|player| player.id.clone()),
            is_bot: challenger.is_some_and(Player::is_bot),
            rematch: challenge.rematch_of.is_some(),
            expires: now + self.pace.permit,
            tries: 1,
            again: None,
        }
    }

    fn openness(&self, now: Instant) -> Openness {
        if self.draining || self.taken() >= self.settings.challenge.concurrency {
            Openness::Full
        } else if self.bots_rest_until.is_some_and(|until| now < until) {
            Openness::HumansOnly
        } else {
            Openness::Open
        }
    }

    /// What became of an acceptance. Whatever it was, a game that begins is played.
    fn accepted(&mut self, id: &ChallengeId, answer: &Answer, now: Instant, out: &mut Vec<Errand>) {
        let retry = now + self.pace.retry_cap;
        let Some(permit) = self.permits.iter_mut().find(|permit| permit.id == *id) else {
            return;
        };
        match answer {
            Answer::Done => permit.expires = now + self.pace.permit,
            Answer::Lost if permit.tries < MOST_TRIES => permit.again = Some(retry),
            Answer::Limited { wait } => {
                if permit.is_bot {
                    let wait = wait.unwrap_or(self.pace.limited_wait);
                    self.bots_rest_until = now.checked_add(wait);
                }
                self.drop_permit(id);
                out.push(Errand::Decline(id.clone(), DeclineReason::Later));
            }
            Answer::Lost | Answer::Refused { .. } | Answer::Gone => self.drop_permit(id),
        }
    }

    fn started(&mut self, game: Box<GameInfo>, now: Instant, out: &mut Vec<Errand>) {
        let over = game.status.is_some_and(Status::is_over);
        let closed = game.compat.is_some_and(|compat| !compat.bot);
        if over || closed || self.games.contains(&game.id) {
            return;
        }
        self.take_permit(&game);
        self.games.insert(game.id.clone());
        self.list_at.get_or_insert(now + self.pace.reconcile);
        out.push(Errand::Play(game));
    }

    /// The permit of a game: the one of its id; failing that, since a rematch may get another id,
    /// one of the same opponent.
    fn take_permit(&mut self, game: &GameInfo) {
        let opponent = game.opponent.id.as_ref();
        let by_id = |permit: &Permit| permit.id.as_str() == game.id.as_str();
        let by_opponent =
            |permit: &Permit| opponent.is_some() && permit.opponent.as_ref() == opponent;
        let permits = &self.permits;
        let found = permits
            .iter()
            .position(by_id)
            .or_else(|| permits.iter().position(|p| p.rematch && by_opponent(p)))
            .or_else(|| permits.iter().position(by_opponent));
        if let Some(index) = found {
            self.permits.remove(index);
        }
    }

    fn drop_permit(&mut self, id: &ChallengeId) {
        self.permits.retain(|permit| permit.id != *id);
    }

    fn ask_for_list(&mut self, now: Instant, out: &mut Vec<Errand>) {
        self.list_at = (!self.is_empty()).then(|| now + self.pace.reconcile);
        out.push(Errand::List);
    }

    /// The list of running games: what we missed is taken up, what is not on it is looked at.
    fn compare(&mut self, games: Vec<GameInfo>, now: Instant, out: &mut Vec<Errand>) {
        if games.len() < LIST_CAP {
            let listed: BTreeSet<_> = games.iter().map(|game| &game.id).collect();
            let missing = self.games.iter().filter(|id| !listed.contains(id));
            out.extend(missing.cloned().map(Errand::SaidOver));
        }
        for game in games {
            self.started(Box::new(game), now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Errand>) {
        let before = self.permits.len();
        self.permits.retain(|permit| permit.expires > now);
        for permit in &mut self.permits {
            if permit.again.is_some_and(|again| again <= now) {
                permit.again = None;
                permit.tries += 1;
                out.push(Errand::Accept(permit.id.clone()));
            }
        }
        let expired = self.permits.len() < before;
        if expired || self.list_at.is_some_and(|at| at <= now) {
            self.ask_for_list(now, out);
        }
    }
}
