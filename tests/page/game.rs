//! The page of a finished game: its links, its PGN, flipping the board, and a game without a result.

use megaton::archive::MoveRecord;
use megaton::engine::Score;
use megaton::lichess::Status;
use serde_json::json;

use super::archive::{drawn, drawn_but, ended};
use super::browser::{Browser, Screen};
use super::fixture::World;
use super::panel::run;
use super::{bounded, programs};

/// Runs in the page: the name and the text of the file that can be downloaded.
const DOWNLOAD: &str = r##"
    const link = document.querySelector("#foot a[download]");
    return [link.download, await (await fetch(link.href)).text()];
"##;

/// Runs in the page: where the links below the same game on Lichess lead.
const ON_LICHESS: &str = r##"
    const ask = window.fetch;
    window.fetch = async (path, options) => {
        const answer = await ask(path, options);
        if (!path.startsWith("/api/game/")) return answer;
        return Response.json({ ...(await answer.json()), url: "https://lichess.org/draw0001" });
    };
    await import("/assets/panel/record.js?elsewhere");
    return [...document.querySelectorAll("#foot a")].map((link) => `${link.textContent} ${link.href}`);
"##;

/// Runs in the page: scores and headlines of games that end so, for a spectator.
const RESULTS: &str = r#"
    const { endHeadline, score } = await import("/assets/board/words.js");
    const players = { color: "white", you: { name: "A" }, opponent: { name: "B" } };
    const told = ([status, winner]) => `${score({ status, winner })} ${endHeadline({ status, winner, ...players }, true)}`;
    return [
        ["aborted", null], ["noStart", null], ["noStart", "white"], ["unknownFinish", null],
        ["unknown", null], ["unknown", "black"], ["draw", null], ["outoftime", null], ["variantEnd", "black"],
    ].map(told);
"#;

/// Runs in the page of a game: takes the place of the server and sends the game with its last move made
/// anew, then without it while it is selected. Gives whether the board showed each.
const MADE_ANEW: &str = r##"
    const { Board } = await import("/assets/board/board.js");
    const game = await (await fetch("/api/game/draw0001")).json();
    const pieces = (host) => [...host.querySelectorAll(".pieces .piece")]
        .map((piece) => `${piece.querySelector("use").getAttribute("href")} ${piece.style.transform}`)
        .sort().join();
    const host = document.body.appendChild(document.createElement("div"));
    const expected = new Board(host);
    const shows = async (fen) => {
        await expected.show({ fen }, { motion: "none" });
        for (let frame = 0; frame < 300; frame += 1) {
            if (pieces(document.querySelector("#board")) === pieces(host)) return true;
            await new Promise((done) => requestAnimationFrame(done));
        }
        return false;
    };
    let server = null;
    window.EventSource = class extends EventTarget {
        constructor() {
            super();
            server = this;
        }
        close() {}
    };
    window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    const send = (moves) => {
        const data = JSON.stringify({ ...game, moves });
        server.dispatchEvent(new MessageEvent("game", { data }));
    };
    const [first, second] = game.moves;
    const other = {
        ...second,
        uci: "c7c5",
        san: "c5",
        fen: "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
    };
    const shown = [await shows(second.fen)];
    send([first, other]);
    shown.push(await shows(other.fen));
    send([first, other, { ...first, uci: "d2d4", san: "d4" }]);
    document.querySelector('[data-ply="2"]').click();
    send([first]);
    shown.push(await shows(first.fen));
    return shown;
"##;

/// Runs in the page: whether a card of the live page shows a move that was made anew.
const CARD_MADE_ANEW: &str = r#"
    const { Card } = await import("/assets/panel/card.js");
    const card = new Card("draw0001", { now: () => 0, onMove: () => {} });
    document.body.append(card.element);
    const game = {
        id: "draw0001", ply: 2, turn: "white", us: "white", white: { name: "A" }, black: { name: "B" },
        time: "3+2", rated: false, scores: [], last: [], blast: [], check: null, ending: null, clocks: null, thought: null,
    };
    const pieces = () => [...card.element.querySelectorAll(".pieces .piece")]
        .map((piece) => piece.style.transform).sort().join();
    card.apply({ ...game, fen: "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2" });
    const before = pieces();
    card.apply({ ...game, fen: "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2" });
    for (let frame = 0; frame < 300 && pieces() === before; frame += 1) {
        await new Promise((done) => requestAnimationFrame(done));
    }
    return before.length > 0 && pieces() !== before;
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_boards_show_moves_that_were_taken_back_and_made_anew() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::keeping(&folder, &[drawn("draw0001")]).await;
        let browser = Browser::open_moving(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let game = format!("{}/game/draw0001", house.panel());
        browser.client.goto(&game).await.unwrap();
        page.until("document.querySelector('.verdict')").await;
        assert_eq!(run(&page, MADE_ANEW).await, json!([true, true, true]));
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('.state.playing')").await;
        assert_eq!(run(&page, CARD_MADE_ANEW).await, json!(true));
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_leads_to_its_place_gives_its_pgn_and_turns_with_a_key() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let games = [drawn("draw0001")];
        let house = World::keeping(&folder, &games).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let address = format!("{}/game/draw0001", house.panel());
        browser.client.goto(&address).await.unwrap();
        page.until("document.querySelector('.verdict')").await;

        // The practice server has no page of the game.
        let links = "[...document.querySelectorAll('#foot a')].map((link) => link.textContent)";
        assert_eq!(page.look(links).await, json!(["PGN"]));
        let pgn = run(&page, DOWNLOAD).await;
        assert_eq!(pgn[0], "draw0001.pgn", "{pgn}");
        let text = pgn[1].as_str().unwrap();
        assert!(text.contains("[Variant \"Atomic\"]"), "{text}");

        let corner = "document.querySelector('#board .square').dataset.square";
        assert_eq!(page.look(corner).await, json!("a8"));
        for (key, square) in [("f", "h1"), ("F", "a8")] {
            page.types(key).await;
            page.until(&format!("{corner} === '{square}'")).await;
        }
        let links = run(&page, ON_LICHESS).await;
        let place = json!("On lichess.org https://lichess.org/draw0001");
        assert_eq!(links[0], place, "{links}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Whether the move at which the board stands is in sight in the list.
const IN_SIGHT: &str = "(() => {
    const list = document.querySelector('#move-list');
    const [cell, box] = [list.querySelector('[aria-current]'), list].map((it) => it.getBoundingClientRect());
    return cell.top >= box.top - 1 && cell.bottom <= box.bottom + 1;
})()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_selected_move_stays_visible_when_the_page_grows() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let long = drawn_but("long0001", |game| {
            let moves = ["g1f3", "g8f6", "f3g1", "f6g8"].into_iter().cycle();
            let thought = |uci| MoveRecord {
                score: Some(Score::Cp(10)),
                depth: Some(9),
                line: moves.clone().take(40).collect::<Vec<_>>().join(" "),
                ..MoveRecord::bare(uci)
            };
            game.moves = moves.clone().take(80).map(thought).collect();
        });
        let house = World::keeping(&folder, &[long]).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let address = format!("{}/game/long0001", house.panel());
        browser.client.goto(&address).await.unwrap();
        page.until("document.querySelector('#facts').textContent.includes('depth9')")
            .await;
        page.until(IN_SIGHT).await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_without_a_result_is_nowhere_a_draw() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let unknown = drawn_but("nobody01", |game| {
            game.ending = Some(ended(Status::UnknownFinish, 900));
        });
        let house = World::keeping(&folder, &[unknown]).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('#recent .result.none')")
            .await;
        page.click("#recent a").await;
        page.until("document.querySelector('.verdict')").await;
        assert_eq!(page.text(".verdict strong").await, "–");
        let title = page.text("#game-title").await;
        assert!(title.ends_with("– · The game has ended"), "{title}");

        let told = run(&page, RESULTS).await;
        let expected = json!([
            "– Game aborted",
            "– No result",
            "1–0 A won",
            "– No result",
            "– No result",
            "0–1 B won",
            "½–½ A draw",
            "½–½ A draw",
            "0–1 B won",
        ]);
        assert_eq!(told, expected);
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
