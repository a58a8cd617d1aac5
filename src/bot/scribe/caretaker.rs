//! Once a day: what is too old goes, and the log gets the day's summary.

use std::time::Duration;

use tokio::sync::watch;

use super::{ArchiveRules, DAY, STILL_RUNNING, epoch, millis};
use crate::archive::{ArchiveError, Clerk, Disk, Millis, Prune, PrunePlace, calendar};
use crate::bot::chronicle::Chronicle;
use crate::config;

/// Left to others at the disk between two steps.
const BREATH: Duration = Duration::from_millis(20);

/// When it is looked what there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpkeepRules {
    /// How long after the start what is too old is looked for.
    pub settle: Duration,
    /// How often it is looked whether a day is over, or something too old.
    pub look: Duration,
}

impl Default for UpkeepRules {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(600),
            look: Duration::from_secs(60),
        }
    }
}

/// Minds the archive for as long as it is kept.
pub(super) async fn mind(
    clerk: Clerk,
    chronicle: Chronicle,
    rules: ArchiveRules,
    say: watch::Sender<Option<String>>,
) {
    let now = || epoch((rules.clock)());
    let mut today = day_of(now());
    let mut prune_at = now() + millis(rules.upkeep.settle);
    let mut broom = Broom {
        clerk: clerk.clone(),
        rules: rules.settings.clone(),
        thinned: 0,
    };
    let tell = |summary: Option<String>| {
        if summary.is_some() {
            say.send_replace(summary);
        }
    };
    // Meanwhile games that ended while nobody looked are looked up.
    tokio::time::sleep(rules.upkeep.look).await;
    tell(catch_up(&clerk, &chronicle, today).await);
    loop {
        tokio::time::sleep(rules.upkeep.look).await;
        let now = now();
        if day_of(now) > today {
            tell(sum_up(&clerk, &chronicle, today).await);
            today = day_of(now);
        }
        // Rather when nothing is played; at the latest a day later.
        let quiet = chronicle.running().is_empty();
        if now >= prune_at && (quiet || now >= prune_at + millis(DAY)) {
            broom.sweep(now).await;
            prune_at = now + millis(DAY);
        }
    }
}

/// Days since 1970.
fn day_of(moment: Millis) -> u64 {
    moment / millis(DAY)
}

/// Sums up the last day before this one on which games ended, if nobody was there when it was over.
async fn catch_up(clerk: &Clerk, chronicle: &Chronicle, today: u64) -> Option<String> {
    let before = today * millis(DAY);
    match clerk.ask(move |disk| disk.not_summed_up(before)).await {
        Ok(ended) => sum_up(clerk, chronicle, day_of(ended?)).await,
        Err(error) => {
            tracing::warn!(%error, "no summary of an earlier day");
            None
        }
    }
}

async fn sum_up(clerk: &Clerk, chronicle: &Chronicle, day: u64) -> Option<String> {
    let (from, until) = (day * millis(DAY), (day + 1) * millis(DAY));
    match clerk.ask(move |disk| disk.day(from, until)).await {
        Ok(summary) => {
            // By its date it is found again.
            let summary = format!("{}: {summary}", calendar::date(from));
            tracing::info!(summary, "the day is over");
            chronicle.note("summary", summary.as_str(), None);
            Some(summary)
        }
        Err(error) => {
            tracing::warn!(%error, "no summary of the day");
            None
        }
    }
}

/// Lets go of what is too old, a step at a time: between two of them whoever waits for the file has a
/// turn, first of all those who keep games.
struct Broom {
    clerk: Clerk,
    rules: config::Archive,
    /// Of games that began earlier the details are gone.
    thinned: Millis,
}

impl Broom {
    async fn sweep(&mut self, now: Millis) {
        match self.steps(now).await {
            Ok((0, 0, 0)) => {}
            Ok((games, details, events)) => {
                tracing::info!(games, details, events, "too old for the archive, and gone");
            }
            Err(error) => tracing::warn!(%error, "what is too old stays in the archive"),
        }
    }

    /// How many games, details of games, and challenges and events have gone.
    async fn steps(&mut self, now: Millis) -> Result<(u64, u64, u64), ArchiveError> {
        let before = |days: u32| now.saturating_sub(u64::from(days) * millis(DAY));
        let (games, details) = (before(self.rules.games), before(self.rules.details));
        let before = before(self.rules.events);
        let games = self.games(0, games, Prune::Games).await?;
        // A game may have ended since it was passed over, and a clock may have been put right.
        let from = self.thinned.min(details);
        let from = from.saturating_sub(millis(STILL_RUNNING));
        let thinned = self.games(from, details, Prune::Details).await?;
        self.thinned = details;
        let mut events = 0;
        loop {
            let (challenges, others) = self
                .clerk
                .ask(move |disk| disk.prune_events(before))
                .await?;
            if challenges + others == 0 {
                break;
            }
            events += challenges + others;
            tokio::time::sleep(BREATH).await;
        }
        while self.clerk.ask(Disk::give_back).await? {
            tokio::time::sleep(BREATH).await;
        }
        Ok((games, thinned, events))
    }

    async fn games(&self, from: Millis, before: Millis, what: Prune) -> Result<u64, ArchiveError> {
        let mut all = 0;
        let mut place = PrunePlace::at(from);
        loop {
            let step = self
                .clerk
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
        EndingRecord, Entry, FILE_NAME, Filter, GameRecord, Library, MoveRecord, Order,
    };
    use crate::lichess::{Side, Status};

    fn game(number: u64, began: Millis) -> Entry {
        Entry::Game(Arc::new(GameRecord {
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

    fn broom(clerk: &Clerk, set: impl FnOnce(&mut config::Archive)) -> Broom {
        let mut rules = config::Archive::default();
        set(&mut rules);
        Broom {
            clerk: clerk.clone(),
            rules,
            thinned: 0,
        }
    }

    #[tokio::test]
    async fn a_day_that_nobody_summed_up_is_summed_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let clerk = Clerk::start(&folder.path().join(FILE_NAME)).unwrap();
        let lost = |number: u64, day: u64| {
            let at = day * millis(DAY) + number;
            Entry::Game(Arc::new(GameRecord {
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
        };
        let games = [lost(1, 2), lost(2, 3), lost(3, 3), lost(4, 7)];
        clerk.ask(move |disk| disk.commit(&games)).await.unwrap();
        let chronicle = Chronicle::default();
        assert_eq!(catch_up(&clerk, &chronicle, 2).await, None, "not over yet");
        let summary = catch_up(&clerk, &chronicle, 7).await.unwrap();
        assert!(summary.starts_with("1970-01-04: "), "{summary}");
        assert!(summary.contains(" +0 =0 -2"), "{summary}");
        let kept = chronicle.events(9).into_iter().map(Entry::Event);
        let kept: Vec<Entry> = kept.collect();
        assert_eq!(kept.len(), 1);
        clerk.ask(move |disk| disk.commit(&kept)).await.unwrap();
        assert_eq!(catch_up(&clerk, &chronicle, 7).await, None, "once");
        let next = catch_up(&clerk, &chronicle, 8).await.unwrap();
        assert!(next.starts_with("1970-01-08: "), "{next}");
    }

    #[tokio::test]
    async fn whoever_waits_for_the_file_waits_for_one_step_of_the_sweep() {
        const GAMES: u64 = 350;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let clerk = Clerk::start(&path).unwrap();
        let games: Vec<Entry> = (0..GAMES).map(|number| game(number, 5)).collect();
        clerk.ask(move |disk| disk.commit(&games)).await.unwrap();
        let mut broom = broom(&clerk, |rules| rules.games = 1);
        let left = || {
            let library = Library::open(&path).unwrap();
            let all = library.games(&Filter::default(), Order::Newest, 999, None);
            all.unwrap().len()
        };
        // Asked for while the first step is under way.
        let meanwhile = async {
            let game = game(GAMES, 10 * millis(DAY));
            clerk.ask(move |disk| disk.commit(&[game])).await.unwrap();
            left()
        };
        let (gone, meanwhile) = tokio::join!(broom.steps(9 * millis(DAY)), meanwhile);
        assert_eq!(gone.unwrap().0, GAMES);
        assert!(meanwhile > 1, "kept only once all was over");
        assert_eq!(left(), 1);
    }

    #[tokio::test]
    async fn a_game_that_ends_after_it_was_passed_over_is_thinned_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let clerk = Clerk::start(&path).unwrap();
        let mut running = GameRecord {
            id: "game0001".to_owned(),
            joined: 5,
            moves: vec![MoveRecord {
                depth: Some(9),
                ..MoveRecord::bare("e2e4")
            }],
            ..GameRecord::default()
        };
        let keep = |game: &GameRecord| {
            let entry = Entry::Game(Arc::new(game.clone()));
            clerk.ask(move |disk| disk.commit(&[entry]))
        };
        keep(&running).await.unwrap();
        let mut broom = broom(&clerk, |rules| rules.details = 1);
        assert_eq!(broom.steps(30 * millis(DAY)).await.unwrap().1, 0, "it runs");
        running.ending = Some(EndingRecord {
            status: Status::Draw,
            winner: None,
            at: 30 * millis(DAY),
        });
        keep(&running).await.unwrap();
        assert_eq!(broom.steps(32 * millis(DAY)).await.unwrap().1, 1);
    }
}
