//! The config, read again while the bot runs: what changed is said, a bad file changes nothing.
//!
//! One task does it, anyone who asks; two requests at once are two reloads, one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::bot::{Command, ControlHandle, EventLog, Reply, Settings};
use crate::config::Config;

/// How long the bot may take to hear of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Reloads that may wait.
const MOST_WAITING: usize = 4;

type ReloadOutcome = Result<String, String>;

/// Someone asks for a reload.
#[derive(Debug)]
struct ReloadRequest {
    /// By which way it came, in a word or two.
    via: &'static str,
    answer: oneshot::Sender<ReloadOutcome>,
}

/// Asks for a reload. Clones ask the same task.
#[derive(Clone, Debug)]
pub struct Reload(mpsc::Sender<ReloadRequest>);

impl Reload {
    /// Reads the config again, for someone who asks by this way.
    ///
    /// # Errors
    /// When the old one stays; says why.
    pub async fn now(&self, via: &'static str) -> ReloadOutcome {
        let ended = || "the bot is shutting down".to_owned();
        let (answer, outcome) = oneshot::channel();
        self.0
            .send(ReloadRequest { via, answer })
            .await
            .map_err(|_| ended())?;
        outcome.await.map_err(|_| ended())?
    }
}

/// Reads the config again when asked to.
#[derive(Debug)]
pub struct Reloader {
    path: Option<PathBuf>,
    current: Config,
    control: ControlHandle,
    event_log: Option<EventLog>,
    asked: mpsc::Receiver<ReloadRequest>,
}

impl Reloader {
    /// For a bot that runs with this config out of this file.
    pub fn new(path: Option<PathBuf>, current: Config, control: ControlHandle) -> (Self, Reload) {
        let (sender, asked) = mpsc::channel(MOST_WAITING);
        let reloader = Self {
            path,
            current,
            control,
            event_log: None,
            asked,
        };
        (reloader, Reload(sender))
    }

    /// One that also writes down what came to nothing; the rest the bot itself writes down.
    #[must_use]
    pub fn noting(mut self, event_log: EventLog) -> Self {
        self.event_log = Some(event_log);
        self
    }

    /// Serves until no one can ask any more.
    pub async fn run(mut self) {
        while let Some(ReloadRequest { via, answer }) = self.asked.recv().await {
            let outcome = self.reload(via).await;
            if let Err(why) = &outcome {
                tracing::error!("config unchanged: {why}");
                if let Some(event_log) = &self.event_log {
                    let text = format!("reload: refused, {why} (by {via})");
                    event_log.note("operator", text, None);
                }
            }
            // Anyone who asked may have left.
            let _ = answer.send(outcome);
        }
    }

    async fn reload(&mut self, via: &'static str) -> ReloadOutcome {
        let Some(path) = self.path.clone() else {
            return Err("there is no config file: the bot runs with built-in defaults".to_owned());
        };
        let read = tokio::task::spawn_blocking(move || Config::read(&path)).await;
        let config = read
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        let changes = self.current.changes(&config);
        // Said all the same: a command may have changed what the file has not.
        let settings = Arc::new(Settings::from(&config));
        let control = self.control.by(via);
        match control.ask(Command::Reload(settings), PATIENCE).await {
            Ok(Reply::Done(_)) => {}
            Ok(Reply::Refused(why)) => return Err(why),
            Ok(Reply::Status(_)) => return Err("unexpected response from the bot".to_owned()),
            Err(unheard) => return Err(unheard.to_string()),
        }
        self.current = config;
        if changes.is_empty() {
            return Ok("no changes".to_owned());
        }
        for change in &changes {
            tracing::info!("config: {change}");
        }
        let lines: Vec<String> = changes.iter().map(ToString::to_string).collect();
        Ok(lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bot::channel;

    #[tokio::test]
    async fn a_bad_file_changes_nothing_and_a_good_one_says_what_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "[challenge]\nconcurrency = 4\n").unwrap();
        let current = Config::read(&path).unwrap();
        let (control, mut commands) = channel();
        let bot = tokio::spawn(async move {
            let mut seats = Vec::new();
            while seats.len() < 3 {
                let order = commands.next().await;
                if let Command::Reload(settings) = &order.command {
                    seats.push(settings.challenge.concurrency);
                }
                order.answer(Reply::done("reloaded"));
            }
            seats
        });
        let (reloader, reload) = Reloader::new(Some(path.clone()), current, control);
        let task = tokio::spawn(reloader.run());
        assert_eq!(reload.now("a test").await, Ok("no changes".to_owned()));
        fs::write(&path, "[challenge]\nconcurency = 5\n").unwrap();
        let why = reload.now("a test").await.unwrap_err();
        assert!(
            why.contains("2: [challenge] concurency: unknown key"),
            "{why}"
        );
        fs::write(&path, "[challenge]\nconcurrency = 5\n").unwrap();
        let said = reload.now("a test").await;
        assert_eq!(said, Ok("[challenge] concurrency: 4 -> 5".to_owned()));
        assert_eq!(reload.now("a test").await, Ok("no changes".to_owned()));
        assert_eq!(bot.await.unwrap(), [4, 5, 5]);
        drop(reload);
        task.await.unwrap();
    }
}
