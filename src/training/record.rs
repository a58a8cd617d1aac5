//! The stored form of a game: moves, scores and result.
//!
//! On disk, little endian: the number of plies (u16), the result for White (u8: 0 lost, 1 drawn,
//! 2 won), one zero byte, four bytes a ply (the move's sixteen bits, then the score for White as
//! i16), and a CRC-32 of all that. Games begin at the standard start position, so the moves define the game;
//! a reader checks every move by the rules.

use crate::rules::{Color, Game, Move, Outcome, Position, RepetitionRule};

/// The score of a ply without a search: a random move of the opening.
pub const NO_SCORE: i16 = i16::MIN;
/// The most plies of a valid game.
const MOST_PLIES: usize = 1024;
/// The bytes before the plies.
pub(super) const HEAD: usize = 4;
const PLY: usize = 4;
/// The bytes of the checksum.
const TAIL: usize = 4;

/// The result of a game, from White's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameResult {
    Lost = 0,
    Drawn = 1,
    Won = 2,
}

impl GameResult {
    /// A win of this side.
    pub const fn won_by(color: Color) -> GameResult {
        match color {
            Color::White => GameResult::Won,
            Color::Black => GameResult::Lost,
        }
    }

    /// The result by the rules.
    pub fn of(outcome: Outcome) -> GameResult {
        outcome
            .winner()
            .map_or(GameResult::Drawn, GameResult::won_by)
    }

    const fn from_byte(byte: u8) -> Option<GameResult> {
        match byte {
            0 => Some(GameResult::Lost),
            1 => Some(GameResult::Drawn),
            2 => Some(GameResult::Won),
            _ => None,
        }
    }
}

/// One move of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedPly {
    pub mv: Move,
    /// The score of the search, in centipawns from White's side, a mate as ±(32,000 minus its plies);
    /// [`NO_SCORE`] without a search.
    pub score: i16,
}

/// One game from the start position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameRecord {
    pub plies: Vec<RecordedPly>,
    pub result: GameResult,
}

/// Why bytes are no valid game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecordError {
    #[error("it is cut off")]
    Cut,
    #[error("its checksum is wrong")]
    Checksum,
    #[error("its length is wrong")]
    Length,
    #[error("its result is {0}, which is none of 0, 1 and 2")]
    Result(u8),
}

impl GameRecord {
    /// The length of a game with this many plies.
    const fn length(plies: usize) -> usize {
        HEAD + PLY * plies + TAIL
    }

    /// Appends the game to `bytes`.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(&(self.plies.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[self.result as u8, 0]);
        for ply in &self.plies {
            bytes.extend_from_slice(&ply.mv.bits().to_le_bytes());
            bytes.extend_from_slice(&ply.score.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[start..]);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }

    /// The game at the beginning of `bytes`, and its length.
    pub(super) fn read(bytes: &[u8]) -> Result<(GameRecord, usize), RecordError> {
        let &[low, high, result, _] = bytes.first_chunk::<HEAD>().ok_or(RecordError::Cut)?;
        let plies = usize::from(u16::from_le_bytes([low, high]));
        if plies > MOST_PLIES {
            return Err(RecordError::Length);
        }
        let length = GameRecord::length(plies);
        let whole = bytes.get(..length).ok_or(RecordError::Cut)?;
        let (body, sum) = whole.split_last_chunk::<TAIL>().ok_or(RecordError::Cut)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(RecordError::Checksum);
        }
        let result = GameResult::from_byte(result).ok_or(RecordError::Result(result))?;
        let plies = body[HEAD..]
            .as_chunks::<PLY>()
            .0
            .iter()
            .map(|&[a, b, c, d]| RecordedPly {
                mv: Move::from_bits(u16::from_le_bytes([a, b])),
                score: i16::from_le_bytes([c, d]),
            });
        let plies = plies.collect();
        Ok((GameRecord { plies, result }, length))
    }

    /// Whether bytes that look truncated begin with a complete game whose length field is corrupt.
    pub(super) fn is_misread(bytes: &[u8]) -> bool {
        (0..=MOST_PLIES).any(|plies| {
            let whole = bytes.get(..GameRecord::length(plies));
            let Some((body, sum)) = whole.and_then(<[u8]>::split_last_chunk::<TAIL>) else {
                return false;
            };
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&(plies as u16).to_le_bytes());
            hasher.update(&body[2..]);
            hasher.finalize() == u32::from_le_bytes(*sum)
        })
    }

    /// Replays the game and passes every position with its ply to `see`; the error is the number of the first
    /// illegal move, from 1.
    pub fn replay(&self, mut see: impl FnMut(&Position, RecordedPly)) -> Result<Game, usize> {
        let mut game = Game::new();
        for (number, &ply) in self.plies.iter().enumerate() {
            let position = game.position();
            if game.outcome(RepetitionRule::Threefold).is_some() || !position.is_legal(ply.mv) {
                return Err(number + 1);
            }
            see(position, ply);
            game.push(ply.mv);
        }
        Ok(game)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A game of four plies.
    pub(in crate::training) fn short_game() -> GameRecord {
        let line = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5").expect("legal moves");
        let scores = [NO_SCORE, 12, -31_990, 40];
        let plies = line.moves().iter().zip(scores);
        GameRecord {
            plies: plies
                .map(|(&mv, score)| RecordedPly { mv, score })
                .collect(),
            result: GameResult::Won,
        }
    }

    #[test]
    fn a_game_is_read_as_it_was_written() {
        let (game, mut bytes) = (short_game(), vec![9]);
        game.write(&mut bytes);
        bytes.push(7);
        let (read, length) = GameRecord::read(&bytes[1..]).expect("a whole game");
        assert_eq!((read, length), (game, bytes.len() - 2));
    }

    #[test]
    fn every_truncation_and_flipped_bit_is_detected() {
        let mut bytes = Vec::new();
        short_game().write(&mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(GameRecord::read(&bytes[..end]), Err(RecordError::Cut));
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(GameRecord::read(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_changed_length_differs_from_a_truncated_game() {
        let mut bytes = Vec::new();
        short_game().write(&mut bytes);
        for end in 0..bytes.len() {
            assert!(!GameRecord::is_misread(&bytes[..end]), "cut at {end}");
        }
        bytes[0] = 200;
        assert_eq!(GameRecord::read(&bytes), Err(RecordError::Cut));
        assert!(GameRecord::is_misread(&bytes));
        bytes[1] = 200;
        assert_eq!(GameRecord::read(&bytes), Err(RecordError::Length));
    }

    #[test]
    fn a_replay_names_the_first_move_that_the_rules_forbid() {
        let mut game = short_game();
        game.plies[2].mv = game.plies[0].mv;
        assert_eq!(game.replay(|_, _| ()).map(|_| ()), Err(3));
    }
}
