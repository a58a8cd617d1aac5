//! The live page beside its boards: blasts, latency, quota, rating, declined challenges, alerts.

use std::time::Duration;

use megaton::lichess::Variant;
use serde_json::json;

use super::archive::drawn_but;
use super::browser::{Browser, Screen};
use super::fixture::World;
use super::panel::run;
use super::{bounded, programs};

/// A partner's time over a move: long enough for the bot's capture to be shown to its end.
const PACE: Duration = Duration::from_millis(400);
/// Why nothing is kept.
const TROUBLE: &str = "no room on the disk";

/// Whether something on the page is named so and has a number.
fn counted(part: &str, name: &str) -> String {
    format!(
        "[...document.querySelectorAll('{part}')].some((it) => \
         it.querySelector('dt').textContent === '{name}' \
         && /^\\d/.test(it.querySelector('dd').textContent))"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rated_game_updates_board_latency_quota_and_rating() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let before = drawn_but("rated001", |game| {
            game.rated = true;
            game.white.rating = Some(1500);
            game.white.rating_diff = Some(4);
        });
        let house = World::keeping(&folder, &[before]).await;
        let browser = Browser::open_moving(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        page.until("document.querySelector('#rating-title b')?.textContent === '1504'")
            .await;
        page.count_blasts().await;
        let watching = async {
            page.until("window.blastsSeen > 0").await;
            page.until(&counted(".card .fact", "lag")).await;
            page.until(&counted("#health .health-row", "Move overhead"))
                .await;
            let games = "document.querySelector('#budget [aria-label=\"Bot games\"]')";
            page.until(&format!("{games}?.getAttribute('aria-valuenow') > 0"))
                .await;
            let most = format!("{games}.getAttribute('aria-valuemax')");
            assert_eq!(page.look(&most).await, json!("100"));
            let budget = page.text("#budget").await;
            assert!(budget.contains("budget lasts"), "{budget}");
            page.until("document.querySelector('#rating-title b').textContent !== '1504'")
                .await;
            page.until("document.querySelector('#rating svg .graph-line')")
                .await;
        };
        house.spar_at(1, PACE, watching).await;
        let rating = page.text("#rating-title b").await;
        assert!(rating.parse::<i32>().is_ok(), "{rating}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Runs in the page: listens along to what the server sends, and sends its last status once without the
/// quota, as the bot does until it has reached the server, once as it was, and once without a limit. Gives
/// the quota's text each time.
const RESTART: &str = r##"
    let [source, status] = [null, null];
    const Live = window.EventSource;
    window.EventSource = class extends Live {
        constructor(path) {
            super(path);
            source = this;
            this.addEventListener("status", (event) => (status = JSON.parse(event.data)));
        }
    };
    window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    while (!status?.quota) await new Promise((done) => requestAnimationFrame(done));
    const told = (quota) => {
        source.dispatchEvent(new MessageEvent("status", { data: JSON.stringify({ ...status, quota }) }));
        return document.querySelector("#budget").textContent;
    };
    const { quota } = status;
    const endless = { ...quota, bot_games_limit: 4294967295, kept_for_incoming: 2147483646 };
    return [quota, null, quota, endless].map(told);
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_the_quota_is_shown_again_even_if_nothing_was_spent() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        let told = run(&page, RESTART).await;
        let unknown = "Unknown until the server is reached.";
        assert_eq!(told[1], json!(unknown));
        assert_eq!(told[0], told[2]);
        assert_ne!(told[0], told[1]);
        let endless = told[3].as_str().unwrap();
        assert!(endless.contains("unlimited here"), "{endless}");
        assert!(!endless.contains("kept for incoming"), "{endless}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declined_challenges_and_alerts_show_their_reason() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        house.challenge("Stranger", Variant::Standard).await;
        page.until("document.querySelector('#challenges .verdict-mark.declined')")
            .await;
        // The server's word for it may come before the rule.
        page.until("document.querySelector('#challenges li').textContent.includes('only atomic is accepted')")
            .await;
        let told = page.text("#challenges li").await;
        for word in ["Stranger", "3+2 casual standard"] {
            assert!(told.contains(word), "no {word}: {told}");
        }

        house.event_log.set_write_error(Some(TROUBLE.to_owned()));
        let strip = format!(
            "document.querySelector('#alerts:not([hidden]) .alert')?.textContent.includes('{TROUBLE}')"
        );
        page.until(&strip).await;
        page.until("document.title.startsWith('⚠')").await;
        page.until("document.querySelector('#log .kind.alert')").await;
        let events = format!("{}/events?kind=alert", house.panel());
        browser.client.goto(&events).await.unwrap();
        page.until("document.querySelector('#events tbody .kind.alert')")
            .await;
        let row = page.text("#events tbody tr").await;
        assert!(row.contains(TROUBLE), "{row}");
        page.until(&strip).await;
        house.event_log.set_write_error(None);
        page.until("document.querySelector('#alerts').hidden").await;
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('#log .kind.alert-over')")
            .await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
