//! Writes calls refused with 429 to the event log.
//!
//! The first refusal is written at once; further ones are summed up ever more rarely, so a storm of them
//! does not crowd out other events. No caller waits for it.

use std::time::Duration;

use super::event_log::EventLog;
use crate::lichess::Client;

/// The word for it in the event log.
const KIND: &str = "limited";
/// In a long storm it is told once in so many of the first pauses.
const SELDOM: u32 = 4;

/// Writes for as long as the bot runs: at once, and then after `pause` at the earliest.
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

/// Writes what no one has written yet; false if there is nothing.
pub(super) fn write_now(client: &Client, event_log: &EventLog) -> bool {
    let limited = client.take_limited();
    for it in &limited {
        event_log.note(KIND, it.to_string(), it.game.as_ref());
    }
    !limited.is_empty()
}
