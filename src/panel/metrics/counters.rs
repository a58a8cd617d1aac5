//! Events of the bot, counted.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::bot::game::{Anomaly, Ending};
use crate::bot::{AlertKind, BotEvent};
use crate::lichess::{DeclineReason, Status};

type Labels = Vec<(&'static str, String)>;

/// Buckets of the thinking time of a move, in seconds.
const THINKING: [f64; 12] = [
    0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];
/// Our results of games.
const RESULTS: [&str; 4] = ["win", "draw", "loss", "none"];
/// The status of a game whose end the bot did not see.
const UNSEEN: &str = "unseen";
/// The kinds of faults.
const FAULTS: [&str; 17] = [
    "foreign_move",
    "list_shrunk",
    "overruled",
    "move_refused",
    "move_unshown",
    "move_limited",
    "search_late",
    "search_failed",
    "not_ours",
    "vanished",
    "clock_fell",
    "stale",
    "standstill",
    GAME_TASK,
    EVENT_LOOP,
    ENGINE,
    SERVICE,
];
/// A game task panicked and restarted.
const GAME_TASK: &str = "game_task_failed";
/// The event loop panicked and restarted.
const EVENT_LOOP: &str = "event_loop_failed";
/// The engine failed its self-test.
const ENGINE: &str = "engine_failed";
/// Something beside the bot panicked and restarted.
const SERVICE: &str = "service_failed";
/// Buckets of the move overhead, in seconds.
const OVERHEAD: [f64; 12] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 2.0, 5.0,
];

/// The counters. Clones count together.
///
/// Every possible counter exists from the start with the value zero. A monitoring system sees only growth
/// between two scrapes, so it would miss the first event of a counter that appears with it.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    games: Family<Labels, Counter>,
    challenges: Family<Labels, Counter>,
    alerts: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    thinking: Histogram,
    overhead: Histogram,
    nodes: Counter,
    streams: Counter,
    missed: Counter,
}

/// Registers a clone of the metric.
fn registered<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Counters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (thinking, overhead) = (Histogram::new(THINKING), Histogram::new(OVERHEAD));
        let mut seconds = |name: &str, help: &str, histogram: &Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        };
        seconds("think", "Thinking time of own moves", &thinking);
        let help = "Clock time of own moves beyond thinking";
        seconds("overhead", help, &overhead);
        let mut family = |name: &str, help: &str| {
            registered(registry, name, help, Family::<Labels, Counter>::default())
        };
        let games = family("games", "Finished games by result");
        let challenges = family("challenges", "Incoming challenges by answer");
        let alerts = family("alerts", "Alerts raised");
        let faults = family("faults", "Unexpected conditions in games or engine");
        let mut counter =
            |name: &str, help: &str| registered(registry, name, help, Counter::default());
        let nodes = counter("nodes", "Nodes searched for own moves");
        let streams = counter("game_streams_lost", "Game stream disconnects");
        let missed = counter("events_dropped", "Events dropped by the metrics listener");
        let counters = Self {
            games,
            challenges,
            alerts,
            faults,
            thinking,
            overhead,
            nodes,
            streams,
            missed,
        };
        counters.create_all();
        counters
    }

    /// Creates every counter of the families.
    fn create_all(&self) {
        let over = Status::ALL.iter().filter(|status| status.is_over());
        for status in over.map(|status| status.as_str()).chain([UNSEEN]) {
            for result in RESULTS {
                create(&self.games, [("result", result), ("status", status)]);
            }
        }
        create(&self.challenges, ACCEPTED);
        for reason in DeclineReason::ALL {
            create(&self.challenges, declined(reason.as_str()));
        }
        for kind in AlertKind::ALL {
            create(&self.alerts, [("kind", kind.as_str())]);
        }
        for kind in FAULTS {
            create(&self.faults, [("kind", kind)]);
        }
    }

    pub(super) fn count(&self, event: &BotEvent) {
        match event {
            BotEvent::Finished { ending } => self.ended(ending),
            BotEvent::Moved { moved } => {
                if let Some(result) = moved.result.as_ref().filter(|_| moved.ours) {
                    self.thinking.observe(result.time.as_secs_f64());
                    self.nodes.inc_by(result.nodes);
                }
            }
            BotEvent::Overhead { cost } => self.overhead.observe(cost.as_secs_f64()),
            BotEvent::AnomalySeen { anomaly, .. } => {
                increment(&self.faults, [("kind", kind(anomaly))]);
            }
            BotEvent::GameTaskFailed { .. } => increment(&self.faults, [("kind", GAME_TASK)]),
            BotEvent::EventLoopFailed { .. } => increment(&self.faults, [("kind", EVENT_LOOP)]),
            BotEvent::EngineFailed { .. } => increment(&self.faults, [("kind", ENGINE)]),
            BotEvent::ServiceFailed { .. } => increment(&self.faults, [("kind", SERVICE)]),
            BotEvent::StreamLost { .. } => {
                self.streams.inc();
            }
            BotEvent::Accepted => increment(&self.challenges, ACCEPTED),
            BotEvent::Declined { reason, .. } => {
                increment(&self.challenges, declined(reason.as_str()));
            }
            BotEvent::AlertRaised { kind, .. } => {
                increment(&self.alerts, [("kind", kind.as_str())]);
            }
            _ => {}
        }
    }

    /// Counts events that the event bus dropped.
    pub(super) fn missed(&self, count: u64) {
        self.missed.inc_by(count);
    }

    fn ended(&self, ending: &Ending) {
        let status = ending.status.map_or(UNSEEN, Status::as_str);
        let result = result(ending);
        increment(&self.games, [("result", result), ("status", status)]);
    }
}

/// The labels of an accepted challenge.
const ACCEPTED: [(&str, &str); 2] = [("answer", "accepted"), ("reason", "")];

/// The labels of a declined challenge.
const fn declined(reason: &str) -> [(&'static str, &str); 2] {
    [("answer", "declined"), ("reason", reason)]
}

fn increment<const N: usize>(family: &Family<Labels, Counter>, labels: [(&'static str, &str); N]) {
    family.get_or_create(&owned(labels)).inc();
}

fn create<const N: usize>(family: &Family<Labels, Counter>, labels: [(&'static str, &str); N]) {
    drop(family.get_or_create(&owned(labels)));
}

fn owned<const N: usize>(labels: [(&'static str, &str); N]) -> Labels {
    let labels = labels.map(|(name, value)| (name, value.to_owned()));
    labels.to_vec()
}

/// Our result of a game.
fn result(ending: &Ending) -> &'static str {
    match (ending.result(), ending.winner, ending.us) {
        ("*", ..) => "none",
        (_, None, _) => "draw",
        (_, winner, us) if winner == us => "win",
        _ => "loss",
    }
}

/// The kind of an anomaly.
fn kind(anomaly: &Anomaly) -> &'static str {
    match anomaly {
        Anomaly::Foreign(_) => "foreign_move",
        Anomaly::Shrunk { .. } => "list_shrunk",
        Anomaly::Overruled { .. } => "overruled",
        Anomaly::Refused { .. } => "move_refused",
        Anomaly::Unshown { .. } => "move_unshown",
        Anomaly::Limited { .. } => "move_limited",
        Anomaly::Late => "search_late",
        Anomaly::NoSearchResult => "search_failed",
        Anomaly::NotOurs | Anomaly::NotPlaying => "not_ours",
        Anomaly::Vanished => "vanished",
        Anomaly::ClockFell { .. } => "clock_fell",
        Anomaly::Stale => "stale",
        Anomaly::Stalled => "standstill",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::{GameId, Side};

    fn ending(status: Option<Status>, winner: Option<Side>) -> Ending {
        Ending {
            game: GameId::new("q7ZxVt2B"),
            status,
            winner,
            us: Some(Side::White),
            opponent: "Nuke".to_owned(),
            plies: 9,
            fen: String::new(),
        }
    }

    #[test]
    fn results_are_counted_from_our_side() {
        let mate = Some(Status::Mate);
        assert_eq!(result(&ending(mate, Some(Side::White))), "win");
        assert_eq!(result(&ending(mate, Some(Side::Black))), "loss");
        assert_eq!(result(&ending(Some(Status::Draw), None)), "draw");
        for void in [Status::Aborted, Status::NoStart, Status::UnknownFinish] {
            assert_eq!(result(&ending(Some(void), None)), "none");
        }
        assert_eq!(result(&ending(None, None)), "none");
    }

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
        text
    }

    #[test]
    fn every_counter_starts_at_zero() {
        let mut registry = Registry::default();
        let counted = Counters::register(&mut registry);
        let before = text(&registry);
        for line in [
            "games_total{result=\"loss\",status=\"outoftime\"} 0",
            "faults_total{kind=\"search_failed\"} 0",
            "challenges_total{answer=\"accepted\",reason=\"\"} 0",
            "alerts_total{kind=\"token\"} 0",
            "faults_total{kind=\"game_task_failed\"} 0",
            "faults_total{kind=\"event_loop_failed\"} 0",
            "faults_total{kind=\"engine_failed\"} 0",
            "game_streams_lost_total 0",
        ] {
            assert!(before.lines().any(|it| it == line), "{line} in {before}");
        }
        for winner in [Some(Side::White), Some(Side::Black), None] {
            for status in [Some(Status::VariantEnd), Some(Status::OutOfTime), None] {
                let ending = ending(status, winner).into();
                counted.count(&BotEvent::Finished { ending });
            }
        }
        for anomaly in [Anomaly::Late, Anomaly::NoSearchResult, Anomaly::Stale] {
            let game = GameId::new("q7ZxVt2B");
            counted.count(&BotEvent::AnomalySeen { game, anomaly });
        }
        let lines = text(&registry).lines().count();
        assert_eq!(lines, before.lines().count(), "none came into being");
    }

    #[test]
    fn events_appear_in_the_metrics() {
        let mut registry = Registry::default();
        let counted = Counters::register(&mut registry);
        for _ in 0..2 {
            let ending = ending(Some(Status::Mate), Some(Side::White)).into();
            counted.count(&BotEvent::Finished { ending });
        }
        let (game, reason) = (GameId::new("q7ZxVt2B"), "broken".to_owned());
        for event in [
            BotEvent::StreamLost {
                game: game.clone(),
                reason: reason.clone(),
            },
            BotEvent::GameTaskFailed {
                game,
                reason: reason.clone(),
            },
            BotEvent::EventLoopFailed {
                reason: reason.clone(),
            },
            BotEvent::EngineFailed {
                reason: reason.clone(),
            },
            BotEvent::ServiceFailed {
                service: "the metrics",
                reason,
            },
        ] {
            counted.count(&event);
        }
        counted.missed(3);
        let text = text(&registry);
        for line in [
            "games_total{result=\"win\",status=\"mate\"} 2",
            "game_streams_lost_total 1",
            "faults_total{kind=\"game_task_failed\"} 1",
            "faults_total{kind=\"event_loop_failed\"} 1",
            "faults_total{kind=\"engine_failed\"} 1",
            "faults_total{kind=\"service_failed\"} 1",
            "events_dropped_total 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
    }
}
