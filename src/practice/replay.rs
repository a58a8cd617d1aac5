//! Replays the server's side of a recorded game to a client, so that what happened in production
//! happens again.
//!
//! The recording decides all that the server says. Lines come with the recorded gaps and after the
//! calls that preceded them; each call gets the recorded answer, also where the client now makes
//! another move. It knows no rules and invents no game.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How much longer the client may take for something than in the recording.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between the blank lines of a stream.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Longest body of a call.
const BODY_LIMIT: usize = 16 * 1024;
/// The token that the client needs.
pub const REPLAY_TOKEN: &str = "lip_replay";

/// The traffic of a game, as `megaton game ID --wire` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    lines: Vec<RecordedLine>,
    /// The account that played.
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct RecordedLine {
    game: String,
    /// Milliseconds since 1970.
    at: u64,
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// The game stream opened.
    Open,
    /// A line of it.
    In,
    /// It was lost.
    Lost,
    /// A line of the event stream.
    Event,
    /// A call of the client: method, path, body.
    Out,
    /// Its answer: status or `-`, path, body.
    Answer,
}

impl Recording {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines: Vec<RecordedLine> = Vec::new();
        for (number, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            let line: RecordedLine = serde_json::from_str(text).map_err(|error| {
                format!("line {number}: not as `megaton game ID --wire` prints it: {error}")
            })?;
            if let Some(first) = lines.first().filter(|first| first.game != line.game) {
                let (one, other) = (&first.game, &line.game);
                return Err(format!(
                    "line {number}: game {other} after game {one}: replay one"
                ));
            }
            lines.push(line);
        }
        let json = |kind: Kind, of_type: &str| {
            lines
                .iter()
                .filter(|line| line.kind == kind)
                .filter_map(|line| serde_json::from_str::<Value>(&line.text).ok())
                .find(|json| json["type"] == of_type)
                .ok_or_else(|| format!("no {of_type} in it: the recording lacks the game's start"))
        };
        let (start, full) = (json(Kind::Event, "gameStart")?, json(Kind::In, "gameFull")?);
        let side = start["game"]["color"].as_str().unwrap_or("white");
        let name = full[side]["name"].as_str().or(full[side]["id"].as_str());
        let name = name.ok_or_else(|| format!("the gameFull in it has no name of {side}"))?;
        let name = name.to_owned();
        Ok(Self { lines, name })
    }

    /// Starts a server that replays this, `speed` times as fast as it was recorded.
    ///
    /// # Errors
    /// When no socket is to be had.
    pub async fn start(self, speed: f64) -> io::Result<Replay> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (requests, arriving) = mpsc::unbounded_channel();
        let account =
            json!({ "id": self.name.to_lowercase(), "username": self.name, "title": "BOT" });
        let router = Router::new()
            .fallback(handle)
            .with_state(Site { requests, account });
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        let player = Player {
            requests: arriving,
            events: None,
            game: None,
            waiting: VecDeque::new(),
            unanswered: HashMap::new(),
            gap: Duration::ZERO,
            report: ReplayReport::default(),
        };
        let playing = tokio::spawn(player.play(self.lines, speed));
        Ok(Replay {
            url,
            serving,
            playing,
        })
    }
}

/// A running replay; ends when dropped.
#[derive(Debug)]
pub struct Replay {
    url: String,
    serving: JoinHandle<()>,
    playing: JoinHandle<ReplayReport>,
}

impl Replay {
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the end of the recording.
    pub async fn finished(&mut self) -> ReplayReport {
        (&mut self.playing).await.unwrap_or_default()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.playing.abort();
        self.serving.abort();
    }
}

/// How the client's calls compare with the recorded ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Calls as recorded.
    pub same: usize,
    /// What differs, one line each.
    pub differences: Vec<String>,
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(f, "{difference}")?;
        }
        let (same, others) = (self.same, self.differences.len());
        writeln!(f, "calls as recorded: {same}; differences: {others}")
    }
}

/// What the client asks for.
enum Asked {
    Events(mpsc::UnboundedSender<String>),
    Game(mpsc::UnboundedSender<String>),
    Call(Call),
}

struct Call {
    /// Method, path and body.
    line: String,
    /// Status and body; dropped, the call gets no answer.
    reply: oneshot::Sender<(u16, String)>,
}

#[derive(Clone)]
struct Site {
    requests: mpsc::UnboundedSender<Asked>,
    account: Value,
}

async fn handle(State(site): State<Site>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let target = head
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    match head.uri.path() {
        "/api/account" => return Json(site.account).into_response(),
        "/api/account/playing" => return Json(json!({ "nowPlaying": [] })).into_response(),
        "/api/challenge" => return Json(json!({ "in": [], "out": [] })).into_response(),
        "/api/stream/event" => return stream(&site, Asked::Events),
        path if path.starts_with("/api/bot/game/stream/") => return stream(&site, Asked::Game),
        path if path.starts_with("/api/bot/game/") => {}
        _ => return Json(json!({ "ok": true })).into_response(),
    }
    let body = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    let line = format!("{} {target} {body}", head.method);
    let line = line.trim_end().to_owned();
    let (reply, answer) = oneshot::channel();
    let _ = site.requests.send(Asked::Call(Call { line, reply }));
    match answer.await {
        Ok((status, body)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            (status, body).into_response()
        }
        Err(_) => std::future::pending().await,
    }
}

/// A stream whose lines the player sends, with blank lines in between.
fn stream(site: &Site, asked: fn(mpsc::UnboundedSender<String>) -> Asked) -> Response {
    let (lines, arriving) = mpsc::unbounded_channel::<String>();
    let _ = site.requests.send(asked(lines));
    let body = futures::stream::unfold(arriving, async |mut arriving| {
        let line = match tokio::time::timeout(KEEP_ALIVE, arriving.recv()).await {
            Ok(line) => line?,
            Err(_) => String::new(),
        };
        Some((Ok::<_, Infallible>(line + "\n"), arriving))
    });
    Body::from_stream(body).into_response()
}

/// Follows the recording.
struct Player {
    requests: mpsc::UnboundedReceiver<Asked>,
    events: Option<mpsc::UnboundedSender<String>>,
    game: Option<mpsc::UnboundedSender<String>>,
    /// Calls that the recording has not come to.
    waiting: VecDeque<Call>,
    /// Replies that the recording has not come to, by the path of the recorded call.
    unanswered: HashMap<String, oneshot::Sender<(u16, String)>>,
    /// How long it took in the recording from the line before.
    gap: Duration,
    report: ReplayReport,
}

impl Player {
    async fn play(mut self, lines: Vec<RecordedLine>, speed: f64) -> ReplayReport {
        let mut before = lines.first().map_or(0, |line| line.at);
        for line in lines {
            let gap = Duration::from_millis(line.at.saturating_sub(before));
            (before, self.gap) = (line.at, gap);
            // The client's own part takes what time it takes now.
            if matches!(line.kind, Kind::In | Kind::Event | Kind::Lost) {
                self.wait(gap.div_f64(speed)).await;
            }
            match line.kind {
                Kind::Open => {
                    self.until("the stream of the game", |it| it.game.is_some())
                        .await;
                }
                Kind::In => send(self.game.as_ref(), line.text),
                Kind::Lost => self.game = None,
                Kind::Event => {
                    self.until("the event stream", |it| it.events.is_some())
                        .await;
                    send(self.events.as_ref(), line.text);
                }
                Kind::Out => self.expect(&line.text).await,
                Kind::Answer => self.answer(&line.text),
            }
        }
        for call in self.waiting.drain(..) {
            self.report
                .differences
                .push(format!("not recorded: {}", call.line));
            let _ = call.reply.send((200, json!({ "ok": true }).to_string()));
        }
        self.report
    }

    fn take(&mut self, asked: Asked) {
        match asked {
            Asked::Events(lines) => self.events = Some(lines),
            Asked::Game(lines) => self.game = Some(lines),
            Asked::Call(call) => self.waiting.push_back(call),
        }
    }

    /// Takes what the client asks for, until the time is over.
    async fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(Some(asked)) = tokio::time::timeout_at(end, self.requests.recv()).await {
            self.take(asked);
        }
    }

    /// Waits for something that the client did in the recording.
    async fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + self.gap + PATIENCE;
        while !is_so(self) {
            let asked = tokio::time::timeout_at(end, self.requests.recv()).await;
            let Ok(Some(asked)) = asked else {
                let missing = format!("did not come: {what}");
                self.report.differences.push(missing);
                return;
            };
            self.take(asked);
        }
    }

    /// Waits for a call like the recorded one.
    async fn expect(&mut self, recorded: &str) {
        let alike = |call: &Call| action(&call.line) == action(recorded);
        self.until(recorded, |it| it.waiting.iter().any(alike))
            .await;
        let place = self.waiting.iter().position(alike);
        let Some(call) = place.and_then(|place| self.waiting.remove(place)) else {
            return;
        };
        if call.line == recorded {
            self.report.same += 1;
        } else {
            let made = &call.line;
            self.report
                .differences
                .push(format!("recorded: {recorded}; now: {made}"));
        }
        let path = recorded.split(' ').nth(1).unwrap_or_default();
        self.unanswered.insert(path.to_owned(), call.reply);
    }

    /// Gives the recorded answer; where there was none, the call stays without.
    fn answer(&mut self, recorded: &str) {
        let mut parts = recorded.splitn(3, ' ');
        let mut next = || parts.next().unwrap_or_default();
        let (status, path, body) = (next(), next(), next());
        if let (Some(reply), Ok(status)) = (self.unanswered.remove(path), status.parse()) {
            let _ = reply.send((status, body.to_owned()));
        }
    }
}

/// Sends a line to a stream that may have gone.
fn send(stream: Option<&mpsc::UnboundedSender<String>>, line: String) {
    if let Some(stream) = stream {
        let _ = stream.send(line);
    }
}

/// What a call does: its method, and the part of its path after the game.
fn action(line: &str) -> (&str, &str) {
    let (method, rest) = line.split_once(' ').unwrap_or_default();
    let part = rest.split(['/', '?', ' ']).nth(5);
    (method, part.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_cannot_be_replayed_is_explained() {
        let line = |game: &str, kind: &str, text: &str| {
            json!({ "game": game, "at": 1, "kind": kind, "text": text }).to_string()
        };
        let start = line(
            "a",
            "event",
            r#"{"type":"gameStart","game":{"color":"black"}}"#,
        );
        let full = line("a", "in", r#"{"type":"gameFull","black":{"name":"Bot"}}"#);
        let read = Recording::parse(&format!("{start}\n\n{full}\n")).unwrap();
        assert_eq!(read.name, "Bot");
        for (text, expected) in [
            (
                "{}".to_owned(),
                "line 1: not as `megaton game ID --wire` prints it: missing",
            ),
            (format!("{start}\noops"), "line 2: not as"),
            (
                format!("{start}\n{}", line("b", "open", "")),
                "line 2: game b after game a",
            ),
            (full.clone(), "no gameStart in it"),
            (start.clone(), "no gameFull in it"),
            (String::new(), "no gameStart in it"),
        ] {
            let said = Recording::parse(&text).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn calls_are_compared_by_what_they_do() {
        let path = "POST /api/bot/game/abcd1234";
        let moved = format!("{path}/move/e2e4?offeringDraw=true");
        assert_eq!(action(&moved), ("POST", "move"));
        assert_eq!(
            action(&format!("{path}/chat room=player")),
            ("POST", "chat")
        );
        assert_eq!(action("GET"), ("", ""));
    }
}
