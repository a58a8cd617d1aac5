//! The open streams: their readers, and the delivery of outgoing events.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use crate::rules::Color;

use super::chaos::{Channel, StreamFault};
use super::event::Event;
use super::outbox::Outbox;
use super::state::{OutgoingEvent, ServerState};

/// The key by which a game stream replaces an earlier one: game, side and program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GameStreamKey {
    pub(crate) game: String,
    pub(crate) side: Color,
    pub(crate) agent: String,
}

#[derive(Debug)]
pub(crate) struct Streams {
    events: HashMap<String, Arc<Outbox>>,
    games: HashMap<GameStreamKey, Arc<Outbox>>,
    /// Connections that keep a challenge alive, by its id.
    challenges: HashMap<String, Arc<Outbox>>,
    /// Watchers inside the server of changes of a game or challenge.
    watchers: HashMap<String, watch::Sender<u64>>,
    news: broadcast::Sender<Event>,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            events: HashMap::new(),
            games: HashMap::new(),
            challenges: HashMap::new(),
            watchers: HashMap::new(),
            news: broadcast::channel(4096).0,
        }
    }

    /// Opens the event stream of a token; ends the one before it.
    pub(crate) fn open_events(&mut self, token: &str, lines: Vec<String>) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox::holding(lines));
        if let Some(older) = self.events.insert(token.to_owned(), Arc::clone(&outbox)) {
            older.close();
        }
        outbox
    }

    /// Opens a game stream; ends the one with the same key.
    pub(crate) fn open_game(&mut self, key: GameStreamKey, first: String) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox::holding(vec![first]));
        if let Some(older) = self.games.insert(key, Arc::clone(&outbox)) {
            older.close();
        }
        outbox
    }

    pub(crate) fn open_challenge(&mut self, id: &str, first: String) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox::holding(vec![first]));
        self.challenges.insert(id.to_owned(), Arc::clone(&outbox));
        outbox
    }

    /// Removes a stream whose reader has gone.
    pub(crate) fn forget(&mut self, outbox: &Arc<Outbox>) {
        self.events.retain(|_, it| !Arc::ptr_eq(it, outbox));
        self.games.retain(|_, it| !Arc::ptr_eq(it, outbox));
        self.challenges.retain(|_, it| !Arc::ptr_eq(it, outbox));
    }

    /// Changes whenever the game or challenge with this id does.
    pub(crate) fn watch(&mut self, id: &str) -> watch::Receiver<u64> {
        self.watchers
            .retain(|_, watcher| watcher.receiver_count() > 0);
        self.watchers
            .entry(id.to_owned())
            .or_insert_with(|| watch::channel(0).0)
            .subscribe()
    }

    pub(crate) fn news(&self) -> broadcast::Receiver<Event> {
        self.news.subscribe()
    }

    pub(crate) fn close_all(&mut self) {
        let open = self
            .events
            .values()
            .chain(self.games.values())
            .chain(self.challenges.values());
        open.for_each(|outbox| outbox.close());
        self.watchers.clear();
    }

    /// Breaks every stream of the Bot API.
    pub(crate) fn break_all(&mut self) {
        let open = self
            .events
            .values()
            .chain(self.games.values())
            .chain(self.challenges.values());
        open.for_each(|outbox| outbox.break_off());
    }

    /// Injects a fault into the stream of a game, or into every event stream.
    pub(crate) fn stream_fault(
        &mut self,
        game: &str,
        channel: Channel,
        stream_fault: &StreamFault,
    ) {
        match channel {
            Channel::Game => {
                let here = self.games.iter().filter(|(key, _)| key.game == game);
                here.for_each(|(_, outbox)| outbox.stream_fault(stream_fault.clone()));
            }
            Channel::Events => self
                .events
                .values()
                .for_each(|outbox| outbox.stream_fault(stream_fault.clone())),
        }
    }

    pub(crate) fn deliver(&mut self, state: &ServerState, delivery: OutgoingEvent) {
        match delivery {
            OutgoingEvent::Event { user, line } => self.send_to_user(state, &user, &line),
            OutgoingEvent::Game { id, to, line, .. } => {
                let readers = self
                    .games
                    .iter()
                    .filter(|(key, _)| key.game == id && to.is_none_or(|side| side == key.side));
                readers.for_each(|(_, outbox)| outbox.push(line.clone()));
            }
            OutgoingEvent::GameOver { id } => {
                let over = self.games.iter().filter(|(key, _)| key.game == id);
                over.for_each(|(_, outbox)| outbox.close());
            }
            // The shorter list tells them.
            OutgoingEvent::TakenBack { .. } => {}
            OutgoingEvent::Changed { id } => self.notify_watchers(&id),
            OutgoingEvent::ChallengeDone { id, done } => {
                if let Some(outbox) = self.challenges.remove(&id) {
                    outbox.push(format!("{{\"done\":\"{done}\"}}"));
                    outbox.close();
                }
            }
            OutgoingEvent::News(event) => {
                // No receiver is no error.
                let _ = self.news.send(event);
            }
        }
    }

    fn send_to_user(&self, state: &ServerState, user: &str, line: &str) {
        for (token, outbox) in &self.events {
            if state.owner(token) == Some(user) {
                outbox.push(line.to_owned());
            }
        }
    }

    fn notify_watchers(&mut self, id: &str) {
        if let Some(watcher) = self.watchers.get(id) {
            watcher.send_modify(|version| *version += 1);
            if watcher.receiver_count() == 0 {
                self.watchers.remove(id);
            }
        }
    }
}
