//! What to read from the explorer next: the most frequent lines first that our book lacks.
//!
//! Pure. On our side only moves that may be played are followed, on the other all that are frequent.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::candidates::{ExploredKey, ExploredPosition, PlayedMove};
use crate::lichess::UserId;
use crate::rules::{Color, Move, Position};

/// Games that a move of one player needs to count as a habit.
const HABIT: u64 = 2;

/// What is read, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplorerRules {
    /// Read positions of fewer than this many plies.
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
pub(super) enum ExplorerStep {
    /// Ask the explorer: for the games of all, or of a player with the colour to move.
    Ask {
        position: Position,
        player: Option<UserId>,
    },
    /// Let our search check the moves that are known.
    Check { position: Position },
}

/// What the plan depends on.
pub(super) struct ExplorerPlan<'a> {
    pub(super) rules: &'a ExplorerRules,
    /// What is known of a position; a copy, so that the plan locks nothing.
    pub(super) known: &'a (dyn Fn(&ExploredKey) -> Option<ExploredPosition> + Sync),
    /// How many positions are kept at most.
    pub(super) capacity: usize,
    /// The moves of our book; none where it knows nothing.
    pub(super) book_moves: &'a (dyn Fn(&Position) -> Vec<Move> + Sync),
    /// Positions that failed lately.
    pub(super) is_skipped: &'a (dyn Fn(&ExploredKey) -> bool + Sync),
    /// Seconds since 1970.
    pub(super) now: u64,
}

/// The way through the lines. It stops at each step and goes on from there, since nothing before it
/// depends on the step.
pub(super) struct ExplorerWalk<'a> {
    /// Positions left behind.
    seen: HashSet<(u64, Color, Option<&'a UserId>)>,
    wanted: HashSet<ExploredKey>,
    heap: BinaryHeap<Frontier<'a>>,
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
    fn rank(&self) -> (u64, Reverse<u32>, u64) {
        (self.weight, Reverse(self.ply), self.position.key())
    }
}

impl<'a> ExplorerWalk<'a> {
    /// A walk from the start position; `regulars` are the opponents whose openings are read.
    pub(super) fn new(regulars: &'a [UserId]) -> Self {
        let players = regulars.iter().map(Some).chain([None]);
        let start = |(player, us)| Frontier {
            weight: u64::MAX,
            ply: 0,
            us,
            player,
            position: Position::default(),
        };
        let starts = players.flat_map(|player| Color::ALL.map(|us| start((player, us))));
        Self {
            seen: HashSet::new(),
            wanted: HashSet::new(),
            heap: starts.collect(),
        }
    }

    /// The next step, the same one again until it is done or skipped; `None` if nothing is left. It
    /// gives way now and then: the way through positions that are known is long.
    pub(super) async fn next(&mut self, plan: &ExplorerPlan<'_>) -> Option<ExplorerStep> {
        while let Some(at) = self.heap.pop() {
            tokio::task::consume_budget().await;
            let place = (at.position.key(), at.us, at.player);
            let is_over = at.ply >= plan.rules.plies || at.position.outcome().is_some();
            if is_over || self.seen.contains(&place) {
                continue;
            }
            let children = if at.position.turn() == at.us {
                plan.ours(&at, &mut self.wanted)
            } else {
                plan.theirs(&at, &mut self.wanted)
            };
            if let Err(Some(step)) = children {
                self.heap.push(at);
                return Some(*step);
            }
            self.seen.insert(place);
            let children = children.unwrap_or_default().into_iter();
            self.heap.extend(children.map(|(mv, weight)| Frontier {
                weight: weight.min(at.weight),
                ply: at.ply + 1,
                us: at.us,
                player: at.player,
                position: at.position.play(mv),
            }));
        }
        None
    }
}

impl ExplorerPlan<'_> {
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
        let Some(checked) = known.checked(self.rules.loss) else {
            let position = at.position;
            let is_worth_it = known.frequent(self.rules.min_games).next().is_some();
            let step = is_worth_it.then(|| Box::new(ExplorerStep::Check { position }));
            return Err(step.filter(|_| !(self.is_skipped)(&key)));
        };
        let approved = known.approved(&at.position, self.rules.loss);
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
        let legal = |it: &PlayedMove| Some((at.position.parse_uci(&it.uci).ok()?, it.games));
        Ok(known.frequent(least).filter_map(legal).collect())
    }

    /// What is known and young enough, else the step that reads it. No more positions are wanted than are kept:
    /// each further one would drop another that is read again.
    fn fresh(
        &self,
        key: &ExploredKey,
        wanted: &mut HashSet<ExploredKey>,
        step: impl Fn() -> ExplorerStep,
    ) -> Result<ExploredPosition, Blocked> {
        if wanted.len() >= self.capacity && !wanted.contains(key) {
            return Err(None);
        }
        wanted.insert(key.clone());
        match (self.known)(key) {
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::poll;

    use super::*;
    use crate::lookup::candidates::CheckedMoves;

    const RULES: ExplorerRules = ExplorerRules {
        plies: 3,
        min_games: 1,
        loss: 0,
        nodes: 0,
        age: 1000,
    };

    /// Every legal move, played once.
    fn explored(position: &Position) -> ExploredPosition {
        let played = |mv: &Move| PlayedMove {
            uci: mv.to_string(),
            games: 1,
        };
        ExploredPosition {
            key: ExploredKey::new(position, None),
            at: 0,
            moves: position.legal_moves().iter().map(played).collect(),
            checked: None,
        }
    }

    /// Our book has every move.
    fn plan(known: &(dyn Fn(&ExploredKey) -> Option<ExploredPosition> + Sync)) -> ExplorerPlan<'_> {
        ExplorerPlan {
            rules: &RULES,
            known,
            capacity: 100_000,
            book_moves: &|position| position.legal_moves().iter().copied().collect(),
            is_skipped: &|_| false,
            now: 0,
        }
    }

    fn position(key: &ExploredKey) -> Position {
        Position::from_fen(&format!("{} 0 1", key.fen)).expect("the FEN of a key")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_long_walk_gives_way_to_other_tasks() {
        let known = |key: &ExploredKey| Some(explored(&position(key)));
        let plan = plan(&known);
        let mut walk = ExplorerWalk::new(&[]);
        let mut next = pin!(walk.next(&plan));
        assert!(poll!(&mut next).is_pending(), "hundreds of positions");
        assert_eq!(next.await, None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn moves_checked_with_another_loss_are_checked_again() {
        for (loss, is_done) in [(RULES.loss, true), (RULES.loss + 1, false)] {
            let known = |key: &ExploredKey| {
                let mut explored = explored(&position(key));
                let approved = vec![explored.moves[0].uci.clone()];
                explored.checked = Some(CheckedMoves {
                    loss,
                    approved,
                    ..CheckedMoves::default()
                });
                Some(explored)
            };
            let plan = ExplorerPlan {
                book_moves: &|_| Vec::new(),
                ..plan(&known)
            };
            let step = ExplorerWalk::new(&[]).next(&plan).await;
            let position = Position::default();
            let again = (!is_done).then_some(ExplorerStep::Check { position });
            assert_eq!(step, again, "{loss}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_walk_goes_on_from_the_last_step_and_never_starts_anew() {
        let lookups = AtomicUsize::new(0);
        let read = parking_lot::Mutex::new(HashSet::new());
        let known = |key: &ExploredKey| {
            lookups.fetch_add(1, Ordering::Relaxed);
            let is_read = read.lock().contains(key);
            is_read.then(|| explored(&position(key)))
        };
        let plan = plan(&known);
        let mut walk = ExplorerWalk::new(&[]);
        let mut steps = 0;
        while let Some(step) = walk.next(&plan).await {
            // Until it is done it is the next step.
            assert_eq!(walk.next(&plan).await, Some(step.clone()));
            let ExplorerStep::Ask { position, .. } = step else {
                panic!("the book has all our moves");
            };
            assert!(read.lock().insert(ExploredKey::new(&position, None)));
            steps += 1;
        }
        assert!(steps > 400, "{steps}");
        assert!(lookups.into_inner() <= 4 * steps);
    }
}
