//! What the server's answers teach about its limits.
//!
//! A wait that it names is kept to; a number that it names, or that was counted when it refused, is
//! believed for a while and then tried again.

use std::time::Duration;

use super::pace::DAY;
use super::usage::Quota;
use crate::store::{Change, Limit, QuotaUse, QuotaUseKind, TimeSpan, Timestamp};

/// A learned number is believed that long; then the operator's is tried again.
const BELIEVED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Added to a wait that the server names, since its seconds are cut.
const MARGIN: Duration = Duration::from_secs(2);
/// No number of games a day is believed from here on.
const MOST_BELIEVED: u32 = 100_000;
/// No wait is believed beyond this.
const LONGEST_CLOSURE: Duration = Duration::from_secs(48 * 3600);
/// The first rest after a refusal without a wait; it doubles up to the other.
const FIRST_REST: Duration = Duration::from_secs(60);
const LONGEST_REST: Duration = Duration::from_secs(3600);

impl Quota {
    /// A game beyond the number learned has begun: the server allows more than was thought.
    pub fn learn_from_begun(&mut self, now: Timestamp) -> Option<Change> {
        let learned = believed(&self.games, now)?;
        let begun = |spend: &&QuotaUse| {
            matches!(spend.what, QuotaUseKind::Game { begun: true, .. }) && spend.at + DAY > now
        };
        let begun = self.spends.iter().filter(begun).count() as u32;
        (begun > learned).then(|| {
            self.games.learned = Some((begun, now));
            Change::Limit(self.games.clone())
        })
    }

    /// The server says that our bot games are spent, for so long, and perhaps their number.
    pub fn games_refused(
        &mut self,
        wait: Option<Duration>,
        said: Option<u32>,
        now: Timestamp,
    ) -> Change {
        let assumed = self.most_games(now);
        let told = said.filter(|said| (1..MOST_BELIEVED).contains(said));
        if let Some(number) = told.or_else(|| self.counted_limit(assumed, now))
            && believed(&self.games, now) != Some(number)
        {
            self.games.learned = Some((number, now));
        }
        close(&mut self.games, wait, now);
        Change::Limit(self.games.clone())
    }

    /// What was counted when the server refused: its limit, unless games of another program or
    /// of the time before this quota may have been counted there and not here.
    fn counted_limit(&self, assumed: u32, now: Timestamp) -> Option<u32> {
        let counted = self.games(now, |_| true).len() as u32;
        let whole_day = self.since + DAY <= now;
        (whole_day && counted >= assumed / 2 && counted > 0).then_some(counted)
    }

    /// The server says that there were too many challenges.
    pub fn credits_refused(&mut self, wait: Option<Duration>, now: Timestamp) -> Change {
        close(&mut self.credits, wait, now);
        Change::Limit(self.credits.clone())
    }

    /// A challenge was made without complaint.
    pub fn credits_served(&mut self) -> Option<Change> {
        let had = std::mem::take(&mut self.credits.strikes);
        (had > 0).then(|| Change::Limit(self.credits.clone()))
    }
}

/// The number in force: the one learned as long as it is believed, else the one assumed.
pub(super) fn most(limit: &Limit, assumed: u32, now: Timestamp) -> u32 {
    believed(limit, now).unwrap_or(assumed)
}

/// The number learned, as long as it is believed.
pub(super) fn believed(limit: &Limit, now: Timestamp) -> Option<u32> {
    let learned = limit.learned.filter(|(_, at)| *at + BELIEVED > now);
    learned.map(|(most, _)| most)
}

pub(super) fn close(limit: &mut Limit, wait: Option<Duration>, now: Timestamp) {
    let rest = if let Some(wait) = wait {
        limit.strikes = 0;
        wait.min(LONGEST_CLOSURE) + MARGIN
    } else {
        limit.strikes += 1;
        let doubled = 2_u32.saturating_pow(limit.strikes.min(16) - 1);
        FIRST_REST.saturating_mul(doubled).min(LONGEST_REST)
    };
    limit.closed = Some(TimeSpan::new(now, rest));
}
