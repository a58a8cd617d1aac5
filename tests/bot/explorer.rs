//! The opening explorer: read while no game runs, checked by our search, and never in the way.

use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use futures::future::BoxFuture;
use megaton::engine::{EngineOptions, Evaluator, Pool};
use megaton::lichess::UserId;
use megaton::lookup::{
    BreakerSettings, EXPLORER_FILE, ExploredKey, ExploredPosition, Explorer, ExplorerHost,
    ExplorerRules, ExplorerTask,
};
use megaton::practice::{
    BodyShape, Endpoint, Fault, FaultReply, Options, Server as Practice, ServerHandle,
};
use megaton::rules::{Game, Move, Position};
use tokio::sync::watch;

use crate::running_bot::{Bot, GUARD, all_over};
use crate::test_server::Server;

/// A bot whose games the test starts and ends.
struct Host {
    plays: watch::Receiver<bool>,
    book: Vec<(Position, Move)>,
    regulars: Vec<UserId>,
    /// How often reading has begun.
    rounds: watch::Sender<u32>,
    /// The explorer that a game asks for moves whenever the plan asks for the book's.
    asks: OnceLock<Explorer>,
    /// Whether the game got its answer.
    answered: watch::Sender<Option<bool>>,
}

impl ExplorerHost for Host {
    fn quiet(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _ = self.plays.clone().wait_for(|plays| !plays).await;
        })
    }

    fn game(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _ = self.plays.clone().wait_for(|plays| *plays).await;
        })
    }

    fn book_moves(&self, position: &Position) -> Vec<Move> {
        if let Some(explorer) = self.asks.get().cloned() {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || sender.send(explorer.approved(&Game::default())));
            let answered = receiver.recv_timeout(GUARD).is_ok();
            self.answered.send_replace(Some(answered));
        }
        let known = self
            .book
            .iter()
            .filter(|(at, _)| at.key() == position.key());
        known.map(|(_, mv)| *mv).collect()
    }

    fn regulars(&self) -> BoxFuture<'_, Vec<UserId>> {
        self.rounds.send_modify(|rounds| *rounds += 1);
        Box::pin(async { self.regulars.clone() })
    }
}

fn rules() -> ExplorerRules {
    ExplorerRules {
        plies: 3,
        min_games: 20,
        loss: 200,
        nodes: 3000,
        age: 1000,
    }
}

/// Faster than any service would like, and closed for long after a failure.
fn pace() -> BreakerSettings {
    BreakerSettings {
        spacing: Duration::from_millis(1),
        failures: 1,
        pause: GUARD * 10,
        ..BreakerSettings::default()
    }
}

struct Reading {
    practice: ServerHandle,
    server: Server,
    explorer: Explorer,
    plays: watch::Sender<bool>,
    task: Arc<ExplorerTask<Host>>,
}

impl Reading {
    async fn with(folder: Option<&Path>, change: impl FnOnce(&mut Host)) -> Self {
        Self::keeping(1000, folder, change).await
    }

    /// Reading of so many positions at most.
    async fn keeping(
        capacity: usize,
        folder: Option<&Path>,
        change: impl FnOnce(&mut Host),
    ) -> Self {
        let practice = Practice::start(Options::default())
            .await
            .expect("a free port");
        practice.open_guest("Megaton", "lip_test");
        let server = Server::start().await;
        let (plays, seen) = watch::channel(false);
        let mut host = Host {
            plays: seen,
            book: Vec::new(),
            regulars: Vec::new(),
            rounds: watch::Sender::default(),
            asks: OnceLock::new(),
            answered: watch::Sender::default(),
        };
        change(&mut host);
        let explorer = Explorer::open(folder, capacity, rules().plies, rules().loss);
        let task = ExplorerTask {
            explorer: explorer.clone(),
            server: server
                .client()
                .explorer_server(practice.url(), GUARD)
                .expect("an address on this machine"),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                evaluator: Evaluator::classical(),
                ..EngineOptions::default()
            }),
            rules: rules(),
            pace: pace(),
            again: Duration::from_millis(1),
            host,
        };
        Self {
            practice,
            server,
            explorer,
            plays,
            task: Arc::new(task),
        }
    }

    /// Reads until this holds.
    async fn until(&self, holds: impl Fn(&Explorer) -> bool) {
        tokio::select! {
            () = self.task.run() => unreachable!("it reads for ever"),
            () = until(|| holds(&self.explorer)) => {}
        }
    }

    fn asked(&self) -> u64 {
        let calls = self.practice.traffic().calls;
        calls.get("explorer").copied().unwrap_or_default()
    }
}

/// Waits until this holds.
async fn until(holds: impl Fn() -> bool) {
    let seen = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(GUARD, seen).await.expect("in time");
}

/// Waits until the file holds what is known of the position after these moves.
async fn until_written(folder: &Path, explorer: &Explorer, line: &str) {
    let known = serde_json::to_string(&known(explorer, line)).expect("a line");
    let written = || std::fs::read_to_string(folder.join(EXPLORER_FILE));
    until(|| written().is_ok_and(|text| text.contains(&format!("{known}\n")))).await;
}

fn game(line: &str) -> Game {
    Game::from_uci_moves(line).expect("legal moves")
}

fn after(line: &str) -> Position {
    *game(line).position()
}

fn known(explorer: &Explorer, line: &str) -> Option<ExploredPosition> {
    explorer.get(&ExploredKey::new(&after(line), None))
}

fn is_checked(explorer: &Explorer, line: &str) -> bool {
    known(explorer, line).is_some_and(|known| known.checked.is_some())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_popular_move_that_loses_is_refused_and_sound_ones_are_approved() {
    let folder = tempfile::tempdir().unwrap();
    let reading = Reading::with(Some(folder.path()), |_| {}).await;
    reading.until(|explorer| is_checked(explorer, "g1f3")).await;
    let explored = known(&reading.explorer, "g1f3").unwrap();
    assert_eq!(explored.moves[0].uci, "f7f6");
    let checked = explored.checked.unwrap();
    assert!(checked.refused.contains(&"d7d5".to_owned()), "{checked:?}");
    assert!(checked.approved.contains(&"f7f6".to_owned()), "{checked:?}");
    let approved = reading.explorer.approved(&game("g1f3"));
    assert!(
        approved.iter().all(|mv| mv.to_string() != "d7d5"),
        "{approved:?}"
    );
    // A restart knows it all.
    until_written(folder.path(), &reading.explorer, "g1f3").await;
    let again = Explorer::open(Some(folder.path()), 1000, 2, rules().loss);
    until(|| is_checked(&again, "g1f3")).await;
    assert_eq!(again.approved(&game("g1f3")), approved);
    // It keeps the length of the opening that it was opened with, and what a move may cost: what was approved
    // with another cost is not.
    for (plies, loss) in [(1, rules().loss), (2, rules().loss - 1)] {
        let other = Explorer::open(Some(folder.path()), 1000, plies, loss);
        until(|| is_checked(&other, "g1f3")).await;
        assert_eq!(other.approved(&game("g1f3")), [], "{plies} {loss}");
    }
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_book_knows_is_not_asked() {
    let reading = Reading::with(None, |host| {
        let start = Position::default();
        let mv = start.parse_uci("g1f3").unwrap();
        host.book.push((start, mv));
        let knight = after("g1f3");
        let mv = knight.parse_uci("f7f6").unwrap();
        host.book.push((knight, mv));
    })
    .await;
    // White's start and Black's reply are in the book: the rest is read.
    reading
        .until(|explorer| is_checked(explorer, "g1f3 f7f6"))
        .await;
    assert!(!is_checked(&reading.explorer, ""));
    assert!(!is_checked(&reading.explorer, "g1f3"));
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_openings_of_a_regular_opponent_are_read_with_their_colour() {
    let regular = UserId::new("blastcap");
    let reading = Reading::with(None, |host| host.regulars.push(regular.clone())).await;
    let key = ExploredKey::new(&Position::default(), Some(&regular));
    reading.until(|explorer| explorer.get(&key).is_some()).await;
    let explored = reading.explorer.get(&key).unwrap();
    // The last line of the stream counts, not the first.
    assert_eq!(
        (explored.moves[0].uci.as_str(), explored.moves[0].games),
        ("g1f3", 413)
    );
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_positions_than_are_kept_are_not_read_over_and_over() {
    let reading = Reading::keeping(3, None, |_| {}).await;
    let mut rounds = reading.task.host.rounds.subscribe();
    let task = Arc::clone(&reading.task);
    let running = tokio::spawn(async move { task.run().await });
    // The second round begins where nothing is left to read.
    let done = tokio::time::timeout(GUARD, rounds.wait_for(|rounds| *rounds > 1)).await;
    done.expect("reading comes to an end").expect("it runs");
    assert_eq!(reading.asked(), 3);
    // The most frequent ones stay.
    assert!(is_checked(&reading.explorer, ""));
    running.abort();
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_while_a_game_runs() {
    let reading = Reading::with(None, |_| {}).await;
    reading.plays.send_replace(true);
    let task = Arc::clone(&reading.task);
    let running = tokio::spawn(async move { task.run().await });
    // It has seen the game; nothing else could make it ask.
    tokio::task::yield_now().await;
    assert_eq!(reading.asked(), 0);
    reading.plays.send_replace(false);
    until(|| reading.asked() > 0).await;
    running.abort();
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_gets_its_moves_while_the_plan_is_made() {
    let reading = Reading::with(None, |_| {}).await;
    let host = &reading.task.host;
    assert!(host.asks.set(reading.explorer.clone()).is_ok());
    let mut answered = host.answered.subscribe();
    let task = Arc::clone(&reading.task);
    let running = tokio::spawn(async move { task.run().await });
    let asked = tokio::time::timeout(GUARD * 2, answered.wait_for(Option::is_some)).await;
    let answered = *asked.expect("the book is asked").expect("it runs");
    assert_eq!(answered, Some(true));
    running.abort();
    reading.practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_of_the_explorer_closes_it_and_leaves_nothing_behind() {
    let limit = FaultReply::new(429, BodyShape::Limit { seconds: 60 });
    for fault in [
        Fault::Answer(FaultReply::new(200, BodyShape::Html)),
        Fault::Answer(FaultReply::new(200, BodyShape::Ok)),
        Fault::Answer(FaultReply::new(200, BodyShape::HalfJson)),
        Fault::Answer(limit),
        Fault::Refuse { status: 401 },
        Fault::Refuse { status: 502 },
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Lie,
    ] {
        let reading = Reading::with(None, |_| {}).await;
        reading
            .practice
            .faults()
            .add(Endpoint::Explorer, fault.clone());
        let task = Arc::clone(&reading.task);
        let running = tokio::spawn(async move { task.run().await });
        until(|| reading.practice.faults().faults_left() == 0 && reading.asked() > 0).await;
        // Long after the pace would admit the next one.
        tokio::time::sleep(pace().spacing * 50).await;
        assert_eq!(reading.asked(), 1, "{fault:?}");
        assert_eq!(known(&reading.explorer, ""), None, "{fault:?}");
        assert!(!running.is_finished(), "{fault:?}");
        running.abort();
        reading.practice.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_is_asked_again_after_a_fault_that_is_not_its_own() {
    for status in [401, 403, 502] {
        let mut reading = Reading::with(None, |_| {}).await;
        let task = Arc::get_mut(&mut reading.task).expect("it does not run yet");
        (task.pace.failures, task.pace.refused) = (3, Duration::from_millis(1));
        let faults = reading.practice.faults();
        faults.add(Endpoint::Explorer, Fault::Refuse { status });
        reading.until(|it| known(it, "").is_some()).await;
        reading.practice.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_plays_its_games_while_the_explorer_hangs_and_plays_what_was_approved() {
    let folder = tempfile::tempdir().unwrap();
    let reading = Reading::with(Some(folder.path()), |_| {}).await;
    reading.until(|explorer| is_checked(explorer, "")).await;
    until_written(folder.path(), &reading.explorer, "").await;
    let approved = reading.explorer.approved(&Game::default());
    assert!(!approved.is_empty());
    for _ in 0..50 {
        reading
            .practice
            .faults()
            .add(Endpoint::Explorer, Fault::Swallow);
    }
    let server = &reading.server;
    let url = reading.practice.url().to_owned();
    let bot = Bot::exploring(server, folder.path(), |settings| {
        settings.explorer.enabled = true;
        settings.explorer.url = url;
        settings.book.built_in = false;
    });
    // No game waits for the file: one that begins before it is read does without.
    let mut first = None;
    for n in 0..50 {
        let id = format!("g{n}");
        server.world().begin(&id, true, 6);
        all_over(server).await;
        first = server.world().rounds[&id].game.moves().first().copied();
        if first.is_some_and(|first| approved.contains(&first)) {
            break;
        }
    }
    let is_approved = first.is_some_and(|first| approved.contains(&first));
    assert!(is_approved, "{first:?} of {approved:?}");
    bot.stop().await;
    reading.practice.shutdown().await;
}
