//! What is new, put together once for everybody who looks.
//!
//! One task listens to the chronicle and to the state of the bot, and only while somebody looks. It
//! publishes a picture in pieces, each with the number of its change; a stream sends what it has not
//! sent yet. However many look and however slowly they read, the bot notices none of it, and nothing
//! piles up: who missed a piece gets the latest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use serde::Serialize;
use tokio::sync::watch;

use super::replay::Replay;
use super::shelf;
use super::site::Site;
use super::view::{Card, ChallengeView};
use crate::archive::{GameRecord, Millis};
use crate::bot::{Chronicle, Clocks, LiveGame};

/// Least time between two pictures.
const BEAT: Duration = Duration::from_millis(120);
/// How long a game that is over stays in the picture, in milliseconds.
const LINGER: Millis = 60_000;
/// Lines of the lists.
const MOST_CHALLENGES: usize = 40;
const MOST_EVENTS: usize = 80;
const MOST_RECENT: usize = 20;

/// What a piece is about, in the order of sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Status,
    Games,
    Game(String),
    Challenges,
    Events,
    Recent,
    Rating,
}

impl Part {
    fn event(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Games => "games",
            Self::Game(_) => "game",
            Self::Challenges => "challenges",
            Self::Events => "events",
            Self::Recent => "recent",
            Self::Rating => "rating",
        }
    }
}

/// A piece of the picture, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The picture in which it last changed.
    pub(super) number: u64,
    pub(super) bytes: Bytes,
}

/// How everything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) number: u64,
    pub(super) pieces: BTreeMap<Part, Piece>,
}

/// One event of a stream.
pub(super) fn framed(event: &str, data: &impl Serialize) -> Bytes {
    // Only maps with keys that are no text cannot be written, and there are none.
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}

/// This moment.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    })
}

/// Where pictures appear, and who looks at them.
#[derive(Debug)]
pub(super) struct Feed {
    pictures: watch::Sender<Arc<Picture>>,
    viewers: watch::Sender<usize>,
}

/// Somebody looks, until this is dropped.
#[derive(Debug)]
pub(super) struct Viewer(Arc<Feed>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.viewers.send_modify(|viewers| *viewers -= 1);
    }
}

impl Feed {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            pictures: watch::Sender::new(Arc::default()),
            viewers: watch::Sender::new(0),
        })
    }

    /// Looks from now on.
    pub(super) fn view(self: &Arc<Self>) -> (Viewer, watch::Receiver<Arc<Picture>>) {
        self.viewers.send_modify(|viewers| *viewers += 1);
        (Viewer(Arc::clone(self)), self.pictures.subscribe())
    }

    /// Puts pictures together for as long as there is a page.
    pub(super) async fn run(&self, site: Site) {
        let mut viewers = self.viewers.subscribe();
        loop {
            // The sender lives in this feed.
            let _ = viewers.wait_for(|viewers| *viewers > 0).await;
            self.publish_while_seen(&site, &mut viewers).await;
            // Nobody shall be shown what is old by then.
            let number = self.pictures.borrow().number;
            self.pictures.send_replace(Arc::new(Picture {
                number,
                ..Picture::default()
            }));
        }
    }

    async fn publish_while_seen(&self, site: &Site, viewers: &mut watch::Receiver<usize>) {
        let sources = site.sources();
        let chronicle = &sources.chronicle;
        // Searches report on their way only while this is held.
        let (mut changes, mut thoughts) = (chronicle.changes(), chronicle.thoughts());
        let mut status = sources.watch.changes();
        let mut painter = Painter::new(site, self.pictures.borrow().number);
        loop {
            changes.borrow_and_update();
            thoughts.borrow_and_update();
            status.borrow_and_update();
            if painter.paint().await {
                self.pictures
                    .send_replace(Arc::new(painter.picture.clone()));
            }
            tokio::time::sleep(BEAT).await;
            tokio::select! {
                Ok(()) = changes.changed() => {}
                Ok(()) = thoughts.changed() => {}
                Ok(()) = status.changed() => {}
                _ = viewers.wait_for(|viewers| *viewers == 0) => return,
                else => return,
            }
        }
    }
}

/// The game that ended last, if any did: which, when, and what it did to our rating.
#[derive(PartialEq)]
struct Latest(Option<(String, Millis, Option<i32>)>);

/// Makes pictures.
struct Painter<'s> {
    site: &'s Site,
    picture: Picture,
    /// Games already played again.
    replays: BTreeMap<String, (Arc<GameRecord>, Arc<Replay>)>,
    /// The last game that ended when the lists of them were made, if they were.
    lists_of: Option<Latest>,
}

impl<'s> Painter<'s> {
    fn new(site: &'s Site, number: u64) -> Self {
        Self {
            site,
            picture: Picture {
                number,
                ..Picture::default()
            },
            replays: BTreeMap::new(),
            lists_of: None,
        }
    }

    /// Makes the next picture; false if it is the same as before.
    async fn paint(&mut self) -> bool {
        let before = self.picture.number;
        self.picture.number += 1;
        let chronicle = &self.site.sources().chronicle;
        if let Some(status) = self.site.sources().watch.status() {
            self.put(Part::Status, &*status);
        }
        self.paint_games(chronicle);
        let challenges = chronicle.challenges(MOST_CHALLENGES);
        let challenges: Vec<ChallengeView> = challenges.iter().map(|it| (&**it).into()).collect();
        self.put(Part::Challenges, &challenges);
        let events = chronicle.events(MOST_EVENTS);
        let events: Vec<_> = events.iter().map(|event| &**event).collect();
        self.put(Part::Events, &events);
        self.paint_past(chronicle).await;
        let changed = self.picture.pieces.values();
        let changed = changed.filter(|piece| piece.number > before).count() > 0;
        if !changed {
            self.picture.number = before;
        }
        changed
    }

    fn paint_games(&mut self, chronicle: &Chronicle) {
        let running = chronicle.running();
        let ids: Vec<String> = running.iter().map(|live| live.record.id.clone()).collect();
        self.put(Part::Games, &ids);
        let now = now();
        let ended = chronicle.recent().into_iter().filter_map(|record| {
            let ending = record.ending.as_ref()?;
            let clocks = last_clocks(&record);
            (now.saturating_sub(ending.at) < LINGER && !ids.contains(&record.id)).then_some(
                LiveGame {
                    record,
                    clocks,
                    thinking: None,
                },
            )
        });
        let shown: Vec<LiveGame> = running.into_iter().chain(ended).collect();
        let is_shown = |id: &String| shown.iter().any(|live| live.record.id == *id);
        self.replays.retain(|id, _| is_shown(id));
        self.picture.pieces.retain(|part, _| match part {
            Part::Game(id) => is_shown(id),
            _ => true,
        });
        for live in &shown {
            let replay = self.replay(&live.record);
            self.put(Part::Game(live.record.id.clone()), &Card::of(live, &replay));
        }
    }

    /// What is over: asked for again only when another game has ended.
    async fn paint_past(&mut self, chronicle: &Chronicle) {
        let latest = chronicle.recent().first().map(|record| {
            let diff = record.us.and_then(|us| record.player(us).rating_diff);
            let at = record.ending.as_ref().map_or(0, |ending| ending.at);
            (record.id.clone(), at, diff)
        });
        let latest = Latest(latest);
        if self.lists_of.as_ref() == Some(&latest) {
            return;
        }
        self.lists_of = Some(latest);
        let recent = shelf::recent(self.site, MOST_RECENT).await;
        self.put(Part::Recent, &recent);
        let ratings = shelf::ratings(self.site).await;
        self.put(Part::Rating, &ratings);
    }

    fn replay(&mut self, record: &Arc<GameRecord>) -> Arc<Replay> {
        if let Some((known, replay)) = self.replays.get(&record.id)
            && Arc::ptr_eq(known, record)
        {
            return Arc::clone(replay);
        }
        let replay = Arc::new(Replay::of(record));
        let entry = (Arc::clone(record), Arc::clone(&replay));
        self.replays.insert(record.id.clone(), entry);
        replay
    }

    fn put(&mut self, part: Part, data: &impl Serialize) {
        let bytes = framed(part.event(), data);
        let number = self.picture.number;
        match self.picture.pieces.get_mut(&part) {
            Some(piece) if piece.bytes == bytes => {}
            _ => {
                self.picture.pieces.insert(part, Piece { number, bytes });
            }
        }
    }
}

/// The clocks at the end of a game.
fn last_clocks(record: &GameRecord) -> Clocks {
    let of = |parity: usize| {
        let moves = record.moves.iter().enumerate();
        let own = moves.filter(|(ply, _)| ply % 2 == parity);
        own.filter_map(|(_, made)| made.clock).next_back()
    };
    Clocks {
        white: of(0),
        black: of(1),
        stated: 0,
    }
}
