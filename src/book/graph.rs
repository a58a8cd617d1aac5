//! A book under construction: positions with the moves that a search considered there.
//!
//! A position counts once, however it is reached. Values of searches are backed up from the leaves;
//! [`Graph::leaves`] names the positions to search next by drop-out expansion (Lincke, "Strategies for
//! the automatic construction of opening books", 2001): a leaf costs a ply for each move on the way and
//! more for each move that is worse than the best, the more so if we would play it ourselves. It does
//! no search and no I/O; [`Graph::insert`] and [`Graph::read`] are the only ways in.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hasher as _;

use fnv::FnvHasher;

use crate::rules::{Color, Move, Position, UciStyle};

/// The value of a proved win, less a point per half-move.
const PROVED: i32 = 30_000;
/// Values from here on are proved.
const LEAST_PROVED: i32 = PROVED - 1_000;
/// Scores of searches stay within this, mates that nothing proved among them.
const MOST_SCORE: i32 = 2_000;
/// Beyond this value a position is decided enough not to be explored.
const DECIDED: i32 = 700;
/// What a loss of [`OWN_LOSS`] or [`THEIR_LOSS`] costs.
const LOSS_COST: i64 = 1_000;
/// Centipawns that cost [`LOSS_COST`] if the book's owner gives them away, or the opponent.
const OWN_LOSS: i64 = 8;
const THEIR_LOSS: i64 = 25;
/// Updates per insertion at most: cycles of the graph need not settle.
const MOST_UPDATES: usize = 20_000;

/// A move that was considered, from the mover's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub mv: Move,
    /// In centipawns.
    pub score: i32,
    /// Half-moves to a proved win of the mover, this move included.
    pub win_in: Option<u16>,
    /// Half-moves to a proved win of the opponent, this move included.
    pub loss_in: Option<u16>,
}

#[derive(Clone, Debug)]
struct Edge {
    candidate: Candidate,
    child: u64,
}

#[derive(Clone, Debug)]
struct Node {
    position: Position,
    edges: Vec<Edge>,
    value: i32,
}

/// A position to search next.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    pub position: Position,
    /// What it costs to get there, in thousandths of a loss; the least first.
    pub cost: i64,
}

/// What the expansion prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// Many replies: a half-move costs as much as 8 centipawns of our own.
    #[default]
    Broad,
    /// The best lines, far: a half-move costs a tenth of that, so what the best moves rest on is
    /// searched before their alternatives.
    Deep,
}

impl Expansion {
    const fn ply_cost(self) -> i64 {
        match self {
            Expansion::Broad => 1_000,
            Expansion::Deep => 100,
        }
    }
}

/// Why a line of a file is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("a record has the fields FEN|moves|checksum")]
    Fields,
    #[error("the checksum is wrong: the line is damaged")]
    Checksum,
    #[error("{0}")]
    Position(String),
    #[error("{0:?} is not MOVE:SCORE with an optional :wPLIES or :lPLIES, or not legal there")]
    Candidate(String),
}

/// Positions by key.
#[derive(Clone, Debug)]
pub struct Graph {
    start: Position,
    nodes: HashMap<u64, Node>,
    parents: HashMap<u64, Vec<u64>>,
}

impl Graph {
    pub fn new(start: Position) -> Graph {
        Graph {
            start,
            nodes: HashMap::new(),
            parents: HashMap::new(),
        }
    }

    /// How many positions were searched.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn contains(&self, position: &Position) -> bool {
        self.nodes.contains_key(&position.key())
    }

    /// The positions that were searched, in the order of their keys.
    pub fn positions(&self) -> Vec<&Position> {
        let mut nodes: Vec<(&u64, &Node)> = self.nodes.iter().collect();
        nodes.sort_unstable_by_key(|(key, _)| **key);
        nodes.into_iter().map(|(_, node)| &node.position).collect()
    }

    /// The considered moves of a position with what is known by now, best first; the scores are
    /// backed up. Empty if it was not searched.
    pub fn candidates(&self, position: &Position) -> Vec<Candidate> {
        let Some(node) = self.nodes.get(&position.key()) else {
            return Vec::new();
        };
        let mut moves: Vec<(i32, Candidate)> = node
            .edges
            .iter()
            .map(|edge| {
                let value = self.backed_up(edge);
                let plies = u16::try_from(PROVED - value.abs()).ok();
                let candidate = Candidate {
                    mv: edge.candidate.mv,
                    score: value.clamp(-MOST_SCORE, MOST_SCORE),
                    win_in: plies.filter(|_| value >= LEAST_PROVED),
                    loss_in: plies.filter(|_| value <= -LEAST_PROVED),
                };
                (value, candidate)
            })
            .collect();
        // Of equal values the same comes first, in whatever order they were stored.
        moves.sort_by_key(|(value, candidate)| (Reverse(*value), candidate.mv));
        moves.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// How many positions were searched from this one on, itself included; counted up to `most`.
    pub fn visits(&self, position: &Position, most: u8) -> u8 {
        let mut found = vec![position.key()];
        found.retain(|key| self.nodes.contains_key(key));
        let mut next = 0;
        while let Some(key) = found.get(next) {
            let edges = self.nodes.get(key).map(|node| &node.edges);
            for edge in edges.into_iter().flatten() {
                if found.len() >= usize::from(most) {
                    return most;
                }
                if self.nodes.contains_key(&edge.child) && !found.contains(&edge.child) {
                    found.push(edge.child);
                }
            }
            next += 1;
        }
        found.len() as u8
    }

    /// Adds the result of a search, or replaces an earlier one.
    pub fn insert(&mut self, position: &Position, candidates: &[Candidate]) {
        let key = position.key();
        let edges: Vec<Edge> = candidates
            .iter()
            .map(|&candidate| Edge {
                candidate,
                child: position.play(candidate.mv).key(),
            })
            .collect();
        for edge in &edges {
            let parents = self.parents.entry(edge.child).or_default();
            if !parents.contains(&key) {
                parents.push(key);
            }
        }
        let node = Node {
            position: *position,
            edges,
            value: i32::MIN,
        };
        self.nodes.insert(key, node);
        self.update(key);
    }

    /// Backs a changed value up to everything that leads there.
    fn update(&mut self, from: u64) {
        let mut waiting = VecDeque::from([from]);
        for _ in 0..MOST_UPDATES {
            let Some(key) = waiting.pop_front() else {
                return;
            };
            let Some(node) = self.nodes.get(&key) else {
                continue;
            };
            let best = node.edges.iter().map(|edge| self.backed_up(edge)).max();
            let mut value = best.unwrap_or(0);
            // A loss is proved by all moves, and the book may know some of them.
            if value <= -LEAST_PROVED && node.edges.len() < node.position.legal_moves().len() {
                value = -MOST_SCORE;
            }
            if value != node.value {
                if let Some(node) = self.nodes.get_mut(&key) {
                    node.value = value;
                }
                waiting.extend(self.parents.get(&key).into_iter().flatten());
            }
        }
    }

    /// The value of a move: proved, else that of the position it leads to, else its own search's.
    fn backed_up(&self, edge: &Edge) -> i32 {
        let Candidate {
            score,
            win_in,
            loss_in,
            ..
        } = edge.candidate;
        if let Some(plies) = win_in {
            return PROVED - i32::from(plies);
        }
        if let Some(plies) = loss_in {
            return i32::from(plies) - PROVED;
        }
        match self.nodes.get(&edge.child) {
            Some(child) if child.value >= LEAST_PROVED => 1 - child.value,
            Some(child) if child.value <= -LEAST_PROVED => -child.value - 1,
            Some(child) if child.value != i32::MIN => -child.value,
            _ => score.clamp(-MOST_SCORE, MOST_SCORE),
        }
    }

    /// The cheapest positions that were not searched yet, for a book of either colour.
    pub fn leaves(&self, expansion: Expansion, most: usize) -> Vec<Leaf> {
        if !self.contains(&self.start) {
            let cost = 0;
            return vec![Leaf {
                position: self.start,
                cost,
            }];
        }
        let mut found: HashMap<u64, Leaf> = HashMap::new();
        for owner in Color::ALL {
            for leaf in self.leaves_of(owner, expansion, most) {
                let known = found.entry(leaf.position.key()).or_insert(leaf);
                known.cost = known.cost.min(leaf.cost);
            }
        }
        let mut leaves: Vec<Leaf> = found.into_values().collect();
        leaves.sort_unstable_by_key(|leaf| (leaf.cost, leaf.position.key()));
        leaves.truncate(most);
        leaves
    }

    fn leaves_of(&self, owner: Color, expansion: Expansion, most: usize) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let mut seen = HashSet::new();
        // Leaves are queued with the position that leads there and their place among its moves.
        let mut queue =
            BinaryHeap::from([Reverse((0_i64, self.start.key(), None::<(u64, usize)>))]);
        while let Some(Reverse((cost, key, came))) = queue.pop() {
            if leaves.len() >= most || !seen.insert(key) {
                continue;
            }
            let Some(node) = self.nodes.get(&key) else {
                let parent = came.and_then(|(parent, place)| {
                    let parent = self.nodes.get(&parent)?;
                    Some(parent.position.play(parent.edges[place].candidate.mv))
                });
                let open = parent.filter(|position| position.outcome().is_none());
                leaves.extend(open.map(|position| Leaf { position, cost }));
                continue;
            };
            if node.value.abs() > DECIDED {
                continue;
            }
            let is_own = node.position.turn() == owner;
            let unit = if is_own { OWN_LOSS } else { THEIR_LOSS };
            for (place, edge) in node.edges.iter().enumerate() {
                let value = self.backed_up(edge);
                if value.abs() > DECIDED && (is_own || value < 0) && value != node.value {
                    continue;
                }
                let loss = i64::from(node.value - value);
                let step = expansion.ply_cost() + loss * LOSS_COST / unit;
                queue.push(Reverse((cost + step, edge.child, Some((key, place)))));
            }
        }
        leaves
    }

    /// Adds the record of a line.
    pub fn read(&mut self, line: &str) -> Result<(), RecordError> {
        let (body, sum) = line.rsplit_once('|').ok_or(RecordError::Fields)?;
        let (fen, moves) = body.split_once('|').ok_or(RecordError::Fields)?;
        if sum != checksum(body) {
            return Err(RecordError::Checksum);
        }
        let position =
            Position::from_fen(fen).map_err(|error| RecordError::Position(error.to_string()))?;
        let candidates: Option<Vec<Candidate>> = moves
            .split_ascii_whitespace()
            .map(|text| candidate(&position, text))
            .collect();
        let wrong = || RecordError::Candidate(moves.to_owned());
        self.insert(&position, &candidates.ok_or_else(wrong)?);
        Ok(())
    }
}

/// The line of a file for the result of a search.
pub fn record(position: &Position, candidates: &[Candidate]) -> String {
    let moves: Vec<String> = candidates
        .iter()
        .map(|it| {
            let proof = match (it.win_in, it.loss_in) {
                (Some(plies), _) => format!(":w{plies}"),
                (None, Some(plies)) => format!(":l{plies}"),
                (None, None) => String::new(),
            };
            format!("{}:{}{proof}", it.mv.uci(UciStyle::KingTakesRook), it.score)
        })
        .collect();
    let body = format!("{}|{}", position.fen(), moves.join(" "));
    let sum = checksum(&body);
    format!("{body}|{sum}")
}

fn candidate(position: &Position, text: &str) -> Option<Candidate> {
    let mut parts = text.split(':');
    let mv = position.parse_uci(parts.next()?).ok()?;
    let score = parts.next()?.parse().ok()?;
    let (mut win_in, mut loss_in) = (None, None);
    if let Some(proof) = parts.next() {
        let (kind, plies) = proof.split_at_checked(1)?;
        let plies = Some(plies.parse().ok()?);
        match kind {
            "w" => win_in = plies,
            "l" => loss_in = plies,
            _ => return None,
        }
    }
    let candidate = Candidate {
        mv,
        score,
        win_in,
        loss_in,
    };
    parts.next().is_none().then_some(candidate)
}

fn checksum(body: &str) -> String {
    let mut hasher = FnvHasher::default();
    hasher.write(body.as_bytes());
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(position: &Position, uci: &str, score: i32) -> Candidate {
        Candidate {
            mv: position.parse_uci(uci).unwrap(),
            score,
            win_in: None,
            loss_in: None,
        }
    }

    fn after(line: &[&str]) -> Position {
        line.iter().fold(Position::default(), |position, uci| {
            position.play(position.parse_uci(uci).unwrap())
        })
    }

    fn grown() -> Graph {
        let mut graph = Graph::new(Position::default());
        let start = Position::default();
        let moves = [plain(&start, "g1f3", 60), plain(&start, "g1h3", 40)];
        graph.insert(&start, &moves);
        graph
    }

    #[test]
    fn values_are_backed_up_through_transpositions() {
        let mut graph = grown();
        let reply = after(&["g1f3"]);
        graph.insert(&reply, &[plain(&reply, "f7f6", -20)]);
        let start = Position::default();
        let best: Vec<(i32, String)> = graph
            .candidates(&start)
            .iter()
            .map(|it| (it.score, it.mv.uci(UciStyle::Standard).to_string()))
            .collect();
        assert_eq!(best[0], (40, "g1h3".to_owned()));
        assert_eq!(best[1], (20, "g1f3".to_owned()));
    }

    #[test]
    fn a_proof_is_counted_in_half_moves_and_never_explored() {
        let mut graph = grown();
        let reply = after(&["g1f3"]);
        let lost = |mv: Move| Candidate {
            loss_in: Some(7),
            ..plain(&reply, &mv.to_string(), -500)
        };
        let replies = reply.legal_moves();
        let mut lost: Vec<Candidate> = replies.into_iter().map(lost).collect();
        let unknown = lost.pop().unwrap();
        graph.insert(&reply, &lost);
        let found = graph.candidates(&Position::default());
        assert_eq!(
            (found[0].win_in, found[0].score),
            (None, MOST_SCORE),
            "the last reply is not refuted"
        );
        lost.push(unknown);
        graph.insert(&reply, &lost);
        let found = graph.candidates(&Position::default());
        assert_eq!((found[0].win_in, found[0].score), (Some(8), MOST_SCORE));
        assert!(
            graph.leaves(Expansion::Broad, 9).is_empty(),
            "the start is decided"
        );
    }

    #[test]
    fn the_order_of_equal_moves_does_not_depend_on_how_they_came() {
        let start = Position::default();
        let mut moves = ["e2e4", "b1c3"].map(|uci| plain(&start, uci, 7));
        let mut first = || {
            moves.reverse();
            let mut graph = Graph::new(start);
            graph.insert(&start, &moves);
            graph.candidates(&start)[0].mv
        };
        assert_eq!(first(), first());
    }

    #[test]
    fn good_moves_are_explored_before_bad_ones() {
        let graph = grown();
        let leaves = graph.leaves(Expansion::Broad, 9);
        assert_eq!(leaves.len(), 2);
        assert_eq!(leaves[0].position, after(&["g1f3"]));
        assert!(leaves[0].cost < leaves[1].cost);
    }

    #[test]
    fn a_deep_expansion_follows_the_best_line_before_the_alternatives() {
        let mut graph = grown();
        let line = ["g1f3", "f7f6", "b1c3"];
        for plies in 1..line.len() {
            let position = after(&line[..plies]);
            let score = if plies % 2 == 0 { 60 } else { -60 };
            graph.insert(&position, &[plain(&position, line[plies], score)]);
        }
        let first = |expansion| graph.leaves(expansion, 9)[0].position;
        assert_eq!(first(Expansion::Deep), after(&line));
        assert_eq!(first(Expansion::Broad), after(&["g1h3"]));
    }

    #[test]
    fn a_record_reads_back_and_a_damaged_one_is_refused() {
        let start = Position::default();
        let won = Candidate {
            win_in: Some(11),
            ..plain(&start, "g1f3", 60)
        };
        let line = record(&start, &[won, plain(&start, "e2e4", -3)]);
        let mut graph = Graph::new(start);
        graph.read(&line).unwrap();
        assert_eq!(graph.candidates(&start)[0].win_in, Some(11));
        for cut in 0..line.len() {
            assert!(Graph::new(start).read(&line[..cut]).is_err(), "{cut}");
        }
        assert_eq!(
            Graph::new(start).read(&line.replace(":60", ":61")),
            Err(RecordError::Checksum)
        );
        let body = "8/8/8/8/8/8/8/8 w - - 0 1|";
        let line = format!("{body}|{}", checksum(body));
        assert!(matches!(graph.read(&line), Err(RecordError::Position(_))));
    }

    #[test]
    fn cycles_come_to_an_end() {
        let mut graph = Graph::new(Position::default());
        let line = ["g1f3", "g8f6", "f3g1", "f6g8"];
        for plies in 0..=4 {
            let position = after(&line[..plies]);
            graph.insert(&position, &[plain(&position, line[plies % 4], 10)]);
        }
        assert_eq!(graph.candidates(&Position::default()).len(), 1);
        assert!(graph.leaves(Expansion::Broad, 5).is_empty());
    }
}
