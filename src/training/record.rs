//! The stored form of a game: moves, scores and result.
//!
//! On disk, little endian: the number of plies (u16), the result for White (u8: 0 lost, 1 drawn,
//! 2 won), flags (u8), the start position if flag 1 is set (the length of its FEN as u8, then the FEN; else
//! it is the standard one), four bytes a ply (the move's sixteen bits, then the score for White as i16), and a
//! CRC-32 of all that. Start and moves define the game; a reader checks every move by the rules.

use crate::rules::{Color, Game, Move, Outcome, Position, RepetitionRule};

/// The score of a ply without a search: a random move of the opening.
pub const NO_SCORE: i16 = i16::MIN;
/// The most plies of a valid game.
pub(super) const MOST_PLIES: usize = 1024;
/// The bytes before start position and plies.
const HEAD: usize = 4;
const PLY: usize = 4;
/// The flag of a game that stores its start position.
const HAS_START: u8 = 1;
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

    pub(super) const fn from_byte(byte: u8) -> Option<GameResult> {
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

/// One game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameRecord {
    /// The first position, unless it is the standard one.
    pub start: Option<Box<Position>>,
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
    #[error("its result is {0}, which is not 0, 1 or 2")]
    Result(u8),
    #[error(
        "its flags are {0}, and only 0 and 1 are known: another version wrote it, or it is damaged"
    )]
    Flags(u8),
    #[error("its start position is not valid: {0}")]
    Start(String),
}

impl GameRecord {
    /// The record of a game from this position.
    pub(super) fn new(start: &Position, plies: Vec<RecordedPly>, result: GameResult) -> GameRecord {
        GameRecord {
            start: (*start != Position::default()).then(|| Box::new(*start)),
            plies,
            result,
        }
    }

    /// Appends the game to `bytes`.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let from = bytes.len();
        bytes.extend_from_slice(&(self.plies.len() as u16).to_le_bytes());
        bytes.push(self.result as u8);
        match &self.start {
            None => bytes.push(0),
            Some(start) => {
                let fen = start.fen();
                bytes.extend_from_slice(&[HAS_START, fen.len() as u8]);
                bytes.extend_from_slice(fen.as_bytes());
            }
        }
        for ply in &self.plies {
            bytes.extend_from_slice(&ply.mv.bits().to_le_bytes());
            bytes.extend_from_slice(&ply.score.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[from..]);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }

    /// The game at the beginning of `bytes`, and its length.
    pub(super) fn read(bytes: &[u8]) -> Result<(GameRecord, usize), RecordError> {
        let head = Head::read(bytes)?;
        if head.plies() > MOST_PLIES {
            return Err(RecordError::Length);
        }
        let whole = bytes.get(..head.length()).ok_or(RecordError::Cut)?;
        let (body, sum) = whole.split_last_chunk::<TAIL>().ok_or(RecordError::Cut)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(RecordError::Checksum);
        }
        let result = GameResult::from_byte(head.fixed[2]);
        let result = result.ok_or(RecordError::Result(head.fixed[2]))?;
        let (start, plies) = body[HEAD..].split_at(head.start_length());
        let start = match start {
            [] => None,
            [_, fen @ ..] => Some(Box::new(read_start(fen)?)),
        };
        let plies = plies.as_chunks::<PLY>().0.iter();
        let plies = plies.map(|&[a, b, c, d]| RecordedPly {
            mv: Move::from_bits(u16::from_le_bytes([a, b])),
            score: i16::from_le_bytes([c, d]),
        });
        let plies = plies.collect();
        let game = GameRecord {
            start,
            plies,
            result,
        };
        Ok((game, head.length()))
    }

    /// Whether bytes that look truncated begin with a complete game that has a corrupt length or flag.
    pub(super) fn is_misread(bytes: &[u8]) -> bool {
        let Ok(read) = Head::read(bytes) else {
            return false;
        };
        let has_start = read.fen.is_some();
        let by_plies = (0..=MOST_PLIES as u16).map(|plies| read.with_plies(plies));
        let by_fen = (0..=u8::MAX).map(|fen| read.with_fen(Some(fen)));
        by_plies
            .chain(by_fen.filter(|_| has_start))
            .chain(has_start.then(|| read.with_fen(None)))
            .any(|head| head.is_of(bytes))
    }

    /// The game before its first move.
    fn beginning(&self) -> Game {
        let start = self.start.as_deref();
        start.map_or_else(Game::new, |&start| Game::from_position(start))
    }

    /// Replays the game and passes every position with its ply to `see`; the error is the number of the first
    /// illegal move, from 1.
    pub fn replay(&self, mut see: impl FnMut(&Position, RecordedPly)) -> Result<Game, usize> {
        let mut game = self.beginning();
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

/// What the first bytes of a game say about its length.
#[derive(Clone, Copy, Debug)]
struct Head {
    fixed: [u8; HEAD],
    /// The length of the FEN, if there is one.
    fen: Option<u8>,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Head, RecordError> {
        let &fixed = bytes.first_chunk::<HEAD>().ok_or(RecordError::Cut)?;
        let fen = match fixed[3] {
            0 => None,
            HAS_START => Some(*bytes.get(HEAD).ok_or(RecordError::Cut)?),
            flags => return Err(RecordError::Flags(flags)),
        };
        Ok(Head { fixed, fen })
    }

    fn with_plies(mut self, plies: u16) -> Head {
        self.fixed[..2].copy_from_slice(&plies.to_le_bytes());
        self
    }

    fn with_fen(mut self, fen: Option<u8>) -> Head {
        self.fixed[3] = if fen.is_some() { HAS_START } else { 0 };
        Head { fen, ..self }
    }

    fn plies(self) -> usize {
        usize::from(u16::from_le_bytes([self.fixed[0], self.fixed[1]]))
    }

    /// The bytes of the start position.
    fn start_length(self) -> usize {
        self.fen.map_or(0, |fen| 1 + usize::from(fen))
    }

    /// The bytes of the whole game.
    fn length(self) -> usize {
        HEAD + self.start_length() + PLY * self.plies() + TAIL
    }

    /// Whether `bytes` begin with a whole game, if this is its head.
    fn is_of(self, bytes: &[u8]) -> bool {
        let whole = bytes.get(..self.length());
        let Some((body, sum)) = whole.and_then(<[u8]>::split_last_chunk::<TAIL>) else {
            return false;
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.fixed);
        hasher.update(self.fen.as_slice());
        hasher.update(&body[HEAD + self.fen.as_slice().len()..]);
        hasher.finalize() == u32::from_le_bytes(*sum)
    }
}

/// Parses a stored start position.
pub(super) fn read_start(fen: &[u8]) -> Result<Position, RecordError> {
    let fen = str::from_utf8(fen).map_err(|error| RecordError::Start(error.to_string()))?;
    Position::from_fen(fen).map_err(|error| RecordError::Start(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ending, short_game};
    use super::*;

    fn written(game: &GameRecord) -> Vec<u8> {
        let mut bytes = Vec::new();
        game.write(&mut bytes);
        bytes
    }

    #[test]
    fn a_game_is_read_as_it_was_written() {
        for game in [short_game(), ending()] {
            let mut bytes = vec![9];
            game.write(&mut bytes);
            bytes.push(7);
            let (read, length) = GameRecord::read(&bytes[1..]).expect("a whole game");
            assert_eq!((&read, length), (&game, bytes.len() - 2));
            assert_eq!(written(&read), bytes[1..=length]);
        }
    }

    #[test]
    fn a_game_from_the_standard_position_does_not_store_it() {
        assert_eq!(short_game().start, None);
        assert_eq!(written(&short_game()).len(), HEAD + 4 * PLY + TAIL);
        let start = ending().start.expect("another position").fen();
        let length = HEAD + 1 + start.len() + 4 * PLY + TAIL;
        assert_eq!(written(&ending()).len(), length);
    }

    #[test]
    fn every_truncation_and_flipped_bit_is_detected() {
        for game in [short_game(), ending()] {
            let bytes = written(&game);
            for end in 0..bytes.len() {
                assert_eq!(GameRecord::read(&bytes[..end]), Err(RecordError::Cut));
            }
            for bit in 0..8 * bytes.len() {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(GameRecord::read(&flipped).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_changed_length_differs_from_a_truncated_game() {
        for game in [short_game(), ending()] {
            let mut bytes = written(&game);
            for end in 0..bytes.len() {
                assert!(!GameRecord::is_misread(&bytes[..end]), "cut at {end}");
            }
            bytes[0] = 200;
            assert_eq!(GameRecord::read(&bytes), Err(RecordError::Cut));
            assert!(GameRecord::is_misread(&bytes));
            bytes[1] = 200;
            assert_eq!(GameRecord::read(&bytes), Err(RecordError::Length));
        }
        let mut bytes = written(&ending());
        bytes[HEAD] = 250;
        assert_eq!(GameRecord::read(&bytes), Err(RecordError::Cut));
        assert!(GameRecord::is_misread(&bytes));
    }

    #[test]
    fn a_start_position_that_is_none_is_a_flaw() {
        let mut bytes = written(&ending());
        let king = HEAD + 2;
        assert_eq!(bytes[king], b'k');
        bytes[king] = b'x';
        let end = bytes.len() - TAIL;
        let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        let error = GameRecord::read(&bytes).expect_err("no FEN").to_string();
        assert!(error.contains("start position"), "{error}");
    }

    #[test]
    fn a_replay_begins_at_the_stored_position() {
        let (game, mut seen) = (ending(), Vec::new());
        let end = game.replay(|position, _| seen.push(position.fen()));
        assert_eq!(seen[0], game.start.expect("another position").fen());
        assert_eq!(seen.len(), 4);
        let castled = Position::from_fen(&seen[2]).expect("a good FEN");
        assert_eq!(
            castled.king(Color::White).map(|king| king.to_string()),
            Some("c1".to_owned())
        );
        assert_eq!(end.expect("legal moves").ply(), 4);
    }

    #[test]
    fn a_replay_names_the_first_move_that_the_rules_forbid() {
        let mut game = short_game();
        game.plies[2].mv = game.plies[0].mv;
        assert_eq!(game.replay(|_, _| ()).map(|_| ()), Err(3));
    }
}
