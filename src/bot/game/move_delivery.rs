//! The delivery of a chosen move, from the first sending until the server shows it.
//!
//! The first move sent for a ply is final: whatever is lost on the way, only that move is sent again, until
//! a state shows it or the move list changes under it. Another move may be chosen only after a definite
//! refusal and after a reopened stream, requested after that refusal, still shows the ply as ours.

use std::time::{Duration, Instant};

use super::delivery_policy::{AfterReopen, NextStep, next_step, post_limit};
use super::event::{Anomaly, CallOutcome, DrawOffer, GameEffect, RequestId};
use super::machine::GameMachine;
use super::pending_move::{PendingMove, Stage};
use crate::bot::game::move_overhead::SendSample;
use crate::engine::SearchResult;
use crate::rules::Move;

#[derive(Clone, Debug)]
pub(super) struct SentMove {
    pub(super) played: Move,
    draw: DrawOffer,
    /// The id of its first sending; none before that.
    first: Option<RequestId>,
    /// The only sending, as long as its cost can be measured.
    measured: Option<SendSample>,
}

impl GameMachine {
    /// Makes a move final and sends it.
    pub(super) fn send(
        &mut self,
        played: Move,
        thought: Option<SearchResult>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        self.stop_pondering(out);
        self.weigh(thought.as_ref(), now);
        let mut after = Vec::new();
        let draw = self.draw_with_move(now, &mut after);
        if let Some(pending) = &mut self.pending {
            pending.thought = thought;
            pending.sent = Some(SentMove {
                played,
                draw,
                first: None,
                measured: None,
            });
        }
        self.send_frozen(now, out);
        out.append(&mut after);
    }

    fn send_frozen(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let request_id = self.next_ticket();
        let measured = self.begin_measuring(now);
        let patience = self.patience(now);
        let Some(pending) = &mut self.pending else {
            return;
        };
        let Some(sent) = &mut pending.sent else {
            return self.think(now, out);
        };
        sent.measured = measured.filter(|_| sent.first.is_none());
        sent.first.get_or_insert(request_id);
        out.push(GameEffect::Post {
            request_id,
            uci: sent.played.to_string(),
            draw: sent.draw,
        });
        let usual = post_limit(&pending.trouble, &self.timing);
        let until = now + usual.min(patience);
        pending.stage = Stage::Sent { request_id, until };
        self.watch.rest_warming();
    }

    /// How long the clock allows to wait for an answer.
    fn patience(&self, now: Instant) -> Duration {
        let reading = self.reading();
        reading.map_or(Duration::MAX, |reading| {
            reading.patience(&self.latency, now)
        })
    }

    /// Measurable only if the clock came with a line of an already open stream.
    fn begin_measuring(&self, now: Instant) -> Option<SendSample> {
        let live = self.shown.as_ref().is_some_and(|shown| !shown.opening);
        let reading = self.reading().filter(|_| live)?;
        SendSample::of(&reading, now)
    }

    /// A clock stated anew while a move is on its way hides the move's cost.
    pub(super) fn stop_measuring(&mut self) {
        if let Some(sent) = self
            .pending
            .as_mut()
            .and_then(|pending| pending.sent.as_mut())
        {
            sent.measured = None;
        }
    }

    /// Called when the state just read shows this pending move and no later one.
    pub(super) fn learn_cost(&self, pending: &PendingMove, out: &mut Vec<GameEffect>) {
        let (Some(setup), Some(shown)) = (&self.setup, &self.shown) else {
            return;
        };
        let measured = pending.sent.as_ref().and_then(|sent| sent.measured);
        let left = shown.state.time(setup.us).filter(|_| !shown.opening);
        let cost = measured.zip(left).and_then(|(sent, left)| sent.cost(left));
        out.extend(cost.map(GameEffect::Learn));
    }

    /// Handles the outcome of a sent move.
    pub(super) fn posted(
        &mut self,
        request_id: RequestId,
        answer: &CallOutcome,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let patience = self.patience(now);
        let (Some(reading), Some(pending)) = (self.reading(), &mut self.pending) else {
            return;
        };
        if !pending.concerns(request_id, answer) {
            return;
        }
        let uci = || pending.sent().map_or_else(String::new, |mv| mv.to_string());
        match answer {
            CallOutcome::Refused { status, text } => out.push(GameEffect::Note(Anomaly::Refused {
                uci: uci(),
                status: *status,
                text: text.clone(),
            })),
            CallOutcome::Limited { .. } => {
                out.push(GameEffect::Note(Anomaly::Limited { uci: uci() }));
            }
            CallOutcome::Done | CallOutcome::Lost | CallOutcome::Gone => {}
        }
        pending.stage = match next_step(answer, &mut pending.trouble, &reading, &self.timing, now) {
            NextStep::Confirm { wait } => Stage::Confirming {
                since: now,
                until: now + wait.min(patience),
            },
            NextStep::Repeat { at } => Stage::Waiting { at },
            NextStep::Look(wanted) => {
                out.push(GameEffect::Reopen);
                Stage::Looking { since: now, wanted }
            }
        };
    }

    /// An opening requested at `opened` shows that the bot still owes the ply.
    pub(super) fn still_owed(&mut self, opened: Instant, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        match pending.stage {
            Stage::Looking { since, wanted, .. } if opened >= since => {
                if wanted == AfterReopen::Another
                    && let Some(sent) = pending.sent.take()
                {
                    pending.refused.push(sent.played);
                    pending.thought = None;
                }
                self.send_frozen(now, out);
            }
            Stage::Confirming { since, .. } if opened >= since => {
                pending.go_without_draw();
                self.note_unshown(out);
                self.send_frozen(now, out);
            }
            // The server is back: no reason to wait any longer.
            Stage::Waiting { .. } if pending.trouble.lost > 0 && pending.trouble.barred == 0 => {
                self.send_frozen(now, out);
            }
            _ => {}
        }
    }

    /// The list is not believed: a pending move waits for a credible one. A wait requested by the
    /// server continues.
    pub(super) fn pause_owed(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        if matches!(pending.stage, Stage::Waiting { .. }) && pending.trouble.barred > 0 {
            return;
        }
        if pending.is_thinking() {
            out.push(GameEffect::StopThinking);
        }
        let wanted = match pending.stage {
            Stage::Looking { wanted, .. } => wanted,
            _ => AfterReopen::Same,
        };
        pending.stage = Stage::Looking { since: now, wanted };
    }

    fn note_unshown(&self, out: &mut Vec<GameEffect>) {
        if let Some(sent) = self.sent() {
            let uci = sent.to_string();
            out.push(GameEffect::Note(Anomaly::Unshown { uci }));
        }
    }

    /// The timers of a sent move.
    pub(super) fn sent_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let trusted = self.is_trusted();
        let Some(pending) = &mut self.pending else {
            return;
        };
        match pending.stage {
            Stage::Sent { request_id, .. } => {
                self.posted(request_id, &CallOutcome::Lost, now, out);
                // It has already been waited for.
                if let Some(pending) = &mut self.pending
                    && let Stage::Waiting { at } = &mut pending.stage
                {
                    *at = (*at).min(now + self.timing.retry);
                }
            }
            Stage::Waiting { .. } if trusted => self.send_frozen(now, out),
            Stage::Waiting { .. } => {
                pending.stage = Stage::Looking {
                    since: now,
                    wanted: AfterReopen::Same,
                };
                out.push(GameEffect::Reopen);
            }
            Stage::Confirming { .. } => {
                pending.trouble.unshown += 1;
                pending.go_without_draw();
                pending.stage = Stage::Looking {
                    since: now,
                    wanted: AfterReopen::Same,
                };
                self.note_unshown(out);
                out.push(GameEffect::Reopen);
            }
            _ => {}
        }
    }
}

impl PendingMove {
    /// The server said "ok" and played nothing: perhaps because of the draw offer sent with the
    /// move, which by then has been made or accepted.
    fn go_without_draw(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.draw = DrawOffer::No;
        }
    }

    /// Whether an answer counts: the one to the last sending does, and so does a late "ok" to an
    /// earlier sending of the same move.
    fn concerns(&self, request_id: RequestId, answer: &CallOutcome) -> bool {
        let since = self.sent.as_ref().and_then(|sent| sent.first);
        let of_this_move = since.is_some_and(|first| request_id >= first);
        match self.stage {
            Stage::Sent {
                request_id: last, ..
            } if request_id == last => true,
            Stage::Sent { .. } | Stage::Waiting { .. } => {
                of_this_move && *answer == CallOutcome::Done
            }
            _ => false,
        }
    }
}
