//! `megaton events`: what went wrong, what the operator commanded, and how each day went.

use megaton::archive::{ArchiveReader, EventFilter, EventRecord, dates};
use serde::Serialize;

use super::filters::SpanArgs;
use super::id_of;
use crate::cli::failure::Failure;
use crate::cli::output::listing::{ListArgs, Row};
use crate::cli::output::or_dash;
use crate::cli::output::table::{Align, Column};
use crate::cli::setup::ArchiveArgs;

const COLUMNS: [Column; 4] = [
    ("when", Align::Left),
    ("kind", Align::Left),
    ("game", Align::Left),
    ("what", Align::Left),
];

/// List events: disconnects, rate limits, alerts, commands, starts and stops
///
/// Times are UTC; latest first. Kinds are `offline` and `online` (the event stream), `stream` (a
/// game stream), `limited` (rate-limited by the server, 429), `alert` and `alert-over`, `operator`
/// (a command and its reply), `engine` (a game task or the self-test failed), `search` and `game`
/// (an anomaly in one), `event-loop` (the event loop failed), `crash` (a panic, with its report),
/// `archive` (maintenance or game review failed), `service` (the page, metrics, self-test or reload
/// failed and restarted), `experience` (a move avoided because it lost an earlier game), `book` (a
/// book that cannot be used), `summary` (the figures of a day), `start` and `stop` (of the
/// program).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton events
  megaton events --kind limited --since 24h
  megaton events --kind alert,alert-over --all
  megaton events --game q7ZxVt2B --oldest
  megaton events --since 7d --all --format json | jq 'group_by(.kind)'")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: EventFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
struct EventFilterArgs {
    /// Of this kind; separate several with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
    /// About this game: id or URL
    #[arg(long, value_name = "ID")]
    game: Option<String>,
    #[command(flatten)]
    span: SpanArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, location) = args.archive.open()?;
    let wanted = &args.wanted;
    let (since, until) = wanted.span.bounds()?;
    let filter = EventFilter {
        kinds: wanted.kind.clone(),
        game: wanted.game.as_deref().map(|game| id_of(game).to_owned()),
        since,
        until,
    };
    let sample = EventRecord::default();
    let mut printer = args.list.printer(&COLUMNS, &EventRow::of(&sample, ""))?;
    reader.each_event(&filter, args.list.order(), args.list.most(), |event| {
        printer.print(&EventRow::of(&event, &location.site))
    })?;
    let nothing = if printer.is_empty() {
        nothing(&reader, &filter)?
    } else {
        String::new()
    };
    printer.finish(&nothing)
}

/// The message for an empty list: it names the known kinds if the filter has an unknown one.
fn nothing(reader: &ArchiveReader, filter: &EventFilter) -> Result<String, Failure> {
    let known = reader.event_kinds()?;
    if known.is_empty() || filter.kinds.iter().all(|kind| known.contains(kind)) {
        return Ok("no such events".to_owned());
    }
    Ok(format!("no such events; known kinds: {}", known.join(", ")))
}

#[derive(Debug, Serialize)]
struct EventRow<'e> {
    #[serde(skip)]
    record: &'e EventRecord,
    at: String,
    kind: &'e str,
    text: &'e str,
    game: Option<&'e str>,
    url: Option<String>,
}

impl<'e> EventRow<'e> {
    fn of(record: &'e EventRecord, site: &str) -> Self {
        let game = record.game.as_deref();
        Self {
            record,
            at: dates::stamp(record.at),
            kind: &record.kind,
            text: &record.text,
            game,
            url: game.map(|game| format!("{site}/{game}")),
        }
    }
}

impl Row for EventRow<'_> {
    fn cells(&self) -> Vec<String> {
        let at = self.record.at;
        vec![
            format!("{} {}", dates::date(at), dates::time_of_day(at)),
            self.kind.to_owned(),
            or_dash(self.game),
            self.text.to_owned(),
        ]
    }
}
