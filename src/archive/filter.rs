//! The filter of games, as SQL conditions.
//!
//! Values are parameters, never part of the statement.

use rusqlite::types::Value;

use super::record::{Millis, Outcome};
use super::rows::number;
use crate::lichess::{Side, Speed, Status};

/// Selects games; an unset field selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Against this account, in any letter case.
    pub opponent: Option<String>,
    pub result: Option<ResultFilter>,
    /// With one of these endings.
    pub status: Vec<Status>,
    /// Of this speed class.
    pub speed: Option<Speed>,
    /// With us on this side.
    pub us: Option<Side>,
    /// Rated, or casual.
    pub rated: Option<bool>,
    /// Against bots, or against humans.
    pub bots: Option<bool>,
    /// Begun at or after this moment.
    pub since: Option<Millis>,
    /// Begun before this moment.
    pub until: Option<Millis>,
    /// Begun with these moves in UCI, at most six plies.
    pub opening: Option<String>,
    pub tournament: Option<String>,
    /// Only games that the bot played, not imported ones.
    pub played: bool,
}

/// The state or the result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFilter {
    /// Has this result for us.
    Result(Outcome),
    /// Ended without a result.
    Void,
    /// Is still running, as far as known.
    Running,
}

/// The order of a list, by start or time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

impl Order {
    /// Compares a later item of the list with an earlier one.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Newest => "<",
            Self::Oldest => ">",
        }
    }

    /// The SQL keyword.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Newest => "DESC",
            Self::Oldest => "ASC",
        }
    }
}

/// Conditions joined by AND, with their parameters.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    terms: Vec<String>,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    pub(super) fn of(filter: &Filter) -> Self {
        let mut all = Self::default();
        let opponent = filter.opponent.as_ref();
        all.text("opponent = ?", opponent.map(|name| name.to_lowercase()));
        match filter.result {
            Some(ResultFilter::Result(outcome)) => all.text("result = ?", Some(outcome.as_str())),
            Some(ResultFilter::Void) => all.bare("status IS NOT NULL AND result IS NULL"),
            Some(ResultFilter::Running) => all.bare("status IS NULL"),
            None => {}
        }
        if !filter.status.is_empty() {
            let words = filter.status.iter();
            let words = words.map(|status| Value::Text(status.as_str().to_owned()));
            all.among("status", words.collect());
        }
        all.text("speed = ?", filter.speed.map(Speed::as_str));
        all.text("us = ?", filter.us.map(Side::as_str));
        if let Some(rated) = filter.rated {
            all.add("rated = ?", Value::Integer(rated.into()));
        }
        if let Some(bots) = filter.bots {
            all.add("opponent_bot = ?", Value::Integer(bots.into()));
            all.bare("us IS NOT NULL");
        }
        all.span("began", filter.since, filter.until);
        let opening = filter.opening.as_ref();
        all.text(
            "(opening || ' ') LIKE ?",
            opening.map(|moves| format!("{moves} %")),
        );
        all.text("tournament = ?", filter.tournament.as_deref());
        if filter.played {
            all.bare("origin <> 'imported'");
        }
        all
    }

    /// Adds a condition on a text, if there is one.
    pub(super) fn text(&mut self, term: &str, text: Option<impl Into<String>>) {
        if let Some(text) = text {
            self.add(term, Value::Text(text.into()));
        }
    }

    /// Adds a condition with one parameter.
    pub(super) fn add(&mut self, term: &str, value: Value) {
        self.terms.push(term.to_owned());
        self.values.push(value);
    }

    /// Adds a condition without a parameter.
    pub(super) fn bare(&mut self, term: &str) {
        self.terms.push(term.to_owned());
    }

    /// Requires a column to hold one of these values.
    pub(super) fn among(&mut self, column: &str, values: Vec<Value>) {
        let places = vec!["?"; values.len()].join(", ");
        self.terms.push(format!("{column} IN ({places})"));
        self.values.extend(values);
    }

    /// Requires a time column to lie within a span; `until` is excluded.
    pub(super) fn span(&mut self, column: &str, since: Option<Millis>, until: Option<Millis>) {
        if let Some(since) = since {
            self.add(&format!("{column} >= ?"), Value::Integer(number(since)));
        }
        if let Some(until) = until {
            self.add(&format!("{column} < ?"), Value::Integer(number(until)));
        }
    }

    /// Requires a row to come after another one in a list, by its time and, among rows of one time,
    /// by its id. `columns` are these two.
    pub(super) fn go_on(&mut self, order: Order, columns: [&str; 2], at: Millis, last: Value) {
        let ([time, id], sign) = (columns, order.sign());
        self.add(&format!("{time} {sign}= ?"), Value::Integer(number(at)));
        // The time is in the list of parameters already; the term refers to it by number.
        let place = self.values.len();
        self.add(&format!("({time} <> ?{place} OR {id} {sign} ?)"), last);
    }

    /// The WHERE clause with blanks around it; empty without conditions.
    pub(super) fn clause(&self) -> String {
        if self.terms.is_empty() {
            return String::new();
        }
        format!(" WHERE {} ", self.terms.join(" AND "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_conditions_and_their_values_in_step() {
        assert_eq!(Conditions::of(&Filter::default()).clause(), "");
        let filter = Filter {
            opponent: Some("Nuke'; DROP TABLE game; --".to_owned()),
            result: Some(ResultFilter::Void),
            status: vec![Status::OutOfTime, Status::Timeout],
            since: Some(5),
            bots: Some(true),
            opening: Some("e2e4".to_owned()),
            ..Filter::default()
        };
        let conditions = Conditions::of(&filter);
        let clause = conditions.clause();
        assert_eq!(clause.matches('?').count(), conditions.values.len());
        assert!(!clause.contains("DROP"), "{clause}");
        assert!(clause.contains("status IN (?, ?)"), "{clause}");
    }
}
