//! Packs the results of one side of a table into blocks that can be read one by one.
//!
//! A binary range coder codes each result in the context of its neighbours in the block. The
//! probabilities belong to the table, so every block starts from the same state. Results that no reader
//! needs take whatever costs least. A reader of broken data gets wrong results, never a panic.

/// The results of a block: those of two pieces on all squares.
pub(super) const BLOCK: usize = 4096;
/// A packed block: two bits a result.
pub(super) type Block = [u8; BLOCK / 4];

/// A result, as it is coded.
pub(super) const DRAW: u8 = 0;
pub(super) const WIN: u8 = 1;
pub(super) const LOSS: u8 = 2;
/// Beyond the border of a block.
const OUTSIDE: u8 = 3;

/// The contexts of all seven neighbours, and of the three nearest alone.
const CONTEXTS: usize = 4 * 4 * 4 * 4 * 3 * 3 * 3;
const NEAR_CONTEXTS: usize = 4 * 4 * 4;
/// A probability is this many bits.
const SCALE_BITS: u32 = 12;
/// The range is kept above this.
const LEAST_RANGE: u32 = 1 << 24;
/// The probability bytes of a context that the model does not list: none is.
const UNLISTED: [u8; 2] = [0; 2];

/// Which results would do at one place: bit 0 for a draw, bit 1 for a win, bit 2 for a loss.
pub(super) type Choice = u8;
pub(super) const ANY: Choice = 7;

/// The neighbours of a result within its block: earlier ones only.
#[inline]
fn neighbours(block: &[u8; BLOCK], at: usize) -> [u8; 7] {
    let (outer, inner) = (at >> 6, at & 63);
    let near = |holds: bool, back: usize| if holds { block[at - back] } else { OUTSIDE };
    let far = |holds: bool, back: usize| if holds { block[at - back] } else { DRAW };
    let (west, south) = (inner & 7 > 0, inner >= 8);
    let (outer_west, outer_south) = (outer & 7 > 0, outer >= 8);
    [
        near(west, 1),
        near(south, 8),
        near(outer_west, 64),
        near(outer_south, 512),
        far(south && west, 9),
        far(south && inner & 7 < 7, 7),
        far(outer_south && outer_west, 576),
    ]
}

#[inline]
fn context([west, south, outer_west, outer_south, a, b, c]: [u8; 7]) -> usize {
    let near = ((usize::from(west) * 4 + usize::from(south)) * 4 + usize::from(outer_west)) * 4
        + usize::from(outer_south);
    ((near * 3 + usize::from(a)) * 3 + usize::from(b)) * 3 + usize::from(c)
}

#[inline]
const fn near_context(context: usize) -> usize {
    context / (27 * 4)
}

/// The probability that a byte of a model stands for: odds of a power of two in steps of an eleventh,
/// computed in integers, so that every machine has the same.
fn probability(byte: u8) -> u16 {
    /// 2^(1/11), with 32 bits behind the point.
    const STEP: u128 = 4_574_316_648;
    let mut odds: u128 = 1 << 32;
    for _ in 0..byte.abs_diff(128) {
        odds = (odds * STEP) >> 32;
    }
    let one = 1_u128 << 32;
    let likely = (odds << SCALE_BITS) / (odds + one);
    let likely = likely.min((1 << SCALE_BITS) - 1) as u16;
    if byte >= 128 {
        likely
    } else {
        ((1 << SCALE_BITS) - likely).max(1)
    }
}

/// The probabilities of one side of a table: of a draw, and if it is none of a win.
#[derive(Clone)]
pub(super) struct Model {
    pairs: Vec<[u16; 2]>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").finish_non_exhaustive()
    }
}

impl Model {
    /// Reads a model from the beginning of some bytes; returns the rest too.
    pub(super) fn read(bytes: &[u8]) -> Option<(Model, &[u8])> {
        let scale: Vec<u16> = (0..=u8::MAX).map(probability).collect();
        let pair = |bytes: [u8; 2]| bytes.map(|byte| scale[usize::from(byte)]);
        let (near, mut rest) = bytes.split_at_checked(2 * NEAR_CONTEXTS)?;
        let near: Vec<[u16; 2]> = near
            .chunks_exact(2)
            .map(|two| pair([two[0], two[1]]))
            .collect();
        let mut pairs: Vec<[u16; 2]> = (0..CONTEXTS).map(|at| near[near_context(at)]).collect();
        let mut at = 0;
        loop {
            let gap = read_number(&mut rest)?;
            if gap == 0 {
                return Some((Model { pairs }, rest));
            }
            at += gap;
            let listed;
            (listed, rest) = rest.split_at_checked(2)?;
            *pairs.get_mut(at - 1)? = pair([listed[0], listed[1]]);
        }
    }

    /// Unpacks a block.
    pub(super) fn decode(&self, bytes: &[u8]) -> Box<Block> {
        let mut block = [DRAW; BLOCK];
        let mut decoder = Decoder::new(bytes);
        for at in 0..BLOCK {
            let [draw, win] = self.pairs[context(neighbours(&block, at))];
            block[at] = if decoder.bit(draw) {
                DRAW
            } else if decoder.bit(win) {
                WIN
            } else {
                LOSS
            };
        }
        packed(&block)
    }

    /// The least costly of the results that would do.
    fn choose(&self, context: usize, choice: Choice) -> u8 {
        let [draw, win] = self.pairs[context];
        let all = 1 << SCALE_BITS;
        let likelihood = [
            u32::from(draw) * all,
            (all - u32::from(draw)) * u32::from(win),
            (all - u32::from(draw)) * (all - u32::from(win)),
        ];
        [DRAW, WIN, LOSS]
            .into_iter()
            .filter(|result| choice >> result & 1 == 1)
            .max_by_key(|&result| likelihood[usize::from(result)])
            .unwrap_or(DRAW)
    }

    fn encode(&self, choices: &[Choice; BLOCK]) -> Vec<u8> {
        let mut block = [DRAW; BLOCK];
        let mut encoder = Encoder::new();
        for at in 0..BLOCK {
            let context = context(neighbours(&block, at));
            let result = self.choose(context, choices[at]);
            block[at] = result;
            let [draw, win] = self.pairs[context];
            encoder.bit(draw, result == DRAW);
            if result != DRAW {
                encoder.bit(win, result == WIN);
            }
        }
        encoder.finish()
    }
}

fn packed(block: &[u8; BLOCK]) -> Box<Block> {
    let mut packed = Box::new([0; BLOCK / 4]);
    for (byte, four) in packed.iter_mut().zip(block.chunks_exact(4)) {
        *byte = four[0] | four[1] << 2 | four[2] << 4 | four[3] << 6;
    }
    packed
}

/// A result of a packed block.
#[inline]
pub(super) fn result(block: &Block, at: usize) -> u8 {
    block[at / 4] >> (at % 4 * 2) & 3
}

/// Counts of the three results in each context, to make a model from.
struct Counts {
    near: Vec<[u32; 3]>,
    all: Vec<[u32; 3]>,
}

impl Counts {
    fn new() -> Counts {
        Counts {
            near: vec![[0; 3]; NEAR_CONTEXTS],
            all: vec![[0; 3]; CONTEXTS],
        }
    }

    fn add(&mut self, context: usize, result: u8) {
        self.near[near_context(context)][usize::from(result)] += 1;
        self.all[context][usize::from(result)] += 1;
    }

    /// The bytes of the model: it lists the contexts whose own probabilities pay.
    fn model(&self) -> Vec<u8> {
        let scale: Vec<f64> = (0..=u8::MAX)
            .map(|byte| f64::from(probability(byte)) / f64::from(1 << SCALE_BITS))
            .collect();
        let near: Vec<[u8; 2]> = self.near.iter().map(|counts| bytes_for(*counts)).collect();
        let mut bytes: Vec<u8> = near.iter().flatten().copied().collect();
        let mut last = 0;
        for (at, &counts) in self.all.iter().enumerate() {
            let own = bytes_for(counts);
            let fallback = cost(&scale, near[near_context(at)], counts);
            if fallback - cost(&scale, own, counts) > 26.0 && own != UNLISTED {
                write_number(&mut bytes, at + 1 - last);
                bytes.extend(own);
                last = at + 1;
            }
        }
        write_number(&mut bytes, 0);
        bytes
    }
}

/// The bits that results with these counts take.
fn cost(scale: &[f64], [draw, win]: [u8; 2], [draws, wins, losses]: [u32; 3]) -> f64 {
    let bits = |count: u32, probability: f64| -f64::from(count) * probability.log2();
    let (draw, win) = (scale[usize::from(draw)], scale[usize::from(win)]);
    bits(draws, draw) + bits(wins + losses, 1.0 - draw) + bits(wins, win) + bits(losses, 1.0 - win)
}

fn bytes_for([draws, wins, losses]: [u32; 3]) -> [u8; 2] {
    let byte = |yes: u32, no: u32| {
        let odds = (f64::from(yes) + 0.02) / (f64::from(no) + 0.02);
        (128.0 + odds.log2() * 11.0).round().clamp(1.0, 255.0) as u8
    };
    [byte(draws, wins + losses), byte(wins, losses)]
}

/// One side of a table, coded.
#[derive(Debug)]
pub(super) struct CodedSide {
    pub(super) model: Vec<u8>,
    /// Each block: one result only, or its bytes.
    pub(super) blocks: Vec<CodedBlock>,
}

#[derive(Debug)]
pub(super) enum CodedBlock {
    Constant(u8),
    Coded(Vec<u8>),
}

impl CodedSide {
    /// Codes blocks, each of which `block` makes from its number.
    pub(super) fn new(count: usize, block: impl Fn(usize) -> Box<[Choice; BLOCK]>) -> CodedSide {
        let mut model = Counts::new().model();
        // The choice of free results depends on the model, and the model on that choice.
        for _ in 0..3 {
            let Some((trained, _)) = Model::read(&model) else {
                break;
            };
            let mut counts = Counts::new();
            for number in 0..count {
                let choices = block(number);
                if constant_result(&choices).is_none() {
                    count_block(&trained, &choices, &mut counts);
                }
            }
            model = counts.model();
        }
        let trained = Model::read(&model).map(|(trained, _)| trained);
        let blocks = (0..count).map(|number| {
            let choices = block(number);
            match (constant_result(&choices), &trained) {
                (None, Some(trained)) => CodedBlock::Coded(trained.encode(&choices)),
                (result, _) => CodedBlock::Constant(result.unwrap_or(DRAW)),
            }
        });
        CodedSide {
            blocks: blocks.collect(),
            model,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let coded = self.blocks.iter().map(|block| match block {
            CodedBlock::Constant(_) => 0,
            CodedBlock::Coded(bytes) => bytes.len(),
        });
        self.model.len() + coded.sum::<usize>()
    }
}

fn constant_result(choices: &[Choice; BLOCK]) -> Option<u8> {
    let common = choices.iter().fold(ANY, |common, choice| common & choice);
    [DRAW, WIN, LOSS]
        .into_iter()
        .find(|result| common >> result & 1 == 1)
}

fn count_block(model: &Model, choices: &[Choice; BLOCK], counts: &mut Counts) {
    let mut block = [DRAW; BLOCK];
    for at in 0..BLOCK {
        let context = context(neighbours(&block, at));
        block[at] = model.choose(context, choices[at]);
        counts.add(context, block[at]);
    }
}

/// A binary range decoder; past the end it reads zeros.
struct Decoder<'a> {
    bytes: std::slice::Iter<'a, u8>,
    code: u32,
    range: u32,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8]) -> Decoder<'a> {
        let mut decoder = Decoder {
            bytes: bytes.iter(),
            code: 0,
            range: u32::MAX,
        };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    #[inline]
    fn shift(&mut self) {
        self.code = self.code << 8 | u32::from(self.bytes.next().copied().unwrap_or(0));
    }

    #[inline]
    fn bit(&mut self, probability: u16) -> bool {
        let bound = (self.range >> SCALE_BITS) * u32::from(probability);
        let bit = self.code < bound;
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        while self.range < LEAST_RANGE {
            self.range <<= 8;
            self.shift();
        }
        bit
    }
}

struct Encoder {
    bytes: Vec<u8>,
    low: u64,
    range: u32,
}

impl Encoder {
    fn new() -> Encoder {
        Encoder {
            bytes: Vec::new(),
            low: 0,
            range: u32::MAX,
        }
    }

    fn bit(&mut self, probability: u16, bit: bool) {
        let bound = (self.range >> SCALE_BITS) * u32::from(probability);
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        while self.range < LEAST_RANGE {
            self.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        if self.low >> 32 != 0 {
            self.carry();
        }
        self.bytes.push((self.low >> 24) as u8);
        self.low = self.low << 8 & 0xffff_ffff;
    }

    fn carry(&mut self) {
        self.low &= 0xffff_ffff;
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }

    /// The shortest bytes within the last range; the decoder adds zeros.
    fn finish(mut self) -> Vec<u8> {
        let end = self.low + u64::from(self.range) - 1;
        for zeros in [32, 24, 16, 8, 0] {
            let rounded = (self.low + ((1 << zeros) - 1)) >> zeros << zeros;
            if rounded <= end {
                self.low = rounded;
                break;
            }
        }
        for _ in 0..4 {
            self.shift();
        }
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

/// Appends a number, seven bits a byte.
pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number, at most five bytes long, from the front.
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of one result.
    fn constant(result: u8) -> Box<Block> {
        Box::new([result * 0b0101_0101; BLOCK / 4])
    }

    /// Blocks with stripes, noise and free places.
    fn blocks(seed: u64) -> Vec<Box<[Choice; BLOCK]>> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut block = || {
            let mut choices = Box::new([ANY; BLOCK]);
            let stripe = rng.usize(1..500);
            for (at, choice) in choices.iter_mut().enumerate() {
                *choice = match rng.u8(0..30) {
                    0 => 1 << rng.u8(0..3),
                    1..4 => ANY,
                    4 => 5,
                    _ => 1 << (at / stripe % 3),
                };
            }
            choices
        };
        let mut blocks: Vec<_> = (0..20).map(|_| block()).collect();
        blocks.push(Box::new([4; BLOCK]));
        blocks
    }

    #[test]
    fn every_result_is_read_as_it_was_written_or_as_one_that_would_do() {
        for seed in 0..4 {
            let blocks = blocks(seed);
            let coded = CodedSide::new(blocks.len(), |number| blocks[number].clone());
            let (model, rest) = Model::read(&coded.model).unwrap();
            assert!(rest.is_empty());
            for (choices, coded) in blocks.iter().zip(&coded.blocks) {
                let block = match coded {
                    CodedBlock::Constant(result) => constant(*result),
                    CodedBlock::Coded(bytes) => model.decode(bytes),
                };
                for (at, choice) in choices.iter().enumerate() {
                    assert_eq!(choice >> result(&block, at) & 1, 1, "{seed} {at}");
                }
            }
        }
    }

    #[test]
    fn broken_bytes_give_some_results() {
        let mut rng = fastrand::Rng::with_seed(3);
        let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(900).collect();
        let (model, _) = Model::read(&Counts::new().model()).unwrap();
        for cut in [0, 1, 5, 900] {
            let block = model.decode(&bytes[..cut]);
            assert!((0..BLOCK).all(|at| result(&block, at) <= LOSS));
        }
        for cut in 0..40 {
            assert!(Model::read(&bytes[..cut]).is_none());
        }
    }

    #[test]
    fn probabilities_rise_and_stay_between_none_and_all() {
        let all: Vec<u16> = (0..=u8::MAX).map(probability).collect();
        assert!(all.is_sorted());
        assert!(all[0] >= 1 && all[255] < 1 << SCALE_BITS);
        assert_eq!(all[128], 1 << (SCALE_BITS - 1));
    }
}
