//! The members of an arena, their pairings and scores.
//!
//! Pure: every call passes the time. A player is paired only while the server considers it present,
//! which lasts a minute from each confirmation; a sparring bot inside the server always is. It
//! starts and ends no games.

use std::collections::BTreeMap;

use crate::practice::api_error::ApiError;
use crate::practice::time::{Millis, Timing};

use super::{ArenaPlan, EntryRequest};

/// Seconds for which a player counts as present.
const PRESENT_SECONDS: u64 = 60;
/// Seconds from the first possible pairing to the pairing.
const PAIRING: u64 = 2;
/// Seconds that a player who left must wait before rejoining, per time it left.
const PAUSE: u64 = 10;
/// No pairings in the last seconds: at least this many.
const LAST_SECONDS: u64 = 30;

/// The stage of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::practice) enum ArenaStage {
    Created,
    Started,
    Finished,
}

impl ArenaStage {
    /// The number used in lists.
    pub(in crate::practice) fn id(self) -> u8 {
        match self {
            Self::Created => 10,
            Self::Started => 20,
            Self::Finished => 30,
        }
    }
}

/// A present or former member.
#[derive(Clone, Debug, Default)]
pub(in crate::practice) struct Entrant {
    /// Runs inside the server, so it is always present.
    pub(in crate::practice) task: bool,
    /// Left, or was removed.
    pub(in crate::practice) out: bool,
    pub(in crate::practice) score: u32,
    pub(in crate::practice) games: u32,
    /// How often it joined or confirmed its presence.
    pub(in crate::practice) joins: u32,
    here_until: Option<Millis>,
    free_since: Millis,
    game: Option<String>,
    last: Option<String>,
    whites: i32,
    pauses: u32,
    pause_over: Option<Millis>,
}

#[derive(Debug)]
pub(in crate::practice) struct Tournament {
    pub(in crate::practice) id: String,
    pub(in crate::practice) plan: ArenaPlan,
    pub(in crate::practice) begins: Millis,
    pub(in crate::practice) ends: Millis,
    pub(in crate::practice) stage: ArenaStage,
    pub(in crate::practice) players: BTreeMap<String, Entrant>,
    timing: Timing,
    pairing: Option<Millis>,
}

impl Tournament {
    pub(in crate::practice) fn new(
        id: String,
        plan: ArenaPlan,
        timing: Timing,
        now: Millis,
    ) -> Self {
        let begins = now + timing.seconds(plan.starts_in.into());
        Self {
            ends: begins + timing.seconds(60 * u64::from(plan.minutes)),
            id,
            plan,
            begins,
            stage: ArenaStage::Created,
            players: BTreeMap::new(),
            timing,
            pairing: None,
        }
    }

    /// Whether `user` is a present member.
    pub(in crate::practice) fn has(&self, user: &str) -> bool {
        self.players.get(user).is_some_and(|player| !player.out)
    }

    /// Whether pairings have ended.
    pub(in crate::practice) fn is_closed(&self, now: Millis) -> bool {
        let last = LAST_SECONDS.max(u64::from(self.plan.limit / 2).min(120));
        self.stage == ArenaStage::Finished || self.ends - now < self.timing.seconds(last)
    }

    /// `user` joins, rejoins, or confirms its presence.
    pub(in crate::practice) fn join(
        &mut self,
        user: &str,
        task: bool,
        entrance: &EntryRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        if self.stage == ArenaStage::Finished {
            return Err(ApiError::refused("This tournament is over"));
        }
        let started = self.stage == ArenaStage::Started;
        let here_until = now + self.timing.seconds(PRESENT_SECONDS);
        let player = self.players.entry(user.to_owned()).or_default();
        if player.pause_over.is_some_and(|over| now < over) {
            return Err(ApiError::refused("Your pause is not over yet"));
        }
        player.pause_over = None;
        player.task = task;
        player.out = false;
        player.joins += 1;
        if started && entrance.pair_me {
            player.here_until = Some(here_until);
        }
        if player.game.is_none() {
            player.free_since = now;
        }
        self.pair_soon(now);
        Ok(())
    }

    /// `user` leaves: for good before the start, for a while afterwards. False if it is not a
    /// member.
    pub(in crate::practice) fn withdraw(&mut self, user: &str, now: Millis) -> bool {
        if !self.has(user) || self.stage == ArenaStage::Finished {
            return false;
        }
        let pause = self.timing.seconds(PAUSE);
        if self.stage == ArenaStage::Created {
            self.players.remove(user);
        } else if let Some(player) = self.players.get_mut(user) {
            player.out = true;
            player.here_until = None;
            player.pauses += 1;
            player.pause_over = Some(now + pause * player.pauses);
        }
        true
    }

    /// The server removes `user`, who may rejoin at once.
    pub(in crate::practice) fn remove_player(&mut self, user: &str) {
        if let Some(player) = self.players.get_mut(user) {
            player.out = true;
            player.here_until = None;
        }
    }

    fn pair_soon(&mut self, now: Millis) {
        if self.stage == ArenaStage::Started {
            let at = now + self.timing.seconds(PAIRING);
            self.pairing.get_or_insert(at);
        }
    }

    /// When [`Tournament::tick`] is due.
    pub(in crate::practice) fn next_due(&self) -> Option<Millis> {
        match self.stage {
            ArenaStage::Created => Some(self.begins),
            ArenaStage::Started => Some(self.pairing.map_or(self.ends, |at| at.min(self.ends))),
            ArenaStage::Finished => None,
        }
    }

    /// Handles everything due: yields pairings, White first. True when the arena has just ended.
    pub(in crate::practice) fn tick(
        &mut self,
        now: Millis,
        random: &mut fastrand::Rng,
    ) -> (Vec<[String; 2]>, bool) {
        if self.stage == ArenaStage::Created && self.begins <= now {
            self.stage = ArenaStage::Started;
            self.pair_soon(now);
        }
        if self.stage == ArenaStage::Started && self.ends <= now {
            self.stage = ArenaStage::Finished;
            self.pairing = None;
            return (Vec::new(), true);
        }
        if self.pairing.take_if(|at| *at <= now).is_none() || self.is_closed(now) {
            return (Vec::new(), false);
        }
        (self.pairs(now, random), false)
    }

    /// Present members without a game, the longest waiting first.
    fn waiting(&self, now: Millis) -> Vec<&String> {
        let here =
            |player: &Entrant| player.task || player.here_until.is_some_and(|until| now < until);
        let free = |player: &Entrant| !player.out && player.game.is_none() && here(player);
        let mut waiting: Vec<_> = self.players.iter().filter(|(_, it)| free(it)).collect();
        waiting.sort_by_key(|(_, player)| player.free_since);
        waiting.into_iter().map(|(user, _)| user).collect()
    }

    /// Pairs visitors with each other first, then sparring bots; the same opponent twice in a row
    /// only if there is no other. Sparring bots are not paired with each other.
    fn pairs(&self, now: Millis, random: &mut fastrand::Rng) -> Vec<[String; 2]> {
        if self.plan.variant != "atomic" {
            return Vec::new();
        }
        let mut waiting = self.waiting(now);
        let mut pairs = Vec::new();
        while let Some(at) = waiting.iter().position(|it| !self.players[*it].task) {
            let user = waiting.remove(at);
            let last = self.players[user].last.as_ref();
            let choice = waiting
                .iter()
                .enumerate()
                .min_by_key(|(_, it)| (last == Some(**it), self.players[**it].task));
            let Some((at, _)) = choice else {
                break;
            };
            let other = waiting.remove(at);
            let whites = self.players[user].whites - self.players[other].whites;
            let white = whites < 0 || (whites == 0 && random.bool());
            let pair = if white { [user, other] } else { [other, user] };
            pairs.push(pair.map(Clone::clone));
        }
        pairs
    }

    /// A game between the two has begun.
    pub(in crate::practice) fn began(&mut self, [white, black]: &[String; 2], game: &str) {
        for (user, other, whites) in [(white, black, 1), (black, white, -1)] {
            if let Some(player) = self.players.get_mut(user) {
                player.game = Some(game.to_owned());
                player.last = Some(other.clone());
                player.whites += whites;
            }
        }
    }

    /// Scores a finished game. A player who never started it is withdrawn, unless it is a sparring
    /// bot.
    pub(in crate::practice) fn over(
        &mut self,
        game: &str,
        points: impl Fn(&str) -> u32,
        absent: Option<&str>,
        now: Millis,
    ) {
        let counts = self.stage == ArenaStage::Started;
        let here = |player: &Entrant| player.game.as_deref() == Some(game);
        for (user, player) in self.players.iter_mut().filter(|(_, it)| here(it)) {
            player.game = None;
            player.free_since = now;
            player.games += u32::from(counts);
            player.score += if counts { points(user) } else { 0 };
            if absent == Some(user) && !player.task {
                player.out = true;
                player.here_until = None;
            }
        }
        self.pair_soon(now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const START: Millis = Millis(1_000_000);

    fn at(seconds: u64) -> Millis {
        START + Duration::from_secs(seconds)
    }

    fn here() -> EntryRequest {
        EntryRequest {
            pair_me: true,
            ..EntryRequest::default()
        }
    }

    /// A running arena of an hour with these players; names in capitals are sparring bots.
    fn field(names: &[&str]) -> Tournament {
        let mut field = Tournament::new(
            "arena123".to_owned(),
            ArenaPlan::default(),
            Timing::default(),
            START,
        );
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(field.tick(START, &mut random), (Vec::new(), false));
        for name in names {
            let task = name.chars().all(char::is_uppercase);
            field.join(name, task, &here(), START).unwrap();
        }
        field
    }

    fn pairs(field: &mut Tournament, now: Millis) -> Vec<[String; 2]> {
        field.tick(now, &mut fastrand::Rng::with_seed(2)).0
    }

    /// The opponent of `user` in what is paired now; the game is over at once.
    fn meets(field: &mut Tournament, user: &str, now: Millis) -> Option<String> {
        let all = pairs(field, now);
        let pair = all
            .into_iter()
            .find(|pair| pair.iter().any(|it| it == user))?;
        field.began(&pair, "game");
        field.over("game", |_| 2, None, now);
        pair.into_iter().find(|it| it != user)
    }

    #[test]
    fn present_players_are_paired_and_others_are_not() {
        let mut field = field(&["one", "two"]);
        field
            .join("three", false, &EntryRequest::default(), START)
            .unwrap();
        let paired = pairs(&mut field, at(2));
        assert_eq!(paired.len(), 1);
        assert!(!paired[0].contains(&"three".to_owned()));
    }

    #[test]
    fn a_player_counts_as_present_for_a_minute() {
        let mut late = field(&["one"]);
        assert!(pairs(&mut late, at(59)).is_empty(), "nobody else is there");
        late.join("two", false, &here(), at(59)).unwrap();
        assert!(pairs(&mut late, at(61)).is_empty(), "one has gone");
        let mut field = field(&["one"]);
        field.join("two", false, &here(), at(57)).unwrap();
        assert_eq!(pairs(&mut field, at(59)).len(), 1);
    }

    #[test]
    fn opponents_alternate_and_the_servers_bots_never_meet() {
        let mut field = field(&["one", "A", "B"]);
        let first = meets(&mut field, "one", at(2)).unwrap();
        let second = meets(&mut field, "one", at(4)).unwrap();
        assert_ne!(first, second);
        assert_eq!(field.players["one"].score, 4);
        field.remove_player("one");
        field.pair_soon(at(4));
        assert!(pairs(&mut field, at(6)).is_empty());
    }

    #[test]
    fn a_player_who_leaves_a_running_arena_waits_before_rejoining() {
        let mut field = field(&["one", "A"]);
        assert!(field.withdraw("one", at(1)));
        assert!(!field.withdraw("one", at(1)), "it has left already");
        assert!(field.join("one", false, &here(), at(5)).is_err());
        assert!(field.join("one", false, &here(), at(11)).is_ok());
        assert!(field.withdraw("one", at(12)));
        assert!(field.join("one", false, &here(), at(31)).is_err(), "longer");
    }

    #[test]
    fn a_player_without_a_first_move_is_removed_and_may_rejoin() {
        let mut field = field(&["one", "A"]);
        let pair = pairs(&mut field, at(2)).remove(0);
        field.began(&pair, "game");
        field.over("game", |_| 0, Some("one"), at(25));
        assert!(!field.has("one"));
        assert!(pairs(&mut field, at(27)).is_empty());
        field.join("one", false, &here(), at(28)).unwrap();
        assert_eq!(pairs(&mut field, at(30)).len(), 1);
    }

    #[test]
    fn near_its_end_no_one_is_paired_and_then_it_is_over() {
        let mut field = field(&["A"]);
        let late = at(3600 - 80);
        field.join("one", false, &here(), late).unwrap();
        assert!(field.is_closed(late + Duration::from_secs(2)));
        assert!(pairs(&mut field, late + Duration::from_secs(2)).is_empty());
        assert_eq!(field.next_due(), Some(at(3600)));
        let (_, over) = field.tick(at(3600), &mut fastrand::Rng::with_seed(2));
        assert!(over && field.next_due().is_none());
        assert!(field.join("one", false, &here(), at(3601)).is_err());
    }
}
