//! Carries out the faults that a test asked for.

use axum::Extension;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::practice::faults::{Fault, Place};
use crate::practice::line::Cutter;

use super::App;

/// A fault left for the stream that the request opens.
#[derive(Clone, Debug)]
pub(super) struct StreamFault(pub(super) Fault);

/// Takes the fault out of a request.
pub(super) fn stream_fault(left: Option<Extension<StreamFault>>) -> Option<Fault> {
    left.map(|Extension(StreamFault(fault))| fault)
}

/// Stands before everything else.
pub(super) async fn misbehave(
    State(app): State<App>,
    ConnectInfo(cutter): ConnectInfo<Cutter>,
    mut request: Request,
    next: Next,
) -> Response {
    let fault = place_of(request.method(), request.uri().path())
        .and_then(|place| app.hall.faults.take(place));
    match fault {
        None => next.run(request).await,
        Some(Fault::LoseRequest) => {
            cutter.cut();
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Some(Fault::LoseReply) => {
            let answer = next.run(request).await;
            cutter.cut();
            answer
        }
        Some(Fault::Refuse { status }) => excuse(status),
        Some(Fault::DoneBut { status }) => {
            next.run(request).await;
            excuse(status)
        }
        Some(Fault::Late(wait)) => {
            tokio::time::sleep(wait).await;
            next.run(request).await
        }
        Some(fault) => {
            request.extensions_mut().insert(StreamFault(fault));
            next.run(request).await
        }
    }
}

/// An answer of a proxy or of the rate limiter.
fn excuse(status: u16) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    if status == 429 {
        let body = json!({ "error": "Too many requests. Try again later." });
        return (code, axum::Json(body)).into_response();
    }
    let page = format!(
        "<html>\r\n<head><title>{code}</title></head>\r\n<body>\r\n<center><h1>{code}</h1></center>\
         \r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    (code, [(header::CONTENT_TYPE, "text/html")], page).into_response()
}

fn place_of(method: &Method, path: &str) -> Option<Place> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match (method.as_str(), parts.as_slice()) {
        ("GET", ["api", "stream", "event"]) => Some(Place::Events),
        ("GET", ["api", "bot", "game", "stream", _]) => Some(Place::GameStream),
        ("POST", ["api", "bot", "game", _, "move", _]) => Some(Place::Move),
        ("POST", ["api", "bot", "game", ..]) => Some(Place::Game),
        ("POST", ["api", "challenge", _, "accept"]) => Some(Place::Accept),
        ("POST", ["api", "challenge", _, "decline" | "cancel"]) => Some(Place::Decline),
        ("POST", ["api", "challenge", _]) => Some(Place::Create),
        ("GET", ["api", "account", ..]) => Some(Place::Account),
        _ => None,
    }
}
