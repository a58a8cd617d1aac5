//! The tables of Lichess beside the search: what a reply means, and that no fault of their server costs a
//! move or time.

use std::time::Duration;

use megaton::archive::Source;
use megaton::bot::Settings;
use megaton::engine::{Score, TablebaseProbe, Wdl};
use megaton::lichess::{TableCategory, TableReply};
use megaton::lookup::{BreakerSettings, OnlineTables, WrongReply, table_verdict};
use megaton::practice::{
    BodyShape, Endpoint, Fault, FaultReply, Options, Server as Practice, ServerHandle,
};
use megaton::rules::{Game, Outcome, Position, RepetitionRule};
use megaton::tablebase::OutcomeTables;

use crate::harness::{Harness, result};
use crate::running_bot::{Bot, GUARD};
use crate::test_server::Server;

fn known(position: &Position) -> Option<Wdl> {
    OutcomeTables::built_in().wdl(position)
}

async fn practice() -> ServerHandle {
    Practice::start(Options::default())
        .await
        .expect("a free port")
}

/// A game in which White, to move, has a pawn ending of at most four pieces with this result, several
/// moves, some of which do not keep it, and no win at once.
fn ending(result: Wdl) -> Game {
    let wins_at_once = |position: &Position| {
        let wins = |mv: &megaton::rules::Move| {
            matches!(position.play(*mv).outcome(), Some(Outcome::Win { .. }))
        };
        position.legal_moves().iter().any(wins)
    };
    let all_keep = |position: &Position| {
        let moves = position.legal_moves();
        let keeps =
            |mv: &megaton::rules::Move| known(&position.play(*mv)) == Some(result.reversed());
        moves.iter().all(keeps)
    };
    (0..20_000)
        .find_map(|seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut game = Game::new();
            while game.outcome(RepetitionRule::Threefold).is_none() && game.ply() < 300 {
                let position = game.position();
                let fen = position.fen();
                if position.occupied().count() <= 4
                    && fen.contains(" w - ")
                    && fen.split(' ').next()?.to_lowercase().contains('p')
                    && known(position) == Some(result)
                    && position.legal_moves().len() > 3
                    && !wins_at_once(position)
                    && !all_keep(position)
                {
                    return Some(game);
                }
                let moves = position.legal_moves();
                let captures: Vec<_> = moves
                    .iter()
                    .filter(|&&mv| position.is_capture(mv))
                    .collect();
                let mv = match rng.choice(captures) {
                    Some(&capture) if rng.bool() => capture,
                    _ => rng.choice(moves.iter().copied())?,
                };
                game.push(mv);
            }
            None
        })
        .expect("one of these games reaches such an ending")
}

/// The practice server's reply, with the distances computed before.
async fn reply(practice: &ServerHandle, server: &Server, position: &Position) -> TableReply {
    let tables = server.client().table_server(practice.url(), GUARD);
    let tables = tables.expect("an address on this machine");
    let reply = tables.table(&position.fen()).await;
    reply.expect("a whole reply")
}

#[tokio::test]
async fn a_reply_keeps_the_best_moves_and_a_wrong_one_none() {
    let (practice, server) = (practice().await, Server::start().await);
    let game = ending(Wdl::Win);
    let position = game.position();
    let reply = reply(&practice, &server, position).await;
    let verdict = |reply: &TableReply| table_verdict(position, reply, known);
    let right = verdict(&reply).unwrap().expect("known");
    assert_eq!(right.wdl, Wdl::Win);
    assert!(right.plies > 0, "{right:?}");
    for mv in &right.kept {
        let child = position.play(*mv);
        let after = child.outcome().is_none().then(|| known(&child)).flatten();
        assert_eq!(after, Some(Wdl::Loss), "{mv} keeps the win");
    }
    assert!(right.kept.len() < position.legal_moves().len());

    let wrong = |change: &dyn Fn(&mut TableReply)| {
        let mut reply = reply.clone();
        change(&mut reply);
        verdict(&reply).unwrap_err()
    };
    let cut = wrong(&|reply| drop(reply.moves.pop()));
    assert!(matches!(cut, WrongReply::OtherMoves { .. }), "{cut}");
    let foreign = wrong(&|reply| reply.moves[0].uci = "a9a1".repeat(99));
    assert!(
        matches!(&foreign, WrongReply::IllegalMove(uci) if uci.len() == 10),
        "{foreign}"
    );
    let twice = wrong(&|reply| reply.moves[1] = reply.moves[0].clone());
    assert!(matches!(twice, WrongReply::RepeatedMove(_)), "{twice}");
    let other_root = wrong(&|reply| reply.category = TableCategory::Draw);
    assert!(
        matches!(other_root, WrongReply::NotTheBest { .. }),
        "{other_root}"
    );
    let last_first = wrong(&|reply| reply.moves.reverse());
    assert!(
        matches!(last_first, WrongReply::NotTheBest { .. }),
        "{last_first}"
    );
    // Results of the side that moved, not of the opponent.
    let sides = wrong(&|reply| {
        for entry in &mut reply.moves {
            entry.category = match entry.category {
                TableCategory::Win => TableCategory::Loss,
                TableCategory::Loss => TableCategory::Win,
                other => other,
            };
        }
    });
    assert!(matches!(sides, WrongReply::Untrue { .. }), "{sides}");

    let mut unknown = reply.clone();
    unknown.category = TableCategory::Unknown;
    assert_eq!(verdict(&unknown), Ok(None));
    practice.shutdown().await;
}

#[test]
fn the_search_chooses_among_the_moves_that_keep_the_result() {
    let harness = Harness::at(megaton::lichess::Side::White, "").0;
    let position = harness.machine.game().position();
    let mv = |uci: &str| position.parse_uci(uci).unwrap();
    let found = |score| result("e2e4", score, &harness.machine);
    let kept = [mv("g1f3"), mv("b1c3")];
    let other = found(Score::Cp(50)).by_other_tables(Wdl::Win, 12, &kept);
    assert_eq!((other.best, other.by_tables), (Some(kept[0]), true));
    assert_eq!(other.score, Score::Cp(30_000 - 12));
    assert_eq!(other.line, [kept[0]]);
    let same = found(Score::Cp(50)).by_other_tables(Wdl::Draw, 0, &[mv("d2d4"), mv("e2e4")]);
    assert_eq!((same.best, same.score), (Some(mv("e2e4")), Score::Cp(0)));
    assert_eq!(same.proved(30), Some(Wdl::Draw));
    let mate = found(Score::Mate(3)).by_other_tables(Wdl::Win, 12, &[mv("e2e4")]);
    assert_eq!((mate.score, mate.by_tables), (Score::Mate(3), false));
    let none = found(Score::Cp(50)).by_other_tables(Wdl::Win, 0, &[]);
    assert_eq!((none.best, none.by_tables), (Some(mv("e2e4")), false));
}

#[tokio::test]
async fn only_positions_that_the_tables_may_know_are_asked_and_never_on_a_short_clock() {
    let (practice, server) = (practice().await, Server::start().await);
    let tables = || {
        let lookups = server.client().table_server(practice.url(), GUARD).unwrap();
        OnlineTables::new(
            lookups,
            Duration::from_secs(600),
            BreakerSettings::default(),
            known,
        )
    };
    let asks = |fen: &str, local, left| {
        let position = Position::from_fen(fen).unwrap();
        tables().look_up(&position, local, left).is_some()
    };
    let (six, seven) = (
        "4k3/ppp5/8/8/8/8/8/3QK3 w - - 0 1",
        "4k3/pppp4/8/8/8/8/8/3QK3 w - - 0 1",
    );
    let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
    assert!(asks(six, 4, None));
    assert!(asks(six, 4, minutes(10)));
    assert!(!asks(six, 4, minutes(9)), "a short clock");
    assert!(!asks(six, 6, None), "local tables know it");
    assert!(!asks(seven, 4, None));
    assert!(
        !asks("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", 2, None),
        "castling rights"
    );
    practice.shutdown().await;
}

/// A bot in a correspondence game from a drawn ending, until it has made some moves; the sources of those.
async fn sources(practice: &ServerHandle, change: impl FnOnce(&mut Settings)) -> Vec<Source> {
    let server = Server::start().await;
    let game = ending(Wdl::Draw);
    let begun = game.ply();
    server.world().begin("slow", true, begun + 6);
    if let Some(round) = server.world().rounds.get_mut("slow") {
        (round.game, round.slow) = (game, true);
    }
    let url = practice.url().to_owned();
    let bot = Bot::with(&server, |settings| {
        settings.engine.nodes = None;
        settings.correspondence.think = Duration::from_millis(300);
        settings.correspondence.poll = Duration::from_millis(40);
        settings.online_tables.enabled = true;
        settings.online_tables.url = url;
        settings.online_tables.timeout = GUARD;
        change(settings);
    });
    server
        .until("some moves were made", |world| {
            world.rounds["slow"].game.ply() >= begun + 4 || world.all_over()
        })
        .await;
    assert_eq!(server.world().violations, Vec::<String>::new());
    let record = bot.event_bus.event_log().game("slow").expect("a record");
    let ours = record.moves.iter().skip(begun).step_by(2);
    let sources = ours.map(|made| made.source).collect();
    bot.kill().await;
    sources
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drawn_ending_is_played_by_the_online_tables() {
    let (practice, server) = (practice().await, Server::start().await);
    // The first reply computes distances, which takes longer than a move.
    reply(&practice, &server, ending(Wdl::Draw).position()).await;
    let sources = sources(&practice, |_| {}).await;
    assert_eq!(sources[0], Source::Table, "{sources:?}");
    assert!(practice.traffic().calls["tables"] >= 2);
    practice.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_the_tables_costs_a_move_or_chooses_one() {
    let html = FaultReply::new(200, BodyShape::Html);
    let nonsense = FaultReply::new(200, BodyShape::Ok);
    let half = FaultReply::new(200, BodyShape::HalfJson);
    let limit = FaultReply::new(429, BodyShape::Limit { seconds: 60 });
    for fault in [
        Fault::Answer(html),
        Fault::Answer(nonsense),
        Fault::Answer(half),
        Fault::Answer(limit.clone()),
        Fault::Refuse { status: 502 },
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Swallow,
        Fault::SlowReply(GUARD * 2),
        Fault::Lie,
    ] {
        let practice = practice().await;
        for _ in 0..9 {
            practice.faults().add(Endpoint::Tables, fault.clone());
        }
        let sources = sources(&practice, |_| {}).await;
        assert!(
            !sources.is_empty() && !sources.contains(&Source::Table),
            "{fault:?}: {sources:?}"
        );
        let asked = practice.traffic().calls["tables"];
        assert!(asked >= 1, "{fault:?}");
        if fault == Fault::Answer(limit.clone()) {
            assert_eq!(asked, 1, "a rate limit closes the tables for a minute");
        }
        practice.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_unless_the_operator_wants_it() {
    let practice = practice().await;
    let sources = sources(&practice, |settings| settings.online_tables.enabled = false).await;
    assert!(!sources.contains(&Source::Table));
    assert_eq!(practice.traffic().calls.get("tables"), None);
    practice.shutdown().await;
}
