//! The samples of a training in memory, and their order in an epoch.
//!
//! Samples with the validation bit are never used for training. The data takes 32 bytes per sample and four
//! for its place in the order.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::{Sample, read_samples};
use super::error::TrainError;

/// The most occurrences of a sample in an epoch.
const MOST_WEIGHT: f32 = 100.0;

/// A training file.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub path: PathBuf,
    /// The occurrences of each sample in an epoch: 0.5 is a random half of them, 2 is all twice.
    pub weight: f32,
}

impl FromStr for Source {
    type Err = String;

    /// A path, or `path=weight`; an existing file with the whole name has precedence.
    fn from_str(text: &str) -> Result<Source, String> {
        let (path, weight) = match text.rsplit_once('=') {
            Some((path, weight)) if !Path::new(text).exists() => (path, weight),
            _ => (text, "1"),
        };
        let weight = weight.parse().ok();
        let weight = weight.filter(|weight| (0.0..=MOST_WEIGHT).contains(weight));
        Ok(Source {
            path: path.into(),
            weight: weight
                .ok_or_else(|| format!("a weight is a number from 0 to {MOST_WEIGHT}"))?,
        })
    }
}

/// What a checkpoint knows a file by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedFile {
    /// The file's name, without the folder.
    pub name: String,
    /// The occurrences of each sample in an epoch.
    pub weight: f32,
    /// Training samples.
    pub training: usize,
    /// Validation samples.
    pub validation: usize,
    /// Of all samples in their order, labels included; older checkpoints have none.
    #[serde(default)]
    pub checksum: Option<u32>,
}

/// All samples of a training.
#[derive(Debug, Default)]
pub struct Dataset {
    pub(super) training: Vec<Sample>,
    pub(super) validation: Vec<Sample>,
    lots: Vec<LoadedFile>,
}

impl Dataset {
    /// Reads all files and checks every sample.
    pub fn read(sources: &[Source]) -> Result<Dataset, TrainError> {
        let mut dataset = Dataset::default();
        for source in sources {
            let samples = read_samples(&source.path)?;
            let name = source.path.file_name().unwrap_or_default();
            dataset.add(&name.to_string_lossy(), source.weight, samples);
        }
        if dataset.epoch_size() == 0 {
            let all = dataset.training.len() + dataset.validation.len();
            return Err(TrainError::Nothing(all));
        }
        if dataset.training.len().max(dataset.epoch_size()) > u32::MAX as usize {
            return Err(TrainError::TooMany(dataset.epoch_size()));
        }
        Ok(dataset)
    }

    /// Adds samples under a name.
    pub fn add(&mut self, name: &str, weight: f32, mut samples: Vec<Sample>) {
        let before = (self.training.len(), self.validation.len());
        let checksum = Some(checksum(&samples));
        self.validation
            .extend(samples.extract_if(.., |sample| sample.is_for_validation()));
        if self.training.is_empty() {
            // A single file needs no copy.
            self.training = samples;
        } else {
            self.training.append(&mut samples);
        }
        self.lots.push(LoadedFile {
            name: name.to_owned(),
            weight,
            training: self.training.len() - before.0,
            validation: self.validation.len() - before.1,
            checksum,
        });
    }

    /// The counts and checksum of every file.
    pub fn lots(&self) -> &[LoadedFile] {
        &self.lots
    }

    pub fn epoch_size(&self) -> usize {
        self.lots.iter().map(LoadedFile::taken).sum()
    }

    /// Samples to compare nets on: the validation samples, or all without any.
    pub(super) fn to_compare(&self) -> &[Sample] {
        if self.validation.is_empty() {
            &self.training
        } else {
            &self.validation
        }
    }

    /// The memory of samples and order.
    pub fn memory(&self) -> usize {
        let samples = self.training.capacity() + self.validation.capacity();
        samples * size_of::<Sample>() + self.epoch_size() * size_of::<u32>()
    }

    /// The order of an epoch: every sample as often as its file's weight says, shuffled across files.
    pub(super) fn order(&self, seed: u64, epoch: u32) -> Vec<u32> {
        let mut chance = fastrand::Rng::with_seed(mixed(seed, u64::from(epoch)));
        let mut order = Vec::with_capacity(self.epoch_size());
        let mut first = 0;
        for loaded in &self.lots {
            let all: Range<u32> = first..first + loaded.training as u32;
            first = all.end;
            let mut taken = loaded.taken();
            while taken >= loaded.training && taken > 0 {
                order.extend(all.clone());
                taken -= loaded.training;
            }
            if taken > 0 {
                let mut some: Vec<u32> = all.collect();
                chance.shuffle(&mut some);
                order.extend_from_slice(&some[..taken]);
            }
        }
        chance.shuffle(&mut order);
        order
    }
}

impl LoadedFile {
    /// The number of samples in an epoch.
    fn taken(&self) -> usize {
        (self.training as f64 * f64::from(self.weight)).round() as usize
    }

    /// Whether this is the file of a checkpoint; one without a checksum may have any.
    pub(super) fn is_same_as(&self, known: &LoadedFile) -> bool {
        *self
            == LoadedFile {
                checksum: known.checksum.or(self.checksum),
                ..known.clone()
            }
    }
}

fn checksum(samples: &[Sample]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for sample in samples {
        hasher.update(sample.bytes());
    }
    hasher.finalize()
}

impl fmt::Display for LoadedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadedFile {
            name,
            weight,
            training,
            validation,
            checksum,
        } = self;
        write!(
            f,
            "{name} ({training} samples times {weight}, and {validation} for validation"
        )?;
        if let Some(checksum) = checksum {
            write!(f, ", checksum {checksum:08x}")?;
        }
        f.write_str(")")
    }
}

/// Derives distant seeds for successive epochs.
pub(super) fn mixed(seed: u64, epoch: u64) -> u64 {
    let word = seed ^ epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::{write_head, write_sample};
    use super::super::synthetic::sample;
    use super::*;
    use crate::rules::Position;

    fn dataset(lots: &[(usize, f32)]) -> Dataset {
        let start = sample(&Position::default(), 0, 1, false);
        let mut dataset = Dataset::default();
        for &(count, weight) in lots {
            dataset.add("some", weight, vec![start; count]);
        }
        dataset
    }

    #[test]
    fn an_epoch_uses_every_sample_once_in_its_own_order() {
        let dataset = dataset(&[(700, 1.0), (300, 1.0)]);
        let (first, second) = (dataset.order(1, 1), dataset.order(1, 2));
        assert_ne!(first, second);
        assert_eq!(first, dataset.order(1, 1));
        assert_ne!(first, dataset.order(2, 1));
        for mut order in [first, second] {
            assert!(order[..100].iter().any(|&at| at >= 700), "files are mixed");
            order.sort_unstable();
            assert!(order.into_iter().eq(0..1000));
        }
    }

    #[test]
    fn a_weight_uses_a_part_of_a_file_or_repeats_it() {
        let dataset = dataset(&[(100, 0.25), (10, 2.5), (50, 0.0)]);
        assert_eq!(dataset.epoch_size(), 50);
        let order = dataset.order(3, 1);
        let mut counts = [0; 160];
        for &at in &order {
            counts[at as usize] += 1;
        }
        assert_eq!(order.len(), 50);
        assert!(counts[..100].iter().all(|&count| count <= 1));
        assert_eq!(counts[..100].iter().sum::<i32>(), 25);
        assert!(
            counts[100..110]
                .iter()
                .all(|&count| count == 2 || count == 3)
        );
        assert!(counts[110..].iter().all(|&count| count == 0));
    }

    #[test]
    fn other_labels_or_another_order_are_another_file() {
        let start = sample(&Position::default(), 0, 1, false);
        let won = sample(&Position::default(), 0, 2, false);
        let loaded = |samples: &[Sample]| {
            let mut dataset = Dataset::default();
            dataset.add("some", 1.0, samples.to_vec());
            dataset.lots.remove(0)
        };
        let file = loaded(&[start, start, won]);
        assert!(file.is_same_as(&loaded(&[start, start, won])));
        assert!(!file.is_same_as(&loaded(&[start, won, start])));
        assert!(!file.is_same_as(&loaded(&[start, won, won])));
    }

    #[test]
    fn a_file_may_have_a_weight() {
        let source = |path: &str, weight| Source {
            path: path.into(),
            weight,
        };
        assert_eq!("a.samples".parse(), Ok(source("a.samples", 1.0)));
        assert_eq!("a.samples=0.5".parse(), Ok(source("a.samples", 0.5)));
        for wrong in ["a.samples=half", "a.samples=-1", "a.samples=NaN", "a=1e9"] {
            assert!(wrong.parse::<Source>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_truncated_or_damaged_file_is_named_with_the_offset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.samples");
        let samples = [false, true].map(|apart| sample(&Position::default(), 10, 2, apart));
        let mut bytes = Vec::new();
        write_head(&mut bytes, 2).unwrap();
        for sample in &samples {
            write_sample(&mut bytes, sample).unwrap();
        }
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let source = path.display().to_string().parse().unwrap();
            Dataset::read(&[source]).map_err(|error| error.to_string())
        };
        let dataset = read(&bytes).unwrap();
        assert_eq!(dataset.training, samples[..1]);
        assert_eq!(dataset.validation, samples[1..]);
        assert_eq!(dataset.lots()[0].name, "some.samples");
        let mut damaged = bytes.clone();
        damaged[64 + 8] |= 7;
        for (bytes, place) in [
            (&bytes[..90], "byte 64"),
            (&damaged, "byte 64"),
            (&[], "short"),
        ] {
            let complaint = read(bytes).unwrap_err();
            assert!(complaint.contains("some.samples"), "{complaint}");
            assert!(complaint.contains(place), "{complaint}");
        }
        write_head(&mut damaged, 0).unwrap();
        let nothing = read(&damaged[damaged.len() - 32..]).unwrap_err();
        assert!(nothing.contains("no sample to learn from"), "{nothing}");
    }
}
