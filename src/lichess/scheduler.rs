//! Decides which call may go out when: the pure core of the rate limiter.
//!
//! A move goes at once. Everything else keeps to the limits of its endpoint class, and calls that are not
//! urgent queue: a few at a time, spaced out, by priority. A 429 pauses its own class and no other. Time
//! comes in as data; `rate_limiter` does the waiting.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::call_stats::{CallResult, CallStats};
use super::endpoint_class::{Admission, EndpointClass, Rate};
use super::timing::Timing;

/// Longest pause the rate limiter makes up itself when the server keeps refusing without a number.
const LONGEST_GUESS: u32 = 10;
/// Calls that go in turn and are under way at once.
const AT_ONCE: usize = 2;
/// Calls in turn that may follow each other at once after a silence.
const BURST: u32 = 3;
/// After so many turns of waiting a call goes before more urgent ones: no one waits for ever.
const AGED_AFTER: u32 = 12;

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What is to be done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes out now, and is counted.
    Go,
    /// Ask again at this moment, or earlier when something has changed.
    Wait(Ticket, Instant),
    /// It does not go out; such a call may be tried after this long.
    Refused(Duration),
}

#[derive(Clone, Debug)]
struct Priority {
    paused_until: Option<Instant>,
    /// Limits hit in a row without a success between.
    hits: u32,
    windows: Vec<RateWindow>,
}

/// A call that waits.
#[derive(Clone, Debug)]
struct WaitingCall {
    ticket: Ticket,
    class: EndpointClass,
    cost: u32,
    since: Instant,
    until: Instant,
}

/// The memory of calls and pauses.
#[derive(Clone, Debug)]
pub struct Scheduler {
    lanes: Vec<Priority>,
    timing: Timing,
    queue: Vec<WaitingCall>,
    tickets: u64,
    under_way: usize,
    /// When the next call in turn may go out if it is to be `timing.spacing` after the last one.
    due: Option<Instant>,
    stats: CallStats,
}

impl Scheduler {
    /// A governor with the limits and waits of `timing`.
    pub fn new(timing: &Timing) -> Self {
        let lane = |class: EndpointClass| Priority {
            paused_until: None,
            hits: 0,
            windows: class
                .rates(timing)
                .into_iter()
                .map(RateWindow::new)
                .collect(),
        };
        Self {
            lanes: EndpointClass::ALL.into_iter().map(lane).collect(),
            timing: timing.clone(),
            queue: Vec::new(),
            tickets: 0,
            under_way: 0,
            due: None,
            stats: CallStats::default(),
        }
    }

    /// May a call of this kind go out, which costs so many credits?
    pub fn ask(&mut self, class: EndpointClass, cost: u32, now: Instant) -> Decision {
        match class.admission() {
            Admission::AtOnce => self.go(class, cost, now),
            Admission::NowOrNever => match self.rest(class, cost, now) {
                Some(rest) => self.refuse(class, rest),
                None => self.go(class, cost, now),
            },
            Admission::Paced | Admission::InTurn => self.enqueue(class, cost, now),
        }
    }

    fn enqueue(&mut self, class: EndpointClass, cost: u32, now: Instant) -> Decision {
        self.queue.retain(|waiting| waiting.until >= now);
        let like = self.queue.iter().filter(|it| it.class == class).count();
        if like >= class.most_waiting() {
            let rest = self.timing.spacing * u32::try_from(like).unwrap_or(u32::MAX);
            return self.refuse(class, rest);
        }
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.queue.push(WaitingCall {
            ticket,
            class,
            cost,
            since: now,
            until: now + class.patience(&self.timing),
        });
        self.poll(ticket, now)
    }

    /// What about a call that waits? One that is unknown has waited too long.
    pub fn poll(&mut self, ticket: Ticket, now: Instant) -> Decision {
        let Some(index) = self.queue.iter().position(|it| it.ticket == ticket) else {
            return Decision::Refused(self.timing.spacing);
        };
        let waiting = self.queue[index].clone();
        let (class, cost) = (waiting.class, waiting.cost);
        let ready = match class.admission() {
            Admission::InTurn => self.ready_in_turn(&waiting, now),
            _ => self.ready(class, cost, now),
        };
        match ready {
            Readiness::Now => {
                self.queue.remove(index);
                self.go(class, cost, now)
            }
            Readiness::At(at) if at <= waiting.until => Decision::Wait(ticket, at),
            Readiness::Untold if now < waiting.until => Decision::Wait(ticket, waiting.until),
            Readiness::At(at) => {
                self.queue.remove(index);
                self.refuse(class, at - now)
            }
            Readiness::Untold => {
                self.queue.remove(index);
                self.refuse(class, self.timing.spacing)
            }
        }
    }

    /// A call that waited is given up by its caller.
    pub fn leave(&mut self, ticket: Ticket) {
        self.queue.retain(|waiting| waiting.ticket != ticket);
    }

    /// A call let out is over, or is given up.
    pub fn over(&mut self, class: EndpointClass) {
        if class.admission() == Admission::InTurn {
            self.under_way = self.under_way.saturating_sub(1);
        }
    }

    /// A call let out is sent a second time.
    pub fn again(&mut self, class: EndpointClass, now: Instant) {
        self.spend(class, 1, now);
    }

    fn go(&mut self, class: EndpointClass, cost: u32, now: Instant) -> Decision {
        if class.admission() == Admission::InTurn {
            self.under_way += 1;
            let due = self.due.map_or(now, |due| due.max(now));
            self.due = Some(due + self.timing.spacing);
        }
        self.spend(class, cost, now);
        Decision::Go
    }

    fn spend(&mut self, class: EndpointClass, cost: u32, now: Instant) {
        self.stats.count_sent(class);
        for window in &mut self.lanes[class as usize].windows {
            window.spend(cost, now);
        }
    }

    fn refuse(&mut self, class: EndpointClass, rest: Duration) -> Decision {
        self.stats.count_held(class);
        Decision::Refused(rest.max(Duration::from_millis(1)))
    }

    /// The rest of the pause or of the windows of a kind.
    fn rest(&self, class: EndpointClass, cost: u32, now: Instant) -> Option<Duration> {
        match self.ready(class, cost, now) {
            Readiness::At(at) => Some(at - now),
            Readiness::Now | Readiness::Untold => None,
        }
    }

    fn ready(&self, class: EndpointClass, cost: u32, now: Instant) -> Readiness {
        let lane = &self.lanes[class as usize];
        let pause = lane.paused_until.filter(|_| class.is_enforced());
        let windows = lane.windows.iter().map(|window| window.free(cost, now));
        let at = windows.chain([pause]).flatten().max();
        match at {
            Some(at) if at > now => Readiness::At(at),
            _ => Readiness::Now,
        }
    }

    fn ready_in_turn(&self, waiting: &WaitingCall, now: Instant) -> Readiness {
        if let Readiness::At(at) = self.ready(waiting.class, waiting.cost, now) {
            return Readiness::At(at);
        }
        if self.under_way >= AT_ONCE {
            return Readiness::Untold;
        }
        let slack = self.timing.spacing * (BURST - 1);
        if let Some(at) = self.due.and_then(|due| due.checked_sub(slack))
            && at > now
        {
            return Readiness::At(at);
        }
        let first = self
            .queue
            .iter()
            .filter(|other| other.class.admission() == Admission::InTurn && other.until >= now)
            .filter(|other| matches!(self.ready(other.class, other.cost, now), Readiness::Now))
            .min_by_key(|other| (self.rank(other, now), other.ticket));
        match first {
            Some(first) if first.ticket != waiting.ticket => Readiness::Untold,
            _ => Readiness::Now,
        }
    }

    fn rank(&self, waiting: &WaitingCall, now: Instant) -> usize {
        let waited = now.saturating_duration_since(waiting.since);
        if waited >= self.timing.spacing * AGED_AFTER {
            0
        } else {
            waiting.class.rank()
        }
    }

    /// How a call ended. A limit is told by [`Scheduler::limited`] besides.
    pub fn ended(&mut self, class: EndpointClass, outcome: CallResult) {
        self.stats.count_end(class, outcome);
        // A server that fails or is silent has not said that it has enough of us no more.
        if matches!(outcome, CallResult::Done | CallResult::Refused) {
            self.lanes[class as usize].hits = 0;
        }
    }

    /// The call let out last found no server: no one counted it.
    pub fn unsent(&mut self, class: EndpointClass) {
        for window in &mut self.lanes[class as usize].windows {
            window.spent.pop_back();
        }
    }

    /// The server answered 429. Returns how long this kind of call pauses: as long as advised,
    /// else longer with each repetition.
    pub fn limited(
        &mut self,
        class: EndpointClass,
        advised: Option<Duration>,
        now: Instant,
    ) -> Duration {
        let usual = self.timing.rate_limit;
        let lane = &mut self.lanes[class as usize];
        let factor = 1_u32 << lane.hits.min(4);
        lane.hits += 1;
        let pause = advised.unwrap_or(usual * factor.min(LONGEST_GUESS));
        let until = now + pause;
        lane.paused_until = lane.paused_until.max(Some(until));
        pause
    }

    /// The rest of a pause, enforced or not.
    pub fn pause(&self, class: EndpointClass, now: Instant) -> Option<Duration> {
        let until = self.lanes[class as usize].paused_until?;
        let rest = until.saturating_duration_since(now);
        (!rest.is_zero()).then_some(rest)
    }

    pub fn stats(&self) -> &CallStats {
        &self.stats
    }
}

/// When a call may go out.
enum Readiness {
    Now,
    At(Instant),
    /// When another is over, or has gone first.
    Untold,
}

/// So many in any span, and when they went.
#[derive(Clone, Debug)]
struct RateWindow {
    rate: Rate,
    spent: VecDeque<(Instant, u32)>,
}

impl RateWindow {
    fn new(rate: Rate) -> Self {
        let spent = VecDeque::new();
        Self { rate, spent }
    }

    /// When this much more fits; nothing if it does now. What never fits is let out alone.
    fn free(&self, cost: u32, now: Instant) -> Option<Instant> {
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

    fn spend(&mut self, cost: u32, now: Instant) {
        if cost == 0 {
            return;
        }
        let span = self.rate.span;
        while self.spent.front().is_some_and(|&(at, _)| at + span <= now) {
            self.spent.pop_front();
        }
        self.spent.push_back((now, cost));
    }

    fn counted(&self, now: Instant) -> impl Iterator<Item = &(Instant, u32)> {
        let span = self.rate.span;
        self.spent.iter().filter(move |(at, _)| *at + span > now)
    }

    fn used(&self, now: Instant) -> u32 {
        self.counted(now).map(|&(_, cost)| cost).sum()
    }
}

#[cfg(test)]
mod tests;
