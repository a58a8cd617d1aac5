//! The account's state: incoming challenges, slots, which games get a game task, and the shutdown.
//!
//! Pure: the time and an event go in, effects come out, so lists of events can test it. Games, accepted
//! challenges and the bot's one outgoing challenge share one pool of slots. Every slot is tied to an id
//! and expires, so none can leak. A running game is played, or aborted while that is still possible.
//!
//! [`AccountState`] handles each [`AccountEvent`](super::AccountEvent); its parts:
//! * `incoming`: incoming challenges, from the policy's decision to the accepted challenge
//! * `running_games`: games, the challenge each came from, and reconciliation with the server's
//!   list
//! * `outgoing`: the bot's one open challenge; runs the matchmaker
//! * `correspondence`: correspondence games, visited when it is the bot's turn
//! * `slots`: the data behind them: slots, accepted challenges, and those that wait for a slot

mod correspondence;
mod incoming;
mod outgoing;
mod running_games;
mod slots;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use self::correspondence::{CorrespondenceGames, is_correspondence};
use self::slots::{
    AcceptedChallenges, ActiveGames, ChallengeQueue, ExcessGames, OutgoingChallenge, SlotLimits,
    SlotUsage,
};
use crate::bot::account_event::{AccountEffect, AccountEvent};
use crate::bot::arena::{ArenaSchedule, Eligibility};
use crate::bot::backfill::Backfill;
use crate::bot::challenge_policy::Availability;
use crate::bot::matchmaking::{Matchmaker, Series};
use crate::bot::player_lists::PlayerLists;
use crate::bot::quota::OpponentKind;
use crate::bot::settings::{BotTiming, Settings};
use crate::bot::state::BotState;
use crate::bot::status::CorrespondenceStatus;
use crate::lichess::{
    Account, Challenge, ChallengeStatus, Compat, Event, GameId, GameInfo, JoinOptions, UserId,
};

/// The question for the list of running games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ListCall {
    #[default]
    None,
    UnderWay,
    /// Another must follow its answer.
    UnderWayAndAgain,
}

/// The state of the account as far as games are concerned.
#[derive(Debug)]
pub struct AccountState {
    me: UserId,
    settings: Arc<Settings>,
    lists: Arc<PlayerLists>,
    /// Challenges wait, both ways, until the lists have what their files hold.
    pub(in crate::bot) awaits_lists: bool,
    unjudged: Vec<(Challenge, Option<Compat>)>,
    timing: BotTiming,
    state: BotState,
    rating: Option<i32>,
    accepted: AcceptedChallenges,
    queue: ChallengeQueue,
    games: ActiveGames,
    correspondence: CorrespondenceGames,
    outgoing: Option<OutgoingChallenge>,
    /// When the challenges that an earlier run left open were withdrawn.
    swept: Option<Instant>,
    excess: ExcessGames,
    pub matchmaker: Matchmaker,
    pub arenas: ArenaSchedule,
    backfill: Backfill,
    /// Key of the bot's own challenge in the quota.
    spent: Option<String>,
    /// Games with a game task, also one from before the event loop restarted.
    tasks: BTreeSet<GameId>,
    /// When to fetch the list of running games next.
    list_at: Option<Instant>,
    /// The pause after the next failure to fetch it; longer after each.
    list_pause: Duration,
    /// When the last lines of the event stream came.
    lines: VecDeque<Instant>,
    /// When the last list call was made.
    list_asked: Option<Instant>,
    list_call: ListCall,
    /// Games that ended since then: a list on its way may still show them.
    ended: Vec<GameId>,
    /// Games of which their tasks lost track: until when not to play them, and after which pause.
    lost: BTreeMap<GameId, (Instant, Duration)>,
    shutdown: ShutdownState,
    pub(in crate::bot) paused: bool,
    alert: bool,
    /// The time of the event being handled, and its effects so far.
    now: Instant,
    out: Vec<AccountEffect>,
}

impl AccountState {
    /// An empty account state, beside what `state` remembers of earlier runs; `second` is the length
    /// of a server second.
    pub fn new(
        account: &Account,
        settings: Arc<Settings>,
        timing: BotTiming,
        second: Duration,
        state: BotState,
    ) -> Self {
        let (me, now) = (account.id.clone(), Instant::now());
        let rules = Arc::new(settings.matchmaking.clone());
        let mut arenas = ArenaSchedule::new(
            Arc::new(settings.arena.clone()),
            Eligibility::of(account),
            second,
            fastrand::u64(..),
            now,
        );
        if let Some(note) = state.note(ArenaSchedule::NOTE) {
            arenas.resume(&note, now);
        }
        let mut matchmaker = Matchmaker::new(me.clone(), rules, fastrand::u64(..), now);
        if let Some(last) = state.last_challenge() {
            matchmaker.resume(state.now().since(last), now);
        }
        if let Some(note) = state.note(Series::NOTE) {
            if let Some(series) = Series::read(&note, &settings.matchmaking.profile) {
                // It is open, and there is no other.
                let _ = matchmaker.start_series(series);
            } else {
                tracing::warn!(note, "the series cannot be continued with this config");
            }
        }
        Self {
            matchmaker,
            arenas,
            backfill: Backfill::new(&timing, &state),
            me,
            lists: Arc::new(PlayerLists::named(&settings.challenge)),
            awaits_lists: false,
            unjudged: Vec::new(),
            settings,
            timing,
            state,
            rating: account.atomic().and_then(|perf| perf.rating),
            accepted: AcceptedChallenges::default(),
            queue: ChallengeQueue::default(),
            games: ActiveGames::default(),
            correspondence: CorrespondenceGames::default(),
            outgoing: None,
            swept: None,
            excess: ExcessGames::default(),
            spent: None,
            tasks: BTreeSet::new(),
            list_at: None,
            list_pause: timing.again * 2,
            lines: VecDeque::new(),
            list_asked: None,
            list_call: ListCall::None,
            ended: Vec::new(),
            lost: BTreeMap::new(),
            shutdown: ShutdownState::default(),
            paused: false,
            alert: false,
            now,
            out: Vec::new(),
        }
    }

    /// A replacement after a panic of the event loop: the game tasks that still run, the rating, pause and
    /// shutdown go on, all else begins anew.
    #[must_use]
    pub fn restarted(&self, account: &Account, second: Duration, tasks: BTreeSet<GameId>) -> Self {
        let (settings, state) = (Arc::clone(&self.settings), self.state.clone());
        let mut restarted = Self {
            lists: Arc::clone(&self.lists),
            awaits_lists: self.awaits_lists,
            tasks,
            shutdown: self.shutdown,
            paused: self.paused,
            ..Self::new(account, settings, self.timing, second, state)
        };
        if let Some(rating) = self.rating {
            restarted.set_rating(rating);
        }
        restarted
    }

    /// Slots taken: games, accepted challenges, and the bot's own challenge.
    pub fn taken(&self) -> usize {
        self.tally().all
    }

    /// Slots taken by bots.
    pub fn taken_by_bots(&self) -> usize {
        self.tally().bots
    }

    /// Correspondence games, whichever side is to move.
    pub fn correspondence(&self, now: Instant) -> CorrespondenceStatus {
        self.correspondence.status(now)
    }

    /// Whether the bot plays this game, or would if it were its turn.
    pub fn plays(&self, game: &GameId) -> bool {
        self.tasks.contains(game) || self.correspondence.contains(game)
    }

    /// Whether shutdown has begun.
    pub fn is_draining(&self) -> bool {
        self.shutdown.has_begun()
    }

    /// Why no other program may take over now, if the account has a reason. A bot that is shutting
    /// down finishes its games itself.
    pub fn restart_obstacle(&self) -> Option<&'static str> {
        let ends = self.is_draining().then_some("the bot is shutting down");
        let asks = self.has_outgoing();
        ends.or(asks.then_some("a challenge of the bot is open"))
    }

    /// The bot's atomic rating, if known.
    pub fn rating(&self) -> Option<i32> {
        self.rating
    }

    /// Challenges queued for a slot.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing runs or is about to. Correspondence games count only while a game task runs, and
    /// after a restart of the event loop the tasks are known before their games.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
            && self.tasks.is_empty()
            && self.accepted.is_empty()
            && self.outgoing.is_none()
            && self.excess.is_empty()
    }

    /// When the next [`AccountEvent::Tick`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let outgoing = self.outgoing.as_ref();
        [
            self.list_at,
            self.accepted.next_timeout(),
            self.queue.next_timeout(),
            self.excess.next_timeout(),
            outgoing.and_then(OutgoingChallenge::next_timeout),
            self.matchmaker.next_timeout(),
            self.arenas.next_timeout(),
            self.backfill.next_timeout(),
            self.shutdown.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles an event and returns the effects in order: arenas first, then challenges and games,
    /// then matchmaking, which gets the slots that are left.
    pub fn handle(&mut self, event: &AccountEvent, now: Instant) -> Vec<AccountEffect> {
        self.now = now;
        self.set_rules(event);
        let wall = SystemTime::from(self.state.now());
        let may_rate = self.state.rated_rest(None).is_none();
        let effects = self.arenas.handle(event, now, wall, may_rate);
        self.out.extend(effects);
        self.keep_arenas();
        self.handle_own(event);
        self.fill_slots();
        self.visit_correspondence();
        self.matchmake(event);
        self.look_up_missed();
        for effect in &self.out {
            if let AccountEffect::Play(game) = effect {
                self.tasks.insert(game.id.clone());
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Joins an arena by command; `None` while joins are not allowed.
    pub fn join_arena(
        &mut self,
        id: &str,
        entrance: JoinOptions,
        now: Instant,
    ) -> Option<Vec<AccountEffect>> {
        let effects = self.arenas.join(id, entrance, now);
        self.keep_arenas();
        effects
    }

    /// Leaves an arena by command; `None` if it was neither joined nor planned.
    pub fn leave_arena(&mut self, id: &str) -> Option<Vec<AccountEffect>> {
        let effects = self.arenas.leave(id);
        self.keep_arenas();
        effects
    }

    /// Persists which arenas a restart joins, and which not.
    fn keep_arenas(&self) {
        self.state.set_note(ArenaSchedule::NOTE, self.arenas.note());
    }

    /// Handles new settings, and whatever opens or closes the bot to new games.
    fn set_rules(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::Settings(settings) => {
                self.settings = Arc::clone(settings);
                let rules = Arc::new(settings.matchmaking.clone());
                self.matchmaker.set_rules(rules, self.now);
                let poll = self.correspondence.poll(&settings.correspondence);
                let at = self.now + poll.unwrap_or(self.timing.reconcile);
                self.list_at = self.list_at.map(|planned| planned.min(at));
                let rules = Arc::new(settings.arena.clone());
                return self.arenas.set_rules(rules, self.now);
            }
            AccountEvent::Lists(lists) => {
                self.lists = Arc::clone(lists);
                return;
            }
            AccountEvent::Pause => self.paused = true,
            AccountEvent::Resume => self.paused = false,
            AccountEvent::Alert(alert) => self.alert = *alert,
            AccountEvent::Drain => self.shutdown.begin(self.settings.shutdown.drain, self.now),
            _ => return,
        }
        let open = !self.is_closed();
        let effects = self.matchmaker.set_open(open);
        self.run_matchmaking(effects);
        self.out.extend(self.arenas.set_open(open, self.now));
        if !open {
            self.cancel_outgoing();
        }
    }

    fn handle_own(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::Opened => {
                // The server is back: a list that fails now is asked for again soon, lost games are tried again.
                self.list_pause = self.timing.again * 2;
                self.lost.clear();
                self.ask_for_list();
            }
            AccountEvent::Away => {
                self.ask_for_list();
                self.out.push(AccountEffect::Waiting);
            }
            AccountEvent::Event(event) => {
                self.count_line();
                self.event(event);
            }
            AccountEvent::Lists(_) if !self.awaits_lists => {
                for (challenge, compat) in std::mem::take(&mut self.unjudged) {
                    self.challenged(&challenge, compat);
                }
            }
            AccountEvent::Waiting(open) => open.iter().for_each(|it| self.challenged(it, None)),
            AccountEvent::Running(games) => {
                self.list_pause = self.timing.again * 2;
                self.compare(games);
                self.find_missed(games);
                self.list_answered();
            }
            AccountEvent::NoList => {
                self.list_at = self.now.checked_add(self.list_pause);
                self.list_pause = (self.list_pause * 2).min(self.timing.reconcile);
                self.list_answered();
            }
            AccountEvent::Outgoing(Some(open)) if self.swept.is_none() => self.sweep(open),
            AccountEvent::Accepted { id, answer } => self.accepted(id, answer),
            // The line that announces its game comes soon, unless it is lost.
            AccountEvent::ChallengeDone {
                id,
                status: ChallengeStatus::Accepted,
            } if self.outgoing() == Some(id) => self.list_within(self.timing.again),
            AccountEvent::Canceled { id, answer } => self.canceled(id, answer),
            AccountEvent::Aborted { game, answer } => self.aborted(game, answer),
            AccountEvent::Left { game, seen } => self.left(game, *seen),
            AccountEvent::LeftCorrespondence(game) => {
                self.tasks.remove(game);
                self.correspondence.waits(game);
                // If its announcement did not say that it has no clock, the next list brings it back.
                self.games.remove(game);
            }
            AccountEvent::Stalled { game, stalled } => {
                if let Some(active) = self.games.get_mut(game) {
                    active.stalled = *stalled;
                }
            }
            AccountEvent::Tick => self.tick(),
            AccountEvent::Exported { game, answer } => {
                let me = &self.me;
                self.backfill
                    .exported(game, answer, me, &self.state, self.now, &mut self.out);
            }
            // The other events are matchmaking's or the arenas'.
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::GameStart(game) => {
                self.learn_rating(game);
                self.started(game);
            }
            Event::GameFinish(game) => {
                self.add_rating_diff(game);
                // Only this event carries the rating change.
                if let Some(ours) = game.rating_diff {
                    self.out.push(AccountEffect::RatingChanged {
                        game: game.id.clone(),
                        ours,
                        theirs: game.opponent.rating_diff,
                    });
                }
                self.finished(game);
            }
            Event::Challenge { challenge, compat } => self.challenged(challenge, *compat),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.withdrawn(&challenge.id);
            }
            Event::Unknown { .. } => {}
        }
    }

    /// Reads the bot's rating from a game that has just begun. Each opening of the stream announces
    /// running games again, with the rating at their start.
    fn learn_rating(&mut self, game: &GameInfo) {
        let is_known = self.plays(&game.id) || game.has_moved || is_correspondence(game);
        let rating = game.rating.filter(|_| Self::may_be_atomic(game));
        if let Some(rating) = rating.filter(|_| !is_known) {
            self.set_rating(rating);
        }
    }

    /// Adds the rating change of a game. Its own rating is that at its start: others may have ended
    /// since, so it counts only if the bot did not see the game begin.
    fn add_rating_diff(&mut self, game: &GameInfo) {
        let was_seen = self.plays(&game.id) || self.ended.contains(&game.id);
        let before = self.rating.filter(|_| was_seen).or(game.rating);
        if let Some(rating) = before.filter(|_| Self::may_be_atomic(game)) {
            self.set_rating(rating.saturating_add(game.rating_diff.unwrap_or(0)));
        }
    }

    fn set_rating(&mut self, rating: i32) {
        self.rating = Some(rating);
        self.arenas.set_rating(rating);
    }

    fn tick(&mut self) {
        for accepted in self.accepted.due(self.now, self.now + self.timing.accepted) {
            self.out.push(accepted.accept());
        }
        let grace = self.now + self.timing.again * 2;
        let (gone, expired) = self.accepted.expire(self.now, grace);
        for accepted in &gone {
            self.release_game(accepted);
        }
        self.tick_outgoing();
        self.tick_surplus();
        if expired || self.list_at.is_some_and(|at| at <= self.now) {
            self.ask_for_list();
        }
    }

    /// Visits correspondence games where it is the bot's turn. They can wait when the daily quota
    /// is spent.
    fn visit_correspondence(&mut self) {
        if !self.is_draining() {
            self.out.extend(self.correspondence.next_visits(self.now));
        }
    }

    /// Whether the bot accepts nothing new at all.
    fn is_closed(&self) -> bool {
        self.is_draining() || self.paused || self.alert
    }

    fn plan(&self) -> SlotLimits {
        SlotLimits {
            all: self.settings.challenge.concurrency,
            for_humans: self.settings.challenge.reserved_for_humans,
        }
    }

    fn tally(&self) -> SlotUsage {
        let mut tally = self.tally_of_games();
        if let Some(outgoing) = &self.outgoing {
            outgoing.count(&mut tally);
        }
        tally
    }

    /// The slots of games and accepted challenges, without that of the bot's own challenge.
    fn tally_of_games(&self) -> SlotUsage {
        let mut tally = SlotUsage::default();
        let with_slot = self.games.values().filter(|game| !game.stalled);
        with_slot.for_each(|game| tally.add(game.kind));
        self.accepted.count(&mut tally);
        tally
    }

    /// Whether another game with an opponent of this kind may begin.
    fn availability(&self, kind: OpponentKind) -> Availability {
        if self.is_draining() {
            Availability::Draining
        } else if self.alert {
            Availability::Alert
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

    /// The next step of the shutdown; `idle`: no call is in progress.
    pub(in crate::bot) fn shutdown_step(
        &mut self,
        idle: bool,
        fresh: impl FnOnce() -> Vec<GameId>,
        now: Instant,
    ) -> ShutdownStep {
        let idle = idle && self.is_empty();
        self.shutdown.step(idle, fresh, self.timing.again, now)
    }

    /// A game neither in the complete list of running games nor played here ended unseen.
    fn find_missed(&mut self, games: &[GameInfo]) {
        if !Self::is_complete_list(games) {
            return;
        }
        let running: BTreeSet<_> = games.iter().map(|game| &game.id).collect();
        let mut missing = self.state.open_games();
        missing.extend(self.state.missing_rating_changes());
        missing.extend_from_slice(&self.backfill.unarchived);
        missing.retain(|open| {
            let game = &open.game;
            !running.contains(game) && !self.tracks(game) && !self.tasks.contains(game)
        });
        self.backfill.set(missing, self.now);
    }

    fn look_up_missed(&mut self) {
        let game = self.backfill.next(&self.state, self.now);
        self.out.extend(game.map(AccountEffect::Export));
    }

    /// Says which challenges and arenas of commands a program that takes over does not know.
    pub fn hand_over(&mut self) -> Vec<AccountEffect> {
        let effects = self.matchmaker.set_open(false);
        self.run_matchmaking(effects);
        self.out.extend(self.arenas.hand_over());
        std::mem::take(&mut self.out)
    }
}

/// How the bot ends: it plays on for a while, aborts games that have barely started, and leaves the
/// rest on the server for the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShutdownState {
    #[default]
    No,
    /// Plays on until then; without a limit, to the end of every game.
    Draining {
        /// When draining must end.
        until: Option<Instant>,
    },
    /// Aborting games; ends afterwards, whatever the outcome.
    CallingOff {
        /// When to stop waiting for the aborts.
        until: Instant,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShutdownStep {
    Wait,
    CallOff(Vec<GameId>),
    /// End; leave running games on the server.
    End,
}

impl ShutdownState {
    /// Begins draining for at most `limit`; a limit beyond the clock's range is none. No effect if
    /// draining.
    pub(super) fn begin(&mut self, limit: Duration, now: Instant) {
        if *self == Self::No {
            *self = Self::Draining {
                until: now.checked_add(limit),
            };
        }
    }

    /// Whether shutdown has begun.
    pub(super) fn has_begun(self) -> bool {
        self != Self::No
    }

    /// When to call [`ShutdownState::step`].
    pub(super) fn next_timeout(self) -> Option<Instant> {
        match self {
            Self::No => None,
            Self::Draining { until } => until,
            Self::CallingOff { until } => Some(until),
        }
    }

    /// The next step. `idle`: no game runs and no call is in progress; `fresh`: games to abort,
    /// within `patience`.
    pub(super) fn step(
        &mut self,
        idle: bool,
        fresh: impl FnOnce() -> Vec<GameId>,
        patience: Duration,
        now: Instant,
    ) -> ShutdownStep {
        match *self {
            Self::No => ShutdownStep::Wait,
            _ if idle => ShutdownStep::End,
            Self::Draining { until } if until.is_some_and(|until| until <= now) => {
                let fresh = fresh();
                if fresh.is_empty() {
                    return ShutdownStep::End;
                }
                *self = Self::CallingOff {
                    until: now + patience,
                };
                ShutdownStep::CallOff(fresh)
            }
            Self::CallingOff { until } if until <= now => ShutdownStep::End,
            Self::Draining { .. } | Self::CallingOff { .. } => ShutdownStep::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(300);
    const PATIENCE: Duration = Duration::from_secs(5);

    fn game() -> Vec<GameId> {
        vec![GameId::new("q7ZxVt2B")]
    }

    #[test]
    fn it_ends_when_the_last_game_is_over() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        assert_eq!(shutdown.step(true, game, PATIENCE, now), ShutdownStep::Wait);
        shutdown.begin(LIMIT, now);
        assert_eq!(
            shutdown.step(false, game, PATIENCE, now),
            ShutdownStep::Wait
        );
        assert_eq!(shutdown.step(true, game, PATIENCE, now), ShutdownStep::End);
    }

    #[test]
    fn at_the_limit_fresh_games_are_aborted_and_the_rest_is_left() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        shutdown.begin(LIMIT, now);
        shutdown.begin(LIMIT * 9, now);
        assert_eq!(
            shutdown.next_timeout(),
            Some(now + LIMIT),
            "it cannot be put off"
        );
        let late = now + LIMIT;
        let step = shutdown.step(false, game, PATIENCE, late);
        assert_eq!(step, ShutdownStep::CallOff(game()));
        assert_eq!(
            shutdown.step(false, game, PATIENCE, late),
            ShutdownStep::Wait
        );
        assert_eq!(shutdown.next_timeout(), Some(late + PATIENCE));
        let step = shutdown.step(false, game, PATIENCE, late + PATIENCE);
        assert_eq!(step, ShutdownStep::End);
    }

    #[test]
    fn without_fresh_games_it_ends_at_the_limit() {
        let now = Instant::now();
        let mut shutdown = ShutdownState::default();
        shutdown.begin(Duration::ZERO, now);
        assert_eq!(
            shutdown.step(false, Vec::new, PATIENCE, now),
            ShutdownStep::End
        );
        let mut patient = ShutdownState::default();
        patient.begin(Duration::MAX, now);
        assert_eq!(patient.next_timeout(), None);
        assert_eq!(patient.step(false, game, PATIENCE, now), ShutdownStep::Wait);
    }
}
