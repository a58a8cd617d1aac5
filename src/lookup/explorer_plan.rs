//! What to read from the explorer next: the most frequent lines first that our book lacks.
//!
//! Pure. On our side only moves that may be played are followed, on the other all that are frequent.

use std::collections::{BinaryHeap, HashSet};

use super::candidates::{CandidateSet, ExploredKey, ExploredPosition};
use crate::lichess::UserId;
use crate::rules::{Color, Move, Position};

/// Games that a move of one player needs to count as a habit.
const HABIT: u64 = 2;

/// What is read, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplorerRules {
    /// Read positions of at most this many plies.
    pub plies: u32,
    /// Games that a move needs to count.
    pub min_games: u64,
    /// Centipawns that a move may cost.
    pub loss: u32,
    /// Nodes of each search that checks.
    pub nodes: u64,
    /// Seconds after which a position is read again.
    pub age: u64,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplorerStep {
    /// Ask the explorer: for the games of all, or of a player with the colour to move.
    Ask {
        position: Position,
        player: Option<UserId>,
    },
    /// Let our search check the moves that are known.
    Check { position: Position },
}

/// What the plan depends on.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct ExplorerPlan<'a> {
    pub rules: &'a ExplorerRules,
    pub known: &'a CandidateSet,
    /// Opponents whose openings are read, the most frequent first.
    pub regulars: &'a [UserId],
    /// The moves of our book; none where it knows nothing.
    pub book_moves: &'a dyn Fn(&Position) -> Vec<Move>,
    /// Positions that failed lately.
    pub is_skipped: &'a dyn Fn(&ExploredKey) -> bool,
    /// Seconds since 1970.
    pub now: u64,
}

/// Why a line cannot be followed yet: a step comes first, or it is skipped.
type Blocked = Option<Box<ExplorerStep>>;

/// A position on the way, ordered by how many games reached it.
struct Frontier<'a> {
    weight: u64,
    ply: u32,
    us: Color,
    player: Option<&'a UserId>,
    position: Position,
}

impl PartialEq for Frontier<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Frontier<'_> {}

impl PartialOrd for Frontier<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Frontier<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Frontier<'_> {
    fn rank(&self) -> (u64, std::cmp::Reverse<u32>, u64) {
        (
            self.weight,
            std::cmp::Reverse(self.ply),
            self.position.key(),
        )
    }
}

impl ExplorerPlan<'_> {
    /// The next step; `None` if nothing is left.
    pub fn next(&self) -> Option<ExplorerStep> {
        let (mut seen, mut wanted) = (HashSet::new(), HashSet::new());
        let mut heap = BinaryHeap::new();
        for player in self.regulars.iter().map(Some).chain([None]) {
            for us in Color::ALL {
                heap.push(Frontier {
                    weight: u64::MAX,
                    ply: 0,
                    us,
                    player,
                    position: Position::default(),
                });
            }
        }
        while let Some(at) = heap.pop() {
            let is_new = seen.insert((at.position.key(), at.us, at.player));
            if !is_new || at.ply >= self.rules.plies || at.position.outcome().is_some() {
                continue;
            }
            let children = if at.position.turn() == at.us {
                self.ours(&at, &mut wanted)
            } else {
                self.theirs(&at, &mut wanted)
            };
            match children {
                Ok(children) => heap.extend(children.into_iter().map(|(mv, weight)| Frontier {
                    weight: weight.min(at.weight),
                    ply: at.ply + 1,
                    us: at.us,
                    player: at.player,
                    position: at.position.play(mv),
                })),
                Err(Some(step)) => return Some(*step),
                Err(None) => {}
            }
        }
        None
    }

    /// Our moves: those of the book, or those that are approved, or our search's own; or what to do
    /// before they are known.
    fn ours(
        &self,
        at: &Frontier<'_>,
        wanted: &mut HashSet<ExploredKey>,
    ) -> Result<Vec<(Move, u64)>, Blocked> {
        let by_book = (self.book_moves)(&at.position);
        if !by_book.is_empty() {
            return Ok(by_book.into_iter().map(|mv| (mv, at.weight)).collect());
        }
        let key = ExploredKey::new(&at.position, None);
        let known = self.fresh(&key, wanted, || Self::ask(at, None))?;
        let Some(checked) = &known.checked else {
            let position = at.position;
            let is_worth_it = known.frequent(self.rules.min_games).next().is_some();
            let step = is_worth_it.then(|| Box::new(ExplorerStep::Check { position }));
            return Err(step.filter(|_| !(self.is_skipped)(&key)));
        };
        let approved = known.approved(&at.position);
        if !approved.is_empty() {
            return Ok(approved.into_iter().map(|mv| (mv, at.weight)).collect());
        }
        let best = checked.best.as_ref();
        let best = best.and_then(|uci| at.position.parse_uci(uci).ok());
        Ok(best.into_iter().map(|mv| (mv, at.weight)).collect())
    }

    /// The frequent moves of the other side, or the request for them.
    fn theirs(
        &self,
        at: &Frontier<'_>,
        wanted: &mut HashSet<ExploredKey>,
    ) -> Result<Vec<(Move, u64)>, Blocked> {
        let key = ExploredKey::new(&at.position, at.player);
        let known = self.fresh(&key, wanted, || Self::ask(at, at.player))?;
        let least = at.player.map_or(self.rules.min_games, |_| HABIT);
        let moves = known.frequent(least);
        Ok(moves
            .filter_map(|played| {
                let mv = at.position.parse_uci(&played.uci).ok()?;
                Some((mv, played.games))
            })
            .collect())
    }

    /// What is known and young enough, else the step that reads it. No more positions are wanted than are kept:
    /// each further one would drop another that is read again.
    fn fresh(
        &self,
        key: &ExploredKey,
        wanted: &mut HashSet<ExploredKey>,
        step: impl Fn() -> ExplorerStep,
    ) -> Result<&ExploredPosition, Blocked> {
        if wanted.len() >= self.known.capacity() && !wanted.contains(key) {
            return Err(None);
        }
        wanted.insert(key.clone());
        match self.known.get(key) {
            Some(known) if self.now.saturating_sub(known.at) < self.rules.age => Ok(known),
            _ if (self.is_skipped)(key) => Err(None),
            _ => Err(Some(Box::new(step()))),
        }
    }

    fn ask(at: &Frontier<'_>, player: Option<&UserId>) -> ExplorerStep {
        ExplorerStep::Ask {
            position: at.position,
            player: player.cloned(),
        }
    }
}
