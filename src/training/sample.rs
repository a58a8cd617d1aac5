//! A sample for the trainer: pieces, score and result of one position.
//!
//! Everything is relative to the side to move: with Black to move, the board is
//! flipped from top to bottom and the colours are swapped, so readers need not know whose turn it was.
//! Castling, en passant and the clocks are left out: the net does not see them.
//!
//! On disk, 32 bytes, little endian: the occupied squares (u64), the pieces on them as nibbles from
//! a1 to h8 (low nibble first: the role from pawn 0 to king 5, plus 8 if it belongs to the side not to
//! move), the score (i16), the result (0 lost, 1 drawn, 2 won), flags (bit 0: for validation), the
//! ply in the game (u16), two zero bytes.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::record::GameResult;
use crate::rules::{Color, Position, Role, Square};

/// The first bytes of a file of samples.
const MAGIC: &[u8; 8] = b"MEGASAM1";
/// The length of the header.
const HEAD: usize = 32;
/// The length of a sample.
const SIZE: usize = 32;
/// The bit for pieces of the side not to move.
const THEIRS: u8 = 8;
/// The flag of samples for validation.
const VALIDATION: u8 = 1;

/// A piece of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplePiece {
    /// Whether it belongs to the side to move.
    pub mine: bool,
    pub role: Role,
    /// Its square, from the perspective of the side to move.
    pub square: Square,
}

/// A position with its labels, relative to the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample([u8; SIZE]);

/// Why a file of samples is unusable.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct SampleError {
    path: PathBuf,
    what: String,
}

impl Sample {
    /// The length of a sample in bytes.
    pub(super) const SIZE: usize = SIZE;

    /// The sample of these bytes, which `bytes` gave.
    pub(super) const fn from_bytes(bytes: [u8; SIZE]) -> Sample {
        Sample(bytes)
    }

    pub(super) const fn bytes(&self) -> &[u8; SIZE] {
        &self.0
    }

    /// The sample of a position; score in centipawns and result from White's side. A board has 32
    /// pieces at most.
    pub fn of(
        position: &Position,
        score_white: i16,
        result_white: GameResult,
        ply: usize,
        for_validation: bool,
    ) -> Sample {
        let mut bytes = [0; SIZE];
        let us = position.turn();
        let mut pieces = [None; 64];
        let mut occupied = 0_u64;
        for square in position.occupied() {
            let seen = seen_by(us, square).index();
            pieces[seen] = position.piece_at(square);
            occupied |= 1 << seen;
        }
        for (place, piece) in pieces.into_iter().flatten().take(32).enumerate() {
            let side = if piece.color == us { 0 } else { THEIRS };
            bytes[8 + place / 2] |= (piece.role.index() as u8 | side) << (4 * (place % 2));
        }
        let (score, result) = match us {
            Color::White => (score_white, result_white as u8),
            Color::Black => (score_white.saturating_neg(), 2 - result_white as u8),
        };
        bytes[..8].copy_from_slice(&occupied.to_le_bytes());
        bytes[24..26].copy_from_slice(&score.to_le_bytes());
        bytes[26] = result;
        bytes[27] = if for_validation { VALIDATION } else { 0 };
        bytes[28..30].copy_from_slice(&(ply as u16).to_le_bytes());
        Sample(bytes)
    }

    /// The pieces on the board, from a1 to h8 in the perspective of the side to move.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = SamplePiece> + '_ {
        let mut left = self.occupied();
        let mut place = 0;
        std::iter::from_fn(move || {
            if left == 0 || place == 32 {
                return None;
            }
            let square = Square::new(left.trailing_zeros() as u8)?;
            left &= left - 1;
            let nibble = self.0[8 + place / 2] >> (4 * (place % 2)) & 15;
            place += 1;
            Some(SamplePiece {
                mine: nibble & THEIRS == 0,
                role: *Role::ALL.get(usize::from(nibble & !THEIRS))?,
                square,
            })
        })
    }

    fn occupied(&self) -> u64 {
        self.0
            .first_chunk()
            .map_or(0, |&word| u64::from_le_bytes(word))
    }

    /// The position without its labels.
    pub(super) fn board(&self) -> [u8; 24] {
        self.0.first_chunk().copied().unwrap_or([0; 24])
    }

    /// The score of the search, in centipawns for the side to move.
    #[inline]
    pub const fn score(&self) -> i16 {
        i16::from_le_bytes([self.0[24], self.0[25]])
    }

    /// The result for the side to move: 0 lost, 1 drawn, 2 won.
    #[inline]
    pub const fn result(&self) -> u8 {
        self.0[26]
    }

    /// Whether it is for validation.
    #[inline]
    pub const fn is_for_validation(&self) -> bool {
        self.0[27] & VALIDATION != 0
    }

    /// The ply in its game, from 0.
    #[inline]
    pub const fn ply(&self) -> u16 {
        u16::from_le_bytes([self.0[28], self.0[29]])
    }

    /// The fault of the bytes, if any.
    fn complaint(&self) -> Option<&'static str> {
        let kings = |mine| {
            let is_king = |piece: &SamplePiece| piece.mine == mine && piece.role == Role::King;
            self.pieces().filter(is_king).count()
        };
        if self.occupied().count_ones() > 32
            || self.pieces().count() != self.occupied().count_ones() as usize
        {
            Some("a board of pieces that do not exist")
        } else if kings(true) != 1 || kings(false) != 1 {
            Some("a board without one king a side")
        } else if self.result() > 2 {
            Some("a result that is not 0, 1 or 2")
        } else {
            None
        }
    }
}

/// A square in the perspective of a side, with its own back rank at the bottom.
fn seen_by(us: Color, square: Square) -> Square {
    match us {
        Color::White => square,
        Color::Black => square.flip_rank(),
    }
}

/// Writes the header of a file of `count` samples.
pub(super) fn write_head(out: &mut impl Write, count: u64) -> io::Result<()> {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&count.to_le_bytes());
    out.write_all(&head)
}

pub(super) fn write_sample(out: &mut impl Write, sample: &Sample) -> io::Result<()> {
    out.write_all(&sample.0)
}

/// Reads all samples of a file; takes 32 bytes of memory for each.
///
/// # Errors
///
/// When the file cannot be read, is not a file of samples, or has an invalid one; with the place.
pub fn read_samples(path: &Path) -> Result<Vec<Sample>, SampleError> {
    let wrong = |what: String| SampleError {
        path: path.to_owned(),
        what,
    };
    let file = File::open(path).map_err(|error| wrong(format!("cannot be opened: {error}")))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut head = [0; HEAD];
    let no_head = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => wrong("is not a file of samples: it is too short".to_owned()),
        _ => wrong(format!("cannot be read: {error}")),
    };
    file.read_exact(&mut head).map_err(no_head)?;
    if !head.starts_with(MAGIC) {
        let what = "is not a file of samples (`megaton data shuffle` makes one): it does not begin with MEGASAM1";
        return Err(wrong(what.to_owned()));
    }
    let mut count = [0; 8];
    count.copy_from_slice(&head[8..16]);
    let count = u64::from_le_bytes(count);
    let mut samples = Vec::new();
    for number in 0..count {
        let mut sample = Sample([0; SIZE]);
        let place = HEAD as u64 + number * SIZE as u64;
        file.read_exact(&mut sample.0).map_err(|error| {
            wrong(format!(
                "ends at byte {place}: {number} of {count} samples ({error})"
            ))
        })?;
        if let Some(what) = sample.complaint() {
            return Err(wrong(format!("byte {place}, sample {number}: {what}")));
        }
        samples.push(sample);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1";
    /// The position flipped, with the colours swapped.
    const TWIN: &str = "r2qkb1r/pp3ppp/4pn2/2p3B1/3p4/P2Q1PP1/1PP1P2P/RN2KB1R w KQkq - 0 1";

    fn sample(fen: &str, score: i16, result: GameResult) -> Sample {
        let position = Position::from_fen(fen).expect("a good FEN");
        Sample::of(&position, score, result, 17, true)
    }

    #[test]
    fn a_position_and_its_colour_flip_are_one_sample() {
        let black = sample(FEN, -230, GameResult::Lost);
        let white = sample(TWIN, 230, GameResult::Won);
        assert_eq!(black, white);
        assert_eq!((black.score(), black.result(), black.ply()), (230, 2, 17));
        assert!(black.is_for_validation());
    }

    #[test]
    fn the_side_to_move_sees_its_own_pieces_below() {
        let sample = sample(FEN, 0, GameResult::Drawn);
        let king = |mine| {
            let piece = sample
                .pieces()
                .find(|piece| piece.mine == mine && piece.role == Role::King);
            piece.map(|piece| piece.square.to_string())
        };
        assert_eq!(
            (king(true), king(false)),
            (Some("e1".into()), Some("e8".into()))
        );
        let position = Position::from_fen(FEN).expect("a good FEN");
        assert_eq!(sample.pieces().count(), position.occupied().count());
        let pawn = |piece: &SamplePiece| {
            piece.mine && piece.role == Role::Pawn && piece.square.rank() == 1
        };
        assert_eq!(sample.pieces().filter(pawn).count(), 4);
    }

    #[test]
    fn a_win_for_white_is_a_loss_for_black_to_move() {
        assert_eq!(sample(FEN, 0, GameResult::Won).result(), 0);
        assert_eq!(sample(TWIN, 0, GameResult::Won).result(), 2);
        assert_eq!(sample(FEN, 0, GameResult::Drawn).result(), 1);
    }

    #[test]
    fn a_bad_file_is_named_with_the_offset() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.samples");
        let good = sample(FEN, 5, GameResult::Won);
        let mut bytes = Vec::new();
        write_head(&mut bytes, 2).expect("memory");
        write_sample(&mut bytes, &good).expect("memory");
        write_sample(&mut bytes, &good).expect("memory");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            read_samples(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read(&bytes), Ok(vec![good; 2]));
        assert!(read(&bytes[..70]).unwrap_err().contains("ends at byte 64"));
        assert!(read(b"PGN").unwrap_err().contains("too short"));
        let error = read_samples(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cannot be read: Is a directory"), "{error}");
        let mut wrong = bytes.clone();
        wrong[32 + 26] = 3;
        assert!(read(&wrong).unwrap_err().contains("byte 32, sample 0"));
        wrong = bytes;
        wrong[64 + 8] |= 7;
        assert!(read(&wrong).unwrap_err().contains("byte 64, sample 1"));
    }
}
