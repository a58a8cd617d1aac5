//! `megaton events`: what went wrong, what was told the bot, and how each day went.

use megaton::archive::{ArchiveReader, EventFilter, EventRecord, dates};
use serde::Serialize;

use super::filters::SpanArgs;
use super::game::id_of;
use super::listing::{ListArgs, ListSummary};
use super::place::ArchiveArgs;
use super::table::Align;
use crate::cli::failure::Failure;

const COLUMNS: [(&str, Align); 4] = [
    ("when", Align::Left),
    ("kind", Align::Left),
    ("game", Align::Left),
    ("what", Align::Left),
];

/// List events: disconnects, rate limits, alerts, commands, starts and stops
///
/// Times are UTC; latest first. Kinds are `offline` and `online` (the event stream), `stream` (a game
/// stream), `limited` (rate-limited by the server, 429), `alarm` and `alarm-over`, `operator` (a
/// command and its reply), `engine`, `search` and `game` (an anomaly in one), `porter` (the event loop
/// failed), `archive` (maintenance or the blunder search failed), `summary` (the figures of a day),
/// `start` and `stop` (of the program).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton events
  megaton events --kind limited --since 24h
  megaton events --kind alarm,alarm-over --all
  megaton events --game q7ZxVt2B --oldest
  megaton events --since 7d --all --format json | jq 'group_by(.kind)'")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: EventFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

/// Which events; what is not said does not matter.
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

impl EventFilterArgs {
    fn filter(&self) -> Result<EventFilter, Failure> {
        let span = self.span.span()?;
        Ok(EventFilter {
            kinds: self.kind.clone(),
            game: self.game.as_deref().map(|game| id_of(game).to_owned()),
            since: span.since,
            until: span.until,
        })
    }
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, place) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let mut printer = args.list.printer(&COLUMNS);
    let site = place.site.trim_end_matches('/');
    let (order, most) = (args.list.order(), args.list.most());
    let mut any = false;
    reader.each_event(&filter, order, most, |event| {
        any = true;
        printer.print(&EventLine {
            event: &event,
            site,
        })
    })?;
    if any {
        return printer.finish("");
    }
    printer.finish(&nothing(&reader, &filter)?)
}

/// What is said where no event is meant: anyone who mistook a kind sees which ones there are.
fn nothing(reader: &ArchiveReader, filter: &EventFilter) -> Result<String, Failure> {
    let said = "no such events";
    let known = reader.event_kinds()?;
    if known.is_empty() || filter.kinds.iter().all(|kind| known.contains(kind)) {
        return Ok(said.to_owned());
    }
    Ok(format!("{said}; known kinds: {}", known.join(", ")))
}

/// One of them, and the address of the server.
struct EventLine<'e> {
    event: &'e EventRecord,
    site: &'e str,
}

/// An event in one flat row.
#[derive(Debug, Serialize)]
struct EventRow<'e> {
    at: String,
    kind: &'e str,
    text: &'e str,
    game: Option<&'e str>,
    url: Option<String>,
}

impl ListSummary for EventLine<'_> {
    fn cells(&self) -> Vec<String> {
        let EventRecord {
            at,
            kind,
            text,
            game,
        } = self.event;
        let (date, time) = (dates::date(*at), dates::time_of_day(*at));
        vec![
            format!("{date} {time}"),
            kind.clone(),
            game.clone().unwrap_or_else(|| "-".to_owned()),
            text.clone(),
        ]
    }

    fn row(&self) -> impl Serialize {
        let (event, site) = (self.event, self.site);
        let game = event.game.as_deref();
        EventRow {
            at: dates::stamp(event.at),
            kind: &event.kind,
            text: &event.text,
            game,
            url: game.map(|game| format!("{site}/{game}")),
        }
    }
}
