//! Games on a clock: every move legal, and no clock overstepped.

use super::{Hall, games, ourselves};

/// Twenty short games, one side in process, the other a child with two threads. The margin is for
/// a busy machine: `docs/strength.md` has the command for thousands of games without one.
#[test]
fn twenty_short_games_end_by_the_rules_and_in_time() {
    let hall = Hall::new();
    let (ourselves, journal) = (ourselves(), hall.text("games"));
    let ran = hall.contest(&[
        "self",
        &ourselves,
        "--b-option",
        "Threads=2",
        "--tc",
        "0.3+0.01",
        "--games",
        "20",
        "--concurrency",
        "2",
        "--margin",
        "2000",
        "--adjudicate",
        "off",
        "--journal",
        &journal,
    ]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(games(&hall.path("games")).len(), 20);
    for name in ["forfeits A", "forfeits B"] {
        assert_eq!(ran.field(name), "0 illegal, 0 crashes, 0 hangs, 0 on time");
    }
}
