//! What the service manager is told: that the bot has begun, how it is, that it ends.
//!
//! The watchdog is fed only while the bot answers and the engine passes its test; a server that
//! cannot be reached is no reason to be started anew. Without a service manager nothing is told.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::health::Health;
use super::watch::Watch;
use crate::bot::{State, Status};

/// Longest time between two words.
const LONGEST: Duration = Duration::from_secs(10);
/// More time that is asked for while games are played to their end.
const EXTENSION: Duration = Duration::from_secs(40);

/// Tells the service manager for ever; at once that the bot has begun.
pub async fn attend(health: Health, watch: Watch) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return std::future::pending().await;
    }
    let watchdog = sd_notify::watchdog_enabled();
    let pause = pause(watchdog);
    tell(vec![Word::Ready]).await;
    let mut said = String::new();
    let mut ending = false;
    let mut hungry: Option<Instant> = None;
    loop {
        let mut words = Vec::new();
        if let Some(status) = watch.status() {
            let line = line(&status);
            if line != said {
                words.push(Word::Status(line.clone()));
                said = line;
            }
            if status.state == State::Draining {
                if !std::mem::replace(&mut ending, true) {
                    words.push(Word::Stopping);
                }
                words.push(Word::Longer);
            }
        }
        let report = health.report();
        if report.alive {
            hungry = None;
            words.extend(watchdog.map(|_| Word::Fed));
        } else if hungry.is_none() {
            hungry = Some(Instant::now());
            let wrong = report.checks.iter().filter(|check| !check.ok);
            let wrong: Vec<&str> = wrong.map(|check| check.text.as_str()).collect();
            tracing::error!(reasons = wrong.join("; "), "the watchdog is not fed");
        }
        tell(words).await;
        tokio::time::sleep(pause).await;
    }
}

/// Several words fit into the time after which the watchdog bites.
fn pause(watchdog: Option<Duration>) -> Duration {
    watchdog.map_or(LONGEST, |limit| (limit / 3).min(LONGEST))
}

/// Something that the service manager is told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Ready,
    Status(String),
    Fed,
    Stopping,
    Longer,
}

impl Word {
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
async fn tell(words: Vec<Word>) {
    if words.is_empty() {
        return;
    }
    let told = tokio::task::spawn_blocking(move || {
        let states: Vec<NotifyState<'_>> = words.iter().map(Word::as_state).collect();
        sd_notify::notify(&states)
    });
    if let Ok(Err(error)) = told.await {
        tracing::debug!(%error, "the service manager cannot be told anything");
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
        some => format!("; ALARM: {some}"),
    };
    format!(
        "{account} {}; {games}{stream}{alarms}",
        status.state.describe()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{AlarmLine, Game, Stream};

    #[test]
    fn the_state_is_one_line() {
        let mut status = Status {
            account: Some("Megaton".to_owned()),
            state: State::Playing,
            stream: Stream {
                open: true,
                ..Stream::default()
            },
            games: vec![Game::default()],
            ..Status::default()
        };
        assert_eq!(line(&status), "Megaton takes challenges; one game");
        status.stream.open = false;
        status.games.clear();
        status.alarms.push(AlarmLine {
            kind: "token".to_owned(),
            ..AlarmLine::default()
        });
        assert_eq!(
            line(&status),
            "Megaton takes challenges; no game; not connected; ALARM: token"
        );
    }

    #[test]
    fn the_watchdog_is_fed_several_times_before_it_bites() {
        assert_eq!(pause(None), LONGEST);
        assert_eq!(pause(Some(Duration::from_secs(6))), Duration::from_secs(2));
        assert_eq!(pause(Some(Duration::from_secs(600))), LONGEST);
    }
}
