//! What the service manager is told: that the bot has begun, how it is, that it ends.
//!
//! The watchdog is fed only while the bot answers and the engine passes its test; a server that
//! cannot be reached is no reason to be started anew. Without a service manager nothing is told.

use std::time::Duration;

use sd_notify::NotifyState;

use super::health::{Health, HealthReport};
use super::status_poller::StatusWatch;
use crate::bot::restart_on_panic;
use crate::bot::{BotPhase, Status};

/// Longest time between two words.
const LONGEST: Duration = Duration::from_secs(10);
/// More time that is asked for while games are played to their end.
const EXTENSION: Duration = Duration::from_secs(40);

/// Before it is told again after a panic.
const REVIVE: Duration = Duration::from_secs(1);

/// Tells the service manager for ever; at once that the bot has begun.
pub async fn attend(health: Health, watch: StatusWatch) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return std::future::pending().await;
    }
    // A watchdog that is not fed ends the bot.
    restart_on_panic("what tells the service manager", REVIVE, || {
        feed(&health, &watch)
    })
    .await;
}

async fn feed(health: &Health, watch: &StatusWatch) {
    let watchdog = sd_notify::watchdog_enabled();
    let pause = pause(watchdog);
    tell(vec![SystemdMessage::Ready]).await;
    let mut said = Notified {
        watched: watchdog.is_some(),
        ..Notified::default()
    };
    loop {
        let words = said.next(watch.status().as_deref(), &health.report());
        tell(words).await;
        tokio::time::sleep(pause).await;
    }
}

/// What was said, and is not said again.
#[derive(Debug, Default)]
struct Notified {
    /// Whether there is a watchdog to be fed.
    watched: bool,
    line: String,
    ending: bool,
    /// That the watchdog is not fed.
    hungry: bool,
}

impl Notified {
    /// What there is to say of a bot that is so.
    fn next(&mut self, status: Option<&Status>, report: &HealthReport) -> Vec<SystemdMessage> {
        let mut words = Vec::new();
        if let Some(status) = status {
            let line = line(status);
            if line != self.line {
                words.push(SystemdMessage::Status(line.clone()));
                self.line = line;
            }
            if status.state == BotPhase::Draining {
                if !std::mem::replace(&mut self.ending, true) {
                    words.push(SystemdMessage::Stopping);
                }
                words.push(SystemdMessage::Longer);
            }
        }
        if report.alive {
            self.hungry = false;
            words.extend(self.watched.then_some(SystemdMessage::Fed));
        } else if !std::mem::replace(&mut self.hungry, true) {
            let wrong = report.checks.iter().filter(|check| !check.ok);
            let wrong: Vec<&str> = wrong.map(|check| check.text.as_str()).collect();
            tracing::error!(reasons = wrong.join("; "), "watchdog not notified");
        }
        words
    }
}

/// Several words fit into the time after which the watchdog bites.
fn pause(watchdog: Option<Duration>) -> Duration {
    watchdog.map_or(LONGEST, |limit| (limit / 3).min(LONGEST))
}

/// Something that the service manager is told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SystemdMessage {
    Ready,
    Status(String),
    Fed,
    Stopping,
    Longer,
}

impl SystemdMessage {
    fn as_state(&self) -> NotifyState<'_> {
        match self {
            Self::Ready => NotifyState::Ready,
            Self::Status(line) => NotifyState::Status(line),
            Self::Fed => NotifyState::Watchdog,
            Self::Stopping => NotifyState::Stopping,
            Self::Longer => NotifyState::ExtendTimeoutUsec(EXTENSION.as_micros() as u32),
        }
    }
}

/// Tells it, on a thread that may be kept waiting.
async fn tell(words: Vec<SystemdMessage>) {
    if words.is_empty() {
        return;
    }
    let told = tokio::task::spawn_blocking(move || {
        let states: Vec<NotifyState<'_>> = words.iter().map(SystemdMessage::as_state).collect();
        sd_notify::notify(&states)
    });
    if let Ok(Err(error)) = told.await {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}

/// How the bot is, in one line.
fn line(status: &Status) -> String {
    let games = match status.games.len() {
        0 => "no game".to_owned(),
        1 => "one game".to_owned(),
        games => format!("{games} games"),
    };
    let account = status.account.as_deref().unwrap_or("the bot");
    let stream = if status.stream.open {
        ""
    } else {
        "; not connected"
    };
    let alarms: Vec<&str> = status.alarms.iter().map(|it| it.kind.as_str()).collect();
    let alarms = match alarms.join(", ") {
        none if none.is_empty() => none,
        some => format!("; ALERT: {some}"),
    };
    format!(
        "{account} {}; {games}{stream}{alarms}",
        status.state.describe()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{AlertStatus, EventStreamStatus, GameStatus, channel};
    use crate::panel::SelfTest;

    #[test]
    fn the_state_is_one_line() {
        let mut status = Status {
            account: Some("Megaton".to_owned()),
            state: BotPhase::Playing,
            stream: EventStreamStatus {
                open: true,
                ..EventStreamStatus::default()
            },
            games: vec![GameStatus::default()],
            ..Status::default()
        };
        assert_eq!(line(&status), "Megaton accepts challenges; one game");
        status.stream.open = false;
        status.games.clear();
        status.alarms.push(AlertStatus {
            kind: "token".to_owned(),
            ..AlertStatus::default()
        });
        assert_eq!(
            line(&status),
            "Megaton accepts challenges; no game; not connected; ALERT: token"
        );
    }

    #[test]
    fn the_watchdog_is_fed_several_times_before_it_bites() {
        assert_eq!(pause(None), LONGEST);
        assert_eq!(pause(Some(Duration::from_secs(6))), Duration::from_secs(2));
        assert_eq!(pause(Some(Duration::from_secs(600))), LONGEST);
    }

    #[test]
    fn the_watchdog_starves_while_the_bot_does_not_answer_or_its_engine_fails() {
        let (watch, _watcher) = StatusWatch::new(channel().0);
        let silent = watch.clone().in_vain_for(Duration::from_secs(30));
        let health = |watch: &StatusWatch, engine| Health::new(watch.clone(), engine, None);
        let well = health(&watch, SelfTest::default());
        let deaf = health(&silent, SelfTest::default());
        let dull = health(&watch, SelfTest::failed("it plays a2a3"));
        let mut said = Notified {
            watched: true,
            ..Notified::default()
        };
        let mut is_fed = |health: &Health| {
            let words = said.next(Some(&Status::default()), &health.report());
            let mut words = words.iter().map(|word| word.as_state().to_string());
            words.any(|word| word == "WATCHDOG=1")
        };
        assert!(is_fed(&well));
        for ill in [&deaf, &dull] {
            assert!(!is_fed(ill));
            assert!(!is_fed(ill), "nor a second time");
            assert!(is_fed(&well), "again");
        }
    }
}
