//! Game endpoints: the stream, moves, and all other actions.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::practice::account::Account;
use crate::practice::api_error::ApiError;
use crate::practice::game::{Refusal, ServerGame};
use crate::practice::state::ServerState;
use crate::practice::streams::GameStreamKey;
use crate::practice::time::Millis;
use crate::rules::Color;

use super::auth::Caller;
use super::body::{StreamOwner, stream_of};
use super::fields::Fields;
use super::reply::{done_or, unknown_path};
use crate::practice::chaos::middleware::{PendingStreamFault, stream_fault};
use crate::practice::shared::SharedServer;

/// The checks before every Bot API call on a game.
fn guard(state: &ServerState, caller: &Caller, id: &str) -> Result<Color, ApiError> {
    if !state.account(&caller.user).is_some_and(Account::is_bot) {
        return Err(ApiError::refused(
            "This endpoint can only be used with a Bot account. \
             See https://lichess.org/api#operation/botAccountUpgrade",
        ));
    }
    let (game, side) = state.find_player(&caller.user, id)?;
    if !ServerState::is_bot_compatible(game) {
        return Err(ApiError::refused(
            "This game cannot be played with the Bot API.",
        ));
    }
    Ok(side)
}

/// Checks the call and acts in the game.
fn act(
    shared: &SharedServer,
    caller: &Caller,
    id: &str,
    action: impl FnOnce(&mut ServerGame, Color, Millis) -> Result<(), Refusal>,
) -> Result<(), ApiError> {
    shared.with(|state, now| {
        guard(state, caller, id)?;
        state.act(&caller.user, id, now, |game, side| action(game, side, now))
    })
}

pub(super) async fn stream(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    fault: Option<Extension<PendingStreamFault>>,
) -> Result<Response, ApiError> {
    let side = shared.see(|state, _| guard(state, &caller, &id))?;
    let key = GameStreamKey {
        game: id.clone(),
        side,
        agent: caller.agent,
    };
    let outbox = shared.open_game(key)?;
    let owner = StreamOwner::Game { id, side };
    let fault = stream_fault(fault);
    Ok(stream_of(shared, outbox, owner, fault.as_ref()))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithMove {
    offering_draw: Option<String>,
}

pub(super) async fn play(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path((id, uci)): Path<(String, String)>,
    Query(query): Query<WithMove>,
) -> Response {
    let offering = matches!(query.offering_draw.as_deref(), Some("true" | "yes" | "1"));
    done_or(act(&shared, &caller, &id, |game, side, now| {
        game.play(side, &uci, offering, now)
    }))
}

/// The handler of a command that is one call of the referee.
macro_rules! command {
    ($name:ident, $game:ident, $side:ident, $now:ident => $action:expr) => {
        pub(super) async fn $name(
            State(shared): State<Arc<SharedServer>>,
            Extension(caller): Extension<Caller>,
            Path(id): Path<String>,
        ) -> Response {
            done_or(act(&shared, &caller, &id, |$game, $side, $now| $action))
        }
    };
    // A claim; a refused one is answered late.
    (claim $name:ident, $game:ident, $side:ident, $now:ident => $action:expr) => {
        pub(super) async fn $name(
            State(shared): State<Arc<SharedServer>>,
            Extension(caller): Extension<Caller>,
            Path(id): Path<String>,
        ) -> Response {
            let outcome = act(&shared, &caller, &id, |$game, $side, $now| $action);
            after_a_while(&shared, outcome).await
        }
    };
    // A command with a yes or no in the last path segment.
    (answer $name:ident, $game:ident, $side:ident, $now:ident => $yes:expr, $no:expr) => {
        pub(super) async fn $name(
            State(shared): State<Arc<SharedServer>>,
            Extension(caller): Extension<Caller>,
            Path((id, word)): Path<(String, String)>,
        ) -> Response {
            let yes = match word.as_str() {
                "yes" | "true" => true,
                "no" | "false" => false,
                _ => return unknown_path().await,
            };
            done_or(act(&shared, &caller, &id, |$game, $side, $now| {
                if yes {
                    $yes
                } else {
                    $no
                }
                Ok(())
            }))
        }
    };
}

command!(abort, game, side, now => game.abort(side, now));
command!(resign, game, side, now => game.resign(side, now));
command!(answer draw, game, side, now => game.draw_yes(side, now), game.draw_no(side));
command!(answer takeback, game, side, now =>
    game.takeback_yes(side, now), game.takeback_no(side, now));
command!(claim claim_victory, game, side, now => game.claim_victory(side, now));
command!(claim claim_draw, game, side, now => game.claim_draw(side, now));

/// A refused claim is answered late.
async fn after_a_while(shared: &SharedServer, outcome: Result<(), ApiError>) -> Response {
    if outcome.as_ref().is_err_and(|error| error.status == 400) {
        tokio::time::sleep(shared.timing.claim_refusal).await;
    }
    done_or(outcome)
}

pub(super) async fn berserk() -> ApiError {
    ApiError::refused("Cannot berserk")
}

pub(super) async fn read_chat(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    shared.see(|state, _| {
        guard(state, &caller, &id)?;
        let entry = state.entry(&id).ok_or_else(ApiError::not_found)?;
        let lines = entry
            .chat
            .iter()
            .map(|(user, text)| json!({ "text": text, "user": user }));
        Ok(Json(lines.collect::<Vec<Value>>()))
    })
}

pub(super) async fn write_chat(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    fields: Fields,
) -> Result<Response, ApiError> {
    let required = |name| {
        let value = fields.get(name);
        value.ok_or_else(|| ApiError::form(name, "This field is required"))
    };
    let room = match required("room")? {
        "player" => "player",
        "spectator" => "spectator",
        _ => return Err(ApiError::form("room", "Invalid value")),
    };
    let text = required("text")?;
    Ok(done_or(shared.with(|state, _| {
        guard(state, &caller, &id)?;
        state.chat(&caller.user, &id, room, text)
    })))
}
