//! The task at the door: events come in, the lobby is asked, and what it says is carried out.
//!
//! It answers the door and nothing else; no game waits for it and it waits for no game.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::account::{AcceptOutcome, AccountEffect, AccountEvent, AccountState};
use super::account_check::{self, AccountCheck};
use super::alerts::{AlertKind, Alerts};
use super::api_queue::ApiQueue;
use super::arena::ArenaService;
use super::backfill::Backfill;
use super::background::{self, say_rests, say_tripped};
use super::blocklist::Blocklist;
use super::chat::{ChatQueue, ChatTask};
use super::control::CommandReceiver;
use super::eval_cache::EvalCache;
use super::event_stream::{AccountStream, AccountStreamEvent};
use super::events::BotEvent;
use super::game::move_overhead::SharedEstimator;
use super::game::task::{BotContext, play};
use super::game::{Ending, GameParams, ResumeState};
use super::game_registry::GameRegistry;
use super::matchmaking::MatchmakingService;
use super::player_lists::{ListRefresher, ListSources, ListState, PlayerLists};
use super::run::{BotError, BotOptions, fatal};
use super::settings::Settings;
use super::shutdown::{ShutdownState, ShutdownStep};
use crate::lichess::{Account, Disconnect, Event, GameId, GameInfo, UserId};

/// Lines of the event stream that are taken in one after another before calls go out.
const BURST: usize = 1024;
/// Words of players that may wait to be heard.
const WORDS: usize = 64;

/// The task at the door.
pub(super) struct EventLoop {
    pub(super) house: BotContext,
    me: UserId,
    pub(super) name: String,
    pub(super) begun: Instant,
    pub(super) lobby: AccountState,
    pub(super) doorbell: AccountStream,
    pub(super) closing: ShutdownState,
    pub(super) paused: bool,
    commands: CommandReceiver,
    health: AccountCheck,
    games: JoinSet<Option<Ending>>,
    players: HashMap<GameId, Arc<Notify>>,
    ids: HashMap<Id, GameId>,
    errands: ApiQueue,
    pub(super) desk: MatchmakingService,
    pub(super) arenas: ArenaService,
    missed: Backfill,
    pub(super) lists: watch::Receiver<Arc<PlayerLists>>,
    pub(super) list_states: watch::Receiver<Arc<Vec<ListState>>>,
    pub(super) blocked: Blocklist,
    /// Tells the keeper of the lists of other rules.
    pub(super) rules: watch::Sender<Arc<Settings>>,
    /// What runs beside, and ends with the porter.
    _side_tasks: JoinSet<()>,
    speaker: ChatTask,
    /// What players have to tell.
    words: mpsc::Receiver<AccountEvent>,
    let_in: bool,
    /// When a challenge was last accepted.
    pub(super) accepted_at: Option<Instant>,
}

impl EventLoop {
    pub(super) fn new(options: BotOptions, account: &Account, commands: CommandReceiver) -> Self {
        let (word, words) = mpsc::channel(WORDS);
        let (lane, speaker) = ChatQueue::open(options.client.clone());
        let alarms = Alerts::new(options.listeners.clone());
        say_rests(&alarms, &options.memory);
        let house = BotContext {
            settings: Arc::new(options.settings),
            lane,
            pace: options.pace,
            listeners: options.listeners,
            pool: options.pool,
            meter: SharedEstimator::knowing(options.memory.move_costs()),
            memory: options.memory,
            alarms: alarms.clone(),
            roll: GameRegistry::default(),
            shelf: EvalCache::default(),
            word,
            client: options.client,
        };
        let doorbell = AccountStream::new(house.client.clone(), alarms);
        let lists = &options.lists;
        Self::at(house, doorbell, commands, speaker, words, lists, account)
    }

    /// Another in the place of one that failed. What that one thought of challenges and seats is
    /// gone, and is asked of the server again; whoever plays stays seated and notices nothing.
    pub(super) fn anew(mut self, lists: &ListSources, account: &Account, reason: &str) -> Self {
        tracing::error!(reason, "the porter failed and begins anew");
        let reason = reason.to_owned();
        self.house.listeners.tell(BotEvent::PorterFailed { reason });
        self.doorbell.start_over();
        let (house, doorbell, commands) = (self.house, self.doorbell, self.commands);
        let (speaker, words) = (self.speaker, self.words);
        let mut porter = Self {
            begun: self.begun,
            closing: self.closing,
            paused: self.paused,
            games: self.games,
            players: self.players,
            ids: self.ids,
            let_in: self.let_in,
            accepted_at: self.accepted_at,
            ..Self::at(house, doorbell, commands, speaker, words, lists, account)
        };
        if porter.paused {
            porter.take_in(AccountEvent::Pause);
        }
        if porter.closing.has_begun() {
            porter.take_in(AccountEvent::Drain);
        }
        porter.take_in(AccountEvent::Away);
        porter
    }

    fn at(
        house: BotContext,
        doorbell: AccountStream,
        commands: CommandReceiver,
        speaker: ChatTask,
        words: mpsc::Receiver<AccountEvent>,
        lists: &ListSources,
        account: &Account,
    ) -> Self {
        let me = account.id.clone();
        let keeper = ListRefresher::new(Arc::clone(&house.settings), lists, house.pace);
        let (rules, rules_seen) = watch::channel(Arc::clone(&house.settings));
        let (lists_told, lists) = watch::channel(Arc::new(keeper.lists()));
        let list_states = keeper.states();
        let side_tasks = background::start(&house, keeper, rules_seen, lists_told);
        let mut lobby = AccountState::new(
            me.clone(),
            Arc::clone(&house.settings),
            house.pace,
            house.memory.clone(),
        );
        let now = Instant::now();
        let blocked = Blocklist::remembered(&house.memory);
        let known = Arc::new(lists.borrow().and_blocked(blocked.users()));
        lobby.apply(AccountEvent::Lists(Arc::clone(&known)), now);
        if let Some(rating) = account.atomic().and_then(|perf| perf.rating) {
            lobby.apply(AccountEvent::Rating(rating), now);
        }
        let desk = MatchmakingService::new(
            house.client.clone(),
            house.memory.clone(),
            me.clone(),
            Arc::clone(&house.settings),
            known,
            house.listeners.chronicle().clone(),
        );
        let missed = Backfill::new(
            house.client.clone(),
            house.memory.clone(),
            house.alarms.clone(),
            house.listeners.clone(),
            me.clone(),
            &house.pace,
        );
        let arenas = ArenaService::new(house.client.clone(), account, &house.settings);
        Self {
            lobby,
            desk,
            arenas,
            missed,
            errands: ApiQueue::new(
                house.client.clone(),
                house.listeners.clone(),
                house.memory.clone(),
            ),
            lists,
            list_states,
            blocked,
            rules,
            _side_tasks: side_tasks,
            doorbell,
            health: AccountCheck::new(house.client.clone(), house.alarms.clone(), account),
            name: account.username.clone(),
            begun: Instant::now(),
            closing: ShutdownState::default(),
            paused: false,
            commands,
            me,
            house,
            speaker,
            words,
            games: JoinSet::new(),
            players: HashMap::new(),
            ids: HashMap::new(),
            let_in: false,
            accepted_at: None,
        }
    }

    /// Answers the door until `drain` is asked for and the last game is over, or left.
    pub(super) async fn run(&mut self, drain: &CancellationToken) -> Result<(), BotError> {
        self.take_in(AccountEvent::Alarm(self.house.alarms.stop()));
        loop {
            let wake_at = [
                self.lobby.wake_at(),
                self.desk.wake_at(),
                self.arenas.wake_at(),
                self.missed.wake_at(),
                self.closing.wake_at(),
            ];
            let wake_at = wake_at.into_iter().flatten().min();
            let news = tokio::select! {
                biased;
                () = drain.cancelled(), if !self.closing.has_begun() => {
                    self.drain();
                    None
                }
                rung = self.doorbell.next() => self.rung_all(rung)?,
                Some(news) = self.errands.next() => Some(news),
                Some(news) = self.words.recv() => Some(news),
                Some(left) = self.games.join_next_with_id() => Some(self.left(&left)),
                Some(heard) = self.desk.next() => {
                    let errands = self.desk.hear(heard, &mut self.lobby);
                    self.carry_out_all(errands);
                    None
                }
                Some(heard) = self.arenas.next() => {
                    self.arenas.hear(heard);
                    // Who looks for games may do so again, or must not any more.
                    Some(AccountEvent::Tick)
                }
                Some(()) = self.missed.next() => None,
                Ok(()) = self.lists.changed() => Some(AccountEvent::Lists(self.known_lists())),
                () = self.house.alarms.changed() => Some(AccountEvent::Alarm(self.house.alarms.stop())),
                order = self.commands.next() => {
                    self.order(order);
                    None
                }
                () = self.health.look() => None,
                () = sleep_until(wake_at) => Some(AccountEvent::Tick),
            };
            if let Some(news) = news {
                self.take_in(news);
            }
            self.errands.start();
            self.missed.start();
            if self.closed() {
                return Ok(());
            }
        }
    }

    /// Everything is over but a last word or two.
    pub(super) async fn take_leave(self) {
        let most = self.house.pace.again;
        let Self {
            speaker,
            house,
            games,
            ..
        } = self;
        // Whoever could still say something.
        drop((house, games));
        speaker.finish(most).await;
    }

    /// Whether it is time to end.
    fn closed(&mut self) -> bool {
        let idle = self.lobby.is_empty() && self.errands.is_empty() && self.arenas.is_idle();
        let roll = &self.house.roll;
        let (patience, now) = (self.house.pace.again, Instant::now());
        match self
            .closing
            .step(idle, || roll.barely_begun(), patience, now)
        {
            ShutdownStep::Wait => false,
            ShutdownStep::CallOff(games) => {
                for game in games {
                    tracing::info!(%game, "calling off a game that has hardly begun");
                    self.errands.take(AccountEffect::Abort(game));
                }
                self.errands.start();
                false
            }
            ShutdownStep::End => {
                let left: Vec<String> = self.players.keys().map(ToString::to_string).collect();
                if !left.is_empty() {
                    let games = left.join(" ");
                    tracing::warn!(games, "left under way, to be taken up at the next start");
                }
                true
            }
        }
    }

    /// A burst is heard out before anything is done about it: much of it may be taken back in it.
    fn rung_all(&mut self, first: AccountStreamEvent) -> Result<Option<AccountEvent>, BotError> {
        let mut news = self.rung(first)?;
        for _ in 0..BURST {
            let Some(rung) = self.doorbell.next().now_or_never() else {
                break;
            };
            if let Some(news) = news.take() {
                self.take_in(news);
            }
            news = self.rung(rung)?;
        }
        Ok(news)
    }

    fn rung(&mut self, rung: AccountStreamEvent) -> Result<Option<AccountEvent>, BotError> {
        match rung {
            AccountStreamEvent::Open => {
                self.let_in = true;
                tracing::debug!("the event stream is open");
                // Should one of them be true all the same, the next look at the token says so.
                self.house.alarms.clear(AlertKind::Token);
                self.house.alarms.clear(AlertKind::Scopes);
                self.house.listeners.tell(BotEvent::Online);
                Ok(Some(AccountEvent::Opened))
            }
            AccountStreamEvent::Line(event) => {
                self.note_rating(&event);
                if let Event::ChallengeCanceled(gone) | Event::ChallengeDeclined(gone) = &event {
                    self.errands.forget(&gone.id);
                }
                Ok(Some(AccountEvent::Event(event)))
            }
            AccountStreamEvent::Away => Ok(Some(AccountEvent::Away)),
            AccountStreamEvent::Lost(loss) => {
                let reason = loss.to_string();
                self.house.listeners.tell(BotEvent::Offline { reason });
                Ok(None)
            }
            AccountStreamEvent::Unopened(loss) => {
                // A door that never opened to this token will not do so later.
                if let Disconnect::Unopened(error) = &loss
                    && let Some(fatal) = fatal(error)
                {
                    if !self.let_in {
                        return Err(fatal);
                    }
                    if let (kind, Some(text)) = account_check::refused(error) {
                        self.house.alarms.raise(kind, text);
                    }
                }
                Ok(None)
            }
        }
    }

    /// Tells the lobby, and then those who look for games.
    pub(super) fn take_in(&mut self, news: AccountEvent) {
        let heard = MatchmakingService::heard(&news);
        match &news {
            AccountEvent::Drain
            | AccountEvent::Pause
            | AccountEvent::Resume
            | AccountEvent::Alarm(_) => {
                let closed = self.closing.has_begun() || self.paused || self.house.alarms.stop();
                let errands = self.desk.set_open(!closed, &mut self.lobby);
                self.carry_out_all(errands);
                self.arenas.set_open(!closed);
            }
            AccountEvent::Settings(settings) => {
                self.desk.set_settings(Arc::clone(settings));
                self.arenas.set_settings(settings);
            }
            AccountEvent::Rating(rating) => self.arenas.set_rating(*rating),
            AccountEvent::Lists(lists) => self.desk.set_lists(Arc::clone(lists)),
            AccountEvent::Accepted {
                answer: AcceptOutcome::Done,
                ..
            } => self.accepted_at = Some(Instant::now()),
            _ => {}
        }
        self.write_down(&news);
        self.arenas.hear(ArenaService::heard(&news));
        let running = match &news {
            AccountEvent::Running(games) if AccountState::is_whole(games) => {
                Some(games.iter().map(|game| game.id.clone()).collect())
            }
            _ => None,
        };
        let errands = self.lobby.apply(news, Instant::now());
        if let Some(running) = running {
            self.find_missed(&running);
        }
        self.carry_out_all(errands);
        self.desk.set_arenas(self.arenas.playing());
        let errands = self.desk.hear(heard, &mut self.lobby);
        self.carry_out_all(errands);
        let (alarms, memory) = (&self.house.alarms, &self.house.memory);
        if alarms.is_on(AlertKind::Guard) && memory.rated_rests().is_empty() {
            alarms.clear(AlertKind::Guard);
        }
    }

    /// What everybody may read later.
    fn write_down(&self, news: &AccountEvent) {
        let chronicle = self.house.listeners.chronicle();
        match news {
            AccountEvent::Event(Event::Challenge { challenge, .. }) => {
                chronicle.challenged(challenge, &self.me);
            }
            AccountEvent::Waiting(challenges) => {
                for challenge in challenges {
                    chronicle.challenged(challenge, &self.me);
                }
            }
            AccountEvent::Event(
                Event::ChallengeCanceled(gone) | Event::ChallengeDeclined(gone),
            ) => {
                chronicle.withdrawn(gone);
            }
            AccountEvent::Event(Event::GameStart(game)) => chronicle.began(&game.id),
            AccountEvent::Accepted { id, answer } => chronicle.accepted(id, answer),
            _ => {}
        }
    }

    /// What is on no list and in nobody's hands has ended while nobody looked.
    fn find_missed(&mut self, running: &BTreeSet<GameId>) {
        let (lobby, players) = (&self.lobby, &self.players);
        let is_minded = |game: &GameId| lobby.minds(game) || players.contains_key(game);
        self.missed.compare(running, is_minded);
    }

    pub(super) fn carry_out_all(&mut self, errands: Vec<AccountEffect>) {
        for errand in errands {
            self.carry_out(errand);
        }
    }

    /// What a finished game did to the ratings is told here and nowhere else.
    fn note_rating(&self, event: &Event) {
        if let Event::GameFinish(game) = event
            && let Some(diff) = game.rating_diff
        {
            let tripped = self.house.memory.rated(&game.id, diff);
            let chronicle = self.house.listeners.chronicle();
            chronicle.rated(&game.id, diff, game.opponent.rating_diff);
            say_tripped(&self.house.alarms, tripped);
        }
    }

    /// What concerns a game is done now; calls wait for their turn.
    fn carry_out(&mut self, errand: AccountEffect) {
        match errand {
            AccountEffect::Play(game) => self.seat(*game),
            AccountEffect::SaidOver(game) => {
                if let Some(player) = self.players.get(&game) {
                    player.notify_one();
                }
            }
            call => self.errands.take(call),
        }
    }

    /// Whether this game is being played, or would be if it were our turn.
    pub(super) fn plays(&self, game: &GameId) -> bool {
        self.players.contains_key(game) || self.lobby.is_parked(game)
    }

    /// Gives a game its one player.
    fn seat(&mut self, game: GameInfo) {
        let id = game.id.clone();
        if self.players.contains_key(&id) {
            // Of a porter that failed.
            return;
        }
        let seat = GameParams {
            game: game.id,
            me: self.me.clone(),
            color: game.color,
            variant: game.variant,
            past: ResumeState::default(),
        };
        let said_over = Arc::new(Notify::new());
        self.players.insert(id.clone(), Arc::clone(&said_over));
        let span = tracing::error_span!("game", id = %id);
        let house = self.house.clone();
        let player = play(house, seat, said_over).instrument(span);
        let handle = self.games.spawn(player);
        self.ids.insert(handle.id(), id);
    }

    fn left(&mut self, left: &Result<(Id, Option<Ending>), JoinError>) -> AccountEvent {
        let (task, ending) = match left {
            Ok((task, ending)) => (*task, Some(ending.as_ref())),
            Err(error) => {
                tracing::error!(%error, "the task of a game ended by itself");
                (error.id(), None)
            }
        };
        let Some(game) = self.ids.remove(&task) else {
            return AccountEvent::Tick;
        };
        self.players.remove(&game);
        self.house.roll.leave(&game);
        self.house.listeners.chronicle().leave(&game);
        match ending {
            Some(None) => AccountEvent::Parked(game),
            Some(Some(ending)) => AccountEvent::Left {
                game,
                seen: ending.status.is_some(),
            },
            None => AccountEvent::Left { game, seen: false },
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
