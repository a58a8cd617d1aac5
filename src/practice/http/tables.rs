//! The endgame tables, in the form of Lichess' tablebase server: positions of at most four pieces, by
//! the program's own tables. More pieces, and castling rights, are unknown, as there.

use std::time::{Duration, Instant};

use axum::Extension;
use axum::Json;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::{TablebaseProbe, Wdl};
use crate::practice::chaos::Fault;
use crate::practice::chaos::middleware::{PendingStreamFault, stream_fault};
use crate::rules::{CastlingRights, Draw, Move, Outcome, Position};
use crate::tablebase::OutcomeTables;

/// How long distances may take; a reply without them is whole too.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize)]
pub(super) struct TableQuery {
    fen: String,
}

/// What the tables know of one position.
struct TableFacts {
    category: &'static str,
    dtz: Option<i32>,
    outcome: Option<Outcome>,
    is_stalemate: bool,
}

/// `/atomic`.
pub(super) async fn atomic(
    Query(query): Query<TableQuery>,
    fault: Option<Extension<PendingStreamFault>>,
) -> Response {
    let fen = query.fen.replace('_', " ");
    let Ok(position) = Position::from_fen(&fen) else {
        return (StatusCode::BAD_REQUEST, "invalid fen").into_response();
    };
    let lies = matches!(stream_fault(fault), Some(Fault::Lie));
    let answered = tokio::task::spawn_blocking(move || reply(&position, lies)).await;
    answered.map_or_else(
        |_| StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        |reply| Json(reply).into_response(),
    )
}

fn reply(position: &Position, lies: bool) -> Value {
    let until = Instant::now() + PATIENCE;
    let mut moves: Vec<(i32, Value)> = position
        .legal_moves()
        .iter()
        .map(|&mv| entry(position, mv, until, lies))
        .collect();
    moves.sort_by_key(|(rank, _)| *rank);
    let moves: Vec<Value> = moves.into_iter().map(|(_, entry)| entry).collect();
    let mut reply = facts(position, until).json();
    reply["moves"] = moves.into();
    reply
}

/// A move, judged from the opponent's side, and its rank: the smallest number is the best move.
fn entry(position: &Position, mv: Move, until: Instant, lies: bool) -> (i32, Value) {
    let child = position.play(mv);
    let facts = facts(&child, until);
    let distance = facts.dtz.unwrap_or_default().abs().min(200);
    let is_zeroing = child.halfmove_clock() == 0;
    let tier: i32 = match facts.category {
        "loss" => -2,
        "blessed-loss" => -1,
        "cursed-win" => 1,
        "win" => 2,
        _ => 0,
    };
    // A win as soon as possible, a loss as late.
    let nearness = match facts.outcome {
        Some(_) => 0,
        None if is_zeroing => 1,
        None if tier > 0 => -distance,
        None => 1 + distance,
    };
    let mut entry = facts.json();
    if lies {
        entry["category"] = opposite(facts.category).into();
    }
    entry["uci"] = mv.to_string().into();
    entry["san"] = position.san(mv).into();
    entry["zeroing"] = is_zeroing.into();
    entry["conversion"] = false.into();
    (tier * 1000 + nearness, entry)
}

fn opposite(category: &'static str) -> &'static str {
    match category {
        "win" => "loss",
        "loss" => "win",
        "cursed-win" => "blessed-loss",
        "blessed-loss" => "cursed-win",
        other => other,
    }
}

fn facts(position: &Position, until: Instant) -> TableFacts {
    let outcome = position.outcome();
    let tables = OutcomeTables::built_in();
    let has_castling = position.castling_rights() != CastlingRights::NONE;
    let known = |wdl| match wdl {
        Wdl::Win => "win",
        Wdl::CursedWin => "cursed-win",
        Wdl::Draw => "draw",
        Wdl::BlessedLoss => "blessed-loss",
        Wdl::Loss => "loss",
    };
    let wdl = tables.wdl(position).filter(|_| !has_castling);
    let (category, dtz) = match (outcome, wdl) {
        (Some(Outcome::Win { .. }), _) => ("loss", Some(-1)),
        (Some(Outcome::Draw(Draw::FiftyMoves)), Some(wdl)) => (known(wdl), None),
        (Some(Outcome::Draw(_)), _) => ("draw", Some(0)),
        (None, Some(wdl)) => {
            let dtz = tables.computed_dtz(position, &|| Instant::now() >= until);
            (known(wdl), dtz.map(|dtz| dtz.plies))
        }
        (None, None) => ("unknown", None),
    };
    TableFacts {
        category,
        dtz,
        outcome,
        is_stalemate: outcome == Some(Outcome::Draw(Draw::Stalemate)),
    }
}

impl TableFacts {
    fn json(&self) -> Value {
        let exploded = matches!(
            self.outcome,
            Some(Outcome::Win { by, .. }) if by == crate::rules::Win::Explosion
        );
        let won = matches!(self.outcome, Some(Outcome::Win { .. }));
        json!({
            "category": self.category, "dtz": self.dtz, "precise_dtz": self.dtz,
            "dtc": null, "dtm": null, "dtw": null,
            "checkmate": won && !exploded, "stalemate": self.is_stalemate,
            "variant_win": false, "variant_loss": exploded,
            "insufficient_material":
                self.outcome == Some(Outcome::Draw(Draw::Insufficient)),
        })
    }
}
