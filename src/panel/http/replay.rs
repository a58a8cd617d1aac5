//! A game's record played again on a board: what a page needs of each position. Pure.
//!
//! A record may hold what cannot be played; then the game ends there.

use serde::Serialize;

use crate::archive::{GameRecord, MoveRecord};
use crate::rules::{Bitboard, Move, Position, Square};

/// A position after a move, and the move.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReplayStep {
    pub(super) uci: String,
    pub(super) san: String,
    pub(super) fen: String,
    /// The landing square of a capture and every neighbour that lost a piece.
    pub(super) blast: Vec<String>,
    /// The square of a king in check.
    pub(super) check: Option<String>,
}

/// A game played again.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    pub(super) start: Position,
    pub(super) shown: Vec<ReplayStep>,
    /// The expected line after each move as people write it.
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
            shown: Vec::with_capacity(record.moves.len()),
            lines: Vec::with_capacity(record.moves.len()),
            position: start,
        };
        replay.play(&record.moves);
        replay
    }

    /// Goes on with what a record has beyond the one that was played, and plays nothing of that again.
    /// False, with nothing done, if it does not begin with all of it.
    pub(super) fn go_on(&mut self, played: &GameRecord, record: &GameRecord) -> bool {
        let shared = played.moves.len();
        let same = |(one, other): (&MoveRecord, &MoveRecord)| {
            one.uci == other.uci && one.line == other.line
        };
        let begins = played.initial_fen == record.initial_fen
            && shared <= record.moves.len()
            && played.moves.iter().zip(&record.moves).all(same);
        // A game that could not be played to its end stays there.
        if begins && self.shown.len() == shared {
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
            self.shown.push(shown(&self.position, &after, mv));
            self.position = after;
        }
    }
}

fn shown(before: &Position, after: &Position, mv: Move) -> ReplayStep {
    let checked = after.in_check().then(|| after.king(after.turn())).flatten();
    let blast = if before.is_capture(mv) {
        blast(before, after, mv)
    } else {
        Vec::new()
    };
    ReplayStep {
        uci: mv.to_string(),
        san: before.san(mv),
        fen: after.fen(),
        blast: blast.iter().map(ToString::to_string).collect(),
        check: checked.map(|square| square.to_string()),
    }
}

fn blast(before: &Position, after: &Position, mv: Move) -> Vec<Square> {
    let near = |square: Square| {
        square.file().abs_diff(mv.to().file()) <= 1 && square.rank().abs_diff(mv.to().rank()) <= 1
    };
    let lost = Bitboard(before.occupied().0 & !after.occupied().0);
    let around = lost
        .into_iter()
        .filter(|&square| square != mv.from() && square != mv.to() && near(square));
    std::iter::once(mv.to()).chain(around).collect()
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
        let last = shot.shown.last().unwrap();
        assert_eq!(last.san, "Nxf7#");
        let mut blast = last.blast.clone();
        blast.sort();
        assert_eq!(blast, ["e8", "f7", "f8", "g8"]);
        assert_eq!(shot.lines[4], ["Nxf7#"]);
        assert_eq!(shot.shown[0].check, None);
        let check = replay(&["e2e4", "e7e5", "f1b5", "a7a6", "b5d7"]);
        assert_eq!(check.shown.len(), 5);
    }

    #[test]
    fn what_is_new_is_played_on_as_if_all_had_been_played_at_once() {
        let begun = record(&["g1f3", "a7a6"]);
        let all = record(&["g1f3", "a7a6", "f3g5", "h7h6", "g5f7"]);
        let mut played = Replay::of(&begun);
        assert!(played.go_on(&begun, &all));
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
            assert!(!played.go_on(&all, unlike), "{unlike:?}");
            assert_eq!(played.shown.len(), 5, "nothing is done");
        }
        let broken = record(&["e2e4", "e2e4"]);
        let more = record(&["e2e4", "e2e4", "e7e5"]);
        let mut stuck = Replay::of(&broken);
        assert!(stuck.go_on(&broken, &more));
        assert_eq!(stuck.shown.len(), 1);
    }

    #[test]
    fn what_cannot_be_played_ends_it() {
        let broken = replay(&["e2e4", "e2e4", "e7e5"]);
        assert_eq!(broken.shown.len(), 1);
        assert!(replay(&["hello"]).shown.is_empty());
    }
}
