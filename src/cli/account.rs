//! The client for the config's server and account, and what the server says about token and account.

use megaton::config::Config;
use megaton::lichess::{Account, Client, ClientOptions, Error, Timing, Token, TokenInfo};

use super::failure::Failure;

#[derive(Debug)]
pub(super) struct Identity {
    /// `None` where the server does not report tokens.
    pub(super) token: Option<TokenInfo>,
    pub(super) account: Account,
}

/// A client for the server and token of this config. Sends nothing yet.
pub(super) fn client(config: &Config) -> Result<Client, Failure> {
    let token = Token::from_env_or_file(config.lichess.token_file.as_deref());
    let options = ClientOptions {
        base_url: config.lichess.url.clone(),
        token: token.map_err(Failure::of_setup)?,
        contact: config.lichess.contact.clone(),
        timing: Timing::default(),
    };
    Client::through(config.lichess.proxy.as_deref(), options).map_err(Failure::of_setup)
}

/// Asks the server about token and account, once.
pub(super) async fn ask(client: &Client, url: &str) -> Result<Identity, Failure> {
    let failed = |error: Error| match trouble(url, &error) {
        said if error.is_transient() || error.is_rate_limited() => Failure::failed(said),
        said => Failure::setup(said),
    };
    let token = match client.test_token().await {
        Ok(Some(token)) => Some(token),
        Ok(None) => {
            let hint = "mistyped, revoked, or of another server; create a new one at";
            let said = format!("{url} does not know the token: {hint} {url}/account/oauth/token");
            return Err(Failure::setup(said));
        }
        // Not every server with the Bot API reports tokens.
        Err(Error::Gone { .. }) => None,
        Err(error) => return Err(failed(error)),
    };
    let account = client.account().await.map_err(failed)?;
    Ok(Identity { token, account })
}

/// What a failed call means for the operator, and what to do.
pub(super) fn trouble(url: &str, error: &Error) -> String {
    match error {
        Error::Transient { status, reason, .. } => {
            let what = match status {
                None => format!("cannot reach {url}: {reason}"),
                Some(_) => format!("{url} is failing ({error})"),
            };
            format!("{what}; try again later (`megaton run` does so itself)")
        }
        Error::RateLimited { wait, .. } => {
            let wait = wait.map_or(60, |wait| wait.as_secs().max(1));
            format!("{url} rate-limits this address ({error}); wait {wait} s before trying again")
        }
        Error::Refused { .. } => format!("{url} denies access to this token: {error}"),
        Error::Gone { .. } | Error::Protocol { .. } => {
            format!("{url} does not respond like Lichess ({error}); is [lichess] url right?")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use megaton::lichess::ErrorBody;

    use super::*;

    #[test]
    fn every_class_of_error_says_what_to_do() {
        let body = || {
            Box::new(ErrorBody {
                message: "sorry".to_owned(),
                ..ErrorBody::default()
            })
        };
        let offline = Error::Transient {
            reached: true,
            status: None,
            reason: "dns error".to_owned(),
        };
        let busy = Error::Transient {
            reached: true,
            status: Some(503),
            reason: "deploying".to_owned(),
        };
        let limited = Error::RateLimited {
            wait: Some(Duration::from_secs(90)),
            body: body(),
        };
        let cases = [
            (
                offline,
                "cannot reach https://x: dns error; try again later (`megaton run`",
            ),
            (
                busy,
                "failing (status 503: deploying); try again later (`megaton run`",
            ),
            (limited, "wait 90 s before trying again"),
            (
                Error::Refused {
                    status: 401,
                    body: body(),
                },
                "denies access to this token: refused with status 401: sorry",
            ),
            (
                Error::Refused {
                    status: 403,
                    body: body(),
                },
                "denies access to this token",
            ),
            (
                Error::Gone {
                    status: 404,
                    body: body(),
                },
                "is [lichess] url right?",
            ),
            (
                Error::Protocol {
                    reason: "cats".to_owned(),
                },
                "is [lichess] url right?",
            ),
        ];
        for (error, expected) in cases {
            let said = trouble("https://x", &error);
            assert!(said.contains(expected), "{said}");
        }
    }
}
