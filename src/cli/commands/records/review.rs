//! `megaton review`: analyses one game at once.

use std::fmt::Write as _;
use std::time::Duration;

use megaton::archive::{Database, Outcome, ReviewRecord, dates};
use megaton::bot::{AnalysisRules, review_game};

use super::game::find;
use crate::cli::commands::run;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::{self, progress};
use crate::cli::runtime;
use crate::cli::setup::ArchiveArgs;

/// Analyse a game that was not won: which move cost it, and what was better
///
/// Searches the bot's positions from the last one back, with the engine that the config names, at
/// the low priority of a bot's searches, and stores the result. A running bot learns from it within a
/// minute; by itself it reviews such games while it is idle ([archive] review).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton review q7ZxVt2B
  megaton review q7ZxVt2B --time 5000
  megaton review q7 --json | jq .mistake")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Game id or its beginning, or the game's URL
    #[arg(value_name = "ID")]
    id: String,
    /// Search time for each position [default: as in the config]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    time: Option<u64>,
    /// Print the review as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, location) = args.archive.open()?;
    let game = find(&reader, &args.id)?;
    let refused = |reason: &str| Err(Failure::setup(format!("game {}: {reason}", game.id)));
    match game.our_outcome() {
        None => return refused("not finished, or not a game of ours"),
        Some(Outcome::Win) => return refused("the bot won it: no move cost it"),
        _ if game.initial_fen.is_some() => return refused("it begins with an unusual position"),
        Some(_) => {}
    }
    let config = args.archive.config()?;
    let pool = run::pool(&config)?;
    let rules = AnalysisRules {
        time: args
            .time
            .map_or(config.archive.review_time, Duration::from_millis),
        ..AnalysisRules::default()
    };
    let bar = progress::bar(None, "{spinner} searching  {elapsed}");
    let mut review = runtime::block_on(async { Ok(review_game(&game, &pool, &rules).await) })?;
    bar.finish_and_clear();
    review.at = dates::now();
    let mut database = Database::open(&location.path, dates::now())?;
    database
        .keep_review(&review)
        .or_failed("cannot store the review")?;
    if args.json {
        return output::print_pretty_json(&review);
    }
    output::print_text(text(&review))
}

fn text(review: &ReviewRecord) -> String {
    let mut text = review.describe() + "\n";
    if let Some(mistake) = &review.mistake {
        let _ = writeln!(text, "better   {}", mistake.line.join(" "));
        let _ = writeln!(text, "refuted  {}", mistake.refutation.join(" "));
    }
    text
}
