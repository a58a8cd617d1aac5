//! Misbehaviour on request, for tests of a client: off unless somebody asks.
//!
//! Each fault is used up by the next request or stream it fits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Posting a move.
    Move,
    /// Any other POST at a game: chat, draw, abort, resign and so on.
    Game,
    /// Accepting a challenge.
    Accept,
    /// Declining or cancelling a challenge.
    Decline,
    /// Creating a challenge.
    Create,
    /// Reading the account, or who plays.
    Account,
    /// The event stream.
    Events,
    /// A game stream.
    GameStream,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is carried out, and the connection breaks before the answer.
    LoseReply,
    /// The connection breaks and nothing is done.
    LoseRequest,
    /// Nothing is done; the answer has this status and a body as a proxy writes it.
    Refuse {
        /// The status; 429 comes with JSON, anything else with HTML.
        status: u16,
    },
    /// The request is carried out, and the answer has this status.
    DoneBut {
        /// The status of the answer.
        status: u16,
    },
    /// The request is carried out after a wait.
    Late(Duration),
    /// A stream ends cleanly after so many lines.
    EndAfter(usize),
    /// A stream breaks after so many lines.
    BreakAfter(usize),
    /// A stream falls silent after so many lines, keep-alives included.
    SilentAfter(usize),
    /// A stream sends this line after so many lines.
    SayAfter(usize, String),
}

/// The faults that are still to come.
#[derive(Debug, Default)]
pub struct Faults {
    waiting: Mutex<HashMap<Place, VecDeque<Fault>>>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, HashMap<Place, VecDeque<Fault>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request at `place` that has no other fault before it meets this one.
    pub fn add(&self, place: Place, fault: Fault) {
        self.lock().entry(place).or_default().push_back(fault);
    }

    /// How many are still to come at `place`.
    pub fn waiting(&self, place: Place) -> usize {
        self.lock().get(&place).map_or(0, VecDeque::len)
    }

    pub(crate) fn take(&self, place: Place) -> Option<Fault> {
        self.lock().get_mut(&place)?.pop_front()
    }
}
