//! The operator's page on the largest screen and in both colour schemes: wide, readable, and
//! without animation for those who prefer none.

use serde_json::json;

use super::browser::{Browser, Screen};
use super::fixture::{World, local};
use super::panel::{fits, run};
use super::visitor::Visitor;
use super::{bounded, programs};

/// Runs in the page: the texts that stand out too little from what is behind them, as the guidelines
/// for accessible content (WCAG 2.1, 1.4.3) count it.
const FAINT: &str = r#"
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const ink = canvas.getContext("2d", { willReadFrequently: true });
    const mix = (colors) => {
        ink.clearRect(0, 0, 1, 1);
        for (const color of colors) {
            ink.fillStyle = color;
            ink.fillRect(0, 0, 1, 1);
        }
        return [...ink.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (color) => {
        const [r, g, b] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        const layers = [];
        for (let it = element; it; it = it.parentElement) layers.unshift(getComputedStyle(it).backgroundColor);
        return [matchMedia("(prefers-color-scheme: dark)").matches ? "black" : "white", ...layers];
    };
    const faint = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const text = texts.currentNode.textContent.trim();
        const style = getComputedStyle(element);
        const seen = element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && element.getClientRects().length > 0;
        if (!text || !seen || element.closest("svg, .board, .eval-bar, :disabled, script, style")) continue;
        const back = behind(element);
        const [one, other] = [light(mix(back)), light(mix([...back, style.color]))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
        if (ratio < (large ? 3 : 4.5)) faint.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}: ${text.slice(0, 30)}`);
    }
    return [...new Set(faint)];
"#;

/// Runs in the page: the scores that do not fit into a bar beside a board.
const CUT: &str = r#"
    const { barText } = await import("/assets/panel/format.js");
    const longest = [{ cp: -307 }, { cp: -994 }, { cp: -995 }, { cp: -3200 }, { mate: -12 }].map(barText);
    const cut = [];
    for (const text of document.querySelectorAll(".eval-text")) {
        const shown = text.textContent;
        for (const score of text.checkVisibility() ? longest : []) {
            text.textContent = score;
            if (text.scrollWidth > text.clientWidth) cut.push(score);
        }
        text.textContent = shown;
    }
    return cut;
"#;

/// Runs in the page: how it is shown.
const SHOWN: &str = r#"
    const moving = document.getAnimations().filter((it) => it.playState === "running");
    return {
        dark: matchMedia("(prefers-color-scheme: dark)").matches,
        moving: moving.length,
        wide: innerWidth >= 3800,
        // Of a third of that the rest would stay empty.
        used: document.querySelector("main").getBoundingClientRect().width > innerWidth / 2,
        board: document.querySelector(".card .board, .board").getBoundingClientRect().width >= 250,
    };
"#;

async fn is_readable(page: &Visitor<'_>, what: &str) {
    let faint = run(page, FAINT).await;
    assert_eq!(faint, json!([]), "{what}");
    let cut = run(page, CUT).await;
    assert_eq!(cut, json!([]), "{what}");
}

/// Goes to an address; once this is there all of it can be read, and nothing sticks out.
async fn is_fine(page: &Visitor<'_>, address: &str, there: &str) {
    let gone = page.client.goto(address).await;
    gone.expect("there is such a page");
    page.until(&format!("document.querySelector('{there}')"))
        .await;
    is_readable(page, address).await;
    fits(page).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dark_page_is_wide_and_readable_on_a_large_screen() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open_with(&local()).await;
        let browser = Browser::open(&programs, Screen::Wall).await;
        let page = browser.visitor();
        browser.client.goto(house.panel()).await.unwrap();
        house
            .spar_while(2, async {
                page.until("document.querySelector('.card .square.last')")
                    .await;
                page.until("document.querySelector('#recent tbody tr')")
                    .await;
                let shown = run(&page, SHOWN).await;
                let expected =
                    json!({ "dark": true, "moving": 0, "wide": true, "used": true, "board": true });
                assert_eq!(shown, expected);
                is_readable(&page, "the live page, dark").await;
                fits(&page).await;
            })
            .await;
        let game = page
            .look("document.querySelector('#recent a').pathname")
            .await;
        for (path, there) in [
            ("/games", "tbody tr"),
            ("/opponents", "tbody tr"),
            (game.as_str().unwrap(), ".verdict"),
        ] {
            is_fine(&page, &format!("{}{path}", house.panel()), there).await;
        }
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_light_page_is_readable() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open_with(&local()).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        browser.client.goto(house.panel()).await.unwrap();
        house
            .spar_while(1, async {
                page.until("document.querySelector('#recent tbody tr')")
                    .await;
                let dark = "matchMedia('(prefers-color-scheme: dark)').matches";
                assert_eq!(page.look(dark).await, false);
                is_readable(&page, "the live page, light").await;
                page.click("#recent a").await;
                page.until("document.querySelector('#score-graph *')").await;
                is_readable(&page, "a game, light").await;
            })
            .await;
        browser.close().await;
        house.close().await;
    })
    .await;
}
