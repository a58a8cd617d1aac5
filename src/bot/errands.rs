//! The calls that the lobby asks for: which goes first, how many at once, what came of each.
//!
//! Nothing is decided here and no move passes through: moves have a lane of their own. What a seat
//! depends on never waits for a refusal, and people hear of theirs before bots do.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};

use super::lobby::{Errand, Kind, News, Refusal};
use super::memory::{Call as Asking, Memory};
use super::report::{BotEvent, Listeners};
use crate::lichess::{ChallengeId, Client, Error, GameId, UserId};

/// Calls under way at once on which a seat depends; each waits for the governor besides.
const URGENT_AT_ONCE: usize = 8;
/// Refusals under way at once.
const REFUSALS_AT_ONCE: usize = 2;
/// Refusals that may wait. Beyond, the oldest is not sent, a bot's first: its challenge lapses.
const MOST_REFUSALS: usize = 256;
/// How often a refusal is sent that brings no answer.
const TRIES: u32 = 2;

type Call = BoxFuture<'static, News>;

/// Calls under way and calls that wait for their turn.
pub(super) struct Errands {
    client: Client,
    listeners: Listeners,
    memory: Memory,
    running: FuturesUnordered<Call>,
    refusing: FuturesUnordered<Call>,
    waiting: VecDeque<Errand>,
    refusals: VecDeque<Refusal>,
}

impl Errands {
    pub(super) fn new(client: Client, listeners: Listeners, memory: Memory) -> Self {
        Self {
            client,
            listeners,
            memory,
            running: FuturesUnordered::new(),
            refusing: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            refusals: VecDeque::new(),
        }
    }

    /// Takes in a call.
    pub(super) fn take(&mut self, errand: Errand) {
        match errand {
            Errand::Decline(refusal) => self.refuse(*refusal),
            urgent => self.waiting.push_back(urgent),
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        let is_bot = |waiting: &Refusal| waiting.from.is_bot();
        if self.refusals.len() >= MOST_REFUSALS {
            let bot = self.refusals.iter().position(is_bot);
            self.refusals.remove(bot.unwrap_or(0));
        }
        let place = if refusal.from.is_bot() {
            self.refusals.len()
        } else {
            let first_bot = self.refusals.iter().position(is_bot);
            first_bot.unwrap_or(self.refusals.len())
        };
        self.refusals.insert(place, refusal);
    }

    /// Starts what there is room for.
    pub(super) fn start(&mut self) {
        while self.running.len() < URGENT_AT_ONCE
            && let Some(errand) = self.waiting.pop_front()
        {
            if let Some(call) = self.call(errand) {
                self.running.push(call);
            }
        }
        while self.refusing.len() < REFUSALS_AT_ONCE
            && let Some(refusal) = self.refusals.pop_front()
        {
            let (client, listeners) = (self.client.clone(), self.listeners.clone());
            self.refusing
                .push(Box::pin(decline(client, listeners, refusal)));
        }
    }

    /// What came of a call; nothing when none is under way.
    pub(super) async fn next(&mut self) -> Option<News> {
        tokio::select! {
            biased;
            Some(news) = self.running.next() => Some(news),
            Some(news) = self.refusing.next() => Some(news),
            else => None,
        }
    }

    /// Whether no call is under way or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
            && self.refusing.is_empty()
            && self.waiting.is_empty()
            && self.refusals.is_empty()
    }

    fn call(&self, errand: Errand) -> Option<Call> {
        let client = self.client.clone();
        let listeners = self.listeners.clone();
        Some(match errand {
            Errand::Play(_) | Errand::SaidOver(_) | Errand::Decline(_) => return None,
            Errand::Accept { id, from, opponent } => {
                let acceptance = Acceptor {
                    client,
                    listeners,
                    memory: self.memory.clone(),
                };
                Box::pin(acceptance.accept(id, from, opponent))
            }
            Errand::Cancel(id) => Box::pin(cancel(client, id)),
            Errand::Abort(game) => Box::pin(abort(client, game)),
            Errand::List => Box::pin(list(client)),
        })
    }
}

/// What an acceptance needs.
struct Acceptor {
    client: Client,
    listeners: Listeners,
    memory: Memory,
}

impl Acceptor {
    async fn accept(self, id: ChallengeId, from: Kind, opponent: Option<UserId>) -> News {
        tracing::debug!(challenge = %id, "accepting");
        if let Some(opponent) = opponent.as_ref().filter(|_| from.is_bot()) {
            // A game that the day's budget would not know of after a crash must not begin.
            self.memory.hold_accept(&id, opponent).await;
        }
        let outcome = self.client.accept(&id).await;
        match &outcome {
            Ok(()) => self.listeners.tell(BotEvent::Accepted {
                challenge: id.clone(),
            }),
            Err(error) => {
                tracing::warn!(challenge = %id, %error, "cannot accept");
                self.memory
                    .refused(Asking::Accept, error, opponent.as_ref());
            }
        }
        let answer = outcome.into();
        News::Accepted { id, answer }
    }
}

async fn decline(client: Client, listeners: Listeners, refusal: Refusal) -> News {
    let Refusal { id, reason, .. } = &refusal;
    let (challenger, why) = (&refusal.challenger, &refusal.why);
    tracing::info!(challenge = %id, %challenger, %reason, why, "declined");
    let mut outcome = client.decline(id, *reason).await;
    for _ in 1..TRIES {
        if !outcome.as_ref().is_err_and(Error::is_transient) {
            break;
        }
        outcome = client.decline(id, *reason).await;
    }
    match outcome {
        Ok(()) => listeners.tell(BotEvent::Declined {
            challenge: id.clone(),
            reason: *reason,
            rule: refusal.rule,
        }),
        Err(error) => tracing::debug!(challenge = %id, %error, "cannot decline"),
    }
    News::Tick
}

async fn cancel(client: Client, id: ChallengeId) -> News {
    tracing::debug!(challenge = %id, "taking back our challenge");
    let outcome = client.cancel(&id).await;
    if let Err(error) = &outcome {
        tracing::debug!(challenge = %id, %error, "cannot take back our challenge");
    }
    let answer = outcome.into();
    News::Canceled { id, answer }
}

async fn abort(client: Client, game: GameId) -> News {
    let outcome = client.abort(&game).await;
    if let Err(error) = &outcome {
        tracing::warn!(%game, %error, "cannot call off the game, so it is played");
    }
    let answer = outcome.into();
    News::Aborted { game, answer }
}

async fn list(client: Client) -> News {
    match client.playing().await {
        Ok(playing) => News::Running(playing.games),
        Err(error) => {
            tracing::warn!(%error, "cannot list the running games");
            News::NoList
        }
    }
}
