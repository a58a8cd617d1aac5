//! The addresses of the page, by what must be shown to use them.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};

use super::gate::{self, refusal};
use super::site::Site;
use super::{assets, health, notes, shelf, sse, steer};
use crate::panel::wire::LONGEST;

/// All of them.
pub(super) fn router(site: Site) -> Router {
    let guarded = guarded().route_layer(from_fn_with_state(site.clone(), gate::guard));
    let steering = steering().route_layer(from_fn_with_state(site.clone(), gate::steer));
    open()
        .merge(guarded)
        .merge(steering)
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(from_fn_with_state(site.clone(), gate::watch))
        .with_state(site)
}

/// For everybody who reaches the port, from other machines too: nothing that tells of the games.
fn open() -> Router<Site> {
    Router::new()
        .route("/assets/board/{file}", get(assets::board))
        .route("/assets/panel/{file}", get(assets::panel))
        .route("/api/login", post(steer::login))
        .route("/api/logout", post(steer::logout))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
}

/// To look at: for everybody on this machine, and from elsewhere with the password.
fn guarded() -> Router<Site> {
    Router::new()
        .route("/", get(assets::live))
        .route("/games", get(assets::games))
        .route("/game/{id}", get(assets::game))
        .route("/opponents", get(assets::opponents))
        .route("/challenges", get(assets::challenges))
        .route("/events", get(assets::events))
        .route("/api/live", get(sse::live))
        .route("/api/games", get(shelf::games))
        .route("/api/game/{id}", get(shelf::game))
        .route("/api/opponents", get(shelf::opponents))
        .route("/api/challenges", get(notes::challenges))
        .route("/api/events", get(notes::events))
        .route("/api/kinds", get(notes::kinds))
        .route("/api/me", get(steer::me))
        .route("/metrics", get(health::metrics))
}

/// To steer with: never without the password.
fn steering() -> Router<Site> {
    Router::new().route("/api/control", post(steer::control))
}

async fn nothing() -> Response {
    refusal(StatusCode::NOT_FOUND, "there is nothing here")
}
