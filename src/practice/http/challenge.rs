//! Challenges: parses and checks the form, then calls the server state.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::json;
use std::sync::Arc;

use crate::practice::api_error::ApiError;
use crate::practice::challenge::{ChallengeRequest, Reason};
use crate::practice::game_settings::{ColorWish, GameSettings, TimeControl};
use crate::practice::wire::{Direction, Variant};

use super::auth::Caller;
use super::body::{StreamOwner, stream_of};
use super::fields::Fields;
use super::reply::done_or;
use crate::practice::shared::SharedServer;

pub(super) async fn create(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(dest): Path<String>,
    fields: Fields,
) -> Result<Response, ApiError> {
    let request = read_request(&fields)?;
    let (id, json) = shared.with(|state, now| {
        let id = state.challenge(&caller.user, &dest.to_lowercase(), request, now)?;
        let challenge = state.pending(&id).ok_or_else(ApiError::not_found)?;
        let json = state.challenge_json(challenge, Some(Direction::Out), now);
        Ok::<_, ApiError>((id, json))
    })?;
    if !fields.is_true("keepAliveStream") {
        return Ok(Json(json).into_response());
    }
    let first = serde_json::to_string(&json).unwrap_or_default();
    let outbox = shared.open_challenge(&id, first);
    let owner = StreamOwner::Challenge { id };
    Ok(stream_of(shared, outbox, owner, None))
}

/// The challenge in a form, or the wrong field.
fn read_request(fields: &Fields) -> Result<ChallengeRequest, ApiError> {
    let color = fields
        .get("color")
        .map_or(Some(ColorWish::Random), ColorWish::parse);
    let variant = Variant::of(fields.get("variant").unwrap_or("standard"));
    Ok(ChallengeRequest {
        settings: GameSettings {
            time: read_time(fields)?,
            rated: fields.is_true("rated"),
        },
        color: color.ok_or_else(|| ApiError::form("color", "Invalid value"))?,
        variant: variant.ok_or_else(|| ApiError::form("variant", "Invalid value"))?,
        rules: fields.get("rules").map_or_else(Vec::new, |rules| {
            rules
                .split(',')
                .map(|rule| rule.trim().to_owned())
                .collect()
        }),
        rematch_of: None,
    })
}

fn read_time(fields: &Fields) -> Result<TimeControl, ApiError> {
    let number = |name: &str| {
        let read = |text: &str| text.parse::<u32>();
        let wrong = |_| ApiError::form(name, "Numeric value expected");
        fields.get(name).map(read).transpose().map_err(wrong)
    };
    let clock = (number("clock.limit")?, number("clock.increment")?);
    match (clock, number("days")?) {
        ((Some(limit), Some(increment)), None) => read_clock(limit, increment),
        ((None, None), Some(days)) => {
            let time = TimeControl::Correspondence { days };
            time.is_offered()
                .then_some(time)
                .ok_or_else(|| ApiError::form("days", "Invalid value"))
        }
        ((None, None), None) => Ok(TimeControl::Unlimited),
        ((Some(_), Some(_)), Some(_)) => Err(ApiError::form("global", "Invalid clock")),
        ((None, _), _) => Err(ApiError::form("clock.limit", "This field is required")),
        ((_, None), _) => Err(ApiError::form("clock.increment", "This field is required")),
    }
}

fn read_clock(limit: u32, increment: u32) -> Result<TimeControl, ApiError> {
    if increment > 60 {
        return Err(ApiError::form(
            "clock.increment",
            "Must be less or equal to 60",
        ));
    }
    if limit == 0 && increment == 0 {
        return Err(ApiError::form("global", "Invalid clock"));
    }
    let time = TimeControl::Clock { limit, increment };
    time.is_offered()
        .then_some(time)
        .ok_or_else(|| ApiError::form("clock.limit", "Invalid value"))
}

pub(super) async fn list(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let (to_us, from_us) = shared.see(|state, now| state.challenges_of(&caller.user, now));
    Json(json!({ "in": to_us, "out": from_us })).into_response()
}

pub(super) async fn show(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let json = shared.see(|state, now| {
        let challenge = state.pending(&id).filter(|it| it.concerns(&caller.user))?;
        let direction = if challenge.dest == caller.user {
            Direction::In
        } else {
            Direction::Out
        };
        Some(state.challenge_json(challenge, Some(direction), now))
    });
    json.map(Json).ok_or_else(ApiError::not_found)
}

pub(super) async fn accept(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    done_or(shared.with(|state, now| state.accept(&caller.user, &id, now)))
}

pub(super) async fn decline(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    let reason = Reason::of(fields.get("reason").unwrap_or("generic"));
    done_or(shared.with(|state, now| state.decline(&caller.user, &id, reason, now)))
}

pub(super) async fn cancel(
    State(shared): State<Arc<SharedServer>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    done_or(shared.with(|state, now| state.cancel(&caller.user, &id, now)))
}
