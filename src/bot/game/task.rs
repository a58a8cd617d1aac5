//! The task of one game, between its stream, the engine and the server.
//!
//! It decides nothing: it feeds inputs to the game machine and runs its effects. A move never waits
//! here for anything else. A panic costs a moment, not the game: the machine is rebuilt from the
//! server's statement of the game.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;

use crate::bot::account_event::AccountEvent;
use crate::bot::background::raise_guard_alerts;
use crate::bot::bot_event::BotEvent;
use crate::bot::context::BotContext;
use crate::bot::event_log::{EventLog, Header, MoveNote, SearchInfoSlot};
use crate::bot::game::chat::GameChat;
use crate::bot::game::move_overhead::ClockKind;
use crate::bot::game::stream::{GameStreamEvent, SupervisedGameStream};
use crate::bot::game::{
    Anomaly, CallOutcome, Ending, GameEffect, GameInput, GameMachine, GameParams, GameRequest,
    MovePlayed, Notification, RequestId, ResumeState, UnconfirmedMove,
};
use crate::bot::sleep_until;
use crate::bot::supervisor::{RestartBackoff, catch_panic};
use crate::engine::{Engine, Limits, Search, SearchResult, Tablebases};
use crate::experience::PlayedLine;
use crate::lichess::{Client, EndpointClass, Error, GameEvent, GameFull, GameId, OfferDraw, Reply};
use crate::lookup::TableLookup;
use crate::rules::{Game, Move};
use crate::store::Timestamp;

/// Plays a game to its end, even through panics. It leaves a game without a clock as soon as it is
/// the opponent's turn; then no ending is reported.
pub(in crate::bot) async fn play(
    context: BotContext,
    params: GameParams,
    on_game_finish: Arc<Notify>,
) -> Option<Ending> {
    let mut unconfirmed = None;
    let mut backoff = RestartBackoff::new(context.timing.revive);
    loop {
        let mut task = GameTask::new(&context, params.clone(), unconfirmed.take());
        let outcome = catch_panic(task.run(&on_game_finish)).await;
        if let Ok(Some(ending)) = outcome {
            return Some(ending);
        }
        // The game goes on.
        let eval_history = task.machine.eval_history();
        context.eval_cache.put(&params.game, eval_history);
        let Err(reason) = outcome else { return None };
        tracing::error!(reason, "game task panicked; restarting");
        let game = params.game.clone();
        context
            .event_bus
            .publish(BotEvent::GameTaskFailed { game, reason });
        unconfirmed = task.machine.unconfirmed();
        backoff.wait().await;
    }
}

struct GameTask {
    context: BotContext,
    engine: Engine,
    machine: GameMachine,
    stream: SupervisedGameStream,
    chat: GameChat,
    recorder: GameRecorder,
    active_search: Option<ActiveSearch>,
    /// Calls that send moves, apart from all others.
    posts: FuturesUnordered<BoxFuture<'static, (RequestId, CallOutcome)>>,
    requests: FuturesUnordered<BoxFuture<'static, (GameRequest, CallOutcome)>>,
    warming: FuturesUnordered<BoxFuture<'static, bool>>,
}

/// A search in progress; dropping it stops it.
struct ActiveSearch {
    request_id: RequestId,
    search: Search,
    answer: oneshot::Receiver<SearchResult>,
    /// What online tables know of the position, asked beside the search.
    table_lookup: Option<TableLookup>,
}

impl GameTask {
    fn new(context: &BotContext, params: GameParams, unconfirmed: Option<UnconfirmedMove>) -> Self {
        let engine = context.pool.lease();
        engine.new_game();
        let stream = SupervisedGameStream::new(
            context.client.clone(),
            params.game.clone(),
            context.timing.limited_retry,
            context.event_bus.clone(),
        );
        let recorder = GameRecorder::new(context.event_bus.event_log().clone(), &params.game);
        let chat = GameChat::new(context, &params.game);
        let params = GameParams {
            past: ResumeState {
                eval_history: context.eval_cache.take(&params.game),
                ..chat.past()
            },
            ..params
        };
        let task = Self {
            engine,
            machine: GameMachine::new(
                params,
                Arc::clone(&context.settings),
                context.timing,
                unconfirmed,
            ),
            chat,
            recorder,
            stream,
            active_search: None,
            posts: FuturesUnordered::new(),
            requests: FuturesUnordered::new(),
            warming: FuturesUnordered::new(),
            context: context.clone(),
        };
        task.warm();
        task
    }

    async fn run(&mut self, on_game_finish: &Notify) -> Option<Ending> {
        loop {
            let input = self.next(on_game_finish).await;
            let Some(input) = input else { continue };
            self.machine.set_overhead(self.context.estimator.estimate());
            let actions = self.machine.apply(input, Instant::now());
            let ending = self.run_effect(actions);
            self.recorder.write(&self.machine);
            if let Some(ending) = ending {
                if let Some(line) = self.recorder.over(&ending) {
                    self.context.state.learn(line);
                }
                return Some(ending);
            }
            if self.machine.can_park() && self.is_idle() {
                tracing::debug!(ply = self.machine.ply(), "parked");
                return None;
            }
        }
    }

    async fn next(&mut self, on_game_finish: &Notify) -> Option<GameInput> {
        let next_timeout = self.machine.next_timeout();
        tokio::select! {
            biased;
            Some((request_id, answer)) = self.posts.next() => Some(GameInput::Posted { request_id, answer }),
            stream_event = self.stream.next() => self.on_stream_event(stream_event),
            (request_id, answer) = result(&mut self.active_search) => self.result(request_id, answer),
            Some((request, answer)) = self.requests.next() => Some(GameInput::RequestDone { request, answer }),
            () = sleep_until(next_timeout) => Some(GameInput::Tick),
            () = on_game_finish.notified() => Some(GameInput::GameFinish),
            Some(_) = self.warming.next() => None,
        }
    }

    /// Whether no call is in progress.
    fn is_idle(&self) -> bool {
        self.posts.is_empty() && self.requests.is_empty()
    }

    fn on_stream_event(&mut self, stream_event: GameStreamEvent) -> Option<GameInput> {
        match stream_event {
            GameStreamEvent::Line { event, at, opened } => match event {
                GameEvent::Full(full) => {
                    self.recorder.full(&full);
                    self.set_age(&full);
                    self.recall(&full);
                    Some(GameInput::Full { full, opened, at })
                }
                GameEvent::State(state) => {
                    self.recorder.state();
                    Some(GameInput::State { state, at })
                }
                GameEvent::OpponentGone(absence) => Some(GameInput::Gone(absence)),
                GameEvent::Chat(line) => {
                    let more_time = self.machine.more_time();
                    let grants = self.chat.handle_event(&line, more_time);
                    grants.then_some(GameInput::WaitLonger)
                }
                GameEvent::Unknown { .. } => None,
            },
            GameStreamEvent::Refused => Some(GameInput::NoStream),
            GameStreamEvent::Limited(advised) => {
                if self.machine.can_wait(advised, Instant::now()) {
                    self.stream.wait_instead(advised);
                }
                None
            }
        }
    }

    /// Sets the game's age, for the wait for its first move.
    fn set_age(&mut self, full: &GameFull) {
        if let Some(made) = full.created_at {
            let age = self.context.state.now().since(Timestamp::from(made));
            self.machine.set_created(Instant::now().checked_sub(age));
        }
    }

    /// Loads what earlier games teach, once, before the game continues.
    fn recall(&mut self, full: &GameFull) {
        if self.machine.setup().is_none() {
            self.machine.set_experience(self.context.state.experience());
            self.machine
                .set_books(self.context.books.clone(), fastrand::u64(..));
        }
        let me = Some(&self.machine.params().me);
        let mut players = [&full.white, &full.black].into_iter();
        let opponent = players.find(|player| player.id.as_ref() != me);
        // The server's own engine has no id.
        let opponent = opponent.and_then(|player| player.id.as_ref());
        let (None, Some(opponent)) = (self.machine.setup(), opponent) else {
            return;
        };
        let last = self.context.state.opponent(opponent).last;
        let seed = match self.context.settings.variety.seed {
            0 => fastrand::u64(..),
            seed => seed,
        };
        let openings = last.iter().map(|game| game.opening.as_str());
        self.machine.avoid(openings, seed);
    }

    /// Handles the end of a search, or of its thread without a result.
    fn result(&mut self, request_id: RequestId, answer: Option<SearchResult>) -> Option<GameInput> {
        let active_search = self.active_search.take()?;
        Some(match answer {
            Some(result) => GameInput::SearchDone {
                request_id,
                result: match active_search.table_lookup {
                    Some(lookup) => lookup.improve(result),
                    None => result,
                },
            },
            None => GameInput::BestSoFar {
                request_id,
                best: active_search.search.best(),
            },
        })
    }

    fn run_effect(&mut self, actions: Vec<GameEffect>) -> Option<Ending> {
        let mut actions: std::collections::VecDeque<GameEffect> = actions.into();
        while let Some(action) = actions.pop_front() {
            match action {
                GameEffect::Search { request_id, limits } => self.think(request_id, limits),
                GameEffect::Ponder {
                    request_id,
                    reply,
                    limits,
                } => self.ponder(request_id, reply, limits),
                GameEffect::TakeBest { request_id } => {
                    let best = self.active_search.as_ref().and_then(|t| t.search.best());
                    let input = GameInput::BestSoFar { request_id, best };
                    actions.extend(self.machine.apply(input, Instant::now()));
                }
                GameEffect::StopSearch => self.active_search = None,
                GameEffect::Post {
                    request_id,
                    uci,
                    draw,
                } => self.post(request_id, uci, draw),
                GameEffect::Request(request) => self.request(request),
                GameEffect::Reopen => self.stream.reopen(),
                GameEffect::Warm => self.warm(),
                GameEffect::LearnOverhead(cost) => {
                    self.context.estimator.learn(cost);
                    self.context.state.move_cost(cost);
                    self.recorder.cost(cost);
                    self.context.event_bus.publish(BotEvent::Overhead { cost });
                }
                GameEffect::Persist(fact) => self.chat.remember(&self.machine, fact),
                GameEffect::Notify(notification) => self.notify(notification),
                GameEffect::Report(anomaly) => {
                    // The server's answer was logged on arrival.
                    if !anomaly.is_an_answer() {
                        tracing::warn!(ply = self.machine.ply(), "{anomaly}");
                    }
                    self.recorder.anomaly(&anomaly);
                    let game = self.machine.params().game.clone();
                    self.context
                        .event_bus
                        .publish(BotEvent::AnomalySeen { game, anomaly });
                }
                GameEffect::Note(text) => self.recorder.experience(text),
                GameEffect::Finish(ending) => return Some(self.finish(ending)),
            }
        }
        None
    }

    fn think(&mut self, request_id: RequestId, limits: Limits) {
        // Not while some moves are refused: the tables would choose among all.
        let any_move = limits.searchmoves.is_empty() && self.machine.level().is_none();
        let lookup = self.look_up_table(any_move);
        let limits = self.prefer_explored(limits);
        match &self.active_search {
            Some(pondering) if pondering.request_id == request_id => pondering.search.ponderhit(),
            _ => {
                // Drop the old search first: one search per game.
                self.active_search = None;
                let (engine, game) = (&self.engine, self.machine.game());
                let search = self.recorder.think(engine, game, limits);
                self.await_search(request_id, search);
            }
        }
        if let Some(active_search) = &mut self.active_search {
            active_search.table_lookup = lookup;
        }
    }

    /// In the opening the search chooses among the moves that the explorer found and an earlier search
    /// approved, if there are any.
    fn prefer_explored(&self, mut limits: Limits) -> Limits {
        let Some(explorer) = &self.context.explorer else {
            return limits;
        };
        if limits.searchmoves.is_empty() && limits.multipv <= 1 {
            limits.searchmoves = explorer.approved(self.machine.game());
        }
        limits
    }

    /// Asks the online tables about the position on the board, if they are of use.
    fn look_up_table(&self, any_move: bool) -> Option<TableLookup> {
        let tables = self.context.online_tables.as_ref().filter(|_| any_move)?;
        let reading = self.machine.reading()?;
        let left = (reading.kind != ClockKind::Unclocked)
            .then(|| reading.left_at(Instant::now()).unwrap_or_default());
        let local = self.context.pool.tables();
        let local_pieces = local.map_or(0, Tablebases::most_pieces);
        tables.look_up(self.machine.game().position(), local_pieces, left)
    }

    /// Ponders on the position after the expected reply.
    fn ponder(&mut self, request_id: RequestId, reply: Move, limits: Limits) {
        self.active_search = None;
        let mut game = self.machine.game().clone();
        game.push(reply);
        let search = self.recorder.think(&self.engine, &game, limits);
        self.await_search(request_id, search);
    }

    fn await_search(&mut self, request_id: RequestId, search: Search) {
        self.active_search = Some(ActiveSearch {
            request_id,
            answer: search.answer(),
            search,
            table_lookup: None,
        });
    }

    /// What a call takes with it.
    fn client_and_game(&self) -> (Client, GameId) {
        let game = self.machine.params().game.clone();
        (self.context.client.clone(), game)
    }

    fn post(&self, request_id: RequestId, uci: String, draw: OfferDraw) {
        let (client, game) = self.client_and_game();
        self.posts.push(Box::pin(async move {
            let outcome = client.make_move(&game, &uci, draw).await;
            if let Err(error) = &outcome {
                log_failed(&uci, error);
            }
            (request_id, outcome.into())
        }));
    }

    fn request(&self, request: GameRequest) {
        let (client, game) = self.client_and_game();
        tracing::debug!(?request, "asking");
        self.requests.push(Box::pin(async move {
            // A courtesy is not worth another call after a rate limit.
            if let Some(wait) = client
                .pause(EndpointClass::Act)
                .filter(|_| request.is_courtesy())
            {
                return (request, CallOutcome::Limited { wait: Some(wait) });
            }
            let outcome = match request {
                GameRequest::Abort => client.abort(&game).await,
                GameRequest::Resign => client.resign(&game).await,
                GameRequest::AcceptDraw => client.draw(&game, Reply::Yes).await,
                GameRequest::DeclineDraw => client.draw(&game, Reply::No).await,
                GameRequest::AcceptTakeback => client.takeback(&game, Reply::Yes).await,
                GameRequest::DeclineTakeback => client.takeback(&game, Reply::No).await,
                GameRequest::ClaimVictory => client.claim_victory(&game).await,
                GameRequest::ClaimDraw => client.claim_draw(&game).await,
            };
            if let Err(error) = &outcome {
                tracing::debug!(?request, %error, "refused");
            }
            (request, outcome.into())
        }));
    }

    fn warm(&self) {
        if self.warming.is_empty() {
            let client = self.context.client.clone();
            self.warming
                .push(Box::pin(async move { client.warm().await }));
        }
    }

    fn notify(&mut self, notification: Notification) {
        let game = self.machine.params().game.clone();
        match notification {
            Notification::Joined => {
                let opponent = self.machine.opponent().unwrap_or_default().to_owned();
                let (us, ply) = (self.machine.us(), self.machine.ply());
                tracing::debug!(%opponent, ?us, ply, "joined");
                self.chat.introduce(&self.machine);
                self.context.event_bus.publish(BotEvent::Joined {
                    game,
                    opponent,
                    us,
                    ply,
                });
            }
            Notification::Stalled => self.report_stalled(game, true),
            Notification::Moving => self.report_stalled(game, false),
            Notification::Moved(moved) => {
                self.chat.moved(&moved);
                self.recorder.moved(&moved, self.machine.ply());
                tracing::debug!(ply = moved.ply, played = %moved.played, ours = moved.ours, "moved");
                let moved = Arc::from(moved);
                self.context.event_bus.publish(BotEvent::Moved { moved });
            }
        }
    }

    /// Tells the account state, which counts slots; if that fails, the count is wrong for a while.
    fn report_stalled(&self, game: GameId, stalled: bool) {
        let news = AccountEvent::Stalled { game, stalled };
        if let Err(error) = self.context.message_sender.try_send(news) {
            tracing::debug!(%error, "cannot report a stalled game");
        }
    }

    fn finish(&mut self, ending: Ending) -> Ending {
        self.active_search = None;
        let overhead = self.context.estimator.estimate();
        self.chat.ended(&ending);
        tracing::info!(
            result = ending.result(),
            status = ending.status.map_or("unseen", |status| status.as_str()),
            us = ending.us.map_or("unknown", |us| us.as_str()),
            opponent = %ending.opponent,
            plies = ending.plies,
            fen = %ending.fen,
            overhead_ms = overhead.learned.as_millis() as u64,
            measured = overhead.moves,
            "game over"
        );
        let state = &self.context.state;
        if let Some(game) = self.machine.summary(&ending, state.now()) {
            raise_guard_alerts(&self.context.alerts, state.finished(game));
        }
        self.context.event_bus.publish(BotEvent::Finished {
            ending: Arc::new(ending.clone()),
        });
        ending
    }
}

/// Logs a failed move call, once. The client logs rate limits itself, and the event stream reports
/// an unreachable server.
fn log_failed(uci: &str, error: &Error) {
    if error.is_unreached() {
        tracing::debug!(uci, %error, "move call failed");
    } else if !error.is_rate_limited() {
        tracing::warn!(status = error.status(), uci, %error, "move call failed");
    }
}

/// The result of the search in progress; pending for ever without one.
async fn result(active_search: &mut Option<ActiveSearch>) -> (RequestId, Option<SearchResult>) {
    match active_search {
        Some(active_search) => {
            let answer = (&mut active_search.answer).await.ok();
            (active_search.request_id, answer)
        }
        None => std::future::pending().await,
    }
}

/// Records a game in the event log, after everything urgent has been sent.
///
/// It collects what belongs to the next move and hands it over. It decides nothing, and nothing
/// waits for it.
pub(in crate::bot) struct GameRecorder {
    event_log: EventLog,
    game: GameId,
    search_info: SearchInfoSlot,
    /// The first line of an opening, not recorded yet.
    header: Option<Header>,
    /// Whether a line was read but not recorded yet.
    read: bool,
    /// Whether that line came over an already open stream.
    live: bool,
    latency: Option<Duration>,
    safe: bool,
}

impl GameRecorder {
    pub(in crate::bot) fn new(event_log: EventLog, game: &GameId) -> Self {
        Self {
            event_log,
            game: game.clone(),
            search_info: SearchInfoSlot::default(),
            header: None,
            read: false,
            live: false,
            latency: None,
            safe: false,
        }
    }

    /// Handles the first line of an opening.
    pub(in crate::bot) fn full(&mut self, full: &GameFull) {
        self.header = Header::of(&self.game, full);
        (self.read, self.live) = (true, false);
    }

    /// Handles a later line of the stream.
    pub(in crate::bot) fn state(&mut self) {
        (self.read, self.live) = (true, true);
    }

    /// Sets the overhead of the next move to record.
    pub(in crate::bot) fn cost(&mut self, cost: Duration) {
        self.latency = Some(cost);
    }

    pub(in crate::bot) fn anomaly(&mut self, anomaly: &Anomaly) {
        self.safe |= *anomaly == Anomaly::NoSearchResult;
        let kind = match anomaly {
            // The event log already has it with the server's reply, as it has every refusal.
            Anomaly::Limited { .. } => return,
            Anomaly::Late | Anomaly::NoSearchResult => "search",
            _ => "game",
        };
        self.event_log
            .note(kind, anomaly.to_string(), Some(&self.game));
    }

    /// Records a move; `ply` is the length of the list after it.
    pub(in crate::bot) fn moved(&mut self, moved: &MovePlayed, ply: usize) {
        let mut note = MoveNote {
            ply,
            live: self.live,
            ..MoveNote::default()
        };
        if moved.ours {
            note.latency = self.latency.take();
            note.safe = std::mem::take(&mut self.safe);
        }
        self.event_log.moved(&self.game, moved, note);
    }

    /// Records a line once all its effects have run.
    pub(in crate::bot) fn write(&mut self, machine: &GameMachine) {
        // A state that the machine rejects is not recorded.
        if !std::mem::take(&mut self.read) || !machine.is_trusted() {
            return;
        }
        let (Some(us), Some(state)) = (machine.us(), machine.last_state()) else {
            return;
        };
        match self.header.take() {
            Some(header) => {
                let header = match machine.level() {
                    Some(level) => header.at_level(level.name),
                    None => header,
                };
                self.event_log
                    .opened(header, us, machine.game(), state, &self.search_info);
            }
            None => self.event_log.stated(&self.game, machine.game(), state),
        }
    }

    /// Records why a move was avoided.
    pub(in crate::bot) fn experience(&self, text: String) {
        self.event_log.note("experience", text, Some(&self.game));
    }

    /// The game is over, or no longer visible. Returns it as a line to learn from.
    pub(in crate::bot) fn over(&self, ending: &Ending) -> Option<PlayedLine> {
        self.event_log.over(ending);
        self.event_log.game(self.game.as_str())?.played_line(None)
    }

    /// Starts a search or a ponder search, which reports its progress if anyone watches.
    pub(in crate::bot) fn think(&self, engine: &Engine, game: &Game, limits: Limits) -> Search {
        if let Some(news) = self.event_log.audience() {
            let reporter = self.search_info.reporter(game, limits.ponder, news);
            return engine.think_with(game, limits, reporter);
        }
        self.search_info.done();
        engine.think(game, limits)
    }
}
