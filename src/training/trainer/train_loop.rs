//! A training from its first epoch, or from its checkpoint, to the exported net.
//!
//! After every epoch a checkpoint, a curve and a net are written atomically, so a kill loses at most the
//! current epoch.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::adam::Adam;
use super::checkpoint::{Checkpoint, Head, checkpoint_path};
use super::dataset::{Dataset, mixed};
use super::error::TrainError;
use super::example::{Example, Target};
use super::export::{Fidelity, fidelity, quantise};
use super::hyperparameters::Hyperparameters;
use super::loss_curve::{EpochSummary, csv};
use super::params::Params;
use super::schedule;
use super::threads::side_by_side;
use super::worker::Worker;
use crate::engine::nnue::{Layout, Network, Shape};
use crate::files::write_whole;

/// The progress of a training.
#[derive(Clone, Copy, Debug)]
pub enum TrainEvent<'a> {
    /// Resumed from a checkpoint, with the epochs so far.
    Resumed(&'a [EpochSummary]),
    /// After a step.
    Step {
        /// The current epoch, from 1.
        epoch: u32,
        /// Its samples so far.
        samples: usize,
        /// Its mean loss so far.
        loss: f64,
        rate: f32,
    },
    /// After an epoch is on disk: all epochs so far.
    Epoch(&'a [EpochSummary]),
}

#[derive(Debug)]
pub struct Trainer {
    hyperparameters: Hyperparameters,
    shape: Shape,
    target: Target,
    model: Params,
    adam: Adam,
    workers: Vec<Worker>,
    curve: Vec<EpochSummary>,
    /// Optimiser steps made before this training.
    first_step: u64,
}

impl Trainer {
    pub fn new(hyperparameters: &Hyperparameters, threads: usize) -> Result<Trainer, TrainError> {
        hyperparameters.check()?;
        let shape = hyperparameters.shape()?;
        Ok(Trainer {
            hyperparameters: hyperparameters.clone(),
            shape,
            target: Target {
                lambda: hyperparameters.lambda,
                score_scale: hyperparameters.score_scale,
            },
            model: Params::random(shape, mixed(hyperparameters.seed, 0)),
            adam: Adam::new(shape),
            workers: (0..threads.max(1)).map(|_| Worker::new(shape)).collect(),
            curve: Vec::new(),
            first_step: 0,
        })
    }

    /// A warm start: weights and optimiser of the checkpoint of another training of the same shape, or
    /// the weights of its net, with a schedule and data of its own. A net of any layout may start from one
    /// whose inputs it splits, and a wider one from a narrower.
    pub fn warm_start(
        hyperparameters: &Hyperparameters,
        threads: usize,
        path: &Path,
    ) -> Result<Trainer, TrainError> {
        let trainer = Trainer::new(hyperparameters, threads)?;
        let mut checkpoint = Checkpoint::read_start(path)?;
        let layout = trainer.shape.layout;
        let earlier = Layout::from_number(checkpoint.head.hyperparameters.layout);
        if let Some(earlier) = earlier.filter(|it| layout.splits(*it)) {
            checkpoint = checkpoint.split(layout, layout.inputs() / earlier.inputs());
        }
        if checkpoint.head.hyperparameters.hidden < hyperparameters.hidden {
            let seed = mixed(hyperparameters.seed, 0);
            checkpoint = checkpoint.widened(hyperparameters.hidden, seed)?;
        }
        let fits = checkpoint.fits_shape(hyperparameters);
        fits.map_err(|fault| TrainError::Checkpoint {
            path: path.to_owned(),
            fault,
        })?;
        Ok(Trainer {
            model: checkpoint.model,
            first_step: checkpoint.adam.steps,
            adam: checkpoint.adam,
            ..trainer
        })
    }

    /// The state of an earlier training with the same hyperparameters and data.
    pub fn resume(
        hyperparameters: &Hyperparameters,
        dataset: &Dataset,
        threads: usize,
        net: &Path,
    ) -> Result<Trainer, TrainError> {
        let path = checkpoint_path(net);
        let checkpoint = Checkpoint::read(&path)?;
        let fits = checkpoint.fits(hyperparameters, dataset.lots());
        fits.map_err(|fault| TrainError::Checkpoint { path, fault })?;
        Ok(Trainer {
            model: checkpoint.model,
            adam: checkpoint.adam,
            curve: checkpoint.head.curve,
            first_step: checkpoint.head.first_step,
            ..Trainer::new(hyperparameters, threads)?
        })
    }

    /// Trains to the last epoch, with a checkpoint, a curve and a net after each.
    pub fn run(
        &mut self,
        dataset: &Dataset,
        net: &Path,
        mut on_event: impl FnMut(TrainEvent<'_>),
    ) -> Result<Fidelity, TrainError> {
        if !self.curve.is_empty() {
            on_event(TrainEvent::Resumed(&self.curve));
        }
        while self.curve.len() < self.hyperparameters.epochs as usize {
            let summary = self.epoch(dataset, &mut on_event)?;
            self.curve.push(summary);
            self.keep(dataset, net)?;
            on_event(TrainEvent::Epoch(&self.curve));
        }
        // Once more: an earlier run may have kept the last checkpoint and failed before the net.
        let network = self.publish(dataset, net)?;
        let samples = dataset.to_compare();
        Ok(fidelity(&self.model, &self.adam, &network, samples))
    }

    /// The current net.
    pub fn network(&self, dataset: &Dataset) -> Result<Network, TrainError> {
        let samples = dataset.to_compare();
        quantise(&self.model, &self.adam, self.shape, samples)
    }

    /// Runs one epoch.
    pub(super) fn epoch(
        &mut self,
        dataset: &Dataset,
        on_event: &mut impl FnMut(TrainEvent<'_>),
    ) -> Result<EpochSummary, TrainError> {
        let begun = Instant::now();
        let epoch = self.curve.len() as u32 + 1;
        let order = dataset.order(self.hyperparameters.seed, epoch);
        let size = batch_size(order.len(), self.hyperparameters.batch);
        let steps = u64::from(self.hyperparameters.epochs) * order.len().div_ceil(size) as u64;
        let (mut loss, mut samples, mut rate) = (0.0, 0, 0.0);
        for batch in order.chunks(size) {
            rate = schedule::rate(
                self.adam.steps - self.first_step,
                steps,
                self.hyperparameters.rate,
                self.hyperparameters.last_rate,
            );
            loss += self.learn(dataset, batch, rate);
            samples += batch.len();
            if !loss.is_finite() {
                return Err(TrainError::Diverged(epoch));
            }
            on_event(TrainEvent::Step {
                epoch,
                samples,
                loss: loss / samples as f64,
                rate,
            });
        }
        Ok(EpochSummary {
            epoch,
            samples: samples as u64,
            train_loss: loss / samples.max(1) as f64,
            validation_loss: self.measure(dataset),
            rate,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }

    /// Makes one step; returns the sum of the losses before it.
    fn learn(&mut self, dataset: &Dataset, batch: &[u32], rate: f32) -> f64 {
        let (model, shape, target) = (&self.model, self.shape, self.target);
        let weight = 1.0 / batch.len() as f32;
        let busy = share(&mut self.workers, batch, |worker, part| {
            let samples = part.iter().map(|&at| &dataset.training[at as usize]);
            let examples = samples.map(|sample| Example::of(sample, shape, target));
            worker.learn(model, examples, weight);
        });
        let gradients: Vec<&Params> = busy.iter().map(|worker| &worker.gradient).collect();
        self.adam.step(&mut self.model, &gradients, rate);
        busy.iter().map(|worker| worker.loss).sum()
    }

    /// The mean loss over the validation samples.
    fn measure(&mut self, dataset: &Dataset) -> Option<f64> {
        let samples = &dataset.validation;
        if samples.is_empty() {
            return None;
        }
        let (model, shape, target) = (&self.model, self.shape, self.target);
        let busy = share(&mut self.workers, samples, |worker, part| {
            let examples = part.iter().map(|sample| Example::of(sample, shape, target));
            worker.measure(model, examples);
        });
        let loss: f64 = busy.iter().map(|worker| worker.loss).sum();
        Some(loss / samples.len() as f64)
    }

    /// Writes checkpoint, curve and net.
    fn keep(&self, dataset: &Dataset, net: &Path) -> Result<(), TrainError> {
        let checkpoint = Checkpoint {
            head: Head {
                hyperparameters: self.hyperparameters.clone(),
                lots: dataset.lots().to_vec(),
                steps: self.adam.steps,
                first_step: self.first_step,
                curve: self.curve.clone(),
            },
            model: self.model.clone(),
            adam: self.adam.clone(),
        };
        checkpoint.write(&checkpoint_path(net))?;
        self.publish(dataset, net).map(|_| ())
    }

    /// Writes curve and net; returns the net.
    fn publish(&self, dataset: &Dataset, net: &Path) -> Result<Network, TrainError> {
        let write = |path: &Path, bytes: &[u8]| {
            write_whole(path, |file| file.write_all(bytes)).map_err(TrainError::writing(path))
        };
        write(&curve_path(net), csv(&self.curve).as_bytes())?;
        let network = self.network(dataset)?;
        write(net, &network.to_bytes())?;
        Ok(network)
    }
}

/// The path of a net's loss curve.
pub fn curve_path(net: &Path) -> PathBuf {
    net.with_added_extension("csv")
}

/// Shares items out among the workers, each on a thread of its own; returns those that had a part.
fn share<'w, T: Sync>(
    workers: &'w mut [Worker],
    items: &[T],
    work: impl Fn(&mut Worker, &[T]) + Sync,
) -> &'w [Worker] {
    let (part, work) = (items.len().div_ceil(workers.len()), &work);
    let parts = workers.iter_mut().zip(items.chunks(part));
    let jobs = parts.map(|(worker, part)| move || work(worker, part));
    side_by_side(jobs.len(), jobs.collect());
    &workers[..items.len().div_ceil(part)]
}

/// The batch size, close to the requested one, that makes all steps of an epoch equal.
fn batch_size(samples: usize, wanted: usize) -> usize {
    let steps = ((samples + wanted / 2) / wanted).max(1);
    samples.div_ceil(steps).max(1)
}

#[cfg(test)]
mod tests;
