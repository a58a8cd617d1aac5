//! Random faults from a seed: every game gets its own plan, the same for the same seed.

use std::time::Duration;

use super::kind::{Dice, DrawnFault, KindEntry, kinds};
use super::{OpponentBehavior, Trigger};

/// Minimum Lichess seconds between faults that affect all games: a client may open its event stream
/// twenty times in ten minutes.
const WIDE_SPACING: f64 = 60.0;
/// Maximum faults in a plan.
const MOST: u32 = 3;

/// The faults planned for one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Injections, each at its phase.
    pub triggers: Vec<Trigger>,
    /// How the opponent behaves.
    pub behavior: OpponentBehavior,
}

/// A seeded mix of kinds of faults.
#[derive(Clone, Debug)]
pub struct FaultMix {
    kinds: Vec<&'static KindEntry>,
    seed: u64,
    speed: u32,
    behavior: Option<OpponentBehavior>,
}

impl FaultMix {
    /// Parses "all", "none", or comma-separated names of kinds, for a server of this speed.
    ///
    /// # Errors The unknown name, with the known ones.
    pub fn parse(names: &str, seed: u64, server_speed: u32) -> Result<Self, String> {
        let find = |name: &str| {
            let mut kinds = kinds().iter();
            kinds.find(|kind| kind.name == name && kind.weight > 0)
        };
        let kinds = match names.trim() {
            "all" => kinds().iter().collect(),
            "none" | "" => Vec::new(),
            list => list
                .split(',')
                .map(str::trim)
                .map(|name| find(name).ok_or_else(|| unknown(name)))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            kinds,
            seed,
            speed: server_speed,
            behavior: None,
        })
    }

    /// No faults; every opponent behaves like this.
    pub(super) fn of_behavior(behavior: OpponentBehavior) -> Self {
        Self {
            kinds: Vec::new(),
            seed: 0,
            speed: 1,
            behavior: Some(behavior),
        }
    }

    /// The minimum time between two faults that affect all games.
    pub(super) fn spacing(&self) -> Duration {
        Duration::from_secs_f64(WIDE_SPACING) / self.speed.max(1)
    }

    /// The plan of the game with this number.
    pub fn plan(&self, number: u64) -> FaultPlan {
        let seed = self.seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut dice = Dice {
            random: fastrand::Rng::with_seed(seed),
            speed: self.speed,
        };
        let mut plan = FaultPlan {
            behavior: self.behavior.unwrap_or_default(),
            ..FaultPlan::default()
        };
        let total: u32 = self.kinds.iter().map(|kind| kind.weight).sum();
        if total == 0 {
            return plan;
        }
        for _ in 0..dice.random.u32(0..=MOST) {
            let mut ticket = dice.random.u32(0..total);
            let drawn = self.kinds.iter().find(|kind| {
                let hit = ticket < kind.weight;
                ticket = ticket.saturating_sub(kind.weight);
                hit
            });
            match drawn.map(|kind| (kind.draw)(&mut dice)) {
                Some(DrawnFault::Triggers(triggers)) => plan.triggers.extend(triggers),
                Some(DrawnFault::Behavior(behavior)) => plan.behavior = behavior,
                None => {}
            }
        }
        plan
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
    format!(
        "there is no fault {name:?}; use all, none, or some of: {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_plans_again_and_another_seed_others() {
        let plans = |seed| -> Vec<FaultPlan> {
            let mix = FaultMix::parse("all", seed, 60).unwrap();
            (0..50).map(|number| mix.plan(number)).collect()
        };
        assert_eq!(plans(1), plans(1));
        assert_ne!(plans(1), plans(2));
    }

    #[test]
    fn a_list_draws_from_its_kinds_only_and_nothing_draws_nothing() {
        let mix = FaultMix::parse("leaves, talks", 3, 1).unwrap();
        for number in 0..100 {
            let plan = mix.plan(number);
            assert!(plan.triggers.is_empty());
            assert!(
                [
                    OpponentBehavior::Plain,
                    OpponentBehavior::Leaves,
                    OpponentBehavior::Talks
                ]
                .contains(&plan.behavior)
            );
        }
        assert_eq!(
            FaultMix::parse("none", 3, 1).unwrap().plan(4),
            FaultPlan::default()
        );
        let complaint = FaultMix::parse("all,lost", 3, 1).unwrap_err();
        assert!(complaint.contains("\"all\"") && complaint.contains("lose-reply"));
    }

    #[test]
    fn every_kind_is_drawn_sometimes_and_every_plan_is_bounded() {
        let mix = FaultMix::parse("all", 11, 60).unwrap();
        let mut names = std::collections::BTreeSet::new();
        for number in 0..3000 {
            let plan = mix.plan(number);
            assert!(plan.triggers.len() <= 2 * MOST as usize);
            assert!(plan.triggers.iter().all(|trigger| trigger.times <= 3));
            names.extend(plan.triggers.iter().map(|trigger| trigger.injection.name()));
            names.insert(plan.behavior.name().to_owned());
        }
        for name in [
            "server restart",
            "ghost game",
            "burst of games",
            "an opponent who talks",
            "move: reply lost",
            "game: line torn off",
            "game: lines in wrong order",
            "events: lines in wrong order",
            "events: stream silent",
        ] {
            assert!(names.contains(name), "{name} of {names:?}");
        }
    }
}
