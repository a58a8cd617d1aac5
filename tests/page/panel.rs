//! The operator's page in a browser: games appear and continue, are replayed, and are controlled.

use fantoccini::Locator;
use fantoccini::key::Key;
use megaton::archive::ArchiveEntry;
use megaton::config::Panel;
use serde_json::{Value, json};

use super::archive::drawn;
use super::browser::{Browser, Screen};
use super::fixture::{World, locked};
use super::session::{comes_in, enters};
use super::visitor::Visitor;
use super::{bounded, programs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_are_watched_replayed_and_looked_up() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let house = World::open().await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
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
        its_sources_are_shown(&page).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spectators_watch_boards_and_may_log_in() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&Panel {
            trust_local: false,
            spectators: true,
            ..locked(folder.path())
        })
        .await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        browser.client.goto(house.panel()).await.unwrap();
        let watching = async {
            page.until("document.querySelector('.spectator .card .piece, .spectator .card svg')")
                .await;
            page.until("document.querySelector('#recent tbody tr')")
                .await;
            for hidden in [
                "#health",
                "#challenges",
                "#log",
                "#budget",
                ".card .line",
                ".eval-bar",
                "nav a[href='/events']",
            ] {
                let shown = format!("document.querySelector(\"{hidden}\").checkVisibility()");
                assert_eq!(page.look(&shown).await, json!(false), "{hidden}");
            }
            let login = "document.querySelector('header button:not(.primary)').textContent";
            assert_eq!(page.look(login).await, json!("Log in"));
        };
        house.spar_while(1, watching).await;
        press(&page, "//header//button[text()='Log in']").await;
        page.until("document.querySelector('#login')").await;
        enters(&page).await;
        page.until("document.querySelector('.state.playing')").await;
        page.until("!document.body.classList.contains('spectator')")
            .await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

/// Endgame tables, net and lists, and what is wrong with them.
async fn its_sources_are_shown(page: &Visitor<'_>) {
    let row = |name: &str, mood: &str, text: &str| {
        format!(
            "[...document.querySelectorAll('#health .health-row{mood}')].some((row) => \
             row.querySelector('dt').textContent === '{name}' \
             && row.querySelector('dd').textContent.startsWith('{text}'))"
        )
    };
    page.until(&row("Tablebase", ".good", "35 WDL, 34 DTZ, up to 4 pieces"))
        .await;
    page.until(&row("Net", "", "")).await;
    page.until(&row("Block list", ".good", "1 name")).await;
    let missing = "1 name, file:/nowhere/at/all.txt: No such file";
    page.until(&row("Welcome list", ".bad", missing)).await;
}

/// Cards appear by themselves, pieces move, clocks run, thoughts are shown.
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
    // Between two games no card shows a running one.
    let link = page
        .wait_for("document.querySelector('.card:not(.over) .card-link')?.href")
        .await;
    page.client.goto(link.as_str().unwrap()).await.unwrap();
    // It may have been over by the time that someone clicked.
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
    let pieces = "document.querySelectorAll('#board .piece').length";
    page.keys(&[Key::Home]).await;
    page.until(&format!("{pieces} === 32 && ({current}) === '0'"))
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
async fn the_bot_is_controlled_from_a_phone_with_the_password() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let browser = Browser::open(&programs, Screen::Phone).await;
        let page = browser.live_page(house.panel()).await;
        let steering = async {
            page.until("document.querySelector('.card .square.last')")
                .await;
            fits(&page).await;
            comes_in(&page).await;
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

pub(super) async fn press(page: &Visitor<'_>, path: &str) {
    page.click_on(Locator::XPath(path)).await;
}

/// Nothing sticks out sideways. The window of a phone grows with what does, its page does not.
pub(crate) async fn fits(page: &Visitor<'_>) {
    let wide = page
        .look("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        .await;
    assert!(wide.as_i64() <= Some(0), "{wide} too wide");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_without_a_running_game_say_so() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let games: Vec<ArchiveEntry> = (0..60).map(|n| drawn(&format!("draw{n:04}"))).collect();
        let house = World::keeping(&folder, &games).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let url = format!("{}/games", house.panel());
        browser.client.goto(&url).await.unwrap();
        every_game_of_one_moment_is_listed(&page).await;
        let deeds = run(&page, EARLY_DEEDS).await;
        assert_eq!(deeds, json!(["Say", "Abort"]));
        let url = format!("{}/game/draw0001", house.panel());
        browser.client.goto(&url).await.unwrap();
        page.until("document.querySelector('.verdict')").await;
        let titles = run(&page, ENDS_UNSEEN).await;
        assert!(titles[0].to_string().contains("in progress"), "{titles}");
        assert!(titles[1].to_string().contains("Draw"), "{titles}");
        assert_eq!(titles[2], "A draw. Draw agreed.", "{titles}");
        let url = format!("{}/opponents", house.panel());
        browser.client.goto(&url).await.unwrap();
        page.until("document.querySelector('#opponents tbody tr')")
            .await;
        assert_eq!(run(&page, MANY_OPPONENTS).await, json!(1000));
        browser.client.goto(house.panel()).await.unwrap();
        page.until("document.querySelector('.state.playing')").await;
        let told = run(&page, COMES_BACK).await;
        assert_eq!(told["cards"], 1, "{told}");
        assert_eq!(told["said"], "A against B: Black resigned.", "{told}");
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

async fn every_game_of_one_moment_is_listed(page: &Visitor<'_>) {
    let rows = "document.querySelectorAll('#games tbody tr').length";
    page.until(&format!("{rows} === 50")).await;
    assert_eq!(page.text("#games td.why").await, "Draw");
    page.click("#more").await;
    page.until(&format!("{rows} === 60")).await;
    page.until("document.querySelector('#more').hidden").await;
    let links = "new Set([...document.querySelectorAll('#games td a')].map((it) => it.href)).size";
    assert_eq!(page.look(links).await, json!(60));
}

/// Runs in the page: the deeds of a game as its own page has it, after its first move.
const EARLY_DEEDS: &str = r#"
    const { gameDeeds } = await import("/assets/panel/steer.js");
    const host = document.createElement("div");
    const game = { id: "q7ZxVt2B", us: "white", white: { name: "A" }, black: { name: "B" }, plies: 1, ending: null };
    gameDeeds(host, game, { me: { steers: true } });
    return [...host.querySelectorAll("button")].map((button) => button.textContent);
"#;

/// Runs in the page: a game is under way when it is opened, and over when the news are there again.
const ENDS_UNSEEN: &str = r#"
    const told = {};
    window.EventSource = class {
        addEventListener(kind, tell) { told[kind] = tell; }
        close() {}
    };
    const ask = window.fetch;
    let over = false;
    window.fetch = async (path, options) => {
        const answer = await ask(path, options);
        if (over || !path.startsWith("/api/game/")) return answer;
        return Response.json({ ...(await answer.json()), ending: null });
    };
    await import("/assets/panel/record.js?anew");
    const title = () => document.getElementById("game-title").textContent;
    const before = title();
    over = true;
    told.hello({ data: JSON.stringify({ now: Date.now() }) });
    while (title() === before) await new Promise((done) => setTimeout(done, 15));
    return [before, title(), document.getElementById("announcer").textContent];
"#;

/// Runs in the page: as many opponents as the server sends at most.
const MANY_OPPONENTS: &str = r##"
    const one = { title: null, bot: false, games: 1, wins: 1, draws: 0, losses: 0, diff: 0, last: 0, rating: null, timeouts: 0 };
    const all = Array.from({ length: 1000 }, (_, n) => ({ ...one, id: `p${n}`, name: `P${n}` }));
    const ask = window.fetch;
    window.fetch = async (path, options) => (path === "/api/opponents" ? Response.json(all) : ask(path, options));
    await import("/assets/panel/opponents.js?anew");
    return document.querySelectorAll("#opponents tbody tr").length;
"##;

/// Runs in the page: a game leaves the list of running games, is there again, and a long time goes
/// by; in the end it is over.
const COMES_BACK: &str = r#"
    const timers = new Map();
    const { setTimeout, clearTimeout } = window;
    window.setTimeout = (act, wait, ...rest) => {
        const id = setTimeout(wait < 5000 ? act : () => {}, wait, ...rest);
        if (wait >= 5000) timers.set(id, act);
        return id;
    };
    window.clearTimeout = (id) => timers.delete(id) || clearTimeout(id);
    const told = {};
    window.EventSource = class {
        addEventListener(kind, tell) { told[kind] = tell; }
        close() {}
    };
    await import("/assets/panel/live.js?anew");
    const say = (kind, data) => told[kind]({ data: JSON.stringify(data) });
    const game = {
        id: "q7ZxVt2B", us: "white", white: { name: "A" }, black: { name: "B" }, rated: true, time: "3+2",
        ending: null, plies: 0, ply: 0, turn: "white", san: null, last: [], blast: [], check: null,
        fen: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", clocks: null, scores: [], thought: null,
    };
    say("games", [game.id]);
    say("game", game);
    say("games", []);
    say("games", [game.id]);
    say("game", { ...game, plies: 2, ply: 2 });
    for (const act of timers.values()) act();
    const cards = document.querySelectorAll(".card").length;
    say("games", []);
    say("game", { ...game, ending: { status: "resign", winner: "white", at: 0 } });
    return { cards, said: document.getElementById("announcer").textContent };
"#;

/// What a script of several steps comes to.
pub(super) async fn run(page: &Visitor<'_>, script: &str) -> Value {
    let script = format!(
        "const done = arguments[arguments.length - 1];
         (async () => {{ {script} }})().then(done, (error) => done(String(error)));"
    );
    let ran = page.client.execute_async(&script, Vec::new()).await;
    ran.unwrap()
}
