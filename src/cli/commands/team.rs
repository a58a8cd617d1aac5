//! `megaton team`: the teams of the bot's account. No bot needs to run.

use clap::{Args, Subcommand};
use megaton::lichess::Error;
use secrecy::{ExposeSecret as _, SecretString};

use crate::cli::account;
use crate::cli::failure::Failure;
use crate::cli::prompt::EntryPassword;
use crate::cli::setup::ConfigArgs;
use crate::cli::{output, runtime};

/// Make the bot's account join or leave a team
///
/// Needs a token with the scope team:write. Most bots are in lichess-bots.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton team join lichess-bots
  megaton team join some-team --message \"An atomic bot, run by its author, would like to join\"
  megaton team leave some-team")]
pub(crate) struct Team {
    #[command(subcommand)]
    action: Membership,
}

#[derive(Debug, Subcommand)]
enum Membership {
    /// Join a team, or apply to it
    Join {
        /// Team id, as in its URL
        #[arg(value_name = "TEAM")]
        team: String,
        /// Message to the team leaders, if they decide: 30 characters or more
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        #[command(flatten)]
        password: EntryPassword,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Leave a team
    Leave {
        /// Team id, as in its URL
        #[arg(value_name = "TEAM")]
        team: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

impl Team {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (team, config, joins) = match self.action {
            Membership::Join {
                team,
                message,
                password,
                config,
            } => (team, config, Some((message, password.read()?))),
            Membership::Leave { team, config } => (team, config, None),
        };
        let (config, _) = config.load()?;
        let client = account::client(&config)?;
        let done = runtime::block_on(async {
            let (outcome, done) = match &joins {
                Some((message, password)) => {
                    let password = password.as_ref().map(SecretString::expose_secret);
                    let joined = client.join_team(&team, message.as_deref(), password);
                    (joined.await, "joined, or applied where its leaders decide")
                }
                None => (client.leave_team(&team).await, "left"),
            };
            let refused = |error| Failure::failed(refusal(&team, &config.lichess.url, &error));
            outcome.map(|()| done).map_err(refused)
        })?;
        output::print(format!("{team}: {done}"))
    }
}

/// Why the account could not join or leave the team.
fn refusal(team: &str, url: &str, error: &Error) -> String {
    match error {
        Error::Refused { status: 403, body } => format!(
            "{team} refuses the account ({}): wrong password, message too short, or a token without the scope team:write",
            body.message
        ),
        Error::Gone { .. } => format!("{url} has no team {team:?}: use its id from the URL"),
        Error::Refused { status: 400, body } => format!("{team}: {}", body.message),
        error => account::trouble(url, error),
    }
}
