//! Commands on a page that stays open: after a restart of the bot or the end of a session it asks
//! for the password again, and irreversible commands ask for confirmation. Another password ends
//! its updates.

use std::fs;
use std::iter;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::Locator;
use megaton::practice::{Options, Server, ServerHandle};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::access::hears;
use super::browser::{Browser, Screen};
use super::fixture::{PASSWORD, World, locked};
use super::panel::{press, run};
use super::visitor::Visitor;
use super::{bounded, programs};

/// A partner's time over a move: a game lasts longer than someone takes to give it up.
const PACE: Duration = Duration::from_millis(400);

/// A password that takes the place of the first.
const OTHER_PASSWORD: &str = "open-barley-open-barley";

/// The open desk has its verbs.
const VERBS: &str = "document.querySelector('.desk[open] .desk-row')";
/// The open desk asks for the password.
const ASKED: &str = "[...document.querySelectorAll('.desk[open] button')].some((it) => it.textContent === 'Log in')";
/// Presses the button that gives a running game up, if there is one.
const RESIGN: &str = "(() => {
    const deeds = [...document.querySelectorAll('.card:not(.over) .card-deeds button')];
    const resign = deeds.find((it) => it.textContent === 'Resign');
    resign?.click();
    return Boolean(resign);
})()";

/// Runs in the page: counts the orders that are given from now on.
const COUNT_ORDERS: &str = r#"
    const ask = window.fetch;
    window.ordersGiven = 0;
    window.fetch = (path, options) => {
        window.ordersGiven += path === "/api/control" ? 1 : 0;
        return ask(path, options);
    };
"#;

/// Runs in the page: anyone who asks next who is looking reaches no one.
const LOSE_ONE: &str = r#"
    const ask = window.fetch;
    window.lost = 0;
    window.fetch = (path, options) => {
        if (path !== "/api/me" || window.lost > 0) return ask(path, options);
        window.lost += 1;
        return Promise.reject(new TypeError("lost"));
    };
"#;

/// Runs in the page: the session ends, and the page is not told.
const END_SESSION: &str = r#"await fetch("/api/logout", { method: "POST" });"#;

/// Opens the desk and shows the password.
pub(super) async fn comes_in(page: &Visitor<'_>) {
    press(page, "//header//button[contains(., 'Control')]").await;
    shows_password(page).await;
}

/// Shows the password on the open desk.
async fn shows_password(page: &Visitor<'_>) {
    let field = Locator::XPath("//form[button='Log in']//input");
    types_password(page, field).await;
    press(page, "//form[button='Log in']/button").await;
    page.until(VERBS).await;
}

/// Shows the password on the login page.
pub(super) async fn enters(page: &Visitor<'_>) {
    types_password(page, Locator::Css("#login #password")).await;
    page.click("#login button").await;
}

async fn types_password(page: &Visitor<'_>, field: Locator<'_>) {
    let found = page.client.wait().for_element(field).await;
    let found = found.expect("the password is asked for");
    let typed = found.send_keys(PASSWORD).await;
    typed.expect("a field takes letters");
}

/// Does what the dialog asked about, or does not.
async fn answers(page: &Visitor<'_>, label: &str) {
    let button = format!("//dialog[contains(@class, 'ask')]//button[text()='{label}']");
    press(page, &button).await;
    page.until("!document.querySelector('.desk.ask')").await;
}

/// An address that is free, and stays so while a program starts anew: its port is below those that
/// systems give to anyone who asks for any.
fn free_address(listen: &str) -> SocketAddr {
    let mut ports = iter::repeat_with(|| fastrand::u16(20_000..32_000));
    let free = ports.find_map(|port| TcpListener::bind((listen, port)).ok());
    let free = free.expect("some port is free");
    free.local_addr().expect("an address")
}

/// The whole program on a practice server, killed when this is dropped.
struct Program {
    start: Command,
    child: Child,
    page: SocketAddr,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Program {
    /// Its page has a password and is at a port of this address.
    async fn start(server: &ServerHandle, listen: &str, folder: &Path) -> Self {
        let token = server.open_bot("Megaton").expect("a good name");
        let password = locked(folder).token_file.expect("a password");
        let page = free_address(listen);
        let config = folder.join("config.toml");
        let trust_local = page.ip().is_loopback();
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 1\n\
             [panel]\nlisten = \"{page}\"\ntoken_file = \"{}\"\ntrust_local = {trust_local}\n",
            server.url(),
            password.display()
        );
        fs::write(&config, text).expect("a config");
        let mut start = Command::new(env!("CARGO_BIN_EXE_megaton"));
        start.args(["run", "--config"]).arg(config);
        start.env_clear().env("LICHESS_BOT_TOKEN", token);
        start.stdin(Stdio::null()).stderr(Stdio::null());
        let child = start.spawn().expect("the program starts");
        let mut program = Self { start, child, page };
        program.listens().await;
        program
    }

    /// Until its page is open.
    async fn listens(&mut self) {
        while TcpStream::connect(("127.0.0.1", self.page.port()))
            .await
            .is_err()
        {
            let ended = self.child.try_wait().expect("a child of ours");
            assert!(ended.is_none(), "the program ends: {ended:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Where a browser on this machine finds its page.
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.page.port())
    }

    /// Ends it and starts it again in the same folder and at the same port, as an upgrade does.
    async fn restart(&mut self) {
        self.kill();
        self.child = self.start.spawn().expect("the program starts");
        self.listens().await;
    }

    fn kill(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts another password in place of the one in this folder, and has the program there read it.
async fn replaces_password(folder: &Path) {
    fs::write(folder.join("password"), OTHER_PASSWORD).expect("a password");
    let mut reload = Command::new(env!("CARGO_BIN_EXE_megaton"));
    reload.args(["reload", "--config"]);
    reload.arg(folder.join("config.toml")).env_clear();
    loop {
        let output = tokio::task::block_in_place(|| reload.output());
        let output = output.expect("the program starts");
        if String::from_utf8_lossy(&output.stdout).contains("password: renewed") {
            return;
        }
        // Its socket may open later than its page.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_updates_end_with_the_password_that_opened_them() {
    bounded(async {
        // At the first address this machine is trusted, at the second it needs the password.
        for listen in ["127.0.0.1", "0.0.0.0"] {
            let folder = tempfile::tempdir().unwrap();
            let server = Server::start(Options::default()).await.unwrap();
            let bot = Program::start(&server, listen, folder.path()).await;
            let there = format!("127.0.0.1:{}", bot.page.port());
            let mut stream = TcpStream::connect(&there).await.unwrap();
            let request = format!(
                "GET /api/live HTTP/1.1\r\nhost: {there}\r\nconnection: close\r\n\
                 authorization: Bearer {PASSWORD}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            hears(&mut stream, &["event: hello"]).await;
            replaces_password(folder.path()).await;
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            drop(bot);
            server.shutdown().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_an_open_control_page_asks_for_the_password_again() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Options::default()).await.unwrap();
        let mut bot = Program::start(&server, "127.0.0.1", folder.path()).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(&bot.url()).await;
        comes_in(&page).await;
        bot.restart().await;
        page.until(ASKED).await;
        shows_password(&page).await;
        browser.close().await;
        drop(bot);
        server.shutdown().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_a_remote_page_returns_to_the_login() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Options::default()).await.unwrap();
        let mut bot = Program::start(&server, "0.0.0.0", folder.path()).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        browser.client.goto(&bot.url()).await.unwrap();
        for _ in 0..2 {
            enters(&page).await;
            page.until("document.querySelector('.state.playing')").await;
            bot.restart().await;
            page.until("document.querySelector('#login')").await;
        }
        browser.close().await;
        drop(bot);
        server.shutdown().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_with_an_expired_session_asks_for_the_password() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        comes_in(&page).await;
        run(&page, END_SESSION).await;
        press(&page, "//dialog//button[text()='Pause']").await;
        page.until(ASKED).await;
        assert_eq!(page.text(".desk-said").await, "password required");
        shows_password(&page).await;
        assert_eq!(page.text(".desk-said").await, "");
        press(&page, "//dialog//button[text()='Close']").await;

        let giving_up = async {
            run(&page, END_SESSION).await;
            page.until(RESIGN).await;
            answers(&page, "Resign").await;
            page.until(ASKED).await;
            shows_password(&page).await;
        };
        house.spar_at(1, PACE, giving_up).await;
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_keeps_its_commands_even_if_one_answer_is_lost() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        press(&page, "//header//button[contains(., 'Control')]").await;
        page.until(ASKED).await;
        run(&page, LOSE_ONE).await;
        shows_password(&page).await;
        assert_eq!(page.look("window.lost").await, json!(1));
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn irreversible_commands_ask_and_can_be_cancelled() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.live_page(house.panel()).await;
        run(&page, COUNT_ORDERS).await;
        comes_in(&page).await;
        press(&page, "//dialog//button[text()='Drain']").await;
        answers(&page, "Cancel").await;
        press(&page, "//dialog//button[text()='Close']").await;
        let thinking_again = async {
            page.until(RESIGN).await;
            answers(&page, "Cancel").await;
            assert_eq!(page.look("window.ordersGiven").await, json!(0));
            press(&page, "//header//button[contains(., 'Control')]").await;
            press(&page, "//dialog//button[text()='Pause']").await;
            page.until("document.querySelector('.state.paused')").await;
            assert_eq!(page.look("window.ordersGiven").await, json!(1));
        };
        house.spar_at(1, PACE, thinking_again).await;
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
