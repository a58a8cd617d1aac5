//! The commands of UCI, as parsed from a line.
//!
//! Parsing never fails: a line that makes no sense becomes a command too, and the session answers it.

use std::time::Duration;

/// One line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Uci,
    IsReady,
    NewGame,
    SetOption {
        name: String,
        value: String,
    },
    Position {
        start: Start,
        moves: Vec<String>,
    },
    Go(Go),
    Perft(u32),
    Stop,
    PonderHit,
    Quit,
    Display,
    Eval,
    Bench(Option<u32>),
    /// A blank line, or a command that needs no action.
    Nothing,
    Unknown(String),
}

/// The start of a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Startpos,
    Fen(String),
}

/// The limits of `go`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Go {
    /// White's clock, then Black's.
    pub(super) time: [Option<Duration>; 2],
    pub(super) increment: [Duration; 2],
    pub(super) moves_left: Option<u32>,
    pub(super) depth: Option<u32>,
    pub(super) nodes: Option<u64>,
    pub(super) movetime: Option<Duration>,
    pub(super) mate: Option<u32>,
    pub(super) infinite: bool,
    pub(super) ponder: bool,
    pub(super) searchmoves: Vec<String>,
}

impl Command {
    pub(super) fn parse(line: &str) -> Command {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((&name, rest)) = words.split_first() else {
            return Command::Nothing;
        };
        match name {
            "uci" => Command::Uci,
            "isready" => Command::IsReady,
            "ucinewgame" => Command::NewGame,
            "setoption" => set_option(line, rest),
            "position" => position(rest).unwrap_or_else(|| unknown(line)),
            "go" => go(rest),
            "stop" => Command::Stop,
            "ponderhit" => Command::PonderHit,
            "quit" | "exit" => Command::Quit,
            "d" => Command::Display,
            "eval" => Command::Eval,
            "bench" => Command::Bench(rest.first().and_then(|depth| depth.parse().ok())),
            "debug" | "register" => Command::Nothing,
            _ => unknown(line),
        }
    }
}

fn unknown(line: &str) -> Command {
    let printable = |letter: &char| !letter.is_control();
    Command::Unknown(line.trim().chars().filter(printable).take(60).collect())
}

/// `name` and `value` may both contain blanks, a path several in a row.
fn set_option(line: &str, words: &[&str]) -> Command {
    let name_at = words
        .iter()
        .position(|&word| word == "name")
        .map_or(0, |at| at + 1);
    let value_at = words
        .iter()
        .position(|&word| word == "value")
        .unwrap_or(words.len());
    let name = words.get(name_at..value_at).unwrap_or_default().join(" ");
    // "setoption" comes before the words.
    let value = (0..value_at + 2).fold(line, |rest, _| after_word(rest));
    let value = value.trim().to_owned();
    Command::SetOption { name, value }
}

fn after_word(text: &str) -> &str {
    let rest = text.trim_start().split_once(char::is_whitespace);
    rest.map_or("", |(_, rest)| rest)
}

fn position(words: &[&str]) -> Option<Command> {
    let moves_at = words
        .iter()
        .position(|&word| word == "moves")
        .unwrap_or(words.len());
    let start = match *words.first()? {
        "startpos" => Start::Startpos,
        "fen" => Start::Fen(words.get(1..moves_at)?.join(" ")),
        _ => return None,
    };
    let moves = words.get(moves_at + 1..).unwrap_or_default();
    Some(Command::Position {
        start,
        moves: moves.iter().map(|&mv| mv.to_owned()).collect(),
    })
}

const KEYWORDS: [&str; 13] = [
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "depth",
    "nodes",
    "movetime",
    "mate",
    "infinite",
    "ponder",
    "searchmoves",
    "perft",
];

/// Skips unreadable values; a negative time counts as zero, too great a number as the greatest, and a fraction, which
/// scripts that compute milliseconds send, is dropped.
fn go(words: &[&str]) -> Command {
    let mut go = Go::default();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next_if(|word| !KEYWORDS.contains(word))?;
            let value = value.split('.').next()?.parse::<i128>().ok()?;
            Some(value.clamp(0, i64::MAX.into()) as u64)
        };
        let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        match word {
            "wtime" => go.time[0] = number().map(Duration::from_millis),
            "btime" => go.time[1] = number().map(Duration::from_millis),
            "winc" => go.increment[0] = Duration::from_millis(number().unwrap_or(0)),
            "binc" => go.increment[1] = Duration::from_millis(number().unwrap_or(0)),
            "movestogo" => go.moves_left = number().map(count),
            "depth" => go.depth = number().map(count),
            "nodes" => go.nodes = number(),
            "movetime" => go.movetime = number().map(Duration::from_millis),
            "mate" => go.mate = number().map(count),
            // Deeper than any perft ends; each ply takes some of the thread's stack.
            "perft" => return Command::Perft(number().map_or(1, count).min(50)),
            "infinite" => go.infinite = true,
            "ponder" => go.ponder = true,
            "searchmoves" => {
                while let Some(mv) = words.next_if(|word| !KEYWORDS.contains(word)) {
                    go.searchmoves.push(mv.to_owned());
                }
            }
            _ => {}
        }
    }
    Command::Go(go)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_reads_every_standard_limit() {
        let line = "go ponder searchmoves e2e4 d2d4 wtime 1000 btime -5 winc 10 binc 20 movestogo 3 \
                    depth 7 nodes 99 movetime 50 mate 2 infinite";
        let expected = Go {
            time: [Some(Duration::from_secs(1)), Some(Duration::ZERO)],
            increment: [Duration::from_millis(10), Duration::from_millis(20)],
            moves_left: Some(3),
            depth: Some(7),
            nodes: Some(99),
            movetime: Some(Duration::from_millis(50)),
            mate: Some(2),
            infinite: true,
            ponder: true,
            searchmoves: vec!["e2e4".to_owned(), "d2d4".to_owned()],
        };
        assert_eq!(Command::parse(line), Command::Go(expected));
    }

    #[test]
    fn a_missing_number_does_not_swallow_the_next_keyword() {
        let expected = Go {
            nodes: Some(5),
            ..Go::default()
        };
        assert_eq!(Command::parse("go depth nodes 5"), Command::Go(expected));
        let endless = Go {
            nodes: Some(i64::MAX as u64),
            ..Go::default()
        };
        let line = "go nodes 18446744073709551615";
        assert_eq!(
            Command::parse(line),
            Command::Go(endless),
            "no limit is lost"
        );
        let timed = Go {
            movetime: Some(Duration::from_millis(500)),
            ..Go::default()
        };
        let line = "go movetime 500.75";
        assert_eq!(Command::parse(line), Command::Go(timed));
        assert_eq!(Command::parse("go perft"), Command::Perft(1));
        assert_eq!(Command::parse("go perft 100000"), Command::Perft(50));
    }

    #[test]
    fn option_names_and_values_may_hold_blanks() {
        let expected = Command::SetOption {
            name: "Move Overhead".into(),
            value: "a  b".into(),
        };
        assert_eq!(
            Command::parse("setoption name Move  Overhead value a  b \r\n"),
            expected
        );
        assert_eq!(
            Command::parse("setoption\tname Move Overhead\tvalue\ta  b"),
            expected
        );
        let button = Command::SetOption {
            name: "Clear Hash".into(),
            value: String::new(),
        };
        assert_eq!(Command::parse("setoption name Clear Hash"), button);
        assert!(matches!(
            Command::parse("setoption value"),
            Command::SetOption { .. }
        ));
        assert!(matches!(
            Command::parse("setoption value x name y"),
            Command::SetOption { .. }
        ));
    }

    #[test]
    fn position_without_a_start_is_unknown() {
        assert!(matches!(Command::parse("position"), Command::Unknown(_)));
        assert!(matches!(
            Command::parse("position moves e2e4"),
            Command::Unknown(_)
        ));
    }
}
