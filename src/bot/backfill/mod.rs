//! Games that ended unseen: looked up and counted as if the bot had seen their end.
//!
//! `state` marks a game when it starts and removes the mark once its end is counted; what is still
//! marked is looked up, one game at a time and at the lowest priority, after the list of running games
//! has shown that it no longer runs. So are games whose end was seen without a rating change. Nothing
//! here plays, and nothing waits for it.
//!
//! * `retry_queue`: which games to look up, when, and when to give up
//! * `result`: what an exported game counts as

mod result;
mod retry_queue;

use std::time::Instant;

use self::result::{MissedResult, read};
use self::retry_queue::{LookupOutcome, NextLookup, RetryQueue};
use super::event::AccountEffect;
use super::settings::BotTiming;
use super::state::{BotState, UnfinishedGame};
use crate::lichess::{Error, ExportedGame, GameId, UserId};

pub(super) use result::{MissedGame, replayed};

/// The games to look up. Pure, beside the bot state.
#[derive(Debug)]
pub(super) struct Backfill {
    retry_queue: RetryQueue,
    /// Whether a look-up is in progress.
    asking: bool,
}

impl Backfill {
    pub(super) fn new(timing: &BotTiming) -> Self {
        Self {
            retry_queue: RetryQueue::new(timing),
            asking: false,
        }
    }

    /// Replaces the games to look up.
    pub(super) fn set(&mut self, missing: Vec<UnfinishedGame>, now: Instant) {
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
            if state.is_open(&game) || state.lacks_rating(&game) {
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
        match self.retry_queue.answered(game, found, now, state.now()) {
            NextLookup::Stay => {}
            NextLookup::Leave => {
                tracing::warn!(%game, "cannot look up how it ended: trying again at the next start");
            }
            NextLookup::Forget if state.is_open(game) => {
                tracing::warn!(%game, "cannot look up how it ended: not counted");
                state.give_game_up(game);
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
        Ok(_) => return LookupOutcome::Failed(None),
        Err(Error::Gone { .. }) => return LookupOutcome::Nothing,
        Err(error) => {
            tracing::debug!(%game, %error, "cannot look a game up");
            return LookupOutcome::Failed(error.wait());
        }
    };
    match read(export, me, state.now()) {
        MissedResult::Running => return LookupOutcome::Running,
        MissedResult::Foreign => state.give_game_up(game),
        MissedResult::Over(missed) if state.is_open(game) => {
            out.push(AccountEffect::Missed(missed));
        }
        MissedResult::Over(missed) => {
            let them = missed.ending.us.map(|us| export.players.of(us.other()));
            let theirs = them.and_then(|player| player.rating_diff);
            let ours = missed.finished.rating_diff.unwrap_or(0);
            out.extend(rate(game, ours, theirs, state));
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
