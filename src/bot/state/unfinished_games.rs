//! Games whose end is not counted yet, kept across restarts.
//!
//! One note per game, set when the bot agrees to it or it starts, and removed in the transaction
//! that counts its end: a kill in between leaves both or neither. Other modules decide when to look
//! such games up.

use super::bot_state::{BotState, Inner};
use crate::lichess::GameId;
use crate::store::{Change, Timestamp};

/// Key prefix of these notes.
const OPEN: &str = "open ";

/// A game whose end is not counted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedGame {
    pub game: GameId,
    /// When the bot first heard of it.
    pub since: Timestamp,
}

impl BotState {
    /// The game may start from now on, and end unseen.
    pub fn expect_game(&self, game: &GameId) {
        self.change(|inner, now, changes| inner.open(game, now, changes));
    }

    /// Drops a game that never started, or that cannot be looked up.
    pub fn give_game_up(&self, game: &GameId) {
        self.change(|inner, _, changes| inner.close(game, changes));
    }

    /// Whether a game's end is not counted yet.
    pub fn is_open(&self, game: &GameId) -> bool {
        self.look(|inner, _| inner.notes.contains_key(&key(game)))
    }

    /// Games whose end is not counted yet, the oldest first.
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

    /// Rated games of the last day with a counted end but no rating change: the event stream
    /// reports it once, so it can be lost.
    pub fn untold_ratings(&self) -> Vec<UnfinishedGame> {
        self.look(|inner, now| inner.opponents.untold_ratings(now))
    }

    pub fn lacks_rating(&self, game: &GameId) -> bool {
        self.look(|inner, now| inner.opponents.lacks_rating(game, now))
    }
}

impl Inner {
    /// Adds a note for a game, unless it exists or the end is already counted.
    pub(super) fn open(&mut self, game: &GameId, now: Timestamp, changes: &mut Vec<Change>) {
        let key = key(game);
        if self.notes.contains_key(&key) || self.opponents.has_counted(game) {
            return;
        }
        let note = now.as_millis().to_string();
        self.notes.insert(key.clone(), note.clone());
        changes.push(Change::Note(key, Some(note)));
    }

    /// Removes the note of a game.
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
