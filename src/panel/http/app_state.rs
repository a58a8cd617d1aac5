//! What all routes share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::archive_access::ArchiveAccess;
use super::listener::Timeouts;
use super::session::Sessions;
use crate::bot::{ControlHandle, EventLog};
use crate::config::Panel;
use crate::panel::health::Health;
use crate::panel::metrics::Metrics;
use crate::panel::reload::Reload;
use crate::panel::status_poller::StatusWatch;

/// Pages of spectators that may follow them; they take no room of the operator's.
const MOST_SPECTATORS: usize = 60;
/// Requests of spectators that are answered at the same time; the others wait for their turn.
const MOST_SPECTATOR_REQUESTS: usize = 2;
/// Pages that may follow the live updates at the same time.
const MOST_STREAMS: usize = 100;

/// Where the page's data comes from and where its commands go.
#[derive(Clone, Debug)]
pub struct HttpSources {
    pub control: ControlHandle,
    pub reload: Reload,
    pub event_log: EventLog,
    /// The file of the archive, if there is one.
    pub archive: Option<PathBuf>,
    pub watch: StatusWatch,
    pub health: Health,
    pub metrics: Option<Metrics>,
    /// The address of the game server.
    pub server: String,
}

#[derive(Debug)]
pub(super) struct AppState {
    /// Where the page listens.
    pub(super) address: SocketAddr,
    pub(super) config: Panel,
    pub(super) sessions: Arc<Sessions>,
    pub(super) timeouts: Timeouts,
    pub(super) sources: HttpSources,
    pub(super) queries: ArchiveAccess,
    /// Room for further streams of live updates.
    pub(super) streams: Arc<Semaphore>,
    pub(super) spectators: Arc<Semaphore>,
    /// Room for further requests of spectators: however many come at once, moves and the operator do not
    /// wait for them.
    pub(super) spectator_requests: Semaphore,
}

/// The state as the routes get it.
pub(super) type Site = Arc<AppState>;

impl AppState {
    pub(super) fn new(
        address: SocketAddr,
        config: Panel,
        sessions: Arc<Sessions>,
        timeouts: Timeouts,
        sources: HttpSources,
    ) -> Site {
        Arc::new(Self {
            address,
            config,
            sessions,
            timeouts,
            queries: ArchiveAccess::new(sources.archive.clone()),
            sources,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            spectators: Arc::new(Semaphore::new(MOST_SPECTATORS)),
            spectator_requests: Semaphore::new(MOST_SPECTATOR_REQUESTS),
        })
    }
}
