//! The account's event loop: passes events to the account state and runs the returned effects.
//!
//! It never waits for a game, and no game waits for it.

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

/// Maximum lines of the event stream to read in one go before calls go out.
const BURST: usize = 1024;
/// Capacity of the channel from the game tasks.
const WORDS: usize = 64;

pub(super) struct EventLoop {
    pub(super) context: BotContext,
    me: UserId,
    pub(super) name: String,
    pub(super) begun: Instant,
    pub(super) account_state: AccountState,
    pub(super) account_stream: AccountStream,
    pub(super) shutdown: ShutdownState,
    pub(super) paused: bool,
    commands: CommandReceiver,
    health: AccountCheck,
    games: JoinSet<Option<Ending>>,
    game_tasks: HashMap<GameId, Arc<Notify>>,
    ids: HashMap<Id, GameId>,
    api_queue: ApiQueue,
    pub(super) matchmaking: MatchmakingService,
    pub(super) arenas: ArenaService,
    missed: Backfill,
    pub(super) lists: watch::Receiver<Arc<PlayerLists>>,
    pub(super) list_states: watch::Receiver<Arc<Vec<ListState>>>,
    pub(super) blocked: Blocklist,
    /// Passes reloaded rules to the list refresher.
    pub(super) rules: watch::Sender<Arc<Settings>>,
    /// Background tasks; they end with the event loop.
    _side_tasks: JoinSet<()>,
    chat_task: ChatTask,
    /// Events from game tasks.
    messages: mpsc::Receiver<AccountEvent>,
    let_in: bool,
    /// When the bot last accepted a challenge.
    pub(super) accepted_at: Option<Instant>,
}

impl EventLoop {
    pub(super) fn new(options: BotOptions, account: &Account, commands: CommandReceiver) -> Self {
        let (message_sender, messages) = mpsc::channel(WORDS);
        let (chat_queue, chat_task) = ChatQueue::open(options.client.clone());
        let alarms = Alerts::new(options.listeners.clone());
        say_rests(&alarms, &options.state);
        let context = BotContext {
            settings: Arc::new(options.settings),
            chat_queue,
            timing: options.timing,
            listeners: options.listeners,
            pool: options.pool,
            estimator: SharedEstimator::knowing(options.state.move_costs()),
            state: options.state,
            alarms: alarms.clone(),
            registry: GameRegistry::default(),
            eval_cache: EvalCache::default(),
            message_sender,
            client: options.client,
        };
        let account_stream = AccountStream::new(context.client.clone(), alarms);
        let lists = &options.lists;
        Self::at(
            context,
            account_stream,
            commands,
            chat_task,
            messages,
            lists,
            account,
        )
    }

    /// A replacement for an event loop that panicked. Its challenges and slots are lost, and it
    /// asks the server for them again; game tasks continue undisturbed.
    pub(super) fn anew(mut self, lists: &ListSources, account: &Account, reason: &str) -> Self {
        tracing::error!(reason, "event loop panicked; restarting");
        let reason = reason.to_owned();
        self.context
            .listeners
            .publish(BotEvent::EventLoopFailed { reason });
        self.account_stream.start_over();
        let (context, account_stream, commands) =
            (self.context, self.account_stream, self.commands);
        let (chat_task, messages) = (self.chat_task, self.messages);
        let mut event_loop = Self {
            begun: self.begun,
            shutdown: self.shutdown,
            paused: self.paused,
            games: self.games,
            game_tasks: self.game_tasks,
            ids: self.ids,
            let_in: self.let_in,
            accepted_at: self.accepted_at,
            ..Self::at(
                context,
                account_stream,
                commands,
                chat_task,
                messages,
                lists,
                account,
            )
        };
        if event_loop.paused {
            event_loop.take_in(AccountEvent::Pause);
        }
        if event_loop.shutdown.has_begun() {
            event_loop.take_in(AccountEvent::Drain);
        }
        event_loop.take_in(AccountEvent::Away);
        event_loop
    }

    fn at(
        context: BotContext,
        account_stream: AccountStream,
        commands: CommandReceiver,
        chat_task: ChatTask,
        messages: mpsc::Receiver<AccountEvent>,
        lists: &ListSources,
        account: &Account,
    ) -> Self {
        let me = account.id.clone();
        let keeper = ListRefresher::new(Arc::clone(&context.settings), lists, context.timing);
        let (rules, rules_seen) = watch::channel(Arc::clone(&context.settings));
        let (lists_told, lists) = watch::channel(Arc::new(keeper.lists()));
        let list_states = keeper.states();
        let side_tasks = background::start(&context, keeper, rules_seen, lists_told);
        let mut account_state = AccountState::new(
            me.clone(),
            Arc::clone(&context.settings),
            context.timing,
            context.state.clone(),
        );
        let now = Instant::now();
        let blocked = Blocklist::remembered(&context.state);
        let known = Arc::new(lists.borrow().and_blocked(blocked.users()));
        account_state.apply(AccountEvent::Lists(Arc::clone(&known)), now);
        if let Some(rating) = account.atomic().and_then(|perf| perf.rating) {
            account_state.apply(AccountEvent::Rating(rating), now);
        }
        let matchmaking = MatchmakingService::new(
            context.client.clone(),
            context.state.clone(),
            me.clone(),
            Arc::clone(&context.settings),
            known,
            context.listeners.event_log().clone(),
        );
        let missed = Backfill::new(
            context.client.clone(),
            context.state.clone(),
            context.alarms.clone(),
            context.listeners.clone(),
            me.clone(),
            &context.timing,
        );
        let arenas = ArenaService::new(context.client.clone(), account, &context.settings);
        Self {
            account_state,
            matchmaking,
            arenas,
            missed,
            api_queue: ApiQueue::new(
                context.client.clone(),
                context.listeners.clone(),
                context.state.clone(),
            ),
            lists,
            list_states,
            blocked,
            rules,
            _side_tasks: side_tasks,
            account_stream,
            health: AccountCheck::new(context.client.clone(), context.alarms.clone(), account),
            name: account.username.clone(),
            begun: Instant::now(),
            shutdown: ShutdownState::default(),
            paused: false,
            commands,
            me,
            context,
            chat_task,
            messages,
            games: JoinSet::new(),
            game_tasks: HashMap::new(),
            ids: HashMap::new(),
            let_in: false,
            accepted_at: None,
        }
    }

    /// Runs until `drain` is requested and the last game is over or left.
    pub(super) async fn run(&mut self, drain: &CancellationToken) -> Result<(), BotError> {
        self.take_in(AccountEvent::Alarm(self.context.alarms.stop()));
        loop {
            let next_timeout = [
                self.account_state.next_timeout(),
                self.matchmaking.next_timeout(),
                self.arenas.next_timeout(),
                self.missed.next_timeout(),
                self.shutdown.next_timeout(),
            ];
            let next_timeout = next_timeout.into_iter().flatten().min();
            let news = tokio::select! {
                biased;
                () = drain.cancelled(), if !self.shutdown.has_begun() => {
                    self.drain();
                    None
                }
                stream_event = self.account_stream.next() => self.drain_stream(stream_event)?,
                Some(news) = self.api_queue.next() => Some(news),
                Some(news) = self.messages.recv() => Some(news),
                Some(left) = self.games.join_next_with_id() => Some(self.left(&left)),
                Some(received) = self.matchmaking.next() => {
                    let api_queue = self.matchmaking.handle(received, &mut self.account_state);
                    self.run_effects(api_queue);
                    None
                }
                Some(received) = self.arenas.next() => {
                    self.arenas.handle(received);
                    // Matchmaking may have become allowed or forbidden.
                    Some(AccountEvent::Tick)
                }
                Some(()) = self.missed.next() => None,
                Ok(()) = self.lists.changed() => Some(AccountEvent::Lists(self.known_lists())),
                () = self.context.alarms.changed() => Some(AccountEvent::Alarm(self.context.alarms.stop())),
                order = self.commands.next() => {
                    self.order(order);
                    None
                }
                () = self.health.look() => None,
                () = sleep_until(next_timeout) => Some(AccountEvent::Tick),
            };
            if let Some(news) = news {
                self.take_in(news);
            }
            self.api_queue.start();
            self.missed.start();
            if self.closed() {
                return Ok(());
            }
        }
    }

    /// Ends the event loop after the last chat messages are sent.
    pub(super) async fn shut_down(self) {
        let most = self.context.timing.again;
        let Self {
            chat_task,
            context,
            games,
            ..
        } = self;
        // Drop every remaining chat sender.
        drop((context, games));
        chat_task.finish(most).await;
    }

    /// Whether the event loop should end.
    fn closed(&mut self) -> bool {
        let idle =
            self.account_state.is_empty() && self.api_queue.is_empty() && self.arenas.is_idle();
        let registry = &self.context.registry;
        let (patience, now) = (self.context.timing.again, Instant::now());
        match self
            .shutdown
            .step(idle, || registry.barely_begun(), patience, now)
        {
            ShutdownStep::Wait => false,
            ShutdownStep::CallOff(games) => {
                for game in games {
                    tracing::info!(%game, "aborting a game that has barely started");
                    self.api_queue.take(AccountEffect::Abort(game));
                }
                self.api_queue.start();
                false
            }
            ShutdownStep::End => {
                let left: Vec<String> = self.game_tasks.keys().map(ToString::to_string).collect();
                if !left.is_empty() {
                    let games = left.join(" ");
                    tracing::warn!(games, "left in progress; the next start resumes it");
                }
                true
            }
        }
    }

    /// Read a whole burst before acting on it: later lines may revoke earlier ones.
    fn drain_stream(
        &mut self,
        first: AccountStreamEvent,
    ) -> Result<Option<AccountEvent>, BotError> {
        let mut news = self.on_stream_event(first)?;
        for _ in 0..BURST {
            let Some(stream_event) = self.account_stream.next().now_or_never() else {
                break;
            };
            if let Some(news) = news.take() {
                self.take_in(news);
            }
            news = self.on_stream_event(stream_event)?;
        }
        Ok(news)
    }

    fn on_stream_event(
        &mut self,
        stream_event: AccountStreamEvent,
    ) -> Result<Option<AccountEvent>, BotError> {
        match stream_event {
            AccountStreamEvent::Open => {
                self.let_in = true;
                tracing::debug!("the event stream is open");
                // If one of them still holds, the next account check raises it again.
                self.context.alarms.clear(AlertKind::Token);
                self.context.alarms.clear(AlertKind::Scopes);
                self.context.listeners.publish(BotEvent::Online);
                Ok(Some(AccountEvent::Opened))
            }
            AccountStreamEvent::Line(event) => {
                self.note_rating(&event);
                if let Event::ChallengeCanceled(gone) | Event::ChallengeDeclined(gone) = &event {
                    self.api_queue.forget(&gone.id);
                }
                Ok(Some(AccountEvent::Event(event)))
            }
            AccountStreamEvent::Away => Ok(Some(AccountEvent::Away)),
            AccountStreamEvent::Lost(loss) => {
                let reason = loss.to_string();
                self.context.listeners.publish(BotEvent::Offline { reason });
                Ok(None)
            }
            AccountStreamEvent::Unopened(loss) => {
                // If the stream never opened with this token, retrying cannot help.
                if let Disconnect::Unopened(error) = &loss
                    && let Some(fatal) = fatal(error)
                {
                    if !self.let_in {
                        return Err(fatal);
                    }
                    if let (kind, Some(text)) = account_check::refused(error) {
                        self.context.alarms.raise(kind, text);
                    }
                }
                Ok(None)
            }
        }
    }

    /// Passes an event to the account state, then to matchmaking.
    pub(super) fn take_in(&mut self, news: AccountEvent) {
        let received = MatchmakingService::handle_event(&news);
        match &news {
            AccountEvent::Drain
            | AccountEvent::Pause
            | AccountEvent::Resume
            | AccountEvent::Alarm(_) => {
                let closed = self.shutdown.has_begun() || self.paused || self.context.alarms.stop();
                let api_queue = self.matchmaking.set_open(!closed, &mut self.account_state);
                self.run_effects(api_queue);
                self.arenas.set_open(!closed);
            }
            AccountEvent::Settings(settings) => {
                self.matchmaking.set_settings(Arc::clone(settings));
                self.arenas.set_settings(settings);
            }
            AccountEvent::Rating(rating) => self.arenas.set_rating(*rating),
            AccountEvent::Lists(lists) => self.matchmaking.set_lists(Arc::clone(lists)),
            AccountEvent::Accepted {
                answer: AcceptOutcome::Done,
                ..
            } => self.accepted_at = Some(Instant::now()),
            _ => {}
        }
        self.write_down(&news);
        self.arenas.handle(ArenaService::handle_event(&news));
        let running = match &news {
            AccountEvent::Running(games) if AccountState::is_complete_list(games) => {
                Some(games.iter().map(|game| game.id.clone()).collect())
            }
            _ => None,
        };
        let api_queue = self.account_state.apply(news, Instant::now());
        if let Some(running) = running {
            self.find_missed(&running);
        }
        self.run_effects(api_queue);
        self.matchmaking.set_arenas(self.arenas.playing());
        let api_queue = self.matchmaking.handle(received, &mut self.account_state);
        self.run_effects(api_queue);
        let (alarms, state) = (&self.context.alarms, &self.context.state);
        if alarms.is_on(AlertKind::Guard) && state.rated_rests().is_empty() {
            alarms.clear(AlertKind::Guard);
        }
    }

    /// Records the event in the event log.
    fn write_down(&self, news: &AccountEvent) {
        let event_log = self.context.listeners.event_log();
        match news {
            AccountEvent::Event(Event::Challenge { challenge, .. }) => {
                event_log.challenged(challenge, &self.me);
            }
            AccountEvent::Waiting(challenges) => {
                for challenge in challenges {
                    event_log.challenged(challenge, &self.me);
                }
            }
            AccountEvent::Event(
                Event::ChallengeCanceled(gone) | Event::ChallengeDeclined(gone),
            ) => {
                event_log.withdrawn(gone);
            }
            AccountEvent::Event(Event::GameStart(game)) => event_log.began(&game.id),
            AccountEvent::Accepted { id, answer } => event_log.accepted(id, answer),
            _ => {}
        }
    }

    /// A game neither in the list of running games nor played by a task ended unseen.
    fn find_missed(&mut self, running: &BTreeSet<GameId>) {
        let (account_state, game_tasks) = (&self.account_state, &self.game_tasks);
        let is_minded = |game: &GameId| account_state.tracks(game) || game_tasks.contains_key(game);
        self.missed.compare(running, is_minded);
    }

    pub(super) fn run_effects(&mut self, api_queue: Vec<AccountEffect>) {
        for effect in api_queue {
            self.run_effect(effect);
        }
    }

    /// Only this event carries the rating change of a finished game.
    fn note_rating(&self, event: &Event) {
        if let Event::GameFinish(game) = event
            && let Some(diff) = game.rating_diff
        {
            let pause = self.context.state.rated(&game.id, diff);
            let event_log = self.context.listeners.event_log();
            event_log.rated(&game.id, diff, game.opponent.rating_diff);
            say_tripped(&self.context.alarms, pause);
        }
    }

    /// Runs a game effect at once; enqueues an API call.
    fn run_effect(&mut self, effect: AccountEffect) {
        match effect {
            AccountEffect::Play(game) => self.params(*game),
            AccountEffect::GameFinish(game) => {
                if let Some(player) = self.game_tasks.get(&game) {
                    player.notify_one();
                }
            }
            call => self.api_queue.take(call),
        }
    }

    /// Whether the bot plays this game, or would if it were its turn.
    pub(super) fn plays(&self, game: &GameId) -> bool {
        self.game_tasks.contains_key(game) || self.account_state.is_parked(game)
    }

    /// Starts the game's only task.
    fn params(&mut self, game: GameInfo) {
        let id = game.id.clone();
        if self.game_tasks.contains_key(&id) {
            // From an event loop that panicked.
            return;
        }
        let params = GameParams {
            game: game.id,
            me: self.me.clone(),
            color: game.color,
            variant: game.variant,
            past: ResumeState::default(),
        };
        let on_game_finish = Arc::new(Notify::new());
        self.game_tasks
            .insert(id.clone(), Arc::clone(&on_game_finish));
        let span = tracing::error_span!("game", id = %id);
        let context = self.context.clone();
        let player = play(context, params, on_game_finish).instrument(span);
        let handle = self.games.spawn(player);
        self.ids.insert(handle.id(), id);
    }

    fn left(&mut self, left: &Result<(Id, Option<Ending>), JoinError>) -> AccountEvent {
        let (task, ending) = match left {
            Ok((task, ending)) => (*task, Some(ending.as_ref())),
            Err(error) => {
                tracing::error!(%error, "a game task ended unexpectedly");
                (error.id(), None)
            }
        };
        let Some(game) = self.ids.remove(&task) else {
            return AccountEvent::Tick;
        };
        self.game_tasks.remove(&game);
        self.context.registry.leave(&game);
        self.context.listeners.event_log().leave(&game);
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
