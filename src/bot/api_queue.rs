//! The account's API calls: their order, how many run at once, and their outcomes.
//!
//! Decides nothing, and moves do not pass through here. Calls that hold a slot never wait for
//! declines. Declines to humans go first, the newest first: its challenge lives longest. Each call is
//! made once, unless said otherwise; whether to repeat it is the account state's decision.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};

use super::account_event::{AccountEffect, AccountEvent, Decline, NotCreated};
use super::bot_event::BotEvent;
use super::context::BotContext;
use super::event_bus::EventBus;
use super::matchmaking::ChallengeRequest;
use super::quota::OpponentKind;
use super::sleep_until;
use super::state::{BotState, QuotaCall};
use crate::config::foreign_teams;
use crate::lichess::{
    Challenge, ChallengeId, ChallengeStream, ChallengeUpdate, Client, Disconnect, EndpointClass,
    Error, GameId, JoinOptions, UserId,
};

/// Concurrent calls that hold a slot; the rate limiter delays them further.
const URGENT_AT_ONCE: usize = 8;
/// Maximum number of concurrent declines; the rate limiter spaces them out.
const DECLINES_AT_ONCE: usize = 4;
/// Queued declines, each of a few hundred bytes. Beyond that the oldest is dropped, a bot's first.
const MAX_DECLINES: usize = 4096;
/// What the archive records for a dropped decline.
const UNSENT: &str = "no decline sent: too many were queued";
/// And for one whose challenge is no longer open.
const LAPSED: &str = "no decline sent in time";
/// Minutes of the server after which no challenge with a clock is still open: most live for twenty
/// seconds, and their senders may keep them alive for somewhat longer.
const OPEN_MINUTES: u32 = 2;
/// How long to try to decline one without a clock, which stays open for two weeks.
const OPEN_UNCLOCKED: u32 = 24 * 60;
/// How long a slot stays taken by a challenge that was withdrawn before the accept. In a storm of
/// challenges created and withdrawn, this gives time to learn of other withdrawals and saves accept
/// calls.
const GONE_REST: Duration = Duration::from_millis(100);
/// How often to send a decline that got no answer.
const DECLINE_TRIES: u32 = 4;
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

/// The outcome of a call, the call that continues it, and the decline that must be sent again.
struct Finished {
    lane: Lane,
    event: AccountEvent,
    next: Option<BoxFuture<'static, AccountEvent>>,
    again: Option<QueuedDecline>,
}

impl Finished {
    fn new(lane: Lane, event: AccountEvent) -> Self {
        Self {
            lane,
            event,
            next: None,
            again: None,
        }
    }
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
            AccountEffect::Decline(refusal) => {
                let minutes = if refusal.has_clock {
                    OPEN_MINUTES
                } else {
                    OPEN_UNCLOCKED
                };
                let until = Instant::now() + self.client.timing().minute * minutes;
                self.queued.refuse(QueuedDecline {
                    refusal: *refusal,
                    until,
                    tries: 0,
                });
                if let Some(dropped) = self.queued.overflow() {
                    tracing::debug!(challenge = %dropped.id, "decline queue full: one decline dropped");
                    self.event_bus.event_log().unsent(&dropped, UNSENT);
                }
            }
            effect => self.queued.push(effect),
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
        if self.paused().is_some() {
            return;
        }
        while self.in_progress[Lane::Decline as usize] < DECLINES_AT_ONCE
            && let Some(queued) = self.queued.next_decline()
        {
            if queued.until <= Instant::now() {
                self.event_bus.event_log().unsent(&queued.refusal, LAPSED);
                continue;
            }
            let call = decline(self.client.clone(), self.event_bus.clone(), queued);
            self.run(Lane::Decline, call.boxed());
        }
    }

    /// How long queued declines must wait after a 429.
    fn paused(&self) -> Option<Duration> {
        let pause = self.client.pause(EndpointClass::Decline);
        pause.filter(|_| self.queued.has_declines())
    }

    fn start(&mut self, lane: Lane, call: impl Future<Output = AccountEvent> + Send + 'static) {
        let finished = move |event| Finished::new(lane, event);
        self.run(lane, call.map(finished).boxed());
    }

    fn run(&mut self, lane: Lane, call: BoxFuture<'static, Finished>) {
        self.in_progress[lane as usize] += 1;
        self.running.push(call);
    }

    /// The next call's outcome, or the end of a pause; `None` when there is neither to wait for.
    /// Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<AccountEvent> {
        let resume = self.paused().map(|pause| Instant::now() + pause);
        let finished = tokio::select! {
            Some(finished) = self.running.next() => finished,
            () = sleep_until(resume), if resume.is_some() => return Some(AccountEvent::Tick),
            else => return None,
        };
        self.in_progress[finished.lane as usize] -= 1;
        if let Some(next) = finished.next {
            self.start(finished.lane, next);
        }
        if let Some(again) = finished.again {
            self.queued.refuse(again);
        }
        Some(finished.event)
    }

    /// Whether no call that must reach the server is in progress or queued. No end waits for declines
    /// that the server pauses.
    pub(super) fn is_idle(&self) -> bool {
        let must = [Lane::Urgent, Lane::Decline, Lane::Arena];
        must.iter()
            .all(|&lane| self.in_progress[lane as usize] == 0)
            && self.queued.urgent.is_empty()
            && (!self.queued.has_declines() || self.paused().is_some())
    }

    fn urgent(&self, effect: AccountEffect) -> Option<BoxFuture<'static, AccountEvent>> {
        let client = self.client.clone();
        Some(match effect {
            AccountEffect::Accept { id, from, opponent } => {
                let (event_bus, state) = (self.event_bus.clone(), self.state.clone());
                accept(client, event_bus, state, id, from, opponent).boxed()
            }
            AccountEffect::Cancel(id) => cancel(client, self.state.clone(), id).boxed(),
            AccountEffect::Abort(game) => abort(client, self.state.clone(), game).boxed(),
            AccountEffect::List => list(client).boxed(),
            // Polled again soon: calls without an answer must leave room for what cannot wait.
            AccountEffect::Waiting if self.in_progress[Lane::Urgent as usize] < 2 => {
                waiting(client).boxed()
            }
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
                Ok((challenge, stream)) => {
                    let next = outcome(challenge.id.clone(), stream).boxed();
                    (AccountEvent::Created(challenge), Some(next))
                }
                Err(loss) => {
                    if let Disconnect::Unopened(error) = &loss {
                        state.refused(QuotaCall::Challenge, error, Some(&request.to));
                    }
                    tracing::info!(user = %request.to, %loss, "challenge not created");
                    (AccountEvent::NotCreated(NotCreated::from(&loss)), None)
                }
            };
            Finished {
                next,
                ..Finished::new(Lane::Background, event)
            }
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
        Ok(()) => event_bus.publish(BotEvent::Accepted),
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

async fn decline(client: Client, event_bus: EventBus, mut queued: QueuedDecline) -> Finished {
    let Decline { id, reason, .. } = &queued.refusal;
    let log = event_bus.event_log();
    let again = match client.decline(id, *reason).await {
        Ok(()) => {
            let (challenger, why) = (&queued.refusal.challenger, &queued.refusal.why);
            tracing::info!(challenge = %id, %challenger, %reason, why, "declined");
            log.declined(&queued.refusal);
            event_bus.publish(BotEvent::Declined {
                reason: *reason,
                rule: queued.refusal.rule,
            });
            false
        }
        Err(Error::Gone { .. }) => {
            log.gone(&queued.refusal);
            false
        }
        // It waits for the end of the pause, and lapses with its challenge.
        Err(Error::RateLimited { .. }) => true,
        Err(error) => {
            tracing::debug!(challenge = %id, %error, "cannot decline");
            queued.tries += 1;
            let again = error.is_transient() && queued.tries < DECLINE_TRIES;
            if !again {
                let trouble = format!("the decline failed: {error}");
                log.unsent(&queued.refusal, &trouble);
            }
            again
        }
    };
    Finished {
        again: again.then_some(queued),
        ..Finished::new(Lane::Decline, AccountEvent::Tick)
    }
}

async fn cancel(client: Client, state: BotState, id: ChallengeId) -> AccountEvent {
    tracing::debug!(challenge = %id, "withdrawing the challenge");
    // If it was accepted just before, the server aborts its game.
    state.call_off(&id.as_game());
    let outcome = client.cancel(&id).await;
    state.heed_refusal(&id.as_game(), &outcome);
    if let Err(error) = &outcome {
        tracing::debug!(challenge = %id, %error, "cannot withdraw the challenge");
    }
    let answer = outcome.into();
    AccountEvent::Canceled { id, answer }
}

async fn abort(client: Client, state: BotState, game: GameId) -> AccountEvent {
    state.call_off(&game);
    let outcome = client.abort(&game).await;
    state.heed_refusal(&game, &outcome);
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
            if !error.is_rate_limited() && client.is_news(format!("list: {error}")) {
                tracing::warn!(%error, "cannot list the running games");
            }
            AccountEvent::NoList
        }
    }
}

/// Logs why a question got no answer.
fn logged<T>(answer: Result<T, Error>, question: &str) -> Result<T, Error> {
    answer.inspect_err(|error| tracing::debug!(%error, "cannot {question}"))
}

async fn waiting(client: Client) -> AccountEvent {
    let found = logged(client.challenges().await, "list the challenges");
    found.map_or(AccountEvent::Tick, |it| AccountEvent::Waiting(it.incoming))
}

async fn list_bots(client: Client, me: UserId) -> AccountEvent {
    match logged(client.online_bots(MAX_BOTS).await, "list the bots online") {
        Ok(mut bots) => {
            if !bots.iter().any(|bot| bot.id == me) {
                // The bot's rating is needed to find similar opponents; failing that, use the last
                // known one.
                bots.extend(client.account().await.ok());
            }
            AccountEvent::BotsListed(bots)
        }
        Err(error) => AccountEvent::BotsNotListed(error.wait()),
    }
}

async fn look_up(client: Client, users: Vec<UserId>) -> AccountEvent {
    let seen = logged(client.presence(&users).await, "fetch the user status");
    seen.map_or(AccountEvent::UsersNotSeen, AccountEvent::UsersSeen)
}

async fn list_outgoing(client: Client) -> AccountEvent {
    let found = logged(client.challenges().await, "check the challenge");
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
async fn outcome(id: ChallengeId, mut stream: ChallengeStream) -> AccountEvent {
    loop {
        match stream.next().await.map(|update| update.event) {
            Ok(ChallengeUpdate::Done(status)) => return AccountEvent::ChallengeDone { id, status },
            Ok(ChallengeUpdate::Created(_)) => {}
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
        let mut foreign = Vec::new();
        if !teams.is_empty() {
            let ours = client.teams_of(&me).await?;
            foreign = foreign_teams(&teams, &ours);
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
        Ok::<_, Error>((arenas, foreign))
    };
    match arenas.await {
        Ok((arenas, foreign)) => AccountEvent::ArenasListed(arenas, foreign),
        Err(error) => {
            if !error.is_transient()
                && !error.is_rate_limited()
                && client.is_news(format!("arenas: {error}"))
            {
                tracing::warn!(%error, "cannot list the tournaments");
            }
            AccountEvent::ArenasNotListed(error.wait())
        }
    }
}

async fn show_arena(client: Client, id: String) -> AccountEvent {
    match logged(client.arena(&id).await, &format!("fetch the arena {id}")) {
        Ok(arena) => AccountEvent::ArenaShown(Box::new(arena)),
        Err(error) => AccountEvent::ArenaNotShown(id, matches!(error, Error::Gone { .. })),
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

/// A decline that waits for its turn.
#[derive(Debug)]
struct QueuedDecline {
    refusal: Decline,
    /// When its challenge is open no longer.
    until: Instant,
    /// How often it was sent in vain.
    tries: u32,
}

/// Calls that wait for their turn. Pure.
#[derive(Debug, Default)]
struct QueuedCalls {
    urgent: VecDeque<AccountEffect>,
    /// Declines to humans and to bots, each with the newest challenge last.
    declines: [VecDeque<QueuedDecline>; 2],
}

impl QueuedCalls {
    /// Enqueues a call, unless the same call is queued: one list of games is enough.
    fn push(&mut self, effect: AccountEffect) {
        if !self.urgent.contains(&effect) {
            self.urgent.push_back(effect);
        }
    }

    /// Enqueues a decline, unless its challenge has one: the server repeats a challenge whenever the
    /// stream opens. One that failed goes behind all that were not sent yet.
    fn refuse(&mut self, queued: QueuedDecline) {
        let id = &queued.refusal.id;
        let line = &mut self.declines[usize::from(queued.refusal.from.is_bot())];
        if line.iter().any(|other| other.refusal.id == *id) {
            return;
        }
        if queued.tries > 0 {
            line.push_front(queued);
        } else {
            line.push_back(queued);
        }
    }

    /// Of too many declines, removes the oldest of a bot, or else of a human.
    fn overflow(&mut self) -> Option<Decline> {
        let [humans, bots] = &mut self.declines;
        if humans.len() + bots.len() <= MAX_DECLINES {
            return None;
        }
        let dropped = bots.pop_front().or_else(|| humans.pop_front())?;
        Some(dropped.refusal)
    }

    fn next_decline(&mut self) -> Option<QueuedDecline> {
        let [humans, bots] = &mut self.declines;
        humans.pop_back().or_else(|| bots.pop_back())
    }

    fn forget(&mut self, gone: &ChallengeId) {
        self.urgent
            .retain(|effect| !matches!(effect, AccountEffect::Accept { id, .. } if id == gone));
        for line in &mut self.declines {
            line.retain(|queued| queued.refusal.id != *gone);
        }
    }

    fn has_declines(&self) -> bool {
        self.declines.iter().any(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::lichess::{ClientOptions, DeclineReason, Timing, Token};

    fn refusal(id: usize, from: OpponentKind) -> QueuedDecline {
        let refusal = Decline {
            id: ChallengeId::new(id.to_string()),
            reason: DeclineReason::Later,
            from,
            challenger: "nuke".to_owned(),
            has_clock: true,
            rule: None,
            why: String::new(),
        };
        let (until, tries) = (Instant::now(), 0);
        QueuedDecline {
            refusal,
            until,
            tries,
        }
    }

    fn refused(line: &mut QueuedCalls) -> Vec<String> {
        std::iter::from_fn(|| line.next_decline().map(|it| it.refusal.id.to_string())).collect()
    }

    #[test]
    fn humans_get_their_declines_first_and_the_newest_challenge_does() {
        let mut line = QueuedCalls::default();
        for (id, from) in [
            (1, OpponentKind::Bot),
            (2, OpponentKind::Human),
            (3, OpponentKind::Bot),
            (4, OpponentKind::Human),
            (2, OpponentKind::Human),
        ] {
            line.refuse(refusal(id, from));
        }
        assert_eq!(refused(&mut line), ["4", "2", "3", "1"]);
        assert!(!line.has_declines());
    }

    #[test]
    fn a_failed_decline_lets_the_others_go_first() {
        let mut line = QueuedCalls::default();
        for (id, tries) in [(1, 0), (2, 1), (3, 0)] {
            line.refuse(QueuedDecline {
                tries,
                ..refusal(id, OpponentKind::Human)
            });
        }
        assert_eq!(refused(&mut line), ["3", "1", "2"]);
    }

    #[test]
    fn of_too_many_declines_the_oldest_of_a_bot_is_dropped() {
        let mut line = QueuedCalls::default();
        line.refuse(refusal(9_000, OpponentKind::Human));
        let mut dropped = Vec::new();
        for id in 0..MAX_DECLINES + 10 {
            line.refuse(refusal(id, OpponentKind::Bot));
            dropped.extend(line.overflow());
        }
        let dropped: Vec<&str> = dropped.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(
            dropped,
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
        );
        let left = refused(&mut line);
        assert_eq!((left.len(), left[0].as_str()), (MAX_DECLINES, "9000"));
        assert_eq!(left.last().map(String::as_str), Some("11"));
    }

    #[test]
    fn a_withdrawn_challenge_gets_no_more_calls() {
        let mut line = QueuedCalls::default();
        let accept = |id: &str| AccountEffect::Accept {
            id: ChallengeId::new(id),
            from: OpponentKind::Human,
            opponent: None,
        };
        for effect in [accept("1"), accept("2")] {
            line.push(effect);
        }
        line.refuse(refusal(3, OpponentKind::Bot));
        for gone in ["1", "3", "4"] {
            line.forget(&ChallengeId::new(gone));
        }
        assert_eq!(line.urgent.pop_front(), Some(accept("2")));
        assert!(line.urgent.is_empty() && !line.has_declines());
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

    fn queue_for(server: &TcpListener) -> ApiQueue {
        let client = Client::new(ClientOptions {
            base_url: format!("http://{}", server.local_addr().unwrap()),
            token: Token::parse("lip_x", "the test").unwrap(),
            contact: None,
            timing: Timing::default(),
        });
        ApiQueue {
            client: client.unwrap(),
            event_bus: EventBus::default(),
            state: BotState::nowhere(),
            me: UserId::new("me"),
            queued: QueuedCalls::default(),
            running: FuturesUnordered::new(),
            in_progress: [0; 4],
        }
    }

    #[tokio::test]
    async fn polls_without_an_answer_leave_room_for_calls_that_cannot_wait() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut queue = queue_for(&server);
        for _ in 0..2 * URGENT_AT_ONCE {
            queue.push(AccountEffect::Waiting);
            queue.start_queued();
        }
        assert_eq!((queue.running.len(), queue.queued.urgent.len()), (2, 0));
        queue.push(AccountEffect::Abort(GameId::new("q7ZxVt2B")));
        queue.start_queued();
        assert_eq!(queue.running.len(), 3);
    }

    #[tokio::test]
    async fn a_game_counts_as_called_off_from_before_the_abort_on_unless_the_server_refuses_it() {
        let (game, foe) = (GameId::new("q7ZxVt2B"), UserId::new("foe"));
        for (answer, is_no_show) in [
            ("200 OK", false),
            ("400 Bad Request", true),
            ("503 Service Unavailable", false),
        ] {
            let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut queue = queue_for(&server);
            let state = queue.state.clone();
            queue.push(AccountEffect::Abort(game.clone()));
            queue.start_queued();
            let serving = async {
                let (mut stream, _) = server.accept().await.unwrap();
                let mut asked = [0; 4096];
                let read = stream.read(&mut asked).await.unwrap();
                assert!(asked[..read].starts_with(b"POST /api/bot/game/q7ZxVt2B/abort "));
                assert!(!state.no_show(&game, &foe, true), "{answer} is to come");
                let head = "content-type: application/json\r\ncontent-length: 2";
                let answer = format!("HTTP/1.1 {answer}\r\n{head}\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            };
            let (event, ()) = tokio::join!(queue.next(), serving);
            assert!(
                matches!(event, Some(AccountEvent::Aborted { .. })),
                "{event:?}"
            );
            assert_eq!(state.no_show(&game, &foe, true), is_no_show, "{answer}");
        }
    }
}
