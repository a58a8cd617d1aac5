//! The bot as a whole: who we are, the doorbell, the lobby, and one player for each game.
//!
//! This task answers the door and nothing else; no game waits for it and it waits for no game.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use thiserror::Error;
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::doorbell::{Doorbell, Rung};
use super::lobby::{Errand, Lobby, News};
use super::player::{House, play};
use super::report::{BotEvent, Listeners};
use super::settings::{Pace, Settings};
use super::table::{Ending, Seat};
use crate::engine::Pool;
use crate::lichess::{Account, Client, Error, GameId, GameInfo, StreamLoss, UserId};

/// Calls of the lobby under way at once; moves have their own lane.
const CALLS_AT_ONCE: usize = 4;
/// Calls that may wait for those. Beyond, the oldest refusal is not sent: its challenge lapses.
const MOST_WAITING: usize = 256;

/// What the bot is made of.
#[derive(Clone, Debug)]
pub struct BotOptions {
    /// Speaks to the server.
    pub client: Client,
    /// Thinks.
    pub pool: Pool,
    /// The operator's rules.
    pub settings: Settings,
    /// The bot's own waiting times.
    pub pace: Pace,
    /// Who is told what happens.
    pub listeners: Listeners,
}

/// How the bot is asked to end.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Take nothing new, finish what runs, then end.
    pub drain: CancellationToken,
    /// End now; games under way stay on the server and can be taken up again.
    pub now: CancellationToken,
}

/// Why the bot cannot play at all. Anything that may pass is waited for instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BotError {
    /// The server does not accept the token.
    #[error("the server does not accept the token: {0}")]
    Unauthorized(String),
    /// The token or the account may not do this.
    #[error("the token is not enough to play (it needs the scope bot:play): {0}")]
    Forbidden(String),
    /// The account is a person's.
    #[error("{0} is no bot account: upgrade it first (this cannot be undone)")]
    NotABot(String),
    /// The account is closed.
    #[error("the account {0} is closed")]
    Closed(String),
}

/// Plays until `shutdown` asks it to end.
///
/// # Errors
/// When the account cannot play as it is; nothing that time may heal.
pub async fn run(options: BotOptions, shutdown: Shutdown) -> Result<(), BotError> {
    let identified = tokio::select! {
        biased;
        () = shutdown.now.cancelled() => return Ok(()),
        () = shutdown.drain.cancelled() => return Ok(()),
        account = identify(&options.client) => account?,
    };
    tracing::info!(account = %identified.username, "playing");
    let mut porter = Porter::new(options, identified.id);
    tokio::select! {
        biased;
        () = shutdown.now.cancelled() => Ok(()),
        outcome = porter.run(&shutdown.drain) => outcome,
    }
}

/// Our account, however long the network takes to come.
async fn identify(client: &Client) -> Result<Account, BotError> {
    let timing = client.timing().clone();
    let mut pause = timing.event_backoff;
    loop {
        let error = match client.account().await {
            Ok(account) => return fit_to_play(account),
            Err(error) => error,
        };
        if let Some(fatal) = fatal(&error) {
            return Err(fatal);
        }
        let jittered = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        let wait = jittered.max(error.wait().unwrap_or_default());
        tracing::warn!(%error, ?wait, "cannot reach the server");
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(timing.event_backoff_max);
    }
}

fn fit_to_play(account: Account) -> Result<Account, BotError> {
    if account.disabled {
        return Err(BotError::Closed(account.username));
    }
    if !account.is_bot() {
        return Err(BotError::NotABot(account.username));
    }
    if account.tos_violation {
        tracing::error!(account = %account.username, "the account is marked for breaking the terms");
    }
    Ok(account)
}

fn fatal(error: &Error) -> Option<BotError> {
    if error.is_unauthorized() {
        Some(BotError::Unauthorized(error.to_string()))
    } else if error.is_forbidden() {
        Some(BotError::Forbidden(error.to_string()))
    } else {
        None
    }
}

/// The task at the door.
struct Porter {
    house: House,
    me: UserId,
    lobby: Lobby,
    doorbell: Doorbell,
    games: JoinSet<Ending>,
    players: HashMap<GameId, Arc<Notify>>,
    ids: HashMap<Id, GameId>,
    errands: FuturesUnordered<BoxFuture<'static, Option<News>>>,
    waiting: VecDeque<Errand>,
    let_in: bool,
}

impl Porter {
    fn new(options: BotOptions, me: UserId) -> Self {
        let settings = Arc::new(options.settings);
        let house = House {
            settings: Arc::clone(&settings),
            pace: options.pace,
            listeners: options.listeners,
            pool: options.pool,
            client: options.client,
        };
        Self {
            lobby: Lobby::new(me.clone(), settings, options.pace),
            doorbell: Doorbell::new(house.client.clone()),
            me,
            house,
            games: JoinSet::new(),
            players: HashMap::new(),
            ids: HashMap::new(),
            errands: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            let_in: false,
        }
    }

    async fn run(&mut self, drain: &CancellationToken) -> Result<(), BotError> {
        let mut draining = false;
        loop {
            let wake_at = self.lobby.wake_at();
            let news = tokio::select! {
                biased;
                () = drain.cancelled(), if !draining => {
                    draining = true;
                    Some(News::Drain)
                }
                rung = self.doorbell.next() => self.rung(rung)?,
                Some(news) = self.errands.next() => news,
                Some(left) = self.games.join_next_with_id() => Some(self.left(&left)),
                () = sleep_until(wake_at) => Some(News::Tick),
            };
            if let Some(news) = news {
                for errand in self.lobby.apply(news, Instant::now()) {
                    self.take_errand(errand);
                }
            }
            self.start_errands();
            if draining && self.lobby.is_empty() && self.errands.is_empty() {
                return Ok(());
            }
        }
    }

    fn rung(&mut self, rung: Rung) -> Result<Option<News>, BotError> {
        match rung {
            Rung::Open => {
                self.let_in = true;
                tracing::debug!("the event stream is open");
                self.house.listeners.tell(BotEvent::Online);
                Ok(Some(News::Opened))
            }
            Rung::Line(event) => Ok(Some(News::Event(event))),
            Rung::Lost(loss) => {
                // A door that never opened to this token will not do so later.
                if let (StreamLoss::Unopened(error), false) = (&loss, self.let_in)
                    && let Some(fatal) = fatal(error)
                {
                    return Err(fatal);
                }
                let reason = loss.to_string();
                self.house.listeners.tell(BotEvent::Offline { reason });
                Ok(None)
            }
        }
    }

    /// What concerns a game is done now; calls wait for their turn, acceptances first.
    fn take_errand(&mut self, errand: Errand) {
        match errand {
            Errand::Play(game) => self.seat(*game),
            Errand::SaidOver(game) => {
                if let Some(player) = self.players.get(&game) {
                    player.notify_one();
                }
            }
            Errand::Accept(_) | Errand::List => self.waiting.push_front(errand),
            Errand::Decline(..) => self.waiting.push_back(errand),
        }
        let refusal = |errand: &Errand| matches!(errand, Errand::Decline(..));
        if self.waiting.len() > MOST_WAITING
            && let Some(oldest) = self.waiting.iter().position(refusal)
        {
            self.waiting.remove(oldest);
        }
    }

    fn start_errands(&mut self) {
        while self.errands.len() < CALLS_AT_ONCE
            && let Some(errand) = self.waiting.pop_front()
        {
            if let Some(call) = self.call(errand) {
                self.errands.push(call);
            }
        }
    }

    fn call(&self, errand: Errand) -> Option<BoxFuture<'static, Option<News>>> {
        let client = self.house.client.clone();
        let listeners = self.house.listeners.clone();
        Some(match errand {
            Errand::Play(_) | Errand::SaidOver(_) => return None,
            Errand::Accept(id) => {
                tracing::debug!(challenge = %id, "accepting");
                Box::pin(async move {
                    let outcome = client.accept(&id).await;
                    match &outcome {
                        Ok(()) => listeners.tell(BotEvent::Accepted {
                            challenge: id.clone(),
                        }),
                        Err(error) => tracing::warn!(challenge = %id, %error, "cannot accept"),
                    }
                    let answer = outcome.into();
                    Some(News::Accepted { id, answer })
                })
            }
            Errand::Decline(id, reason) => {
                tracing::debug!(challenge = %id, %reason, "declining");
                Box::pin(async move {
                    match client.decline(&id, reason).await {
                        Ok(()) => listeners.tell(BotEvent::Declined {
                            challenge: id,
                            reason,
                        }),
                        Err(error) => tracing::debug!(challenge = %id, %error, "cannot decline"),
                    }
                    None
                })
            }
            Errand::List => Box::pin(async move {
                match client.playing().await {
                    Ok(playing) => Some(News::Running(playing.games)),
                    Err(error) => {
                        tracing::warn!(%error, "cannot list the running games");
                        Some(News::NoList)
                    }
                }
            }),
        })
    }

    /// Gives a game its one player.
    fn seat(&mut self, game: GameInfo) {
        let id = game.id.clone();
        let seat = Seat {
            game: game.id,
            me: self.me.clone(),
            color: game.color,
            variant: game.variant,
        };
        let said_over = Arc::new(Notify::new());
        self.players.insert(id.clone(), Arc::clone(&said_over));
        let span = tracing::info_span!("game", id = %id);
        let house = self.house.clone();
        let player = play(house, seat, said_over).instrument(span);
        let handle = self.games.spawn(player);
        self.ids.insert(handle.id(), id);
    }

    fn left(&mut self, left: &Result<(Id, Ending), JoinError>) -> News {
        let (task, seen) = match left {
            Ok((task, ending)) => (*task, ending.status.is_some()),
            Err(error) => {
                tracing::error!(%error, "the task of a game ended by itself");
                (error.id(), false)
            }
        };
        match self.ids.remove(&task) {
            Some(game) => {
                self.players.remove(&game);
                News::Left { game, seen }
            }
            None => News::Tick,
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
