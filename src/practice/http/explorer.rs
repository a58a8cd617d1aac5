//! The opening explorer, in the form of Lichess': a few openings with made-up numbers, among them a
//! popular move that loses.

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::lines;
use crate::practice::chaos::Fault;
use crate::practice::chaos::middleware::{PendingStreamFault, stream_fault};
use crate::rules::{Game, Position};

/// Lines with how many games White won, that were drawn, and that Black won.
const LINES: [(&str, [u64; 3]); 8] = [
    ("g1f3 f7f6 e2e4 d7d5", [210, 20, 190]),
    ("g1f3 f7f6 b1c3 d7d5", [400, 30, 310]),
    ("g1f3 f7f6 d2d4 e7e6", [90, 10, 80]),
    ("g1f3 e7e5 f3e5 d8g5", [120, 5, 60]),
    // The knight explodes the king.
    ("g1f3 d7d5 f3e5 d5d4", [500, 0, 40]),
    ("e2e4 e7e5 d1h5 g7g6", [150, 10, 140]),
    ("b1c3 f7f5 c3d5 e7e6", [60, 5, 50]),
    ("d2d4 d7d5 g1f3 f7f6", [40, 5, 45]),
];

#[derive(Debug, Deserialize)]
pub(super) struct ExplorerQuery {
    #[serde(default)]
    variant: String,
    fen: Option<String>,
    #[serde(default)]
    play: String,
    player: Option<String>,
    color: Option<String>,
}

impl ExplorerQuery {
    /// The position asked about; `None` for another variant or what is no position.
    fn position(&self) -> Option<Position> {
        let start = match &self.fen {
            Some(fen) => Position::from_fen(&fen.replace('_', " ")).ok()?,
            None => Position::default(),
        };
        let mut moves = self.play.split(',').filter(|uci| !uci.is_empty());
        let is_atomic = self.variant == "atomic";
        let position = moves.try_fold(start, |position, uci| {
            let mv = position.parse_uci(uci).ok()?;
            Some(position.play(mv))
        });
        position.filter(|_| is_atomic)
    }
}

/// `/lichess`.
pub(super) async fn everyone(
    Query(query): Query<ExplorerQuery>,
    fault: Option<Extension<PendingStreamFault>>,
) -> Response {
    let Some(position) = query.position() else {
        return (StatusCode::BAD_REQUEST, "invalid position or variant").into_response();
    };
    let lies = matches!(stream_fault(fault), Some(Fault::Lie));
    let mut reply = statistics(&position, 1, "averageRating", lies);
    reply["topGames"] = json!([]);
    reply["recentGames"] = json!([]);
    Json(reply).into_response()
}

/// `/player`: a first count, an empty line, and the whole.
pub(super) async fn player(
    Query(query): Query<ExplorerQuery>,
    fault: Option<Extension<PendingStreamFault>>,
) -> Response {
    let has_color = matches!(query.color.as_deref(), Some("white" | "black"));
    let (Some(position), Some(_), true) = (query.position(), &query.player, has_color) else {
        return (
            StatusCode::BAD_REQUEST,
            "invalid position, player or variant",
        )
            .into_response();
    };
    let lies = matches!(stream_fault(fault), Some(Fault::Lie));
    let counted = [(10, 3), (5, 0)].map(|(divisor, queue)| {
        let mut reply = statistics(&position, divisor, "averageOpponentRating", lies);
        reply["queuePosition"] = queue.into();
        reply["recentGames"] = json!([]);
        for entry in reply["moves"].as_array_mut().into_iter().flatten() {
            entry["performance"] = 1800.into();
        }
        reply
    });
    lines(&counted)
}

/// The games that reached a position, every count divided.
fn statistics(position: &Position, divisor: u64, rating: &str, lies: bool) -> Value {
    let mut total = [0; 3];
    let mut moves: Vec<(String, [u64; 3])> = Vec::new();
    for (line, counts) in LINES {
        let counts = counts.map(|count| count / divisor);
        let mut game = Game::new();
        for uci in line.split(' ') {
            if game.position().key() == position.key() {
                match moves.iter_mut().find(|(known, _)| known == uci) {
                    Some((_, sum)) => add(sum, counts),
                    None => moves.push((uci.to_owned(), counts)),
                }
                add(&mut total, counts);
            }
            if game.push_uci(uci).is_err() {
                break;
            }
        }
    }
    moves.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    let moves: Vec<Value> = moves
        .into_iter()
        .map(|(uci, [white, draws, black])| {
            let mv = position.parse_uci(&uci);
            let san = mv.map(|mv| position.san(mv)).unwrap_or_default();
            let uci = if lies { "a1a8".to_owned() } else { uci };
            json!({
                "uci": uci, "san": san, rating: 1900, "white": white, "draws": draws,
                "black": black, "game": null, "opening": null,
            })
        })
        .collect();
    let [white, draws, black] = total;
    json!({ "opening": null, "white": white, "draws": draws, "black": black, "moves": moves })
}

fn add(sum: &mut [u64; 3], counts: [u64; 3]) {
    for (sum, count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_legal() {
        for (line, _) in LINES {
            let moves: Vec<_> = line.split(' ').collect();
            let played = Game::from_uci_moves(line);
            assert_eq!(played.unwrap().moves().len(), moves.len(), "{line}");
        }
    }
}
