//! `megaton challenge USER --games N` against an opponent who accepts and resigns.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megaton::bot::{
    BotOptions, BotState, BotTiming, Command, ControlHandle, EventBus, ListSources, Reply,
    Settings, Shutdown, StateRules, Status, channel, run_commanded,
};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{
    ChallengeId, Client, ClientOptions, DeclineReason, GameId, OfferDraw, Side, Timing, Token,
};
use megaton::panel::{ControlSocket, Health, Reloader, SelfTest, StatusWatch};
use megaton::practice::{Event, ServerHandle};
use megaton::store::Store;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

use super::control::{BOT, Opponent, server, server_without_grace, until};
use super::program::{command, ran};

/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// The bot's next challenge, once it has come.
async fn challenge(news: &mut Receiver<Event>) -> ChallengeId {
    let next = async {
        loop {
            let event = news.recv().await.expect("the server runs");
            if let Event::Challenged { game, .. } = event {
                return ChallengeId::new(game);
            }
        }
    };
    let next = tokio::time::timeout(GUARD, next).await;
    next.expect("the bot challenges")
}

/// Accepts the next challenge and makes a move. The game and the bot's colour.
async fn accept(other: &Opponent, news: &mut Receiver<Event>) -> (GameId, Side) {
    let id = challenge(news).await;
    other.0.accept_bot(&id).await.expect("an open challenge");
    let game = id.as_game();
    until("it is the opponent's turn", async || {
        other.to_move(&game).await
    })
    .await;
    let playing = other.0.playing().await.expect("a list").games;
    let ours = playing.iter().find(|it| it.id == game).expect("a game");
    let theirs = ours.color.expect("a colour");
    let (uci, bot) = match theirs {
        Side::White => ("g1f3", Side::Black),
        Side::Black => ("a7a6", Side::White),
    };
    let moved = other.0.make_move(&game, uci, OfferDraw::No).await;
    moved.expect("a legal move");
    until("the bot answers", async || other.to_move(&game).await).await;
    (game, bot)
}

async fn resign(other: &Opponent, game: &GameId) {
    other.0.resign(game).await.expect("it may be resigned");
}

/// A bot in this process, so that its challenges may follow one another at once, and its control socket.
struct Bot {
    folder: PathBuf,
    control: ControlHandle,
    task: JoinHandle<()>,
    socket: JoinHandle<()>,
}

impl Bot {
    async fn start(server: &ServerHandle, folder: &Path) -> Self {
        let token = server.open_bot(BOT).expect("a good name");
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(&token, "the test").expect("a good token"),
            contact: None,
            timing: Timing::default(),
        });
        let mut settings = Settings::default();
        settings.engine.nodes = NonZeroU64::new(1);
        settings.matchmaking.spacing = Duration::from_millis(10);
        let (store, kept) = Store::open(&folder.join("data")).expect("a folder of ours");
        let options = BotOptions {
            exclusive: false,
            client: client.expect("a good address"),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                ..EngineOptions::default()
            }),
            state: BotState::new(store, kept, StateRules::from(&settings)),
            settings,
            timing: BotTiming::default(),
            event_bus: EventBus::default(),
            lists: ListSources::default(),
        };
        let (control, commands) = channel();
        let (watch, _) = StatusWatch::new(control.clone());
        let (_, reload) = Reloader::new(None, Settings::default(), control.clone());
        let socket = ControlSocket::open(&folder.join("socket")).expect("a socket");
        let health = Health::new(watch, SelfTest::default(), None);
        let socket = tokio::spawn(socket.serve(control.clone(), reload, health));
        let task = tokio::spawn(async move {
            let played = run_commanded(options, Shutdown::default(), commands).await;
            played.expect("the bot can play");
        });
        until("it is online", async || server.is_online(BOT)).await;
        Self {
            folder: folder.to_owned(),
            control,
            task,
            socket,
        }
    }

    /// Ends it as a kill does.
    async fn kill(self, server: &ServerHandle) {
        for task in [self.task, self.socket] {
            task.abort();
            assert!(task.await.is_err(), "it ran until now");
        }
        until("the kill is noticed", async || !server.is_online(BOT)).await;
        let data = self.folder.join("data");
        until("the state is closed", async || Store::open(&data).is_ok()).await;
    }

    /// `megaton challenge` with these arguments.
    fn challenge(&self, arguments: &[&str]) {
        let mut command = command(&["challenge"]);
        let command = command.args(arguments).arg("--socket");
        command.arg(self.folder.join("socket"));
        let told = tokio::task::block_in_place(|| ran(command));
        assert_eq!(told.status, Some(0), "{}{}", told.stdout, told.stderr);
    }

    async fn status(&self) -> Status {
        match self.control.ask(Command::Status, GUARD).await {
            Ok(Reply::Status(status)) => *status,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until no series runs; gives the bot games and the credits that were spent.
    async fn spent(&self) -> (u32, u32) {
        until("the series is over", async || {
            let status = self.status().await;
            status.matchmaking.series.is_none() && status.games.is_empty()
        })
        .await;
        let status = self.status().await;
        assert_eq!(status.matchmaking.challenge, None);
        let quota = status.quota.expect("a quota");
        (quota.bot_games, quota.credits)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_series_alternates_colours_survives_a_kill_and_spends_one_challenge_a_game() {
    let server = server_without_grace().await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut bot = Bot::start(&server, folder.path()).await;
    let other = Opponent::new(&server);
    let _online = other.0.events().await.expect("its stream");
    let mut news = server.events();
    bot.challenge(&["Other", "3+2", "--games", "4"]);
    let mut colors = Vec::new();
    for number in 1..=4 {
        let (game, color) = accept(&other, &mut news).await;
        colors.push(color);
        if number == 2 {
            bot.kill(&server).await;
            bot = Bot::start(&server, folder.path()).await;
        }
        resign(&other, &game).await;
    }
    let (white, black) = (Side::White, Side::Black);
    assert_eq!(colors, [white, black, white, black]);
    assert_eq!(bot.spent().await, (4, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declined_challenge_ends_the_series() {
    let server = server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let bot = Bot::start(&server, folder.path()).await;
    let other = Opponent::new(&server);
    let _online = other.0.events().await.expect("its stream");
    let mut news = server.events();
    bot.challenge(&["Other", "3+2", "--games", "3"]);
    let (game, _) = accept(&other, &mut news).await;
    resign(&other, &game).await;
    let second = challenge(&mut news).await;
    let declined = other.0.decline(&second, DeclineReason::Generic).await;
    declined.expect("an open challenge");
    assert_eq!(bot.spent().await, (1, 2));
}
