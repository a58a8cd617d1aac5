//! `megaton check`: says what `megaton run` would do.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, fs, iter};

use megaton::book::Books;
use megaton::bot::{BotTiming, ListRefresher, ListSources, check_owner};
use megaton::config::{self, BookRules, Config, Log, Override, Panel};
use megaton::lichess::{Client, TOKEN_VARIABLE, Token, TokenError};
use megaton::panel::{
    self, ControlSocket, ControlSocketError, Delivery, HEARTBEAT_VARIABLE, WEBHOOK_VARIABLE,
    check_password,
};
use megaton::store::Store;

use crate::cli::account::{self, Identity};
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::logging::FILTERS;
use crate::cli::setup::{ConfigArgs, evaluator, tables};
use crate::cli::writable::fault_in_folder;
use crate::cli::{log_file, output, runtime, summary};

/// What a variable decides if it is set. Of several for one key the first does.
const OVERRIDES: [Override; 5] = [
    over("lichess", "token_file", TOKEN_VARIABLE),
    over("alerts", "webhook_file", WEBHOOK_VARIABLE),
    over("alerts", "heartbeat_file", HEARTBEAT_VARIABLE),
    over("log", "level", FILTERS[0]),
    over("log", "level", FILTERS[1]),
];

const fn over(section: &'static str, key: &'static str, variable: &'static str) -> Override {
    Override {
        section,
        key,
        variable,
    }
}

/// Check config, data folder, token and account, and show what the bot would do
///
/// Reads the config and the files it names, asks Lichess what the token and account may do, and
/// lists which games the bot would accept and seek. Changes nothing. Exits with status 2 if
/// anything would keep the bot from playing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton check
  megaton check --offline --config config.example.toml
  megaton check --print
  megaton check --schema > config.schema.json")]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Contact no server: leave the token, the account and lists at URLs unchecked
    #[arg(long)]
    offline: bool,
    /// Print every setting in effect, as a config that says where each value comes from; check no more
    #[arg(long)]
    print: bool,
    /// Print the JSON Schema of the config, for editors that know `#:schema`; read no config
    #[arg(long, conflicts_with_all = ["print", "offline", "config"])]
    schema: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    if args.schema {
        return output::print_pretty_json(&config::schema());
    }
    let (config, path) = args.config.load()?;
    if args.print {
        return print_effective(&config, path.as_deref());
    }
    report(&config, path.as_deref(), args.offline)
}

fn print_effective(config: &Config, path: Option<&Path>) -> Result<(), Failure> {
    let text = path.map(fs::read_to_string).transpose();
    let text = text.or_setup("the config")?;
    // A blank variable counts as none.
    let is_set = |over: &Override| {
        env::var_os(over.variable).is_some_and(|set| !set.to_string_lossy().trim().is_empty())
    };
    let overrides: Vec<Override> = OVERRIDES.into_iter().filter(is_set).collect();
    output::print_text(config.effective(path.zip(text.as_deref()), &overrides))
}

/// Reports what a bot with this config, read from this file, would do.
pub(super) fn report(config: &Config, path: Option<&Path>, offline: bool) -> Result<(), Failure> {
    let origin = path.map_or_else(
        || "built-in defaults (no config.toml here)".to_owned(),
        |path| format!("{}, good", path.display()),
    );
    print_field("config", &[origin])?;
    print_field("server", &summary::server(&config.lichess.url))?;
    let engine = summary::engine(&config.engine, &evaluator(&config.engine)?);
    print_field("engine", &[engine])?;
    let tables = tables(&config.engine);
    print_field("tablebase", &summary::tables(tables.as_deref()))?;
    print_field("book", &books(&config.book))?;
    print_field("data", &[state(config)?, socket(config)])?;
    print_field("crashes", crashes(config).as_slice())?;
    print_field("accepts", &summary::accepts(&config.challenge))?;
    print_field("lists", &lists(config, offline)?)?;
    print_field("matchmaking", &summary::matchmaking(config))?;
    print_field("arenas", &summary::arenas(&config.arena))?;
    print_field("chat", &summary::chat(&config.chat, "Megaton"))?;
    print_field("page", &[page(&config.panel)])?;
    print_field("log", &[log(&config.log)?])?;
    let exposed = config.exposed_secrets();
    let exposed: Vec<String> = exposed.iter().map(|it| format!("WARNING: {it}")).collect();
    print_field("secrets", &exposed)?;
    let delivery = Delivery::read(&config.alerts).map_err(Failure::of_setup)?;
    let alerts = delivery.webhook.map_or_else(
        || "disabled: no webhook_file set in [alerts]".to_owned(),
        |address| format!("webhook at {}", address.host()),
    );
    let heartbeat = delivery.heartbeat;
    let heartbeat = heartbeat.map(|address| format!("heartbeat to {}", address.host()));
    let alerts: Vec<String> = iter::once(alerts).chain(heartbeat).collect();
    print_field("alerts", &alerts)?;
    if offline {
        let token = token_unverified(config.lichess.token_file.as_deref());
        return print_field("token", token.as_slice());
    }
    let client = account::client(config)?;
    if let Some(proxy) = client.proxy() {
        print_field("proxy", &[proxy])?;
    }
    runtime::block_on(online(&client, config))
}

fn print_field(about: &str, lines: &[impl AsRef<str>]) -> Result<(), Failure> {
    let mut lines = lines.iter().map(AsRef::as_ref);
    lines.try_for_each(|line| output::print(output::field(about, output::plain(line))))
}

/// What can be said of the token without the server, if there is one.
fn token_unverified(file: Option<&Path>) -> Option<String> {
    match Token::from_env_or_file(file) {
        Ok(_) => Some("read, but not verified".to_owned()),
        Err(TokenError::Absent) => None,
        Err(error) => Some(format!("WARNING: {error}")),
    }
}

/// Reads the lists; offline only those in files. Without a data folder no copies are read or kept.
fn lists(config: &Config, offline: bool) -> Result<Vec<String>, Failure> {
    let settings = Arc::new(config.clone());
    let mut lists = ListRefresher::new(settings, &ListSources::default(), BotTiming::default());
    runtime::block_on(async {
        if offline {
            lists.read_disk().await;
        } else {
            lists.fetch_all().await;
        }
        Ok(())
    })?;
    let mut read = lists.state();
    read.retain(|(list, _)| !offline || list.starts_with("file:"));
    Ok(summary::lists_read(&read))
}

/// The books that can be used, and what is wrong with the others.
fn books(rules: &BookRules) -> Vec<String> {
    if !rules.enabled {
        return vec!["none: [book] enabled is false".to_owned()];
    }
    let (books, faults) = Books::open(&rules.files, rules.built_in);
    let built_in = if rules.built_in {
        ", the one in the program included"
    } else {
        ""
    };
    let found = format!("books that can be used: {}{built_in}", books.len());
    let faults = faults.into_iter();
    let faults = faults.map(|fault| format!("WARNING: [book] files: {fault}; skipped"));
    iter::once(found).chain(faults).collect()
}

/// The address of the page, and whether it accepts commands.
fn page(panel: &Panel) -> String {
    let Some(address) = panel.listen else {
        return "none: [panel] listen is empty".to_owned();
    };
    match panel.token_file.as_deref().map(check_password) {
        None => format!("http://{address}, read-only: [panel] token_file names no password"),
        Some(Ok(())) => format!("http://{address}, full control with the password"),
        Some(Err(error)) => {
            format!(
                "WARNING: http://{address}, closed without its password: [panel] token_file: {error}"
            )
        }
    }
}

/// Where the bot keeps its state; an error if it could not.
fn state(config: &Config) -> Result<String, Failure> {
    let Some(folder) = config.data.home(&config.lichess) else {
        let lost = "nothing: without [data] folder every start begins with empty state and quota";
        return Ok(lost.to_owned());
    };
    let shown = folder.display();
    if let Some(fault) = fault_in_folder(&folder) {
        return Err(Failure::setup(format!("[data] folder: {fault}")));
    }
    Store::check(&folder).map_err(Failure::of_setup)?;
    let later = if folder.is_dir() {
        ""
    } else {
        ", created at the first run"
    };
    Ok(format!("state in {shown}{later}"))
}

/// The reports of panics, if there are any.
fn crashes(config: &Config) -> Option<String> {
    let reports = panel::crash_reports(&config.data.home(&config.lichess)?);
    let latest = reports.first()?.display();
    let count = output::count_in_words(reports.len(), "report of a panic", "reports of panics");
    Some(format!("WARNING: {count}, the latest {latest}"))
}

/// Where the log goes; an error if the bot could not write its file.
fn log(log: &Log) -> Result<String, Failure> {
    let Some(file) = &log.file else {
        return Ok("stderr".to_owned());
    };
    log_file::check(file).map_err(Failure::setup)?;
    Ok(format!(
        "stderr, and {} with the day in its name; {} are kept",
        file.display(),
        log.files
    ))
}

fn socket(config: &Config) -> String {
    let Some(path) = config.data.socket_path(&config.lichess) else {
        return "no control socket: `megaton status` and other control commands cannot reach the bot".to_owned();
    };
    match ControlSocket::check(&path) {
        Ok(()) => format!("the control socket {}", path.display()),
        Err(ControlSocketError::InUse(_)) => {
            "a bot runs with this config already: see `megaton status`".to_owned()
        }
        Err(error) => format!("WARNING: the bot could not be controlled: {error}"),
    }
}

async fn online(client: &Client, config: &Config) -> Result<(), Failure> {
    let url = &config.lichess.url;
    let Identity { token, account } = account::ask(client, url).await?;
    let scopes = summary::scopes(config);
    let lines = token.as_ref().map_or_else(
        || vec!["valid; this server does not report token scopes".to_owned()],
        |token| summary::token(token, &scopes, SystemTime::now()),
    );
    print_field("token", &lines)?;
    print_field("account", &summary::account(&account))?;
    let website = "not checked: set Preferences, Privacy, so that other players can always \
                   challenge the bot";
    print_field("website", &[website])?;
    if let Some(obstacle) = summary::obstacle(url, token.as_ref(), &account) {
        return Err(Failure::setup(obstacle));
    }
    if let Some(folder) = config.data.home(&config.lichess) {
        let owner = Store::check(&folder).map_err(Failure::of_setup)?;
        check_owner(&folder, owner, &account).map_err(Failure::of_setup)?;
    }
    let teams = &config.arena.teams;
    if !teams.is_empty() {
        let ours = client.teams_of(&account.id).await;
        let ours = ours.map_err(|error| Failure::failed(account::trouble(url, &error)))?;
        let foreign = config::foreign_teams(teams, &ours).into_iter();
        let foreign: Vec<String> = foreign.map(|team| format!("WARNING: {team}")).collect();
        print_field("teams", &foreign)?;
    }
    let plays = format!("`megaton run` plays as {}", account.username);
    print_field("result", &[plays])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_can_be_created_passes() {
        let ground = tempfile::tempdir().unwrap();
        let keeping_in = |folder: Option<&str>| {
            let mut config = Config::default();
            config.data.folder = folder.map(|folder| ground.path().join(folder));
            Ok::<_, Failure>([state(&config)?, socket(&config)])
        };
        let said = keeping_in(Some("a/b")).unwrap();
        assert!(said[0].ends_with("created at the first run"), "{said:?}");
        assert!(said[1].ends_with("control.sock"), "{said:?}");
        fs::write(ground.path().join("file"), "").unwrap();
        let error = keeping_in(Some("file/x")).unwrap_err();
        let Failure::Setup(error) = error else {
            panic!("a setup that cannot work");
        };
        assert!(error.to_string().ends_with("is not a folder"), "{error}");
        assert!(keeping_in(None).unwrap()[0].starts_with("nothing"));
    }
}
