//! The operator's page in a browser: games come and go on it, are replayed, and are steered.

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::json;

use super::browser::{Browser, Screen};
use super::house::{House, PASSWORD, locked};
use super::visitor::Visitor;
use super::{bounded, programs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_are_watched_replayed_and_looked_up() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = House::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = Visitor {
            client: &browser.client,
        };
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('.state.playing')").await;
        page.until("document.querySelector('.idle-card h2')").await;
        let watching = async {
            live_boards_move(&page).await;
            page.until("document.querySelectorAll('#recent tbody tr').length >= 2")
                .await;
            a_game_is_followed(&page).await;
        };
        house.spar_while(2, watching).await;
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelectorAll('#recent tbody tr').length >= 2")
            .await;
        page.until("document.querySelectorAll('#challenges .verdict-mark.accepted').length >= 2")
            .await;
        assert_eq!(
            page.text("#health .health-row.good dt").await,
            "Event stream"
        );
        let first = "document.querySelector('#recent a').href";
        let game = page.look(first).await;
        browser.client.goto(game.as_str().unwrap()).await.unwrap();
        a_game_is_replayed(&page).await;
        let opponents = format!("{}/opponents", house.panel());
        browser.client.goto(&opponents).await.unwrap();
        page.until("document.querySelectorAll('#opponents tbody tr').length >= 1")
            .await;
        let games = format!("{}/games?color=white", house.panel());
        browser.client.goto(&games).await.unwrap();
        page.until("document.querySelector('#games table, #games p')")
            .await;
        assert_eq!(
            page.look("document.querySelector('#f-color').value").await,
            json!("white")
        );
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Cards appear by themselves, men move, clocks run, thoughts are shown.
async fn live_boards_move(page: &Visitor<'_>) {
    page.until("document.querySelectorAll('.card').length >= 2")
        .await;
    page.until("document.querySelector('.card .square.last')")
        .await;
    page.until("document.querySelector('.card .clock.running')")
        .await;
    page.until("document.querySelector('.card .line b').textContent.length > 2")
        .await;
    page.until("[...document.querySelectorAll('.card .fact dd')].some((fact) => /\\d+\\/\\d+/.test(fact.textContent))")
        .await;
    let bars = "[...document.querySelectorAll('.eval-bar')].map((bar) => bar.getAttribute('aria-label')).join()";
    page.until(&format!("/ahead|level|mates/.test({bars})"))
        .await;
}

/// The page of a running game takes new moves by itself.
async fn a_game_is_followed(page: &Visitor<'_>) {
    let link = page
        .look("document.querySelector('.card:not(.over) .card-link').href")
        .await;
    page.client.goto(link.as_str().unwrap()).await.unwrap();
    // It may have been over by the time that somebody clicked.
    page.until(
        "document.querySelectorAll('.move').length > 2 || document.querySelector('.verdict')",
    )
    .await;
    let listed = page.moves().await.len();
    page.until(&format!(
        "document.querySelectorAll('.move').length > {listed} || document.querySelector('.verdict')"
    ))
    .await;
}

async fn a_game_is_replayed(page: &Visitor<'_>) {
    page.until("document.querySelector('.verdict')").await;
    let current = "document.querySelector('.move[aria-current]')?.dataset.ply ?? '0'";
    let men = "document.querySelectorAll('#board .man').length";
    page.keys(&[Key::Home]).await;
    page.until(&format!("{men} === 32 && ({current}) === '0'"))
        .await;
    page.keys(&[Key::Right, Key::Right, Key::Left]).await;
    page.until(&format!("({current}) === '1'")).await;
    page.keys(&[Key::End]).await;
    let last = page.moves().await.len();
    page.until(&format!("({current}) === '{last}'")).await;
    for graph in ["#score-graph .graph-line", "#clock-graph .clock-line.white"] {
        page.until(&format!("document.querySelector('{graph}')"))
            .await;
    }
    page.click("#score-graph").await;
    page.until(&format!("({current}) !== '{last}' && document.querySelector('#score-graph .cursor').style.left !== '100%'"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_knows_the_password_steers_from_a_phone() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = House::open_with(&locked(folder.path())).await;
        let browser = Browser::open(&programs, Screen::Phone).await;
        let page = Visitor {
            client: &browser.client,
        };
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('.state.playing')").await;
        let steering = async {
            page.until("document.querySelector('.card .square.last')")
                .await;
            fits(&page).await;
            let steer = "//header//button[contains(., 'Steer')]";
            press(&page, steer).await;
            let field = page
                .client
                .find(Locator::Css(".desk input[type=password]"))
                .await;
            field.unwrap().send_keys(PASSWORD).await.unwrap();
            press(&page, "//dialog//button[contains(., 'Come in')]").await;
            press(&page, "//dialog//button[contains(., 'Pause')]").await;
            page.until("document.querySelector('.state.paused')").await;
            press(&page, "//dialog//button[contains(., 'Resume')]").await;
            page.until("document.querySelector('.state.playing')").await;
            fits(&page).await;
            press(&page, "//dialog//button[contains(., 'Close')]").await;
            page.until("document.querySelector('.card-deeds button')")
                .await;
            page.until("document.querySelector('#recent tbody tr')")
                .await;
        };
        house.spar_while(1, steering).await;
        for path in ["/games", "/opponents"] {
            let url = format!("{}{path}", house.panel());
            browser.client.goto(&url).await.unwrap();
            page.until("document.querySelector('tbody tr')").await;
            fits(&page).await;
        }
        page.click("tbody a").await;
        page.until("document.querySelector('tbody tr a')").await;
        page.click("tbody a").await;
        page.until("document.querySelector('.verdict')").await;
        fits(&page).await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

async fn press(page: &Visitor<'_>, path: &str) {
    let found = page.client.wait().for_element(Locator::XPath(path)).await;
    found.unwrap().click().await.unwrap();
}

/// Nothing sticks out sideways.
async fn fits(page: &Visitor<'_>) {
    let wide = page
        .look("document.documentElement.scrollWidth - innerWidth")
        .await;
    assert!(wide.as_i64() <= Some(0), "{wide} too wide");
}
