//! `megaton init`: from nothing to a config, by a few questions or by flags.
//!
//! It writes two files, the config and the token's, and never over one that is there: both are looked
//! for before anything is asked, and a token that is there is used. What it writes is read back as any
//! config is; then the account is looked at as `megaton check` does.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use megaton::config::Config;
use megaton::lichess::{TOKEN_VARIABLE, Token};

use super::check;
use super::config_writer::{ConfigDraft, Modes, Opponents};
use super::failure::Failure;
use super::prompt;

/// The token's file, beside the config.
const TOKEN_FILE: &str = "token.txt";
/// Where tokens are made, with the boxes ticked that are of use.
const TOKEN_PAGE: &str = "/account/oauth/token/create?scopes[]=bot:play&scopes[]=challenge:read\
                          &scopes[]=challenge:write&description=Megaton";

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
pub(super) struct Args {
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
    /// Ask nothing; use defaults for everything not given as a flag
    #[arg(short, long)]
    yes: bool,
    /// Do not verify the token with the server
    #[arg(long)]
    offline: bool,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let path = args.folder.join("config.toml");
    if is_there(&path) {
        return Err(Failure::setup(format!(
            "{} exists already: edit it, or move it away",
            path.display()
        )));
    }
    let asks = !args.yes && io::stdin().is_terminal();
    let mut draft = args.draft();
    if draft.token_file.is_none() {
        draft.token_file = token_there(&args.folder)?;
    }
    if asks {
        args.ask(&mut draft)?;
    }
    // Before anything is written: what was answered must be a config.
    proven(&draft)?;
    let typed = if asks { Args::ask_token(&draft)? } else { None };
    fs::create_dir_all(&args.folder).map_err(|error| unwritable(&args.folder, &error))?;
    if let Some(token) = typed {
        let file = args.folder.join(TOKEN_FILE);
        write_new(&file, &format!("{token}\n"), Rights::Owner)?;
        say(&format!(
            "wrote    {}, readable only by you",
            file.display()
        ))?;
        draft.token_file = Some(TOKEN_FILE.into());
    }
    write_new(&path, &draft.text(), Rights::Usual)?;
    say(&format!("wrote    {}", path.display()))?;
    let config = Config::read(&path)?;
    let lacks = config.lichess.token_file.is_none() && !is_in_the_variable();
    if lacks {
        say(&format!(
            "token    none yet: create one at {}{TOKEN_PAGE}\n         and name its file with \
             [lichess] token_file, or set {TOKEN_VARIABLE}",
            draft.url()
        ))?;
    }
    let outcome = check::report(&config, Some(&path), args.offline || lacks);
    say(&next_steps(&path))?;
    outcome
}

impl Args {
    /// What the flags say.
    fn draft(&self) -> ConfigDraft {
        ConfigDraft {
            url: self.url.clone(),
            contact: self.contact.clone(),
            // The config may lie elsewhere than the one who names the file stands.
            token_file: self
                .token_file
                .as_deref()
                .map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned())),
            opponents: self.opponents.unwrap_or_default(),
            modes: self.modes.unwrap_or_default(),
            games: self.games,
            matchmaking: self.matchmaking,
        }
    }

    /// Asks for what no flag says.
    fn ask(&self, draft: &mut ConfigDraft) -> Result<(), Failure> {
        prompt::say("Press Enter for the default in brackets.\n")?;
        if self.url.is_none() {
            draft.url = answer("Server [https://lichess.org]: ", |text| Ok(text.to_owned()))?;
        }
        if self.contact.is_none() {
            draft.contact = answer(
                "How can Lichess staff reach you, an email address or link [none]: ",
                |text| Ok(text.to_owned()),
            )?;
        }
        if self.opponents.is_none() {
            let given = answer("Play all, humans or bots [all]: ", choice)?;
            draft.opponents = given.unwrap_or_default();
        }
        if self.modes.is_none() {
            let given = answer("Play rated, casual or both [both]: ", choice)?;
            draft.modes = given.unwrap_or_default();
        }
        if self.games.is_none() {
            draft.games = answer("Concurrent games [8]: ", |text| {
                let count = text.parse().ok().filter(|count| (1..=100).contains(count));
                count.ok_or_else(|| "a number from 1 to 100".to_owned())
            })?;
        }
        if !self.matchmaking {
            let given = answer(
                "Challenge other bots too, yes or no [no]: ",
                |text| match text.to_ascii_lowercase().as_str() {
                    "y" | "yes" => Ok(true),
                    "n" | "no" => Ok(false),
                    _ => Err("yes or no".to_owned()),
                },
            )?;
            draft.matchmaking = given.unwrap_or(false);
        }
        Ok(())
    }

    /// The token, if there is none yet and it is typed.
    fn ask_token(draft: &ConfigDraft) -> Result<Option<String>, Failure> {
        if draft.token_file.is_some() || is_in_the_variable() {
            return Ok(None);
        }
        prompt::say(&format!(
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
                Err(error) => prompt::say(&format!("{error}\n"))?,
            }
        }
    }
}

/// Asks until the answer can be read; nothing for an empty one.
fn answer<T>(prompt: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
    loop {
        let typed = prompt::line(prompt)?;
        if typed.is_empty() {
            return Ok(None);
        }
        match read(&typed) {
            Ok(value) => return Ok(Some(value)),
            Err(wanted) => prompt::say(&format!("Expected {wanted}.\n"))?,
        }
    }
}

/// One of a few words.
fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let names = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        format!("one of {}", names.join(", "))
    })
}

/// The token's file that lies in the folder already, as the config names it.
fn token_there(folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let file = folder.join(TOKEN_FILE);
    if !is_there(&file) {
        return Ok(None);
    }
    let read = Token::choose(None, Some(&file));
    read.map_err(|error| {
        Failure::setup(format!(
            "{error}; write the token into it, move it away, or use --token-file"
        ))
    })?;
    let rank = if is_in_the_variable() {
        format!("; {TOKEN_VARIABLE} takes precedence")
    } else {
        String::new()
    };
    say(&format!(
        "token    using the existing {}{rank}",
        file.display()
    ))?;
    Ok(Some(TOKEN_FILE.into()))
}

/// Whether the environment holds a token; a blank one is none, as where it is read.
fn is_in_the_variable() -> bool {
    let variable = std::env::var_os(TOKEN_VARIABLE);
    variable.is_some_and(|value| !value.to_string_lossy().trim().is_empty())
}

/// Whether nothing new can be made under this name: a link to nowhere is in the way as a file is.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether what was answered is a config.
fn proven(draft: &ConfigDraft) -> Result<(), Failure> {
    let parsed = Config::parse(&draft.text());
    parsed
        .map(drop)
        .map_err(|fault| Failure::setup(format!("invalid setting: {fault}")))
}

/// Who may read a file.
#[derive(Clone, Copy)]
enum Rights {
    Usual,
    Owner,
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str, rights: Rights) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if matches!(rights, Rights::Owner) {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = rights;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
    });
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::setup(format!("cannot write {}: {error}", path.display()))
}

/// What to type next.
fn next_steps(path: &Path) -> String {
    let config = if path == Path::new("./config.toml") {
        String::new()
    } else {
        format!(" --config {}", path.display())
    };
    format!(
        "next     megaton upgrade-account{config}   (once, if the account is not a bot yet)\n         \
         megaton run{config}"
    )
}

fn say(what: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{what}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token.txt");
        write_new(&path, "one", Rights::Owner).unwrap();
        assert!(write_new(&path, "two", Rights::Owner).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_token_that_is_there_is_read_before_anything_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(token_there(folder.path()), Ok(None)));
        let file = folder.path().join(TOKEN_FILE);
        for (content, problem) in [("", "it is empty"), ("two words", "a token is one word")] {
            fs::write(&file, content).unwrap();
            let Err(Failure::Setup(error)) = token_there(folder.path()) else {
                panic!("{content:?} is no token");
            };
            let said = error.to_string();
            assert!(said.contains(problem), "{said}");
            assert!(said.contains(&file.display().to_string()), "{said}");
            assert!(said.contains("--token-file"), "{said}");
        }
        fs::write(&file, "lip_there\n").unwrap();
        let named = token_there(folder.path()).unwrap();
        assert_eq!(named.as_deref(), Some(Path::new(TOKEN_FILE)));
        #[cfg(unix)]
        {
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("nowhere", &file).unwrap();
            assert!(token_there(folder.path()).is_err());
        }
    }

    #[test]
    fn a_choice_is_one_of_its_words() {
        assert_eq!(choice::<Opponents>("Bots"), Ok(Opponents::Bots));
        let wanted = choice::<Opponents>("cats").unwrap_err();
        assert_eq!(wanted, "one of all, humans, bots");
    }
}
