//! The file of outcome tables, as the program reads it: block by block.
//!
//! A magic number with the version, a directory of the tables with their lengths and checksums, then
//! their bytes: for each side to move its coded blocks, and the few positions whose win or loss the
//! fifty-move rule spoils. The symmetric tables have White to move only. A table whose bytes are broken is
//! named and left out; no bytes make this module panic.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::codec::{BLOCK, Block, LOSS, Model, WIN, read_number, result};
use super::layout::{Layout, MOST_PIECES, NAMES, Placement};
use crate::engine::Wdl;
use crate::rules::{CastlingRights, MoveList, Position};

/// What a file begins with; the last character is the version of the format.
pub(super) const MAGIC: &[u8; 8] = b"MGTNWDL1";
/// A table in the directory: its place in [`NAMES`], its length and its checksum.
pub(super) const ENTRY: usize = 1 + 4 + 4;
/// Unpacked blocks in memory at most: 1 KB each.
const CACHED_BLOCKS: usize = 2048;
/// The orders of the three inner pieces: the first chooses the block.
pub(super) const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// Why a file has no tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeFileError {
    #[error("not a file of outcome tables of this version (it must begin with \"MGTNWDL1\")")]
    Unknown,
    #[error("the file is cut: its directory of tables is incomplete")]
    Cut,
}

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum FileBytes {
    Embedded(&'static [u8]),
    Read(Vec<u8>),
}

impl FileBytes {
    fn bytes(&self) -> &[u8] {
        match self {
            FileBytes::Embedded(bytes) => bytes,
            FileBytes::Read(bytes) => bytes,
        }
    }

    fn part(&self, start: usize, end: usize) -> Option<Cow<'static, [u8]>> {
        match self {
            FileBytes::Embedded(bytes) => bytes.get(start..end).map(Cow::Borrowed),
            FileBytes::Read(bytes) => bytes.get(start..end).map(|part| Cow::Owned(part.to_vec())),
        }
    }
}

/// The tables of a file.
pub(super) struct OutcomeFile {
    tables: Vec<Option<Table>>,
    faults: Vec<String>,
    cache: Vec<Mutex<Option<CachedBlock>>>,
}

struct CachedBlock {
    key: u32,
    block: Arc<Block>,
}

/// A block's place in the cache. The table's number is in the upper half of the key, so the slot comes from the
/// upper bits of the product: to them all bits of the key contribute.
const fn slot(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - CACHED_BLOCKS.ilog2())) as usize
}

/// One table: its bytes, parsed at its first use.
struct Table {
    layout: Layout,
    bytes: Cow<'static, [u8]>,
    sides: OnceLock<Option<Vec<Side>>>,
}

/// One side to move.
struct Side {
    order: [usize; 3],
    model: Model,
    blocks: Vec<BlockPlace>,
    /// Numbers of the positions that are cursed or blessed, sorted.
    cursed: Vec<u32>,
}

#[derive(Clone, Copy)]
enum BlockPlace {
    Constant(u8),
    At { start: u32, length: u16 },
}

impl std::fmt::Debug for OutcomeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutcomeFile")
            .field("tables", &self.found())
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

impl Default for OutcomeFile {
    /// Without tables.
    fn default() -> OutcomeFile {
        OutcomeFile {
            tables: NAMES.iter().map(|_| None).collect(),
            faults: Vec::new(),
            cache: (0..CACHED_BLOCKS).map(|_| Mutex::new(None)).collect(),
        }
    }
}

impl OutcomeFile {
    /// Reads the directory and checks every table.
    pub(super) fn new(source: &FileBytes) -> Result<OutcomeFile, OutcomeFileError> {
        let bytes = source.bytes();
        let rest = bytes.strip_prefix(MAGIC).ok_or(OutcomeFileError::Unknown)?;
        let (&count, rest) = rest.split_first().ok_or(OutcomeFileError::Cut)?;
        let directory = rest
            .get(..usize::from(count) * ENTRY)
            .ok_or(OutcomeFileError::Cut)?;
        let mut file = OutcomeFile::default();
        let mut start = MAGIC.len() + 1 + directory.len();
        for entry in directory.chunks_exact(ENTRY) {
            let number = |at: usize| {
                u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            let (place, length, checksum) = (usize::from(entry[0]), number(1) as usize, number(5));
            let end = start.saturating_add(length);
            file.add(place, source.part(start, end), checksum);
            start = end;
        }
        for (name, table) in NAMES.iter().zip(&file.tables) {
            let fault = format!("{name}: ");
            if table.is_none() && !file.faults.iter().any(|other| other.starts_with(&fault)) {
                file.faults.push(fault + "not in the file");
            }
        }
        Ok(file)
    }

    fn add(&mut self, place: usize, bytes: Option<Cow<'static, [u8]>>, checksum: u32) {
        let Some(name) = NAMES.get(place) else {
            self.faults.push(format!("table {place}: unknown"));
            return;
        };
        let fault = match bytes {
            None => "the file is cut",
            Some(bytes) if crc32fast::hash(&bytes) == checksum => {
                self.tables[place] = Some(Table {
                    layout: Layout::new(name),
                    bytes,
                    sides: OnceLock::new(),
                });
                return;
            }
            Some(_) => "its checksum is wrong",
        };
        self.faults.push(format!("{name}: {fault}"));
    }

    /// The number of usable tables.
    pub(super) fn found(&self) -> usize {
        self.tables.iter().flatten().count()
    }

    /// The bytes of a table; `None` if it is unusable.
    pub(super) fn bytes(&self, table: usize) -> Option<usize> {
        Some(self.tables.get(table)?.as_ref()?.bytes.len())
    }

    /// Unusable tables, each with the reason.
    pub(super) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// The result of a position without castling rights and with at most four pieces, if its table is
    /// usable.
    ///
    /// The tables leave out what one ply shows: the end by the rules, an explosion, and a capture that
    /// avoids a loss. An en-passant capture is such a capture, so positions with one are answered too.
    pub(super) fn wdl(&self, position: &Position) -> Option<Wdl> {
        if position.castling_rights() != CastlingRights::NONE
            || position.occupied().count() > MOST_PIECES
        {
            return None;
        }
        if position.insufficient_material() {
            return Some(Wdl::Draw);
        }
        if position.can_explode() {
            return Some(Wdl::Win);
        }
        let wdl = self.probe(&Placement::of(position)?)?;
        Some(if wdl < Wdl::Draw && can_capture(position) {
            Wdl::Draw
        } else {
            wdl
        })
    }

    /// The result of a position whose side to move cannot explode the king. A draw may be given as a
    /// loss where that side has a legal capture.
    fn probe(&self, placement: &Placement) -> Option<Wdl> {
        let table = self.tables.get(placement.table)?.as_ref()?;
        let sides = table.sides.get_or_init(|| table.parse()).as_ref()?;
        let place = placement.turn.index();
        let side = sides.get(place)?;
        let index = table.layout.index(placement.squares);
        let (number, at) = split(&table.layout, side.order, index);
        let result = match *side.blocks.get(number)? {
            BlockPlace::Constant(result) => result,
            BlockPlace::At { start, length } => {
                let key = ((placement.table << 1 | place) << 16 | number) as u32;
                let block = self.block(key, || {
                    let start = start as usize;
                    let bytes = table.bytes.get(start..start + usize::from(length));
                    side.model.decode(bytes.unwrap_or_default())
                });
                result(&block, at)
            }
        };
        let is_cursed = || side.cursed.binary_search(&(index as u32)).is_ok();
        Some(match result {
            WIN if is_cursed() => Wdl::CursedWin,
            WIN => Wdl::Win,
            LOSS if is_cursed() => Wdl::BlessedLoss,
            LOSS => Wdl::Loss,
            _ => Wdl::Draw,
        })
    }

    /// An unpacked block, from the cache if it is there.
    fn block(&self, key: u32, decode: impl FnOnce() -> Box<Block>) -> Arc<Block> {
        let slot = &self.cache[slot(key)];
        if let Some(cached) = slot.lock().as_ref().filter(|cached| cached.key == key) {
            return Arc::clone(&cached.block);
        }
        // Not under the lock: two threads may unpack the same block, none waits for it.
        let block: Arc<Block> = Arc::from(decode());
        *slot.lock() = Some(CachedBlock {
            key,
            block: Arc::clone(&block),
        });
        block
    }
}

/// With at most four pieces every capture that explodes no king leaves bare kings.
fn can_capture(position: &Position) -> bool {
    let mut moves = MoveList::new();
    position.noisy_moves(&mut moves);
    moves.iter().any(|&mv| position.is_capture(mv))
}

/// The block of a number and its place there.
#[inline]
fn split(layout: &Layout, order: [usize; 3], index: usize) -> (usize, usize) {
    let inner = [index >> 12 & 63, index >> 6 & 63, index & 63];
    if layout.pieces().len() < 4 {
        return (index >> 12, index & (BLOCK - 1));
    }
    let [block, outer, last] = order.map(|piece| inner[piece]);
    (index >> 18 << 6 | block, outer << 6 | last)
}

impl Table {
    /// `None` if the bytes have another form, which the checksum should have told.
    fn parse(&self) -> Option<Vec<Side>> {
        let mut rest: &[u8] = &self.bytes;
        let sides = if self.layout.is_symmetric { 1 } else { 2 };
        (0..sides)
            .map(|_| {
                let side;
                (side, rest) = self.parse_side(rest)?;
                Some(side)
            })
            .collect()
    }

    fn parse_side<'b>(&'b self, bytes: &'b [u8]) -> Option<(Side, &'b [u8])> {
        let (&order, rest) = bytes.split_first()?;
        let order = *ORDERS.get(usize::from(order))?;
        let (model, mut rest) = Model::read(rest)?;
        let count = self.layout.size() / BLOCK;
        let mut lengths = Vec::with_capacity(count);
        while lengths.len() < count {
            match read_number(&mut rest)? {
                result @ 0..=2 => {
                    let run = read_number(&mut rest)?.min(count - lengths.len());
                    lengths.extend(std::iter::repeat_n(Err(result as u8), run.max(1)));
                }
                length => lengths.push(Ok(u16::try_from(length - 3).ok()?)),
            }
        }
        let mut cursed = Vec::new();
        let mut last: u32 = 0;
        for _ in 0..read_number(&mut rest)? {
            last = u32::try_from(read_number(&mut rest)?)
                .ok()?
                .checked_add(last)?;
            cursed.push(last);
        }
        let mut start = self.bytes.len() - rest.len();
        let blocks = lengths.into_iter().map(|length| match length {
            Err(result) => BlockPlace::Constant(result),
            Ok(length) => {
                let place = BlockPlace::At {
                    start: start as u32,
                    length,
                };
                start += usize::from(length);
                place
            }
        });
        let side = Side {
            order,
            model,
            blocks: blocks.collect(),
            cursed,
        };
        Some((side, self.bytes.get(start..)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn blocks_of_the_same_number_of_different_tables_do_not_compete() {
        for number in [0, 1, 77] {
            let keys = (0..2 * NAMES.len()).map(|side| (side << 16 | number) as u32);
            let slots: BTreeSet<usize> = keys.map(slot).collect();
            assert_eq!(slots.len(), 2 * NAMES.len(), "block {number}");
        }
    }
}
