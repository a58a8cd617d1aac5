//! Proofs of forced wins: the attacker explodes or mates the king whatever the defender plays.
//!
//! Depth-first proof-number search (df-pn; Nagai, "Df-pn algorithm for searching AND/OR trees and its
//! applications", 2002). A position on the current path counts as a failure of the attack, which can
//! only miss a win. What was found counts once [`Strategy::replay`] has played every reply by the
//! rules alone.

use std::collections::{HashMap, HashSet};

use crate::rules::{Color, Move, Position};

/// "Cannot be proved", respectively "cannot be disproved".
const INFINITE: u32 = 1 << 30;
/// Maximum half-moves of a line.
const MOST_PLIES: usize = 80;

/// Proof and disproof number of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    proof: u32,
    disproof: u32,
}

impl Numbers {
    const UNKNOWN: Numbers = Numbers {
        proof: 1,
        disproof: 1,
    };
    const PROVED: Numbers = Numbers {
        proof: 0,
        disproof: INFINITE,
    };
    const FAILED: Numbers = Numbers {
        proof: INFINITE,
        disproof: 0,
    };
}

/// The attacker's move in every position that the defender can reach.
#[derive(Clone, Debug)]
pub struct Strategy {
    attacker: Color,
    moves: HashMap<u64, Move>,
}

impl Strategy {
    /// The half-moves to the win with the longest defence, if the strategy wins against every reply.
    pub fn replay(&self, position: &Position) -> Option<u16> {
        let mut known = HashMap::new();
        self.replay_from(position, &mut HashSet::new(), &mut known)
    }

    fn replay_from(
        &self,
        position: &Position,
        path: &mut HashSet<u64>,
        known: &mut HashMap<u64, u16>,
    ) -> Option<u16> {
        position.king(self.attacker)?;
        if position.king(!self.attacker).is_none() {
            return Some(0);
        }
        if let Some(plies) = known.get(&position.key()) {
            return Some(*plies);
        }
        let moves = position.legal_moves();
        let attacks = position.turn() == self.attacker;
        if moves.is_empty() {
            return (!attacks && position.in_check()).then_some(0);
        }
        if position.halfmove_clock() >= 100 || !path.insert(position.key()) {
            return None;
        }
        let plies = if attacks {
            let winning = moves.iter().copied().find(|&mv| position.explodes_king(mv));
            let mv = winning.or_else(|| self.moves.get(&position.key()).copied());
            mv.filter(|mv| moves.iter().any(|legal| legal == mv))
                .and_then(|mv| self.replay_from(&position.play(mv), path, known))
        } else {
            let mut longest = Some(0);
            for &mv in &moves {
                let reply = self.replay_from(&position.play(mv), path, known);
                longest = longest
                    .zip(reply)
                    .map(|(longest, reply)| longest.max(reply));
                if longest.is_none() {
                    break;
                }
            }
            longest
        };
        path.remove(&position.key());
        let plies = plies? + 1;
        known.insert(position.key(), plies);
        Some(plies)
    }
}

/// Looks for a forced win of `attacker`, whoever is to move, in at most `nodes` positions: the
/// strategy and its length in half-moves. None if there is none or it was not found.
pub fn prove(position: &Position, attacker: Color, nodes: u64) -> Option<(Strategy, u16)> {
    let mut prover = Prover {
        attacker,
        left: nodes,
        known: HashMap::new(),
        path: HashSet::new(),
    };
    prover.search(position, INFINITE, INFINITE);
    let mut strategy = Strategy {
        attacker,
        moves: HashMap::new(),
    };
    if prover.numbers(position) != Numbers::PROVED {
        return None;
    }
    prover.collect(position, &mut strategy.moves, &mut HashSet::new());
    let plies = strategy.replay(position)?;
    Some((strategy, plies))
}

struct Prover {
    attacker: Color,
    /// Positions that may still be visited.
    left: u64,
    known: HashMap<u64, Numbers>,
    path: HashSet<u64>,
}

impl Prover {
    fn attacks(&self, position: &Position) -> bool {
        position.turn() == self.attacker
    }

    /// What is known of a position without a search.
    fn numbers(&self, position: &Position) -> Numbers {
        if position.king(self.attacker).is_none() {
            return Numbers::FAILED;
        }
        if position.king(!self.attacker).is_none() {
            return Numbers::PROVED;
        }
        let known = self.known.get(&position.key()).copied();
        if known != Some(Numbers::PROVED) && self.path.contains(&position.key()) {
            return Numbers::FAILED;
        }
        if let Some(numbers) = known {
            return numbers;
        }
        match (self.attacks(position), position.can_explode()) {
            (true, true) => Numbers::PROVED,
            (false, true) => Numbers::FAILED,
            _ => Numbers::UNKNOWN,
        }
    }

    fn keep(&mut self, position: &Position, numbers: Numbers) {
        self.known.insert(position.key(), numbers);
    }

    /// Searches until the proof or the disproof number reaches its bound.
    fn search(&mut self, position: &Position, most_proof: u32, most_disproof: u32) {
        let numbers = self.numbers(position);
        if numbers == Numbers::PROVED || numbers == Numbers::FAILED {
            return;
        }
        let attacks = self.attacks(position);
        let moves = position.legal_moves();
        if moves.is_empty() {
            let is_mate = !attacks && position.in_check();
            let numbers = if is_mate {
                Numbers::PROVED
            } else {
                Numbers::FAILED
            };
            return self.keep(position, numbers);
        }
        if position.halfmove_clock() >= 100 || self.path.len() >= MOST_PLIES {
            return self.keep(position, Numbers::FAILED);
        }
        self.path.insert(position.key());
        let children: Vec<Position> = moves.iter().map(|&mv| position.play(mv)).collect();
        loop {
            let numbers: Vec<Numbers> = children.iter().map(|child| self.numbers(child)).collect();
            let own = combined(&numbers, attacks);
            self.keep(position, own);
            let is_done = own.proof >= most_proof || own.disproof >= most_disproof;
            if is_done || own.proof == 0 || own.disproof == 0 || self.left == 0 {
                break;
            }
            self.left -= 1;
            let (best, bounds) = next(&numbers, own, attacks, [most_proof, most_disproof]);
            self.search(&children[best], bounds[0], bounds[1]);
        }
        self.path.remove(&position.key());
    }

    /// Writes down the winning move of each of the attacker's positions.
    fn collect(
        &self,
        position: &Position,
        moves: &mut HashMap<u64, Move>,
        seen: &mut HashSet<u64>,
    ) {
        if !seen.insert(position.key()) || position.king(!self.attacker).is_none() {
            return;
        }
        let legal = position.legal_moves();
        if !self.attacks(position) {
            for &mv in &legal {
                self.collect(&position.play(mv), moves, seen);
            }
        } else if !position.can_explode() {
            let wins = |mv: &&Move| self.numbers(&position.play(**mv)) == Numbers::PROVED;
            if let Some(&mv) = legal.iter().find(wins) {
                moves.insert(position.key(), mv);
                self.collect(&position.play(mv), moves, seen);
            }
        }
    }
}

/// A position's numbers by those of its children: the attacker needs one of them, the defender all.
fn combined(children: &[Numbers], attacks: bool) -> Numbers {
    let sum = |of: fn(&Numbers) -> u32| {
        children
            .iter()
            .fold(0_u32, |sum, it| sum.saturating_add(of(it)).min(INFINITE))
    };
    let least = |of: fn(&Numbers) -> u32| children.iter().map(of).min().unwrap_or(INFINITE);
    if attacks {
        Numbers {
            proof: least(|it| it.proof),
            disproof: sum(|it| it.disproof),
        }
    } else {
        Numbers {
            proof: sum(|it| it.proof),
            disproof: least(|it| it.disproof),
        }
    }
}

/// The child to search next, and its bounds: it is left once another one looks better.
fn next(
    children: &[Numbers],
    own: Numbers,
    attacks: bool,
    [most_proof, most_disproof]: [u32; 2],
) -> (usize, [u32; 2]) {
    let chosen = |it: &Numbers| if attacks { it.proof } else { it.disproof };
    let mut order: Vec<usize> = (0..children.len()).collect();
    order.sort_by_key(|&child| chosen(&children[child]));
    let (best, second) = (
        order[0],
        order
            .get(1)
            .map_or(INFINITE, |&child| chosen(&children[child])),
    );
    let it = children[best];
    let rest = |bound: u32, own: u32, part: u32| bound.saturating_sub(own).saturating_add(part);
    let bounds = if attacks {
        [
            most_proof.min(second.saturating_add(1)),
            rest(most_disproof, own.disproof, it.disproof),
        ]
    } else {
        [
            rest(most_proof, own.proof, it.proof),
            most_disproof.min(second.saturating_add(1)),
        ]
    };
    (best, bounds.map(|bound| bound.min(INFINITE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(fen: &str) -> Position {
        Position::from_fen(fen).unwrap()
    }

    #[test]
    fn a_position_on_the_path_is_a_failure_unless_it_is_settled() {
        let start = Position::default();
        let mut prover = Prover {
            attacker: Color::White,
            left: 9,
            known: HashMap::new(),
            path: HashSet::from([start.key()]),
        };
        prover.keep(&start, Numbers::UNKNOWN);
        assert_eq!(prover.numbers(&start), Numbers::FAILED);
        prover.keep(&start, Numbers::PROVED);
        assert_eq!(prover.numbers(&start), Numbers::PROVED);
        prover.keep(&start, Numbers::UNKNOWN);
        prover.path.clear();
        assert_eq!(prover.numbers(&start), Numbers::UNKNOWN);
    }

    #[test]
    fn a_double_threat_without_a_parry_is_proved() {
        // The queen goes to g6 and attacks both pieces beside the king.
        let start = position("6bk/7n/Q7/8/8/8/8/K7 w - - 0 1");
        let (strategy, plies) = prove(&start, Color::White, 10_000).expect("a win");
        // Not the shortest win: any proof will do.
        assert!(plies >= 3 && plies % 2 == 1, "{plies}");
        assert_eq!(strategy.replay(&start), Some(plies));
    }

    #[test]
    fn an_opening_trap_is_proved_for_the_side_to_move_and_against_it() {
        // 1. Nf3 d5 2. Ne5 threatens Nxf7 and Nxd7.
        let mut trap = Position::default();
        for uci in ["g1f3", "d7d5", "f3e5"] {
            trap = trap.play(trap.parse_uci(uci).unwrap());
        }
        let proof = prove(&trap, Color::White, 300_000);
        if let Some((strategy, plies)) = &proof {
            assert_eq!(strategy.replay(&trap), Some(*plies));
        }
        assert!(prove(&trap, Color::Black, 2_000).is_none());
    }

    #[test]
    fn the_start_is_no_forced_win_within_reach() {
        for color in Color::ALL {
            assert!(prove(&Position::default(), color, 2_000).is_none());
        }
    }

    #[test]
    fn a_strategy_with_a_hole_is_refuted_by_the_replay() {
        let start = position("6bk/7n/Q7/8/8/8/8/K7 w - - 0 1");
        let (mut strategy, _) = prove(&start, Color::White, 10_000).expect("a win");
        strategy
            .moves
            .insert(start.key(), start.parse_uci("a1b1").unwrap());
        assert_eq!(strategy.replay(&start), None);
        strategy.moves.clear();
        assert_eq!(strategy.replay(&start), None);
    }

    #[test]
    fn a_defender_who_explodes_first_is_no_proof() {
        // White would win with the next move, but it is Black's turn, and Black is faster.
        let start = position("k7/1r6/8/8/8/8/1Q6/1N4K1 b - - 0 1");
        assert!(
            prove(&start, Color::White, 10_000)
                .is_none_or(|(strategy, plies)| { strategy.replay(&start) == Some(plies) })
        );
    }
}
