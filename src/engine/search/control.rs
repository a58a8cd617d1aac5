//! When to stop: nodes, clock, deadline, or the handle.
//!
//! The search asks once per node; it checks the clock and the core queue only every few hundred
//! nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::core_scheduler::CorePriority;
use crate::engine::limits::Limits;
use crate::engine::params;
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::StopReason;
use crate::engine::time::TimePlan;

/// The limits of the search in progress.
pub(super) struct Control {
    pub(super) search_shared: Arc<SearchShared>,
    plan: TimePlan,
    pub(super) deadline: Option<Instant>,
    pub(super) node_limit: u64,
    /// The first iteration that the node limit may end: several lines are ranked once in any case.
    pub(super) limited_from: i32,
    soft_nodes: u64,
    /// The soft end on a clock that counts nodes.
    counted_soft: Option<f64>,
    pub(super) next_check: u64,
    /// When the clock was checked last.
    pub(super) checked: Instant,
    pub(super) on_clock: bool,
    /// Whether it was requested to use only what other searches leave.
    pub(super) background: bool,
    /// How long this search waits at most for endgame tables to compute distances.
    pub(super) table_patience: Duration,
    /// How long this search has waited for a core in the background, where that is no thinking time.
    pub(super) waited: Duration,
    /// The soft end passed while pondering: answer as soon as the ponder move is played.
    pub(super) ends_on_hit: bool,
    /// Why the search must unwind now.
    pub(super) halted: Option<StopReason>,
}

impl Control {
    pub(super) fn idle() -> Control {
        Control::new(&Limits::default(), Arc::new(SearchShared::new(false, None)))
    }

    pub(super) fn new(limits: &Limits, search_shared: Arc<SearchShared>) -> Control {
        let mut plan = TimePlan::new(limits);
        let rate = limits.nodes_per_ms.map(|nodes| 1000.0 * nodes as f64);
        let counted = [plan.soft, plan.hard].map(|end| Some(rate? * end?.as_secs_f64()));
        if rate.is_some() {
            // No real time ends the search.
            plan = TimePlan::default();
        }
        let hard = counted[1].map_or(u64::MAX, |hard| hard as u64);
        let node_limit = limits.nodes.unwrap_or(u64::MAX).min(hard);
        Control {
            search_shared,
            table_patience: table_patience(limits, &plan),
            plan,
            deadline: limits.hard_deadline,
            node_limit,
            limited_from: if limits.multipv > 1 { 2 } else { 1 },
            soft_nodes: limits.soft_nodes.unwrap_or(u64::MAX),
            counted_soft: counted[0],
            next_check: node_limit.min(params::CHECK_EVERY),
            checked: Instant::now(),
            on_clock: limits.clock.is_some(),
            background: limits.background,
            waited: Duration::ZERO,
            ends_on_hit: false,
            halted: None,
        }
    }

    /// Whether the engine allots its own time, so that an early answer saves some.
    pub(super) fn plays_on_clock(&self) -> bool {
        self.on_clock && !self.search_shared.is_pondering()
    }

    /// Whether the soft end, scaled by this factor, has passed.
    pub(super) fn is_past_soft(&self, factor: f64) -> bool {
        let elapsed = self.search_shared.started.elapsed();
        let hard = self.plan.hard.unwrap_or(Duration::MAX);
        let is_past = |soft: Duration| elapsed >= soft.mul_f64(factor).min(hard);
        self.plan.soft.is_some_and(is_past)
    }

    /// Whether this many nodes are too many to start another iteration. The factor scales the soft end of a
    /// clock that counts nodes.
    pub(super) fn is_past_soft_nodes(&self, factor: f64, nodes: u64) -> bool {
        let counted = self.counted_soft.map(|soft| soft * factor);
        nodes >= self.soft_nodes || counted.is_some_and(|soft| nodes as f64 >= soft)
    }

    /// Whether it currently uses only what other searches leave.
    pub(super) fn is_idle(&self) -> bool {
        self.background || self.search_shared.is_pondering()
    }

    /// When the answer is due: the search's priority among others. After its soft end it is no
    /// longer urgent.
    pub(super) fn need(&self, now: Instant) -> CorePriority {
        let idle = self.is_idle();
        let due = if self.search_shared.is_pondering() {
            now + params::PONDER_PATIENCE
        } else if self.background {
            now + params::BACKGROUND_PATIENCE
        } else {
            self.due(now)
        };
        CorePriority { due, idle }
    }

    fn due(&self, now: Instant) -> Instant {
        let start = self.search_shared.clock_start();
        let soft = self.plan.soft.map(|soft| start + soft);
        let soft = soft.filter(|&end| end > now);
        let due = [soft, self.hard_end(), Some(now + params::PATIENCE)];
        due.into_iter().flatten().min().unwrap_or(now)
    }

    /// The end that may not be exceeded, once the clock runs.
    pub(super) fn hard_end(&self) -> Option<Instant> {
        let hard = self
            .plan
            .hard
            .filter(|_| !self.search_shared.is_pondering());
        let hard = hard.map(|hard| self.search_shared.clock_start() + hard + self.waited);
        [hard, self.deadline].into_iter().flatten().min()
    }

    /// Time left to the deadline; `None` if there is none.
    pub(super) fn time_to_deadline(&self) -> Option<Duration> {
        self.deadline
            .map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Why the search ends now, by the clock or by the handle.
    pub(super) fn verdict(&self, now: Instant) -> Option<StopReason> {
        if self.search_shared.is_stopped() {
            Some(StopReason::Stopped)
        } else if self.hard_end().is_some_and(|end| now >= end)
            || (self.ends_on_hit && !self.search_shared.is_pondering())
        {
            Some(StopReason::Time)
        } else {
            None
        }
    }

    /// Whether a thread that waits for a core should stop waiting.
    pub(super) fn is_over(&self) -> bool {
        self.verdict(Instant::now()).is_some()
    }
}

/// Half of the time of a move; long if only nodes or plies count, so that the same search gives the
/// same answer; short if the caller may stop the search at any time. A stop and the end of the time
/// end the wait in any case.
fn table_patience(limits: &Limits, plan: &TimePlan) -> Duration {
    let is_open = limits.infinite || limits.ponder || limits.hard_deadline.is_some();
    match plan.soft.or(plan.hard) {
        Some(time) => time / 2,
        None if is_open => params::TABLE_PATIENCE,
        None => params::LONG_TABLE_PATIENCE,
    }
}
