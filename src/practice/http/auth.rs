//! The caller of a request: bearer token, scopes, and the name in the user agent.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

use crate::practice::api_error::ApiError;
use crate::practice::shared::SharedServer;
use crate::practice::state::ServerState;

/// The account behind a request.
#[derive(Clone, Debug)]
pub(in crate::practice) struct Caller {
    pub(in crate::practice) user: String,
    pub(super) token: String,
    pub(super) agent: String,
}

/// Requires one of these scopes; an empty list accepts any token.
#[derive(Clone, Debug)]
pub(super) struct ScopeGuard {
    pub(super) shared: Arc<SharedServer>,
    pub(super) accepted: &'static [&'static str],
}

/// Lets the request through with its [`Caller`], or answers 401 or 403.
pub(super) async fn authenticate(
    State(guard): State<ScopeGuard>,
    mut request: Request,
    next: Next,
) -> Response {
    let known = guard
        .shared
        .see(|state, _| identify(state, request.headers(), guard.accepted));
    let (caller, scopes, covers) = match known {
        Ok(known) => known,
        Err(error) => return error.into_response(),
    };
    let mut response = if covers {
        request.extensions_mut().insert(caller);
        next.run(request).await
    } else {
        let missing = format!("Missing scope: {}", guard.accepted.join(" || "));
        ApiError::text(403, missing).into_response()
    };
    for (name, value) in [
        ("x-oauth-scopes", scopes),
        ("x-accepted-oauth-scopes", guard.accepted.join(", ")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The caller, for endpoints that need no token.
pub(in crate::practice) fn caller_of(state: &ServerState, headers: &HeaderMap) -> Option<Caller> {
    let (caller, ..) = identify(state, headers, &[]).ok()?;
    Some(caller)
}

/// The caller, the scopes of its token, and whether they cover one of those accepted.
fn identify(
    state: &ServerState,
    headers: &HeaderMap,
    accepted: &[&str],
) -> Result<(Caller, String, bool), ApiError> {
    let token = text(headers, header::AUTHORIZATION)
        .and_then(|value| value.strip_prefix("Bearer "))
        .ok_or_else(|| ApiError::text(401, "Missing authorization header"))?
        .trim();
    let grant = state
        .token(token)
        .ok_or_else(|| ApiError::text(401, "No such token"))?;
    let agent = text(headers, header::USER_AGENT).unwrap_or_default();
    if let Some(name) = claimed_name(agent)
        && name.to_lowercase() != grant.user
    {
        return Err(ApiError::text(
            401,
            "The user in the user agent doesn't match the token owner",
        ));
    }
    let caller = Caller {
        user: grant.user.clone(),
        token: token.to_owned(),
        agent: agent.to_owned(),
    };
    Ok((caller, grant.scopes.join(", "), grant.covers(accepted)))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The account name in the user agent, as in `Bot/1.0 user:Name`.
fn claimed_name(agent: &str) -> Option<&str> {
    let (_, rest) = agent
        .split_once("user:")
        .or_else(|| agent.split_once("as:"))?;
    let end = rest
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || "_-".contains(letter)))
        .unwrap_or(rest.len());
    let name = &rest[..end];
    (3..=31).contains(&name.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_the_user_agent_is_found() {
        assert_eq!(
            claimed_name("Megaton/0.1 (+x) user:MegatonBot"),
            Some("MegatonBot")
        );
        assert_eq!(claimed_name("thing as:abc, more"), Some("abc"));
        assert_eq!(claimed_name("curl/8.0"), None);
        assert_eq!(claimed_name("x user:ab"), None);
    }
}
