//! Persistence through a kill: a child process writes and is killed at some moment; every
//! acknowledged write must be on disk.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use megaton::bot::{BotState, OpponentKind, StateRules};
use megaton::lichess::{ChallengeId, GameId, UserId};
use megaton::store::{GameMemory, Store};

/// Passes the folder to the child that writes.
const FOLDER: &str = "MEGATON_TEST_KEEPING";
/// How often the child is killed.
const KILLS: usize = 12;

fn state(folder: &std::path::Path) -> BotState {
    let (store, kept) = Store::open(folder).expect("the state can be read");
    BotState::new(store, kept, rules())
}

fn rules() -> StateRules {
    let mut rules = StateRules::default();
    rules.quota.bot_games = 1_000_000;
    rules.quota.challenge_credits = 1_000_000;
    rules
}

/// Not a test but the child of the one below: it spends, starts cooldowns and greets until it is
/// killed, and prints each acknowledged write.
#[tokio::test]
async fn a_child_that_writes() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let state = state(folder.as_ref());
    let from = state.budget().incoming;
    let foe = UserId::new("foe");
    let mut out = std::io::stdout().lock();
    for n in from.. {
        state.hold_accept(&ChallengeId::new(format!("game{n:05}")), &foe);
        state.cool(
            &format!("rest {n}"),
            Duration::from_secs(99),
            Duration::MAX,
            None,
        );
        state.update_game(&GameId::new(format!("game{n:05}")), |game| {
            game.greeted = true;
        });
        state.saved().await;
        writeln!(out, "kept {n}").expect("the parent listens");
        out.flush().expect("the parent listens");
    }
}

#[test]
fn whatever_was_acknowledged_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::new();
    let mut acknowledged = Vec::new();
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "persistence::a_child_that_writes", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = random.usize(1..40);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kept = lines.map_while(Result::ok).filter_map(|line| {
            let number = line.split("kept ").nth(1)?;
            number.trim().parse::<u32>().ok()
        });
        acknowledged.extend(kept.take(until));
        child.kill().unwrap();
        child.wait().unwrap();
        let state = state(folder.path());
        let written = state.budget().incoming;
        for n in &acknowledged {
            assert!(written > *n, "{written} games, and {n} is among them");
            let game = state.game(&GameId::new(format!("game{n:05}")));
            assert!(game.greeted, "greeting {n}");
            assert!(state.resting(&format!("rest {n}")).is_some(), "rest {n}");
        }
    }
    assert!(acknowledged.len() >= KILLS, "{}", acknowledged.len());
}

#[tokio::test]
async fn a_restart_changes_nothing_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let foe = UserId::new("Foe");
    let game = GameId::new("q7ZxVt2B");
    let before = {
        let state = state(folder.path());
        state.hold_challenge(OpponentKind::Bot, &foe);
        state.saved().await;
        state.bot_games_refused(Some(Duration::from_secs(9000)), Some(64));
        state.opponent_spent(&foe, Duration::from_secs(9000));
        state.accepted(&game.as_challenge(), &foe, true);
        state.no_show(&game, &foe, true);
        state.cool(
            "foe blitz",
            Duration::from_secs(3600),
            Duration::MAX,
            Some("later"),
        );
        state.set_note("colour", Some("black".into()));
        state.expect_game(&game);
        state.update_game(&game, |game| game.takebacks += 1);
        state.settle().await;
        (
            state.budget(),
            state.opponent(&foe),
            state.cooldown("foe blitz"),
        )
    };
    let state = state(folder.path());
    let after = (
        state.budget(),
        state.opponent(&foe),
        state.cooldown("foe blitz"),
    );
    assert_eq!(after, before);
    assert_eq!(state.budget().games, 64);
    assert_eq!(state.note("colour").as_deref(), Some("black"));
    let open: Vec<_> = state.open_games().into_iter().map(|g| g.game).collect();
    assert_eq!(open, std::slice::from_ref(&game));
    let expected = GameMemory {
        takebacks: 1,
        ..GameMemory::default()
    };
    assert_eq!(state.game(&game), expected);
}
