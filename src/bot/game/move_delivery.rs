//! The move we have sent: from the first sending to the server's showing it.
//!
//! Once a move has been sent for a ply it is frozen: whatever is lost on the way, only that move is
//! sent again, until a state shows it or the moves change under it. Another one may be chosen only
//! after a definite refusal and an opening of the stream, asked for after that refusal, that still
//! shows the ply owed.

use std::time::{Duration, Instant};

use super::delivery_policy::{AfterReopen, NextStep, next_step, post_limit};
use super::event::{Anomaly, CallOutcome, DrawOffer, GameEffect, RequestId};
use super::machine::GameMachine;
use super::pending_move::{PendingMove, Stage};
use crate::bot::game::move_overhead::SendSample;
use crate::engine::SearchResult;
use crate::rules::Move;

/// A move that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentMove {
    pub(super) played: Move,
    draw: DrawOffer,
    /// The number of its first sending; none yet.
    first: Option<RequestId>,
    /// The only sending, as long as what it costs can be told.
    measured: Option<SendSample>,
}

impl GameMachine {
    /// Freezes a move and sends it.
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
        if let Some(owed) = &mut self.owed {
            owed.thought = thought;
            owed.frozen = Some(SentMove {
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
        let ticket = self.next_ticket();
        let measured = self.begin_measuring(now);
        let patience = self.patience(now);
        let Some(owed) = &mut self.owed else { return };
        let Some(frozen) = &mut owed.frozen else {
            return self.think(now, out);
        };
        frozen.measured = measured.filter(|_| frozen.first.is_none());
        frozen.first.get_or_insert(ticket);
        out.push(GameEffect::Post {
            ticket,
            uci: frozen.played.to_string(),
            draw: frozen.draw,
        });
        let usual = post_limit(&owed.trouble, &self.pace);
        let until = now + usual.min(patience);
        owed.stage = Stage::Sent { ticket, until };
        self.watch.rest_warming();
    }

    /// How long our clock bears silence.
    fn patience(&self, now: Instant) -> Duration {
        let reading = self.reading();
        reading.map_or(Duration::MAX, |reading| reading.patience(&self.lag, now))
    }

    /// A sending whose cost will show: the clock came with a line of a stream that was open.
    fn begin_measuring(&self, now: Instant) -> Option<SendSample> {
        let live = self.shown.as_ref().is_some_and(|shown| !shown.opening);
        let reading = self.reading().filter(|_| live)?;
        SendSample::of(&reading, now)
    }

    /// The clock was shown anew while a move was on its way: what it costs cannot be told.
    pub(super) fn stop_measuring(&mut self) {
        if let Some(frozen) = self.owed.as_mut().and_then(|owed| owed.frozen.as_mut()) {
            frozen.measured = None;
        }
    }

    /// The state just read shows the move of this obligation and no other after it.
    pub(super) fn learn_cost(&self, owed: &PendingMove, out: &mut Vec<GameEffect>) {
        let (Some(setting), Some(shown)) = (&self.setting, &self.shown) else {
            return;
        };
        let measured = owed.frozen.as_ref().and_then(|frozen| frozen.measured);
        let left = shown.state.time(setting.us).filter(|_| !shown.opening);
        let cost = measured.zip(left).and_then(|(sent, left)| sent.cost(left));
        out.extend(cost.map(GameEffect::Learn));
    }

    /// What became of a sent move.
    pub(super) fn posted(
        &mut self,
        ticket: RequestId,
        answer: &CallOutcome,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let patience = self.patience(now);
        let (Some(reading), Some(owed)) = (self.reading(), &mut self.owed) else {
            return;
        };
        if !owed.concerns(ticket, answer) {
            return;
        }
        let uci = || owed.frozen().map_or_else(String::new, |mv| mv.to_string());
        match answer {
            CallOutcome::Refused { status, text } => out.push(GameEffect::Note(Anomaly::Refused {
                uci: uci(),
                status: *status,
                text: text.clone(),
            })),
            CallOutcome::Limited { .. } => {
                out.push(GameEffect::Note(Anomaly::Limited { uci: uci() }))
            }
            CallOutcome::Done | CallOutcome::Lost | CallOutcome::Gone => {}
        }
        owed.stage = match next_step(answer, &mut owed.trouble, &reading, &self.pace, now) {
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

    /// An opening asked for at `opened` still shows the ply owed.
    pub(super) fn still_owed(&mut self, opened: Instant, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(owed) = &mut self.owed else { return };
        match owed.stage {
            Stage::Looking { since, wanted, .. } if opened >= since => {
                if wanted == AfterReopen::Another
                    && let Some(frozen) = owed.frozen.take()
                {
                    owed.refused.push(frozen.played);
                    owed.thought = None;
                }
                self.send_frozen(now, out);
            }
            Stage::Confirming { since, .. } if opened >= since => {
                owed.go_without_draw();
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

    /// The list is not believed: whatever is owed waits for one that is. A wait that the server asked
    /// for goes on.
    pub(super) fn pause_owed(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(owed) = &mut self.owed else { return };
        if matches!(owed.stage, Stage::Waiting { .. }) && owed.trouble.barred > 0 {
            return;
        }
        if owed.is_thinking() {
            out.push(GameEffect::StopThinking);
        }
        let wanted = match owed.stage {
            Stage::Looking { wanted, .. } => wanted,
            _ => AfterReopen::Same,
        };
        owed.stage = Stage::Looking { since: now, wanted };
    }

    fn note_unshown(&self, out: &mut Vec<GameEffect>) {
        if let Some(frozen) = self.frozen() {
            let uci = frozen.to_string();
            out.push(GameEffect::Note(Anomaly::Unshown { uci }));
        }
    }

    /// The timers of a sent move.
    pub(super) fn sent_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let trusted = self.is_trusted();
        let Some(owed) = &mut self.owed else { return };
        match owed.stage {
            Stage::Sent { ticket, .. } => {
                self.posted(ticket, &CallOutcome::Lost, now, out);
                // It has been waited for already.
                if let Some(owed) = &mut self.owed
                    && let Stage::Waiting { at } = &mut owed.stage
                {
                    *at = (*at).min(now + self.pace.retry);
                }
            }
            Stage::Waiting { .. } if trusted => self.send_frozen(now, out),
            Stage::Waiting { .. } => {
                owed.stage = Stage::Looking {
                    since: now,
                    wanted: AfterReopen::Same,
                };
                out.push(GameEffect::Reopen);
            }
            Stage::Confirming { .. } => {
                owed.trouble.unshown += 1;
                owed.go_without_draw();
                owed.stage = Stage::Looking {
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
    /// The server said "ok" and played nothing: a draw that went with the move may be why, and by
    /// then it has been offered or agreed to.
    fn go_without_draw(&mut self) {
        if let Some(frozen) = &mut self.frozen {
            frozen.draw = DrawOffer::No;
        }
    }

    /// Whether an answer says anything: the one to the last sending does; an "ok" to an earlier
    /// sending of the same move too, be it ever so late.
    fn concerns(&self, ticket: RequestId, answer: &CallOutcome) -> bool {
        let since = self.frozen.as_ref().and_then(|frozen| frozen.first);
        let of_this_move = since.is_some_and(|first| ticket >= first);
        match self.stage {
            Stage::Sent { ticket: last, .. } if ticket == last => true,
            Stage::Sent { .. } | Stage::Waiting { .. } => {
                of_this_move && *answer == CallOutcome::Done
            }
            _ => false,
        }
    }
}
