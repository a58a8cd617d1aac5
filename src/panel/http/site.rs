//! What all addresses share: where the page is, who may steer, and the ways to the bot.

use std::net::SocketAddr;
use std::sync::Arc;

use super::key::Key;
use super::server::Sources;

/// What all addresses share. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Site(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    address: SocketAddr,
    hosts: Vec<String>,
    key: Key,
    sources: Sources,
}

impl Site {
    pub(super) fn new(address: SocketAddr, hosts: Vec<String>, key: Key, sources: Sources) -> Self {
        Self(Arc::new(Inner {
            address,
            hosts,
            key,
            sources,
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
    pub(super) fn key(&self) -> &Key {
        &self.0.key
    }

    /// Where the page's news come from.
    pub(super) fn sources(&self) -> &Sources {
        &self.0.sources
    }
}
