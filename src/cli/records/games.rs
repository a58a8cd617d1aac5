//! `megaton games`: what was played, as a table, as JSON or as CSV.

use megaton::archive::{GameLine, Outcome, PlayerRecord, dates};
use megaton::lichess::Side;
use serde::Serialize;

use super::filters::GameFilterArgs;
use super::listing::{ListArgs, ListSummary};
use super::place::ArchiveArgs;
use super::table::Align;
use crate::cli::failure::Failure;

const COLUMNS: [(&str, Align); 11] = [
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
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    #[command(flatten)]
    wanted: GameFilterArgs,
    #[command(flatten)]
    list: ListArgs,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, place) = args.archive.open()?;
    let filter = args.wanted.filter()?;
    let mut printer = args.list.printer(&COLUMNS);
    let site = place.site.trim_end_matches('/');
    let (order, most) = (args.list.order(), args.list.most());
    reader.each_line(&filter, order, most, |line| {
        printer.print(&GameLineJson { line: &line, site })
    })?;
    printer.finish("no such games")
}

/// One of them, and the address of the server.
struct GameLineJson<'g> {
    line: &'g GameLine,
    site: &'g str,
}

impl ListSummary for GameLineJson<'_> {
    fn cells(&self) -> Vec<String> {
        cells(self.line)
    }

    fn row(&self) -> impl Serialize {
        GameRow::of(self.line, self.site)
    }
}

/// A game in one flat row.
#[derive(Debug, Serialize)]
struct GameRow<'g> {
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
    fn of(line: &'g GameLine, site: &str) -> Self {
        let game = &line.game;
        let us = game.us.map(|us| game.player(us));
        let opponent = game.opponent();
        let ending = game.ending.as_ref();
        Self {
            id: &game.id,
            began: dates::stamp(game.began()),
            ended: ending.map(|ending| dates::stamp(ending.at)),
            result: line.result.map(Outcome::as_str),
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

fn cells(line: &GameLine) -> Vec<String> {
    let game = &line.game;
    let us = game.us.map(|us| game.player(us));
    vec![
        dates::minute(game.began()),
        game.id.clone(),
        match (line.result, &game.ending) {
            (Some(Outcome::Win), _) => "won".to_owned(),
            (Some(Outcome::Draw), _) => "drawn".to_owned(),
            (Some(Outcome::Loss), _) => "lost".to_owned(),
            (None, None) => "running".to_owned(),
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
