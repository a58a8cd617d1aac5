//! The account's API calls: their order, how many run at once, and their outcomes.
//!
//! Decides nothing, and moves do not pass through here. Calls that hold a slot never wait for
//! declines, and declines to humans go before declines to bots.

use std::collections::VecDeque;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};

use super::account::{AccountEffect, AccountEvent, Decline, OpponentKind};
use super::events::{BotEvent, EventBus};
use super::state::{BotState, QuotaCall as Asking};
use crate::lichess::{ChallengeId, Client, EndpointClass, Error, GameId, UserId};

/// Concurrent calls that hold a slot; the rate limiter delays them further.
const URGENT_AT_ONCE: usize = 8;
/// Maximum number of concurrent declines.
const REFUSALS_AT_ONCE: usize = 2;
/// Queued declines. Beyond that the oldest is dropped, a bot's first: its challenge lapses.
const MOST_REFUSALS: usize = 256;
/// What the archive records for a dropped decline.
const UNSENT: &str = "no decline sent: too many were queued";
/// How long a slot stays taken by a challenge that was withdrawn before the accept. In a storm of
/// challenges created and withdrawn, this gives time to learn of other withdrawals and saves accept
/// calls.
const GONE_REST: Duration = Duration::from_millis(100);
/// How often to send a decline that got no answer or a 429.
const TRIES: u32 = 2;

type PendingCall = BoxFuture<'static, AccountEvent>;

/// Calls in progress and queued calls.
pub(super) struct ApiQueue {
    client: Client,
    listeners: EventBus,
    state: BotState,
    running: FuturesUnordered<PendingCall>,
    refusing: FuturesUnordered<PendingCall>,
    line: WaitingCalls,
}

impl ApiQueue {
    pub(super) fn new(client: Client, listeners: EventBus, state: BotState) -> Self {
        Self {
            client,
            listeners,
            state,
            running: FuturesUnordered::new(),
            refusing: FuturesUnordered::new(),
            line: WaitingCalls::default(),
        }
    }

    pub(super) fn take(&mut self, effect: AccountEffect) {
        if let Some(dropped) = self.line.push(effect) {
            tracing::warn!(challenge = %dropped.id, "decline queue full: one decline dropped");
            self.listeners.event_log().unsent(&dropped, UNSENT);
        }
    }

    /// Drops queued calls for a challenge that is gone.
    pub(super) fn forget(&mut self, id: &ChallengeId) {
        self.line.forget(id);
    }

    /// Starts queued calls while there is room.
    pub(super) fn start(&mut self) {
        while self.running.len() < URGENT_AT_ONCE
            && let Some(effect) = self.line.next_urgent()
        {
            if let Some(call) = self.call(effect) {
                self.running.push(call);
            }
        }
        while self.refusing.len() < REFUSALS_AT_ONCE
            && let Some(refusal) = self.line.next_refusal()
        {
            let (client, listeners) = (self.client.clone(), self.listeners.clone());
            self.refusing
                .push(Box::pin(decline(client, listeners, refusal)));
        }
    }

    /// The next call's outcome; `None` when none is in progress.
    pub(super) async fn next(&mut self) -> Option<AccountEvent> {
        tokio::select! {
            biased;
            Some(news) = self.running.next() => Some(news),
            Some(news) = self.refusing.next() => Some(news),
            else => None,
        }
    }

    /// Whether no call is in progress or queued.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.refusing.is_empty() && self.line.is_empty()
    }

    fn call(&self, effect: AccountEffect) -> Option<PendingCall> {
        let client = self.client.clone();
        let listeners = self.listeners.clone();
        Some(match effect {
            AccountEffect::Play(_) | AccountEffect::GameFinish(_) | AccountEffect::Decline(_) => {
                return None;
            }
            AccountEffect::Accept { id, from, opponent } => {
                let acceptance = AcceptContext {
                    client,
                    listeners,
                    state: self.state.clone(),
                };
                Box::pin(acceptance.accept(id, from, opponent))
            }
            AccountEffect::Cancel(id) => Box::pin(cancel(client, id)),
            AccountEffect::Abort(game) => Box::pin(abort(client, game)),
            AccountEffect::List => Box::pin(list(client)),
            AccountEffect::Waiting => Box::pin(waiting(client)),
        })
    }
}

/// Dependencies of an accept call.
struct AcceptContext {
    client: Client,
    listeners: EventBus,
    state: BotState,
}

impl AcceptContext {
    async fn accept(
        self,
        id: ChallengeId,
        from: OpponentKind,
        opponent: Option<UserId>,
    ) -> AccountEvent {
        tracing::debug!(challenge = %id, "accepting");
        if let Some(opponent) = opponent.as_ref().filter(|_| from.is_bot()) {
            // No game may begin that the daily quota would not know of after a crash.
            self.state.hold_accept(&id, opponent).await;
        }
        let (asked, outcome) = match from {
            OpponentKind::Bot => (Asking::AcceptBot, self.client.accept_bot(&id).await),
            OpponentKind::Human => (Asking::Accept, self.client.accept(&id).await),
        };
        match &outcome {
            Ok(()) => self.listeners.publish(BotEvent::Accepted {
                challenge: id.clone(),
            }),
            Err(error) => {
                if !error.is_rate_limited() {
                    tracing::warn!(challenge = %id, %error, "cannot accept");
                }
                self.state.refused(asked, error, opponent.as_ref());
                if matches!(error, Error::Gone { .. }) {
                    tokio::time::sleep(GONE_REST).await;
                }
            }
        }
        let answer = outcome.into();
        AccountEvent::Accepted { id, answer }
    }
}

async fn decline(client: Client, listeners: EventBus, refusal: Decline) -> AccountEvent {
    let Decline { id, reason, .. } = &refusal;
    let (challenger, why) = (&refusal.challenger, &refusal.why);
    tracing::info!(challenge = %id, %challenger, %reason, why, "declined");
    let mut outcome = client.decline(id, *reason).await;
    for _ in 1..TRIES {
        // After a 429 the rate limiter holds the second attempt for as long as Lichess advised, or
        // refuses it if that is longer than a challenge lives. It holds all other declines
        // meanwhile anyway.
        let again =
            |error: &Error| error.is_transient() || client.pause(EndpointClass::Decline).is_some();
        if !outcome.as_ref().is_err_and(again) {
            break;
        }
        outcome = client.decline(id, *reason).await;
    }
    match outcome {
        Ok(()) => {
            listeners.event_log().declined(&refusal);
            listeners.publish(BotEvent::Declined {
                challenge: id.clone(),
                reason: *reason,
                rule: refusal.rule,
            });
        }
        Err(Error::Gone { .. }) => listeners.event_log().gone(&refusal),
        Err(error) => {
            tracing::debug!(challenge = %id, %error, "cannot decline");
            let trouble = format!("the decline failed: {error}");
            listeners.event_log().unsent(&refusal, &trouble);
        }
    }
    AccountEvent::Tick
}

async fn cancel(client: Client, id: ChallengeId) -> AccountEvent {
    tracing::debug!(challenge = %id, "withdrawing the challenge");
    let outcome = client.cancel(&id).await;
    if let Err(error) = &outcome {
        tracing::debug!(challenge = %id, %error, "cannot withdraw the challenge");
    }
    let answer = outcome.into();
    AccountEvent::Canceled { id, answer }
}

async fn abort(client: Client, game: GameId) -> AccountEvent {
    let outcome = client.abort(&game).await;
    if let Err(error) = &outcome
        && !error.is_rate_limited()
    {
        tracing::warn!(%game, %error, "cannot abort the game; playing it");
    }
    let answer = outcome.into();
    AccountEvent::Aborted { game, answer }
}

async fn list(client: Client) -> AccountEvent {
    match client.playing().await {
        Ok(playing) => AccountEvent::Running(playing.games),
        Err(error) => {
            if !error.is_rate_limited() {
                tracing::warn!(%error, "cannot list the running games");
            }
            AccountEvent::NoList
        }
    }
}

async fn waiting(client: Client) -> AccountEvent {
    match client.challenges().await {
        Ok(challenges) => AccountEvent::Waiting(challenges.incoming),
        Err(error) => {
            tracing::debug!(%error, "cannot list the challenges");
            AccountEvent::Tick
        }
    }
}

/// Calls waiting for their turn. Pure.
#[derive(Debug, Default)]
struct WaitingCalls {
    urgent: VecDeque<AccountEffect>,
    /// Declines to humans first, each kind in order of arrival.
    refusals: VecDeque<Decline>,
}

impl WaitingCalls {
    /// Enqueues a call, unless the same call is queued: the server repeats a challenge whenever the
    /// stream opens, and one list of games is enough.
    ///
    /// Returns the decline dropped for lack of room.
    fn push(&mut self, effect: AccountEffect) -> Option<Decline> {
        match effect {
            AccountEffect::Decline(refusal) => return self.refuse(*refusal),
            known if self.urgent.contains(&known) => {}
            urgent => self.urgent.push_back(urgent),
        }
        None
    }

    fn refuse(&mut self, refusal: Decline) -> Option<Decline> {
        if self.refusals.iter().any(|other| other.id == refusal.id) {
            return None;
        }
        let is_bot = |waiting: &Decline| waiting.from.is_bot();
        let dropped = if self.refusals.len() >= MOST_REFUSALS {
            let bot = self.refusals.iter().position(is_bot);
            self.refusals.remove(bot.unwrap_or(0))
        } else {
            None
        };
        let first_bot = self.refusals.iter().position(is_bot);
        let place = match first_bot {
            Some(place) if !refusal.from.is_bot() => place,
            _ => self.refusals.len(),
        };
        self.refusals.insert(place, refusal);
        dropped
    }

    fn forget(&mut self, gone: &ChallengeId) {
        self.urgent
            .retain(|effect| !matches!(effect, AccountEffect::Accept { id, .. } if id == gone));
        self.refusals.retain(|refusal| refusal.id != *gone);
    }

    fn next_urgent(&mut self) -> Option<AccountEffect> {
        self.urgent.pop_front()
    }

    fn next_refusal(&mut self) -> Option<Decline> {
        self.refusals.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.refusals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::DeclineReason;

    fn refusal(id: usize, from: OpponentKind) -> AccountEffect {
        AccountEffect::Decline(Box::new(Decline {
            id: ChallengeId::new(id.to_string()),
            reason: DeclineReason::Later,
            from,
            challenger: "somebody".to_owned(),
            rule: None,
            why: String::new(),
        }))
    }

    fn refused(line: &mut WaitingCalls) -> Vec<String> {
        std::iter::from_fn(|| line.next_refusal().map(|refusal| refusal.id.to_string())).collect()
    }

    #[test]
    fn humans_get_their_declines_first() {
        let mut line = WaitingCalls::default();
        for (id, from) in [
            (1, OpponentKind::Bot),
            (2, OpponentKind::Human),
            (3, OpponentKind::Bot),
            (4, OpponentKind::Human),
            (2, OpponentKind::Human),
        ] {
            line.push(refusal(id, from));
        }
        assert_eq!(refused(&mut line), ["2", "4", "1", "3"]);
        assert!(line.is_empty());
    }

    #[test]
    fn of_too_many_declines_the_oldest_of_a_bot_is_dropped() {
        let mut line = WaitingCalls::default();
        line.push(refusal(9_000, OpponentKind::Human));
        let mut dropped = Vec::new();
        for id in 0..MOST_REFUSALS + 10 {
            dropped.extend(line.push(refusal(id, OpponentKind::Bot)));
        }
        let dropped: Vec<&str> = dropped.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(
            dropped,
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
        );
        let left = refused(&mut line);
        assert_eq!((left.len(), left[0].as_str()), (MOST_REFUSALS, "9000"));
        assert_eq!(left[1], "11");
    }

    #[test]
    fn a_withdrawn_challenge_gets_no_more_calls() {
        let mut line = WaitingCalls::default();
        let accept = |id: &str| AccountEffect::Accept {
            id: ChallengeId::new(id),
            from: OpponentKind::Human,
            opponent: None,
        };
        for effect in [accept("1"), accept("2"), refusal(3, OpponentKind::Bot)] {
            line.push(effect);
        }
        for gone in ["1", "3", "4"] {
            line.forget(&ChallengeId::new(gone));
        }
        assert_eq!(line.next_urgent(), Some(accept("2")));
        assert!(line.is_empty());
    }

    #[test]
    fn a_queued_call_is_not_queued_twice() {
        let mut line = WaitingCalls::default();
        for _ in 0..9 {
            line.push(AccountEffect::List);
            line.push(AccountEffect::Cancel(ChallengeId::new("o1")));
        }
        assert_eq!(line.next_urgent(), Some(AccountEffect::List));
        assert!(matches!(line.next_urgent(), Some(AccountEffect::Cancel(_))));
        assert_eq!(line.next_urgent(), None);
    }
}
