//! Accounts, and the tokens that speak for them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::rating::Rating;
use super::time::{Millis, Timing, Window};
use super::wire::Counts;

/// What an account is.
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
    /// Whether it lets its opponents take moves back.
    pub(crate) takebacks: bool,
    /// Closed, by itself or by the moderators.
    pub(crate) closed: bool,
    /// Marked for breaking the terms of service.
    pub(crate) marked: bool,
    /// Lives inside the server, so it is always there.
    pub(crate) task: bool,
    /// The teams that it is a member of.
    pub(crate) teams: BTreeSet<String>,
    pub(super) event_streams: u32,
    pub(super) seen: Millis,
    pub(super) profile_calls: Window,
    /// Games against other bots in a day, where the server counts them.
    pub(super) bot_games: Option<Window>,
    /// Credits for challenges, of the minute and of the day, where the server counts them.
    pub(super) credits: Option<[Window; 2]>,
    /// Calls that join an arena.
    pub(super) joins: Window,
    /// Arenas joined that it was not in, of the hour and of the day.
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

    /// Whether it is there now, or was within `grace`.
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
    /// Not known for a while.
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

/// Whether Lichess would take this for the name of an account.
pub(crate) fn is_name(name: &str) -> bool {
    (2..=30).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
