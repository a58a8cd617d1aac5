//! What all routes share.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::game_queries::GameQueries;
use super::listener::Timeouts;
use super::live_updates::LiveUpdates;
use super::server::HttpSources;
use super::session::Sessions;

/// Pages that may follow the live updates at the same time.
const MOST_STREAMS: usize = 100;

#[derive(Debug)]
pub(super) struct AppState {
    /// Where the page listens.
    pub(super) address: SocketAddr,
    /// Further host names under which it answers.
    pub(super) hosts: Vec<String>,
    pub(super) sessions: Sessions,
    pub(super) timeouts: Timeouts,
    pub(super) sources: HttpSources,
    pub(super) updates: Arc<LiveUpdates>,
    pub(super) queries: GameQueries,
    /// Room for further streams of live updates.
    pub(super) streams: Arc<Semaphore>,
}

/// The state as the routes get it.
pub(super) type Site = Arc<AppState>;

impl AppState {
    pub(super) fn new(
        address: SocketAddr,
        hosts: Vec<String>,
        sessions: Sessions,
        timeouts: Timeouts,
        sources: HttpSources,
    ) -> Site {
        Arc::new(Self {
            address,
            hosts,
            sessions,
            timeouts,
            queries: GameQueries::new(sources.archive.clone()),
            sources,
            updates: LiveUpdates::new(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        })
    }
}
