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

use super::alarm::Alarms;
use super::chat::Lane;
use super::feed::{Fed, GameFeed};
use super::lobby::News;
use super::memory::Memory;
use super::minutes::Minutes;
use super::overhead::Meter;
use super::report::{BotEvent, Listeners};
use super::revival::{Revival, reason_of};
use super::roll::Roll;
use super::settings::{Pace, Settings};
use super::shelf::Shelf;
use super::table::{
    Action, Answer, Ending, Input, Past, Promise, Request, Seat, Table, Ticket, Told, WithDraw,
};
use super::upkeep::say_tripped;
use super::voice::Voice;
use crate::engine::{Engine, Limits, Pool, Search, SearchResult};
use crate::lichess::{Client, Error, GameEvent, GameFull, GameId, OfferDraw, Reply, EndpointClass};
use crate::rules::Move;
use crate::store::Timestamp;

/// What every player shares.
#[derive(Clone, Debug)]
pub(super) struct House {
    pub(super) client: Client,
    pub(super) pool: Pool,
    pub(super) settings: Arc<Settings>,
    pub(super) pace: Pace,
    pub(super) listeners: Listeners,
    pub(super) meter: Meter,
    pub(super) memory: Memory,
    pub(super) lane: Lane,
    pub(super) alarms: Alarms,
    pub(super) roll: Roll,
    pub(super) shelf: Shelf,
    /// What a player has to tell the lobby before its game is over.
    pub(super) word: mpsc::Sender<News>,
}

/// Plays a game to its end, through panics too. A game without a clock is left as soon as it is the
/// opponent's turn; then there is no end to tell.
pub(super) async fn play(house: House, seat: Seat, said_over: Arc<Notify>) -> Option<Ending> {
    let mut promise = None;
    let mut revival = Revival::new(house.pace.revive);
    loop {
        let mut player = Player::new(&house, seat.clone(), promise.take());
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
                let reason = reason_of(panic.as_ref());
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

struct Player {
    house: House,
    engine: Engine,
    table: Table,
    feed: GameFeed,
    voice: Voice,
    minutes: Minutes,
    thinking: Option<Thinking>,
    /// The lane of the moves.
    posts: FuturesUnordered<BoxFuture<'static, (Ticket, Answer)>>,
    requests: FuturesUnordered<BoxFuture<'static, (Request, Answer)>>,
    warming: FuturesUnordered<BoxFuture<'static, ()>>,
}

/// A search under way; dropping it stops it.
struct Thinking {
    ticket: Ticket,
    search: Search,
    answer: oneshot::Receiver<SearchResult>,
}

impl Player {
    fn new(house: &House, seat: Seat, promise: Option<Promise>) -> Self {
        let engine = house.pool.lease();
        engine.new_game();
        let feed = GameFeed::new(
            house.client.clone(),
            seat.game.clone(),
            house.pace.limited_retry,
            house.roll.clone(),
            house.listeners.clone(),
        );
        let minutes = Minutes::new(house.listeners.chronicle().clone(), &seat.game);
        let voice = Voice::new(house, &seat.game);
        let seat = Seat {
            past: Past {
                opinion: house.shelf.take(&seat.game),
                ..voice.past()
            },
            ..seat
        };
        let player = Self {
            engine,
            table: Table::resume(seat, Arc::clone(&house.settings), house.pace, promise),
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
    async fn next(&mut self, said_over: &Notify) -> Option<Input> {
        let wake_at = self.table.wake_at();
        tokio::select! {
            biased;
            Some((ticket, answer)) = self.posts.next() => Some(Input::Posted { ticket, answer }),
            fed = self.feed.next() => self.fed(fed),
            (ticket, answer) = thought(&mut self.thinking) => self.thought(ticket, answer),
            Some((request, answer)) = self.requests.next() => Some(Input::Asked { request, answer }),
            () = sleep_until(wake_at) => Some(Input::Tick),
            () = said_over.notified() => Some(Input::SaidOver),
            Some(()) = self.warming.next() => None,
        }
    }

    /// Whether no call is under way.
    fn is_idle(&self) -> bool {
        self.posts.is_empty() && self.requests.is_empty()
    }

    fn fed(&mut self, fed: Fed) -> Option<Input> {
        match fed {
            Fed::Line { event, at, opened } => match event {
                GameEvent::Full(full) => {
                    self.minutes.full(&full);
                    self.note_age(&full);
                    self.recall(&full);
                    Some(Input::Full { full, opened, at })
                }
                GameEvent::State(state) => {
                    self.minutes.state();
                    Some(Input::State { state, at })
                }
                GameEvent::OpponentGone(absence) => Some(Input::Gone(absence)),
                GameEvent::Chat(line) => {
                    self.voice.heard(&line);
                    None
                }
                GameEvent::Unknown { .. } => None,
            },
            Fed::Refused => Some(Input::NoStream),
            Fed::Limited(advised) => {
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
    fn thought(&mut self, ticket: Ticket, answer: Option<SearchResult>) -> Option<Input> {
        let thinking = self.thinking.take()?;
        Some(match answer {
            Some(thought) => Input::Thought { ticket, thought },
            None => Input::BestSoFar {
                ticket,
                best: thinking.search.best(),
            },
        })
    }

    fn carry_out(&mut self, actions: Vec<Action>) -> Option<Ending> {
        let mut actions: std::collections::VecDeque<Action> = actions.into();
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Think { ticket, limits } => self.think(ticket, limits),
                Action::Ponder {
                    ticket,
                    reply,
                    limits,
                } => self.ponder(ticket, reply, limits),
                Action::TakeBest { ticket } => {
                    let best = self.thinking.as_ref().and_then(|t| t.search.best());
                    let input = Input::BestSoFar { ticket, best };
                    actions.extend(self.table.apply(input, Instant::now()));
                }
                Action::StopThinking => self.thinking = None,
                Action::Post { ticket, uci, draw } => self.post(ticket, uci, draw),
                Action::Ask(request) => self.ask(request),
                Action::Reopen => self.feed.reopen(),
                Action::Warm => self.warm(),
                Action::Learn(cost) => {
                    self.house.meter.learn(cost);
                    self.house.memory.move_cost(cost);
                    self.minutes.cost(cost);
                    self.house.listeners.tell(BotEvent::Overhead { cost });
                }
                Action::Remember(deed) => self.voice.remember(&self.table, deed),
                Action::Tell(told) => self.tell(told),
                Action::Note(oddity) => {
                    // What the server answered is in the log since it came.
                    if !oddity.is_an_answer() {
                        tracing::warn!(ply = self.table.ply(), "{oddity}");
                    }
                    self.minutes.oddity(&oddity);
                    let game = self.table.seat().game.clone();
                    self.house.listeners.tell(BotEvent::Odd { game, oddity });
                }
                Action::Finish(ending) => return Some(self.finish(ending)),
            }
        }
        None
    }

    fn think(&mut self, ticket: Ticket, limits: Limits) {
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
    fn ponder(&mut self, ticket: Ticket, reply: Move, limits: Limits) {
        self.thinking = None;
        let mut game = self.table.game().clone();
        game.push(reply);
        let search = self.minutes.ponder(&self.engine, &game, limits);
        self.await_thought(ticket, search);
    }

    fn await_thought(&mut self, ticket: Ticket, search: Search) {
        let (hand_over, answer) = oneshot::channel();
        search.on_done(Box::new(move |thought| {
            // Nobody waits any more: the game went on without this search.
            let _ = hand_over.send(thought);
        }));
        self.thinking = Some(Thinking {
            ticket,
            search,
            answer,
        });
    }

    fn post(&self, ticket: Ticket, uci: String, draw: WithDraw) {
        let (client, game) = (self.house.client.clone(), self.table.seat().game.clone());
        let offer = match draw {
            WithDraw::Yes => OfferDraw::Yes,
            WithDraw::No => OfferDraw::No,
        };
        self.posts.push(Box::pin(async move {
            let outcome = client.make_move(&game, &uci, offer).await;
            if let Err(error) = &outcome {
                log_failed(&uci, error);
            }
            (ticket, outcome.into())
        }));
    }

    fn ask(&self, request: Request) {
        let (client, game) = (self.house.client.clone(), self.table.seat().game.clone());
        tracing::debug!(?request, "asking");
        self.requests.push(Box::pin(async move {
            // A courtesy is not worth another call after one too many.
            if let Some(wait) = client.pause(EndpointClass::Act).filter(|_| request.is_courtesy()) {
                return (request, Answer::Limited { wait: Some(wait) });
            }
            let outcome = match request {
                Request::Abort => client.abort(&game).await,
                Request::Resign => client.resign(&game).await,
                Request::AcceptDraw => client.draw(&game, Reply::Yes).await,
                Request::DeclineDraw => client.draw(&game, Reply::No).await,
                Request::AcceptTakeback => client.takeback(&game, Reply::Yes).await,
                Request::DeclineTakeback => client.takeback(&game, Reply::No).await,
                Request::ClaimVictory => client.claim_victory(&game).await,
                Request::ClaimDraw => client.claim_draw(&game).await,
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

    fn tell(&mut self, told: Told) {
        let game = self.table.seat().game.clone();
        match told {
            Told::Joined => {
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
            Told::Standstill => self.say_standstill(game, true),
            Told::Revived => self.say_standstill(game, false),
            Told::Moved(moved) => {
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
        let news = News::Standstill { game, stands };
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
async fn thought(thinking: &mut Option<Thinking>) -> (Ticket, Option<SearchResult>) {
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
