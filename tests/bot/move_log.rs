//! The log of the server's answers to our moves: each once, at the right level, with its game and
//! status; and none of them costs the game.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

use crate::running_bot::{Bot, GUARD, all_over, patient};
use crate::test_server::{MoveFault, Server};
use crate::whole_bot::HTML;

/// A game for each answer: its id, without digits, the status, and the text.
const ANSWERS: [(&str, u16, &str); 13] = [
    ("turn", 400, "Not your turn, or game already over"),
    ("piece", 400, "Piece on e2 cannot move to e5"),
    ("token", 401, "No such token"),
    ("scope", 403, "Missing scope: bot:play"),
    ("proxy", 403, HTML),
    ("unknown", 404, "No such game"),
    ("rate", 429, "Too many requests. Try again later."),
    ("broken", 500, "Something went wrong"),
    ("gateway", 502, HTML),
    // Answers outside the protocol.
    ("page", 200, HTML),
    ("elsewhere", 302, "Found"),
    ("teapot", 418, "I am a teapot"),
    // Succeeds when repeated without the name in the user agent, which is dropped from then on.
    ("name", 401, "No such token"),
];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic here").write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Captures the log of a thread while it lives. Of a log line that is reached for the first time,
/// tracing remembers whether it is of interest. With one subscriber alone it asks the thread that
/// reached it, which may be another test's and have none; with two it asks both.
struct Capture {
    _this_thread: DefaultGuard,
    _other: Dispatch,
}

impl Log {
    /// Captures this thread's log until the guard is dropped.
    fn of_this_thread(&self) -> Capture {
        let other = Dispatch::new(NoSubscriber::default());
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_writer(move || log.clone())
            .finish();
        Capture {
            _this_thread: tracing::subscriber::set_default(subscriber),
            _other: other,
        }
    }

    /// The warnings about a game.
    fn warnings(&self, game: &str) -> Vec<String> {
        let said = self.0.lock().expect("no panic here").clone();
        let said = String::from_utf8(said).expect("text");
        let level = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("WARN") || line.starts_with("ERROR")
        };
        let about = |line: &&str| line.contains(&format!("game{{id={game}}}"));
        let lines = said.lines().filter(level).filter(about);
        lines.map(str::to_owned).collect()
    }
}

// A single thread, so that its log covers every task here.
#[tokio::test]
async fn every_answer_to_a_move_is_one_line_of_the_log_with_its_game_and_status() {
    let log = Log::default();
    let _log = log.of_this_thread();
    let mut server = Server::start().await;
    server.timing.rate_limit = Duration::from_millis(100);
    // However slow the machine is, these games cause no other log lines.
    server.timing.move_call = GUARD;
    let bot = Bot::paced(&server, &patient(), |_| {});
    for (game, status, text) in ANSWERS {
        let fault = MoveFault::Instead(status, text);
        // A 401 may be due to the bot's name, and is retried without it.
        let times = if game == "token" { 2 } else { 1 };
        // A log line that another test reached first, just while the subscriber was set, would be
        // remembered as of interest to no one.
        tracing::callsite::rebuild_interest_cache();
        {
            let mut world = server.world();
            world.move_faults.extend(vec![fault; times]);
            world.begin(game, true, 6);
        }
        all_over(&server).await;
        assert!(server.world().move_faults.is_empty(), "{game}: it was met");
        let said = log.warnings(game);
        assert_eq!(said.len(), 1, "{game}: {said:?}");
        assert!(said[0].contains(&status.to_string()), "{game}: {said:?}");
    }
    bot.stop().await;
}
