//! A panic inside the bot leaves a report.

use std::fs;
use std::time::Duration;

use megaton::bot::BotTiming;
use megaton::panel::{CrashReports, RecentLines, crash_reports};

use crate::running_bot::{Bot, all_over};
use crate::test_server::{MoveFault, Server};

const GUARD: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_the_bot_leaves_one_report_and_disturbs_no_game() {
    let folder = tempfile::tempdir().expect("a folder");
    let recent = RecentLines::default();
    let started = CrashReports::start(folder.path().join("data"), recent);
    let (reports, mut written) = started.expect("a thread");
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
    let path = tokio::time::timeout(GUARD, written.recv()).await;
    let path = path.expect("in time").expect("a report");
    drop(reports);
    let text = fs::read_to_string(&path).expect("a report");
    let place = text.lines().find(|line| line.starts_with("place: "));
    let place = place.expect("a place");
    assert!(text.contains("message: overflow when adding"), "{text}");
    assert!(text.contains("megaton::bot::"), "{text}");
    // Each of the four panics was at this place.
    let texts = crash_reports(&folder.path().join("data")).into_iter();
    let texts = texts.map(|path| fs::read_to_string(path).expect("a report"));
    assert_eq!(texts.filter(|text| text.contains(place)).count(), 1);
}
