//! Whether the bot is alive and ready. Pure.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::disk_space::FreeSpace;
use super::selftest::SelfTestResult;
use crate::bot::{BotPhase, EventStreamStatus, Status};

/// An older answer does not count; the bot answers every second.
const FRESH: Duration = Duration::from_secs(30);
/// Silence of the event stream that is too long, in milliseconds; the server sends a blank line every 7 s.
const SILENCE: u64 = 30_000;
/// Least free disk space, in bytes.
const ROOM: u64 = 16 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthReport {
    /// If not, the process should be restarted.
    pub alive: bool,
    /// Whether the bot would accept a game now.
    pub ready: bool,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// One word.
    pub name: String,
    pub ok: bool,
    pub text: String,
}

impl Check {
    /// Whether a process that fails it is not alive.
    pub fn is_vital(&self) -> bool {
        matches!(self.name.as_str(), "bot" | "engine")
    }
}

#[derive(Clone, Debug)]
pub(super) struct HealthInputs {
    pub(super) status: Option<Arc<Status>>,
    /// Time since the last answer, or since the start.
    pub(super) age: Duration,
    pub(super) engine: Option<SelfTestResult>,
    /// Free space of the data folder.
    pub(super) room: FreeSpace,
}

pub(super) fn evaluate(inputs: &HealthInputs) -> HealthReport {
    let mut checks = vec![check("bot", inputs.age < FRESH, answering(inputs))];
    if let Some(status) = &inputs.status {
        checks.push(taking(status));
        checks.push(stream(&status.stream));
        let accepted = status.accepted_ago;
        let accepted = accepted.map_or("none yet".to_owned(), |ago| format!("{ago} s ago"));
        checks.push(check("accepted", true, accepted));
        let alerts: Vec<&str> = status.alerts.iter().map(|it| it.kind.as_str()).collect();
        let names = if alerts.is_empty() {
            "none".to_owned()
        } else {
            alerts.join(", ")
        };
        checks.push(check("alerts", status.state != BotPhase::Alert, names));
    }
    checks.push(engine(inputs.engine.as_ref()));
    checks.push(disk(inputs));
    HealthReport {
        alive: checks.iter().all(|check| check.ok || !check.is_vital()),
        ready: inputs.status.is_some() && checks.iter().all(|check| check.ok),
        checks,
    }
}

fn check(name: &str, ok: bool, text: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        ok,
        text: text.into(),
    }
}

fn answering(inputs: &HealthInputs) -> String {
    let seconds = inputs.age.as_secs();
    match &inputs.status {
        Some(_) => format!("answered {seconds} s ago"),
        None => format!("has not answered for {seconds} s"),
    }
}

fn taking(status: &Status) -> Check {
    let full = status.slots.taken >= status.slots.all;
    let mut text = status.state.describe().to_owned();
    if status.state == BotPhase::Playing && full {
        text.push_str("; every slot is taken");
    }
    check("state", status.state == BotPhase::Playing, text)
}

fn stream(stream: &EventStreamStatus) -> Check {
    let (ok, text) = match stream.received_ago {
        Some(ago) if ago < SILENCE => (true, format!("last data {} s ago", ago / 1000)),
        Some(ago) => (false, format!("silent for {} s", ago / 1000)),
        None => {
            let outage = stream.outage.as_ref();
            let outage = outage.map(|it| format!(" for {} s: {it}", it.since));
            let (outage, lost) = (outage.unwrap_or_default(), stream.lost);
            (false, format!("not open{outage}; lost {lost} times"))
        }
    };
    check("stream", ok, text)
}

fn engine(tested: Option<&SelfTestResult>) -> Check {
    match tested {
        None => check("engine", true, "not tested yet"),
        Some(SelfTestResult::Passed(took)) => {
            let text = format!("found the move in {} ms", took.as_millis());
            check("engine", true, text)
        }
        Some(SelfTestResult::Failed(why)) => check("engine", false, why.as_str()),
    }
}

fn disk(inputs: &HealthInputs) -> Check {
    let alerts = inputs.status.iter().flat_map(|status| &status.alerts);
    let unwritten = alerts.clone().any(|it| it.kind == "store");
    match inputs.room {
        _ if unwritten => check("disk", false, "cannot be written: see the alert"),
        FreeSpace::Unknown => check("disk", true, "not known"),
        FreeSpace::Free(free) => check("disk", free >= ROOM, format!("{} MB free", free >> 20)),
        FreeSpace::Silent(asked) => {
            let text = format!("has not answered for {} s", asked.as_secs());
            check("disk", false, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{AlertStatus, StreamOutage};

    fn well() -> HealthInputs {
        let status = Status {
            state: BotPhase::Playing,
            stream: EventStreamStatus {
                open: true,
                received_ago: Some(3000),
                ..EventStreamStatus::default()
            },
            ..Status::default()
        };
        HealthInputs {
            status: Some(Arc::new(status)),
            age: Duration::from_secs(1),
            engine: Some(SelfTestResult::Passed(Duration::from_millis(4))),
            room: FreeSpace::Free(5 << 30),
        }
    }

    fn with(change: impl FnOnce(&mut Status)) -> HealthInputs {
        let mut inputs = well();
        let mut status = Status::clone(inputs.status.as_ref().unwrap());
        change(&mut status);
        inputs.status = Some(Arc::new(status));
        inputs
    }

    fn wrong(inputs: &HealthInputs) -> Vec<String> {
        let report = evaluate(inputs);
        assert_eq!(report.ready, report.checks.iter().all(|check| check.ok));
        let wrong = report.checks.into_iter().filter(|check| !check.ok);
        wrong.map(|check| check.name).collect()
    }

    #[test]
    fn a_healthy_bot_passes() {
        let report = evaluate(&well());
        assert!(report.alive && report.ready, "{report:?}");
        assert_eq!(wrong(&well()), Vec::<String>::new());
    }

    #[test]
    fn a_bot_without_a_network_is_alive_and_not_ready() {
        let offline = with(|status| {
            status.state = BotPhase::Connecting;
            status.stream = EventStreamStatus::default();
        });
        let report = evaluate(&offline);
        assert!(report.alive && !report.ready);
        assert_eq!(wrong(&offline), ["state", "stream"]);
        let known = with(|status| {
            status.stream.received_ago = None;
            status.stream.lost = 2;
            status.stream.outage = Some(StreamOutage {
                reason: "status 503".to_owned(),
                since: 185,
                next_try: 0,
            });
        });
        let text = "not open for 185 s: status 503; trying again now; lost 2 times";
        let report = evaluate(&known);
        assert!(report.checks.iter().any(|it| it.text == text), "{report:?}");
        let silent = with(|status| status.stream.received_ago = Some(SILENCE));
        assert_eq!(wrong(&silent), ["stream"]);
    }

    #[test]
    fn a_bot_that_accepts_nothing_is_not_ready() {
        for state in [BotPhase::Paused, BotPhase::Draining] {
            assert_eq!(wrong(&with(|status| status.state = state)), ["state"]);
        }
        let alerted = with(|status| {
            status.state = BotPhase::Alert;
            status.alerts.push(AlertStatus {
                kind: "token".to_owned(),
                ..AlertStatus::default()
            });
        });
        assert_eq!(wrong(&alerted), ["state", "alerts"]);
        assert!(
            evaluate(&alerted)
                .checks
                .iter()
                .any(|it| it.text == "token")
        );
    }

    #[test]
    fn a_bot_that_hangs_or_whose_engine_fails_is_not_alive() {
        let mut deaf = well();
        deaf.age = FRESH;
        assert!(!evaluate(&deaf).alive);
        let never = HealthInputs {
            status: None,
            ..well()
        };
        assert!(
            evaluate(&never).alive && !evaluate(&never).ready,
            "it has just begun"
        );
        let mut dull = well();
        dull.engine = Some(SelfTestResult::Failed("it plays a2a3".to_owned()));
        assert!(!evaluate(&dull).alive);
        assert_eq!(wrong(&dull), ["engine"]);
    }

    #[test]
    fn a_bot_is_alive_unless_a_vital_check_fails_whatever_keeps_it_from_being_ready() {
        let mut dull = with(|status| status.stream.received_ago = None);
        for (tested, vital) in [
            (SelfTestResult::Passed(Duration::ZERO), vec![]),
            (SelfTestResult::Failed("dull".to_owned()), vec!["engine"]),
        ] {
            dull.engine = Some(tested);
            let report = evaluate(&dull);
            assert_eq!(report.alive, vital.is_empty());
            let wrong = report.checks.iter().filter(|it| !it.ok && it.is_vital());
            assert_eq!(wrong.map(|it| &it.name).collect::<Vec<_>>(), vital);
        }
        dull.age = FRESH;
        assert_eq!(wrong(&dull), ["bot", "stream", "engine"]);
    }

    #[test]
    fn a_disk_that_is_full_or_hangs_is_not_ready() {
        let mut full = well();
        full.room = FreeSpace::Free(ROOM - 1);
        assert_eq!(wrong(&full), ["disk"]);
        let mut hung = well();
        hung.room = FreeSpace::Silent(Duration::from_secs(60));
        assert_eq!(wrong(&hung), ["disk"]);
        assert!(evaluate(&hung).alive, "the games go on");
        let unwritten = with(|status| {
            status.alerts.push(AlertStatus {
                kind: "store".to_owned(),
                ..AlertStatus::default()
            });
        });
        assert_eq!(wrong(&unwritten), ["disk"]);
        assert!(evaluate(&unwritten).alive, "the games go on");
    }
}
