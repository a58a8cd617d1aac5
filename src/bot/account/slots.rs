//! Slots: how many there are, and which games use them.
//!
//! Data and counting only. A correspondence game takes no slot.

use std::collections::BTreeMap;

use crate::lichess::{GameId, Player, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpponentKind {
    /// A human, named or anonymous.
    Human,
    Bot,
}

impl OpponentKind {
    /// The opponent kind of a player.
    pub fn of(player: Option<&Player>) -> Self {
        if player.is_some_and(Player::is_bot) {
            Self::Bot
        } else {
            Self::Human
        }
    }

    pub fn is_bot(self) -> bool {
        self == Self::Bot
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotLimits {
    pub(super) all: usize,
    /// Slots that bots never get.
    pub(super) for_humans: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotUsage {
    pub(super) all: usize,
    pub(super) bots: usize,
}

impl SlotUsage {
    pub(super) fn add(&mut self, kind: OpponentKind) {
        self.all += 1;
        self.bots += usize::from(kind.is_bot());
    }
}

impl SlotLimits {
    /// Free slots for this kind.
    pub(super) fn room(self, kind: OpponentKind, taken: SlotUsage) -> usize {
        let free = self.all.saturating_sub(taken.all);
        match kind {
            OpponentKind::Human => free,
            OpponentKind::Bot => {
                let for_bots = self.all.saturating_sub(self.for_humans);
                free.min(for_bots.saturating_sub(taken.bots))
            }
        }
    }
}

/// A game with a game task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveGame {
    pub(super) opponent: Option<UserId>,
    pub(super) kind: OpponentKind,
    /// A stalled game: has a game task but no slot.
    pub(super) still: bool,
}

/// The games with a game task.
#[derive(Debug, Default)]
pub(super) struct ActiveGames(BTreeMap<GameId, ActiveGame>);

impl ActiveGames {
    pub(super) fn insert(&mut self, id: GameId, game: ActiveGame) {
        self.0.insert(id, game);
    }

    pub(super) fn remove(&mut self, id: &GameId) {
        self.0.remove(id);
    }

    /// Marks a game as stalled or moving again.
    pub(super) fn stand(&mut self, id: &GameId, still: bool) {
        if let Some(game) = self.0.get_mut(id) {
            game.still = still;
        }
    }

    pub(super) fn contains(&self, id: &GameId) -> bool {
        self.0.contains_key(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &GameId> {
        self.0.keys()
    }

    pub(super) fn count(&self, tally: &mut SlotUsage) {
        let with_slot = self.0.values().filter(|game| !game.still);
        with_slot.for_each(|game| tally.add(game.kind));
    }

    /// Games with this opponent.
    pub(super) fn with(&self, opponent: &UserId) -> u32 {
        let theirs = |game: &&ActiveGame| game.opponent.as_ref() == Some(opponent);
        u32::try_from(self.0.values().filter(theirs).count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(all: usize, bots: usize) -> SlotUsage {
        SlotUsage { all, bots }
    }

    #[test]
    fn a_stalled_game_takes_no_slot_until_it_continues() {
        let (id, mut games) = (GameId::new("g1"), ActiveGames::default());
        let game = ActiveGame {
            opponent: None,
            kind: OpponentKind::Bot,
            still: false,
        };
        games.insert(id.clone(), game);
        let mut taken = |still| {
            games.stand(&id, still);
            let mut tally = SlotUsage::default();
            games.count(&mut tally);
            tally.all
        };
        assert_eq!([taken(false), taken(true), taken(false)], [1, 0, 1]);
    }

    #[test]
    fn bots_never_get_slots_reserved_for_humans() {
        let plan = SlotLimits {
            all: 4,
            for_humans: 1,
        };
        assert_eq!(plan.room(OpponentKind::Bot, tally(0, 0)), 3);
        assert_eq!(plan.room(OpponentKind::Bot, tally(3, 3)), 0);
        assert_eq!(plan.room(OpponentKind::Human, tally(3, 3)), 1);
        assert_eq!(plan.room(OpponentKind::Bot, tally(2, 0)), 2);
        assert_eq!(plan.room(OpponentKind::Human, tally(9, 0)), 0);
    }

    #[test]
    fn slots_for_humans_only_leave_no_room_for_bots() {
        let plan = SlotLimits {
            all: 2,
            for_humans: 5,
        };
        assert_eq!(plan.room(OpponentKind::Bot, SlotUsage::default()), 0);
        assert_eq!(plan.room(OpponentKind::Human, SlotUsage::default()), 2);
    }
}
