//! Every challenge under any rules gets a sensible verdict.

use std::time::Duration;

use megaton::bot::{Availability, ChallengeRule, Decision, OpponentHistory};
use megaton::config::{ColorWish, Visitors};
use megaton::lichess::{
    ChallengeStatus, ColorChoice, Compat, DeclineReason, GameId, Player, Side, TimeControl, Variant,
};
use proptest::prelude::*;

use crate::challenges::{Case, bot, names, player};
use crate::harness::ME;

fn seconds() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..400_u64).prop_map(Duration::from_secs),
        2 => (0..20_000_u64).prop_map(Duration::from_secs),
        1 => any::<u64>().prop_map(Duration::from_secs),
    ]
}

fn time() -> impl Strategy<Value = TimeControl> {
    prop_oneof![
        6 => (seconds(), seconds())
            .prop_map(|(limit, increment)| TimeControl::Clock { limit, increment }),
        2 => any::<u32>().prop_map(|days| TimeControl::Correspondence { days }),
        1 => Just(TimeControl::Unlimited),
        1 => Just(TimeControl::Unknown),
    ]
}

fn visitors() -> impl Strategy<Value = Visitors> {
    let bools = prop::array::uniform8(prop::bool::weighted(0.8));
    let times = prop::array::uniform5(seconds());
    let numbers = prop::array::uniform10(prop_oneof![0..20_u32, 0..4000_u32, any::<u32>()]);
    let listed = prop::sample::subsequence(vec!["bullet", "rapid", "3+2", "0+1"], 0..4);
    (bools, times, numbers, listed).prop_map(|(yes, times, n, listed)| Visitors {
        accept: yes[0],
        rated: yes[1],
        casual: yes[2],
        provisional: yes[3],
        correspondence: yes[4],
        unlimited: yes[5],
        bullet_needs_increment: !yes[6],
        color: if yes[7] {
            ColorWish::Any
        } else {
            ColorWish::White
        },
        min_base: times[0] / 100,
        max_base: times[1],
        min_increment: times[2] / 100,
        max_increment: times[3],
        max_duration: times[4],
        times: (listed.iter())
            .map(|rule| rule.parse().expect("a rule"))
            .collect(),
        min_rating: n[0],
        max_rating: n[1],
        max_rating_difference: n[2],
        min_days: n[3],
        max_days: n[4],
        at_once: n[5],
        repeats: n[6],
        rematches: n[7],
        per_day: n[8],
        total_per_day: n[9],
        ..Visitors::default()
    })
}

fn case() -> impl Strategy<Value = Case> {
    let who = (0..4_u8, prop::option::of(any::<i32>()), any::<bool>());
    let what = (
        prop::bool::weighted(0.8),
        any::<bool>(),
        time(),
        prop::option::of(any::<bool>()),
        prop::sample::subsequence(vec!["noAbort", "noRematch", "\u{0}"], 0..3),
        any::<bool>(),
    );
    let house = (
        prop::array::uniform5(0..30_u32),
        0..6_u8,
        any::<bool>(),
        prop::option::of(any::<i32>()),
        prop::array::uniform3(prop::bool::weighted(0.3)),
    );
    (who, what, visitors(), house).prop_map(|(who, what, rules, house)| {
        let mut case = Case::new();
        let mut challenger = match who.0 {
            0 => None,
            1 => Some(bot("nuke")),
            2 => Some(bot(ME)),
            _ => Some(player("blastcap")),
        };
        if let Some(challenger) = &mut challenger {
            challenger.rating = who.1;
            challenger.provisional = who.2;
        }
        case.asked.challenger = challenger;
        let (atomic, rated, time, compat, special, white) = what;
        if !atomic {
            case.asked.variant = Variant::Horde;
        }
        case.asked.rated = rated;
        case.asked.time_control = time;
        case.asked.rules = special.into_iter().map(str::to_owned).collect();
        case.asked.final_color = Some(if white { Side::White } else { Side::Black });
        case.asked.color = ColorChoice::Random;
        case.asked.rematch_of = rated.then(|| GameId::new("old"));
        case.compat = compat.map(|bot| Compat { bot, board: true });
        case.rules.humans = rules.clone();
        case.rules.bots = rules;
        let (n, open, rests, rating, listed) = house;
        case.past = OpponentHistory {
            at_once: n[0],
            lately: n[1],
            rematches: n[2],
            today: n[3],
            kind_today: n[4],
            rests: n[0] == 7,
        };
        case.open = match open {
            0 => Availability::Full,
            1 => Availability::BotsSpent,
            2 => Availability::Draining,
            3 => Availability::Paused,
            _ => Availability::Open,
        };
        case.rated_rests = rests;
        case.rating = rating;
        let [blocked, allowing, welcome] = listed;
        if blocked {
            case.rules.block = names(&["NUKE", "BlastCap"]);
        }
        if allowing {
            case.rules.allow = names(&["nuke"]);
        }
        if welcome {
            case.rules.welcome = names(&["blastcap"]);
        }
        case
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_challenge_has_a_verdict_that_makes_sense(mut case in case()) {
        let verdict = case.judge();
        prop_assert!(verdict.violations.is_sorted_by_key(|violation| violation.rule));
        let first = verdict.decided_by().map(|violation| violation.rule);
        match verdict.decision {
            Decision::Accept => prop_assert_eq!(first, None),
            Decision::Ignore => prop_assert_eq!(first, Some(ChallengeRule::OurOwn)),
            Decision::Decline(reason) => {
                prop_assert!(first.is_some() && reason != DeclineReason::Unknown);
            }
        }
        // An accepted challenge is atomic, allowed by Lichess, from a permitted challenger.
        if verdict.decision == Decision::Accept {
            prop_assert_eq!(case.asked.variant, Variant::Atomic);
            prop_assert_eq!(case.open, Availability::Open);
            prop_assert!(case.compat.is_none_or(|compat| compat.bot));
            prop_assert!(!case.is_blocked(), "a block list wins over every other");
            prop_assert!(!(case.rated_rests && case.asked.rated));
        }
        // One more slot changes nothing but the lack of a slot.
        if case.open == Availability::Full && verdict.decision != Decision::Ignore {
            case.open = Availability::Open;
            let seated = case.judge();
            let rest = &verdict.violations[..verdict.violations.len() - 1];
            prop_assert_eq!(&seated.violations[..], rest);
            let only = seated.decision == Decision::Accept;
            prop_assert_eq!(verdict.lacks(ChallengeRule::NoSlot), only);
        }
        // Being welcome never hurts, and being blocked is final.
        let mut welcomed = case.clone();
        welcomed.rules.welcome = names(&["nuke", "blastcap"]);
        if verdict.decision == Decision::Accept {
            prop_assert_eq!(welcomed.judge().decision, Decision::Accept);
        }
        welcomed.rules.block = names(&["Nuke", "BLASTCAP"]);
        let named = |player: &Player| player.id.as_ref().is_some_and(|id| id.as_str() != ME);
        if welcomed.asked.challenger.as_ref().is_some_and(named) {
            let blocked = welcomed.judge();
            prop_assert!(matches!(blocked.decision, Decision::Decline(_)));
            prop_assert!(blocked.violations.iter().any(|o| o.rule == ChallengeRule::Blocked));
        }
        // A closed challenge is ignored.
        case.asked.status = ChallengeStatus::Canceled;
        prop_assert_eq!(case.judge().decision, Decision::Ignore);
    }
}
