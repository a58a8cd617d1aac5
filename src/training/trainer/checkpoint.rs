//! Checkpoints: everything that the next epoch needs, in one atomic file.
//!
//! Magic, length of a JSON head, the head (recipe, data, curve), then model, mean and square as
//! little-endian floats, then a hash of it all.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::dataset::LoadedFile;
use super::error::TrainError;
use super::hyperparameters::Hyperparameters;
use super::loss_curve::EpochSummary;
use super::params::{Params, SimdLane, copy_rows, floats, floats_mut};
use crate::engine::nnue::{Layout, NetError, Network, QA, QB, checksum};
use crate::files::write_whole;

const MAGIC: &[u8; 8] = b"MEGATRN1";
/// Magic and length of the head.
const BEFORE_HEAD: usize = 12;
const HASH: usize = 8;
/// The mean square of the gradients of an input that a net has learned, as far as its file tells: too
/// small to slow a step.
const LEARNED: f32 = 1e-16;

/// The header of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) hyperparameters: Hyperparameters,
    pub(super) lots: Vec<LoadedFile>,
    pub(super) steps: u64,
    /// The steps of an earlier training that this one started from.
    #[serde(default)]
    pub(super) first_step: u64,
    pub(super) curve: Vec<EpochSummary>,
}

/// A training between two epochs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) head: Head,
    pub(super) model: Params,
    pub(super) adam: Adam,
}

/// The path of a net's checkpoint.
pub fn checkpoint_path(net: &Path) -> PathBuf {
    net.with_added_extension("checkpoint")
}

impl Checkpoint {
    pub(super) fn write(&self, path: &Path) -> Result<(), TrainError> {
        let head = serde_json::to_vec(&self.head).expect("plain data has a JSON form");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&head);
        let adam = &self.adam;
        let lists = [&self.model, &adam.mean, &adam.square].into_iter();
        let lists = lists.flat_map(Params::kinds);
        for list in lists.chain([&adam.shared_mean[..], &adam.shared_square]) {
            bytes.extend(floats(list).flat_map(f32::to_le_bytes));
        }
        let hash = checksum(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        write_whole(path, |file| file.write_all(&bytes)).map_err(TrainError::writing(path))
    }

    pub(super) fn read(path: &Path) -> Result<Checkpoint, TrainError> {
        let bytes = fs::read(path).map_err(TrainError::reading(path))?;
        Checkpoint::parse(&bytes).map_err(|fault| TrainError::Checkpoint {
            path: path.to_owned(),
            fault,
        })
    }

    /// What another training may start from: a checkpoint or a net.
    pub(super) fn read_start(path: &Path) -> Result<Checkpoint, TrainError> {
        match Network::load(path) {
            Ok(network) => Ok(Checkpoint::of_net(&network)),
            Err(NetError::Refused { path, fault }) if !matches!(*fault, NetError::Magic) => {
                let fault = fault.to_string();
                Err(TrainError::Checkpoint { path, fault })
            }
            Err(_) => Checkpoint::read(path),
        }
    }

    /// The weights of a net, as precise as its file, and an optimiser that has made no step.
    fn of_net(network: &Network) -> Checkpoint {
        let (shape, parts) = (network.shape(), network.parts());
        let (mut model, mut adam) = (Params::zeros(shape), Adam::new(shape));
        let wide = |numbers: Vec<i16>| numbers.into_iter().map(i32::from).collect();
        let numbers: [(Vec<i32>, i32); 4] = [
            (wide(parts.feature_weights), QA),
            (wide(parts.feature_biases), QA),
            (wide(parts.output_weights), QB),
            (parts.output_biases, QA * QB),
        ];
        for (kind, (numbers, unit)) in model.kinds_mut().into_iter().zip(numbers) {
            for (to, number) in floats_mut(kind).zip(numbers) {
                *to = number as f32 / unit as f32;
            }
        }
        let squares = adam.square.feature_weights.iter_mut();
        for (square, lane) in squares.zip(&model.feature_weights) {
            square.0 = lane.0.map(|it| if it == 0.0 { 0.0 } else { LEARNED });
        }
        let head = Head {
            hyperparameters: Hyperparameters::default().of_shape(shape),
            ..Head::default()
        };
        Checkpoint { head, model, adam }
    }

    fn parse(bytes: &[u8]) -> Result<Checkpoint, String> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err("neither a checkpoint, which begins with MEGATRN1, nor a net".to_owned());
        };
        let damaged = || "damaged: the hash does not fit".to_owned();
        let (_, stated) = bytes.split_last_chunk::<HASH>().ok_or_else(damaged)?;
        if checksum(&bytes[..bytes.len() - HASH]) != u64::from_le_bytes(*stated) {
            return Err(damaged());
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (head, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let head: Head = serde_json::from_slice(head).map_err(|error| {
            format!("offset {BEFORE_HEAD}: the head is not understood: {error}")
        })?;
        let shape = head
            .hyperparameters
            .shape()
            .map_err(|error| error.to_string())?;
        let (words, _) = rest[..rest.len() - HASH].as_chunks::<4>();
        let mut words = words.iter();
        let (mut model, mut adam) = (Params::zeros(shape), Adam::new(shape));
        adam.steps = head.steps;
        let lists = [&mut model, &mut adam.mean, &mut adam.square].into_iter();
        let lists = lists.flat_map(Params::kinds_mut);
        let shared = [&mut adam.shared_mean[..], &mut adam.shared_square];
        for number in lists.chain(shared).flat_map(floats_mut) {
            let word = words.next().ok_or("it ends before its last number")?;
            *number = f32::from_le_bytes(*word);
        }
        Ok(Checkpoint { head, model, adam })
    }

    /// The training with a layout that splits the inputs of its own into so many parts, which start
    /// alike: the net's values are the same.
    pub(super) fn split(mut self, layout: Layout, parts: usize) -> Checkpoint {
        self.head.hyperparameters.layout = layout.number();
        if self.adam.shared_mean.is_empty() {
            self.adam.shared_mean = self.adam.mean.feature_weights.clone();
            self.adam.shared_square = self.adam.square.feature_weights.clone();
        }
        for params in [&mut self.model, &mut self.adam.mean, &mut self.adam.square] {
            params.feature_weights = params.feature_weights.repeat(parts);
        }
        self
    }

    /// The same training with more hidden units, random ones whose outputs start at 0: the net's values
    /// are the same. The optimiser has not seen them yet.
    pub(super) fn widened(mut self, hidden: usize, seed: u64) -> Result<Checkpoint, TrainError> {
        self.head.hyperparameters.hidden = hidden;
        let shape = self.head.hyperparameters.shape()?;
        let mut adam = Adam::new(shape);
        let (old, new) = (self.model.lanes(), adam.mean.lanes());
        copy_rows(&self.adam.shared_mean, old, &mut adam.shared_mean, new);
        copy_rows(&self.adam.shared_square, old, &mut adam.shared_square, new);
        let mut fresh = Params::random(shape, seed);
        fresh.output_weights.fill(SimdLane::ZERO);
        Ok(Checkpoint {
            model: self.model.within(fresh),
            adam: Adam {
                mean: self.adam.mean.within(adam.mean),
                square: self.adam.square.within(adam.square),
                steps: self.adam.steps,
                ..adam
            },
            head: self.head,
        })
    }

    /// Checks that a training with another schedule and other data may start from this checkpoint; the
    /// error says why not.
    pub(super) fn fits_shape(&self, wanted: &Hyperparameters) -> Result<(), String> {
        let hidden = self.head.hyperparameters.hidden;
        if wanted.hidden < hidden {
            return Err(format!(
                "a net of {hidden} hidden units, more than --hidden {}",
                wanted.hidden
            ));
        }
        let shape = wanted.shape().map_err(|error| error.to_string())?;
        let of_this_shape = self.head.hyperparameters.of_shape(shape);
        let difference = of_this_shape.difference(&self.head.hyperparameters);
        difference.map_or(Ok(()), |it| Err(format!("a net of another shape: {it}")))
    }

    /// Checks that a training may continue from this checkpoint; the error says why not.
    pub(super) fn fits(
        &self,
        hyperparameters: &Hyperparameters,
        lots: &[LoadedFile],
    ) -> Result<(), String> {
        if let Some(difference) = hyperparameters.difference(&self.head.hyperparameters) {
            return Err(format!("a training of another recipe: {difference}"));
        }
        let known = &self.head.lots;
        let is_same = known.len() == lots.len()
            && lots
                .iter()
                .zip(known)
                .all(|(lot, known)| lot.is_same_as(known));
        if !is_same {
            let names: Vec<String> = known.iter().map(LoadedFile::to_string).collect();
            return Err(format!("a training on other data: {}", names.join(", ")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::export::quantise;
    use super::super::params::{SimdLane, WIDTH};
    use super::*;
    use crate::engine::nnue::Layout;

    fn checkpoint() -> Checkpoint {
        let hyperparameters = Hyperparameters {
            hidden: 32,
            layout: Layout::KingRing.number(),
            ..Hyperparameters::default()
        };
        let shape = hyperparameters.shape().unwrap();
        Checkpoint {
            model: Params::random(shape, 5),
            adam: Adam {
                mean: Params::random(shape, 6),
                square: Params::random(shape, 7),
                shared_mean: vec![SimdLane([0.5; WIDTH]); 768],
                shared_square: vec![SimdLane([0.25; WIDTH]); 768],
                steps: 12,
            },
            head: Head {
                hyperparameters,
                lots: vec![LoadedFile {
                    name: "some.samples".to_owned(),
                    weight: 0.1,
                    training: 90,
                    validation: 10,
                    checksum: Some(0xa5),
                }],
                steps: 12,
                first_step: 5,
                curve: Vec::new(),
            },
        }
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = checkpoint_path(&folder.path().join("some.net"));
        let written = checkpoint();
        written.write(&path).unwrap();
        assert!(Checkpoint::read(&path).unwrap() == written);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_net_of_a_training_is_its_start_as_far_as_the_file_is_precise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.net");
        let Checkpoint { head, model, adam } = checkpoint();
        let shape = head.hyperparameters.shape().unwrap();
        let network = quantise(&model, &adam, shape, &[]).unwrap();
        fs::write(&path, network.to_bytes()).unwrap();
        let start = Checkpoint::read_start(&path).unwrap();
        start.fits_shape(&head.hyperparameters).unwrap();
        let again = quantise(&start.model, &start.adam, shape, &[]).unwrap();
        assert_eq!(again.to_bytes(), network.to_bytes());
        let weights = floats(&model.feature_weights).zip(floats(&start.model.feature_weights));
        for (before, after) in weights {
            assert!((before - after).abs() < 0.6 / QA as f32, "{before} {after}");
        }
        fs::write(&path, &network.to_bytes()[..100]).unwrap();
        let complaint = Checkpoint::read_start(&path).unwrap_err().to_string();
        assert!(
            complaint.contains("some.net: a net of this shape has"),
            "{complaint}"
        );
    }

    #[test]
    fn a_damaged_checkpoint_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.checkpoint");
        checkpoint().write(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for bytes in [
            &flipped[..],
            &whole[..whole.len() - 9],
            &whole[..10],
            b"MEGATRN1",
            b"",
        ] {
            fs::write(&path, bytes).unwrap();
            let complaint = Checkpoint::read(&path).unwrap_err().to_string();
            assert!(complaint.contains("some.checkpoint"), "{complaint}");
        }
    }

    #[test]
    fn other_hyperparameters_or_data_are_reported() {
        let checkpoint = checkpoint();
        let Head {
            hyperparameters,
            lots,
            ..
        } = &checkpoint.head;
        checkpoint.fits(hyperparameters, lots).unwrap();
        let other = Hyperparameters {
            lambda: 0.5,
            ..hyperparameters.clone()
        };
        let complaint = checkpoint.fits(&other, lots).unwrap_err();
        assert!(complaint.contains("lambda 0.75, not 0.5"), "{complaint}");
        let others = [LoadedFile {
            checksum: Some(0xa6),
            ..lots[0].clone()
        }];
        for lots in [&others[..], &[]] {
            let complaint = checkpoint.fits(hyperparameters, lots).unwrap_err();
            assert!(complaint.contains("some.samples"), "{complaint}");
            assert!(complaint.contains("checksum 000000a5"), "{complaint}");
        }
    }

    #[test]
    fn a_checkpoint_without_checksums_fits_files_of_the_same_counts() {
        let mut checkpoint = checkpoint();
        let lots = checkpoint.head.lots.clone();
        let mut entry = serde_json::to_value(&lots[0]).unwrap();
        entry.as_object_mut().unwrap().remove("checksum").unwrap();
        checkpoint.head.lots = vec![serde_json::from_value(entry).unwrap()];
        let Head {
            hyperparameters, ..
        } = &checkpoint.head;
        checkpoint.fits(hyperparameters, &lots).unwrap();
        let others = [LoadedFile {
            training: 91,
            ..lots[0].clone()
        }];
        checkpoint.fits(hyperparameters, &others).unwrap_err();
    }
}
