//! The analysis of a finished game on the practice page: results as they come, marks, browsing, and how it
//! is stopped.

use serde_json::json;

use super::browser::{Browser, Screen};
use super::fixture::World;
use super::visitor::Visitor;
use super::{bounded, programs};

/// Runs in the page: from now on an analysis names a blunder at the second ply and never ends.
/// `window.asked` has the signals that abort the requests.
const BLUNDER: &str = r#"
    window.asked = [];
    const lines = [
        { positions: 4 },
        { ply: 2, score: { cp: 310 }, mark: null, line: ["d4"] },
        { ply: 1, score: { cp: -25 }, mark: "blunder", line: ["f6", "e3", "e6"] },
    ];
    const { fetch } = window;
    window.fetch = async (path, options) => {
        if (!/^\/play\/watch\/\w+\/analysis$/.test(path)) return fetch(path, options);
        const { signal } = options;
        window.asked.push(signal);
        return new Response(new ReadableStream({
            start(sink) {
                for (const line of lines) sink.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
                signal.addEventListener("abort", () => sink.error(signal.reason));
            },
        }));
    };
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_game_is_analysed_on_request() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Phone).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        visitor.begin("white").await;
        let hidden = "document.getElementById('analysis').hidden";
        assert_eq!(visitor.look(hidden).await, json!(true), "the game runs");
        visitor.click_some_move().await;
        visitor.await_answer(1).await;
        visitor.resign().await;
        visitor.until(&format!("!{hidden}")).await;

        visitor.click("#analyse").await;
        visitor
            .until("document.getElementById('analysis-status').textContent.startsWith('White: ')")
            .await;
        let shown = "[...document.querySelectorAll('#score-graph path')].length === 2 \
                     && !document.getElementById('remark').hidden \
                     && document.getElementById('analyse').hidden \
                     && document.getElementById('analysis-progress').hidden \
                     && document.documentElement.scrollWidth <= 360";
        assert_eq!(visitor.look(shown).await, json!(true));
        the_graph_browses(&visitor).await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// A press on the left edge of the graph shows the start, an arrow key the first move.
async fn the_graph_browses(visitor: &Visitor<'_>) {
    let press = "(() => {
        const graph = document.getElementById('score-graph');
        const { left, top } = graph.getBoundingClientRect();
        graph.setPointerCapture = () => {};
        graph.dispatchEvent(new PointerEvent('pointerdown', { clientX: left, clientY: top, bubbles: true }));
        graph.focus();
    })()";
    visitor.look(press).await;
    let at = |ply: usize| {
        format!(
            "(document.querySelector('.move[aria-current]')?.dataset.ply ?? '0') === '{ply}' \
             && document.getElementById('score-graph').getAttribute('aria-valuenow') === '{ply}'"
        )
    };
    visitor.until(&at(0)).await;
    visitor
        .until("document.querySelectorAll('#board .piece').length === 32")
        .await;
    visitor.keys(&[fantoccini::key::Key::Right]).await;
    visitor.until(&at(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blunder_is_marked_and_an_analysis_stops_on_request_and_with_a_new_game() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        visitor.begin("white").await;
        visitor.click_some_move().await;
        visitor.await_answer(1).await;
        visitor.resign().await;
        browser.client.execute(BLUNDER, Vec::new()).await.unwrap();

        visitor.click("#analyse").await;
        visitor
            .until("document.querySelector('.move .glyph')")
            .await;
        assert_eq!(visitor.text(".move[data-ply=\"2\"] .glyph").await, "??");
        let label = "document.querySelector('.move[data-ply=\"2\"]').getAttribute('aria-label')";
        let label = visitor.look(label).await;
        assert!(label.as_str().unwrap().ends_with("Blunder."), "{label}");
        visitor.click(".move[data-ply='2']").await;
        visitor
            .until("document.getElementById('remark').textContent.includes('Blunder')")
            .await;
        let remark = visitor.text("#remark").await;
        let said = " −0.25 → +3.10. Better: 1... f6 2. e3 e6";
        assert!(remark.ends_with(said), "{remark}");

        visitor.click("#analyse").await;
        assert_eq!(visitor.text("#analysis-status").await, "Stopped.");
        let aborted = "window.asked.map((signal) => signal.aborted)";
        assert_eq!(visitor.look(aborted).await, json!([true]));
        visitor.click("#analyse").await;
        visitor.until("window.asked.length === 2").await;
        assert_eq!(visitor.look(aborted).await, json!([true, false]));
        visitor.press("Rematch").await;
        visitor
            .until("window.asked.every((signal) => signal.aborted)")
            .await;
        visitor
            .until("document.getElementById('analysis').hidden")
            .await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
