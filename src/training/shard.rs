//! A file of games that survives a kill at any byte.
//!
//! A shard holds the games of one range of numbers, in order, each with a checksum, so that missing games are
//! known. It begins with 32 bytes, little endian: `MEGADAT1`, the seed (u64),
//! the number of its first game (u64), the nodes a move (u32), a CRC-32 of all that (zero in the
//! first files, which had none). Bytes after the last complete game are a truncated tail: readers stop
//! there, and the next writer removes it. A packed shard (`MEGAPAK1`, see `packed`) has no tail: it is whole or
//! damaged.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::packed::{Packer, Unpacker};
use super::record::{GameRecord, RecordError};
use crate::files::write_whole;

/// The first bytes of a shard.
const MAGIC: &[u8; 8] = b"MEGADAT1";
/// The first bytes of a packed shard.
const PACKED_MAGIC: &[u8; 8] = b"MEGAPAK1";
/// The length of the header.
const HEAD: usize = 32;
/// The extension of a shard, packed or not.
const ENDING: &str = "games";
/// The bytes of a ply in a plain shard.
const BYTES_A_PLY: u64 = 4;
/// What is wrong with a file that was killed at its beginning.
const CUT_OFF: &str =
    "is cut off in its first 32 bytes: delete it, and `megaton datagen` makes its games again";
/// What helps against a damaged packed file.
const PACK_AGAIN: &str =
    "pack its games again, or delete it and `megaton datagen` makes them again";

/// How a file stores games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Packed,
}

/// The header of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardHeader {
    /// The seed of all games.
    pub seed: u64,
    /// The number of the first game.
    pub first: u64,
    /// The soft limit of a move.
    pub nodes: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        path: PathBuf,
        doing: &'static str,
        source: io::Error,
    },
    #[error("{}: {what}", path.display())]
    Other {
        path: PathBuf,
        /// The fault and its remedy.
        what: String,
    },
    /// The file is corrupt.
    #[error("{}: game {game} of this file, at byte {byte}: {what}", path.display())]
    Broken {
        path: PathBuf,
        /// The number of the game in the file, from 1.
        game: u64,
        /// The first byte of that game, or of its block if they are packed.
        byte: usize,
        what: String,
    },
}

/// Builds the error of a failed system call.
pub(super) fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> ShardError {
    let path = path.to_owned();
    move |source| ShardError::Io {
        path,
        doing,
        source,
    }
}

impl ShardHeader {
    fn to_bytes(self, form: Form) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(match form {
            Form::Plain => MAGIC,
            Form::Packed => PACKED_MAGIC,
        });
        head[8..16].copy_from_slice(&self.seed.to_le_bytes());
        head[16..24].copy_from_slice(&self.first.to_le_bytes());
        head[24..28].copy_from_slice(&self.nodes.to_le_bytes());
        let sum = crc32fast::hash(&head[..28]);
        head[28..].copy_from_slice(&sum.to_le_bytes());
        head
    }

    /// Parses the header, or says what is wrong with it.
    fn from_bytes(bytes: &[u8]) -> Result<(ShardHeader, Form), &'static str> {
        let form = if bytes.starts_with(MAGIC) {
            Form::Plain
        } else if bytes.starts_with(PACKED_MAGIC) {
            Form::Packed
        } else if MAGIC.starts_with(bytes) || PACKED_MAGIC.starts_with(bytes) {
            return Err(CUT_OFF);
        } else {
            return Err(
                "is not a file of games (`megaton datagen` makes them): it does not begin with MEGADAT1 or MEGAPAK1",
            );
        };
        let head: Option<&[u8; HEAD]> = bytes.first_chunk();
        let head = head.ok_or(CUT_OFF)?;
        let word = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[from..from + 8]);
            u64::from_le_bytes(bytes)
        };
        let sum = (word(24) >> 32) as u32;
        if sum != 0 && sum != crc32fast::hash(&head[..28]) {
            return Err(
                "byte 0: the first 32 bytes are not as they were written: delete it, and `megaton datagen` makes its games again",
            );
        }
        let header = ShardHeader {
            seed: word(8),
            first: word(16),
            nodes: word(24) as u32,
        };
        Ok((header, form))
    }

    /// Begins a packed shard.
    pub(super) fn packer(self) -> Packer {
        Packer::new(&self.to_bytes(Form::Packed))
    }

    /// The name of the file.
    pub(super) fn file_name(&self) -> String {
        format!("{:016x}-{:09}.{ENDING}", self.seed, self.first)
    }
}

/// The shards among some files and folders, in order of their names. A folder stands for the
/// shards right inside it; one that is named twice is there once.
///
/// # Errors
///
/// When one of them does not exist or cannot be listed, or there is no shard at all.
pub fn find_shards(places: &[PathBuf]) -> Result<Vec<PathBuf>, ShardError> {
    let mut shards = Vec::new();
    for place in places {
        if !fs::metadata(place)
            .map_err(failed(place, "cannot be read"))?
            .is_dir()
        {
            shards.push(place.clone());
            continue;
        }
        let mut inside = shards_in(place)?;
        if inside.is_empty() {
            let what = format!("there is no file of games (*.{ENDING}) in this folder");
            let path = place.clone();
            return Err(ShardError::Other { path, what });
        }
        shards.append(&mut inside);
    }
    let mut known = HashSet::new();
    shards.retain(|shard| known.insert(fs::canonicalize(shard).unwrap_or_else(|_| shard.clone())));
    Ok(shards)
}

/// The shards right inside a folder, in order of their names.
pub(super) fn shards_in(folder: &Path) -> Result<Vec<PathBuf>, ShardError> {
    let mut inside = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder, "cannot be listed"))? {
        let path = entry.map_err(failed(folder, "cannot be listed"))?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            inside.push(path);
        }
    }
    inside.sort();
    Ok(inside)
}

/// The shards with games of this seed. One that was truncated in its header has none, and its
/// writer starts it again.
pub(super) fn shards_of(folder: &Path, seed: u64) -> Result<Vec<PathBuf>, ShardError> {
    let beginning = format!("{seed:016x}-");
    let mut shards = shards_in(folder)?;
    shards.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with(&beginning))
            && fs::metadata(path).is_ok_and(|data| data.len() >= HEAD as u64)
    });
    Ok(shards)
}

/// Whether the file begins like a packed shard.
pub(super) fn is_packed(path: &Path) -> Result<bool, ShardError> {
    let mut beginning = Vec::new();
    let file = File::open(path).map_err(failed(path, "cannot be read"))?;
    let read = file
        .take(PACKED_MAGIC.len() as u64)
        .read_to_end(&mut beginning);
    read.map_err(failed(path, "cannot be read"))?;
    Ok(beginning == PACKED_MAGIC)
}

/// Builds the error of a file that is not what it should be.
pub(super) fn other<T: ToString>(path: &Path) -> impl FnOnce(T) -> ShardError {
    let path = path.to_owned();
    move |what| ShardError::Other {
        path,
        what: what.to_string(),
    }
}

/// The games of one shard, read one after the other.
#[derive(Debug)]
pub struct ShardReader {
    path: PathBuf,
    header: ShardHeader,
    bytes: Vec<u8>,
    /// The first byte of the next game, unless they are packed.
    place: usize,
    /// The first byte of the last game, or of its block if they are packed.
    began: usize,
    games: u64,
    /// The games of a packed shard.
    packed: Option<Unpacker>,
}

impl ShardReader {
    /// Reads a shard into memory (some megabytes).
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no shard, or is packed and damaged.
    pub fn open(path: &Path) -> Result<ShardReader, ShardError> {
        let bytes = fs::read(path).map_err(failed(path, "cannot be read"))?;
        ShardReader::over(path, bytes)
    }

    /// Reads the bytes of the shard at this path.
    pub(super) fn over(path: &Path, bytes: Vec<u8>) -> Result<ShardReader, ShardError> {
        let (header, form) = ShardHeader::from_bytes(&bytes).map_err(other(path))?;
        let packed = match form {
            Form::Plain => None,
            Form::Packed => Some(
                Unpacker::new(&bytes, HEAD)
                    .map_err(|error| other(path)(format!("{error}: {PACK_AGAIN}")))?,
            ),
        };
        Ok(ShardReader {
            path: path.to_owned(),
            header,
            bytes,
            place: HEAD,
            began: HEAD,
            games: 0,
            packed,
        })
    }

    /// How the file stores its games.
    pub(super) const fn form(&self) -> Form {
        if self.packed.is_some() {
            Form::Packed
        } else {
            Form::Plain
        }
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The most plies that the file can have, by its size or its counts.
    pub(super) fn most_plies(&self) -> u64 {
        self.packed
            .as_ref()
            .map_or(self.bytes.len() as u64 / BYTES_A_PLY, Unpacker::plies)
    }

    /// Reads to the end and gives the number of games in the file.
    pub(super) fn count(&mut self) -> Result<u64, ShardError> {
        if let Some(packed) = &self.packed {
            return Ok(packed.games());
        }
        while self.next()?.is_some() {}
        Ok(self.games)
    }

    /// The header of the shard.
    pub const fn header(&self) -> ShardHeader {
        self.header
    }

    /// The number of games read so far.
    pub const fn games(&self) -> u64 {
        self.games
    }

    /// The next game; none at the end. A truncated game is the end too.
    ///
    /// # Errors
    ///
    /// When a complete game is corrupt.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator cannot tell a cut tail from a flaw"
    )]
    pub fn next(&mut self) -> Result<Option<GameRecord>, ShardError> {
        if self.packed.is_some() {
            return self.next_packed();
        }
        match GameRecord::read(&self.bytes[self.place..]) {
            Ok((game, length)) => {
                self.began = self.place;
                self.place += length;
                self.games += 1;
                Ok(Some(game))
            }
            Err(RecordError::Cut) if GameRecord::is_misread(&self.bytes[self.place..]) => {
                Err(self.broken_ahead(self.place, &RecordError::Length))
            }
            Err(RecordError::Cut) => Ok(None),
            Err(error) => Err(self.broken_ahead(self.place, &error)),
        }
    }

    fn next_packed(&mut self) -> Result<Option<GameRecord>, ShardError> {
        let Some(packed) = &mut self.packed else {
            return Ok(None);
        };
        let (block, is_whole) = (packed.place(), packed.games() == self.games);
        match packed.next(&self.bytes) {
            Ok(None) if is_whole => Ok(None),
            Ok(Some(game)) if !is_whole => {
                if packed.place() != block {
                    self.began = block;
                }
                self.games += 1;
                Ok(Some(game))
            }
            Ok(_) => {
                let what = format!("the file has another number of games: {PACK_AGAIN}");
                Err(self.broken_ahead(block, &what))
            }
            Err(error) => Err(self.broken_ahead(block, &format!("{error}: {PACK_AGAIN}"))),
        }
    }

    /// Refuses a shard with other settings.
    pub(super) fn demand(&self, header: ShardHeader) -> Result<(), ShardError> {
        if self.header == header {
            return Ok(());
        }
        let what = format!(
            "was made with other settings ({} nodes a move, now {}): use another folder",
            self.header.nodes, header.nodes
        );
        let path = self.path.clone();
        Err(ShardError::Other { path, what })
    }

    /// The bytes after the last complete game.
    pub fn tail(&self) -> usize {
        match self.form() {
            Form::Plain => self.bytes.len() - self.place,
            Form::Packed => 0,
        }
    }

    /// An error for the last game.
    pub(super) fn broken(&self, what: String) -> ShardError {
        ShardError::Broken {
            path: self.path.clone(),
            game: self.games,
            byte: self.began,
            what,
        }
    }

    /// An error for the next game.
    fn broken_ahead(&self, byte: usize, what: &dyn ToString) -> ShardError {
        ShardError::Broken {
            path: self.path.clone(),
            game: self.games + 1,
            byte,
            what: what.to_string(),
        }
    }
}

/// A shard open for writing.
#[derive(Debug)]
pub(super) struct ShardWriter {
    path: PathBuf,
    file: File,
    games: u64,
    form: Form,
}

impl ShardWriter {
    /// Opens or creates the shard of `header` in `folder`, and removes a truncated tail. A packed shard
    /// stays packed until a game is added.
    pub(super) fn open(folder: &Path, header: ShardHeader) -> Result<ShardWriter, ShardError> {
        let path = folder.join(header.file_name());
        let fail = |doing| failed(&path, doing);
        let known = fs::metadata(&path).map_or(0, |data| data.len());
        if known < HEAD as u64 {
            // Readers refuse a file without a header: not even a kill leaves one.
            let head = header.to_bytes(Form::Plain);
            write_whole(&path, |file| file.write_all(&head)).map_err(fail("cannot be written"))?;
        }
        let mut reader = ShardReader::open(&path)?;
        reader.demand(header)?;
        let mut writer = ShardWriter {
            file: OpenOptions::new()
                .write(true)
                .open(&path)
                .map_err(fail("cannot be opened"))?,
            path: path.clone(),
            games: reader.count()?,
            form: reader.form(),
        };
        if writer.form == Form::Plain {
            writer.cut(reader.place as u64)?;
        }
        Ok(writer)
    }

    /// Replaces a packed shard by a plain one.
    fn unpack(&mut self) -> Result<(), ShardError> {
        let mut reader = ShardReader::open(&self.path)?;
        let mut bytes = reader.header().to_bytes(Form::Plain).to_vec();
        while let Some(game) = reader.next()? {
            game.write(&mut bytes);
        }
        let written = write_whole(&self.path, |file| file.write_all(&bytes));
        self.file = written
            .and_then(|()| OpenOptions::new().write(true).open(&self.path))
            .map_err(failed(&self.path, "cannot be written"))?;
        self.form = Form::Plain;
        self.cut(bytes.len() as u64)
    }

    /// The number of games in it.
    pub(super) const fn games(&self) -> u64 {
        self.games
    }

    /// Adds a game in one write, so that a kill leaves it complete or truncated.
    pub(super) fn add(&mut self, game: &GameRecord) -> Result<(), ShardError> {
        if self.form == Form::Packed {
            self.unpack()?;
        }
        let mut bytes = Vec::new();
        game.write(&mut bytes);
        self.append(&bytes)?;
        self.games += 1;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ShardError> {
        let before = self.file.stream_position();
        let written = self.file.write_all(bytes);
        if let (Err(_), Ok(before)) = (&written, before) {
            // Readers take a partial write for a truncated tail; removing it makes the file complete.
            let _ = self.cut(before);
        }
        written.map_err(failed(&self.path, "cannot be written"))
    }

    fn cut(&mut self, length: u64) -> Result<(), ShardError> {
        let cut = self.file.set_len(length);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(length)).map(|_| ()))
            .map_err(failed(&self.path, "cannot be cut"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ending, short_game};
    use super::*;

    const HEADER: ShardHeader = ShardHeader {
        seed: 3,
        first: 2000,
        nodes: 50,
    };

    fn shard_of(games: usize) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = ShardWriter::open(folder.path(), HEADER).expect("a shard");
        for _ in 0..games {
            writer.add(&short_game()).expect("room");
        }
        let path = folder.path().join(HEADER.file_name());
        (folder, path)
    }

    fn count(path: &Path) -> u64 {
        let mut reader = ShardReader::open(path).expect("a shard");
        while reader.next().expect("whole games").is_some() {}
        reader.games()
    }

    #[test]
    fn a_shard_named_twice_is_found_once() {
        let (folder, path) = shard_of(1);
        let same = folder.path().join(".");
        let found = find_shards(&[folder.path().to_owned(), path, same]).expect("shards");
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_shard_cut_at_any_byte_keeps_its_whole_games_and_continues() {
        let (folder, path) = shard_of(3);
        let whole = fs::read(&path).expect("a file");
        let length = (whole.len() - HEAD) / 3;
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).expect("a file");
            let kept = end.saturating_sub(HEAD) / length;
            let mut writer = ShardWriter::open(folder.path(), HEADER).expect("a shard");
            assert_eq!(writer.games(), kept as u64, "cut at {end}");
            writer.add(&short_game()).expect("room");
            assert_eq!(count(&path), kept as u64 + 1, "cut at {end}");
        }
    }

    #[test]
    fn a_flaw_is_named_with_its_offset() {
        let (_folder, path) = shard_of(2);
        let mut bytes = fs::read(&path).expect("a file");
        let second = HEAD + (bytes.len() - HEAD) / 2;
        bytes[second + 6] ^= 1;
        fs::write(&path, &bytes).expect("a file");
        let mut reader = ShardReader::open(&path).expect("a shard");
        assert!(reader.next().expect("the first").is_some());
        let error = reader.next().expect_err("a flaw").to_string();
        let place = format!("game 2 of this file, at byte {second}");
        assert!(error.contains(&place), "{error}");
        bytes[second + 6] ^= 1;
        fs::write(&path, &bytes).expect("a file");
        let mut reader = ShardReader::open(&path).expect("a shard");
        while reader.next().expect("whole games").is_some() {}
        let error = reader.broken("move 1 is illegal".to_owned()).to_string();
        assert!(error.contains(&place), "{error}");
    }

    #[test]
    fn a_flipped_bit_is_a_flaw_wherever_it_is() {
        let (folder, path) = shard_of(1);
        let mut writer = ShardWriter::open(folder.path(), HEADER).expect("a shard");
        writer.add(&ending()).expect("room");
        writer.add(&short_game()).expect("room");
        let whole = fs::read(&path).expect("a file");
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).expect("a file");
            let read = ShardReader::open(&path).and_then(|mut reader| {
                while reader.next()?.is_some() {}
                Ok(())
            });
            assert!(read.is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_first_format_shard_without_a_checksum_is_read_and_continued() {
        let (folder, path) = shard_of(2);
        let mut bytes = fs::read(&path).expect("a file");
        bytes[28..HEAD].fill(0);
        fs::write(&path, &bytes).expect("a file");
        assert_eq!(count(&path), 2);
        let writer = ShardWriter::open(folder.path(), HEADER).expect("a shard");
        assert_eq!(writer.games(), 2);
    }

    #[test]
    fn other_settings_do_not_mix_with_a_shard() {
        let (folder, _path) = shard_of(1);
        let other = ShardHeader {
            nodes: 60,
            ..HEADER
        };
        let error = ShardWriter::open(folder.path(), other).expect_err("other nodes");
        assert!(
            error.to_string().contains("50 nodes a move, now 60"),
            "{error}"
        );
    }

    #[test]
    fn a_file_without_games_is_rejected() {
        let (folder, path) = shard_of(0);
        fs::write(&path, [b'x'; 40]).expect("a file");
        let error = ShardReader::open(&path).expect_err("no shard").to_string();
        assert!(error.contains("MEGADAT1"), "{error}");
        let missing = folder.path().join("missing");
        assert!(find_shards(&[missing]).is_err());
    }
}
