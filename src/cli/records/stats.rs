//! `megaton stats`: what the games add up to.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;
use megaton::archive::{Cause, Group, Opponent, ResultCounts, Stats, dates};
use megaton::rules::Position;

use super::chart::{Canvas, shorn};
use super::filters::GameFilterArgs;
use super::game::width;
use super::listing::{OutputFormat, of_csv};
use super::place::ArchiveArgs;
use super::table::{Align, Table};
use crate::cli::failure::Failure;

/// Signs down of the graph of ratings.
const HEIGHT: usize = 8;
/// Signs before it.
const MARGIN: usize = 8;

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
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: GameFilterArgs,
    /// Only these sections
    #[arg(long, value_enum, value_delimiter = ',')]
    by: Vec<Part>,
    /// Rows per section
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    /// Output format: tables, JSON, or CSV (of one section)
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Same as --format json
    #[arg(long, conflicts_with_all = ["format", "csv"])]
    json: bool,
    /// Same as --format csv
    #[arg(long, conflicts_with = "format")]
    csv: bool,
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

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, _) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let form = OutputFormat::of(args.format, args.json, args.csv);
    if form == OutputFormat::Csv && args.by.len() != 1 {
        return Err(Failure::setup(
            "CSV holds one section: choose it, such as --by opponent",
        ));
    }
    let stats = reader.stats(&filter)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    match form {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &stats).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => {
            let grid = grid(&stats, args.by[0], usize::MAX);
            let mut writer = csv::Writer::from_writer(&mut out);
            let titles = grid.columns.iter().map(|column| column.0);
            writer.write_record(titles).map_err(of_csv)?;
            for row in grid.rows {
                writer.write_record(row).map_err(of_csv)?;
            }
            writer.flush()?;
        }
        OutputFormat::Table => {
            let parts = if args.by.is_empty() {
                &Part::ALL[..]
            } else {
                &args.by[..]
            };
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                out.write_all(section(&stats, *part, args).as_bytes())?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Rows with their titles.
struct Grid {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
    /// Rows that did not fit.
    more: usize,
}

impl Grid {
    /// A tally behind a name, and what else there is.
    fn of_tallies(name: &'static str, more: &[(&'static str, Align)]) -> Self {
        let mut columns = vec![(name, Align::Left)];
        columns.extend(
            ["games", "won", "drawn", "lost", "points %", "rating"]
                .map(|title| (title, Align::Right)),
        );
        columns.extend(more);
        Self {
            columns,
            rows: Vec::new(),
            more: 0,
        }
    }

    fn add(&mut self, name: &str, tally: &ResultCounts, more: Vec<String>) {
        let mut row = vec![
            name.to_owned(),
            tally.games.to_string(),
            tally.wins.to_string(),
            tally.draws.to_string(),
            tally.losses.to_string(),
            format!("{:.1}", tally.percent()),
            format!("{:+}", tally.diff),
        ];
        row.extend(more);
        self.rows.push(row);
    }

    fn text(self) -> String {
        let mut table = Table::new(&self.columns);
        for row in self.rows {
            table.row(row);
        }
        let mut text = table.finish();
        if self.more > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "and {} more", self.more);
        }
        text
    }
}

fn grid(stats: &Stats, part: Part, top: usize) -> Grid {
    match part {
        Part::Total => totals(stats),
        Part::Opponent => opponents(&stats.opponents, top),
        Part::Speed => groups("speed", &stats.speeds, top),
        Part::Ending => groups("ended by", &stats.endings, top),
        Part::Opening => openings(stats, top),
        Part::Hour => hours(stats),
        Part::Rating => ratings(stats),
        Part::Time => losses(stats, top),
        Part::Disconnects => disconnects(stats),
    }
}

fn section(stats: &Stats, part: Part, args: &Args) -> String {
    let mut text = String::new();
    match part {
        Part::Total => {
            let _ = writeln!(
                text,
                "{} games, {} without a result, {} running",
                stats.total.games, stats.void, stats.running
            );
        }
        Part::Rating => return rating_chart(stats, args.ascii),
        Part::Time => text.push_str(&trouble(stats)),
        Part::Disconnects if stats.disconnects.is_empty() => {
            return "no disconnects, no rate limits, no late searches\n".to_owned();
        }
        _ => {}
    }
    let grid = grid(stats, part, args.top);
    if grid.rows.is_empty() {
        return text;
    }
    text.push_str(&grid.text());
    text
}

fn totals(stats: &Stats) -> Grid {
    let mut grid = Grid::of_tallies("all", &[]);
    let [white, black] = &stats.colors;
    let [rated, casual] = &stats.modes;
    let [humans, bots] = &stats.kinds;
    for (name, tally) in [
        ("total", &stats.total),
        ("white", white),
        ("black", black),
        ("rated", rated),
        ("casual", casual),
        ("humans", humans),
        ("bots", bots),
    ] {
        grid.add(name, tally, Vec::new());
    }
    grid
}

fn groups(title: &'static str, groups: &[Group], top: usize) -> Grid {
    let mut grid = Grid::of_tallies(title, &[]);
    for group in groups.iter().take(top) {
        grid.add(&group.name, &group.tally, Vec::new());
    }
    grid.more = groups.len().saturating_sub(top);
    grid
}

fn opponents(opponents: &[Opponent], top: usize) -> Grid {
    let more = [
        ("theirs", Align::Right),
        ("kind", Align::Left),
        ("flagged", Align::Right),
        ("last", Align::Left),
    ];
    let mut grid = Grid::of_tallies("opponent", &more);
    for opponent in opponents.iter().take(top) {
        let name = if opponent.id.is_empty() {
            "?"
        } else {
            &opponent.id
        };
        let more = vec![
            opponent
                .rating
                .map_or_else(|| "-".to_owned(), |rating| rating.to_string()),
            if opponent.bot { "bot" } else { "human" }.to_owned(),
            opponent.flagged.to_string(),
            dates::date(opponent.last),
        ];
        grid.add(name, &opponent.tally, more);
    }
    grid.more = opponents.len().saturating_sub(top);
    grid
}

fn openings(stats: &Stats, top: usize) -> Grid {
    let mut grid = Grid::of_tallies("opening", &[("us", Align::Left)]);
    for opening in stats.openings.iter().take(top) {
        let name = in_words(&opening.moves);
        grid.add(&name, &opening.tally, vec![opening.us.as_str().to_owned()]);
    }
    grid.more = stats.openings.len().saturating_sub(top);
    grid
}

/// First moves as people write them.
fn in_words(moves: &str) -> String {
    let moves = Position::default().san_of_uci(moves);
    if moves.is_empty() {
        return "(no move)".to_owned();
    }
    let number = |(index, pair): (usize, &[String])| format!("{}.{}", index + 1, pair.join(" "));
    let numbered: Vec<String> = moves.chunks(2).enumerate().map(number).collect();
    numbered.join(" ")
}

fn hours(stats: &Stats) -> Grid {
    let mut grid = Grid::of_tallies("hour", &[]);
    let played = stats
        .hours
        .iter()
        .enumerate()
        .filter(|(_, tally)| tally.games > 0);
    for (hour, tally) in played {
        grid.add(&format!("{hour:02}"), tally, Vec::new());
    }
    grid
}

fn ratings(stats: &Stats) -> Grid {
    let titles = ["rating", "low", "high", "games"].map(|title| (title, Align::Right));
    let mut columns = vec![("day", Align::Left)];
    columns.extend(titles);
    let rows = stats.ratings.iter().map(|day| {
        vec![
            dates::date(day.day),
            day.rating.to_string(),
            day.low.to_string(),
            day.high.to_string(),
            day.games.to_string(),
        ]
    });
    Grid {
        columns,
        rows: rows.collect(),
        more: 0,
    }
}

fn rating_chart(stats: &Stats, ascii: bool) -> String {
    let days = &stats.ratings;
    let (Some(first), Some(last)) = (days.first(), days.last()) else {
        return "no rated games\n".to_owned();
    };
    let low = days.iter().map(|day| day.low).min().unwrap_or_default();
    let high = days.iter().map(|day| day.high).max().unwrap_or_default();
    let mut text = format!(
        "rating: {} on {}, {} on {}; lowest {low}, highest {high}\n",
        first.rating,
        dates::date(first.day),
        last.rating,
        dates::date(last.day)
    );
    if days.len() < 2 {
        return text;
    }
    // A little room below, so that the lowest day is seen too.
    let floor = f64::from(low) - f64::from(high - low).max(10.0) / 10.0;
    let reach = f64::from(high) - floor;
    let values: Vec<f64> = days
        .iter()
        .map(|day| (f64::from(day.rating) - floor) / reach)
        .collect();
    let canvas = Canvas {
        width: width().saturating_sub(MARGIN + 1).max(10),
        height: HEIGHT,
        ascii,
    };
    for (row, line) in canvas.area(&values, 0.0).iter().enumerate() {
        let label = match row {
            0 => high.to_string(),
            row if row == HEIGHT - 1 => low.to_string(),
            _ => String::new(),
        };
        let _ = writeln!(text, "{label:>7} {}", shorn(line));
    }
    text
}

fn trouble(stats: &Stats) -> String {
    let trouble = &stats.trouble;
    let share = |part: u64| part as f64 * 100.0 / (trouble.clocked.max(1)) as f64;
    let mut text = format!(
        "time: hurried moves in {} of {} games with a clock ({:.1} %), {} such moves; {} games with \
         less than 2 s left\n",
        trouble.games,
        trouble.clocked,
        share(trouble.games),
        trouble.moves,
        trouble.by_a_thread
    );
    let _ = writeln!(
        text,
        "      those games scored {:.1} %; on time {} games were won and {} lost",
        trouble.tally.percent(),
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
        let words = causes
            .iter()
            .map(|(cause, count)| format!("{} {count}", cause.as_str()));
        let words: Vec<String> = words.collect();
        let looked_into = stats.time_losses.len();
        let of = if (looked_into as u64) < trouble.lost {
            format!(" (the latest {looked_into})")
        } else {
            String::new()
        };
        let _ = writeln!(text, "      causes of losses{of}: {}", words.join(", "));
    }
    text
}

fn losses(stats: &Stats, top: usize) -> Grid {
    let columns = [
        "ended", "game", "opponent", "moves", "clock", "cause", "evidence",
    ];
    let rows = stats.time_losses.iter().take(top).map(|loss| {
        let clock = loss
            .clock
            .map(|clock| format!("{}.{}", clock / 1000, clock % 1000 / 100));
        vec![
            dates::minute(loss.at),
            loss.id.clone(),
            loss.opponent.clone(),
            loss.plies.div_ceil(2).to_string(),
            clock.unwrap_or_else(|| "-".to_owned()),
            loss.cause.as_str().to_owned(),
            loss.evidence.clone(),
        ]
    });
    Grid {
        columns: columns.map(|title| (title, Align::Left)).into(),
        rows: rows.collect(),
        more: stats.time_losses.len().saturating_sub(top),
    }
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
    Grid {
        columns: vec![("event", Align::Left), ("times", Align::Right)],
        rows: rows.collect(),
        more: 0,
    }
}

#[cfg(test)]
mod tests {
    use megaton::archive::TimeLoss;

    use super::*;

    #[test]
    fn causes_of_some_games_are_not_told_as_those_of_all() {
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
