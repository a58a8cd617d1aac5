//! A game on the practice page beside its moves: takebacks, checks of earlier positions, the choice of a
//! promotion piece, a game that begins behind the dialog, and one that the server no longer has.

use serde_json::json;

use super::browser::{Browser, Screen};
use super::fixture::World;
use super::panel::run;
use super::visitor::Visitor;
use super::{bounded, programs};

/// Puts a game in the place of the page's own, which shows none. `settles` waits for a condition and gives
/// whether it came true.
const GAME: &str = r#"
    document.querySelector("dialog[open]").close();
    document.getElementById("board").replaceChildren();
    const { Game } = await import("/assets/game.js");
    const game = new Game({ move: () => {} });
    const find = (selector) => document.querySelector(selector);
    const settles = async (condition) => {
        for (let frame = 0; frame < 300 && !condition(); frame += 1) {
            await new Promise((done) => requestAnimationFrame(done));
        }
        return Boolean(condition());
    };
    const apply = (change) => game.apply({
        game: "a", phase: "playing", status: "started", winner: null, color: "white", turn: "white", legal: {},
        you: { name: "A" }, opponent: { name: "B" }, mayOfferDraw: true,
        clock: { white: 60000, black: 60000, running: "white", initial: 60000, increment: 0 }, ...change,
    }, { watching: false });
    const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const move = (uci, san, fen) => ({ uci, san, fen, blast: [] });
"#;

/// Runs in the page: a game with a check in it, of which the page misses that two moves are taken back and
/// two others made, and which loses two moves more. Gives what the board shows and what is announced.
const TAKEN_BACK: &str = r#"
    const [one, two, check, last] = [
        move("e2e4", "e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"),
        move("d7d5", "d5", "rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"),
        move("f1b5", "Bb5+", "rnbqkbnr/ppp1pppp/8/1B1p4/4P3/8/PPPP1PPP/RNBQK1NR b KQkq - 1 2"),
        move("c7c6", "c6", "rnbqkbnr/pp2pppp/2p5/1B1p4/4P3/8/PPPP1PPP/RNBQK1NR w KQkq - 0 3"),
    ];
    const anew = [
        move("d2d3", "d3", "rnbqkbnr/ppp1pppp/8/3p4/4P3/3P4/PPP2PPP/RNBQKBNR b KQkq - 0 2"),
        move("e7e6", "e6", "rnbqkbnr/ppp2ppp/4p3/3p4/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 0 3"),
    ];
    const on = (square) => find(`#board [data-square=${square}]`).getAttribute("aria-label");
    const found = [];

    apply({ ply: 4, moves: [one, two, check, last], fen: last.fen });
    found.push(await settles(() => on("c6") === "c6, black pawn"));
    game.browse(3);
    found.push(await settles(() => on("e8") === "e8, black king, in check"));
    apply({ ply: 4, moves: [one, two, ...anew], fen: anew[1].fen });
    found.push(await settles(() => on("e6") === "e6, black pawn" && on("b5") === "b5, empty"));
    found.push(document.getElementById("announcer").textContent);
    apply({ ply: 2, moves: [one, two], fen: two.fen });
    found.push(await settles(() => on("d3") === "d3, empty"));
    found.push(document.getElementById("announcer").textContent);
    return found;
"#;

/// Runs in the page: a pawn reaches the last rank, and before its piece is chosen the board is flipped, an
/// earlier position selected, and the game over. Gives whether the choice is there after each step.
const PROMOTES: &str = r##"
    const fen = "r1n1k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1";
    const moves = [move("b6b7", "b7", fen.replace(" w ", " b ")), move("d8e8", "Ke8", fen)];
    const state = { ply: 2, moves, fen, legal: { b7: ["b8"] }, promotions: ["b7b8"] };
    const asked = () => find("#board .promotion") !== null;
    const found = [];
    const promotes = async () => {
        found.push(await settles(() => find("#board .movable")));
        game.board.choose("b7");
        game.board.choose("b8");
        found.push(asked());
    };

    apply(state);
    await promotes();
    apply({ ...state, drawOffer: "black" });
    found.push(asked());
    game.flip();
    found.push(asked());
    await promotes();
    game.browse(1);
    found.push(asked());
    game.browse(2);
    await promotes();
    apply({ ...state, phase: "over", status: "outoftime", winner: "black", legal: {}, promotions: [] });
    found.push(asked());
    return found;
"##;

/// Runs in the page: a move is made after the flag has fallen, another as the last of a game. Gives whether
/// each piece moves at once, and whether it is back, or on its new square, once the game is over.
const AFTER_THE_FLAG: &str = r##"
    const state = { ply: 0, moves: [], fen: START, legal: { e2: ["e4"] }, promotions: [] };
    const over = { phase: "over", status: "outoftime", winner: "black", legal: {} };
    const found = [];
    const moves = async () => {
        found.push(await settles(() => find("#board .movable")));
        const pawn = game.board.elementOn("e2");
        const before = pawn.style.transform;
        game.board.choose("e2");
        game.board.choose("e4");
        found.push(pawn.style.transform !== before);
        return () => pawn.style.transform === before;
    };

    apply(state);
    let isBack = await moves();
    apply({ ...state, ...over });
    found.push(isBack(), await settles(() => game.board.elementOn("e2")));
    apply({ ...state, game: "b" });
    isBack = await moves();
    const last = move("e2e4", "e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    apply({ ...state, ...over, game: "b", ply: 1, moves: [last], fen: last.fen });
    found.push(isBack(), await settles(() => game.board.elementOn("e4")));
    return found;
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takebacks_and_earlier_checks_are_shown_and_a_promotion_is_cancelled() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        let found = run(&visitor, &format!("{GAME}{TAKEN_BACK}")).await;
        let expected = json!([
            true,
            true,
            true,
            "2 moves taken back. White: pawn to d3. Black: pawn to e6.",
            true,
            "2 moves taken back.",
        ]);
        assert_eq!(found, expected);
        visitor.visit(house.url()).await;
        let found = run(&visitor, &format!("{GAME}{PROMOTES}")).await;
        let expected = json!([
            true, true, true, false, true, true, false, true, true, false
        ]);
        assert_eq!(found, expected);
        visitor.visit(house.url()).await;
        let found = run(&visitor, &format!("{GAME}{AFTER_THE_FLAG}")).await;
        let expected = json!([true, true, true, true, true, true, false, true]);
        assert_eq!(found, expected);
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Runs in the page: from now on `window.stream` is the stream of the game, `window.snapshot` what it sent
/// last, and `window.posted` has what the page asked of the server.
const LISTEN: &str = r#"
    window.EventSource = class extends window.EventSource {
        constructor(path) {
            super(path);
            window.stream = this;
            this.addEventListener("snapshot", (event) => (window.snapshot = JSON.parse(event.data)));
        }
    };
    const ask = window.fetch;
    window.posted = [];
    window.fetch = (path, options) => {
        if (options?.method === "POST") window.posted.push(path.split("/").at(-1));
        return ask(path, options);
    };
"#;

/// The challenge of the page's game still waits, and the dialog is opened.
const WAITS: &str = r#"
    const { stream, snapshot } = window;
    const send = (change) => {
        stream.dispatchEvent(new MessageEvent("snapshot", { data: JSON.stringify({ ...snapshot, ...change }) }));
    };
    send({ phase: "waiting" });
    document.getElementById("open-start").click();
    const opened = document.getElementById("start").open;
"#;

/// Runs in the page: the game begins. Gives whether the dialog was open, and whether it still is.
const BEGINS: &str = r#"
    send({ phase: "playing" });
    return [opened, document.getElementById("start").open];
"#;

/// Runs in the page: another game is asked for. Gives the one that waited.
const ANOTHER: &str = r#"
    document.getElementById("start-play").click();
    return snapshot.game;
"#;

/// Runs in the page of a finished game: the server restarts and knows no game.
const FORGETS: &str = r#"
    const ask = window.fetch;
    window.fetch = async (path, options) => (path.endsWith("/events") ? new Response(null, { status: 404 }) : ask(path, options));
    window.stream.close();
    window.stream.dispatchEvent(new Event("error"));
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_that_begins_closes_the_dialog_and_one_that_is_gone_gets_no_rematch() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        run(&visitor, LISTEN).await;
        visitor.begin("white").await;
        let open = run(&visitor, &format!("{WAITS}{BEGINS}")).await;
        assert_eq!(open, json!([true, false]));

        let first = run(&visitor, &format!("{WAITS}{ANOTHER}")).await;
        visitor
            .until(&format!(
                "window.snapshot.phase === 'playing' && window.snapshot.game !== {first}"
            ))
            .await;
        let posted = visitor.look("window.posted").await;
        assert_eq!(posted, json!(["new", "abort", "new"]));

        the_game_is_gone(&visitor).await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Plays a little and resigns; then the server no longer has the game.
async fn the_game_is_gone(visitor: &Visitor<'_>) {
    visitor
        .until("document.querySelector('#board .movable')")
        .await;
    visitor.click_some_move().await;
    visitor.await_answer(1).await;
    visitor.resign().await;
    assert!(visitor.text("#deeds").await.contains("Rematch"));
    run(visitor, FORGETS).await;
    visitor
        .until("document.querySelector('#say').textContent.includes('no longer has this game')")
        .await;
    assert_eq!(visitor.text("#deeds").await, "New game");
    let analyse = "document.querySelector('#analyse').checkVisibility()";
    assert_eq!(visitor.look(analyse).await, json!(false));
}
