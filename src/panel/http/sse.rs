//! The stream of live updates to one page: the sections that it has not been sent yet.
//!
//! A stream ends with the session or the password that opened it. A slow page gets the latest sections once
//! it has taken the last; nothing piles up for it. The number of streams is limited.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt as _, stream};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::app_state::Site;
use super::auth::Access;
use super::live_updates::{LiveUpdates, Viewer};
use super::responses::refusal;
use super::view_state::{Section, ViewState};
use crate::archive::dates;

/// Silence after which a comment is sent, so that no proxy closes the stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
pub(super) struct Subscription {
    /// One game with all its moves, instead of all games in brief.
    game: Option<String>,
    /// Only the status of the bot.
    brief: Option<String>,
    /// Only what spectators may see.
    #[serde(skip)]
    is_public: bool,
}

impl Subscription {
    fn has(&self, section: &Section) -> bool {
        if self.is_public {
            return match (&self.game, section) {
                (None, Section::Games | Section::PublicGame(_) | Section::Recent) => {
                    self.brief.is_none()
                }
                (Some(game), Section::PublicWhole(id)) => id == game,
                _ => false,
            };
        }
        match (&self.game, section) {
            (_, Section::PublicGame(_) | Section::PublicWhole(_)) => false,
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
    subscription: Subscription,
    views: watch::Receiver<Arc<ViewState>>,
    /// The version of the last view sent.
    sent: u64,
    _viewer: Viewer,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn live(
    State(site): State<Site>,
    Extension(access): Extension<Access>,
    Extension(updates): Extension<Arc<LiveUpdates>>,
    Query(mut subscription): Query<Subscription>,
) -> Response {
    subscription.is_public = access.is_spectator();
    let places = if subscription.is_public {
        &site.spectators
    } else {
        &site.streams
    };
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        let text = "too many open pages: close some or wait";
        let refused = refusal(StatusCode::SERVICE_UNAVAILABLE, text);
        // The connection must be free for others, such as probes.
        return ([(header::CONNECTION, "close")], refused).into_response();
    };
    let (viewer, views) = updates.view(subscription.game.clone());
    let open = OpenStream {
        subscription,
        views,
        sent: 0,
        _viewer: viewer,
        _place: place,
    };
    let hello = Event::default().event("hello");
    let hello = hello.data(json!({ "now": dates::now() }).to_string());
    let sections = stream::unfold(open, |mut open| async {
        let sections = open.next().await?;
        Some((stream::iter(sections), open))
    });
    // An event is built when it is sent, so a slow page holds only shared text.
    let events = sections
        .flatten()
        .map(|(name, data)| Event::default().event(name).data(data));
    let events = stream::iter([hello]).chain(events).map(Ok::<_, Infallible>);
    let events = events.take_until(async move {
        match access {
            Access::Session(id) => site.sessions.ended(id.expose_secret()).await,
            Access::Reader { renewals } => site.sessions.renewed(renewals).await,
            Access::Spectator => std::future::pending().await,
        }
    });
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        // A proxy must not buffer the events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    (headers, events).into_response()
}

impl OpenStream {
    /// The names and data of the sections that changed since the last ones sent; waits for a change.
    async fn next(&mut self) -> Option<Vec<(&'static str, Arc<str>)>> {
        loop {
            let view = Arc::clone(&self.views.borrow_and_update());
            let sections = view.patches.iter();
            let fresh = sections.filter(|(section, patch)| {
                patch.version > self.sent && self.subscription.has(section)
            });
            let fresh = fresh.map(|(section, patch)| (section.event(), Arc::clone(&patch.data)));
            let fresh: Vec<_> = fresh.collect();
            self.sent = view.version;
            if !fresh.is_empty() {
                return Some(fresh);
            }
            self.views.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_the_topics_it_subscribed_to() {
        let wanted = |game: Option<&str>, brief: Option<&str>| Subscription {
            game: game.map(ToOwned::to_owned),
            brief: brief.map(ToOwned::to_owned),
            is_public: false,
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

    #[test]
    fn spectators_get_games_without_analysis_and_nothing_else() {
        let id = || "q7ZxVt2B".to_owned();
        let public = |game: Option<String>| Subscription {
            game,
            brief: None,
            is_public: true,
        };
        let (all, one) = (public(None), public(Some(id())));
        let rows = [
            (Section::Status, [false, false]),
            (Section::Games, [true, false]),
            (Section::Game(id()), [false, false]),
            (Section::Whole(id()), [false, false]),
            (Section::PublicGame(id()), [true, false]),
            (Section::PublicWhole(id()), [false, true]),
            (Section::Thought(id()), [false, false]),
            (Section::Reviewed(id()), [false, false]),
            (Section::Challenges, [false, false]),
            (Section::Events, [false, false]),
            (Section::Recent, [true, false]),
            (Section::Rating, [false, false]),
        ];
        for (part, expected) in rows {
            assert_eq!([&all, &one].map(|it| it.has(&part)), expected, "{part:?}");
        }
    }
}
