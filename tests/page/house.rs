//! The practice server with the bot on it, in this process.

use megaton::bot::{
    self, BotOptions, ListSources, Listeners, Memory, Pace, SearchLimits, Settings, Shutdown,
};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::practice::{Handle, Options, Server};
use tokio::task::JoinHandle;

/// Enough to see an explosion coming, little enough to answer at once.
const NODES: u64 = 2_000;

/// A server, and the bot that plays on it.
#[derive(Debug)]
pub(crate) struct House {
    server: Handle,
    bot: JoinHandle<()>,
    shutdown: Shutdown,
}

impl House {
    pub(crate) async fn open() -> Self {
        let options = Options {
            bot: Some("Megaton".to_owned()),
            seed: 5,
            ..Options::default()
        };
        let server = Server::start(options).await.unwrap();
        let token = server.open_bot("Megaton").unwrap();
        let shutdown = Shutdown::default();
        let running = bot::run(bot_options(server.url(), &token), shutdown.clone());
        let bot = tokio::spawn(async move { running.await.unwrap() });
        Self {
            server,
            bot,
            shutdown,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    pub(crate) async fn close(self) {
        self.shutdown.now.cancel();
        self.bot.await.unwrap();
        self.server.shutdown().await;
    }
}

fn bot_options(url: &str, token: &str) -> BotOptions {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(token, "this test").unwrap(),
        contact: None,
        timing: Timing::default(),
    });
    let engine = EngineOptions {
        hash_mb: 4,
        ..EngineOptions::default()
    };
    let search = SearchLimits {
        nodes: Some(NODES),
        ..SearchLimits::default()
    };
    BotOptions {
        client: client.unwrap(),
        pool: Pool::in_background(&engine),
        settings: Settings {
            search,
            ..Settings::default()
        },
        pace: Pace::default(),
        listeners: Listeners::new(),
        memory: Memory::nowhere(),
        lists: ListSources::default(),
    }
}
