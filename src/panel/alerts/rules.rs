//! What deserves a message. Pure: events and statuses go in, messages come out.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::bot::game::{Anomaly, Ending};
use crate::bot::{AlertKind, BotEvent, BotPhase, Status};
use crate::lichess;

const DAY: Duration = Duration::from_secs(86_400);
/// A pause this long may be forgotten.
const LONG_PAUSE: Duration = Duration::from_secs(12 * 3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AlertMessage {
    /// One word.
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// Whether a condition has ended.
    pub(super) over: bool,
}

impl AlertMessage {
    pub(super) fn new(kind: &'static str, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            over: false,
        }
    }

    pub(super) fn over(kind: &'static str, text: impl Into<String>) -> Self {
        Self {
            over: true,
            ..Self::new(kind, text)
        }
    }

    /// Whether it is about a lasting condition, whose end is a message too.
    pub(super) fn lasts(&self) -> bool {
        let alert = AlertKind::ALL.iter().any(|it| it.as_str() == self.kind);
        alert || matches!(self.kind, "deaf" | "ended" | "paused")
    }
}

/// A condition that is a message once it has lasted for some time, and then its end too.
#[derive(Debug, Default)]
struct Lasting {
    since: Option<Instant>,
    told: bool,
}

impl Lasting {
    /// It holds; whether that is news.
    fn holds(&mut self, now: Instant, patience: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        let long = now.saturating_duration_since(since) >= patience;
        long && !std::mem::replace(&mut self.told, true)
    }

    /// It does not hold; whether that is news.
    fn ends(&mut self) -> bool {
        std::mem::take(self).told
    }
}

/// What is known of our highest rating.
#[derive(Debug)]
enum Ratings {
    /// The archive is being read.
    Unknown,
    /// What archive and state say; the present rating may be higher.
    Past(Option<i32>),
    /// The highest rating, and when it was last reported.
    Highest(i32, Option<Instant>),
}

/// The conditions that messages have reported and that have not ended.
#[derive(Debug)]
pub(super) struct AlertRules {
    pub(super) deaf_after: Duration,
    /// The event stream is down.
    deaf: Lasting,
    /// The operator has paused the bot.
    paused: Lasting,
    /// When the last message about a spent quota went out.
    spent: Option<Instant>,
    ratings: Ratings,
    /// The reported alerts that are active.
    alerts: BTreeSet<&'static str>,
}

impl AlertRules {
    pub(super) fn new(deaf_after: Duration) -> Self {
        Self {
            deaf_after,
            deaf: Lasting::default(),
            paused: Lasting::default(),
            spent: None,
            ratings: Ratings::Unknown,
            alerts: BTreeSet::new(),
        }
    }

    /// The message about an event.
    pub(super) fn handle_event(&mut self, event: &BotEvent) -> Option<AlertMessage> {
        match event {
            BotEvent::AlertRaised { kind, .. } => _ = self.alerts.insert(kind.as_str()),
            BotEvent::AlertCleared { kind } => _ = self.alerts.remove(kind.as_str()),
            _ => {}
        }
        Self::of(event)
    }

    /// The messages about alerts that began or ended in dropped events.
    pub(super) fn compare(&mut self, status: &Status) -> Vec<AlertMessage> {
        let kinds = AlertKind::ALL.iter().map(|kind| kind.as_str());
        let missed = kinds.filter_map(|kind| {
            let on = status.alerts.iter().find(|alert| alert.kind == kind);
            match (on, self.alerts.contains(kind)) {
                (Some(alert), false) => {
                    self.alerts.insert(kind);
                    Some(AlertMessage::new(kind, alert.text.as_str()))
                }
                (None, true) => {
                    self.alerts.remove(kind);
                    Some(over(kind))
                }
                _ => None,
            }
        });
        missed.collect()
    }

    fn of(event: &BotEvent) -> Option<AlertMessage> {
        let (kind, text) = match event {
            BotEvent::AlertRaised { kind, text } => (kind.as_str(), text.clone()),
            BotEvent::AlertCleared { kind } => return Some(over(kind.as_str())),
            BotEvent::Finished { ending } => return lost_on_time(ending),
            BotEvent::GameTaskFailed { game, reason } => {
                ("engine", format!("game {game}: task panicked: {reason}"))
            }
            BotEvent::EventLoopFailed { reason } => {
                ("event-loop", format!("event loop panicked: {reason}"))
            }
            BotEvent::EngineFailed { reason } => ("engine", format!("self-test failed: {reason}")),
            BotEvent::ServiceFailed { service, reason } => {
                let text = format!("{service} panicked and restarts; the bot plays on: {reason}");
                ("service", text)
            }
            BotEvent::AnomalySeen { game, anomaly } => match anomaly {
                Anomaly::Late | Anomaly::NoSearchResult => {
                    ("engine", format!("game {game}: {anomaly}"))
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(AlertMessage::new(kind, text))
    }

    /// The messages about a status.
    pub(super) fn check(&mut self, status: &Status, now: Instant) -> Vec<AlertMessage> {
        let messages = [
            self.check_stream(status, now),
            self.check_pause(status.state, now),
            self.check_quota(status, now),
            self.check_rating(status.rating, now),
        ];
        messages.into_iter().flatten().collect()
    }

    /// The highest rating of the past, if any is known.
    pub(super) fn know_ratings(&mut self, highest: Option<i32>) {
        self.ratings = Ratings::Past(highest);
    }

    /// The highest rating, once it is known.
    pub(super) fn highest_rating(&self) -> Option<i32> {
        match self.ratings {
            Ratings::Highest(highest, _) => Some(highest),
            Ratings::Unknown | Ratings::Past(_) => None,
        }
    }

    /// Whether the rating is a record. A rise of many games is one message a day.
    fn check_rating(&mut self, rating: Option<i32>, now: Instant) -> Option<AlertMessage> {
        let rating = rating?;
        match &mut self.ratings {
            Ratings::Past(past) => {
                let highest = past.map_or(rating, |past| past.max(rating));
                self.ratings = Ratings::Highest(highest, None);
            }
            Ratings::Highest(highest, told) if rating > *highest => {
                *highest = rating;
                if is_due(*told, now) {
                    *told = Some(now);
                    let text = format!("new highest rating: {rating}");
                    return Some(AlertMessage::new("rating", text));
                }
            }
            Ratings::Unknown | Ratings::Highest(..) => {}
        }
        None
    }

    /// Whether the event stream has been down too long.
    fn check_stream(&mut self, status: &Status, now: Instant) -> Option<AlertMessage> {
        if status.stream.open {
            let text = "event stream up again: challenges are received";
            return self.deaf.ends().then(|| AlertMessage::over("deaf", text));
        }
        if status.state == BotPhase::Draining || !self.deaf.holds(now, self.deaf_after) {
            return None;
        }
        let seconds = self.deaf_after.as_secs();
        let outage = status.stream.outage.as_ref();
        let why = outage.map(|it| format!(" ({it})")).unwrap_or_default();
        let text = format!("event stream down for {seconds} s: challenges are not received{why}");
        Some(AlertMessage::new("deaf", text))
    }

    /// Whether the operator may have forgotten that the bot is paused. During an alert the phase does not tell.
    fn check_pause(&mut self, state: BotPhase, now: Instant) -> Option<AlertMessage> {
        match state {
            BotPhase::Paused if self.paused.holds(now, LONG_PAUSE) => {
                let text = "paused for 12 hours: challenges are declined until `megaton resume`";
                Some(AlertMessage::new("paused", text))
            }
            BotPhase::Playing if self.paused.ends() => {
                Some(AlertMessage::over("paused", "accepts challenges again"))
            }
            _ => None,
        }
    }

    /// Whether the daily quota of bot games is used up, by the server's count or ours. Ours rolls on
    /// with each game and each reservation and comes back to its limit many times a day: that is one
    /// message a day.
    fn check_quota(&mut self, status: &Status, now: Instant) -> Option<AlertMessage> {
        let quota = status.quota.as_ref()?;
        let limit = quota.bot_games_limit;
        let text = if quota.closed_until.is_some() {
            quota.forecast.clone()
        } else if limit > 0 && quota.bot_games >= limit {
            format!("all {limit} bot games of the last 24 hours are used")
        } else {
            return None;
        };
        if !is_due(self.spent, now) {
            return None;
        }
        self.spent = Some(now);
        Some(AlertMessage::new("spent", text))
    }
}

/// Whether a message that goes out once a day, if it last did so then, may go out again.
fn is_due(told: Option<Instant>, now: Instant) -> bool {
    told.is_none_or(|told| now.saturating_duration_since(told) >= DAY)
}

fn over(alert: &'static str) -> AlertMessage {
    AlertMessage::over(alert, format!("alert {alert} resolved"))
}

fn lost_on_time(ending: &Ending) -> Option<AlertMessage> {
    let on_time = ending.status.is_some_and(lichess::Status::is_time_forfeit);
    let lost = ending.winner.is_some() && ending.winner != ending.us;
    let (game, opponent) = (&ending.game, &ending.opponent);
    let text = format!("game {game} against {opponent} lost on time");
    (on_time && lost).then(|| AlertMessage::new("time", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{AlertStatus, EventStreamStatus, QuotaStatus, StreamOutage};
    use crate::config::MESSAGE_KINDS;
    use crate::lichess::{GameId, Side};

    const DEAF: Duration = Duration::from_secs(120);

    fn ending(status: lichess::Status, winner: Side) -> BotEvent {
        let ending = Ending {
            game: GameId::new("q7ZxVt2B"),
            status: Some(status),
            winner: Some(winner),
            us: Some(Side::White),
            opponent: "Nuke".to_owned(),
            plies: 9,
            fen: String::new(),
        };
        BotEvent::Finished {
            ending: ending.into(),
        }
    }

    #[test]
    fn a_game_lost_on_time_is_reported_and_others_are_not() {
        let told = AlertRules::of(&ending(lichess::Status::OutOfTime, Side::Black));
        assert_eq!(
            told.unwrap().text,
            "game q7ZxVt2B against Nuke lost on time"
        );
        let left = ending(lichess::Status::Timeout, Side::Black);
        assert_eq!(AlertRules::of(&left).unwrap().kind, "time");
        let won = ending(lichess::Status::OutOfTime, Side::White);
        assert_eq!(AlertRules::of(&won), None);
        let mated = ending(lichess::Status::Mate, Side::Black);
        assert_eq!(AlertRules::of(&mated), None);
    }

    #[test]
    fn alerts_and_engine_faults_are_reported() {
        let kind = AlertKind::Token;
        let text = "revoked".to_owned();
        let told = AlertRules::of(&BotEvent::AlertRaised { kind, text });
        assert_eq!(told, Some(AlertMessage::new("token", "revoked")));
        assert!(
            AlertRules::of(&BotEvent::AlertCleared { kind })
                .unwrap()
                .over
        );
        let game = GameId::new("q7ZxVt2B");
        let odd = |anomaly| BotEvent::AnomalySeen {
            game: game.clone(),
            anomaly,
        };
        assert_eq!(AlertRules::of(&odd(Anomaly::Late)).unwrap().kind, "engine");
        assert_eq!(AlertRules::of(&odd(Anomaly::Stale)), None);
        let reason = "broken".to_owned();
        let told = AlertRules::of(&BotEvent::GameTaskFailed { game, reason });
        let text = "game q7ZxVt2B: task panicked: broken";
        assert_eq!(told, Some(AlertMessage::new("engine", text)));
        let reason = "broken".to_owned();
        let told = AlertRules::of(&BotEvent::EventLoopFailed { reason });
        assert_eq!(
            told,
            Some(AlertMessage::new(
                "event-loop",
                "event loop panicked: broken"
            ))
        );
        let reason = "it plays a2a3".to_owned();
        let told = AlertRules::of(&BotEvent::EngineFailed { reason });
        let text = "self-test failed: it plays a2a3";
        assert_eq!(told, Some(AlertMessage::new("engine", text)));
        let told = AlertRules::of(&BotEvent::ServiceFailed {
            service: "the reloader",
            reason: "broken".to_owned(),
        });
        let text = "the reloader panicked and restarts; the bot plays on: broken";
        assert_eq!(told, Some(AlertMessage::new("service", text)));
    }

    #[test]
    fn a_closed_event_stream_is_reported_once_and_its_return_once() {
        let now = Instant::now();
        let mut rules = AlertRules::new(DEAF);
        let mut closed = Status::default();
        closed.stream.outage = Some(StreamOutage {
            reason: "status 503".to_owned(),
            since: 120,
            next_try: 12,
        });
        assert!(rules.check(&closed, now).is_empty());
        assert!(rules.check(&closed, now + DEAF / 2).is_empty());
        let told = rules.check(&closed, now + DEAF);
        let text = "event stream down for 120 s: challenges are not received (status 503; next try in 12 s)";
        assert_eq!(told, [AlertMessage::new("deaf", text)]);
        assert!(rules.check(&closed, now + DEAF * 2).is_empty());
        let open = Status {
            stream: EventStreamStatus {
                open: true,
                ..EventStreamStatus::default()
            },
            ..Status::default()
        };
        assert!(rules.check(&open, now + DEAF * 3)[0].over);
        assert!(
            rules.check(&closed, now + DEAF * 3).is_empty(),
            "it counts anew"
        );
    }

    #[test]
    fn a_pause_that_lasts_is_reported_once_and_so_is_its_end() {
        let mut rules = AlertRules::new(DEAF);
        let now = Instant::now();
        let mut told = |state, at| {
            let status = Status {
                state,
                stream: EventStreamStatus {
                    open: true,
                    ..EventStreamStatus::default()
                },
                ..Status::default()
            };
            let told = rules.check(&status, at).into_iter();
            told.map(|it| (it.kind, it.over)).collect::<Vec<_>>()
        };
        let (paused, playing) = (BotPhase::Paused, BotPhase::Playing);
        assert_eq!(told(paused, now), []);
        assert_eq!(told(playing, now + LONG_PAUSE / 2), [], "it was short");
        let begun = now + LONG_PAUSE;
        assert_eq!(told(paused, begun), []);
        assert_eq!(told(BotPhase::Alert, begun + LONG_PAUSE / 2), []);
        let almost = LONG_PAUSE.saturating_sub(Duration::from_secs(1));
        assert_eq!(told(paused, begun + almost), []);
        assert_eq!(told(paused, begun + LONG_PAUSE), [("paused", false)]);
        assert_eq!(told(paused, begun + LONG_PAUSE * 2), [], "once");
        assert_eq!(told(playing, begun + LONG_PAUSE * 3), [("paused", true)]);
        assert_eq!(told(playing, begun + LONG_PAUSE * 4), []);
        assert!(AlertMessage::new("paused", "").lasts());
    }

    #[test]
    fn a_missed_alert_is_reported_with_its_end() {
        let mut rules = AlertRules::new(DEAF);
        let alert = |kind: AlertKind| AlertStatus {
            kind: kind.as_str().to_owned(),
            text: "see the log".to_owned(),
            since: 3,
        };
        let with = |alerts| Status {
            alerts,
            ..Status::default()
        };
        let (token, disk) = (AlertKind::Token, AlertKind::Store);
        let text = "see the log".to_owned();
        rules.handle_event(&BotEvent::AlertRaised { kind: token, text });
        assert_eq!(rules.compare(&with(vec![alert(token)])), [], "known");
        let told = rules.compare(&with(vec![alert(disk)]));
        let began = AlertMessage::new(disk.as_str(), "see the log");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told.contains(&began) && told.contains(&over(token.as_str())),
            "{told:?}"
        );
        assert_eq!(rules.compare(&with(vec![alert(disk)])), [], "told");
        rules.handle_event(&BotEvent::AlertCleared { kind: disk });
        assert_eq!(rules.compare(&with(Vec::new())), [], "over");
    }

    #[test]
    fn a_rating_record_is_reported_once_a_day_and_an_old_height_is_none() {
        let now = Instant::now();
        let mut rules = AlertRules::new(DEAF);
        let told = |rules: &mut AlertRules, rating, at| {
            let message = rules.check_rating(Some(rating), at);
            message.map(|message| (message.kind, message.text))
        };
        assert_eq!(
            told(&mut rules, 2500, now),
            None,
            "the past is not known yet"
        );
        rules.know_ratings(Some(2300));
        for rating in [2290, 2300] {
            assert_eq!(told(&mut rules, rating, now), None, "{rating}");
        }
        let record = ("rating", "new highest rating: 2301".to_owned());
        assert_eq!(told(&mut rules, 2301, now), Some(record));
        assert_eq!(told(&mut rules, 2307, now + DAY / 2), None, "one a day");
        assert_eq!(told(&mut rules, 2305, now + DAY), None, "2307 was higher");
        let record = ("rating", "new highest rating: 2308".to_owned());
        assert_eq!(told(&mut rules, 2308, now + DAY), Some(record));

        let mut young = AlertRules::new(DEAF);
        young.know_ratings(None);
        assert_eq!(
            told(&mut young, 1500, now),
            None,
            "the first rating is none"
        );
        assert!(told(&mut young, 1510, now).is_some());
    }

    #[test]
    fn every_kind_of_message_can_be_muted_by_its_word() {
        let alerts = AlertKind::ALL.iter().map(|kind| kind.as_str());
        let others = [
            "deaf",
            "paused",
            "time",
            "engine",
            "event-loop",
            "crash",
            "service",
            "spent",
            "day",
            "rating",
            "ended",
        ];
        let mut kinds: Vec<&str> = alerts.chain(others).collect();
        let mut known = MESSAGE_KINDS.to_vec();
        kinds.sort_unstable();
        known.sort_unstable();
        assert_eq!(kinds, known);
    }

    #[test]
    fn a_spent_daily_quota_is_reported_once_a_day() {
        let now = Instant::now();
        let mut rules = AlertRules::new(DEAF);
        let with = |games| Status {
            quota: Some(QuotaStatus {
                bot_games: games,
                bot_games_limit: 100,
                ..QuotaStatus::default()
            }),
            stream: EventStreamStatus {
                open: true,
                ..EventStreamStatus::default()
            },
            ..Status::default()
        };
        assert!(rules.check(&with(99), now).is_empty());
        assert_eq!(rules.check(&with(100), now)[0].kind, "spent");
        // A game of yesterday leaves the count, and the next one is reserved.
        for games in [100, 99, 100, 98, 101] {
            assert!(rules.check(&with(games), now + DAY / 2).is_empty());
        }
        assert!(rules.check(&with(98), now + DAY).is_empty());
        assert_eq!(rules.check(&with(100), now + DAY).len(), 1);
        assert!(rules.check(&with(100), now + DAY).is_empty());
        assert_eq!(rules.check(&with(100), now + DAY * 2).len(), 1, "all day");
    }

    #[test]
    fn a_quota_that_only_the_server_counts_as_spent_is_reported() {
        let forecast = "no bot games until 00:43 UTC (by Lichess' count)";
        let closed = Status {
            quota: Some(QuotaStatus {
                bot_games_limit: 100,
                forecast: forecast.to_owned(),
                closed_until: Some(1_800_000_000_000),
                ..QuotaStatus::default()
            }),
            ..Status::default()
        };
        let mut rules = AlertRules::new(DEAF);
        let now = Instant::now();
        let told = rules.check(&closed, now);
        assert_eq!(told, [AlertMessage::new("spent", forecast)]);
        assert!(rules.check(&closed, now).is_empty(), "one a day");
    }
}
