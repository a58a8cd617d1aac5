//! The network between the bot and the server vanishes and comes back, is another protocol, or the
//! machine of the bot stands still or changes its clock: no game is lost.

use std::env;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use megaton::bot::{BotState, StateRules};
use megaton::practice::{Event, ServerHandle};
use megaton::store::Store;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::{
    BOT, GUARD, Running, SPEED, client_at, remembering, run_all, schedule, server, start_with,
    until,
};

const STOPPED: &str = "network::a_bot_that_is_stopped_for_minutes_plays_on";
/// Tell the child what to play on.
const URL: &str = "MEGATON_TEST_URL";
const TOKEN: &str = "MEGATON_TEST_TOKEN";

/// The wire between the bot and the server.
struct Wire {
    url: String,
    gone: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Wire {
    /// None where the machine has no such address.
    async fn before(server: &ServerHandle, address: &str) -> Option<Self> {
        let listener = TcpListener::bind(address).await.ok()?;
        let url = format!("http://{}", listener.local_addr().unwrap());
        let to: SocketAddr = server.url().trim_start_matches("http://").parse().unwrap();
        let gone = watch::Sender::new(false);
        let vanishing = gone.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                connections.spawn(carry(near, to, vanishing.subscribe()));
            }
        });
        Some(Self { url, gone, task })
    }
}

/// Carries a connection. Where it was open while the network was gone, nothing comes any more, not
/// even its end.
async fn carry(mut near: TcpStream, to: SocketAddr, mut gone: watch::Receiver<bool>) {
    let mut far = TcpStream::connect(to).await.unwrap();
    let vanishes = async {
        let _ = gone.wait_for(|gone| *gone).await;
    };
    tokio::select! {
        biased;
        () = vanishes => std::future::pending().await,
        _ = copy_bidirectional(&mut near, &mut far) => {}
    }
}

/// Until a game has come so far.
async fn comes_to(server: &ServerHandle, half_moves: usize) {
    let mut news = server.events();
    loop {
        if let Event::Moved { ply, .. } = news.recv().await.unwrap()
            && ply >= half_moves
        {
            return;
        }
    }
}

/// Two games, one after the other, and what happens in the first of them.
async fn plays_through(server: &ServerHandle, happens: impl Future<Output = ()>) {
    let games = server.play(BOT, schedule(2, 1), CancellationToken::new());
    let both = async { tokio::join!(games, happens) };
    let (report, ()) = tokio::time::timeout(GUARD, both).await.expect("it goes on");
    assert!(report.is_clean(), "{report}");
}

async fn ends(bot: Running) {
    bot.is_at_rest().await;
    bot.end().await;
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / SPEED
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_vanishes_for_a_while_costs_no_game() {
    run_all([5, 20, 60], async |span| {
        let server = server().await;
        let token = server.open_bot(BOT).unwrap();
        let wire = Wire::before(&server, "127.0.0.1:0").await.unwrap();
        let bot = start_with(client_at(&wire.url, &token), |_| {});
        until("it is online", async || server.is_online(BOT)).await;
        plays_through(&server, async {
            comes_to(&server, 4).await;
            wire.gone.send_replace(true);
            tokio::time::sleep(seconds(span)).await;
            wire.gone.send_replace(false);
        })
        .await;
        ends(bot).await;
        server.shutdown().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bot_plays_over_the_other_protocol() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let Some(wire) = Wire::before(&server, "[::1]:0").await else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: this machine has no IPv6");
        return;
    };
    assert!(wire.url.starts_with("http://[::1]:"), "{}", wire.url);
    let bot = start_with(client_at(&wire.url, &token), |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    plays_through(&server, async {}).await;
    ends(bot).await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_by_hours_costs_no_game() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let hours = Arc::new(AtomicI64::new(100));
    let (begun, jumped) = (SystemTime::now(), Arc::clone(&hours));
    let clock = move || {
        let hours = u64::try_from(jumped.load(Ordering::Relaxed)).unwrap();
        begun + Duration::from_secs(hours * 3600)
    };
    let (store, kept) = Store::nowhere();
    let state = BotState::with_clock(store, kept, StateRules::default(), Arc::new(clock));
    let bot = remembering(client_at(server.url(), &token), state, |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    plays_through(&server, async {
        for (half_moves, jump) in [(3, 5), (5, -11), (7, 30), (9, -90)] {
            comes_to(&server, half_moves).await;
            hours.fetch_add(jump, Ordering::Relaxed);
        }
    })
    .await;
    ends(bot).await;
    server.shutdown().await;
}

/// A process of its own with a bot in it, which can be stopped.
struct Stoppable(Child);

impl Drop for Stoppable {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stoppable {
    fn start(server: &ServerHandle, token: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap());
        child
            .args(["--exact", STOPPED])
            .env(URL, server.url())
            .env(TOKEN, token)
            .stdout(Stdio::null());
        Self(child.spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.0.id());
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_stopped_for_minutes_plays_on() {
    if let (Ok(url), Ok(token)) = (env::var(URL), env::var(TOKEN)) {
        // The child: it plays until it is killed.
        return start_with(client_at(&url, &token), |_| {})
            .task
            .await
            .unwrap();
    }
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let bot = Stoppable::start(&server, &token);
    until("it is online", async || server.is_online(BOT)).await;
    plays_through(&server, async {
        comes_to(&server, 4).await;
        bot.signal("STOP");
        // Two of the three minutes on its clock.
        tokio::time::sleep(seconds(120)).await;
        bot.signal("CONT");
    })
    .await;
    drop(bot);
    server.shutdown().await;
}
