//! The type and range of each key: the source of range checks and error messages.
//!
//! Defaults are not here but in `settings`; a test keeps the two lists of names equal.

use super::settings::{fault_in_address, fault_in_host};
use super::values::{ArenaId, Entry, Hours, Template, TimeRule};

/// A section of the config.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name, with dots between the parts.
    pub path: &'static str,
    /// Whether there may be several, as `[[path]]`.
    pub many: bool,
    /// Its keys, in the order of `config.example.toml`.
    pub keys: &'static [Key],
}

/// One key of the config.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name within its section.
    pub name: &'static str,
    /// The type of its value.
    pub takes: Takes,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Flag,
    /// A whole number of `unit`, both ends included.
    Whole {
        min: i64,
        max: i64,
        unit: &'static str,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    Text(&'static str),
    /// Hours of the day.
    Hours,
    /// A line of chat.
    Line,
    /// A list of accounts.
    Entries,
    /// A list of time controls.
    Times,
    /// A list of tournaments.
    Arenas,
    /// A list of folders.
    Folders,
    /// An address to listen at.
    Address,
    /// A list of host names.
    Hosts,
}

impl Section {
    /// The section header.
    pub fn title(&self) -> String {
        if self.many {
            format!("[[{}]]", self.path)
        } else {
            format!("[{}]", self.path)
        }
    }

    /// The parent section's name, and the section's own name within it.
    pub(super) fn split(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// The key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Takes {
    /// The expected value, for error messages.
    pub fn describe(&self) -> String {
        let fixed = match self {
            Self::Flag => "true or false",
            Self::Whole { min, max, unit } => {
                return format!("a whole number of {unit} from {min} to {max}");
            }
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                return format!("one of {}", quoted.join(", "));
            }
            Self::Text(what) => what,
            Self::Hours => "hours in quotes, such as \"8-22\"",
            Self::Line => "a line of chat in quotes, \"\" for none",
            Self::Entries => "a list of account names such as [\"someone\", \"file:names.txt\"]",
            Self::Times => "a list of time controls such as [\"blitz\", \"3+2\"]",
            Self::Folders => "a list of folders such as [\"tables\"]",
            Self::Address => {
                "an address and a port in quotes such as \"127.0.0.1:8650\", \"\" for none"
            }
            Self::Hosts => "a list of host names such as [\"bot.example.org\"]",
            Self::Arenas => "a list of tournaments such as [\"aBcD1234\"]",
        };
        fixed.to_owned()
    }

    /// The error in a text of the right type, or in an item of a list.
    pub(super) fn fault_in(&self, text: &str) -> Option<String> {
        match self {
            Self::Hours => text.parse::<Hours>().err(),
            Self::Line => Template(text).fault(),
            Self::Entries => text.parse::<Entry>().err(),
            Self::Times => text.parse::<TimeRule>().err(),
            Self::Arenas => text.parse::<ArenaId>().err(),
            Self::Address => fault_in_address(text),
            Self::Hosts => fault_in_host(text),
            Self::Folders => text
                .is_empty()
                .then(|| "must not be an empty path".to_owned()),
            Self::Flag | Self::Whole { .. } | Self::Choice(_) | Self::Text(_) => None,
        }
    }
}

const fn key(name: &'static str, takes: Takes) -> Key {
    Key { name, takes }
}

const fn flag(name: &'static str) -> Key {
    key(name, Takes::Flag)
}

const fn whole(name: &'static str, (min, max): (i64, i64), unit: &'static str) -> Key {
    key(name, Takes::Whole { min, max, unit })
}

const fn text(name: &'static str, what: &'static str) -> Key {
    key(name, Takes::Text(what))
}

const fn choice(name: &'static str, words: &'static [&'static str]) -> Key {
    key(name, Takes::Choice(words))
}

const fn one(path: &'static str, keys: &'static [Key]) -> Section {
    Section {
        path,
        many: false,
        keys,
    }
}

const BASE: (i64, i64) = (0, 10_800);
const INCREMENT: (i64, i64) = (0, 180);
const RATING: (i64, i64) = (0, 4000);
const COUNT: (i64, i64) = (0, 1_000_000);
const AT_LEAST_ONE: (i64, i64) = (1, 1_000_000);
const YEAR: i64 = 31_536_000;

const LICHESS: &[Key] = &[
    text("url", "a URL such as \"https://lichess.org\""),
    text(
        "token_file",
        "the path of a file with the API token, in quotes",
    ),
    text(
        "contact",
        "an email address or link in quotes, at most 100 plain characters",
    ),
];

const DATA: &[Key] = &[
    text("folder", "the path of a folder in quotes, \"\" for none"),
    text("socket", "the name of a file in quotes, \"\" for none"),
];

const ENGINE: &[Key] = &[
    whole("hash", (1, 65_536), "megabytes"),
    whole("threads", (0, 256), "threads (0: every core)"),
    text(
        "eval_file",
        "the path of a net in quotes, \"classical\", or \"\" for the default",
    ),
    key("syzygy_path", Takes::Folders),
    flag("ponder"),
    whole("nodes", (0, i64::MAX), "nodes per move (0: no limit)"),
    whole("depth", (0, 245), "plies (0: no limit)"),
    whole(
        "movetime",
        (0, 3_600_000),
        "milliseconds per move (0: no limit)",
    ),
];

const CHALLENGE: &[Key] = &[
    whole("concurrency", (1, 100), "games"),
    whole("reserved_for_humans", (0, 100), "slots"),
    whole("queue", (0, 120), "seconds"),
    whole("queue_places", (0, 100), "places"),
    key("block", Takes::Entries),
    key("allow", Takes::Entries),
    key("welcome", Takes::Entries),
];

const VISITORS: &[Key] = &[
    flag("accept"),
    flag("rated"),
    flag("casual"),
    whole("min_base", BASE, "seconds"),
    whole("max_base", BASE, "seconds"),
    whole("min_increment", INCREMENT, "seconds"),
    whole("max_increment", INCREMENT, "seconds"),
    key("times", Takes::Times),
    whole("max_duration", (1, 600), "minutes"),
    flag("bullet_needs_increment"),
    whole("min_rating", RATING, "points"),
    whole("max_rating", RATING, "points"),
    whole("max_rating_difference", RATING, "points"),
    flag("provisional"),
    choice("color", &["any", "white", "black"]),
    flag("correspondence"),
    flag("unlimited"),
    whole("min_days", (1, 14), "days"),
    whole("max_days", (1, 14), "days"),
    whole("at_once", AT_LEAST_ONE, "games"),
    whole("repeats", AT_LEAST_ONE, "challenges"),
    whole("repeat_window", (1, YEAR), "seconds"),
    whole("rematches", COUNT, "games"),
    whole("per_day", AT_LEAST_ONE, "games"),
    whole("total_per_day", AT_LEAST_ONE, "games"),
];

const LIMITS: &[Key] = &[
    whole("bot_games", (0, 10_000), "games per day"),
    whole("challenge_credits", (0, 10_000), "credits per day"),
    whole("incoming_share", (0, 100), "percent"),
];

const MATCHMAKING: &[Key] = &[
    flag("enabled"),
    whole("idle", (0, 86_400), "seconds"),
    whole("spacing", (30, 86_400), "seconds"),
    flag("during_games"),
    whole("timeout", (5, 60), "seconds"),
    choice("prefer", &["nearest", "strongest", "weakest", "random"]),
    flag("color_pairs"),
    whole("cooldown", (60, YEAR), "seconds"),
    whole("cooldown_max", (60, YEAR), "seconds"),
    whole("min_games", COUNT, "games"),
    key("avoid", Takes::Entries),
];

const PROFILE: &[Key] = &[
    text("name", "a name of letters, digits, _ and -, in quotes"),
    whole("base", BASE, "seconds"),
    whole("increment", (0, 60), "seconds"),
    flag("rated"),
    whole("weight", (1, 1000), "parts"),
    whole("min_rating", RATING, "points"),
    whole("max_rating", RATING, "points"),
    whole("max_rating_difference", RATING, "points"),
    key("hours", Takes::Hours),
];

const ARENA: &[Key] = &[
    flag("auto"),
    key("ids", Takes::Arenas),
    whole("min_base", BASE, "seconds"),
    whole("max_base", BASE, "seconds"),
    whole("min_increment", INCREMENT, "seconds"),
    whole("max_increment", INCREMENT, "seconds"),
    flag("rated_only"),
    whole("most", (1, 10), "arenas"),
    key("hours", Takes::Hours),
];

const CLOCK: &[Key] = &[
    whole("overhead_floor", (0, 10_000), "milliseconds"),
    whole("overhead_ceiling", (0, 10_000), "milliseconds"),
    whole("reserve", (0, 10_000), "milliseconds"),
    whole("reserve_least", (0, 10_000), "milliseconds"),
    flag("human_pace"),
];

const CORRESPONDENCE: &[Key] = &[
    whole("poll", (30, 86_400), "seconds"),
    whole("think", (1, 3600), "seconds"),
];

const GAME: &[Key] = &[
    whole("abort_bots", (5, 600), "seconds"),
    whole("abort_humans", (5, 600), "seconds"),
    whole("abort_repeats", (1, 1000), "games"),
    whole("abort_rest", (0, YEAR), "seconds"),
];

const DRAW: &[Key] = &[
    flag("accept_humans"),
    flag("accept_bots"),
    flag("offer_humans"),
    flag("offer_bots"),
    whole("score", (0, 1000), "centipawns"),
    whole("moves", (1, 100), "moves"),
    whole("ply", (2, 600), "plies"),
    whole("offers", (0, 100), "offers per game"),
];

const RESIGN: &[Key] = &[
    flag("enabled"),
    whole("score", (100, 20_000), "centipawns"),
    whole("moves", (1, 100), "moves"),
    whole("depth", (1, 245), "plies"),
];

const TAKEBACK: &[Key] = &[
    whole("humans", (0, 1000), "takebacks per game"),
    whole("bots", (0, 1000), "takebacks per game"),
];

const CHAT: &[Key] = &[
    flag("humans"),
    flag("bots"),
    key("greeting", Takes::Line),
    key("goodbye", Takes::Line),
    key("spectator_greeting", Takes::Line),
    key("spectator_goodbye", Takes::Line),
    flag("commands"),
    whole("pause", (1, 600), "seconds"),
];

const VARIETY: &[Key] = &[
    flag("enabled"),
    whole("plies", (0, 20), "plies"),
    whole("loss", (0, 1000), "centipawns"),
    whole(
        "seed",
        (0, i64::MAX),
        "any value (0: a new one at each start)",
    ),
];

const GUARD: &[Key] = &[
    whole("opponent_losses", AT_LEAST_ONE, "games"),
    whole("losses", AT_LEAST_ONE, "games"),
    whole("points", AT_LEAST_ONE, "points"),
    whole("rest", (60, YEAR), "seconds"),
];

const SHUTDOWN: &[Key] = &[whole("drain", (0, 86_400), "seconds")];

const PANEL: &[Key] = &[
    key("listen", Takes::Address),
    text(
        "token_file",
        "the path of a file with a password, in quotes",
    ),
    key("hosts", Takes::Hosts),
];

const ALERTS: &[Key] = &[
    text(
        "webhook_file",
        "the path of a file with the webhook URL, in quotes",
    ),
    choice("format", &["json", "text"]),
    whole("per_hour", (1, 1000), "messages per hour"),
    whole("deaf", (10, 86_400), "seconds"),
];

const ARCHIVE: &[Key] = &[
    flag("keep"),
    whole("games", (1, 36_500), "days"),
    whole("details", (1, 36_500), "days"),
    whole("events", (1, 36_500), "days"),
    flag("review"),
    whole("review_time", (10, 600_000), "milliseconds per position"),
];

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

const LOG: &[Key] = &[choice("level", LEVELS), choice("format", &["text", "json"])];

/// Every section, in the order of `config.example.toml`.
pub const SECTIONS: &[Section] = &[
    one("lichess", LICHESS),
    one("data", DATA),
    one("engine", ENGINE),
    one("challenge", CHALLENGE),
    one("challenge.humans", VISITORS),
    one("challenge.bots", VISITORS),
    one("limits", LIMITS),
    one("matchmaking", MATCHMAKING),
    Section {
        path: "matchmaking.profile",
        many: true,
        keys: PROFILE,
    },
    one("arena", ARENA),
    one("clock", CLOCK),
    one("correspondence", CORRESPONDENCE),
    one("game", GAME),
    one("draw", DRAW),
    one("resign", RESIGN),
    one("takeback", TAKEBACK),
    one("chat", CHAT),
    one("variety", VARIETY),
    one("guard", GUARD),
    one("shutdown", SHUTDOWN),
    one("panel", PANEL),
    one("alerts", ALERTS),
    one("archive", ARCHIVE),
    one("log", LOG),
];

/// The section of this path.
pub(super) fn section(path: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == path)
}

/// The direct subsections of a section; the top-level ones for "".
pub(super) fn within(path: &str) -> impl Iterator<Item = &'static Section> {
    SECTIONS
        .iter()
        .filter(move |section| section.split().0 == path)
}
