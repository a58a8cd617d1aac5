//! Looks up missed games, one at a time and at the lowest priority, and has them counted; also
//! games whose end was seen but whose rating change was not reported.
//!
//! The event loop polls it; nothing waits for it, and it starts only after the list of running
//! games has shown which games no longer run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;

use super::result::{MissedGame, MissedResult, account, replayed};
use super::retry_queue::{LookupOutcome, NextLookup, RetryQueue};
use crate::bot::alerts::Alerts;
use crate::bot::background::say_tripped;
use crate::bot::events::{BotEvent, EventBus};
use crate::bot::settings::BotTiming;
use crate::bot::state::BotState;
use crate::lichess::{Client, Error, ExportedGame, GameId, UserId, Variant};

/// The answer to a look-up.
type LookupAnswer = (GameId, Result<ExportedGame, Error>);

/// Looks up the results of missed games.
pub(in crate::bot) struct Backfill {
    client: Client,
    state: BotState,
    alarms: Alerts,
    listeners: EventBus,
    me: UserId,
    retry_queue: RetryQueue,
    asking: Option<BoxFuture<'static, LookupAnswer>>,
}

impl Backfill {
    pub(in crate::bot) fn new(
        client: Client,
        state: BotState,
        alarms: Alerts,
        listeners: EventBus,
        me: UserId,
        timing: &BotTiming,
    ) -> Self {
        Self {
            client,
            state,
            alarms,
            listeners,
            me,
            retry_queue: RetryQueue::new(timing),
            asking: None,
        }
    }

    /// Compares with the server's complete list of running games: a game that is uncounted, not
    /// running and without a task has ended unseen.
    pub(in crate::bot) fn compare(
        &mut self,
        running: &BTreeSet<GameId>,
        is_minded: impl Fn(&GameId) -> bool,
    ) {
        let mut missing = self.state.open_games();
        missing.extend(self.state.untold_ratings());
        missing.retain(|open| !running.contains(&open.game) && !is_minded(&open.game));
        self.retry_queue.set(missing, Instant::now());
    }

    /// Looks up the next game that is due.
    pub(in crate::bot) fn start(&mut self) {
        let now = Instant::now();
        while self.asking.is_none()
            && let Some(game) = self.retry_queue.next(now)
        {
            if !self.state.is_open(&game) && !self.state.lacks_rating(&game) {
                // The rating change was reported after all.
                let today = self.state.now();
                self.retry_queue
                    .answered(&game, LookupOutcome::Settled, now, today);
                continue;
            }
            let client = self.client.clone();
            self.asking = Some(Box::pin(async move {
                let answer = client.export(&game).await;
                (game, answer)
            }));
        }
    }

    /// When a look-up is due; while a call is in progress, its answer comes first.
    pub(in crate::bot) fn next_timeout(&self) -> Option<Instant> {
        self.retry_queue
            .next_timeout()
            .filter(|_| self.asking.is_none())
    }

    /// Waits for the call in progress; `None` if there is none. Cancellation safe.
    pub(in crate::bot) async fn next(&mut self) -> Option<()> {
        let (game, answer) = self.asking.as_mut()?.await;
        self.asking = None;
        let found = self.found(&game, &answer);
        let (now, today) = (Instant::now(), self.state.now());
        match self.retry_queue.answered(&game, found, now, today) {
            NextLookup::Stay => {}
            NextLookup::Leave => {
                tracing::warn!(%game, "cannot look up how it ended: trying again at the next start");
            }
            NextLookup::Forget if self.state.is_open(&game) => {
                tracing::warn!(%game, "cannot look up how it ended: not counted");
                self.state.give_game_up(&game);
            }
            NextLookup::Forget => self.rate(&game, 0, None),
        }
        Some(())
    }

    fn found(&self, game: &GameId, answer: &Result<ExportedGame, Error>) -> LookupOutcome {
        let export = match answer {
            Ok(export) if export.id == *game => export,
            Ok(_) => return LookupOutcome::Failed(None),
            Err(Error::Gone { .. }) => return LookupOutcome::Nothing,
            Err(error) => {
                tracing::debug!(%game, %error, "cannot look a game up");
                return LookupOutcome::Failed(error.wait());
            }
        };
        match account(export, &self.me, self.state.now()) {
            MissedResult::Running => LookupOutcome::Running,
            MissedResult::Foreign => {
                self.state.give_game_up(game);
                LookupOutcome::Settled
            }
            MissedResult::Over(missed) if !self.state.is_open(game) => {
                let them = missed.ending.us.map(|us| export.players.of(us.other()));
                let theirs = them.and_then(|player| player.rating_diff);
                self.rate(game, missed.finished.rating_diff.unwrap_or(0), theirs);
                LookupOutcome::Settled
            }
            MissedResult::Over(missed) => {
                self.write_down(export, &missed);
                self.count(*missed);
                LookupOutcome::Settled
            }
        }
    }

    /// Records the rating change of a counted game, zero if unknown, and the opponent's.
    fn rate(&self, game: &GameId, diff: i32, theirs: Option<i32>) {
        if self.state.lacks_rating(game) {
            tracing::info!(%game, diff, "missing rating change: looked up");
            let pause = self.state.rated(game, diff);
            let event_log = self.listeners.event_log();
            event_log.rated(game, diff, theirs);
            say_tripped(&self.alarms, pause);
        }
    }

    /// Records the game in the event log.
    fn write_down(&self, export: &ExportedGame, missed: &MissedGame) {
        if let Some(us) = missed.ending.us
            && export.variant == Variant::Atomic
            && export.initial_fen.is_none()
        {
            let event_log = self.listeners.event_log();
            event_log.missed(export, us, &replayed(export));
        }
    }

    /// Counts the game as its game task would have.
    fn count(&self, missed: MissedGame) {
        let MissedGame {
            started,
            finished,
            ending,
        } = missed;
        tracing::info!(
            game = %ending.game,
            result = ending.result(),
            status = finished.status,
            us = ending.us.map_or("unknown", |us| us.as_str()),
            opponent = %ending.opponent,
            plies = ending.plies,
            fen = %ending.fen,
            "game ended unseen: looked up"
        );
        self.state.started(&started);
        say_tripped(&self.alarms, self.state.finished(finished));
        self.listeners.publish(BotEvent::Finished {
            ending: Arc::new(ending),
        });
    }
}
