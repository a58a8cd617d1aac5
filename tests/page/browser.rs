//! A headless Chromium with its driver, for one test.
//!
//! Both must be on the `PATH`; otherwise the test is skipped. Neither outlives its test.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::visitor::Visitor;

/// How long the driver and the browser may take to come up on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How often a driver is started before the test fails.
const STARTS: u32 = 5;

/// What the browser pretends to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Screen {
    Desk,
    Phone,
    /// As wide as they come, in the dark.
    Wall,
}

/// Whether the visitor wants the page to move. A browser without a graphics processor draws every
/// frame with the cores that the bot and the other tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Motion {
    Full,
    Reduced,
}

/// The driver, with its browser in a group of processes of their own.
#[derive(Debug)]
struct Driver(Child);

impl Driver {
    /// A driver, and its port. The port that the system gives it for IPv4 may be taken for IPv6, and then
    /// the driver ends: another one is started.
    async fn start(programs: &Programs) -> (Self, u16) {
        let mut told = String::new();
        for _ in 0..STARTS {
            let child = Command::new(&programs.driver)
                .arg("--port=0")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut driver = Self(child);
            let output = driver.0.stdout.take().unwrap();
            let port = tokio::task::spawn_blocking(move || port(output));
            match tokio::time::timeout(START, port).await.unwrap().unwrap() {
                Ok(port) => return (driver, port),
                Err(output) => told = output,
            }
        }
        panic!(
            "the driver ended {STARTS} times before it named its port, the last time with:\n{told}"
        );
    }
}

/// The port that a driver names, or everything it wrote if it ended before.
fn port(output: ChildStdout) -> Result<u16, String> {
    let mut told = String::new();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            return Ok(port.trim_end_matches('.').parse().unwrap());
        }
        told = told + &line + "\n";
    }
    Err(told)
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The programs a browser test needs, or `None` when this machine lacks one.
pub(crate) fn installed() -> Option<Programs> {
    Some(Programs {
        browser: headless_shell()
            .or_else(|| find(&["chromium", "chromium-browser", "google-chrome"]))?,
        driver: find(&["chromedriver"])?,
    })
}

#[derive(Debug)]
pub(crate) struct Programs {
    browser: PathBuf,
    driver: PathBuf,
}

/// The browser that starts soonest and draws for the least, where it is installed.
fn headless_shell() -> Option<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/headless_shell.sh");
    find(&["chromium-headless-shell"]).map(|_| script.into())
}

fn find(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut places = names
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)));
    places.find(|file| file.is_file())
}

/// An open browser.
#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) client: Client,
    _driver: Driver,
    _profile: TempDir,
}

impl Browser {
    /// Anyone who sits at it.
    pub(crate) fn visitor(&self) -> Visitor<'_> {
        Visitor {
            client: &self.client,
        }
    }

    /// Someone at the live page of a bot that is online.
    pub(crate) async fn live_page(&self, url: &str) -> Visitor<'_> {
        self.client.goto(url).await.unwrap();
        let page = self.visitor();
        page.until("document.querySelector('.state.playing')").await;
        page
    }

    /// With reduced motion: nothing slides, and an explosion is a still glow.
    pub(crate) async fn open(programs: &Programs, screen: Screen) -> Self {
        Self::start(programs, screen, Motion::Reduced).await
    }

    /// With all that moves on the pages.
    pub(crate) async fn open_moving(programs: &Programs, screen: Screen) -> Self {
        Self::start(programs, screen, Motion::Full).await
    }

    async fn start(programs: &Programs, screen: Screen, motion: Motion) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = Driver::start(programs).await;
        let capabilities = capabilities(programs, &profile, screen, motion);
        let address = format!("http://127.0.0.1:{port}");
        let mut session = ClientBuilder::new(HttpConnector::new());
        session.capabilities(capabilities);
        let client = tokio::time::timeout(START, session.connect(&address)).await;
        let client = client.unwrap().unwrap();
        Self {
            client,
            _driver: driver,
            _profile: profile,
        }
    }

    /// What the page wrote to the console as an error, uncaught exceptions and failed loads included.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.client.issue_cmd(ConsoleLog).await.unwrap();
        let entries = log.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE")
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    pub(crate) async fn close(self) {
        let closed: Result<(), CmdError> = self.client.close().await;
        closed.unwrap();
    }
}

fn capabilities(
    programs: &Programs,
    profile: &TempDir,
    screen: Screen,
    motion: Motion,
) -> serde_json::Map<String, Value> {
    let size = match screen {
        Screen::Desk | Screen::Phone => "--window-size=1280,900",
        Screen::Wall => "--window-size=3840,2160",
    };
    let mut options = json!({
        "binary": programs.browser,
        "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", size,
            format!("--user-data-dir={}", profile.path().display()),
        ],
    });
    if matches!(screen, Screen::Phone) {
        options["mobileEmulation"] = json!({
            "deviceMetrics": { "width": 360, "height": 740, "pixelRatio": 2, "touch": true },
        });
    }
    let args = options["args"].as_array_mut().unwrap();
    if matches!(screen, Screen::Wall) {
        // Dark is the scheme of that number.
        args.push(json!("--blink-settings=preferredColorScheme=0"));
    }
    if motion == Motion::Reduced {
        args.push(json!("--force-prefers-reduced-motion"));
    }
    let all = json!({
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL" },
        "timeouts": { "script": 60_000 },
    });
    all.as_object().cloned().unwrap()
}

/// The driver's own command for the console's log.
#[derive(Debug)]
struct ConsoleLog;

impl WebDriverCompatibleCommand for ConsoleLog {
    fn endpoint(
        &self,
        base_url: &url::Url,
        session_id: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base_url.join(&format!(
            "session/{}/se/log",
            session_id.unwrap_or_default()
        ))
    }

    fn method_and_body(&self, _request_url: &url::Url) -> (http::Method, Option<String>) {
        (
            http::Method::POST,
            Some(json!({ "type": "browser" }).to_string()),
        )
    }
}
