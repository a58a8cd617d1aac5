//! The log of the server's answers to our moves: each once, at the right level, with its game and
//! status; and none of them costs the game.

use std::time::Duration;

use crate::captured_log::CapturedLog;
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

/// The warnings about a game.
fn warnings(log: &CapturedLog, game: &str) -> Vec<String> {
    log.lines(|line| {
        let level = line.trim_start();
        let warns = level.starts_with("WARN") || level.starts_with("ERROR");
        warns && line.contains(&format!("game{{id={game}}}"))
    })
}

// A single thread, so that its log covers every task here.
#[tokio::test]
async fn every_answer_to_a_move_is_one_line_of_the_log_with_its_game_and_status() {
    let log = CapturedLog::default();
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
        let said = warnings(&log, game);
        assert_eq!(said.len(), 1, "{game}: {said:?}");
        assert!(said[0].contains(&status.to_string()), "{game}: {said:?}");
    }
    bot.stop().await;
}
