//! What several commands need before they can begin: the config and the log options.

use std::fs;
#[cfg(unix)]
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use megaton::config::{Config, Engine, Format, Level, Log};
use megaton::engine::Evaluator;
use megaton::tablebase::Syzygy;

use super::failure::Failure;

/// The config that is read when none is named and this exists.
const USUAL_CONFIG: &str = "config.toml";

/// Where the settings come from.
#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// Config file [default: config.toml if present, else built-in defaults]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file that is read, if one is.
    fn path(&self) -> Option<PathBuf> {
        let usual = Path::new(USUAL_CONFIG);
        let usual = || usual.exists().then(|| usual.to_owned());
        self.config.clone().or_else(usual)
    }

    /// The settings, and the file that they came from.
    pub(super) fn load(&self) -> Result<(Config, Option<PathBuf>), Failure> {
        let Some(path) = self.path() else {
            return Ok((Config::default(), None));
        };
        let config = Config::read(&path)?;
        if let Some(machine) = memory().filter(|machine| config.engine.hash > *machine) {
            let hash = config.engine.hash;
            return Err(Failure::setup(format!(
                "{}: [engine] hash: {hash} MB exceeds this machine's {machine} MB",
                path.display()
            )));
        }
        Ok((config, Some(path)))
    }
}

/// Which running bot is spoken to.
#[cfg(unix)]
#[derive(Debug, Args)]
pub(super) struct BotArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Control socket of the bot, instead of the config's
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
}

#[cfg(unix)]
impl BotArgs {
    /// The control socket. A running bot has read its config long ago: one that is wrong by now
    /// must not keep anyone from pausing it.
    pub(super) fn socket(&self) -> Result<Option<PathBuf>, Failure> {
        if let Some(socket) = &self.socket {
            return Ok(Some(socket.clone()));
        }
        let Some(path) = self.config.path() else {
            let config = Config::default();
            return Ok(config.data.socket_path(&config.lichess));
        };
        let error = match Config::read(&path) {
            Ok(config) => return Ok(config.data.socket_path(&config.lichess)),
            Err(error) => error,
        };
        let (lichess, data) = Config::read_places(&path);
        let Some(socket) = data.socket_path(&lichess).filter(|_| path.exists()) else {
            return Err(error.into());
        };
        // Where stderr is closed, the answer still comes.
        let _ = writeln!(
            io::stderr().lock(),
            "megaton: warning: {error}\nmegaton: warning: trying the socket {}; --socket PATH \
             names another",
            socket.display()
        );
        Ok(Some(socket))
    }
}

/// The memory of this machine in megabytes, where the system tells.
fn memory() -> Option<usize> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let total = told
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = total.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// What judges positions.
#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    /// Evaluate with this net file, or with the `classical` evaluation [default: the built-in net]
    #[arg(long, value_name = "FILE")]
    eval_file: Option<PathBuf>,
}

impl EvalArgs {
    pub(super) fn evaluator(&self) -> Result<Evaluator, Failure> {
        let named = Evaluator::named(self.eval_file.as_deref().unwrap_or(Path::new("")));
        named.map_err(|error| Failure::setup(format!("--eval-file: {error}")))
    }
}

/// The evaluation that the config names.
pub(super) fn evaluator(engine: &Engine) -> Result<Evaluator, Failure> {
    let named = Evaluator::named(engine.eval_file.as_deref().unwrap_or(Path::new("")));
    named.map_err(|error| {
        Failure::setup(format!(
            "[engine] eval_file: {error}; \"\" is the built-in net, \"classical\" the evaluation without a net"
        ))
    })
}

/// The endgame tables in the folders that the config names, if it names any.
pub(super) fn tables(engine: &Engine) -> Result<Option<Arc<Syzygy>>, Failure> {
    if engine.syzygy_path.is_empty() {
        return Ok(None);
    }
    let opened = Syzygy::open(&engine.syzygy_path);
    let tables =
        opened.map_err(|error| Failure::setup(format!("[engine] syzygy_path: {error}")))?;
    Ok(Some(Arc::new(tables)))
}

/// How it logs, over the config.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Log level: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    log_level: Option<Level>,
    /// Log format: text, or one JSON object per line
    #[arg(long, value_name = "text|json", value_parser = parse_format)]
    log_format: Option<Format>,
}

impl LogArgs {
    /// The settings with what was typed put over them.
    pub(super) fn over(&self, log: &Log) -> Log {
        Log {
            level: self.log_level.unwrap_or(log.level),
            format: self.log_format.unwrap_or(log.format),
        }
    }
}

fn parse_level(word: &str) -> Result<Level, String> {
    Ok(match word {
        "off" => Level::Off,
        "error" => Level::Error,
        "warn" => Level::Warn,
        "info" => Level::Info,
        "debug" => Level::Debug,
        "trace" => Level::Trace,
        _ => return Err("use off, error, warn, info, debug or trace".to_owned()),
    })
}

fn parse_format(word: &str) -> Result<Format, String> {
    match word {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("use text or json".to_owned()),
    }
}
