//! The page as a whole: opened with a config, served with the ways to the bot.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::app_state::AppState;
use super::listener::{Listener, Timeouts};
use super::routes;
use super::session::{KeyError, Sessions};
use crate::bot::{ControlHandle, EventLog, restart_on_panic};
use crate::config::Panel;
use crate::panel::health::Health;
use crate::panel::metrics::Metrics;
use crate::panel::reload::Reload;
use crate::panel::status_poller::StatusWatch;

/// The pause after a failure of what the page shows, before it is restarted.
const BREATH: Duration = Duration::from_secs(1);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No one can listen there.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Others could come, and there is nothing to tell them from the operator by.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Where the page's news come from, and whom it passes orders on to.
#[derive(Clone, Debug)]
pub struct HttpSources {
    /// The way to the bot.
    pub control: ControlHandle,
    /// Reads the config again.
    pub reload: Reload,
    pub event_log: EventLog,
    /// The file of games that were kept, if they are.
    pub archive: Option<PathBuf>,
    /// How the bot is.
    pub watch: StatusWatch,
    /// Whether the bot is well.
    pub health: Health,
    /// What monitoring systems ask for, where there is any.
    pub metrics: Option<Metrics>,
    /// The address of the server that games are played on.
    pub server: String,
}

/// An open page: the port is taken, nothing is answered yet.
#[derive(Debug)]
pub struct Http {
    door: Listener,
    address: SocketAddr,
    key: Sessions,
    hosts: Vec<String>,
    patience: Timeouts,
}

impl Http {
    /// Takes the port, within a runtime; none where the config wants no page. A password that cannot be read only
    /// keeps everyone from steering, as long as no one can come from another machine.
    ///
    /// # Errors
    /// When there can be no page; says why.
    pub fn open(config: &Panel) -> Result<Option<Self>, HttpError> {
        let Some(address) = config.listen else {
            return Ok(None);
        };
        let key = match config.token_file.as_deref().map(Sessions::read) {
            None => Sessions::none(),
            Some(Ok(key)) => key,
            Some(Err(error)) if address.ip().is_loopback() => {
                tracing::warn!("commands on the page are disabled: {error}");
                Sessions::none()
            }
            Some(Err(error)) => return Err(error.into()),
        };
        let failed = |source| HttpError::Listen { address, source };
        let door = Listener::open(address).map_err(failed)?;
        let address = door.address().map_err(failed)?;
        Ok(Some(Self {
            door,
            address,
            key,
            hosts: config.hosts.clone(),
            patience: Timeouts::default(),
        }))
    }

    /// With other waiting times.
    #[must_use]
    pub fn patient(self, patience: Timeouts) -> Self {
        Self { patience, ..self }
    }

    /// Where a browser finds it.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub async fn serve(self, sources: HttpSources) {
        let site = AppState::new(self.address, self.hosts, self.key, self.patience, sources);
        let router = routes::router(site.clone());
        // A task of its own, which ends with this: a picture that fails takes no request with it.
        let mut pictures = JoinSet::new();
        pictures.spawn(restart_on_panic("the page's pictures", BREATH, move || {
            let (feed, site) = (Arc::clone(site.feed()), site.clone());
            async move { feed.run(site).await }
        }));
        self.door.serve(router, self.patience).await;
    }
}
