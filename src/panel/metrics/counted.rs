//! What happens, counted from the bot's news.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::bot::BotEvent;
use crate::bot::table::{Ending, Oddity};
use crate::lichess::Status;

type Labels = Vec<(&'static str, String)>;

/// Upper ends of the times that a move is thought about, in seconds.
const THINKING: [f64; 12] = [
    0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
];
/// Upper ends of what the way to the server costs a move, in seconds.
const OVERHEAD: [f64; 12] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 2.0, 5.0,
];

/// Every word for what should not be.
const FAULTS: [&str; 12] = [
    "foreign_move",
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
];

/// The counters. Clones count together.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    games: Family<Labels, Counter>,
    challenges: Family<Labels, Counter>,
    alarms: Family<Labels, Counter>,
    faults: Family<Labels, Counter>,
    thinking: Histogram,
    overhead: Histogram,
    nodes: Counter,
    missed: Counter,
}

impl Counted {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counted = Self {
            games: Family::default(),
            challenges: Family::default(),
            alarms: Family::default(),
            faults: Family::default(),
            thinking: Histogram::new(THINKING),
            overhead: Histogram::new(OVERHEAD),
            nodes: Counter::default(),
            missed: Counter::default(),
        };
        let it = &counted;
        registry.register(
            "games",
            "Games that ended, by result for us",
            it.games.clone(),
        );
        registry.register(
            "challenges",
            "Challenges to us, by answer",
            it.challenges.clone(),
        );
        registry.register("alarms", "Alarms raised", it.alarms.clone());
        registry.register(
            "faults",
            "What should not happen in a game",
            it.faults.clone(),
        );
        registry.register_with_unit(
            "think",
            "Time thought about own moves",
            Unit::Seconds,
            it.thinking.clone(),
        );
        registry.register_with_unit(
            "overhead",
            "What own moves cost on the clock beside thinking",
            Unit::Seconds,
            it.overhead.clone(),
        );
        registry.register(
            "nodes",
            "Positions searched for own moves",
            it.nodes.clone(),
        );
        registry.register(
            "news_missed",
            "News that were not counted",
            it.missed.clone(),
        );
        counted.begin();
        counted
    }

    /// Begins at nothing what somebody is woken for: a series that appears with its first count has
    /// not grown, as those see it who watch.
    fn begin(&self) {
        for status in Status::TIME_FORFEITS {
            let labels = [("result", "loss"), ("status", status.as_str())];
            let _ = of(&self.games, labels);
        }
        for fault in FAULTS {
            let _ = of(&self.faults, [("kind", fault)]);
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
            BotEvent::Odd { oddity, .. } => one(&self.faults, [("kind", kind(oddity))]),
            BotEvent::Accepted { .. } => {
                one(&self.challenges, [("answer", "accepted"), ("reason", "")]);
            }
            BotEvent::Declined { reason, .. } => {
                let reason = reason.to_string();
                one(
                    &self.challenges,
                    [("answer", "declined"), ("reason", &reason)],
                );
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
        let status = ending.status.map_or("unseen", Status::as_str);
        one(
            &self.games,
            [("result", result(ending)), ("status", status)],
        );
    }
}

fn one<const N: usize>(family: &Family<Labels, Counter>, labels: [(&'static str, &str); N]) {
    of(family, labels).inc();
}

/// One counter of a family; it is there from now on.
fn of<const N: usize>(
    family: &Family<Labels, Counter>,
    labels: [(&'static str, &str); N],
) -> Counter {
    let labels = labels.map(|(name, value)| (name, value.to_owned()));
    family.get_or_create(&labels.to_vec()).clone()
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
fn kind(oddity: &Oddity) -> &'static str {
    match oddity {
        Oddity::Foreign(_) => "foreign_move",
        Oddity::Overruled { .. } => "overruled",
        Oddity::Refused { .. } => "move_refused",
        Oddity::Unshown { .. } => "move_unshown",
        Oddity::Limited { .. } => "move_limited",
        Oddity::Late => "search_late",
        Oddity::NoThought => "search_failed",
        Oddity::NotOurs | Oddity::NotSeated => "not_ours",
        Oddity::Vanished => "vanished",
        Oddity::ClockFell { .. } => "clock_fell",
        Oddity::Stale => "stale",
        Oddity::Standstill => "standstill",
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

    /// What a rule for alerts counts, such as `faults_total{kind=~"search_late|search_failed"}`, as
    /// the series that it takes in.
    fn series(counted: &str) -> Vec<Vec<String>> {
        let (name, labels) = counted.split_once('{').unwrap();
        let mut all = vec![vec![format!("{name}{{")]];
        for label in labels.trim_end_matches('}').split(',') {
            let (label, values) = label.split_once('=').unwrap();
            let values = values.trim_start_matches('~').trim_matches('"').split('|');
            let with = |known: &Vec<String>| {
                let label = |value| format!("{label}=\"{value}\"");
                let longer = |value| [known.clone(), vec![label(value)]].concat();
                values.clone().map(longer).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    #[test]
    fn what_wakes_somebody_is_counted_from_nothing() {
        let mut registry = Registry::default();
        Counted::register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/deploy/alerts.yml");
        let rules = std::fs::read_to_string(rules).unwrap();
        let increases = rules.split("increase(megaton_").skip(1);
        let ours = increases.filter(|it| it.starts_with("games_") || it.starts_with("faults_"));
        let mut found = 0;
        for parts in ours.flat_map(|it| series(it.split('[').next().unwrap())) {
            let fits = |line: &str| parts.iter().all(|part| line.contains(part));
            let line = text.lines().find(|line| fits(line));
            let line = line.unwrap_or_else(|| panic!("no {parts:?} in {text}"));
            assert!(line.ends_with(" 0"), "{line}");
            found += 1;
        }
        assert!(found >= 3, "{rules}");
    }

    #[test]
    fn every_fault_has_its_word() {
        for oddity in [Oddity::Late, Oddity::NoThought, Oddity::NotSeated] {
            assert!(FAULTS.contains(&kind(&oddity)), "{oddity}");
        }
    }

    #[test]
    fn what_happens_is_in_the_text() {
        let mut registry = Registry::default();
        let counted = Counted::register(&mut registry);
        for _ in 0..2 {
            let ending = ending(Some(Status::Mate), Some(Side::White)).into();
            counted.count(&BotEvent::Finished { ending });
        }
        counted.missed(3);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let line = "games_total{result=\"win\",status=\"mate\"} 2";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("news_missed_total 3"), "{text}");
    }
}
