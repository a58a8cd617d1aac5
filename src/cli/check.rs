//! `megaton check`: says what would happen, before it does.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use megaton::bot::{BotTiming, ListRefresher, ListSources, Settings};
use megaton::config::{Config, Panel};
use megaton::lichess::Client;
use megaton::panel::{Address, check_password};

use super::account::{self, Identity};
use super::failure::Failure;
use super::setup::{ConfigArgs, evaluator, tables};
use super::{account_summary, features_summary, paths, runtime};

/// Check config, data folder, token and account, and show what the bot would do
///
/// Reads the config and the files it names, asks Lichess what the token and account may do, and
/// lists which games the bot would accept and seek. Changes nothing. Exits with status 2 if
/// anything would keep the bot from playing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton check
  megaton check --offline --config config.example.toml")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Check the config only; contact no server
    #[arg(long)]
    offline: bool,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, path) = args.config.load()?;
    report(&config, path.as_deref(), args.offline)
}

/// Says what would happen with a config that was read from this file.
pub(super) fn report(config: &Config, path: Option<&Path>, offline: bool) -> Result<(), Failure> {
    let came_from = path.map_or_else(
        || "built-in defaults (no config.toml here)".to_owned(),
        |path| format!("{}, good", path.display()),
    );
    say("config", &came_from)?;
    say_all("server", &account_summary::server(&config.lichess.url))?;
    let evaluator = evaluator(&config.engine)?;
    say(
        "engine",
        &account_summary::engine(&config.engine, &evaluator),
    )?;
    say_all(
        "tablebase",
        &account_summary::tables(tables(&config.engine)?.as_deref()),
    )?;
    say_all("data", &paths::keeps(config)?)?;
    say_all("accepts", &account_summary::accepts(&config.challenge))?;
    let mut lists = lists(config);
    if !offline {
        runtime::block_on(async {
            lists.fetch_all().await;
            Ok(())
        })?;
    }
    let mut read = lists.state();
    // Offline, an address is no one's fault.
    read.retain(|(list, _)| !offline || list.starts_with("file:"));
    say_all("lists", &account_summary::lists_read(&read))?;
    say_all("matchmaking", &features_summary::looks(config))?;
    say_all("arenas", &features_summary::arenas(&config.arena))?;
    say_all("chat", &features_summary::chat(&config.chat, "Megaton"))?;
    say("page", &page(&config.panel))?;
    let webhook = Address::from_env_or_file(config.alerts.webhook_file.as_deref());
    let webhook = webhook.map_err(|error| Failure::Setup(error.into()))?;
    say("alerts", &alerts(webhook.as_ref()))?;
    if offline {
        return Ok(());
    }
    let client = account::client(config)?;
    runtime::block_on(online(&client, config))
}

/// The names in files and at addresses; no copies are read or kept.
fn lists(config: &Config) -> ListRefresher {
    let settings = Arc::new(Settings::from(config));
    ListRefresher::new(settings, &ListSources::default(), BotTiming::default())
}

/// Where the page would be, and who could steer the bot there.
fn page(panel: &Panel) -> String {
    let Some(address) = panel.listen else {
        return "none: [panel] listen is empty".to_owned();
    };
    match panel.token_file.as_deref().map(check_password) {
        None => format!("http://{address}, read-only: [panel] token_file names no password"),
        Some(Ok(())) => format!("http://{address}, full control with the password"),
        Some(Err(error)) => {
            format!("WARNING: http://{address}, read-only: [panel] token_file: {error}")
        }
    }
}

/// Where messages go.
fn alerts(webhook: Option<&Address>) -> String {
    match webhook {
        Some(address) => format!("webhook at {}", address.host()),
        None => "disabled: no webhook_file set in [alerts]".to_owned(),
    }
}

async fn online(client: &Client, config: &Config) -> Result<(), Failure> {
    let url = &config.lichess.url;
    let Identity { token, account } = account::ask(client, url).await?;
    let wanted = features_summary::scopes(config);
    match &token {
        Some(token) => say_all(
            "token",
            &account_summary::token(token, &wanted, SystemTime::now()),
        )?,
        None => say("token", "valid; this server does not report token scopes")?,
    }
    say_all("account", &account_summary::account(&account))?;
    say(
        "website",
        "not checked: set Preferences, Privacy, so that other players can always challenge the bot",
    )?;
    if let Some(obstacle) = account_summary::obstacle(url, token.as_ref(), &account) {
        return Err(Failure::setup(obstacle));
    }
    say(
        "result",
        &format!("`megaton run` plays as {}", account.username),
    )
}

fn say_all(about: &str, lines: &[String]) -> Result<(), Failure> {
    lines.iter().try_for_each(|line| say(about, line))
}

/// One line of the result: what it is about, and what there is to say.
fn say(about: &str, what: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{about:<11} {what}")?;
    Ok(())
}
