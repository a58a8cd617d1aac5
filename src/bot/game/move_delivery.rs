//! The delivery of a chosen move, from the first sending until the server shows it.
//!
//! The first move sent for a ply is final: whatever is lost on the way, only that move is sent
//! again, until a state shows it or the move list changes under it. Another move must never be
//! chosen except after a definite refusal, and after a stream reopened since that refusal still
//! shows the ply as ours. `delivery_policy` decides what a reply means.

use std::time::{Duration, Instant};

use super::delivery_policy::{
    AfterReopen, NextStep, PendingMove, SentMove, Stage, next_step, post_limit,
};
use super::event::{Anomaly, CallOutcome, GameEffect, RequestId};
use super::machine::GameMachine;
use super::move_overhead::{ClockState, SendSample};
use crate::engine::SearchResult;
use crate::rules::Move;

impl GameMachine {
    /// Makes a move final and sends it.
    pub(super) fn send(&mut self, played: Move, result: Option<SearchResult>) {
        self.stop_pondering();
        self.record_eval(result.as_ref());
        let before = self.out.len();
        let draw = self.draw_with_move();
        let after_move = self.out.split_off(before);
        if let Some(pending) = &mut self.pending {
            pending.result = result;
            pending.sent = Some(SentMove {
                played,
                draw,
                first: None,
                measured: None,
            });
        }
        self.post_chosen_move();
        self.out.extend(after_move);
    }

    fn post_chosen_move(&mut self) {
        let request_id = self.next_request_id();
        let measured = self.begin_measuring();
        let patience = self.patience();
        let Some(pending) = &mut self.pending else {
            return;
        };
        let Some(sent) = &mut pending.sent else {
            return self.think();
        };
        sent.measured = measured.filter(|_| sent.first.is_none());
        sent.first.get_or_insert(request_id);
        self.out.push(GameEffect::Post {
            request_id,
            uci: sent.played.to_string(),
            draw: sent.draw,
        });
        let usual = post_limit(&pending.failures, &self.timing);
        let until = self.now + usual.min(patience);
        pending.stage = Stage::Sent { request_id, until };
        // The move keeps its connection warm itself.
        self.watch.warm_at = None;
    }

    /// How long the clock allows to wait for an answer.
    fn patience(&self) -> Duration {
        let patience = |reading: ClockState| reading.patience(&self.overhead, self.now);
        self.reading().map_or(Duration::MAX, patience)
    }

    /// Measurable only if the clock came with a line of an already open stream.
    fn begin_measuring(&self) -> Option<SendSample> {
        let last_state = self.last_state.as_ref();
        let live = last_state.is_some_and(|last_state| !last_state.opening);
        let reading = self.reading().filter(|_| live)?;
        SendSample::of(&reading, self.now)
    }

    /// A clock stated anew while a move is on its way hides the move's cost.
    pub(super) fn stop_measuring(&mut self) {
        let pending = self.pending.as_mut();
        if let Some(sent) = pending.and_then(|pending| pending.sent.as_mut()) {
            sent.measured = None;
        }
    }

    /// Called when the state just read shows this pending move and no later one.
    pub(super) fn learn_cost(&mut self, pending: &PendingMove) {
        let Some((setup, last_state)) = self.known() else {
            return;
        };
        let measured = pending.sent.as_ref().and_then(|sent| sent.measured);
        // The server holds back each move against its own engine: no other game's moves cost that.
        let left = last_state.state.time(setup.us);
        let left = left.filter(|_| !last_state.opening && !setup.opponent_is_ai);
        let cost = measured.zip(left).and_then(|(sent, left)| sent.cost(left));
        self.out.extend(cost.map(GameEffect::LearnOverhead));
    }

    /// Handles the outcome of a sent move.
    pub(super) fn posted(&mut self, request_id: RequestId, answer: &CallOutcome) {
        let patience = self.patience();
        let (Some(reading), Some(pending)) = (self.reading(), &mut self.pending) else {
            return;
        };
        if !pending.concerns(request_id, answer) {
            return;
        }
        let uci = || pending.sent().map_or_else(String::new, |mv| mv.to_string());
        match answer {
            CallOutcome::Refused { status, text } => {
                self.out.push(GameEffect::Report(Anomaly::Refused {
                    uci: uci(),
                    status: *status,
                    text: text.clone(),
                }));
            }
            CallOutcome::Limited { .. } => {
                self.out
                    .push(GameEffect::Report(Anomaly::Limited { uci: uci() }));
            }
            CallOutcome::Done | CallOutcome::Lost | CallOutcome::Gone => {}
        }
        pending.stage = match next_step(
            answer,
            &mut pending.failures,
            &reading,
            &self.timing,
            self.now,
        ) {
            NextStep::Confirm { wait } => Stage::Confirming {
                since: self.now,
                until: self.now + wait.min(patience),
            },
            NextStep::Repeat { at } => Stage::Waiting { at },
            NextStep::Reopen(wanted) => return self.reopen(wanted),
        };
    }

    /// Reopens the stream: what it shows then decides.
    fn reopen(&mut self, wanted: AfterReopen) {
        let since = self.now;
        self.stage(Stage::Reopening { since, wanted });
        self.out.push(GameEffect::Reopen);
    }

    /// An opening requested at `opened` shows that the bot still owes the ply.
    pub(super) fn still_pending(&mut self, opened: Instant) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        match pending.stage {
            Stage::Reopening { since, wanted, .. } if opened >= since => {
                if wanted == AfterReopen::Another
                    && let Some(sent) = pending.sent.take()
                {
                    pending.refused.push(sent.played);
                    pending.result = None;
                }
                self.post_chosen_move();
            }
            // Asked for too early to tell, and a stream that was being opened was not asked for
            // again.
            Stage::Reopening { .. } => self.out.push(GameEffect::Reopen),
            Stage::Confirming { since, .. } if opened >= since => {
                pending.go_without_draw();
                self.report_unshown();
                self.post_chosen_move();
            }
            // The server is back: no reason to wait any longer.
            Stage::Waiting { .. }
                if pending.failures.lost > 0 && pending.failures.refused_calls == 0 =>
            {
                self.post_chosen_move();
            }
            _ => {}
        }
    }

    /// The list is not credible: a pending move waits for a credible one. A wait requested by the
    /// server continues.
    pub(super) fn pause_pending_move(&mut self) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        if matches!(pending.stage, Stage::Waiting { .. }) && pending.failures.refused_calls > 0 {
            return;
        }
        if pending.is_searching() {
            self.out.push(GameEffect::StopSearch);
        }
        let wanted = match pending.stage {
            Stage::Reopening { wanted, .. } => wanted,
            _ => AfterReopen::Same,
        };
        pending.stage = Stage::Reopening {
            since: self.now,
            wanted,
        };
    }

    fn report_unshown(&mut self) {
        if let Some(sent) = self.sent() {
            let uci = sent.to_string();
            self.out.push(GameEffect::Report(Anomaly::Unshown { uci }));
        }
    }

    /// The timers of a sent move.
    pub(super) fn sent_tick(&mut self) {
        let trusted = self.is_trusted();
        let Some(pending) = &mut self.pending else {
            return;
        };
        match pending.stage {
            Stage::Sent { request_id, .. } => {
                self.posted(request_id, &CallOutcome::Lost);
                // It has already been waited for.
                if let Some(pending) = &mut self.pending
                    && let Stage::Waiting { at } = &mut pending.stage
                {
                    *at = (*at).min(self.now + self.timing.retry);
                }
            }
            Stage::Waiting { .. } if trusted => self.post_chosen_move(),
            Stage::Waiting { .. } => self.reopen(AfterReopen::Same),
            Stage::Confirming { .. } => {
                pending.failures.unshown += 1;
                pending.go_without_draw();
                self.report_unshown();
                self.reopen(AfterReopen::Same);
            }
            _ => {}
        }
    }
}
