//! The options of several commands that say which games they are about.

use megaton::archive::{Filter, Millis, OPENING_PLIES, Outcome, ResultFilter, dates};
use megaton::lichess::{Side, Speed, Status};
use megaton::rules::Game;

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::setup::{Choice, one_of};

const RESULTS: &[Choice<ResultFilter>] = &[
    ("win", "", ResultFilter::Result(Outcome::Win)),
    ("draw", "", ResultFilter::Result(Outcome::Draw)),
    ("loss", "", ResultFilter::Result(Outcome::Loss)),
    (
        "void",
        "Aborted, never started, or end unknown",
        ResultFilter::Void,
    ),
    (
        "running",
        "In progress, as far as known",
        ResultFilter::Running,
    ),
];
const COLORS: &[Choice<Side>] = &[("white", "", Side::White), ("black", "", Side::Black)];

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct GameFilterArgs {
    /// Against this account
    #[arg(long, value_name = "NAME")]
    opponent: Option<String>,
    /// Our result
    #[arg(long, value_parser = one_of(RESULTS))]
    result: Option<ResultFilter>,
    /// Lost on time or by leaving
    #[arg(long, conflicts_with_all = ["result", "ended"])]
    lost_on_time: bool,
    /// With this ending: mate, variantEnd, resign, outoftime, draw, stalemate, aborted, ...
    #[arg(long, value_name = "WAY", value_parser = parse_status)]
    ended: Vec<Status>,
    /// Of this speed: ultraBullet, bullet, blitz, rapid, classical or correspondence
    #[arg(long, value_parser = parse_speed)]
    speed: Option<Speed>,
    /// Our colour
    #[arg(long, visible_alias = "colour", value_parser = one_of(COLORS))]
    color: Option<Side>,
    /// Rated only
    #[arg(long, conflicts_with = "casual")]
    rated: bool,
    /// Casual only
    #[arg(long)]
    casual: bool,
    /// Against bots only
    #[arg(long, conflicts_with = "humans")]
    bots: bool,
    /// Against humans only
    #[arg(long)]
    humans: bool,
    #[command(flatten)]
    span: SpanArgs,
    /// Starting with these moves, as "Nf3 f6" or "g1f3 f7f6"; six half-moves at most
    #[arg(long, value_name = "MOVES")]
    opening: Option<String>,
    /// Of this arena
    #[arg(long, value_name = "ID")]
    tournament: Option<String>,
    /// Played by the bot itself, not imported
    #[arg(long)]
    played: bool,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct SpanArgs {
    /// From this time on: 2026-11-21, "2026-11-21 13:05" (UTC), or 90m, 12h, 7d, 3w ago
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

impl SpanArgs {
    /// The first moment, and the one after the last.
    pub(crate) fn bounds(&self) -> Result<(Option<Millis>, Option<Millis>), Failure> {
        let bound = |option, text: &Option<String>| {
            let text = text.as_ref();
            text.map(|text| moment(option, text)).transpose()
        };
        let since = bound("--since", &self.since)?;
        let until = bound("--until", &self.until)?;
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(Failure::setup("--since must be before --until"));
        }
        Ok((since, until))
    }
}

impl GameFilterArgs {
    pub(crate) fn filter(&self) -> Result<Filter, Failure> {
        let switch = |yes: bool, no: bool| (yes || no).then_some(yes);
        let (result, status) = if self.lost_on_time {
            let lost = ResultFilter::Result(Outcome::Loss);
            (Some(lost), Status::TIME_FORFEITS.to_vec())
        } else {
            (self.result, self.ended.clone())
        };
        let (since, until) = self.span.bounds()?;
        Ok(Filter {
            opponent: self.opponent.clone(),
            result,
            status,
            speed: self.speed,
            us: self.color,
            rated: switch(self.rated, self.casual),
            bots: switch(self.bots, self.humans),
            since,
            until,
            opening: self.opening.as_deref().map(opening).transpose()?,
            tournament: self.tournament.clone(),
            played: self.played,
        })
    }
}

/// The moment that an option names.
pub(crate) fn moment(option: &str, text: &str) -> Result<Millis, Failure> {
    dates::moment(text, dates::now()).ok_or_else(|| {
        Failure::setup(format!(
            "{option} {text:?}: use a date (2026-11-21), a minute (\"2026-11-21 13:05\"), or how \
             long ago (90m, 12h, 7d, 3w)"
        ))
    })
}

/// First moves in UCI, parsed from UCI or SAN, with or without move numbers.
fn opening(text: &str) -> Result<String, Failure> {
    let mut game = Game::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !word.is_empty() && game.push_uci(word).is_err() {
            game.push(game.position().parse_san(word).or_setup("--opening")?);
        }
    }
    match game.ply() {
        0 => return Err(Failure::setup("--opening: no moves given")),
        plies if plies > OPENING_PLIES => {
            return Err(Failure::setup(format!(
                "--opening: at most {OPENING_PLIES} half-moves"
            )));
        }
        _ => {}
    }
    let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
    Ok(moves.join(" "))
}

fn parse_status(word: &str) -> Result<Status, String> {
    let over = Status::ALL.iter().filter(|status| status.is_over());
    let words: Vec<&str> = over.map(|status| status.as_str()).collect();
    match Status::from_word(word) {
        Status::Unknown | Status::Created | Status::Started => Err(use_one_of(&words)),
        status => Ok(status),
    }
}

fn parse_speed(word: &str) -> Result<Speed, String> {
    let words: Vec<&str> = Speed::ALL.iter().map(|speed| speed.as_str()).collect();
    match Speed::from_word(word) {
        Speed::Unknown => Err(use_one_of(&words)),
        speed => Ok(speed),
    }
}

fn use_one_of(words: &[&str]) -> String {
    format!("use one of {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_named_in_either_notation() {
        for text in ["Nf3 f6", "1. Nf3 f6", "1.Nf3 f6", "g1f3 f7f6"] {
            assert_eq!(opening(text).unwrap(), "g1f3 f7f6", "{text}");
        }
        for text in ["", "1.", "Nf9", "e5", "e4 e5 d4 d5 a3 a6 h3"] {
            assert!(opening(text).is_err(), "{text}");
        }
    }
}
