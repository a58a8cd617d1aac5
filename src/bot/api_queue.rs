//! The account's API calls: their order, how many run at once, and their outcomes.
//!
//! Decides nothing, and moves do not pass through here. Calls that hold a slot never wait for
//! declines, and declines to humans go before declines to bots. Each call is made once, unless said
//! otherwise; whether to repeat it is the account state's decision.

use std::collections::VecDeque;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};

use super::account::OpponentKind;
use super::context::BotContext;
use super::event::{AccountEffect, AccountEvent, Decline, NotCreated};
use super::event_bus::EventBus;
use super::events::BotEvent;
use super::matchmaking::ChallengeRequest;
use super::state::{BotState, QuotaCall};
use crate::lichess::{
    Challenge, ChallengeId, ChallengeStream, ChallengeUpdate, Client, Disconnect, EndpointClass,
    Error, GameId, JoinOptions, Timestamped, UserId,
};

/// Concurrent calls that hold a slot; the rate limiter delays them further.
const URGENT_AT_ONCE: usize = 8;
/// Maximum number of concurrent declines.
const DECLINES_AT_ONCE: usize = 2;
/// Queued declines. Beyond that the oldest is dropped, a bot's first: its challenge lapses.
const MAX_DECLINES: usize = 256;
/// What the archive records for a dropped decline.
const UNSENT: &str = "no decline sent: too many were queued";
/// How long a slot stays taken by a challenge that was withdrawn before the accept. In a storm of
/// challenges created and withdrawn, this gives time to learn of other withdrawals and saves accept
/// calls.
const GONE_REST: Duration = Duration::from_millis(100);
/// How often to send a decline that got no answer or a 429.
const DECLINE_TRIES: u32 = 2;
/// As many bots as the server lists.
const MAX_BOTS: u32 = 512;

/// How a call is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Queued; holds a slot.
    Urgent,
    /// Queued.
    Decline,
    /// Starts at once; the bot does not exit before it is done.
    Arena,
    /// Starts at once; may be dropped.
    Background,
}

/// The outcome of a call, and the call that continues it.
struct Finished {
    lane: Lane,
    event: AccountEvent,
    next: Option<BoxFuture<'static, AccountEvent>>,
}

/// Calls in progress and queued calls.
pub(super) struct ApiQueue {
    client: Client,
    event_bus: EventBus,
    state: BotState,
    me: UserId,
    queued: QueuedCalls,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// How many of them run, by lane.
    in_progress: [usize; 4],
}

impl ApiQueue {
    pub(super) fn new(context: &BotContext, me: UserId) -> Self {
        Self {
            client: context.client.clone(),
            event_bus: context.event_bus.clone(),
            state: context.state.clone(),
            me,
            queued: QueuedCalls::default(),
            running: FuturesUnordered::new(),
            in_progress: [0; 4],
        }
    }

    /// Queues or starts the call of an effect. The effects that are no calls are the event loop's.
    pub(super) fn push(&mut self, effect: AccountEffect) {
        use Lane::{Arena, Background};
        let client = self.client.clone();
        match effect {
            AccountEffect::Create(request) => self.create(*request),
            AccountEffect::ListBots => self.start(Background, list_bots(client, self.me.clone())),
            AccountEffect::LookUp(users) => self.start(Background, look_up(client, users)),
            AccountEffect::ListOutgoing => self.start(Background, list_outgoing(client)),
            AccountEffect::Export(game) => self.start(Background, export(client, game)),
            AccountEffect::ListArenas(teams) => {
                self.start(Arena, list_arenas(client, self.me.clone(), teams));
            }
            AccountEffect::ShowArena(id) => self.start(Arena, show_arena(client, id)),
            AccountEffect::JoinArena(id, options) => {
                self.start(Arena, join_arena(client, id, options));
            }
            AccountEffect::LeaveArena(id) => self.start(Arena, leave_arena(client, id)),
            effect => {
                if let Some(dropped) = self.queued.push(effect) {
                    tracing::warn!(challenge = %dropped.id, "decline queue full: one decline dropped");
                    self.event_bus.event_log().unsent(&dropped, UNSENT);
                }
            }
        }
    }

    /// Drops queued calls for a challenge that is gone.
    pub(super) fn forget(&mut self, id: &ChallengeId) {
        self.queued.forget(id);
    }

    /// Starts queued calls while there is room.
    pub(super) fn start_queued(&mut self) {
        while self.in_progress[Lane::Urgent as usize] < URGENT_AT_ONCE
            && let Some(effect) = self.queued.urgent.pop_front()
        {
            if let Some(call) = self.urgent(effect) {
                self.start(Lane::Urgent, call);
            }
        }
        while self.in_progress[Lane::Decline as usize] < DECLINES_AT_ONCE
            && let Some(refusal) = self.queued.declines.pop_front()
        {
            let call = decline(self.client.clone(), self.event_bus.clone(), refusal);
            self.start(Lane::Decline, call);
        }
    }

    fn start(&mut self, lane: Lane, call: impl Future<Output = AccountEvent> + Send + 'static) {
        let finished = move |event| Finished {
            lane,
            event,
            next: None,
        };
        self.run(lane, call.map(finished).boxed());
    }

    fn run(&mut self, lane: Lane, call: BoxFuture<'static, Finished>) {
        self.in_progress[lane as usize] += 1;
        self.running.push(call);
    }

    /// The next call's outcome; `None` when none is in progress. Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<AccountEvent> {
        let Finished { lane, event, next } = self.running.next().await?;
        self.in_progress[lane as usize] -= 1;
        if let Some(next) = next {
            self.start(lane, next);
        }
        Some(event)
    }

    /// Whether no call that must reach the server is in progress or queued.
    pub(super) fn is_idle(&self) -> bool {
        let must = [Lane::Urgent, Lane::Decline, Lane::Arena];
        must.iter()
            .all(|&lane| self.in_progress[lane as usize] == 0)
            && self.queued.is_empty()
    }

    fn urgent(&self, effect: AccountEffect) -> Option<BoxFuture<'static, AccountEvent>> {
        let client = self.client.clone();
        Some(match effect {
            AccountEffect::Accept { id, from, opponent } => {
                let (event_bus, state) = (self.event_bus.clone(), self.state.clone());
                accept(client, event_bus, state, id, from, opponent).boxed()
            }
            AccountEffect::Cancel(id) => cancel(client, id).boxed(),
            AccountEffect::Abort(game) => abort(client, game).boxed(),
            AccountEffect::List => list(client).boxed(),
            AccountEffect::Waiting => waiting(client).boxed(),
            _ => return None,
        })
    }

    /// Creates a challenge, once its quota spending is on disk. Its stream keeps it alive until its
    /// outcome is known; when the stream breaks it is not reopened, and the event stream tells the
    /// rest.
    fn create(&mut self, request: ChallengeRequest) {
        let (client, state) = (self.client.clone(), self.state.clone());
        let call = async move {
            state.saved().await;
            let (event, next) = match open(&client, &request).await {
                Ok((challenge, stream)) => (
                    AccountEvent::Created(challenge),
                    Some(outcome(stream).boxed()),
                ),
                Err(loss) => {
                    if let Disconnect::Unopened(error) = &loss {
                        state.refused(QuotaCall::Challenge, error, Some(&request.to));
                    }
                    tracing::info!(user = %request.to, %loss, "challenge not created");
                    (AccountEvent::NotCreated(NotCreated::from(&loss)), None)
                }
            };
            let lane = Lane::Background;
            Finished { lane, event, next }
        };
        self.run(Lane::Background, call.boxed());
    }
}

async fn accept(
    client: Client,
    event_bus: EventBus,
    state: BotState,
    id: ChallengeId,
    from: OpponentKind,
    opponent: Option<UserId>,
) -> AccountEvent {
    tracing::debug!(challenge = %id, "accepting");
    if from.is_bot() {
        // No game may begin that the daily quota would not know of after a crash.
        state.saved().await;
    }
    let (call, outcome) = match from {
        OpponentKind::Bot => (QuotaCall::AcceptBot, client.accept_bot(&id).await),
        OpponentKind::Human => (QuotaCall::Accept, client.accept(&id).await),
    };
    match &outcome {
        Ok(()) => event_bus.publish(BotEvent::Accepted {
            challenge: id.clone(),
        }),
        Err(error) => {
            if !error.is_rate_limited() {
                tracing::warn!(challenge = %id, %error, "cannot accept");
            }
            state.refused(call, error, opponent.as_ref());
            if matches!(error, Error::Gone { .. }) {
                tokio::time::sleep(GONE_REST).await;
            }
        }
    }
    let answer = outcome.into();
    AccountEvent::Accepted { id, answer }
}

async fn decline(client: Client, event_bus: EventBus, refusal: Decline) -> AccountEvent {
    let Decline { id, reason, .. } = &refusal;
    let (challenger, why) = (&refusal.challenger, &refusal.why);
    tracing::info!(challenge = %id, %challenger, %reason, why, "declined");
    let mut outcome = client.decline(id, *reason).await;
    for _ in 1..DECLINE_TRIES {
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
            event_bus.event_log().declined(&refusal);
            event_bus.publish(BotEvent::Declined {
                challenge: id.clone(),
                reason: *reason,
                rule: refusal.rule,
            });
        }
        Err(Error::Gone { .. }) => event_bus.event_log().gone(&refusal),
        Err(error) => {
            tracing::debug!(challenge = %id, %error, "cannot decline");
            let trouble = format!("the decline failed: {error}");
            event_bus.event_log().unsent(&refusal, &trouble);
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

async fn list_bots(client: Client, me: UserId) -> AccountEvent {
    match client.online_bots(MAX_BOTS).await {
        Ok(mut bots) => {
            if !bots.iter().any(|bot| bot.id == me) {
                // The bot's rating is needed to find similar opponents; failing that, use the last
                // known one.
                bots.extend(client.account().await.ok());
            }
            AccountEvent::BotsListed(bots)
        }
        Err(error) => {
            tracing::debug!(%error, "cannot list the bots online");
            AccountEvent::BotsNotListed(error.wait())
        }
    }
}

async fn look_up(client: Client, users: Vec<UserId>) -> AccountEvent {
    match client.presence(&users).await {
        Ok(seen) => AccountEvent::UsersSeen(seen),
        Err(error) => {
            tracing::debug!(%error, "cannot fetch the user status");
            AccountEvent::UsersNotSeen
        }
    }
}

async fn list_outgoing(client: Client) -> AccountEvent {
    let found = client.challenges().await;
    if let Err(error) = &found {
        tracing::debug!(%error, "cannot check the challenge");
    }
    AccountEvent::Outgoing(found.ok().map(|found| found.outgoing))
}

/// Creates a challenge; returns it with its stream once the server confirms it.
async fn open(
    client: &Client,
    request: &ChallengeRequest,
) -> Result<(Box<Challenge>, ChallengeStream), Disconnect> {
    let options = request.options();
    let mut stream = client.keep_challenge(&request.to, &options).await?;
    let time = client.timing().call;
    let first = tokio::time::timeout(time, stream.next())
        .await
        .map_err(|_| Disconnect::Silent(time))??;
    match first.event {
        ChallengeUpdate::Created(challenge) => Ok((challenge, stream)),
        // It ended before it began: the event stream knows more.
        ChallengeUpdate::Done(_) => Err(Disconnect::Ended),
    }
}

/// Keeps a challenge alive until its outcome is known.
async fn outcome(mut stream: ChallengeStream) -> AccountEvent {
    loop {
        match stream.next().await {
            Ok(Timestamped {
                event: ChallengeUpdate::Done(status),
                ..
            }) => return AccountEvent::ChallengeDone(status),
            Ok(_) => {}
            Err(loss) => {
                tracing::debug!(%loss, "challenge stream lost");
                return AccountEvent::Tick;
            }
        }
    }
}

async fn list_arenas(client: Client, me: UserId, teams: Vec<String>) -> AccountEvent {
    let arenas = async {
        let public = client.arenas().await?;
        let mut arenas: Vec<_> = public.started.into_iter().chain(public.created).collect();
        if !teams.is_empty() {
            let ours = client.teams_of(&me).await?;
            for team in teams.iter().filter(|team| ours.contains(team)) {
                arenas.extend(client.team_arenas(team).await?);
            }
            // Where no team of ours may play, no other part of the arena counts.
            arenas.retain_mut(|arena| {
                let battle = !arena.entry.teams.is_empty();
                arena.entry.teams.retain(|team| ours.contains(team));
                let admits_team = arena.entry.team.as_ref().is_none_or(|it| ours.contains(it));
                admits_team && battle != arena.entry.teams.is_empty()
            });
        }
        Ok::<_, Error>(arenas)
    };
    match arenas.await {
        Ok(arenas) => AccountEvent::ArenasListed(arenas),
        Err(error) => {
            tracing::debug!(%error, "cannot list the tournaments");
            AccountEvent::ArenasNotListed(error.wait())
        }
    }
}

async fn show_arena(client: Client, id: String) -> AccountEvent {
    match client.arena(&id).await {
        Ok(arena) => AccountEvent::ArenaShown(Box::new(arena)),
        Err(error) => {
            tracing::debug!(arena = id, %error, "cannot fetch the arena");
            AccountEvent::ArenaNotShown(id, matches!(error, Error::Gone { .. }))
        }
    }
}

async fn join_arena(client: Client, id: String, options: JoinOptions) -> AccountEvent {
    let outcome = client.join_arena(&id, &options).await;
    tracing::debug!(arena = id, pair_me = options.pair_me, ?outcome, "joining");
    AccountEvent::ArenaJoined(id, outcome.into())
}

async fn leave_arena(client: Client, id: String) -> AccountEvent {
    let outcome = client.leave_arena(&id).await;
    if let Err(error) = &outcome
        && !error.is_rate_limited()
    {
        tracing::warn!(arena = id, %error, "cannot leave the arena");
    }
    // Leaving an arena that the bot is not in counts as done.
    let again = outcome.is_err_and(|error| error.is_transient() || error.wait().is_some());
    AccountEvent::ArenaLeft(id, !again)
}

async fn export(client: Client, game: GameId) -> AccountEvent {
    let answer = client.export(&game).await.map(Box::new);
    AccountEvent::Exported { game, answer }
}

/// Calls that wait for their turn. Pure.
#[derive(Debug, Default)]
struct QueuedCalls {
    urgent: VecDeque<AccountEffect>,
    /// Declines to humans first, each kind in order of arrival.
    declines: VecDeque<Decline>,
}

impl QueuedCalls {
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
        if self.declines.iter().any(|other| other.id == refusal.id) {
            return None;
        }
        let is_bot = |waiting: &Decline| waiting.from.is_bot();
        let dropped = if self.declines.len() >= MAX_DECLINES {
            let bot = self.declines.iter().position(is_bot);
            self.declines.remove(bot.unwrap_or(0))
        } else {
            None
        };
        let first_bot = self.declines.iter().position(is_bot);
        let place = match first_bot {
            Some(place) if !refusal.from.is_bot() => place,
            _ => self.declines.len(),
        };
        self.declines.insert(place, refusal);
        dropped
    }

    fn forget(&mut self, gone: &ChallengeId) {
        self.urgent
            .retain(|effect| !matches!(effect, AccountEffect::Accept { id, .. } if id == gone));
        self.declines.retain(|refusal| refusal.id != *gone);
    }

    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.declines.is_empty()
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
            challenger: "nuke".to_owned(),
            rule: None,
            why: String::new(),
        }))
    }

    fn refused(line: &mut QueuedCalls) -> Vec<String> {
        std::iter::from_fn(|| {
            line.declines
                .pop_front()
                .map(|refusal| refusal.id.to_string())
        })
        .collect()
    }

    #[test]
    fn humans_get_their_declines_first() {
        let mut line = QueuedCalls::default();
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
        let mut line = QueuedCalls::default();
        line.push(refusal(9_000, OpponentKind::Human));
        let mut dropped = Vec::new();
        for id in 0..MAX_DECLINES + 10 {
            dropped.extend(line.push(refusal(id, OpponentKind::Bot)));
        }
        let dropped: Vec<&str> = dropped.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(
            dropped,
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
        );
        let left = refused(&mut line);
        assert_eq!((left.len(), left[0].as_str()), (MAX_DECLINES, "9000"));
        assert_eq!(left[1], "11");
    }

    #[test]
    fn a_withdrawn_challenge_gets_no_more_calls() {
        let mut line = QueuedCalls::default();
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
        assert_eq!(line.urgent.pop_front(), Some(accept("2")));
        assert!(line.is_empty());
    }

    #[test]
    fn a_queued_call_is_not_queued_twice() {
        let mut line = QueuedCalls::default();
        for _ in 0..9 {
            line.push(AccountEffect::List);
            line.push(AccountEffect::Cancel(ChallengeId::new("o1")));
        }
        assert_eq!(line.urgent.pop_front(), Some(AccountEffect::List));
        assert!(matches!(
            line.urgent.pop_front(),
            Some(AccountEffect::Cancel(_))
        ));
        assert_eq!(line.urgent.pop_front(), None);
    }
}
