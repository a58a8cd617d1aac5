//! Alerts for the operator: a revoked token, and another program on the account.

use std::time::Duration;

use megaton::bot::{
    self, AlertKind, BotEvent, BotOptions, BotPhase, BotState, BotTiming, Command, ControlHandle,
    EventBus, ListSources, Reply, Settings, Shutdown,
};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{self, Client, ClientOptions, JoinOptions, Token};
use megaton::practice::{Endpoint, Fault, Options, Server, ServerHandle, Timing};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

const BOT: &str = "Megaton";
/// How much faster than Lichess everything runs here.
const FACTOR: u32 = 60;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);
/// Openings of the event stream that Lichess bears in ten minutes.
const OPENINGS: usize = 30;

/// A bot in this process.
struct Running {
    news: Receiver<BotEvent>,
    control: ControlHandle,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn server() -> ServerHandle {
    let options = Options {
        timing: Timing::scaled(FACTOR),
        ..Options::default()
    };
    Server::start(options).await.expect("a port")
}

impl Running {
    fn start(server: &ServerHandle, token: &str) -> Self {
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(token, "the test").expect("a good token"),
            contact: None,
            timing: lichess::Timing::default().faster(FACTOR),
        });
        let event_bus = EventBus::default();
        let news = event_bus.subscribe();
        let options = BotOptions {
            exclusive: false,
            client: client.expect("a good address"),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                ..EngineOptions::default()
            }),
            settings: Settings::default(),
            timing: BotTiming::default().faster(FACTOR),
            event_bus,
            state: BotState::nowhere(),
            lists: ListSources::default(),
        };
        let (control, commands) = bot::channel();
        let task = tokio::spawn(async move {
            let played = bot::run_commanded(options, Shutdown::default(), commands).await;
            played.expect("the bot can play");
        });
        Self {
            news,
            control,
            task,
        }
    }

    /// Waits for some news; says how often the event stream was open meanwhile.
    async fn wait_for(&mut self, mut wanted: impl FnMut(&BotEvent) -> bool) -> usize {
        let waiting = async {
            let mut openings = 0;
            loop {
                let event = self.news.recv().await.expect("the bot runs");
                openings += usize::from(matches!(event, BotEvent::Online));
                if wanted(&event) {
                    return openings;
                }
            }
        };
        let heard = tokio::time::timeout(GUARD, waiting).await;
        heard.expect("the news come")
    }

    async fn state(&self) -> BotPhase {
        match self.control.ask(Command::Status, GUARD).await {
            Ok(Reply::Status(status)) => status.state,
            other => panic!("{other:?}"),
        }
    }
}

fn is_alert(event: &BotEvent, wanted: AlertKind) -> bool {
    matches!(event, BotEvent::AlertRaised { kind, .. } if *kind == wanted)
}

fn is_over(event: &BotEvent, wanted: AlertKind) -> bool {
    matches!(event, BotEvent::AlertCleared { kind } if *kind == wanted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_rejected_at_runtime_is_an_alert_until_it_is_accepted_again() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let mut bot = Running::start(&server, &token);
    bot.wait_for(|event| matches!(event, BotEvent::Online))
        .await;
    assert_eq!(bot.state().await, BotPhase::Playing);
    // A first 401 may be about our name in the user agent; it is asked again without.
    for _ in 0..2 {
        let refusal = Fault::Refuse { status: 401 };
        server.faults().add(Endpoint::Events, refusal);
    }
    server.break_streams();
    bot.wait_for(|event| is_alert(event, AlertKind::Token))
        .await;
    assert_eq!(bot.state().await, BotPhase::Alert);
    let join = Command::JoinArena("aBcD1234".to_owned(), JoinOptions::default());
    let why = "not joining aBcD1234: an alert keeps the bot from accepting games: see `status`";
    let told = bot.control.ask(join, GUARD).await;
    assert_eq!(told, Ok(Reply::refused(why)));
    bot.wait_for(|event| is_over(event, AlertKind::Token)).await;
    assert_eq!(bot.state().await, BotPhase::Playing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeatedly_ending_stream_is_an_alert_until_it_stays_open() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    for _ in 0..3 {
        server.faults().add(Endpoint::Events, Fault::EndAfter(0));
    }
    let mut bot = Running::start(&server, &token);
    bot.wait_for(|event| is_alert(event, AlertKind::Stolen))
        .await;
    assert_eq!(
        bot.state().await,
        BotPhase::Playing,
        "it may be a false alarm"
    );
    bot.wait_for(|event| is_over(event, AlertKind::Stolen))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_about_a_second_program_ends_though_the_connection_broke_meanwhile() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    for fault in [
        Fault::EndAfter(0),
        Fault::EndAfter(0),
        Fault::EndAfter(0),
        Fault::BreakAfter(0),
    ] {
        server.faults().add(Endpoint::Events, fault);
    }
    let mut bot = Running::start(&server, &token);
    bot.wait_for(|event| is_alert(event, AlertKind::Stolen))
        .await;
    bot.wait_for(|event| is_over(event, AlertKind::Stolen))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_in_steps_is_no_second_program() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let restart = [
        Fault::EndAfter(0),
        Fault::EndAfter(0),
        Fault::Refuse { status: 503 },
    ];
    for fault in restart.clone().into_iter().chain(restart) {
        server.faults().add(Endpoint::Events, fault);
    }
    let mut bot = Running::start(&server, &token);
    let mut online = 0;
    let seen = bot.wait_for(|event| {
        online += usize::from(matches!(event, BotEvent::Online));
        online == 5 || is_alert(event, AlertKind::Stolen)
    });
    assert_eq!(seen.await, 5, "no alert before the stream stays open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_programs_on_one_account_raise_an_alert_and_do_not_fight() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let mut one = Running::start(&server, &token);
    let mut other = Running::start(&server, &token);
    let stolen = |event: &BotEvent| is_alert(event, AlertKind::Stolen);
    let openings = tokio::join!(one.wait_for(stolen), other.wait_for(stolen));
    assert!(openings.0 + openings.1 <= OPENINGS, "{openings:?}");
}
