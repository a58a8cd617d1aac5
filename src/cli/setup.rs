//! Options and setup that several commands share: the config, the evaluator, logs, choices of words.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use megaton::archive::{ArchiveReader, FILE_NAME};
use megaton::config::{Config, Engine, Format, Level, Log};
use megaton::engine::Evaluator;
use megaton::tablebase::Syzygy;
use rustix::fs::Mode;

use super::failure::{Failure, OrFailure as _};
use super::log_file;

/// The config that is read by default, if it exists.
const USUAL_CONFIG: &str = "config.toml";

/// A config and its file, if it has one.
pub(super) type LoadedConfig = (Config, Option<PathBuf>);

#[derive(Debug, Default, Args)]
pub(super) struct ConfigArgs {
    /// Config file [default: config.toml if present, else built-in defaults]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The name of a config's file for messages.
pub(super) fn config_name(path: Option<&Path>) -> impl std::fmt::Display {
    path.unwrap_or(Path::new("defaults")).display()
}

impl ConfigArgs {
    pub(super) fn of(file: PathBuf) -> Self {
        Self { config: Some(file) }
    }

    fn path(&self) -> Option<PathBuf> {
        let usual = Path::new(USUAL_CONFIG);
        // A link that leads nowhere is a mistake, not a missing config.
        let usual = || usual.symlink_metadata().is_ok().then(|| usual.to_owned());
        self.config.clone().or_else(usual)
    }

    /// The config and its file; without a file the defaults.
    pub(super) fn load(&self) -> Result<LoadedConfig, Failure> {
        let Some(path) = self.path() else {
            return Ok((Config::default(), None));
        };
        let config = Config::read(&path)?;
        check_memory(&config).or_setup(path.display())?;
        Ok((config, Some(path)))
    }
}

/// Fails with a reason if this machine cannot run a bot with this config; gives warnings if it can.
pub(super) fn check_machine(config: &Config) -> Result<Vec<String>, String> {
    check_memory(config)?;
    read_evaluator(&config.engine)?;
    config.log.file.as_deref().map_or(Ok(()), log_file::check)?;
    let tables = tables(&config.engine);
    let faults = tables.iter().flat_map(|tables| tables.refused());
    let warning = |fault: &String| format!("WARNING: [engine] syzygy_path: {fault}");
    Ok(faults.map(warning).collect())
}

fn check_memory(config: &Config) -> Result<(), String> {
    let hash = config.engine.hash;
    let machine = machine_memory().filter(|machine| hash > *machine);
    machine.map_or(Ok(()), |machine| {
        Err(format!(
            "[engine] hash: {hash} MB exceeds this machine's {machine} MB"
        ))
    })
}

/// The memory of this machine in megabytes, if the system reports it.
fn machine_memory() -> Option<usize> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let total = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = total.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// From now on only this user can read what the process creates.
pub(super) fn create_privately() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// The running bot that a command talks to.
#[derive(Debug, Args)]
pub(super) struct BotArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Control socket of the bot, instead of the config's
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
}

impl BotArgs {
    /// Fails if the config cannot be used by this program.
    pub(super) fn check_config(&self) -> Result<(), Failure> {
        self.config.load().map(drop)
    }

    /// The control socket. A config that became invalid after the bot read it must not keep the
    /// operator from controlling the bot.
    pub(super) fn socket(&self) -> Result<Option<PathBuf>, Failure> {
        if let Some(socket) = &self.socket {
            return Ok(Some(socket.clone()));
        }
        let read = self.config.path().map(|path| (Config::read(&path), path));
        let (error, path) = match read {
            Some((Err(error), path)) => (error, path),
            read => {
                let config = read.and_then(|(read, _)| read.ok()).unwrap_or_default();
                return Ok(config.data.socket_path(&config.lichess));
            }
        };
        let (lichess, data) = Config::read_places(&path);
        let Some(socket) = data.socket_path(&lichess).filter(|_| path.exists()) else {
            return Err(error.into());
        };
        // Without stderr the command still works.
        let _ = writeln!(
            io::stderr().lock(),
            "megaton: warning: {error}\nmegaton: warning: trying the socket {}; --socket PATH \
             names another",
            socket.display()
        );
        Ok(Some(socket))
    }
}

#[derive(Debug, Args)]
pub(super) struct ArchiveArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Archive file to use, such as a backup, instead of the config's
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// An archive's file and the server whose games it holds.
#[derive(Debug)]
pub(super) struct ArchiveLocation {
    pub(super) path: PathBuf,
    /// The server's address, without a slash at its end.
    pub(super) site: String,
}

impl ArchiveArgs {
    pub(super) fn locate(&self) -> Result<ArchiveLocation, Failure> {
        let (config, _) = self.config.load()?;
        let home = || config.data.home(&config.lichess);
        let path = self.archive.clone();
        let path = path.or_else(|| home().map(|home| home.join(FILE_NAME)));
        let path = path.ok_or_else(|| {
            Failure::setup("[data] folder is empty: nothing is stored, so there is no archive")
        })?;
        let site = config.lichess.url.trim_end_matches('/').to_owned();
        Ok(ArchiveLocation { path, site })
    }

    pub(super) fn config(&self) -> Result<Config, Failure> {
        Ok(self.config.load()?.0)
    }

    pub(super) fn open(&self) -> Result<(ArchiveReader, ArchiveLocation), Failure> {
        let location = self.locate()?;
        Ok((ArchiveReader::open(&location.path)?, location))
    }
}

/// Whether an input file is `-`.
fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// An input file, or stdin.
pub(super) fn open_input(file: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(if is_stdin(file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::with_capacity(1 << 16, File::open(file)?))
    })
}

/// The name of an input file for messages.
pub(super) fn input_name(file: &Path) -> String {
    if is_stdin(file) {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    }
}

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    /// Evaluate with this net file, or with the `classical` evaluation [default: the built-in net]
    #[arg(long, value_name = "FILE")]
    eval_file: Option<PathBuf>,
}

impl EvalArgs {
    pub(super) fn evaluator(&self) -> Result<Evaluator, Failure> {
        named_evaluator(self.eval_file.as_deref()).or_setup("--eval-file")
    }
}

/// The evaluator that the config names.
pub(super) fn evaluator(engine: &Engine) -> Result<Evaluator, Failure> {
    read_evaluator(engine).map_err(Failure::setup)
}

fn read_evaluator(engine: &Engine) -> Result<Evaluator, String> {
    named_evaluator(engine.eval_file.as_deref()).map_err(|error| {
        format!(
            "[engine] eval_file: {error}; \"\" is the built-in net, \"classical\" the evaluation without a net"
        )
    })
}

fn named_evaluator(name: Option<&Path>) -> Result<Evaluator, impl std::fmt::Display> {
    Evaluator::named(name.unwrap_or(Path::new("")))
}

/// The endgame tables in the config's folders, if it names any.
pub(super) fn tables(engine: &Engine) -> Option<Arc<Syzygy>> {
    let folders = &engine.syzygy_path;
    (!folders.is_empty()).then(|| Arc::new(Syzygy::open_available(folders)))
}

/// How many threads this machine runs in parallel.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Log level, over those of config and environment: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    pub(super) log_level: Option<Level>,
    /// Log format: text, or one JSON object per line
    #[arg(long, value_name = "text|json", value_parser = parse_format)]
    log_format: Option<Format>,
}

impl LogArgs {
    /// These settings, changed by the options.
    pub(super) fn over(&self, log: &Log) -> Log {
        Log {
            level: self.log_level.unwrap_or(log.level),
            format: self.log_format.unwrap_or(log.format),
            ..log.clone()
        }
    }
}

fn parse_level(word: &str) -> Result<Level, String> {
    from_word(word).ok_or_else(|| "use off, error, warn, info, debug or trace".to_owned())
}

fn parse_format(word: &str) -> Result<Format, String> {
    from_word(word).ok_or_else(|| "use text or json".to_owned())
}

/// The variant that serde names by this word.
fn from_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// A word of the command line, its help (empty for none) and the value that it stands for.
pub(super) type Choice<T> = (&'static str, &'static str, T);

/// Parses one of these words, which the help lists.
pub(super) fn one_of<T>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let words = choices.iter().map(|(word, help, _)| {
        let word = PossibleValue::new(*word);
        if help.is_empty() {
            word
        } else {
            word.help(*help)
        }
    });
    PossibleValuesParser::new(words).try_map(|chosen| {
        let choice = choices.iter().find(|(word, ..)| *word == chosen);
        choice.map(|choice| choice.2).ok_or("no such word")
    })
}
