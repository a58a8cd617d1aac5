//! The players of a worker, started on demand and restarted after a crash.

use std::time::Duration;

use super::error::MatchError;
use super::internal_engine::{EngineSettings, InternalEngine, check};
use super::player::Player;
use super::spec::PlayerSpec;
use super::uci_engine::UciEngine;

/// The consecutive failed starts after which a player is given up.
const ATTEMPTS: usize = 3;

/// The recipe for a player, checked without starting it.
#[derive(Clone, Debug)]
pub(super) struct PlayerFactory {
    spec: PlayerSpec,
    inside: Option<EngineSettings>,
    watchdog: Duration,
}

impl PlayerFactory {
    pub(super) fn new(spec: &PlayerSpec, watchdog: Duration) -> Result<Self, MatchError> {
        let inside = if spec.is_inside() {
            Some(check(&spec.to_string(), &spec.options)?)
        } else {
            None
        };
        Ok(Self {
            spec: spec.clone(),
            inside,
            watchdog,
        })
    }

    fn make(&self) -> Result<Box<dyn Player>, String> {
        match &self.inside {
            Some(settings) => Ok(Box::new(InternalEngine::new(settings))),
            None => Ok(Box::new(UciEngine::start(
                &self.spec.kind,
                &self.spec.options,
                self.watchdog,
            )?)),
        }
    }
}

/// One player of one worker.
pub(super) struct PlayerSlot {
    factory: PlayerFactory,
    player: Option<Box<dyn Player>>,
    has_played: bool,
}

impl PlayerSlot {
    pub(super) fn new(factory: PlayerFactory) -> Self {
        Self {
            factory,
            player: None,
            has_played: false,
        }
    }

    /// The player, which this starts if necessary.
    pub(super) fn fill(&mut self) -> Result<&mut dyn Player, MatchError> {
        let attempts = if self.has_played { ATTEMPTS } else { 1 };
        let player = match self.player.take() {
            Some(player) => player,
            None => self.start(attempts)?,
        };
        self.has_played = true;
        Ok(&mut **self.player.insert(player))
    }

    fn start(&self, attempts: usize) -> Result<Box<dyn Player>, MatchError> {
        let mut made = self.factory.make();
        for _ in 1..attempts {
            if made.is_ok() {
                break;
            }
            made = self.factory.make();
        }
        made.map_err(|reason| MatchError::Player {
            name: self.factory.spec.to_string(),
            reason,
        })
    }

    /// Discards a broken player, so that the next game starts a new one.
    pub(super) fn clear(&mut self) {
        self.player = None;
    }
}
