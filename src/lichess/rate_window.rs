//! A sliding window over spent credits.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// At most `most` credits in any `span`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) most: u32,
    pub(super) span: Duration,
}

/// A rate, and when credits were spent.
#[derive(Clone, Debug)]
pub(super) struct RateWindow {
    rate: Rate,
    spent: VecDeque<(Instant, u32)>,
}

impl RateWindow {
    pub(super) fn new(rate: Rate) -> Self {
        let spent = VecDeque::new();
        Self { rate, spent }
    }

    /// When `cost` fits, unless it fits at `now`. A cost above the rate fits an empty window.
    pub(super) fn free(&self, cost: u32, now: Instant) -> Option<Instant> {
        let mut over = (self.used(now) + cost).saturating_sub(self.rate.most);
        let mut at = None;
        for &(when, spent) in self.counted(now) {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(spent);
            at = Some(when + self.rate.span);
        }
        at
    }

    pub(super) fn spend(&mut self, cost: u32, now: Instant) {
        if cost == 0 {
            return;
        }
        let span = self.rate.span;
        while self.spent.front().is_some_and(|&(at, _)| at + span <= now) {
            self.spent.pop_front();
        }
        self.spent.push_back((now, cost));
    }

    /// Takes back what was spent last.
    pub(super) fn refund(&mut self) {
        self.spent.pop_back();
    }

    /// The credits spent in the window that ends at `now`.
    pub(super) fn used(&self, now: Instant) -> u32 {
        self.counted(now).map(|&(_, cost)| cost).sum()
    }

    /// How long ago each counted credit was spent, the first one first.
    pub(super) fn ages(&self, now: Instant) -> Vec<Duration> {
        let counted = self.counted(now);
        counted
            .map(|&(at, _)| now.saturating_duration_since(at))
            .collect()
    }

    fn counted(&self, now: Instant) -> impl Iterator<Item = &(Instant, u32)> {
        let span = self.rate.span;
        self.spent.iter().filter(move |(at, _)| *at + span > now)
    }
}
