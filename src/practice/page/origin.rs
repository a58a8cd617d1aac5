//! Who may use the page: browsers that were sent here by this server, under this machine's name.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Page;
use crate::http_common::by_own_name;

pub(super) async fn refuse_strangers(
    State(page): State<Page>,
    request: Request,
    next: Next,
) -> Response {
    match by_own_name(request.headers(), page.address, &[]) {
        Ok(()) => next.run(request).await,
        Err(stranger) => (StatusCode::FORBIDDEN, stranger.to_string()).into_response(),
    }
}
