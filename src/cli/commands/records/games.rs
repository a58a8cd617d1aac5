//! `megaton games`: the games as a table, JSON or CSV.

use megaton::archive::{GameLine, Outcome, dates};
use megaton::lichess::Side;
use serde::Serialize;

use super::filters::GameFilterArgs;
use super::{named, rated};
use crate::cli::failure::Failure;
use crate::cli::output::listing::{ListArgs, Row};
use crate::cli::output::or_dash;
use crate::cli::output::table::{Align, Column};
use crate::cli::setup::ArchiveArgs;

const COLUMNS: [Column; 11] = [
    ("started", Align::Left),
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
];

/// List games
///
/// Times are UTC; latest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton games
  megaton games --opponent Nuke --result loss
  megaton games --lost-on-time --since 7d
  megaton games --speed blitz --color black --opening \"Nf3 f6\" --all
  megaton games --since 2026-11-01 --all --format csv > november.csv")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: GameFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, location) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let sample = GameLine::default();
    let mut printer = args.list.printer(&COLUMNS, &GameRow::of(&sample, ""))?;
    reader.each_line(&filter, args.list.order(), args.list.most(), |line| {
        printer.print(&GameRow::of(&line, &location.site))
    })?;
    printer.finish("no such games")
}

#[derive(Debug, Serialize)]
struct GameRow<'g> {
    #[serde(skip)]
    source: &'g GameLine,
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

impl<'g> GameRow<'g> {
    fn of(source: &'g GameLine, site: &str) -> Self {
        let game = &source.game;
        let us = game.us.map(|us| game.player(us));
        let opponent = game.opponent();
        let ending = game.ending.as_ref();
        Self {
            source,
            id: &game.id,
            began: dates::stamp(game.began()),
            ended: ending.map(|ending| dates::stamp(ending.at)),
            result: source.result.map(Outcome::as_str),
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
            plies: source.plies,
            opening: &source.opening,
            white: &game.white.name,
            black: &game.black.name,
            origin: format!("{:?}", game.origin).to_lowercase(),
            tournament: game.tournament.as_deref(),
            least_clock_ms: source.least_clock,
            hurried_moves: source.hurried,
            lag_ms: source.lag,
            url: format!("{site}/{}", game.id),
        }
    }
}

impl Row for GameRow<'_> {
    fn cells(&self) -> Vec<String> {
        let game = &self.source.game;
        let opponent = game.opponent().map_or_else(
            || format!("{} - {}", named(&game.white), named(&game.black)),
            named,
        );
        let result = match (self.source.result, &game.ending) {
            (Some(Outcome::Win), _) => "won",
            (Some(Outcome::Draw), _) => "drawn",
            (Some(Outcome::Loss), _) => "lost",
            (None, None) => "running",
            (None, Some(_)) => "-",
        };
        vec![
            dates::minute(game.began()),
            game.id.clone(),
            result.to_owned(),
            or_dash(self.us.map(Side::as_str)),
            opponent,
            or_dash(self.opponent_rating),
            self.control.clone(),
            if self.rated { "rated" } else { "casual" }.to_owned(),
            or_dash(self.status),
            self.plies.div_ceil(2).to_string(),
            game.us.map(|us| rated(game.player(us))).unwrap_or_default(),
        ]
    }
}
