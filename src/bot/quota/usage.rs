//! Games against bots and challenge credits: what is granted, spent, and given back.
//!
//! Games are counted over the rolling day, which is never more than the server counts in a window of
//! its own; a wait that the server names goes before any count.

use std::time::Duration;

use super::forecast::{Forecast, forecast};
use super::observed_limits::{believed, most};
use super::pace::{DAY, earliest};
use super::rules::{Budget, ChallengeTarget, Denied, Permit, QuotaRules};
use crate::lichess::UserId;
use crate::store::{Change, Limit, LimitName, Origin, QuotaUse, QuotaUseKind, Timestamp};

/// A game set aside that has not begun after this long will not begin any more.
const LONGEST_WAIT: Duration = Duration::from_secs(4 * 3600);
/// Spends are forgotten a little after the day is over.
const FORGET: Duration = Duration::from_secs(25 * 3600);
const MINUTE: Duration = Duration::from_secs(60);
/// Credits that may go in a minute.
const CREDITS_A_MINUTE: u32 = 25;

#[derive(Clone, Debug)]
pub struct Quota {
    rules: QuotaRules,
    /// In order of their moments.
    pub(super) spends: Vec<QuotaUse>,
    pub(super) games: Limit,
    pub(super) credits: Limit,
    /// Since when every bot game of the account has been written down here.
    pub(super) since: Timestamp,
    /// The latest moment seen.
    newest: Timestamp,
}

impl Quota {
    /// The quota as it was kept, begun at `since`.
    pub fn new(
        rules: QuotaRules,
        spends: Vec<QuotaUse>,
        limits: &[Limit],
        since: Timestamp,
    ) -> Self {
        let kept = |name| {
            let kept = limits.iter().find(|limit| limit.name == name);
            kept.cloned().unwrap_or_else(|| Limit::unknown(name))
        };
        let mut quota = Self {
            rules,
            spends,
            games: kept(LimitName::BotGames),
            credits: kept(LimitName::Credits),
            since,
            newest: Timestamp::default(),
        };
        quota.spends.sort_by_key(|spend| spend.at);
        quota.newest = quota.latest_stamp();
        quota
    }

    /// Other assumptions from now on; what was learned stays.
    pub fn set_rules(&mut self, rules: QuotaRules) {
        self.rules = rules;
    }

    fn latest_stamp(&self) -> Timestamp {
        let spends = self.spends.iter().map(|spend| spend.at);
        let closed = [&self.games, &self.credits].map(|limit| limit.closed.map(|span| span.at));
        let latest = spends.chain(closed.into_iter().flatten()).max();
        latest.unwrap_or_default()
    }

    /// To be called with the present moment before anything else: forgets what is over, and where
    /// the clock was set back, holds that what lies in its future has happened just now.
    pub fn notice(&mut self, now: Timestamp) -> Vec<Change> {
        let mut changes = Vec::new();
        if now < self.newest {
            self.set_back(now, &mut changes);
        }
        self.newest = now;
        let old = self
            .spends
            .partition_point(|spend| spend.at + FORGET <= now);
        if old > 0 {
            self.spends.drain(..old);
            changes.push(Change::Prune(now));
        }
        changes
    }

    fn set_back(&mut self, now: Timestamp, changes: &mut Vec<Change>) {
        self.since = self.since.min(now);
        for spend in self.spends.iter_mut().filter(|spend| spend.at > now) {
            spend.at = now;
            changes.push(Change::Spend(spend.clone()));
        }
        for limit in [&mut self.games, &mut self.credits] {
            let closed = limit.closed.map(|span| span.not_after(now));
            let learned = limit.learned.map(|(most, at)| (most, at.min(now)));
            if (closed, learned) != (limit.closed, limit.learned) {
                (limit.closed, limit.learned) = (closed, learned);
                changes.push(Change::Limit(limit.clone()));
            }
        }
    }

    /// Bot games a day, as far as is known.
    pub fn most_games(&self, now: Timestamp) -> u32 {
        most(&self.games, self.rules.bot_games, now)
    }

    fn most_credits(&self, now: Timestamp) -> u32 {
        most(&self.credits, self.rules.challenge_credits, now)
    }

    /// The most games that may be outgoing, when so many incoming ones were begun.
    fn outgoing_share(&self, now: Timestamp) -> u32 {
        let most = self.most_games(now);
        let kept = u64::from(most) * u64::from(self.rules.incoming_share.min(100));
        // Rounded in favour of those who come.
        most - u32::try_from(kept.div_ceil(100)).unwrap_or(most).min(most)
    }

    /// When the games of the last day were begun or set aside, in order.
    pub(super) fn games(&self, now: Timestamp, wanted: impl Fn(Origin) -> bool) -> Vec<Timestamp> {
        let counted = |spend: &&QuotaUse| match spend.what {
            QuotaUseKind::Game { origin, begun } => {
                let lasts = if begun { DAY } else { LONGEST_WAIT };
                wanted(origin) && spend.at + lasts > now
            }
            QuotaUseKind::Credits(_) => false,
        };
        self.spends
            .iter()
            .filter(counted)
            .map(|spend| spend.at)
            .collect()
    }

    /// Whether one more challenge of a bot may be accepted. Only what the server said stands in the
    /// way: a number that is merely assumed would send off whom the server lets us play.
    pub fn may_accept(&self, now: Timestamp) -> Permit {
        match self.within_the_day(now) {
            Permit::Later {
                denied: Denied::BotGames,
                ..
            } if believed(&self.games, now).is_none() => Permit::Granted,
            permission => permission,
        }
    }

    /// Whether the day's number, learned or assumed, holds one more game.
    pub(super) fn within_the_day(&self, now: Timestamp) -> Permit {
        if let Some(span) = self.games.closed.filter(|span| span.holds(now)) {
            return later(span.until, Denied::Closed);
        }
        let begun = self.games(now, |_| true);
        match freed(&begun, self.most_games(now), now) {
            Some(at) => later(at, Denied::BotGames),
            None => Permit::Granted,
        }
    }

    /// Whether one more game that we ask for may begin.
    pub fn may_begin(&self, now: Timestamp) -> Permit {
        let allowed = self.within_the_day(now);
        if !allowed.is_granted() {
            return allowed;
        }
        let outgoing = self.games(now, |origin| origin == Origin::Outgoing);
        let incoming = self.games(now, |origin| origin == Origin::Incoming).len() as u32;
        let share = self.outgoing_share(now);
        // What came beyond its own share has taken from ours.
        let left = share.min(self.most_games(now).saturating_sub(incoming));
        if let Some(at) = freed(&outgoing, left, now) {
            return later(at, Denied::KeptForIncoming);
        }
        match earliest(share, &outgoing, now) {
            Some(at) if at <= now => Permit::Granted,
            Some(at) => later(at, Denied::Pace),
            None => later(now + DAY, Denied::KeptForIncoming),
        }
    }

    /// Whether a challenge may be made now. That games are to be spread over the day ([`Denied::Pace`]) is
    /// said only where nothing else stands in the way: the operator's own wish passes over it.
    pub fn may_challenge(&self, target: ChallengeTarget, now: Timestamp) -> Permit {
        if let Some(span) = self.credits.closed.filter(|span| span.holds(now)) {
            return later(span.until, Denied::Closed);
        }
        let price = target.credits();
        for (window, most, denied) in [
            (MINUTE, CREDITS_A_MINUTE, Denied::CreditsAMinute),
            (DAY, self.most_credits(now), Denied::Credits),
        ] {
            if let Some(at) = self.credits_free(price, window, most, now) {
                return later(at, denied);
            }
        }
        if target == ChallengeTarget::Bot {
            return self.may_begin(now);
        }
        Permit::Granted
    }

    /// When `price` credits are free again within a window; none if they are now.
    fn credits_free(
        &self,
        price: u32,
        window: Duration,
        most: u32,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut spent: Vec<(Timestamp, u32)> = self.credits_in(window, now).collect();
        let mut sum: u32 = spent.iter().map(|(_, credits)| credits).sum();
        if price == 0 || sum + price <= most {
            return None;
        }
        for (at, credits) in spent.drain(..) {
            sum -= credits;
            if sum + price <= most {
                return Some(at + window);
            }
        }
        Some(now + window)
    }

    fn credits_in(
        &self,
        window: Duration,
        now: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, u32)> {
        self.spends
            .iter()
            .filter_map(move |spend| match spend.what {
                QuotaUseKind::Credits(credits) if spend.at + window > now => {
                    Some((spend.at, credits))
                }
                _ => None,
            })
    }

    /// Sets a game against a bot aside under a key. To be on disk before the call that asks for it.
    pub fn hold_game(
        &mut self,
        key: &str,
        origin: Origin,
        opponent: Option<UserId>,
        now: Timestamp,
    ) -> Change {
        // The game may have begun before an acceptance that is sent again.
        let begun = |spend: &&QuotaUse| {
            spend.key == key && matches!(spend.what, QuotaUseKind::Game { begun: true, .. })
        };
        if let Some(spend) = self.spends.iter().find(begun) {
            return Change::Spend(spend.clone());
        }
        self.put(QuotaUse {
            key: key.to_owned(),
            at: now,
            what: QuotaUseKind::Game {
                origin,
                begun: false,
            },
            opponent,
        })
    }

    /// Spends the credits of a challenge about to be made; none where it costs nothing.
    pub fn spend_credits(
        &mut self,
        target: ChallengeTarget,
        opponent: Option<UserId>,
        now: Timestamp,
    ) -> Option<Change> {
        let credits = target.credits();
        (credits > 0).then(|| {
            self.put(QuotaUse {
                key: self.unused_key(now),
                at: now,
                what: QuotaUseKind::Credits(credits),
                opponent,
            })
        })
    }

    /// A key that nothing has yet, nor anything written down before a restart.
    fn unused_key(&self, now: Timestamp) -> String {
        let key = |n: usize| format!("credits {} {n}", now.as_millis());
        let is_unused = |key: &String| self.spends.iter().all(|spend| spend.key != *key);
        // Of one number more than there are spends, one is free.
        let mut keys = (0..=self.spends.len()).map(key);
        keys.find(is_unused).unwrap_or_default()
    }

    /// A game against a bot has begun under this key; `origin` for one that was not set aside.
    pub fn begin_game(
        &mut self,
        key: &str,
        origin: Origin,
        opponent: Option<UserId>,
        now: Timestamp,
    ) -> Option<Change> {
        let held = self.spends.iter().find(|spend| spend.key == key);
        let origin = match held.map(|spend| spend.what) {
            Some(QuotaUseKind::Game { begun: true, .. }) => return None,
            Some(QuotaUseKind::Game { origin, .. }) => origin,
            _ => origin,
        };
        Some(self.put(QuotaUse {
            key: key.to_owned(),
            at: now,
            what: QuotaUseKind::Game {
                origin,
                begun: true,
            },
            opponent,
        }))
    }

    /// The key of a game set aside for this opponent, if there is one.
    pub fn held_for(&self, opponent: &UserId) -> Option<&str> {
        let held = self.spends.iter().find(|spend| {
            matches!(spend.what, QuotaUseKind::Game { begun: false, .. })
                && spend.opponent.as_ref() == Some(opponent)
        });
        held.map(|spend| spend.key.as_str())
    }

    /// Nothing came of what was set aside. What has begun is spent.
    pub fn release(&mut self, key: &str) -> Option<Change> {
        let index = self.spends.iter().position(|spend| {
            spend.key == key && matches!(spend.what, QuotaUseKind::Game { begun: false, .. })
        })?;
        self.spends.remove(index);
        Some(Change::Unspend(key.to_owned()))
    }

    /// What was set aside gets the id that the server gave it.
    pub fn rename(&mut self, old: &str, new: &str) -> Vec<Change> {
        let Some(spend) = self.spends.iter_mut().find(|spend| spend.key == old) else {
            return Vec::new();
        };
        new.clone_into(&mut spend.key);
        vec![
            Change::Spend(spend.clone()),
            Change::Unspend(old.to_owned()),
        ]
    }

    fn put(&mut self, spend: QuotaUse) -> Change {
        self.spends.retain(|other| other.key != spend.key);
        let after = self.spends.partition_point(|other| other.at <= spend.at);
        self.newest = self.newest.max(spend.at);
        self.spends.insert(after, spend.clone());
        Change::Spend(spend)
    }

    /// How long the bot games last if things continue as they did lately.
    pub fn forecast(&self, now: Timestamp) -> Forecast {
        match self.may_accept(now) {
            Permit::Later { at, .. } => Forecast::SpentUntil(at),
            Permit::Granted => forecast(self.most_games(now), &self.games(now, |_| true), now),
        }
    }

    /// Where the budget stands.
    pub fn budget(&self, now: Timestamp) -> Budget {
        let count = |wanted| self.games(now, |origin| origin == wanted).len() as u32;
        Budget {
            games: self.most_games(now),
            incoming: count(Origin::Incoming),
            outgoing: count(Origin::Outgoing),
            outgoing_share: self.outgoing_share(now),
            credits: self.most_credits(now),
            credits_spent: self.credits_in(DAY, now).map(|(_, credits)| credits).sum(),
            closed_until: self
                .games
                .closed
                .filter(|span| span.holds(now))
                .map(|span| span.until),
            forecast: self.forecast(now),
        }
    }
}

fn later(at: Timestamp, denied: Denied) -> Permit {
    Permit::Later { at, denied }
}

/// When there is room for one more beside these, of which each counts for a day; none if now.
fn freed(begun: &[Timestamp], most: u32, now: Timestamp) -> Option<Timestamp> {
    let over = (begun.len() + 1).checked_sub(most as usize)?;
    let last = over.checked_sub(1)?;
    Some(begun.get(last).map_or(now + DAY, |&at| at + DAY))
}
