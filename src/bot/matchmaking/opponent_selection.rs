//! How an attempt begins: when, with which profile, and against which opponent.

use std::sync::Arc;
use std::time::Duration;

use super::challenge_request::{ChallengeRequest, Initiator};
use super::cooldown::keys;
use super::matchmaker::{AttemptState, MatchContext, Matchmaker, MatchmakingEffect as Effect};
use crate::bot::quota::{Denied, OpponentKind, Permit};
use crate::config::{Matchmaking, Profile};
use crate::lichess::{Account, ColorChoice, Presence, UserId};
use crate::store::Timestamp;

/// Refetch the list of bots after this long.
const LIST_AGE: Duration = Duration::from_secs(30 * 60);
/// Refetch it earlier when no one on it fits any more.
const LIST_AGE_IN_NEED: Duration = Duration::from_secs(10 * 60);
/// Number of bots whose status is checked before one is challenged.
const SHORTLIST: usize = 20;
/// If no bot was available, try again after this many times the spacing.
const NO_OPPONENT_FACTOR: u32 = 3;
/// Check a spent quota again after this long at the latest.
const LOOK_AGAIN: Duration = Duration::from_secs(600);
const NOT_IDLE: &str = "the bot has not been idle for long enough";

impl Matchmaker {
    /// Begins an attempt if one is due.
    pub(super) fn begin(&mut self, around: &MatchContext<'_>) {
        let now = around.now;
        if !self.wants_any() {
            return;
        }
        let quiet = self.idle_until().saturating_duration_since(now);
        if !quiet.is_zero() {
            if self.next.max(self.next_by_rule) <= now {
                let until = around.moment + quiet;
                self.waits = Some((NOT_IDLE, Some(until)));
            }
            return;
        }
        let manual = self.next_manual(around);
        let by_order = manual.is_some();
        if !by_order && self.series.is_some() {
            return self
                .crowd("the series goes on after the present game, or a pause of rated games");
        }
        let busy = around.games > 0 && !self.beside_games && !by_order;
        // An opponent by command is a human until the look-up shows a bot.
        let has_slot = around.spare > 0 || (by_order && around.spare_for_humans > 0);
        if busy {
            return self.crowd("games are in progress");
        }
        if !has_slot {
            return self.crowd("no free slot");
        }
        if let Some(manual) = manual {
            return self.look_up_presence(vec![manual]);
        }
        let permit = around.directory.may_challenge(OpponentKind::Bot);
        if let Permit::Later { at, denied } = permit {
            let pause = self.until_later(at.since(around.moment));
            return self.wait_by_rule(denied.as_str(), pause, around);
        }
        if let Some(offer) = self.second_game(around) {
            return self.look_up_presence(vec![offer]);
        }
        // Nobody else comes sooner because a pair waits for its second game.
        let quiet = (self.quiet_since + self.rules.idle).saturating_duration_since(now);
        if !self.beside_games && !quiet.is_zero() {
            self.next_by_rule = now + quiet.min(self.rules.spacing * NO_OPPONENT_FACTOR);
            return self.tell_wait(NOT_IDLE, around.moment + quiet);
        }
        let shortlist = self.shortlist(around);
        let age = [LIST_AGE, LIST_AGE_IN_NEED][usize::from(shortlist.is_empty())];
        if self.bots.is_older(age, now) {
            self.state = AttemptState::Listing;
            self.out.push(Effect::List);
        } else if shortlist.is_empty() {
            let pause = self.rules.spacing * NO_OPPONENT_FACTOR;
            self.wait_by_rule(self.why_no_one(around), pause, around);
        } else {
            self.look_up_presence(shortlist);
        }
    }

    /// Waits for a slot or the end of a game.
    fn crowd(&mut self, why: &'static str) {
        self.crowded = true;
        self.waits = Some((why, None));
    }

    /// Waits for so long.
    pub(super) fn wait(&mut self, why: &'static str, pause: Duration, around: &MatchContext<'_>) {
        self.next = around.now + pause;
        self.tell_wait(why, around.moment + pause);
    }

    /// Waits for so long with what no command asked for.
    fn wait_by_rule(&mut self, why: &'static str, pause: Duration, around: &MatchContext<'_>) {
        self.next_by_rule = around.now + pause;
        self.tell_wait(why, around.moment + pause);
    }

    /// Keeps the reason of a wait for the operator, and logs one that is new.
    fn tell_wait(&mut self, why: &'static str, until: Timestamp) {
        let reason = (why, Some(until));
        if self.waits.replace(reason).map(|(known, _)| known) != Some(why) {
            tracing::info!(why, "matchmaking waits");
        }
    }

    /// Why no listed bot is to be challenged.
    fn why_no_one(&self, around: &MatchContext<'_>) -> &'static str {
        let profiles = self.profiles(&self.rules, around);
        let fitting = profiles.iter().flat_map(|profile| {
            let bots = self.bots.fitting(profile, self.rules.min_games);
            bots.map(move |bot| profile.rated && !around.directory.may_rate(&bot.id))
        });
        match fitting.min() {
            _ if profiles.is_empty() => "no profile is within its hours",
            None => "no listed bot fits a profile",
            Some(true) => "rated games pause after losses",
            Some(false) => "every bot that fits has a cooldown, plays us or is to be avoided",
        }
    }

    /// The profiles that may be played now.
    fn profiles<'r>(&self, rules: &'r Matchmaking, around: &MatchContext<'_>) -> Vec<&'r Profile> {
        let second = around.moment.as_millis() / 1000;
        let wanted = rules.profile.iter().filter(|it| it.weight > 0);
        wanted
            .filter(|it| it.hours.contains_second(second))
            .filter(|it| !self.unratable.contains(&it.name))
            .collect()
    }

    fn look_up_presence(&mut self, offers: Vec<ChallengeRequest>) {
        let users = offers.iter().map(|it| it.to.clone()).collect();
        self.out.push(Effect::LookUp(users));
        self.state = AttemptState::Looking(offers);
    }

    /// The second game of a pair whose first is over, if still wanted, and the hours of its profile allow it.
    fn second_game(&mut self, around: &MatchContext<'_>) -> Option<ChallengeRequest> {
        let (directory, second) = (around.directory, around.moment.as_millis() / 1000);
        self.pairs.retain(|(offer, when)| {
            let may_rate = !offer.profile.rated || directory.may_rate(&offer.to);
            when.end > around.now && !directory.avoids(&offer.to) && may_rate
        });
        let due = self.pairs.iter().filter(|(offer, when)| {
            when.start <= around.now && offer.profile.hours.contains_second(second)
        });
        let is_free = |it: &&ChallengeRequest| it.profile.days > 0 || !directory.plays(&it.to, 0);
        due.map(|(offer, _)| offer).find(is_free).cloned()
    }

    /// Opponents and terms: a profile drawn by weight among those with candidates.
    fn shortlist(&mut self, around: &MatchContext<'_>) -> Vec<ChallengeRequest> {
        let rules = Arc::clone(&self.rules);
        let mut profiles = self.profiles(&rules, around);
        while !profiles.is_empty() {
            let drawn = self.draw(&profiles);
            let profile = profiles.swap_remove(drawn);
            let offers = self.offers(profile, around);
            if !offers.is_empty() {
                return offers;
            }
        }
        Vec::new()
    }

    fn draw(&mut self, profiles: &[&Profile]) -> usize {
        let weights = profiles.iter().map(|it| u64::from(it.weight));
        let mut ends = weights.scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        let at = self.chance.u64(0..ends.clone().last().unwrap_or(1));
        ends.position(|end| at < end).unwrap_or(0)
    }

    fn offers(&mut self, profile: &Profile, around: &MatchContext<'_>) -> Vec<ChallengeRequest> {
        let speed = profile.speed();
        let directory = around.directory;
        let may = |user: &UserId| {
            !directory.avoids(user)
                && self.pairs.iter().all(|(offer, _)| offer.to != *user)
                && (profile.days == 0 || !directory.plays(user, profile.days))
                && (!profile.rated || directory.may_rate(user))
                && !keys(user, speed, profile.rated)
                    .iter()
                    .any(|key| directory.rests(key))
        };
        let (prefer, least) = (self.rules.prefer, self.rules.min_games);
        let results = |user: &UserId| directory.results(user);
        let users = self
            .bots
            .in_order(profile, prefer, least, results, may, &mut self.chance);
        let color = if self.rules.color_pairs {
            ColorChoice::White
        } else {
            ColorChoice::Random
        };
        let offer = |to| ChallengeRequest {
            to,
            target: OpponentKind::Bot,
            profile: profile.clone(),
            color,
            origin: Initiator::Rules,
        };
        users.into_iter().take(SHORTLIST).map(offer).collect()
    }

    /// Tells the operator that a challenge of theirs was not sent, or not kept, which ends a series.
    pub(super) fn report_unsent(&mut self, origin: Initiator, to: UserId, why: &str) {
        match origin {
            Initiator::Rules => {}
            Initiator::Operator => self.out.push(Effect::ManualFailed(to, why.to_owned())),
            Initiator::Series => self.end_series(&to, why),
        }
    }

    pub(super) fn listed(&mut self, accounts: &[Account], around: &MatchContext<'_>) {
        self.bots.fill(&self.me, accounts, around.now);
        tracing::debug!(
            bots = self.bots.len(),
            rating = self.bots.own_rating(),
            "bots online"
        );
        if matches!(self.state, AttemptState::Listing) {
            self.state = AttemptState::Idle;
        }
    }

    /// A look-up failed: try later, after `wait` if the server names one.
    pub(super) fn fail(
        &mut self,
        why: &'static str,
        wait: Option<Duration>,
        around: &MatchContext<'_>,
    ) {
        if matches!(self.state, AttemptState::Listing | AttemptState::Looking(_)) {
            self.state = AttemptState::Idle;
            let pause = self.spacing().max(wait.unwrap_or_default());
            self.wait(why, pause, around);
        }
    }

    /// When to check again a quota that is spent for this long.
    fn until_later(&self, wait: Duration) -> Duration {
        wait.min(LOOK_AGAIN).max(self.rules.spacing)
    }

    /// The spacing, randomly stretched so that two bots do not fall into step.
    fn spacing(&mut self) -> Duration {
        self.rules.spacing.mul_f64(1.0 + self.chance.f64() / 4.0)
    }

    /// Challenges the first bot that is online and idle.
    pub(super) fn seen(&mut self, seen: &[Presence], around: &MatchContext<'_>) {
        let AttemptState::Looking(shortlist) = &mut self.state else {
            return;
        };
        let shortlist = std::mem::take(shortlist);
        self.state = AttemptState::Idle;
        let Some((origin, first)) = shortlist.first().map(|it| (it.origin, it.to.clone())) else {
            return;
        };
        let is_wanted = match origin {
            Initiator::Rules => true,
            Initiator::Operator => self.manual_queue.front() == shortlist.first(),
            Initiator::Series => self.next_of_series(around) == shortlist.first(),
        };
        if !is_wanted {
            return;
        }
        let by_order = origin != Initiator::Rules;
        let is_bot = !by_order || seen.iter().any(|it| it.id == first && it.is_bot());
        let is_barred = is_bot && around.for_bots == 0;
        let has_slot = around.spare > 0 || (!is_bot && around.spare_for_humans > 0);
        if !self.open || !(has_slot || is_barred) {
            return self.wait("no free slot", self.rules.spacing, around);
        }
        let found = shortlist.into_iter().find_map(|mut offer| {
            let presence = seen.iter().find(|it| it.id == offer.to)?;
            if is_bot {
                offer.target = OpponentKind::Bot;
            }
            // The operator may know better who has time for two games.
            let may_play = !is_barred && (by_order || !presence.playing);
            let directory = around.directory;
            let avoided = directory.forbids(&offer.to) || !by_order && directory.avoids(&offer.to);
            (presence.online && may_play && !avoided).then_some(offer)
        });
        let known = seen.iter().any(|it| it.id == first);
        let pause = self.rules.spacing * if by_order { 1 } else { NO_OPPONENT_FACTOR };
        match origin {
            Initiator::Operator => drop(self.manual_queue.pop_front()),
            // An opponent without time for the second game of a pair may have some later; others come first.
            Initiator::Rules if found.is_none() && known => {
                let pairs = self.pairs.iter_mut().filter(|it| it.0.to == first);
                pairs.for_each(|(_, when)| when.start = around.now + pause * 2);
            }
            Initiator::Rules => self.pairs.retain(|(offer, _)| offer.to != first),
            Initiator::Series => {}
        }
        let Some(offer) = found else {
            let why = if is_barred {
                "every slot is reserved for humans"
            } else if known {
                "not online"
            } else {
                "no such account"
            };
            self.report_unsent(origin, first, why);
            return self.wait_by_rule("no opponent is online and free", pause, around);
        };
        if let Permit::Later { at, denied } = around.directory.may_challenge(offer.target)
            && !(by_order && denied == Denied::Pace)
        {
            let (user, wait) = (&offer.to, at.since(around.moment));
            tracing::warn!(%user, ?wait, denied = denied.as_str(), "daily budget does not allow a challenge");
            let mut pause = self.rules.spacing;
            if origin == Initiator::Series {
                // It goes on when the budget allows.
                pause = self.until_later(wait);
            } else {
                self.report_unsent(origin, offer.to, denied.as_str());
            }
            return self.wait(denied.as_str(), pause, around);
        }
        let profile = &offer.profile.name;
        tracing::info!(user = %offer.to, profile, rated = offer.profile.rated, "challenging");
        self.next = around.now + self.spacing();
        self.waits = Some(("challenges are spaced out", None));
        self.last = Some(offer.clone());
        let (create, id) = (Box::new(offer.clone()), None);
        self.state = AttemptState::Creating { offer, id };
        self.out.push(Effect::Create(create));
    }
}
