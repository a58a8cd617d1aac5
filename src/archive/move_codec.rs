//! The moves of a game as one line of text: short, and still readable in a shell.
//!
//! A `;` separates moves. Blanks separate the fields of a move: the move itself, then fields that
//! begin with a letter. The reader skips unknown letters, so later versions may add some. SAN
//! follows from the moves and is not stored.

use std::fmt::Write as _;

use super::record::{Millis, MoveRecord, Source};
use crate::engine::Score;

/// The letters of the sources; `Unknown` has none.
const SOURCES: [(Source, &str); 5] = [
    (Source::Book, "b"),
    (Source::Table, "t"),
    (Source::Engine, "e"),
    (Source::OnlyMove, "o"),
    (Source::Safe, "s"),
];

/// Encodes moves.
pub(super) fn pack(moves: &[MoveRecord]) -> String {
    let mut text = String::with_capacity(48 * moves.len());
    let mut last = 0;
    for (index, made) in moves.iter().enumerate() {
        if index > 0 {
            text.push(';');
        }
        push_clean(&mut text, &made.uci);
        let mut put = |letter: char, value: Option<i64>| {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(text, " {letter}{value}");
            }
        };
        let number = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
        match made.at {
            Some(at) if at >= last && last > 0 => put('t', number(Some(at - last))),
            at => put('T', number(at)),
        }
        last = made.at.unwrap_or(last);
        put('c', number(made.clock));
        put('u', number(made.spent));
        match made.score {
            Some(Score::Cp(cp)) => put('s', Some(cp.into())),
            Some(Score::Mate(moves)) => put('m', Some(moves.into())),
            None => {}
        }
        put('d', made.depth.map(i64::from));
        put('D', made.seldepth.map(i64::from));
        put('n', number(made.nodes));
        put('e', number(made.time));
        put('l', number(made.lag));
        if let Some((_, letter)) = SOURCES.iter().find(|(source, _)| *source == made.source) {
            let _ = write!(text, " o{letter}");
        }
        if !made.line.is_empty() {
            text.push_str(" p");
            for (index, uci) in made.line.split_ascii_whitespace().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                push_clean(&mut text, uci);
            }
        }
    }
    text
}

/// Fills in what an earlier record of the same game knows: after a restart the bot knows nothing of
/// the moves it made before.
pub(super) fn fill_in(moves: &mut [MoveRecord], known: Vec<MoveRecord>) {
    for (made, known) in moves.iter_mut().zip(known) {
        if made.uci != known.uci {
            break;
        }
        made.at = made.at.or(known.at);
        made.clock = made.clock.or(known.clock);
        made.spent = made.spent.or(known.spent);
        made.lag = made.lag.or(known.lag);
        if !made.is_annotated() {
            made.score = known.score;
            made.depth = known.depth;
            made.seldepth = known.seldepth;
            made.nodes = known.nodes;
            made.time = known.time;
            made.source = known.source;
            made.line = known.line;
        }
    }
}

/// Appends a word without separators.
fn push_clean(text: &mut String, word: &str) {
    text.extend(
        word.chars()
            .filter(|letter| !matches!(letter, ' ' | ';' | ',')),
    );
}

/// Decodes moves; fields that cannot be read are left out.
pub(super) fn unpack(text: &str) -> Vec<MoveRecord> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut last: Millis = 0;
    let mut moves = Vec::new();
    for part in text.split(';') {
        let mut words = part.split(' ');
        let mut made = MoveRecord::bare(words.next().unwrap_or_default());
        for word in words {
            read_field(word, &mut made, last);
        }
        last = made.at.unwrap_or(last);
        moves.push(made);
    }
    moves
}

fn read_field(word: &str, made: &mut MoveRecord, last: Millis) {
    let mut letters = word.chars();
    let letter = letters.next();
    let value = letters.as_str();
    let number = || value.parse::<u64>().ok();
    let small = || value.parse::<u32>().ok();
    let signed = || value.parse::<i32>().ok();
    match letter {
        Some('T') => made.at = number(),
        Some('t') => made.at = number().map(|since| last.saturating_add(since)),
        Some('c') => made.clock = number(),
        Some('u') => made.spent = number(),
        Some('s') => made.score = signed().map(Score::Cp),
        Some('m') => made.score = signed().map(Score::Mate),
        Some('d') => made.depth = small(),
        Some('D') => made.seldepth = small(),
        Some('n') => made.nodes = number(),
        Some('e') => made.time = number(),
        Some('l') => made.lag = number(),
        Some('o') => {
            let known = SOURCES.iter().find(|(_, letter)| *letter == value);
            made.source = known.map_or(Source::Unknown, |(source, _)| *source);
        }
        Some('p') => made.line = value.replace(',', " "),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    fn any_move() -> impl Strategy<Value = MoveRecord> {
        let number = || proptest::option::of(0..u64::from(u32::MAX));
        let score = prop_oneof![
            Just(None),
            any::<i32>().prop_map(|cp| Some(Score::Cp(cp))),
            (-200..200).prop_map(|moves| Some(Score::Mate(moves))),
        ];
        let depths = (
            proptest::option::of(0..200_u32),
            proptest::option::of(0..200_u32),
        );
        let words = (
            "[a-h][1-8][a-h][1-8][qrbn]?",
            prop_oneof![Just(String::new()), Just("e2e4 e7e5".to_owned())],
        );
        let numbers = (number(), number(), number(), number(), number(), number());
        (words, numbers, score, depths, 0..Source::VARIANTS.len()).prop_map(
            |((uci, line), (at, clock, spent, nodes, time, lag), score, depths, source)| {
                MoveRecord {
                    uci,
                    san: None,
                    at,
                    clock,
                    spent,
                    score,
                    depth: depths.0,
                    seldepth: depths.1,
                    nodes,
                    time,
                    source: Source::VARIANTS[source],
                    lag,
                    line,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn packed_moves_unpack_to_the_same_moves(moves in prop::collection::vec(any_move(), 0..20)) {
            prop_assert_eq!(unpack(&pack(&moves)), moves);
        }

        #[test]
        fn arbitrary_text_causes_no_panic(text in ".{0,200}") {
            unpack(&text);
        }
    }

    #[test]
    fn a_packed_move_is_short_and_can_be_read() {
        let own = MoveRecord {
            at: Some(1_795_266_359_000),
            clock: Some(177_300),
            score: Some(Score::Cp(-35)),
            depth: Some(18),
            source: Source::Engine,
            line: "e2e4 e7e5".to_owned(),
            ..MoveRecord::bare("e2e4")
        };
        let theirs = MoveRecord {
            at: Some(1_795_266_361_500),
            ..MoveRecord::bare("e7e5")
        };
        let text = "e2e4 T1795266359000 c177300 s-35 d18 oe pe2e4,e7e5;e7e5 t2500";
        assert_eq!(pack(&[own.clone(), theirs.clone()]), text);
        let later = text.replace("d18", "d18 Zfuture");
        assert_eq!(unpack(&later), [own, theirs]);
    }
}
