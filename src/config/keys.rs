//! What each key takes, in words and in numbers: the source of range checks and of complaints.
//!
//! Defaults are not here but in `settings`; a test keeps the two lists of names equal.

/// One key of the config.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The section, without brackets.
    pub section: &'static str,
    /// The name within its section.
    pub name: &'static str,
    /// What may stand there.
    pub takes: Takes,
}

/// What may stand as the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Flag,
    /// A whole number of `unit`, both ends included.
    Whole {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
        /// What is counted.
        unit: &'static str,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A text, described.
    Text(&'static str),
    /// A list of texts, described.
    Names(&'static str),
}

impl Takes {
    /// The sentence for a person who wrote something else.
    pub fn describe(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Whole { min, max, unit } => {
                format!("a whole number of {unit} from {min} to {max}")
            }
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Text(what) | Self::Names(what) => (*what).to_owned(),
        }
    }
}

const fn flag(section: &'static str, name: &'static str) -> Key {
    Key {
        section,
        name,
        takes: Takes::Flag,
    }
}

const fn whole(
    section: &'static str,
    name: &'static str,
    (min, max): (i64, i64),
    unit: &'static str,
) -> Key {
    Key {
        section,
        name,
        takes: Takes::Whole { min, max, unit },
    }
}

const fn text(section: &'static str, name: &'static str, what: &'static str) -> Key {
    Key {
        section,
        name,
        takes: Takes::Text(what),
    }
}

const fn choice(section: &'static str, name: &'static str, words: &'static [&'static str]) -> Key {
    Key {
        section,
        name,
        takes: Takes::Choice(words),
    }
}

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];
const FORMATS: &[&str] = &["text", "json"];

/// Every key there is, in the order of `config.example.toml`.
pub const KEYS: &[Key] = &[
    text(
        "lichess",
        "url",
        "an address such as \"https://lichess.org\"",
    ),
    text(
        "lichess",
        "token_file",
        "the path of a file that holds the API token, in quotes",
    ),
    text(
        "lichess",
        "contact",
        "a mail address or link in quotes, at most 100 plain characters",
    ),
    whole("engine", "hash", (1, 65_536), "megabytes"),
    whole("engine", "threads", (0, 256), "cores (0: all there are)"),
    whole(
        "engine",
        "nodes",
        (0, i64::MAX),
        "nodes a move (0: no limit)",
    ),
    whole("engine", "depth", (0, 245), "plies (0: no limit)"),
    whole(
        "engine",
        "movetime",
        (0, 3_600_000),
        "milliseconds a move (0: no limit)",
    ),
    flag("challenge", "rated"),
    flag("challenge", "casual"),
    flag("challenge", "bots"),
    flag("challenge", "humans"),
    whole("challenge", "min_base", (0, 10_800), "seconds"),
    whole("challenge", "max_base", (0, 10_800), "seconds"),
    whole("challenge", "min_increment", (0, 180), "seconds"),
    whole("challenge", "max_increment", (0, 180), "seconds"),
    whole("challenge", "concurrency", (1, 100), "games"),
    Key {
        section: "challenge",
        name: "block",
        takes: Takes::Names("a list of account names such as [\"someone\", \"someone-else\"]"),
    },
    whole("game", "overhead_floor", (0, 10_000), "milliseconds"),
    whole("game", "overhead_ceiling", (0, 10_000), "milliseconds"),
    whole("game", "abort_bots", (5, 600), "seconds"),
    whole("game", "abort_humans", (5, 600), "seconds"),
    flag("game", "accept_draws"),
    whole("game", "draw_score", (0, 1000), "centipawns"),
    whole("game", "draw_ply", (2, 600), "plies"),
    flag("game", "resign"),
    whole("game", "resign_score", (100, 20_000), "centipawns"),
    whole("game", "resign_moves", (1, 100), "moves"),
    choice("log", "level", LEVELS),
    choice("log", "format", FORMATS),
];

/// The key of this name in this section.
pub(super) fn find(section: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter()
        .find(|key| key.section == section && key.name == name)
}

/// The sections in their order, each once.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&'static str> = KEYS.iter().map(|key| key.section).collect();
    sections.dedup();
    sections
}
