//! The secrets of a running bot, read anew with the config: API token, password of the page, webhook.
//!
//! A secret that cannot be used leaves the old one in place and is reported. Nothing here repeats one.

use std::time::Duration;

use secrecy::SecretString;

use super::alerts::{AddressError, Alerter, Delivery};
use super::http::{KeyError, Password, read_password};
use crate::bot::{Command, ControlHandle, Reply};
use crate::config::Config;
use crate::lichess::{Client, Error, PLAY_SCOPE, Token, TokenError, UserId};

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
    password: Result<Option<SecretString>, KeyError>,
    delivery: Result<Delivery, AddressError>,
}

impl Found {
    fn read(config: &Config) -> Self {
        let password = config.panel.token_file.as_deref().map(read_password);
        Self {
            token: Token::from_env_or_file(config.lichess.token_file.as_deref()),
            password: password.transpose(),
            delivery: Delivery::read(&config.alerts),
        }
    }
}

impl Secrets {
    /// Reads all secrets anew; says what changed and what could not.
    pub(super) async fn renew(&self, config: Config) -> Vec<String> {
        // On a thread that may hang with its disk.
        let found = tokio::task::spawn_blocking(move || Found::read(&config)).await;
        let found = match found {
            Ok(found) => found,
            Err(error) => return vec![format!("secrets unchanged: {error}")],
        };
        let token = match found.token {
            Ok(token) => self.renew_token(token).await,
            Err(error) => Err(error.to_string()),
        };
        let delivery = found.delivery.map_err(|error| error.to_string());
        let delivery = delivery.map(|delivery| self.alerter.renew(delivery));
        let password = found.password.map_err(|error| error.to_string());
        let password = password.map(|password| {
            let kept = self.password.as_ref();
            kept.is_some_and(|kept| kept.renew(password))
        });
        let outcomes = [
            ("token", token),
            ("password", password),
            ("alerts", delivery),
        ];
        let lines = outcomes
            .into_iter()
            .filter_map(|(what, outcome)| match outcome {
                Ok(false) => None,
                Ok(true) => Some(format!("{what}: renewed")),
                Err(why) => Some(format!("{what} unchanged: {why}")),
            });
        lines.collect()
    }

    /// Uses the token from the next call on, if it is another one and the server knows it.
    async fn renew_token(&self, token: Token) -> Result<bool, String> {
        if self.client.uses(&token) {
            return Ok(false);
        }
        match self.client.test_other_token(&token).await {
            Ok(None) => return Err("the server does not know the new one".to_owned()),
            Ok(Some(info)) => {
                if !info.allows(PLAY_SCOPE) {
                    return Err(format!("the new one lacks the scope {PLAY_SCOPE}"));
                }
                let account = self.account().await;
                if let Some(ours) = account.filter(|ours| info.user != UserId::new(ours)) {
                    let other = &info.user;
                    return Err(format!(
                        "the new one is of {other}, and this bot plays as {ours}"
                    ));
                }
            }
            // Not every server reports tokens, and some refuse even this to a revoked one.
            Err(Error::Gone { .. }) => {}
            Err(error) if error.is_unauthorized() => {}
            Err(error) => return Err(format!("the new one cannot be checked: {error}")),
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
