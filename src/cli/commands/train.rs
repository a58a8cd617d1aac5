//! `megaton train`: trains a net on samples.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use megaton::engine::nnue::{BucketBy, Layout};
use megaton::files::check_writable;
use megaton::training::trainer::{
    BUCKETS_BY, Dataset, EpochSummary, Fidelity, Hyperparameters, LAYOUTS, Source, TrainError,
    TrainEvent, Trainer, checkpoint_path, curve_path, drawn,
};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::{self, progress};
use crate::cli::setup::{cores, one_of};

/// Train a net on samples and write it, quantized, for the engine
///
/// Samples come from `megaton data shuffle`. Samples set aside for validation (whole games) are never
/// trained on; both loss curves are shown and written to NET.csv. After every epoch the net and a
/// checkpoint are on disk: --resume continues an interrupted run and reaches the same net as an
/// uninterrupted one. The same options, data and number of threads give the same net.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton train data/gen0.samples --out data/nets/net0.net
  megaton train data/gen0.samples=0.5 data/gen1.samples --out data/nets/net1.net --lambda 0.5
  megaton train data/gen1.samples --out data/nets/wide.net --hidden 128 --epochs 20 --resume
  megaton train data/gen2.samples --out data/nets/net2.net --from data/nets/net1.net.checkpoint --lr 3e-4")]
pub(crate) struct Args {
    /// Sample files; FILE=0.5 uses another random half of a file in each epoch, FILE=2 all of it
    /// twice
    #[arg(required = true, value_name = "FILE[=WEIGHT]")]
    files: Vec<Source>,
    /// Output net; its loss curve and checkpoint are written beside it
    #[arg(long, value_name = "NET")]
    out: PathBuf,
    /// Hidden units per view: a multiple of 32, up to 512
    #[arg(long, value_name = "N", default_value_t = 64)]
    hidden: usize,
    /// Output buckets, by number of pieces: 1 to 32
    #[arg(long, value_name = "N", default_value_t = 8)]
    buckets: usize,
    /// What chooses the output bucket
    #[arg(long, value_name = "PIECES", default_value = "pieces", value_parser = one_of(BUCKETS_BY))]
    buckets_by: BucketBy,
    /// Split of the inputs
    #[arg(long, value_name = "LAYOUT", default_value = "plain", value_parser = one_of(LAYOUTS))]
    layout: Layout,
    /// Weight of the game result in the target, from 0 to 1; the rest is the score
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    lambda: f32,
    /// Centipawns of an output of 1
    #[arg(long, value_name = "CP", default_value_t = 325)]
    scale: u32,
    /// Divisor that turns sample scores into expected results [default: --scale]
    #[arg(long, value_name = "CP")]
    score_scale: Option<f32>,
    /// Epochs
    #[arg(long, value_name = "N", default_value_t = 10)]
    epochs: u32,
    /// Samples per step
    #[arg(long, value_name = "N", default_value_t = 8_192)]
    batch: usize,
    /// Peak learning rate
    #[arg(long, value_name = "RATE", default_value_t = 1e-3)]
    lr: f32,
    /// Final learning rate
    #[arg(long, value_name = "RATE", default_value_t = 2e-5)]
    last_lr: f32,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Start from the weights of this net, or from the weights and optimiser of this checkpoint. Its net
    /// has the same shape, or fewer hidden units, or a layout whose inputs this one splits; data, targets
    /// and rates may differ
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Resume from the checkpoint beside the net, if there is one
    #[arg(long)]
    resume: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let parameters = parameters(args);
    parameters.check()?;
    let threads = args.threads.map_or_else(cores, usize::from);
    let resumes = args.resume && checkpoint_path(&args.out).exists();
    prepare(args, resumes)?;
    let dataset = Dataset::read(&args.files)?;
    for lot in dataset.lots() {
        output::print(lot)?;
    }
    let (size, memory) = (dataset.epoch_size(), dataset.memory() >> 20);
    output::print(format!(
        "net {}, lambda {}, {} epochs of {size} samples, {threads} threads, {memory} MiB of samples",
        parameters.shape()?,
        parameters.lambda,
        parameters.epochs
    ))?;
    let mut trainer = match &args.from {
        _ if resumes => Trainer::resume(&parameters, &dataset, threads, &args.out),
        Some(checkpoint) => Trainer::warm_start(&parameters, threads, checkpoint),
        None => Trainer::new(&parameters, threads),
    }?;
    let mut progress = TrainProgress::new(parameters.epochs, size);
    let fidelity = trainer.run(&dataset, &args.out, |event| progress.show(event))?;
    progress.bar.finish_and_clear();
    conclude(&args.out, &fidelity)
}

/// Creates the folder of the net. Refuses to overwrite a net or its checkpoint, unless its own training
/// resumes.
fn prepare(args: &Args, resumes: bool) -> Result<(), Failure> {
    let (net, checkpoint) = (&args.out, checkpoint_path(&args.out));
    if let Some(taken) = [net, &checkpoint]
        .into_iter()
        .find(|it| it.exists() && !resumes)
    {
        let advice = if args.resume {
            format!(": there is no {} to resume from", checkpoint.display())
        } else {
            ", or --resume its training".to_owned()
        };
        return Err(Failure::setup(format!(
            "{} exists; choose another --out{advice}",
            taken.display()
        )));
    }
    let folder = net.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).or_setup(format!("cannot make {}", folder.display()))?;
    [net, &checkpoint, &curve_path(net)]
        .into_iter()
        .try_for_each(|path| check_writable(path).or_setup(path.display()))
}

fn parameters(args: &Args) -> Hyperparameters {
    Hyperparameters {
        layout: args.layout.number(),
        hidden: args.hidden,
        buckets: args.buckets,
        bucket_by: args.buckets_by.number(),
        scale: args.scale,
        score_scale: args.score_scale.unwrap_or(args.scale as f32),
        lambda: args.lambda,
        epochs: args.epochs,
        batch: args.batch,
        rate: args.lr,
        last_rate: args.last_lr,
        seed: args.seed,
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Recipe { .. }
            | TrainError::Samples(_)
            | TrainError::Nothing(_)
            | TrainError::TooMany(_)
            | TrainError::Checkpoint { .. } => Self::setup(error),
            TrainError::File { .. } | TrainError::Diverged(_) | TrainError::Export(_) => {
                Self::failed(error)
            }
        }
    }
}

fn conclude(net: &Path, fidelity: &Fidelity) -> Result<(), Failure> {
    let Fidelity {
        clipped,
        unseen,
        positions,
        mean_error,
        largest_error,
    } = fidelity;
    output::print(format!(
        "{}: on {positions} positions {mean_error:.2} cp off the floats in the mean, \
         {largest_error:.1} at most; {:.3}% of the weights at their bound; {unseen} inputs never seen",
        net.display(),
        100.0 * clipped,
    ))?;
    output::print(format!("loss curve: {}", curve_path(net).display()))
}

/// A bar on a terminal, and a line per epoch everywhere.
struct TrainProgress {
    bar: ProgressBar,
    epochs: u32,
    /// Samples per epoch.
    size: u64,
    curve: String,
    validation: String,
}

impl TrainProgress {
    fn new(epochs: u32, size: usize) -> Self {
        let size = size as u64;
        Self {
            bar: progress::bar(
                Some(u64::from(epochs) * size),
                "{bar:30} {percent}%  {elapsed}, {eta} to go\n{msg}",
            ),
            epochs,
            size,
            curve: String::new(),
            validation: String::new(),
        }
    }

    fn show(&mut self, event: TrainEvent<'_>) {
        match event {
            TrainEvent::Resumed(curve) => {
                self.print(&format!("resuming after epoch {}", curve.len()));
                self.set_curve(curve);
                let done = curve.iter().map(|row| row.samples).sum();
                progress::advance(&self.bar, done);
            }
            TrainEvent::Step {
                epoch,
                samples,
                loss,
                rate,
            } => {
                let before = self.size * u64::from(epoch - 1);
                self.bar.set_position(before + samples as u64);
                self.bar.set_message(format!(
                    "epoch {epoch}/{}  loss {loss:.5}{}  rate {rate:.1e}  {:.2}M/s  {}",
                    self.epochs,
                    self.validation,
                    self.bar.per_sec() / 1e6,
                    self.curve,
                ));
            }
            TrainEvent::Epoch(curve) => {
                self.set_curve(curve);
                if let Some(last) = curve.last() {
                    self.print(&line(last, self.epochs));
                }
            }
        }
    }

    fn set_curve(&mut self, curve: &[EpochSummary]) {
        self.curve = drawn(curve);
        let last = curve.last().and_then(|row| row.validation_loss);
        self.validation = last.map_or_else(String::new, |loss| format!("  validation {loss:.5}"));
    }

    fn print(&self, line: &str) {
        self.bar.suspend(|| {
            // The training continues without a reader.
            let _ = writeln!(io::stdout(), "{line}");
        });
    }
}

fn line(row: &EpochSummary, epochs: u32) -> String {
    let mut line = format!(
        "epoch {:>2}/{epochs}  loss {:.5}",
        row.epoch, row.train_loss
    );
    if let Some(loss) = row.validation_loss {
        let _ = write!(line, "  validation {loss:.5}");
    }
    let (rate, seconds, speed) = (row.rate, row.seconds, row.speed() / 1e6);
    let _ = write!(line, "  rate {rate:.1e}  {seconds:.1} s  {speed:.2}M/s");
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use megaton::engine::Evaluator;

    use super::*;

    #[derive(clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_net_may_start_from_the_checkpoint_of_the_embedded_one_without_a_word_of_scales() {
        let line = ["train", "some.samples", "--out", "some.net"];
        let parameters = parameters(&CommandLine::parse_from(line).args);
        let embedded = Evaluator::default().network().expect("a net").shape();
        assert_eq!(parameters.scale, embedded.scale);
        assert_eq!(parameters.score_scale.to_string(), "325");
        assert_eq!(parameters.batch, 8_192);
    }
}
