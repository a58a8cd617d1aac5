//! `megaton games`: what was played, as a table, as JSON or as CSV.

use std::io::{self, Write};

use clap::ValueEnum;
use megaton::archive::{GameLine, Order, Outcome, PlayerRecord, calendar, of_outcome};
use megaton::lichess::Side;
use serde::Serialize;

use super::place::ArchiveArgs;
use super::table::{Align, Table};
use super::wanted::WantedArgs;
use crate::cli::failure::Failure;

/// Rows of a table before it is shown: the columns are as wide as these need.
const AT_ONCE: usize = 1000;

/// List the games that were played
///
/// Times are UTC. The list holds the latest games first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton games
  megaton games --opponent Nuke --result loss
  megaton games --lost-on-time --since 7d
  megaton games --speed blitz --color black --opening \"Nf3 f6\" --all
  megaton games --since 2026-11-01 --all --format csv > november.csv")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: WantedArgs,
    /// So many at most
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// The earliest first
    #[arg(long)]
    oldest: bool,
    /// A table for people, a JSON array, or CSV with a line of names
    #[arg(long, value_enum, default_value_t = Form::Table)]
    format: Form,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    Table,
    Json,
    Csv,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (library, place) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let order = if args.oldest {
        Order::Oldest
    } else {
        Order::Newest
    };
    let most = if args.all { usize::MAX } else { args.limit };
    let out = io::stdout().lock();
    let mut printer = Printer::new(args.format, io::BufWriter::new(out));
    let site = place.site.trim_end_matches('/');
    library.each_line(&filter, order, most, |line| {
        printer.print(&line, site)?;
        Ok::<_, Failure>(true)
    })?;
    printer.finish()
}

/// A game in one flat row.
#[derive(Debug, Serialize)]
struct Row<'g> {
    id: &'g str,
    began: String,
    ended: Option<String>,
    result: Option<&'static str>,
    us: Option<Side>,
    opponent: &'g str,
    opponent_title: Option<&'g str>,
    opponent_rating: Option<i32>,
    rating: Option<i32>,
    rating_diff: Option<i32>,
    rated: bool,
    speed: &'static str,
    control: String,
    status: Option<&'static str>,
    winner: Option<Side>,
    plies: u32,
    opening: &'g str,
    white: &'g str,
    black: &'g str,
    origin: String,
    tournament: Option<&'g str>,
    least_clock_ms: Option<u64>,
    hurried_moves: u32,
    lag_ms: Option<u64>,
    url: String,
}

impl<'g> Row<'g> {
    fn of(line: &'g GameLine, site: &str) -> Self {
        let game = &line.game;
        let us = game.us.map(|us| game.player(us));
        let opponent = game.opponent();
        let ending = game.ending.as_ref();
        Self {
            id: &game.id,
            began: calendar::stamp(game.began()),
            ended: ending.map(|ending| calendar::stamp(ending.at)),
            result: line.result.map(of_outcome),
            us: game.us,
            opponent: opponent.map_or("", |player| player.name.as_str()),
            opponent_title: opponent.and_then(|player| player.title.as_deref()),
            opponent_rating: opponent.and_then(|player| player.rating),
            rating: us.and_then(|player| player.rating),
            rating_diff: us.and_then(|player| player.rating_diff),
            rated: game.rated,
            speed: game.speed.as_str(),
            control: game.control.to_string(),
            status: ending.map(|ending| ending.status.as_str()),
            winner: ending.and_then(|ending| ending.winner),
            plies: line.plies,
            opening: &line.opening,
            white: &game.white.name,
            black: &game.black.name,
            origin: format!("{:?}", game.origin).to_lowercase(),
            tournament: game.tournament.as_deref(),
            least_clock_ms: line.least_clock,
            hurried_moves: line.hurried,
            lag_ms: line.lag,
            url: format!("{site}/{}", game.id),
        }
    }
}

/// Writes lines as they come, in one of the forms.
enum Printer<W: Write> {
    Table {
        table: Table,
        waiting: usize,
        widths: Vec<usize>,
        shown: usize,
        out: W,
    },
    Json {
        any: bool,
        out: W,
    },
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Printer<W> {
    fn new(form: Form, out: W) -> Self {
        match form {
            Form::Table => Self::Table {
                table: Table::new(&[
                    ("began", Align::Left),
                    ("game", Align::Left),
                    ("result", Align::Left),
                    ("us", Align::Left),
                    ("opponent", Align::Left),
                    ("rating", Align::Right),
                    ("time", Align::Left),
                    ("mode", Align::Left),
                    ("ended", Align::Left),
                    ("moves", Align::Right),
                    ("ours", Align::Right),
                ]),
                waiting: 0,
                widths: Vec::new(),
                shown: 0,
                out,
            },
            Form::Json => Self::Json { any: false, out },
            Form::Csv => Self::Csv(Box::new(csv::Writer::from_writer(out))),
        }
    }

    fn print(&mut self, line: &GameLine, site: &str) -> Result<(), Failure> {
        match self {
            Self::Table {
                table,
                waiting,
                widths,
                shown,
                out,
            } => {
                table.row(cells(line));
                *waiting += 1;
                if *waiting == AT_ONCE {
                    out.write_all(table.take(widths, *shown == 0).as_bytes())?;
                    (*shown, *waiting) = (*shown + *waiting, 0);
                }
            }
            Self::Json { any, out } => {
                out.write_all(if *any { b",\n" } else { b"[\n" })?;
                *any = true;
                serde_json::to_writer(out, &Row::of(line, site)).map_err(io::Error::from)?;
            }
            Self::Csv(writer) => writer.serialize(Row::of(line, site)).map_err(of_csv)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Table {
                mut table,
                waiting,
                mut widths,
                shown,
                mut out,
            } => {
                if shown + waiting == 0 {
                    out.write_all(b"no such games\n")?;
                } else {
                    out.write_all(table.take(&mut widths, shown == 0).as_bytes())?;
                }
                out.flush()?;
            }
            Self::Json { any, mut out } => {
                out.write_all(if any { b"\n]\n" } else { b"[]\n" })?;
                out.flush()?;
            }
            Self::Csv(mut writer) => writer.flush()?,
        }
        Ok(())
    }
}

/// What CSV says when a reader goes away is what the system said.
pub(super) fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn cells(line: &GameLine) -> Vec<String> {
    let game = &line.game;
    let us = game.us.map(|us| game.player(us));
    vec![
        calendar::minute(game.began()),
        game.id.clone(),
        match (line.result, &game.ending) {
            (Some(Outcome::Win), _) => "won".to_owned(),
            (Some(Outcome::Draw), _) => "drawn".to_owned(),
            (Some(Outcome::Loss), _) => "lost".to_owned(),
            (None, None) => "runs".to_owned(),
            (None, Some(_)) => "-".to_owned(),
        },
        game.us.map_or("-", Side::as_str).to_owned(),
        match game.opponent() {
            Some(opponent) => named(opponent),
            None => format!("{} - {}", named(&game.white), named(&game.black)),
        },
        game.opponent()
            .and_then(|opponent| opponent.rating)
            .map_or_else(|| "-".to_owned(), |rating| rating.to_string()),
        game.control.to_string(),
        if game.rated { "rated" } else { "casual" }.to_owned(),
        game.ending
            .as_ref()
            .map_or("-", |ending| ending.status.as_str())
            .to_owned(),
        line.plies.div_ceil(2).to_string(),
        us.map(rated).unwrap_or_default(),
    ]
}

/// A name with its title before it.
pub(super) fn named(player: &PlayerRecord) -> String {
    let name = if player.name.is_empty() {
        "?"
    } else {
        &player.name
    };
    match &player.title {
        Some(title) => format!("{title} {name}"),
        None => name.to_owned(),
    }
}

/// A rating and what the game did to it.
pub(super) fn rated(player: &PlayerRecord) -> String {
    let sign = if player.provisional { "?" } else { "" };
    match (player.rating, player.rating_diff) {
        (Some(rating), Some(diff)) => format!("{rating}{sign} {diff:+}"),
        (Some(rating), None) => format!("{rating}{sign}"),
        (None, _) => String::new(),
    }
}
