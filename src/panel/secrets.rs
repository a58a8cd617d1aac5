//! The secrets of a running bot, read anew with the config: API token, password of the page, webhook.
//!
//! A secret that cannot be used leaves the old one in place and is an alert. Nothing here repeats one.

use std::time::Duration;

use secrecy::SecretString;

use super::alerts::{AddressError, Alerter, Delivery};
use super::http::{KeyError, Password, read_password};
use crate::bot::{AlertKind, Command, ControlHandle, Reply};
use crate::config::Config;
use crate::lichess::{Client, Error, PLAY_SCOPE, Token, TokenError, UserId};

/// Where systemd puts copies of credentials when a service starts, and never again.
const COPIES: &str = "/run/credentials";

/// What becomes of the token of another server.
const LATER: &str = "that of the new url is used from the next start on";

/// Time for the bot to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What uses the secrets.
#[derive(Clone, Debug)]
pub struct Secrets {
    pub client: Client,
    pub alerter: Alerter,
    /// `None` without a page.
    pub password: Option<Password>,
    /// The bot, which knows its account.
    pub control: ControlHandle,
}

/// What the environment and the files hold now.
struct Found {
    token: Result<Token, TokenError>,
    /// Where the token is, in words.
    origin: String,
    password: Result<Option<SecretString>, KeyError>,
    delivery: Result<Delivery, AddressError>,
    /// Whether a secret is a copy that only a restart renews.
    is_copy: bool,
}

impl Found {
    fn read(config: &Config) -> Self {
        let password = config.panel.token_file.as_deref().map(read_password);
        let file = config.lichess.token_file.as_deref();
        Self {
            token: Token::from_env_or_file(file),
            origin: Token::origin(file),
            password: password.transpose(),
            delivery: Delivery::read(&config.alerts),
            is_copy: has_copy(config),
        }
    }
}

fn has_copy(config: &Config) -> bool {
    let (alerts, page) = (&config.alerts, &config.panel.token_file);
    let token = &config.lichess.token_file;
    [token, page, &alerts.webhook_file, &alerts.heartbeat_file]
        .into_iter()
        .flatten()
        .any(|file| file.starts_with(COPIES))
}

impl Secrets {
    /// Reads all secrets anew; says what changed, and what could not. A token for another server than `url`,
    /// that of this run, waits for the next start: the one in use must not get it.
    pub(super) async fn renew(&self, url: &str, config: Config) -> (Vec<String>, Vec<String>) {
        let is_of_another = config.lichess.url != url;
        // On a thread that may hang with its disk.
        let found = tokio::task::spawn_blocking(move || Found::read(&config)).await;
        let found = match found {
            Ok(found) => found,
            Err(error) => return (Vec::new(), vec![format!("secrets unchanged: {error}")]),
        };
        let renewed = |is_other: bool| is_other.then(|| "renewed".to_owned());
        let token = match found.token {
            Ok(token) if is_of_another => Ok((!self.client.uses(&token)).then(|| LATER.to_owned())),
            Ok(token) => {
                let outcome = self.renew_token(token).await.map(renewed);
                outcome.map_err(|why| format!("{why} ({})", found.origin))
            }
            Err(error) => Err(error.to_string()),
        };
        let delivery = found.delivery.map_err(|error| error.to_string());
        let delivery = delivery.map(|delivery| renewed(self.alerter.renew(delivery)));
        let password = found.password.map_err(|error| error.to_string());
        let password = password.map(|password| self.password.as_ref()?.renew(password));
        let outcomes = [token, password, delivery];
        let (mut lines, mut failures) = (Vec::new(), Vec::new());
        for (what, outcome) in ["token", "password", "alerts"].into_iter().zip(outcomes) {
            match outcome {
                Ok(change) => lines.extend(change.map(|change| format!("{what}: {change}"))),
                Err(why) => failures.push(format!("{what} unchanged: {why}")),
            }
        }
        if found.is_copy {
            lines.push(format!(
                "secrets in {COPIES} are copies: after a change restart the service"
            ));
        }
        self.alert(&failures).await;
        (lines, failures)
    }

    /// Raises the alert about secrets that cannot be used, or clears it if there are none.
    async fn alert(&self, failures: &[String]) {
        let text = (!failures.is_empty()).then(|| {
            let failures = failures.join("; ");
            format!("{failures}. An old one stays in use: fix the file and run `megaton reload`")
        });
        let command = Command::Alert(AlertKind::Secret, text.clone());
        let told = self.control.ask(command, PATIENCE).await;
        // A bot that has no connection yet has no alerts.
        if let (Some(text), false) = (text, matches!(told, Ok(Reply::Done(_)))) {
            tracing::error!("{text}");
        }
    }

    /// Uses the token from the next call on, if it is another one and the server knows it.
    async fn renew_token(&self, token: Token) -> Result<bool, String> {
        if self.client.uses(&token) {
            return Ok(false);
        }
        let unchecked = |error: Error| format!("the new one cannot be checked: {error}");
        let user = match self.client.test_other_token(&token).await {
            Ok(None) => return Err("the server does not know the new one".to_owned()),
            Ok(Some(info)) if !info.allows(PLAY_SCOPE) => {
                return Err(format!("the new one lacks the scope {PLAY_SCOPE}"));
            }
            Ok(Some(info)) => info.user,
            // Not every server reports tokens, and some refuse even this to a revoked one.
            Err(error) if matches!(error, Error::Gone { .. }) || error.is_unauthorized() => {
                match self.client.account_of(&token).await {
                    Ok(account) => account.id,
                    Err(error) if error.is_unauthorized() => {
                        return Err(format!("the server refuses the new one: {error}"));
                    }
                    Err(error) => return Err(unchecked(error)),
                }
            }
            Err(error) => return Err(unchecked(error)),
        };
        let account = self.account().await;
        if let Some(ours) = account.filter(|ours| user != UserId::new(ours)) {
            return Err(format!(
                "the new one is of {user}, and this bot plays as {ours}"
            ));
        }
        self.client.renew_token(token);
        Ok(true)
    }

    /// The account that the bot plays as, if it is known yet.
    async fn account(&self) -> Option<String> {
        match self.control.ask(Command::Status, PATIENCE).await {
            Ok(Reply::Status(status)) => status.account,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_systemd_are_told_from_files() {
        let mut config = Config::default();
        config.lichess.token_file = Some("/etc/megaton/token".into());
        assert!(!has_copy(&config));
        config.alerts.webhook_file = Some("/run/credentials/megaton.service/hook".into());
        assert!(has_copy(&config));
    }
}
