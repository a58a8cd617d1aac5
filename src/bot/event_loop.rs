//! The account's event loop: passes events to the account state and runs the returned effects.
//!
//! It never waits for a game, and no game waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::JoinMap;
use tracing::Instrument;

use super::account::{AccountState, ShutdownStep};
use super::account_check::AccountCheck;
use super::account_event::{AcceptOutcome, AccountEffect, AccountEvent, MissedGame};
use super::alerts::Alerts;
use super::api_queue::ApiQueue;
use super::backfill::{is_supported, replayed};
use super::background::{Background, raise_guard_alerts};
use super::bot_event::{AlertKind, BotEvent};
use super::chat::{ChatQueue, ChatTask};
use super::context::{BotContext, BotError, BotOptions, Shutdown, online_tables};
use super::control::CommandReceiver;
use super::event_stream::{AccountStream, AccountStreamEvent};
use super::game::chat::rest_after_no_show;
use super::game::move_overhead::SharedEstimator;
use super::game::task::play;
use super::game::{Ending, EvalCache, GameParams, ResumeState};
use super::player_lists::{Blocklist, ListSources, PlayerLists};
use super::sleep_until;
use super::status::{BotPhase, Occupancy};
use crate::archive::GameRecord;
use crate::book::SharedBooks;
use crate::lichess::{Account, Event, GameId, GameInfo, Speed, UserId};
use crate::lookup::Explorer;

/// Maximum lines of the event stream to read in one go before calls go out.
const BURST: usize = 1024;
/// Capacity of the channel from the game tasks.
const MESSAGE_CAPACITY: usize = 64;
/// Between two looks for a moment to hand over.
const UPGRADE_LOOK: Duration = Duration::from_millis(50);

pub(super) struct EventLoop {
    pub(super) context: BotContext,
    me: UserId,
    pub(super) name: String,
    pub(super) begun: Instant,
    pub(super) account_state: AccountState,
    pub(super) account_stream: AccountStream,
    commands: CommandReceiver,
    health: AccountCheck,
    games: JoinMap<GameId, Option<Ending>>,
    /// Tells a game task that its game is reported as over.
    on_game_finish: HashMap<GameId, Arc<Notify>>,
    pub(super) api_queue: ApiQueue,
    pub(super) background: Background,
    pub(super) blocked: Blocklist,
    chat_task: ChatTask,
    /// Events from game tasks.
    messages: mpsc::Receiver<AccountEvent>,
    was_opened: bool,
    /// Whether it has yet to ask the server for what a panic lost.
    restarted: bool,
    occupancy: watch::Sender<Occupancy>,
    /// When the bot last accepted a challenge.
    pub(super) accepted_at: Option<Instant>,
    /// Until when to look for a moment to hand over to another program.
    pub(super) upgrade_until: Option<Instant>,
    /// Whether the process plays for other accounts too.
    pub(super) shares_process: bool,
}

impl EventLoop {
    pub(super) fn new(
        options: BotOptions,
        account: &Account,
        commands: CommandReceiver,
        shutdown: &Shutdown,
    ) -> Self {
        let (message_sender, messages) = mpsc::channel(MESSAGE_CAPACITY);
        let (chat_queue, chat_task) = ChatQueue::open(options.client.clone());
        let (occupancy, occupied) = watch::channel(Occupancy::default());
        let alerts = Alerts::new(options.event_bus.clone());
        // Those of an earlier run may still last.
        raise_guard_alerts(&alerts, options.state.rated_rests());
        let context = BotContext {
            online_tables: online_tables(&options.client, &options.settings),
            explorer: options.settings.explorer.enabled.then(|| {
                let (home, rules) = (options.lists.data.as_deref(), &options.settings.explorer);
                Explorer::open(home, rules.positions, rules.plies, rules.loss)
            }),
            settings: Arc::new(options.settings),
            chat_queue,
            timing: options.timing,
            event_bus: options.event_bus,
            pool: options.pool,
            estimator: SharedEstimator::from_samples(options.state.move_costs()),
            state: options.state,
            alerts,
            books: SharedBooks::default(),
            eval_cache: EvalCache::default(),
            occupancy: occupied,
            message_sender,
            client: options.client,
        };
        let named = Arc::new(PlayerLists::named(&context.settings.challenge));
        let mut event_loop = Self {
            account_state: AccountState::new(
                account,
                Arc::clone(&context.settings),
                context.timing,
                server_second(&context),
                context.state.clone(),
            ),
            account_stream: AccountStream::new(&context),
            api_queue: ApiQueue::new(&context, account.id.clone()),
            background: Background::start(&context, &options.lists, named),
            blocked: Blocklist::remembered(&context.state),
            health: AccountCheck::new(context.client.clone(), context.alerts.clone(), account),
            me: account.id.clone(),
            name: account.username.clone(),
            begun: Instant::now(),
            commands,
            chat_task,
            messages,
            context,
            games: JoinMap::new(),
            on_game_finish: HashMap::new(),
            was_opened: false,
            restarted: false,
            occupancy,
            accepted_at: None,
            upgrade_until: None,
            shares_process: shutdown.shares_process,
        };
        let lists = event_loop.known_lists();
        event_loop.handle_event(&AccountEvent::Lists(lists));
        event_loop.account_state.awaits_lists = true;
        event_loop.restore_switches();
        event_loop
    }

    /// Starts over after a panic. Challenges and slots are lost, and the next run asks the server for
    /// them again; game tasks continue undisturbed.
    pub(super) fn restart(&mut self, lists: &ListSources, account: &Account, reason: String) {
        tracing::error!(reason, "event loop panicked; restarting");
        let context = &self.context;
        let failed = BotEvent::EventLoopFailed { reason };
        context.event_bus.publish(failed);
        self.account_stream.start_over();
        let second = server_second(context);
        let tasks = self.games.keys().cloned().collect();
        self.account_state = self.account_state.restarted(account, second, tasks);
        self.api_queue = ApiQueue::new(context, account.id.clone());
        let known = Arc::clone(&self.background.lists.borrow());
        self.background = Background::start(context, lists, known);
        self.blocked = Blocklist::remembered(&context.state);
        self.health = AccountCheck::new(context.client.clone(), context.alerts.clone(), account);
        self.restarted = true;
    }

    /// Runs until `drain` is requested and the last game is over or left.
    pub(super) async fn run(&mut self, drain: &CancellationToken) -> Result<(), BotError> {
        self.handle_event(&AccountEvent::Alert(self.context.alerts.forbids_games()));
        if std::mem::take(&mut self.restarted) {
            self.handle_event(&AccountEvent::Lists(self.known_lists()));
            self.handle_event(&AccountEvent::Away);
        }
        loop {
            let next_timeout = self.account_state.next_timeout();
            let next_look = self.upgrade_until.map(|_| Instant::now() + UPGRADE_LOOK);
            let event = tokio::select! {
                biased;
                () = drain.cancelled(), if !self.account_state.is_draining() => {
                    self.drain();
                    None
                }
                stream_event = self.account_stream.next() => self.drain_stream(stream_event)?,
                Some(event) = self.api_queue.next() => Some(event),
                Some(event) = self.messages.recv() => Some(event),
                Some((game, ending)) = self.games.join_next() => Some(self.left(game, ending)),
                Ok(()) = self.background.lists.changed() => {
                    self.account_state.awaits_lists = false;
                    Some(AccountEvent::Lists(self.known_lists()))
                }
                () = self.context.alerts.changed() => Some(AccountEvent::Alert(self.context.alerts.forbids_games())),
                envelope = self.commands.next() => {
                    self.run_command(envelope);
                    None
                }
                () = self.health.check_if_due() => {
                    self.end_if_refused()?;
                    None
                }
                () = sleep_until(next_timeout) => Some(AccountEvent::Tick),
                () = sleep_until(next_look) => None,
            };
            if let Some(event) = event {
                self.handle_event(&event);
            }
            self.api_queue.start_queued();
            self.publish_occupancy();
            if self.look_at_upgrade() || self.should_end() {
                return Ok(());
            }
        }
    }

    fn publish_occupancy(&self) {
        let now = Occupancy {
            slots: self.context.settings.challenge.concurrency,
            taken: self.account_state.taken(),
            waiting: self.account_state.waiting(),
            open: self.phase() == BotPhase::Playing,
        };
        self.occupancy
            .send_if_modified(|known| std::mem::replace(known, now) != now);
    }

    /// Whether the event loop ended to hand over to another program.
    pub(super) fn hands_over(&self) -> bool {
        self.upgrade_until.is_some() && !self.account_state.is_draining()
    }

    /// Ends the event loop after the last chat messages are sent.
    pub(super) async fn shut_down(self) {
        let most = self.context.timing.again;
        // Drop every remaining chat sender.
        drop((self.context, self.games));
        self.chat_task.finish(most).await;
    }

    /// Whether the event loop should end.
    fn should_end(&mut self) -> bool {
        let idle = self.api_queue.is_idle();
        let event_log = self.context.event_bus.event_log();
        let fresh = || event_log.barely_begun();
        let now = Instant::now();
        match self.account_state.shutdown_step(idle, fresh, now) {
            ShutdownStep::Wait => false,
            ShutdownStep::CallOff(games) => {
                for game in games {
                    tracing::info!(%game, "aborting a game that has barely started");
                    self.api_queue.push(AccountEffect::Abort(game));
                }
                self.api_queue.start_queued();
                false
            }
            ShutdownStep::End => {
                let left: Vec<String> = self.games.keys().map(ToString::to_string).collect();
                if !left.is_empty() {
                    let games = left.join(" ");
                    tracing::warn!(games, "left in progress; the next start resumes it");
                }
                if let Some(left) = self.account_state.correspondence(Instant::now()).left() {
                    tracing::info!("{left}");
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
        let mut event = self.on_stream_event(first)?;
        for _ in 0..BURST {
            let Some(stream_event) = self.account_stream.next().now_or_never() else {
                break;
            };
            if let Some(event) = event.take() {
                self.handle_event(&event);
            }
            event = self.on_stream_event(stream_event)?;
        }
        Ok(event)
    }

    fn on_stream_event(
        &mut self,
        stream_event: AccountStreamEvent,
    ) -> Result<Option<AccountEvent>, BotError> {
        match stream_event {
            AccountStreamEvent::Open => {
                self.was_opened = true;
                tracing::debug!("the event stream is open");
                self.health.opened();
                self.context.event_bus.publish(BotEvent::Online);
                Ok(Some(AccountEvent::Opened))
            }
            AccountStreamEvent::Line(event) => {
                if let Event::ChallengeCanceled(gone) | Event::ChallengeDeclined(gone) = &event {
                    self.api_queue.forget(&gone.id);
                }
                Ok(Some(AccountEvent::Event(event)))
            }
            AccountStreamEvent::Away => Ok(Some(AccountEvent::Away)),
            AccountStreamEvent::Lost(loss) => {
                let reason = loss.to_string();
                self.context.event_bus.publish(BotEvent::Offline { reason });
                Ok(None)
            }
            AccountStreamEvent::Unopened(loss) => {
                self.health.unopened(&loss);
                self.end_if_refused()?;
                Ok(None)
            }
        }
    }

    /// An error if the stream never opened with this token and never will.
    fn end_if_refused(&self) -> Result<(), BotError> {
        let refusal = self.health.final_refusal().filter(|_| !self.was_opened);
        refusal.map_or(Ok(()), Err)
    }

    /// Records an event, passes it to the account state and runs the effects.
    pub(super) fn handle_event(&mut self, event: &AccountEvent) {
        self.log_event(event);
        let done = AcceptOutcome::Done;
        if matches!(event, AccountEvent::Accepted { answer, .. } if *answer == done) {
            self.accepted_at = Some(Instant::now());
        }
        let effects = self.account_state.handle(event, Instant::now());
        self.run_effects(effects);
        let (alerts, state) = (&self.context.alerts, &self.context.state);
        if alerts.is_on(AlertKind::Guard) && state.rated_rests().is_empty() {
            alerts.clear(AlertKind::Guard);
        }
    }

    /// Records the event in the event log.
    fn log_event(&self, event: &AccountEvent) {
        let event_log = self.context.event_bus.event_log();
        match event {
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

    pub(super) fn run_effects(&mut self, effects: Vec<AccountEffect>) {
        for effect in effects {
            self.run_effect(effect);
        }
    }

    /// Runs an effect at once, or hands an API call to the queue.
    fn run_effect(&mut self, effect: AccountEffect) {
        let event_log = self.context.event_bus.event_log();
        match effect {
            AccountEffect::Play(game) => self.play(*game),
            AccountEffect::GameFinish(game) => {
                if let Some(on_game_finish) = self.on_game_finish.get(&game) {
                    on_game_finish.notify_one();
                }
            }
            AccountEffect::RatingChanged { game, ours, theirs } => {
                let pause = self.context.state.rated(&game, ours);
                event_log.rated(&game, ours, theirs);
                raise_guard_alerts(&self.context.alerts, pause);
            }
            AccountEffect::Missed(missed) => self.count_missed(*missed),
            AccountEffect::LogExport(missed) => {
                // After a restart the log lacks it, and the archive its rating change.
                if event_log.game(missed.ending.game.as_str()).is_none() {
                    self.log_missed(&missed);
                }
            }
            AccountEffect::LogUnknownEnd(game) => event_log.end_unknown(&game),
            AccountEffect::Note(text) => event_log.note("operator", text, None),
            call => self.api_queue.push(call),
        }
    }

    /// Counts a game that ended unseen as its game task would have.
    fn count_missed(&self, missed: MissedGame) {
        let record = self.log_missed(&missed);
        let is_no_show = missed.is_no_show(self.context.state.now());
        let (started, finished, ending) = (missed.started, missed.finished, missed.ending);
        tracing::info!(
            game = %ending.game,
            result = ending.result(),
            status = finished.status,
            us = ending.us.map_or("unknown", |us| us.as_str()),
            opponent = %ending.opponent,
            plies = ending.plies,
            fen = %ending.fen,
            "game ended unseen: looked up"
        );
        let context = &self.context;
        let level = context.settings.engine.casual_level;
        let is_full =
            level.of_game(finished.rated, finished.is_bot).is_none() || missed.export.arena;
        // A record from the export alone names no program, and so no level either.
        let record = record.filter(|record| is_full || record.program.is_some());
        if let Some(line) = record.and_then(|record| record.played_line(None)) {
            context.state.learn(line);
        }
        context.state.started(&started);
        if let Some(opponent) = finished.opponent.as_ref().filter(|_| is_no_show)
            && (context.state).no_show(&finished.game, opponent, finished.is_bot)
        {
            rest_after_no_show(&context.state, &context.settings.game, opponent);
        }
        raise_guard_alerts(&context.alerts, context.state.finished(finished));
        let ending = Arc::new(ending);
        context.event_bus.publish(BotEvent::Finished { ending });
    }

    /// Adds a game to the event log, and with it to the archive, from its export.
    fn log_missed(&self, missed: &MissedGame) -> Option<Arc<GameRecord>> {
        let (export, event_log) = (&missed.export, self.context.event_bus.event_log());
        if !is_supported(export) {
            return None;
        }
        event_log.missed(export, missed.ending.us?, &replayed(export));
        event_log.game(export.id.as_str())
    }

    /// Starts the game's only task.
    fn play(&mut self, game: GameInfo) {
        let id = game.id.clone();
        if self.games.contains_key(&id) {
            // From an event loop that panicked.
            return;
        }
        let params = GameParams {
            game: game.id,
            me: self.me.clone(),
            color: game.color,
            variant: game.variant,
            correspondence: game.speed == Speed::Correspondence,
            past: ResumeState::default(),
        };
        let on_game_finish = Arc::new(Notify::new());
        self.on_game_finish
            .insert(id.clone(), Arc::clone(&on_game_finish));
        let span = tracing::error_span!("game", id = %id);
        let context = self.context.clone();
        let player = play(context, params, on_game_finish).instrument(span);
        self.games.spawn(id, player);
    }

    fn left(&mut self, game: GameId, ending: Result<Option<Ending>, JoinError>) -> AccountEvent {
        self.on_game_finish.remove(&game);
        self.context.event_bus.event_log().leave(&game);
        match ending {
            Ok(None) => AccountEvent::LeftCorrespondence(game),
            Ok(Some(ending)) => AccountEvent::Left {
                game,
                seen: ending.status.is_some(),
            },
            Err(error) => {
                tracing::error!(%game, %error, "a game task ended unexpectedly");
                AccountEvent::Left { game, seen: false }
            }
        }
    }
}

/// How long a second of the server is: shorter under tests.
fn server_second(context: &BotContext) -> std::time::Duration {
    context.client.timing().minute / 60
}
