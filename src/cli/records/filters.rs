//! Which games are meant: the options that several commands share.

use clap::ValueEnum;
use megaton::archive::{Filter, Millis, OPENING_PLIES, Outcome, ResultFilter, dates};
use megaton::lichess::{Side, Speed, Status};
use megaton::rules::Game;

use crate::cli::failure::Failure;

/// Which games; what is not said does not matter.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct GameFilterArgs {
    /// Against this account
    #[arg(long, value_name = "NAME")]
    opponent: Option<String>,
    /// With this result for us
    #[arg(long, value_enum)]
    result: Option<ResultWord>,
    /// Lost on time or by leaving
    #[arg(long, conflicts_with_all = ["result", "ended"])]
    lost_on_time: bool,
    /// With this ending: mate, variantEnd, resign, outoftime, draw, stalemate, aborted, ...
    #[arg(long, value_name = "WAY", value_parser = parse_status)]
    ended: Vec<Status>,
    /// Of this speed: bullet, blitz, rapid, classical or correspondence
    #[arg(long, value_parser = parse_speed)]
    speed: Option<Speed>,
    /// In which we had this colour
    #[arg(long, visible_alias = "colour", value_enum)]
    color: Option<ColorWord>,
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

/// From when to when.
#[derive(Debug, Default, clap::Args)]
pub(super) struct SpanArgs {
    /// From this time on: 2026-11-21, "2026-11-21 13:05" (UTC), or 90m, 12h, 7d, 3w ago
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

/// The same as moments; none is no bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) since: Option<Millis>,
    pub(super) until: Option<Millis>,
}

impl SpanArgs {
    pub(super) fn span(&self) -> Result<Span, Failure> {
        let since = when("--since", self.since.as_ref())?;
        let until = when("--until", self.until.as_ref())?;
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(Failure::setup("--since must be before --until"));
        }
        Ok(Span { since, until })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ResultWord {
    Win,
    Draw,
    Loss,
    /// Aborted, never started, or end unknown
    Void,
    /// In progress, as far as known
    Running,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColorWord {
    White,
    Black,
}

impl GameFilterArgs {
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        let switch = |yes: bool, no: bool| (yes || no).then_some(yes);
        let (result, status) = if self.lost_on_time {
            let lost = ResultFilter::Result(Outcome::Loss);
            (Some(lost), Status::TIME_FORFEITS.to_vec())
        } else {
            (self.result.map(wanted), self.ended.clone())
        };
        let span = self.span.span()?;
        Ok(Filter {
            opponent: self.opponent.clone(),
            result,
            status,
            speed: self.speed,
            us: self.color.map(|color| match color {
                ColorWord::White => Side::White,
                ColorWord::Black => Side::Black,
            }),
            rated: switch(self.rated, self.casual),
            bots: switch(self.bots, self.humans),
            since: span.since,
            until: span.until,
            opening: self.opening.as_deref().map(opening).transpose()?,
            tournament: self.tournament.clone(),
            played: self.played,
        })
    }
}

fn wanted(word: ResultWord) -> ResultFilter {
    match word {
        ResultWord::Win => ResultFilter::Result(Outcome::Win),
        ResultWord::Draw => ResultFilter::Result(Outcome::Draw),
        ResultWord::Loss => ResultFilter::Result(Outcome::Loss),
        ResultWord::Void => ResultFilter::Void,
        ResultWord::Running => ResultFilter::Running,
    }
}

/// The moment that an option names.
pub(super) fn when(option: &str, text: Option<&String>) -> Result<Option<Millis>, Failure> {
    let Some(text) = text else {
        return Ok(None);
    };
    let moment = dates::moment(text, dates::now());
    moment.map(Some).ok_or_else(|| {
        Failure::setup(format!(
            "{option} {text:?}: use a date (2026-11-21), a minute (\"2026-11-21 13:05\"), or how \
             long ago (90m, 12h, 7d, 3w)"
        ))
    })
}

/// First moves in UCI, from either notation, with or without numbers.
fn opening(text: &str) -> Result<String, Failure> {
    let wrong = |what: String| Failure::setup(format!("--opening: {what}"));
    let mut game = Game::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if word.is_empty() {
            continue;
        }
        if game.push_uci(word).is_err() {
            let mv = game.position().parse_san(word);
            let mv = mv.map_err(|error| wrong(error.to_string()))?;
            game.push(mv);
        }
    }
    match game.ply() {
        0 => return Err(wrong("no moves given".to_owned())),
        plies if plies > OPENING_PLIES => {
            return Err(wrong(format!("at most {OPENING_PLIES} half-moves")));
        }
        _ => {}
    }
    let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
    Ok(moves.join(" "))
}

fn parse_status(word: &str) -> Result<Status, String> {
    match Status::from_word(word) {
        Status::Unknown | Status::Created | Status::Started => {
            let words: Vec<&str> = Status::ALL
                .iter()
                .filter(|status| status.is_over())
                .map(|status| status.as_str())
                .collect();
            Err(format!("use one of {}", words.join(", ")))
        }
        status => Ok(status),
    }
}

fn parse_speed(word: &str) -> Result<Speed, String> {
    match Speed::from_word(word) {
        Speed::Unknown => {
            let words: Vec<&str> = Speed::ALL.iter().map(|speed| speed.as_str()).collect();
            Err(format!("use one of {}", words.join(", ")))
        }
        speed => Ok(speed),
    }
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
