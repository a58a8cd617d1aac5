//! Puts the file of outcome tables together, in the form that `file` reads.

use super::codec::{ANY, BLOCK, Choice, CodedBlock, CodedSide, DRAW, LOSS, WIN, write_number};
use super::file::{ENTRY, MAGIC, ORDERS};
use super::generator::Solved;
use super::layout::{Layout, NAMES};
use crate::engine::Wdl;
use crate::rules::Color;

/// Puts a file together.
#[derive(Debug, Default)]
pub(super) struct OutcomeWriter {
    directory: Vec<u8>,
    tables: Vec<u8>,
}

impl OutcomeWriter {
    /// Adds a table; returns its bytes in the file.
    pub(super) fn add(&mut self, solved: &Solved) -> usize {
        let mut bytes = Vec::new();
        for turn in Color::ALL {
            if turn == Color::White || !solved.layout.is_symmetric {
                write_side(&mut bytes, solved, turn);
            }
        }
        let place = NAMES.iter().position(|name| *name == solved.layout.name);
        self.directory.push(place.unwrap_or(NAMES.len()) as u8);
        self.directory.extend((bytes.len() as u32).to_le_bytes());
        self.directory.extend(crc32fast::hash(&bytes).to_le_bytes());
        self.tables.extend(&bytes);
        bytes.len()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let count = (self.directory.len() / ENTRY) as u8;
        [MAGIC.as_slice(), &[count], &self.directory, &self.tables].concat()
    }
}

fn write_side(bytes: &mut Vec<u8>, solved: &Solved, turn: Color) {
    let layout = &solved.layout;
    let choices: Vec<Choice> = (0..layout.size())
        .map(|index| choice(solved, turn, index))
        .collect();
    let orders = if layout.pieces().len() < 4 {
        1
    } else {
        ORDERS.len()
    };
    let coded = (0..orders).map(|order| (order, coded(layout, ORDERS[order], &choices)));
    let Some((order, coded)) = coded.min_by_key(|(_, coded)| coded.bytes()) else {
        return;
    };
    bytes.push(order as u8);
    bytes.extend(&coded.model);
    let mut blocks = coded.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            CodedBlock::Coded(data) => write_number(bytes, data.len() + 3),
            CodedBlock::Constant(result) => {
                let mut run = 1;
                let is_same = |next: &&CodedBlock| matches!(next, CodedBlock::Constant(other) if other == result);
                while blocks.next_if(is_same).is_some() {
                    run += 1;
                }
                write_number(bytes, usize::from(*result));
                write_number(bytes, run);
            }
        }
    }
    write_cursed(bytes, solved, turn);
    for block in &coded.blocks {
        if let CodedBlock::Coded(data) = block {
            bytes.extend(data);
        }
    }
}

fn write_cursed(bytes: &mut Vec<u8>, solved: &Solved, turn: Color) {
    let is_cursed = |&index: &usize| {
        matches!(
            solved.wdl(turn, index),
            Some(Wdl::CursedWin | Wdl::BlessedLoss)
        )
    };
    let cursed: Vec<usize> = (0..solved.layout.size()).filter(is_cursed).collect();
    write_number(bytes, cursed.len());
    let mut last = 0;
    for index in cursed {
        write_number(bytes, index - last);
        last = index;
    }
}

/// The results that readers take for the right one.
fn choice(solved: &Solved, turn: Color, index: usize) -> Choice {
    let Some(wdl) = solved.wdl(turn, index) else {
        return ANY;
    };
    match wdl {
        _ if solved.explodes(turn, index) => ANY,
        Wdl::Draw if solved.captures(turn, index) => 1 << DRAW | 1 << LOSS,
        Wdl::Draw => 1 << DRAW,
        Wdl::Win | Wdl::CursedWin => 1 << WIN,
        Wdl::Loss | Wdl::BlessedLoss => 1 << LOSS,
    }
}

fn coded(layout: &Layout, order: [usize; 3], choices: &[Choice]) -> CodedSide {
    CodedSide::new(layout.size() / BLOCK, |number| {
        let mut block = Box::new([ANY; BLOCK]);
        for (at, choice) in block.iter_mut().enumerate() {
            *choice = choices[joined(layout, order, number, at)];
        }
        block
    })
}

/// The number at a place of a block: the reader splits it again.
fn joined(layout: &Layout, order: [usize; 3], block: usize, at: usize) -> usize {
    if layout.pieces().len() < 4 {
        return block << 12 | at;
    }
    let mut inner = [0; 3];
    inner[order[0]] = block & 63;
    inner[order[1]] = at >> 6;
    inner[order[2]] = at & 63;
    (block >> 6) << 18 | inner[0] << 12 | inner[1] << 6 | inner[2]
}
