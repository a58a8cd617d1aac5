//! Games whose end is still to be counted, kept over restarts.
//!
//! One note a game, left when we agree to it or it begins, and taken away in the same transaction
//! that counts its end: a kill in between leaves both or neither. Who looks such games up and when
//! is decided elsewhere.

use super::bot_state::{BotState, Inner};
use crate::lichess::GameId;
use crate::store::{Change, Timestamp};

/// What begins the keys of these notes.
const OPEN: &str = "open ";

/// A game whose end is still to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedGame {
    pub game: GameId,
    /// When we first heard of it.
    pub since: Timestamp,
}

impl BotState {
    /// A game may begin from now on, and end while no one looks.
    pub fn expect_game(&self, game: &GameId) {
        self.change(|inner, now, changes| inner.open(game, now, changes));
    }

    /// Nothing comes of a game, or nothing can be found out about it.
    pub fn give_game_up(&self, game: &GameId) {
        self.change(|inner, _, changes| inner.close(game, changes));
    }

    /// Whether a game's end is still to be counted.
    pub fn is_open(&self, game: &GameId) -> bool {
        self.look(|inner, _| inner.notes.contains_key(&key(game)))
    }

    /// The games whose end is still to be counted, the oldest first.
    pub fn open_games(&self) -> Vec<UnfinishedGame> {
        let mut open: Vec<UnfinishedGame> = self.look(|inner, _| {
            let notes = inner.notes.range(OPEN.to_owned()..);
            notes
                .map_while(|(key, since)| {
                    let game = GameId::new(key.strip_prefix(OPEN)?);
                    let since = Timestamp::from_millis(since.parse().unwrap_or(0));
                    Some(UnfinishedGame { game, since })
                })
                .collect()
        });
        open.sort_by_key(|open| open.since);
        open
    }

    /// Rated games of the last day whose end was counted, while no one told what they did to our
    /// rating: that is said once, on the event stream, and lost with it.
    pub fn untold_ratings(&self) -> Vec<UnfinishedGame> {
        self.look(|inner, now| inner.opponents.untold_ratings(now))
    }

    /// Whether a game is one of them.
    pub fn lacks_rating(&self, game: &GameId) -> bool {
        self.look(|inner, now| inner.opponents.lacks_rating(game, now))
    }
}

impl Inner {
    /// Notes a game, unless it is noted or its end is counted already.
    pub(super) fn open(&mut self, game: &GameId, now: Timestamp, changes: &mut Vec<Change>) {
        let key = key(game);
        if self.notes.contains_key(&key) || self.opponents.has_counted(game) {
            return;
        }
        let note = now.as_millis().to_string();
        self.notes.insert(key.clone(), note.clone());
        changes.push(Change::Note(key, Some(note)));
    }

    /// Takes the note of a game away.
    pub(super) fn close(&mut self, game: &GameId, changes: &mut Vec<Change>) {
        let key = key(game);
        if self.notes.remove(&key).is_some() {
            changes.push(Change::Note(key, None));
        }
    }
}

fn key(game: &GameId) -> String {
    format!("{OPEN}{game}")
}
