//! The review of a game on its page, and what the games against an opponent teach.

use megaton::archive::{Database, EndingRecord, Mistake, ReviewRecord};
use megaton::engine::Score;
use megaton::lichess::{Side, Status};

use super::archive::{drawn, drawn_but, ended};
use super::browser::{Browser, Screen};
use super::fixture::{World, local};
use super::{bounded, programs};

fn found(game: &str) -> ReviewRecord {
    ReviewRecord {
        game: game.to_owned(),
        at: 3000,
        program: "megaton".to_owned(),
        positions: 3,
        mistake: Some(Mistake {
            ply: 0,
            played: "e4".to_owned(),
            before: Score::Cp(20),
            after: Score::Cp(-180),
            better: "Nf3".to_owned(),
            better_uci: "g1f3".to_owned(),
            depth: 9,
            line: vec!["Nf3".to_owned(), "f6".to_owned()],
            refutation: vec!["e5".to_owned()],
        }),
        given_up: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_appears_on_an_open_page() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.db");
        let mut disk = Database::open(&file, 1).unwrap();
        let games = ["draw0001", "draw0002"].map(drawn);
        disk.commit(&games).unwrap();
        let house = World::open_on(&local(), Some(file)).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let url = format!("{}/game/draw0001", house.panel());
        browser.client.goto(&url).await.unwrap();
        page.until("document.querySelector('.state.playing')").await;
        assert_eq!(
            page.look("document.getElementById('review').hidden").await,
            true
        );
        // That of another game is none of its business.
        for game in ["draw0002", "draw0001"] {
            disk.keep_review(&found(game)).unwrap();
            house.event_log.reviewed(game);
        }
        page.until("!document.getElementById('review').hidden")
            .await;
        let said = page.text("#review-text").await;
        assert!(said.contains("Better Nf3 f6"), "{said}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_that_an_opponent_won_again_are_counted() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let games = ["lost0001", "lost0002", "lost0003"].map(|id| {
            drawn_but(id, |game| {
                game.ending = Some(EndingRecord {
                    winner: Some(Side::Black),
                    ..ended(Status::Resign, 900)
                });
            })
        });
        let house = World::keeping(&folder, &games).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let url = format!("{}/opponents", house.panel());
        browser.client.goto(&url).await.unwrap();
        page.until("document.querySelector('button.lines')").await;
        page.click("button.lines").await;
        page.until("document.querySelector('.lost-lines li')").await;
        let said = page.text(".lost-lines").await;
        assert_eq!(said, "lost 3 times as white in 1. e4 e5 …");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
