//! `megaton challenges`: the challenges sent and received, and their outcome.

use megaton::archive::{ChallengeFilter, ChallengeRecord, ChallengeVerdict, Direction, dates};
use megaton::lichess::Side;
use serde::Serialize;

use super::filters::SpanArgs;
use super::named;
use crate::cli::failure::Failure;
use crate::cli::output::listing::{ListArgs, Row};
use crate::cli::output::or_dash;
use crate::cli::output::table::{Align, Column};
use crate::cli::setup::{ArchiveArgs, Choice, one_of};

const COLUMNS: [Column; 10] = [
    ("created", Align::Left),
    ("challenge", Align::Left),
    ("direction", Align::Left),
    ("opponent", Align::Left),
    ("rating", Align::Right),
    ("time", Align::Left),
    ("mode", Align::Left),
    ("verdict", Align::Left),
    ("rule", Align::Left),
    ("why", Align::Left),
];

const VERDICTS: &[Choice<ChallengeVerdict>] = &[
    (
        "waiting",
        "Still pending, as far as known",
        ChallengeVerdict::Waiting,
    ),
    (
        "accepted",
        "Accepted; a game followed",
        ChallengeVerdict::Accepted,
    ),
    ("declined", "", ChallengeVerdict::Declined),
    (
        "canceled",
        "Withdrawn or expired",
        ChallengeVerdict::Canceled,
    ),
    ("failed", "Failed at the server", ChallengeVerdict::Failed),
];
const DIRECTIONS: &[Choice<Direction>] = &[
    ("in", "Received", Direction::In),
    ("out", "Sent", Direction::Out),
];

/// List challenges, sent and received, and their outcome
///
/// Times are UTC; latest first. `verdict` shows the outcome with the reason given, by us or by the
/// opponent; `rule` is our rule that decided, and `why` its finding. `megaton explain-challenge`
/// judges a challenge before it arrives.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton challenges
  megaton challenges --verdict declined --since 7d
  megaton challenges --opponent Nuke --all
  megaton challenges --direction out --verdict failed
  megaton challenges --since 2026-11-01 --all --format csv > november.csv")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: ChallengeFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
struct ChallengeFilterArgs {
    /// From or to this account
    #[arg(long, value_name = "NAME")]
    opponent: Option<String>,
    /// With this outcome
    #[arg(long, value_parser = one_of(VERDICTS))]
    verdict: Option<ChallengeVerdict>,
    /// In this direction
    #[arg(long, value_parser = one_of(DIRECTIONS))]
    direction: Option<Direction>,
    #[command(flatten)]
    span: SpanArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, location) = args.archive.open()?;
    let wanted = &args.wanted;
    let (since, until) = wanted.span.bounds()?;
    let filter = ChallengeFilter {
        opponent: wanted.opponent.clone(),
        verdict: wanted.verdict,
        direction: wanted.direction,
        since,
        until,
    };
    let sample = ChallengeRecord::default();
    let mut printer = args
        .list
        .printer(&COLUMNS, &ChallengeRow::of(&sample, ""))?;
    reader.each_challenge(&filter, args.list.order(), args.list.most(), |record| {
        printer.print(&ChallengeRow::of(&record, &location.site))
    })?;
    printer.finish("no such challenges")
}

#[derive(Debug, Serialize)]
struct ChallengeRow<'c> {
    #[serde(skip)]
    record: &'c ChallengeRecord,
    id: &'c str,
    at: String,
    direction: &'static str,
    opponent: &'c str,
    opponent_title: Option<&'c str>,
    opponent_rating: Option<i32>,
    rated: bool,
    variant: &'c str,
    speed: &'static str,
    control: String,
    color: Option<Side>,
    verdict: &'static str,
    reason: Option<&'c str>,
    rule: Option<&'c str>,
    why: Option<&'c str>,
    settled: Option<String>,
    url: String,
}

impl<'c> ChallengeRow<'c> {
    fn of(record: &'c ChallengeRecord, site: &str) -> Self {
        Self {
            record,
            id: &record.id,
            at: dates::stamp(record.at),
            direction: match record.direction {
                Direction::In => "in",
                Direction::Out => "out",
            },
            opponent: &record.user.name,
            opponent_title: record.user.title.as_deref(),
            opponent_rating: record.user.rating,
            rated: record.rated,
            variant: &record.variant,
            speed: record.speed.as_str(),
            control: record.control.to_string(),
            color: record.color,
            verdict: record.verdict.as_str(),
            reason: record.reason.as_deref(),
            rule: record.rule.as_deref(),
            why: record.why.as_deref(),
            settled: record.settled.map(dates::stamp),
            url: format!("{site}/{}", record.id),
        }
    }
}

impl Row for ChallengeRow<'_> {
    fn cells(&self) -> Vec<String> {
        let mode = if self.rated { "rated" } else { "casual" };
        vec![
            dates::minute(self.record.at),
            self.id.to_owned(),
            self.direction.to_owned(),
            named(&self.record.user),
            or_dash(self.opponent_rating),
            self.control.clone(),
            match self.variant {
                "atomic" => mode.to_owned(),
                other => format!("{mode} {other}"),
            },
            match self.reason {
                Some(reason) => format!("{} ({reason})", self.verdict),
                None => self.verdict.to_owned(),
            },
            or_dash(self.rule),
            self.why.unwrap_or_default().to_owned(),
        ]
    }
}
