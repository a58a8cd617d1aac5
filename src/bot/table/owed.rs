//! The move we owe: from the turn's coming to the server's showing the move.
//!
//! Once a move has been sent for a ply it is frozen: whatever is lost on the way, only that move is
//! sent again, until a state shows it or the moves change under it. Another one may be chosen only
//! after a definite refusal and an opening of the stream, asked for after that refusal, that still
//! shows the ply owed.

use std::time::Instant;

use super::event::{Action, Answer, Oddity, Ticket, WithDraw};
use super::play::Table;
use super::record::Change;
use super::safe::safe_move;
use super::verdict::{Next, Trouble, Wanted, grown, judge};
use crate::bot::clock::allot;
use crate::engine::{Ended, Thought};
use crate::rules::{Move, Outcome, RepetitionRule};

/// The part of the clock that waiting for the server to end a drawn game may cost.
const SETTLE_PART: u32 = 10;

/// The obligation of one ply.
#[derive(Debug)]
pub(super) struct Owed {
    ply: usize,
    stage: Stage,
    frozen: Option<Frozen>,
    refused: Vec<Move>,
    trouble: Trouble,
    thought: Option<Thought>,
}

/// A move that was sent.
#[derive(Clone, Debug)]
struct Frozen {
    played: Move,
    draw: WithDraw,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The board is drawn and the server is about to say so.
    Held { until: Instant },
    /// A search runs; `late` once its best move so far was asked for.
    Thinking {
        ticket: Ticket,
        fallback: Instant,
        late: bool,
    },
    /// The call is under way; at `until` it counts as lost.
    Sent { ticket: Ticket, until: Instant },
    /// The same move is sent again at `at`.
    Waiting { at: Instant },
    /// The server said "ok" at `since`; a state must show the move by `until`.
    Confirming { since: Instant, until: Instant },
    /// An opening of the stream asked for after `since` decides, and nothing else: the server has
    /// spoken, and a move repeated blindly might meet a position two plies on.
    Looking { since: Instant, wanted: Wanted },
}

impl Owed {
    pub(super) fn frozen(&self) -> Option<Move> {
        self.frozen.as_ref().map(|frozen| frozen.played)
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.stage, Stage::Thinking { .. })
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.stage {
            Stage::Held { until } | Stage::Sent { until, .. } | Stage::Confirming { until, .. } => {
                Some(until)
            }
            Stage::Thinking { fallback, .. } => Some(fallback),
            Stage::Waiting { at } => Some(at),
            Stage::Looking { .. } => None,
        }
    }
}

impl Table {
    /// After a list was read: an obligation is settled by any change of the list. Returns what was
    /// thought of the move, if it is the one on the list.
    pub(super) fn settle_owed(&mut self, change: Change, out: &mut Vec<Action>) -> Option<Thought> {
        if change == Change::Same {
            return None;
        }
        let owed = self.owed.take()?;
        if owed.is_thinking() {
            out.push(Action::StopThinking);
        }
        let theirs = *self.record.game().moves().get(owed.ply)?;
        let ours = owed.frozen()?;
        if matches!(change, Change::Rewritten { .. }) {
            return None;
        }
        if ours != theirs {
            out.push(Action::Note(Oddity::Overruled { ours, theirs }));
            return None;
        }
        owed.thought
    }

    /// It is our turn on a list just read; `opened` if the list came with an opening.
    pub(super) fn owe(&mut self, opened: Option<Instant>, now: Instant, out: &mut Vec<Action>) {
        if self.owed.is_some() {
            if let Some(opened) = opened {
                self.still_owed(opened, now, out);
            }
            return;
        }
        let position = self.record.game().position();
        if position.legal_moves().is_empty() {
            // Nothing can be owed: the end must be on its way.
            return self.look_after(self.pace.confirm, now);
        }
        self.owed = Some(Owed {
            ply: self.record.ply(),
            stage: Stage::Held { until: now },
            frozen: None,
            refused: Vec::new(),
            trouble: Trouble::default(),
            thought: None,
        });
        if let Some(kept) = self.kept_promise() {
            return self.send(kept, None, now, out);
        }
        let drawn = self.record.game().outcome(RepetitionRule::Threefold);
        if matches!(drawn, Some(Outcome::Draw(_))) {
            self.hold(now);
        } else {
            self.think(now, out);
        }
    }

    /// The move promised for this very list by the table before this one.
    fn kept_promise(&mut self) -> Option<Move> {
        let promise = self.promise.take()?;
        let kept = promise.after == self.record.game().moves();
        (kept && self.record.game().position().is_legal(promise.played)).then_some(promise.played)
    }

    fn hold(&mut self, now: Instant) {
        let left = self.reading().and_then(|reading| reading.left_at(now));
        let settle = self.pace.settle;
        let wait = left.map_or(settle, |left| settle.min(left / SETTLE_PART));
        self.stage(Stage::Held { until: now + wait });
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(owed) = &mut self.owed {
            owed.stage = stage;
        }
    }

    fn think(&mut self, now: Instant, out: &mut Vec<Action>) {
        let (Some(reading), Some(owed)) = (self.reading(), &mut self.owed) else {
            return;
        };
        let legal = self.record.game().position().legal_moves();
        let left: Vec<Move> = legal
            .iter()
            .copied()
            .filter(|mv| !owed.refused.contains(mv))
            .collect();
        if left.is_empty() {
            owed.refused.clear();
        } else if left.len() == 1 {
            return self.send(left[0], None, now, out);
        }
        let some_refused = !owed.refused.is_empty();
        let allotment = allot(
            &reading,
            &self.settings.search,
            &self.settings.clock,
            &self.pace,
            now,
        );
        let mut limits = allotment.limits;
        if some_refused {
            limits.searchmoves = left;
        }
        let ticket = self.next_ticket();
        self.stage(Stage::Thinking {
            ticket,
            fallback: allotment.fallback,
            late: false,
        });
        out.push(Action::Think { ticket, limits });
        out.push(Action::Warm);
    }

    /// Whether `ticket` is the search whose answer is waited for.
    fn awaits(&self, ticket: Ticket) -> bool {
        self.owed.as_ref().is_some_and(
            |owed| matches!(owed.stage, Stage::Thinking { ticket: t, .. } if t == ticket),
        )
    }

    pub(super) fn thought(
        &mut self,
        ticket: Ticket,
        thought: Thought,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if self.awaits(ticket) {
            let best = thought.best;
            self.choose(best, Some(thought), now, out);
        }
    }

    pub(super) fn best_so_far(
        &mut self,
        ticket: Ticket,
        best: Option<Move>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if self.awaits(ticket) {
            out.push(Action::Note(Oddity::Late));
            self.choose(best, None, now, out);
            out.push(Action::StopThinking);
        }
    }

    /// Settles on a move for the ply and sends it.
    fn choose(
        &mut self,
        best: Option<Move>,
        thought: Option<Thought>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(owed) = &self.owed else { return };
        let position = self.record.game().position();
        let fits = |mv: &Move| position.is_legal(*mv) && !owed.refused.contains(mv);
        if let Some(best) = best.filter(fits) {
            return self.send(best, thought, now, out);
        }
        let safe = safe_move(position, &owed.refused);
        out.push(Action::Note(Oddity::NoThought));
        if let Some(safe) = safe {
            self.send(safe, None, now, out);
        }
    }

    fn send(
        &mut self,
        played: Move,
        thought: Option<Thought>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let sound = thought
            .as_ref()
            .filter(|thought| thought.ended != Ended::Failed);
        let score = sound.map(|thought| thought.score);
        self.remember_score(score);
        let draw = self.draw_with_move();
        if let Some(owed) = &mut self.owed {
            owed.thought = thought;
            owed.frozen = Some(Frozen { played, draw });
        }
        self.send_frozen(now, out);
    }

    fn send_frozen(&mut self, now: Instant, out: &mut Vec<Action>) {
        let ticket = self.next_ticket();
        let Some(owed) = &mut self.owed else { return };
        let Some(Frozen { played, draw }) = &owed.frozen else {
            return self.think(now, out);
        };
        out.push(Action::Post {
            ticket,
            uci: played.to_string(),
            draw: *draw,
        });
        let until = now + grown(self.pace.post_limit, owed.trouble.lost + 1);
        owed.stage = Stage::Sent { ticket, until };
    }

    /// What became of a sent move.
    pub(super) fn posted(
        &mut self,
        ticket: Ticket,
        answer: &Answer,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let (Some(reading), Some(owed)) = (self.reading(), &mut self.owed) else {
            return;
        };
        if !matches!(owed.stage, Stage::Sent { ticket: t, .. } if t == ticket) {
            return;
        }
        let uci = || owed.frozen().map_or_else(String::new, |mv| mv.to_string());
        match answer {
            Answer::Refused { status, text } => out.push(Action::Note(Oddity::Refused {
                uci: uci(),
                status: *status,
                text: text.clone(),
            })),
            Answer::Limited { .. } => out.push(Action::Note(Oddity::Limited { uci: uci() })),
            Answer::Done | Answer::Lost | Answer::Gone => {}
        }
        owed.stage = match judge(answer, &mut owed.trouble, &reading, &self.pace, now) {
            Next::Confirm { until } => Stage::Confirming { since: now, until },
            Next::Repeat { at } => Stage::Waiting { at },
            Next::Look(wanted) => {
                out.push(Action::Reopen);
                Stage::Looking { since: now, wanted }
            }
        };
    }

    /// An opening asked for at `opened` still shows the ply owed.
    fn still_owed(&mut self, opened: Instant, now: Instant, out: &mut Vec<Action>) {
        let Some(owed) = &mut self.owed else { return };
        match owed.stage {
            Stage::Looking { since, wanted, .. } if opened >= since => {
                if wanted == Wanted::Another
                    && let Some(frozen) = owed.frozen.take()
                {
                    owed.refused.push(frozen.played);
                    owed.thought = None;
                }
                self.send_frozen(now, out);
            }
            Stage::Confirming { since, .. } if opened >= since => {
                self.note_unshown(out);
                self.send_frozen(now, out);
            }
            // The server is back: no reason to wait any longer.
            Stage::Waiting { .. } if owed.trouble.lost > 0 && owed.trouble.barred == 0 => {
                self.send_frozen(now, out);
            }
            _ => {}
        }
    }

    /// The list cannot be read: whatever is owed waits for one that can.
    pub(super) fn pause_owed(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(owed) = &mut self.owed else { return };
        if owed.is_thinking() {
            out.push(Action::StopThinking);
        }
        let wanted = match owed.stage {
            Stage::Looking { wanted, .. } => wanted,
            _ => Wanted::Same,
        };
        owed.stage = Stage::Looking { since: now, wanted };
    }

    fn note_unshown(&self, out: &mut Vec<Action>) {
        if let Some(frozen) = self.frozen() {
            let uci = frozen.to_string();
            out.push(Action::Note(Oddity::Unshown { uci }));
        }
    }

    /// The timers of the obligation.
    pub(super) fn owed_tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(owed) = &mut self.owed else { return };
        if owed.wake_at().is_none_or(|at| at > now) {
            return;
        }
        match &mut owed.stage {
            Stage::Held { .. } => self.think(now, out),
            Stage::Thinking { ticket, late, .. } if !*late => {
                *late = true;
                out.push(Action::TakeBest { ticket: *ticket });
            }
            Stage::Thinking { .. } => {
                out.push(Action::Note(Oddity::Late));
                self.choose(None, None, now, out);
                out.push(Action::StopThinking);
            }
            Stage::Sent { ticket, .. } => {
                let ticket = *ticket;
                self.posted(ticket, &Answer::Lost, now, out);
            }
            Stage::Waiting { .. } => self.send_frozen(now, out),
            Stage::Looking { .. } => {}
            Stage::Confirming { .. } => {
                owed.trouble.unshown += 1;
                owed.stage = Stage::Looking {
                    since: now,
                    wanted: Wanted::Same,
                };
                self.note_unshown(out);
                out.push(Action::Reopen);
            }
        }
    }
}
