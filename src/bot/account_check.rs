//! Checks whether the token and the account are still valid: once a day, and when in doubt.
//!
//! Interpreting the answers is pure; the check itself is a future that the event loop polls. It
//! never asks more often than once a minute, save after a renewal of the token, and an alert it cannot verify
//! stays unchanged.

use std::time::{Duration, Instant, SystemTime};

use futures::future::{BoxFuture, OptionFuture};

use super::alerts::Alerts;
use super::bot_event::AlertKind;
use super::context::BotError;
use crate::lichess::{Account, Client, Disconnect, Error, PLAY_SCOPE, TokenInfo};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Minutes between two checks when all is well.
const USUAL: u32 = 24 * 60;
/// Maximum minutes between two checks while a problem or repeated doubt lasts.
const LONGEST: u32 = 10;
/// Consecutive forbidden calls of one kind from which on it is no accident.
const MAX_FORBIDDEN: u32 = 3;
/// Minutes before trying again calls that the server forbade.
const BARRED: u32 = 60;
/// Minutes for which refusals of a token that never played must last until they count as final.
pub(super) const REFUSED: u32 = 10;
/// Days before the token expires on which to warn.
const WARNINGS: [u64; 3] = [1, 7, 30];
/// What to do about a token that is of no use any more.
const RENEW: &str = "create a new one, put it into its file and run `megaton reload` (a systemd credential: restart the service)";

/// What the server says about the token; `None` within if it does not know it.
pub type TokenTest = Result<Option<TokenInfo>, Error>;

#[derive(Debug)]
pub struct AccountReport {
    pub token: TokenTest,
    /// The account; `None` if the check did not ask for it.
    pub account: Option<Result<Account, Error>>,
}

/// An alert kind and the problem; `None` if there is none.
pub type Finding = (AlertKind, Option<String>);

/// What a check means. Kinds it cannot decide stay as they were.
pub fn findings(report: &AccountReport, now: SystemTime) -> Vec<Finding> {
    let mut found = Vec::new();
    match &report.token {
        Ok(Some(info)) => found.extend(of_token(info, now)),
        Ok(None) => {
            let text = format!("token revoked or expired: {RENEW}");
            found.push((AlertKind::Token, Some(text)));
        }
        Err(error) if error.is_unauthorized() => found.push(refused(error)),
        Err(_) => {}
    }
    match &report.account {
        Some(Ok(account)) => found.extend(of_account(account)),
        Some(Err(error)) if error.is_unauthorized() => {
            // Though its test called the token good: two findings would end and raise its alert each time.
            found.retain(|finding| *finding != (AlertKind::Token, None));
            if found.iter().all(|(kind, _)| *kind != AlertKind::Token) {
                found.push(refused(error));
            }
        }
        Some(Err(_)) | None => {}
    }
    found
}

/// Why a refusal before the first game is final, if it is: by the latest test of the token, or because it
/// `lasts`, whatever its reason. A web page is no word of the server, and neither is a test that failed.
pub(super) fn final_refusal(
    error: &Error,
    token: Option<&TokenTest>,
    lasts: bool,
) -> Option<BotError> {
    let is_refused = error.is_unauthorized() || error.is_forbidden();
    let is_by_token = match token {
        Some(Ok(info)) => info.as_ref().is_none_or(|info| !info.allows(PLAY_SCOPE)),
        // Not every server with the Bot API reports tokens.
        Some(Err(Error::Gone { .. } | Error::Protocol { .. })) => true,
        Some(Err(_)) | None => false,
    };
    match error.to_string() {
        _ if !is_refused || error.is_page() => None,
        said if !is_by_token => lasts.then_some(BotError::Barred(said)),
        said if error.is_unauthorized() => Some(BotError::Unauthorized(said)),
        said => Some(BotError::Forbidden(said)),
    }
}

/// The alert for a token that the server refuses.
fn refused(error: &Error) -> Finding {
    let text = format!("the server rejects the token ({error}): {RENEW}");
    (AlertKind::Token, Some(text))
}

fn of_token(info: &TokenInfo, now: SystemTime) -> [Finding; 3] {
    let ends = info.expires.and_then(|end| ending(end, now));
    [
        (AlertKind::Token, None),
        scopes(info),
        (AlertKind::TokenEnds, ends),
    ]
}

fn scopes(info: &TokenInfo) -> Finding {
    let text = (!info.allows(PLAY_SCOPE)).then(|| {
        format!(
            "the token lost the scope {PLAY_SCOPE}: create a new one with it; the bot cannot play without"
        )
    });
    (AlertKind::Scopes, text)
}

/// The warning for an expiring token; all checks between two warnings give the same text.
fn ending(end: SystemTime, now: SystemTime) -> Option<String> {
    let left = end.duration_since(now).unwrap_or_default();
    let mut warnings = WARNINGS.into_iter();
    let days = warnings.find(|days| left <= DAY * *days as u32)?;
    let within = match days {
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    };
    Some(format!("the token expires within {within}: {RENEW}"))
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

/// Periodic check of token and account.
pub(super) struct AccountCheck {
    client: Client,
    alerts: Alerts,
    last_check: Option<Instant>,
    next: Instant,
    /// From one check to the next while a problem or doubt lasts.
    pause: Duration,
    minute: Duration,
    /// Whether a refusal asked for the next check.
    is_doubted: bool,
    in_progress: Option<BoxFuture<'static, AccountReport>>,
    /// Do not retry calls that the server forbade before this.
    barred_until: Option<Instant>,
    /// What the server last said about the token.
    token: Option<TokenTest>,
    /// The latest refusal of the stream, and when the first of those in a row came.
    refused: Option<(Instant, Error)>,
}

impl AccountCheck {
    /// The caller has just fetched the account, so the first check covers only the token.
    pub(super) fn new(client: Client, alerts: Alerts, account: &Account) -> Self {
        let minute = client.timing().minute;
        // Alerts outlive a restart of the event loop: a bar begins anew, or it would never end.
        let barred = alerts.is_on(AlertKind::Barred);
        let check = Self {
            client,
            alerts,
            last_check: None,
            next: Instant::now(),
            pause: minute,
            minute,
            is_doubted: false,
            in_progress: None,
            barred_until: barred.then(|| Instant::now() + minute * BARRED),
            token: None,
            refused: None,
        };
        // After a restart of the event loop this account may be an old one, which ends no alert.
        for finding in of_account(account).into_iter().filter(|it| it.1.is_some()) {
            check.publish(finding);
        }
        check
    }

    /// Records why the event stream could not be opened.
    pub(super) fn unopened(&mut self, loss: &Disconnect) {
        // Only refusals in a row last: an outage or a web page between them says nothing about the token.
        let since = self.refused.take().map_or_else(Instant::now, |it| it.0);
        let Disconnect::Unopened(error) = loss else {
            return;
        };
        if error.is_unauthorized() && !error.is_page() {
            self.publish(refused(error));
        } else if !error.is_forbidden() {
            return;
        } else if let Some(Ok(Some(info))) = &self.token {
            // A 403 despite the scope is `barred`'s.
            self.publish(scopes(info));
        }
        self.refused = Some((since, error.clone()));
    }

    /// The event stream is open. If an alert still holds, the next check raises it again.
    pub(super) fn opened(&mut self) {
        self.refused = None;
        self.alerts.clear(AlertKind::Token);
        self.alerts.clear(AlertKind::Scopes);
    }

    /// Why these refusals are final, if they are.
    pub(super) fn final_refusal(&self) -> Option<BotError> {
        let (since, error) = self.refused.as_ref()?;
        let lasts = since.elapsed() >= self.minute * REFUSED;
        final_refusal(error, self.token.as_ref(), lasts)
    }

    /// Completes with the next finished check. Cancellation safe.
    pub(super) async fn check_if_due(&mut self) {
        loop {
            if let Some(check) = &mut self.in_progress {
                let report = check.await;
                self.in_progress = None;
                self.conclude(&report);
                self.token = Some(report.token);
                return;
            }
            let renewed = tokio::select! {
                renewed = self.client.doubted() => renewed,
                () = tokio::time::sleep_until(self.next.into()) => {
                    self.begin();
                    continue;
                }
            };
            let mut earliest = Instant::now();
            if renewed {
                // What the server said about the old token says nothing about this one.
                (self.refused, self.token, self.pause) = (None, None, self.minute);
            } else if let Some(last) = self.last_check {
                earliest = last + self.pause;
                self.is_doubted = true;
            }
            self.next = self.next.min(earliest);
        }
    }

    fn begin(&mut self) {
        let client = self.client.clone();
        let first = self.last_check.is_none();
        let now = Instant::now();
        let before = self.last_check.replace(now);
        if before.is_none_or(|before| now - before > self.minute * LONGEST * 2) {
            self.pause = self.minute;
        }
        self.in_progress = Some(Box::pin(async move {
            let token = client.test_token().await;
            let account = OptionFuture::from((!first).then(|| client.account())).await;
            AccountReport { token, account }
        }));
    }

    fn conclude(&mut self, report: &AccountReport) {
        let refused = (self.refused.as_ref()).is_some_and(|it| it.1.is_unauthorized());
        for finding in findings(report, SystemTime::now()) {
            // A token that other calls accept is of no use while the event stream refuses it.
            if !refused || finding != (AlertKind::Token, None) {
                self.publish(finding);
            }
        }
        if let Some(finding) = self.barred(Instant::now()) {
            self.publish(finding);
        }
        let unsure =
            self.alerts.forbids_games() || report.token.as_ref().is_err_and(Error::is_transient);
        let wait = if unsure {
            self.pause
        } else {
            self.minute * USUAL
        };
        self.next = Instant::now() + wait;
        // After a false alarm, do not check again at once.
        let longer = std::mem::take(&mut self.is_doubted) || unsure;
        let pause = if longer { self.pause * 2 } else { self.minute };
        self.pause = pause.min(self.minute * LONGEST);
    }

    /// Calls forbidden although nothing else is wrong: raise an alert and wait before trying again.
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
        if times < MAX_FORBIDDEN || self.alerts.forbids_games() {
            return None;
        }
        self.barred_until = Some(now + self.minute * BARRED);
        let text = format!(
            "the server refuses {} calls ({times} in a row) although token and account look fine: check the account on the website",
            scope.as_str()
        );
        Some((AlertKind::Barred, Some(text)))
    }

    fn publish(&self, (kind, text): Finding) {
        self.alerts.set(kind, text);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::bot::event_bus::EventBus;
    use crate::lichess::{ClientOptions, ErrorBody, Timing, Token, UserId};

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

    fn account() -> Account {
        Account {
            id: UserId::new("megaton"),
            username: "Megaton".to_owned(),
            title: Some("BOT".to_owned()),
            perfs: HashMap::new(),
            games: None,
            created_at: None,
            bio: None,
            disabled: false,
            tos_violation: false,
        }
    }

    fn raised(report: &AccountReport) -> Vec<(AlertKind, String)> {
        let found = findings(report, now()).into_iter();
        found
            .filter_map(|(kind, text)| Some((kind, text?)))
            .collect()
    }

    #[test]
    fn token_expiry_warnings_come_thirty_seven_and_one_days_before() {
        let said = |left| {
            let raised = raised(&token(PLAY_SCOPE, Some(left)));
            raised.into_iter().map(|(_, text)| text).collect::<String>()
        };
        assert_eq!(said(DAY * 31), "");
        assert!(said(DAY * 30).contains("within 30 days"));
        assert_eq!(said(DAY * 29), said(DAY * 8), "once, not every day");
        assert!(said(DAY * 7).contains("within 7 days"));
        assert!(said(DAY).contains("within a day"));
        assert!(said(Duration::ZERO).contains("within a day"));
        assert_eq!(raised(&token(PLAY_SCOPE, None)), []);
    }

    #[test]
    fn a_token_unknown_or_without_the_scope_raises_an_alert_that_says_what_to_do() {
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
        for token in [Ok(None), Err(refused())] {
            let report = AccountReport {
                token,
                account: Some(Err(refused())),
            };
            let raised = raised(&report);
            assert_eq!((raised.len(), raised[0].0), (1, AlertKind::Token));
            let text = &raised[0].1;
            assert!(text.contains("run `megaton reload`"), "{text}");
            let is_unknown = report.token.is_ok();
            assert_eq!(text.contains("revoked or expired"), is_unknown, "{text}");
        }
    }

    #[test]
    fn an_account_refused_to_a_token_that_the_server_knows_is_one_finding_about_the_token() {
        let refused = Error::Refused {
            status: 401,
            body: Box::<ErrorBody>::default(),
        };
        let report = AccountReport {
            account: Some(Err(refused)),
            ..token(PLAY_SCOPE, None)
        };
        let mut found = findings(&report, now());
        found.retain(|(kind, _)| *kind == AlertKind::Token);
        assert!(matches!(found[..], [(_, Some(_))]), "{found:?}");
    }

    #[test]
    fn a_refusal_is_final_once_the_server_knows_no_such_token_or_cannot_tell() {
        let refused = |status, is_page| Error::Refused {
            status,
            body: Box::new(ErrorBody {
                is_page,
                ..ErrorBody::default()
            }),
        };
        let lost = || Error::Transient {
            reached: true,
            status: Some(503),
            reason: String::new(),
        };
        let gone = || Error::Gone {
            status: 404,
            body: Box::default(),
        };
        let good = || token(PLAY_SCOPE, None).token;
        let weak = || token("msg:write", None).token;
        let rows = [
            (refused(401, false), Ok(None), true),
            (refused(401, false), good(), false),
            (refused(401, false), Err(lost()), false),
            (refused(401, false), Err(refused(401, false)), false),
            (refused(401, false), Err(gone()), true),
            (refused(403, false), weak(), true),
            (refused(403, false), good(), false),
            (refused(401, true), Ok(None), false),
            (refused(400, false), Ok(None), false),
            (lost(), Ok(None), false),
        ];
        for (error, token, is_final) in rows {
            let fatal = final_refusal(&error, Some(&token), false);
            assert_eq!(fatal.is_some(), is_final, "{error:?} {token:?}");
            // One that lasts is blamed on the token only where a test found it bad.
            let fatal = final_refusal(&error, Some(&token), true);
            let is_blamed = !matches!(fatal, None | Some(BotError::Barred(_)));
            assert_eq!(is_blamed, is_final, "{error:?} {token:?}");
        }
    }

    fn forbidden() -> Error {
        Error::Refused {
            status: 403,
            body: Box::default(),
        }
    }

    #[test]
    fn a_lasting_403_is_blamed_on_the_scope_unless_the_token_has_it() {
        for (scope, is_scope) in [("msg:write", true), (PLAY_SCOPE, false)] {
            let token = token(scope, None).token;
            let fatal = final_refusal(&forbidden(), Some(&token), true);
            let text = fatal.expect("it lasts").to_string();
            assert_eq!(text.contains("needs the scope"), is_scope, "{text}");
        }
    }

    #[test]
    fn a_stream_that_is_forbidden_despite_the_scope_is_no_alert_about_scopes() {
        for (scope, is_scope) in [("msg:write", true), (PLAY_SCOPE, false)] {
            let alerts = Alerts::new(EventBus::default());
            let mut check = AccountCheck::new(client(), alerts.clone(), &account());
            let forbidden = Disconnect::Unopened(forbidden());
            check.unopened(&forbidden);
            assert!(!alerts.is_on(AlertKind::Scopes), "its scopes are unknown");
            check.token = Some(token(scope, None).token);
            check.unopened(&forbidden);
            assert_eq!(alerts.is_on(AlertKind::Scopes), is_scope, "{scope}");
        }
    }

    #[test]
    fn a_failed_check_changes_nothing() {
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
    fn a_closed_or_marked_account_raises_an_alert_and_a_good_one_clears_it() {
        let kinds = |account| {
            let report = AccountReport {
                account: Some(Ok(account)),
                ..token(PLAY_SCOPE, None)
            };
            raised(&report)
                .into_iter()
                .map(|(kind, _)| kind)
                .collect::<Vec<_>>()
        };
        let closed = Account {
            disabled: true,
            ..account()
        };
        assert_eq!(kinds(closed), [AlertKind::Closed]);
        let marked = Account {
            tos_violation: true,
            ..account()
        };
        assert_eq!(kinds(marked), [AlertKind::Marked]);
        let human = Account {
            title: None,
            ..account()
        };
        assert_eq!(kinds(human), [AlertKind::Closed]);
        assert_eq!(kinds(account()), []);
    }

    fn client() -> Client {
        let client = Client::new(ClientOptions {
            base_url: "http://127.0.0.1:9".to_owned(),
            token: Token::parse("lip_x", "the test").unwrap(),
            contact: None,
            timing: Timing::default(),
        });
        client.unwrap()
    }

    #[tokio::test]
    async fn a_renewed_token_is_checked_at_once_and_what_the_old_one_was_refused_is_forgotten() {
        let mut check = AccountCheck::new(client(), Alerts::new(EventBus::default()), &account());
        let longest = check.minute * LONGEST;
        check.last_check = Some(Instant::now());
        (check.next, check.pause) = (Instant::now() + longest, longest);
        check.token = Some(Ok(None));
        check.unopened(&Disconnect::Unopened(forbidden()));
        assert!(check.final_refusal().is_some());
        let renewed = Token::parse("lip_y", "the test").unwrap();
        check.client.renew_token(renewed);
        let checked = tokio::time::timeout(Duration::from_secs(60), check.check_if_due());
        assert_eq!(checked.await, Ok(()), "no server answers, so it fails soon");
        assert!(check.final_refusal().is_none());
        assert!(check.pause < longest, "the next one is due soon too");
    }

    #[test]
    fn only_a_false_alarm_puts_the_next_check_off() {
        let mut check = AccountCheck::new(client(), Alerts::new(EventBus::default()), &account());
        let fine = token("bot:play", None);
        check.conclude(&fine);
        assert_eq!(check.pause, check.minute, "one that was due was no alarm");
        for pauses in [2, 4] {
            check.is_doubted = true;
            check.conclude(&fine);
            assert_eq!(check.pause, check.minute * pauses);
        }
        check.conclude(&fine);
        assert_eq!(check.pause, check.minute);
    }

    #[test]
    fn a_token_that_only_the_event_stream_refuses_is_one_alert_until_the_stream_opens() {
        let event_bus = EventBus::default();
        let mut told = event_bus.subscribe();
        let alerts = Alerts::new(event_bus);
        let mut check = AccountCheck::new(client(), alerts.clone(), &account());
        let refused = Error::Refused {
            status: 401,
            body: Box::default(),
        };
        let good = AccountReport {
            account: Some(Ok(account())),
            ..token(PLAY_SCOPE, None)
        };
        for _ in 0..3 {
            check.unopened(&Disconnect::Unopened(refused.clone()));
            check.conclude(&good);
            assert!(alerts.is_on(AlertKind::Token));
        }
        assert!(
            told.try_recv().is_ok() && told.try_recv().is_err(),
            "said once"
        );
        check.opened();
        assert!(!alerts.is_on(AlertKind::Token));
        alerts.raise(AlertKind::Token, "found by a check");
        check.conclude(&good);
        assert!(!alerts.is_on(AlertKind::Token), "the stream is open");
    }

    #[test]
    fn a_restart_of_the_event_loop_ends_no_alert() {
        let alerts = Alerts::new(EventBus::default());
        for kind in [AlertKind::Closed, AlertKind::Marked] {
            alerts.raise(kind, "found by a check");
            // The account as it was when the process started.
            AccountCheck::new(client(), alerts.clone(), &account());
            assert!(alerts.is_on(kind), "{kind:?}");
        }
    }

    #[test]
    fn a_bar_that_began_before_a_restart_of_the_event_loop_ends() {
        let alerts = Alerts::new(EventBus::default());
        alerts.raise(AlertKind::Barred, "the server refuses calls");
        let mut check = AccountCheck::new(client(), alerts.clone(), &account());
        assert_eq!(check.barred(Instant::now()), None, "it lasts for a while");
        let later = Instant::now() + check.minute * BARRED;
        let ended = check.barred(later).expect("it has an end");
        check.publish(ended);
        assert!(!alerts.forbids_games());
    }
}
