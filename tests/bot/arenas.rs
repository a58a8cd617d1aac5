//! Arenas end to end: the whole bot on the practice server, from the list to the last game.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

use std::num::NonZeroU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megaton::bot::{
    BotError, BotOptions, BotState, BotTiming, Command, ControlHandle, Denied, EventBus,
    ListSources, OpponentKind, Permit, Reply, Settings, Shutdown, StateRules, channel,
    run_commanded,
};
use megaton::config;
use megaton::engine::{EngineOptions, Evaluator, Pool};
use megaton::lichess::{
    CallResult, ChallengeOptions, Client, ClientOptions, EndpointClass, JoinOptions, Timing, Token,
    UserId,
};
use megaton::practice::{
    self, ArenaPlan, Endpoint, Event, Fault, GamePhase, GameReport, Injection, OpponentBehavior,
    Partner, Rating, Schedule, ServerHandle, ServerRules, Status, Trigger,
};
use megaton::store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const BOT: &str = "Megaton";
/// Speed-up against Lichess.
const FASTER: u32 = 30;
/// A hang guard, not a measurement.
const PATIENCE: Duration = Duration::from_secs(60);

async fn lichess() -> ServerHandle {
    lichess_with(ServerRules::default()).await
}

async fn lichess_with(rules: ServerRules) -> ServerHandle {
    let options = practice::Options {
        timing: practice::Timing::fast(FASTER),
        rules,
        seed: 7,
        ..practice::Options::default()
    };
    practice::Server::start(options).await.unwrap()
}

/// Opens an arena with two partners in it, so that the opponent changes.
fn open(server: &ServerHandle, plan: ArenaPlan) -> String {
    let id = server.open_arena(plan).unwrap();
    for number in 0..2 {
        let name = format!("Partner-{id}-{number}");
        server.enter(&id, &name, Partner::Engine { nodes: 60 }, Duration::ZERO);
    }
    id
}

struct Bot {
    client: Client,
    settings: Settings,
    control: ControlHandle,
    shutdown: Shutdown,
    state: BotState,
    task: JoinHandle<Result<(), BotError>>,
}

impl Bot {
    fn start(server: &ServerHandle, change: impl FnOnce(&mut Settings)) -> Self {
        let token = server.open_bot(BOT).unwrap();
        Self::with_token(server, &token, change)
    }

    fn with_token(server: &ServerHandle, token: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(token, "the test").unwrap(),
            contact: None,
            timing: Timing::default().faster(FASTER),
        })
        .unwrap();
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(200),
                ..config::Engine::default()
            },
            ..Settings::default().faster(FASTER)
        };
        settings.limits.bot_games = 10_000;
        change(&mut settings);
        let shutdown = Shutdown::default();
        let (control, commands) = channel();
        let (store, kept) = Store::nowhere();
        let state = BotState::new(store, kept, StateRules::from(&settings));
        let options = BotOptions {
            exclusive: false,
            client: client.clone(),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                evaluator: Evaluator::classical(),
                ..EngineOptions::default()
            }),
            settings: settings.clone(),
            timing: BotTiming::default().faster(FASTER),
            event_bus: EventBus::new(),
            state: state.clone(),
            lists: ListSources::default(),
        };
        let task = tokio::spawn(run_commanded(options, shutdown.clone(), commands));
        Self {
            client,
            settings,
            control,
            shutdown,
            state,
            task,
        }
    }

    /// A bot that joins every suitable arena.
    fn auto(server: &ServerHandle) -> Self {
        Self::start(server, |settings| settings.arena.auto = true)
    }

    async fn told(&self, command: Command) -> Reply {
        self.control.ask(command, PATIENCE).await.unwrap()
    }

    /// Joins an arena by command, as soon as the bot has reached the server: before, it accepts none.
    async fn join(&self, arena: &str, entrance: JoinOptions) {
        let join = Command::JoinArena(arena.to_owned(), entrance);
        while !matches!(self.told(join.clone()).await, Reply::Done(_)) {
            tokio::task::yield_now().await;
        }
    }

    async fn end(self) {
        self.shutdown.drain.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.unwrap().unwrap().unwrap();
    }
}

async fn next(news: &mut tokio::sync::broadcast::Receiver<Event>, wanted: impl Fn(&Event) -> bool) {
    let wait = async { while !news.recv().await.is_ok_and(|event| wanted(&event)) {} };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
}

async fn games(server: &ServerHandle, arena: &str, count: usize) -> Vec<GameReport> {
    let games = server.arena_games(arena, count);
    tokio::time::timeout(PATIENCE, games).await.unwrap()
}

fn enters(event: &Event, id: &str) -> bool {
    matches!(event, Event::Entered { arena, name } if arena == id && name == BOT)
}

fn withdraws(event: &Event, id: &str) -> bool {
    matches!(event, Event::Withdrew { arena, name } if arena == id && name == BOT)
}

fn assert_clean(games: &[GameReport]) {
    for game in games {
        assert!(game.is_clean(), "{}: {:?}", game.attribution, game.trace);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suitable_arena_is_joined_and_its_games_are_played_in_a_row() {
    let server = lichess().await;
    let id = open(
        &server,
        ArenaPlan {
            starts_in: 60,
            ..ArenaPlan::default()
        },
    );
    let bot = Bot::auto(&server);
    let games = games(&server, &id, 4).await;
    assert_clean(&games);
    assert!(
        games.windows(2).all(|two| two[0].partner != two[1].partner),
        "{games:?}"
    );
    // No aborts, resignations, claims or takebacks: the bot only moved.
    assert_eq!(bot.client.calls(EndpointClass::Act), 0);
    assert_eq!(
        bot.client
            .stats()
            .ended(EndpointClass::Arena, CallResult::Limited),
        0
    );
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_join_is_repeated_for_as_long_as_no_game_runs() {
    let server = lichess().await;
    let id = server.open_arena(ArenaPlan::default()).unwrap();
    // The end of another arena marks the time: a join counts for a minute only.
    let for_people = server.open_arena(ArenaPlan {
        bots_allowed: false,
        starts_in: 40,
        minutes: 1,
        ..ArenaPlan::default()
    });
    let mut news = server.events();
    let bot = Bot::auto(&server);
    next(&mut news, |event| enters(event, &id)).await;
    let over = |event: &Event| matches!(event, Event::ArenaOver { arena } if Some(arena) == for_people.as_ref());
    next(&mut news, over).await;
    server.enter(&id, "LatePartner", Partner::Random, Duration::ZERO);
    next(&mut news, |event| matches!(event, Event::Started { .. })).await;
    let calls = bot.client.calls(EndpointClass::Arena);
    assert!((2..=5).contains(&calls), "{calls} calls");
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsuitable_arena_is_left_alone() {
    let server = lichess().await;
    let usual = ArenaPlan::default;
    let unsuitable = [
        ArenaPlan {
            rated: false,
            ..usual()
        },
        ArenaPlan {
            bots_allowed: false,
            ..usual()
        },
        ArenaPlan {
            variant: "standard".to_owned(),
            ..usual()
        },
        ArenaPlan {
            limit: 1800,
            ..usual()
        },
        ArenaPlan {
            password: Some("sesame".to_owned()),
            ..usual()
        },
        ArenaPlan {
            team: Some("bombers".to_owned()),
            ..usual()
        },
        ArenaPlan {
            min_rating: Some(2900),
            ..usual()
        },
    ]
    .map(|plan| server.open_arena(plan).unwrap());
    let suitable = open(&server, usual());
    let token = server.open_bot(BOT).unwrap();
    server.rate(BOT, Rating::settled(2000));
    let bot = Bot::with_token(&server, &token, |settings| {
        settings.arena.auto = true;
        settings.arena.most = 10;
    });
    assert_clean(&games(&server, &suitable, 1).await);
    for id in &unsuitable {
        assert_eq!(server.arena(id).unwrap().players, [], "{id}");
    }
    assert_eq!(
        bot.client
            .stats()
            .ended(EndpointClass::Arena, CallResult::Refused),
        0
    );
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outside_of_its_hours_only_named_arenas_are_joined() {
    let server = lichess().await;
    let by_rule = open(&server, ArenaPlan::default());
    let named = open(&server, ArenaPlan::default());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let hour = now.as_secs() / 3600 % 24;
    let bot = Bot::start(&server, |settings| {
        settings.arena.auto = true;
        settings.arena.most = 10;
        let hours = format!("{}-{}", (hour + 3) % 24, (hour + 4) % 24);
        settings.arena.hours = hours.parse().unwrap();
        settings.arena.ids = vec![named.parse().unwrap()];
    });
    assert_clean(&games(&server, &named, 1).await);
    assert_eq!(server.arena(&by_rule).unwrap().player(BOT), None);
    // Only the hour kept it out.
    let mut news = server.events();
    let mut settings = bot.settings.clone();
    settings.arena.hours = "0-24".parse().unwrap();
    bot.told(Command::Reload(settings.into())).await;
    next(&mut news, |event| enters(event, &by_rule)).await;
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arenas_of_a_team_are_joined_by_its_members_only() {
    let server = lichess().await;
    let plan = |team: &str| ArenaPlan {
        team: Some(team.to_owned()),
        ..ArenaPlan::default()
    };
    let strange = open(&server, plan("strangers"));
    let ours = open(&server, plan("bombers"));
    let token = server.open_bot(BOT).unwrap();
    server.make_member(BOT, "bombers");
    let bot = Bot::with_token(&server, &token, |settings| {
        settings.arena.auto = true;
        settings.arena.most = 10;
        settings.arena.teams = vec!["strangers".to_owned(), "bombers".to_owned()];
    });
    assert_clean(&games(&server, &ours, 2).await);
    let Reply::Status(status) = bot.told(Command::Status).await else {
        panic!("no status");
    };
    let remedy = "[arena] teams: the account is not a member of strangers: \
                  `megaton team join strangers`";
    let said = &status.arenas;
    assert!(said.iter().any(|line| line == remedy), "{said:?}");
    assert!(
        !said.iter().any(|line| line.contains("bombers")),
        "{said:?}"
    );
    bot.end().await;
    assert_eq!(server.arena(&strange).unwrap().player(BOT), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arena_is_entered_with_password_and_team_and_left_for_good() {
    let server = lichess().await;
    let id = open(
        &server,
        ArenaPlan {
            password: Some("sesame".to_owned()),
            battle: vec!["bombers".to_owned()],
            rated: false,
            ..ArenaPlan::default()
        },
    );
    let bot = Bot::start(&server, |_| {});
    server.make_member(BOT, "bombers");
    let entrance = JoinOptions {
        password: Some("sesame".to_owned()),
        team: Some("bombers".to_owned()),
        pair_me: false,
    };
    let mut news = server.events();
    bot.join(&id, entrance).await;
    assert_clean(&games(&server, &id, 2).await);
    let left = bot.told(Command::LeaveArena(id.clone())).await;
    assert!(matches!(left, Reply::Done(_)), "{left:?}");
    next(&mut news, |event| withdraws(event, &id)).await;
    bot.end().await;
    assert!(!server.arena(&id).unwrap().has(BOT));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_costs_one_join_and_no_other_arena() {
    let server = lichess().await;
    let closed = open(
        &server,
        ArenaPlan {
            password: Some("sesame".to_owned()),
            ..ArenaPlan::default()
        },
    );
    // Each costs 2 of the 8 joins of an hour, the wrong password too. They begin when it would have been
    // tried three times.
    let good = [210, 250, 290].map(|starts_in| {
        let plan = ArenaPlan {
            starts_in,
            ..ArenaPlan::default()
        };
        server.open_arena(plan).unwrap()
    });
    let mut news = server.events();
    let bot = Bot::start(&server, |settings| {
        settings.arena.ids = good.iter().map(|id| id.parse().unwrap()).collect();
    });
    let entrance = JoinOptions {
        password: Some("wrong".to_owned()),
        ..JoinOptions::default()
    };
    bot.join(&closed, entrance).await;
    for id in &good {
        next(&mut news, |event| enters(event, id)).await;
    }
    let refused = bot
        .client
        .stats()
        .ended(EndpointClass::Arena, CallResult::Refused);
    assert_eq!(refused, 1);
    assert_eq!(server.arena(&closed).unwrap().player(BOT), None);
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_of_an_arena_are_counted_with_those_of_challenges() {
    let server = lichess_with(ServerRules {
        bot_games_a_day: Some(4),
        ..ServerRules::default()
    })
    .await;
    let id = open(&server, ArenaPlan::default());
    let mut news = server.events();
    let bot = Bot::start(&server, |settings| {
        settings.arena.auto = true;
        settings.limits.bot_games = 4;
    });
    let ours = |event: &Event| match event {
        Event::Started { white, black, .. } => white == BOT || black == BOT,
        _ => false,
    };
    for _ in 0..2 {
        next(&mut news, ours).await;
    }
    bot.told(Command::LeaveArena(id.clone())).await;
    assert_clean(&games(&server, &id, 2).await);
    let budget = bot.state.budget();
    assert_eq!((budget.games, budget.incoming), (4, 2));
    let challenges = Schedule {
        games: 2,
        partners: vec![Partner::Random],
        ..Schedule::default()
    };
    let report = server.play(BOT, challenges, CancellationToken::new()).await;
    assert_eq!(report.games.len(), 2, "{report}");
    // It knows what the server would answer.
    let permit = bot.state.may_challenge(OpponentKind::Bot);
    let denied =
        |permit| matches!(permit, Permit::Later { denied, .. } if denied == Denied::BotGames);
    assert!(denied(permit), "{permit:?}");
    let rival = UserId::new(&format!("Partner-{id}-0"));
    let challenge = bot
        .client
        .create_challenge(&rival, &ChallengeOptions::default())
        .await;
    assert!(challenge.is_err_and(|error| error.is_rate_limited()));
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_removed_by_the_server_rejoins() {
    let server = lichess().await;
    let id = open(&server, ArenaPlan::default());
    let mut news = server.events();
    let bot = Bot::auto(&server);
    // During a game, and between two.
    for moment in [0, 1] {
        let moved = |event: &Event| matches!(event, Event::Moved { ply: 4, .. });
        let over = |event: &Event| matches!(event, Event::Ended { .. });
        next(&mut news, |event| {
            if moment == 0 {
                moved(event)
            } else {
                over(event)
            }
        })
        .await;
        server.remove_player(&id, BOT);
        next(&mut news, |event| withdraws(event, &id)).await;
        next(&mut news, |event| enters(event, &id)).await;
    }
    let played = server.arena(&id).unwrap().player(BOT).unwrap().games;
    assert_clean(&games(&server, &id, played as usize + 1).await);
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_leaving_it_withdraws_and_plays_its_game_to_the_end() {
    let server = lichess().await;
    let id = open(&server, ArenaPlan::default());
    let mut news = server.events();
    let bot = Bot::auto(&server);
    next(&mut news, |event| {
        matches!(event, Event::Moved { ply: 2, .. })
    })
    .await;
    bot.shutdown.drain.cancel();
    next(&mut news, |event| withdraws(event, &id)).await;
    bot.end().await;
    let arena = server.arena(&id).unwrap();
    let us = arena.player(BOT).unwrap();
    assert_eq!((us.is_in, us.games), (false, 1), "{arena:?}");
    assert_clean(&server.take_reports());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opponent_who_never_begins_loses_and_nothing_is_aborted() {
    let server = lichess().await;
    server.faults().set_behavior(OpponentBehavior::NeverMoves);
    let id = open(&server, ArenaPlan::default());
    let bot = Bot::auto(&server);
    for game in games(&server, &id, 2).await {
        assert_eq!(game.status, Status::NoStart);
        assert_eq!(game.winner, Some(game.color));
    }
    assert_eq!(bot.client.calls(EndpointClass::Act), 0);
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_missed_first_move_the_bot_stays_out_of_that_arena() {
    let server = lichess().await;
    // No move of the first game gets through.
    for _ in 0..1000 {
        let refused = Injection::Call(Endpoint::Move, Fault::Refuse { status: 503 });
        server
            .faults()
            .trigger(Trigger::at(GamePhase::Begin, refused));
    }
    let lost = open(&server, ArenaPlan::default());
    let later = open(
        &server,
        ArenaPlan {
            starts_in: 120,
            ..ArenaPlan::default()
        },
    );
    let bot = Bot::start(&server, |settings| {
        settings.arena.most = 2;
        settings.arena.ids = vec![lost.parse().unwrap(), later.parse().unwrap()];
    });
    let game = games(&server, &lost, 1).await.remove(0);
    assert_eq!(game.status, Status::NoStart);
    let joins = || server.arena(&lost).unwrap().player(BOT).unwrap().joins;
    let then = joins();
    assert_clean(&games(&server, &later, 2).await);
    // The event of the end may come a moment after the end itself.
    assert!(joins() <= then + 1, "it still repeats the join");
    bot.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_during_an_arena_plays_on_in_it() {
    let server = lichess().await;
    let id = open(&server, ArenaPlan::default());
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let auto = |settings: &mut Settings| settings.arena.auto = true;
    let first = Bot::with_token(&server, &token, auto);
    // The second starts while the first move is due.
    next(&mut news, |event| matches!(event, Event::Started { .. })).await;
    first.task.abort();
    let _ = first.task.await;
    let second = Bot::with_token(&server, &token, auto);
    assert_clean(&games(&server, &id, 2).await);
    second.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_one_is_challenged_while_an_arena_may_begin_a_game() {
    let server = lichess().await;
    server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let id = open(
        &server,
        ArenaPlan {
            minutes: 6,
            ..ArenaPlan::default()
        },
    );
    let mut news = server.events();
    let bot = Bot::start(&server, |settings| {
        settings.arena.auto = true;
        // The arena's next game comes some Lichess seconds after the one before.
        settings.matchmaking.idle = Duration::from_millis(1);
        settings.matchmaking.spacing = Duration::from_millis(1);
        settings.matchmaking.min_games = 0;
        settings.matchmaking.profile[0].max_rating_difference = 4000;
    });
    next(&mut news, |event| matches!(event, Event::Started { .. })).await;
    bot.told(Command::Matchmaking(true)).await;
    assert_clean(&games(&server, &id, 3).await);
    assert_eq!(bot.client.calls(EndpointClass::Create), 0);
    // Once it is over, matchmaking resumes.
    let over = |event: &Event| matches!(event, Event::ArenaOver { .. });
    next(&mut news, over).await;
    let challenged = |event: &Event| matches!(event, Event::Challenged { by, .. } if by == BOT);
    next(&mut news, challenged).await;
    bot.end().await;
}
