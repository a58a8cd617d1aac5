//! `megaton tables`: makes and checks the endgame tables that the program embeds.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use megaton::engine::TablebaseProbe;
use megaton::files::{check_writable, write_whole};
use megaton::tablebase::{
    Extent, OUTCOME_TABLES, OutcomeTables, Syzygy, TableReport, ValueCounts, generate_outcomes,
};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::output::table::{Align, Table};
use crate::cli::output::{self};

/// `verify` compares one of so many positions with its own moves.
const PLAYED_STEP: usize = 101;

/// Make and check the built-in endgame tables
///
/// They hold win, draw or loss for every position of at most four pieces. The program embeds its
/// tables from assets/tables/outcomes.bin.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton tables generate --out assets/tables/outcomes.bin
  megaton tables verify assets/tables/outcomes.bin --syzygy syzygy/atomic
  megaton tables stats assets/tables/outcomes.bin")]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Make all tables by retrograde analysis; takes a minute or two and 150 MB of memory
    Generate(Generate),
    /// Compare every position with Syzygy tables, and some with the values of their own moves
    Verify(Verify),
    /// Count won, drawn and lost positions of every table
    Stats(File),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, clap::Args)]
struct File {
    /// File of tables
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Verify {
    #[command(flatten)]
    file: File,
    /// Folder with the atomic Syzygy tables of three and four pieces
    #[arg(long, value_name = "FOLDER")]
    syzygy: Option<PathBuf>,
    /// Check only every Nth position
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    step: u64,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    match &args.task {
        Task::Generate(args) => generate(&args.out),
        Task::Verify(args) => verify(args),
        Task::Stats(args) => stats(&args.file),
    }
}

fn generate(out: &Path) -> Result<(), Failure> {
    check_writable(out).or_setup(format!("--out {}", out.display()))?;
    let bar = progress::bar(
        Some(OUTCOME_TABLES as u64),
        "{bar:40} {pos}/{len} tables  {msg}  {elapsed}",
    );
    let mut line = PeriodicLine::new();
    let mut made = 0;
    let bytes = generate_outcomes(|table| {
        made += 1;
        bar.inc(1);
        bar.set_message(table.name);
        if bar.is_hidden() {
            line.print(format!("{made} of {OUTCOME_TABLES} tables"));
        }
    });
    bar.finish_and_clear();
    write_whole(out, |file| file.write_all(&bytes)).or_failed(out.display())?;
    output::print(format!(
        "{OUTCOME_TABLES} tables in {} bytes: {}",
        bytes.len(),
        out.display()
    ))
}

fn open(file: &Path) -> Result<OutcomeTables, Failure> {
    OutcomeTables::open(file).or_setup(file.display())
}

/// Checks table by table; returns what was found.
fn check(tables: &OutcomeTables, extent: Extent<'_>) -> Vec<TableReport> {
    let bar = progress::bar(
        Some(OUTCOME_TABLES as u64),
        "{bar:40} {pos}/{len} tables  {elapsed}",
    );
    let mut line = PeriodicLine::new();
    let checked = (0..OUTCOME_TABLES).filter_map(|table| {
        let report = tables.check(table, extent);
        bar.inc(1);
        if bar.is_hidden() {
            line.print(format!("{} of {OUTCOME_TABLES} tables", table + 1));
        }
        report
    });
    let checked = checked.collect();
    bar.finish_and_clear();
    checked
}

fn verify(args: &Verify) -> Result<(), Failure> {
    let tables = open(&args.file.file)?;
    let syzygy = args.syzygy.as_ref().map(|folder| Syzygy::open(&[folder]));
    let syzygy = syzygy.transpose().or_setup("--syzygy")?;
    let reports = check(
        &tables,
        Extent {
            step: args.step as usize,
            played_step: PLAYED_STEP,
            reference: syzygy.as_ref().map(|tables| tables as &dyn TablebaseProbe),
        },
    );
    let errors = print_errors(&tables, &reports)?;
    let sum = |count: fn(&TableReport) -> u64| reports.iter().map(count).sum::<u64>();
    let printed = output::print(format!(
        "{} tables: {} positions compared with Syzygy, {} with their own moves, {errors} errors",
        tables.found(),
        sum(|report| report.compared),
        sum(|report| report.played),
    ));
    verdict(errors).and(printed)
}

/// Prints the unusable tables and the errors in the others; returns their number.
fn print_errors(tables: &OutcomeTables, reports: &[TableReport]) -> Result<usize, Failure> {
    let mut errors = tables.faults().to_vec();
    for report in reports {
        let named = |error| format!("{}: {error}", report.name);
        errors.extend(report.errors.iter().map(named));
    }
    let printed = errors.iter().try_for_each(output::print);
    printed.map_err(|_| Failure::Reported)?;
    Ok(errors.len())
}

/// A file with errors ends the command with a status of its own.
fn verdict(errors: usize) -> Result<(), Failure> {
    (errors == 0).then_some(()).ok_or(Failure::Reported)
}

fn stats(file: &Path) -> Result<(), Failure> {
    let tables = open(file)?;
    let extent = Extent {
        step: 1,
        played_step: usize::MAX,
        reference: None,
    };
    let mut lines = Table::new(&[
        ("table", Align::Left),
        ("bytes", Align::Right),
        ("white to move", Align::Right),
        ("won/drawn/lost %", Align::Right),
        ("black to move", Align::Right),
        ("won/drawn/lost %", Align::Right),
        ("cursed", Align::Right),
    ]);
    let reports = check(&tables, extent);
    for report in &reports {
        let [white, black] = report.values;
        let cursed = |values: ValueCounts| values.cursed + values.blessed;
        lines.row(vec![
            report.name.to_owned(),
            report.bytes.to_string(),
            white.all().to_string(),
            shares(white),
            black.all().to_string(),
            shares(black),
            (cursed(white) + cursed(black)).to_string(),
        ]);
    }
    let printed = output::print_text(lines.take());
    verdict(print_errors(&tables, &reports)?).and(printed)
}

fn shares(values: ValueCounts) -> String {
    let share = |count: u64| 100.0 * count as f64 / values.all().max(1) as f64;
    format!(
        "{:.1}/{:.1}/{:.1}",
        share(values.won + values.cursed),
        share(values.drawn),
        share(values.lost + values.blessed)
    )
}
