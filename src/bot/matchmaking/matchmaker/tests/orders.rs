//! Manual challenges: sent, waiting, or rejected with a reason.

use super::*;

#[test]
fn a_manual_challenge_ignores_idle_time_but_not_slots() {
    let mut world = World::new(Matchmaking::default());
    let order = |name: &str| ManualChallenge::new(name, None, &[Profile::default()]).unwrap();
    world.matchmaker.order(order("Someone")).unwrap();
    world.spare = 0;
    assert!(!world.offers_within(MINUTE * 10));
    (world.spare, world.games) = (1, 3);
    let offer = world.next_offer();
    assert_eq!(
        (offer.to.as_str(), offer.origin),
        ("someone", Initiator::Operator)
    );
    world.accept(&offer);
    assert!(
        !world.offers_within(MINUTE * 60),
        "a manual challenge is for one game"
    );
    assert_eq!(world.matchmaker.rechallenge(), Ok(user("someone")));
    assert_eq!(world.next_offer().to, user("someone"));
    assert_eq!(
        world.matchmaker.order(order("MEGATON")),
        Err(ManualChallengeError::Ourselves)
    );
}

#[test]
fn a_manual_challenge_that_fails_says_why_and_one_without_a_slot_waits() {
    let mut world = World::new(Matchmaking::default());
    let order = || ManualChallenge::new("Someone", None, &[]).unwrap();
    let someone = || user("someone");
    let unasked = |why: &str| MatchmakingEffect::Unasked(someone(), why.to_owned());
    let seen = |online| {
        AccountEvent::UsersSeen(vec![Presence {
            id: someone(),
            title: None,
            online,
            playing: false,
        }])
    };
    for (received, why) in [
        (AccountEvent::UsersSeen(Vec::new()), "no such account"),
        (seen(false), "not online"),
    ] {
        world.matchmaker.order(order()).unwrap();
        assert_eq!(
            world.pass(MINUTE),
            [MatchmakingEffect::Look(vec![someone()])]
        );
        assert_eq!(world.handle(&received), [unasked(why)]);
        assert!(!world.offers_within(MINUTE * 10), "{why}");
    }
    world.matchmaker.order(order()).unwrap();
    assert_eq!(
        world.pass(MINUTE),
        [MatchmakingEffect::Look(vec![someone()])]
    );
    world.spare = 0;
    assert_eq!(world.handle(&seen(true)), []);
    world.spare = 1;
    assert_eq!(
        world.pass(MINUTE),
        [MatchmakingEffect::Look(vec![someone()])]
    );
    assert_eq!(world.handle(&seen(false)).len(), 1);
    let later = START + world.passed + MINUTE * 60;
    world.directory.barred = Some((later, Denied::BotGames));
    world.matchmaker.order(order()).unwrap();
    assert_eq!(world.matchmaker.describe(), "waiting to challenge someone");
    assert_eq!(
        world.pass(MINUTE),
        [MatchmakingEffect::Look(vec![someone()])]
    );
    let spent = unasked("daily limit of bot games reached");
    assert_eq!(world.handle(&seen(true)), [spent]);
    world.directory.barred = Some((later, Denied::Pace));
    world.matchmaker.order(order()).unwrap();
    assert_eq!(
        world.pass(MINUTE),
        [MatchmakingEffect::Look(vec![someone()])]
    );
    assert!(matches!(
        world.handle(&seen(true))[..],
        [MatchmakingEffect::Create(_)]
    ));
    let refused = NotCreated::Refused("refused with status 400: friends only".to_owned());
    let said = unasked("refused with status 400: friends only");
    assert_eq!(
        world.handle(&AccountEvent::NotCreated(refused)),
        [said, MatchmakingEffect::Release]
    );
    world.directory.barred = None;
    world.matchmaker.order(order()).unwrap();
    let dropped = unasked("no new games accepted");
    assert_eq!(world.matchmaker.set_open(false), [dropped]);
}
