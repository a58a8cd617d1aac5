//! The calls that the lobby asks for: which goes first, how many at once, what came of each.
//!
//! Nothing is decided here and no move passes through: moves have a lane of their own.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};

use super::lobby::{Errand, News};
use super::report::{BotEvent, Listeners};
use crate::lichess::{ChallengeId, Client, DeclineReason};

/// Calls of the lobby under way at once.
const CALLS_AT_ONCE: usize = 4;
/// Calls that may wait for those. Beyond, the oldest refusal is not sent: its challenge lapses.
const MOST_WAITING: usize = 256;

type Call = BoxFuture<'static, News>;

/// Calls under way and calls that wait for their turn.
pub(super) struct Errands {
    client: Client,
    listeners: Listeners,
    running: FuturesUnordered<Call>,
    waiting: VecDeque<Errand>,
}

impl Errands {
    pub(super) fn new(client: Client, listeners: Listeners) -> Self {
        Self {
            client,
            listeners,
            running: FuturesUnordered::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes in a call; acceptances go before refusals.
    pub(super) fn take(&mut self, errand: Errand) {
        match errand {
            Errand::Decline(..) => self.waiting.push_back(errand),
            _ => self.waiting.push_front(errand),
        }
        let refusal = |errand: &Errand| matches!(errand, Errand::Decline(..));
        if self.waiting.len() > MOST_WAITING
            && let Some(oldest) = self.waiting.iter().position(refusal)
        {
            self.waiting.remove(oldest);
        }
    }

    /// Starts what there is room for.
    pub(super) fn start(&mut self) {
        while self.running.len() < CALLS_AT_ONCE
            && let Some(errand) = self.waiting.pop_front()
        {
            if let Some(call) = self.call(errand) {
                self.running.push(call);
            }
        }
    }

    /// What came of a call; nothing when none is under way.
    pub(super) async fn next(&mut self) -> Option<News> {
        self.running.next().await
    }

    /// Whether no call is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    fn call(&self, errand: Errand) -> Option<Call> {
        let client = self.client.clone();
        let listeners = self.listeners.clone();
        Some(match errand {
            Errand::Play(_) | Errand::SaidOver(_) => return None,
            Errand::Accept(id) => Box::pin(accept(client, listeners, id)),
            Errand::Decline(id, reason) => Box::pin(decline(client, listeners, id, reason)),
            Errand::List => Box::pin(list(client)),
        })
    }
}

async fn accept(client: Client, listeners: Listeners, id: ChallengeId) -> News {
    tracing::debug!(challenge = %id, "accepting");
    let outcome = client.accept(&id).await;
    match &outcome {
        Ok(()) => listeners.tell(BotEvent::Accepted {
            challenge: id.clone(),
        }),
        Err(error) => tracing::warn!(challenge = %id, %error, "cannot accept"),
    }
    let answer = outcome.into();
    News::Accepted { id, answer }
}

async fn decline(
    client: Client,
    listeners: Listeners,
    id: ChallengeId,
    reason: DeclineReason,
) -> News {
    tracing::debug!(challenge = %id, %reason, "declining");
    match client.decline(&id, reason).await {
        Ok(()) => listeners.tell(BotEvent::Declined {
            challenge: id,
            reason,
        }),
        Err(error) => tracing::debug!(challenge = %id, %error, "cannot decline"),
    }
    News::Tick
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
