//! The raw traffic of a game, for whoever records it: lines of its stream, calls, answers.
//!
//! Off until someone listens. It passes copies on and changes nothing; a header is never among them,
//! so neither is the token, and the private id of a game is masked.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::ids::GameId;
use super::warn_once::without_secrets;

/// What a piece of traffic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum WireKind {
    /// The stream of the game is open.
    Open,
    /// A line of that stream.
    In,
    /// The stream was lost: why.
    Lost,
    /// A line of the account's event stream about the game.
    Event,
    /// A call: method, path, and body if it has one.
    Out,
    /// The answer to a call: status, or `-` without one; the call's path; the body or the error.
    Answer,
}

/// A piece of the traffic of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireLine {
    pub game: GameId,
    pub kind: WireKind,
    pub text: String,
}

type Listener = Box<dyn Fn(WireLine) + Send + Sync>;

/// The listener of a client, if it has one. Clones share it.
#[derive(Clone, Default)]
pub(super) struct WireLog(Arc<OnceLock<Listener>>);

impl WireLog {
    /// Sets the listener, once.
    pub(super) fn listen(&self, listener: Listener) {
        let _ = self.0.set(listener);
    }

    /// Passes on what `text` returns, if anyone listens and it concerns a game.
    pub(super) fn add(&self, game: Option<&GameId>, kind: WireKind, text: impl FnOnce() -> String) {
        if let (Some(listener), Some(game)) = (self.0.get(), game) {
            listener(WireLine {
                game: game.clone(),
                kind,
                text: without_secrets(&text()),
            });
        }
    }
}

impl fmt::Debug for WireLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WireLog").finish_non_exhaustive()
    }
}
