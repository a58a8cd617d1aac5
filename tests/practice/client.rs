//! A bare client of the Bot API, and a server with two bots to use it on.

use std::time::Duration;

use megaton::practice::{Options, Server, ServerHandle, Timing};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// Nothing on the loopback takes this long; a test that waits longer hangs.
pub(crate) const HANG: Duration = Duration::from_secs(20);

/// One account of a server, over HTTP.
#[derive(Clone)]
pub(crate) struct Bot {
    pub(crate) name: String,
    pub(crate) token: String,
    pub(crate) url: String,
    pub(crate) agent: String,
    http: reqwest::Client,
}

/// What came back: the status and the body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

impl Bot {
    pub(crate) fn new(server: &ServerHandle, name: &str) -> Self {
        let token = server.open_bot(name).unwrap();
        Self::with_token(server, name, token)
    }

    pub(crate) fn with_token(server: &ServerHandle, name: &str, token: String) -> Self {
        Self {
            name: name.to_owned(),
            token,
            url: server.url().to_owned(),
            agent: format!("test/1.0 user:{name}"),
            http: http(),
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header("user-agent", &self.agent)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Asks for JSON where something else is the usual answer.
    pub(crate) async fn get_json(&self, path: &str) -> Answer {
        let accept = reqwest::header::ACCEPT;
        answer(
            self.request(Method::GET, path)
                .header(accept, "application/json"),
        )
        .await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        answer(self.request(Method::POST, path)).await
    }

    pub(crate) async fn post_form(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        answer(self.request(Method::POST, path).form(form)).await
    }

    pub(crate) async fn stream(&self, path: &str) -> Lines {
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        Lines::of(response)
    }

    pub(crate) async fn events(&self) -> Lines {
        self.stream("/api/stream/event").await
    }

    pub(crate) async fn game(&self, id: &str) -> Lines {
        self.stream(&format!("/api/bot/game/stream/{id}")).await
    }

    pub(crate) async fn play(&self, id: &str, uci: &str) -> Answer {
        self.post(&format!("/api/bot/game/{id}/move/{uci}")).await
    }

    pub(crate) async fn at_game(&self, id: &str, what: &str) -> Answer {
        self.post(&format!("/api/bot/game/{id}/{what}")).await
    }

    /// Challenges on these terms, playing White.
    pub(crate) async fn challenge(&self, other: &Self, more: &[(&str, &str)]) -> Answer {
        let mut form = vec![
            ("clock.limit", "180"),
            ("clock.increment", "2"),
            ("variant", "atomic"),
            ("color", "white"),
        ];
        form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        self.post_form(&format!("/api/challenge/{}", other.name), &form)
            .await
    }
}

/// A client without any account.
pub(crate) fn http() -> reqwest::Client {
    // The first test to come here installs it; a second installation changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    Answer {
        status,
        text: response.text().await.unwrap(),
    }
}

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines {
    response: Response,
    rest: Vec<u8>,
}

/// What a stream can bring.
#[derive(Debug, PartialEq)]
pub(crate) enum Read {
    Line(Value),
    KeepAlive,
    End,
    Broken,
}

impl Lines {
    pub(crate) fn of(response: Response) -> Self {
        Self {
            response,
            rest: Vec::new(),
        }
    }

    /// The next thing, keep-alives included.
    pub(crate) async fn read(&mut self) -> Read {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let line = std::str::from_utf8(&line).unwrap().trim();
                if line.is_empty() {
                    return Read::KeepAlive;
                }
                return Read::Line(serde_json::from_str(line).unwrap());
            }
            match tokio::time::timeout(HANG, self.response.chunk())
                .await
                .expect("a silent stream")
            {
                Ok(Some(bytes)) => self.rest.extend(bytes),
                Ok(None) => return Read::End,
                Err(_) => return Read::Broken,
            }
        }
    }

    /// The next line that says something.
    #[track_caller]
    pub(crate) fn next(&mut self) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        async move {
            loop {
                match self.read().await {
                    Read::Line(value) => return value,
                    Read::KeepAlive => {}
                    other => panic!("{other:?} where a line was awaited at {place}"),
                }
            }
        }
    }

    /// The next line of this type.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let value = self.next().await;
            if value["type"] == kind {
                return value;
            }
        }
    }

    /// The state that has this status, passing over others.
    pub(crate) async fn until_status(&mut self, status: &str) -> Value {
        loop {
            let state = self.next_of("gameState").await;
            if state["status"] == status {
                return state;
            }
        }
    }

    /// The same, where the first line may be told it already.
    pub(crate) async fn until_status_or_full(&mut self, status: &str) -> Value {
        let full = self.next().await;
        if full["state"]["status"] == status {
            return full["state"].clone();
        }
        self.until_status(status).await
    }

    /// Waits for the end of the stream, which comes after so many bytes of a line.
    pub(crate) async fn end_of_half_a_line(&mut self, bytes: usize) {
        while self.read().await != Read::End {}
        assert_eq!(self.rest.len(), bytes);
    }

    /// Waits for the end of the stream, passing over whatever comes before.
    pub(crate) async fn end(mut self) {
        loop {
            match self.read().await {
                Read::End => return,
                Read::Broken => panic!("the stream broke"),
                _ => {}
            }
        }
    }
}

/// A server a hundred times as fast as Lichess.
pub(crate) async fn server() -> ServerHandle {
    Server::start(Options {
        timing: Timing::scaled(100),
        ..Options::default()
    })
    .await
    .unwrap()
}

/// Two bots of a server.
pub(crate) fn two_bots(server: &ServerHandle) -> (Bot, Bot) {
    (Bot::new(server, "WhiteBot"), Bot::new(server, "BlackBot"))
}

/// A game between two bots, the first with White.
pub(crate) async fn start_game(white: &Bot, black: &Bot, more: &[(&str, &str)]) -> String {
    let id = white.challenge(black, more).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    black
        .post(&format!("/api/challenge/{id}/accept"))
        .await
        .ok();
    id
}
