//! A small test server: one account, games against an opponent that replies at once, and faults on
//! demand. It judges every move and records what a client must never do.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use megaton::lichess::{Client, ClientOptions, Timing, Token};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::harness::ME;
use crate::server_game::Round;
use crate::test_http::serve;

/// A fault of the move call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MoveFault {
    /// The connection breaks before the move arrives.
    Missed,
    /// The move arrives, and the connection breaks before the answer.
    AnswerLost,
    /// The move arrives, and the answer never comes.
    Hangs,
    /// The server answers this without having looked at the move.
    Instead(u16, &'static str),
    /// The move arrives, and the server answers this all the same.
    Despite(u16, &'static str),
    /// "ok", and nothing happened.
    Ignored,
}

/// An instruction to a stream writer.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// A line, keep-alives between.
    Line(String),
    /// Bytes that are not JSON.
    Garbage,
    /// Nothing more, not even a keep-alive.
    Silence,
    /// An orderly end.
    End,
    /// The connection breaks.
    Cut,
}

/// An answer to a call: a body, a stream, or none at all.
pub(crate) enum Reply {
    Body(u16, &'static str, String),
    Stream(mpsc::UnboundedReceiver<Piece>),
    Break,
    Never,
}

/// The server's state.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) rounds: BTreeMap<String, Round>,
    pub(crate) move_faults: VecDeque<MoveFault>,
    /// Answers instead of the next openings of game streams.
    pub(crate) stream_faults: VecDeque<(u16, &'static str)>,
    /// Answers instead of the next openings of the event stream; at one of status 0 the connection breaks, and
    /// one of status 1 never comes.
    pub(crate) event_faults: VecDeque<(u16, &'static str)>,
    /// How many of the next requests for the running games get a 503.
    pub(crate) playing_faults: usize,
    /// The paths of the read-only calls.
    pub(crate) looks: Vec<String>,
    /// Answers instead of the next requests for the account.
    pub(crate) account_faults: VecDeque<(u16, &'static str)>,
    /// Answers instead of the next calls whose path ends like this; an answer of status 0 never
    /// comes.
    pub(crate) call_faults: Vec<(&'static str, u16, &'static str)>,
    /// The most games announced at an opening of the event stream: the last ones.
    pub(crate) told_at_opening: Option<usize>,
    pub(crate) events: Vec<mpsc::UnboundedSender<Piece>>,
    pub(crate) event_openings: usize,
    /// Calls other than moves and streams, by path.
    pub(crate) calls: Vec<String>,
    pub(crate) posts: Vec<String>,
    /// Chat messages of all games.
    pub(crate) chats: Vec<Said>,
    /// Answers instead of "ok" to the next chat messages; none at all for status 0.
    pub(crate) chat_faults: VecDeque<(u16, &'static str)>,
    /// Open challenges.
    pub(crate) waiting: Vec<Value>,
    /// Open challenges of the bot, each accepted at the moment at which the bot withdraws it.
    pub(crate) ours: Vec<Value>,
    /// What must never happen.
    pub(crate) violations: Vec<String>,
    pub(crate) millis_left: u64,
    /// Called with the path of each POST on its arrival; what it says goes to `witnessed`.
    pub(crate) witness: Option<Witness>,
    pub(crate) witnessed: Vec<String>,
}

type Witness = Box<dyn Fn(&str) -> String + Send>;

/// A chat message that reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) game: String,
    pub(crate) room: String,
    pub(crate) text: String,
    /// How many moves had been sent by then.
    pub(crate) posts_before: usize,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    world: Arc<Mutex<World>>,
    pub(crate) changed: Arc<Notify>,
    /// The timing of its clients.
    pub(crate) timing: Timing,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Streams send keep-alives every 50 ms and are dead after 300; everything else is scaled alike.
pub(crate) fn timing() -> Timing {
    Timing {
        keep_alive: Duration::from_millis(50),
        game_idle: Duration::from_millis(300),
        event_idle: Duration::from_millis(300),
        game_opening: Duration::from_millis(300),
        move_call: Duration::from_millis(200),
        call: Duration::from_millis(500),
        ..Timing::default().faster(50)
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let world = Arc::new(Mutex::new(World {
            millis_left: 60_000,
            ..World::default()
        }));
        let changed = Arc::new(Notify::new());
        let (shared, bell) = (Arc::clone(&world), Arc::clone(&changed));
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (world, bell) = (Arc::clone(&shared), Arc::clone(&bell));
                tokio::spawn(serve(socket, move |method, path, body| {
                    let reply = lock(&world).answer(method, path, body);
                    bell.notify_waiters();
                    reply
                }));
            }
        });
        Self {
            address,
            world,
            changed,
            timing: timing(),
            task,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(ClientOptions {
            base_url: format!("http://{}", self.address),
            token: Token::parse("lip_test", "the test").expect("a token"),
            contact: None,
            timing: self.timing.clone(),
        })
        .expect("a client")
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// Waits for a condition; a hang fails the test.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl FnMut(&mut World) -> bool) {
        self.wait_until(what, &mut is_so).await;
    }

    /// Waits until the bot has an event stream.
    pub(crate) async fn until_online(&self) {
        self.until("online", |world| !world.events.is_empty()).await;
    }

    async fn wait_until(&self, what: &str, is_so: &mut dyn FnMut(&mut World) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if is_so(&mut self.world()) {
                    return;
                }
                // The notification covers calls; other changes (the server's own doing) are polled.
                let _ = tokio::time::timeout(Duration::from_millis(20), changed).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(40), wait)
            .await
            .is_err()
        {
            let world = self.world();
            panic!(
                "never: {what}\nposts {:?}\ncalls {:?}",
                world.posts, world.calls
            );
        }
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn ok() -> Reply {
    Reply::Body(200, "application/json", r#"{"ok":true}"#.into())
}

fn error(status: u16, text: &str) -> Reply {
    if text.starts_with('<') {
        return Reply::Body(status, "text/html", text.into());
    }
    Reply::Body(
        status,
        "application/json",
        json!({ "error": text }).to_string(),
    )
}

impl World {
    /// A new game, announced to every listener.
    pub(crate) fn begin(&mut self, id: &str, bot_is_white: bool, length: usize) {
        let mut round = Round::new(bot_is_white, length);
        if !bot_is_white {
            round.reply(self.millis_left);
        }
        self.rounds.insert(id.into(), round);
        self.announce(id);
    }

    /// A new game in which the opponent owes the first move.
    pub(crate) fn begin_unmoved(&mut self, id: &str) {
        self.begin(id, false, 20);
        if let Some(round) = self.rounds.get_mut(id) {
            round.game.takeback(1);
        }
    }

    pub(crate) fn announce(&mut self, id: &str) {
        let line = json!({ "type": "gameStart", "game": self.info(id) }).to_string();
        self.tell(&Piece::Line(line));
    }

    /// Sends everything announced meanwhile in one piece.
    pub(crate) fn in_one_piece(&mut self, tell: impl FnOnce(&mut Self)) {
        let (sender, mut told) = mpsc::unbounded_channel();
        let events = std::mem::replace(&mut self.events, vec![sender]);
        tell(self);
        self.events = events;
        let mut lines = Vec::new();
        while let Ok(Piece::Line(line)) = told.try_recv() {
            lines.push(line);
        }
        self.tell(&Piece::Line(lines.join("\n")));
    }

    /// To every open event stream.
    pub(crate) fn tell(&mut self, piece: &Piece) {
        self.events
            .retain(|stream| stream.send(piece.clone()).is_ok());
    }

    pub(crate) fn challenge(&mut self, id: &str, variant: &str) {
        self.challenge_by(id, variant, "blastcap", None);
    }

    pub(crate) fn challenge_by(&mut self, id: &str, variant: &str, by: &str, title: Option<&str>) {
        let time = json!({ "type": "clock", "limit": 180, "increment": 2, "show": "3+2" });
        self.challenge_at(id, variant, (by, title), &time);
    }

    /// A challenge with this time control.
    pub(crate) fn challenge_at(
        &mut self,
        id: &str,
        variant: &str,
        (by, title): (&str, Option<&str>),
        time: &Value,
    ) {
        let challenge = json!({
            "id": id, "status": "created", "rated": false, "speed": "blitz", "color": "random",
            "challenger": { "id": by, "name": by, "rating": 1874, "title": title },
            "destUser": { "id": ME, "name": "Megaton", "title": "BOT" },
            "variant": { "key": variant, "name": variant }, "timeControl": time,
        });
        self.waiting.push(challenge.clone());
        let line = json!({
            "type": "challenge", "challenge": challenge, "compat": { "bot": true, "board": true },
        });
        self.tell(&Piece::Line(line.to_string()));
    }

    /// The challenger withdraws.
    pub(crate) fn take_back(&mut self, id: &str) {
        self.answered(id);
        let challenge = json!({
            "id": id, "status": "canceled", "rated": false, "speed": "blitz", "color": "random",
            "challenger": { "id": "blastcap", "name": "blastcap", "rating": 1874 },
            "destUser": { "id": ME, "name": "Megaton", "title": "BOT" },
            "variant": { "key": "atomic", "name": "Atomic" },
            "timeControl": { "type": "clock", "limit": 180, "increment": 2, "show": "3+2" },
        });
        let line = json!({ "type": "challengeCanceled", "challenge": challenge });
        self.tell(&Piece::Line(line.to_string()));
    }

    /// A challenge is no longer open.
    fn answered(&mut self, id: &str) {
        self.waiting.retain(|challenge| challenge["id"] != id);
    }

    fn info(&self, id: &str) -> Value {
        let round = &self.rounds[id];
        json!({
            "fullId": format!("{id}abcd"), "gameId": id, "id": id, "fen": "not looked at",
            "color": if round.bot_is_white { "white" } else { "black" }, "lastMove": "",
            "source": "friend", "status": { "id": 20, "name": round.status },
            "variant": { "key": "atomic", "name": "Atomic" }, "perf": "atomic",
            "speed": if round.slow { "correspondence" } else { "blitz" },
            "rated": false, "hasMoved": false, "isMyTurn": round.is_bots_turn(),
            "opponent": { "id": "blastcap", "username": "blastcap", "rating": 1874 },
            "compat": { "bot": true, "board": true },
        })
    }

    pub(crate) fn all_over(&self) -> bool {
        self.rounds.values().all(|round| round.status != "started")
    }

    pub(crate) fn answer(&mut self, method: &str, path: &str, body: &str) -> Reply {
        let bare = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = bare.trim_matches('/').split('/').collect();
        if method == "GET" {
            self.looks.push(bare.to_owned());
        } else if let Some(witness) = &self.witness {
            self.witnessed.push(witness(bare));
        }
        match (method, &parts[..]) {
            ("GET", ["api", "account"]) => self.account(),
            ("GET", ["api", "account", "playing"]) => self.playing(),
            ("GET", ["api", "challenge"]) => {
                let list = json!({ "in": self.waiting, "out": self.ours }).to_string();
                Reply::Body(200, "application/json", list)
            }
            ("GET", ["api", "stream", "event"]) => self.open_events(),
            ("GET", ["api", "bot", "game", "stream", id]) => self.open_game(id),
            ("POST", ["api", "bot", "game", id, "move", uci]) => self.move_call(id, uci),
            ("POST", ["api", "bot", "game", id, "abort"]) => {
                self.calls.push(format!("abort {id}"));
                let reply = self.call_fault(bare);
                if matches!(reply, Reply::Body(200, ..)) {
                    self.stop(id, "aborted");
                }
                reply
            }
            ("POST", ["api", "bot", "game", id, "chat"]) => self.chat(id, body),
            ("POST", ["api", "challenge", id, "cancel"])
                if self.ours.iter().any(|open| open["id"] == *id) =>
            {
                self.begin_unmoved(id);
                let reply = self.call_fault(bare);
                if matches!(reply, Reply::Body(200, ..)) {
                    self.stop(id, "aborted");
                }
                reply
            }
            ("POST", _) => {
                if let ["api", "challenge", id, _] = parts[..] {
                    self.answered(id);
                }
                self.calls.push(bare.to_owned());
                self.call_fault(bare)
            }
            _ => Reply::Body(404, "text/plain", "404 - Resource not found".into()),
        }
    }

    fn call_fault(&mut self, path: &str) -> Reply {
        let meant = |(end, ..): &(&str, u16, &str)| path.ends_with(end);
        let Some(index) = self.call_faults.iter().position(meant) else {
            return ok();
        };
        match self.call_faults.remove(index) {
            (_, 0, _) => Reply::Break,
            (_, status, body) => Reply::Body(status, "application/json", body.into()),
        }
    }

    fn chat(&mut self, id: &str, body: &str) -> Reply {
        let form = url::form_urlencoded::parse(body.as_bytes());
        let form: BTreeMap<_, _> = form.into_owned().collect();
        let field = |key: &str| form.get(key).cloned().unwrap_or_default();
        self.chats.push(Said {
            game: id.to_owned(),
            room: field("room"),
            text: field("text"),
            posts_before: self.posts.len(),
        });
        match self.chat_faults.pop_front() {
            None => ok(),
            Some((0, _)) => Reply::Never,
            Some((status, text)) => error(status, text),
        }
    }

    /// A player or spectator writes in a game's chat.
    pub(crate) fn speak(&mut self, id: &str, room: &str, username: &str, text: &str) {
        let line = json!({
            "type": "chatLine", "room": room, "username": username, "text": text,
        });
        self.tell_game(id, &line);
    }

    /// A line on the stream of a game.
    pub(crate) fn tell_game(&mut self, id: &str, line: &Value) {
        if let Some(round) = self.rounds.get_mut(id) {
            round.tell(&Piece::Line(line.to_string()));
        }
    }

    fn account(&mut self) -> Reply {
        if let Some((status, text)) = self.account_faults.pop_front() {
            return error(status, text);
        }
        let account = json!({ "id": ME, "username": "Megaton", "title": "BOT", "perfs": {} });
        Reply::Body(200, "application/json", account.to_string())
    }

    fn playing(&mut self) -> Reply {
        if self.playing_faults > 0 {
            self.playing_faults -= 1;
            return error(503, "<html>maintenance</html>");
        }
        let running = self.rounds.iter().filter(|(_, r)| r.status == "started");
        let games: Vec<_> = running.map(|(id, _)| self.info(id)).collect();
        let list = json!({ "nowPlaying": games }).to_string();
        Reply::Body(200, "application/json", list)
    }

    fn open_events(&mut self) -> Reply {
        self.event_openings += 1;
        match self.event_faults.pop_front() {
            Some((0, _)) => return Reply::Break,
            Some((1, _)) => return Reply::Never,
            Some((status, text)) => return error(status, text),
            None => {}
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        self.tell(&Piece::End);
        self.events = vec![sender];
        let running: Vec<_> = self
            .rounds
            .iter()
            .filter(|(_, r)| r.status == "started")
            .collect();
        let ids: Vec<String> = running.into_iter().map(|(id, _)| id.clone()).collect();
        let most = self.told_at_opening.unwrap_or(usize::MAX);
        for id in &ids[ids.len().saturating_sub(most)..] {
            self.announce(id);
        }
        Reply::Stream(receiver)
    }

    fn open_game(&mut self, id: &str) -> Reply {
        if let Some((status, text)) = self.stream_faults.pop_front() {
            return error(status, text);
        }
        let left = self.millis_left;
        let Some(round) = self.rounds.get_mut(id) else {
            return error(404, "No such game");
        };
        round.openings += 1;
        if round
            .first_sent
            .as_ref()
            .is_some_and(|(_, uci)| uci.is_empty())
        {
            round.first_sent = None;
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        round.tell(&Piece::End);
        let full = round.full(id, left);
        let _ = sender.send(Piece::Line(full.to_string()));
        if round.status == "started" {
            round.streams = vec![sender];
        } else {
            let _ = sender.send(Piece::End);
        }
        Reply::Stream(receiver)
    }

    /// Ends a game.
    pub(crate) fn stop(&mut self, id: &str, status: &'static str) {
        let left = self.millis_left;
        if let Some(round) = self.rounds.get_mut(id) {
            round.status = status;
            round.show(left);
            round.tell(&Piece::End);
        }
    }

    fn move_call(&mut self, id: &str, uci: &str) -> Reply {
        self.posts.push(format!("{id} {uci}"));
        match self.move_faults.pop_front() {
            None => self.play(id, uci),
            Some(MoveFault::Missed) => Reply::Break,
            Some(MoveFault::AnswerLost) => {
                self.play(id, uci);
                Reply::Break
            }
            Some(MoveFault::Hangs) => {
                self.play(id, uci);
                Reply::Never
            }
            Some(MoveFault::Instead(status, text)) => {
                self.watch(id, uci, status == 400);
                error(status, text)
            }
            Some(MoveFault::Despite(status, text)) => {
                self.play(id, uci);
                error(status, text)
            }
            Some(MoveFault::Ignored) => {
                self.watch(id, uci, false);
                ok()
            }
        }
    }

    /// One ply, one move, unless it was refused and the stream opened since.
    fn watch(&mut self, id: &str, uci: &str, refused: bool) {
        let Some(round) = self.rounds.get_mut(id) else {
            return;
        };
        let ply = round.game.ply();
        let position = round.game.position();
        if position.parse_uci(uci).is_err() {
            // The repetition of a move that arrived before.
            return;
        }
        match &round.first_sent {
            Some((at, first)) if *at == ply && !first.is_empty() && first != uci => {
                let violation = format!("{id}: {uci} after {first} at ply {ply}");
                self.violations.push(violation);
            }
            _ => {}
        }
        let sent = if refused {
            String::new()
        } else {
            uci.to_owned()
        };
        round.first_sent = Some((ply, sent));
    }

    fn play(&mut self, id: &str, uci: &str) -> Reply {
        let left = self.millis_left;
        let Some(round) = self.rounds.get_mut(id) else {
            return error(404, "No such game");
        };
        if round.status != "started" || !round.is_bots_turn() {
            return error(400, "Not your turn, or game already over");
        }
        if round.game.position().parse_uci(uci).is_err() {
            // A client that never heard of its move's arrival repeats its own last move.
            let last = round.game.moves().iter().rev().nth(1);
            if last.is_none_or(|last| last.to_string() != uci) {
                self.violations.push(format!("{id}: illegal {uci}"));
            }
            return error(400, "Piece on x cannot move to y");
        }
        self.watch(id, uci, false);
        let Some(round) = self.rounds.get_mut(id) else {
            return ok();
        };
        let _ = round.game.push_uci(uci);
        round.judge();
        round.show(left);
        round.reply(left);
        if round.status != "started" {
            round.tell(&Piece::End);
        }
        ok()
    }
}
