//! Accounts and their tokens.

use std::collections::BTreeSet;
use std::time::Duration;

use super::rating::Rating;
use super::time::{Millis, Timing, Window};
use super::wire::Counts;

/// The kind of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountKind {
    Bot,
    Human,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about an account"
)]
pub(crate) struct Account {
    /// The name in lower case.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: AccountKind,
    pub(crate) rating: Rating,
    pub(crate) created: Millis,
    pub(crate) counts: Counts,
    /// Whether opponents may take moves back.
    pub(crate) takebacks: bool,
    /// Closed, by its owner or by moderators.
    pub(crate) closed: bool,
    /// Flagged for a terms of service violation.
    pub(crate) marked: bool,
    /// Runs inside the server, so it is always present.
    pub(crate) task: bool,
    /// The teams that it is a member of.
    pub(crate) teams: BTreeSet<String>,
    pub(super) event_streams: u32,
    pub(super) seen: Millis,
    pub(super) profile_calls: Window,
    /// Games against other bots in a day, if the server limits them.
    pub(super) bot_games: Option<Window>,
    /// Challenge credits per minute and per day, if the server limits them.
    pub(super) credits: Option<[Window; 2]>,
    /// Calls that join an arena.
    pub(super) joins: Window,
    /// Credits for first joins of arenas per hour and per day.
    pub(super) first_joins: [Window; 2],
}

impl Account {
    pub(crate) fn new(name: &str, kind: AccountKind, timing: &Timing, now: Millis) -> Self {
        Self {
            id: name.to_lowercase(),
            name: name.to_owned(),
            kind,
            rating: Rating::default(),
            created: now,
            counts: Counts::default(),
            takebacks: kind == AccountKind::Human,
            closed: false,
            marked: false,
            task: false,
            teams: BTreeSet::new(),
            event_streams: 0,
            seen: Millis(0),
            profile_calls: Window::new(30, timing.seconds(300)),
            bot_games: None,
            credits: None,
            joins: Window::new(30, timing.seconds(600)),
            first_joins: [(8, 3600), (30, 86_400)]
                .map(|(most, seconds)| Window::new(most, timing.seconds(seconds))),
        }
    }

    pub(crate) fn is_bot(&self) -> bool {
        self.kind == AccountKind::Bot
    }

    pub(crate) fn title(&self) -> Option<&'static str> {
        self.is_bot().then_some("BOT")
    }

    /// The name as game events write it.
    pub(crate) fn titled_name(&self) -> String {
        self.title().map_or_else(
            || self.name.clone(),
            |title| format!("{title} {}", self.name),
        )
    }

    /// Whether it is online now, or was within `grace`.
    pub(crate) fn is_online(&self, grace: Duration, now: Millis) -> bool {
        self.task || self.event_streams > 0 || (self.seen.0 > 0 && now - self.seen < grace)
    }

    /// An event stream was opened.
    pub(crate) fn arrive(&mut self) {
        self.event_streams += 1;
    }

    /// An event stream was closed.
    pub(crate) fn leave(&mut self, now: Millis) {
        self.event_streams = self.event_streams.saturating_sub(1);
        self.seen = now;
    }
}

/// What a token may do, and for whom.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) user: String,
    pub(crate) scopes: Vec<String>,
    pub(super) stream_openings: Window,
    /// Temporarily unknown to the server.
    pub(super) suspended: bool,
}

impl Grant {
    pub(crate) fn new(user: &str, scopes: &[&str], timing: &Timing) -> Self {
        Self {
            user: user.to_owned(),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            suspended: false,
            stream_openings: Window::new(30, timing.seconds(600)),
        }
    }

    pub(crate) fn covers(&self, accepted: &[&str]) -> bool {
        accepted.is_empty()
            || self
                .scopes
                .iter()
                .any(|scope| accepted.contains(&scope.as_str()))
    }
}

/// Whether Lichess accepts this as an account name.
pub(crate) fn is_name(name: &str) -> bool {
    (2..=30).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
