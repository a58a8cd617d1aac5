//! Draw offers and takebacks: always answered with "done", whatever came of them.

use crate::practice::game_settings::Status;
use crate::practice::time::Millis;
use crate::rules::Color;

use super::{GameChange, ServerGame};

/// An offer can be made again after so many half-moves.
const PLIES_BETWEEN_OFFERS: usize = 20;

/// What the two sides have asked of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Offers {
    draw: [DrawOffer; 2],
    takeback: [Takeback; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct DrawOffer {
    pending: bool,
    last_at_ply: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Takeback {
    pending: bool,
    declined: u32,
    not_before: Millis,
}

impl Offers {
    pub(super) fn draw_offered_by(&self, side: Color) -> bool {
        self.draw[side.index()].pending
    }

    pub(super) fn takeback_proposed_by(&self, side: Color) -> bool {
        self.takeback[side.index()].pending
    }

    /// `side` has moved: the opponent's offer is declined, proposals are void. True when an offer
    /// of a draw went with it.
    pub(super) fn cancelled_by_move(&mut self, side: Color) -> bool {
        for takeback in &mut self.takeback {
            takeback.pending = false;
        }
        std::mem::take(&mut self.draw[(!side).index()].pending)
    }

    pub(super) fn clear(&mut self) {
        for side in Color::ALL {
            self.draw[side.index()].pending = false;
            self.takeback[side.index()].pending = false;
        }
    }
}

impl ServerGame {
    /// `side` offers a draw, agrees to one, or claims a repetition on the board.
    pub(crate) fn draw_yes(&mut self, side: Color, now: Millis) {
        if !self.is_playing() || self.plies() < 2 {
            return;
        }
        if self.has_bare_king(!side) {
            self.finish(Status::InsufficientMaterialClaim, None, now);
        } else if self.game.repetitions() >= 3 {
            self.finish(Status::Draw, None, now);
        } else if self.offers.draw_offered_by(!side) {
            self.changes.push(GameChange::Remark("Draw offer accepted"));
            self.finish(Status::Draw, None, now);
        } else if self.may_offer_draw(side) {
            let ply = self.plies();
            self.offers.draw[side.index()] = DrawOffer {
                pending: true,
                last_at_ply: Some(ply),
            };
            self.changes.push(GameChange::Remark(match side {
                Color::White => "White offers draw",
                Color::Black => "Black offers draw",
            }));
            self.say_state(now);
        }
    }

    fn may_offer_draw(&self, side: Color) -> bool {
        let offer = self.offers.draw[side.index()];
        let rested = offer
            .last_at_ply
            .is_none_or(|ply| self.plies() > ply + PLIES_BETWEEN_OFFERS);
        !offer.pending && rested
    }

    /// `side` declines the opponent's offer. Only a chat line reports it.
    pub(crate) fn draw_no(&mut self, side: Color) {
        if self.is_playing() && std::mem::take(&mut self.offers.draw[(!side).index()].pending) {
            self.changes.push(GameChange::Remark(match side {
                Color::White => "White declines draw",
                Color::Black => "Black declines draw",
            }));
        }
    }

    /// From now on both sides let each other take moves back.
    pub(crate) fn allow_takebacks(&mut self) {
        self.setup
            .seats
            .iter_mut()
            .for_each(|seat| seat.takebacks = true);
    }

    /// `side` proposes to take moves back, or agrees to it.
    pub(crate) fn takeback_yes(&mut self, side: Color, now: Millis) {
        if !self.is_playing() {
            return;
        }
        if self.offers.takeback_proposed_by(!side) {
            self.take_back_for(!side, now);
            return;
        }
        let arena = self.setup.arena.is_some();
        let allowed = !arena && self.setup.seats.iter().all(|seat| seat.takebacks);
        let proposal = &mut self.offers.takeback[side.index()];
        if allowed && self.record.len() >= 2 && !proposal.pending && proposal.not_before <= now {
            proposal.pending = true;
            self.changes.push(GameChange::Remark("Takeback sent"));
            self.say_state(now);
        }
    }

    /// `side` declines the opponent's proposal or withdraws its own.
    pub(crate) fn takeback_no(&mut self, side: Color, now: Millis) {
        if !self.is_playing() {
            return;
        }
        let theirs = &mut self.offers.takeback[(!side).index()];
        if theirs.pending {
            theirs.pending = false;
            theirs.declined += 1;
            let rest = 10 * u64::from(theirs.declined).pow(2);
            theirs.not_before = now + self.setup.timing.seconds(rest);
            self.changes.push(GameChange::Remark("Takeback declined"));
            self.say_state(now);
        } else if std::mem::take(&mut self.offers.takeback[side.index()].pending) {
            self.changes.push(GameChange::Remark("Takeback cancelled"));
            self.say_state(now);
        }
    }

    /// Back to the turn of `proposer`.
    fn take_back_for(&mut self, proposer: Color, now: Millis) {
        let plies = if self.turn() == proposer { 2 } else { 1 };
        self.game.takeback(plies);
        self.record
            .truncate(self.record.len().saturating_sub(plies));
        let words: Vec<&str> = self
            .record
            .iter()
            .map(|played| played.stream_uci.as_str())
            .collect();
        self.spelled = words.join(" ");
        self.offers.clear();
        self.claim_due = None;
        self.clock.take_back(self.turn(), self.plies(), now);
        self.turn_since = now;
        self.changes.push(GameChange::Remark("Takeback accepted"));
        self.say_state(now);
    }
}
