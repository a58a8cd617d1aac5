//! A panic inside the bot leaves a report, and the operator hears of it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use megaton::bot::{BotTiming, EventBus, channel};
use megaton::config::{AlertFormat, Alerts as AlertSettings};
use megaton::panel::{
    Address, Alerts, CrashReports, Delivery, RecentLines, StatusWatch, crash_reports,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use crate::running_bot::{Bot, all_over};
use crate::test_server::{MoveFault, Server};

const GUARD: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_the_bot_leaves_one_report_and_message_and_disturbs_no_game() {
    let hook = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let recent = RecentLines::default();
    let started = CrashReports::start(folder.path().join("data"), recent);
    let (reports, written) = started.expect("a thread");
    // Each account of the process has a webhook.
    report_to(&other, written.resubscribe());
    report_to(&hook, written);
    let server = Server::start().await;
    let limited = MoveFault::Instead(429, "Too many requests. Try again later.");
    server.world().move_faults.extend(vec![limited; 4]);
    server.world().begin("g1", true, 10);
    // No instant is so far away: a limit on moves ends in a panic.
    let timing = BotTiming {
        limited_retry: Duration::MAX,
        ..BotTiming::default().faster(25)
    };
    let bot = Bot::paced(&server, &timing, |_| {});
    all_over(&server).await;
    bot.stop().await;
    let message = tokio::time::timeout(GUARD, message(&hook)).await;
    let message = message.expect("in time");
    let again = tokio::time::timeout(GUARD, self::message(&other)).await;
    assert!(again.expect("in time").contains("a part panicked"));
    drop(reports);
    let written = crash_reports(&folder.path().join("data"));
    let mut named = written
        .iter()
        .filter(|path| message.contains(&*path.to_string_lossy()));
    let path = named.next().expect("a report that the message names");
    let text = fs::read_to_string(path).expect("a report");
    let place = text.lines().find(|line| line.starts_with("place: "));
    let place = place.expect("a place");
    assert!(text.contains("message: overflow when adding"), "{text}");
    assert!(text.contains("megaton::bot::"), "{text}");
    // Each of the four panics was at this place.
    let texts = written
        .iter()
        .map(|path| fs::read_to_string(path).expect("a report"));
    assert_eq!(texts.filter(|text| text.contains(place)).count(), 1);
}

/// Sends a message about each report to a webhook, as `megaton run` does.
fn report_to(hook: &TcpListener, written: broadcast::Receiver<PathBuf>) {
    let address = hook.local_addr().expect("an address");
    let address = Address::parse(&format!("http://{address}/hook"), "the test");
    let delivery = Delivery {
        settings: AlertSettings {
            format: AlertFormat::Text,
            ..AlertSettings::default()
        },
        webhook: Some(address.expect("an address")),
        heartbeat: None,
    };
    let (alerter, alerts) = Alerts::new(delivery, None).expect("a client");
    let (event_bus, (watch, _)) = (EventBus::default(), StatusWatch::new(channel().0));
    let event_log = event_bus.event_log().clone();
    tokio::spawn(async move { alerts.run(event_bus.subscribe(), watch).await });
    tokio::spawn(alerter.report_crashes(written, event_log));
}

/// The first message to a webhook.
async fn message(hook: &TcpListener) -> String {
    let (mut caller, _) = hook.accept().await.expect("a caller");
    let mut message = Vec::new();
    while !String::from_utf8_lossy(&message).contains(".txt") {
        let read = caller.read_buf(&mut message).await.expect("a message");
        assert!(read > 0, "{}", String::from_utf8_lossy(&message));
    }
    String::from_utf8(message).expect("text")
}
