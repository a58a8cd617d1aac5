//! `megaton train`: from samples to a net.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use megaton::engine::nnue::Layout;
use megaton::training::trainer::{
    Dataset, EpochSummary, Fidelity, Hyperparameters, Source, TrainError, TrainEvent, Trainer,
    checkpoint_path, curve_path, drawn,
};

use super::failure::Failure;

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
  megaton train data/gen1.samples --out data/nets/wide.net --hidden 128 --epochs 20 --resume")]
pub(super) struct Args {
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
    /// Input buckets by the position of the own king
    #[arg(long, value_name = "LAYOUT", default_value = "plain")]
    layout: Split,
    /// Weight of the game result in the target, from 0 to 1; the rest is the score
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    lambda: f32,
    /// Centipawns of an output of 1
    #[arg(long, value_name = "CP", default_value_t = 400)]
    scale: u32,
    /// Divisor that turns sample scores into expected results [default: --scale]
    #[arg(long, value_name = "CP")]
    score_scale: Option<f32>,
    /// Epochs
    #[arg(long, value_name = "N", default_value_t = 10)]
    epochs: u32,
    /// Samples per step
    #[arg(long, value_name = "N", default_value_t = 16_384)]
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
    /// Resume from the checkpoint beside the net, if there is one
    #[arg(long)]
    resume: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Split {
    /// One bucket
    Plain,
    /// Four buckets: corner of the back rank, its middle, off it, beside the enemy king
    Kings,
}

impl Split {
    fn layout(self) -> Layout {
        match self {
            Split::Plain => Layout::Plain,
            Split::Kings => Layout::Kings,
        }
    }
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let recipe = recipe(args);
    recipe.check()?;
    let threads = args.threads.map_or_else(cores, usize::from);
    let begun = args.resume && checkpoint_path(&args.out).exists();
    prepare(&args.out, begun)?;
    let stock = Dataset::read(&args.files)?;
    let mut out = io::stdout().lock();
    introduce(&mut out, &recipe, &stock, threads)?;
    let trainer = if begun {
        Trainer::resume(&recipe, &stock, threads, &args.out)
    } else {
        Trainer::new(&recipe, threads)
    };
    let mut teller = TrainProgress::new(recipe.epochs, stock.epoch_size());
    let fidelity =
        trainer.and_then(|mut trainer| trainer.run(&stock, &args.out, |told| teller.tell(told)))?;
    teller.bar.finish_and_clear();
    conclude(&mut out, &args.out, &fidelity)?;
    out.flush()?;
    Ok(())
}

/// Makes the folder of the net; refuses to write over one, unless its own training continues.
fn prepare(net: &Path, begun: bool) -> Result<(), Failure> {
    if net.exists() && !begun {
        return Err(Failure::setup(format!(
            "{} exists; choose another --out, or --resume its training",
            net.display()
        )));
    }
    let folder = net.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .map_err(|error| Failure::setup(format!("cannot make {}: {error}", folder.display())))
}

fn recipe(args: &Args) -> Hyperparameters {
    Hyperparameters {
        layout: args.layout.layout().number(),
        hidden: args.hidden,
        buckets: args.buckets,
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

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Failure {
        match error {
            TrainError::Recipe { .. }
            | TrainError::Samples(_)
            | TrainError::Nothing(_)
            | TrainError::TooMany(_)
            | TrainError::Checkpoint { .. } => Failure::setup(error.to_string()),
            TrainError::File { .. } | TrainError::Diverged(_) | TrainError::Export(_) => {
                Failure::failed(error.to_string())
            }
        }
    }
}

fn introduce(
    out: &mut impl Write,
    recipe: &Hyperparameters,
    stock: &Dataset,
    threads: usize,
) -> Result<(), Failure> {
    for lot in stock.lots() {
        writeln!(out, "{lot}")?;
    }
    let shape = recipe.shape()?;
    let (size, memory) = (stock.epoch_size(), stock.memory() >> 20);
    let (epochs, lambda) = (recipe.epochs, recipe.lambda);
    writeln!(
        out,
        "net {shape}, lambda {lambda}, {epochs} epochs of {size} samples, {threads} threads, {memory} MiB of samples",
    )?;
    Ok(())
}

fn conclude(out: &mut impl Write, net: &Path, fidelity: &Fidelity) -> Result<(), Failure> {
    let Fidelity {
        clipped,
        unseen,
        positions,
        mean_error,
        largest_error,
    } = fidelity;
    writeln!(
        out,
        "{}: on {positions} positions {mean_error:.2} cp off the floats in the mean, \
         {largest_error:.1} at most; {:.3}% of the weights at their bound; {unseen} inputs never seen",
        net.display(),
        100.0 * clipped,
    )?;
    let curve = curve_path(net);
    writeln!(out, "loss curve: {}", curve.display())?;
    Ok(())
}

/// Tells how it goes: a bar on a terminal, and a line an epoch anywhere.
struct TrainProgress {
    bar: ProgressBar,
    epochs: u32,
    begun: Instant,
    curve: String,
    validation: String,
}

impl TrainProgress {
    fn new(epochs: u32, size: usize) -> TrainProgress {
        TrainProgress {
            bar: bar(u64::from(epochs) * size as u64),
            epochs,
            begun: Instant::now(),
            curve: String::new(),
            validation: String::new(),
        }
    }

    fn tell(&mut self, told: TrainEvent<'_>) {
        match told {
            TrainEvent::Resumed(curve) => {
                self.say(&format!("resuming after epoch {}", curve.len()));
                self.take(curve);
                self.bar.set_position(done(curve));
                self.bar.reset_eta();
            }
            TrainEvent::Step {
                epoch,
                samples,
                loss,
                rate,
            } => {
                let before = self.bar.length().unwrap_or(0) / u64::from(self.epochs);
                self.bar
                    .set_position(before * u64::from(epoch - 1) + samples as u64);
                let speed = samples as f64 / self.begun.elapsed().as_secs_f64().max(1e-9);
                self.bar.set_message(format!(
                    "epoch {epoch}/{}  loss {loss:.5}{}  rate {rate:.1e}  {:.2}M/s  {}",
                    self.epochs,
                    self.validation,
                    speed / 1e6,
                    self.curve,
                ));
            }
            TrainEvent::Epoch(curve) => {
                self.take(curve);
                if let Some(last) = curve.last() {
                    self.say(&line(last, self.epochs));
                }
                self.begun = Instant::now();
            }
        }
    }

    fn take(&mut self, curve: &[EpochSummary]) {
        self.curve = drawn(curve);
        let last = curve.last().and_then(|row| row.validation_loss);
        self.validation = last.map_or_else(String::new, |loss| format!("  validation {loss:.5}"));
    }

    fn say(&self, line: &str) {
        // A reader that left is no reason to end a training.
        self.bar.suspend(|| {
            let _ = writeln!(io::stdout(), "{line}");
        });
    }
}

fn done(curve: &[EpochSummary]) -> u64 {
    curve.iter().map(|row| row.samples).sum()
}

fn line(row: &EpochSummary, epochs: u32) -> String {
    let mut line = format!(
        "epoch {:>2}/{epochs}  loss {:.5}",
        row.epoch, row.train_loss
    );
    if let Some(loss) = row.validation_loss {
        let _ = write!(line, "  validation {loss:.5}");
    }
    let _ = write!(
        line,
        "  rate {:.1e}  {:.1} s  {:.2}M/s",
        row.rate,
        row.seconds,
        row.speed() / 1e6
    );
    line
}

/// A bar on a terminal, nothing anywhere else.
fn bar(samples: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(samples);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {percent}%  {elapsed}, {eta} to go\n{msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
