//! Packed games: whole files of them, compressed, 1.6 bytes a ply instead of 4.1.
//!
//! A packed file begins like a shard, but with `MEGAPAK1`. The numbers of its games (u64) and plies (u64)
//! follow, blocks of up to 2000 games, and a CRC-32 of everything before it. All numbers are little endian.
//!
//! A block is the number of its games (u32), the sizes of its six columns (u32 each), and the columns, each
//! compressed by deflate: plies a game (u16), results (u8, plus 4 with a start position), start positions
//! (FEN, each ended by a line feed), moves, scores, and large scores. A move is one byte: its place among the
//! legal moves, ordered as numbers. A score is one byte: the difference to the score before it in the game
//! (at first 0), folded to 0, -1, 1, -2, …; 254 for a difference in the column of large scores (u16), 255 for
//! a ply without a score. So a reader replays each game, and needs the rules of the writer.
//!
//! Reading never trusts a size: no damaged file makes it allocate more than a block of the longest games.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::record::{GameRecord, GameResult, MOST_PLIES, NO_SCORE, RecordedPly, read_start};
use crate::rules::{Move, Position};

/// The bytes of the two counts after the header.
const COUNTS: usize = 16;
/// The bytes of the checksum.
const TAIL: usize = 4;
/// The most games of a block.
const BLOCK_GAMES: usize = 2000;
/// The most bytes of a start position.
const MOST_FEN: usize = 256;
/// The columns of a block.
const COLUMNS: usize = 6;
/// The bytes of a block before its columns.
const BLOCK_HEAD: usize = 4 + 4 * COLUMNS;
/// Marks a game with a start position in the column of results.
const HAS_START: u8 = 4;
/// The score byte of a large difference.
const LARGE: u8 = 254;
/// The score byte of a ply without a score.
const UNJUDGED: u8 = 255;

/// What is wrong with packed games.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PackedError {
    #[error("is damaged or cut off: its checksum is wrong")]
    Checksum,
    #[error("is damaged: {0}")]
    Block(String),
}

fn damaged<T>(what: impl Into<String>) -> Result<T, PackedError> {
    Err(PackedError::Block(what.into()))
}

/// Packs games into the bytes of one file.
#[derive(Debug)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    head: usize,
    games: u64,
    plies: u64,
    block: Columns,
}

impl Packer {
    /// Begins a file with this header.
    pub(super) fn new(header: &[u8]) -> Packer {
        let mut bytes = header.to_vec();
        bytes.extend_from_slice(&[0; COUNTS]);
        Packer {
            bytes,
            head: header.len(),
            games: 0,
            plies: 0,
            block: Columns::default(),
        }
    }

    /// Adds a game.
    ///
    /// # Errors
    ///
    /// The number of the first illegal move, from 1.
    pub(super) fn add(&mut self, game: &GameRecord) -> Result<(), usize> {
        self.block.add(game)?;
        self.games += 1;
        self.plies += game.plies.len() as u64;
        if self.block.games == BLOCK_GAMES {
            std::mem::take(&mut self.block).write(&mut self.bytes);
        }
        Ok(())
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.block.games > 0 {
            self.block.write(&mut self.bytes);
        }
        let (head, counts) = (self.head, [self.games, self.plies]);
        for (place, count) in self.bytes[head..].chunks_mut(8).zip(counts) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        let sum = crc32fast::hash(&self.bytes);
        self.bytes.extend_from_slice(&sum.to_le_bytes());
        self.bytes
    }
}

/// The games of a packed file, block after block.
#[derive(Debug)]
pub(super) struct Unpacker {
    games: u64,
    plies: u64,
    /// The first byte of the next block.
    place: usize,
    /// The games of the last block that are still to come.
    ready: std::vec::IntoIter<GameRecord>,
}

impl Unpacker {
    /// Checks the file and begins after its header of `head` bytes.
    pub(super) fn new(bytes: &[u8], head: usize) -> Result<Unpacker, PackedError> {
        let (body, sum) = bytes
            .split_last_chunk::<TAIL>()
            .filter(|(body, _)| body.len() >= head + COUNTS)
            .ok_or(PackedError::Checksum)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(PackedError::Checksum);
        }
        let [games, plies] = counts(&body[head..]).ok_or(PackedError::Checksum)?;
        Ok(Unpacker {
            games,
            plies,
            place: head + COUNTS,
            ready: Vec::new().into_iter(),
        })
    }

    /// The number of games in the file.
    pub(super) const fn games(&self) -> u64 {
        self.games
    }

    /// The number of plies in the file.
    pub(super) const fn plies(&self) -> u64 {
        self.plies
    }

    /// The first byte of the next block.
    pub(super) const fn place(&self) -> usize {
        self.place
    }

    /// The next game of the file with these bytes.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<Option<GameRecord>, PackedError> {
        if let Some(game) = self.ready.next() {
            return Ok(Some(game));
        }
        let rest = &bytes[self.place..bytes.len() - TAIL];
        if rest.is_empty() {
            return Ok(None);
        }
        let (block, length) = Columns::read(rest)?;
        self.ready = block.unpack()?.into_iter();
        self.place += length;
        Ok(self.ready.next())
    }
}

fn counts(bytes: &[u8]) -> Option<[u64; 2]> {
    let (&[games, plies], []) = bytes.first_chunk::<COUNTS>()?.as_chunks::<8>() else {
        return None;
    };
    Some([games, plies].map(u64::from_le_bytes))
}

/// The columns of a block.
#[derive(Debug, Default)]
struct Columns {
    games: usize,
    lengths: Vec<u8>,
    results: Vec<u8>,
    starts: Vec<u8>,
    moves: Vec<u8>,
    scores: Vec<u8>,
    large: Vec<u8>,
}

impl Columns {
    fn add(&mut self, game: &GameRecord) -> Result<(), usize> {
        let mut moves = Vec::with_capacity(game.plies.len());
        game.replay(|position, ply| moves.push(place_of(position, ply.mv)))?;
        self.moves.append(&mut moves);
        self.games += 1;
        let length = (game.plies.len() as u16).to_le_bytes();
        self.lengths.extend_from_slice(&length);
        self.results.push(game.result as u8);
        if let (Some(start), Some(result)) = (&game.start, self.results.last_mut()) {
            *result |= HAS_START;
            self.starts.extend_from_slice(start.fen().as_bytes());
            self.starts.push(b'\n');
        }
        let mut before = 0;
        for ply in &game.plies {
            if ply.score == NO_SCORE {
                self.scores.push(UNJUDGED);
                continue;
            }
            let folded = fold(ply.score.wrapping_sub(before));
            before = ply.score;
            if let Ok(small @ 0..LARGE) = u8::try_from(folded) {
                self.scores.push(small);
            } else {
                self.scores.push(LARGE);
                self.large.extend_from_slice(&folded.to_le_bytes());
            }
        }
        Ok(())
    }

    fn write(self, bytes: &mut Vec<u8>) {
        let columns = [
            self.lengths,
            self.results,
            self.starts,
            self.moves,
            self.scores,
            self.large,
        ];
        let columns = columns.map(|column| deflate(&column));
        bytes.extend_from_slice(&(self.games as u32).to_le_bytes());
        for column in &columns {
            bytes.extend_from_slice(&(column.len() as u32).to_le_bytes());
        }
        for column in &columns {
            bytes.extend_from_slice(column);
        }
    }

    /// The block at the beginning of `bytes`, and its length.
    fn read(bytes: &[u8]) -> Result<(Columns, usize), PackedError> {
        let Some((head, mut rest)) = bytes.split_first_chunk::<BLOCK_HEAD>() else {
            return damaged("the head of a block is cut off");
        };
        let mut numbers = head.as_chunks::<4>().0.iter();
        let mut number = || {
            numbers
                .next()
                .map_or(0, |&it| u32::from_le_bytes(it) as usize)
        };
        let games = number();
        if !(1..=BLOCK_GAMES).contains(&games) {
            return damaged(format!(
                "a block of {games} games, and 1 to {BLOCK_GAMES} are possible"
            ));
        }
        let mut column = |most: usize| {
            let Some((packed, after)) = rest.split_at_checked(number()) else {
                return damaged("a column is cut off");
            };
            rest = after;
            inflate(packed, most)
        };
        let lengths = column(2 * games)?;
        let results = column(games)?;
        let starts = column(MOST_FEN * games)?;
        let moves = column(MOST_PLIES * games)?;
        let scores = column(MOST_PLIES * games)?;
        let large = column(2 * scores.len())?;
        let columns = Columns {
            games,
            lengths,
            results,
            starts,
            moves,
            scores,
            large,
        };
        Ok((columns, bytes.len() - rest.len()))
    }

    fn unpack(self) -> Result<Vec<GameRecord>, PackedError> {
        let mut starts = self.starts.split_inclusive(|&byte| byte == b'\n');
        let mut moves = self.moves.iter().copied();
        let mut scores = Scores {
            small: self.scores.iter().copied(),
            large: self.large.as_chunks::<2>().0.iter(),
        };
        let lengths = self.lengths.as_chunks::<2>().0;
        if lengths.len() != self.games || self.results.len() != self.games {
            return damaged("a block has games without length or result");
        }
        let mut games = Vec::with_capacity(self.games);
        for (&length, &result) in lengths.iter().zip(&self.results) {
            let plies = usize::from(u16::from_le_bytes(length));
            let Some(result_for_white) = GameResult::from_byte(result & !HAS_START) else {
                return damaged(format!("invalid result {result}"));
            };
            let start = match result & HAS_START {
                0 => None,
                _ => Some(Box::new(next_start(&mut starts)?)),
            };
            let plies = unpack_plies(start.as_deref(), plies, &mut moves, &mut scores)?;
            games.push(GameRecord {
                start,
                plies,
                result: result_for_white,
            });
        }
        if moves.next().is_some() || scores.small.next().is_some() || starts.next().is_some() {
            return damaged("a block has more moves, scores or start positions than its games");
        }
        Ok(games)
    }
}

/// The scores of a block.
#[derive(Debug)]
struct Scores<'a, S> {
    small: S,
    large: std::slice::Iter<'a, [u8; 2]>,
}

impl<S: Iterator<Item = u8>> Scores<'_, S> {
    /// The next score, after `before` in the same game.
    fn next(&mut self, before: &mut i16) -> Option<i16> {
        let folded = match self.small.next()? {
            UNJUDGED => return Some(NO_SCORE),
            LARGE => u16::from_le_bytes(*self.large.next()?),
            small => u16::from(small),
        };
        *before = before.wrapping_add(unfold(folded));
        Some(*before)
    }
}

fn next_start<'a>(starts: &mut impl Iterator<Item = &'a [u8]>) -> Result<Position, PackedError> {
    let Some([fen @ .., b'\n']) = starts.next() else {
        return damaged("a start position is missing");
    };
    read_start(fen).map_err(|error| PackedError::Block(error.to_string()))
}

fn unpack_plies(
    start: Option<&Position>,
    count: usize,
    moves: &mut impl Iterator<Item = u8>,
    scores: &mut Scores<'_, impl Iterator<Item = u8>>,
) -> Result<Vec<RecordedPly>, PackedError> {
    if count > MOST_PLIES {
        return damaged(format!(
            "a game of {count} plies, and {MOST_PLIES} are the most"
        ));
    }
    let mut position = start.copied().unwrap_or_default();
    let mut plies = Vec::with_capacity(count);
    let mut before = 0;
    for number in 1..=count {
        let Some(mv) = moves.next().and_then(|place| move_at(&position, place)) else {
            return damaged(format!("move {number} of a game is not legal"));
        };
        let Some(score) = scores.next(&mut before) else {
            return damaged("a score is missing");
        };
        plies.push(RecordedPly { mv, score });
        position = position.play(mv);
    }
    Ok(plies)
}

/// The place of a legal move among all, ordered as numbers.
fn place_of(position: &Position, mv: Move) -> u8 {
    let legal = position.legal_moves();
    legal.iter().filter(|&&other| other < mv).count() as u8
}

/// The legal move at this place.
fn move_at(position: &Position, place: u8) -> Option<Move> {
    let mut legal = position.legal_moves();
    let place = usize::from(place);
    (place < legal.len()).then(|| *legal.select_nth_unstable(place).1)
}

/// 0, -1, 1, -2, … as 0, 1, 2, 3, …
const fn fold(difference: i16) -> u16 {
    ((difference << 1) ^ (difference >> 15)) as u16
}

const fn unfold(folded: u16) -> i16 {
    (folded >> 1) as i16 ^ -((folded & 1) as i16)
}

fn deflate(column: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    // A list in memory takes every byte.
    let written = encoder.write_all(column);
    written
        .and_then(|()| encoder.finish())
        .expect("writing to memory cannot fail")
}

/// Decompresses a column of at most `most` bytes.
fn inflate(packed: &[u8], most: usize) -> Result<Vec<u8>, PackedError> {
    let mut column = Vec::new();
    let mut decoder = DeflateDecoder::new(packed).take(most as u64 + 1);
    let read: io::Result<usize> = decoder.read_to_end(&mut column);
    match read {
        Ok(length) if length <= most => Ok(column),
        Ok(_) => damaged(format!("a column of more than {most} bytes")),
        Err(error) => damaged(format!("a column cannot be decompressed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{ending, game_by, short_game};
    use super::*;

    const HEADER: [u8; 32] = [7; 32];

    fn pack(games: &[GameRecord]) -> Vec<u8> {
        let mut packer = Packer::new(&HEADER);
        for game in games {
            packer.add(game).expect("legal moves");
        }
        packer.finish()
    }

    fn unpack(bytes: &[u8]) -> Result<Vec<GameRecord>, PackedError> {
        let mut unpacker = Unpacker::new(bytes, HEADER.len())?;
        let mut games = Vec::new();
        while let Some(game) = unpacker.next(bytes)? {
            games.push(game);
        }
        Ok(games)
    }

    fn games() -> impl Strategy<Value = Vec<GameRecord>> {
        let score = prop_oneof![any::<i16>(), -300_i16..300, Just(NO_SCORE)];
        let choices = prop::collection::vec((any::<u8>(), score), 0..60);
        let game = (choices, 0_u8..3, any::<bool>()).prop_map(|(choices, result, is_ending)| {
            let start = if is_ending { ending().start } else { None };
            let result = GameResult::from_byte(result).expect("one of three");
            game_by(
                start.map_or_else(Position::default, |start| *start),
                &choices,
                result,
            )
        });
        prop::collection::vec(game, 0..8)
    }

    fn written(games: &[GameRecord]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for game in games {
            game.write(&mut bytes);
        }
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn games_are_unpacked_bit_for_bit(games in games()) {
            let again = unpack(&pack(&games)).expect("packed games");
            prop_assert_eq!(&again, &games);
            prop_assert_eq!(written(&again), written(&games));
        }
    }

    #[test]
    fn more_games_than_a_block_are_packed_in_several() {
        let games: Vec<GameRecord> = (0..=BLOCK_GAMES)
            .map(|number| {
                if number.is_multiple_of(3) {
                    ending()
                } else {
                    short_game()
                }
            })
            .collect();
        let bytes = pack(&games);
        assert_eq!(unpack(&bytes), Ok(games));
        let counts = Unpacker::new(&bytes, HEADER.len()).expect("packed games");
        let games = BLOCK_GAMES as u64 + 1;
        assert_eq!((counts.games(), counts.plies()), (games, 4 * games));
    }

    #[test]
    fn every_difference_is_folded_and_back() {
        for difference in i16::MIN..=i16::MAX {
            assert_eq!(unfold(fold(difference)), difference);
        }
        assert_eq!([0, -1, 1, -2].map(fold), [0, 1, 2, 3]);
    }

    #[test]
    fn every_truncation_and_flipped_bit_is_a_flaw() {
        let bytes = pack(&[short_game(), ending()]);
        for end in 0..bytes.len() {
            assert_eq!(unpack(&bytes[..end]), Err(PackedError::Checksum));
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unpack(&flipped), Err(PackedError::Checksum), "bit {bit}");
        }
    }

    /// Packed games with a changed byte and the checksum that fits.
    fn forged(mut bytes: Vec<u8>, place: usize, byte: u8) -> Vec<u8> {
        bytes[place] = byte;
        let end = bytes.len() - TAIL;
        let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        bytes
    }

    #[test]
    fn a_forged_file_never_panics() {
        let bytes = pack(&[short_game(), ending(), short_game()]);
        for place in HEADER.len()..bytes.len() - TAIL {
            for byte in [0, 1, 127, 255, bytes[place] ^ 16] {
                let read = unpack(&forged(bytes.clone(), place, byte));
                assert!(read.is_err() || read.is_ok_and(|games| games.len() <= BLOCK_GAMES));
            }
        }
    }

    #[test]
    fn a_corrupt_size_allocates_no_more_than_a_block() {
        let zeros = deflate(&vec![0; 100 << 20]);
        let error = inflate(&zeros, 5000).expect_err("100 MB").to_string();
        assert!(error.contains("more than 5000 bytes"), "{error}");
        let first = HEADER.len() + COUNTS;
        let many = forged(pack(&[short_game()]), first + 3, 255);
        let error = unpack(&many).expect_err("billions of games").to_string();
        assert!(error.contains("1 to 2000 are possible"), "{error}");
        let long = forged(pack(&[short_game()]), first + 4 + 3, 255);
        let error = unpack(&long).expect_err("a long column").to_string();
        assert!(error.contains("a column is cut off"), "{error}");
    }

    #[test]
    fn an_illegal_move_is_not_packed() {
        let mut game = short_game();
        game.plies[2].mv = game.plies[0].mv;
        assert_eq!(Packer::new(&HEADER).add(&game), Err(3));
    }
}
