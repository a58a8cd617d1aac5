//! The page: opened with a config, served with the sources of its data.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::app_state::{AppState, HttpSources};
use super::listener::{self, Timeouts};
use super::live_updates::LiveUpdates;
use super::routes;
use super::session::{KeyError, Password, Sessions, random_word, read_password};
use crate::config::Panel;

/// Pause before the live updates restart after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot listen at {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The password cannot be used, and there are no random numbers for one that nobody knows.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// An open page: it has its port and answers nothing yet.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
    sessions: Arc<Sessions>,
    config: Panel,
    timeouts: Timeouts,
}

impl Http {
    /// Opens the port, within a runtime; `None` if the config wants no page. If its password cannot be read,
    /// the page is closed until a reload finds one.
    ///
    /// # Errors
    /// When there can be no page.
    pub fn open(config: &Panel) -> Result<Option<Self>, HttpError> {
        let Some(address) = config.listen else {
            return Ok(None);
        };
        let password = match config.token_file.as_deref().map(read_password) {
            None => None,
            Some(Ok(password)) => Some(password),
            Some(Err(error)) => {
                tracing::warn!("the page is closed until a reload finds its password: {error}");
                // That nobody knows: without any, this machine may read everything on the loopback.
                Some(random_word().ok_or(error)?.into())
            }
        };
        let failed = |source| HttpError::Listen { address, source };
        let listener = listener::listen(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Some(Self {
            listener,
            address,
            sessions: Arc::new(Sessions::of(password)),
            config: config.clone(),
            timeouts: Timeouts::default(),
        }))
    }

    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// The password, to be replaced while the page is open.
    pub fn password(&self) -> Password {
        Password {
            sessions: Arc::clone(&self.sessions),
            address: self.address,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves the page for ever.
    pub async fn serve(self, sources: HttpSources) {
        let timeouts = self.timeouts;
        let site = AppState::new(self.address, self.config, self.sessions, timeouts, sources);
        let updates = LiveUpdates::new();
        let router = routes::router(Arc::clone(&site), Arc::clone(&updates));
        // The live updates are a task of their own, so that their panic ends no request.
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let run = || updates.run(&site);
            let control = &site.sources.control;
            control
                .keep_running("the page's live updates", RESTART_PAUSE, run)
                .await;
        });
        listener::serve(self.listener, router, timeouts).await;
    }
}
