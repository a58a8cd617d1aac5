//! Learns the server's limits from its answers.
//!
//! The bot keeps to a wait named by the server. It believes a limit that the server named, or that
//! was counted at a refusal, for a while, then tries the configured one again.

use std::time::Duration;

use super::pace::DAY;
use super::usage::Quota;
use crate::store::{Change, Limit, QuotaUse, QuotaUseKind, TimeSpan, Timestamp};

/// How long a learned limit is believed; then the configured one is tried again.
const BELIEVED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Added to a wait named by the server, whose seconds are truncated.
const MARGIN: Duration = Duration::from_secs(2);
/// Daily limits from here on are not believed.
const MOST_BELIEVED: u32 = 100_000;
/// Longest wait that is believed.
const LONGEST_CLOSURE: Duration = Duration::from_secs(48 * 3600);
/// The first cooldown after a refusal without a wait; it doubles up to the longest.
const FIRST_REST: Duration = Duration::from_secs(60);
const LONGEST_REST: Duration = Duration::from_secs(3600);

impl Quota {
    /// Learns from a started game beyond the learned limit: the server allows more.
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

    /// The server refused a bot game, perhaps with a wait and its limit.
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

    /// The number counted when the server refused: its limit, unless the server may have counted
    /// games of another program or from before this quota.
    fn counted_limit(&self, assumed: u32, now: Timestamp) -> Option<u32> {
        let counted = self.games(now, |_| true).len() as u32;
        let whole_day = self.since + DAY <= now;
        (whole_day && counted >= assumed / 2 && counted > 0).then_some(counted)
    }

    /// The server refused a challenge: too many.
    pub fn credits_refused(&mut self, wait: Option<Duration>, now: Timestamp) -> Change {
        close(&mut self.credits, wait, now);
        Change::Limit(self.credits.clone())
    }

    /// The server accepted a challenge.
    pub fn credits_served(&mut self) -> Option<Change> {
        let had = std::mem::take(&mut self.credits.strikes);
        (had > 0).then(|| Change::Limit(self.credits.clone()))
    }
}

/// The limit in force: the learned one while it is believed, else the assumed one.
pub(super) fn most(limit: &Limit, assumed: u32, now: Timestamp) -> u32 {
    believed(limit, now).unwrap_or(assumed)
}

/// The learned limit while it is believed.
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
