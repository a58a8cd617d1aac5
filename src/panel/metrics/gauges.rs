//! How things are, read when someone asks.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::MetricSources;
use crate::bot::{BotPhase, QuotaStatus, Status};
use crate::lichess::{CallResult, CallStats, EndpointClass};

/// Where it is read from.
#[derive(Debug)]
pub(super) struct Gauges(pub(super) MetricSources);

/// One figure of several under one name: its labels and its value.
type GaugeRow<'l, V> = (Vec<(&'static str, &'l str)>, V);

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut encoder;
        let MetricSources {
            watch,
            health,
            client,
            pool,
        } = &self.0;
        let version = [("version", env!("CARGO_PKG_VERSION"))].to_vec();
        gauges(out, "build", "Program version", vec![(version, 1.0)])?;
        let report = health.report();
        monitor(
            out,
            "ready",
            "Whether the bot is ready for games",
            f64::from(u8::from(report.ready)),
        )?;
        monitor(
            out,
            "alive",
            "Whether the bot is alive",
            f64::from(u8::from(report.alive)),
        )?;
        let checks = report.checks.iter();
        let checks = checks.map(|it| (vec![("check", it.name.as_str())], truth(it.ok)));
        gauges(out, "check_ok", "Readiness by check", checks.collect())?;
        perhaps(
            out,
            "disk_free_bytes",
            "Free space of the data folder",
            health.free().map(|free| free as f64),
        )?;
        let age = watch.age().as_secs_f64();
        monitor(out, "answer_age_seconds", "Time since the last status", age)?;
        let fill = f64::from(pool.table_fill()) / 1000.0;
        let help = "Fraction of the transposition table written by the last search";
        monitor(out, "table_fill_ratio", help, fill)?;
        let searching = pool.searching() as f64;
        let help = "Running searches, for games and reviews";
        monitor(out, "searches_running", help, searching)?;
        requests(out, &client.stats())?;
        match watch.status() {
            Some(status) => told(out, &status),
            None => Ok(()),
        }
    }
}

/// What the bot says of itself.
fn told(out: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let words = [
        (BotPhase::Connecting, "connecting"),
        (BotPhase::Playing, "playing"),
        (BotPhase::Paused, "paused"),
        (BotPhase::Alarmed, "alarmed"),
        (BotPhase::Draining, "draining"),
    ];
    let rows = words.map(|(state, word)| (vec![("state", word)], truth(state == status.state)));
    gauges(out, "state", "State of the bot", rows.to_vec())?;
    monitor(out, "uptime_seconds", "Uptime", status.uptime as f64)?;
    stream(out, status)?;
    seats(out, status)?;
    if let Some(spent) = &status.quota {
        quota(out, spent)?;
    }
    let overhead = status.overhead.map(|millis| millis as f64 / 1e3);
    let help = "Move overhead, measured";
    perhaps(out, "overhead_learned_seconds", help, overhead)?;
    let rating = status.rating.map(f64::from);
    perhaps(out, "rating", "Atomic rating", rating)?;
    let ago = status.accepted_ago.map(|seconds| seconds as f64);
    let help = "Time since the last accepted challenge";
    perhaps(out, "accepted_age_seconds", help, ago)?;
    monitor(
        out,
        "accounts_blocked",
        "Accounts blocked by command",
        status.blocked.len() as f64,
    )?;
    let alarms = status.alarms.iter();
    let alarms = alarms.map(|alarm| (vec![("kind", alarm.kind.as_str())], 1.0));
    gauges(out, "alarm", "Active alerts", alarms.collect())
}

/// How many games there are, and how many more there could be.
fn seats(out: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let seats = &status.seats;
    monitor(out, "seats", "Game slots", seats.all as f64)?;
    monitor(out, "seats_taken", "Slots taken", seats.taken as f64)?;
    monitor(
        out,
        "seats_for_humans",
        "Slots reserved for humans",
        seats.for_humans as f64,
    )?;
    monitor(
        out,
        "games_running",
        "Games in progress",
        status.games.len() as f64,
    )?;
    monitor(
        out,
        "games_parked",
        "Correspondence games",
        status.correspondence as f64,
    )?;
    monitor(
        out,
        "challenges_waiting",
        "Challenges waiting for a slot",
        status.waiting as f64,
    )
}

/// What the day has cost at the server.
fn quota(out: &mut DescriptorEncoder<'_>, quota: &QuotaStatus) -> fmt::Result {
    let spent = [
        (vec![("what", "bot_games")], f64::from(quota.bot_games)),
        (vec![("what", "credits")], f64::from(quota.credits)),
    ];
    gauges(
        out,
        "ledger_spent",
        "Quota used in the last 24 hours",
        spent.to_vec(),
    )?;
    let limits = [
        (
            vec![("what", "bot_games")],
            f64::from(quota.bot_games_limit),
        ),
        (vec![("what", "credits")], f64::from(quota.credits_limit)),
    ];
    gauges(
        out,
        "ledger_limit",
        "Quota of the server per 24 hours",
        limits.to_vec(),
    )
}

fn stream(out: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let stream = &status.stream;
    monitor(
        out,
        "event_stream_open",
        "Whether the event stream is open",
        truth(stream.open),
    )?;
    let ago = stream.heard_ago.map(|millis| millis as f64 / 1e3);
    let help = "Time since the last line of the event stream";
    perhaps(out, "event_stream_age_seconds", help, ago)?;
    let help = "Event stream disconnects";
    let encoder = out.encode_descriptor("event_streams_lost", help, None, MetricType::Counter)?;
    ConstCounter::new(stream.lost).encode(encoder)?;
    let games = status.games.iter();
    let open = games.clone().filter(|game| game.stream.open).count();
    monitor(out, "game_streams_open", "Open game streams", open as f64)?;
    let again: u64 = games.map(|game| game.stream.reopened).sum();
    let help = "Reopened streams of the games in progress";
    monitor(out, "game_streams_reopened", help, again as f64)
}

/// Calls to the server.
fn requests(out: &mut DescriptorEncoder<'_>, tally: &CallStats) -> fmt::Result {
    let ended = EndpointClass::ALL.into_iter().flat_map(|scope| {
        let row = move |outcome: CallResult| {
            let labels = vec![("kind", scope.as_str()), ("status", outcome.as_str())];
            (labels, tally.ended(scope, outcome))
        };
        CallResult::ALL.into_iter().map(row)
    });
    counters(
        out,
        "requests",
        "API calls by kind and result",
        ended.collect(),
    )?;
    let rows = EndpointClass::ALL.into_iter();
    let rows = rows.map(|scope| (vec![("kind", scope.as_str())], tally.held(scope)));
    let help = "API calls delayed by the rate limiter";
    counters(out, "requests_held", help, rows.collect())
}

const fn truth(so: bool) -> f64 {
    if so { 1.0 } else { 0.0 }
}

fn monitor(out: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    perhaps(out, name, help, Some(value))
}

/// A figure that may not be known yet; it is described all the same.
fn perhaps(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: Option<f64>,
) -> fmt::Result {
    let encoder = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    value.map_or(Ok(()), |value| ConstGauge::new(value).encode(encoder))
}

fn gauges(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: Vec<GaugeRow<'_, f64>>,
) -> fmt::Result {
    let mut encoder = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in rows {
        ConstGauge::new(value).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

fn counters(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: Vec<GaugeRow<'_, u64>>,
) -> fmt::Result {
    let mut encoder = out.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in rows {
        ConstCounter::new(value).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}
