//! Current values, read at the scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::bot::{BotPhase, Status};
use crate::engine::Pool;
use crate::lichess::{CallResult, CallStats, Client, EndpointClass};
use crate::panel::health::Health;
use crate::panel::status_poller::StatusWatch;

/// The sources of metrics, besides the event bus.
#[derive(Clone, Debug)]
pub struct MetricSources {
    pub watch: StatusWatch,
    pub health: Health,
    pub client: Client,
    pub pool: Pool,
}

/// Gauges without labels, each with its name, its help and its value, if that is known.
macro_rules! gauges {
    ($out:expr; $($name:literal $help:literal: $value:expr;)+) => {
        $(gauge($out, $name, $help, $value)?;)+
    };
}

#[derive(Debug)]
pub(super) struct Gauges(pub(super) MetricSources);

/// A value of several under one name: its labels and the value.
type LabelledValue<'l, V> = (Vec<(&'static str, &'l str)>, V);

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut encoder;
        let MetricSources {
            watch,
            health,
            client,
            pool,
        } = &self.0;
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        labelled(out, "build", "Program version", [(version, 1.0)])?;
        let report = health.report();
        let checks = report.checks.iter();
        let checks = checks.map(|it| (vec![("check", it.name.as_str())], flag(it.ok)));
        labelled(out, "check_ok", "Readiness by check", checks)?;
        gauges! { out;
            "ready" "Whether the bot is ready for games": flag(report.ready);
            "alive" "Whether the bot is alive": flag(report.alive);
            "disk_free_bytes" "Free space of the data folder": health.free().map(|free| free as f64);
            "answer_age_seconds" "Time since the last status": watch.age().as_secs_f64();
            "table_fill_ratio" "Fraction of the transposition table written by the last search":
                f64::from(pool.table_fill()) / 1000.0;
            "searches_running" "Running searches, for games and reviews": pool.searching() as f64;
        }
        requests(out, &client.stats())?;
        watch.status().map_or(Ok(()), |status| bot(out, &status))
    }
}

/// The status of the bot.
fn bot(out: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let phases = [
        (BotPhase::Connecting, "connecting"),
        (BotPhase::Playing, "playing"),
        (BotPhase::Paused, "paused"),
        (BotPhase::Alert, "alert"),
        (BotPhase::Draining, "draining"),
    ];
    let phases = phases.map(|(phase, word)| (vec![("state", word)], flag(phase == status.state)));
    labelled(out, "state", "State of the bot", phases)?;
    let alerts = status.alerts.iter();
    let alerts = alerts.map(|alert| (vec![("kind", alert.kind.as_str())], 1.0));
    labelled(out, "alert", "Active alerts", alerts)?;
    if let Some(quota) = &status.quota {
        let by_kind = |games: u32, credits: u32| {
            [
                (vec![("what", "bot_games")], f64::from(games)),
                (vec![("what", "credits")], f64::from(credits)),
            ]
        };
        let used = by_kind(quota.bot_games, quota.credits);
        let limits = by_kind(quota.bot_games_limit, quota.credits_limit);
        let help = "Quota used in the last 24 hours";
        labelled(out, "quota_used", help, used)?;
        let help = "Quota of the server per 24 hours";
        labelled(out, "quota_limit", help, limits)?;
        let closed = flag(quota.closed_until.is_some());
        let closed = [(vec![("what", "bot_games")], closed)];
        let help = "Whether the server allows none for now";
        labelled(out, "quota_closed", help, closed)?;
    }
    let help = "Event stream disconnects";
    let encoder = out.encode_descriptor("event_streams_lost", help, None, MetricType::Counter)?;
    ConstCounter::new(status.stream.lost).encode(encoder)?;
    let (slots, stream) = (&status.slots, &status.stream);
    let games = status.games.iter();
    let open = games.clone().filter(|game| game.stream.open).count();
    let reopened: u64 = games.map(|game| game.stream.reopened).sum();
    let seconds = |millis: u64| millis as f64 / 1e3;
    gauges! { out;
        "uptime_seconds" "Uptime": status.uptime as f64;
        "event_stream_open" "Whether the event stream is open": flag(stream.open);
        "event_stream_age_seconds" "Time since the last line of the event stream":
            stream.received_ago.map(seconds);
        "game_streams_open" "Open game streams": open as f64;
        "game_streams_reopened" "Reopened streams of the games in progress": reopened as f64;
        "slots" "Game slots": slots.all as f64;
        "slots_taken" "Slots taken": slots.taken as f64;
        "slots_for_humans" "Slots reserved for humans": slots.for_humans as f64;
        "games_running" "Games in progress": status.games.len() as f64;
        "correspondence_games" "Correspondence games": status.correspondence.games as f64;
        "challenges_waiting" "Challenges waiting for a slot": status.waiting as f64;
        "overhead_learned_seconds" "Move overhead, measured": status.overhead.map(seconds);
        "rating" "Atomic rating": status.rating.map(f64::from);
        "accepted_age_seconds" "Time since the last accepted challenge":
            status.accepted_ago.map(|ago| ago as f64);
        "accounts_blocked" "Accounts blocked by command": status.blocked.len() as f64;
    }
    Ok(())
}

/// The calls to the server.
fn requests(out: &mut DescriptorEncoder<'_>, stats: &CallStats) -> fmt::Result {
    let ended = EndpointClass::ALL.into_iter().flat_map(|class| {
        CallResult::ALL.into_iter().map(move |result| {
            let labels = vec![("kind", class.as_str()), ("status", result.as_str())];
            (labels, stats.ended(class, result))
        })
    });
    counters(out, "requests", "API calls by kind and result", ended)?;
    let delayed = EndpointClass::ALL.into_iter();
    let delayed = delayed.map(|class| (vec![("kind", class.as_str())], stats.held(class)));
    let help = "API calls delayed by the rate limiter";
    counters(out, "requests_held", help, delayed)
}

const fn flag(is_set: bool) -> f64 {
    if is_set { 1.0 } else { 0.0 }
}

/// A gauge without labels. One whose value is not known is described without it.
pub(super) fn gauge(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: impl Into<Option<f64>>,
) -> fmt::Result {
    let encoder = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    let value = value.into();
    value.map_or(Ok(()), |value| ConstGauge::new(value).encode(encoder))
}

fn labelled<'l>(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = LabelledValue<'l, f64>>,
) -> fmt::Result {
    let mut encoder = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        ConstGauge::new(value).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

fn counters<'l>(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = LabelledValue<'l, u64>>,
) -> fmt::Result {
    let mut encoder = out.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        ConstCounter::new(value).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}
