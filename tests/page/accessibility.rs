//! The pages with keyboard and screen reader: the focus stays, lasting states are not announced
//! repeatedly, and nothing important is cut off.

use serde_json::json;

use super::browser::{Browser, Screen};
use super::fixture::{World, local};
use super::panel::run;
use super::{bounded, programs};

/// Puts into `told` what a page does at news, whose stream is none.
const NEWS: &str = r"
    const told = {};
    window.EventSource = class {
        addEventListener(kind, tell) { told[kind] = tell; }
        close() {}
    };
    const say = (kind, data) => told[kind]({ data: JSON.stringify(data) });
";

/// Runs in the page: a game that is given up, with a keyboard in use meanwhile.
const PLAYED: &str = r##"
    document.querySelector("dialog[open]").close();
    const { Game } = await import("/assets/game.js");
    const find = (selector) => document.querySelector(selector);
    let ticks = 0;
    const [set, clear] = [window.setInterval, window.clearInterval];
    window.setInterval = (...of) => (ticks += 1, set(...of));
    window.clearInterval = (it) => (it && (ticks -= 1), clear(it));
    const game = new Game({});
    const snapshot = {
        game: "a", phase: "playing", status: "started", color: "white", turn: "white", ply: 2, moves: [],
        fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", you: { name: "A" }, opponent: { name: "B" },
        clock: { white: 60000, black: 60000, running: "white", initial: 60000, increment: 0 }, mayOfferDraw: true,
    };
    const apply = (change) => game.apply({ ...snapshot, ...change }, { watching: false });
    const held = () => document.activeElement.dataset.square ?? (document.activeElement.textContent || document.activeElement.id);
    const found = [];

    apply({});
    find("#board [data-square=g1]").focus();
    game.flip();
    found.push(held());
    [...find("#deeds").children].find((it) => it.textContent === "Resign").focus();
    apply({ mayOfferDraw: false });
    found.push(held());
    apply({ drawOffer: "black" });
    found.push(document.activeElement.id, find("#say[role=status]").textContent);
    apply({ drawOffer: null, mayOfferDraw: false });
    found.push([...find("#deeds").children].find((it) => it.textContent === "Offer a draw").disabled);
    found.push(find(".to-move .clock").classList.contains("running"), ticks);

    game.clear();
    found.push(ticks);
    found.push([...document.querySelectorAll(".clock")].map((it) => it.textContent).join(""));
    found.push([...document.querySelectorAll(".to-move, .running")].length, find("#player-bottom .who").textContent);
    return found;
"##;

/// Runs in the page: someone stands on links of lists that are renewed, and time goes by.
const KEEPS_ITS_PLACE: &str = r##"
    const ticks = [];
    const { setInterval } = window;
    window.setInterval = (act, every) => (every === 20_000 ? ticks.push(act) : setInterval(act, every));
    await import("/assets/panel/live.js?focus");
    const game = (id) => ({
        id, us: "white", white: { name: "A" }, black: { name: id }, rated: true, time: "3+2", plies: 9,
        began: 0, outcome: "draw", ending: { status: "draw", winner: null, at: Date.now() - 60_000 },
    });
    const event = (n, id) => ({ at: n, kind: "game", text: `this is ${n}`, game: id });
    const held = () => document.activeElement.getAttribute("href") ?? document.activeElement.id;
    const row = () => document.activeElement.closest("li, tr").textContent;
    const found = [];

    say("recent", ["one", "two"].map(game));
    document.querySelector("#recent a[href='/game/two']").focus();
    const before = document.activeElement;
    for (const act of ticks) act();
    found.push(before.isConnected);
    say("recent", ["new", "one", "two"].map(game));
    found.push(held());
    say("recent", ["newest", "new", "one"].map(game));
    found.push(held());

    say("events", [event(3, "one"), event(2, "two"), event(1, "two")]);
    document.querySelectorAll("#log a[href='/game/two']")[0].focus();
    say("events", [event(5, "two"), event(4, "one"), event(3, "one"), event(2, "two"), event(1, "two")]);
    found.push(held(), row().includes("this is 2"));
    return found;
"##;

/// Runs in the page: an alert lasts.
const LASTS: &str = r#"
    const { Shell } = await import("/assets/panel/shell.js");
    const [bar, strip] = [document.createElement("header"), document.createElement("div")];
    const shell = new Shell(bar, strip, { page: "live" });
    const status = (since) => shell.status({ state: "alert", games: [], alerts: [{ kind: "token", text: "revoked", since }] });
    status(5);
    const first = strip.querySelector(".alert");
    const texts = [first.textContent];
    status(600);
    texts.push(strip.querySelector(".alert").textContent);
    return [...texts, strip.querySelector(".alert") === first, first.lastElementChild.getAttribute("aria-live")];
"#;

/// Runs in the page: three games side by side, against someone with a long name, and one of them over.
const THREE_GAMES: &str = r#"
    await import("/assets/panel/live.js?three");
    const names = { white: { name: "Megaton", title: "BOT", rating: 2105 }, black: { name: "EnginePartner", title: "BOT", rating: 1850, provisional: true } };
    const game = (id, ending) => ({
        ...names, id, us: "white", rated: true, time: "1+1", ending, plies: 40, ply: 40, turn: "white", san: null,
        last: [], blast: [], check: null, fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        clocks: { white: 61_000, black: 59_000, running: "white", at: Date.now(), initial: 60_000 },
        scores: [], thought: { score: { mate: 3 }, nodes: 0, nps: 0, line: [], source: "table" },
    });
    const ids = ["one", "two", "three"];
    say("games", ids);
    for (const id of ids) say("game", game(id, null));
    say("game", game("three", { status: "variantEnd", winner: "black", at: Date.now() }));
    // As narrow as cards get beside each other.
    document.getElementById("games").style.gridTemplateColumns = "repeat(3, 17.5rem)";
    await document.fonts.ready;
    const all = (selector) => [...document.querySelectorAll(selector)];
    const cut = all(".card .name").filter((it) => it.scrollWidth > it.clientWidth).length;
    const lines = all(".card-label > :first-child").filter((it) => it.offsetHeight > 30).length;
    const fact = (name) => all(".card dt").find((it) => it.textContent === name).nextElementSibling.textContent;
    return { names: all(".card .name").length, cut, lines, nodes: fact("nodes"), speed: fact("nodes/s") };
"#;

/// Runs in the page: scores beside the board.
const BARS: &str = r#"
    const { barText } = await import("/assets/panel/format.js");
    return [{ cp: 36 }, { cp: -4 }, { cp: -994 }, { cp: -995 }, { mate: -12 }, null].map(barText);
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keyboard_and_screen_reader_users_keep_their_place() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let visit = async || {
            browser.client.goto(house.panel()).await.unwrap();
            page.until("document.querySelector('.state.playing')").await;
        };
        visit().await;
        let places = run(&page, &format!("{NEWS}{KEEPS_ITS_PLACE}")).await;
        let expected = json!([true, "/game/two", "recent", "/game/two", true]);
        assert_eq!(places, expected);
        let alert = run(&page, LASTS).await;
        let expected = json!([
            "token revoked for 5.0 s",
            "token revoked for 10 min",
            true,
            "off"
        ]);
        assert_eq!(alert, expected);
        visit().await;
        let shown = run(&page, &format!("{NEWS}{THREE_GAMES}")).await;
        let expected = json!({ "names": 6, "cut": 0, "lines": 0, "nodes": "–", "speed": "–" });
        assert_eq!(shown, expected);
        let bars = run(&page, BARS).await;
        assert_eq!(bars, json!(["0.4", "0.0", "9.9", "10", "#12", ""]));
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_filter_and_a_failed_list_are_handled() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let rotten = folder.path().join("rotten.db");
        let house = World::open_on(&local(), Some(rotten.clone())).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let games = format!("{}/games?length=1&item=2&color=black", house.panel());
        browser.client.goto(&games).await.unwrap();
        page.until("document.querySelector('#games p')").await;
        assert_eq!(page.text("#games p").await, "No matching games.");
        let color = "document.querySelector('#f-color').value";
        assert_eq!(page.look(color).await, json!("black"));
        assert_eq!(browser.complaints().await, Vec::<String>::new());

        std::fs::write(&rotten, "no database").unwrap();
        let opponents = format!("{}/opponents", house.panel());
        browser.client.goto(&opponents).await.unwrap();
        page.until("document.querySelector('#opponents .bad')").await;
        page.look("document.querySelector('#f-name').dispatchEvent(new Event('input', { bubbles: true }))")
            .await;
        let said = page.text("#opponents").await;
        assert!(said.contains("the archive cannot be read"), "{said}");
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_keeps_the_focus_tells_its_offers_and_leaves_nothing_behind() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let visitor = browser.visitor();
        visitor.visit(house.url()).await;
        let found = run(&visitor, PLAYED).await;
        let expected = json!([
            "g1",
            "Resign",
            "deeds",
            "B offers a draw.",
            true,
            true,
            1,
            0,
            "–:–––:––",
            0,
            "Black",
        ]);
        assert_eq!(found, expected);
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
