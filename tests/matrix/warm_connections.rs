//! TLS handshakes cost round trips, and none of them falls on our clock: whatever the server does
//! to idle connections, a move uses one that was open before our turn.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use megaton::lichess::{
    self, ChallengeOptions, Client, ClientOptions, ColorChoice, GameId, TimeControl, Token, UserId,
};

use crate::certificate_authority::Authority;
use crate::ending_calls::BARE;
use crate::guest::Guest;
use crate::harness::{BOT, SPEED, client, server, start_with, until};
use crate::tls_front::{Front, IDLE};

const NAME: &str = "warm_connections::no_handshake_falls_between_our_turn_and_our_move";
/// Tells the child where the system keeps whom it trusts.
const ROOTS: &str = "MEGATON_TEST_ROOTS";
/// Turns of ours that are looked at.
const TURNS: usize = 3;
/// Before this one the server closes the connection.
const CLOSING: usize = 1;

/// A turn of ours that is about to come.
#[derive(Debug)]
struct Turn {
    at: Instant,
    handshakes: usize,
}

/// The bot's client, which has to go through the door.
fn over_tls(front: &Front, token: &str) -> Client {
    let client = Client::new(ClientOptions {
        base_url: front.url.clone(),
        token: Token::parse(token, "the test").unwrap(),
        contact: None,
        timing: lichess::Timing::default().faster(SPEED),
    });
    client.unwrap()
}

/// A long game that the bot, whose king is bare, cannot end, and that random moves hardly end either.
async fn long_game(guest: &Guest, stand_in: &Client) -> GameId {
    let options = ChallengeOptions {
        color: ColorChoice::Black,
        time_control: TimeControl::Clock {
            limit: Duration::from_secs(1800),
            increment: Duration::from_secs(30),
        },
        ..ChallengeOptions::default()
    };
    let bot = UserId::new(BOT);
    let made = guest.client.create_challenge(&bot, &options).await;
    let game = made.unwrap().id.as_game();
    guest.brings(&game, stand_in, BARE).await;
    game
}

/// The guest thinks until the connection has been kept warm so often more.
async fn warmings(front: &Front, more: usize) {
    let before = front.warmed();
    until("the connection is kept warm", async || {
        front.warmed() >= before + more
    })
    .await;
}

async fn plays_over_tls(roots: &Path) {
    let authority = Authority::new();
    fs::write(roots, &authority.pem).unwrap();
    let server = server().await;
    let front = Front::before(&server, authority.certify("localhost")).await;
    let guest = Guest::new(&server, "Guest").await;
    let token = server.open_bot(BOT).unwrap();
    let game = long_game(&guest, &client(&server, &token)).await;
    let bot = start_with(over_tls(&front, &token), |_| {});
    let turns = RefCell::new(Vec::new());
    let think = async |_: usize| {
        let turn = turns.borrow().len();
        if turn == TURNS {
            // Where that is lost there is another turn.
            let _ = guest.client.resign(&game).await;
            return;
        }
        let begun = Instant::now();
        warmings(&front, 1).await;
        if turn == CLOSING {
            front.close_lane();
        }
        while begun.elapsed() < IDLE * 3 / 2 {
            warmings(&front, 1).await;
        }
        turns.borrow_mut().push(Turn {
            at: Instant::now(),
            handshakes: front.handshakes(),
        });
    };
    guest.plays_and(&game, think).await;
    let turns = turns.into_inner();
    assert_eq!(turns.len(), TURNS, "{turns:?}");
    let took = turns.iter().map(|turn| {
        let came = front.move_after(turn.at).expect("each has its move");
        assert!(came.over < turn.handshakes, "{came:?} after {turn:?}");
        came.over
    });
    let took: Vec<usize> = took.collect();
    assert!(took[CLOSING] > took[CLOSING - 1], "made anew: {took:?}");
    bot.is_at_rest().await;
    bot.end().await;
    server.shutdown().await;
}

#[test]
fn no_handshake_falls_between_our_turn_and_our_move() {
    if let Some(roots) = env::var_os(ROOTS) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        return runtime.block_on(plays_over_tls(Path::new(&roots)));
    }
    // Whom the system trusts stands in the environment, and only a child can be given another one.
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", NAME])
        .env(ROOTS, &roots)
        .env("SSL_CERT_FILE", &roots);
    for name in [
        "SSL_CERT_DIR",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        child.env_remove(name);
    }
    let ran = child.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let wrong = String::from_utf8_lossy(&ran.stderr);
    let passed = ran.status.success() && said.contains("1 passed");
    assert!(passed, "{said}{wrong}");
}
