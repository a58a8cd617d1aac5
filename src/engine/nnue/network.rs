//! A net: its file format and parameters.
//!
//! Little endian. Header of 64 bytes: magic and version, layout, hidden units, output buckets, QA,
//! QB, scale, hash of the body, what chooses the output bucket, zeroes. Body: feature weights i16 [inputs][hidden], feature biases
//! i16 [hidden], output weights i16 [buckets][2 * hidden] (the side to move first), output biases
//! i32 [buckets]. A net is checked once, when it is created: no later computation can overflow.

use std::fmt;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use super::features::{BucketBy, Layout};
use super::lines::{LINE, Line, cut, numbers};
use super::simd::{Kernels, Simd};

/// The quantised 1 of the hidden layer.
pub const QA: i32 = 255;
/// The quantised 1 of the output weights.
pub const QB: i32 = 64;
/// The default value of an output of 1, in centipawns.
pub const SCALE: u32 = 400;
/// Maximum hidden units.
pub const MOST_HIDDEN: usize = 512;
/// Maximum output buckets: one per number of pieces.
pub const MOST_BUCKETS: usize = 32;

const MAGIC: &[u8; 7] = b"MEGANET";
const VERSION: u8 = b'1';
const HEADER: usize = 64;
const MOST_SCALE: u32 = 10_000;
/// Maximum pieces on a board, and so active inputs.
const MOST_PIECES: usize = 32;
/// Larger ones times an activation of up to [`QA`] would exceed 16 bits.
const LARGEST_OUTPUT_WEIGHT: i16 = (i16::MAX as i32 / QA) as i16;

// The products are summed in at least eight 32-bit lanes.
const _: () = {
    let a_lane = 2 * MOST_HIDDEN as i64 / 8;
    let most = LARGEST_OUTPUT_WEIGHT as i64 * (QA * QA) as i64;
    assert!(a_lane * most <= i32::MAX as i64);
};

/// The shape of a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub layout: Layout,
    /// Hidden units per view: a multiple of 32, up to [`MOST_HIDDEN`].
    pub hidden: usize,
    /// Output buckets, up to [`MOST_BUCKETS`].
    pub buckets: usize,
    pub bucket_by: BucketBy,
    /// What an output of 1 is in centipawns.
    pub scale: u32,
}

impl Shape {
    const fn feature_weights(self) -> usize {
        self.layout.inputs() * self.hidden
    }

    const fn output_weights(self) -> usize {
        self.buckets * 2 * self.hidden
    }

    const fn body(self) -> usize {
        2 * (self.feature_weights() + self.hidden + self.output_weights()) + 4 * self.buckets
    }

    fn check(self) -> Result<Self, NetError> {
        if self.hidden == 0 || !self.hidden.is_multiple_of(LINE) || self.hidden > MOST_HIDDEN {
            return Err(NetError::Hidden(self.hidden));
        }
        if !(1..=MOST_BUCKETS).contains(&self.buckets) {
            return Err(NetError::Buckets(self.buckets));
        }
        if !(1..=MOST_SCALE).contains(&self.scale) {
            return Err(NetError::Scale(self.scale));
        }
        Ok(self)
    }
}

impl fmt::Display for Shape {
    /// Inputs, hidden units, output buckets: `768x64x8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.layout.inputs();
        write!(f, "{inputs}x{}x{}", self.hidden, self.buckets)
    }
}

/// The quantised parameters of a net, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// For every input, one weight per hidden unit; in units of 1 / [`QA`].
    pub feature_weights: Vec<i16>,
    /// One per hidden unit; in units of 1 / [`QA`].
    pub feature_biases: Vec<i16>,
    /// For every output bucket, one per hidden unit of the side to move and then of the other; in
    /// units of 1 / [`QB`].
    pub output_weights: Vec<i16>,
    /// One per output bucket; in units of 1 / ([`QA`] * [`QB`]).
    pub output_biases: Vec<i32>,
}

/// A net, checked and ready to use.
#[derive(Clone)]
pub struct Network {
    pub(super) shape: Shape,
    /// Row by row.
    pub(super) feature_weights: Vec<Line>,
    pub(super) feature_biases: Vec<Line>,
    output_weights: Vec<Line>,
    output_biases: Vec<i32>,
    hash: u64,
    pub(super) kernels: Kernels,
}

/// Why a net cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The file cannot be read.
    #[error("cannot read the net {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The file holds no usable net.
    #[error("{}: {fault}", path.display())]
    Refused {
        path: PathBuf,
        /// What is wrong with it.
        fault: Box<NetError>,
    },
    /// The magic bytes are wrong.
    #[error("this is not a net: it does not begin with MEGANET and a version")]
    Magic,
    /// Another version of the format.
    #[error("a net of version {:?}; this program reads version {:?}", char::from(*.0), char::from(VERSION))]
    Version(u8),
    /// The length differs from that in the header.
    #[error("a net of this shape has {expected} bytes, not {found}: cut off or added to")]
    Length { expected: usize, found: usize },
    /// An unknown choice of output buckets.
    #[error("unknown choice of output buckets {0}")]
    BucketBy(u32),
    /// An unknown layout.
    #[error("unknown input layout {0}")]
    Layout(u32),
    /// Too many hidden units, or not a multiple of a line.
    #[error("{0} hidden units; it takes a multiple of {LINE} from {LINE} to {MOST_HIDDEN}")]
    Hidden(usize),
    /// Too many output buckets, or none.
    #[error("{0} output buckets; it takes 1 to {MOST_BUCKETS}")]
    Buckets(usize),
    /// An invalid scale.
    #[error("a scale of {0}; it takes 1 to {MOST_SCALE}")]
    Scale(u32),
    /// Other quantisation than this program uses.
    #[error("units QA {0} and QB {1}; this program computes with {QA} and {QB}")]
    Units(u16, u16),
    /// The hash of the body is wrong.
    #[error("damaged: the hash of the numbers is {found:016x}, the header says {expected:016x}")]
    Hash { expected: u64, found: u64 },
    /// A part of the wrong length.
    #[error("{found} {what}; this shape takes {expected}")]
    Part {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    /// An output weight that would overflow.
    #[error("an output weight of {0} leaves 16 bits; at most {LARGEST_OUTPUT_WEIGHT} either way")]
    OutputWeight(i16),
    /// Feature weights that could overflow.
    #[error("hidden unit {unit} can reach {reach}, which leaves 16 bits")]
    Accumulator {
        unit: usize,
        /// By its bias and its 32 largest weights.
        reach: i32,
    },
}

impl Network {
    /// A net with these parameters.
    pub fn from_parts(shape: Shape, parts: &Parts) -> Result<Network, NetError> {
        let shape = shape.check()?;
        let lengths = [
            (
                "feature weights",
                shape.feature_weights(),
                parts.feature_weights.len(),
            ),
            ("feature biases", shape.hidden, parts.feature_biases.len()),
            (
                "output weights",
                shape.output_weights(),
                parts.output_weights.len(),
            ),
            ("output biases", shape.buckets, parts.output_biases.len()),
        ];
        for (what, expected, found) in lengths {
            if expected != found {
                return Err(NetError::Part {
                    what,
                    expected,
                    found,
                });
            }
        }
        check_output_weights(&parts.output_weights)?;
        check_accumulators(shape, parts)?;
        Ok(Network {
            shape,
            feature_weights: cut(&parts.feature_weights),
            feature_biases: cut(&parts.feature_biases),
            output_weights: cut(&parts.output_weights),
            output_biases: parts.output_biases.clone(),
            hash: checksum(&body(parts)),
            kernels: Kernels::new(Simd::best()),
        })
    }

    /// Parses a file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Network, NetError> {
        let (shape, hash) = read_header(bytes)?;
        let (expected, found) = (HEADER + shape.body(), bytes.len());
        if expected != found {
            return Err(NetError::Length { expected, found });
        }
        let body = &bytes[HEADER..];
        let (expected, found) = (hash, checksum(body));
        if expected != found {
            return Err(NetError::Hash { expected, found });
        }
        let (mut shorts, longs) = body.split_at(body.len() - 4 * shape.buckets);
        let mut take = |count: usize| {
            let (taken, rest) = shorts.split_at(2 * count);
            shorts = rest;
            let (words, _) = taken.as_chunks::<2>();
            words.iter().map(|&word| i16::from_le_bytes(word)).collect()
        };
        let (longs, _) = longs.as_chunks::<4>();
        let parts = Parts {
            feature_weights: take(shape.feature_weights()),
            feature_biases: take(shape.hidden),
            output_weights: take(shape.output_weights()),
            output_biases: longs.iter().map(|&word| i32::from_le_bytes(word)).collect(),
        };
        Network::from_parts(shape, &parts)
    }

    pub fn load(path: &Path) -> Result<Network, NetError> {
        let bytes = fs::read(path).map_err(|source| NetError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Network::from_bytes(&bytes).map_err(|fault| NetError::Refused {
            path: path.to_owned(),
            fault: Box::new(fault),
        })
    }

    /// The bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = self.shape;
        let mut bytes = Vec::with_capacity(HEADER + shape.body());
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        let layout = shape.layout.number();
        for word in [layout, shape.hidden as u32, shape.buckets as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for half in [QA as u16, QB as u16] {
            bytes.extend_from_slice(&half.to_le_bytes());
        }
        bytes.extend_from_slice(&shape.scale.to_le_bytes());
        bytes.extend_from_slice(&self.hash.to_le_bytes());
        bytes.extend_from_slice(&shape.bucket_by.number().to_le_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend_from_slice(&body(&self.parts()));
        bytes
    }

    /// Its parameters in the order of the file.
    pub fn parts(&self) -> Parts {
        Parts {
            feature_weights: numbers(&self.feature_weights).collect(),
            feature_biases: numbers(&self.feature_biases).collect(),
            output_weights: numbers(&self.output_weights).collect(),
            output_biases: self.output_biases.clone(),
        }
    }

    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Identifies the net: the hash of its parameters.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// A name to display: shape and start of the hash, `768x64x8-1f2e3d4c`.
    pub fn id(&self) -> String {
        format!("{}-{:08x}", self.shape, self.hash >> 32)
    }

    /// The same net with these instructions, or without SIMD if they are missing.
    #[must_use]
    pub fn with_simd(mut self, simd: Simd) -> Network {
        self.kernels = Kernels::new(simd);
        self
    }

    /// Lines per accumulator of one side.
    #[inline]
    pub(super) const fn lines(&self) -> usize {
        self.shape.hidden / LINE
    }

    /// The row of an input.
    #[inline]
    pub(super) fn row(&self, input: usize) -> &[Line] {
        let lines = self.lines();
        &self.feature_weights[input * lines..][..lines]
    }

    /// The weights of an output bucket: first those of the side to move.
    #[inline]
    pub(super) fn output(&self, bucket: usize) -> [&[Line]; 2] {
        let lines = self.lines();
        let (ours, theirs) = self.output_weights[2 * bucket * lines..][..2 * lines].split_at(lines);
        [ours, theirs]
    }

    /// The output in centipawns, from the sum of squared activations times weights.
    #[inline]
    pub(super) fn centipawns(&self, bucket: usize, sum: i64) -> i32 {
        let value = sum / i64::from(QA) + i64::from(self.output_biases[bucket]);
        let value = value * i64::from(self.shape.scale) / i64::from(QA * QB);
        value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Network").field(&self.id()).finish()
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Network) -> bool {
        (self.hash, self.shape) == (other.hash, other.shape)
    }
}

impl Eq for Network {}

/// The shape, and the expected hash of the body.
fn read_header(bytes: &[u8]) -> Result<(Shape, u64), NetError> {
    match bytes.strip_prefix(MAGIC).and_then(<[u8]>::first) {
        Some(&VERSION) => {}
        Some(&version) => return Err(NetError::Version(version)),
        None => return Err(NetError::Magic),
    }
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        return Err(NetError::Length {
            expected: HEADER,
            found: bytes.len(),
        });
    };
    let byte = |at: usize| u64::from(header[at]);
    let number =
        |at: usize, bytes: usize| (0..bytes).fold(0, |sum, i| sum | byte(at + i) << (8 * i));
    let units = (number(20, 2) as u16, number(22, 2) as u16);
    if units != (QA as u16, QB as u16) {
        return Err(NetError::Units(units.0, units.1));
    }
    let layout = number(8, 4) as u32;
    let bucket_by = number(36, 4) as u32;
    let shape = Shape {
        layout: Layout::from_number(layout).ok_or(NetError::Layout(layout))?,
        hidden: number(12, 4) as usize,
        buckets: number(16, 4) as usize,
        bucket_by: BucketBy::from_number(bucket_by).ok_or(NetError::BucketBy(bucket_by))?,
        scale: number(24, 4) as u32,
    };
    Ok((shape.check()?, number(28, 8)))
}

fn body(parts: &Parts) -> Vec<u8> {
    let shorts = [
        &parts.feature_weights,
        &parts.feature_biases,
        &parts.output_weights,
    ];
    let shorts = shorts.into_iter().flatten().flat_map(|n| n.to_le_bytes());
    let longs = parts.output_biases.iter().flat_map(|n| n.to_le_bytes());
    shorts.chain(longs).collect()
}

/// FNV-1a in 64 bits: enough to detect damage and to tell nets apart.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

fn check_output_weights(weights: &[i16]) -> Result<(), NetError> {
    let too_large = |weight: &&i16| weight.unsigned_abs() > LARGEST_OUTPUT_WEIGHT.unsigned_abs();
    match weights.iter().find(too_large) {
        Some(&weight) => Err(NetError::OutputWeight(weight)),
        None => Ok(()),
    }
}

/// No board may drive a hidden unit out of 16 bits: not even its bias plus its largest weights, one
/// for every possible piece.
fn check_accumulators(shape: Shape, parts: &Parts) -> Result<(), NetError> {
    let inputs = shape.layout.inputs();
    let mut column = vec![0; inputs];
    for (unit, &bias) in parts.feature_biases.iter().enumerate() {
        let weights = parts.feature_weights.iter().skip(unit);
        for (slot, &weight) in column.iter_mut().zip(weights.step_by(shape.hidden)) {
            *slot = i32::from(weight);
        }
        column.select_nth_unstable(MOST_PIECES);
        let least: i32 = column[..MOST_PIECES]
            .iter()
            .map(|&weight| weight.min(0))
            .sum();
        column.select_nth_unstable(inputs - MOST_PIECES);
        let most = &column[inputs - MOST_PIECES..];
        let most: i32 = most.iter().map(|&weight| weight.max(0)).sum();
        for reach in [i32::from(bias) + least, i32::from(bias) + most] {
            if i16::try_from(reach).is_err() {
                return Err(NetError::Accumulator { unit, reach });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
