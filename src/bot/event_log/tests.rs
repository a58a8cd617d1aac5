//! The event log as game tasks and readers use it.

use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::archive::{Cause, ChallengeVerdict, GameRecord, Origin, Outcome, Source, time_loss};
use crate::bot::account_event::Decline;
use crate::bot::game::{Ending, MovePlayed};
use crate::bot::quota::OpponentKind;
use crate::engine::{Score, SearchResult, StopReason};
use crate::lichess::{
    BySide, DeclineReason, ExportedGame, GameEvent, GameFull, GameId, GameState, Player, Side,
    Speed, Status, UserId, Variant,
};
use crate::rules::Game;

const ID: &str = "abcdefgh";

fn full(moves: &str, tournament: &str) -> GameFull {
    let line = format!(
        r#"{{"type":"gameFull","id":"{ID}","variant":{{"key":"atomic"}},"speed":"blitz",
        "rated":true,"createdAt":1800000000000,"white":{{"id":"me","name":"Me","title":"BOT","rating":2000}},
        "black":{{"id":"foe","name":"Foe","rating":1900}},"clock":{{"initial":180000,"increment":2000}}{tournament},
        "initialFen":"startpos","state":{{"moves":"{moves}","wtime":180000,"btime":180000,"status":"started"}}}}"#
    );
    match GameEvent::from_line(&line).unwrap().value {
        GameEvent::Full(full) => *full,
        other => panic!("{other:?}"),
    }
}

fn state(moves: &str, white: u64, black: u64) -> GameState {
    GameState {
        time: BySide {
            white: Some(Duration::from_millis(white)),
            black: Some(Duration::from_millis(black)),
        },
        ..full(moves, "").state
    }
}

fn open(event_log: &EventLog, moves: &str) {
    let full = full(moves, "");
    let game = Game::from_uci_moves(moves).unwrap();
    let header = Header::of(&GameId::new(ID), &full).unwrap();
    event_log.opened(
        header,
        Side::White,
        &game,
        &full.state,
        &SearchInfoSlot::default(),
    );
}

/// The last of `moves` comes live, with a search result if it is White's.
fn play(event_log: &EventLog, moves: &str, clocks: (u64, u64)) {
    play_by(event_log, moves, clocks, |_| {});
}

/// The same with another search result.
fn play_by(
    event_log: &EventLog,
    moves: &str,
    clocks: (u64, u64),
    change: impl FnOnce(&mut SearchResult),
) {
    let game = Game::from_uci_moves(moves).unwrap();
    let ply = game.ply() - 1;
    let ours = ply.is_multiple_of(2);
    let played = game.moves()[ply];
    let state = state(moves, clocks.0, clocks.1);
    let mut result = ours.then(|| SearchResult {
        best: Some(played),
        ponder: None,
        score: Score::Cp(30),
        depth: 9,
        seldepth: 14,
        nodes: 4000,
        time: Duration::from_millis(700),
        line: vec![played],
        ranking: Vec::new(),
        by_tables: false,
        ended: StopReason::Time,
    });
    if let Some(result) = &mut result {
        change(result);
    }
    let made = MovePlayed {
        ply,
        before: game.positions()[ply],
        played,
        ours,
        result,
        clocks: state.time,
    };
    let note = MoveNote {
        ply: ply + 1,
        live: true,
        latency: ours.then(|| Duration::from_millis(80)),
        safe: false,
    };
    event_log.moved(&GameId::new(ID), &made, note);
    event_log.stated(&GameId::new(ID), &game, &state);
}

fn ending(status: Option<Status>) -> Ending {
    Ending {
        game: GameId::new(ID),
        status,
        winner: status.map(|_| Side::White),
        us: Some(Side::White),
        opponent: "Foe".to_owned(),
        plies: 0,
        fen: String::new(),
    }
}

#[test]
fn only_games_with_a_clock_are_aborted_at_the_end_of_a_drain() {
    for (days, begun) in [(None, vec![GameId::new(ID)]), (Some(3), Vec::new())] {
        let event_log = EventLog::default();
        let mut full = full("g1f3", "");
        if days.is_some() {
            (full.clock, full.days_per_turn, full.speed) = (None, days, Speed::Correspondence);
        }
        let header = Header::of(&GameId::new(ID), &full).unwrap();
        event_log.opened(
            header,
            Side::White,
            &Game::from_uci_moves("g1f3").unwrap(),
            &full.state,
            &SearchInfoSlot::default(),
        );
        assert_eq!(event_log.barely_begun(), begun);
        assert_eq!(event_log.running_count(), 1);
    }
}

#[test]
fn a_game_is_recorded_with_clocks_search_results_and_latency() {
    let event_log = EventLog::default();
    open(&event_log, "");
    play(&event_log, "g1f3", (180_000, 180_000));
    play(&event_log, "g1f3 f7f6", (180_000, 180_000));
    play(&event_log, "g1f3 f7f6 e2e3", (179_000, 180_000));
    let live = event_log.running();
    let game = &live[0].record;
    assert_eq!(
        (game.began(), game.black.rating),
        (1_800_000_000_000, Some(1900))
    );
    let last = &game.moves[2];
    assert_eq!(
        (last.uci.as_str(), last.san.as_deref()),
        ("e2e3", Some("e3"))
    );
    assert_eq!((last.clock, last.spent), (Some(179_000), Some(3000)));
    assert_eq!((last.score, last.depth), (Some(Score::Cp(30)), Some(9)));
    assert_eq!((last.source, last.lag), (Source::Engine, Some(80)));
    assert_eq!(game.moves[1].source, Source::Unknown);
    assert_eq!(live[0].clocks.white, Some(179_000));
    event_log.over(&ending(Some(Status::VariantEnd)));
    assert!(event_log.running().is_empty());
    let ended = event_log.game(ID).unwrap();
    assert_eq!(ended.our_outcome(), Some(Outcome::Win));
    event_log.rated(&GameId::new(ID), 6, Some(-5));
    // Later reports may know only the bot's own change.
    event_log.rated(&GameId::new(ID), 6, None);
    let rated = &event_log.recent()[0];
    assert_eq!(rated.white.rating_diff, Some(6));
    assert_eq!(rated.black.rating_diff, Some(-5));
}

#[test]
fn a_tablebase_move_is_distinguished_from_a_searched_one() {
    let event_log = EventLog::default();
    open(&event_log, "");
    // Only one of several moves is left, and nothing is searched.
    play_by(&event_log, "g1f3", (180_000, 180_000), |result| {
        result.by_tables = true;
        result.ended = StopReason::OnlyMove;
        result.score = Score::Cp(0);
        result.depth = 0;
    });
    play(&event_log, "g1f3 f7f6", (180_000, 180_000));
    // A win known to the tablebases, some moves on.
    play_by(&event_log, "g1f3 f7f6 e2e3", (179_000, 180_000), |result| {
        result.score = Score::Cp(29_980);
    });
    let game = event_log.game(ID).unwrap();
    let [first, .., last] = &game.moves[..] else {
        panic!("{game:?}");
    };
    assert_eq!((first.source, first.depth), (Source::Table, None));
    assert_eq!(first.score, Some(Score::Cp(0)), "it is known");
    assert_eq!(last.source, Source::Engine);
    assert_eq!(last.score, Some(Score::Cp(29_980)));
}

#[test]
fn moves_taken_back_are_removed_and_missed_moves_added() {
    let event_log = EventLog::default();
    open(&event_log, "");
    play(&event_log, "g1f3", (180_000, 180_000));
    play(&event_log, "g1f3 f7f6", (180_000, 180_000));
    let shorter = Game::from_uci_moves("g1f3").unwrap();
    let id = GameId::new(ID);
    event_log.stated(&id, &shorter, &state("g1f3", 180_000, 180_000));
    assert_eq!(event_log.running()[0].record.moves.len(), 1);
    // The stream was down meanwhile.
    open(&event_log, "g1f3 e7e6 e2e3");
    let game = event_log.game(ID).unwrap();
    assert_eq!(game.opening(9), "g1f3 e7e6 e2e3");
    assert_eq!(game.moves[0].score, Some(Score::Cp(30)), "still known");
    assert_eq!(game.moves[2].clock, Some(180_000));
    assert_eq!(game.moves[1].clock, None, "it was not seen live");
}

#[test]
fn a_reader_gets_each_changed_game_whole() {
    let event_log = EventLog::default();
    let mut told = event_log.changes();
    open(&event_log, "");
    play(&event_log, "g1f3", (180_000, 180_000));
    assert!(told.has_changed().unwrap());
    let first = event_log.since(0);
    assert_eq!(
        (first.games.len(), first.version),
        (1, *told.borrow_and_update())
    );
    assert!(event_log.since(first.version).is_empty());
    play(&event_log, "g1f3 f7f6", (180_000, 180_000));
    event_log.note("limited", "429", Some(&GameId::new(ID)));
    let second = event_log.since(first.version);
    assert_eq!((second.games[0].moves.len(), second.events.len()), (2, 1));
}

/// A log that the archive has told of a game with one move, and that game.
fn after_a_restart() -> (EventLog, GameRecord) {
    let before = EventLog::default();
    open(&before, "");
    play(&before, "g1f3", (180_000, 180_000));
    let kept = GameRecord::clone(&before.game(ID).unwrap());
    let event_log = EventLog::default();
    event_log.archive(vec![kept.clone()]);
    (event_log, kept)
}

#[test]
fn records_of_an_earlier_run_stay_in_the_game() {
    let (event_log, kept) = after_a_restart();
    open(&event_log, "g1f3 f7f6");
    let game = event_log.game(ID).unwrap();
    assert_eq!(game.moves[0].score, Some(Score::Cp(30)));
    assert_eq!((game.moves.len(), game.joined), (2, kept.joined));
}

#[test]
fn a_rating_change_may_come_before_the_stream_of_a_resumed_game() {
    let before = EventLog::default();
    open(&before, "g1f3");
    let kept = GameRecord::clone(&before.game(ID).unwrap());
    let event_log = EventLog::default();
    event_log.archive(vec![kept]);
    event_log.rated(&GameId::new(ID), 5, Some(-5));
    open(&event_log, "g1f3");
    event_log.over(&ending(Some(Status::Resign)));
    let game = event_log.game(ID).unwrap();
    let diffs = [&game.white, &game.black].map(|player| player.rating_diff);
    assert_eq!(diffs, [Some(5), Some(-5)]);
}

#[test]
fn ended_games_wait_for_the_archive_and_are_dropped_once_safe() {
    let run = |archived: bool, games: usize| {
        let event_log = EventLog::default();
        if archived {
            event_log.archive(Vec::new());
        }
        for number in 0..games {
            let id = GameId::new(format!("game{number}"));
            let header = Header::of(&id, &full("", "")).unwrap();
            let state = state("", 1, 1);
            event_log.opened(
                header,
                Side::White,
                &Game::new(),
                &state,
                &SearchInfoSlot::default(),
            );
            event_log.over(&Ending {
                game: id,
                ..ending(Some(Status::Resign))
            });
        }
        event_log
    };
    assert_eq!(run(false, 100).recent().len(), state::RECENT);
    let event_log = run(true, 100);
    assert_eq!(event_log.recent().len(), 100);
    let all = event_log.since(0);
    event_log.settle(all.version);
    assert_eq!(event_log.recent().len(), state::RECENT);
    assert_eq!(event_log.since(0).lost, 0);
    let too_many = run(true, state::MAX_WAITING + 7);
    assert_eq!(
        too_many.since(0).lost,
        7,
        "and it is known that they are lost"
    );
}

/// A game that we lost on time as White, as the server exports it.
fn export() -> ExportedGame {
    let player = |name: &str, diff| Player {
        id: Some(UserId::new(name)),
        rating_diff: Some(diff),
        ..Player::default()
    };
    ExportedGame {
        id: GameId::new(ID),
        variant: Variant::Atomic,
        speed: Speed::Blitz,
        rated: true,
        clock: None,
        days_per_turn: None,
        status: Some(Status::OutOfTime),
        winner: Some(Side::Black),
        players: BySide {
            white: player("me", -9),
            black: player("foe", 9),
        },
        moves: "Nf3 f6".to_owned(),
        initial_fen: None,
        created_at: None,
        last_move_at: None,
        arena: false,
    }
}

#[test]
fn a_game_that_ended_unseen_keeps_its_recorded_moves() {
    let event_log = EventLog::default();
    open(&event_log, "");
    play(&event_log, "g1f3", (180_000, 180_000));
    event_log.over(&ending(None));
    assert!(
        event_log.game(ID).unwrap().ending.is_none(),
        "it was not seen live"
    );
    let export = export();
    let game = Game::from_uci_moves("g1f3 f7f6").unwrap();
    event_log.missed(&export, Side::White, &game);
    let ended = event_log.game(ID).unwrap();
    assert_eq!((ended.result(), ended.white.rating_diff), ("0-1", Some(-9)));
    assert_eq!(ended.moves.len(), 2);
    assert_eq!(ended.moves[0].score, Some(Score::Cp(30)));
    assert_eq!(ended.control.to_string(), "3+2");
}

#[test]
fn a_game_that_the_server_no_longer_knows_ends_without_a_result() {
    let (event_log, kept) = after_a_restart();
    event_log.end_unknown(&GameId::new("other"));
    event_log.end_unknown(&GameId::new(ID));
    let ended = event_log.game(ID).unwrap();
    assert_eq!((ended.result(), &ended.moves), ("*", &kept.moves));
    let ending = ended.ending.as_ref().unwrap();
    assert_eq!(ending.status, Status::UnknownFinish);
    assert_eq!(Some(ending.at), kept.moves[0].at, "the last that was seen");
    assert!(event_log.game("other").is_none());
}

#[test]
fn an_export_of_an_earlier_game_gives_way_to_the_archive_once_that_has_it() {
    let settled = |export: &ExportedGame| {
        let event_log = EventLog::default();
        event_log.archive(Vec::new());
        let game = Game::from_uci_moves("g1f3 f7f6").unwrap();
        event_log.missed(export, Side::White, &game);
        event_log.settle(event_log.since(0).version - 1);
        assert!(event_log.game(ID).is_some(), "the archive lacks it");
        event_log.settle(event_log.since(0).version);
        event_log.game(ID)
    };
    assert_eq!(settled(&export()), None);
    let mut unrated = export();
    unrated.players = BySide {
        white: Player::default(),
        black: Player::default(),
    };
    assert!(settled(&unrated).is_some(), "its rating change may come");
}

#[test]
fn a_game_lost_on_time_while_the_bot_was_away_is_told_from_one_whose_move_came_late() {
    let before = EventLog::default();
    open(&before, "");
    play(&before, "g1f3", (90_000, 180_000));
    play(&before, "g1f3 f7f6", (90_000, 178_000));
    let kept = GameRecord::clone(&before.game(ID).unwrap());
    let seen = kept.moves[1].at.unwrap();
    for moved in [seen, seen + 300, seen - 300] {
        let event_log = EventLog::default();
        event_log.archive(vec![kept.clone()]);
        // The server knows when the last move was made, by its own clock, and not when time ran out.
        let export = ExportedGame {
            last_move_at: Some(UNIX_EPOCH + Duration::from_millis(moved)),
            ..export()
        };
        let game = Game::from_uci_moves("g1f3 f7f6").unwrap();
        event_log.missed(&export, Side::White, &game);
        let ended = event_log.game(ID).unwrap();
        let loss = time_loss(&ended, &[]).unwrap();
        assert_eq!(loss.cause, Cause::Away, "{}", loss.evidence);
    }
}

#[test]
fn a_challenge_keeps_its_decision_and_names_its_game() {
    use crate::bot::account_event::AcceptOutcome;
    use crate::lichess::Challenge;

    let event_log = EventLog::default();
    let me = UserId::new("me");
    let challenge = |id: &str, from: &str| {
        let json = format!(
            r#"{{"id":"{id}","status":"created","challenger":{{"id":"{from}","name":"{from}"}},
            "destUser":{{"id":"other","name":"Other"}},"variant":{{"key":"atomic"}},"rated":true,
            "speed":"blitz","timeControl":{{"type":"clock","limit":180,"increment":2}},"color":"white"}}"#
        );
        Challenge::from_json(&json).unwrap().value
    };
    let mut theirs = challenge(ID, "foe");
    theirs.line = Some("the line of the stream".into());
    event_log.challenged(&theirs, &me);
    event_log.challenged(&theirs, &me);
    event_log.accepted(&theirs.id, &AcceptOutcome::Done);
    event_log.withdrawn(&theirs);
    let ours = challenge("ours", "me");
    event_log.challenged(&ours, &me);
    let known = event_log.challenges(9);
    assert_eq!(known[1].json, theirs.line, "to judge it again");
    assert_eq!(known.len(), 2, "each once");
    assert_eq!(
        known[1].verdict,
        ChallengeVerdict::Accepted,
        "and it stays so"
    );
    assert_eq!(
        (known[1].color, known[0].color),
        (Some(Side::Black), Some(Side::White))
    );
    assert_eq!(known[0].user.name, "Other");
    let refusal = Decline {
        id: ours.id.clone(),
        reason: DeclineReason::Later,
        from: OpponentKind::Human,
        challenger: "Other".to_owned(),
        has_clock: true,
        rule: None,
        why: "no free slot".to_owned(),
    };
    let gone = EventLog::default();
    gone.challenged(&ours, &me);
    gone.gone(&refusal);
    let settled = gone.challenges(1).remove(0);
    assert_eq!(settled.verdict, ChallengeVerdict::Canceled);
    gone.unsent(&refusal, "too late");
    assert_eq!(gone.challenges(1).remove(0), settled, "not even its time");
    event_log.unsent(&refusal, "too many waited");
    let told = |event_log: &EventLog| {
        let latest = event_log.challenges(1).remove(0);
        (latest.verdict, latest.why.clone())
    };
    let why = |text: &str| Some(text.to_owned());
    assert_eq!(
        told(&event_log),
        (
            ChallengeVerdict::Failed,
            why("no free slot; too many waited")
        ),
        "a challenger that got no decline is not recorded as declined"
    );
    event_log.declined(&refusal);
    assert_eq!(
        told(&event_log),
        (ChallengeVerdict::Declined, why("no free slot"))
    );
    event_log.unsent(&refusal, "again");
    assert_eq!(
        told(&event_log).0,
        ChallengeVerdict::Declined,
        "it was reported once"
    );
    open(&event_log, "");
    assert_eq!(event_log.game(ID).unwrap().origin, Origin::Incoming);
    let third = challenge("third003", "foe");
    event_log.challenged(&third, &me);
    event_log.accepted(&third.id, &AcceptOutcome::Refused);
    assert_eq!(told(&event_log).0, ChallengeVerdict::Failed);
    event_log.began(&GameId::new("third003"));
    let accepted = (ChallengeVerdict::Accepted, None);
    assert_eq!(told(&event_log), accepted, "the answer had been lost");
}

#[test]
fn a_search_reports_only_while_there_is_a_reader() {
    use crate::engine::{EngineOptions, Evaluator, Limits, Pool};

    let event_log = EventLog::default();
    assert!(event_log.audience().is_none());
    let mut news = event_log.search_progress();
    let pool = Pool::new(&EngineOptions {
        hash_mb: 1,
        evaluator: Evaluator::classical(),
        ..EngineOptions::default()
    });
    let slot = SearchInfoSlot::default();
    let full = full("", "");
    let header = Header::of(&GameId::new(ID), &full).unwrap();
    event_log.opened(header, Side::White, &Game::new(), &full.state, &slot);
    let reporter = slot.reporter(&Game::new(), false, event_log.audience().unwrap());
    let engine = pool.lease();
    engine
        .think_with(&Game::new(), Limits::depth(4), reporter)
        .wait();
    assert!(news.has_changed().unwrap());
    news.mark_unchanged();
    let search = event_log.running()[0].search.clone().unwrap();
    assert_eq!((search.depth, search.ply), (4, 0));
    assert_eq!(search.line.len(), search.san.len());
    play(&event_log, "g1f3", (180_000, 180_000));
    assert!(event_log.running()[0].search.is_none(), "the move is made");
}
