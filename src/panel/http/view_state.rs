//! How everything is, in pieces that are ready to be sent. Pure: what is so goes in, with the time,
//! and a picture comes out.
//!
//! Each piece is made once, however many pages are sent it, and made again only when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Bytes;
use serde::Serialize;

use super::dto::{FullGame, LiveGameDto};
use super::replay::Replay;
use crate::archive::{GameRecord, Millis};
use crate::bot::{Clocks, LiveGame};

/// How long a game that is over stays in the picture, in milliseconds.
const LINGER: Millis = 60_000;

/// What a piece is about, in the order of sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Status,
    Games,
    /// A game in brief.
    Game(String),
    /// A game with all its moves.
    Whole(String),
    /// What is thought of it since.
    Thought(String),
    /// It was looked at again after its end.
    Reviewed(String),
    Challenges,
    Events,
    Recent,
    Rating,
}

impl Section {
    fn event(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Games => "games",
            Self::Game(_) | Self::Whole(_) => "game",
            Self::Thought(_) => "thought",
            Self::Reviewed(_) => "reviewed",
            Self::Challenges => "challenges",
            Self::Events => "events",
            Self::Recent => "recent",
            Self::Rating => "rating",
        }
    }
}

/// A piece of the picture, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// The picture in which it last changed.
    pub(super) number: u64,
    pub(super) bytes: Bytes,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ViewState {
    pub(super) number: u64,
    pub(super) pieces: BTreeMap<Section, Patch>,
}

/// One event of a stream.
pub(super) fn framed(event: &str, data: &impl Serialize) -> Bytes {
    // Only maps with keys that are no text cannot be written, and there are none.
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}

/// Makes pictures, each from the one before.
#[derive(Debug)]
pub(super) struct ViewBuilder {
    /// The address of the server that games are played on.
    server: String,
    view: ViewState,
    /// Games already played again.
    replays: BTreeMap<String, (Arc<GameRecord>, Arc<Replay>)>,
    /// What the games with all their moves were made of.
    wholes: BTreeMap<String, (Arc<GameRecord>, Clocks)>,
}

impl ViewBuilder {
    /// After the picture of that number.
    pub(super) fn new(number: u64, server: &str) -> Self {
        Self {
            server: server.to_owned(),
            view: ViewState {
                number,
                ..ViewState::default()
            },
            replays: BTreeMap::new(),
            wholes: BTreeMap::new(),
        }
    }

    /// Begins the next picture.
    pub(super) fn begin(&mut self) {
        self.view.number += 1;
    }

    /// The picture, if it is not the same as before.
    pub(super) fn finish(&mut self) -> Option<ViewState> {
        let number = self.view.number;
        let mut pieces = self.view.pieces.values();
        if pieces.any(|piece| piece.number == number) {
            return Some(self.view.clone());
        }
        self.view.number -= 1;
        None
    }

    pub(super) fn put(&mut self, part: Section, data: &impl Serialize) {
        let bytes = framed(part.event(), data);
        self.lay(part, bytes);
    }

    /// The lists of what is over, framed already.
    pub(super) fn put_past(&mut self, past: &History) {
        let lists = [
            (Section::Recent, &past.recent),
            (Section::Rating, &past.ratings),
        ];
        for (part, bytes) in lists {
            if let Some(bytes) = bytes {
                self.lay(part, bytes.clone());
            }
        }
    }

    fn lay(&mut self, part: Section, bytes: Bytes) {
        let number = self.view.number;
        match self.view.pieces.get_mut(&part) {
            Some(piece) if piece.bytes == bytes => {}
            _ => {
                self.view.pieces.insert(part, Patch { number, bytes });
            }
        }
    }

    /// The games under way and those that ended a moment ago; of those that someone watches, all
    /// moves and thoughts.
    pub(super) fn put_games(
        &mut self,
        running: Vec<LiveGame>,
        recent: Vec<Arc<GameRecord>>,
        watched: &BTreeSet<String>,
        now: Millis,
    ) {
        let ids: Vec<String> = running.iter().map(|live| live.record.id.clone()).collect();
        self.put(Section::Games, &ids);
        let ended = recent.into_iter().filter_map(|record| {
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
        self.wholes
            .retain(|id, _| is_shown(id) && watched.contains(id));
        self.view.pieces.retain(|part, _| match part {
            Section::Game(id) => is_shown(id),
            Section::Whole(id) => is_shown(id) && watched.contains(id),
            Section::Reviewed(id) => watched.contains(id),
            Section::Thought(id) => ids.contains(id) && watched.contains(id),
            _ => true,
        });
        for live in &shown {
            let id = &live.record.id;
            let replay = self.replay(&live.record);
            let card = LiveGameDto::of(live, &replay);
            self.put(Section::Game(id.clone()), &card);
            if watched.contains(id) {
                self.put_whole(live, &replay, now);
                if ids.contains(id) {
                    self.put(Section::Thought(id.clone()), &card.thought);
                }
            }
        }
    }

    /// A game with all its moves, if there is more of it than before.
    fn put_whole(&mut self, live: &LiveGame, replay: &Replay, now: Millis) {
        let LiveGame { record, clocks, .. } = live;
        let known = self.wholes.get(&record.id);
        if known.is_some_and(|known| Arc::ptr_eq(&known.0, record) && known.1 == *clocks) {
            return;
        }
        let made_of = (Arc::clone(record), *clocks);
        self.wholes.insert(record.id.clone(), made_of);
        let running = record.ending.is_none().then_some(live);
        // A page has the review from where it has the game.
        let whole = FullGame::of(record, replay, running, None, &self.server, now);
        self.put(Section::Whole(record.id.clone()), &whole);
    }

    fn replay(&mut self, record: &Arc<GameRecord>) -> Arc<Replay> {
        if let Some((known, replay)) = self.replays.get_mut(&record.id)
            && (Arc::ptr_eq(known, record) || Arc::make_mut(replay).go_on(known, record))
        {
            *known = Arc::clone(record);
            return Arc::clone(replay);
        }
        let replay = Arc::new(Replay::of(record));
        let entry = (Arc::clone(record), Arc::clone(&replay));
        self.replays.insert(record.id.clone(), entry);
        replay
    }
}

/// What is over, as far as it is known yet: lists that are ready to be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    recent: Option<Bytes>,
    ratings: Option<Bytes>,
}

impl History {
    pub(super) fn set_recent(&mut self, recent: &impl Serialize) {
        self.recent = Some(framed(Section::Recent.event(), recent));
    }

    pub(super) fn set_ratings(&mut self, ratings: &impl Serialize) {
        self.ratings = Some(framed(Section::Rating.event(), ratings));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{EndingRecord, MoveRecord, ScoreRecord};
    use crate::bot::SearchInfo;
    use crate::lichess::{Side, Status};

    fn live(moves: &[&str]) -> LiveGame {
        LiveGame {
            record: Arc::new(GameRecord {
                id: "q7ZxVt2B".to_owned(),
                us: Some(Side::White),
                moves: moves.iter().map(|uci| MoveRecord::bare(*uci)).collect(),
                ..GameRecord::default()
            }),
            clocks: Clocks::default(),
            thinking: None,
        }
    }

    fn thinking(depth: u32) -> SearchInfo {
        SearchInfo {
            ply: 2,
            pondering: false,
            depth,
            seldepth: depth,
            score: ScoreRecord::Cp(20),
            nodes: 1000,
            nps: 1000,
            time: 1000,
            hashfull: 1,
            line: Vec::new(),
            san: vec!["Nxf7".to_owned()],
        }
    }

    fn watched() -> BTreeSet<String> {
        BTreeSet::from(["q7ZxVt2B".to_owned()])
    }

    fn next(
        builder: &mut ViewBuilder,
        running: &[LiveGame],
        recent: &[Arc<GameRecord>],
        watched: &BTreeSet<String>,
    ) -> Option<ViewState> {
        builder.begin();
        builder.put_games(running.to_vec(), recent.to_vec(), watched, 1000);
        builder.finish()
    }

    /// The number and the text of a piece.
    fn piece(view: &ViewState, part: fn(String) -> Section) -> Option<(u64, String)> {
        let piece = view.pieces.get(&part("q7ZxVt2B".to_owned()))?;
        let text = String::from_utf8(piece.bytes.to_vec()).unwrap();
        Some((piece.number, text))
    }

    #[test]
    fn a_thought_is_a_small_piece_made_once_for_all_who_watch() {
        let mut builder = ViewBuilder::new(0, "http://there");
        let mut game = live(&["e2e4", "e7e5"]);
        let nobody = BTreeSet::new();
        let view = next(&mut builder, &[game.clone()], &[], &nobody).unwrap();
        assert!(piece(&view, Section::Game).is_some());
        assert_eq!(piece(&view, Section::Whole), None, "nobody watches it");

        game.thinking = Some(thinking(7));
        let view = next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        let (number, whole) = piece(&view, Section::Whole).unwrap();
        assert_eq!(number, 2);
        assert!(whole.starts_with("event: game\n") && whole.contains("\"san\":\"e5\""));

        game.thinking = Some(thinking(8));
        let view = next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        assert_eq!(piece(&view, Section::Whole).unwrap().0, 2, "no move is new");
        let (number, thought) = piece(&view, Section::Thought).unwrap();
        assert_eq!(number, 3);
        assert!(thought.starts_with("event: thought\n") && thought.contains("\"depth\":8"));
        assert!(next(&mut builder, &[game.clone()], &[], &watched()).is_none());

        let more = live(&["e2e4", "e7e5", "g1f3"]);
        let view = next(&mut builder, &[more], &[], &watched()).unwrap();
        assert_eq!(piece(&view, Section::Whole).unwrap().0, 4);
    }

    #[test]
    fn a_game_that_ends_is_sent_whole_and_no_thought_after_it() {
        let mut builder = ViewBuilder::new(0, "http://there");
        let mut game = live(&["e2e4", "e7e5"]);
        game.thinking = Some(thinking(7));
        next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        let over = GameRecord {
            ending: Some(EndingRecord {
                status: Status::Resign,
                winner: Some(Side::White),
                at: 900,
            }),
            ..GameRecord::clone(&game.record)
        };
        let view = next(&mut builder, &[], &[Arc::new(over)], &watched()).unwrap();
        let (number, whole) = piece(&view, Section::Whole).unwrap();
        assert_eq!(number, 2);
        assert!(whole.contains("\"status\":\"resign\""), "{whole}");
        assert_eq!(piece(&view, Section::Thought), None);
    }
}
