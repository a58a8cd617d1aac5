//! The stream of news to one page: what it has not been sent yet, and a comment after silence.
//!
//! It is asked for its next piece only when the page took the last, so that a slow page holds
//! nothing but its place; and there are only so many places.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::feed::{Part, Picture, Viewer, framed, now};
use super::gate::refusal;
use super::shelf;
use super::site::Site;
use super::view::ThoughtView;
use crate::archive::GameRecord;

/// After so much silence a comment is sent, so that nobody on the way gives the stream up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a page wants to hear of.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    /// One game with all its moves, instead of all games in brief.
    game: Option<String>,
    /// Nothing but how the bot is.
    brief: Option<String>,
}

/// An open page.
struct Open {
    site: Site,
    wanted: Wanted,
    pictures: watch::Receiver<Arc<Picture>>,
    /// The number of the last picture sent.
    sent: u64,
    /// The one game as it was last sent, if one is wanted.
    known: Option<Arc<GameRecord>>,
    fresh: bool,
    _viewer: Viewer,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn live(State(site): State<Site>, Query(wanted): Query<Wanted>) -> Response {
    let Some(place) = site.take_place() else {
        let text = "too many pages are open: close some, or wait";
        return refusal(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    let (viewer, pictures) = site.feed().view();
    let open = Open {
        site,
        wanted,
        pictures,
        sent: 0,
        known: None,
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
    ];
    (headers, Body::from_stream(body)).into_response()
}

impl Open {
    /// The next piece of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.fresh) {
            return Some(framed("hello", &json!({ "now": now() })));
        }
        loop {
            let picture = Arc::clone(&self.pictures.borrow_and_update());
            let bytes = self.news(&picture).await;
            self.sent = picture.number;
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

    async fn news(&mut self, picture: &Picture) -> Bytes {
        let news = picture.pieces.iter();
        let mut news = news.filter(|(_, piece)| piece.number > self.sent);
        let status = |part: &Part| *part == Part::Status;
        if self.wanted.brief.is_some() {
            let found = news.find(|(part, _)| status(part));
            return found.map_or_else(Bytes::new, |(_, piece)| piece.bytes.clone());
        }
        let mut bytes = Vec::new();
        let Some(game) = self.wanted.game.clone() else {
            news.for_each(|(_, piece)| bytes.extend_from_slice(&piece.bytes));
            return bytes.into();
        };
        for (part, piece) in news {
            if status(part) {
                bytes.extend_from_slice(&piece.bytes);
            } else if matches!(part, Part::Game(id) if *id == game)
                && let Some(piece) = one_game(&self.site, &game, &mut self.known).await
            {
                bytes.extend_from_slice(&piece);
            }
        }
        bytes.into()
    }
}

/// A game with all its moves; where those are known already, what is thought of it.
async fn one_game(site: &Site, id: &str, known: &mut Option<Arc<GameRecord>>) -> Option<Bytes> {
    let running = site.sources().chronicle.running();
    let live = running.iter().find(|live| live.record.id == id);
    if let (Some(live), Some(known)) = (live, &known)
        && Arc::ptr_eq(&live.record, known)
    {
        return Some(framed("thought", &ThoughtView::now(live)));
    }
    *known = live.map(|live| Arc::clone(&live.record));
    Some(framed("game", &shelf::whole(site, id).await?))
}
