//! Everything that ends a game besides a move: flags, aborts, resignations, claims; and presence,
//! on which claims depend.

use std::time::Duration;

use crate::practice::game_settings::{Status, TimeControl};
use crate::practice::time::Millis;
use crate::rules::{Color, Role};

use super::presence::Patience;
use super::{GameChange, Refusal, ServerGame};

impl ServerGame {
    /// Whether the game can still be aborted.
    pub(crate) fn is_abortable(&self) -> bool {
        self.is_playing() && self.plies() < 2 && self.setup.arena.is_none()
    }

    pub(crate) fn abort(&mut self, side: Color, now: Millis) -> Result<(), Refusal> {
        if !self.is_abortable() {
            return Err(Refusal::CannotAbort);
        }
        self.ended_by = Some(side);
        self.finish(Status::Aborted, None, now);
        Ok(())
    }

    /// Resigns; an abortable game is aborted instead.
    pub(crate) fn resign(&mut self, side: Color, now: Millis) -> Result<(), Refusal> {
        if !self.is_playing() {
            return Err(Refusal::CannotResign);
        }
        if self.is_abortable() {
            return self.abort(side, now);
        }
        self.ended_by = Some(side);
        self.finish(Status::Resign, Some(!side), now);
        Ok(())
    }

    /// The flag of `side` fell: lost, unless the opponent has a bare king or offers a draw.
    pub(super) fn flag_fell(&mut self, side: Color, now: Millis) {
        self.ended_by = Some(side);
        if self.offers.draw_offered_by(!side) {
            self.finish(Status::Draw, None, now);
        } else {
            let winner = (!self.has_bare_king(!side)).then_some(!side);
            self.finish(Status::Outoftime, winner, now);
        }
    }

    /// `side` claims the win because the opponent is gone. Ignored without a claim.
    pub(crate) fn claim_victory(&mut self, side: Color, now: Millis) -> Result<(), Refusal> {
        if !self.is_claimable(side) {
            return Ok(());
        }
        if !self.is_long_gone(!side, now) {
            return Err(Refusal::CannotClaimWin);
        }
        let winner = (!self.has_bare_king(side)).then_some(side);
        self.ended_by = Some(side);
        self.finish(Status::Timeout, winner, now);
        Ok(())
    }

    /// `side` claims a draw because the opponent is gone.
    pub(crate) fn claim_draw(&mut self, side: Color, now: Millis) -> Result<(), Refusal> {
        if !self.is_claimable(side) {
            return Ok(());
        }
        if !self.is_long_gone(!side, now) {
            return Err(Refusal::CannotClaimDraw);
        }
        self.ended_by = Some(side);
        self.finish(Status::Timeout, None, now);
        Ok(())
    }

    /// Whether `side` could claim if the opponent were gone long enough.
    fn is_claimable(&self, side: Color) -> bool {
        self.is_playing()
            && self.plies() >= 2
            && self.turn() != side
            && matches!(self.setup.settings.time, TimeControl::Clock { .. })
    }

    /// Whether `side` can claim the win now.
    pub(crate) fn may_claim(&self, side: Color, now: Millis) -> bool {
        self.is_claimable(side) && self.is_long_gone(!side, now)
    }

    /// Whether `side` has been without a stream for long enough to be taken for gone.
    pub(crate) fn is_long_gone(&self, side: Color, now: Millis) -> bool {
        self.presence[side.index()]
            .long_gone_at(self.patience(side), &self.setup.timing)
            .is_some_and(|at| at <= now)
    }

    /// How long `side` may be without a stream before the opponent may claim.
    pub(crate) fn longest_absence(&self, side: Color) -> Duration {
        self.presence[side.index()].longest(self.patience(side), &self.setup.timing)
    }

    fn patience(&self, absent: Color) -> Patience {
        let behind = self.material(!absent) - self.material(absent);
        Patience {
            speed: self.setup.settings.time.speed(),
            hopeless: behind >= 4,
        }
    }

    fn material(&self, side: Color) -> i32 {
        let worth = [
            (Role::Pawn, 1),
            (Role::Knight, 3),
            (Role::Bishop, 3),
            (Role::Rook, 5),
            (Role::Queen, 9),
        ];
        let count = |role| {
            (self.position().by_color(side).0 & self.position().by_role(role).0).count_ones() as i32
        };
        worth
            .into_iter()
            .map(|(role, pawns)| pawns * count(role))
            .sum()
    }

    /// A stream of the game was opened for `side`. The return of a bot is not announced.
    pub(crate) fn arrive(&mut self, side: Color) {
        let is_late = self.presence[side.index()].arrive();
        if is_late && self.is_playing() && !self.player_side(side).is_bot() {
            self.changes.push(GameChange::Gone {
                to: !side,
                claim_in: None,
            });
        }
    }

    /// A stream of the game was closed for `side`.
    pub(crate) fn leave(&mut self, side: Color, left_the_page: bool, now: Millis) {
        self.presence[side.index()].leave(now, left_the_page);
    }

    /// `side`, a sparring bot, leaves.
    pub(crate) fn walk_away(&mut self, side: Color, now: Millis) {
        self.presence[side.index()].walk_away(now);
    }

    /// After an outage: no player counts as absent, and both clocks get extra time.
    pub(crate) fn excuse(&mut self, bonus: Duration, now: Millis) {
        if self.is_playing() {
            self.presence
                .iter_mut()
                .for_each(|presence| presence.excuse(now));
            self.clock.jump(bonus);
        }
    }

    /// Both clocks jump up without a move.
    pub(crate) fn jump_clocks(&mut self, by: Duration, now: Millis) {
        if self.is_playing() {
            self.clock.jump(by);
            self.send_state(now);
        }
    }

    /// Gives the opponent of `side` more time.
    pub(crate) fn give_time(&mut self, side: Color, seconds: u32, now: Millis) {
        if self.is_playing() {
            self.clock.give(!side, seconds);
            self.send_state(now);
        }
    }

    /// Handles everything due: the claim for a bot, flags, notices of absence.
    pub(crate) fn tick(&mut self, now: Millis) {
        self.claim_if_due(now);
        if !self.is_playing() {
            return;
        }
        if self.flag_due().is_some_and(|due| due <= now) {
            if let Some(side) = self.clock.flagged(now) {
                self.flag_fell(side, now);
            }
            return;
        }
        if self.no_start_due().is_some_and(|due| due <= now) {
            self.no_start(now);
            return;
        }
        for side in Color::ALL {
            self.notice_absence(side, now);
        }
    }

    fn notice_absence(&mut self, absent: Color, now: Millis) {
        let patience = self.patience(absent);
        let timing = self.setup.timing;
        let Some(notice) = self.presence[absent.index()].notice(patience, &timing, now) else {
            return;
        };
        let flag_in = Duration::from_millis(self.clock.left(absent, now));
        let claim_in = Duration::from_secs(notice.claim_in) + timing.seconds(3);
        if self.is_claimable(!absent) && flag_in >= claim_in {
            self.changes.push(GameChange::Gone {
                to: !absent,
                claim_in: Some(notice.claim_in),
            });
        }
    }

    /// The server checks a flag a moment late, so that a late move still finds it fallen.
    fn flag_due(&self) -> Option<Millis> {
        Some(self.clock.flag_due()? + self.setup.timing.flag_grace)
    }

    /// When [`ServerGame::tick`] is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        if !self.is_playing() {
            return None;
        }
        let notices = self
            .presence
            .iter()
            .filter_map(|presence| presence.notice_due(&self.setup.timing));
        self.claim_due
            .into_iter()
            .chain(self.flag_due())
            .chain(self.no_start_due())
            .chain(notices)
            .min()
    }
}
