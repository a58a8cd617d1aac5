//! A game's record replayed on a board: what a page needs of each position. Pure.
//!
//! A replay ends at the first move that is not legal.

use serde::Serialize;

use crate::archive::{GameRecord, MoveRecord};
use crate::rules::{Move, Position};

/// A move and the position after it.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ReplayStep {
    pub(super) uci: String,
    pub(super) san: String,
    pub(super) fen: String,
    /// The target square of a capture and every neighbouring square that lost a piece.
    pub(super) blast: Vec<String>,
    /// The square of a king in check.
    pub(super) check: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Replay {
    pub(super) start: Position,
    pub(super) steps: Vec<ReplayStep>,
    /// The expected line of each move, in SAN.
    pub(super) lines: Vec<Vec<String>>,
    pub(super) position: Position,
}

impl Replay {
    pub(super) fn of(record: &GameRecord) -> Self {
        let fen = record.initial_fen.as_deref();
        let start = fen.and_then(|fen| Position::from_fen(fen).ok());
        let start = start.unwrap_or_default();
        let mut replay = Self {
            start,
            steps: Vec::with_capacity(record.moves.len()),
            lines: Vec::with_capacity(record.moves.len()),
            position: start,
        };
        replay.play(&record.moves);
        replay
    }

    /// Plays the moves that `record` has beyond `played`, the record of this replay. If `record` does not
    /// start with all of `played`, it changes nothing and returns false.
    pub(super) fn extend(&mut self, played: &GameRecord, record: &GameRecord) -> bool {
        let shared = played.moves.len();
        let same = |(one, other): (&MoveRecord, &MoveRecord)| {
            one.uci == other.uci && one.line == other.line
        };
        let begins = played.initial_fen == record.initial_fen
            && shared <= record.moves.len()
            && played.moves.iter().zip(&record.moves).all(same);
        // A replay that ended at an illegal move stays there.
        if begins && self.steps.len() == shared {
            self.play(&record.moves[shared..]);
        }
        begins
    }

    fn play(&mut self, moves: &[MoveRecord]) {
        for made in moves {
            let Ok(mv) = self.position.parse_uci(&made.uci) else {
                break;
            };
            self.lines.push(self.position.san_of_uci(&made.line));
            let after = self.position.play(mv);
            self.steps.push(step(&self.position, &after, mv));
            self.position = after;
        }
    }
}

fn step(before: &Position, after: &Position, mv: Move) -> ReplayStep {
    let checked = after.in_check().then(|| after.king(after.turn())).flatten();
    ReplayStep {
        uci: mv.to_string(),
        san: before.san(mv),
        fen: after.fen(),
        blast: before
            .explosion(mv)
            .iter()
            .map(ToString::to_string)
            .collect(),
        check: checked.map(|square| square.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(moves: &[&str]) -> GameRecord {
        let moves = moves.iter().map(|uci| MoveRecord {
            line: (*uci).to_owned(),
            ..MoveRecord::bare(*uci)
        });
        GameRecord {
            moves: moves.collect(),
            ..GameRecord::default()
        }
    }

    fn replay(moves: &[&str]) -> Replay {
        Replay::of(&record(moves))
    }

    #[test]
    fn a_game_is_shown_move_by_move() {
        let shot = replay(&["g1f3", "a7a6", "f3g5", "h7h6", "g5f7"]);
        let last = shot.steps.last().unwrap();
        assert_eq!(last.san, "Nxf7#");
        let mut blast = last.blast.clone();
        blast.sort();
        assert_eq!(blast, ["e8", "f7", "f8", "g8"]);
        assert_eq!(shot.lines[4], ["Nxf7#"]);
        assert_eq!(shot.steps[0].check, None);
        let check = replay(&["e2e4", "e7e5", "f1b5", "a7a6", "b5d7"]);
        assert_eq!(check.steps.len(), 5);
    }

    #[test]
    fn an_extended_replay_equals_a_full_one() {
        let begun = record(&["g1f3", "a7a6"]);
        let all = record(&["g1f3", "a7a6", "f3g5", "h7h6", "g5f7"]);
        let mut played = Replay::of(&begun);
        assert!(played.extend(&begun, &all));
        assert_eq!(format!("{played:?}"), format!("{:?}", Replay::of(&all)));

        let annotated = {
            let mut record = all.clone();
            record.moves[1].line.clear();
            record
        };
        let elsewhere = GameRecord {
            initial_fen: Some("8/8/8/8/8/8/8/8 w - - 0 1".to_owned()),
            ..all.clone()
        };
        let other = record(&["g1f3", "a7a5", "f3g5"]);
        for unlike in [&other, &begun, &annotated, &elsewhere] {
            assert!(!played.extend(&all, unlike), "{unlike:?}");
            assert_eq!(played.steps.len(), 5, "nothing is done");
        }
        let broken = record(&["e2e4", "e2e4"]);
        let more = record(&["e2e4", "e2e4", "e7e5"]);
        let mut stuck = Replay::of(&broken);
        assert!(stuck.extend(&broken, &more));
        assert_eq!(stuck.steps.len(), 1);
    }

    #[test]
    fn an_illegal_move_ends_the_replay() {
        let broken = replay(&["e2e4", "e2e4", "e7e5"]);
        assert_eq!(broken.steps.len(), 1);
        assert!(replay(&["hello"]).steps.is_empty());
    }
}
