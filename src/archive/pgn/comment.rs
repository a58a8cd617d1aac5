//! The comment after a move: clock, time used, score and depth.
//!
//! The commands are those of Lichess (`%clk`, `%eval`) and of most viewers (`%emt`). PGN scores are
//! from White's view, those of a record from the mover's.

use std::fmt::Write as _;

use crate::archive::record::{Millis, MoveRecord, Source};
use crate::engine::Score;
use crate::lichess::Side;

/// Limits of depth and score beyond which a comment is ignored.
const DEEPEST: u32 = 255;
const WIDEST: f64 = 320.0;
const MAX_MATE: i32 = 500;

/// The comment after a move of `mover`, with braces; empty if there is nothing to tell.
pub(super) fn comment(made: &MoveRecord, mover: Side) -> String {
    let mut said = Vec::new();
    if let Some(score) = made.score {
        let depth = made.depth.map(|depth| format!(",{depth}"));
        said.push(format!(
            "[%eval {}{}]",
            number(score.for_white(mover)),
            depth.unwrap_or_default()
        ));
    }
    if let Some(clock) = made.clock {
        said.push(format!("[%clk {}]", clock_text(clock)));
    }
    if let Some(spent) = made.spent {
        said.push(format!("[%emt {}]", clock_text(spent)));
    }
    if !matches!(made.source, Source::Engine | Source::Unknown) {
        said.push(made.source.as_str().to_owned());
    }
    if said.is_empty() {
        return String::new();
    }
    format!("{{ {} }}", said.join(" "))
}

/// Reads the comment after a move of `mover`.
pub(super) fn understand(comment: &str, mover: Side, made: &mut MoveRecord) {
    let mut rest = comment;
    let mut words = String::new();
    while let Some((before, after)) = rest.split_once("[%") {
        words.push_str(before);
        let Some((command, after)) = after.split_once(']') else {
            break;
        };
        rest = after;
        let (name, value) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "clk" => made.clock = parse_clock(value).or(made.clock),
            "emt" => made.spent = parse_clock(value).or(made.spent),
            "eval" => take_score(value, mover, made),
            _ => {}
        }
    }
    words.push_str(rest);
    made.source = match words.trim().parse() {
        Ok(source) => source,
        Err(_) if made.depth.is_some() => Source::Engine,
        Err(_) => made.source,
    };
}

fn number(score: Score) -> String {
    match score {
        Score::Cp(cp) => format!("{:.2}", f64::from(cp) / 100.0),
        Score::Mate(moves) => format!("#{moves}"),
    }
}

fn take_score(value: &str, mover: Side, made: &mut MoveRecord) {
    let (score, depth) = match value.trim().split_once(',') {
        Some((score, depth)) => (score, depth.parse().ok().filter(|depth| *depth <= DEEPEST)),
        None => (value.trim(), None),
    };
    let score = if let Some(moves) = score.strip_prefix('#') {
        let distance: Option<i32> = moves.parse().ok();
        let near = distance.filter(|distance| distance.saturating_abs() <= MAX_MATE);
        near.map(Score::Mate)
    } else {
        let pawns: Option<f64> = score.parse().ok();
        let narrow = pawns.filter(|pawns| pawns.abs() <= WIDEST);
        narrow.map(|pawns| Score::Cp((pawns * 100.0).round() as i32))
    };
    if let Some(score) = score {
        made.score = Some(score.for_white(mover));
        made.depth = depth;
    }
}

/// `0:02:57`, with a fraction if there is one.
pub(super) fn clock_text(time: Millis) -> String {
    let seconds = time / 1000;
    let mut text = format!(
        "{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if !time.is_multiple_of(1000) {
        let fraction = format!("{:03}", time % 1000);
        // Writing to a string cannot fail.
        let _ = write!(text, ".{}", fraction.trim_end_matches('0'));
    }
    text
}

fn parse_clock(text: &str) -> Option<Millis> {
    let mut parts = text.trim().split(':');
    let hours: Millis = parts.next()?.parse().ok().filter(|hours| *hours < 10_000)?;
    let minutes: Millis = parts.next()?.parse().ok().filter(|minutes| *minutes < 60)?;
    let seconds = parts.next()?;
    if parts.next().is_some() {
        return None;
    }
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let whole: Millis = whole.parse().ok().filter(|whole| *whole < 60)?;
    if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction: Millis = format!("{fraction:0<3}")[..3].parse().ok()?;
    Some(((hours * 60 + minutes) * 60 + whole) * 1000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_comments_parse_back() {
        let rows = [
            (
                Side::White,
                Score::Cp(35),
                "{ [%eval 0.35,18] [%clk 0:02:57.3] [%emt 0:00:04] }",
            ),
            (
                Side::Black,
                Score::Cp(35),
                "{ [%eval -0.35,18] [%clk 0:02:57.3] [%emt 0:00:04] }",
            ),
            (
                Side::Black,
                Score::Mate(-2),
                "{ [%eval #2,18] [%clk 0:02:57.3] [%emt 0:00:04] }",
            ),
        ];
        for (mover, score, text) in rows {
            let made = MoveRecord {
                score: Some(score),
                depth: Some(18),
                clock: Some(177_300),
                spent: Some(4000),
                source: Source::Engine,
                ..MoveRecord::bare("e2e4")
            };
            assert_eq!(comment(&made, mover), text);
            let mut read = MoveRecord::bare("e2e4");
            understand(text.trim_matches(['{', '}']), mover, &mut read);
            assert_eq!(read, made);
        }
        let table = MoveRecord {
            source: Source::OnlyMove,
            ..MoveRecord::default()
        };
        assert_eq!(comment(&table, Side::White), "{ only move }");
        let mut read = MoveRecord::default();
        understand(" only move ", Side::White, &mut read);
        assert_eq!(read, table);
        assert_eq!(comment(&MoveRecord::bare("e2e4"), Side::White), "");
    }

    #[test]
    fn garbage_in_a_comment_is_ignored() {
        for text in [
            "[%clk 1:2]",
            "[%clk 0:61:00]",
            "[%clk 0:00:1e3]",
            "[%clk 0:00:00.1234567890]",
            "[%clk 99999999999999999999:00:00]",
            "[%eval nan]",
            "[%eval inf]",
            "[%eval 1e99]",
            "[%eval #99999999]",
            "[%eval #-2147483648]",
            "[%eval",
            "[%]",
            "[%clk 0:00:-1]",
            "a good move",
        ] {
            let mut made = MoveRecord::bare("e2e4");
            understand(text, Side::Black, &mut made);
            assert_eq!(made, MoveRecord::bare("e2e4"), "{text}");
        }
    }
}
