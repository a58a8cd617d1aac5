//! Games under every kind of fault: none is lost by a fault of the bot.

use super::program::megaton;

#[test]
fn games_under_every_fault_are_not_lost_by_bot_faults() {
    // Slower than the command's own speed: this shares its cores with other tests.
    let ran = megaton(&["soak", "--games", "60", "--speed", "20", "--seed", "3"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    for said in [
        "60 of 60 games: ",
        "lost by the bot's fault: 0",
        "excused by a machine that stood still: ",
        "faults that struck: ",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn a_soak_reports_results_and_fault_kinds() {
    let ran = megaton(&["soak", "--games", "8", "--faults", "lose-reply,break"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("8 of 8 games: "), "{}", ran.stdout);
    let list = megaton(&["soak", "--list-faults"]);
    assert!(list.stdout.lines().count() >= 40, "{}", list.stdout);
    let wrong = megaton(&["soak", "--faults", "earthquake"]);
    assert_eq!(wrong.status, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("there is no fault \"earthquake\""));
}
