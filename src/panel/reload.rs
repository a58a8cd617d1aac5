//! Rereads the config and the secrets while the bot runs and reports the changes. An invalid file changes
//! nothing.
//!
//! One task does it, so concurrent requests run one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};

use super::secrets::Secrets;
use crate::bot::{Command, ControlHandle, EventLog, Reply};
use crate::config::Config;

/// Time for the bot to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before the task restarts after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// Requests that may wait.
const MOST_WAITING: usize = 4;

type ReloadOutcome = Result<String, String>;

#[derive(Debug)]
struct ReloadRequest {
    /// The source of the request, in a word or two.
    via: &'static str,
    answer: oneshot::Sender<ReloadOutcome>,
}

/// Requests reloads. Clones share the task.
#[derive(Clone, Debug)]
pub struct Reload {
    requests: mpsc::Sender<ReloadRequest>,
    path: Option<PathBuf>,
}

impl Reload {
    /// Rereads the config and returns the changes. `via` names the source of the request.
    ///
    /// # Errors
    /// When the old config or an old secret stays.
    pub async fn now(&self, via: &'static str) -> ReloadOutcome {
        let ended = || "the bot is shutting down".to_owned();
        let (answer, outcome) = oneshot::channel();
        self.requests
            .send(ReloadRequest { via, answer })
            .await
            .map_err(|_| ended())?;
        let dropped = |_| "the reload failed: see the log, and try again".to_owned();
        outcome.await.map_err(dropped)?
    }

    /// The file of the config, if there is one.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }
}

/// Why a config cannot be used here, if it cannot; otherwise warnings.
pub type ConfigCheck = fn(&Config) -> Result<Vec<String>, String>;

/// The task that rereads the config.
#[derive(Debug)]
pub struct Reloader {
    path: Option<PathBuf>,
    /// The server of this run.
    url: String,
    current: Config,
    control: ControlHandle,
    event_log: Option<EventLog>,
    secrets: Option<Secrets>,
    check: Option<ConfigCheck>,
    asked: mpsc::Receiver<ReloadRequest>,
}

impl Reloader {
    /// For a bot that runs with this config, read from this file.
    pub fn new(path: Option<PathBuf>, current: Config, control: ControlHandle) -> (Self, Reload) {
        let (requests, asked) = mpsc::channel(MOST_WAITING);
        let reload = Reload {
            requests,
            path: path.clone(),
        };
        let reloader = Self {
            path,
            url: current.lichess.url.clone(),
            current,
            control,
            event_log: None,
            secrets: None,
            check: None,
            asked,
        };
        (reloader, reload)
    }

    /// Also notes failures in the event log; successes are noted by the bot.
    #[must_use]
    pub fn noting(mut self, event_log: EventLog) -> Self {
        self.event_log = Some(event_log);
        self
    }

    /// Also refuses what this check refuses, what would end the next start, and repeats its warnings.
    #[must_use]
    pub fn checking(mut self, check: ConfigCheck) -> Self {
        self.check = Some(check);
        self
    }

    /// Also reads these secrets anew.
    #[must_use]
    pub fn renewing(mut self, secrets: Secrets) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Runs until all [`Reload`]s are dropped.
    pub async fn run(self) {
        let control = self.control.clone();
        let reloader = Mutex::new(self);
        let serve = || async { reloader.lock().await.serve().await };
        control
            .keep_running("the reloader", RESTART_PAUSE, serve)
            .await;
    }

    async fn serve(&mut self) {
        while let Some(ReloadRequest { via, answer }) = self.asked.recv().await {
            let outcome = self.reload(via).await;
            if let Err(why) = &outcome {
                tracing::error!("{why}");
                if let Some(event_log) = &self.event_log {
                    let text = format!("reload: refused, {why} (by {via})");
                    event_log.note("operator", text, None);
                }
            }
            // The requester may have given up.
            let _ = answer.send(outcome);
        }
    }

    async fn reload(&mut self, via: &'static str) -> ReloadOutcome {
        let reread = self.reread(via).await;
        let (mut lines, warnings) = reread.map_err(|why| format!("config unchanged: {why}"))?;
        let mut failures = Vec::new();
        if let Some(secrets) = &self.secrets {
            let (renewed, failed) = secrets.renew(&self.url, self.current.clone()).await;
            (lines, failures) = ([lines, renewed].concat(), failed);
        }
        lines.extend(warnings);
        for line in &lines {
            tracing::info!("config: {line}");
        }
        if !failures.is_empty() {
            return Err([failures, lines].concat().join("\n"));
        }
        let changes = (!lines.is_empty()).then(|| lines.join("\n"));
        Ok(changes.unwrap_or_else(|| "no changes".to_owned()))
    }

    /// Rereads the config; says what changed, and what to beware of.
    async fn reread(&mut self, via: &'static str) -> Result<(Vec<String>, Vec<String>), String> {
        #[cfg(test)]
        super::fault::strike();
        let Some(path) = self.path.clone() else {
            return Err("there is no config file: the bot runs with built-in defaults".to_owned());
        };
        let check = self.check;
        let read = tokio::task::spawn_blocking(move || {
            let config = Config::read(&path).map_err(|error| error.to_string())?;
            let warnings = check.map_or(Ok(Vec::new()), |check| check(&config))?;
            Ok::<_, String>((config, warnings))
        });
        let (config, warnings) = read.await.map_err(|error| error.to_string())??;
        let changes = self.current.changes(&config);
        // Sent even without changes: a command may have changed the settings.
        let settings = Arc::new(config.clone());
        let control = self.control.by(via);
        match control.ask(Command::Reload(settings), PATIENCE).await {
            Ok(Reply::Done(_)) => {}
            Ok(Reply::Refused(why)) => return Err(why),
            Ok(Reply::Status(_)) => return Err("unexpected response from the bot".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
        self.current = config;
        Ok((changes, warnings))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bot::{BotEvent, channel};

    #[tokio::test]
    async fn a_bad_config_changes_nothing_and_a_good_one_reports_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "[challenge]\nconcurrency = 4\n").unwrap();
        let current = Config::read(&path).unwrap();
        let (control, mut commands) = channel();
        let bot = tokio::spawn(async move {
            let mut slots = Vec::new();
            while slots.len() < 3 {
                let order = commands.next().await;
                if let Command::Reload(settings) = &order.command {
                    slots.push(settings.challenge.concurrency);
                }
                order.answer(Reply::done("reloaded"));
            }
            slots
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

    #[tokio::test]
    async fn what_would_end_the_next_start_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "").unwrap();
        let (control, _commands) = channel();
        let current = Config::read(&path).unwrap();
        let (reloader, reload) = Reloader::new(Some(path.clone()), current, control);
        let check: ConfigCheck = |config| match config.engine.hash {
            ..=100 => Ok(Vec::new()),
            hash => Err(format!("{hash} is too much")),
        };
        let task = tokio::spawn(reloader.checking(check).run());
        fs::write(&path, "[engine]\nhash = 200\n").unwrap();
        let refused = reload.now("a test").await;
        assert_eq!(refused, Err("config unchanged: 200 is too much".to_owned()));
        drop(reload);
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_of_the_reloader_is_reported_and_the_next_reload_works() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "").unwrap();
        let (control, mut commands) = channel();
        let mut failures = commands.take_failures();
        let current = Config::read(&path).unwrap();
        let (reloader, reload) = Reloader::new(Some(path), current, control);
        let task = tokio::spawn(super::super::fault::once(reloader.run()));
        let why = reload.now("a test").await.unwrap_err();
        assert_eq!(why, "the reload failed: see the log, and try again");
        let (again, ()) = tokio::join!(reload.now("a test"), async {
            commands.next().await.answer(Reply::done("reloaded"));
        });
        assert_eq!(again, Ok("no changes".to_owned()));
        let failure = failures.recv().await;
        assert!(
            matches!(&failure, Some(BotEvent::ServiceFailed { service: "the reloader", reason }) if reason == "an injected fault"),
            "{failure:?}"
        );
        drop(reload);
        task.await.unwrap();
    }
}
