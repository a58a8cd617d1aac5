//! A hostile regular on the practice server: it repeats whatever line won against the bot, for as long
//! as the bot follows.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use megaton::archive::{ArchiveEntry, ArchiveReader, EndingRecord, GameRecord, LESSONS_SHOWN};
use megaton::bot::{
    self, BotOptions, BotState, BotTiming, EventBus, ListSources, Settings, Shutdown, StateRules,
};
use megaton::config;
use megaton::engine::{EngineOptions, Limits, Pool, Score, SingleThread};
use megaton::lichess::{
    self, ChallengeOptions, Client, ClientOptions, ColorChoice, GameEvent, GameId, GameState,
    OfferDraw, Side, Status, Token, UserId,
};
use megaton::practice::{Options, Server, Timing};
use megaton::rules::Game;
use megaton::store::Store;

use super::control::until;
use super::records::{BEGAN, Ground, game};

const BOT: &str = "Megaton";
const FACTOR: u32 = 20;
const GAMES: usize = 20;
/// The bot's nodes a move, and those of the regular.
const WEAK: u64 = 300;
const STRONG: u64 = 6000;
/// Longer than any of these games.
const GUARD: Duration = Duration::from_secs(120);

fn client(url: &str, token: &str) -> Client {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(token, "the test").expect("a good token"),
        contact: None,
        timing: lichess::Timing::default().faster(FACTOR),
    });
    client.expect("a good address")
}

/// Repeats the lines that won; otherwise it thinks more than the bot.
struct Regular {
    client: Client,
    engine: SingleThread,
    /// The games it won, and how often, by their moves.
    won: BTreeMap<String, usize>,
}

impl Regular {
    fn answer(&mut self, moves: &str) -> String {
        let repeated = self.won.keys().find_map(|line| {
            let rest = line.strip_prefix(moves)?;
            let next = rest.split_ascii_whitespace().next()?;
            (rest.starts_with(' ') || moves.is_empty()).then(|| next.to_owned())
        });
        repeated.unwrap_or_else(|| {
            let game = Game::from_uci_moves(moves).expect("the server's moves are legal");
            let result = self.engine.think(&game, &Limits::nodes(STRONG));
            result.best.expect("the game goes on").to_string()
        })
    }

    /// Plays a game as White to its end.
    async fn play(&mut self) {
        let options = ChallengeOptions {
            color: ColorChoice::White,
            ..ChallengeOptions::default()
        };
        let bot = UserId::new(BOT);
        let made = self.client.create_challenge(&bot, &options).await;
        let id: GameId = made.expect("a challenge").id.as_game();
        until("the game begins", async || {
            let playing = self.client.playing().await.expect("a list");
            playing.games.iter().any(|it| it.id == id)
        })
        .await;
        let stream = self.client.game(&id, GUARD).await;
        let mut stream = stream.expect("a game of ours");
        loop {
            let state: GameState = match stream.next().await.expect("its stream").event {
                GameEvent::Full(full) => full.state,
                GameEvent::State(state) => *state,
                _ => continue,
            };
            if state.status.is_over() {
                if state.winner == Some(Side::White) {
                    *self.won.entry(state.moves).or_default() += 1;
                }
                return;
            }
            if state
                .moves
                .split_ascii_whitespace()
                .count()
                .is_multiple_of(2)
            {
                let uci = self.answer(&state.moves);
                let moved = self.client.make_move(&id, &uci, OfferDraw::No).await;
                moved.expect("a legal move in time");
            }
        }
    }
}

fn most_wins(won: &BTreeMap<String, usize>) -> usize {
    won.values().max().copied().unwrap_or_default()
}

/// Plays casual games against the regular until a line won more than twice; how often each line won.
/// The bot is started anew for each game: with an empty hash table it answers the same moves alike, and
/// what it learned comes from its data folder.
async fn wins(experience: bool, games: usize, data: &Path) -> BTreeMap<String, usize> {
    let server = Server::start(Options {
        timing: Timing::scaled(FACTOR),
        ..Options::default()
    });
    let server = server.await.expect("a port");
    let token = server.open_bot(BOT).expect("a good name");
    let options = EngineOptions {
        hash_mb: 1,
        ..EngineOptions::default()
    };
    let theirs = server.open_bot("Regular").expect("a good name");
    let mut regular = Regular {
        client: client(server.url(), &theirs),
        engine: SingleThread::new(&options),
        won: BTreeMap::new(),
    };
    for _ in 0..games {
        if most_wins(&regular.won) > 2 {
            break;
        }
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(WEAK),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        settings.experience.enabled = experience;
        // A weak bot, so that there are games to lose.
        settings.book.built_in = false;
        let (store, kept) = Store::open(data).expect("a data folder");
        let state = BotState::new(store, kept, StateRules::from(&settings));
        let options = BotOptions {
            exclusive: false,
            client: client(server.url(), &token),
            pool: Pool::new(&options),
            settings,
            timing: BotTiming::default().faster(FACTOR),
            event_bus: EventBus::default(),
            state: state.clone(),
            lists: ListSources::default(),
        };
        let shutdown = Shutdown::default();
        let running = tokio::spawn(bot::run(options, shutdown.clone()));
        until("the bot is online", async || server.is_online(BOT)).await;
        let played = tokio::time::timeout(GUARD, regular.play()).await;
        played.expect("a game comes to its end");
        shutdown.drain.cancel();
        running.await.expect("no panic").expect("it can play");
        state.settle().await;
    }
    server.shutdown().await;
    regular.won
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regular_that_repeats_its_wins_wins_no_line_more_than_twice() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let farmed = wins(false, GAMES, without.path()).await;
    assert!(
        most_wins(&farmed) > 2,
        "it can be farmed without experience: {farmed:#?}"
    );
    let learned = wins(true, GAMES, with.path()).await;
    assert!(most_wins(&learned) <= 2, "{learned:#?}");
}

/// A lost game against `nuke` whose last move was a mistake by the scores.
fn lost_game(id: &str) -> GameRecord {
    let mut lost = game(id, BEGAN);
    lost.moves.truncate(4);
    lost.moves[2].score = Some(Score::Cp(10));
    lost.ending = Some(EndingRecord {
        status: Status::VariantEnd,
        winner: Some(Side::Black),
        at: BEGAN + 6000,
    });
    lost
}

/// That game, and one that was won.
fn lost() -> Ground {
    let ground = Ground::new();
    let won = game("won00002", BEGAN + 9000);
    ground.keep(&[lost_game("lost0001"), won].map(|game| ArchiveEntry::Game(game.into())));
    ground
}

#[test]
fn the_command_shows_lines_and_what_is_avoided_and_why() {
    let ground = lost();
    let shown = ground.told(&["experience", "Nuke"]);
    assert!(
        shown.starts_with("nuke: 1 won, 0 drawn, 1 lost\n"),
        "{shown}"
    );
    assert!(
        shown.contains("avoids 2. Ng5 (-10.00): it cost game lost0001\n       after 1. Nf3 a6\n"),
        "{shown}"
    );
    assert!(shown.contains("2. Ng5 (-10.00)"), "{shown}");
    let json = ground.told(&["experience", "nuke", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["lines"][0]["game"], "won00002");
    assert_eq!(json["avoided"][0]["mv"], "2. Ng5");
    ground.keep(&[ArchiveEntry::Game(lost_game("lost0003").into())]);
    let again = ground.told(&["experience", "Nuke"]);
    assert!(
        again.contains("lost 2 times as white in 1. Nf3 a6 2. Ng5"),
        "{again}"
    );
    let nobody = ground.run(&["experience", "nobody"]);
    assert_eq!(nobody.status, Some(2));
    assert!(
        nobody.stderr.contains("no finished game against nobody"),
        "{}",
        nobody.stderr
    );
}

#[test]
fn the_command_says_when_it_counts_the_latest_games_alone() {
    let ground = Ground::new();
    let at = |number: usize| BEGAN + 10_000 * number as u64;
    let keep = |numbers: std::ops::Range<usize>| {
        let games = numbers.map(|number| game(&format!("won{number:05}"), at(number)));
        let entries: Vec<_> = games.map(|it| ArchiveEntry::Game(it.into())).collect();
        ground.keep(&entries);
    };
    keep(0..LESSONS_SHOWN - 1);
    let all = ground.told(&["experience", "nuke"]);
    assert!(all.starts_with("nuke: 199 won, 0 drawn, 0 lost\n"), "{all}");
    keep(LESSONS_SHOWN - 1..LESSONS_SHOWN + 5);
    let latest = ground.told(&["experience", "nuke"]);
    let expected = "nuke: 200 won, 0 drawn, 0 lost in the latest 200 games\n";
    assert!(latest.starts_with(expected), "{latest}");
}

#[test]
fn a_review_by_hand_is_stored_and_replaces_the_judgement_of_the_game() {
    let ground = lost();
    let shown = ground.told(&["review", "lost", "--time", "30"]);
    assert!(
        shown.contains("positions)") || shown.contains("was better"),
        "{shown}"
    );
    let reader = ArchiveReader::open(&ground.archive()).expect("the archive");
    let review = reader.review("lost0001").expect("it is readable");
    let review = review.expect("it was stored");
    assert!(review.positions > 0 && !review.given_up, "{review:?}");
    let mut drawn = lost_game("drew0004");
    drawn.ending = drawn.ending.map(|ending| EndingRecord {
        status: Status::Draw,
        winner: None,
        ..ending
    });
    ground.keep(&[ArchiveEntry::Game(drawn.into())]);
    for (id, why) in [
        ("drew", None),
        ("won", Some("game won00002: the bot won it")),
        ("none", Some("there is no game none")),
    ] {
        let ran = ground.run(&["review", id, "--time", "10"]);
        assert_eq!(ran.status == Some(0), why.is_none(), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(why.unwrap_or_default()),
            "{}",
            ran.stderr
        );
    }
}
