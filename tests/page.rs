//! The practice page in a headless browser, where a person plays the bot to the end, and the
//! operator's page, in a browser and without.
//!
//! What needs Chromium and its driver says SKIPPED and passes where they are not installed.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

#[path = "page/access.rs"]
mod access;
#[path = "page/accessibility.rs"]
mod accessibility;
#[path = "page/analysis.rs"]
mod analysis;
#[path = "page/appearance.rs"]
mod appearance;
#[path = "page/archive.rs"]
mod archive;
#[path = "page/board.rs"]
mod board;
#[path = "page/browser.rs"]
mod browser;
#[path = "page/events.rs"]
mod events;
#[path = "page/fixture.rs"]
mod fixture;
#[path = "page/game.rs"]
mod game;
#[path = "page/live.rs"]
mod live;
#[path = "page/load.rs"]
mod load;
#[path = "page/panel.rs"]
mod panel;
#[path = "page/play.rs"]
mod play;
#[path = "page/review.rs"]
mod review;
#[path = "page/session.rs"]
mod session;
#[path = "page/visitor.rs"]
mod visitor;

use std::future::Future;
use std::io::Write;
use std::time::Duration;

use browser::{Browser, Programs, Screen};
use fantoccini::key::Key;
use fixture::World;
use serde_json::json;
use visitor::{OVER, Visitor};

/// A guard against hanging, far above what a game takes.
const GUARD: Duration = Duration::from_secs(180);

/// No game between a bot that sees a little and a visitor that sees nothing lasts longer.
const MOVES_AT_MOST: usize = 200;

fn programs() -> Option<Programs> {
    let found = browser::installed();
    if found.is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED the page in a browser: chromium and chromedriver are not installed"
        );
    }
    found
}

async fn bounded(test: impl Future<Output = ()>) {
    let ended = tokio::time::timeout(GUARD, test).await;
    ended.expect("the test ends within its guard");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_plays_the_bot_to_the_end_and_again() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open_moving(&programs, Screen::Desk).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        visitor.begin("white").await;

        visitor.drag("e2", "e4").await;
        visitor.await_answer(1).await;
        assert_eq!(visitor.moves().await[0], "e4");

        play_on(&visitor).await;
        the_result_is_told(&visitor).await;
        the_game_can_be_walked_through(&visitor).await;
        a_rematch_turns_the_board(&visitor).await;

        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Plays on to the end of the game; the list of moves grows with every move.
async fn play_on(visitor: &Visitor<'_>) {
    for _ in 0..MOVES_AT_MOST {
        if visitor.look(&format!("Boolean({OVER})")).await == json!(true) {
            return;
        }
        let listed = visitor.moves().await.len();
        visitor.click_some_move().await;
        visitor.await_answer(listed + 1).await;
        assert!(visitor.moves().await.len() > listed, "a move is listed");
    }
    panic!("the game does not end");
}

async fn the_result_is_told(visitor: &Visitor<'_>) {
    let headline = visitor.text("#say .headline").await;
    let reason = visitor.text(".verdict span").await;
    assert!(!headline.is_empty() && !reason.is_empty());
    let exploded = visitor.look("document.querySelectorAll('.move.exploded').length");
    let exploded = exploded.await.as_u64().unwrap();
    // A mate may come before the first capture.
    let moves = visitor.moves().await;
    let captures = moves.iter().filter(|mv| mv.contains('x')).count() as u64;
    assert_eq!(exploded, captures, "{moves:?}");
    visitor
        .until(&format!("window.blastsSeen >= {exploded}"))
        .await;
    if reason.contains("exploded") {
        visitor
            .until("document.querySelectorAll('#board .piece:not(.burning) use[href$=king]').length === 1")
            .await;
    }
}

async fn the_game_can_be_walked_through(visitor: &Visitor<'_>) {
    let current = "document.querySelector('.move[aria-current]')?.dataset.ply ?? '0'";
    let pieces = "document.querySelectorAll('#board .piece').length";
    visitor.keys(&[Key::Home]).await;
    visitor
        .until(&format!("{pieces} === 32 && ({current}) === '0'"))
        .await;
    visitor.keys(&[Key::Right, Key::Right, Key::Left]).await;
    visitor.until(&format!("({current}) === '1'")).await;
    visitor.keys(&[Key::End]).await;
    let last = visitor.moves().await.len();
    visitor.until(&format!("({current}) === '{last}'")).await;
}

async fn a_rematch_turns_the_board(visitor: &Visitor<'_>) {
    visitor.press("Rematch").await;
    visitor
        .until("document.querySelector('#board .square').dataset.square === 'h1'")
        .await;
    visitor
        .until("document.querySelectorAll('.move').length === 1 && document.querySelector('#board .movable')")
        .await;
    visitor.type_move("a7", &[Key::Up, Key::Up]).await;
    visitor.await_answer(2).await;
    let moves = visitor.moves().await;
    assert_eq!(moves.get(1).map(String::as_str), Some("a5"), "{moves:?}");
    visitor.resign().await;
    assert_eq!(visitor.text(".verdict span").await, "Black resigned");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_fits_a_phone() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Phone).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        visitor.begin("white").await;
        let fits = "document.documentElement.scrollWidth <= 360";
        assert_eq!(visitor.look("innerWidth").await, json!(360));
        assert_eq!(visitor.look(fits).await, json!(true));
        let board = visitor
            .look("document.querySelector('#board').clientWidth")
            .await;
        assert!(board.as_u64() >= Some(320), "the board is {board} wide");

        for listed in [0, 2] {
            visitor.click_some_move().await;
            visitor.await_answer(listed + 1).await;
        }
        assert_eq!(visitor.look(fits).await, json!(true));
        if visitor.look(&format!("Boolean({OVER})")).await == json!(false) {
            visitor.resign().await;
        }
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
