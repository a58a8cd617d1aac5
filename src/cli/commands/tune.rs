//! `megaton tune`: tunes parameters of the search by games of the engine against itself.

use std::cmp::Ordering::Equal;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use indicatif::ProgressBar;
use megaton::engine::Tunable;
use megaton::match_runner::{MoveLimit, PlayerSpec, Spsa, SpsaOptions, Tuning, tune};

use super::engine_match::{failure, openings};
use crate::cli::failure::Failure;
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::output::table::{Align, Table};
use crate::cli::{output, runtime};

/// The parameters that a line of progress names: those that moved most.
const NAMED: usize = 4;

/// Tune parameters of the search by games of the engine against itself
///
/// SPSA: each step changes all parameters at once, up or down at random, plays one opening with both
/// colours against the opposite change, and follows the winner. The result is the mean over the last
/// quarter of the steps; a `megaton match` against the untuned values, with more nodes than the
/// tuning, shows what it is worth. Interrupt it at any time, even with kill -9: the same command
/// resumes from the journal. Ctrl-C finishes the games in progress. With one game at a time and fixed
/// nodes the same command gives the same values.
///
/// `setoption` under `megaton uci` and `self:` in matches know the parameters by the same names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton tune 'lmr_*' --nodes 10000 --openings data/openings.epd --journal data/lmr.jsonl \\
      --concurrency 2
  megaton tune rfp_margin qs_margin --start rfp_margin=90 --nodes 10000 --steps 8000 \\
      --openings data/openings.epd --journal data/margins.jsonl
  megaton tune 'time_*' --tc 10+0.1@20 --openings data/openings.epd --journal data/time.jsonl")]
pub(crate) struct Args {
    /// Parameters; `*` at the end of a name stands for any rest, '*' alone for all that apply to the limit
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    limit: Limit,
    /// Steps, each a pair of games
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    steps: u64,
    /// Opening positions: EPD or FEN, one a line
    #[arg(long, value_name = "FILE")]
    openings: PathBuf,
    /// Journal of finished steps; an interrupted tuning resumes from it
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// Games to run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Gain: how far a value moves for a point, in parts of its step, at the end of the tuning
    #[arg(long, value_name = "R", default_value_t = 0.002)]
    gain: f64,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Values to start from instead of the defaults, and other options of `self` such as hash=8
    #[arg(long, value_name = "NAME=VALUE,…")]
    start: Option<String>,
}

/// The limit of a move: one of these options.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Limit {
    /// Nodes per move
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Clock in seconds: base+increment; 10+0.1@20 counts 20 nodes as a millisecond of it
    #[arg(long, value_name = "S+S", value_parser = MoveLimit::parse_clock)]
    tc: Option<MoveLimit>,
}

impl Limit {
    fn move_limit(&self) -> Result<MoveLimit, Failure> {
        let nodes = self.nodes.map(|hard| MoveLimit::Nodes { soft: None, hard });
        let limit = nodes.or(self.tc);
        limit.ok_or_else(|| Failure::setup("one of --nodes or --tc is required"))
    }
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let start = args.start.as_deref().unwrap_or_default();
    let tuning = Arc::new(Tuning {
        player: PlayerSpec::parse(&format!("self:{start}"), &[]).map_err(Failure::setup)?,
        names: args.names.clone(),
        limit: args.limit.move_limit()?,
        openings: openings(&args.openings)?,
        options: SpsaOptions {
            steps: args.steps,
            gain: args.gain,
            seed: args.seed,
        },
        concurrency: args.concurrency.into(),
        journal: args.journal.clone(),
    });
    let spsa = runtime::block_on(play(Arc::clone(&tuning)))?;
    output::print_text(table(&spsa).take())?;
    output::print(counts(&spsa))?;
    output::print(tuning.tuned_player(&spsa))
}

/// Plays until all steps are done or a signal stops it; a second one abandons the games in progress.
async fn play(tuning: Arc<Tuning>) -> Result<Spsa, Failure> {
    let signals = runtime::listen()?;
    let mut progress = TuneProgress::new(tuning.options.steps);
    let stop = runtime::flag_of(&signals.drain, &progress.bar);
    let games = tokio::task::spawn_blocking(move || {
        let tuned = tune(&tuning, &stop, |spsa| progress.show(spsa));
        progress.bar.finish_and_clear();
        tuned
    });
    tokio::select! {
        tuned = games => tuned.map_err(|_| anyhow!("a game failed"))?.map_err(failure),
        () = signals.now.cancelled() => {
            Err(Failure::failed("interrupted; the same command continues"))
        }
    }
}

fn table(spsa: &Spsa) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("start", Align::Right),
        ("result", Align::Right),
        ("bounds", Align::Left),
        ("step", Align::Right),
    ]);
    for it in &spsa.parameters {
        let Tunable {
            name,
            least,
            most,
            step,
            ..
        } = it.tunable;
        table.row(vec![
            name.to_owned(),
            it.start.to_string(),
            it.result().to_string(),
            format!("{least} to {most}"),
            step.to_string(),
        ]);
    }
    table
}

fn counts(spsa: &Spsa) -> String {
    let (done, all) = (spsa.done, spsa.options.steps);
    let mut text = format!("{done} of {all} steps, {} games", 2 * done);
    // Writing to a string cannot fail.
    if spsa.forfeits > 0 {
        let _ = write!(text, ", {} forfeited", spsa.forfeits);
    }
    if done < all {
        let _ = write!(text, "; the same command continues");
    }
    text
}

struct TuneProgress {
    bar: ProgressBar,
    line: PeriodicLine,
    begun: Instant,
    /// The steps of earlier runs.
    found: Option<u64>,
}

impl TuneProgress {
    fn new(steps: u64) -> Self {
        let template = "{bar:30} {pos}/{len} steps  {elapsed}, {eta} to go\n{msg}";
        Self {
            bar: progress::bar(Some(steps), template),
            line: PeriodicLine::new(),
            begun: Instant::now(),
            found: None,
        }
    }

    fn show(&mut self, spsa: &Spsa) {
        let found = *self.found.get_or_insert(spsa.done);
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-3);
        let speed = (spsa.done - found) as f64 / seconds;
        let news = format!("{speed:.2} steps/s  {}", shifts(spsa));
        if self.bar.is_hidden() {
            return self.line.print(format!("{}  {news}", counts(spsa)));
        }
        progress::advance(&self.bar, spsa.done);
        self.bar.set_message(news);
    }
}

/// The parameters that moved most, each with its distance from the start in its own steps.
fn shifts(spsa: &Spsa) -> String {
    let parameters = spsa.parameters.iter();
    let mut moved: Vec<_> = parameters.map(|it| (it.tunable.name, it.shift())).collect();
    moved.sort_by(|(_, a), (_, b)| b.abs().partial_cmp(&a.abs()).unwrap_or(Equal));
    let moved = moved.iter().take(NAMED);
    let texts: Vec<_> = moved
        .map(|(name, shift)| format!("{name} {shift:+.2}"))
        .collect();
    format!("moved in steps: {}", texts.join("  "))
}
