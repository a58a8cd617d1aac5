//! The player of one game: the task between the game's stream, the engine and the server.
//!
//! It decides nothing. What happens is put before the table, and what the table says is carried
//! out. Nothing on the way of a move waits for anything else here, and a panic costs the moment, not
//! the game: the table is set up anew from the server's word.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::bot::account::AccountEvent;
use crate::bot::alerts::Alerts;
use crate::bot::background::say_tripped;
use crate::bot::chat::ChatQueue;
use crate::bot::eval_cache::EvalCache;
use crate::bot::events::{BotEvent, EventBus};
use crate::bot::game::chat::GameChat;
use crate::bot::game::move_overhead::SharedEstimator;
use crate::bot::game::recorder::GameRecorder;
use crate::bot::game::stream::{GameStreamEvent, SupervisedGameStream};
use crate::bot::game::{
    CallOutcome, DrawOffer, Ending, GameEffect, GameInput, GameMachine, GameParams, GameRequest,
    Notification, RequestId, ResumeState, UnconfirmedMove,
};
use crate::bot::game_registry::GameRegistry;
use crate::bot::settings::{BotTiming, Settings};
use crate::bot::state::BotState;
use crate::bot::supervisor::{RestartBackoff, panic_message};
use crate::engine::{Engine, Limits, Pool, Search, SearchResult};
use crate::lichess::{Client, EndpointClass, Error, GameEvent, GameFull, GameId, OfferDraw, Reply};
use crate::rules::Move;
use crate::store::Timestamp;

/// What every player shares.
#[derive(Clone, Debug)]
pub(in crate::bot) struct BotContext {
    pub(in crate::bot) client: Client,
    pub(in crate::bot) pool: Pool,
    pub(in crate::bot) settings: Arc<Settings>,
    pub(in crate::bot) pace: BotTiming,
    pub(in crate::bot) listeners: EventBus,
    pub(in crate::bot) meter: SharedEstimator,
    pub(in crate::bot) memory: BotState,
    pub(in crate::bot) lane: ChatQueue,
    pub(in crate::bot) alarms: Alerts,
    pub(in crate::bot) roll: GameRegistry,
    pub(in crate::bot) shelf: EvalCache,
    /// What a player has to tell the lobby before its game is over.
    pub(in crate::bot) word: mpsc::Sender<AccountEvent>,
}

/// Plays a game to its end, through panics too. A game without a clock is left as soon as it is the
/// opponent's turn; then there is no end to tell.
pub(in crate::bot) async fn play(
    house: BotContext,
    seat: GameParams,
    said_over: Arc<Notify>,
) -> Option<Ending> {
    let mut promise = None;
    let mut revival = RestartBackoff::new(house.pace.revive);
    loop {
        let mut player = GameTask::new(&house, seat.clone(), promise.take());
        let outcome = AssertUnwindSafe(player.run(&said_over))
            .catch_unwind()
            .await;
        match outcome {
            Ok(ending) => {
                if ending.is_none() {
                    house.shelf.put(&seat.game, player.table.opinion());
                }
                return ending;
            }
            Err(panic) => {
                let reason = panic_message(panic.as_ref());
                tracing::error!(reason, "the player of this game failed and sits down again");
                let (game, reason) = (seat.game.clone(), reason.to_owned());
                house
                    .listeners
                    .tell(BotEvent::PlayerFailed { game, reason });
                promise = player.table.promise();
                house.shelf.put(&seat.game, player.table.opinion());
            }
        }
        revival.wait().await;
    }
}

struct GameTask {
    house: BotContext,
    engine: Engine,
    table: GameMachine,
    feed: SupervisedGameStream,
    voice: GameChat,
    minutes: GameRecorder,
    thinking: Option<ActiveSearch>,
    /// The lane of the moves.
    posts: FuturesUnordered<BoxFuture<'static, (RequestId, CallOutcome)>>,
    requests: FuturesUnordered<BoxFuture<'static, (GameRequest, CallOutcome)>>,
    warming: FuturesUnordered<BoxFuture<'static, ()>>,
}

/// A search under way; dropping it stops it.
struct ActiveSearch {
    ticket: RequestId,
    search: Search,
    answer: oneshot::Receiver<SearchResult>,
}

impl GameTask {
    fn new(house: &BotContext, seat: GameParams, promise: Option<UnconfirmedMove>) -> Self {
        let engine = house.pool.lease();
        engine.new_game();
        let feed = SupervisedGameStream::new(
            house.client.clone(),
            seat.game.clone(),
            house.pace.limited_retry,
            house.roll.clone(),
            house.listeners.clone(),
        );
        let minutes = GameRecorder::new(house.listeners.chronicle().clone(), &seat.game);
        let voice = GameChat::new(house, &seat.game);
        let seat = GameParams {
            past: ResumeState {
                opinion: house.shelf.take(&seat.game),
                ..voice.past()
            },
            ..seat
        };
        let player = Self {
            engine,
            table: GameMachine::resume(seat, Arc::clone(&house.settings), house.pace, promise),
            voice,
            minutes,
            feed,
            thinking: None,
            posts: FuturesUnordered::new(),
            requests: FuturesUnordered::new(),
            warming: FuturesUnordered::new(),
            house: house.clone(),
        };
        player.warm();
        player
    }

    async fn run(&mut self, said_over: &Notify) -> Option<Ending> {
        loop {
            let input = self.next(said_over).await;
            let Some(input) = input else { continue };
            self.table.expect_lag(self.house.meter.lag());
            let actions = self.table.apply(input, Instant::now());
            let ending = self.carry_out(actions);
            self.minutes.write(&self.table);
            if let Some(ending) = ending {
                self.minutes.over(&ending);
                return Some(ending);
            }
            if self.table.may_be_left() && self.is_idle() {
                tracing::debug!(ply = self.table.ply(), "parked");
                return None;
            }
        }
    }

    /// Whatever happens next.
    async fn next(&mut self, said_over: &Notify) -> Option<GameInput> {
        let wake_at = self.table.wake_at();
        tokio::select! {
            biased;
            Some((ticket, answer)) = self.posts.next() => Some(GameInput::Posted { ticket, answer }),
            fed = self.feed.next() => self.fed(fed),
            (ticket, answer) = thought(&mut self.thinking) => self.thought(ticket, answer),
            Some((request, answer)) = self.requests.next() => Some(GameInput::Asked { request, answer }),
            () = sleep_until(wake_at) => Some(GameInput::Tick),
            () = said_over.notified() => Some(GameInput::SaidOver),
            Some(()) = self.warming.next() => None,
        }
    }

    /// Whether no call is under way.
    fn is_idle(&self) -> bool {
        self.posts.is_empty() && self.requests.is_empty()
    }

    fn fed(&mut self, fed: GameStreamEvent) -> Option<GameInput> {
        match fed {
            GameStreamEvent::Line { event, at, opened } => match event {
                GameEvent::Full(full) => {
                    self.minutes.full(&full);
                    self.note_age(&full);
                    self.recall(&full);
                    Some(GameInput::Full { full, opened, at })
                }
                GameEvent::State(state) => {
                    self.minutes.state();
                    Some(GameInput::State { state, at })
                }
                GameEvent::OpponentGone(absence) => Some(GameInput::Gone(absence)),
                GameEvent::Chat(line) => {
                    self.voice.heard(&line);
                    None
                }
                GameEvent::Unknown { .. } => None,
            },
            GameStreamEvent::Refused => Some(GameInput::NoStream),
            GameStreamEvent::Limited(advised) => {
                if self.table.affords(advised, Instant::now()) {
                    self.feed.wait_instead(advised);
                }
                None
            }
        }
    }

    /// How old the game is, for whoever waits for its first move.
    fn note_age(&mut self, full: &GameFull) {
        if let Some(made) = full.created_at {
            let age = self.house.memory.now().since(Timestamp::from(made));
            self.table.made_at(Instant::now().checked_sub(age));
        }
    }

    /// Once, before the game goes on: the earlier games of this pair.
    fn recall(&mut self, full: &GameFull) {
        let me = Some(&self.table.seat().me);
        let mut players = [&full.white, &full.black].into_iter();
        let opponent = players.find(|player| player.id.as_ref() != me);
        let opponent = opponent.filter(|player| player.is_bot());
        let opponent = opponent.and_then(|player| player.id.as_ref());
        let (None, Some(opponent)) = (self.table.setting(), opponent) else {
            return;
        };
        let last = self.house.memory.opponent(opponent).last;
        let seed = match self.house.settings.variety.seed {
            0 => fastrand::u64(..),
            seed => seed,
        };
        let openings = last.iter().map(|game| game.opening.as_str());
        self.table.avoid(openings, seed);
    }

    /// A search has ended, or its thread is gone without a word.
    fn thought(&mut self, ticket: RequestId, answer: Option<SearchResult>) -> Option<GameInput> {
        let thinking = self.thinking.take()?;
        Some(match answer {
            Some(thought) => GameInput::Thought { ticket, thought },
            None => GameInput::BestSoFar {
                ticket,
                best: thinking.search.best(),
            },
        })
    }

    fn carry_out(&mut self, actions: Vec<GameEffect>) -> Option<Ending> {
        let mut actions: std::collections::VecDeque<GameEffect> = actions.into();
        while let Some(action) = actions.pop_front() {
            match action {
                GameEffect::Think { ticket, limits } => self.think(ticket, limits),
                GameEffect::Ponder {
                    ticket,
                    reply,
                    limits,
                } => self.ponder(ticket, reply, limits),
                GameEffect::TakeBest { ticket } => {
                    let best = self.thinking.as_ref().and_then(|t| t.search.best());
                    let input = GameInput::BestSoFar { ticket, best };
                    actions.extend(self.table.apply(input, Instant::now()));
                }
                GameEffect::StopThinking => self.thinking = None,
                GameEffect::Post { ticket, uci, draw } => self.post(ticket, uci, draw),
                GameEffect::Ask(request) => self.ask(request),
                GameEffect::Reopen => self.feed.reopen(),
                GameEffect::Warm => self.warm(),
                GameEffect::Learn(cost) => {
                    self.house.meter.learn(cost);
                    self.house.memory.move_cost(cost);
                    self.minutes.cost(cost);
                    self.house.listeners.tell(BotEvent::Overhead { cost });
                }
                GameEffect::Remember(deed) => self.voice.remember(&self.table, deed),
                GameEffect::Tell(told) => self.tell(told),
                GameEffect::Note(oddity) => {
                    // What the server answered is in the log since it came.
                    if !oddity.is_an_answer() {
                        tracing::warn!(ply = self.table.ply(), "{oddity}");
                    }
                    self.minutes.oddity(&oddity);
                    let game = self.table.seat().game.clone();
                    self.house.listeners.tell(BotEvent::Odd { game, oddity });
                }
                GameEffect::Finish(ending) => return Some(self.finish(ending)),
            }
        }
        None
    }

    fn think(&mut self, ticket: RequestId, limits: Limits) {
        match &self.thinking {
            Some(pondering) if pondering.ticket == ticket => pondering.search.ponderhit(),
            _ => {
                // The old search goes first: one search a game.
                self.thinking = None;
                let search = self.minutes.think(&self.engine, self.table.game(), limits);
                self.await_thought(ticket, search);
            }
        }
    }

    /// Thinks about what the board shows after a reply that is expected.
    fn ponder(&mut self, ticket: RequestId, reply: Move, limits: Limits) {
        self.thinking = None;
        let mut game = self.table.game().clone();
        game.push(reply);
        let search = self.minutes.ponder(&self.engine, &game, limits);
        self.await_thought(ticket, search);
    }

    fn await_thought(&mut self, ticket: RequestId, search: Search) {
        let (hand_over, answer) = oneshot::channel();
        search.on_done(Box::new(move |thought| {
            // Nobody waits any more: the game went on without this search.
            let _ = hand_over.send(thought);
        }));
        self.thinking = Some(ActiveSearch {
            ticket,
            search,
            answer,
        });
    }

    fn post(&self, ticket: RequestId, uci: String, draw: DrawOffer) {
        let (client, game) = (self.house.client.clone(), self.table.seat().game.clone());
        let offer = match draw {
            DrawOffer::Yes => OfferDraw::Yes,
            DrawOffer::No => OfferDraw::No,
        };
        self.posts.push(Box::pin(async move {
            let outcome = client.make_move(&game, &uci, offer).await;
            if let Err(error) = &outcome {
                log_failed(&uci, error);
            }
            (ticket, outcome.into())
        }));
    }

    fn ask(&self, request: GameRequest) {
        let (client, game) = (self.house.client.clone(), self.table.seat().game.clone());
        tracing::debug!(?request, "asking");
        self.requests.push(Box::pin(async move {
            // A courtesy is not worth another call after one too many.
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
            let client = self.house.client.clone();
            self.warming.push(Box::pin(async move {
                client.warm().await;
            }));
        }
    }

    fn tell(&mut self, told: Notification) {
        let game = self.table.seat().game.clone();
        match told {
            Notification::Joined => {
                let opponent = self.table.opponent().unwrap_or_default().to_owned();
                let (us, ply) = (self.table.us(), self.table.ply());
                tracing::debug!(%opponent, ?us, ply, "joined");
                self.voice.introduce(&self.table);
                self.house.roll.join(&game, &opponent, us, ply);
                self.house.listeners.tell(BotEvent::Joined {
                    game,
                    opponent,
                    us,
                    ply,
                });
            }
            Notification::Standstill => self.say_standstill(game, true),
            Notification::Revived => self.say_standstill(game, false),
            Notification::Moved(moved) => {
                self.voice.moved(&moved);
                self.house.roll.moved(&game, &moved);
                self.minutes.moved(&moved, self.table.ply());
                tracing::debug!(ply = moved.ply, played = %moved.played, ours = moved.ours, "moved");
                self.house.listeners.tell(BotEvent::Moved {
                    game,
                    moved: Arc::from(moved),
                });
            }
        }
    }

    /// Tells the lobby, which minds the seats. Should it be deaf, a seat is counted wrong for a while.
    fn say_standstill(&self, game: GameId, stands: bool) {
        let news = AccountEvent::Standstill { game, stands };
        if let Err(error) = self.house.word.try_send(news) {
            tracing::debug!(%error, "the lobby does not hear of a standstill");
        }
    }

    fn finish(&mut self, ending: Ending) -> Ending {
        self.thinking = None;
        let lag = self.house.meter.lag();
        self.voice.ended(&ending);
        self.house.roll.leave(&ending.game);
        tracing::info!(
            result = ending.result(),
            status = ending.status.map_or("unseen", |status| status.as_str()),
            us = ending.us.map_or("unknown", |us| us.as_str()),
            opponent = %ending.opponent,
            plies = ending.plies,
            fen = %ending.fen,
            overhead_ms = lag.learned.as_millis() as u64,
            measured = lag.moves,
            "game over"
        );
        let memory = &self.house.memory;
        if let Some(game) = self.table.summary(&ending, memory.now()) {
            say_tripped(&self.house.alarms, memory.finished(game));
        }
        self.house.listeners.tell(BotEvent::Finished {
            ending: Arc::new(ending.clone()),
        });
        ending
    }
}

/// Logs that a move's call failed, once. What is refused for the rate the client logs, whoever asked;
/// that nobody can be reached is said of the event stream.
fn log_failed(uci: &str, error: &Error) {
    if error.is_unreached() {
        tracing::debug!(uci, %error, "the move's call failed");
    } else if !error.is_rate_limited() {
        tracing::warn!(status = error.status(), uci, %error, "the move's call failed");
    }
}

/// The answer of the search under way; never, if there is none.
async fn thought(thinking: &mut Option<ActiveSearch>) -> (RequestId, Option<SearchResult>) {
    match thinking {
        Some(thinking) => {
            let answer = (&mut thinking.answer).await.ok();
            (thinking.ticket, answer)
        }
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        // A timer's grain is a millisecond, rounded up.
        Some(at) if at > Instant::now() => tokio::time::sleep_until(at.into()).await,
        Some(_) => {}
        None => std::future::pending().await,
    }
}
