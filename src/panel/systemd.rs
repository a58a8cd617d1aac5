//! Notifications to the service manager: readiness, status, shutdown and watchdog.
//!
//! The watchdog is notified only while every bot answers and the engine passes its self-test. An
//! unreachable server is no reason for a restart. Without a service manager this does nothing.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use super::health::{Health, HealthReport};
use super::status_poller::StatusWatch;
use crate::bot::{BotPhase, Status};

/// Longest time between two notifications.
const LONGEST: Duration = Duration::from_secs(10);
/// Time that a draining bot requests with each notification, in microseconds.
const EXTENSION: u32 = 40_000_000;
/// Pause before the notifications restart after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// A bot of which the service manager hears until it has ended.
#[derive(Clone, Debug)]
pub struct Attended {
    pub health: Health,
    pub watch: StatusWatch,
    pub ended: CancellationToken,
}

/// Notifies the service manager of the process's bots for ever, first that they are ready.
pub async fn attend(bots: Vec<Attended>) {
    let Some(first) = bots.first() else { return };
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    // Without notifications the watchdog would end the process.
    first
        .watch
        .control()
        .keep_running("systemd notifications", RESTART_PAUSE, || {
            notify_always(&bots)
        })
        .await;
}

async fn notify_always(bots: &[Attended]) {
    let watchdog = sd_notify::watchdog_enabled();
    let pause = pause(watchdog);
    notify(vec![NotifyState::Ready.to_string()]).await;
    let mut notified = Notified {
        has_watchdog: watchdog.is_some(),
        ..Notified::default()
    };
    loop {
        let playing = bots.iter().filter(|bot| !bot.ended.is_cancelled());
        let states = playing.map(|bot| (bot.watch.status(), bot.health.report()));
        let states: Vec<BotState> = states.collect();
        notify(notified.next(&states)).await;
        tokio::time::sleep(pause).await;
    }
}

/// The status of a bot, if it answers, and its health.
type BotState = (Option<Arc<Status>>, HealthReport);

/// What the service manager knows already.
#[derive(Debug, Default)]
struct Notified {
    has_watchdog: bool,
    line: String,
    stopping: bool,
    /// The watchdog was not notified.
    starving: bool,
}

impl Notified {
    /// The next notifications, about the bots that have not ended.
    fn next(&mut self, bots: &[BotState]) -> Vec<String> {
        let mut messages = Vec::new();
        let known = bots.iter().filter_map(|(status, _)| status.as_deref());
        let known: Vec<&Status> = known.collect();
        if !known.is_empty() {
            let lines: Vec<String> = known.iter().map(|status| line(status)).collect();
            let line = lines.join(" | ");
            if line != self.line {
                messages.push(NotifyState::Status(&line).to_string());
                self.line = line;
            }
            if known
                .iter()
                .all(|status| status.state == BotPhase::Draining)
            {
                if !std::mem::replace(&mut self.stopping, true) {
                    messages.push(NotifyState::Stopping.to_string());
                }
                messages.push(NotifyState::ExtendTimeoutUsec(EXTENSION).to_string());
            }
        }
        if bots.iter().all(|(_, report)| report.alive) {
            self.starving = false;
            if self.has_watchdog {
                messages.push(NotifyState::Watchdog.to_string());
            }
        } else if !std::mem::replace(&mut self.starving, true) {
            let checks = bots.iter().flat_map(|(_, report)| &report.checks);
            let wrong = checks.filter(|check| !check.ok && check.is_vital());
            let wrong: Vec<&str> = wrong.map(|check| check.text.as_str()).collect();
            tracing::error!(reasons = wrong.join("; "), "watchdog not notified");
        }
        messages
    }
}

/// Notifies a watchdog three times in its period.
fn pause(watchdog: Option<Duration>) -> Duration {
    watchdog.map_or(LONGEST, |limit| (limit / 3).min(LONGEST))
}

/// Sends notifications on a thread that may block.
async fn notify(states: Vec<String>) {
    if states.is_empty() {
        return;
    }
    let sent = tokio::task::spawn_blocking(move || {
        let states = states.iter().map(|state| NotifyState::Custom(state));
        sd_notify::notify(&states.collect::<Vec<_>>())
    });
    if let Ok(Err(error)) = sent.await {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}

/// The status in one line.
fn line(status: &Status) -> String {
    let games = match status.games.len() {
        0 => "no game".to_owned(),
        1 => "one game".to_owned(),
        games => format!("{games} games"),
    };
    let account = status.account.as_deref().unwrap_or("the bot");
    let stream = if status.stream.open || status.state == BotPhase::Playing {
        ""
    } else {
        "; not connected"
    };
    let alerts: Vec<&str> = status.alerts.iter().map(|it| it.kind.as_str()).collect();
    let alerts = if alerts.is_empty() {
        String::new()
    } else {
        format!("; ALERT: {}", alerts.join(", "))
    };
    let phase = status.doing();
    format!("{account} {phase}; {games}{stream}{alerts}")
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
        status.alerts.push(AlertStatus {
            kind: "token".to_owned(),
            ..AlertStatus::default()
        });
        assert_eq!(
            line(&status),
            "Megaton is not connected: its event stream is down; no game; ALERT: token"
        );
        status.state = BotPhase::Paused;
        let paused =
            "Megaton is paused: accepts no new games; no game; not connected; ALERT: token";
        assert_eq!(line(&status), paused);
    }

    #[test]
    fn the_watchdog_is_notified_several_times_per_period() {
        assert_eq!(pause(None), LONGEST);
        assert_eq!(pause(Some(Duration::from_secs(6))), Duration::from_secs(2));
        assert_eq!(pause(Some(Duration::from_secs(600))), LONGEST);
    }

    #[test]
    fn the_watchdog_is_not_notified_while_the_bot_hangs_or_its_engine_fails() {
        let (watch, _watcher) = StatusWatch::new(channel().0);
        let silent = watch.clone().in_vain_for(Duration::from_secs(30));
        let health = |watch: &StatusWatch, engine| Health::new(watch.clone(), engine, None);
        let well = health(&watch, SelfTest::default());
        let deaf = health(&silent, SelfTest::default());
        let dull = health(&watch, SelfTest::failed("it plays a2a3"));
        let mut said = Notified {
            has_watchdog: true,
            ..Notified::default()
        };
        let mut is_fed = |health: &Health| {
            let states = [(Some(Arc::default()), health.report())];
            let words = said.next(&states);
            words.iter().any(|word| word == "WATCHDOG=1")
        };
        assert!(is_fed(&well));
        for ill in [&deaf, &dull] {
            assert!(!is_fed(ill));
            assert!(!is_fed(ill), "nor a second time");
            assert!(is_fed(&well), "again");
        }
    }
}
