//! The outermost middleware: logs every call and injects the faults of requests.

use axum::Extension;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

use crate::practice::chaos::{Endpoint, Fault, FaultReply};
use crate::practice::connection::ConnectionKiller;
use crate::practice::traffic_log::CallRecord;

use crate::practice::http::auth::{Caller, caller_of};
use crate::practice::shared::SharedServer;

/// A fault for the stream that the request opens.
#[derive(Clone, Debug)]
pub(in crate::practice) struct PendingStreamFault(pub(in crate::practice) Fault);

/// The fault of the stream that a request opens.
pub(in crate::practice) fn stream_fault(
    left: Option<Extension<PendingStreamFault>>,
) -> Option<Fault> {
    left.map(|Extension(PendingStreamFault(fault))| fault)
}

/// Logs a call and injects its fault.
pub(in crate::practice) async fn inject_faults(
    State(shared): State<Arc<SharedServer>>,
    ConnectInfo(killer): ConnectInfo<ConnectionKiller>,
    request: Request,
    next: Next,
) -> Response {
    let Some(asked) = RequestTarget::of(request.method(), request.uri().path()) else {
        return next.run(request).await;
    };
    let caller = shared.see(|state, _| caller_of(state, request.headers()));
    let call = asked.by(caller.as_ref());
    let game = call.game;
    shared.log.called(call, shared.now());
    if let (Some(game), Some(uci)) = (game, call.uci()) {
        shared.on_move(game, uci);
    }
    let fault = shared.faults.take(call.endpoint, game);
    if let (Some(game), Some(fault)) = (game, &fault) {
        let line = format!("{}: {}", call.endpoint.name(), fault.name());
        shared.log.record(game, shared.now(), line);
    }
    let response = run_effect(fault, &killer, request, next).await;
    let status = response.status().as_u16();
    shared.log.answered(call, status, shared.now());
    if let Some(game) = game.filter(|_| call.endpoint == Endpoint::Move && status == 400) {
        shared.log.move_refused(game);
    }
    response
}

/// Answers a request as its fault demands.
async fn run_effect(
    fault: Option<Fault>,
    killer: &ConnectionKiller,
    mut request: Request,
    next: Next,
) -> Response {
    match fault {
        None => next.run(request).await,
        Some(Fault::LoseRequest) => {
            killer.cut();
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Some(Fault::LoseReply) => {
            let answer = next.run(request).await;
            killer.cut();
            answer
        }
        Some(Fault::Swallow) => std::future::pending().await,
        Some(Fault::DoneInSilence) => {
            next.run(request).await;
            std::future::pending().await
        }
        Some(Fault::Refuse { status }) => write(&FaultReply::usual(status)),
        Some(Fault::Answer(reply)) => write(&reply),
        Some(Fault::DoneBut { status }) => {
            next.run(request).await;
            write(&FaultReply::usual(status))
        }
        Some(Fault::DoneThen(reply)) => {
            next.run(request).await;
            write(&reply)
        }
        Some(Fault::Late(wait)) => {
            tokio::time::sleep(wait).await;
            next.run(request).await
        }
        Some(Fault::SlowReply(wait)) => {
            let answer = next.run(request).await;
            tokio::time::sleep(wait).await;
            answer
        }
        Some(fault) => {
            request.extensions_mut().insert(PendingStreamFault(fault));
            next.run(request).await
        }
    }
}

fn write(reply: &FaultReply) -> Response {
    let (kind, body) = reply.body();
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY);
    (status, [(header::CONTENT_TYPE, kind)], Body::from(body)).into_response()
}

/// The endpoint of a request, its game, and its move or command.
struct RequestTarget {
    endpoint: Endpoint,
    game: Option<String>,
    command: Option<String>,
}

impl RequestTarget {
    fn of(method: &Method, path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (endpoint, game, command) = match (method.as_str(), parts.as_slice()) {
            ("GET", ["api", "stream", "event"]) => (Endpoint::Events, None, None),
            ("GET", ["api", "bot", "game", "stream", id]) => (Endpoint::GameStream, Some(id), None),
            ("POST", ["api", "bot", "game", id, "move", uci]) => {
                (Endpoint::Move, Some(id), Some((*uci).to_owned()))
            }
            (_, ["api", "bot", "game", id, "chat"]) => (Endpoint::Chat, Some(id), None),
            ("POST", ["api", "bot", "game", id, command @ ..]) => {
                (Endpoint::Game, Some(id), Some(command.join("/")))
            }
            ("POST", ["api", "challenge", _, "accept"]) => (Endpoint::Accept, None, None),
            ("POST", ["api", "challenge", _, "decline" | "cancel"]) => {
                (Endpoint::Decline, None, None)
            }
            ("POST", ["api", "challenge", _]) => (Endpoint::Create, None, None),
            ("GET", ["api", "account", ..]) => (Endpoint::Account, None, None),
            ("POST", ["api", "tournament", _, "join" | "withdraw"]) => {
                (Endpoint::Arena, None, None)
            }
            ("GET", ["game", "export", id]) => (Endpoint::Lookup, Some(id), None),
            ("GET", ["atomic"]) => (Endpoint::Tables, None, None),
            ("GET", ["lichess" | "player"]) => (Endpoint::Explorer, None, None),
            (_, ["api", ..]) => (Endpoint::Lookup, None, None),
            _ => return None,
        };
        Some(Self {
            endpoint,
            game: game.map(|id| (*id).to_owned()),
            command,
        })
    }

    fn by<'a>(&'a self, caller: Option<&'a Caller>) -> CallRecord<'a> {
        CallRecord {
            who: caller.map(|caller| caller.user.as_str()),
            endpoint: self.endpoint,
            game: self.game.as_deref(),
            command: self.command.as_deref(),
        }
    }
}
