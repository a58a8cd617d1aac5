//! Decides which call may go out when: the pure core of the rate limiter.
//!
//! A move goes at once. Every other call keeps to the limits of its endpoint class, and calls that are not
//! urgent queue: a few at a time, spaced out, by priority. A 429 pauses its own class and no other, unless
//! another class is refused within seconds: that is a limit on the address, and everything pauses but a
//! probe on which a clock depends. Time is an argument; `rate_limiter` does the waiting.

use std::time::{Duration, Instant};

use super::call_stats::{CallResult, CallStats};
use super::endpoint_class::{Admission, EndpointClass};
use super::pace::Pace;
use super::rate_window::{Rate, RateWindow};
use super::timing::Timing;

/// The longest pause after a 429 without a wait, in units of the usual one.
const MAX_GUESS: u32 = 10;
/// The most queued calls in flight at once.
const AT_ONCE: usize = 2;
/// The most queued calls that may follow each other at once after an idle time.
const BURST: u32 = 3;
/// After this many spacings a call goes before more urgent ones, so that none waits forever.
const AGED_AFTER: u32 = 12;
/// Two classes refused within this part of a minute are one limit, on the address.
const SUSPICIOUS: u32 = 12;
/// While the address is limited, a call on which a clock depends may go out once in this part of a minute.
const PROBES: u32 = 3;
/// While openings of game streams fail, so many in a second at most, whatever the number of games.
const FAILING_OPENINGS: u32 = 3;

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes out now, and counts.
    Go,
    /// Poll again at this moment, or earlier after a change.
    Wait(Ticket, Instant),
    /// It does not go out; the caller may try again after this long.
    Refused(Duration),
}

#[derive(Clone, Debug)]
struct Lane {
    paused_until: Option<Instant>,
    /// Consecutive 429 responses.
    hits: u32,
    windows: Vec<RateWindow>,
}

#[derive(Clone, Debug)]
struct WaitingCall {
    ticket: Ticket,
    class: EndpointClass,
    cost: u32,
    since: Instant,
    until: Instant,
}

/// A pause of every class, because the server limits our address.
#[derive(Clone, Copy, Debug)]
struct AddressPause {
    until: Instant,
    /// When the next call on which a clock depends may go out.
    probe_at: Instant,
    /// Whether one went out: its success would end the pause.
    probed: bool,
}

/// The calls and pauses of each class, and the queue.
#[derive(Clone, Debug)]
pub struct Scheduler {
    lanes: Vec<Lane>,
    timing: Timing,
    queue: Vec<WaitingCall>,
    tickets: u64,
    in_flight: usize,
    /// When the next queued call is due, `timing.spacing` after the last one.
    due: Option<Instant>,
    declines: Pace,
    /// Openings of game streams since the last success, if the last one failed.
    failing: Option<RateWindow>,
    /// The last 429 that named no limit.
    last_limited: Option<(EndpointClass, Instant)>,
    address: Option<AddressPause>,
    stats: CallStats,
}

impl Scheduler {
    pub fn new(timing: &Timing) -> Self {
        let lane = |class: EndpointClass| {
            let windows = class.rates(timing).into_iter().map(RateWindow::new);
            Lane {
                paused_until: None,
                hits: 0,
                windows: windows.collect(),
            }
        };
        Self {
            lanes: EndpointClass::ALL.into_iter().map(lane).collect(),
            timing: timing.clone(),
            queue: Vec::new(),
            tickets: 0,
            in_flight: 0,
            due: None,
            declines: Pace::new(timing.spacing, timing.minute),
            failing: None,
            last_limited: None,
            address: None,
            stats: CallStats::default(),
        }
    }

    /// Whether a call of this class may go out that costs `cost` credits.
    pub fn ask(&mut self, class: EndpointClass, cost: u32, now: Instant) -> Decision {
        match class.admission() {
            Admission::AtOnce => match self.address_free(class, now) {
                // Nothing wakes it when another call ends the pause: it asks again.
                Some(at) => self.refuse(class, (at - now).min(self.timing.minute / 30)),
                None => self.go(class, cost, now),
            },
            Admission::NowOrNever => match self.ready(class, cost, now) {
                Readiness::At(at) => self.refuse(class, at - now),
                Readiness::Now | Readiness::Unknown => self.go(class, cost, now),
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

    /// Asks again for a queued call. An unknown ticket has waited too long.
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
        let decision = match ready {
            Readiness::At(at) if at <= waiting.until => return Decision::Wait(ticket, at),
            Readiness::Unknown if now < waiting.until => {
                return Decision::Wait(ticket, waiting.until);
            }
            Readiness::Now => self.go(class, cost, now),
            Readiness::At(at) => self.refuse(class, at - now),
            Readiness::Unknown => self.refuse(class, self.timing.spacing),
        };
        self.queue.remove(index);
        decision
    }

    /// Removes a queued call whose caller gave up.
    pub fn leave(&mut self, ticket: Ticket) {
        self.queue.retain(|waiting| waiting.ticket != ticket);
    }

    /// Ends a call that went out.
    pub fn over(&mut self, class: EndpointClass) {
        if class.admission() == Admission::InTurn {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    /// Counts a call that is sent a second time.
    pub fn again(&mut self, class: EndpointClass, now: Instant) {
        self.spend(class, 1, now);
    }

    fn go(&mut self, class: EndpointClass, cost: u32, now: Instant) -> Decision {
        if class.admission() == Admission::InTurn {
            self.in_flight += 1;
            let due = self.due.map_or(now, |due| due.max(now));
            self.due = Some(due + self.timing.spacing);
        }
        self.spend(class, cost, now);
        Decision::Go
    }

    fn spend(&mut self, class: EndpointClass, cost: u32, now: Instant) {
        self.stats.count_sent(class);
        if class == EndpointClass::Decline {
            self.declines.spend(now);
        }
        if class == EndpointClass::GameStream
            && let Some(failing) = &mut self.failing
        {
            failing.spend(1, now);
        }
        if let Some(address) = self.address.as_mut().filter(|_| !class.is_enforced()) {
            address.probed = true;
            address.probe_at = now + self.timing.minute / PROBES;
        }
        for window in &mut self.lanes[class as usize].windows {
            window.spend(cost, now);
        }
    }

    fn refuse(&mut self, class: EndpointClass, rest: Duration) -> Decision {
        self.stats.count_held(class);
        Decision::Refused(rest.max(Duration::from_millis(1)))
    }

    fn ready(&self, class: EndpointClass, cost: u32, now: Instant) -> Readiness {
        let lane = &self.lanes[class as usize];
        let pause = lane.paused_until.filter(|_| class.is_enforced());
        let windows = lane.windows.iter().map(|window| window.free(cost, now));
        let own = match class {
            EndpointClass::Decline => self.declines.next(BURST),
            EndpointClass::GameStream => self.failing.as_ref().and_then(|it| it.free(1, now)),
            _ => None,
        };
        let address = self.address_free(class, now);
        let at = windows.chain([pause, own, address]).flatten().max();
        match at {
            Some(at) if at > now => Readiness::At(at),
            _ => Readiness::Now,
        }
    }

    /// When a limit on the address lets such a call out, unless it does at `now`.
    fn address_free(&self, class: EndpointClass, now: Instant) -> Option<Instant> {
        let address = self.address?;
        let at = if class.is_enforced() {
            address.until
        } else {
            address.probe_at.min(address.until)
        };
        Some(at).filter(|at| *at > now)
    }

    fn ready_in_turn(&self, waiting: &WaitingCall, now: Instant) -> Readiness {
        if let Readiness::At(at) = self.ready(waiting.class, waiting.cost, now) {
            return Readiness::At(at);
        }
        if self.in_flight >= AT_ONCE {
            return Readiness::Unknown;
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
            Some(first) if first.ticket != waiting.ticket => Readiness::Unknown,
            _ => Readiness::Now,
        }
    }

    /// The order in the queue; the smallest number goes first.
    fn rank(&self, waiting: &WaitingCall, now: Instant) -> usize {
        let waited = now.saturating_duration_since(waiting.since);
        if waited >= self.timing.spacing * AGED_AFTER {
            0
        } else {
            waiting.class as usize
        }
    }

    /// Records the outcome of a call. A 429 is recorded by [`Scheduler::limited`] as well.
    pub fn ended(&mut self, class: EndpointClass, outcome: CallResult) {
        self.stats.count_end(class, outcome);
        // A server that fails or is silent has not lifted its rate limit.
        if matches!(outcome, CallResult::Done | CallResult::Refused) {
            self.lanes[class as usize].hits = 0;
            if class == EndpointClass::Decline {
                self.declines.accepted();
            }
            // The server answers: it does not limit the address.
            self.address = self.address.filter(|it| class.is_enforced() || !it.probed);
        }
        if class == EndpointClass::GameStream {
            self.failing = match outcome {
                CallResult::Failed | CallResult::Lost => self.failing.take().or_else(|| {
                    let span = self.timing.minute / 60;
                    let most = FAILING_OPENINGS;
                    Some(RateWindow::new(Rate { most, span }))
                }),
                CallResult::Done | CallResult::Refused | CallResult::Limited => None,
            };
        }
    }

    /// Takes back the last call, which reached no server.
    pub fn unsent(&mut self, class: EndpointClass) {
        for window in &mut self.lanes[class as usize].windows {
            window.refund();
        }
    }

    /// Records a 429. Returns how long the class pauses: as long as advised, otherwise longer with
    /// each repetition. Calls that were in flight together are one.
    pub fn limited(
        &mut self,
        class: EndpointClass,
        advised: Option<Duration>,
        now: Instant,
    ) -> Duration {
        let usual = self.timing.rate_limit;
        let lane = &mut self.lanes[class as usize];
        if lane.paused_until.is_none_or(|until| until <= now) {
            lane.hits += 1;
            if class == EndpointClass::Decline {
                self.declines.limited(now);
            }
        }
        let factor = 1_u32 << lane.hits.saturating_sub(1).min(4);
        let pause = advised.unwrap_or(usual * factor.min(MAX_GUESS));
        let until = now + pause;
        lane.paused_until = lane.paused_until.max(Some(until));
        pause
    }

    /// Records that a 429 named no limit of its own. Returns whether everything pauses now: the second
    /// endpoint within seconds means a limit on our address.
    pub fn suspect(&mut self, class: EndpointClass, pause: Duration, now: Instant) -> bool {
        let before = self.last_limited.replace((class, now));
        let within = self.timing.minute / SUSPICIOUS;
        let endpoint = |of| match of {
            EndpointClass::AcceptBot => EndpointClass::Answer,
            EndpointClass::Warm => EndpointClass::Playing,
            of => of,
        };
        let is_other = |(other, at)| endpoint(other) != endpoint(class) && now - at <= within;
        if self.address.is_some_and(|it| it.until > now) || !before.is_some_and(is_other) {
            return false;
        }
        // Not `Act`: an opponent causes such calls at will, and they must not hold a move back.
        let is_probe = |it| matches!(it, EndpointClass::Move | EndpointClass::GameStream);
        let probed = is_probe(class) || before.is_some_and(|(other, _)| is_probe(other));
        self.address = Some(AddressPause {
            until: now + pause.max(self.timing.rate_limit),
            probe_at: now + self.timing.minute / PROBES * u32::from(probed),
            probed: false,
        });
        true
    }

    /// The rest of the pause of a class, enforced or not.
    pub fn pause(&self, class: EndpointClass, now: Instant) -> Option<Duration> {
        let address = self.address.map(|it| it.until);
        let until = self.lanes[class as usize].paused_until.max(address)?;
        let rest = until.saturating_duration_since(now);
        (!rest.is_zero()).then_some(rest)
    }

    pub fn stats(&self) -> &CallStats {
        &self.stats
    }
}

enum Readiness {
    Now,
    At(Instant),
    /// After another call has ended or gone out.
    Unknown,
}

#[cfg(test)]
mod tests;
