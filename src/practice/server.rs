//! The server: started with options, controlled by a handle.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::account::{Account, AccountKind};
use super::chaos::injector::run_injections;
use super::chaos::{Faults, Injection};
use super::connection::{Acceptor, ConnectionKiller};
use super::event::Event;
use super::http;
use super::page::{self, Page};
use super::rating::Rating;
use super::report::GameReport;
use super::shared::{SharedServer, run_timer};
use super::sparring_bot::{Partner, SparringBotSpec};
use super::stall_detector;
use super::state::{ServerRules, ServerState};
use super::time::Timing;
use super::traffic_log::Traffic;

/// The scopes of a token with all rights of a bot.
pub const ALL_SCOPES: [&str; 3] = ["bot:play", "challenge:read", "challenge:write"];

/// How long open connections may take to close at shutdown.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on: the loopback by default; port 0 takes a free port.
    pub listen: SocketAddr,
    pub timing: Timing,
    /// Limits that a practice server may switch off.
    pub rules: ServerRules,
    /// The account that visitors of the page play against.
    pub bot: Option<String>,
    /// Random seed: colours, ids, sparring bots.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            timing: Timing::default(),
            rules: ServerRules::default(),
            bot: None,
            seed: fastrand::u64(..),
        }
    }
}

#[derive(Debug)]
pub struct Server;

impl Server {
    /// Listens and serves until the handle is shut down or dropped.
    pub async fn start(options: Options) -> io::Result<ServerHandle> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let state = ServerState::new(url.clone(), options.timing, options.rules, options.seed);
        let stop = CancellationToken::new();
        let (shared, orders) = SharedServer::new(state, stop.clone());
        stall_detector::start_stall_detector(Arc::downgrade(&shared))?;
        let mut tasks = JoinSet::new();
        let time = run_timer(Arc::clone(&shared));
        let server_fault = run_injections(Arc::clone(&shared), orders);
        let quit = stop.clone();
        tasks.spawn(async move {
            quit.run_until_cancelled(async { tokio::join!(time, server_fault) })
                .await;
        });
        let page = Page::new(Arc::clone(&shared), address, options.bot.as_deref());
        let router = http::router(Arc::clone(&shared)).merge(page::router(page));
        let listener = Acceptor {
            listener,
            gate: Arc::clone(&shared.gate),
        };
        tasks.spawn(serve(listener, router, stop.clone()));
        Ok(ServerHandle {
            address,
            url,
            shared,
            stop,
            tasks,
        })
    }
}

async fn serve(listener: Acceptor, router: Router, stop: CancellationToken) {
    let service = router.into_make_service_with_connect_info::<ConnectionKiller>();
    let serving = axum::serve(listener, service).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = serving.await {
        tracing::error!(%error, "the practice server stopped listening");
    }
}

#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    url: String,
    pub(super) shared: Arc<SharedServer>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl ServerHandle {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens a bot account and returns a token for it with every scope.
    ///
    /// `None` if Lichess would not allow the name.
    pub fn open_bot(&self, name: &str) -> Option<String> {
        self.open(name, AccountKind::Bot, &ALL_SCOPES)
    }

    /// Opens an account of any kind and returns a token for it with these scopes.
    pub fn open(&self, name: &str, kind: AccountKind, scopes: &[&str]) -> Option<String> {
        self.shared.with(|state, now| {
            let user = state.open_account(name, kind, now)?;
            let token = state.new_token();
            state.grant(&token, &user, scopes);
            Some(token)
        })
    }

    /// Opens a bot account with this token, or with one of its own if that is empty. `None` if it is no name,
    /// or if name or token belong to another account.
    pub fn open_guest(&self, name: &str, token: &str) -> Option<String> {
        self.shared.with(|state, now| {
            let is_taken = is_reserved(name) || state.account(&name.to_lowercase()).is_some();
            if is_taken || state.owner(token).is_some() {
                return None;
            }
            let user = state.open_account(name, AccountKind::Bot, now)?;
            let own = state.new_token();
            let token = if token.is_empty() { &own } else { token };
            state.grant(token, &user, &ALL_SCOPES);
            Some(token.to_owned())
        })
    }

    /// Gives an account a rating.
    pub fn rate(&self, name: &str, rating: Rating) {
        self.change_account(name, |account| account.rating = rating);
    }

    pub(super) fn change_account(&self, name: &str, change: impl FnOnce(&mut Account)) {
        self.shared.with(|state, _| {
            if let Some(account) = state.account_mut(&name.to_lowercase()) {
                change(account);
            }
        });
    }

    /// Closes or reopens an account.
    pub fn close_account(&self, name: &str, closed: bool) {
        self.change_account(name, |account| account.closed = closed);
    }

    /// Flags an account for a terms of service violation, or removes the flag.
    pub fn mark_account(&self, name: &str, marked: bool) {
        self.change_account(name, |account| account.marked = marked);
    }

    /// Starts the game of a cancelled challenge, as when acceptance and cancellation cross.
    pub fn begin_cancelled(&self, challenge: &str) {
        self.shared
            .with(|state, now| state.begin_cancelled(challenge, now));
    }

    /// Sets whether an account lets its opponents take moves back.
    pub fn allow_takebacks(&self, name: &str, allowed: bool) {
        self.change_account(name, |account| account.takebacks = allowed);
    }

    /// Gives the opponent of `name` more time, as a player on the website can.
    pub fn give_time(&self, name: &str, game: &str, seconds: u32) {
        self.shared.with(|state, now| {
            let user = name.to_lowercase();
            let given = state.act(&user, game, now, |game, side| {
                game.give_time(side, seconds, now);
                Ok(())
            });
            if let Err(error) = given {
                tracing::debug!(?error, "no time given");
            }
        });
    }

    /// Opens an account for a sparring bot, which then accepts what it can play; returns its name.
    /// An existing one stays.
    pub fn add_sparring_bot(&self, partner: Partner, pace: Duration) -> &'static str {
        let spec = SparringBotSpec {
            pace,
            ..SparringBotSpec::new(partner.name(), partner)
        };
        self.shared.add_sparring_bot(&spec);
        partner.name()
    }

    /// Whether an account's event stream is open.
    pub fn is_online(&self, name: &str) -> bool {
        self.shared
            .see(|state, now| state.is_online(&name.to_lowercase(), now))
    }

    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Breaks every stream of the Bot API at once, as a restart of the server does.
    pub fn break_streams(&self) {
        self.shared.break_all();
    }

    /// Injects a fault into a game now.
    pub fn trigger(&self, game: &str, injection: Injection) {
        self.shared.trigger(game, injection);
    }

    /// The client's calls so far, and how long it was without its streams.
    pub fn traffic(&self) -> Traffic {
        self.shared.log.traffic()
    }

    /// Reports of finished games that no schedule has taken, each returned once.
    pub fn take_reports(&self) -> Vec<GameReport> {
        self.shared.take_reports()
    }

    /// All later events.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.news()
    }

    /// Ends every stream, stops listening, and returns when nothing runs any more.
    pub async fn shutdown(mut self) {
        self.shared.close_all();
        self.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE_TIMEOUT, all).await.is_err() {
            self.tasks.abort_all();
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Whether the server itself gives such names, perhaps later: to partners, levels and visitors of the page.
fn is_reserved(name: &str) -> bool {
    // Several of a kind have a number: `Visitor-2`.
    let base = name.split('-').next().unwrap_or_default();
    let mut partners = Partner::all().map(Partner::name);
    partners.any(|it| base.eq_ignore_ascii_case(it)) || base.eq_ignore_ascii_case(page::VISITOR)
}
