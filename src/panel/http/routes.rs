//! The routes, by what they require.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};

use super::app_state::Site;
use super::auth;
use super::live_updates::LiveUpdates;
use super::responses::refusal;
use super::{assets, commands, game_queries, health, history, sse};
use crate::panel::protocol::LONGEST;

/// The pages with games, by path.
const GAMES: [(&str, &str); 3] = [
    ("/", "live.html"),
    ("/games", "games.html"),
    ("/game/{id}", "game.html"),
];
/// The other pages.
const PAGES: [(&str, &str); 3] = [
    ("/opponents", "opponents.html"),
    ("/challenges", "challenges.html"),
    ("/events", "events.html"),
];

pub(super) fn router(site: Site, updates: Arc<LiveUpdates>) -> Router {
    let readers = readers().route_layer(from_fn_with_state(site.clone(), auth::require_reader));
    let watched = games().route_layer(from_fn_with_state(site.clone(), auth::require_spectator));
    let control = Router::new()
        .route("/api/control", post(commands::control))
        .route_layer(from_fn_with_state(site.clone(), auth::require_operator));
    open()
        .merge(readers)
        .merge(watched)
        .merge(control)
        .fallback(async || refusal(StatusCode::NOT_FOUND, "not found"))
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(from_fn_with_state(site.clone(), auth::protect))
        .layer(Extension(updates))
        .with_state(site)
}

/// For everyone who reaches the port: nothing about the games.
fn open() -> Router<Site> {
    Router::new()
        .route("/assets/board/{file}", get(assets::board))
        .route("/assets/panel/{file}", get(assets::panel))
        .route("/login", get(async || assets::page("login.html")))
        .route("/api/login", post(commands::login))
        .route("/api/logout", post(commands::logout))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
}

fn pages(pages: [(&'static str, &'static str); 3]) -> Router<Site> {
    pages
        .into_iter()
        .fold(Router::new(), |router, (path, name)| {
            router.route(path, get(async move || assets::page(name)))
        })
}

/// For readers, and for spectators where the config allows them; these handlers know who asks.
fn games() -> Router<Site> {
    pages(GAMES)
        .route("/api/live", get(sse::live))
        .route("/api/games", get(game_queries::games))
        .route("/api/game/{id}", get(game_queries::game))
        .route("/api/me", get(commands::me))
}

/// For readers: with the password, or from this machine where that is trusted.
fn readers() -> Router<Site> {
    pages(PAGES)
        .route("/api/opponents", get(game_queries::opponents))
        .route("/api/experience/{opponent}", get(game_queries::experience))
        .route("/api/challenges", get(history::challenges))
        .route("/api/events", get(history::events))
        .route("/api/kinds", get(history::kinds))
        .route("/metrics", get(health::metrics))
}
