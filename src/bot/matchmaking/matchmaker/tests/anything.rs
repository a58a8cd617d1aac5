//! Matchmaking under arbitrary events in any order: its invariants still hold.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Answer(u8),
    Seats(usize, usize),
    Order,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..400_u64).prop_map(Step::Pass),
        6 => (0..14_u8).prop_map(Step::Answer),
        1 => (0..2_usize, 0..3_usize).prop_map(|(spare, games)| Step::Seats(spare, games)),
        1 => Just(Step::Order),
    ]
}

/// One of the answers that may come at any time, expected or not.
fn answer(world: &World, kind: u8, last: &ChallengeRequest) -> AccountEvent {
    let ours = challenge("c", last);
    match kind {
        0 => AccountEvent::BotsListed(accounts(&world.bots)),
        1 => AccountEvent::BotsNotListed(None),
        2 => AccountEvent::UsersNotSeen,
        3 => AccountEvent::Created(Box::new(ours)),
        4 => AccountEvent::NotCreated(NotCreated::Lost),
        5 => AccountEvent::NotCreated(NotCreated::Refused("no".to_owned())),
        6 => AccountEvent::NotCreated(NotCreated::Limited(MINUTE)),
        7 => AccountEvent::Outgoing(Some(vec![ours])),
        8 => AccountEvent::Outgoing(None),
        9 => AccountEvent::ChallengeDone(ChallengeStatus::Declined),
        10 => AccountEvent::ChallengeDone(ChallengeStatus::Accepted),
        11 => AccountEvent::Event(Event::ChallengeDeclined(Box::new(ours))),
        12 => AccountEvent::Event(Event::GameStart(Box::new(game("c", &last.to)))),
        _ => AccountEvent::UsersSeen(
            world
                .bots
                .iter()
                .map(|(name, _)| Presence {
                    id: user(name),
                    title: None,
                    online: true,
                    playing: false,
                })
                .collect(),
        ),
    }
}

proptest! {
    #[test]
    fn no_two_challenges_come_within_the_spacing_nor_without_a_slot(
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        let mut world = World::enabled();
        let mut last = ChallengeRequest {
            to: user("near"),
            target: ChallengeTarget::Bot,
            profile: Profile::default(),
            color: ColorChoice::White,
            origin: Initiator::Rules,
        };
        let mut asked: Option<Duration> = None;
        for step in steps {
            let seats = world.spare;
            let effects = match step {
                Step::Pass(seconds) => world.pass(Duration::from_secs(seconds)),
                Step::Answer(kind) => {
                    let received = answer(&world, kind, &last);
                    world.handle(&received)
                }
                Step::Seats(spare, games) => {
                    (world.spare, world.games) = (spare, games);
                    world.held = world.held && spare == 0;
                    world.handle(&AccountEvent::Tick)
                }
                Step::Order => {
                    let order = ManualChallenge::new("boss", None, &[]).unwrap();
                    let _ = world.matchmaker.order(order);
                    world.handle(&AccountEvent::Tick)
                }
            };
            for effect in effects {
                if let MatchmakingEffect::Create(offer) = effect {
                    prop_assert!(seats > 0);
                    if let Some(before) = asked.replace(world.passed) {
                        prop_assert!(world.passed >= before + MINUTE);
                    }
                    last = *offer;
                }
            }
            if let Some(at) = world.matchmaker.next_timeout() {
                // Waking it at its timeout makes progress; it never requests a needless wake-up.
                let until = at.saturating_duration_since(world.begun + world.passed);
                prop_assert!(until <= Duration::from_secs(2 * 3600));
            }
        }
    }
}
