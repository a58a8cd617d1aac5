//! The referee in virtual time.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::practice::game_settings::{GameSettings, Status, TimeControl};
use crate::practice::rating::Rating;
use crate::practice::time::{Millis, Timing};
use crate::practice::wire::GameState;
use crate::rules::Color::{self, Black, White};

const START: u64 = 1_000_000;

fn player_side(name: &str, title: Option<&'static str>) -> PlayerSide {
    PlayerSide {
        user: name.to_owned(),
        name: name.to_owned(),
        title,
        rating: Rating::default(),
        takebacks: true,
        secret: "abcd".to_owned(),
        task: false,
    }
}

fn round_of(titles: [Option<&'static str>; 2], limit: u32, increment: u32) -> ServerGame {
    let setup = GameSpec {
        id: "abcdefgh".to_owned(),
        settings: GameSettings {
            time: TimeControl::Clock { limit, increment },
            rated: false,
        },
        players: [player_side("one", titles[0]), player_side("two", titles[1])],
        timing: Timing::default(),
        arena: None,
    };
    ServerGame::new(setup, Millis(START))
}

fn bots() -> ServerGame {
    round_of([Some("BOT"); 2], 180, 2)
}

fn humans() -> ServerGame {
    round_of([None; 2], 180, 2)
}

fn at(ms: u64) -> Millis {
    Millis(START + ms)
}

/// Plays moves a second apart, from one second on; returns the last time.
fn play(game: &mut ServerGame, moves: &str) -> Millis {
    let mut now = at(0);
    for uci in moves.split_whitespace() {
        now = now + Duration::from_secs(1);
        let side = game.turn();
        assert_eq!(game.play(side, uci, false, now), Ok(()), "{uci}");
    }
    now
}

fn states(game: &mut ServerGame) -> Vec<GameState> {
    game.take_changes()
        .into_iter()
        .filter_map(|change| match change {
            GameChange::State(state) => Some(state),
            _ => None,
        })
        .collect()
}

/// White has a bare king, Black more: reached by captures from the start.
fn with_white_stripped() -> ServerGame {
    let mut game = bots();
    game.game = crate::rules::Game::from_position(
        crate::rules::Position::from_fen("4k3/pppppppp/8/8/8/8/8/4K3 w - - 0 1").unwrap(),
    );
    play(&mut game, "e1d1 a7a6 d1c1");
    game
}

#[test]
fn an_explosion_is_the_last_line_with_its_status() {
    let mut game = bots();
    play(
        &mut game,
        "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6 f3d4 d6h2",
    );
    let last = states(&mut game).pop().unwrap();
    assert_eq!(last.status, Status::VariantEnd);
    assert_eq!(last.winner, Some("black"));
    assert_eq!(
        last.moves,
        "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1h1 f8d6 f3d4 d6h2"
    );
    assert_eq!(
        game.play(White, "a2a3", false, at(99_000)),
        Err(Refusal::NotYourTurn)
    );
}

#[test]
fn castling_is_accepted_in_both_spellings_and_written_king_to_rook() {
    for spelling in ["e1g1", "e1h1"] {
        let mut game = bots();
        play(&mut game, "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5");
        play(&mut game, spelling);
        assert!(states(&mut game).pop().unwrap().moves.ends_with(" e1h1"));
    }
}

#[test]
fn a_missing_promotion_letter_means_a_queen() {
    let mut game = bots();
    game.game = crate::rules::Game::from_position(
        crate::rules::Position::from_fen("8/4P3/k7/8/8/8/8/4K3 w - - 0 1").unwrap(),
    );
    play(&mut game, "e7e8");
    assert!(states(&mut game)[0].moves.ends_with("e7e8q"));
}

#[test]
fn refusals_are_worded_as_on_lichess() {
    let mut game = bots();
    let mut refused = |side, uci| game.play(side, uci, false, at(0)).unwrap_err().to_string();
    assert_eq!(refused(White, "0000"), "Invalid UCI: 0000");
    assert_eq!(refused(White, "é2e4"), "Invalid UCI: é2e4");
    assert_eq!(
        refused(Black, "e7e5"),
        "Not your turn, or game already over"
    );
    assert_eq!(refused(White, "e2e5"), "Piece on e2 cannot move to e5");
    assert_eq!(refused(White, "e2e4q"), "Piece on e2 cannot move to e4");
    assert_eq!(
        game.faulty(White),
        super::referee::RefusedMoves {
            illegal: 2,
            out_of_turn: 0
        }
    );
    assert_eq!(
        game.faulty(Black),
        super::referee::RefusedMoves {
            illegal: 0,
            out_of_turn: 1
        }
    );
}

const SHUFFLE: &str = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";

#[test]
fn the_third_occurrence_is_shown_as_started_and_then_drawn_for_a_bot() {
    let mut game = round_of([None, Some("BOT")], 180, 2);
    play(&mut game, SHUFFLE);
    let states = states(&mut game);
    let [.., before, last] = states.as_slice() else {
        panic!("too few lines")
    };
    assert_eq!(
        (before.status, last.status),
        (Status::Started, Status::Draw)
    );
    assert_eq!(before.moves, last.moves);
    assert_eq!(last.winner, None);
}

#[test]
fn a_claim_that_takes_its_time_is_still_made() {
    let mut game = bots();
    game.setup.timing.threefold_claim = Duration::from_millis(300);
    game.arrive(White);
    game.arrive(Black);
    let now = play(&mut game, SHUFFLE);
    assert_eq!(game.status(), Status::Started);
    assert_eq!(game.next_due(), Some(now + Duration::from_millis(300)));
    let late = now + Duration::from_millis(400);
    assert_eq!(
        game.play(White, "g1f3", false, late),
        Err(Refusal::NotYourTurn)
    );
    assert_eq!(game.status(), Status::Draw);
}

#[test]
fn between_humans_a_third_repetition_plays_on_and_a_fifth_ends() {
    let mut game = humans();
    play(
        &mut game,
        &format!("{SHUFFLE} g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1"),
    );
    assert!(game.is_playing());
    play(&mut game, "f6g8");
    assert_eq!((game.status(), game.winner()), (Status::Draw, None));
}

#[test]
fn a_repetition_on_the_board_can_be_claimed() {
    let mut game = humans();
    let now = play(&mut game, SHUFFLE);
    game.draw_yes(White, now);
    assert_eq!(game.status(), Status::Draw);
}

#[test]
fn a_flag_costs_the_game_when_the_server_looks() {
    let mut game = bots();
    let now = play(&mut game, "e2e4 e7e5");
    let due = now + Duration::from_millis(180_000 + 100);
    assert_eq!(
        game.presence
            .iter()
            .filter_map(|it| it.notice_due(&Timing::default()))
            .count(),
        2
    );
    game.arrive(White);
    game.arrive(Black);
    assert_eq!(game.next_due(), Some(due));
    game.tick(Millis(due.0 - 1));
    assert!(game.is_playing());
    game.tick(due);
    assert_eq!(
        (game.status(), game.winner()),
        (Status::Outoftime, Some(Black))
    );
    assert_eq!(states(&mut game).pop().unwrap().wtime, 0);
}

#[test]
fn a_move_after_the_flag_ends_the_game_and_gets_an_ok() {
    let mut game = bots();
    let now = play(&mut game, "e2e4 e7e5");
    let late = now + Duration::from_millis(180_001);
    assert_eq!(game.play(White, "d2d4", false, late), Ok(()));
    assert_eq!(
        (game.status(), game.winner()),
        (Status::Outoftime, Some(Black))
    );
    assert_eq!(game.plies(), 2);
}

#[test]
fn a_bare_king_cannot_win_on_time() {
    let mut game = with_white_stripped();
    let now = at(3_000) + Duration::from_secs(200);
    game.tick(now);
    assert_eq!((game.status(), game.winner()), (Status::Outoftime, None));
}

#[test]
fn a_pending_offer_turns_the_flag_into_a_draw() {
    let mut game = bots();
    let now = play(&mut game, "e2e4 e7e5");
    game.draw_yes(Black, now);
    game.tick(now + Duration::from_secs(181));
    assert_eq!((game.status(), game.winner()), (Status::Draw, None));
}

#[test]
fn an_offer_to_a_bare_king_ends_the_game_at_once() {
    let mut game = with_white_stripped();
    game.draw_yes(Black, at(4_000));
    assert_eq!(game.status(), Status::InsufficientMaterialClaim);
}

#[test]
fn a_draw_is_offered_accepted_declined_and_not_offered_again_too_soon() {
    let mut game = bots();
    game.draw_yes(White, at(0));
    assert!(
        states(&mut game).is_empty(),
        "no offers before both have moved"
    );
    let now = play(&mut game, "g1f3 g8f6");
    states(&mut game);
    game.draw_yes(White, now);
    assert!(states(&mut game)[0].wdraw);
    game.draw_yes(White, now);
    assert!(states(&mut game).is_empty());
    game.draw_no(Black);
    assert_eq!(
        game.take_changes(),
        [GameChange::Remark("Black declines draw")]
    );
    game.draw_yes(White, now);
    assert!(
        game.take_changes().is_empty(),
        "twenty half-moves must pass"
    );
    game.draw_yes(Black, now);
    game.draw_yes(White, now);
    assert_eq!(game.status(), Status::Draw);
}

#[test]
fn a_move_declines_the_offer_of_the_opponent_and_keeps_the_own() {
    let mut game = bots();
    let now = play(&mut game, "g1f3 g8f6");
    game.draw_yes(White, now);
    states(&mut game);
    assert_eq!(game.play(White, "e2e3", false, now), Ok(()));
    assert!(states(&mut game)[0].wdraw);
    assert_eq!(game.play(Black, "e7e6", false, now), Ok(()));
    let [GameChange::State(own), remark] = &game.take_changes()[..] else {
        panic!("a state and a remark");
    };
    assert!(own.wdraw, "the state of the move still has the offer");
    assert_eq!(*remark, GameChange::Remark("Black declines draw"));
    assert_eq!(game.play(White, "f1e2", false, now), Ok(()));
    assert!(!states(&mut game)[0].wdraw);
}

#[test]
fn agreeing_with_a_move_draws_without_the_move() {
    let mut game = bots();
    let now = play(&mut game, "g1f3 g8f6");
    game.draw_yes(Black, now);
    assert_eq!(game.play(White, "e2e3", true, now), Ok(()));
    assert_eq!((game.status(), game.plies()), (Status::Draw, 2));
}

#[test]
fn a_game_can_be_aborted_before_both_have_moved_and_resigning_aborts_it() {
    let mut game = bots();
    play(&mut game, "e2e4");
    assert_eq!(game.resign(White, at(2_000)), Ok(()));
    assert_eq!((game.status(), game.winner()), (Status::Aborted, None));
    let mut game = bots();
    let now = play(&mut game, "e2e4 e7e5");
    assert_eq!(game.abort(Color::White, now), Err(Refusal::CannotAbort));
    assert_eq!(game.resign(White, now), Ok(()));
    assert_eq!(
        (game.status(), game.winner()),
        (Status::Resign, Some(Black))
    );
    assert_eq!(game.resign(White, now), Err(Refusal::CannotResign));
}

#[test]
fn a_takeback_shortens_the_record_to_the_turn_of_who_asked() {
    let mut game = humans();
    let now = play(&mut game, "e2e4 e7e5 g1f3");
    states(&mut game);
    game.takeback_yes(White, now);
    assert!(states(&mut game)[0].wtakeback);
    game.takeback_yes(Black, now);
    let state = states(&mut game).pop().unwrap();
    assert_eq!(state.moves, "e2e4 e7e5");
    game.takeback_yes(White, now);
    game.takeback_yes(Black, now);
    assert_eq!(states(&mut game).pop().unwrap().moves, "");
    assert_eq!(game.turn(), White);
}

#[test]
fn a_declined_takeback_must_wait() {
    let mut game = humans();
    let now = play(&mut game, "e2e4 e7e5");
    game.takeback_yes(White, now);
    game.takeback_no(Black, now);
    states(&mut game);
    game.takeback_yes(White, now + Duration::from_secs(9));
    assert!(states(&mut game).is_empty());
    game.takeback_yes(White, now + Duration::from_secs(10));
    assert!(states(&mut game)[0].wtakeback);
}

#[test]
fn nothing_is_taken_back_where_one_side_does_not_allow_it() {
    let mut game = humans();
    game.setup.players[1].takebacks = false;
    let now = play(&mut game, "e2e4 e7e5");
    states(&mut game);
    game.takeback_yes(White, now);
    assert!(game.take_changes().is_empty());
}

#[test]
fn a_long_absence_can_be_claimed_on_the_turn_of_the_absent() {
    let mut game = bots();
    game.arrive(White);
    game.arrive(Black);
    let now = play(&mut game, "e2e4 e7e5 g1f3");
    game.leave(Black, false, now);
    assert_eq!(game.claim_victory(White, now), Err(Refusal::CannotClaimWin));
    assert_eq!(
        game.claim_victory(Black, now),
        Ok(()),
        "no claim exists: nothing happens"
    );
    game.take_changes();
    let mut heard = Vec::new();
    for second in 1..=46 {
        game.tick(now + Duration::from_secs(second));
        heard.extend(game.take_changes());
    }
    assert_eq!(
        heard[0],
        GameChange::Gone {
            to: White,
            claim_in: Some(40)
        }
    );
    assert_eq!(
        heard.last(),
        Some(&GameChange::Gone {
            to: White,
            claim_in: Some(0)
        })
    );
    assert_eq!(
        game.claim_victory(White, now + Duration::from_secs(46)),
        Ok(())
    );
    assert_eq!(
        (game.status(), game.winner()),
        (Status::Timeout, Some(White))
    );
}

#[test]
fn the_late_return_of_a_person_is_announced_and_that_of_a_bot_is_not() {
    let announced = GameChange::Gone {
        to: White,
        claim_in: None,
    };
    for (mut game, expected) in [(humans(), vec![announced]), (bots(), Vec::new())] {
        game.arrive(White);
        let now = play(&mut game, "e2e4 e7e5 g1f3");
        game.tick(now + Duration::from_secs(100));
        game.take_changes();
        game.arrive(Black);
        assert_eq!(game.take_changes(), expected);
    }
}

#[test]
fn the_six_hundred_and_second_half_move_is_not_played() {
    let mut game = humans();
    game.record =
        vec![Played::of(game.position(), game.position().parse_uci("e2e4").unwrap()); 601];
    assert_eq!(game.play(White, "d2d4", false, at(0)), Ok(()));
    assert_eq!((game.status(), game.plies()), (Status::Draw, 601));
}

#[test]
fn given_time_is_announced_without_a_move() {
    let mut game = bots();
    let now = play(&mut game, "e2e4 e7e5");
    states(&mut game);
    game.give_time(White, 15, now);
    assert_eq!(states(&mut game)[0].btime, 195_000);
}

#[test]
fn an_aborted_round_has_nothing_due() {
    let mut game = bots();
    assert!(
        game.next_due().is_some(),
        "both sides are away and will be noticed"
    );
    game.abort(Color::White, at(0)).unwrap();
    assert_eq!(game.next_due(), None);
}

/// The end in the data, in the words of the server.
fn expected(termination: &str) -> Status {
    match termination {
        "explosion" => Status::VariantEnd,
        "checkmate" => Status::Mate,
        "stalemate" => Status::Stalemate,
        _ => Status::Draw,
    }
}

#[test]
fn two_thousand_recorded_games_end_as_recorded() {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let Ok(file) = std::fs::File::open(shared.join("positions/games.jsonl.gz")) else {
        writeln!(
            std::io::stderr(),
            "SKIPPED recorded games: no {}",
            shared.display()
        )
        .unwrap();
        return;
    };
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    let mut games = 0;
    for line in lines {
        let recorded: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| recorded[name].as_str().unwrap().to_owned();
        let mut game = if recorded["repetition_rule"] == 3 {
            round_of([Some("BOT"); 2], 10_800, 0)
        } else {
            humans()
        };
        game.clock = crate::practice::clock::Clock::new(TimeControl::Unlimited, at(0));
        play(&mut game, &text("moves"));
        let winner = match text("result").as_str() {
            "1-0" => Some(White),
            "0-1" => Some(Black),
            _ => None,
        };
        assert_eq!(game.status(), expected(&text("termination")), "{recorded}");
        assert_eq!(game.winner(), winner, "{recorded}");
        assert_eq!(game.record.last().unwrap().fen, text("final_fen"));
        let san: Vec<&str> = game
            .record
            .iter()
            .map(|played| played.san.as_str())
            .collect();
        assert_eq!(san.join(" "), text("san"));
        games += 1;
    }
    assert_eq!(games, 2000);
}

#[test]
fn a_side_is_found_by_its_user() {
    let game = bots();
    assert_eq!(game.side_of("two"), Some(Color::Black));
    assert_eq!(game.side_of("nobody"), None);
}
