//! Schedules against the partners, the bot being a bare client with another library's rules.

use std::time::Duration;

use megaton::practice::{Event, Partner, Schedule, ServerHandle, Status, TimeControl};
use shakmaty::uci::UciMove;
use shakmaty::variant::Atomic;
use shakmaty::{CastlingMode, Position};
use tokio_util::sync::CancellationToken;

use crate::client::{Bot, Lines, Read, server};

/// Plays any legal move in every game it is given, accepting every challenge.
async fn play_everything(bot: Bot) {
    let mut events = bot.events().await;
    loop {
        let event = events.next().await;
        match event["type"].as_str().unwrap() {
            "challenge" => {
                let id = event["challenge"]["id"].as_str().unwrap().to_owned();
                bot.post(&format!("/api/challenge/{id}/accept")).await;
            }
            "gameStart" => {
                let id = event["game"]["gameId"].as_str().unwrap().to_owned();
                let white = event["game"]["color"] == "white";
                tokio::spawn(play(bot.clone(), id, white));
            }
            _ => {}
        }
    }
}

async fn play(bot: Bot, id: String, white: bool) {
    let mut lines: Lines = bot.game(&id).await;
    loop {
        let line = match lines.read().await {
            Read::Line(line) => line,
            Read::KeepAlive => continue,
            Read::End | Read::Broken => return,
        };
        let state = if line["type"] == "gameFull" {
            &line["state"]
        } else {
            &line
        };
        let Some(moves) = state["moves"].as_str() else {
            continue;
        };
        let mut position = Atomic::default();
        for uci in moves.split_whitespace() {
            let uci: UciMove = uci.parse().unwrap();
            let mv = uci.to_move(&position).unwrap();
            position.play_unchecked(mv);
        }
        if state["status"] == "started" && position.turn().is_white() == white {
            let choice = fastrand::choice(position.legal_moves()).unwrap();
            let uci = choice.to_uci(CastlingMode::Standard).to_string();
            bot.play(&id, &uci).await;
        }
    }
}

fn connect(server: &ServerHandle) -> tokio::task::JoinHandle<()> {
    tokio::spawn(play_everything(Bot::new(server, "RandomClient")))
}

#[tokio::test]
async fn a_schedule_is_played_to_the_end_and_reported() {
    let server = server().await;
    let mut news = server.events();
    let client = connect(&server);
    let schedule = Schedule {
        games: 6,
        concurrency: 3,
        partners: vec![
            Partner::Random,
            Partner::Greedy,
            Partner::Engine { nodes: 200 },
        ],
        time: TimeControl::Clock {
            limit: 60,
            increment: 1,
        },
        ..Schedule::default()
    };
    let report = server
        .play("RandomClient", schedule, CancellationToken::new())
        .await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.games.len(), 6);
    let white = report
        .games
        .iter()
        .filter(|game| game.color == megaton::rules::Color::White);
    assert_eq!(white.count(), 3, "colours alternate");
    assert!(
        report
            .games
            .iter()
            .any(|game| game.status == Status::VariantEnd),
        "{report}"
    );
    let mut ended = 0;
    while let Ok(event) = news.try_recv() {
        ended += usize::from(matches!(event, Event::Ended { .. }));
    }
    assert_eq!(ended, 6);
    client.abort();
}

#[tokio::test]
async fn sparring_bots_accept_what_a_client_requests() {
    let server = server().await;
    let partner = server.add_sparring_bot(Partner::Greedy, Duration::ZERO);
    let bot = Bot::new(&server, "AskingBot");
    let form = [
        ("clock.limit", "60"),
        ("clock.increment", "0"),
        ("variant", "atomic"),
        ("color", "white"),
    ];
    let path = format!("/api/challenge/{partner}");
    let id = bot.post_form(&path, &form).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut events = bot.events().await;
    assert_eq!(
        events.next_of("gameStart").await["game"]["gameId"],
        id.as_str()
    );
    let mut stream = bot.game(&id).await;
    bot.play(&id, "e2e4").await.ok();
    loop {
        let state = stream.next_of("gameState").await;
        if state["moves"].as_str().unwrap().split(' ').count() == 2 {
            break;
        }
    }
    let online = bot.get("/api/bot/online").await.text;
    assert!(online.contains(partner), "{online}");
}

#[tokio::test]
async fn a_schedule_that_is_stopped_finishes_its_game_and_starts_no_other() {
    let server = server().await;
    let client = connect(&server);
    let stop = CancellationToken::new();
    let mut news = server.events();
    let ending = stop.clone();
    tokio::spawn(async move {
        while !matches!(news.recv().await, Ok(Event::Started { .. })) {}
        ending.cancel();
    });
    let schedule = Schedule {
        games: 1000,
        partners: vec![Partner::Random],
        ..Schedule::default()
    };
    let report = server.play("RandomClient", schedule, stop).await;
    assert_eq!(report.games.len(), 1);
    assert!(report.games[0].is_clean());
    client.abort();
}
