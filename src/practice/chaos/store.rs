//! The faults that are still to come, and the count of those that came.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{
    Channel, Endpoint, Fault, FaultMix, FaultPlan, FaultScript, GamePhase, Injection,
    OpponentBehavior, ServerFault, Trigger,
};

/// The faults that are still to come.
#[derive(Debug, Default)]
pub struct Faults {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    calls: HashMap<(Endpoint, Option<String>), VecDeque<Fault>>,
    /// For whichever game comes to the phase first.
    strikes: Vec<Trigger>,
    plans: HashMap<String, FaultPlan>,
    /// Gives every new game its plan.
    mix: Option<FaultMix>,
    begun: u64,
    /// When something last struck everyone at once.
    wide: Option<Instant>,
    struck: BTreeMap<String, u64>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request at `place` that has no other fault before it meets this one.
    pub fn add(&self, place: Endpoint, fault: Fault) {
        self.lock().arm((place, None), fault);
    }

    /// The same, for the requests of one game.
    pub fn add_at(&self, game: &str, place: Endpoint, fault: Fault) {
        self.lock().arm((place, Some(game.to_owned())), fault);
    }

    /// How many are still to come at `place`, in whatever game.
    pub fn waiting(&self, place: Endpoint) -> usize {
        let inner = self.lock();
        let here = inner.calls.iter().filter(|((at, _), _)| *at == place);
        here.map(|(_, faults)| faults.len()).sum()
    }

    /// Strikes the games that come to its phase, until it has struck as often as it may.
    pub fn trigger(&self, trigger: Trigger) {
        self.lock().strikes.push(trigger);
    }

    /// How many strikes are still to come, those planned for one game aside.
    pub fn strikes_left(&self) -> u32 {
        self.lock()
            .strikes
            .iter()
            .map(|trigger| trigger.times)
            .sum()
    }

    /// Everything in a script.
    pub fn run(&self, script: FaultScript) {
        let mut inner = self.lock();
        for (place, fault) in script.calls {
            inner.arm((place, None), fault);
        }
        inner.strikes.extend(script.strikes);
        if let Some(behavior) = script.behavior {
            inner.mix = Some(FaultMix::of_mood(behavior));
        }
    }

    /// Every game that begins from now on gets a plan of this mix.
    pub fn mix(&self, mix: FaultMix) {
        self.lock().mix = Some(mix);
    }

    /// Every opponent from now on behaves like this.
    pub fn moods(&self, behavior: OpponentBehavior) {
        self.lock().mix = Some(FaultMix::of_mood(behavior));
    }

    /// What is to befall one game, in the place of what the mix would have.
    pub fn plan(&self, game: &str, plan: FaultPlan) {
        self.lock().plans.insert(game.to_owned(), plan);
    }

    /// What struck so far, and how often.
    pub fn struck(&self) -> BTreeMap<String, u64> {
        self.lock().struck.clone()
    }

    /// A game has begun.
    pub(crate) fn begin(&self, game: &str) {
        let mut inner = self.lock();
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

    /// A game is over and nothing more can befall it.
    pub(crate) fn forget(&self, game: &str) {
        let mut inner = self.lock();
        inner.plans.remove(game);
        inner.calls.retain(|(_, at), _| at.as_deref() != Some(game));
    }

    pub(crate) fn behavior(&self, game: &str) -> OpponentBehavior {
        let inner = self.lock();
        inner
            .plans
            .get(game)
            .map_or(OpponentBehavior::Plain, |plan| plan.behavior)
    }

    /// The fault of a request; those of its game go first.
    pub(crate) fn take(&self, place: Endpoint, game: Option<&str>) -> Option<Fault> {
        let mut inner = self.lock();
        let own = game.map(|game| (place, Some(game.to_owned())));
        let taken = own
            .into_iter()
            .chain([(place, None)])
            .find_map(|key| inner.calls.get_mut(&key)?.pop_front());
        if let Some(fault) = &taken {
            let name = format!("{}: {}", place.name(), fault.name());
            inner.count(name);
        }
        taken
    }

    /// What comes down on a game that is at this phase.
    pub(crate) fn due(&self, game: &str, phase: GamePhase, ply: usize) -> Vec<Injection> {
        let mut inner = self.lock();
        let mut due = Vec::new();
        take_due(&mut inner.strikes, phase, ply, &mut due);
        let mut planned = Vec::new();
        if let Some(plan) = inner.plans.get_mut(game) {
            take_due(&mut plan.strikes, phase, ply, &mut planned);
        }
        let spacing = inner.mix.as_ref().map_or(Duration::ZERO, FaultMix::spacing);
        for injection in planned {
            if !is_wide(&injection) || inner.may_strike_all(spacing) {
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
        *self.struck.entry(name).or_default() += 1;
    }

    /// What strikes everyone is spaced, or the faults of many games would add up to a server that
    /// is never there.
    fn may_strike_all(&mut self, spacing: Duration) -> bool {
        let now = Instant::now();
        let may = self.wide.is_none_or(|last| now - last >= spacing);
        if may {
            self.wide = Some(now);
        }
        may
    }
}

fn take_due(strikes: &mut Vec<Trigger>, phase: GamePhase, ply: usize, due: &mut Vec<Injection>) {
    for trigger in strikes.iter_mut() {
        if trigger.phase == phase && trigger.ply <= ply && trigger.times > 0 {
            trigger.times -= 1;
            due.push(trigger.injection.clone());
        }
    }
    strikes.retain(|trigger| trigger.times > 0);
}

/// Whether every game feels it.
fn is_wide(injection: &Injection) -> bool {
    match injection {
        Injection::Call(place, _) => !place.is_of_a_game(),
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
    fn a_strike_waits_for_its_phase_and_ply_and_is_used_up() {
        let faults = Faults::default();
        let injection = Injection::Stream(Channel::Game, StreamFault::Break);
        let trigger = Trigger::at(GamePhase::OurTurn, injection.clone())
            .from_ply(4)
            .times(2);
        faults.trigger(trigger);
        assert!(faults.due("g", GamePhase::OurTurn, 3).is_empty());
        assert!(faults.due("g", GamePhase::TheirTurn, 5).is_empty());
        assert_eq!(faults.due("g", GamePhase::OurTurn, 4).len(), 1);
        assert_eq!(faults.strikes_left(), 1);
        assert_eq!(faults.due("h", GamePhase::OurTurn, 9), [injection]);
        assert!(faults.due("g", GamePhase::OurTurn, 9).is_empty());
        assert_eq!(faults.struck()["game: stream reset"], 2);
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
    fn what_is_planned_for_a_game_goes_with_it() {
        let faults = Faults::default();
        faults.add_at("g", Endpoint::Move, Fault::LoseRequest);
        faults.forget("g");
        assert_eq!(faults.take(Endpoint::Move, Some("g")), None);
    }
}
