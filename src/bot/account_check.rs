//! Checks token and account: once a day, and when a call is refused.
//!
//! Judging the replies is pure; the event loop polls the check as a future. It runs at most once a minute,
//! and a failed check changes nothing.

use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;

use super::alerts::{AlertKind, Alerts};
use crate::lichess::{Account, Client, Error, TokenInfo};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Minutes between two looks when all is well.
const USUAL: u32 = 24 * 60;
/// Most minutes between two looks while something is wrong, or doubted again and again.
const LONGEST: u32 = 10;
/// Calls of one kind forbidden in a row that are no accident.
const MOST_FORBIDDEN: u32 = 3;
/// Minutes after which a server that forbade them is tried again.
const BARRED: u32 = 60;
/// Days before the end of a token on which it is spoken of.
const WARNINGS: [u64; 3] = [1, 7, 30];
/// The scope without which nothing works.
const PLAY: &str = "bot:play";

/// What was found out.
#[derive(Debug)]
pub struct AccountReport {
    /// The token; `None` within if the server does not know it.
    pub token: Result<Option<TokenInfo>, Error>,
    /// The account; none if it was not asked for.
    pub account: Option<Result<Account, Error>>,
}

/// A kind of alarm, and what is wrong; nothing if that is well.
pub type Finding = (AlertKind, Option<String>);

/// What a checkup means. What it says nothing of is left as it was.
pub fn findings(report: &AccountReport, now: SystemTime) -> Vec<Finding> {
    let mut found = Vec::new();
    match &report.token {
        Ok(Some(info)) => found.extend(of_token(info, now)),
        Ok(None) => {
            let text = "token revoked or expired: create a new one and restart the bot";
            found.push((AlertKind::Token, Some(text.to_owned())));
        }
        Err(error) if error.is_unauthorized() => found.push(refused(error)),
        Err(_) => {}
    }
    match &report.account {
        Some(Ok(account)) => found.extend(of_account(account)),
        Some(Err(error)) if error.is_unauthorized() => found.push(refused(error)),
        Some(Err(_)) | None => {}
    }
    found
}

/// The alarm for a call that the server refuses to this token or account.
pub(super) fn refused(error: &Error) -> Finding {
    if error.is_unauthorized() {
        let text = format!("the server rejects the token ({error}): create a new one");
        return (AlertKind::Token, Some(text));
    }
    let text = format!("the server denies access to the account ({error})");
    (AlertKind::Scopes, Some(text))
}

fn of_token(info: &TokenInfo, now: SystemTime) -> [Finding; 3] {
    let scopes = (!info.allows(PLAY)).then(|| {
        format!(
            "the token lost the scope {PLAY}: create a new one with it; the bot cannot play without"
        )
    });
    let ends = info.expires.and_then(|end| ending(end, now));
    [
        (AlertKind::Token, None),
        (AlertKind::Scopes, scopes),
        (AlertKind::TokenEnds, ends),
    ]
}

/// The warning for a token that ends; the same text for all looks between two warnings.
fn ending(end: SystemTime, now: SystemTime) -> Option<String> {
    let left = end.duration_since(now).unwrap_or_default();
    let days = WARNINGS
        .into_iter()
        .find(|days| left <= DAY * *days as u32)?;
    let within = match days {
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    };
    Some(format!(
        "the token expires within {within}: create a new one and restart the bot with it"
    ))
}

fn of_account(account: &Account) -> [Finding; 2] {
    let name = &account.username;
    let closed = if account.disabled {
        Some(format!("the account {name} is closed"))
    } else if account.is_bot() {
        None
    } else {
        Some(format!("{name} is no longer a bot account"))
    };
    let marked = account.tos_violation.then(|| {
        format!("the account {name} is flagged for a terms of service violation: contact Lichess")
    });
    [(AlertKind::Closed, closed), (AlertKind::Marked, marked)]
}

/// Looks after the token and the account.
pub(super) struct AccountCheck {
    client: Client,
    alarms: Alerts,
    looked: Option<Instant>,
    next: Instant,
    /// From one look to the next while something is wrong or doubted.
    pause: Duration,
    minute: Duration,
    looking: Option<BoxFuture<'static, AccountReport>>,
    /// Until when nothing is tried that the server forbade.
    barred_until: Option<Instant>,
}

impl AccountCheck {
    /// The account is known already; the token is looked at first.
    pub(super) fn new(client: Client, alarms: Alerts, account: &Account) -> Self {
        let minute = client.timing().minute;
        let health = Self {
            client,
            alarms,
            looked: None,
            next: Instant::now(),
            pause: minute,
            minute,
            looking: None,
            barred_until: None,
        };
        for finding in of_account(account) {
            health.tell(finding);
        }
        health
    }

    /// A look that is over. May be dropped at any await without losing anything.
    pub(super) async fn look(&mut self) {
        loop {
            if let Some(looking) = &mut self.looking {
                let report = looking.await;
                self.looking = None;
                self.conclude(&report);
                return;
            }
            let doubted = tokio::select! {
                () = self.client.doubted() => true,
                () = tokio::time::sleep_until(self.next.into()) => false,
            };
            if doubted {
                let earliest = self.looked.map_or_else(Instant::now, |at| at + self.pause);
                self.next = self.next.min(earliest);
            } else {
                self.begin();
            }
        }
    }

    fn begin(&mut self) {
        let client = self.client.clone();
        let first = self.looked.is_none();
        let now = Instant::now();
        let before = self.looked.replace(now);
        if before.is_none_or(|before| now - before > self.minute * LONGEST * 2) {
            self.pause = self.minute;
        }
        self.looking = Some(Box::pin(async move {
            let token = client.test_token().await;
            let account = if first {
                None
            } else {
                Some(client.account().await)
            };
            AccountReport { token, account }
        }));
    }

    fn conclude(&mut self, report: &AccountReport) {
        for finding in findings(report, SystemTime::now()) {
            self.tell(finding);
        }
        if let Some(finding) = self.barred(Instant::now()) {
            self.tell(finding);
        }
        let unsure = self.alarms.stop() || report.token.as_ref().is_err_and(Error::is_transient);
        let wait = if unsure {
            self.pause
        } else {
            self.minute * USUAL
        };
        self.next = Instant::now() + wait;
        // A doubt that proved wrong is not followed by another look at once.
        self.pause = (self.pause * 2).min(self.minute * LONGEST);
    }

    /// Calls that are forbidden although nothing else is wrong: said, and left alone for a while.
    fn barred(&mut self, now: Instant) -> Option<Finding> {
        match self.barred_until {
            Some(until) if until > now => return None,
            Some(_) => {
                self.barred_until = None;
                self.client.forget_forbidden();
                return Some((AlertKind::Barred, None));
            }
            None => {}
        }
        let (scope, times) = self.client.forbidden()?;
        if times < MOST_FORBIDDEN || self.alarms.stop() {
            return None;
        }
        self.barred_until = Some(now + self.minute * BARRED);
        let text = format!(
            "the server refuses {} calls ({times} in a row) although token and account look fine: check the account on the website",
            scope.as_str()
        );
        Some((AlertKind::Barred, Some(text)))
    }

    fn tell(&self, (kind, text): Finding) {
        match text {
            Some(text) => drop(self.alarms.raise(kind, text)),
            None => drop(self.alarms.clear(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::lichess::{ErrorBody, UserId};

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * 20_000
    }

    fn token(scope: &str, left: Option<Duration>) -> AccountReport {
        let info = TokenInfo {
            user: UserId::new("megaton"),
            scopes: vec![scope.to_owned()],
            expires: left.map(|left| now() + left),
        };
        AccountReport {
            token: Ok(Some(info)),
            account: None,
        }
    }

    fn raised(report: &AccountReport) -> Vec<(AlertKind, String)> {
        let found = findings(report, now()).into_iter();
        found
            .filter_map(|(kind, text)| Some((kind, text?)))
            .collect()
    }

    #[test]
    fn a_token_that_ends_is_spoken_of_thirty_seven_and_one_days_before() {
        let said = |left| {
            let raised = raised(&token(PLAY, Some(left)));
            raised.into_iter().map(|(_, text)| text).collect::<String>()
        };
        assert_eq!(said(DAY * 31), "");
        assert!(said(DAY * 30).contains("within 30 days"));
        assert_eq!(said(DAY * 29), said(DAY * 8), "once, not every day");
        assert!(said(DAY * 7).contains("within 7 days"));
        assert!(said(DAY).contains("within a day"));
        assert!(said(Duration::ZERO).contains("within a day"));
        assert_eq!(raised(&token(PLAY, None)), []);
    }

    #[test]
    fn a_token_without_the_scope_or_unknown_is_an_alarm() {
        assert_eq!(raised(&token("msg:write", None))[0].0, AlertKind::Scopes);
        let unknown = AccountReport {
            token: Ok(None),
            account: None,
        };
        assert_eq!(raised(&unknown)[0].0, AlertKind::Token);
        let refused = || Error::Refused {
            status: 401,
            body: Box::<ErrorBody>::default(),
        };
        let refused = AccountReport {
            token: Err(refused()),
            account: Some(Err(refused())),
        };
        assert_eq!(raised(&refused)[0].0, AlertKind::Token);
    }

    #[test]
    fn what_cannot_be_found_out_changes_nothing() {
        let offline = || Error::Transient {
            reached: true,
            status: None,
            reason: String::new(),
        };
        let report = AccountReport {
            token: Err(offline()),
            account: Some(Err(offline())),
        };
        assert_eq!(findings(&report, now()), []);
    }

    #[test]
    fn a_closed_or_marked_account_is_an_alarm_and_a_good_one_ends_it() {
        let account = |title: Option<&str>, disabled, tos_violation| Account {
            id: UserId::new("megaton"),
            username: "Megaton".to_owned(),
            title: title.map(str::to_owned),
            perfs: HashMap::new(),
            games: None,
            created_at: None,
            bio: None,
            disabled,
            tos_violation,
        };
        let looked = |account| {
            let report = AccountReport {
                account: Some(Ok(account)),
                ..token(PLAY, None)
            };
            raised(&report)
                .into_iter()
                .map(|(kind, _)| kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            looked(account(Some("BOT"), true, false)),
            [AlertKind::Closed]
        );
        assert_eq!(
            looked(account(Some("BOT"), false, true)),
            [AlertKind::Marked]
        );
        assert_eq!(looked(account(None, false, false)), [AlertKind::Closed]);
        assert_eq!(looked(account(Some("BOT"), false, false)), []);
    }
}
