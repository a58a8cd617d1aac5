//! Logs the 429s of all API calls, whichever part of the bot made them.
//!
//! Logs the first at once. While they continue it sums them and logs ever more rarely, so that a
//! storm of 429s cannot push other events out of the log. No call waits for it.

use std::time::Duration;

use super::event_log::EventLog;
use crate::lichess::Client;

/// Event kind in the event log.
const KIND: &str = "limited";
/// In a long storm, log once per this many of the first pauses.
const SELDOM: u32 = 4;

/// Runs as long as the bot: logs at once, then not before `pause` has passed.
pub(super) async fn write_down(client: &Client, event_log: &EventLog, pause: Duration) {
    loop {
        client.limited().await;
        let mut rest = pause;
        while write_now(client, event_log) {
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(pause * SELDOM);
        }
    }
}

/// Logs all unlogged 429s; false if there are none.
pub(super) fn write_now(client: &Client, event_log: &EventLog) -> bool {
    let limited = client.take_limited();
    for it in &limited {
        event_log.note(KIND, it.to_string(), it.game.as_ref());
    }
    !limited.is_empty()
}
