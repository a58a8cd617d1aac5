//! What the opening explorer says about positions, and what our own search thinks of it: bounded, aged.
//!
//! Pure. A move counts as approved only if our search has looked at it and found that it costs little; a
//! move of an explorer alone is never played.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::engine::Score;
use crate::lichess::{ExplorerReply, UserId};
use crate::rules::{Move, Position};

/// Moves of a position that our search looks at, the most frequent first.
pub(super) const MOST_CANDIDATES: usize = 5;
/// More moves than any position has.
const MOST_MOVES: usize = 256;

/// A position, without its counters; with a player, only the games of that player count.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExploredKey {
    pub(super) fen: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    player: Option<UserId>,
}

/// One position of the explorer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExploredPosition {
    #[serde(flatten)]
    pub key: ExploredKey,
    /// When it was read, in seconds since 1970.
    pub at: u64,
    pub moves: Vec<PlayedMove>,
    /// What our search thinks of the moves; `None` before it has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<CheckedMoves>,
}

/// A move with the number of its games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedMove {
    pub uci: String,
    pub games: u64,
}

/// The result of our search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedMoves {
    /// Centipawns that an approved move may cost; what was checked with another number counts as unchecked.
    #[serde(default)]
    pub loss: u32,
    /// Its own choice.
    pub best: Option<String>,
    /// The moves that may be played.
    pub approved: Vec<String>,
    /// The moves that must not be.
    pub refused: Vec<String>,
}

/// Why a reply of the explorer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WrongExplorerReply {
    #[error("the move {0:?} is not legal")]
    IllegalMove(String),
    #[error("the move {0} is listed twice")]
    RepeatedMove(Move),
    #[error("it lists {0} moves")]
    TooMany(usize),
}

impl ExploredKey {
    pub fn new(position: &Position, player: Option<&UserId>) -> Self {
        let fen = position.fen();
        let fields: Vec<&str> = fen.split(' ').take(4).collect();
        Self {
            fen: fields.join(" "),
            player: player.cloned(),
        }
    }
}

/// The moves of a reply, most frequent first, after a check of each.
pub fn played_moves(
    position: &Position,
    reply: &ExplorerReply,
) -> Result<Vec<PlayedMove>, WrongExplorerReply> {
    if reply.moves.len() > MOST_MOVES {
        return Err(WrongExplorerReply::TooMany(reply.moves.len()));
    }
    let mut played: Vec<PlayedMove> = Vec::new();
    for entry in &reply.moves {
        let shown = || WrongExplorerReply::IllegalMove(entry.uci.chars().take(10).collect());
        let mv = position.parse_uci(&entry.uci).map_err(|_| shown())?;
        let uci = mv.to_string();
        if played.iter().any(|known| known.uci == uci) {
            return Err(WrongExplorerReply::RepeatedMove(mv));
        }
        let games = entry.games();
        played.push(PlayedMove { uci, games });
    }
    played.sort_by_key(|entry| std::cmp::Reverse(entry.games));
    Ok(played)
}

/// Whether a move may be played: it does not lose, and costs at most `loss` centipawns.
pub fn is_approved(best: Score, candidate: Score, loss: u32) -> bool {
    let cost = i64::from(best.centipawns()) - i64::from(candidate.centipawns());
    !candidate.is_loss() && cost <= i64::from(loss)
}

impl ExploredPosition {
    /// The moves with at least this many games.
    pub fn frequent(&self, min_games: u64) -> impl Iterator<Item = &PlayedMove> {
        let moves = self.moves.iter();
        moves.filter(move |entry| entry.games >= min_games)
    }

    /// What our search thinks of the moves, if it looked with this loss.
    pub fn checked(&self, loss: u32) -> Option<&CheckedMoves> {
        self.checked.as_ref().filter(|it| it.loss == loss)
    }

    /// The moves approved with this loss that are legal.
    pub fn approved(&self, position: &Position, loss: u32) -> Vec<Move> {
        let approved = self.checked(loss).into_iter().flat_map(|it| &it.approved);
        let legal = approved.filter_map(|uci| position.parse_uci(uci).ok());
        legal.collect()
    }
}

/// The positions known, the oldest dropped beyond a number.
#[derive(Clone, Debug)]
pub struct CandidateSet {
    capacity: usize,
    /// Each with its number in `order`.
    positions: HashMap<ExploredKey, (u64, ExploredPosition)>,
    /// The keys, the one read longest ago first.
    order: BTreeMap<u64, ExploredKey>,
    last: u64,
}

impl CandidateSet {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            positions: HashMap::new(),
            order: BTreeMap::new(),
            last: 0,
        }
    }

    pub fn get(&self, key: &ExploredKey) -> Option<&ExploredPosition> {
        self.positions.get(key).map(|(_, position)| position)
    }

    pub fn put(&mut self, position: ExploredPosition) {
        let key = position.key.clone();
        self.last += 1;
        self.order.insert(self.last, key.clone());
        if let Some((before, _)) = self.positions.insert(key, (self.last, position)) {
            self.order.remove(&before);
        }
        while self.order.len() > self.capacity {
            if let Some((_, oldest)) = self.order.pop_first() {
                self.positions.remove(&oldest);
            }
        }
    }

    /// Adds what was read before all that it holds.
    pub fn put_older(&mut self, older: Self) {
        let newer = std::mem::replace(self, older);
        newer.iter().for_each(|position| self.put(position.clone()));
    }

    /// How many positions it keeps at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// All of them, the one read longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = &ExploredPosition> {
        self.order.values().filter_map(|key| self.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::ExplorerMove;

    fn reply(moves: &[(&str, u64)]) -> ExplorerReply {
        let moves = moves.iter().map(|&(uci, white)| ExplorerMove {
            uci: uci.into(),
            white,
            draws: 0,
            black: 0,
        });
        ExplorerReply {
            moves: moves.collect(),
            ..ExplorerReply::default()
        }
    }

    #[test]
    fn a_reply_is_sorted_and_a_wrong_one_refused_whole() {
        let start = Position::default();
        let played = played_moves(&start, &reply(&[("e2e4", 3), ("g1f3", 8)])).unwrap();
        assert_eq!((played[0].uci.as_str(), played[0].games), ("g1f3", 8));
        let illegal = played_moves(&start, &reply(&[("g1f3", 8), ("a1a8", 3)]));
        assert_eq!(illegal, Err(WrongExplorerReply::IllegalMove("a1a8".into())));
        let twice = played_moves(&start, &reply(&[("g1f3", 8), ("g1f3", 3)]));
        assert!(matches!(twice, Err(WrongExplorerReply::RepeatedMove(_))));
        let many = played_moves(&start, &reply(&[("g1f3", 1); 300]));
        assert_eq!(many, Err(WrongExplorerReply::TooMany(300)));
    }

    #[test]
    fn a_move_that_loses_or_costs_too_much_is_refused() {
        let rows = [
            (Score::Cp(40), Score::Cp(10), true),
            (Score::Cp(40), Score::Cp(9), false),
            (Score::Cp(40), Score::Cp(200), true),
            (Score::Cp(40), Score::Mate(-3), false),
            (Score::Mate(4), Score::Cp(900), false),
            // All lose: the search itself has to choose.
            (Score::Mate(-5), Score::Mate(-5), false),
        ];
        for (best, candidate, approved) in rows {
            assert_eq!(
                is_approved(best, candidate, 30),
                approved,
                "{best} {candidate}"
            );
        }
    }

    #[test]
    fn the_set_is_bounded_and_a_player_has_positions_of_their_own() {
        let mut set = CandidateSet::new(2);
        let (start, player) = (Position::default(), UserId::new("blastcap"));
        let entry = |key: &ExploredKey, at| ExploredPosition {
            key: key.clone(),
            at,
            moves: Vec::new(),
            checked: None,
        };
        let (all, one) = (
            ExploredKey::new(&start, None),
            ExploredKey::new(&start, Some(&player)),
        );
        set.put(entry(&all, 1));
        set.put(entry(&one, 2));
        set.put(entry(&all, 3));
        assert_eq!((set.len(), set.get(&all).unwrap().at), (2, 3));
        let after = start.play(start.parse_uci("e2e4").unwrap());
        set.put(entry(&ExploredKey::new(&after, None), 4));
        assert!(set.get(&one).is_none() && set.get(&all).is_some() && !set.is_empty());
        assert_eq!(set.iter().map(|entry| entry.at).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn what_was_read_before_fills_up_a_set_and_replaces_nothing() {
        let entry = |fen: &str, at| ExploredPosition {
            key: ExploredKey {
                fen: fen.to_owned(),
                player: None,
            },
            at,
            moves: Vec::new(),
            checked: None,
        };
        let of = |entries: &[(&str, u64)]| {
            let mut set = CandidateSet::new(3);
            for (fen, at) in entries {
                set.put(entry(fen, *at));
            }
            set
        };
        let mut set = of(&[("a", 5), ("b", 6)]);
        set.put_older(of(&[("c", 1), ("a", 2), ("d", 3)]));
        assert_eq!(
            set.iter().map(|entry| entry.at).collect::<Vec<_>>(),
            [3, 5, 6]
        );
        set.put(entry("e", 7));
        assert_eq!(
            set.iter().map(|entry| entry.at).collect::<Vec<_>>(),
            [5, 6, 7]
        );
    }

    /// If each position that is read again went through all the others, this would take minutes.
    #[test]
    fn positions_read_again_do_not_go_through_all_that_are_kept() {
        let mut set = CandidateSet::new(100_000);
        let begin = std::time::Instant::now();
        for at in 0..200_000 {
            let key = ExploredKey {
                fen: (at % 100_000).to_string(),
                player: None,
            };
            set.put(ExploredPosition {
                key,
                at,
                moves: Vec::new(),
                checked: None,
            });
            assert!(begin.elapsed().as_secs() < 20, "{at}");
        }
        assert_eq!(set.len(), 100_000);
        assert_eq!(set.iter().next().map(|oldest| oldest.at), Some(100_000));
    }
}
