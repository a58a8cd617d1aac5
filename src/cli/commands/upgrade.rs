//! `megaton upgrade-account`: turns an account into a bot account, permanently.

use std::io::{self, BufRead as _};

use megaton::lichess::{Client, Error, PLAY_SCOPE};

use crate::cli::account::{self, Identity};
use crate::cli::failure::Failure;
use crate::cli::setup::ConfigArgs;
use crate::cli::{output, runtime, summary};

/// Turn the token's account into a bot account, permanently
///
/// Lichess lets only bot accounts play with an engine. The upgrade cannot be undone, and the
/// account must never have played a game. Asks you to type the account's name first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton upgrade-account
  megaton upgrade-account --yes")]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, _) = args.config.load()?;
    let client = account::client(&config)?;
    runtime::block_on(upgrade(&client, &config.lichess.url, args.yes))
}

async fn upgrade(client: &Client, url: &str, sure: bool) -> Result<(), Failure> {
    let who = account::ask(client, url).await?;
    let name = &output::plain(&who.account.username);
    if who.account.is_bot() {
        return output::print(format!("{name} is a bot account already; nothing to do"));
    }
    if let Some(obstacle) = obstacle(url, &who) {
        return Err(Failure::setup(obstacle));
    }
    if !sure && !confirmed(name, url)? {
        return Err(Failure::failed(
            "nothing was changed: that is not the account's name",
        ));
    }
    client.upgrade_to_bot().await.map_err(|error| match error {
        Error::Refused { status: 400, body } => {
            Failure::setup(format!("{url} refuses to upgrade {name}: {}", body.message))
        }
        error => Failure::failed(account::trouble(url, &error)),
    })?;
    output::print(format!(
        "{name} is a bot account now; `megaton check` says what it would accept"
    ))
}

/// What keeps the account from becoming a bot account.
fn obstacle(url: &str, who: &Identity) -> Option<String> {
    let name = &who.account.username;
    let token = who.token.as_ref();
    if token.is_some_and(|token| !token.allows(PLAY_SCOPE)) {
        return summary::obstacle(url, token, &who.account);
    }
    match who.account.games.unwrap_or_default() {
        0 => None,
        games => Some(format!(
            "{name} has played {games} games: only an account that never played can become a \
             bot; create one at {url}/signup"
        )),
    }
}

/// Explains the consequences and asks the user to type the account's name.
fn confirmed(name: &str, url: &str) -> Result<bool, Failure> {
    output::print_text(format!(
        "{name} on {url} will become a bot account, FOR GOOD:\n\
         - it can never be a human's account again;\n\
         - it plays through the Bot API alone: no lobby, no pools, no puzzles;\n\
         - it leaves its tournaments, and its streamer page is deleted.\n\
         Type the account's name to confirm, anything else to cancel: "
    ))?;
    let mut typed = String::new();
    io::stdin().lock().read_line(&mut typed)?;
    Ok(typed.trim().eq_ignore_ascii_case(name))
}
