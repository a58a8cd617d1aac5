//! What all routes share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::archive_access::ArchiveAccess;
use super::listener::Timeouts;
use super::session::Sessions;
use crate::bot::{ControlHandle, EventLog};
use crate::panel::health::Health;
use crate::panel::metrics::Metrics;
use crate::panel::reload::Reload;
use crate::panel::status_poller::StatusWatch;

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
    /// Further host names under which it answers.
    pub(super) hosts: Vec<String>,
    pub(super) sessions: Sessions,
    pub(super) timeouts: Timeouts,
    pub(super) sources: HttpSources,
    pub(super) queries: ArchiveAccess,
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
            queries: ArchiveAccess::new(sources.archive.clone()),
            sources,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        })
    }
}
