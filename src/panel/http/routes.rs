//! The addresses of the page, by what must be shown to use them.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};

use super::app_state::AppState;
use super::auth::{self, refusal};
use super::{assets, commands, game_queries, health, history, sse};
use crate::panel::protocol::LONGEST;

pub(super) fn router(site: AppState) -> Router {
    let guarded = guarded().route_layer(from_fn_with_state(site.clone(), auth::guard));
    let steering = steering().route_layer(from_fn_with_state(site.clone(), auth::steer));
    open()
        .merge(guarded)
        .merge(steering)
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(from_fn_with_state(site.clone(), auth::watch))
        .with_state(site)
}

/// For everyone who reaches the port, from other machines too: nothing that tells of the games.
fn open() -> Router<AppState> {
    Router::new()
        .route("/assets/board/{file}", get(assets::board))
        .route("/assets/panel/{file}", get(assets::panel))
        .route("/api/login", post(commands::login))
        .route("/api/logout", post(commands::logout))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
}

/// To look at: for everyone on this machine, and from elsewhere with the password.
fn guarded() -> Router<AppState> {
    Router::new()
        .route("/", get(assets::live))
        .route("/games", get(assets::games))
        .route("/game/{id}", get(assets::game))
        .route("/opponents", get(assets::opponents))
        .route("/challenges", get(assets::challenges))
        .route("/events", get(assets::events))
        .route("/api/live", get(sse::live))
        .route("/api/games", get(game_queries::games))
        .route("/api/game/{id}", get(game_queries::game))
        .route("/api/opponents", get(game_queries::opponents))
        .route("/api/challenges", get(history::challenges))
        .route("/api/events", get(history::events))
        .route("/api/kinds", get(history::kinds))
        .route("/api/me", get(commands::me))
        .route("/metrics", get(health::metrics))
}

/// To steer with: never without the password.
fn steering() -> Router<AppState> {
    Router::new().route("/api/control", post(commands::control))
}

async fn nothing() -> Response {
    refusal(StatusCode::NOT_FOUND, "not found")
}
