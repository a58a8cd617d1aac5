//! The standing of a match: the counts, and the evidence that the match was fair.
//!
//! Pure; the pairs of games must come in order.

use std::collections::BTreeMap;

use super::record::{GameEnd, GameRecord, MatchSide};
use super::tally::Tally;
use crate::rules::Color;

/// Games that a player lost by a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forfeits {
    /// Illegal moves.
    pub illegal: u64,
    /// Crashes.
    pub crashes: u64,
    /// Missing answers.
    pub hangs: u64,
    /// Late answers.
    pub time: u64,
}

impl Forfeits {
    pub const fn total(&self) -> u64 {
        self.illegal + self.crashes + self.hangs + self.time
    }

    fn add(&mut self, end: GameEnd) {
        match end {
            GameEnd::Illegal => self.illegal += 1,
            GameEnd::Crash => self.crashes += 1,
            GameEnd::Hang => self.hangs += 1,
            GameEnd::Time => self.time += 1,
            _ => {}
        }
    }
}

/// The resources that a player used in all games.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeedStats {
    pub nodes: u64,
    pub micros: u64,
    /// Moves by the depth of their search.
    depths: BTreeMap<u32, u64>,
}

impl SpeedStats {
    /// Nodes per second, if any time was used.
    pub fn nodes_per_second(&self) -> Option<u64> {
        (self.micros > 0).then(|| (self.nodes as f64 * 1e6 / self.micros as f64) as u64)
    }

    /// The median depth.
    pub fn median_depth(&self) -> Option<u32> {
        let moves: u64 = self.depths.values().sum();
        let mut before = 0;
        self.depths.iter().find_map(|(&depth, &count)| {
            before += count;
            (2 * before >= moves).then_some(depth)
        })
    }

    fn add(&mut self, game: &GameRecord, side: MatchSide) {
        let effort = game.effort(side);
        self.nodes += effort.nodes;
        self.micros += effort.micros;
        // The list lacks the last move of a forfeit, so both lists start with the first move.
        let first = usize::from(game.color(side) != first_mover(game));
        for depth in game.depths.iter().skip(first).step_by(2).flatten() {
            *self.depths.entry(*depth).or_default() += 1;
        }
    }
}

/// The side to move after a game's opening.
fn first_mover(game: &GameRecord) -> Color {
    match game.fen.split(' ').nth(1) {
        Some("b") => Color::Black,
        _ => Color::White,
    }
}

/// The state of a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchScore {
    /// Games and pairs, from A's side.
    pub tally: Tally,
    /// Faults of A and of B, including those in dropped games.
    pub forfeits: [Forfeits; 2],
    /// Pairs left out because of a forfeit.
    pub dropped: u64,
    /// What A and B used.
    pub speed: [SpeedStats; 2],
    /// The half-moves of the counted games.
    pub plies: u64,
    /// The half points of White in the counted games.
    pub white_halves: u64,
    pub ends: BTreeMap<GameEnd, u64>,
    /// Games in which the machine stalled, which counts on no clock.
    pub still_games: u64,
    /// The longest stall of a game in milliseconds.
    pub stillest_ms: u64,
    /// The log-likelihood ratio, where there is a test.
    pub ratio: Option<f64>,
}

impl MatchScore {
    /// Counts the two games of an opening, or drops both for a forfeit of a player whose forfeits are
    /// dropped.
    pub(super) fn count(&mut self, pair: &[GameRecord; 2], drops: [bool; 2]) {
        let mut is_dropped = false;
        for game in pair {
            self.still_games += u64::from(game.still_ms > 0);
            self.stillest_ms = self.stillest_ms.max(game.still_ms);
            if let Some(side) = game.forfeited_by() {
                self.forfeits[side as usize].add(game.end);
                is_dropped |= drops[side as usize];
            }
        }
        if is_dropped {
            self.dropped += 1;
            return;
        }
        self.tally.add([pair[0].points(), pair[1].points()]);
        for game in pair {
            for side in MatchSide::ALL {
                self.speed[side as usize].add(game, side);
            }
            self.plies += game.plies() as u64;
            self.white_halves += match game.winner {
                Some(side) if side == game.white => 2,
                Some(_) => 0,
                None => 1,
            };
            *self.ends.entry(game.end).or_default() += 1;
        }
    }

    /// The score of White, 0 to 1.
    pub fn white_score(&self) -> f64 {
        self.white_halves as f64 / 2.0 / self.tally.games().max(1) as f64
    }

    /// The mean length of a game in half-moves.
    pub fn mean_plies(&self) -> f64 {
        self.plies as f64 / self.tally.games().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::SearchEffort;
    use super::*;

    fn game(white: MatchSide, winner: Option<MatchSide>, end: GameEnd) -> GameRecord {
        let effort = |nodes| SearchEffort { nodes, micros: 100 };
        GameRecord {
            pair: 0,
            white,
            fen: "8/8/8/8/8/8/8/8 b - - 0 1".to_owned(),
            moves: String::new(),
            scores: vec![None; 4],
            depths: [10, 3, 11, 4].map(Some).to_vec(),
            winner,
            end,
            note: None,
            a: effort(50),
            b: effort(70),
            still_ms: 0,
        }
    }

    #[test]
    fn a_pair_is_counted_completely() {
        let mut score = MatchScore::default();
        let won = game(MatchSide::B, Some(MatchSide::A), GameEnd::Mate);
        let drawn = game(MatchSide::A, None, GameEnd::Threefold);
        score.count(&[drawn, won], [false, false]);
        assert_eq!(score.tally.pairs, [0, 0, 0, 1, 0]);
        assert_eq!((score.white_halves, score.plies), (1, 8));
        assert_eq!(score.speed[0].nodes_per_second(), Some(500_000));
        // Black moves first here: A's depths are 3, 4 in the game with White, 10, 11 in the other.
        let depths: Vec<u32> = score.speed[0].depths.keys().copied().collect();
        assert_eq!(depths, [3, 4, 10, 11]);
        assert_eq!(score.speed[1].median_depth(), Some(4));
        assert_eq!(SpeedStats::default().median_depth(), None);
        assert_eq!(SpeedStats::default().nodes_per_second(), None);
    }

    #[test]
    fn forfeits_count_as_losses_or_leave_their_pair_out() {
        let fine = game(MatchSide::A, Some(MatchSide::B), GameEnd::Explosion);
        let forfeit = game(MatchSide::B, Some(MatchSide::A), GameEnd::Time);
        assert_eq!(forfeit.forfeited_by(), Some(MatchSide::B));
        let pair = [fine, forfeit];
        let mut kept = MatchScore::default();
        kept.count(&pair, [true, false]);
        assert_eq!((kept.tally.games(), kept.dropped), (2, 0));
        let mut dropped = MatchScore::default();
        dropped.count(&pair, [false, true]);
        assert_eq!((dropped.tally.games(), dropped.dropped), (0, 1));
        for score in [kept, dropped] {
            assert_eq!((score.forfeits[1].time, score.forfeits[1].total()), (1, 1));
            assert_eq!(score.forfeits[0].total(), 0);
        }
    }
}
