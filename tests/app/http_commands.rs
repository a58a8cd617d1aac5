//! Every operator command over HTTP: its effect, and that it is logged.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use megaton::archive::{ArchiveReader, FILE_NAME};
use megaton::lichess::{GameId, Room};
use megaton::practice::{ArenaPlan, ServerHandle};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::control::{BOT, Opponent, Running, server, until};
use super::server::free_address;

const PASSWORD: &str = "open-sesame-open-sesame";
/// Longer than an answer takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// A running bot whose page has a password.
struct Steered {
    bot: Running,
    page: SocketAddr,
    folder: TempDir,
}

impl Steered {
    async fn start(server: &ServerHandle) -> Self {
        let page = free_address();
        Self::listening(server, page, page, PASSWORD).await
    }

    /// A bot that listens there, so that its page can be reached, and has this in the file of its password.
    async fn listening(
        server: &ServerHandle,
        listen: SocketAddr,
        page: SocketAddr,
        password: &str,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        fs::write(&file, password).expect("a file");
        let more = format!(
            "[panel]\nlisten = \"{listen}\"\ntoken_file = \"{}\"\n",
            file.display()
        );
        let bot = Running::start(server, &more).await;
        Self { bot, page, folder }
    }

    /// Status and answer of an order that comes with these headers.
    fn post(&self, headers: &[(&str, &str)], order: &Value) -> (u16, Value) {
        let body = order.to_string();
        let host = self.page.to_string();
        let own = [
            ("connection", "close"),
            ("content-type", "application/json"),
        ];
        let named = headers.iter().any(|(name, _)| *name == "host");
        let by_name = (!named).then_some(("host", host.as_str()));
        let mut lines = vec!["POST /api/control HTTP/1.1".to_owned()];
        let headers = own
            .iter()
            .copied()
            .chain(by_name)
            .chain(headers.iter().copied());
        lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
        lines.push(format!("content-length: {}", body.len()));
        let text = format!("{}\r\n\r\n{body}", lines.join("\r\n"));
        let answer = tokio::task::block_in_place(|| {
            let mut stream = TcpStream::connect(self.page).expect("operator's page open");
            stream.set_read_timeout(Some(GUARD)).expect("a time");
            stream.write_all(text.as_bytes()).expect("it is read");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            answer
        });
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        let body = serde_json::from_str(body);
        (status.expect("a status"), body.expect("JSON"))
    }

    /// What is answered to anyone who shows the password.
    #[track_caller]
    fn tell(&self, order: &Value) -> Value {
        let shown = format!("Bearer {PASSWORD}");
        let (status, answer) = self.post(&[("authorization", shown.as_str())], order);
        assert_eq!(status, 200, "{order}: {answer}");
        answer
    }

    /// An order that is carried out; the answer has this in it.
    #[track_caller]
    fn done(&self, order: &Value, said: &str) {
        let answer = self.tell(order);
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        let text = answer["text"].as_str().unwrap_or_default();
        assert!(text.contains(said), "{order}: {answer}");
    }

    /// An order that is not; the answer says why.
    #[track_caller]
    fn refused(&self, order: &Value, why: &str) {
        let answer = self.tell(order);
        assert_eq!(answer["ok"], false, "{order}: {answer}");
        let text = answer["text"].as_str().unwrap_or_default();
        assert!(text.contains(why), "{order}: {answer}");
    }

    fn status(&self) -> Value {
        self.tell(&json!({ "do": "status" }))["status"].clone()
    }

    /// A game against it that its status shows.
    async fn game(&self, other: &Opponent) -> GameId {
        let game = other.begin().await;
        until("the game is shown", async || {
            self.status()["games"][0]["id"] == game.as_str()
        })
        .await;
        game
    }

    /// What is written down of orders.
    fn written(&self, server: &ServerHandle) -> Vec<String> {
        let config = self.bot.config();
        let folder = config.parent().expect("a folder").join("data");
        let host = server.url().trim_start_matches("http://");
        let archive = folder.join(host.replace(':', "_")).join(FILE_NAME);
        let reader = ArchiveReader::open(&archive).expect("an archive");
        let events = reader.events(1000).expect("its events").into_iter();
        let orders = events.filter(|event| event.kind == "operator");
        orders.map(|event| event.text).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_over_http_is_run_or_refused_with_a_reason_and_logged() {
    let server = server().await;
    let mut steered = Steered::start(&server).await;
    let other = Opponent::new(&server);
    it_is_steered_as_a_whole(&steered).await;
    its_config_is_read_again(&steered);
    people_are_kept_out(&steered);
    games_are_stepped_into(&steered, &other).await;
    somebody_is_challenged(&steered, &other).await;
    an_arena_is_joined_and_left(&steered, &server).await;
    steered.done(&json!({ "do": "drain" }), "shutting down: ");
    let (code, log) = steered.bot.end();
    assert_eq!(code, Some(0), "{log}");

    assert!(log.contains("command over HTTP"), "{log}");
    assert!(!log.contains(PASSWORD), "the password is in the log: {log}");
    let written = steered.written(&server);
    for order in [
        "pause: paused",
        "resume: accepting challenges again",
        "matchmaking on: matchmaking on",
        "matchmaking off: matchmaking off",
        "reload: reloaded",
        "block Other: other is blocked",
        "block other: refused, ",
        "unblock OTHER: other is no longer blocked",
        "unblock nobody: refused, ",
        "abort nosuch12: refused, no game nosuch12",
        "resign nosuch12: refused, no game nosuch12",
        "say nosuch12 player \"hello\": refused, no game nosuch12",
        "challenge Megaton: refused, ",
        "challenge Other 3+2: challenging Other",
        "cancel: refused, no challenge is open",
        "cancel nosuch12: refused, ",
        "rechallenge: ",
        "leave nosuch12: refused, ",
        "drain: shutting down",
    ] {
        let mut written = written.iter();
        let found = written.any(|text| text.starts_with(order) && text.ends_with(" (by HTTP)"));
        assert!(found, "{order} in {:?}", steered.written(&server));
    }
    for (verb, outcome) in [
        ("abort ", " is aborted"),
        ("resign ", " is resigned"),
        ("say ", " player \"a word\": said"),
        ("say ", " spectator \"to all\": said"),
        ("cancel ", "withdrawing the challenge"),
        ("join ", "joining "),
        ("leave ", "leaving "),
    ] {
        let mut written = written.iter();
        let found = written.any(|text| text.starts_with(verb) && text.contains(outcome));
        assert!(found, "{verb}{outcome} in {:?}", steered.written(&server));
    }
}

async fn it_is_steered_as_a_whole(steered: &Steered) {
    assert_eq!(steered.status()["state"], "playing");
    until("it is well", async || {
        steered.tell(&json!({ "do": "health" }))["health"]["alive"] == true
    })
    .await;
    steered.done(&json!({ "do": "pause" }), "paused");
    assert_eq!(steered.status()["state"], "paused");
    steered.done(&json!({ "do": "resume" }), "accepting challenges again");
    assert_eq!(steered.status()["state"], "playing");
    for on in [true, false] {
        steered.done(&json!({ "do": "matchmaking", "on": on }), "matchmaking ");
        assert_eq!(steered.status()["matchmaking"]["enabled"], on);
    }
}

fn its_config_is_read_again(steered: &Steered) {
    let reload = json!({ "do": "reload" });
    steered.done(&reload, "no changes");
    let good = fs::read_to_string(steered.bot.config()).expect("a config");
    steered
        .bot
        .rewrite(|text| text + "[challenge]\nconcurrency = 0x\n");
    steered.refused(&reload, "config unchanged");
    let better = format!("{good}[challenge]\nconcurrency = 3\n");
    steered.bot.rewrite(|_| better);
    steered.done(&reload, "[challenge] concurrency: 8 -> 3");
    assert_eq!(steered.status()["slots"]["all"], 3);
}

fn people_are_kept_out(steered: &Steered) {
    steered.done(&json!({ "do": "block", "user": "Other" }), "is blocked");
    steered.refused(&json!({ "do": "block", "user": "other" }), "blocked");
    assert_eq!(steered.status()["blocked"], json!(["other"]));
    let undo = json!({ "do": "unblock", "user": "OTHER" });
    steered.done(&undo, "no longer blocked");
    let nobody = json!({ "do": "unblock", "user": "nobody" });
    steered.refused(&nobody, "not blocked");
    assert_eq!(steered.status()["blocked"], json!([]));
}

async fn games_are_stepped_into(steered: &Steered, other: &Opponent) {
    let say = |game: &str, text: &str, spectators: bool| json!({ "do": "say", "game": game, "text": text, "spectators": spectators });
    for verb in ["abort", "resign"] {
        let order = json!({ "do": verb, "game": "nosuch12" });
        steered.refused(&order, "no game nosuch12 in progress");
    }
    let nowhere = say("nosuch12", "hello", false);
    steered.refused(&nowhere, "no game nosuch12 in progress");

    let game = steered.game(other).await;
    steered.done(&say(game.as_str(), "a word", false), "said");
    steered.done(&say(game.as_str(), "to all", true), "said");
    let long = "é".repeat(141);
    steered.refused(
        &say(game.as_str(), &long, false),
        "Lichess takes at most 140",
    );
    let heard = other.0.fetch_chat(&game).await.expect("the chat");
    let heard = |room: Room, text: &str| {
        let mut lines = heard.iter();
        lines.any(|line| line.room == room && line.text == text)
    };
    assert!(heard(Room::Player, "a word"));
    let abort = json!({ "do": "abort", "game": game.as_str() });
    steered.done(&abort, "is aborted");
    until("it is over", async || !other.plays(&game).await).await;

    let game = steered.game(other).await;
    other.move_and_wait(&game, "e2e4").await;
    let abort = json!({ "do": "abort", "game": game.as_str() });
    steered.refused(&abort, "is not aborted: ");
    let resign = json!({ "do": "resign", "game": game.as_str() });
    steered.done(&resign, "is resigned");
    until("it is over", async || !other.plays(&game).await).await;
    until("its slot is free", async || {
        steered.status()["slots"]["taken"] == 0
    })
    .await;
}

async fn somebody_is_challenged(steered: &Steered, other: &Opponent) {
    let challenge = |user: &str, what: Option<&str>| {
        let mut order = json!({ "do": "challenge", "user": user });
        if let Some(what) = what {
            order["what"] = what.into();
        }
        order
    };
    let cancel = |id: &str| json!({ "do": "cancel", "challenge": id });
    steered.refused(&challenge(BOT, None), "the bot's own account");
    steered.refused(&challenge("Other", Some("quick")), "blitz");
    steered.refused(&json!({ "do": "cancel" }), "no challenge is open");
    // Who is not there is not challenged.
    let _there = other.0.events().await.expect("a stream");
    let open = || steered.status()["matchmaking"]["challenge"].clone();
    let wish = challenge("Other", Some("3+2"));
    steered.done(&wish, "challenging Other as soon as");
    until("it is shown", async || open().is_string()).await;
    steered.refused(&cancel("nosuch12"), "nosuch12");
    let id = open().as_str().expect("it is out").to_owned();
    steered.done(&cancel(&id), "withdrawing the challenge");
    until("it is gone", async || open().is_null()).await;
    let waiting = other.0.challenges().await.expect("a list");
    assert!(waiting.incoming.is_empty());
    // Whether there was a last opponent is the desk's affair: it is answered either way.
    let again = steered.tell(&json!({ "do": "rechallenge" }));
    assert!(again["text"].is_string(), "{again}");
    if again["ok"] == true {
        steered.tell(&json!({ "do": "cancel" }));
    }
    until("its slot is free", async || {
        steered.status()["slots"]["taken"] == 0
    })
    .await;
}

async fn an_arena_is_joined_and_left(steered: &Steered, server: &ServerHandle) {
    let order = |verb: &str, arena: &str| json!({ "do": verb, "arena": arena });
    steered.refused(&order("leave", "nosuch12"), "is joined or planned");
    steered.done(&order("join", "nosuch12"), "`megaton events` why not");
    let told = "join nosuch12: not joined, there is no such arena";
    until("the operator is told why not", async || {
        steered.written(server).iter().any(|text| text == told)
    })
    .await;
    let id = server.open_arena(ArenaPlan::default()).expect("an arena");
    let is_in = || server.arena(&id).is_some_and(|arena| arena.has(BOT));
    steered.done(&order("join", &id), "joining ");
    until("it has joined", async || is_in()).await;
    steered.done(&order("leave", &id), "leaving ");
    until("it has left", async || !is_in()).await;
}

/// Every order, about this game.
fn orders(game: &str) -> Vec<Value> {
    vec![
        json!({ "do": "pause" }),
        json!({ "do": "resume" }),
        json!({ "do": "drain" }),
        json!({ "do": "reload" }),
        json!({ "do": "matchmaking", "on": true }),
        json!({ "do": "challenge", "user": "Other" }),
        json!({ "do": "rechallenge" }),
        json!({ "do": "cancel" }),
        json!({ "do": "abort", "game": game }),
        json!({ "do": "resign", "game": game }),
        json!({ "do": "say", "game": game, "text": "hello" }),
        json!({ "do": "block", "user": "Other" }),
        json!({ "do": "unblock", "user": "Other" }),
        json!({ "do": "join", "arena": "aBcD1234" }),
        json!({ "do": "leave", "arena": "aBcD1234" }),
        json!({ "do": "status" }),
        json!({ "do": "health" }),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_password_counts_after_a_reload() {
    const OTHER: &str = "open-barley-open-barley";
    let server = server().await;
    let mut steered = Steered::start(&server).await;
    let status = json!({ "do": "status" });
    let asked = |steered: &Steered, password: &str| {
        let shown = format!("Bearer {password}");
        steered
            .post(&[("authorization", shown.as_str())], &status)
            .0
    };
    let file = steered.folder.path().join("password");
    fs::write(&file, "short").expect("a file");
    let (code, _, err) = steered.bot.tell(&["reload"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("password unchanged: ") && err.contains("is too short"),
        "{err}"
    );
    assert_eq!(asked(&steered, PASSWORD), 200);
    fs::write(&file, OTHER).expect("a file");
    assert_eq!(steered.bot.tell(&["reload"]).1, "password: renewed\n");
    assert_eq!(asked(&steered, PASSWORD), 401);
    assert_eq!(asked(&steered, OTHER), 200);
    steered.bot.signal(rustix::process::Signal::TERM);
    let (code, log) = steered.bot.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("barley"), "a password is in the log: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_beyond_the_loopback_stays_closed_until_a_reload_finds_its_password() {
    let server = server().await;
    let page = free_address();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], page.port()));
    let mut steered = Steered::listening(&server, everywhere, page, "short").await;
    let shown = format!("Bearer {PASSWORD}");
    let asked = |steered: &Steered| {
        let shown = [("authorization", shown.as_str())];
        steered.post(&shown, &json!({ "do": "status" })).0
    };
    let (code, _, err) = steered.bot.tell(&["reload"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("password unchanged: "), "{err}");
    assert_eq!(asked(&steered), 401);
    fs::write(steered.folder.path().join("password"), PASSWORD).expect("a file");
    assert_eq!(steered.bot.tell(&["reload"]).1, "password: renewed\n");
    assert_eq!(asked(&steered), 200);
    steered.bot.signal(rustix::process::Signal::TERM);
    let (code, log) = steered.bot.end();
    assert_eq!(code, Some(0), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_that_takes_the_password_of_a_remote_page_says_that_the_page_is_closed() {
    let server = server().await;
    let page = free_address();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], page.port()));
    let mut steered = Steered::listening(&server, everywhere, page, PASSWORD).await;
    let shown = format!("Bearer {PASSWORD}");
    let asked = |steered: &Steered| {
        let shown = [("authorization", shown.as_str())];
        steered.post(&shown, &json!({ "do": "status" })).0
    };
    assert_eq!(asked(&steered), 200);
    steered.bot.rewrite(|text| {
        let (rest, _) = text.split_once("[panel]").expect("its section");
        format!("{rest}[panel]\nlisten = \"{page}\"\n")
    });
    let (_, out, _) = steered.bot.tell(&["reload"]);
    let closed =
        format!("password: removed: the page at {everywhere} is closed until the next start");
    assert!(out.contains(&closed), "{out}");
    steered.bot.wait_for(&closed);
    assert_eq!(asked(&steered), 403);
    steered.bot.signal(rustix::process::Signal::TERM);
    let (code, log) = steered.bot.end();
    assert_eq!(code, Some(0), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_unauthenticated_command_changes_anything() {
    let server = server().await;
    let mut steered = Steered::start(&server).await;
    let other = Opponent::new(&server);
    let game = steered.game(&other).await;
    // What an order to reload would find.
    steered
        .bot
        .rewrite(|text| text + "[challenge]\nconcurrency = 3\n");
    let shown = format!("Bearer {PASSWORD}");
    let shown = ("authorization", shown.as_str());
    let strangers: [(&[(&str, &str)], u16); 6] = [
        (&[], 401),
        (&[("cookie", "megaton-session=0123456789abcdef")], 401),
        (&[shown, ("origin", "http://evil.example")], 403),
        (&[shown, ("origin", "null")], 403),
        (&[shown, ("host", "evil.example")], 403),
        (&[shown, ("sec-fetch-site", "cross-site")], 403),
    ];
    for order in orders(game.as_str()) {
        for (headers, refusal) in strangers {
            let (status, answer) = steered.post(headers, &order);
            assert_eq!(status, refusal, "{order} with {headers:?}: {answer}");
            assert_eq!(answer["ok"], false, "{order} with {headers:?}: {answer}");
        }
    }
    // A few at a time: who guesses too often is not looked at for a while.
    let guess = [("authorization", "Bearer open-sesame-open-sesamE")];
    for order in orders(game.as_str()).iter().take(3) {
        assert_eq!(steered.post(&guess, order).0, 401, "{order}");
    }

    let status = steered.status();
    assert_eq!(status["state"], "playing");
    assert_eq!(status["slots"]["all"], 8);
    assert_eq!(status["games"][0]["id"], game.as_str());
    assert_eq!(status["matchmaking"]["enabled"], false);
    assert_eq!(status["blocked"], json!([]));
    assert_eq!(status["arenas"], json!([]));
    assert!(other.plays(&game).await);
    let heard = other.0.fetch_chat(&game).await.expect("the chat");
    assert!(!heard.iter().any(|line| line.text == "hello"), "{heard:?}");

    let abort = json!({ "do": "abort", "game": game.as_str() });
    steered.done(&abort, "is aborted");
    steered.done(&json!({ "do": "drain" }), "shutting down");
    let (code, log) = steered.bot.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("sesam"), "a password is in the log: {log}");
    let mut written = steered.written(&server);
    written.sort();
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(written[0].starts_with("abort "), "{written:?}");
    assert!(written[1].starts_with("drain: "), "{written:?}");
}
