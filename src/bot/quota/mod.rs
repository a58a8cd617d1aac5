//! The daily quota: what Lichess lets a bot spend in a day, and what it has spent.
//!
//! Pure: timestamps come in as data, and every change to persist goes out as data. It never grants more
//! than a limit within any 24 hours, even if the clock is set back. Once it is set right again, only what was
//! used in between looks older than it is; the server's own limit still holds.
//!
//! Here: games and credits granted, spent and returned, what the server's replies reveal about its
//! limits, how many games other bots will ask for, the pace of a day, and how long the budget lasts.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::config::Limits;
use crate::lichess::{Player, UserId};
use crate::store::{Change, Limit, LimitName, Origin, QuotaUse, QuotaUseKind, TimeSpan, Timestamp};

/// A reserved game that has not started after this time will never start.
const MAX_WAIT: Duration = Duration::from_secs(4 * 3600);
/// Uses are forgotten shortly after their day.
const FORGET: Duration = Duration::from_secs(25 * 3600);
const MINUTE: Duration = Duration::from_secs(60);
/// Challenge credits per minute.
const CREDITS_A_MINUTE: u32 = 25;

/// Games against bots and challenge credits: granted, spent, and returned.
///
/// Games are counted over a rolling day, which never exceeds what the server counts in a window of
/// its own; a wait named by the server overrides any count, and after it the count begins anew.
#[derive(Clone, Debug)]
pub struct Quota {
    rules: Limits,
    /// Sorted in chronological order.
    pub(super) spends: Vec<QuotaUse>,
    pub(super) games: Limit,
    pub(super) credits: Limit,
    /// Since when every bot game of the account is recorded here.
    pub(super) since: Timestamp,
    demand: Demand,
    newest: Timestamp,
    /// When uses were made that a clock since set back has put into the future.
    ahead: BTreeMap<String, Timestamp>,
}

impl Quota {
    /// The stored quota, recording since `since`.
    pub fn new(rules: Limits, spends: Vec<QuotaUse>, limits: &[Limit], since: Timestamp) -> Self {
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
            demand: Demand::default(),
            newest: Timestamp::default(),
            ahead: BTreeMap::new(),
        };
        quota.spends.sort_by_key(|spend| spend.at);
        quota.newest = quota.latest_stamp();
        quota
    }

    /// With the demand of the last days, from its note.
    #[must_use]
    pub fn with_demand(mut self, note: Option<&String>) -> Self {
        self.demand = note.map(|note| Demand::read(note)).unwrap_or_default();
        self
    }

    /// Replaces the assumptions; learned limits stay.
    pub fn set_rules(&mut self, rules: Limits) {
        self.rules = rules;
    }

    fn latest_stamp(&self) -> Timestamp {
        let spends = self.spends.iter().map(|spend| spend.at);
        let closed = [&self.games, &self.credits].map(|limit| limit.closed.map(|span| span.at));
        let latest = spends.chain(closed.into_iter().flatten()).max();
        latest.unwrap_or_default()
    }

    /// Must be called with the current time before anything else: forgets old uses and, after the
    /// clock was set back, moves future timestamps to now, until it is set right again.
    pub fn notice(&mut self, now: Timestamp) -> Vec<Change> {
        let mut changes = Vec::new();
        if now < self.newest {
            self.set_back(now, &mut changes);
        }
        self.newest = now;
        for (key, at) in self.ahead.extract_if(.., |_, at| *at <= now) {
            if let Some(spend) = self.spends.iter_mut().find(|it| it.key == key) {
                spend.at = at;
                changes.push(Change::Spend(spend.clone()));
            }
        }
        self.spends.sort_by_key(|spend| spend.at);
        // As on disk, age counts from the latest use at most: a clock that is years ahead for a moment
        // must not forget today's games.
        let latest = self.spends.last().map_or(now, |spend| spend.at.min(now));
        let old = self
            .spends
            .partition_point(|spend| spend.at + FORGET <= latest);
        if old > 0 {
            self.spends.drain(..old);
            changes.push(Change::Prune(now));
        }
        changes.extend(self.demand.notice(now));
        changes
    }

    fn set_back(&mut self, now: Timestamp, changes: &mut Vec<Change>) {
        self.since = self.since.min(now);
        for spend in self.spends.iter_mut().filter(|spend| spend.at > now) {
            self.ahead.entry(spend.key.clone()).or_insert(spend.at);
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

    /// Bot games per day, as far as known.
    pub fn most_games(&self, now: Timestamp) -> u32 {
        most(&self.games, self.rules.bot_games, now)
    }

    fn most_credits(&self, now: Timestamp) -> u32 {
        most(&self.credits, self.rules.challenge_credits, now)
    }

    /// The most games kept for incoming challenges, those that came included.
    fn incoming_share(&self, now: Timestamp) -> u32 {
        let most = self.most_games(now);
        let kept = u64::from(most) * u64::from(self.rules.incoming_share.min(100));
        // Rounded in favour of incoming games.
        u32::try_from(kept.div_ceil(100)).unwrap_or(most).min(most)
    }

    /// From when games count: the server named the end of its day, after which it counts anew.
    fn counts_from(&self, now: Timestamp) -> Timestamp {
        let is_over = |span: &TimeSpan| self.games.strikes == 0 && !span.holds(now);
        let ended = self.games.closed.filter(is_over);
        ended.map_or(Timestamp::default(), |span| span.until)
    }

    /// When the games of the last day that count were started or reserved, in order.
    pub(super) fn games(&self, now: Timestamp, wanted: impl Fn(Origin) -> bool) -> Vec<Timestamp> {
        let from = self.counts_from(now);
        let counted = |spend: &&QuotaUse| match spend.what {
            QuotaUseKind::Game { origin, begun } => {
                let lasts = if begun { DAY } else { MAX_WAIT };
                wanted(origin) && spend.at + lasts > now && spend.at >= from
            }
            QuotaUseKind::Credits(_) => false,
        };
        let counted = self.spends.iter().filter(counted);
        counted.map(|spend| spend.at).collect()
    }

    /// Whether another bot's challenge may be accepted. Only the server's own limit counts: an
    /// assumed one would turn away opponents that the server allows.
    pub fn may_accept(&self, now: Timestamp) -> Permit {
        match self.within_the_day(now) {
            Permit::Later {
                denied: Denied::BotGames,
                ..
            } if believed(&self.games, now).is_none() => Permit::Granted,
            permission => permission,
        }
    }

    /// Whether the daily limit, learned or assumed, allows one more game.
    pub(super) fn within_the_day(&self, now: Timestamp) -> Permit {
        if let Some(span) = self.games.closed.filter(|span| span.holds(now)) {
            return later(span.until, Denied::Closed);
        }
        match freed(&self.games(now, |_| true), self.most_games(now), now) {
            Some(at) => later(at, Denied::BotGames),
            None => Permit::Granted,
        }
    }

    /// Whether the bot may start one more game itself.
    pub fn may_begin(&self, now: Timestamp) -> Permit {
        let allowed = self.within_the_day(now);
        if !allowed.is_granted() {
            return allowed;
        }
        let room = self.room(now);
        if room.games == 0 {
            return later(now + STEP, Denied::KeptForIncoming);
        }
        let outgoing = self.games(now, |origin| origin == Origin::Outgoing);
        match earliest(room.spacing, &outgoing, now) {
            at if at <= now => Permit::Granted,
            at => later(at, Denied::Pace),
        }
    }

    /// What the bot itself may start: in the coming day, the games that still count and those that
    /// other bots will probably ask for must fit into the limit at every moment.
    fn room(&self, now: Timestamp) -> Room {
        let (most, share) = (self.most_games(now), self.incoming_share(now));
        let coming = self.demand.coming(share, now);
        let all = self.games(now, |_| true);
        let incoming = self.games(now, |origin| origin == Origin::Incoming);
        let counted = |games: &[Timestamp], at: Timestamp| {
            (games.len() - games.partition_point(|&begun| begun + DAY <= at)) as u32
        };
        let mut room = Room {
            games: most,
            spacing: Duration::ZERO,
        };
        for step in 0..=STEPS {
            let at = now + STEP * step as u32;
            // Half an hour's worth stays free for those who come before games become free again.
            let expected = coming[(step + STEPS / 48).min(STEPS)].ceil() as u32;
            let kept = expected.min(share.saturating_sub(counted(&incoming, at)));
            let left = most.saturating_sub(counted(&all, at) + kept);
            room.games = room.games.min(left);
            if let Some(apart) = at.since(now).checked_div(left) {
                room.spacing = room.spacing.max(apart);
            }
        }
        room
    }

    /// Learns that a challenge of a bot was declined for want of a game.
    pub fn turned_away(&mut self, now: Timestamp) {
        self.demand.turned_away(now);
    }

    /// Whether a challenge may be made now. Pacing ([`Denied::Pace`]) is reported only if nothing
    /// else denies it, since an operator's command overrides it.
    pub fn may_challenge(&self, target: OpponentKind, now: Timestamp) -> Permit {
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
        if target.is_bot() {
            return self.may_begin(now);
        }
        Permit::Granted
    }

    /// When `price` credits become free within a window; none if they already are.
    fn credits_free(
        &self,
        price: u32,
        window: Duration,
        most: u32,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut spent: Vec<(Timestamp, u32)> = self.credits_in(window, now).collect();
        let mut sum: u32 = spent.iter().map(|(_, credits)| credits).sum();
        if sum + price <= most {
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

    /// Reserves a game against a bot under a key. Must be on disk before the call that asks for it.
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

    /// When the bot last made a challenge, as far back as uses are kept.
    pub fn last_challenge(&self) -> Option<Timestamp> {
        let is_challenge = |it: &&QuotaUse| matches!(it.what, QuotaUseKind::Credits(_));
        self.spends.iter().rfind(is_challenge).map(|it| it.at)
    }

    /// Spends the credits of a challenge about to be made.
    pub fn spend_credits(
        &mut self,
        target: OpponentKind,
        opponent: Option<UserId>,
        now: Timestamp,
    ) -> Change {
        self.put(QuotaUse {
            key: self.unused_key(now),
            at: now,
            what: QuotaUseKind::Credits(target.credits()),
            opponent,
        })
    }

    /// A key unused so far, by records from before a restart too.
    fn unused_key(&self, now: Timestamp) -> String {
        let key = |n: usize| format!("credits {} {n}", now.as_millis());
        let is_unused = |key: &String| self.spends.iter().all(|spend| spend.key != *key);
        // Among one more key than there are uses, one is free.
        let mut keys = (0..=self.spends.len()).map(key);
        keys.find(is_unused).unwrap_or_default()
    }

    /// A game against a bot has started under this key; `origin` applies if it was not reserved.
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

    /// The key of a game reserved for this opponent, if any.
    pub fn held_for(&self, opponent: &UserId) -> Option<&str> {
        let held = self.spends.iter().find(|spend| {
            matches!(spend.what, QuotaUseKind::Game { begun: false, .. })
                && spend.opponent.as_ref() == Some(opponent)
        });
        held.map(|spend| spend.key.as_str())
    }

    /// Returns an unused reservation. A started game stays spent.
    pub fn release(&mut self, key: &str) -> Option<Change> {
        let index = self.spends.iter().position(|spend| {
            spend.key == key && matches!(spend.what, QuotaUseKind::Game { begun: false, .. })
        })?;
        self.spends.remove(index);
        Some(Change::Unspend(key.to_owned()))
    }

    /// Moves a reservation to the id assigned by the server.
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
        let before = self.spends.len();
        self.spends.retain(|other| other.key != spend.key);
        let is_new = self.spends.len() == before;
        let asked =
            matches!(spend.what, QuotaUseKind::Game { origin, .. } if origin == Origin::Incoming);
        if is_new && asked {
            self.demand.asked(spend.at);
        }
        let after = self.spends.partition_point(|other| other.at <= spend.at);
        self.newest = self.newest.max(spend.at);
        self.spends.insert(after, spend.clone());
        Change::Spend(spend)
    }

    /// How long the bot games last at the recent rate.
    pub fn forecast(&self, now: Timestamp) -> Forecast {
        match self.may_accept(now) {
            Permit::Later {
                at,
                denied: Denied::Closed,
            } => Forecast::ClosedUntil(at),
            Permit::Later { at, .. } => Forecast::SpentUntil(at),
            Permit::Granted => forecast(self.most_games(now), &self.games(now, |_| true), now),
        }
    }

    /// The state of the budget.
    pub fn budget(&self, now: Timestamp) -> Budget {
        let outgoing = self.games(now, |origin| origin == Origin::Outgoing).len() as u32;
        let incoming = self.games(now, |_| true).len() as u32 - outgoing;
        let (games, room) = (self.most_games(now), self.room(now).games);
        Budget {
            games,
            incoming,
            outgoing,
            outgoing_share: outgoing + room,
            kept: games.saturating_sub(incoming + outgoing + room),
            credits: self.most_credits(now),
            credits_spent: self.credits_in(DAY, now).map(|(_, credits)| credits).sum(),
            forecast: self.forecast(now),
        }
    }
}

fn later(at: Timestamp, denied: Denied) -> Permit {
    Permit::Later { at, denied }
}

/// When one more game fits, each of these counting for a day; none if now.
fn freed(begun: &[Timestamp], most: u32, now: Timestamp) -> Option<Timestamp> {
    let over = (begun.len() + 1).checked_sub(most as usize)?;
    let last = over.checked_sub(1)?;
    Some(begun.get(last).map_or(now + DAY, |&at| at + DAY))
}

/// How long a learned limit is trusted; then the configured one is tried again.
const BELIEVED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Added to a wait named by the server, whose seconds are truncated.
const MARGIN: Duration = Duration::from_secs(2);
/// Daily limits from here on are ignored.
const MAX_BELIEVED: u32 = 100_000;
/// Longest wait that is accepted.
const MAX_CLOSURE: Duration = Duration::from_secs(48 * 3600);
/// The first cooldown after a refusal without a wait; it doubles up to the longest.
const FIRST_REST: Duration = Duration::from_secs(60);
const MAX_REST: Duration = Duration::from_secs(3600);

/// Learns the server's limits from its answers.
///
/// The bot keeps to a wait named by the server. It trusts a limit that the server named, or that
/// was counted at a refusal, for a while, then tries the configured one again.
impl Quota {
    /// Learns from games that started beyond the learned limit: the server allows more. It pairs in
    /// arenas beyond its limit too, so these games teach nothing.
    pub fn learn_from_begun(&mut self, now: Timestamp) -> Option<Change> {
        let (learned, from) = (believed(&self.games, now)?, self.counts_from(now));
        let begun = |spend: &&QuotaUse| {
            matches!(spend.what, QuotaUseKind::Game { begun: true, origin }
                if origin != Origin::Arena && spend.at + DAY > now && spend.at >= from)
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
        stated: Option<u32>,
        now: Timestamp,
    ) -> Change {
        let assumed = self.most_games(now);
        let believable = stated.filter(|stated| (1..MAX_BELIEVED).contains(stated));
        if let Some(number) = believable.or_else(|| self.counted_limit(assumed, now))
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

/// The limit in force: the learned one while it is trusted, else the assumed one.
pub(super) fn most(limit: &Limit, assumed: u32, now: Timestamp) -> u32 {
    believed(limit, now).unwrap_or(assumed)
}

/// The learned limit while it is trusted.
pub(super) fn believed(limit: &Limit, now: Timestamp) -> Option<u32> {
    let learned = limit.learned.filter(|(_, at)| *at + BELIEVED > now);
    learned.map(|(most, _)| most)
}

pub(super) fn close(limit: &mut Limit, wait: Option<Duration>, now: Timestamp) {
    let rest = if let Some(wait) = wait {
        limit.strikes = 0;
        wait.min(MAX_CLOSURE) + MARGIN
    } else {
        limit.strikes += 1;
        let doubled = 2_u32.saturating_pow(limit.strikes.min(16) - 1);
        FIRST_REST.saturating_mul(doubled).min(MAX_REST)
    };
    limit.closed = Some(TimeSpan::new(now, rest));
}

/// Whether the quota allows a call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Granted,
    Later {
        /// The earliest time to ask again.
        at: Timestamp,
        denied: Denied,
    },
}

impl Permit {
    pub fn is_granted(self) -> bool {
        self == Self::Granted
    }
}

/// Why the quota denies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The server has reported its limit.
    Closed,
    /// The daily bot games are started or reserved.
    BotGames,
    /// The rest is reserved for incoming challenges.
    KeptForIncoming,
    /// Games would be spent faster than the day allows.
    Pace,
    /// The daily challenge credits are spent.
    Credits,
    CreditsAMinute,
}

impl Denied {
    /// The reason, for the operator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "Lichess allows no more for now (`megaton status` says until when)",
            Self::BotGames => "daily limit of bot games reached",
            Self::KeptForIncoming => "the remaining bot games are reserved for incoming challenges",
            Self::Pace => "outgoing games are spread over the day",
            Self::Credits => "daily challenge credits are spent",
            Self::CreditsAMinute => "this minute's challenge credits are spent",
        }
    }
}

/// What an opponent is. It decides the slot, whether a game counts for the day, and the price of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpponentKind {
    /// A human, named or anonymous.
    Human,
    Bot,
}

impl OpponentKind {
    pub fn of(player: Option<&Player>) -> Self {
        if player.is_some_and(Player::is_bot) {
            Self::Bot
        } else {
            Self::Human
        }
    }

    pub fn is_bot(self) -> bool {
        self == Self::Bot
    }

    /// The credits that a challenge costs.
    pub fn credits(self) -> u32 {
        if self.is_bot() { 1 } else { 5 }
    }
}

/// The state of the budget, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bot games per day, as far as known.
    pub games: u32,
    /// Of these, begun or reserved in the last 24 hours without a challenge of the bot: in arenas too.
    pub incoming: u32,
    pub outgoing: u32,
    /// The most that may be outgoing, as of now.
    pub outgoing_share: u32,
    /// Of the games left, those kept for incoming challenges.
    pub kept: u32,
    /// Challenge credits per day.
    pub credits: u32,
    /// Of these, spent in the last 24 hours.
    pub credits_spent: u32,
    pub forecast: Forecast,
}

/// The window of the recent rate.
const LATELY: Duration = Duration::from_secs(3 * 3600);
/// How finely the coming day is looked at.
const STEP: Duration = Duration::from_secs(300);
/// Steps in a day.
const STEPS: usize = 288;

/// How long the budget of bot games lasts at the recent rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forecast {
    /// Games will remain for a whole day.
    AllDay,
    /// The last game will start about then.
    Until(Timestamp),
    /// No game is left until then.
    SpentUntil(Timestamp),
    /// The server has refused a game, and allows none until then.
    ClosedUntil(Timestamp),
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllDay => f.write_str("budget lasts all day"),
            Self::Until(moment) => write!(f, "budget lasts until {moment} UTC"),
            Self::SpentUntil(moment) => write!(f, "budget spent until {moment} UTC"),
            Self::ClosedUntil(moment) => {
                write!(f, "no bot games until {moment} UTC (by Lichess' count)")
            }
        }
    }
}

/// The forecast for a limit, given the games of the last day in order.
pub(super) fn forecast(most: u32, begun: &[Timestamp], now: Timestamp) -> Forecast {
    let lately = begun.iter().filter(|&&at| at + LATELY > now).count() as u64;
    let mut at = now;
    while at < now + DAY {
        let past = at.since(now);
        let to_come = lately * past.as_secs() / LATELY.as_secs();
        let counted = begun.iter().filter(|&&begun| begun + DAY > at).count() as u64;
        if counted + to_come >= u64::from(most) {
            return Forecast::Until(at);
        }
        at = at + STEP;
    }
    Forecast::AllDay
}

/// Note key of the demand.
pub(super) const DEMAND_NOTE: &str = "quota.demand";
/// Days that count.
const DAYS: u64 = 7;

/// How many games other bots will ask for, learned from the last days: incoming bot games by hour
/// since the epoch, with an entry for every hour in which the bot ran.
#[derive(Clone, Debug, Default)]
struct Demand {
    hours: BTreeMap<u64, u32>,
    /// Not in a note yet.
    changed: bool,
}

impl Demand {
    /// Parses a note; unreadable entries are skipped.
    fn read(note: &str) -> Self {
        let read = |entry: &str| {
            let (hour, games) = entry.split_once(':')?;
            Some((hour.parse().ok()?, games.parse().ok()?))
        };
        Self {
            hours: note.split_ascii_whitespace().filter_map(read).collect(),
            changed: false,
        }
    }

    /// The bot runs at this time. Returns the note of what has changed.
    fn notice(&mut self, now: Timestamp) -> Option<Change> {
        let hour = hour(now);
        if self.hours.last_key_value().map(|(last, _)| *last) != Some(hour) {
            self.hours
                .retain(|&known, _| known <= hour && known + DAYS * 24 >= hour);
            self.hours.entry(hour).or_default();
            self.changed = true;
        }
        std::mem::take(&mut self.changed).then(|| {
            let entry = |(hour, games): (&u64, &u32)| format!("{hour}:{games}");
            let entries: Vec<String> = self.hours.iter().map(entry).collect();
            Change::Note(DEMAND_NOTE.to_owned(), Some(entries.join(" ")))
        })
    }

    fn asked(&mut self, now: Timestamp) {
        *self.hours.entry(hour(now)).or_default() += 1;
        self.changed = true;
    }

    /// A bot that was declined may ask again and again: it counts once an hour, and only if
    /// nobody else came.
    fn turned_away(&mut self, now: Timestamp) {
        if self.hours.get(&hour(now)).is_none_or(|games| *games == 0) {
            self.asked(now);
        }
    }

    /// How many games will be asked for from now to each step of the coming day. Hours of the day
    /// in which the bot has not run lately could bring their part of `share`.
    fn coming(&self, share: u32, now: Timestamp) -> Vec<f64> {
        let present = hour(now);
        let rate = |hour: u64| {
            let days = (1..=DAYS).filter_map(|day| hour.checked_sub(day * 24));
            let known: Vec<u32> = days
                .filter(|&hour| hour < present)
                .filter_map(|hour| self.hours.get(&hour).copied())
                .collect();
            if known.is_empty() {
                return f64::from(share) / 24.0;
            }
            f64::from(known.iter().sum::<u32>()) / known.len() as f64
        };
        let rates: Vec<f64> = (present..=present + 24).map(rate).collect();
        let mut sum = 0.0;
        let mut coming = vec![sum];
        for step in 0..STEPS {
            let at = hour(now + STEP * step as u32) - present;
            sum += rates[at as usize] / (STEPS / 24) as f64;
            // A sum of parts is no more than its whole.
            coming.push((sum * 1000.0).round() / 1000.0);
        }
        coming
    }
}

/// The hour since the epoch.
fn hour(at: Timestamp) -> u64 {
    at.as_millis() / 3_600_000
}

/// The period of the limits.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
/// The most that may be saved up.
const SAVED: Duration = Duration::from_secs(2 * 3600);

/// What the bot itself may start.
#[derive(Clone, Copy, Debug)]
struct Room {
    games: u32,
    /// How far apart they last until the next become free.
    spacing: Duration,
}

/// When an outgoing game may start so that the games left last all day, given how far apart they
/// should be and the games begun within the last day, in order.
///
/// A bucket of time: it fills as time passes, every game takes an equal part of a day, and it holds
/// at most two hours' worth, so that a quiet morning cannot be spent in one rush.
pub(super) fn earliest(spacing: Duration, begun: &[Timestamp], now: Timestamp) -> Timestamp {
    let price = millis(spacing);
    let most = millis(SAVED).max(price);
    let mut saved = most;
    let mut last = begun.first().copied().unwrap_or(now);
    for &at in begun {
        saved = (saved + millis(at.since(last))).min(most) - price;
        last = last.max(at);
    }
    saved = (saved + millis(now.since(last))).min(most);
    let missing = (price - saved).max(0);
    now + Duration::from_millis(missing.unsigned_abs())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod forecast_tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn ten_games_an_hour_spend_a_hundred_in_ten_hours() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let begun: Vec<_> = (0..30).rev().map(|n| now.before(MINUTE * 6 * n)).collect();
        let Forecast::Until(end) = forecast(100, &begun, now) else {
            panic!("it cannot last");
        };
        let left = end.since(now);
        assert!(left >= MINUTE * 415 && left <= MINUTE * 425, "{left:?}");
        assert_eq!(
            Forecast::Until(end).to_string(),
            format!("budget lasts until {end} UTC")
        );
    }

    #[test]
    fn a_quiet_bot_has_enough() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(forecast(100, &[], now), Forecast::AllDay);
        let two = [now.before(MINUTE * 50), now];
        assert_eq!(forecast(100, &two, now), Forecast::AllDay);
    }
}

#[cfg(test)]
mod pace_tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn noon() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    #[test]
    fn a_rested_bot_may_begin_two_hours_worth_at_once() {
        let mut begun = Vec::new();
        let now = noon();
        while earliest(HOUR / 2, &begun, now) == now {
            begun.push(now);
        }
        assert_eq!(begun.len(), 4, "two games an hour, two hours saved");
        assert_eq!(earliest(HOUR / 2, &begun, now), now + HOUR / 2);
    }

    #[test]
    fn afterwards_games_are_a_constant_time_apart() {
        let mut begun = Vec::new();
        let mut now = noon();
        for _ in 0..60 {
            now = earliest(HOUR, &begun, now);
            begun.push(now);
        }
        let gaps: Vec<_> = begun.windows(2).map(|two| two[1].since(two[0])).collect();
        assert!(gaps[2..].iter().all(|&gap| gap == HOUR), "{gaps:?}");
    }

    #[test]
    fn one_a_day_is_one_a_day() {
        assert_eq!(earliest(DAY, &[], noon()), noon());
        assert_eq!(earliest(DAY, &[noon()], noon()), noon() + DAY);
    }
}
