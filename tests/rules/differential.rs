//! Thousands of fresh random positions against shakmaty, which shares no code with us.
//!
//! Draws by material are not shakmaty's business (it follows other rules there): they are held
//! against the slow implementation.

use fastrand::Rng;
use megaton::rules::{Outcome, Position, Win};
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::variant::Atomic;
use shakmaty::{CastlingMode, EnPassantMode, FromSetup, Position as _, PositionError};

use crate::{sampling, slow};

const POSITIONS: usize = 24_000;

/// Reads as leniently as we do: impossible checks, promoted crowds and idle fields are no matter.
pub(crate) fn read(fen: &str) -> Result<Atomic, String> {
    let fen: Fen = fen.parse().map_err(|error| format!("{error}"))?;
    Atomic::from_setup(fen.into_setup(), CastlingMode::Standard)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .map_err(|error| error.to_string())
}

pub(crate) fn fen_of(position: &Atomic) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

pub(crate) fn moves_of(position: &Atomic) -> Vec<String> {
    let mut moves: Vec<String> = position
        .legal_moves()
        .iter()
        .map(|mv| mv.to_uci(CastlingMode::Standard).to_string())
        .collect();
    moves.sort();
    moves
}

fn ours_of(position: &Position) -> Vec<String> {
    let mut moves: Vec<String> = position
        .legal_moves()
        .iter()
        .map(ToString::to_string)
        .collect();
    moves.sort();
    moves
}

/// Everything that can be read off one position.
pub(crate) fn compare(ours: &Position, theirs: &Atomic) {
    let fen = ours.fen();
    assert_eq!(fen, fen_of(theirs));
    assert_eq!(ours_of(ours), moves_of(theirs), "{fen}");
    assert_eq!(
        ours.in_check(),
        !theirs.is_variant_end() && theirs.is_check(),
        "{fen}"
    );
    let outcome = ours.outcome();
    let mate = matches!(outcome, Some(Outcome::Win { by: Win::Mate, .. }));
    let explosion = matches!(
        outcome,
        Some(Outcome::Win {
            by: Win::Explosion,
            ..
        })
    );
    let stalemate = ours.legal_moves().is_empty() && !mate && !explosion;
    assert_eq!(mate, theirs.is_checkmate(), "{fen}");
    assert_eq!(stalemate, theirs.is_stalemate(), "{fen}");
    let exploded = theirs.board().kings().count() < 2;
    assert_eq!(explosion, exploded, "{fen}");
    let drawn = slow::Board::read(&fen).is_insufficient();
    assert_eq!(ours.insufficient_material(), drawn, "{fen}");
}

/// Every move of a position: its notation and the position it leads to.
pub(crate) fn compare_children(ours: &Position, theirs: &Atomic) {
    for mv in ours.legal_moves() {
        let uci = mv.to_string();
        let twin = uci
            .parse::<UciMove>()
            .expect("UCI")
            .to_move(theirs)
            .expect("a legal move");
        let san = SanPlus::from_move(theirs.clone(), twin).to_string();
        assert_eq!(ours.san(mv), san, "{ours} {uci}");
        let child = ours.play(mv);
        let twin_child = theirs.clone().play(twin).expect("a legal move");
        assert_eq!(child.fen(), fen_of(&twin_child), "{ours} {uci}");
        let check = !twin_child.is_variant_end() && twin_child.is_check();
        assert_eq!(ours.gives_check(mv), check, "{ours} {uci}");
    }
}

#[test]
fn fresh_random_positions_agree_with_another_library() {
    let mut rng = Rng::with_seed(sampling::seed("differential"));
    let mut compared = 0;
    for (index, position) in sampling::mixed(POSITIONS, &mut rng).iter().enumerate() {
        // Where a game has ended by explosion shakmaty has no reader for the FEN.
        let Ok(twin) = read(&position.fen()) else {
            assert!(position.legal_moves().is_empty(), "{position}");
            continue;
        };
        compare(position, &twin);
        if index % 3 == 0 {
            compare_children(position, &twin);
        }
        compared += 1;
    }
    assert!(
        compared >= 20_000,
        "only {compared} positions were compared"
    );
}

/// Whether a side has more pieces beside king and pawns than promotions can make, in all or of one
/// kind: we refuse that for the bounds of move lists, shakmaty does not count them.
fn is_crowd(fen: &str) -> bool {
    let board = fen.split(' ').next().unwrap_or_default();
    let count = |man: char| board.matches(man).count();
    ["QRBN", "qrbn"].into_iter().any(|men| {
        let most = [9, 10, 10, 10];
        let too_many = men.chars().zip(most).any(|(man, most)| count(man) > most);
        too_many || men.chars().map(count).sum::<usize>() > 15
    })
}

#[test]
fn crowds_are_refused_where_another_library_takes_them() {
    for fen in [
        "1N2NN2/8/RnQ2p1N/3NN1B1/1KkQQ3/3N2P1/4NR1B/6Q1 b - - 90 122",
        "k7/8/qqqqqqqq/qq6/8/8/8/7K w - - 0 1",
    ] {
        assert!(is_crowd(fen) && read(fen).is_ok(), "{fen}");
        assert!(Position::from_fen(fen).is_err(), "{fen}");
    }
    let most = "k7/8/qqqqqqqq/rrrrrrq1/8/8/8/7K w - - 0 1";
    assert!(!is_crowd(most) && Position::from_fen(most).is_ok());
}

#[test]
fn placements_are_refused_where_another_library_refuses_them() {
    let mut rng = Rng::with_seed(sampling::seed("refusals"));
    for _ in 0..20_000 {
        let fen = sampling::placement(&mut rng);
        let (ours, theirs) = (Position::from_fen(&fen), read(&fen));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours.fen(), fen_of(theirs), "{fen}"),
            (Err(_), Err(_)) => {}
            (Err(_), Ok(_)) if is_crowd(&fen) => {}
            _ => panic!("{fen}: {ours:?} but {theirs:?}"),
        }
    }
}
