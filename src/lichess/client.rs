//! The API client of one account: builds a request, sends it, classifies the reply.
//!
//! The client never retries, with one exception: after a 401 that our name in the user agent may have
//! caused, it repeats the call without the name. A call goes out when the rate limiter permits; a move goes
//! at once; a call that would wait too long fails with the wait.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, WeakShared};
use parking_lot::{Mutex, RwLock};
use reqwest::header::HeaderValue;
use reqwest::{Response, Url};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::call_stats::{CallResult, CallStats};
use super::connect::{Pools, Route};
use super::disconnect::Disconnect;
use super::endpoint_class::EndpointClass;
use super::error::{self, Error};
use super::lenient_json::{self, JsonMismatch};
use super::rate_limit_log::{RateLimitLog, RateLimitedCalls};
use super::rate_limiter::RateLimiter;
use super::request::ApiRequest;
use super::response::{BODY_LIMIT, Body, classify};
use super::timing::Timing;
use super::token::Token;
use super::user_agent::UserAgent;
use super::warn_once::WarnOnce;
use super::wire_log::{WireKind, WireLine, WireLog};

/// After so many consecutive calls without an answer, idle connections count as dead.
const LOST_BEFORE_FRESH: u32 = 2;

#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The address of the server, `https://lichess.org` in production.
    pub base_url: String,
    pub token: Token,
    /// The operator's contact, sent to the server.
    pub contact: Option<String>,
    pub timing: Timing,
}

/// Why a client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("lichess.url {url:?} cannot be used: {problem}")]
    BadUrl { url: String, problem: String },
    #[error("the look-up server {url:?} cannot be used: {problem}")]
    BadLookupUrl { url: String, problem: String },
    #[error("the contact {0:?} cannot be sent: only printable ASCII characters can")]
    BadContact(String),
    #[error("cannot set up connections: {0}")]
    Connections(String),
}

/// The Bot API of one server, for one account. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Client(pub(super) Arc<Inner>);

/// An answer for everyone who asked the question.
type SharedAnswer = BoxFuture<'static, Result<Bytes, Error>>;

pub(super) struct Inner {
    base: Url,
    /// The proxy of the config.
    pub(super) proxy: Option<String>,
    pools: Mutex<Pools>,
    /// Consecutive calls without an answer.
    lost: AtomicU32,
    token: RwLock<Token>,
    timing: Timing,
    pub(super) agent: UserAgent,
    limiter: RateLimiter,
    pub(super) warnings: WarnOnce,
    limited: RateLimitLog,
    /// The questions that wait to go out.
    unsent: Mutex<HashMap<(EndpointClass, Url), WeakShared<SharedAnswer>>>,
    /// When the connection for moves was last used.
    moves_used: Mutex<Option<Instant>>,
    /// Hears the traffic of each game.
    pub(super) wire: WireLog,
    /// Notified by a refusal that may mean that the token or the account is no longer valid, and by another
    /// token.
    doubted: Notify,
    /// Whether there is another token since the last wait for a doubt.
    renewed: AtomicBool,
    /// Consecutive 403 responses to such calls, by class.
    forbidden: Mutex<BTreeMap<EndpointClass, u32>>,
}

impl Client {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When the options cannot be used; says which.
    pub fn new(options: ClientOptions) -> Result<Self, SetupError> {
        Self::through(None, options)
    }

    /// A client whose calls to another machine go through this proxy, else that of the environment.
    ///
    /// # Errors
    /// As for [`Client::new`].
    pub fn through(proxy: Option<&str>, options: ClientOptions) -> Result<Self, SetupError> {
        let base = base_url(&options.base_url)?;
        let agent = UserAgent::new(options.contact.as_deref())
            .ok_or_else(|| SetupError::BadContact(options.contact.clone().unwrap_or_default()))?;
        let route = Route::new(&base, proxy);
        let pools = Pools::new(base.scheme() == "https", &route, &options.timing)
            .map_err(|error| SetupError::Connections(error::describe(&error)))?;
        Ok(Self(Arc::new(Inner {
            base,
            proxy: proxy.map(str::to_owned),
            pools: Mutex::new(pools),
            lost: AtomicU32::new(0),
            token: RwLock::new(options.token),
            limiter: RateLimiter::new(&options.timing),
            timing: options.timing,
            agent,
            warnings: WarnOnce::default(),
            limited: RateLimitLog::default(),
            unsent: Mutex::default(),
            moves_used: Mutex::new(None),
            wire: WireLog::default(),
            doubted: Notify::new(),
            renewed: AtomicBool::new(false),
            forbidden: Mutex::default(),
        })))
    }

    /// Whether this is the token of the calls.
    pub fn uses(&self, token: &Token) -> bool {
        self.0.token.read().expose() == token.expose()
    }

    /// Uses another token from the next call on; open streams go on.
    pub fn renew_token(&self, token: Token) {
        *self.0.token.write() = token;
        self.0.renewed.store(true, Ordering::Relaxed);
        self.0.doubted.notify_one();
    }

    pub(super) fn token(&self) -> Token {
        self.0.token.read().clone()
    }

    pub(super) fn authorization(&self) -> HeaderValue {
        self.0.token.read().header()
    }

    /// Passes the traffic of each game to a listener, which must not wait. Only the first listener
    /// counts.
    pub fn listen_to_wire(&self, listener: impl Fn(WireLine) + Send + Sync + 'static) {
        self.0.wire.listen(Box::new(listener));
    }

    pub fn timing(&self) -> &Timing {
        &self.0.timing
    }

    /// The number of calls of this class that went out.
    pub fn calls(&self, class: EndpointClass) -> u64 {
        self.0.limiter.scheduler.lock().stats().sent(class)
    }

    /// The counters of all classes of calls.
    pub fn stats(&self) -> CallStats {
        self.0.limiter.scheduler.lock().stats().clone()
    }

    /// The rest of the pause of this class of calls, if it pauses.
    pub fn pause(&self, class: EndpointClass) -> Option<Duration> {
        self.0.limiter.scheduler.lock().pause(class, Instant::now())
    }

    /// Waits until [`Client::take_limited`] may have something to return.
    pub async fn limited(&self) {
        self.0.limited.added().await;
    }

    /// The calls refused with 429 since the last call of this method, by class and game.
    pub fn take_limited(&self) -> Vec<RateLimitedCalls> {
        self.0.limited.take()
    }

    /// Waits for a refusal that may mean that the token or the account is no longer valid, or for another
    /// token; returns whether there is one.
    pub async fn doubted(&self) -> bool {
        self.0.doubted.notified().await;
        self.0.renewed.swap(false, Ordering::Relaxed)
    }

    /// The class of calls on games and incoming challenges with the most 403 responses in a row, and their
    /// number.
    pub fn forbidden(&self) -> Option<(EndpointClass, u32)> {
        let forbidden = self.0.forbidden.lock();
        // Who may not make challenges may accept them.
        let counted = forbidden.iter().filter(|it| *it.0 != EndpointClass::Create);
        let most = counted.max_by_key(|(_, times)| **times);
        most.map(|(class, times)| (*class, *times))
    }

    /// Resets these counts.
    pub fn forget_forbidden(&self) {
        self.0.forbidden.lock().clear();
    }

    /// Whether to log a failure that may last: at first, with each other reason, and about every ten minutes.
    pub fn is_news(&self, failure: String) -> bool {
        self.0.warnings.is_due(failure, self.timing().minute * 10)
    }

    /// The proxy of the calls to the server and where it is set, if there is one; without a secret.
    pub fn proxy(&self) -> Option<String> {
        Route::new(&self.0.base, self.0.proxy.as_deref()).proxy(&self.0.base)
    }

    pub fn server(&self) -> &str {
        self.0.base.as_str()
    }

    pub(super) fn get(&self, class: EndpointClass, parts: &[&str]) -> ApiRequest {
        ApiRequest::get(class, self.url(parts))
    }

    pub(super) fn post(&self, class: EndpointClass, parts: &[&str]) -> ApiRequest {
        ApiRequest::post(class, self.url(parts))
    }

    /// The address of a resource; escapes the parts.
    fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.0.base.clone();
        url.path_segments_mut()
            .expect("checked when the client was made")
            .pop_if_empty()
            .extend(parts);
        url
    }

    /// How long the connection for moves has been idle; none if it was never used.
    pub(super) fn moves_idle(&self) -> Option<Duration> {
        let used = *self.0.moves_used.lock();
        used.map(|at| at.elapsed())
    }

    /// Records a use of the connection for moves.
    pub(super) fn use_moves(&self) {
        *self.0.moves_used.lock() = Some(Instant::now());
    }

    fn pool(&self, class: EndpointClass) -> reqwest::Client {
        let is_move = matches!(class, EndpointClass::Move | EndpointClass::Warm);
        if is_move {
            self.use_moves();
        }
        let pools = self.0.pools.lock();
        if is_move { &pools.moves } else { &pools.rest }.clone()
    }

    /// Counts calls without an answer. After a change of network every idle connection is dead and
    /// would cost a call each: after a few such calls all of them are dropped.
    fn count_lost(&self, outcome: CallResult) {
        if outcome != CallResult::Lost {
            return self.0.lost.store(0, Ordering::Relaxed);
        }
        if self.0.lost.fetch_add(1, Ordering::Relaxed) + 1 < LOST_BEFORE_FRESH {
            return;
        }
        self.0.lost.store(0, Ordering::Relaxed);
        let fresh = self.0.pools.lock().fresh(&self.0.timing);
        match fresh {
            Ok(fresh) => {
                *self.0.pools.lock() = fresh;
                *self.0.moves_used.lock() = None;
                tracing::debug!("no answer to several calls: using new connections");
            }
            Err(error) => tracing::warn!(%error, "cannot set up new connections"),
        }
    }

    /// Sends the call, and repeats it without our name if the server may object to the name. A call
    /// that must not be repeated fails instead, and the next repeatable one finds out.
    async fn exchange(&self, call: &ApiRequest) -> Result<Response, Error> {
        let (agent, named) = if call.has_own_token() {
            // It may be of another account.
            (self.0.agent.nameless(), false)
        } else {
            self.0.agent.header()
        };
        let pool = self.pool(call.class);
        let send = |agent| pool.execute(call.request(&self.authorization(), agent));
        let no_answer = |error: reqwest::Error| Error::no_answer(&error.without_url());
        let response = send(agent).await.map_err(no_answer)?;
        if response.status() != 401 || !named || !call.class.is_repeatable() {
            return Ok(response);
        }
        drop(response);
        let scheduler = &self.0.limiter.scheduler;
        scheduler.lock().again(call.class, Instant::now());
        let response = send(self.0.agent.nameless()).await.map_err(no_answer)?;
        if response.status() != 401 {
            self.0.agent.forget_name();
            tracing::warn!(
                status = 401,
                "the server refuses the user agent with our name: sending none"
            );
        }
        Ok(response)
    }

    /// Makes a call and returns the body of the success. Equal questions that wait to go out are one
    /// question.
    pub(super) async fn call(&self, call: ApiRequest) -> Result<Bytes, Error> {
        let Some(question) = call.question() else {
            return self.make(call).await;
        };
        let answer = {
            let mut unsent = self.0.unsent.lock();
            unsent.retain(|_, answer| answer.upgrade().is_some());
            let known = unsent.get(&question).and_then(WeakShared::upgrade);
            known.unwrap_or_else(|| {
                let client = self.clone();
                let answer = async move { client.make(call).await }.boxed().shared();
                unsent.extend(answer.downgrade().map(|answer| (question, answer)));
                answer
            })
        };
        answer.await
    }

    async fn make(&self, call: ApiRequest) -> Result<Bytes, Error> {
        let admitted = self.0.limiter.pass(call.class, call.cost).await;
        if let Some(question) = call.question() {
            self.0.unsent.lock().remove(&question);
        }
        let _admitted = admitted?;
        let begun = Instant::now();
        let time = match call.class {
            EndpointClass::Move | EndpointClass::Answer | EndpointClass::AcceptBot => {
                self.0.timing.move_call
            }
            _ => self.0.timing.call,
        };
        let (wire, game) = (&self.0.wire, call.game.as_ref());
        wire.add(game, WireKind::Out, || call.line());
        let outcome = self.attempt(&call, begun + time).await;
        wire.add(game, WireKind::Answer, || match &outcome {
            Ok(body) => format!("200 {} {}", call.path(), String::from_utf8_lossy(body)),
            Err(error) => {
                let status = error
                    .status()
                    .map_or("-".to_owned(), |status| status.to_string());
                format!("{status} {} {error}", call.path())
            }
        });
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        match &outcome {
            Ok(_) => tracing::debug!(class = ?call.class, ms, "call"),
            Err(error) => tracing::debug!(class = ?call.class, ms, %error, "call failed"),
        }
        self.settle(&call, outcome)
    }

    async fn attempt(&self, call: &ApiRequest, deadline: Instant) -> Result<Bytes, Error> {
        let exchange = tokio::time::timeout_at(deadline.into(), self.exchange(call));
        let late = |_| Error::transient(None, "no answer in time");
        let mut response = exchange.await.map_err(late)??;
        let mut body = Body::default();
        let reading = body.read(&mut response, call.limit);
        // A truncated body is classified by the part that arrived.
        let _ = tokio::time::timeout_at(deadline.into(), reading).await;
        self.classify(call, &response, body)
    }

    /// The body of a success. No error repeats a token, even where the server does.
    fn classify(&self, call: &ApiRequest, response: &Response, body: Body) -> Result<Bytes, Error> {
        let own = self.token();
        let tokens = [Some(&own), call.token.as_ref()].into_iter().flatten();
        let (status, body) = (response.status().as_u16(), tokens.fold(body, Body::without));
        classify(status, response.headers(), body, call.is_command)
    }

    /// Opens a stream. No response within `time` counts as silence of the stream.
    pub(super) async fn open(
        &self,
        call: ApiRequest,
        time: Duration,
    ) -> Result<Response, Disconnect> {
        let admitted = self.0.limiter.pass(call.class, call.cost).await;
        let _admitted = admitted.map_err(Disconnect::Unopened)?;
        let exchange = async {
            let mut response = self.exchange(&call).await?;
            let status = response.status().as_u16();
            if status == 200 && !error::is_html(response.headers(), b"") {
                return Ok(response);
            }
            let mut body = Body::default();
            body.read(&mut response, BODY_LIMIT).await;
            self.classify(&call, &response, body)?;
            let reason = format!("status {status} instead of a stream");
            Err(Error::Protocol { reason })
        };
        let Ok(outcome) = tokio::time::timeout(time, exchange).await else {
            self.0.limiter.ended(call.class, CallResult::Lost);
            self.count_lost(CallResult::Lost);
            return Err(Disconnect::Silent(time));
        };
        self.settle(&call, outcome).map_err(Disconnect::Unopened)
    }

    /// Reports the outcome to the rate limiter, and completes a 429 with the length of the pause.
    fn settle<T>(&self, call: &ApiRequest, outcome: Result<T, Error>) -> Result<T, Error> {
        let class = call.class;
        let error = outcome.as_ref().err();
        let end = error.map_or(CallResult::Done, CallResult::from);
        self.0.limiter.ended(class, end);
        self.count_lost(end);
        // A bot that starts during an outage asks for its account until the server is back.
        let is_waiting = |error: &Error| class == EndpointClass::Account && error.is_transient();
        let is_uncounted = |error: &Error| error.is_unreached() || is_waiting(error);
        if error.is_some_and(is_uncounted) {
            self.0.limiter.scheduler.lock().unsent(class);
        }
        if class.is_play() {
            self.note_refusal(class, error);
        }
        let Err(Error::RateLimited { wait, body }) = outcome else {
            return outcome;
        };
        // The daily limit of games against bots is no limit on calls.
        let wait = if body.is_about_bots() {
            wait
        } else {
            let now = Instant::now();
            let mut scheduler = self.0.limiter.scheduler.lock();
            let pause = scheduler.limited(class, wait, now);
            if body.limit_key().is_none() && scheduler.suspect(class, pause, now) {
                tracing::warn!(
                    ?pause,
                    "two kinds of call are rate limited: everything pauses"
                );
            }
            Some(pause)
        };
        self.0.limited.add(class, call.game.as_ref(), wait, &body);
        // The bot sums all of them up for its log; a move that waits is logged at once too.
        if class == EndpointClass::Move {
            let key = body.limit_key();
            tracing::warn!(status = 429, ?wait, ?key, "rate limited: the move waits");
        }
        Err(Error::RateLimited { wait, body })
    }

    /// Counts 403 responses, and wakes [`Client::doubted`] for any refusal of the account or token.
    fn note_refusal(&self, class: EndpointClass, error: Option<&Error>) {
        match error {
            None => {
                self.0.forbidden.lock().remove(&class);
            }
            Some(error) if error.is_forbidden() => {
                *self.0.forbidden.lock().entry(class).or_default() += 1;
                self.0.doubted.notify_one();
            }
            Some(error) if error.is_unauthorized() => self.0.doubted.notify_one(),
            Some(_) => {}
        }
    }

    /// Makes a call whose response says no more than that it worked.
    pub(super) async fn command(&self, call: ApiRequest) -> Result<(), Error> {
        self.call(call.command()).await.map(drop)
    }

    /// Makes a call whose response is one JSON object.
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: ApiRequest) -> Result<T, Error> {
        let body = self.call(call).await?;
        self.understand(&body)
    }

    /// Makes a call whose response is many objects, one per line or in a JSON array, and skips
    /// malformed ones.
    pub(super) async fn ask_many<T: DeserializeOwned>(
        &self,
        call: ApiRequest,
    ) -> Result<Vec<T>, Error> {
        let body = self.call(call).await?;
        let text = String::from_utf8_lossy(&body);
        let entries: Vec<&str> = match serde_json::from_str::<Vec<&RawValue>>(&text) {
            Ok(entries) => entries.into_iter().map(RawValue::get).collect(),
            Err(_) => text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect(),
        };
        let read_entry = |entry: &str| {
            let read = lenient_json::read::<T>(entry);
            let read = read.map_err(|mismatch| self.warn_of(&[mismatch])).ok()?;
            self.warn_of(&read.dropped);
            Some(read.value)
        };
        Ok(entries.into_iter().filter_map(read_entry).collect())
    }

    pub(super) fn understand<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Error> {
        let text = std::str::from_utf8(body).map_err(|_| Error::Protocol {
            reason: "the answer is not UTF-8".into(),
        })?;
        let read = lenient_json::read::<T>(text).map_err(|mismatch| Error::Protocol {
            reason: mismatch.to_string(),
        })?;
        self.warn_of(&read.dropped);
        Ok(read.value)
    }

    /// Logs each malformed part of a response once.
    fn warn_of(&self, dropped: &[JsonMismatch]) {
        for mismatch in dropped {
            if self.0.warnings.is_new(format!("answer {mismatch}")) {
                let (path, reason) = (&mismatch.path, &mismatch.reason);
                tracing::warn!(%path, %reason, "ignoring a malformed field of a response");
            }
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.0.base.as_str())
            .finish_non_exhaustive()
    }
}

fn base_url(text: &str) -> Result<Url, SetupError> {
    let bad = |problem: &str| SetupError::BadUrl {
        url: text.to_owned(),
        problem: problem.to_owned(),
    };
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it must not hold a user or a password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it must not hold a query or a fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(base_url: &str) -> Result<Client, SetupError> {
        Client::new(ClientOptions {
            base_url: base_url.into(),
            token: Token::parse("lip_verysecret", "here").unwrap(),
            contact: Some("operator@example.org".into()),
            timing: Timing::default(),
        })
    }

    #[test]
    fn the_parts_of_an_address_are_escaped() {
        let client = client("http://127.0.0.1:9/").unwrap();
        let url = client.url(&["api", "bot", "game", "../../x?y#z", "abort"]);
        assert_eq!(url.path(), "/api/bot/game/..%2F..%2Fx%3Fy%23z/abort");
        assert_eq!(url.query(), None);
    }

    #[test]
    fn the_address_of_the_server_may_hold_a_path() {
        let client = client("http://127.0.0.1:9/lichess").unwrap();
        assert_eq!(
            client.url(&["api", "account"]).path(),
            "/lichess/api/account"
        );
    }

    #[test]
    fn an_address_that_cannot_be_used_is_named() {
        for bad in ["lichess.org", "ftp://x", "http://a:b@x", "https://x/?y", ""] {
            let error = client(bad).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("lichess.url {bad:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_token_is_never_shown() {
        let client = client("http://127.0.0.1:9").unwrap();
        let call = ApiRequest::get(EndpointClass::Lookup, client.url(&["api"]));
        let request = call.request(&client.authorization(), HeaderValue::from_static("x"));
        let shown = format!("{client:?} {request:?}");
        assert!(!shown.contains("verysecret"), "{shown}");
    }
}
