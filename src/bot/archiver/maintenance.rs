//! Daily maintenance: deletes old data from the archive and logs the day's summary.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{ArchiveRules, DAY, STILL_RUNNING, epoch, millis};
use crate::archive::{ArchiveError, Database, Millis, Prune, PrunePlace, Writer, dates};
use crate::bot::event_log::EventLog;
use crate::config;

/// Maximum days summarized in turn after a long gap.
const MAX_DAYS: u64 = 7;
/// A clock that runs ahead by more than this between two looks has leapt. A machine that slept for a night
/// has not: otherwise one that does every night would never delete anything.
const LEAP: Duration = Duration::from_secs(12 * 3600);
/// Pause between two steps, which leaves the disk to others.
const BREATH: Duration = Duration::from_millis(20);

/// Timing of the maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaintenanceRules {
    /// How long after the start to look for old data.
    pub settle: Duration,
    /// How often to check for a finished day or old data.
    pub look: Duration,
    /// How long to keep old data after the clock leapt ahead.
    pub after_leap: Duration,
}

impl Default for MaintenanceRules {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(600),
            look: Duration::from_secs(60),
            after_leap: DAY,
        }
    }
}

/// Maintains the archive as long as it is open.
pub(super) async fn run(
    writer: Writer,
    event_log: EventLog,
    rules: ArchiveRules,
    day_sender: Arc<watch::Sender<Option<String>>>,
) {
    let now = || epoch((rules.clock)());
    let mut days = SummaryDays {
        writer: writer.clone(),
        event_log: event_log.clone(),
        today: day_of(now()),
        caught_up: false,
    };
    let settled = Instant::now() + rules.upkeep.settle;
    let mut schedule = PruneSchedule::new(settled, now(), rules.upkeep.after_leap);
    let pruner = Pruner {
        writer,
        rules: rules.settings.clone(),
    };
    loop {
        // Before the first check, games that ended unseen are looked up.
        tokio::time::sleep(rules.upkeep.look).await;
        let now = now();
        let summary = days.next(day_of(now)).await;
        if summary.is_some() {
            day_sender.send_replace(summary);
        }
        let quiet = event_log.running_count() == 0;
        if schedule.is_due(Instant::now(), now, quiet) {
            pruner.sweep(now).await;
        }
    }
}

/// When old data is deleted: once a day. A clock that leaps ahead makes all data old, and it may be wrong:
/// nothing is deleted for some time, in which it can be corrected.
struct PruneSchedule {
    due: Instant,
    after_leap: Duration,
    /// When the clock was read last, and what it said.
    last: (Instant, Millis),
}

impl PruneSchedule {
    fn new(due: Instant, now: Millis, after_leap: Duration) -> Self {
        Self {
            due,
            after_leap,
            last: (Instant::now(), now),
        }
    }

    /// Whether to delete now: preferably while no game runs, at the latest a day later.
    fn is_due(&mut self, at: Instant, now: Millis, quiet: bool) -> bool {
        let (before, then) = std::mem::replace(&mut self.last, (at, now));
        let leapt = now > then + millis(at - before + LEAP);
        if leapt {
            self.due = at + self.after_leap;
        }
        let due = at >= self.due && (quiet || at >= self.due + DAY);
        if due {
            self.due = at + DAY;
        }
        due
    }
}

fn day_of(moment: Millis) -> u64 {
    moment / millis(DAY)
}

/// The days to summarize.
struct SummaryDays {
    writer: Writer,
    event_log: EventLog,
    /// The first day not yet summarized.
    today: u64,
    /// Whether the days before the start have been checked.
    caught_up: bool,
}

impl SummaryDays {
    /// The summary of a day that has ended and is not summarized yet. While the archive fails there
    /// is none, and it is retried.
    async fn next(&mut self, now: u64) -> Option<String> {
        let pending = self.pending(now).await;
        let postponed = |error: &_| tracing::debug!(%error, "daily summary postponed");
        pending.inspect_err(postponed).ok().flatten()
    }

    async fn pending(&mut self, now: u64) -> Result<Option<String>, ArchiveError> {
        if !self.caught_up {
            let summary = catch_up(&self.writer, &self.event_log, self.today).await?;
            self.caught_up = true;
            return Ok(summary);
        }
        // A corrected clock may leap over years, and back.
        self.today = self.today.max(now.saturating_sub(MAX_DAYS));
        if self.today > now + 1 {
            self.today = now;
        }
        if now <= self.today {
            return Ok(None);
        }
        let summary = sum_up(&self.writer, &self.event_log, self.today).await?;
        self.today += 1;
        Ok(Some(summary))
    }
}

/// Summarizes the last earlier day on which games ended, if the bot was down when it ended.
async fn catch_up(
    writer: &Writer,
    event_log: &EventLog,
    today: u64,
) -> Result<Option<String>, ArchiveError> {
    let before = today * millis(DAY);
    let Some(ended) = writer.ask(move |disk| disk.not_summed_up(before)).await? else {
        return Ok(None);
    };
    sum_up(writer, event_log, day_of(ended)).await.map(Some)
}

async fn sum_up(writer: &Writer, event_log: &EventLog, day: u64) -> Result<String, ArchiveError> {
    if event_log.write_errors().borrow().is_some() {
        // Some of its games may wait in memory.
        return Err(ArchiveError::Failed {
            path: writer.path().to_owned(),
            reason: "the archive is failing".to_owned(),
        });
    }
    let (from, until) = (day * millis(DAY), (day + 1) * millis(DAY));
    let summary = writer.ask(move |disk| disk.day(from, until)).await?;
    // The date makes the summary findable.
    let summary = format!("{}: {summary}", dates::date(from));
    tracing::info!(summary, "the day is over");
    event_log.note("summary", summary.as_str(), None);
    Ok(summary)
}

/// Deletes old data a step at a time: between two steps waiting users of the file get their turn,
/// above all the archive writer.
struct Pruner {
    writer: Writer,
    rules: config::Archive,
}

impl Pruner {
    async fn sweep(&self, now: Millis) {
        match self.steps(now).await {
            Ok((0, 0, 0)) => {}
            Ok((games, details, events)) => {
                tracing::info!(games, details, events, "old data deleted from the archive");
            }
            Err(error) => tracing::warn!(%error, "cannot delete old data from the archive"),
        }
    }

    /// Number of deleted games, game details, and challenges and events.
    async fn steps(&self, now: Millis) -> Result<(u64, u64, u64), ArchiveError> {
        let before = |days: u32| now.saturating_sub(u64::from(days) * millis(DAY));
        let (games, details) = (before(self.rules.games), before(self.rules.details));
        let before = before(self.rules.events);
        let games = self.games(0, games, Prune::Games).await?;
        // A game may have ended since the pruner passed it, and a clock may have been corrected.
        let known = self.writer.ask(Database::thinned).await?;
        let from = known.min(details).saturating_sub(millis(STILL_RUNNING));
        let thinned = self.games(from, details, Prune::Details).await?;
        let writer = &self.writer;
        let noted = writer.ask(move |disk| disk.set_thinned(known, details));
        noted.await?;
        let mut events = 0;
        loop {
            let step = self.writer.ask(move |disk| disk.prune_events(before));
            let (challenges, others) = step.await?;
            if challenges + others == 0 {
                break;
            }
            events += challenges + others;
            tokio::time::sleep(BREATH).await;
        }
        while self.writer.ask(Database::give_back).await? {
            tokio::time::sleep(BREATH).await;
        }
        Ok((games, thinned, events))
    }

    async fn games(&self, from: Millis, before: Millis, what: Prune) -> Result<u64, ArchiveError> {
        let mut all = 0;
        let mut place = PrunePlace::at(from);
        loop {
            let step = self
                .writer
                .ask(move |disk| disk.prune_games(place, before, what));
            let (games, next) = step.await?;
            all += games;
            let Some(next) = next else {
                return Ok(all);
            };
            place = next;
            tokio::time::sleep(BREATH).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::{
        ArchiveEntry, ArchiveReader, EndingRecord, FILE_NAME, Filter, GameRecord, MoveRecord, Order,
    };
    use crate::lichess::{Side, Status};

    fn game(number: u64, began: Millis) -> ArchiveEntry {
        ArchiveEntry::Game(Arc::new(GameRecord {
            id: format!("game{number:04}"),
            joined: began,
            ending: Some(EndingRecord {
                status: Status::Aborted,
                winner: None,
                at: began,
            }),
            ..GameRecord::default()
        }))
    }

    fn pruner(writer: &Writer, set: impl FnOnce(&mut config::Archive)) -> Pruner {
        let mut rules = config::Archive::default();
        set(&mut rules);
        Pruner {
            writer: writer.clone(),
            rules,
        }
    }

    /// A game that the bot lost on a day.
    fn lost(number: u64, day: u64) -> ArchiveEntry {
        let at = day * millis(DAY) + number;
        ArchiveEntry::Game(Arc::new(GameRecord {
            id: format!("game{number:04}"),
            us: Some(Side::White),
            joined: at,
            ending: Some(EndingRecord {
                status: Status::Resign,
                winner: Some(Side::Black),
                at,
            }),
            ..GameRecord::default()
        }))
    }

    /// A game with search results.
    fn thoughtful(id: &str, joined: Millis) -> GameRecord {
        GameRecord {
            id: id.to_owned(),
            joined,
            moves: vec![MoveRecord {
                depth: Some(9),
                ..MoveRecord::bare("e2e4")
            }],
            ..GameRecord::default()
        }
    }

    #[tokio::test]
    async fn an_unsummarized_day_is_summarized_once() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
        let games = [lost(1, 2), lost(2, 3), lost(3, 3), lost(4, 7)];
        writer.ask(move |disk| disk.commit(&games)).await.unwrap();
        let event_log = EventLog::default();
        let summary = catch_up(&writer, &event_log, 2).await.unwrap();
        assert_eq!(summary, None, "not over yet");
        let summary = catch_up(&writer, &event_log, 7).await.unwrap().unwrap();
        assert!(summary.starts_with("1970-01-04: "), "{summary}");
        assert!(summary.contains(" +0 =0 -2"), "{summary}");
        let kept = event_log.events(9).into_iter().map(ArchiveEntry::Event);
        let kept: Vec<ArchiveEntry> = kept.collect();
        assert_eq!(kept.len(), 1);
        writer.ask(move |disk| disk.commit(&kept)).await.unwrap();
        let again = catch_up(&writer, &event_log, 7).await.unwrap();
        assert_eq!(again, None, "once");
        let next = catch_up(&writer, &event_log, 8).await.unwrap().unwrap();
        assert!(next.starts_with("1970-01-08: "), "{next}");
    }

    #[tokio::test]
    async fn a_day_waits_for_its_summary_until_the_archive_works_again() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
        let games = [lost(1, 2), lost(2, 3)];
        writer.ask(move |disk| disk.commit(&games)).await.unwrap();
        let event_log = EventLog::default();
        let mut days = SummaryDays {
            writer,
            event_log: event_log.clone(),
            today: 3,
            caught_up: false,
        };
        let trouble = |is_on: bool| event_log.set_write_error(is_on.then(|| "full".to_owned()));
        trouble(true);
        for now in [3, 3, 4, 5] {
            assert_eq!(days.next(now).await, None);
        }
        trouble(false);
        // Each in turn: one before the start, and those that ended meanwhile.
        let mut told = Vec::new();
        while let Some(summary) = days.next(5).await {
            told.push(summary);
        }
        assert_eq!(told.len(), 3, "{told:?}");
        for (summary, (date, what)) in told.iter().zip([
            ("1970-01-03: ", " +0 =0 -1"),
            ("1970-01-04: ", " +0 =0 -1"),
            ("1970-01-05: ", "no games"),
        ]) {
            assert!(summary.starts_with(date), "{summary}");
            assert!(summary.contains(what), "{summary}");
        }
        assert_eq!(event_log.events(9).len(), 3);
        assert_eq!(days.next(6).await.as_deref(), Some("1970-01-06: no games"));
        // A leap of the clock does not cause a year of summaries.
        let mut leapt = 0;
        while days.next(1000).await.is_some() {
            leapt += 1;
        }
        assert_eq!(leapt, MAX_DAYS);
        // Nor does one that is corrected silence them.
        assert_eq!(days.next(7).await, None);
        assert_eq!(days.next(8).await.as_deref(), Some("1970-01-08: no games"));
    }

    #[test]
    fn a_clock_that_leaps_ahead_deletes_nothing_for_a_day() {
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        let mut schedule = PruneSchedule::new(start, 0, DAY);
        let mut due =
            |after: Duration, clock: Duration| schedule.is_due(start + after, millis(clock), true);
        assert!(due(minute, minute));
        assert!(!due(minute * 2, minute * 2), "once a day");
        let awake = minute * 3;
        assert!(!due(awake, minute * 600), "a night");
        let ahead = DAY * 400;
        assert!(!due(DAY + minute, ahead));
        assert!(!due(DAY + minute * 2, ahead + minute));
        // It was wrong, and is corrected in time.
        let right = DAY + minute * 1435;
        assert!(!due(right, right));
        assert!(due(DAY * 2 + minute, DAY * 2 + minute));
        // It was right: a day later nothing is young any more.
        assert!(!due(DAY * 2 + minute * 2, ahead));
        assert!(due(DAY * 3 + minute * 2, ahead + DAY));
        assert!(!schedule.is_due(
            start + DAY * 4 + minute * 1439,
            millis(ahead + DAY * 3),
            false
        ));
    }

    #[tokio::test]
    async fn a_waiting_user_of_the_file_waits_for_one_step_of_the_pruner() {
        const GAMES: u64 = 350;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let writer = Writer::start(&path).unwrap();
        let games: Vec<ArchiveEntry> = (0..GAMES).map(|number| game(number, 5)).collect();
        writer.ask(move |disk| disk.commit(&games)).await.unwrap();
        let pruner = pruner(&writer, |rules| rules.games = 1);
        let left = || {
            let reader = ArchiveReader::open(&path).unwrap();
            let all = reader.games(&Filter::default(), Order::Newest, 999, None);
            all.unwrap().len()
        };
        // Requested while the first step is in progress.
        let meanwhile = async {
            let game = game(GAMES, 10 * millis(DAY));
            writer.ask(move |disk| disk.commit(&[game])).await.unwrap();
            left()
        };
        let (gone, meanwhile) = tokio::join!(pruner.steps(9 * millis(DAY)), meanwhile);
        assert_eq!(gone.unwrap().0, GAMES);
        assert!(meanwhile > 1, "kept only once all was over");
        assert_eq!(left(), 1);
    }

    #[tokio::test]
    async fn a_game_that_ends_after_the_pruner_passed_it_is_thinned_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let writer = Writer::start(&path).unwrap();
        let mut running = thoughtful("game0001", 5);
        let keep = |game: &GameRecord| {
            let entry = ArchiveEntry::Game(Arc::new(game.clone()));
            writer.ask(move |disk| disk.commit(&[entry]))
        };
        keep(&running).await.unwrap();
        let pruner = pruner(&writer, |rules| rules.details = 1);
        assert_eq!(
            pruner.steps(30 * millis(DAY)).await.unwrap().1,
            0,
            "it runs"
        );
        running.ending = Some(EndingRecord {
            status: Status::Draw,
            winner: None,
            at: 30 * millis(DAY),
        });
        keep(&running).await.unwrap();
        assert_eq!(pruner.steps(32 * millis(DAY)).await.unwrap().1, 1);
    }
    #[tokio::test]
    async fn after_a_start_only_games_that_may_have_details_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
        let keep = |id: &str, day: u64| {
            let mut game = thoughtful(id, day * millis(DAY));
            game.ending = Some(EndingRecord {
                status: Status::Draw,
                winner: None,
                at: day * millis(DAY) + 1,
            });
            let entry = ArchiveEntry::Game(Arc::new(game));
            writer.ask(move |disk| disk.commit(&[entry]))
        };
        let sweep = || async {
            // As after a start: only the file's own data is known.
            let pruner = pruner(&writer, |rules| {
                rules.games = 9999;
                rules.details = 1;
            });
            pruner.steps(1000 * millis(DAY)).await.unwrap().1
        };
        keep("game0001", 5).await.unwrap();
        assert_eq!(sweep().await, 1);
        let thinned = writer.ask(Database::thinned).await.unwrap();
        assert_eq!(thinned, 999 * millis(DAY));
        // One that ran when the pruner passed it, and one added without notice.
        keep("game0002", 900).await.unwrap();
        keep("game0003", 6).await.unwrap();
        assert_eq!(sweep().await, 1);
        // As an importer of games reports it.
        let older = move |disk: &mut Database| disk.set_thinned(thinned, 6 * millis(DAY));
        writer.ask(older).await.unwrap();
        assert_eq!(sweep().await, 1);
        // Of two concurrent reports, the one with more work to do counts.
        writer.ask(older).await.unwrap();
        let late = move |disk: &mut Database| disk.set_thinned(thinned, thinned);
        writer.ask(late).await.unwrap();
        let told = writer.ask(Database::thinned).await.unwrap();
        assert_eq!(told, 6 * millis(DAY));
    }
}
