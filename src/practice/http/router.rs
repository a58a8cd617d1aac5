//! The routes of the Bot API, and the scope each one requires.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};

use crate::practice::shared::SharedServer;

use super::auth::{ScopeGuard, authenticate};
use super::reply::unknown_path;
use super::{account, arena, challenge, explorer, export, game, tables, users};
use crate::practice::chaos::middleware::inject_faults;

pub(in crate::practice) fn router(shared: Arc<SharedServer>) -> Router {
    let gated = |routes: Router<Arc<SharedServer>>, accepted| {
        routes.route_layer(from_fn_with_state(
            ScopeGuard {
                shared: Arc::clone(&shared),
                accepted,
            },
            authenticate,
        ))
    };
    Router::new()
        .merge(gated(any_token_routes(), &[]))
        .merge(gated(bot_routes(), &["bot:play"]))
        .merge(gated(challenger_routes(), &["bot:play", "challenge:write"]))
        .merge(gated(challenge_reader_routes(), &["challenge:read"]))
        .merge(gated(arena_routes(), &["bot:play", "tournament:write"]))
        .merge(gated(team_routes(), &["team:write"]))
        .merge(public_routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_path)
        .layer(from_fn_with_state(Arc::clone(&shared), inject_faults))
        .with_state(shared)
}

fn any_token_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/account", get(account::account))
        .route("/api/account/playing", get(account::playing))
        .route("/api/token", delete(account::revoke))
        .route("/lichess", get(explorer::everyone))
        .route("/player", get(explorer::player))
}

fn bot_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/stream/event", get(account::events))
        .route("/api/bot/account/upgrade", post(account::upgrade))
        .route("/api/bot/game/stream/{id}", get(game::stream))
        .route("/api/bot/game/{id}/move/{uci}", post(game::play))
        .route(
            "/api/bot/game/{id}/chat",
            get(game::read_chat).post(game::write_chat),
        )
        .route("/api/bot/game/{id}/abort", post(game::abort))
        .route("/api/bot/game/{id}/resign", post(game::resign))
        .route("/api/bot/game/{id}/draw/{answer}", post(game::draw))
        .route("/api/bot/game/{id}/takeback/{answer}", post(game::takeback))
        .route(
            "/api/bot/game/{id}/claim-victory",
            post(game::claim_victory),
        )
        .route("/api/bot/game/{id}/claim-draw", post(game::claim_draw))
        .route("/api/bot/game/{id}/berserk", post(game::berserk))
}

fn challenger_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/challenge/{user}", post(challenge::create))
        .route("/api/challenge/{id}/accept", post(challenge::accept))
        .route("/api/challenge/{id}/decline", post(challenge::decline))
        .route("/api/challenge/{id}/cancel", post(challenge::cancel))
}

fn challenge_reader_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/challenge", get(challenge::list))
        .route("/api/challenge/{id}/show", get(challenge::show))
}

fn arena_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/tournament/{id}/join", post(arena::join))
        .route("/api/tournament/{id}/withdraw", post(arena::withdraw))
}

fn team_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/team/{id}/join", post(arena::join_team))
        .route("/team/{id}/quit", post(arena::quit_team))
}

fn public_routes() -> Router<Arc<SharedServer>> {
    Router::new()
        .route("/api/token/test", post(account::token_test))
        .route("/atomic", get(tables::atomic))
        .route("/api/bot/online", get(users::online_bots))
        .route("/api/users/status", get(users::status))
        .route("/api/users", post(users::many))
        .route("/api/user/{name}", get(users::one))
        .route("/game/export/{id}", get(export::one))
        .route("/api/tournament", get(arena::list))
        .route("/api/tournament/{id}", get(arena::show))
        .route("/api/team/{id}/arena", get(arena::of_team))
        .route("/api/team/of/{name}", get(arena::teams_of))
}
