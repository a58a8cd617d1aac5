//! Alarms about what is remembered: a file that cannot be written, and rests of the rating guard,
//! those of an earlier run too.
//!
//! It raises and clears; what is kept and who may be played is decided elsewhere.

use tokio::sync::watch;

use super::alarm::{AlarmKind, Alarms};
use super::guard::Tripped;
use super::memory::Memory;

/// Says loudly that the rating guard has stepped in.
pub(super) fn say_tripped(alarms: &Alarms, tripped: Vec<Tripped>) {
    for Tripped { until, reason, .. } in tripped {
        let day = until.date();
        let text = format!("no rated games until {day} {until} UTC: {reason}");
        alarms.raise(AlarmKind::Guard, text);
    }
}

/// Says what an earlier run left: rests of the rating guard that still last.
pub(super) fn say_rests(alarms: &Alarms, memory: &Memory) {
    let rests = memory.rated_rests().into_iter();
    let tripped = rests.map(|(scope, rest)| Tripped {
        scope,
        until: rest.span.until,
        reason: rest.reason,
    });
    say_tripped(alarms, tripped.collect());
}

/// Minds the file for as long as the bot runs.
pub(super) async fn mind_store(alarms: Alarms, memory: Memory) {
    let Some(mut troubles) = memory.store().troubles() else {
        return;
    };
    // The memory itself would keep the file open beyond the bot's end.
    drop(memory);
    loop {
        let trouble = troubles.borrow_and_update().clone();
        match trouble {
            Some(error) => {
                let text = format!("what must be remembered is in memory only: {error}");
                alarms.raise(AlarmKind::Store, text);
            }
            None => {
                alarms.clear(AlarmKind::Store);
            }
        }
        if troubles.changed().await.is_err() {
            return;
        }
    }
}

/// Minds the archive for as long as the bot runs: what it cannot keep is an alarm, no more.
pub(super) async fn mind_archive(alarms: Alarms, mut troubles: watch::Receiver<Option<String>>) {
    loop {
        let trouble = troubles.borrow_and_update().clone();
        match trouble {
            Some(text) => {
                alarms.raise(AlarmKind::Archive, text);
            }
            None => {
                alarms.clear(AlarmKind::Archive);
            }
        }
        if troubles.changed().await.is_err() {
            return;
        }
    }
}
