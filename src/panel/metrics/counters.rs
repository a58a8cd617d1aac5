//! What happens, counted from the bot's news.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::bot::game::{Anomaly, Ending};
use crate::bot::{AlertKind, BotEvent};
use crate::lichess::{DeclineReason, Status};

type Labels = Vec<(&'static str, String)>;

/// Upper ends of the times that a move is thought about, in seconds.
const THINKING: [f64; 12] = [
    0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];
/// What a game can be for us.
const RESULTS: [&str; 4] = ["win", "draw", "loss", "none"];
/// What a game ended as whose end no one saw.
const UNSEEN: &str = "unseen";
/// Every word for what should not be.
const FAULTS: [&str; 16] = [
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
    PLAYER,
    PORTER,
    ENGINE,
];
/// A player that failed and sat down again.
const PLAYER: &str = "player_failed";
/// The task at the door failed and began anew.
const PORTER: &str = "porter_failed";
/// An engine that failed its test.
const ENGINE: &str = "engine_failed";
/// Upper ends of what the way to the server costs a move, in seconds.
const OVERHEAD: [f64; 12] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 2.0, 5.0,
];

/// The counters. Clones count together.
///
/// Whatever can be counted is there from the start and stands at zero: a monitoring system sees a
/// counter grow only between two looks, so that the first of a kind, such as the first game lost on
/// time, would otherwise go by unseen.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    games: Family<Labels, Counter>,
    challenges: Family<Labels, Counter>,
    alarms: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    thinking: Histogram,
    overhead: Histogram,
    nodes: Counter,
    streams: Counter,
    missed: Counter,
}

impl Counters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counted = Self {
            games: Family::default(),
            challenges: Family::default(),
            alarms: Family::default(),
            faults: Family::default(),
            thinking: Histogram::new(THINKING),
            overhead: Histogram::new(OVERHEAD),
            nodes: Counter::default(),
            streams: Counter::default(),
            missed: Counter::default(),
        };
        let it = &counted;
        registry.register("games", "Finished games by result", it.games.clone());
        registry.register(
            "challenges",
            "Incoming challenges by answer",
            it.challenges.clone(),
        );
        registry.register("alarms", "Alarms raised", it.alarms.clone());
        registry.register(
            "faults",
            "Unexpected conditions in games or engine",
            it.faults.clone(),
        );
        registry.register_with_unit(
            "think",
            "Thinking time of own moves",
            Unit::Seconds,
            it.thinking.clone(),
        );
        registry.register_with_unit(
            "overhead",
            "Clock time of own moves beyond thinking",
            Unit::Seconds,
            it.overhead.clone(),
        );
        registry.register("nodes", "Nodes searched for own moves", it.nodes.clone());
        registry.register(
            "game_streams_lost",
            "Game stream disconnects",
            it.streams.clone(),
        );
        registry.register(
            "news_missed",
            "Events dropped by the metrics listener",
            it.missed.clone(),
        );
        counted.begin();
        counted
    }

    /// Sets whatever can happen to zero.
    fn begin(&self) {
        let over = Status::ALL.iter().filter(|status| status.is_over());
        for status in over.map(|status| status.as_str()).chain([UNSEEN]) {
            for result in RESULTS {
                nought(&self.games, [("result", result), ("status", status)]);
            }
        }
        nought(&self.challenges, ACCEPTED);
        for reason in DeclineReason::ALL {
            nought(&self.challenges, declined(reason.as_str()));
        }
        for kind in AlertKind::ALL {
            nought(&self.alarms, [("kind", kind.as_str())]);
        }
        for kind in FAULTS {
            nought(&self.faults, [("kind", kind)]);
        }
    }

    pub(super) fn count(&self, event: &BotEvent) {
        match event {
            BotEvent::Finished { ending } => self.ended(ending),
            BotEvent::Moved { moved, .. } => {
                if let Some(thought) = moved.thought.as_ref().filter(|_| moved.ours) {
                    self.thinking.observe(thought.time.as_secs_f64());
                    self.nodes.inc_by(thought.nodes);
                }
            }
            BotEvent::Overhead { cost } => self.overhead.observe(cost.as_secs_f64()),
            BotEvent::AnomalySeen { anomaly, .. } => one(&self.faults, [("kind", kind(anomaly))]),
            BotEvent::GameTaskFailed { .. } => one(&self.faults, [("kind", PLAYER)]),
            BotEvent::EventLoopFailed { .. } => one(&self.faults, [("kind", PORTER)]),
            BotEvent::EngineFailed { .. } => one(&self.faults, [("kind", ENGINE)]),
            BotEvent::StreamLost { .. } => {
                self.streams.inc();
            }
            BotEvent::Accepted { .. } => one(&self.challenges, ACCEPTED),
            BotEvent::Declined { reason, .. } => {
                one(&self.challenges, declined(reason.as_str()));
            }
            BotEvent::Alarm { kind, .. } => one(&self.alarms, [("kind", kind.as_str())]),
            _ => {}
        }
    }

    /// So many news went by uncounted.
    pub(super) fn missed(&self, count: u64) {
        self.missed.inc_by(count);
    }

    fn ended(&self, ending: &Ending) {
        let status = ending.status.map_or(UNSEEN, Status::as_str);
        one(
            &self.games,
            [("result", result(ending)), ("status", status)],
        );
    }
}

/// The labels of a challenge that was taken.
const ACCEPTED: [(&str, &str); 2] = [("answer", "accepted"), ("reason", "")];

/// The labels of a challenge that was not.
const fn declined(reason: &str) -> [(&'static str, &str); 2] {
    [("answer", "declined"), ("reason", reason)]
}

fn one<const N: usize>(family: &Family<Labels, Counter>, labels: [(&'static str, &str); N]) {
    family.get_or_create(&owned(labels)).inc();
}

fn nought<const N: usize>(family: &Family<Labels, Counter>, labels: [(&'static str, &str); N]) {
    drop(family.get_or_create(&owned(labels)));
}

fn owned<const N: usize>(labels: [(&'static str, &str); N]) -> Labels {
    let labels = labels.map(|(name, value)| (name, value.to_owned()));
    labels.to_vec()
}

/// How a game ended for us.
fn result(ending: &Ending) -> &'static str {
    match (ending.result(), ending.winner, ending.us) {
        ("*", ..) => "none",
        (_, None, _) => "draw",
        (_, winner, us) if winner == us => "win",
        _ => "loss",
    }
}

/// One word for what should not be.
fn kind(anomaly: &Anomaly) -> &'static str {
    match anomaly {
        Anomaly::Foreign(_) => "foreign_move",
        Anomaly::Shrunk { .. } => "list_shrunk",
        Anomaly::Overruled { .. } => "overruled",
        Anomaly::Refused { .. } => "move_refused",
        Anomaly::Unshown { .. } => "move_unshown",
        Anomaly::Limited { .. } => "move_limited",
        Anomaly::Late => "search_late",
        Anomaly::NoThought => "search_failed",
        Anomaly::NotOurs | Anomaly::NotSeated => "not_ours",
        Anomaly::Vanished => "vanished",
        Anomaly::ClockFell { .. } => "clock_fell",
        Anomaly::Stale => "stale",
        Anomaly::Standstill => "standstill",
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
    fn results_are_ours() {
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
    fn whatever_can_happen_stands_at_nought_before_it_does() {
        let mut registry = Registry::default();
        let counted = Counters::register(&mut registry);
        let before = text(&registry);
        for line in [
            "games_total{result=\"loss\",status=\"outoftime\"} 0",
            "faults_total{kind=\"search_failed\"} 0",
            "challenges_total{answer=\"accepted\",reason=\"\"} 0",
            "alarms_total{kind=\"token\"} 0",
            "faults_total{kind=\"player_failed\"} 0",
            "faults_total{kind=\"porter_failed\"} 0",
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
        for anomaly in [Anomaly::Late, Anomaly::NoThought, Anomaly::Stale] {
            let game = GameId::new("q7ZxVt2B");
            counted.count(&BotEvent::AnomalySeen { game, anomaly });
        }
        let lines = text(&registry).lines().count();
        assert_eq!(lines, before.lines().count(), "none came into being");
    }

    #[test]
    fn what_happens_is_in_the_text() {
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
            BotEvent::EngineFailed { reason },
        ] {
            counted.count(&event);
        }
        counted.missed(3);
        let text = text(&registry);
        for line in [
            "games_total{result=\"win\",status=\"mate\"} 2",
            "game_streams_lost_total 1",
            "faults_total{kind=\"player_failed\"} 1",
            "faults_total{kind=\"porter_failed\"} 1",
            "faults_total{kind=\"engine_failed\"} 1",
            "news_missed_total 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
    }
}
