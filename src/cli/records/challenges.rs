//! `megaton challenges`: who asked whom for a game, and what became of it.

use clap::ValueEnum;
use megaton::archive::{ChallengeFilter, ChallengeRecord, ChallengeVerdict, Direction, dates};
use megaton::lichess::Side;
use serde::Serialize;

use super::filters::SpanArgs;
use super::games::named;
use super::listing::{ListArgs, ListSummary};
use super::place::ArchiveArgs;
use super::table::Align;
use crate::cli::failure::Failure;

const COLUMNS: [(&str, Align); 10] = [
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
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: ChallengeFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

/// Which challenges; what is not said does not matter.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
struct ChallengeFilterArgs {
    /// From or to this account
    #[arg(long, value_name = "NAME")]
    opponent: Option<String>,
    /// With this outcome
    #[arg(long, value_enum)]
    verdict: Option<VerdictWord>,
    /// In this direction
    #[arg(long, value_enum)]
    direction: Option<DirectionWord>,
    #[command(flatten)]
    span: SpanArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerdictWord {
    /// Still pending, as far as known
    Waiting,
    /// Accepted; a game followed
    Accepted,
    Declined,
    /// Withdrawn or expired
    Canceled,
    /// Failed at the server
    Failed,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirectionWord {
    /// Received
    In,
    /// Sent
    Out,
}

impl ChallengeFilterArgs {
    fn filter(&self) -> Result<ChallengeFilter, Failure> {
        let span = self.span.span()?;
        Ok(ChallengeFilter {
            opponent: self.opponent.clone(),
            verdict: self.verdict.map(|word| match word {
                VerdictWord::Waiting => ChallengeVerdict::Waiting,
                VerdictWord::Accepted => ChallengeVerdict::Accepted,
                VerdictWord::Declined => ChallengeVerdict::Declined,
                VerdictWord::Canceled => ChallengeVerdict::Canceled,
                VerdictWord::Failed => ChallengeVerdict::Failed,
            }),
            direction: self.direction.map(|word| match word {
                DirectionWord::In => Direction::In,
                DirectionWord::Out => Direction::Out,
            }),
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
    reader.each_challenge(&filter, order, most, |asked| {
        printer.print(&ChallengeLine {
            asked: &asked,
            site,
        })
    })?;
    printer.finish("no such challenges")
}

/// One of them, and the address of the server.
struct ChallengeLine<'c> {
    asked: &'c ChallengeRecord,
    site: &'c str,
}

/// A challenge in one flat row.
#[derive(Debug, Serialize)]
struct ChallengeRow<'c> {
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

impl ListSummary for ChallengeLine<'_> {
    fn cells(&self) -> Vec<String> {
        let asked = self.asked;
        let mode = if asked.rated { "rated" } else { "casual" };
        vec![
            dates::minute(asked.at),
            asked.id.clone(),
            way(asked.direction).to_owned(),
            named(&asked.user),
            asked
                .user
                .rating
                .map_or_else(|| "-".to_owned(), |rating| rating.to_string()),
            asked.control.to_string(),
            match asked.variant.as_str() {
                "atomic" => mode.to_owned(),
                other => format!("{mode} {other}"),
            },
            match (asked.verdict.as_str(), &asked.reason) {
                (verdict, Some(reason)) => format!("{verdict} ({reason})"),
                (verdict, None) => verdict.to_owned(),
            },
            asked.rule.clone().unwrap_or_else(|| "-".to_owned()),
            asked.why.clone().unwrap_or_default(),
        ]
    }

    fn row(&self) -> impl Serialize {
        let asked = self.asked;
        ChallengeRow {
            id: &asked.id,
            at: dates::stamp(asked.at),
            direction: way(asked.direction),
            opponent: &asked.user.name,
            opponent_title: asked.user.title.as_deref(),
            opponent_rating: asked.user.rating,
            rated: asked.rated,
            variant: &asked.variant,
            speed: asked.speed.as_str(),
            control: asked.control.to_string(),
            color: asked.color,
            verdict: asked.verdict.as_str(),
            reason: asked.reason.as_deref(),
            rule: asked.rule.as_deref(),
            why: asked.why.as_deref(),
            settled: asked.settled.map(dates::stamp),
            url: format!("{}/{}", self.site, asked.id),
        }
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
    }
}
