//! `megaton init`: asks a few questions, or takes flags, and writes a starter config.
//!
//! It writes the config and the token's file and never overwrites either. Before it asks, it looks for
//! both, uses an existing token, and checks that the folder can be written. It reads back what it wrote;
//! then it does what `megaton check` does.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use megaton::config::Config;
use megaton::files::check_writable;
use megaton::lichess::{TOKEN_VARIABLE, Token};

use super::check;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::{output, prompt};

const LICHESS: &str = "https://lichess.org";
/// The token's file, beside the config.
const TOKEN_FILE: &str = "token.txt";
/// The page that creates tokens, with the useful scopes selected.
const TOKEN_PAGE: &str = "/account/oauth/token/create?scopes[]=bot:play&scopes[]=challenge:read\
                          &description=Megaton";

/// Ask a few questions and write a starter config
///
/// Asks for the server, the token, a contact and the opponents; flags answer in advance. With --yes,
/// or without a terminal, the rest take their defaults. Writes config.toml and, if you enter a token,
/// token.txt, readable only by you. Never overwrites a file; an existing token.txt is used, unless
/// `--token-file` names another. Then checks token and account and shows which challenges the bot
/// would accept. Exits with status 2 if anything would keep the bot from playing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton init
  megaton init --folder ~/atomic --contact you@example.org --token-file /run/secrets/token --yes
  megaton init --yes --opponents bots --modes casual --games 2 --offline")]
pub(crate) struct Args {
    /// Folder for the files
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Server URL [default: Lichess]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How Lichess staff can reach you: an email address or a link
    #[arg(long, value_name = "TEXT")]
    contact: Option<String>,
    /// File that already holds the token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Opponents to play [default: all]
    #[arg(long, value_name = "WHO")]
    opponents: Option<Opponents>,
    /// Modes to play [default: both]
    #[arg(long, value_name = "WHICH")]
    modes: Option<Modes>,
    /// Concurrent games [default: 8]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=100))]
    games: Option<u8>,
    /// Also challenge other bots
    #[arg(long)]
    matchmaking: bool,
    /// Do not prompt; use defaults for everything not given as a flag
    #[arg(short, long)]
    yes: bool,
    /// Do not verify the token with the server
    #[arg(long)]
    offline: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Opponents {
    #[default]
    All,
    Humans,
    Bots,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Modes {
    #[default]
    Both,
    Rated,
    Casual,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let path = args.folder.join("config.toml");
    if exists(&path) {
        return Err(Failure::setup(format!(
            "{} exists already: edit it, or move it away",
            path.display()
        )));
    }
    let asks = !args.yes && io::stdin().is_terminal();
    let mut draft = args.draft();
    // A wrong flag costs no answers; each answer is checked as it is given.
    Config::parse(&draft.text()).map_err(|fault| Failure::setup(fault.without_line()))?;
    if draft.token_file.is_none() {
        draft.token_file = existing_token(&args.folder)?;
    }
    fs::create_dir_all(&args.folder)
        .and_then(|()| check_writable(&path))
        .or_setup(format!("cannot write {}", path.display()))?;
    if asks {
        args.ask(&mut draft)?;
    }
    let typed = if asks { ask_token(&draft)? } else { None };
    if let Some(token) = typed {
        let file = args.folder.join(TOKEN_FILE);
        write_new(&file, &format!("{token}\n"), 0o600)?;
        print_field("wrote", format!("{}, readable only by you", file.display()))?;
        draft.token_file = Some(TOKEN_FILE.into());
    }
    write_new(&path, &draft.text(), 0o666)?;
    print_field("wrote", path.display())?;
    let config = Config::read(&path)?;
    if config.lichess.token_file.is_none() && !is_in_the_variable() {
        let page = format!("none yet: create one at {}{TOKEN_PAGE}", draft.url());
        print_field("token", page)?;
    }
    let outcome = check::report(&config, Some(&path), args.offline);
    let config = if path == Path::new("./config.toml") {
        String::new()
    } else {
        format!(" --config {}", path.display())
    };
    let next = format!(
        "megaton upgrade-account{config}   (once, if the account is not a bot yet)\n         \
         megaton run{config}"
    );
    print_field("next", next)?;
    outcome
}

fn print_field(about: &str, what: impl std::fmt::Display) -> Result<(), Failure> {
    output::print(format!("{about:<8} {what}"))
}

impl Args {
    fn draft(&self) -> ConfigDraft {
        let token_file = self.token_file.as_deref();
        ConfigDraft {
            url: self.url.clone(),
            contact: self.contact.clone(),
            // The config may lie in another folder than the current one.
            token_file: token_file
                .map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
            opponents: self.opponents.unwrap_or_default(),
            modes: self.modes.unwrap_or_default(),
            games: self.games,
            matchmaking: self.matchmaking,
        }
    }

    /// Asks for everything that no flag gives.
    fn ask(&self, draft: &mut ConfigDraft) -> Result<(), Failure> {
        prompt::write("Press Enter for the default in brackets.\n")?;
        if self.url.is_none() {
            let question = "Server [https://lichess.org]: ";
            draft.url = answer(question, |text| setting("url", text))?;
        }
        if self.contact.is_none() {
            let question = "How can Lichess staff reach you, an email address or link [none]: ";
            draft.contact = answer(question, |text| setting("contact", text))?;
        }
        if self.opponents.is_none() {
            draft.opponents = answer("Play all, humans or bots [all]: ", choice)?;
        }
        if self.modes.is_none() {
            draft.modes = answer("Play rated, casual or both [both]: ", choice)?;
        }
        if self.games.is_none() {
            draft.games = answer("Concurrent games [8]: ", |text| {
                let count = text.parse().ok().filter(|count| (1..=100).contains(count));
                Ok(Some(count.ok_or("Expected a number from 1 to 100.")?))
            })?;
        }
        if !self.matchmaking {
            let question = "Challenge other bots too, yes or no [no]: ";
            draft.matchmaking = answer(question, |text| match &*text.to_ascii_lowercase() {
                "y" | "yes" => Ok(true),
                "n" | "no" => Ok(false),
                _ => Err("Expected yes or no.".to_owned()),
            })?;
        }
        Ok(())
    }
}

/// Asks for the token, unless there is one already.
fn ask_token(draft: &ConfigDraft) -> Result<Option<String>, Failure> {
    if draft.token_file.is_some() || is_in_the_variable() {
        return Ok(None);
    }
    prompt::write(&format!(
        "Create a token for the bot's account at\n  {}{TOKEN_PAGE}\n",
        draft.url()
    ))?;
    loop {
        let typed = prompt::secret("Token (hidden) [later]: ")?;
        if typed.is_empty() {
            return Ok(None);
        }
        match Token::parse(&typed, "what was typed") {
            Ok(_) => return Ok(Some(typed)),
            Err(error) => prompt::write(&format!("{error}\n"))?,
        }
    }
}

/// Asks until the answer is valid; an empty one gives the default.
fn answer<T: Default>(
    question: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    loop {
        let typed = prompt::line(question)?;
        if typed.is_empty() {
            return Ok(T::default());
        }
        match parse(&typed) {
            Ok(value) => return Ok(value),
            Err(problem) => prompt::write(&format!("{problem}\n"))?,
        }
    }
}

/// The text, if a config may have it as this key of `[lichess]`.
fn setting(key: &str, text: &str) -> Result<Option<String>, String> {
    let parsed = Config::parse(&format!("lichess.{key} = {}", toml::Value::from(text)));
    parsed.map_err(|fault| fault.without_line())?;
    Ok(Some(text.to_owned()))
}

fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let names = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        format!("Expected one of {}.", names.join(", "))
    })
}

/// The token's file in the folder, as the config names it. An unusable one is an error.
fn existing_token(folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let file = folder.join(TOKEN_FILE);
    if !exists(&file) {
        return Ok(None);
    }
    Token::choose(None, Some(&file)).map_err(|error| {
        Failure::setup(format!(
            "{error}; write the token into it, move it away, or use --token-file"
        ))
    })?;
    let precedence = if is_in_the_variable() {
        format!("; {TOKEN_VARIABLE} takes precedence")
    } else {
        String::new()
    };
    let existing = format!("using the existing {}{precedence}", file.display());
    print_field("token", existing)?;
    Ok(Some(TOKEN_FILE.into()))
}

/// Whether the environment holds a token that is not blank.
fn is_in_the_variable() -> bool {
    let variable = std::env::var_os(TOKEN_VARIABLE);
    variable.is_some_and(|value| !value.to_string_lossy().trim().is_empty())
}

/// Whether a file or a link, even a broken one, has this name.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Writes a file that does not exist yet, with these permissions within the umask.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let written = options.open(path).and_then(|mut file| {
        let written = file.write_all(text.as_bytes());
        let synced = written.and_then(|()| file.sync_all());
        // What is left would pass for a config of defaults, and keep the next attempt from writing.
        synced.inspect_err(|_| drop(fs::remove_file(path)))
    });
    written.or_setup(format!("cannot write {}", path.display()))
}

/// The settings of a starter config.
#[derive(Clone, Debug, Default)]
struct ConfigDraft {
    url: Option<String>,
    contact: Option<String>,
    token_file: Option<PathBuf>,
    opponents: Opponents,
    modes: Modes,
    games: Option<u8>,
    matchmaking: bool,
}

impl ConfigDraft {
    fn url(&self) -> &str {
        let url = self.url.as_deref().unwrap_or(LICHESS);
        url.trim_end_matches('/')
    }

    /// The config in TOML. It sets only what differs from the defaults.
    fn text(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = String::from(
            "# Megaton's settings. Keys not listed here have their defaults: see config.example.toml.\n",
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[lichess]\nurl = {}", quoted(self.url()));
        if let Some(file) = &self.token_file {
            let _ = writeln!(text, "token_file = {}", quoted(&file.to_string_lossy()));
        }
        if let Some(contact) = &self.contact {
            let _ = writeln!(text, "contact = {}", quoted(contact));
        }
        if let Some(games) = self.games {
            let _ = writeln!(text, "\n[challenge]\nconcurrency = {games}");
        }
        for (who, others) in [("humans", Opponents::Bots), ("bots", Opponents::Humans)] {
            let rule = match self.modes {
                _ if self.opponents == others => "accept = false",
                Modes::Rated => "casual = false",
                Modes::Casual => "rated = false",
                Modes::Both => continue,
            };
            let _ = writeln!(text, "\n[challenge.{who}]\n{rule}");
        }
        if self.matchmaking {
            text.push_str("\n[matchmaking]\nenabled = true\n");
            if self.modes == Modes::Casual {
                text.push_str("\n[[matchmaking.profile]]\nname = \"blitz\"\nrated = false\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token.txt");
        write_new(&path, "one", 0o600).unwrap();
        assert!(write_new(&path, "two", 0o600).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn an_existing_token_is_read_before_any_question() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(existing_token(folder.path()), Ok(None)));
        let file = folder.path().join(TOKEN_FILE);
        for (content, problem) in [("", "it is empty"), ("two words", "a token is one word")] {
            fs::write(&file, content).unwrap();
            let Err(Failure::Setup(error)) = existing_token(folder.path()) else {
                panic!("{content:?} is not a token");
            };
            let said = error.to_string();
            assert!(said.contains(problem), "{said}");
            assert!(said.contains(&file.display().to_string()), "{said}");
            assert!(said.contains("--token-file"), "{said}");
        }
        fs::write(&file, "lip_there\n").unwrap();
        let named = existing_token(folder.path()).unwrap();
        assert_eq!(named.as_deref(), Some(Path::new(TOKEN_FILE)));
        {
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("nowhere", &file).unwrap();
            assert!(existing_token(folder.path()).is_err());
        }
    }

    #[test]
    fn a_choice_is_one_of_the_listed_words() {
        assert_eq!(choice::<Opponents>("Bots"), Ok(Opponents::Bots));
        let wanted = choice::<Opponents>("cats").unwrap_err();
        assert_eq!(wanted, "Expected one of all, humans, bots.");
    }

    #[test]
    fn empty_answers_change_nothing() {
        let config = Config::parse(&ConfigDraft::default().text()).unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn the_answers_are_in_the_config() {
        for opponents in [Opponents::All, Opponents::Humans, Opponents::Bots] {
            for modes in [Modes::Both, Modes::Rated, Modes::Casual] {
                let draft = ConfigDraft {
                    url: Some("http://127.0.0.1:8642/".to_owned()),
                    contact: Some("\"quoted\" \\ back".to_owned()),
                    token_file: Some("a b/\"token\".txt".into()),
                    opponents,
                    modes,
                    games: Some(3),
                    matchmaking: true,
                };
                let config = Config::parse(&draft.text()).unwrap();
                assert_eq!(config.lichess.url, "http://127.0.0.1:8642");
                assert_eq!(config.lichess.token_file, draft.token_file);
                assert_eq!(config.lichess.contact, draft.contact);
                let challenge = &config.challenge;
                assert_eq!(challenge.concurrency, 3);
                assert_eq!(challenge.humans.accept, opponents != Opponents::Bots);
                assert_eq!(challenge.bots.accept, opponents != Opponents::Humans);
                for rules in [&challenge.humans, &challenge.bots] {
                    if rules.accept {
                        assert_eq!(rules.rated, modes != Modes::Casual);
                        assert_eq!(rules.casual, modes != Modes::Rated);
                    }
                }
                assert!(config.matchmaking.enabled);
                assert_eq!(config.matchmaking.profile[0].rated, modes != Modes::Casual);
            }
        }
    }
}
