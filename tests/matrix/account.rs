//! A token or account that becomes invalid while games run: an alert, no new games, games in
//! progress continue, and no storm of calls.

use std::time::Duration;

use megaton::bot::{AlertKind, BotEvent, BotPhase};
use megaton::lichess::DeclineReason;
use megaton::practice::{
    Channel, Endpoint, Event, Fault, FaultReply, GamePhase, Injection, Schedule, ServerFault,
    ServerHandle, StreamFault, TimeControl, Trigger,
};
use tokio_util::sync::CancellationToken;

use crate::guest::Guest;
use crate::harness::{BOT, Running, SPEED, client, run_all, schedule, server, start, until};

/// A bot, and what becomes of its account while it plays.
struct Trouble {
    server: ServerHandle,
    bot: Running,
}

impl Trouble {
    async fn begin() -> Self {
        let server = server().await;
        let token = server.open_bot(BOT).unwrap();
        let bot = start(&server, &token, |_| {});
        until("it is online", async || server.is_online(BOT)).await;
        Self { server, bot }
    }

    /// Plays a game in whose middle something happens to the account. No clock runs out before that is
    /// over.
    async fn plays_through(&self, happens: impl Fn(&ServerHandle, &str)) {
        let mut news = self.server.events();
        let long = Schedule {
            time: TimeControl::Clock {
                limit: 900,
                increment: 2,
            },
            ..schedule(1, 1)
        };
        let game = self.server.play(BOT, long, CancellationToken::new());
        let operator = async {
            loop {
                if let Event::Moved { game, ply: 4, .. } = news.recv().await.unwrap() {
                    return happens(&self.server, &game);
                }
            }
        };
        let (report, ()) = tokio::join!(game, operator);
        assert!(report.is_clean(), "{report}");
    }

    fn calls(&self) -> u64 {
        self.server.traffic().calls.values().sum()
    }

    /// While the alert lasts challenges are declined and hardly anything is asked.
    async fn takes_nothing(&mut self) {
        until("the alert", async || {
            self.bot.status().await.state == BotPhase::Alert
        })
        .await;
        let guest = Guest::new(&self.server, "Latecomer").await;
        guest.challenges().await;
        let reason = self
            .bot
            .tells(|event| match event {
                BotEvent::Declined { reason, .. } => Some(*reason),
                _ => None,
            })
            .await;
        assert_eq!(reason, DeclineReason::Later);
    }
}

fn forbidden() -> Fault {
    Fault::Answer(FaultReply::usual(403))
}

/// The account is closed or marked for some time, and that is the alert.
async fn plays_on_despite(kind: AlertKind) {
    let mut trouble = Trouble::begin().await;
    let change = |server: &ServerHandle, bad: bool| {
        if kind == AlertKind::Closed {
            server.close_account(BOT, bad);
        } else {
            server.mark_account(BOT, bad);
        }
    };
    trouble
        .plays_through(|server, game| {
            change(server, true);
            // What makes the bot look: a move that is refused once.
            server.faults().add_at(game, Endpoint::Move, forbidden());
        })
        .await;
    trouble.takes_nothing().await;
    let before = trouble.calls();
    tokio::time::sleep(Duration::from_secs(60) / SPEED).await;
    let calls = trouble.calls() - before;
    assert!(calls <= 12, "{calls} calls in a minute of Lichess");
    change(&trouble.server, false);
    until("it is over", async || {
        trouble.bot.status().await.state == BotPhase::Playing
    })
    .await;
    assert_eq!(trouble.bot.alerts(), [kind], "said once");
    trouble.bot.end().await;
    trouble.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_or_marked_account_raises_an_alert_and_its_game_continues() {
    run_all([AlertKind::Closed, AlertKind::Marked], plays_on_despite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_revoked_during_play_is_one_alert_and_no_storm() {
    let mut trouble = Trouble::begin().await;
    // The bot looks once a minute at the most.
    let span = Duration::from_secs(120) / SPEED;
    trouble
        .plays_through(|server, game| {
            server.trigger(game, Injection::World(ServerFault::Revoke { span }));
        })
        .await;
    let traffic = trouble.server.traffic();
    assert!(traffic.most_openings <= 20, "{traffic:?}");
    let moves = traffic.calls[Endpoint::Move.name()];
    until("it plays again", async || {
        trouble.bot.status().await.state == BotPhase::Playing
    })
    .await;
    assert!(moves < 100, "{moves} calls of moves");
    assert_eq!(trouble.bot.alerts(), [AlertKind::Token], "said once");
    trouble.bot.end().await;
    trouble.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_stream_lost_while_the_token_is_revoked_is_opened_ever_more_rarely() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let bot = start(&server, &token, |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    let caller = client(&server, &token);
    let mut news = server.events();
    let openings = || server.traffic().calls[Endpoint::GameStream.name()];
    let operator = async {
        let game = loop {
            if let Event::Moved { game, ply: 4, .. } = news.recv().await.unwrap() {
                break game;
            }
        };
        let span = Duration::from_secs(200) / SPEED;
        server.trigger(&game, Injection::World(ServerFault::Revoke { span }));
        until("the token is unknown", async || {
            let account = caller.account().await;
            account.is_err_and(|error| error.is_unauthorized())
        })
        .await;
        let before = openings();
        let lost = Injection::Stream(Channel::Game, StreamFault::Break);
        server.trigger(&game, lost);
        tokio::time::sleep(Duration::from_secs(120) / SPEED).await;
        openings() - before
    };
    // The bot's clock may run out meanwhile.
    let game = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let (_, opened) = tokio::join!(game, operator);
    // Each opening is two calls: the second one does not name the bot.
    assert!(
        (3..=30).contains(&opened),
        "{opened} calls in two minutes of Lichess"
    );
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_that_are_forbidden_for_a_while_cost_no_game_and_no_storm() {
    let trouble = Trouble::begin().await;
    let refused = Injection::Call(Endpoint::Move, forbidden());
    let trigger = Trigger::at(GamePhase::Posting, refused)
        .from_ply(4)
        .times(4);
    trouble.server.faults().trigger(trigger);
    let game = schedule(1, 1);
    let report = trouble
        .server
        .play(BOT, game, CancellationToken::new())
        .await;
    assert!(report.is_clean(), "{report}");
    let game = &report.games[0];
    assert!(
        game.calls as usize <= game.plies.div_ceil(2) + 20,
        "{game:?}"
    );
    trouble.bot.end().await;
    trouble.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatedly_forbidden_accepts_are_an_alert_and_no_loop() {
    let mut trouble = Trouble::begin().await;
    for _ in 0..200 {
        trouble.server.faults().add(Endpoint::Accept, forbidden());
    }
    let guest = Guest::new(&trouble.server, "Eager").await;
    let mut state = trouble.bot.status().await.state;
    let mut asked = 0;
    while state != BotPhase::Alert && asked < 150 {
        guest.challenges().await;
        asked += 1;
        tokio::time::sleep(Duration::from_secs(5) / SPEED).await;
        state = trouble.bot.status().await.state;
    }
    assert_eq!(state, BotPhase::Alert, "after {asked} challenges");
    assert_eq!(trouble.bot.alerts(), [AlertKind::Barred]);
    let accepted = trouble.server.traffic().calls[Endpoint::Accept.name()];
    assert!(accepted <= asked + 1, "{accepted} for {asked} challenges");
    guest.challenges().await;
    let declined = trouble.bot.tells(|event| match event {
        BotEvent::Declined { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(declined.await, DeclineReason::Later);
    let now = trouble.server.traffic().calls[Endpoint::Accept.name()];
    assert_eq!(now, accepted, "nothing is accepted while the alert lasts");
    trouble.bot.end().await;
    trouble.server.shutdown().await;
}
