//! The planned faults, and the count of injected ones.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{
    Channel, Endpoint, Fault, FaultMix, FaultPlan, FaultScript, GamePhase, Injection,
    OpponentBehavior, ServerFault, Trigger,
};

/// The planned faults.
#[derive(Debug, Default)]
pub struct Faults {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    calls: HashMap<(Endpoint, Option<String>), VecDeque<Fault>>,
    /// For the first game that reaches the phase.
    triggers: Vec<Trigger>,
    plans: HashMap<String, FaultPlan>,
    /// Provides every new game's plan.
    mix: Option<FaultMix>,
    begun: u64,
    /// When a fault last affected all clients at once.
    wide: Option<Instant>,
    injected: BTreeMap<String, u64>,
}

impl Faults {
    /// Queues a fault for `endpoint`: it applies once the faults queued before are used up.
    pub fn add(&self, endpoint: Endpoint, fault: Fault) {
        self.inner.lock().arm((endpoint, None), fault);
    }

    /// The same, for the requests of one game.
    pub fn add_at(&self, game: &str, endpoint: Endpoint, fault: Fault) {
        self.inner
            .lock()
            .arm((endpoint, Some(game.to_owned())), fault);
    }

    /// How many faults are still queued for `endpoint`, in all games.
    pub fn waiting(&self, endpoint: Endpoint) -> usize {
        let inner = self.inner.lock();
        let here = inner.calls.iter().filter(|((at, _), _)| *at == endpoint);
        here.map(|(_, faults)| faults.len()).sum()
    }

    /// Applies to the games that reach its phase, until used up.
    pub fn trigger(&self, trigger: Trigger) {
        self.inner.lock().triggers.push(trigger);
    }

    /// Number of triggers left, without the plans of single games.
    pub fn faults_left(&self) -> u32 {
        self.inner
            .lock()
            .triggers
            .iter()
            .map(|trigger| trigger.times)
            .sum()
    }

    /// Adds everything in a script.
    pub fn run(&self, script: FaultScript) {
        let mut inner = self.inner.lock();
        for (endpoint, fault) in script.calls {
            inner.arm((endpoint, None), fault);
        }
        inner.triggers.extend(script.triggers);
        if let Some(behavior) = script.behavior {
            inner.mix = Some(FaultMix::of_behavior(behavior));
        }
    }

    /// Sets the mix for all new games.
    pub fn mix(&self, mix: FaultMix) {
        self.inner.lock().mix = Some(mix);
    }

    /// Sets the behaviour of all opponents from now on.
    pub fn set_behavior(&self, behavior: OpponentBehavior) {
        self.inner.lock().mix = Some(FaultMix::of_behavior(behavior));
    }

    /// Sets the plan of one game, replacing the one from the mix.
    pub fn plan(&self, game: &str, plan: FaultPlan) {
        self.inner.lock().plans.insert(game.to_owned(), plan);
    }

    /// The faults injected so far, with their counts.
    pub fn injected(&self) -> BTreeMap<String, u64> {
        self.inner.lock().injected.clone()
    }

    /// A game has begun.
    pub(crate) fn begin(&self, game: &str) {
        let mut inner = self.inner.lock();
        let number = inner.begun;
        inner.begun += 1;
        if !inner.plans.contains_key(game)
            && let Some(plan) = inner.mix.as_ref().map(|mix| mix.plan(number))
        {
            if plan.behavior != OpponentBehavior::Plain {
                inner.count(plan.behavior.name().to_owned());
            }
            inner.plans.insert(game.to_owned(), plan);
        }
    }

    /// A game is over: its faults are dropped.
    pub(crate) fn forget(&self, game: &str) {
        let mut inner = self.inner.lock();
        inner.plans.remove(game);
        inner.calls.retain(|(_, at), _| at.as_deref() != Some(game));
    }

    pub(crate) fn behavior(&self, game: &str) -> OpponentBehavior {
        let inner = self.inner.lock();
        inner
            .plans
            .get(game)
            .map_or(OpponentBehavior::Plain, |plan| plan.behavior)
    }

    /// The fault of a request; those of its game go first.
    pub(crate) fn take(&self, endpoint: Endpoint, game: Option<&str>) -> Option<Fault> {
        let mut inner = self.inner.lock();
        let own = game.map(|game| (endpoint, Some(game.to_owned())));
        let taken = own
            .into_iter()
            .chain([(endpoint, None)])
            .find_map(|key| inner.calls.get_mut(&key)?.pop_front());
        if let Some(fault) = &taken {
            let name = format!("{}: {}", endpoint.name(), fault.name());
            inner.count(name);
        }
        taken
    }

    /// The injections that are due in a game at this phase.
    pub(crate) fn due(&self, game: &str, phase: GamePhase, ply: usize) -> Vec<Injection> {
        let mut inner = self.inner.lock();
        let mut due = Vec::new();
        take_due(&mut inner.triggers, phase, ply, &mut due);
        let mut planned = Vec::new();
        if let Some(plan) = inner.plans.get_mut(game) {
            take_due(&mut plan.triggers, phase, ply, &mut planned);
        }
        let spacing = inner.mix.as_ref().map_or(Duration::ZERO, FaultMix::spacing);
        for injection in planned {
            if !is_wide(&injection) || inner.may_inject_wide(spacing) {
                due.push(injection);
            }
        }
        for injection in &due {
            if !matches!(injection, Injection::Call(..)) {
                inner.count(injection.name());
            }
        }
        due
    }
}

impl Inner {
    fn arm(&mut self, key: (Endpoint, Option<String>), fault: Fault) {
        self.calls.entry(key).or_default().push_back(fault);
    }

    fn count(&mut self, name: String) {
        *self.injected.entry(name).or_default() += 1;
    }

    /// Faults that affect everyone are spaced, or the faults of many games would add up to a server
    /// that is never up.
    fn may_inject_wide(&mut self, spacing: Duration) -> bool {
        let now = Instant::now();
        let may = self.wide.is_none_or(|last| now - last >= spacing);
        if may {
            self.wide = Some(now);
        }
        may
    }
}

fn take_due(triggers: &mut Vec<Trigger>, phase: GamePhase, ply: usize, due: &mut Vec<Injection>) {
    for trigger in triggers.iter_mut() {
        if trigger.phase == phase && trigger.ply <= ply && trigger.times > 0 {
            trigger.times -= 1;
            due.push(trigger.injection.clone());
        }
    }
    triggers.retain(|trigger| trigger.times > 0);
}

/// Whether it affects every game.
fn is_wide(injection: &Injection) -> bool {
    match injection {
        Injection::Call(endpoint, _) => !endpoint.is_of_a_game(),
        Injection::Stream(channel, stream_fault) => {
            *channel == Channel::Events && stream_fault.is_a_loss()
        }
        Injection::World(server_fault) => !matches!(
            server_fault,
            ServerFault::GiveTime { .. }
                | ServerFault::ClockJump { .. }
                | ServerFault::ChatFlood { .. }
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::practice::chaos::StreamFault;

    #[test]
    fn a_fault_waits_for_its_phase_and_ply_and_fires_once() {
        let faults = Faults::default();
        let injection = Injection::Stream(Channel::Game, StreamFault::Break);
        let trigger = Trigger::at(GamePhase::OurTurn, injection.clone())
            .from_ply(4)
            .times(2);
        faults.trigger(trigger);
        assert!(faults.due("g", GamePhase::OurTurn, 3).is_empty());
        assert!(faults.due("g", GamePhase::TheirTurn, 5).is_empty());
        assert_eq!(faults.due("g", GamePhase::OurTurn, 4).len(), 1);
        assert_eq!(faults.faults_left(), 1);
        assert_eq!(faults.due("h", GamePhase::OurTurn, 9), [injection]);
        assert!(faults.due("g", GamePhase::OurTurn, 9).is_empty());
        assert_eq!(faults.injected()["game: stream reset"], 2);
    }

    #[test]
    fn a_request_meets_the_fault_of_its_own_game_first() {
        let faults = Faults::default();
        faults.add(Endpoint::Move, Fault::LoseReply);
        faults.add_at("g", Endpoint::Move, Fault::LoseRequest);
        assert_eq!(faults.waiting(Endpoint::Move), 2);
        assert_eq!(
            faults.take(Endpoint::Move, Some("g")),
            Some(Fault::LoseRequest)
        );
        assert_eq!(
            faults.take(Endpoint::Move, Some("h")),
            Some(Fault::LoseReply)
        );
        assert_eq!(faults.take(Endpoint::Move, Some("g")), None);
    }

    #[test]
    fn the_faults_of_a_game_are_removed_with_it() {
        let faults = Faults::default();
        faults.add_at("g", Endpoint::Move, Fault::LoseRequest);
        faults.forget("g");
        assert_eq!(faults.take(Endpoint::Move, Some("g")), None);
    }
}
