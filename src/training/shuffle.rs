//! Turns games into samples: filtered, each position once, shuffled across all games.
//!
//! All samples are in memory at once: 32 bytes each, and about as much again to detect duplicates.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::filter::Filter;
use super::sample::{Sample, write_head, write_sample};
use super::shard::{ShardError, ShardReader, failed};

/// Out of this many games …
const VALIDATION_OF: u64 = 100;

/// The settings of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShuffleOptions {
    pub filter: Filter,
    /// The percentage of games for validation.
    pub validation: u64,
    /// Whether to keep duplicate positions.
    pub keep_duplicates: bool,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shuffled {
    pub games: u64,
    pub samples: u64,
    /// The validation samples.
    pub validation: u64,
    /// Duplicate positions that were left out.
    pub duplicates: u64,
}

/// Writes the samples of all games of `shards` to `out` atomically.
///
/// # Errors
///
/// The first flaw of a shard, or a failure to write `out`.
pub fn shuffle(
    shards: &[PathBuf],
    out: &Path,
    options: &ShuffleOptions,
    mut tell: impl FnMut(usize),
) -> Result<Shuffled, ShardError> {
    let mut made = Shuffled::default();
    let (mut samples, mut seen) = (Vec::new(), HashSet::new());
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    for (number, path) in shards.iter().enumerate() {
        let mut reader = ShardReader::open(path)?;
        let header = reader.header();
        while let Some(game) = reader.next()? {
            let id =
                header.seed ^ (header.first + reader.games()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let is_apart = Rng::with_seed(id).u64(..VALIDATION_OF) < options.validation;
            let usable = options.filter.usable(&game);
            for usable in usable.map_err(|ply| reader.broken(format!("move {ply} is illegal")))? {
                let sample = Sample::of(
                    &usable.position,
                    usable.label,
                    game.result,
                    usable.ply,
                    is_apart,
                );
                if options.keep_duplicates || seen.insert(hasher.hash_one(sample.board())) {
                    samples.push(sample);
                    made.validation += u64::from(is_apart);
                } else {
                    made.duplicates += 1;
                }
            }
            made.games += 1;
        }
        tell(number + 1);
    }
    made.samples = samples.len() as u64;
    Rng::with_seed(options.seed).shuffle(&mut samples);
    write(&samples, out)?;
    Ok(made)
}

/// Written to a temporary file, then renamed.
fn write(samples: &[Sample], out: &Path) -> Result<(), ShardError> {
    let beside = out.with_extension("part");
    let fail = |doing| failed(out, doing);
    let written = File::create(&beside).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        write_head(&mut file, samples.len() as u64)?;
        for sample in samples {
            write_sample(&mut file, sample)?;
        }
        file.flush()?;
        file.get_ref().sync_all()
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(fail("cannot be written"))?;
    fs::rename(&beside, out).map_err(fail("cannot be put in its place"))
}
