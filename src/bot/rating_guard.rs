//! The rating guard: pauses rated games after an abnormal run of losses.
//!
//! Pure. Counts only rated games, per opponent and in total, and reports each pause once; callers
//! of [`RatingGuard::rest`] enforce it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::config;
use crate::lichess::{GameId, UserId};
use crate::store::{
    Change, FinishedGame, GameResult, GuardRow, GuardScope, RatedPause, TimeSpan, Timestamp,
};

/// The window over which rating points are summed.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A game costs more than that only while the rating is unsettled: the first losses of a new
/// account cost up to two hundred points each (Glicko-2 from a deviation of 500) and say nothing
/// about its play. Gains count in full: the rating loses much of them again before it settles.
const MAX_SETTLED: i32 = 60;
/// Maximum rating changes kept for the sum.
const MAX_CHANGES: usize = 2000;

/// A pause of rated games, and the opponents it applies to.
pub type Pause = (GuardScope, RatedPause);

/// Results of a finished game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardUpdate {
    /// Rows for the caller to store.
    pub changes: Vec<Change>,
    /// Pauses that begin with this game.
    pub pause: Vec<Pause>,
}

#[derive(Clone, Debug)]
struct RatingChange {
    game: GameId,
    opponent: Option<UserId>,
    diff: i32,
    at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct RatingGuard {
    rules: config::Guard,
    rows: HashMap<GuardScope, GuardRow>,
    points: VecDeque<RatingChange>,
}

impl RatingGuard {
    /// Restores the stored guard and the games of the last days.
    pub fn new(rules: config::Guard, rows: Vec<GuardRow>, games: &[FinishedGame]) -> Self {
        let mut guard = Self {
            rules,
            rows: rows
                .into_iter()
                .map(|row| (row.scope.clone(), row))
                .collect(),
            points: VecDeque::new(),
        };
        for game in games {
            guard.remember(game);
        }
        guard
    }

    /// Replaces the rules; a current pause keeps its length.
    pub fn set_rules(&mut self, rules: config::Guard) {
        self.rules = rules;
    }

    /// Why the bot may play no rated game with `opponent` at `now`, if so. Without an opponent:
    /// whether it may play none at all.
    pub fn rest(&self, opponent: Option<&UserId>, now: Timestamp) -> Option<&RatedPause> {
        let all = std::iter::once(GuardScope::All);
        let one = opponent.map(|id| GuardScope::Opponent(id.clone()));
        all.chain(one).find_map(|scope| self.pause_of(&scope, now))
    }

    pub fn rests(&self, now: Timestamp) -> Vec<Pause> {
        let resting = self.rows.values().filter_map(|row| {
            let rest = row.rest.clone().filter(|rest| rest.span.holds(now))?;
            Some((row.scope.clone(), rest))
        });
        resting.collect()
    }

    /// Records a finished game.
    pub fn finished(&mut self, game: &FinishedGame, now: Timestamp) -> GuardUpdate {
        let mut news = GuardUpdate::default();
        if !game.counts_for_ratings() {
            return news;
        }
        self.remember(game);
        for scope in scopes(game.opponent.as_ref()) {
            self.count(scope, game.result(), now, &mut news);
        }
        self.check_points(game.opponent.as_ref(), now, &mut news);
        news
    }

    /// Records the rating change that the server reported for a game.
    pub fn rated(
        &mut self,
        game: &GameId,
        opponent: Option<&UserId>,
        diff: i32,
        now: Timestamp,
    ) -> GuardUpdate {
        let mut news = GuardUpdate::default();
        let is_new = self.note(RatingChange {
            game: game.clone(),
            opponent: opponent.cloned(),
            diff,
            at: now,
        });
        if is_new {
            self.check_points(opponent, now, &mut news);
        }
        news
    }

    /// Adjusts to a clock set back: nothing may have begun after `now`.
    pub fn set_back(&mut self, now: Timestamp) -> Vec<Change> {
        let mut changes = Vec::new();
        for points in &mut self.points {
            points.at = points.at.min(now);
        }
        for row in self.rows.values_mut() {
            let before = row.clone();
            row.from = row.from.min(now);
            if let Some(rest) = &mut row.rest {
                rest.span = rest.span.not_after(now);
            }
            if *row != before {
                changes.push(Change::Guard(row.clone()));
            }
        }
        changes
    }

    /// Removes counts that say nothing any more, and those of opponents that are forgotten.
    pub fn prune(&mut self, now: Timestamp, knows: impl Fn(&UserId) -> bool) {
        self.rows.retain(|scope, row| {
            let last = row.rest.as_ref().map_or(row.from, |rest| rest.span.until);
            let counts = row.losses > 0 || last + DAY > now;
            counts && matches!(scope, GuardScope::Opponent(id) if knows(id))
                || *scope == GuardScope::All
        });
    }

    fn remember(&mut self, game: &FinishedGame) {
        let Some(diff) = game.rating_diff.filter(|_| game.rated) else {
            return;
        };
        self.note(RatingChange {
            game: game.game.clone(),
            opponent: game.opponent.clone(),
            diff,
            at: game.at,
        });
    }

    /// Stores a change; false if already known.
    fn note(&mut self, points: RatingChange) -> bool {
        if self.points.iter().any(|known| known.game == points.game) {
            return false;
        }
        if self.points.len() >= MAX_CHANGES {
            self.points.pop_front();
        }
        self.points.push_back(points);
        true
    }

    fn count(
        &mut self,
        scope: GuardScope,
        result: GameResult,
        now: Timestamp,
        news: &mut GuardUpdate,
    ) {
        let (most, whom) = match &scope {
            GuardScope::All => (self.rules.losses, "all opponents together"),
            GuardScope::Opponent(id) => (self.rules.opponent_losses, id.as_str()),
        };
        let whom = whom.to_owned();
        if self.pause_of(&scope, now).is_some() {
            return;
        }
        let row = self.row(&scope);
        let before = row.losses;
        row.losses = match result {
            GameResult::Loss => before + 1,
            GameResult::Win | GameResult::Draw => 0,
        };
        let losses = row.losses;
        if losses >= most.max(1) {
            let reason = format!("{losses} rated games in a row lost to {whom}");
            self.step_in(scope, reason, now, news);
        } else if losses != before {
            news.changes.push(Change::Guard(row.clone()));
        }
    }

    /// Sums the points of a day.
    fn check_points(&mut self, opponent: Option<&UserId>, now: Timestamp, news: &mut GuardUpdate) {
        self.points.retain(|points| points.at + DAY > now);
        for scope in scopes(opponent) {
            if self.pause_of(&scope, now).is_some() {
                continue;
            }
            let from = self.rows.get(&scope).map(|row| row.from);
            let from = from.unwrap_or_default();
            let counted = self.points.iter().filter(|points| {
                points.at >= from
                    && points.diff >= -MAX_SETTLED
                    && match &scope {
                        GuardScope::All => true,
                        GuardScope::Opponent(id) => points.opponent.as_ref() == Some(id),
                    }
            });
            let sum: i64 = counted.map(|points| i64::from(points.diff)).sum();
            if sum <= -i64::from(self.rules.points.max(1)) {
                let whom = match &scope {
                    GuardScope::All => String::new(),
                    GuardScope::Opponent(id) => format!(" to {id}"),
                };
                let reason = format!("{} rating points lost{whom} within a day", -sum);
                self.step_in(scope, reason, now, news);
            }
        }
    }

    /// The pause of just these opponents that lasts at `now`.
    fn pause_of(&self, scope: &GuardScope, now: Timestamp) -> Option<&RatedPause> {
        let rest = self.rows.get(scope)?.rest.as_ref();
        rest.filter(|rest| rest.span.holds(now))
    }

    fn row(&mut self, scope: &GuardScope) -> &mut GuardRow {
        self.rows.entry(scope.clone()).or_insert_with(|| GuardRow {
            scope: scope.clone(),
            losses: 0,
            from: Timestamp::default(),
            rest: None,
        })
    }

    fn step_in(
        &mut self,
        scope: GuardScope,
        reason: String,
        now: Timestamp,
        news: &mut GuardUpdate,
    ) {
        let span = TimeSpan::new(now, self.rules.rest);
        let rest = RatedPause { span, reason };
        let row = self.row(&scope);
        row.losses = 0;
        // Games before the pause do not count again after it.
        row.from = now + Duration::from_millis(1);
        row.rest = Some(rest.clone());
        news.changes.push(Change::Guard(row.clone()));
        news.pause.push((scope, rest));
    }
}

fn scopes(opponent: Option<&UserId>) -> impl Iterator<Item = GuardScope> {
    let one = opponent.map(|id| GuardScope::Opponent(id.clone()));
    one.into_iter().chain(std::iter::once(GuardScope::All))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::lichess::Side;

    const HOUR: Duration = Duration::from_secs(3600);

    fn start() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    fn game(
        number: usize,
        opponent: &str,
        winner: Option<Side>,
        diff: Option<i32>,
    ) -> FinishedGame {
        FinishedGame {
            game: GameId::new(format!("game{number:04}")),
            opponent: Some(UserId::new(opponent)),
            is_bot: true,
            rated: true,
            color: Some(Side::White),
            winner,
            status: "variantEnd".into(),
            plies: 20,
            opening: String::new(),
            rating_diff: diff,
            at: start() + HOUR / 60 * number as u32,
        }
    }

    fn guard(rules: config::Guard) -> RatingGuard {
        RatingGuard::new(rules, Vec::new(), &[])
    }

    #[test]
    fn losses_in_a_row_to_one_opponent_pause_rated_games_with_that_opponent() {
        let mut guard = guard(config::Guard::default());
        let (foe, other) = (UserId::new("foe"), UserId::new("other"));
        let mut pause = Vec::new();
        for n in 0..8 {
            assert!(pause.is_empty());
            let lost = game(n, "foe", Some(Side::Black), None);
            pause = guard.finished(&lost, lost.at).pause;
        }
        let now = start() + HOUR;
        assert_eq!(pause.len(), 1);
        assert_eq!(pause[0].0, GuardScope::Opponent(foe.clone()));
        assert_eq!(pause[0].1.reason, "8 rated games in a row lost to foe");
        assert!(guard.rest(Some(&foe), now).is_some());
        assert!(guard.rest(Some(&other), now).is_none() && guard.rest(None, now).is_none());
        let after = now + DAY;
        assert!(guard.rest(Some(&foe), after).is_none());
        // The count restarts.
        let lost = game(9, "foe", Some(Side::Black), None);
        assert!(guard.finished(&lost, after).pause.is_empty());
    }

    #[test]
    fn a_draw_or_a_win_ends_the_run() {
        let mut guard = guard(config::Guard {
            opponent_losses: 2,
            ..config::Guard::default()
        });
        let loss = Some(Side::Black);
        for (n, winner) in [loss, None, loss, Some(Side::White), loss]
            .into_iter()
            .enumerate()
        {
            let game = game(n, "foe", winner, None);
            assert!(guard.finished(&game, game.at).pause.is_empty());
        }
        let mut casual = game(7, "foe", loss, None);
        casual.rated = false;
        assert_eq!(guard.finished(&casual, casual.at), GuardUpdate::default());
        let mut aborted = game(8, "foe", None, None);
        aborted.status = "aborted".into();
        assert_eq!(guard.finished(&aborted, aborted.at), GuardUpdate::default());
        let last = game(9, "foe", loss, None);
        assert_eq!(guard.finished(&last, last.at).pause.len(), 1);
    }

    #[test]
    fn losses_to_many_opponents_pause_all_rated_games() {
        let mut guard = guard(config::Guard::default());
        let mut pause = Vec::new();
        for n in 0..15 {
            let lost = game(n, &format!("foe{n}"), Some(Side::Black), None);
            pause = guard.finished(&lost, lost.at).pause;
        }
        assert_eq!(pause.len(), 1);
        assert_eq!(pause[0].0, GuardScope::All);
        let now = start() + HOUR;
        assert!(guard.rest(None, now).is_some());
        assert!(guard.rest(Some(&UserId::new("anybody")), now).is_some());
        assert_eq!(guard.rests(now).len(), 1);
    }

    #[test]
    fn points_are_summed_over_a_day_and_reported_once() {
        let mut guard = guard(config::Guard::default());
        let foe = UserId::new("foe");
        for number in 1..=3 {
            let lost = game(number, "foe", Some(Side::Black), None);
            assert!(guard.finished(&lost, lost.at).pause.is_empty());
            // A change reported twice counts once.
            for diff in [-50 + i32::from(number == 3), -50] {
                let news = guard.rated(&lost.game, Some(&foe), diff, lost.at);
                assert!(news.pause.is_empty(), "{number}");
            }
        }
        let now = start();
        let more = GameId::new("more");
        let pause = guard.rated(&more, Some(&foe), -1, now + HOUR).pause;
        let scopes: Vec<_> = pause.iter().map(|(scope, _)| scope).collect();
        assert_eq!(
            scopes,
            [&GuardScope::Opponent(foe.clone()), &GuardScope::All]
        );
        let again = GameId::new("again");
        let later = now + HOUR * 2;
        assert!(guard.rated(&again, Some(&foe), -50, later).pause.is_empty());
    }

    #[test]
    fn the_first_losses_of_a_new_account_pause_nothing() {
        let mut guard = guard(config::Guard::default());
        let foe = UserId::new("foe");
        for (n, diff) in [-162, -115, 162, -66, -60, -60, -60, -60, -60]
            .into_iter()
            .enumerate()
        {
            let id = GameId::new(format!("g{n}"));
            let news = guard.rated(&id, Some(&foe), diff, start());
            assert!(news.pause.is_empty(), "{diff}");
        }
    }

    #[test]
    fn points_of_yesterday_do_not_count_and_gains_are_deducted() {
        let mut guard = guard(config::Guard::default());
        let now = start();
        let rows = [(-60, 0), (-60, 0), (30, 1), (-50, 2), (-60, 25), (-9, 25)];
        for (n, (diff, hours)) in rows.into_iter().enumerate() {
            let id = GameId::new(format!("g{n}"));
            let news = guard.rated(&id, None, diff, now + HOUR * hours);
            assert!(news.pause.is_empty(), "{diff}");
        }
    }

    #[test]
    fn the_guard_restores_its_stored_state() {
        let mut before = guard(config::Guard::default());
        let mut rows = HashMap::new();
        for n in 0..14 {
            let lost = game(n, &format!("foe{n}"), Some(Side::Black), None);
            for change in before.finished(&lost, lost.at).changes {
                if let Change::Guard(row) = change {
                    rows.insert(row.scope.clone(), row);
                }
            }
        }
        let rows = rows.into_values().collect();
        let mut after = RatingGuard::new(config::Guard::default(), rows, &[]);
        let lost = game(15, "foe15", Some(Side::Black), None);
        assert_eq!(after.finished(&lost, lost.at).pause.len(), 1);
    }

    #[test]
    fn points_of_the_last_run_count_after_a_restart() {
        let lost = |n, diff| game(n, &format!("foe{n}"), Some(Side::Black), Some(diff));
        let before = [lost(1, -60), lost(2, -60), lost(4, -20)];
        let mut after = RatingGuard::new(config::Guard::default(), Vec::new(), &before);
        let next = lost(5, -10);
        let pause = after.finished(&next, next.at).pause;
        assert_eq!(pause.len(), 1);
        assert_eq!(pause[0].1.reason, "150 rating points lost within a day");
    }

    #[test]
    fn a_clock_set_back_does_not_lengthen_a_pause() {
        let mut guard = guard(config::Guard {
            losses: 1,
            ..config::Guard::default()
        });
        let lost = game(1, "foe", Some(Side::Black), None);
        let wrong = lost.at + DAY * 365;
        guard.finished(&lost, wrong);
        let now = lost.at;
        assert_eq!(guard.set_back(now).len(), 1);
        assert!(guard.rest(None, now).is_some());
        assert!(guard.rest(None, now + DAY).is_none());
    }
}
