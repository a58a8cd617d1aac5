//! Everything on a game but its moves: offers and how they are answered, absent opponents, games
//! that never begin, games that are lost, and games of another kind.
//!
//! None of this can delay or change an owed move.

use std::time::{Duration, Instant};

use super::event::{Action, Answer, Oddity, Request, WithDraw};
use super::play::{FIRST_PLIES, Table};
use super::record::Change;
use crate::engine::Score;
use crate::lichess::OpponentGone;

/// How often an abort is tried before the game is left to itself.
const MOST_ABORTS: u32 = 5;

/// What the table remembers about all this.
#[derive(Debug, Default)]
pub(super) struct Manners {
    refusal: Option<Refusal>,
    first_move: Option<FirstMove>,
    draw_offered: bool,
    takeback_offered: bool,
    score: Option<Score>,
    hopeless: u32,
}

/// A game that is given up because it is of another kind.
#[derive(Debug)]
struct Refusal {
    request: Request,
    at: Instant,
}

/// An opponent who owes the first move.
#[derive(Debug)]
struct FirstMove {
    at: Instant,
    tries: u32,
}

impl Manners {
    pub(super) fn refuses(&self) -> bool {
        self.refusal.is_some()
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let refusal = self.refusal.as_ref().map(|refusal| refusal.at);
        let first_move = self.first_move.as_ref().map(|wait| wait.at);
        refusal.into_iter().chain(first_move).min()
    }
}

impl Table {
    /// Offers in the state just read; a flag counts when it appears, not as long as it stands.
    pub(super) fn offers(&mut self, out: &mut Vec<Action>) {
        let (Some(setting), Some(shown)) = (&self.setting, &self.shown) else {
            return;
        };
        let them = setting.us.other();
        let draw = shown.state.offers_draw(them);
        let takeback = shown.state.proposes_takeback(them);
        if takeback && !self.manners.takeback_offered {
            out.push(Action::Ask(Request::DeclineTakeback));
        }
        // On our turn the move itself answers: it carries our consent, or it declines.
        if draw && !self.manners.draw_offered && !self.is_our_turn() {
            out.push(Action::Ask(if self.accepts_draw() {
                Request::AcceptDraw
            } else {
                Request::DeclineDraw
            }));
        }
        self.manners.draw_offered = draw;
        self.manners.takeback_offered = takeback;
    }

    /// Whether the move about to be sent agrees to a draw that the opponent offers.
    pub(super) fn draw_with_move(&self) -> WithDraw {
        if self.manners.draw_offered && self.accepts_draw() {
            WithDraw::Yes
        } else {
            WithDraw::No
        }
    }

    /// Level or worse by our last look at it, and late enough.
    fn accepts_draw(&self) -> bool {
        let draw = &self.settings.draw;
        let from_bot = self.setting.as_ref().is_some_and(|s| s.opponent_is_bot);
        let level = i32::try_from(draw.score).unwrap_or(i32::MAX);
        let no_better = match self.manners.score {
            Some(Score::Cp(score)) => score <= level,
            Some(Score::Mate(moves)) => moves <= 0,
            None => false,
        };
        draw.accepts(from_bot) && no_better && self.ply() >= draw.ply as usize
    }

    /// The engine's word on the move being sent; none for a move without a search.
    pub(super) fn remember_score(&mut self, score: Option<Score>) {
        let Some(score) = score else { return };
        let lost = i64::from(self.settings.resign.score);
        let hopeless = match score {
            Score::Cp(score) => i64::from(score) <= -lost,
            Score::Mate(moves) => moves <= 0,
        };
        self.manners.hopeless = if hopeless {
            self.manners.hopeless + 1
        } else {
            0
        };
        self.manners.score = Some(score);
    }

    /// Once our move stands on the list: whether the game is worth going on with.
    fn resign_if_lost(&mut self, out: &mut Vec<Action>) {
        let resign = &self.settings.resign;
        if resign.enabled && self.manners.hopeless >= resign.moves.max(1) {
            self.manners.hopeless = 0;
            out.push(Action::Ask(Request::Resign));
        }
    }

    /// The opponent's first move: nobody else watches over it.
    pub(super) fn mind_first_move(&mut self, change: Change, now: Instant, out: &mut Vec<Action>) {
        let theirs = !self.is_our_turn();
        if theirs && change != Change::Same {
            self.resign_if_lost(out);
        }
        let Some(setting) = &self.setting else { return };
        let watched = setting.clocked && !setting.arena;
        if !theirs || !watched || self.ply() >= FIRST_PLIES {
            self.manners.first_move = None;
            return;
        }
        if self.manners.first_move.is_some() && change == Change::Same {
            return;
        }
        let patience = if setting.opponent_is_bot {
            self.settings.game.abort_bots
        } else {
            self.settings.game.abort_humans
        };
        self.manners.first_move = Some(FirstMove {
            at: now + patience,
            tries: 0,
        });
    }

    /// The opponent left or came back: a claim is made on fresh news and on their turn only.
    pub(super) fn absence(&mut self, absence: OpponentGone, out: &mut Vec<Action>) {
        let claimable = absence.gone && absence.claim_win_in == Some(Duration::ZERO);
        let started = self.setting.is_some() && self.ply() >= FIRST_PLIES;
        if claimable && started && self.is_trusted() && !self.is_our_turn() {
            out.push(Action::Ask(Request::ClaimVictory));
        }
    }

    /// A game of another kind: it is aborted, or where that is refused resigned.
    pub(super) fn refuse_game(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.manners.refusal.is_some() {
            return;
        }
        out.push(Action::Note(Oddity::NotOurs));
        self.ask_to_leave(Request::Abort, now, out);
    }

    fn ask_to_leave(&mut self, request: Request, now: Instant, out: &mut Vec<Action>) {
        let at = now + self.pace.again;
        self.manners.refusal = Some(Refusal { request, at });
        out.push(Action::Ask(request));
    }

    /// What became of a request.
    pub(super) fn asked(
        &mut self,
        request: Request,
        answer: &Answer,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if request != Request::Abort || !matches!(answer, Answer::Refused { .. }) {
            return;
        }
        if self.manners.refuses() {
            self.ask_to_leave(Request::Resign, now, out);
        } else if self.manners.first_move.take().is_some() {
            // Too late to abort: there must be a move that we have not seen.
            out.push(Action::Reopen);
        }
    }

    /// The timers of all this.
    pub(super) fn manners_tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(refusal) = &self.manners.refusal
            && refusal.at <= now
        {
            let request = refusal.request;
            self.ask_to_leave(request, now, out);
        }
        let again = now + self.pace.again;
        if let Some(wait) = &mut self.manners.first_move
            && wait.at <= now
        {
            wait.at = again;
            wait.tries += 1;
            if wait.tries > MOST_ABORTS {
                self.manners.first_move = None;
            } else {
                out.push(Action::Ask(Request::Abort));
            }
        }
    }
}
