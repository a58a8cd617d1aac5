//! `megaton experience`: what the games against one opponent teach.

use std::fmt::Write as _;

use megaton::archive::{LESSONS_SHOWN, dates};
use megaton::experience::{AvoidedMove, ExperienceReport};

use crate::cli::failure::Failure;
use crate::cli::output::table::{Align, Table};
use crate::cli::output::{self, plain};
use crate::cli::setup::ArchiveArgs;

/// Lines shown unless more are asked for.
const SHOWN: usize = 20;

/// Show the lines played against an opponent, and the moves the bot avoids because of them
///
/// Reads the latest 200 games from the archive, beside a running bot too. The bot avoids a move that
/// cost a game against anybody, and leaves a line that an opponent won for no known reason:
/// [experience] of the config. The scores during a game name its mistake at once; a review
/// (`megaton review`) replaces that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton experience SomeBot
  megaton experience SomeBot --most 100
  megaton experience SomeBot --json | jq .avoided")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// The opponent's account
    #[arg(value_name = "OPPONENT")]
    opponent: String,
    /// Show at most this many lines
    #[arg(long, value_name = "N", default_value_t = SHOWN)]
    most: usize,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, _) = args.archive.open()?;
    let opponent = args.opponent.to_lowercase();
    let experience = reader.experience_against(&opponent)?;
    let report = ExperienceReport::of(&experience, &opponent);
    if args.json {
        return output::print_pretty_json(&report);
    }
    if report.lines.is_empty() {
        return Err(Failure::setup(format!(
            "there is no finished game against {} in {} (imported ones do not count)",
            plain(&args.opponent),
            reader.path().display()
        )));
    }
    output::print_text(text(&report, args.most))
}

fn text(report: &ExperienceReport, most: usize) -> String {
    let (wins, draws, losses) = (report.wins, report.draws, report.losses);
    let mut text = plain(&report.opponent);
    let _ = write!(text, ": {wins} won, {draws} drawn, {losses} lost");
    if report.lines.len() >= LESSONS_SHOWN {
        let _ = write!(text, " in the latest {LESSONS_SHOWN} games");
    }
    text += "\n\n";
    for avoided in &report.avoided {
        let _ = writeln!(text, "avoids {} {}", avoided.mv, reason(avoided));
        if !avoided.after.is_empty() {
            let _ = writeln!(text, "       after {}", avoided.after);
        }
    }
    if report.avoided.is_empty() {
        text += "no move is avoided\n";
    }
    for lost in &report.lost_lines {
        let (times, color, moves) = (lost.times, lost.color, &lost.moves);
        let _ = writeln!(text, "lost {times} times as {color} in {moves}");
    }
    let mut table = Table::new(&[
        ("began", Align::Left),
        ("game", Align::Left),
        ("us", Align::Left),
        ("result", Align::Left),
        ("mistake", Align::Left),
        ("moves", Align::Left),
    ]);
    for line in report.lines.iter().take(most) {
        table.row(vec![
            dates::minute(line.at),
            plain(&line.game),
            line.color.to_owned(),
            line.result.to_owned(),
            line.mistake.clone().unwrap_or_default(),
            line.moves.clone(),
        ]);
    }
    text + "\n" + &table.take()
}

fn reason(avoided: &AvoidedMove) -> String {
    match avoided.value {
        Some(value) => format!("({:+.2}): {}", f64::from(value) / 100.0, avoided.why),
        None => format!(
            "(up to {:.2} less): {}",
            f64::from(avoided.penalty) / 100.0,
            avoided.why
        ),
    }
}
