//! Export of finished games.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;

use super::reply::unknown_path;
use crate::practice::shared::SharedServer;

#[derive(Debug, Deserialize)]
pub(super) struct ExportQuery {
    moves: Option<String>,
}

/// PGN, unless JSON is explicitly requested.
pub(super) async fn one(
    State(shared): State<Arc<SharedServer>>,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get(header::ACCEPT);
    let json = accepted
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"));
    let with_moves = !matches!(query.moves.as_deref(), Some("false" | "0" | "no"));
    let answer = shared.see(|state, _| {
        if json {
            let game = state.export(&id, with_moves)?;
            return Some(Json(game).into_response());
        }
        let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
        Some((kind, state.export_pgn(&id)?).into_response())
    });
    match answer {
        Some(answer) => answer,
        None => unknown_path().await,
    }
}
