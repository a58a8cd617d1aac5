//! The house with its open streams behind one lock, a watch on the wall, and the task that does
//! what is due.
//!
//! The lock is never held across an await; whatever is done under it goes out in the same order to
//! everybody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;

use crate::rules::Color;

use super::denial::Denial;
use super::event::Event;
use super::faults::Faults;
use super::house::House;
use super::mailbox::Mailbox;
use super::streams::{GameStreamKey, Streams};
use super::time::{Millis, Timing};
use super::wire::GameLine;

/// What all requests and partners share.
#[derive(Debug)]
pub(crate) struct Hall {
    inner: Mutex<Inner>,
    opened: Instant,
    opened_at: Millis,
    due_changed: Notify,
    pub(crate) timing: Timing,
    pub(crate) faults: Faults,
}

#[derive(Debug)]
struct Inner {
    house: House,
    streams: Streams,
}

impl Hall {
    pub(crate) fn new(house: House) -> Arc<Self> {
        let epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Arc::new(Self {
            timing: *house.timing(),
            inner: Mutex::new(Inner {
                house,
                streams: Streams::new(),
            }),
            opened: Instant::now(),
            opened_at: Millis(epoch.as_millis() as u64),
            due_changed: Notify::new(),
            faults: Faults::default(),
        })
    }

    pub(crate) fn now(&self) -> Millis {
        self.opened_at + self.opened.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something in the house and hands out what came of it.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut House, Millis) -> T) -> T {
        let now = self.now();
        let mut inner = self.lock();
        let result = action(&mut inner.house, now);
        inner.hand_out();
        drop(inner);
        self.due_changed.notify_one();
        result
    }

    /// Looks at the house without changing it.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&House, Millis) -> T) -> T {
        look(&self.lock().house, self.now())
    }

    /// Opens the event stream of a token.
    pub(crate) fn open_events(&self, token: &str, user: &str) -> Result<Arc<Mailbox>, Denial> {
        let now = self.now();
        let mut inner = self.lock();
        inner.house.open_event_stream(token, now)?;
        let lines = inner
            .house
            .event_snapshot(user, now)
            .iter()
            .map(|event| serde_json::to_string(event).unwrap_or_default())
            .collect();
        Ok(inner.streams.open_events(token, lines))
    }

    /// Opens the stream of a game; a finished game is told whole and ends at once.
    pub(crate) fn open_game(&self, key: GameStreamKey) -> Result<Arc<Mailbox>, Denial> {
        let now = self.now();
        let mut inner = self.lock();
        let table = inner.house.table(&key.game).ok_or_else(Denial::not_found)?;
        let playing = table.round.is_playing();
        let full = GameLine::GameFull(Box::new(House::game_full(&table.round, now)));
        let first = serde_json::to_string(&full).unwrap_or_default();
        let (game, side) = (key.game.clone(), key.side);
        let mailbox = inner.streams.open_game(key, first);
        if playing {
            inner.house.arrive(&game, side, now);
            inner.hand_out();
        } else {
            mailbox.close();
        }
        Ok(mailbox)
    }

    /// Keeps a challenge alive while the stream that this opens is read.
    pub(crate) fn open_challenge(&self, id: &str, first: String) -> Arc<Mailbox> {
        let mut inner = self.lock();
        inner.house.keep_challenge(id);
        inner.streams.open_challenge(id, first)
    }

    pub(crate) fn forget(&self, mailbox: &Arc<Mailbox>) {
        self.lock().streams.forget(mailbox);
    }

    /// The side of `user` in a game, for who is allowed to stream it.
    pub(crate) fn side_at(&self, user: &str, game: &str) -> Result<Color, Denial> {
        self.see(|house, _| house.seat_at(user, game).map(|(_, side)| side))
    }

    pub(crate) fn watch(&self, id: &str) -> watch::Receiver<u64> {
        self.lock().streams.watch(id)
    }

    pub(crate) fn news(&self) -> broadcast::Receiver<Event> {
        self.lock().streams.news()
    }

    pub(crate) fn close_all(&self) {
        self.lock().streams.close_all();
    }

    pub(crate) fn break_all(&self) {
        self.lock().streams.break_all();
    }

    fn next_due(&self) -> Option<Millis> {
        self.lock().house.next_due()
    }
}

impl Inner {
    fn hand_out(&mut self) {
        let deliveries = self.house.take_outbox();
        self.streams.deliver(&self.house, deliveries);
    }
}

/// Wakes the house whenever something is due, for ever.
pub(crate) async fn keep_time(hall: Arc<Hall>) {
    loop {
        let wait = hall
            .next_due()
            .map_or(Duration::from_secs(3600), |due| due - hall.now());
        if wait.is_zero() {
            hall.with(House::tick);
        }
        tokio::select! {
            () = tokio::time::sleep(wait.max(Duration::from_millis(1))) => {}
            () = hall.due_changed.notified() => {}
        }
    }
}
