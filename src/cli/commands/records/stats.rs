//! `megaton stats`: statistics of the games.

use std::fmt::Write as _;
use std::io;

use clap::ValueEnum;
use megaton::archive::{Cause, ResultCounts, Stats, dates};
use megaton::rules::Position;

use super::filters::GameFilterArgs;
use crate::cli::failure::Failure;
use crate::cli::output::chart::Canvas;
use crate::cli::output::listing::{FormatArgs, OutputFormat};
use crate::cli::output::table::{Align, Column, Table};
use crate::cli::output::{self, or_dash};
use crate::cli::setup::ArchiveArgs;

/// Lines of the graph of ratings.
const HEIGHT: usize = 8;

/// Summarise games: by opponent, speed, colour, opening and hour; rating; time trouble
///
/// Games without a result (aborted or running) are counted apart. Hours are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton stats
  megaton stats --since 30d --rated
  megaton stats --by opponent --top 50
  megaton stats --by time --since 7d       why games were lost on time
  megaton stats --by rating --csv > rating.csv
  megaton stats --json | jq .trouble")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: GameFilterArgs,
    /// Only these sections; CSV holds one
    #[arg(long, value_enum, value_delimiter = ',')]
    by: Vec<Part>,
    /// Rows per section
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    #[command(flatten)]
    output: FormatArgs,
    /// ASCII only
    #[arg(long)]
    ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// All games, by colour, by mode, against bots and humans
    Total,
    Opponent,
    Speed,
    Opening,
    Hour,
    /// How games ended
    Ending,
    /// Rating by day
    Rating,
    /// Time trouble, and why games were lost on time
    Time,
    /// Disconnects, rate-limited calls, late searches
    Disconnects,
}

impl Part {
    /// The sections in the order of the report.
    const ALL: [Self; 9] = [
        Self::Total,
        Self::Speed,
        Self::Opponent,
        Self::Opening,
        Self::Ending,
        Self::Hour,
        Self::Rating,
        Self::Time,
        Self::Disconnects,
    ];
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, _) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let format = args.output.format();
    if format == OutputFormat::Csv && args.by.len() != 1 {
        return Err(Failure::setup(
            "CSV holds one section: choose it, such as --by opponent",
        ));
    }
    let stats = reader.stats(&filter)?;
    match format {
        OutputFormat::Json => output::print_pretty_json(&stats),
        OutputFormat::Csv => {
            let grid = grid(&stats, args.by[0]);
            let mut writer = args.output.csv(io::stdout().lock());
            writer.cells(grid.columns.iter().map(|column| column.0))?;
            for row in grid.rows {
                writer.cells(row.iter().map(String::as_str))?;
            }
            Ok(writer.flush()?)
        }
        OutputFormat::Table => {
            let parts = match args.by.as_slice() {
                [] => &Part::ALL[..],
                parts => parts,
            };
            let sections = parts.iter().map(|part| section(&stats, *part, args));
            output::print_text(sections.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// The rows of a section with their columns.
struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Whether the report cuts the rows to those asked for.
    is_cut: bool,
}

impl Grid {
    fn new(columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: rows.collect(),
            is_cut: false,
        }
    }

    /// Results by name, and further columns.
    fn of_results<'s>(
        name: &'static str,
        more: &[Column],
        results: impl Iterator<Item = (String, &'s ResultCounts, Vec<String>)>,
    ) -> Self {
        let numbers = ["games", "won", "drawn", "lost", "points %", "rating"];
        let numbers = numbers.map(|title| (title, Align::Right));
        let columns = [&[(name, Align::Left)], &numbers[..], more].concat();
        let rows = results.map(|(name, tally, more)| {
            let mut row = vec![
                name,
                tally.games.to_string(),
                tally.wins.to_string(),
                tally.draws.to_string(),
                tally.losses.to_string(),
                format!("{:.1}", tally.percent()),
                format!("{:+}", tally.diff),
            ];
            row.extend(more);
            row
        });
        Self::new(&columns, rows)
    }

    /// The same, with the report showing only the rows asked for.
    fn cut(self) -> Self {
        Self {
            is_cut: true,
            ..self
        }
    }

    fn text(self, top: usize) -> String {
        let top = if self.is_cut { top } else { usize::MAX };
        let left_out = self.rows.len().saturating_sub(top);
        let mut table = Table::new(&self.columns);
        self.rows
            .into_iter()
            .take(top)
            .for_each(|row| table.row(row));
        match left_out {
            0 => table.take(),
            more => format!("{}and {more} more\n", table.take()),
        }
    }
}

fn grid(stats: &Stats, part: Part) -> Grid {
    match part {
        Part::Total => totals(stats),
        Part::Opponent => opponents(stats),
        Part::Speed | Part::Ending => {
            let (title, groups) = if part == Part::Speed {
                ("speed", &stats.speeds)
            } else {
                ("ended by", &stats.endings)
            };
            let groups = groups.iter();
            let results = groups.map(|it| (it.name.clone(), &it.tally, Vec::new()));
            Grid::of_results(title, &[], results).cut()
        }
        Part::Opening => {
            let openings = stats.openings.iter();
            let results = openings.map(|it| {
                let us = it.us.as_str().to_owned();
                (in_words(&it.moves), &it.tally, vec![us])
            });
            Grid::of_results("opening", &[("us", Align::Left)], results).cut()
        }
        Part::Hour => {
            let hours = stats.hours.iter().enumerate();
            let played = hours.filter(|(_, tally)| tally.games > 0);
            let results = played.map(|(hour, tally)| (format!("{hour:02}"), tally, Vec::new()));
            Grid::of_results("hour", &[], results)
        }
        Part::Rating => ratings(stats),
        Part::Time => time_losses(stats),
        Part::Disconnects => disconnects(stats),
    }
}

fn section(stats: &Stats, part: Part, args: &Args) -> String {
    let text = match part {
        Part::Total => format!(
            "{} games, {} without a result, {} running\n",
            stats.total.games, stats.void, stats.running
        ),
        Part::Rating => return rating_chart(stats, args.ascii),
        Part::Time => trouble(stats),
        Part::Disconnects if stats.disconnects.is_empty() => {
            return "no disconnects, no rate limits, no late searches\n".to_owned();
        }
        _ => String::new(),
    };
    let grid = grid(stats, part);
    if grid.rows.is_empty() {
        return text;
    }
    text + &grid.text(args.top)
}

fn totals(stats: &Stats) -> Grid {
    let [white, black] = &stats.colors;
    let [rated, casual] = &stats.modes;
    let [humans, bots] = &stats.kinds;
    let results = [
        ("total", &stats.total),
        ("white", white),
        ("black", black),
        ("rated", rated),
        ("casual", casual),
        ("humans", humans),
        ("bots", bots),
    ];
    let results = results.into_iter();
    let results = results.map(|(name, tally)| (name.to_owned(), tally, Vec::new()));
    Grid::of_results("all", &[], results)
}

fn opponents(stats: &Stats) -> Grid {
    let more = [
        ("theirs", Align::Right),
        ("kind", Align::Left),
        ("flagged", Align::Right),
        ("last", Align::Left),
    ];
    let results = stats.opponents.iter().map(|opponent| {
        let name = match opponent.id.as_str() {
            "" => "?",
            id => id,
        };
        let more = vec![
            or_dash(opponent.rating),
            if opponent.bot { "bot" } else { "human" }.to_owned(),
            opponent.flagged.to_string(),
            dates::date(opponent.last),
        ];
        (name.to_owned(), &opponent.tally, more)
    });
    Grid::of_results("opponent", &more, results).cut()
}

/// First moves in SAN with numbers.
fn in_words(moves: &str) -> String {
    let moves = Position::default().san_of_uci(moves);
    if moves.is_empty() {
        return "(no move)".to_owned();
    }
    let number = |(index, pair): (usize, &[String])| format!("{}.{}", index + 1, pair.join(" "));
    let numbered: Vec<String> = moves.chunks(2).enumerate().map(number).collect();
    numbered.join(" ")
}

fn ratings(stats: &Stats) -> Grid {
    let columns = [
        ("day", Align::Left),
        ("rating", Align::Right),
        ("low", Align::Right),
        ("high", Align::Right),
        ("games", Align::Right),
    ];
    let rows = stats.ratings.iter().map(|day| {
        vec![
            dates::date(day.day),
            day.rating.to_string(),
            day.low.to_string(),
            day.high.to_string(),
            day.games.to_string(),
        ]
    });
    Grid::new(&columns, rows)
}

fn rating_chart(stats: &Stats, ascii: bool) -> String {
    let days = &stats.ratings;
    let (Some(first), Some(last)) = (days.first(), days.last()) else {
        return "no rated games\n".to_owned();
    };
    let low = days.iter().map(|day| day.low).min().unwrap_or_default();
    let high = days.iter().map(|day| day.high).max().unwrap_or_default();
    let text = format!(
        "rating: {} on {}, {} on {}; lowest {low}, highest {high}\n",
        first.rating,
        dates::date(first.day),
        last.rating,
        dates::date(last.day)
    );
    if days.len() < 2 {
        return text;
    }
    // Some room below makes the lowest day visible.
    let floor = f64::from(low) - f64::from(high - low).max(10.0) / 10.0;
    let range = f64::from(high) - floor;
    let values = days
        .iter()
        .map(|day| (f64::from(day.rating) - floor) / range);
    let values: Vec<f64> = values.collect();
    let label = |row| match row {
        0 => high.to_string(),
        row if row == HEIGHT - 1 => low.to_string(),
        _ => String::new(),
    };
    text + &Canvas::with_height(HEIGHT, ascii).labelled_area(&values, 0.0, label)
}

fn trouble(stats: &Stats) -> String {
    let trouble = &stats.trouble;
    let percent = trouble.games as f64 * 100.0 / trouble.clocked.max(1) as f64;
    let scored = match trouble.games {
        0 => String::new(),
        _ => format!("those games scored {:.1} %; ", trouble.tally.percent()),
    };
    let mut text = format!(
        "time: hurried moves in {} of {} games with a clock ({percent:.1} %), {} such moves; {} games with \
         less than 2 s left\n      {scored}on time {} games were won and {} lost\n",
        trouble.games,
        trouble.clocked,
        trouble.moves,
        trouble.by_a_thread,
        trouble.won,
        trouble.lost
    );
    let mut causes: Vec<(Cause, usize)> = Vec::new();
    for loss in &stats.time_losses {
        match causes.iter_mut().find(|(cause, _)| *cause == loss.cause) {
            Some((_, count)) => *count += 1,
            None => causes.push((loss.cause, 1)),
        }
    }
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    if !causes.is_empty() {
        let words = causes.iter();
        let words = words.map(|(cause, count)| format!("{} {count}", cause.as_str()));
        let words = words.collect::<Vec<_>>().join(", ");
        let examined = stats.time_losses.len();
        let of = if (examined as u64) < trouble.lost {
            format!(" (the latest {examined})")
        } else {
            String::new()
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "      causes of losses{of}: {words}");
    }
    text
}

fn time_losses(stats: &Stats) -> Grid {
    let columns = [
        "ended", "game", "opponent", "moves", "clock", "cause", "evidence",
    ];
    let rows = stats.time_losses.iter().map(|loss| {
        vec![
            dates::minute(loss.at),
            loss.id.clone(),
            loss.opponent.clone(),
            loss.plies.div_ceil(2).to_string(),
            or_dash(loss.clock.map(dates::tenths)),
            loss.cause.as_str().to_owned(),
            loss.evidence.clone(),
        ]
    });
    Grid::new(&columns.map(|title| (title, Align::Left)), rows).cut()
}

fn disconnects(stats: &Stats) -> Grid {
    let words = |kind: &str| match kind {
        "stream" => "game stream disconnects",
        "offline" => "event stream disconnects",
        "limited" => "calls rate-limited (429)",
        "search" => "searches late or failed",
        _ => "other",
    };
    let rows = stats.disconnects.iter();
    let rows = rows.map(|(kind, count)| vec![words(kind).to_owned(), count.to_string()]);
    let columns = [("event", Align::Left), ("times", Align::Right)];
    Grid::new(&columns, rows)
}

#[cfg(test)]
mod tests {
    use megaton::archive::TimeLoss;

    use super::*;

    #[test]
    fn causes_of_some_games_are_not_shown_as_those_of_all() {
        let loss = TimeLoss {
            id: "abcdefgh".to_owned(),
            at: 5,
            opponent: "Nuke".to_owned(),
            plies: 9,
            clock: None,
            cause: Cause::Stream,
            evidence: String::new(),
        };
        let mut stats = Stats {
            time_losses: vec![loss; 2],
            ..Stats::default()
        };
        stats.trouble.lost = 2;
        let told = trouble(&stats);
        assert!(told.contains("causes of losses: stream lost 2\n"), "{told}");
        stats.trouble.lost = 3;
        let told = trouble(&stats);
        assert!(
            told.contains("causes of losses (the latest 2): stream lost 2\n"),
            "{told}"
        );
    }

    #[test]
    fn an_opening_is_shown_as_people_write_it() {
        assert_eq!(in_words("g1f3 f7f6 e2e4"), "1.Nf3 f6 2.e4");
        assert_eq!(in_words(""), "(no move)");
        assert_eq!(in_words("a1a8"), "(no move)");
    }
}
