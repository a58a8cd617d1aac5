//! Looks missed games up, one at a time and after everything else, and has them counted; those too
//! whose end was seen while nobody told what it did to our rating.
//!
//! The porter polls it; nobody waits for it, and it begins nothing before the list of running games
//! has said what does not run any more.

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

/// What a look-up brought.
type LookupAnswer = (GameId, Result<ExportedGame, Error>);

/// Looks for the ends of games.
pub(in crate::bot) struct Backfill {
    client: Client,
    memory: BotState,
    alarms: Alerts,
    listeners: EventBus,
    me: UserId,
    agenda: RetryQueue,
    asking: Option<BoxFuture<'static, LookupAnswer>>,
}

impl Backfill {
    pub(in crate::bot) fn new(
        client: Client,
        memory: BotState,
        alarms: Alerts,
        listeners: EventBus,
        me: UserId,
        pace: &BotTiming,
    ) -> Self {
        Self {
            client,
            memory,
            alarms,
            listeners,
            me,
            agenda: RetryQueue::new(pace),
            asking: None,
        }
    }

    /// The server has listed every running game. What is still to be counted and neither runs nor
    /// has anybody who minds it has ended unseen.
    pub(in crate::bot) fn compare(
        &mut self,
        running: &BTreeSet<GameId>,
        is_minded: impl Fn(&GameId) -> bool,
    ) {
        let mut missing = self.memory.open_games();
        missing.extend(self.memory.untold_ratings());
        missing.retain(|open| !running.contains(&open.game) && !is_minded(&open.game));
        self.agenda.set(missing, Instant::now());
    }

    /// Asks for the next game that is due.
    pub(in crate::bot) fn start(&mut self) {
        let now = Instant::now();
        while self.asking.is_none()
            && let Some(game) = self.agenda.next(now)
        {
            if !self.memory.is_open(&game) && !self.memory.lacks_rating(&game) {
                // It was told after all.
                let today = self.memory.now();
                self.agenda
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

    /// When something is due; while a call is under way, its answer comes first.
    pub(in crate::bot) fn wake_at(&self) -> Option<Instant> {
        self.agenda.wake_at().filter(|_| self.asking.is_none())
    }

    /// Waits for the call under way; nothing when there is none. May be dropped at any await.
    pub(in crate::bot) async fn next(&mut self) -> Option<()> {
        let (game, answer) = self.asking.as_mut()?.await;
        self.asking = None;
        let found = self.found(&game, &answer);
        let (now, today) = (Instant::now(), self.memory.now());
        match self.agenda.answered(&game, found, now, today) {
            NextLookup::Stay => {}
            NextLookup::Leave => {
                tracing::warn!(%game, "cannot find out how it ended: tried again at the next start");
            }
            NextLookup::Forget if self.memory.is_open(&game) => {
                tracing::warn!(%game, "cannot find out how it ended: it is not counted");
                self.memory.give_game_up(&game);
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
        match account(export, &self.me, self.memory.now()) {
            MissedResult::Running => LookupOutcome::Running,
            MissedResult::Foreign => {
                self.memory.give_game_up(game);
                LookupOutcome::Settled
            }
            MissedResult::Over(missed) if !self.memory.is_open(game) => {
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

    /// What a game whose end was counted did to our rating, nought if nobody can say, and to theirs.
    fn rate(&self, game: &GameId, diff: i32, theirs: Option<i32>) {
        if self.memory.lacks_rating(game) {
            tracing::info!(%game, diff, "its rating change was never told: looked up");
            let tripped = self.memory.rated(game, diff);
            let chronicle = self.listeners.chronicle();
            chronicle.rated(game, diff, theirs);
            say_tripped(&self.alarms, tripped);
        }
    }

    /// For those who read later.
    fn write_down(&self, export: &ExportedGame, missed: &MissedGame) {
        if let Some(us) = missed.ending.us
            && export.variant == Variant::Atomic
            && export.initial_fen.is_none()
        {
            let chronicle = self.listeners.chronicle();
            chronicle.missed(export, us, &replayed(export));
        }
    }

    /// As the player of the game would have counted it.
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
            "game over while nobody looked"
        );
        self.memory.started(&started);
        say_tripped(&self.alarms, self.memory.finished(finished));
        self.listeners.tell(BotEvent::Finished {
            ending: Arc::new(ending),
        });
    }
}
