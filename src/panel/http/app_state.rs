//! What all addresses share: where the page is, who may steer, and the ways to the bot.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::game_queries::GameQueries;
use super::listener::Timeouts;
use super::live_updates::LiveUpdates;
use super::server::HttpSources;
use super::session::Sessions;

/// Pages that may follow the news at the same time.
const MOST_STREAMS: usize = 100;

/// What all addresses share. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct AppState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    address: SocketAddr,
    hosts: Vec<String>,
    key: Sessions,
    patience: Timeouts,
    sources: HttpSources,
    feed: Arc<LiveUpdates>,
    queries: GameQueries,
    streams: Arc<Semaphore>,
}

impl AppState {
    pub(super) fn new(
        address: SocketAddr,
        hosts: Vec<String>,
        key: Sessions,
        patience: Timeouts,
        sources: HttpSources,
    ) -> Self {
        Self(Arc::new(Inner {
            address,
            hosts,
            key,
            patience,
            queries: GameQueries::new(sources.archive.clone()),
            sources,
            feed: LiveUpdates::new(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }))
    }

    /// Where the page listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Further names under which it may be asked.
    pub(super) fn hosts(&self) -> &[String] {
        &self.0.hosts
    }

    /// The password and the sessions.
    pub(super) fn key(&self) -> &Sessions {
        &self.0.key
    }

    /// How long clients may take.
    pub(super) fn patience(&self) -> Timeouts {
        self.0.patience
    }

    /// What is new, for everyone who looks.
    pub(super) fn feed(&self) -> &Arc<LiveUpdates> {
        &self.0.feed
    }

    /// Games that are over.
    pub(super) fn queries(&self) -> &GameQueries {
        &self.0.queries
    }

    /// A place for a page that follows the news, if there is one.
    pub(super) fn take_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.streams).try_acquire_owned().ok()
    }

    /// Where the page's news come from.
    pub(super) fn sources(&self) -> &HttpSources {
        &self.0.sources
    }
}
