//! A quiet game without captures and repetitions, for rules that look at many moves in a row.

use megaton::bot::Settings;
use megaton::bot::game::{GameEffect, GameInput};
use megaton::engine::{Score, StopReason};
use megaton::lichess::{OfferDraw, Side};

use crate::harness::{Harness, active_search, posted, result};

const MOVES: &str = "a2a3 a7a6 b2b3 b7b6 c2c3 c7c6 d2d3 d7d6 e2e3 e7e6 f2f3 f7f6 g2g3 g7g6 \
    h2h3 h7h6 a3a4 a6a5 d3d4 d6d5 g3g4 g6g5 a1a2 a8a7 a2b2 a7b7 b2c2 b7c7 c2d2 c7d7 d2e2 d7e7 \
    e2g2 e7g7 b1d2 b8d7 d2b1 d7b8 f1e2 f8e7 e2d3 e7d6 d3c2 d6c7 g1e2 g8e7 e2g3 e7g6 g2f2 g7f7 \
    h1h2 h8h7 h2g2 h7g7 c1a3 c8a6 a3b2 a6b7 b2c1 b7c8";

/// A wild game that leaves White a bare king, Black to move.
pub(crate) const BARE_WHITE: &str = "c2c4 h7h6 b2b3 a7a5 b3b4 a5b4 c4c5 a8a2 g2g4 h6h5 g4h5 h8h2 \
    e2e4 g7g6 d1b3 e7e5 b3f3 f8c5 f3g3 g8e7 g3g6 f7f5 e4f5 e5e4 f1b5 c7c6 b5c6 d8a5 e1f1 a5d2 \
    f2f4 e4f3 f1e2";
/// A wild game that leaves Black a bare king, White to move.
pub(crate) const BARE_BLACK: &str = "e2e4 h7h6 d2d4 e7e5 c1h6 e5d4 d1d4 d8h4 d4g7 h4e4 c2c4 f7f5 \
    b1c3 f5f4 f2f3 b7b5 c4b5 e8d8 c3b5 d8e8 b5a7 d7d6 f1c4 d6d5 c4d5 c8e6 a1c1 e6a2 c1c7 e8e7 \
    g2g4 f4g3";

/// The first `plies` of the quiet game.
pub(crate) fn line(plies: usize) -> String {
    let moves: Vec<_> = MOVES.split_ascii_whitespace().take(plies).collect();
    assert_eq!(moves.len(), plies, "the quiet game is not that long");
    moves.join(" ")
}

/// A harness at the end of such a game, and the effects on the way.
pub(crate) struct Played {
    pub(crate) harness: Harness,
    pub(crate) actions: Vec<GameEffect>,
}

impl Played {
    /// The plies whose moves the bot sent with a draw offer.
    pub(crate) fn offers(&self) -> Vec<usize> {
        let of_ply = |uci: &str| MOVES.split_ascii_whitespace().position(|mv| mv == uci);
        let offer = |action: &GameEffect| match action {
            GameEffect::Post { uci, draw, .. } if *draw == OfferDraw::Yes => of_ply(uci),
            _ => None,
        };
        self.actions.iter().filter_map(offer).collect()
    }
}

/// Plays our side along this list, with the same score in every search.
pub(crate) fn along(mut harness: Harness, list: &str, score: Score) -> Played {
    let moves: Vec<_> = list.split_ascii_whitespace().collect();
    let mut actions = harness.open("");
    for ply in 0..moves.len() {
        if let Some(search) = active_search(&actions).filter(|_| harness.is_our_turn()) {
            actions.extend(harness.think_with(search.request_id, moves[ply], score));
        }
        actions.extend(harness.state(&moves[..=ply].join(" ")));
    }
    Played { harness, actions }
}

/// Plays the quiet game from its start; `score` gives each search's score by ply.
pub(crate) fn played(
    us: Side,
    settings: Settings,
    plies: usize,
    score: impl Fn(usize) -> Score,
) -> Played {
    play_on(Harness::with(us, settings), plies, score)
}

/// White's game after three plies, the last move by endgame tables, with this score.
pub(crate) fn by_tables(harness: Harness, score: i32) -> Played {
    let Played {
        mut harness,
        actions,
    } = play_on(harness, 2, |_| Score::Cp(0));
    let request_id = active_search(&actions).expect("our turn").request_id;
    let next = line(3);
    let ours = next.rsplit(' ').next().unwrap_or_default();
    let mut found = result(ours, Score::Cp(score), &harness.machine);
    found.by_tables = true;
    found.ended = StopReason::OnlyMove;
    let mut actions = harness.apply(GameInput::SearchDone {
        request_id,
        result: found,
    });
    actions.extend(harness.state(&next));
    Played { harness, actions }
}

pub(crate) fn play_on(
    mut harness: Harness,
    plies: usize,
    score: impl Fn(usize) -> Score,
) -> Played {
    let mut actions = harness.open("");
    for ply in 0..plies {
        let next = line(ply + 1);
        if ply.is_multiple_of(2) == (harness.us == Side::White) {
            let request_id = active_search(&actions).expect("our turn").request_id;
            let ours = next.rsplit(' ').next().unwrap_or_default().to_owned();
            let sent = harness.think_with(request_id, &ours, score(ply));
            assert_eq!(posted(&sent).expect("a move").uci, ours);
            actions.extend(sent);
        }
        actions.extend(harness.state(&next));
    }
    Played { harness, actions }
}
