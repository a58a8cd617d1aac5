//! Upcoming and current arenas: when to join one, and when to repeat the join.
//!
//! Pure: events in, effects out. The server pairs a bot only while it considers the bot present,
//! which it does for a minute after each join; so the bot repeats the join while no game of the
//! arena runs, and never more often than the server allows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::{Eligibility, admits, suits};
use crate::bot::account_event::{AccountEffect, AccountEvent};
use crate::bot::game::CallOutcome;
use crate::config::{self, ArenaId};
use crate::lichess::{Arena, Event, GameId, GameInfo, JoinOptions, Side, Status};

/// Seconds between fetches of the tournament list.
const LIST_EVERY: u32 = 600;
/// Seconds between fetches of a planned or joined arena.
const REFRESH_EVERY: u32 = 300;
/// Seconds before its start at which to join.
const JOIN_BEFORE: u32 = 30;
/// While idle in an arena, repeat the join after this many seconds; the server counts presence for
/// 60.
const PRESENT_EVERY: u32 = 40;
/// Minimum seconds between two joins: 24 in ten minutes, where the server allows 30.
const MIN_BETWEEN: u32 = 25;
/// Seconds before a refused join is retried, and how often at most.
const REFUSED_WAIT: u32 = 60;
const MAX_REFUSALS: u32 = 3;
/// Seconds without joins after the token or account was forbidden them, and without a join of an arena
/// that came too late for the budget of first joins.
const BAN: u32 = 3600;
/// Part of the refusal when the budget of first joins is spent.
const TOO_MANY: &str = "joining too many";
/// Maximum number of planned arenas.
const MAX_AHEAD: usize = 32;
/// Why the bot gives up an arena that the server does not know.
const NO_ARENA: &str = "there is no such arena";
/// Closed arenas that the bot remembers.
const MAX_CLOSED: usize = 1000;

type Effects = Vec<AccountEffect>;

/// Origin of a planned arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArenaRequest {
    /// The rules of the config.
    Rules,
    /// The operator, by its id.
    Named,
    /// A game of it began: it was joined elsewhere.
    Found,
}

/// How far the bot is with an arena, in the order in which it gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "lowercase")]
enum ArenaState {
    #[strum(to_string = "being checked")]
    Unknown,
    /// To be joined shortly before it begins.
    Ahead,
    #[strum(to_string = "playing")]
    In,
    Leaving,
}

#[derive(Debug)]
struct PlannedArena {
    wanted: ArenaRequest,
    stage: ArenaState,
    entrance: JoinOptions,
    rated: bool,
    begins: Option<Instant>,
    ends: Option<Instant>,
    /// The next join, unless a game of it runs.
    next: Instant,
    /// When to fetch it next.
    refresh_at: Instant,
    joined: Option<Instant>,
    games: BTreeSet<GameId>,
    /// A call about it is in progress.
    calling: bool,
    failures: u32,
    closed: bool,
}

impl PlannedArena {
    fn new(wanted: ArenaRequest, entrance: JoinOptions, now: Instant) -> Self {
        Self {
            wanted,
            stage: ArenaState::Unknown,
            entrance,
            rated: false,
            begins: None,
            ends: None,
            next: now,
            refresh_at: now,
            joined: None,
            games: BTreeSet::new(),
            calling: false,
            failures: 0,
            closed: false,
        }
    }
}

/// The arenas planned or joined.
#[derive(Debug)]
pub struct ArenaSchedule {
    rules: Arc<config::Arena>,
    us: Eligibility,
    /// A second of the server.
    second: Duration,
    plans: BTreeMap<String, PlannedArena>,
    /// Arenas not to be joined again: left, removed from, or over.
    shut: ClosedArenas,
    /// Those that stay closed after a restart: left by command, or removed from. It may mend other reasons.
    left: ClosedArenas,
    /// What to do about each team of the rules that the bot is not in.
    foreign_teams: Vec<String>,
    list_at: Instant,
    listing: bool,
    banned: Option<Instant>,
    open: bool,
    /// Whether the rating guard allows rated games.
    may_rate: bool,
    chance: fastrand::Rng,
}

/// The latest closed arenas; the server no longer lists older ones.
#[derive(Clone, Debug, Default)]
struct ClosedArenas(VecDeque<String>);

impl ClosedArenas {
    fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|closed| closed == id)
    }

    fn insert(&mut self, id: String) {
        self.remove(&id);
        self.0.push_back(id);
        if self.0.len() > MAX_CLOSED {
            self.0.pop_front();
        }
    }

    fn remove(&mut self, id: &str) {
        self.0.retain(|closed| closed != id);
    }
}

impl ArenaSchedule {
    /// The name of its note in the state.
    pub const NOTE: &str = "arenas";

    /// An empty schedule; `second` is the length of a server second.
    pub fn new(
        rules: Arc<config::Arena>,
        us: Eligibility,
        second: Duration,
        seed: u64,
        now: Instant,
    ) -> Self {
        let mut calendar = Self {
            rules: Arc::default(),
            us,
            second,
            plans: BTreeMap::new(),
            shut: ClosedArenas::default(),
            left: ClosedArenas::default(),
            foreign_teams: Vec::new(),
            list_at: now,
            listing: false,
            banned: None,
            open: true,
            may_rate: true,
            chance: fastrand::Rng::with_seed(seed),
        };
        calendar.set_rules(rules, now);
        calendar
    }

    /// Replaces the rules. The bot does not leave joined arenas because of them.
    pub fn set_rules(&mut self, rules: Arc<config::Arena>, now: Instant) {
        let before = std::mem::replace(&mut self.rules, rules);
        let few = |it: &config::Arena| it.auto && it.teams.is_empty() && it.ids.is_empty();
        if few(&self.rules) && !few(&before) {
            tracing::warn!("[arena] auto finds few arenas for bots without teams or ids");
        }
        self.plans.retain(|id, plan| {
            if is_in_config(&before, id) && !is_in_config(&self.rules, id) {
                plan.wanted = ArenaRequest::Rules;
            }
            plan.stage >= ArenaState::In || plan.wanted != ArenaRequest::Rules
        });
        self.foreign_teams.clear();
        self.list_at = now;
        self.plan_named(&before.ids, now);
    }

    /// Updates the bot's rating.
    pub fn set_rating(&mut self, rating: i32) {
        self.us.rating = Some(rating);
    }

    /// Plans the arenas named in the config. An entry that was not there `before` counts whatever became
    /// of the arena, unless the bot is in it.
    fn plan_named(&mut self, before: &[ArenaId], now: Instant) {
        let rules = Arc::clone(&self.rules);
        for arena in &rules.ids {
            let plan = self.plans.get(&arena.id);
            let is_new = !before.contains(arena) && plan.is_none_or(|it| it.stage < ArenaState::In);
            if is_new || plan.is_none() && !self.shut.contains(&arena.id) {
                let mut entrance = plan.map(|it| it.entrance.clone()).unwrap_or_default();
                entrance.team.clone_from(&arena.team);
                self.want(&arena.id, entrance, now);
            }
        }
    }

    /// What a restart needs, if anything: the arenas asked for by command, without their passwords, and
    /// those that the bot left.
    pub fn note(&self) -> Option<String> {
        let by_command = self.by_command().map(|(id, plan)| {
            let (id, team) = (id.clone(), plan.entrance.team.clone());
            format!("+{}", ArenaId { id, team })
        });
        let left = self.left.0.iter().map(|id| format!("-{id}"));
        let words: Vec<String> = by_command.chain(left).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Continues an earlier run by its [`ArenaSchedule::note`]. What the config names is joined as it says,
    /// even if the bot left it: it may be named there since then.
    pub fn resume(&mut self, note: &str, now: Instant) {
        for word in note.split(' ') {
            let (sign, arena) = word.split_at_checked(1).unwrap_or_default();
            let arena = arena.parse::<ArenaId>();
            let Some(arena) = arena.ok().filter(|it| !is_in_config(&self.rules, &it.id)) else {
                continue;
            };
            if sign == "-" {
                self.keep_out(&arena.id);
            } else {
                let entrance = JoinOptions {
                    team: arena.team,
                    ..JoinOptions::default()
                };
                self.want(&arena.id, entrance, now);
            }
        }
    }

    fn keep_out(&mut self, id: &str) {
        self.shut.insert(id.to_owned());
        self.left.insert(id.to_owned());
    }

    /// Plans an arena by the operator's wish.
    fn want(&mut self, id: &str, entrance: JoinOptions, now: Instant) {
        self.shut.remove(id);
        self.left.remove(id);
        let new = || PlannedArena::new(ArenaRequest::Named, JoinOptions::default(), now);
        let plan = self.plans.entry(id.to_owned()).or_insert_with(new);
        (plan.wanted, plan.entrance) = (ArenaRequest::Named, entrance);
        if plan.stage == ArenaState::Ahead {
            // Its start may have been moved.
            plan.stage = ArenaState::Unknown;
        }
        plan.failures = 0;
        (plan.refresh_at, plan.next) = (now, now);
    }

    /// Whether joins are allowed; if not, leaves the joined arenas. Those that the operator named stay
    /// planned.
    pub fn set_open(&mut self, open: bool, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        if open && !self.open {
            self.list_at = now;
            self.plan_named(&Arc::clone(&self.rules).ids, now);
        }
        self.open = open;
        if !open {
            for id in self.plans.keys().cloned().collect::<Vec<_>>() {
                self.part(&id, &mut out);
            }
        }
        out
    }

    /// Joins an arena by command; `None` while joins are not allowed.
    pub fn join(
        &mut self,
        id: &str,
        entrance: JoinOptions,
        now: Instant,
    ) -> Option<Vec<AccountEffect>> {
        if !self.open {
            return None;
        }
        self.want(id, entrance, now);
        let mut out = Vec::new();
        self.pass(now, &mut out);
        Some(out)
    }

    /// Leaves an arena by command; `None` if it was neither joined nor planned.
    pub fn leave(&mut self, id: &str) -> Option<Vec<AccountEffect>> {
        let mut out = Vec::new();
        self.keep_out(id);
        self.plans.contains_key(id).then(|| {
            self.part(id, &mut out);
            out
        })
    }

    fn part(&mut self, id: &str, out: &mut Vec<AccountEffect>) {
        let Some(plan) = self.plans.get_mut(id) else {
            return;
        };
        let stays = plan.wanted == ArenaRequest::Named && !self.shut.contains(id);
        match plan.stage {
            ArenaState::Leaving => {}
            ArenaState::Unknown if stays => {}
            // A call in progress must not overtake this: a join that arrives last would bring the
            // bot in again.
            _ if plan.calling => (plan.stage, plan.failures) = (ArenaState::Leaving, 0),
            ArenaState::In => {
                (plan.stage, plan.failures) = (ArenaState::Leaving, 0);
                plan.calling = true;
                out.push(AccountEffect::LeaveArena(id.to_owned()));
            }
            ArenaState::Ahead if stays => {}
            ArenaState::Unknown | ArenaState::Ahead => drop(self.plans.remove(id)),
        }
    }

    /// The arenas that only a command named, without those being left for good.
    fn by_command(&self) -> impl Iterator<Item = (&String, &PlannedArena)> {
        self.plans.iter().filter(|(id, plan)| {
            let is_named = plan.wanted == ArenaRequest::Named;
            is_named && !is_in_config(&self.rules, id) && !self.shut.contains(id)
        })
    }

    /// Says which arenas a program that takes over cannot join.
    pub fn hand_over(&self) -> Vec<AccountEffect> {
        let locked = self
            .by_command()
            .filter(|(_, plan)| plan.entrance.password.is_some());
        let note = |id: &str| {
            format!("join {id}: the program that takes over does not know the password, join again")
        };
        let notes = locked.map(|(id, _)| AccountEffect::Note(note(id)));
        notes.collect()
    }

    /// Number of joined arenas.
    pub fn playing(&self) -> usize {
        let joined = |plan: &&PlannedArena| plan.stage == ArenaState::In;
        self.plans.values().filter(joined).count()
    }

    /// Number of arenas joined or being joined.
    fn engaged(&self) -> usize {
        let entering = |plan: &&PlannedArena| plan.stage == ArenaState::Ahead && plan.calling;
        self.playing() + self.plans.values().filter(entering).count()
    }

    /// Every planned or joined arena, in words, and what to do about teams that the bot is not in.
    pub fn describe(&self) -> Vec<String> {
        let words = |(id, plan): (&String, &PlannedArena)| format!("{id}: {}", plan.stage);
        let foreign = self.foreign_teams.iter().cloned();
        self.plans.iter().map(words).chain(foreign).collect()
    }

    /// When the next [`AccountEvent::Tick`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let list = (self.open && self.rules.auto && !self.listing).then_some(self.list_at);
        let plans = self.plans.values().filter(|plan| !plan.calling);
        let plans = plans.flat_map(|plan| {
            let is_idle = plan.games.is_empty();
            let next = match plan.stage {
                ArenaState::Ahead => self.due(plan).filter(|_| self.open),
                ArenaState::In if is_idle && !plan.closed => Some(plan.next.min(plan.refresh_at)),
                ArenaState::In | ArenaState::Unknown => Some(plan.refresh_at),
                ArenaState::Leaving => Some(plan.next),
            };
            // A running game outlasts the end of its arena.
            [next, plan.ends.filter(|_| is_idle)]
        });
        list.into_iter().chain(plans.flatten()).min()
    }

    /// When to join a planned arena; `None` while there is no room for it, or rated games pause.
    fn due(&self, plan: &PlannedArena) -> Option<Instant> {
        let full = self.engaged() >= self.rules.most as usize && plan.wanted == ArenaRequest::Rules;
        let rests = plan.rated && !self.may_rate;
        let before = self.second * JOIN_BEFORE;
        let at = plan.begins.and_then(|begins| begins.checked_sub(before));
        let at = at.map_or(plan.next, |at| at.max(plan.next));
        (!full && !rests).then(|| self.banned.map_or(at, |until| at.max(until)))
    }

    /// Handles an event and returns the effects; `may_rate`: the rating guard allows rated games.
    pub fn handle(
        &mut self,
        received: &AccountEvent,
        now: Instant,
        wall: SystemTime,
        may_rate: bool,
    ) -> Vec<AccountEffect> {
        self.may_rate = may_rate;
        let mut out = Vec::new();
        match received {
            AccountEvent::Event(Event::GameStart(game)) => self.began(game, now),
            AccountEvent::Event(Event::GameFinish(game)) => self.ended(game),
            AccountEvent::Left { game, .. } => self.over(game, now),
            AccountEvent::ArenasListed(arenas, foreign) => self.listed(arenas, foreign, now, wall),
            AccountEvent::ArenasNotListed(wait) => {
                self.listing = false;
                self.list_at = now + wait.unwrap_or_default().max(self.second * REFRESH_EVERY);
            }
            AccountEvent::ArenaShown(arena) => self.shown(arena, now, wall, &mut out),
            AccountEvent::ArenaNotShown(id, gone) => self.not_shown(id, *gone, now, &mut out),
            AccountEvent::ArenaJoined(id, joined) => self.joined(id, joined, now, &mut out),
            AccountEvent::ArenaLeft(id, done) => self.left(id, *done, now),
            _ => {}
        }
        self.pass(now, &mut out);
        out
    }

    fn pass(&mut self, now: Instant, out: &mut Vec<AccountEffect>) {
        let shut = &mut self.shut;
        self.plans.retain(|id, plan| {
            let is_over = plan.ends.is_some_and(|ends| ends <= now);
            let done = is_over && plan.games.is_empty() && !plan.calling;
            if done {
                shut.insert(id.clone());
            }
            !done
        });
        if self.open && self.rules.auto && !self.listing && self.list_at <= now {
            self.listing = true;
            out.push(AccountEffect::ListArenas(self.rules.teams.clone()));
        }
        // If only one more can be joined, the next to begin goes first; of those joined, the one whose last join
        // is the oldest.
        let order = |(id, plan): (&String, &PlannedArena)| (plan.joined, plan.begins, id.clone());
        let mut ids: Vec<_> = self.plans.iter().map(order).collect();
        ids.sort();
        for (.., id) in ids {
            self.attend(&id, now, out);
        }
    }

    /// Emits what is due for one arena.
    fn attend(&mut self, id: &str, now: Instant, out: &mut Vec<AccountEffect>) {
        let due = self.plans.get(id).and_then(|plan| self.due(plan));
        let Some(plan) = self.plans.get_mut(id).filter(|plan| !plan.calling) else {
            return;
        };
        let join =
            |plan: &PlannedArena| AccountEffect::JoinArena(id.to_owned(), plan.entrance.clone());
        let show = plan.refresh_at <= now;
        let effect = match plan.stage {
            ArenaState::Ahead if self.open && due.is_some_and(|due| due <= now) => Some(join(plan)),
            ArenaState::In | ArenaState::Unknown if show => {
                Some(AccountEffect::ShowArena(id.to_owned()))
            }
            ArenaState::In if plan.rated && !self.may_rate => {
                (plan.stage, plan.failures) = (ArenaState::Leaving, 0);
                Some(AccountEffect::LeaveArena(id.to_owned()))
            }
            ArenaState::In if plan.games.is_empty() && plan.next <= now && !plan.closed => {
                Some(join(plan))
            }
            ArenaState::Leaving if plan.next <= now || plan.failures == 0 => {
                Some(AccountEffect::LeaveArena(id.to_owned()))
            }
            _ => None,
        };
        let Some(mut effect) = effect else {
            return;
        };
        plan.calling = true;
        if let AccountEffect::JoinArena(_, entrance) = &mut effect {
            entrance.pair_me = plan.begins.is_none_or(|begins| begins <= now);
            plan.joined = Some(now);
            // They share one limit of joins.
            let least = now + self.second * MIN_BETWEEN;
            let joined = self.plans.values_mut();
            let joined = joined.filter(|plan| plan.stage == ArenaState::In);
            joined.for_each(|plan| plan.next = plan.next.max(least));
        }
        out.push(effect);
    }

    fn listed(&mut self, arenas: &[Arena], foreign: &[String], now: Instant, wall: SystemTime) {
        self.listing = false;
        self.list_at = now + (self.second * LIST_EVERY).mul_f64(1.0 + self.chance.f64() / 10.0);
        if !self.open || !self.rules.auto {
            return;
        }
        let known = std::mem::replace(&mut self.foreign_teams, foreign.to_vec());
        for team in foreign.iter().filter(|team| !known.contains(team)) {
            tracing::warn!("{team}");
        }
        for arena in arenas {
            let (begins, ends) = times(arena, self.second, now, wall);
            if let Some(plan) = self.plans.get_mut(&arena.id) {
                (plan.begins, plan.ends) = (begins.or(plan.begins), ends.or(plan.ends));
                continue;
            }
            let at = wall + begins.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            // In a team battle, the first of the operator's teams.
            let mut teams = self.rules.teams.iter();
            let team = teams.find(|team| arena.entry.teams.contains(team)).cloned();
            let wanted = suits(arena, &self.rules, at)
                && admits(arena, team.as_deref(), false, &self.us, wall)
                    .inspect_err(|why| tracing::debug!(arena = %arena.id, why, "not to be joined"))
                    .is_ok()
                && (self.may_rate || !arena.rated);
            if wanted && !self.shut.contains(&arena.id) && self.plans.len() < MAX_AHEAD {
                tracing::info!(arena = %arena.id, name = %arena.name, "an arena to join");
                let entrance = JoinOptions {
                    team,
                    ..JoinOptions::default()
                };
                let mut plan = PlannedArena::new(ArenaRequest::Rules, entrance, now);
                (plan.stage, plan.rated) = (ArenaState::Ahead, arena.rated);
                // The list has just described the arena completely.
                plan.refresh_at = now + self.second * REFRESH_EVERY;
                (plan.begins, plan.ends) = (begins, ends);
                self.plans.insert(arena.id.clone(), plan);
            }
        }
    }

    fn shown(&mut self, arena: &Arena, now: Instant, wall: SystemTime, out: &mut Effects) {
        let Some(plan) = self.plans.get_mut(&arena.id) else {
            return;
        };
        plan.calling = false;
        plan.refresh_at = now + self.second * REFRESH_EVERY;
        (plan.begins, plan.ends) = times(arena, self.second, now, wall);
        (plan.closed, plan.rated) = (arena.pairings_closed, arena.rated);
        if arena.is_finished {
            plan.ends = Some(now);
        }
        if plan.stage != ArenaState::Unknown {
            return;
        }
        let entrance = &plan.entrance;
        let (team, password) = (entrance.team.as_deref(), entrance.password.is_some());
        match admits(arena, team, password, &self.us, wall) {
            Ok(()) => plan.stage = ArenaState::Ahead,
            Err(why) => self.give_up(&arena.id, why, out),
        }
    }

    fn not_shown(&mut self, id: &str, gone: bool, now: Instant, out: &mut Effects) {
        let Some(plan) = self.plans.get_mut(id) else {
            return;
        };
        plan.calling = false;
        // What is not known at all is asked for again soon.
        let pause = [REFRESH_EVERY, MIN_BETWEEN][usize::from(plan.stage == ArenaState::Unknown)];
        plan.refresh_at = now + self.second * pause;
        if gone && plan.games.is_empty() {
            self.give_up(id, NO_ARENA, out);
        }
    }

    fn joined(&mut self, id: &str, joined: &CallOutcome, now: Instant, out: &mut Effects) {
        let present = (self.second * PRESENT_EVERY).mul_f64(0.9 + self.chance.f64() / 5.0);
        let Some(plan) = self.plans.get_mut(id) else {
            return;
        };
        plan.calling = false;
        if plan.stage == ArenaState::Leaving {
            // Leaving was requested while the join was in progress.
            plan.calling = true;
            out.push(AccountEffect::LeaveArena(id.to_owned()));
            return;
        }
        match joined {
            CallOutcome::Done => {
                if plan.stage != ArenaState::In {
                    tracing::info!(arena = id, "joined the arena");
                }
                plan.stage = ArenaState::In;
                plan.failures = 0;
                plan.refresh_at = plan.refresh_at.max(now + present);
                let begins = plan.begins.filter(|begins| *begins > now);
                let least = now + self.second * MIN_BETWEEN;
                plan.next = begins.map_or(now + present, |begins| begins.max(least));
            }
            CallOutcome::Lost => plan.next = now + self.second * MIN_BETWEEN,
            CallOutcome::Limited { wait } => {
                plan.next = now + present.max(wait.unwrap_or_default());
            }
            // The token or account may not play in arenas.
            CallOutcome::Refused {
                status: 403,
                text: why,
            } => {
                tracing::error!(arena = id, why, "the server forbids joining arenas");
                self.banned = Some(now + self.second * BAN);
                self.give_up(id, why, out);
            }
            CallOutcome::Refused { text: why, .. } => {
                tracing::warn!(arena = id, why, "the arena refused the join");
                if why.contains(TOO_MANY) {
                    plan.next = now + self.second * BAN;
                    return;
                }
                plan.failures += 1;
                plan.next = now + self.second * REFUSED_WAIT;
                // The server charges a first join to the budget before it checks password, conditions and
                // team. Only a pause passes by itself.
                let is_first = plan.stage == ArenaState::Ahead && !why.contains("pause");
                if is_first || plan.failures >= MAX_REFUSALS {
                    self.give_up(id, why, out);
                }
            }
            CallOutcome::Gone => self.give_up(id, NO_ARENA, out),
        }
    }

    fn left(&mut self, id: &str, done: bool, now: Instant) {
        let Some(plan) = self.plans.get_mut(id) else {
            return;
        };
        plan.calling = false;
        plan.failures += 1;
        plan.next = now + self.second;
        if done || plan.failures > MAX_REFUSALS {
            tracing::info!(arena = id, "left the arena");
            // One left for the pause of rated games is joined again after it, one that the operator named
            // after any pause.
            let stays = self.open || plan.wanted == ArenaRequest::Named;
            if stays && !self.shut.contains(id) {
                (plan.stage, plan.failures) = (ArenaState::Ahead, 0);
            } else {
                self.plans.remove(id);
            }
        }
    }

    /// Handles the start of a game. An unplanned arena was joined elsewhere.
    fn began(&mut self, game: &GameInfo, now: Instant) {
        // A game that is over by now gets no game task, whose end would be the end of the game here.
        let over = game.status.is_some_and(Status::is_over);
        let Some(id) = game.tournament.as_ref().filter(|_| !over) else {
            return;
        };
        if !self.plans.contains_key(id) && self.open && !self.shut.contains(id) {
            tracing::info!(arena = %id, "playing in an arena joined elsewhere");
            let mut plan = PlannedArena::new(ArenaRequest::Found, JoinOptions::default(), now);
            (plan.stage, plan.rated) = (ArenaState::In, game.rated);
            self.plans.insert(id.clone(), plan);
        }
        if let Some(plan) = self.plans.get_mut(id) {
            plan.games.insert(game.id.clone());
        }
    }

    /// Counts a game. The server removes a player without a first move, who should not rejoin.
    fn ended(&mut self, game: &GameInfo) {
        // Only a rated game that counts changes the rating.
        self.us.games += u32::from(game.rating_diff.is_some());
        let Some(id) = &game.tournament else {
            return;
        };
        let theirs = game.color.map(Side::other);
        if game.status == Some(Status::NoStart) && game.winner == theirs && theirs.is_some() {
            tracing::error!(arena = %id, game = %game.id, "removed from the arena: no first move in time");
            self.plans.remove(id);
            self.keep_out(id);
        }
    }

    fn over(&mut self, game: &GameId, now: Instant) {
        let (least, second) = (self.second * MIN_BETWEEN, self.second);
        for plan in self.plans.values_mut() {
            if plan.games.remove(game) {
                let joined = plan.joined.map_or(now, |at| at + least);
                plan.next = joined.max(now + second);
            }
        }
    }

    /// Drops an arena that the bot cannot join, and tells an operator who asked for it why.
    fn give_up(&mut self, id: &str, why: &str, out: &mut Effects) {
        tracing::warn!(arena = id, why, "arena given up");
        let is_named = |plan: &PlannedArena| plan.wanted == ArenaRequest::Named;
        if self.plans.get(id).is_some_and(is_named) {
            out.push(AccountEffect::Note(format!("join {id}: not joined, {why}")));
        }
        self.forget(id);
    }

    fn forget(&mut self, id: &str) {
        self.plans.remove(id);
        self.shut.insert(id.to_owned());
    }
}

fn is_in_config(rules: &config::Arena, id: &str) -> bool {
    rules.ids.iter().any(|it| it.id == id)
}

/// Start and end of an arena by the local clock; the server's countdown takes precedence over its
/// calendar time. Its seconds are as long as it counts them.
fn times(
    arena: &Arena,
    second: Duration,
    now: Instant,
    wall: SystemTime,
) -> (Option<Instant>, Option<Instant>) {
    let after = |at: Instant, count: Duration| {
        let seconds = u32::try_from(count.as_secs()).ok()?;
        at.checked_add(second.checked_mul(seconds)?)
    };
    let on_calendar = || match arena.starts_at?.duration_since(wall) {
        Ok(ahead) => now.checked_add(ahead),
        Err(behind) => now.checked_sub(behind.duration()),
    };
    let begins = match arena.to_start {
        Some(wait) => after(now, wait),
        None => on_calendar(),
    };
    let ends = match arena.to_end {
        Some(rest) => after(now, rest),
        None => begins
            .zip(arena.length)
            .and_then(|(at, length)| after(at, length)),
    };
    (begins, ends)
}

#[cfg(test)]
mod tests;
