//! Access to the operator's page over HTTP: who may read, who may send commands, and how hostile
//! clients are refused.

use std::time::Duration;

use megaton::config::Panel;
use megaton::panel::Http;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bounded;
use super::fixture::{PASSWORD, World, local, locked};

/// What came back: status, head and body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub(super) fn address(house: &World) -> &str {
    house.panel().trim_start_matches("http://")
}

/// Sends bytes and reads until the other end hangs up.
pub(super) async fn exchange(address: &str, bytes: &[u8]) -> Answer {
    let mut client = TcpStream::connect(address).await.unwrap();
    // Who is refused half-way may be hung up on.
    let _ = client.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer).await;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split_whitespace().nth(1).unwrap_or("0");
    Answer {
        status: status.parse().unwrap(),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

fn line(name: &str, value: &str) -> String {
    format!("{name}: {value}\r\n")
}

/// A request with these further headers.
pub(super) async fn ask(
    house: &World,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let address = address(house);
    let mut text = format!("{request} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &line("host", address);
    }
    for (name, value) in headers {
        text += &line(name, value);
    }
    if !body.is_empty() {
        let length = body.len();
        text += &line("content-type", "application/json");
        text += &line("content-length", &length.to_string());
    }
    exchange(address, format!("{text}\r\n{body}").as_bytes()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_are_served_with_strict_rules() {
    bounded(async {
        let house = World::open().await;
        for path in ["/", "/games", "/opponents", "/game/abcdefgh"] {
            let page = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(page.status, 200, "{page:?}");
            assert!(page.body.starts_with("<!doctype html>"), "{path}");
            for rule in [
                "content-security-policy: default-src 'none'; script-src 'self'",
                "x-content-type-options: nosniff",
                "x-frame-options: deny",
            ] {
                assert!(page.head.contains(rule), "{path}: {}", page.head);
            }
        }
        for (path, status) in [
            ("/assets/board/board.js", 200),
            ("/assets/panel/live.js", 200),
            ("/assets/panel/../../Cargo.toml", 404),
            ("/assets/panel/%2e%2e%2fCargo.toml", 404),
            ("/api/game/nosuch12", 404),
            ("/nothing", 404),
        ] {
            let got = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(got.status, status, "{path}");
        }
        assert_eq!(
            ask(&house, "GET /api/games", &[], "").await.json(),
            json!([])
        );
        assert_eq!(ask(&house, "DELETE /", &[], "").await.status, 405);
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_names_and_other_pages_are_refused() {
    bounded(async {
        let house = World::open().await;
        let own = format!("http://{}", address(&house));
        for headers in [
            &[("host", "evil.example")][..],
            &[("host", "localhost.evil.example")],
            &[("origin", "http://evil.example")],
            &[("origin", "null")],
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
        ] {
            let refused = ask(&house, "GET /api/me", headers, "").await;
            assert_eq!(refused.status, 403, "{headers:?}: {refused:?}");
        }
        for headers in [
            &[][..],
            &[("host", "localhost")],
            &[("origin", own.as_str())],
        ] {
            assert_eq!(ask(&house, "GET /api/me", headers, "").await.status, 200);
        }
        // Without a password nothing is steered, whatever is shown.
        let pause = r#"{"do":"pause"}"#;
        for headers in [
            &[][..],
            &[("authorization", "Bearer "), ("origin", own.as_str())],
        ] {
            let refused = ask(&house, "POST /api/control", headers, pause).await;
            assert_eq!(refused.status, 403, "{refused:?}");
            assert!(refused.body.contains("[panel] token_file"), "{refused:?}");
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_password_allows_commands() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let own = format!("http://{}", address(&house));
        let bearer = format!("Bearer {PASSWORD}");
        let control = async |headers: &[(&str, &str)], body: &str| {
            ask(&house, "POST /api/control", headers, body).await
        };
        let pause = r#"{"do":"pause"}"#;
        assert_eq!(control(&[], pause).await.status, 401);
        let wrong = [("authorization", "Bearer open-sesame-open-sesamE")];
        assert_eq!(control(&wrong, pause).await.status, 401);
        let shown = [("authorization", bearer.as_str())];
        let paused = loop {
            let paused = control(&shown, pause).await;
            // It has to reach its server first.
            if !paused.body.contains("not connected") {
                break paused;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(
            (paused.status, &paused.json()["ok"]),
            (200, &json!(true)),
            "{paused:?}"
        );
        let status = control(&shown, r#"{"do":"status"}"#).await.json();
        assert_eq!(status["status"]["state"], "paused", "{status}");
        let sources = &status["status"]["sources"];
        assert_eq!(sources["tables"]["outcomes"], 35, "{status}");
        assert!(sources["net"].is_string(), "{status}");
        assert_eq!(sources["lists"][0]["names"], 1, "{status}");
        assert_eq!(sources["lists"][0]["error"], Value::Null, "{status}");
        assert_eq!(sources["lists"][2]["list"], "welcome", "{status}");
        assert!(sources["lists"][2]["error"].is_string(), "{status}");
        for bad in ["{}", r#"{"do":"fly"}"#, "[", r#"{"do":"pause","x":1}"#] {
            let refused = control(&shown, bad).await;
            assert_eq!(refused.status, 400, "{refused:?}");
        }

        let login = |word: &str| json!({ "password": word }).to_string();
        let from_here = [("origin", own.as_str())];
        let wrong = ask(&house, "POST /api/login", &from_here, &login("open-sesame")).await;
        assert_eq!(wrong.json()["ok"], json!(false));
        let right = ask(&house, "POST /api/login", &from_here, &login(PASSWORD)).await;
        assert_eq!(right.json()["ok"], json!(true), "{right:?}");
        let cookie = right
            .head
            .lines()
            .find(|line| line.starts_with("set-cookie: "));
        let cookie = cookie.unwrap().trim_start_matches("set-cookie: ");
        assert!(
            cookie.contains("; httponly; samesite=strict; path=/"),
            "{cookie}"
        );
        let session = cookie.split(';').next().unwrap();
        let token = right.json()["token"].as_str().unwrap().to_owned();
        let token = ("x-megaton-token", token.as_str());
        let known = [("cookie", session), ("origin", own.as_str()), token];
        let resumed = control(&known, r#"{"do":"resume"}"#).await;
        assert_eq!(resumed.json()["ok"], json!(true), "{resumed:?}");
        assert_eq!(
            ask(&house, "GET /api/me", &known, "").await.json()["steers"],
            json!(true)
        );
        let elsewhere = [
            ("cookie", session),
            ("origin", "http://evil.example"),
            token,
        ];
        assert_eq!(control(&elsewhere, pause).await.status, 403);
        assert_eq!(
            control(&[("cookie", session), token], pause).await.status,
            403
        );
        ask(&house, "POST /api/logout", &known, "").await;
        assert_eq!(control(&known, pause).await.status, 401);

        let guess = [("authorization", "Bearer guess")];
        for _ in 0..12 {
            control(&guess, pause).await;
        }
        assert_eq!(control(&guess, pause).await.status, 429, "many were wrong");
        let right = control(&shown, pause).await;
        assert_eq!(right.status, 200, "guesses lock nobody out: {right:?}");
        // What another door was opened with is no password of this one.
        let basic = ("authorization", "Basic bWU6d29yZA==");
        let (cookie, token) = log_in(&house, &own).await;
        let session = ("cookie", pair(&cookie));
        let token = ("x-megaton-token", token.as_str());
        let known = [basic, session, token, ("origin", own.as_str())];
        let paused = control(&known, pause).await;
        assert_eq!(paused.status, 200, "{paused:?}");
        let nowhere = control(&[basic, session, token], pause).await;
        assert_eq!(nowhere.status, 403, "{nowhere:?}");
        assert_eq!(control(&[basic], pause).await.status, 401);
        house.close().await;
    })
    .await;
}

/// The cookie and the token of a new session, begun by a page of this origin.
pub(super) async fn log_in(house: &World, origin: &str) -> (String, String) {
    let host = origin.split("://").nth(1).unwrap();
    let body = json!({ "password": PASSWORD }).to_string();
    let headers = [("host", host), ("origin", origin)];
    let answer = ask(house, "POST /api/login", &headers, &body).await;
    assert_eq!(answer.json()["ok"], json!(true), "{answer:?}");
    let fields = answer.head.lines();
    let mut cookie = fields.filter_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.next_back().unwrap().to_owned();
    let token = answer.json()["token"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (cookie, token)
}

/// The name and value of a cookie.
fn pair(cookie: &str) -> &str {
    cookie.split(';').next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cookie_alone_commands_nothing() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let house = World::open_with(&locked(folder.path())).await;
        let own = format!("http://{}", address(&house));
        let (cookie, token) = log_in(&house, &own).await;
        let (other_cookie, other_token) = log_in(&house, &own).await;
        let status = r#"{"do":"status"}"#;
        let command = async |token: &str| {
            let headers = [
                ("cookie", pair(&cookie)),
                ("origin", own.as_str()),
                ("x-megaton-token", token),
            ];
            ask(&house, "POST /api/control", &headers, status)
                .await
                .status
        };
        // Every server on this host gets the cookie, whatever its port.
        let stolen = [("cookie", pair(&cookie)), ("origin", own.as_str())];
        let refused = ask(&house, "POST /api/control", &stolen, status).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        let me = ask(&house, "GET /api/me", &stolen, "").await.json();
        assert_eq!(me["steers"], json!(false), "{me}");
        for wrong in ["", "guess", other_token.as_str(), pair(&cookie)] {
            assert_eq!(command(wrong).await, 401, "{wrong}");
        }
        assert_eq!(command(&token).await, 200);
        let no_cookie = [
            ("origin", own.as_str()),
            ("x-megaton-token", token.as_str()),
        ];
        let refused = ask(&house, "POST /api/control", &no_cookie, status).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        ask(&house, "POST /api/logout", &stolen, "").await;
        assert_eq!(command(&token).await, 401);
        let known = [
            ("cookie", pair(&other_cookie)),
            ("origin", own.as_str()),
            ("x-megaton-token", other_token.as_str()),
        ];
        let other = ask(&house, "POST /api/control", &known, status).await;
        assert_eq!(other.status, 200, "the other session goes on: {other:?}");
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_bots_on_one_machine_have_cookies_of_their_own() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let first = World::open_with(&locked(folder.path())).await;
        let second = World::open_with(&locked(folder.path())).await;
        let mut names = Vec::new();
        for house in [&first, &second] {
            let port = address(house).rsplit_once(':').unwrap().1;
            let own = format!("http://{}", address(house));
            let (cookie, _) = log_in(house, &own).await;
            assert!(
                cookie.starts_with(&format!("megaton-session-{port}=")),
                "{cookie}"
            );
            names.push(pair(&cookie).split('=').next().unwrap().to_owned());
        }
        assert_ne!(names[0], names[1]);
        first.close().await;
        second.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_https_the_cookie_is_bound_to_its_host() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            hosts: vec!["bot.example.org".to_owned()],
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        let port = address(&house).rsplit_once(':').unwrap().1;
        let (cookie, token) = log_in(&house, "https://bot.example.org").await;
        let name = format!("__host-megaton-session-{port}=");
        assert!(cookie.starts_with(&name), "{cookie}");
        assert!(
            cookie.contains("; secure") && cookie.contains("; path=/"),
            "{cookie}"
        );
        assert!(!cookie.contains("domain"), "{cookie}");
        let cookie = pair(&cookie).replace("__host-", "__Host-");
        let known = [
            ("host", "bot.example.org"),
            ("origin", "https://bot.example.org"),
            ("cookie", cookie.as_str()),
            ("x-megaton-token", token.as_str()),
        ];
        let status = r#"{"do":"status"}"#;
        let answer = ask(&house, "POST /api/control", &known, status).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_hides_itself_opens_nothing() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            trust_local: false,
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        // As nginx forwards by default: the listen address as the host, and no header of a proxy.
        for path in ["/api/games", "/api/live", "/api/me", "/metrics", "/"] {
            let refused = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(refused.status, 401, "{path}: {refused:?}");
        }
        let bearer = format!("Bearer {PASSWORD}");
        let shown = [("authorization", bearer.as_str())];
        assert_eq!(ask(&house, "GET /api/games", &shown, "").await.status, 200);
        assert_eq!(ask(&house, "GET /healthz", &[], "").await.status, 200);
        house.close().await;

        let trusting = Panel {
            trust_local: true,
            ..locked(folder.path())
        };
        let house = World::open_with(&trusting).await;
        assert_eq!(ask(&house, "GET /api/games", &[], "").await.status, 200);
        let status = r#"{"do":"status"}"#;
        let refused = ask(&house, "POST /api/control", &[], status).await;
        assert_eq!(refused.status, 401, "commands need it all the same");
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_cannot_be_read_opens_nothing() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        for trust_local in [false, true] {
            let panel = Panel {
                trust_local,
                token_file: Some(folder.path().join("missing")),
                ..local()
            };
            let house = World::open_with(&panel).await;
            for (path, status) in [
                ("/api/games", if trust_local { 200 } else { 401 }),
                ("/api/events", if trust_local { 200 } else { 401 }),
                ("/healthz", 200),
            ] {
                let answer = ask(&house, &format!("GET {path}"), &[], "").await;
                assert_eq!(answer.status, status, "{path}: {answer:?}");
            }
            let pause = ask(&house, "POST /api/control", &[], r#"{"do":"pause"}"#).await;
            assert_eq!(pause.status, 401, "{pause:?}");
            house.close().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_with_data_is_stored_by_a_browser() {
    bounded(async {
        let house = World::open().await;
        for path in [
            "/api/me",
            "/api/games",
            "/api/events",
            "/api/game/nosuch12",
            "/readyz",
        ] {
            let answer = ask(&house, &format!("GET {path}"), &[], "").await;
            let rule = "cache-control: no-store";
            assert!(answer.head.contains(rule), "{path}: {}", answer.head);
        }
        let file = ask(&house, "GET /assets/panel/live.js", &[], "").await;
        assert!(
            file.head.contains("cache-control: no-cache"),
            "{}",
            file.head
        );
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_updates_end_with_their_session() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            hosts: vec!["bot.example.org".to_owned()],
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        let origin = "http://bot.example.org";
        let (cookie, _) = log_in(&house, origin).await;
        let (other, _) = log_in(&house, origin).await;
        let mut streams = Vec::new();
        for cookie in [&cookie, &other] {
            let cookie = pair(cookie);
            let mut stream = TcpStream::connect(address(&house)).await.unwrap();
            let request = format!(
                "GET /api/live HTTP/1.1\r\nhost: bot.example.org\r\nconnection: close\r\n\
                 cookie: {cookie}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            hears(&mut stream, &["event: hello"]).await;
            streams.push(stream);
        }
        let known = [
            ("host", "bot.example.org"),
            ("origin", origin),
            ("cookie", pair(&cookie)),
        ];
        ask(&house, "POST /api/logout", &known, "").await;
        let mut rest = Vec::new();
        streams[0].read_to_end(&mut rest).await.unwrap();
        hears(&mut streams[1], &["event: status"]).await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_loopback_nothing_is_shown_without_the_password() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            listen: Some("0.0.0.0:0".parse().unwrap()),
            hosts: vec!["bot.example.org".to_owned()],
            trust_local: false,
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        for path in ["/api/games", "/api/live", "/api/me", "/"] {
            let refused = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(refused.status, 401, "{path}: {refused:?}");
        }
        let page = ask(&house, "GET /", &[("accept", "text/html")], "").await;
        assert_eq!(page.status, 401);
        assert!(page.body.contains("password"), "{page:?}");
        assert_eq!(
            ask(&house, "GET /assets/panel/login.js", &[], "")
                .await
                .status,
            200
        );
        let bearer = format!("Bearer {PASSWORD}");
        let shown = [
            ("authorization", bearer.as_str()),
            ("host", "bot.example.org"),
        ];
        assert_eq!(ask(&house, "GET /api/games", &shown, "").await.status, 200);
        house.close().await;

        let unreadable = Panel {
            token_file: Some(folder.path().join("none")),
            ..panel
        };
        let house = World::open_with(&unreadable).await;
        for path in ["/api/games", "/metrics", "/"] {
            for headers in [&[][..], &shown] {
                let refused = ask(&house, &format!("GET {path}"), headers, "").await;
                assert_eq!(refused.status, 401, "{path}: {refused:?}");
            }
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_proxy_nothing_is_shown_without_the_password() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            hosts: vec!["bot.example.org".to_owned()],
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        let bearer = format!("Bearer {PASSWORD}");
        for proxy in [
            &[("host", "bot.example.org")][..],
            &[("host", "localhost"), ("x-forwarded-for", "203.0.113.9")],
        ] {
            for path in ["/api/games", "/api/live", "/api/game/abcdefgh.pgn", "/"] {
                let refused = ask(&house, &format!("GET {path}"), proxy, "").await;
                assert_eq!(refused.status, 401, "{proxy:?} {path}: {refused:?}");
            }
            let shown = [proxy, &[("authorization", bearer.as_str())]].concat();
            let games = ask(&house, "GET /api/games", &shown, "").await;
            assert_eq!(games.status, 200, "{games:?}");
        }
        let here = ask(&house, "GET /api/games", &[("host", "localhost")], "").await;
        assert_eq!(here.status, 200, "{here:?}");
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spectators_see_games_and_nothing_else() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let panel = Panel {
            trust_local: false,
            spectators: true,
            ..locked(folder.path())
        };
        let house = World::open_with(&panel).await;
        for path in ["/", "/games", "/game/abcdefgh", "/login", "/api/games"] {
            let shown = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(shown.status, 200, "{path}: {shown:?}");
        }
        for path in [
            "/opponents",
            "/challenges",
            "/events",
            "/api/opponents",
            "/api/experience/nuke",
            "/api/challenges",
            "/api/events",
            "/api/kinds",
            "/metrics",
        ] {
            let refused = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(refused.status, 401, "{path}: {refused:?}");
        }
        let pause = r#"{"do":"pause"}"#;
        assert_eq!(
            ask(&house, "POST /api/control", &[], pause).await.status,
            401
        );
        let me = ask(&house, "GET /api/me", &[], "").await.json();
        assert_eq!(me, json!({ "spectator": true, "server": house.url() }));
        let wrong = [("authorization", "Bearer open-sesame-open-sesamE")];
        assert_eq!(ask(&house, "GET /api/games", &wrong, "").await.status, 401);
        let bearer = format!("Bearer {PASSWORD}");
        let shown = [("authorization", bearer.as_str())];
        let me = ask(&house, "GET /api/me", &shown, "").await.json();
        assert_eq!(me["spectator"], json!(false), "{me}");

        let there = address(&house).to_owned();
        let watching = async {
            let mut stream = TcpStream::connect(&there).await.unwrap();
            let request = format!("GET /api/live HTTP/1.1\r\nhost: {there}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let heard = hears(
                &mut stream,
                &["event: game\n", "\"san\":\"", "event: recent\n"],
            )
            .await;
            for hidden in [
                "event: status",
                "event: challenges",
                "event: events",
                "event: rating",
            ] {
                assert!(!heard.contains(hidden), "{hidden} in {heard}");
            }
            for hidden in ["\"cp\"", "\"depth\":", "\"nps\":"] {
                assert!(!heard.contains(hidden), "{hidden} in {heard}");
            }
            let id = heard
                .split("\"id\":\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap();
            let path = format!("GET /api/game/{id}");
            let game = ask(&house, &path, &[], "").await;
            assert_eq!(game.status, 200, "{game:?}");
            assert_eq!(game.json()["thought"], Value::Null, "{game:?}");
            assert!(!game.body.contains("\"score\":{"), "{game:?}");
            let pgn = ask(&house, &format!("{path}.pgn"), &[], "").await;
            assert!(pgn.body.contains("[Variant \"Atomic\"]"), "{pgn:?}");
            assert!(!pgn.body.contains("%eval"), "{pgn:?}");
        };
        house.spar_while(1, watching).await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_port_is_reported_and_no_port_means_no_page() {
    let first = Http::open(&local()).unwrap().unwrap();
    let taken = first.url();
    let taken = taken.trim_start_matches("http://").trim_end_matches('/');
    let panel = Panel {
        listen: Some(taken.parse().unwrap()),
        ..Panel::default()
    };
    let error = Http::open(&panel).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen at {taken}: ")),
        "{error}"
    );
    let none = Panel {
        listen: None,
        ..Panel::default()
    };
    assert!(Http::open(&none).unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giant_and_hostile_requests_are_refused() {
    bounded(async {
        let house = World::open().await;
        let there = address(&house);
        let filler = "x".repeat(64 << 10);
        let many = line("x", "y").repeat(200);
        let rows = [
            (format!("GET / HTTP/1.1\r\nhost: {there}\r\nx: {filler}\r\n\r\n"), 431),
            (format!("GET / HTTP/1.1\r\nhost: {there}\r\n{many}\r\n"), 431),
            (format!("GET /{filler} HTTP/1.1\r\nhost: {there}\r\n\r\n"), 414),
            (format!("GET / HTTP/1.1\r\nhost: {there}\r\nhost: a\r\nconnection: close\r\n\r\n"), 403),
            ("GET / HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), 403),
            ("\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), 400),
            (
                format!(
                    "POST /api/login HTTP/1.1\r\nhost: {there}\r\ncontent-type: application/json\r\n\
                     connection: close\r\ncontent-length: 66000\r\n\r\n{filler}"
                ),
                413,
            ),
            (
                format!(
                    "POST /api/login HTTP/1.1\r\nhost: {there}\r\nconnection: close\r\n\
                     content-length: 2\r\n\r\n{{}}"
                ),
                415,
            ),
        ];
        for (request, status) in rows {
            let answer = exchange(there, request.as_bytes()).await;
            let shown: String = request.chars().take(60).collect();
            // Hung up on without a word is refused too, where the request never ended.
            let refused = [status, 431, 0].contains(&answer.status);
            assert!(refused, "{shown:?}: {answer:?}");
        }
        assert_eq!(ask(&house, "GET /api/me", &[], "").await.status, 200);
        house.close().await;
    })
    .await;
}

/// Reads the first line of what comes.
pub(super) async fn first_line(client: &mut TcpStream) -> String {
    let mut bytes = vec![0; 64];
    let read = client.read(&mut bytes).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Reads a stream until it has said all this.
pub(super) async fn hears(stream: &mut TcpStream, words: &[&str]) -> String {
    let mut heard = String::new();
    while !words.iter().all(|word| heard.contains(word)) {
        let mut bytes = vec![0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "the stream goes on: {heard}");
        heard.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    heard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_tabs_get_a_bounded_answer_each() {
    bounded(async {
        let house = World::open().await;
        let there = address(&house).to_owned();
        let request = format!("GET /api/live HTTP/1.1\r\nhost: {there}\r\n\r\n");
        let mut tabs = Vec::new();
        for _ in 0..400 {
            let mut tab = TcpStream::connect(&there).await.unwrap();
            let _ = tab.write_all(request.as_bytes()).await;
            tabs.push(tab);
        }
        let (mut streams, mut refused) = (0, 0);
        for tab in &mut tabs {
            match first_line(tab).await.as_str() {
                "HTTP/1.1 200 OK" => streams += 1,
                // Said, or hung up on: no one waits.
                "" | "HTTP/1.1 503 Service Unavailable" => refused += 1,
                other => panic!("{other}"),
            }
        }
        assert_eq!((streams, refused), (100, 300));
        for _ in tabs.len()..1000 {
            let mut tab = TcpStream::connect(&there).await.unwrap();
            let _ = tab.write_all(request.as_bytes()).await;
            assert_ne!(first_line(&mut tab).await, "HTTP/1.1 200 OK");
        }
        // Anyone who watches over the bot is answered meanwhile.
        let probe = format!("GET /healthz HTTP/1.1\r\nhost: {there}\r\n\r\n");
        let mut probing = TcpStream::connect(&there).await.unwrap();
        probing.write_all(probe.as_bytes()).await.unwrap();
        assert_eq!(first_line(&mut probing).await, "HTTP/1.1 200 OK");
        drop(tabs);
        // Their places are free as soon as it is seen that they left.
        let mut tab = loop {
            let mut tab = TcpStream::connect(&there).await.unwrap();
            let _ = tab.write_all(request.as_bytes()).await;
            if first_line(&mut tab).await == "HTTP/1.1 200 OK" {
                break tab;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let heard = hears(&mut tab, &["event: status"]).await;
        assert!(heard.contains("event: hello"), "{heard}");
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_asked_not_to_buffer_events() {
    bounded(async {
        let house = World::open().await;
        let there = address(&house).to_owned();
        let request = format!("GET /api/live HTTP/1.1\r\nhost: {there}\r\n\r\n");
        let mut tab = TcpStream::connect(&there).await.unwrap();
        tab.write_all(request.as_bytes()).await.unwrap();
        let heard = hears(&mut tab, &["event: hello"]).await;
        let (fields, _) = heard.split_once("\r\n\r\n").unwrap();
        assert!(fields.contains("x-accel-buffering: no"), "{fields}");
        house.close().await;
    })
    .await;
}
