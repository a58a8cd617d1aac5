//! Games that ended unseen: looked up and counted as if the bot had seen their end.
//!
//! `state` marks a game when it starts and removes the mark once its end is counted; what is still
//! marked is looked up, one game at a time and at the lowest priority, after the list of running games
//! has shown that it no longer runs. So are games whose end was seen without a rating change, or counted
//! but lost to the archive. Nothing here plays, and nothing waits for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::account_event::{AccountEffect, MissedGame};
use super::quota::DAY;
use super::state::{BotState, StartedGame, UnfinishedGame};
use crate::bot::game::{Ending, FIRST_PLIES, opening};
use crate::bot::settings::BotTiming;
use crate::lichess::{Error, ExportedGame, GameId, Player, Side, Status, UserId, Variant};
use crate::rules::Game;
use crate::store::{FinishedGame, Origin, Timestamp};

/// The games to look up. Pure, beside the bot state.
#[derive(Debug)]
pub(super) struct Backfill {
    retry_queue: RetryQueue,
    /// Whether a look-up is in progress.
    asking: bool,
    /// Games whose end the archive lacks.
    pub(super) unarchived: Vec<UnfinishedGame>,
}

impl Backfill {
    pub(super) fn new(timing: &BotTiming, state: &BotState) -> Self {
        Self {
            retry_queue: RetryQueue::new(timing),
            asking: false,
            unarchived: state.unarchived(),
        }
    }

    /// Replaces the games to look up: none of them runs.
    pub(super) fn set(&mut self, missing: Vec<UnfinishedGame>, now: Instant) {
        // The end of a game that runs now is seen.
        self.unarchived.retain(|it| missing.contains(it));
        self.retry_queue.set(missing, now);
    }

    /// When a look-up is due; while one is in progress, its answer comes first.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.retry_queue.next_timeout().filter(|_| !self.asking)
    }

    /// The next game to look up, if one is due.
    pub(super) fn next(&mut self, state: &BotState, now: Instant) -> Option<GameId> {
        while !self.asking {
            let game = self.retry_queue.next(now)?;
            let is_unarchived = self.unarchived.iter().any(|it| it.game == game);
            if is_unarchived || state.is_open(&game) || state.lacks_rating(&game) {
                self.asking = true;
                return Some(game);
            }
            // The rating change was reported after all.
            self.retry_queue
                .answered(&game, LookupOutcome::Settled, now, state.now());
        }
        None
    }

    /// Handles the outcome of a look-up.
    pub(super) fn exported(
        &mut self,
        game: &GameId,
        answer: &Result<Box<ExportedGame>, Error>,
        me: &UserId,
        state: &BotState,
        now: Instant,
        out: &mut Vec<AccountEffect>,
    ) {
        self.asking = false;
        let found = found(game, answer, me, state, out);
        let next = self.retry_queue.answered(game, found, now, state.now());
        let is_gone = found == LookupOutcome::Nothing && next == NextLookup::Forget;
        if is_gone {
            out.push(AccountEffect::LogUnknownEnd(game.clone()));
        }
        if is_gone || found == LookupOutcome::Settled {
            self.unarchived.retain(|it| it.game != *game);
        }
        match next {
            NextLookup::Stay => {}
            NextLookup::Leave => {
                tracing::warn!(%game, "cannot look up how it ended: trying again at the next start");
            }
            NextLookup::Forget if state.is_open(game) => {
                tracing::warn!(%game, "cannot look up how it ended: not counted");
                state.forget_game(game);
            }
            NextLookup::Forget => out.extend(rate(game, 0, None, state)),
        }
    }
}

fn found(
    game: &GameId,
    answer: &Result<Box<ExportedGame>, Error>,
    me: &UserId,
    state: &BotState,
    out: &mut Vec<AccountEffect>,
) -> LookupOutcome {
    let export = match answer {
        Ok(export) if export.id == *game => export,
        Ok(_) => return LookupOutcome::Failed,
        Err(Error::Gone { .. }) => return LookupOutcome::Nothing,
        Err(error) => {
            tracing::debug!(%game, %error, "cannot look a game up");
            let passes = error.is_transient() || error.is_rate_limited();
            let later = LookupOutcome::Later(error.wait());
            return if passes { later } else { LookupOutcome::Failed };
        }
    };
    match read(export, me, state.now()) {
        MissedResult::Running => return LookupOutcome::Later(None),
        MissedResult::Foreign => state.forget_game(game),
        MissedResult::Over(missed) if state.is_open(game) => {
            out.push(AccountEffect::Missed(missed));
        }
        MissedResult::Over(missed) => {
            let them = missed.ending.us.map(|us| export.players.of(us.other()));
            let theirs = them.and_then(|player| player.rating_diff);
            let ours = missed.finished.rating_diff.unwrap_or(0);
            out.extend(rate(game, ours, theirs, state));
            out.push(AccountEffect::LogExport(missed));
        }
    }
    LookupOutcome::Settled
}

/// The rating change of a counted game, zero if unknown, and the opponent's.
fn rate(game: &GameId, ours: i32, theirs: Option<i32>, state: &BotState) -> Option<AccountEffect> {
    state.lacks_rating(game).then(|| {
        tracing::info!(%game, diff = ours, "missing rating change: looked up");
        AccountEffect::RatingChanged {
            game: game.clone(),
            ours,
            theirs,
        }
    })
}

/// How an exported game concerns the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MissedResult {
    /// It continues, or its end is not reported.
    Running,
    /// The bot does not play in it.
    Foreign,
    Over(Box<MissedGame>),
}

/// Reads an exported game as `me`.
pub(super) fn read(export: &ExportedGame, me: &UserId, now: Timestamp) -> MissedResult {
    let is_me = |side: &Side| export.players.of(*side).id.as_ref() == Some(me);
    let Some(us) = [Side::White, Side::Black].into_iter().find(is_me) else {
        return MissedResult::Foreign;
    };
    let Some(status) = export.status.filter(|status| Status::is_over(*status)) else {
        return MissedResult::Running;
    };
    let opponent = export.players.of(us.other());
    let is_bot = opponent.is_bot() || opponent.is_ai();
    let game = replayed(export);
    let plies = export.moves.split_ascii_whitespace().count();
    let ended = export.last_move_at.or(export.created_at);
    MissedResult::Over(Box::new(MissedGame {
        started: StartedGame {
            game: export.id.clone(),
            opponent: opponent.id.clone(),
            is_bot,
            origin: export.arena.then_some(Origin::Arena),
            rematch: false,
        },
        finished: FinishedGame {
            game: export.id.clone(),
            opponent: opponent.id.clone(),
            is_bot,
            rated: export.rated,
            color: Some(us),
            winner: export.winner,
            status: status.as_str().to_owned(),
            plies: u32::try_from(plies).unwrap_or(u32::MAX),
            opening: opening(&game),
            rating_diff: export.players.of(us).rating_diff,
            // The server's clock may be ahead.
            at: ended.map_or(now, |at| Timestamp::from(at).min(now)),
        },
        ending: Ending {
            game: export.id.clone(),
            status: Some(status),
            winner: export.winner,
            us: Some(us),
            opponent: Player::display_name(opponent),
            plies,
            fen: game.position().fen(),
        },
        export: export.clone(),
    }))
}

impl MissedGame {
    /// Whether it was aborted, within a day, while the opponent owed the first move.
    pub(super) fn is_no_show(&self, now: Timestamp) -> bool {
        let Ending { plies, us, .. } = self.ending;
        let owes = if plies == 0 { Side::White } else { Side::Black };
        self.ending.status == Some(Status::Aborted)
            && plies < FIRST_PLIES
            && us == Some(owes.other())
            && is_supported(&self.export)
            && now.since(self.finished.at) < DAY
    }
}

/// Whether the bot would have played it: from the usual position.
pub(super) fn is_supported(export: &ExportedGame) -> bool {
    export.variant == Variant::Atomic && export.initial_fen.is_none()
}

/// The replayed game, as far as its moves can be read.
pub(in crate::bot) fn replayed(export: &ExportedGame) -> Game {
    let mut game = Game::new();
    if !is_supported(export) {
        return game;
    }
    for san in export.moves.split_ascii_whitespace() {
        match game.position().parse_san(san) {
            Ok(played) => game.push(played),
            Err(error) => {
                tracing::warn!(game = %export.id, ply = game.moves().len(), %error, "cannot be replayed");
                break;
            }
        }
    }
    game
}

/// Maximum look-ups of a game per run.
const MAX_TRIES: u32 = 10;
/// Unknown answers after which the game does not exist.
const MAX_UNKNOWN: u32 = 3;
/// Older games are given up for good.
const LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Outcome of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupOutcome {
    /// The finished game, or one that the bot does not play in.
    Settled,
    /// The game runs, or the server says to try again, perhaps after a wait.
    Later(Option<Duration>),
    Nothing,
    /// No intelligible answer.
    Failed,
}

/// What to do with the game next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextLookup {
    /// It is settled, or will be retried later.
    Stay,
    /// Leave it for the next start.
    Leave,
    /// Give it up for good.
    Forget,
}

/// Which games to look up, when, and when to give up. Pure.
///
/// If the server does not know a game, ask a few times, since a fresh game may not be on all of its
/// machines yet; after that it never existed. Retry other failures at growing intervals, then at
/// the next start: for a week, or for as long as the server says to try again.
#[derive(Debug)]
pub(super) struct RetryQueue {
    first: Duration,
    longest: Duration,
    entries: BTreeMap<GameId, RetryEntry>,
}

#[derive(Debug)]
struct RetryEntry {
    since: Timestamp,
    /// When to look it up; `None`: no more in this run.
    due: Option<Instant>,
    tries: u32,
    unknown: u32,
}

impl RetryQueue {
    pub(super) fn new(timing: &BotTiming) -> Self {
        Self {
            first: timing.again * 2,
            longest: timing.reconcile,
            entries: BTreeMap::new(),
        }
    }

    /// Replaces the games with these: uncounted and not running.
    pub(super) fn set(&mut self, missing: Vec<UnfinishedGame>, now: Instant) {
        let mut before = std::mem::take(&mut self.entries);
        for UnfinishedGame { game, since } in missing {
            let entry = before.remove(&game).unwrap_or(RetryEntry {
                since,
                due: Some(now),
                tries: 0,
                unknown: 0,
            });
            // A game may be missing in two ways.
            self.entries.entry(game).or_insert(entry);
        }
    }

    /// The game to look up now: the oldest of those due.
    pub(super) fn next(&mut self, now: Instant) -> Option<GameId> {
        let due = self.entries.iter_mut();
        let due = due.filter(|(_, entry)| entry.due.is_some_and(|at| at <= now));
        let (game, entry) = due.min_by_key(|(_, entry)| entry.since)?;
        entry.due = None;
        entry.tries += 1;
        Some(game.clone())
    }

    /// When the next one is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.entries.values().filter_map(|entry| entry.due).min()
    }

    /// Records the outcome of a look-up.
    pub(super) fn answered(
        &mut self,
        game: &GameId,
        found: LookupOutcome,
        now: Instant,
        today: Timestamp,
    ) -> NextLookup {
        let Some(entry) = self.entries.get_mut(game) else {
            return NextLookup::Stay;
        };
        let advised = match found {
            LookupOutcome::Settled => {
                self.entries.remove(game);
                return NextLookup::Stay;
            }
            LookupOutcome::Later(advised) => advised,
            LookupOutcome::Nothing | LookupOutcome::Failed => None,
        };
        entry.unknown += u32::from(found == LookupOutcome::Nothing);
        let may_end = !matches!(found, LookupOutcome::Later(_));
        let old = may_end && today.since(entry.since) >= LIFE;
        if entry.unknown >= MAX_UNKNOWN || old {
            self.entries.remove(game);
            return NextLookup::Forget;
        }
        if entry.tries >= MAX_TRIES {
            return NextLookup::Leave;
        }
        let doubled = self.first * 2_u32.pow(entry.tries.saturating_sub(1).min(16));
        let wait = doubled.min(self.longest).max(advised.unwrap_or_default());
        entry.due = now.checked_add(wait);
        NextLookup::Stay
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::lichess::{BySide, GameId, Speed};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn player(name: &str, title: Option<&str>, diff: i32) -> Player {
        Player {
            id: Some(UserId::new(name)),
            name: Some(name.to_owned()),
            title: title.map(str::to_owned),
            rating_diff: Some(diff),
            ..Player::default()
        }
    }

    fn export() -> ExportedGame {
        ExportedGame {
            id: GameId::new("q7ZxVt2B"),
            variant: Variant::Atomic,
            speed: Speed::Blitz,
            rated: true,
            clock: None,
            days_per_turn: None,
            status: Some(Status::Resign),
            winner: Some(Side::Black),
            players: BySide {
                white: player("Foe", Some("BOT"), -6),
                black: player("Me", Some("BOT"), 7),
            },
            moves: "Nf3 f6 e3 e6 Be2 d5 O-O".to_owned(),
            initial_fen: None,
            created_at: None,
            last_move_at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_799_999_999)),
            arena: false,
        }
    }

    fn over(export: &ExportedGame) -> MissedGame {
        match read(export, &UserId::new("me"), NOW) {
            MissedResult::Over(missed) => *missed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_end_that_only_the_archive_lacks_is_looked_up_and_counts_for_nothing() {
        let (state, now) = (BotState::nowhere(), Instant::now());
        let unarchived = [("q7ZxVt2B", 1), ("unknown", 2)].map(|(game, since)| UnfinishedGame {
            game: GameId::new(game),
            since: Timestamp::from_millis(since),
        });
        state.set_unarchived(unarchived.to_vec());
        let mut backfill = Backfill::new(&BotTiming::default(), &state);
        let (first, second) = (&unarchived[0].game, &unarchived[1].game);
        let answers = [
            (first, Ok(Box::new(export()))),
            (
                second,
                Err(Error::Gone {
                    status: 404,
                    body: Box::default(),
                }),
            ),
        ];
        let mut out = Vec::new();
        for (game, answer) in answers {
            backfill.set(backfill.unarchived.clone(), now);
            assert_eq!(backfill.next(&state, now).as_ref(), Some(game));
            backfill.exported(game, &answer, &UserId::new("me"), &state, now, &mut out);
        }
        let unknown = AccountEffect::LogUnknownEnd(second.clone());
        assert!(matches!(&out[..], [AccountEffect::LogExport(_), end] if *end == unknown));
        assert_eq!(backfill.unarchived, [], "neither is asked for again");
    }

    #[test]
    fn an_ended_game_counts_as_if_its_end_had_been_seen() {
        let MissedGame {
            started,
            finished,
            ending,
            export: _,
        } = over(&export());
        assert_eq!(started.opponent, Some(UserId::new("foe")));
        assert!(started.is_bot && finished.is_bot && finished.rated);
        assert_eq!(finished.color, Some(Side::Black));
        assert_eq!((finished.winner, finished.plies), (Some(Side::Black), 7));
        assert_eq!(finished.rating_diff, Some(7));
        assert_eq!(finished.at, Timestamp::from_millis(1_799_999_999_000));
        assert_eq!(finished.status, "resign");
        // The same notation as for a game played to its end.
        let mut played = Game::new();
        played
            .push_uci_moves("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1")
            .unwrap();
        let spelled: Vec<_> = played.moves().iter().map(ToString::to_string).collect();
        assert_eq!(finished.opening, spelled.join(" "));
        assert_eq!(ending.fen, played.position().fen());
        assert_eq!((ending.result(), ending.opponent.as_str()), ("0-1", "Foe"));
    }

    #[test]
    fn a_server_clock_ahead_ends_no_game_in_the_future() {
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        let ahead = ExportedGame {
            last_move_at: Some(later),
            ..export()
        };
        assert_eq!(over(&ahead).finished.at, NOW);
    }

    #[test]
    fn a_running_or_foreign_game_counts_for_nothing() {
        let running = ExportedGame {
            status: Some(Status::Started),
            ..export()
        };
        let me = UserId::new("me");
        assert_eq!(read(&running, &me, NOW), MissedResult::Running);
        let unknown = ExportedGame {
            status: None,
            ..export()
        };
        assert_eq!(read(&unknown, &me, NOW), MissedResult::Running);
        let other = UserId::new("somebody");
        assert_eq!(read(&export(), &other, NOW), MissedResult::Foreign);
    }

    #[test]
    fn unreadable_moves_cost_the_opening_and_not_the_result() {
        let odd = ExportedGame {
            moves: "Nf3 Qxh9 e3".to_owned(),
            ..export()
        };
        let finished = over(&odd).finished;
        assert_eq!((finished.opening.as_str(), finished.plies), ("g1f3", 3));
        let other = ExportedGame {
            variant: Variant::Standard,
            ..export()
        };
        assert_eq!(over(&other).finished.opening, "");
    }

    #[test]
    fn who_owed_the_first_move_of_an_aborted_game_did_not_show_up() {
        let aborted = |moves: &str, us: &str| {
            let export = ExportedGame {
                status: Some(Status::Aborted),
                winner: None,
                moves: moves.to_owned(),
                ..export()
            };
            match read(&export, &UserId::new(us), NOW) {
                MissedResult::Over(missed) => *missed,
                other => panic!("{other:?}"),
            }
        };
        for (moves, us, is_no_show) in [
            ("", "me", true),
            ("", "foe", false),
            ("Nf3", "foe", true),
            ("Nf3", "me", false),
            ("Nf3 f6", "me", false),
            ("Nf3 f6", "foe", false),
        ] {
            assert_eq!(
                aborted(moves, us).is_no_show(NOW),
                is_no_show,
                "{moves} {us}"
            );
        }
        let mut old = aborted("", "me");
        assert!(!old.is_no_show(NOW + DAY));
        old.export.variant = Variant::Standard;
        assert!(!old.is_no_show(NOW), "the bot aborts such a game itself");
        assert!(!over(&export()).is_no_show(NOW));
    }

    #[test]
    fn an_aborted_game_has_no_result() {
        let aborted = ExportedGame {
            status: Some(Status::Aborted),
            winner: None,
            moves: "Nf3".to_owned(),
            ..export()
        };
        let missed = over(&aborted);
        assert!(!missed.finished.counts());
        assert_eq!(missed.ending.result(), "*");
    }
}

#[cfg(test)]
mod retry_queue_tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn open(game: &str, since: u64) -> UnfinishedGame {
        UnfinishedGame {
            game: GameId::new(game),
            since: Timestamp::from_millis(since),
        }
    }

    #[test]
    fn a_game_missing_in_two_ways_is_looked_up_once() {
        let (mut retry_queue, now) = retry_queue(&[("a", 1), ("a", 1)]);
        assert!(retry_queue.next(now).is_some());
        retry_queue.set(vec![open("a", 1), open("a", 1)], now);
        assert_eq!(retry_queue.next(now), None);
    }

    fn retry_queue(games: &[(&str, u64)]) -> (RetryQueue, Instant) {
        let mut retry_queue = RetryQueue::new(&BotTiming::default());
        let now = Instant::now();
        let missing = games.iter().map(|(game, since)| open(game, *since));
        retry_queue.set(missing.collect(), now);
        (retry_queue, now)
    }

    fn ask(retry_queue: &mut RetryQueue, found: LookupOutcome, now: Instant) -> NextLookup {
        let game = retry_queue.next(now).expect("one is due");
        retry_queue.answered(&game, found, now, Timestamp::from_millis(1000))
    }

    #[test]
    fn the_oldest_game_is_looked_up_first_and_each_once() {
        let (mut retry_queue, now) = retry_queue(&[("a", 30), ("b", 10), ("c", 20)]);
        let order: Vec<_> = std::iter::from_fn(|| retry_queue.next(now)).collect();
        assert_eq!(order, ["b", "c", "a"].map(GameId::new));
        assert_eq!(retry_queue.next_timeout(), None);
        for game in &order {
            let today = Timestamp::from_millis(100);
            let next = retry_queue.answered(game, LookupOutcome::Settled, now, today);
            assert_eq!(next, NextLookup::Stay);
        }
        assert!(retry_queue.entries.is_empty());
    }

    #[test]
    fn a_game_unknown_to_the_server_is_given_up_after_three_look_ups() {
        let (mut retry_queue, mut now) = retry_queue(&[("a", 0)]);
        for wait in [10, 20] {
            assert_eq!(
                ask(&mut retry_queue, LookupOutcome::Nothing, now),
                NextLookup::Stay
            );
            assert_eq!(retry_queue.next_timeout(), Some(now + SECOND * wait));
            now += SECOND * wait;
        }
        assert_eq!(
            ask(&mut retry_queue, LookupOutcome::Nothing, now),
            NextLookup::Forget
        );
        assert_eq!(retry_queue.next_timeout(), None);
    }

    #[test]
    fn a_failing_server_is_asked_less_and_less_and_then_at_the_next_start() {
        let (mut retry_queue, mut now) = retry_queue(&[("a", 0)]);
        let mut waits = Vec::new();
        let left = loop {
            let next = ask(&mut retry_queue, LookupOutcome::Later(None), now);
            let Some(due) = retry_queue.next_timeout() else {
                break next;
            };
            waits.push((due - now).as_secs());
            now = due;
        };
        assert_eq!(left, NextLookup::Leave);
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300, 300]);
        // The next list changes nothing about that.
        retry_queue.set(vec![open("a", 0)], now);
        assert_eq!(retry_queue.next(now), None);
    }

    #[test]
    fn an_advised_wait_is_honoured() {
        let (mut retry_queue, now) = retry_queue(&[("a", 0)]);
        ask(
            &mut retry_queue,
            LookupOutcome::Later(Some(SECOND * 60)),
            now,
        );
        assert_eq!(retry_queue.next_timeout(), Some(now + SECOND * 60));
    }

    #[test]
    fn an_unavailable_game_is_given_up_after_a_week_unless_it_runs() {
        for (found, expected) in [
            (LookupOutcome::Failed, NextLookup::Forget),
            (LookupOutcome::Later(None), NextLookup::Stay),
        ] {
            let (mut retry_queue, now) = retry_queue(&[("a", 0)]);
            let game = retry_queue.next(now).unwrap();
            let later = Timestamp::from_millis(0) + LIFE;
            assert_eq!(retry_queue.answered(&game, found, now, later), expected);
        }
    }

    #[test]
    fn a_server_that_says_try_again_ends_no_look_up_however_old_the_game_is() {
        let again = [
            Error::Transient {
                reached: true,
                status: Some(503),
                reason: String::new(),
            },
            Error::RateLimited {
                wait: Some(SECOND),
                body: Box::default(),
            },
        ];
        for error in again {
            let (state, now) = (BotState::nowhere(), Instant::now());
            let game = GameId::new("q7ZxVt2B");
            state.expect_game(&game);
            let mut backfill = Backfill::new(&BotTiming::default(), &state);
            // A correspondence game that began long ago.
            backfill.set(vec![open("q7ZxVt2B", 1)], now);
            assert_eq!(backfill.next(&state, now).as_ref(), Some(&game));
            let (me, answer, mut out) = (UserId::new("me"), Err(error), Vec::new());
            backfill.exported(&game, &answer, &me, &state, now, &mut out);
            assert!(state.is_open(&game), "{answer:?}");
            assert!(backfill.next_timeout().is_some(), "it is looked up again");
        }
    }

    #[test]
    fn a_game_counted_or_played_meanwhile_is_not_looked_up() {
        let (mut retry_queue, now) = retry_queue(&[("a", 0), ("b", 1)]);
        retry_queue.set(vec![open("b", 1)], now);
        assert_eq!(retry_queue.next(now), Some(GameId::new("b")));
        assert_eq!(retry_queue.next(now), None);
    }
}
