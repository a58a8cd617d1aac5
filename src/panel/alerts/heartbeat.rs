//! The heartbeat: a request to an outside watcher each minute while the bot is ready. A dead machine sends no
//! message; the watcher notices that the heartbeat is missing.

use std::time::Duration;

use tokio::sync::watch;

use super::address::Delivery;
use crate::lichess::HttpFetcher;

/// Time between two requests.
const EVERY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Heartbeat {
    delivery: watch::Receiver<Delivery>,
    fetcher: HttpFetcher,
    every: Duration,
}

impl Heartbeat {
    pub(super) fn new(delivery: watch::Receiver<Delivery>, fetcher: HttpFetcher) -> Self {
        Self {
            delivery,
            fetcher,
            every: EVERY,
        }
    }

    /// Runs for ever.
    pub(super) async fn run(mut self, is_ready: impl Fn() -> bool) {
        let mut failing = false;
        loop {
            let address = self.delivery.borrow_and_update().heartbeat.clone();
            if let Some(address) = address.filter(|_| is_ready()) {
                let host = address.host();
                match self.fetcher.visit(address.expose()).await {
                    Ok(()) => failing = false,
                    Err(error) if !std::mem::replace(&mut failing, true) => {
                        tracing::warn!(host, %error, "the heartbeat does not arrive");
                    }
                    Err(_) => {}
                }
            }
            tokio::time::sleep(self.every).await;
        }
    }

    /// With another interval, for tests.
    #[cfg(test)]
    pub(super) fn each(self, every: Duration) -> Self {
        Self { every, ..self }
    }
}
