//! The stream of news to one page: what it has not been sent yet, and a comment after silence.
//!
//! It is asked for its next piece only when the page took the last, so that a slow page holds
//! nothing but its place; and there are only so many places.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::app_state::AppState;
use super::auth::refusal;
use super::live_updates::Viewer;
use super::view_state::{Section, ViewState, framed};
use crate::archive::dates;

/// After so much silence a comment is sent, so that no one on the way gives the stream up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a page wants to hear of.
#[derive(Debug, Deserialize)]
pub(super) struct Subscription {
    /// One game with all its moves, instead of all games in brief.
    game: Option<String>,
    /// Nothing but how the bot is.
    brief: Option<String>,
}

impl Subscription {
    fn has(&self, part: &Section) -> bool {
        match (&self.game, part) {
            (_, Section::Status) => true,
            _ if self.brief.is_some() => false,
            (Some(game), Section::Whole(id) | Section::Thought(id) | Section::Reviewed(id)) => {
                id == game
            }
            (None, Section::Whole(_) | Section::Thought(_) | Section::Reviewed(_))
            | (Some(_), _) => false,
            (None, _) => true,
        }
    }
}

struct OpenStream {
    wanted: Subscription,
    pictures: watch::Receiver<Arc<ViewState>>,
    /// The number of the last picture sent.
    sent: u64,
    fresh: bool,
    _viewer: Viewer,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn live(
    State(site): State<AppState>,
    Query(wanted): Query<Subscription>,
) -> Response {
    let Some(place) = site.take_place() else {
        let text = "too many open pages: close some or wait";
        let refused = refusal(StatusCode::SERVICE_UNAVAILABLE, text);
        // The place of its connection is for others: probes and anyone who scrapes.
        return ([(header::CONNECTION, "close")], refused).into_response();
    };
    let (viewer, pictures) = site.feed().view(wanted.game.clone());
    let open = OpenStream {
        wanted,
        pictures,
        sent: 0,
        fresh: true,
        _viewer: viewer,
        _place: place,
    };
    let body = stream::unfold(open, |mut open| async {
        let bytes = open.next().await?;
        Some((Ok::<_, Infallible>(bytes), open))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that gathers answers before it passes them on would hold the news up.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

impl OpenStream {
    /// The next piece of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.fresh) {
            return Some(framed("hello", &json!({ "now": dates::now() })));
        }
        loop {
            let view = Arc::clone(&self.pictures.borrow_and_update());
            let bytes = self.news(&view);
            self.sent = view.number;
            if !bytes.is_empty() {
                return Some(bytes);
            }
            match tokio::time::timeout(KEEP_ALIVE, self.pictures.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    /// What the page has not been sent of a picture.
    fn news(&self, view: &ViewState) -> Bytes {
        let pieces = view.pieces.iter();
        let fresh =
            pieces.filter(|(part, piece)| piece.number > self.sent && self.wanted.has(part));
        let fresh: Vec<&Bytes> = fresh.map(|(_, piece)| &piece.bytes).collect();
        match fresh[..] {
            [one] => one.clone(),
            _ => fresh
                .iter()
                .map(|bytes| &bytes[..])
                .collect::<Vec<_>>()
                .concat()
                .into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_what_it_wants() {
        let wanted = |game: Option<&str>, brief: Option<&str>| Subscription {
            game: game.map(ToOwned::to_owned),
            brief: brief.map(ToOwned::to_owned),
        };
        let id = || "q7ZxVt2B".to_owned();
        let (all, brief) = (wanted(None, None), wanted(None, Some("")));
        let (one, other) = (wanted(Some("q7ZxVt2B"), None), wanted(Some("x"), None));
        let rows = [
            (Section::Status, [true, true, true, true]),
            (Section::Game(id()), [true, false, false, false]),
            (Section::Whole(id()), [false, false, true, false]),
            (Section::Thought(id()), [false, false, true, false]),
            (Section::Recent, [true, false, false, false]),
        ];
        for (part, expected) in rows {
            let had = [&all, &brief, &one, &other].map(|wanted| wanted.has(&part));
            assert_eq!(had, expected, "{part:?}");
        }
    }
}
