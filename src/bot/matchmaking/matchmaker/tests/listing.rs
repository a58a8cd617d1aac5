//! How often the bot fetches the list of online bots.

use super::*;

/// When the list was fetched within this time, if every challenge fails.
fn askings(world: &mut World, time: Duration) -> Vec<Duration> {
    let mut asked = Vec::new();
    let end = world.passed + time;
    while world.passed < end {
        let mut effects = world.pass(Duration::from_secs(10));
        loop {
            if effects == [MatchmakingEffect::List] {
                asked.push(world.passed);
            }
            match world.answer(&effects) {
                Some(next) => effects = next,
                None => break,
            }
        }
        if let [MatchmakingEffect::Create(_)] = effects.as_slice() {
            world.handle(&AccountEvent::NotCreated(NotCreated::NoSeat));
            (world.held, world.spare) = (false, 1);
        }
    }
    asked
}

#[test]
fn the_online_bots_are_fetched_at_most_every_half_hour() {
    let mut world = World::enabled();
    let asked = askings(&mut world, MINUTE * 240);
    let apart = |pair: &[Duration]| pair[0] + MINUTE * 30 <= pair[1];
    assert!(asked.len() >= 2 && asked.windows(2).all(apart), "{asked:?}");
}

#[test]
fn with_no_candidate_left_they_are_fetched_every_ten_minutes_at_most() {
    let mut world = World::enabled();
    world.bots.clear();
    let asked = askings(&mut world, MINUTE * 240);
    let apart = |pair: &[Duration]| pair[0] + MINUTE * 10 <= pair[1];
    assert!(asked.len() >= 2 && asked.windows(2).all(apart), "{asked:?}");
}
