//! Matchmaking end to end: the whole bot on the practice server, with opponents to find.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

use std::num::NonZeroU64;
use std::time::Duration;

use megaton::bot::{
    BotError, BotEvent, BotOptions, BotState, BotTiming, ChallengeSpec, Command, ControlHandle,
    EventBus, ListSources, Reply, Settings, Shutdown, channel, run_commanded,
};
use megaton::config::{self, Profile};
use megaton::engine::{EngineOptions, Evaluator, Pool};
use megaton::lichess::{Client, ClientOptions, EndpointClass, Side, Timing, Token};
use megaton::practice::{self, Endpoint, Event, Fault, Partner, ServerHandle};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

/// Speed-up against Lichess.
const FASTER: u32 = 50;
/// A hang guard, not a measurement.
const PATIENCE: Duration = Duration::from_secs(60);

async fn lichess(rules: practice::ServerRules) -> ServerHandle {
    let options = practice::Options {
        timing: practice::Timing::scaled(FASTER),
        rules,
        seed: 7,
        ..practice::Options::default()
    };
    practice::Server::start(options).await.unwrap()
}

struct Bot {
    client: Client,
    event_bus: EventBus,
    /// Everything since the start.
    events: Receiver<BotEvent>,
    control: ControlHandle,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), BotError>>,
}

impl Bot {
    /// A bot that looks for games without pause.
    fn seeking(server: &ServerHandle, name: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let token = server.open_bot(name).unwrap();
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(&token, "the test").unwrap(),
            contact: None,
            timing: Timing::default().faster(FASTER),
        })
        .unwrap();
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(200),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        let seek = &mut settings.matchmaking;
        seek.enabled = true;
        seek.idle = Duration::from_millis(20);
        seek.spacing = Duration::from_millis(50);
        seek.timeout = Duration::from_millis(400);
        seek.min_games = 0;
        seek.profile = vec![Profile {
            max_rating_difference: 4000,
            ..Profile::default()
        }];
        change(&mut settings);
        let shutdown = Shutdown::default();
        let event_bus = EventBus::new();
        let options = BotOptions {
            exclusive: false,
            client: client.clone(),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                evaluator: Evaluator::classical(),
                ..EngineOptions::default()
            }),
            settings,
            timing: BotTiming::default().faster(FASTER),
            event_bus: event_bus.clone(),
            state: BotState::nowhere(),
            lists: ListSources::default(),
        };
        let events = event_bus.subscribe();
        let (control, commands) = channel();
        let task = tokio::spawn(run_commanded(options, shutdown.clone(), commands));
        Self {
            client,
            event_bus,
            events,
            control,
            shutdown,
            task,
        }
    }

    async fn end(self) {
        self.shutdown.drain.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.unwrap().unwrap().unwrap();
    }
}

async fn next<T>(events: &mut Receiver<T>, wanted: impl Fn(&T) -> bool) -> T
where
    T: Clone,
{
    let wait = async {
        loop {
            let event = events.recv().await.unwrap();
            if wanted(&event) {
                return event;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opponent_is_found_and_met_with_both_colours() {
    let server = lichess(practice::ServerRules::default()).await;
    server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let mut bot = Bot::seeking(&server, "Seeker", |_| {});
    let mut colors = Vec::new();
    while colors.len() < 2 {
        let joined = next(&mut bot.events, |it| matches!(it, BotEvent::Joined { .. })).await;
        let BotEvent::Joined { opponent, us, .. } = joined else {
            unreachable!()
        };
        assert_eq!(opponent, "RandomPartner");
        colors.push(us);
    }
    assert_eq!(colors, [Some(Side::White), Some(Side::Black)]);
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_opponent_is_challenged_again_on_command() {
    let server = lichess(practice::ServerRules::default()).await;
    server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let mut bot = Bot::seeking(&server, "Seeker", |settings| {
        settings.matchmaking.color_pairs = false;
    });
    let joined = |it: &BotEvent| matches!(it, BotEvent::Joined { .. });
    let first = next(&mut bot.events, joined).await;
    // From here on matchmaking sends only manual challenges.
    let off = bot.control.ask(Command::Matchmaking(false), PATIENCE).await;
    assert!(matches!(off, Ok(Reply::Done(_))), "{off:?}");
    next(&mut bot.events, |it| {
        matches!(it, BotEvent::Finished { .. })
    })
    .await;
    let again = bot.control.ask(Command::Rechallenge, PATIENCE).await;
    assert!(matches!(again, Ok(Reply::Done(_))), "{again:?}");
    let second = next(&mut bot.events, joined).await;
    let (
        BotEvent::Joined { us: then, .. },
        BotEvent::Joined {
            us: now, opponent, ..
        },
    ) = (first, second)
    else {
        unreachable!()
    };
    assert_eq!(opponent, "RandomPartner");
    assert_eq!(now, then.map(Side::other), "with the other colour");
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matchmaking_that_can_never_send_a_challenge_is_not_turned_on() {
    type Change = fn(&mut Settings);
    let server = lichess(practice::ServerRules::default()).await;
    let no_slot = |settings: &mut Settings| {
        settings.challenge.bots.accept = false;
        settings.challenge.reserved_for_humans = settings.challenge.concurrency;
    };
    let no_game = |settings: &mut Settings| settings.limits.bot_games = 0;
    let no_profile = |settings: &mut Settings| settings.matchmaking.profile.clear();
    let cases: [(&str, Change, &str); 3] = [
        ("Seeker1", no_slot, "slots are reserved for humans"),
        ("Seeker2", no_game, "with bot_games = 0"),
        ("Seeker3", no_profile, "add a [[matchmaking.profile]]"),
    ];
    for (name, change, why) in cases {
        let mut bot = Bot::seeking(&server, name, |settings| {
            settings.matchmaking.enabled = false;
            change(settings);
        });
        next(&mut bot.events, |it| matches!(it, BotEvent::Online)).await;
        let told = bot.control.ask(Command::Matchmaking(true), PATIENCE).await;
        let refused = |reply: &Reply| matches!(reply, Reply::Refused(text) if text.contains(why));
        assert!(told.as_ref().is_ok_and(refused), "{told:?}");
        let off = bot.control.ask(Command::Matchmaking(false), PATIENCE).await;
        assert!(matches!(off, Ok(Reply::Done(_))), "{off:?}");
        bot.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_manual_challenge_is_logged_with_the_reason() {
    let server = lichess(practice::ServerRules::default()).await;
    let mut bot = Bot::seeking(&server, "Seeker", |settings| {
        settings.matchmaking.enabled = false;
    });
    let event_log = bot.event_bus.event_log();
    let mut changes = event_log.changes();
    next(&mut bot.events, |it| matches!(it, BotEvent::Online)).await;
    let partner = server.add_sparring_bot(Partner::Random, Duration::ZERO);
    server
        .faults()
        .add(Endpoint::Create, Fault::Refuse { status: 400 });
    for (user, why) in [
        ("Nobody77", "no such account"),
        (partner, "refused with status 400: "),
    ] {
        let wish = Command::Challenge(ChallengeSpec {
            user: user.to_owned(),
            ..ChallengeSpec::default()
        });
        let told = bot.control.ask(wish, PATIENCE).await;
        assert!(matches!(told, Ok(Reply::Done(_))), "{told:?}");
        let text = format!("challenge {}: not sent, {why}", user.to_lowercase());
        let on_record = || {
            let events = event_log.events(1000);
            events.iter().any(|it| it.text.starts_with(&text))
        };
        let wait = async {
            while !on_record() {
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        waited.unwrap_or_else(|_| panic!("{text}: {:?}", event_log.events(1000)));
    }
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_bots_with_matchmaking_find_each_other() {
    let server = lichess(practice::ServerRules::default()).await;
    let mut started = server.events();
    let mut two = Bot::seeking(&server, "Two", |settings| {
        settings.matchmaking.enabled = false;
    });
    // A bot that is not online yet is not looked for again so soon.
    next(&mut two.events, |it| matches!(it, BotEvent::Online)).await;
    let one = Bot::seeking(&server, "One", |_| {});
    let first = next(&mut started, |it| matches!(it, Event::Started { .. })).await;
    let Event::Started { white, black, .. } = first else {
        unreachable!()
    };
    assert_eq!((white.as_str(), black.as_str()), ("One", "Two"));
    one.end().await;
    two.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_without_an_answer_is_withdrawn_and_not_repeated() {
    let server = lichess(practice::ServerRules::default()).await;
    // An opponent who is online and never answers.
    let deaf = server.open_bot("Deaf").unwrap();
    let deaf = Client::new(ClientOptions {
        base_url: server.url().to_owned(),
        token: Token::parse(&deaf, "the test").unwrap(),
        contact: None,
        timing: Timing::default(),
    })
    .unwrap();
    let mut stream = deaf.events().await.unwrap();
    let bot = Bot::seeking(&server, "Seeker", |_| {});
    let wait = async {
        loop {
            use megaton::lichess::Event;
            if let Event::ChallengeCanceled(_) = stream.next().await.unwrap().event {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
    assert_eq!(bot.client.calls(EndpointClass::Create), 1);
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_daily_limit_stops_matchmaking() {
    let server = lichess(practice::ServerRules {
        bot_games_a_day: Some(1),
        challenge_credits: Some([25, 200]),
        ..practice::ServerRules::default()
    })
    .await;
    server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let mut news = server.events();
    let bot = Bot::seeking(&server, "Seeker", |_| {});
    next(&mut news, |it| matches!(it, Event::Ended { .. })).await;
    let refused = async {
        while bot
            .client
            .stats()
            .ended(EndpointClass::Create, megaton::lichess::CallResult::Limited)
            == 0
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    let made = bot.client.calls(EndpointClass::Create);
    assert_eq!(made, 2, "one game, one refusal");
    let event_log = bot.event_bus.event_log().clone();
    bot.end().await;
    let events = event_log.events(1000);
    let on_record = events
        .iter()
        .any(|it| it.kind == "limited" && it.text.starts_with("create: rate limited"));
    assert!(on_record, "{events:?}");
}
