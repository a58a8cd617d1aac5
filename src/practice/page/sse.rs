//! Server-sent events: a snapshot at every change, a comment after silence. While a visitor's page
//! is open, the visitor is present at the game and keeps the challenge alive.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::watch;

use crate::practice::shared::SharedServer;
use crate::rules::Color;

use super::snapshot::Snapshot;
use super::visitor::Visitor;

struct OpenStream {
    shared: Arc<SharedServer>,
    who: PageOwner,
    /// What it shows, and when that changes.
    id: String,
    changes: watch::Receiver<u64>,
    presence: Option<HeldPresence>,
    fresh: bool,
}

enum PageOwner {
    Visitor {
        visitor: Arc<Visitor>,
        moves_on: watch::Receiver<String>,
    },
    Spectator,
}

/// What an open page keeps alive.
#[derive(PartialEq)]
enum HeldPresence {
    AtGame(String, Color),
    AtChallenge(String),
}

/// The stream of a visitor; `None` if the game or challenge is forgotten.
pub(super) fn for_visitor(shared: Arc<SharedServer>, visitor: Arc<Visitor>) -> Option<Response> {
    let moves_on = visitor.follow();
    let id = visitor.current();
    let stream = OpenStream {
        changes: shared.watch(&id),
        shared,
        who: PageOwner::Visitor { visitor, moves_on },
        id,
        presence: None,
        fresh: true,
    };
    stream.snapshot().is_some().then(|| respond(stream))
}

/// The stream of a spectator.
pub(super) fn for_spectator(shared: Arc<SharedServer>, id: String) -> Response {
    respond(OpenStream {
        changes: shared.watch(&id),
        shared,
        who: PageOwner::Spectator,
        id,
        presence: None,
        fresh: true,
    })
}

fn respond(open: OpenStream) -> Response {
    let keep_alive = KeepAlive::new().interval(open.shared.timing.keep_alive);
    let events = stream::unfold(open, |mut open| async {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    let events = Sse::new(events).keep_alive(keep_alive);
    ([(header::CACHE_CONTROL, "no-store")], events).into_response()
}

impl OpenStream {
    /// The next snapshot; `None` once the game is forgotten or the server ends.
    async fn next(&mut self) -> Option<Event> {
        if !std::mem::take(&mut self.fresh) {
            self.changed().await?;
        }
        self.changes.borrow_and_update();
        self.mark_present();
        let snapshot = self.snapshot()?;
        Event::default().event("snapshot").json_data(&snapshot).ok()
    }

    async fn changed(&mut self) -> Option<()> {
        match &mut self.who {
            PageOwner::Visitor { visitor, moves_on } => tokio::select! {
                changed = self.changes.changed() => changed.ok(),
                moved_on = moves_on.changed() => {
                    moved_on.ok()?;
                    self.id = visitor.current();
                    self.changes = self.shared.watch(&self.id);
                    Some(())
                }
            },
            PageOwner::Spectator => self.changes.changed().await.ok(),
        }
    }

    fn snapshot(&self) -> Option<Snapshot> {
        self.shared.see(|state, now| match &self.who {
            PageOwner::Visitor { visitor, .. } => {
                match state.find_player(&visitor.user, &self.id) {
                    Ok((game, side)) => Some(Snapshot::of_game(game, side, true, now)),
                    Err(_) => state
                        .pending(&self.id)
                        .map(|challenge| Snapshot::of_challenge(state, challenge)),
                }
            }
            PageOwner::Spectator => {
                let game = &state.entry(&self.id)?.game;
                Some(Snapshot::of_game(game, Color::White, false, now))
            }
        })
    }

    /// Marks the visitor present at the shown game or challenge, and absent from the previous one.
    fn mark_present(&mut self) {
        let PageOwner::Visitor { visitor, .. } = &self.who else {
            return;
        };
        let wanted = match self.shared.side_at(&visitor.user, &self.id) {
            Ok(side) => HeldPresence::AtGame(self.id.clone(), side),
            Err(_) => HeldPresence::AtChallenge(self.id.clone()),
        };
        if self.presence.as_ref() == Some(&wanted) {
            return;
        }
        self.leave();
        self.shared.with(|state, now| match &wanted {
            HeldPresence::AtGame(id, side) => state.arrive(id, *side, now),
            HeldPresence::AtChallenge(id) => state.keep_challenge(id),
        });
        self.presence = Some(wanted);
    }

    fn leave(&mut self) {
        if let Some(presence) = self.presence.take() {
            self.shared.with(|state, now| match presence {
                HeldPresence::AtGame(id, side) => state.leave(&id, side, true, now),
                HeldPresence::AtChallenge(id) => state.release_challenge(&id, now),
            });
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.leave();
    }
}
