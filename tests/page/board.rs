//! The board: it shows each position however it was reached, and explosions do not resize the page.

use megaton::archive::MoveRecord;
use megaton::rules::{Game, RepetitionRule};
use serde_json::json;

use super::archive::{drawn, drawn_but};
use super::browser::{Browser, Screen};
use super::fixture::World;
use super::panel::run;
use super::visitor::Visitor;
use super::{bounded, programs};

/// Plies of a game that is long enough.
const LONG: usize = 60;

/// Runs in the page: walks through a game step by step there and back, without waiting for every other
/// step, and by leaps; gives the steps after which the pieces stand elsewhere than on a fresh board.
const WALK: &str = r#"
    const { Board } = await import("/assets/board/board.js");
    const game = await (await fetch("/api/game/walked01")).json();
    const start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const view = (ply) => {
        if (ply === 0) return { fen: start };
        const { fen, uci, blast, check } = game.moves[ply - 1];
        return { fen, last: [uci.slice(0, 2), uci.slice(2, 4)], blast: blast ?? [], check: check ?? null };
    };
    const open = () => {
        const host = document.body.appendChild(document.createElement("div"));
        return { host, board: new Board(host) };
    };
    const pieces = (host) => [...host.querySelectorAll(".pieces .piece:not(.burning)")]
        .map((piece) => `${piece.querySelector("use").getAttribute("href")} ${piece.style.transform}`)
        .sort().join();
    // The eye needs no time here.
    const later = window.setTimeout;
    window.setTimeout = (work) => later(work, 0);
    const [walked, last, wrong] = [open(), game.moves.length, []];
    let at = 0;
    const go = (ply) => {
        const motion = { [at + 1]: "forward", [at - 1]: "back" }[ply] ?? "none";
        at = ply;
        return walked.board.show(view(ply), { motion });
    };
    const look = async (how) => {
        const fresh = open();
        await fresh.board.show(view(at), { motion: "none" });
        if (pieces(walked.host) !== pieces(fresh.host)) wrong.push(`${how} to ${at}`);
        fresh.host.remove();
    };
    const there = Array.from({ length: last + 1 }, (_, ply) => ply);
    const leaps = there.map((ply) => (ply * 23) % (last + 1));
    for (const [how, goals] of Object.entries({ on: there, back: there.toReversed(), leaps })) {
        for (const ply of goals) {
            await go(ply);
            await look(how);
        }
    }
    for (const [how, goals] of Object.entries({ "hastily back": there.toReversed(), "hastily on": there })) {
        for (const ply of goals) {
            const gone = go(ply);
            if (ply % 2 === 1) continue;
            await gone;
            await look(how);
        }
    }
    window.setTimeout = later;
    walked.host.remove();
    return wrong;
"#;

/// A game of many blasts, and not a short one.
fn wild() -> Game {
    let play = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut game = Game::new();
        while game.ply() < LONG && game.outcome(RepetitionRule::Threefold).is_none() {
            let position = game.position();
            let legal = position.legal_moves();
            let takes = legal.iter().filter(|made| position.is_capture(**made));
            let takes: Vec<_> = takes.copied().collect();
            let chosen = match takes[..] {
                [] => legal[random.usize(0..legal.len())],
                _ => takes[random.usize(0..takes.len())],
            };
            game.push(chosen);
        }
        game
    };
    let mut games = (1..10_000).map(play);
    let long = games.find(|game| game.ply() == LONG);
    long.expect("one of so many")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_board_shows_the_position_however_it_was_reached() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let walked = drawn_but("walked01", |game| {
            let moves = wild().moves().to_vec();
            let moves = moves.iter().map(ToString::to_string);
            game.moves = moves.map(|uci| MoveRecord::bare(&uci)).collect();
        });
        let house = World::keeping(&folder, &[walked]).await;
        let browser = Browser::open_moving(&programs, Screen::Desk).await;
        let page = browser.visitor();
        browser.client.goto(house.panel()).await.unwrap();
        assert_eq!(run(&page, WALK).await, json!([]));
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Runs in the page: the largest explosion there is on every corner of every board, and the sizes that
/// the page has meanwhile other than the one before. The screen of a phone is as wide as what is on it.
const BLAST: &str = r#"
    const { showBlast } = await import("MODULE");
    const page = document.documentElement;
    const size = () => [innerWidth, page.scrollWidth, page.scrollHeight].join(" ");
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const others = new Set();
    let [before, frames] = [size(), 0];
    do {
        others.clear();
        // At rest: what the page still fetches changes its height too.
        for (let same = 0; same < 30; same += 1) {
            await frame();
            if (size() !== before) [before, same] = [size(), 0];
        }
        for (const effects of document.querySelectorAll(".board .effects")) {
            for (const corner of ["a1", "a8", "h1", "h8"]) showBlast(effects, corner, "white", true);
        }
        while (document.querySelector(".blast")) {
            if (size() !== before) others.add(`${size()}, not ${before}`);
            frames += 1;
            await frame();
        }
        // An explosion leaves nothing behind: a page that stays different was not at rest yet.
    } while (size() !== before);
    return { others: [...others], seen: frames > 0 };
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_explosion_at_the_edge_does_not_resize_the_page() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let games = [drawn("draw0001")];
        let house = World::keeping(&folder, &games).await;
        for screen in [Screen::Phone, Screen::Desk] {
            let browser = Browser::open_moving(&programs, screen).await;
            let page = browser.visitor();
            let game = format!("{}/game/draw0001", house.panel());
            browser.client.goto(&game).await.unwrap();
            page.until("document.querySelector('.verdict')").await;
            no_blast_is_too_large(&page, "/assets/board/blast.js").await;
            page.visit(house.url()).await;
            no_blast_is_too_large(&page, "/assets/blast.js").await;
            assert_eq!(browser.complaints().await, Vec::<String>::new());
            browser.close().await;
        }
        house.close().await;
    })
    .await;
}

async fn no_blast_is_too_large(page: &Visitor<'_>, module: &str) {
    let script = BLAST.replace("MODULE", module);
    let found = run(page, &script).await;
    assert_eq!(found, json!({ "others": [], "seen": true }), "{module}");
}
